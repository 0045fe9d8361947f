// Formatted text: a string and its Bot API entities become DOM nodes.
//
// Promise: offsets are UTF-16 units as in the Bot API (and as in JavaScript); nested, overlapping and invalid
// entities do no harm; text becomes text nodes only, and only harmless schemes become links.

import { button, copyText, el, icon } from "./dom.js";
import { moment, t } from "./texts.js";

const SCHEMES = new Set(["http:", "https:", "tg:", "mailto:", "tel:"]);
const BLOCKS = new Set(["pre", "blockquote", "expandable_blockquote"]);

/** Renders a text. `sendCommand`, if given, is called with a bot command that was clicked. */
export function richText(text, entities = [], sendCommand = null) {
  const out = document.createDocumentFragment();
  const source = String(text ?? "");
  weave(out, source, 0, source.length, spansOf(source, entities), sendCommand);
  return out;
}

/** An address that is safe to link to, or null. */
export function safeUrl(address) {
  const trimmed = String(address ?? "").trim();
  const complete = /^[a-z][a-z0-9+.-]*:/i.test(trimmed) ? trimmed : `http://${trimmed}`;
  try {
    const url = new URL(complete);
    return SCHEMES.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** A link that cannot reach back into this page. */
export function outerLink(address, props, ...children) {
  const href = safeUrl(address);
  if (!href) return el("span", props, ...children);
  return el("a", { ...props, href, target: "_blank", rel: "noopener noreferrer", title: href }, ...children);
}

function spansOf(text, entities) {
  if (!Array.isArray(entities)) return [];
  return entities
    .map((entity) => ({
      start: Math.max(0, entity.offset),
      end: Math.min(text.length, entity.offset + entity.length),
      entity,
    }))
    .filter((span) => span.start < span.end)
    .sort(inOrder);
}

// Outer entities come first; of two that cover the same text the block one is the outer.
function inOrder(a, b) {
  return a.start - b.start || b.end - a.end || BLOCKS.has(b.entity.type) - BLOCKS.has(a.entity.type);
}

function weave(node, text, from, to, spans, sendCommand) {
  let at = from;
  let queue = spans;
  while (queue.length) {
    const [span, ...others] = queue;
    if (span.start > at) node.append(text.slice(at, span.start));
    const inside = [];
    const rest = [];
    for (const other of others) {
      if (other.start >= span.end) rest.push(other);
      else if (other.end <= span.end) inside.push(other);
      else {
        inside.push({ ...other, end: span.end });
        rest.push({ ...other, start: span.end });
      }
    }
    const [outer, inner] = dress(span.entity, text.slice(span.start, span.end), sendCommand);
    weave(inner, text, span.start, span.end, inside, sendCommand);
    node.append(outer);
    at = span.end;
    // A block already ends its line; the line feed after it would show as an empty line.
    if (BLOCKS.has(span.entity.type) && text[at] === "\n" && at < to && !rest.some((one) => one.start <= at)) at += 1;
    queue = rest.sort(inOrder);
  }
  if (at < to) node.append(text.slice(at, to));
}

const SIMPLE = { bold: "strong", italic: "em", underline: "u", strikethrough: "s", code: "code" };

/** The element of an entity and the node its text goes into. */
function dress(entity, text, sendCommand) {
  const tag = SIMPLE[entity.type];
  if (tag) return twice(el(tag));
  switch (entity.type) {
    case "url":
      return twice(outerLink(text, { class: "link" }));
    case "text_link":
      return twice(outerLink(entity.url, { class: "link" }));
    case "email":
      return twice(outerLink(`mailto:${text}`, { class: "link" }));
    case "phone_number":
      return twice(outerLink(`tel:${text.replace(/[^\d+]/g, "")}`, { class: "link" }));
    case "bot_command":
      return twice(command(text, sendCommand));
    case "text_mention":
      return twice(el("span", { class: "mention", title: `id ${entity.user?.id ?? "?"}` }));
    case "mention":
    case "hashtag":
    case "cashtag":
      return twice(el("span", { class: "mention" }));
    case "custom_emoji":
      return twice(el("span", { class: "custom-emoji", title: t("customEmoji", { id: entity.custom_emoji_id }) }));
    case "date_time":
      return twice(el("span", { class: "date-time", title: moment(entity.unix_time) }));
    case "spoiler":
      return spoiler();
    case "pre":
      return preformatted(entity, text);
    case "blockquote":
      return twice(el("blockquote", { class: "quote" }));
    case "expandable_blockquote":
      return expandableQuote();
    default:
      return twice(el("span"));
  }
}

const twice = (node) => [node, node];

function command(text, sendCommand) {
  if (!sendCommand) return el("span", { class: "mention" });
  return button({ class: "link command", on: { click: () => sendCommand(text) } });
}

function spoiler() {
  const inner = el("span", { class: "spoiler-text" });
  const outer = el("span", { class: "spoiler", role: "button", tabindex: "0", "aria-label": t("hiddenText") }, inner);
  const reveal = (event) => {
    if (outer.classList.contains("revealed")) return;
    if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    outer.classList.add("revealed");
    for (const name of ["role", "tabindex", "aria-label"]) outer.removeAttribute(name);
  };
  outer.addEventListener("click", reveal);
  outer.addEventListener("keydown", reveal);
  return [outer, inner];
}

function preformatted(entity, text) {
  const inner = el("code");
  const copy = button(
    { class: "pre-copy", title: t("copy"), "aria-label": t("copy"), on: { click: () => copyText(text) } },
    icon("copy"),
  );
  const head = el("span", { class: "pre-head" }, el("span", { text: entity.language ?? "" }), copy);
  return [el("div", { class: "pre" }, head, el("pre", {}, inner)), inner];
}

function expandableQuote() {
  const inner = el("div", { class: "quote-text" });
  const toggle = button({ class: "quote-toggle", "aria-expanded": "false", text: t("showAll") });
  const outer = el("blockquote", { class: "quote expandable" }, inner, toggle);
  toggle.addEventListener("click", () => {
    const open = outer.classList.toggle("open");
    toggle.setAttribute("aria-expanded", String(open));
    toggle.textContent = open ? t("showLess") : t("showAll");
  });
  return [outer, inner];
}
