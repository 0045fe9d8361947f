// A small menu at a place on the screen, for the mouse and for the keyboard alike.
//
// Promise: one menu at a time; arrows move, Enter chooses, Escape or a click elsewhere closes, and the focus goes back
// to where it was.

import { button, el, icon } from "./dom.js";

const MARGIN_PX = 8;
let close = () => {};

/** Opens a menu at an element or at a pointer event. Items: {label, icon, action, danger, testid, checked} or {row}. */
export function openMenu(anchor, items) {
  close();
  const before = document.activeElement;
  const menu = el(
    "div",
    { class: "menu", role: "menu", testid: "menu" },
    items.filter(Boolean).map((item) => (item.row ? rowOf(item.row) : itemOf(item))),
  );
  const away = (event) => !menu.contains(event.target) && close();
  close = () => {
    menu.remove();
    document.removeEventListener("pointerdown", away, true);
    window.removeEventListener("resize", close);
    close = () => {};
    if (before?.isConnected && !document.querySelector("dialog[open]")) before.focus({ preventScroll: true });
  };
  menu.addEventListener("keydown", (event) => walk(event, menu));
  menu.addEventListener("click", () => close());
  (document.querySelector("dialog[open]") ?? document.body).append(menu);
  put(menu, anchor);
  menu.querySelector("button")?.focus();
  document.addEventListener("pointerdown", away, true);
  window.addEventListener("resize", close);
}

function itemOf({ label, icon: sign, action, danger, testid, checked, disabled }) {
  return button(
    {
      class: danger ? "menu-item danger" : "menu-item",
      role: checked === undefined ? "menuitem" : "menuitemradio",
      "aria-checked": checked === undefined ? null : String(checked),
      tabindex: "-1",
      testid,
      disabled,
      // The menu closes first and gives the focus back, so that what the action opens can take it.
      on: { click: () => queueMicrotask(action) },
    },
    sign && icon(sign),
    el("span", { dir: "auto", text: label }),
    checked && icon("check"),
  );
}

function rowOf(items) {
  return el(
    "div",
    { class: "menu-row" },
    items.map(({ label, action, title }) =>
      button({
        class: "menu-sign",
        role: "menuitem",
        tabindex: "-1",
        title,
        text: label,
        on: { click: () => queueMicrotask(action) },
      }),
    ),
  );
}

function walk(event, menu) {
  const stops = [...menu.querySelectorAll("button:not(:disabled)")];
  const place = stops.indexOf(document.activeElement);
  const go = {
    ArrowDown: place + 1,
    ArrowRight: place + 1,
    ArrowUp: place - 1,
    ArrowLeft: place - 1,
    Home: 0,
    End: stops.length - 1,
  }[event.key];
  if (go !== undefined) {
    event.preventDefault();
    stops[(go + stops.length) % stops.length].focus();
  } else if (event.key === "Escape" || event.key === "Tab") {
    event.preventDefault();
    event.stopPropagation();
    close();
  }
}

function put(menu, anchor) {
  const isPoint = anchor instanceof Event;
  const box = isPoint ? null : anchor.getBoundingClientRect();
  const x = isPoint
    ? anchor.clientX
    : box.right - menu.offsetWidth > MARGIN_PX
      ? box.right - menu.offsetWidth
      : box.left;
  const below = isPoint ? anchor.clientY : Math.min(box.bottom + 4, window.innerHeight);
  const above = (isPoint ? anchor.clientY : box.top - 4) - menu.offsetHeight;
  const y = below + menu.offsetHeight + MARGIN_PX > window.innerHeight ? above : below;
  menu.style.left = `${Math.max(MARGIN_PX, Math.min(x, window.innerWidth - menu.offsetWidth - MARGIN_PX))}px`;
  menu.style.top = `${Math.max(MARGIN_PX, Math.min(y, window.innerHeight - menu.offsetHeight - MARGIN_PX))}px`;
}
