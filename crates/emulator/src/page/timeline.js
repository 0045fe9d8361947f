// The messages of one chat on the screen, oldest above.
//
// Promise: however long the chat, only its last part is in the document; what did not change is not drawn again; the
// reader's place is kept unless the reader is at the end. Bubbles themselves are `message.js`.

import { button, el, iconButton } from "./dom.js";
import { isBlocked, keyOf, room, state } from "./state.js";
import { day, dayKey, t } from "./texts.js";
import { bubble } from "./message.js";
import { soon } from "./soon.js";

const SHOWN_AT_FIRST = 200;
const SHOWN_MORE = 200;
const NEAR_END_PX = 80;
const RUN_GAP_SECONDS = 300;

export function createTimeline(here) {
  let limit = SHOWN_AT_FIRST;
  let drawn = new Map();
  let missed = 0;
  const list = el("div", { class: "track-list" });
  const track = el("div", { class: "track", tabindex: "0", role: "region", "aria-label": t("messages") }, list);
  const toEnd = iconButton("down", t("toEnd"), {
    class: "to-end",
    hidden: true,
    on: { click: () => scrollToEnd(true) },
  });
  const node = el("div", { class: "timeline" }, track, toEnd);

  const atEnd = () => track.scrollHeight - track.scrollTop - track.clientHeight < NEAR_END_PX;
  let sticks = true;

  track.addEventListener(
    "scroll",
    () => {
      sticks = atEnd();
      if (sticks) missed = 0;
      showToEnd();
    },
    { passive: true },
  );
  track.addEventListener("keydown", (event) => walk(event, track, here));
  // Pictures and keyboards change heights after the drawing; a reader at the end stays there.
  const watch = new ResizeObserver(() => sticks && scrollToEnd(false));
  watch.observe(list);
  watch.observe(track);

  function showToEnd() {
    toEnd.hidden = sticks;
    toEnd.dataset.count = missed ? String(missed) : "";
  }

  function scrollToEnd(smoothly) {
    const isFar = track.scrollHeight - track.scrollTop > track.clientHeight * 3;
    track.scrollTo({ top: track.scrollHeight, behavior: smoothly && !isFar ? "smooth" : "instant" });
  }

  function draw() {
    const messages = visible(here);
    const shown = messages.slice(-limit);
    const units = unitsOf(shown, here);
    const next = new Map();
    const nodes = [];
    const hidden = messages.length - shown.length;
    if (hidden) units.unshift({ key: "earlier", marks: [hidden], draw: () => earlier(hidden) });
    if (!messages.length && room(here.chatId).loaded) units.push(emptyUnit(here));
    for (const unit of units) {
      const before = drawn.get(unit.key);
      const kept = before && same(before.marks, unit.marks) ? before.node : replace(before?.node, unit.draw());
      next.set(unit.key, { marks: unit.marks, node: kept });
      nodes.push(kept);
    }
    drawn = next;
    if (here.typingFace) nodes.push(here.typingFace);
    arrange(list, nodes);
    if (sticks) scrollToEnd(false);
    showToEnd();
  }

  function earlier(count) {
    const more = () => {
      const height = track.scrollHeight;
      limit += SHOWN_MORE;
      sticks = false;
      draw();
      track.scrollTop += track.scrollHeight - height;
    };
    return button({ class: "earlier", testid: "earlier", text: t("showEarlier", { n: count }), on: { click: more } });
  }

  return {
    node,
    /** Draws soon; many changes in a row cost one drawing. */
    refresh: soon(draw),
    said(own) {
      if (own) sticks = true;
      if (sticks) limit = SHOWN_AT_FIRST;
      else {
        // A reader above the end keeps the position when messages arrive below.
        missed += 1;
        limit += 1;
      }
    },
    focus: () => track.focus({ preventScroll: true }),
    jump(messageId) {
      const place = visible(here).findIndex((message) => message.message_id === messageId);
      if (place < 0) return here.toast(t("messageGone"));
      limit = Math.max(limit, visible(here).length - place + 20);
      draw();
      const target = list.querySelector(`[data-id="${messageId}"]`);
      target?.scrollIntoView({ block: "center" });
      target?.classList.add("flash");
      setTimeout(() => target?.classList.remove("flash"), 1600);
    },
    end: () => watch.disconnect(),
  };
}

