// Building blocks of the page: elements and icons.
//
// Promise: text reaches the document only as text nodes and attributes, never as markup, so that a hostile name or
// message can be shown and cannot run. Nothing here knows about chats.

const SVG = "http://www.w3.org/2000/svg";

/** Creates an element. `props`: class, text, testid, on: {event: listener}, data: {..}; all others are attributes. */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name === "testid") node.dataset.testid = value;
    else if (name === "on")
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  append(node, children);
  return node;
}

/** Appends children, skipping what is absent, so that callers can write conditions in place. */
export function append(node, children) {
  for (const child of children.flat()) {
    if (child === undefined || child === null || child === false || child === "") continue;
    node.append(child);
  }
  return node;
}

/** A button that never submits a form. */
export function button(props, ...children) {
  return el("button", { type: "button", ...props }, ...children);
}

/** A round button that shows an icon and says its label to a screen reader. */
export function iconButton(iconName, label, props = {}) {
  const classes = ["icon-button", props.class].filter(Boolean).join(" ");
  return button({ ...props, class: classes, title: label, "aria-label": label }, icon(iconName));
}

/** Replaces all children. */
export function fill(node, ...children) {
  node.replaceChildren();
  return append(node, children);
}

/**
 * Replaces the children that differ and keeps the others with their focus and listeners. For parts that are created
 * again for every drawing and whose listeners depend only on the attributes.
 */
export function refill(node, ...children) {
  const wanted = [...append(document.createDocumentFragment(), children).childNodes];
  wanted.forEach((next, place) => {
    const present = node.childNodes[place];
    if (!present) node.append(next);
    else if (!present.isEqualNode(next)) present.replaceWith(next);
  });
  while (node.childNodes.length > wanted.length) node.lastChild.remove();
  return node;
}

