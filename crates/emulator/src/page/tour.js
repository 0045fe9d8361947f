// The tour: a few steps that say what to try, below the list of chats.
//
// Promise: it covers nothing, its buttons work by keyboard, Escape closes it, and a closed tour stays closed on this
// browser until it is asked for. Without steps in the hints there is no tour.

import { button, el, fill, icon, iconButton } from "./dom.js";
import { hintText, link } from "./hints.js";
import { note, openChat, recall } from "./screen.js";
import { chatOf, scope, state, tell } from "./state.js";
import { t } from "./texts.js";

const CLOSED = "closed";
const kept = () => `tour.${state.token}`;
const steps = () => state.hints.tour ?? [];

/** Whether there is a tour, closed or not. */
export const hasTour = () => steps().length > 0;

/** Shows the tour from its first step, also after it was closed. */
export function restartTour() {
  goTo(0, "tour-next");
}

export function createTour() {
  const life = scope();
  const node = el("section", { class: "tour", testid: "tour", "aria-label": t("tour"), hidden: true });
  node.addEventListener("keydown", (event) => event.key === "Escape" && close());
  const draw = () => {
    const place = recall(kept()) ?? 0;
    const step = place === CLOSED ? undefined : steps()[Math.min(place, steps().length - 1)];
    node.hidden = !step;
    if (step) fill(node, stepParts(step, steps().indexOf(step)));
    else fill(node);
  };
  life.on("hints world tour", draw);
  draw();
  return { node, end: life.end };
}

function stepParts(step, place) {
  const isLast = place === steps().length - 1;
  return [
    el(
      "header",
      { class: "tour-head" },
      el("p", { class: "tour-count", text: t("tourStep", { n: place + 1, of: steps().length }) }),
      iconButton("close", t("tourClose"), { testid: "tour-close", on: { click: close } }),
    ),
    el("h2", { text: hintText(step.title) }),
    el("p", { class: "tour-words", text: hintText(step.text) }),
    el(
      "div",
      { class: "tour-deeds" },
      step.link && link(step.link, { class: "tour-link", testid: "tour-link" }),
      step.chat &&
        chatOf(step.chat) &&
        button(
          { class: "tour-link", testid: "tour-chat", on: { click: () => openChat(step.chat) } },
          t("tourChat"),
          icon("forward"),
        ),
      el("span", { class: "tour-space" }),
      place > 0 &&
        iconButton("back", t("tourBack"), { testid: "tour-back", on: { click: () => goTo(place - 1, "tour-back") } }),
      button({
        class: "primary",
        testid: "tour-next",
        text: t(isLast ? "tourDone" : "tourNext"),
        on: { click: () => (isLast ? close() : goTo(place + 1, "tour-next")) },
      }),
    ),
  ];
}

function goTo(place, focused) {
  note(kept(), place);
  tell("tour");
  const named = (testid) => document.querySelector(`[data-testid="${testid}"]`);
  if (focused) (named(focused) ?? named("tour-next"))?.focus();
}

function close() {
  note(kept(), CLOSED);
  tell("tour");
  document.querySelector(".chat-entry")?.focus();
}
