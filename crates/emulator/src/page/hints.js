// What the server wants shown beside the messages: places, notes on people, links. The tour is in `tour.js`.

import { el, icon } from "./dom.js";
import { state } from "./state.js";
import { language } from "./texts.js";

/** A text of a hint: plain, or the one for the page's language. */
export function hintText(text) {
  if (typeof text === "string") return text;
  return text?.[language()] ?? Object.values(text ?? {})[0] ?? "";
}

/** The note on a person; "" if there is none. */
export const noteOn = (userId) => hintText(state.hints.people?.find((person) => person.id === userId)?.note);

/** A link, in this tab if it stays on this server. The server lets through only paths and web addresses. */
export function link({ text, url }, props = {}) {
  const outside = url.startsWith("/") ? {} : { target: "_blank", rel: "noopener noreferrer" };
  return el("a", { href: url, ...outside, ...props }, hintText(text), icon("link"));
}

/** The links above the list of chats. */
export function linkParts() {
  return (state.hints.links ?? []).map((one, place) => link(one, { class: "list-link", testid: `link-${place}` }));
}