const PATHS = {
  add: "M12 5v14M5 12h14",
  addPerson: "M10 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M3 20c.6-3.5 3.4-5.5 7-5.5 1.8 0 3.4.5 4.6 1.4M18 14v6M15 17h6",
  addGroup:
    "M9 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M2.5 19c.6-3 3.2-4.8 6.5-4.8s5.9 1.8 6.5 4.8M16 4.9a3.5 3.5 0 0 1 0 6.3M18 14.7c1.9.7 3.2 2.2 3.5 4.3",
  back: "M15 5l-7 7 7 7",
  forward: "M9 5l7 7-7 7",
  down: "M6 9l6 6 6-6",
  up: "M6 15l6-6 6 6",
  close: "M6 6l12 12M18 6L6 18",
  more: "M12 5.5v.01M12 12v.01M12 18.5v.01",
  moreAcross: "M5.5 12h.01M12 12h.01M18.5 12h.01",
  send: "M4.5 12L3.5 4.2 21 12 3.5 19.8 4.5 12zM4.5 12H12",
  attach: "M20 11.5l-8.2 8.2a5.2 5.2 0 0 1-7.4-7.4l8.6-8.6a3.5 3.5 0 0 1 5 5l-8.5 8.5a1.8 1.8 0 0 1-2.5-2.5l7.7-7.7",
  photo: "M4 6h16v13H4zM4 16l4.5-4.5 4 4 2.5-2.5 5 5M15 9.8v.01",
  file: "M6 3h8l5 5v13H6zM14 3v5h5",
  contact: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4.5 20.5c.7-3.7 3.7-6 7.5-6s6.8 2.3 7.5 6",
  location:
    "M12 21.5c4.3-4.6 6.5-8.2 6.5-11.2a6.5 6.5 0 0 0-13 0c0 3 2.2 6.6 6.5 11.2M12 12.7a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5",
  voice:
    "M12 15a3.5 3.5 0 0 0 3.5-3.5v-5a3.5 3.5 0 0 0-7 0v5A3.5 3.5 0 0 0 12 15M5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3.5",
  slash: "M4 4h16v16H4zM14 8l-4 8",
  keyboard: "M3 6h18v12H3zM7 10h.01M10.3 10h.01M13.7 10h.01M17 10h.01M8 14h8",
  keyboardHide: "M3 4h18v11H3zM7 8h.01M10.3 8h.01M13.7 8h.01M17 8h.01M8 11.5h8M9 18.5l3 2.5 3-2.5",
  reply: "M9.5 6L4 11.5 9.5 17M4.5 11.5H14c3.5 0 6 2 6 6.5",
  edit: "M4 20l1-4.5L16.5 4l3.5 3.5L8.5 19 4 20zM14 6.5l3.5 3.5",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  check: "M5 12.5l4.5 4.5L19 7.5",
  checks: "M2.5 12.5L7 17l9-9.5M11.5 16l1 1L22 7.5",
  pin: "M9 3.5h6l-1 6.5 3.5 3.5h-11L10 10zM12 13.5v7",
  inspect: "M4 5h16M4 10h10M4 15h7M4 20h5M17.5 19.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M20 18.5l2 2",
  sun: "M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9M12 2v2M12 20v2M2 12h2M20 12h2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5",
  columns: "M4 5h16v14H4zM12 5v14",
  single: "M4 5h16v14H4z",
  beside: "M4 5h16v14H4zM14 5v14M17 10v4",
  block: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M5.7 5.7l12.6 12.6",
  play: "M8 5v14l11-7z",
  pause: "M8 5v14M16 5v14",
  link: "M8 16L16.5 7.5M9.5 7h7.5v7.5",
  app: "M5 5h14v14H5zM5 9.5h14",
  bolt: "M13 3L5 14h6l-1 7 8-11h-6z",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 7v5.5l3.5 2",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M15.5 15.5L21 21",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  replay: "M4.5 12a7.5 7.5 0 1 0 2.5-5.6M4.5 4v4h4",
  warning: "M12 4L2.5 20h19zM12 10v4.5M12 17.3v.01",
  leave: "M14 4H5v16h9M10 12h11M17.5 8l3.5 4-3.5 4",
  topic: "M4 5h16v11h-9l-4 4v-4H4z",
  people: "M9 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M2.5 19c.6-3 3.2-4.8 6.5-4.8s5.9 1.8 6.5 4.8",
  star: "M12 4l2.5 5.3 5.5.8-4 4 1 5.7-5-2.7-5 2.7 1-5.7-4-4 5.5-.8z",
  sliders:
    "M4 7h10M18 7h2M4 17h2M10 17h10M16 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M8 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5",
};
const SOLID = new Set(["play"]);
const DOTS = new Set(["more", "moreAcross"]);

/** A line icon, drawn in the colour of the text around it. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", SOLID.has(name) ? "icon solid" : DOTS.has(name) ? "icon dots" : "icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name] ?? PATHS.more);
  svg.append(path);
  return svg;
}

/** A coloured circle with initials. The colour depends only on the id. */
export function avatar(id, name, kind = "") {
  const hue = Math.abs(Number(id) || 0) % 7;
  const letters = [...new Intl.Segmenter().segment(firstLetters(name))].map((part) => part.segment);
  // A grapheme may carry any number of combining marks; two code units each are enough to recognise a person.
  const short = letters
    .slice(0, 2)
    .map((letter) => [...letter].slice(0, 1).join(""))
    .join("");
  return el("span", {
    class: `avatar hue-${hue} ${kind}`.trim(),
    "aria-hidden": "true",
    text: short.toUpperCase() || "?",
  });
}

function firstLetters(name) {
  const words = String(name ?? "").match(/[\p{L}\p{N}\p{Extended_Pictographic}][^\s]*/gu) ?? [];
  return words
    .slice(0, 2)
    .map((word) => [...word][0])
    .join("");
}

/** Copies text; pages served over plain HTTP from another machine have no clipboard API, hence the second way. */
export async function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = el("textarea", { class: "sr-only", value: text });
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