function visible(here) {
  const kept = room(here.chatId);
  const all = kept.order.map((id) => kept.messages.get(id));
  const thread = here.thread();
  if (!here.isForum || thread === null) return all;
  return all.filter((message) => threadOf(message) === thread);
}

/** The general topic has no id in messages, or the id 1; here it is 0. */
function threadOf(message) {
  const id = message.message_thread_id ?? 0;
  return id === 1 ? 0 : id;
}

/** Cuts messages into bubbles (an album is one) and days; `marks` tell when a bubble has to be drawn again. */
function unitsOf(messages, here) {
  const groups = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (message.media_group_id && last?.[0].media_group_id === message.media_group_id) last.push(message);
    else groups.push([message]);
  }
  const units = [];
  groups.forEach((group, index) => {
    const [message] = group;
    const before = groups[index - 1]?.at(-1);
    const after = groups[index + 1]?.[0];
    if (!before || dayKey(before.date) !== dayKey(message.date)) units.push(dayUnit(message.date));
    const place = {
      own: message.from?.id === here.writer(),
      bot: message.from?.id === state.bot?.id,
      first: !joined(before, message),
      last: !joined(message, after),
    };
    const tail = group.at(-1);
    const key = keyOf(here.chatId, tail.message_id);
    const pending = [...here.pending].filter((press) => press.startsWith(`${message.message_id}:`)).join();
    const vote = message.poll ? state.votes.get(`${key}:${here.writer()}`) : null;
    const marks = [
      ...group,
      Object.values(place).join(),
      state.reactions.get(key),
      state.deliveries.get(key),
      pending,
      vote,
    ];
    units.push({ key: message.message_id, marks, draw: () => bubble(group, here, place) });
  });
  return units;
}

function emptyUnit(here) {
  return { key: "empty", marks: [state.bot, state.description, isBlocked(here.chatId)], draw: here.emptyFace };
}

function dayUnit(date) {
  return {
    key: `day ${dayKey(date)}`,
    marks: [day(date)],
    draw: () => el("div", { class: "day" }, el("span", { text: day(date) })),
  };
}

const joined = (a, b) =>
  Boolean(
    a &&
    b &&
    a.from?.id === b.from?.id &&
    Math.abs(b.date - a.date) < RUN_GAP_SECONDS &&
    dayKey(a.date) === dayKey(b.date),
  );
const same = (a, b) => a.length === b.length && a.every((mark, place) => mark === b[place]);

/** Keeps the keyboard focus when a bubble is drawn again. */
function replace(before, after) {
  const focused = before?.contains(document.activeElement) ? document.activeElement : null;
  if (focused) {
    const testid = focused.dataset.testid;
    queueMicrotask(() =>
      (after.querySelector(`[data-testid="${CSS.escape(testid ?? "")}"]`) ?? after).focus({ preventScroll: true }),
    );
  }
  // A redrawn bubble is not new, so it must not animate again.
  if (before) after.classList.add("redrawn");
  return after;
}

/** Brings the list into the wanted order with as few moves as possible. */
function arrange(list, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...list.children]) if (!wanted.has(child)) child.remove();
  let cursor = list.firstChild;
  for (const node of nodes) {
    if (node === cursor) cursor = cursor.nextSibling;
    else list.insertBefore(node, cursor);
  }
}

/** Arrows move through the messages; Enter or the menu key opens the menu of the one in focus. */
function walk(event, track, here) {
  const current = document.activeElement;
  const stops = [...track.querySelectorAll(".message")];
  if (!stops.length || (current !== track && !stops.includes(current))) return;
  const place = stops.indexOf(current);
  if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    event.preventDefault();
    const next = event.key === "ArrowUp" ? (place < 0 ? stops.length - 1 : place - 1) : place + 1;
    stops[Math.max(0, Math.min(stops.length - 1, next))].focus();
  } else if (
    place >= 0 &&
    (event.key === "Enter" || event.key === "ContextMenu" || (event.shiftKey && event.key === "F10"))
  ) {
    event.preventDefault();
    here.openMenu(room(here.chatId).messages.get(Number(current.dataset.id)), current);
  }
}
