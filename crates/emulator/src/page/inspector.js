// The inspector: every call of the bot and every update for it, newest below.
//
// Promise: at most a few hundred rows are in the document, details are built when opened, and scrolling up stops the
// list from following new rows.

import { button, el, fill, icon, iconButton, refill } from "./dom.js";
import { scope, state } from "./state.js";
import { toggleInspector } from "./screen.js";
import { complaintsOf, isEmptyPoll, isFailure } from "./record.js";
import { entryDetails, entryRow, searchText } from "./inspector-row.js";
import { createFaults } from "./faults.js";
import { createClock } from "./clock.js";
import { soon } from "./soon.js";
import { t } from "./texts.js";

const MOST_ROWS = 500;
const NEAR_END_PX = 60;
const FILTERS = {
  calls: (entry) => entry.kind === "call",
  updates: (entry) => entry.kind === "update",
  errors: isFailure,
  complaints: (entry) => complaintsOf(entry).length > 0,
};

export function createInspector() {
  const life = scope();
  const rows = new Map();
  const view = { filter: null, words: "", emptyPolls: false, since: 0 };
  let waiting = new Set();
  const list = el("div", { class: "record", role: "list", "aria-label": t("record"), tabindex: "0" });
  const search = el("input", {
    type: "search",
    class: "search",
    testid: "inspector-search",
    placeholder: t("searchRecord"),
    "aria-label": t("searchRecord"),
  });
  const chips = el("div", { class: "chips", role: "group", "aria-label": t("filters") });
  const node = el(
    "aside",
    { class: "inspector", testid: "inspector", "aria-label": t("inspector") },
    el(
      "header",
      { class: "inspector-head" },
      el("h2", { text: t("inspector") }),
      iconButton("trash", t("clearRecord"), { testid: "inspector-clear", on: { click: clear } }),
      iconButton("close", t("close"), { testid: "inspector-close", on: { click: () => toggleInspector(false) } }),
    ),
    el("div", { class: "search-box" }, icon("search"), search),
    chips,
    list,
    createFaults(life),
    createClock(life),
  );
  search.addEventListener("input", () => {
    view.words = search.value.trim().toLowerCase();
    rebuild();
  });
  node.addEventListener(
    "keydown",
    (event) => event.key === "Escape" && !event.defaultPrevented && toggleInspector(false),
  );
  list.addEventListener("keydown", (event) => walk(event, list));

  const passes = (entry) =>
    entry.number > view.since &&
    (!view.filter || FILTERS[view.filter](entry)) &&
    (view.emptyPolls || !isEmptyPoll(entry) || complaintsOf(entry).length > 0 || isFailure(entry)) &&
    (!view.words || searchText(entry).includes(view.words));

  function clear() {
    view.since = state.log.at(-1)?.number ?? 0;
    rebuild();
  }

  function rebuild() {
    rows.clear();
    const shown = state.log.filter(passes).slice(-MOST_ROWS);
    fill(
      list,
      shown.length
        ? shown.map(row)
        : el("p", {
            class: "row-note nothing",
            text: t(view.words || view.filter ? "nothingFound" : "nothingRecorded"),
          }),
    );
    drawChips();
    list.scrollTop = list.scrollHeight;
  }

  function row(entry) {
    const made = el(
      "div",
      { class: "record-item", role: "listitem" },
      entryRow(entry, () => toggle(entry)),
    );
    rows.set(entry.number, made);
    return made;
  }

  function toggle(entry) {
    const made = rows.get(entry.number);
    if (made.classList.toggle("open")) made.append(entryDetails(entry));
    else made.lastChild.remove();
    made.lastChild.scrollIntoView({ block: "nearest" });
    made.firstChild.setAttribute("aria-expanded", String(made.classList.contains("open")));
  }

  function take() {
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_END_PX;
    for (const entry of waiting) {
      const known = rows.get(entry.number);
      if (known) known.firstChild.replaceWith(entryRow(entry, () => toggle(entry), known.classList.contains("open")));
      else if (passes(entry)) {
        list.querySelector(".nothing")?.remove();
        list.append(row(entry));
      }
    }
    waiting = new Set();
    while (rows.size > MOST_ROWS) {
      const [first] = rows.keys();
      rows.get(first).remove();
      rows.delete(first);
    }
    drawChips();
    if (atEnd) list.scrollTop = list.scrollHeight;
  }

  function drawChips() {
    const choose = (filter) => () => {
      view.filter = view.filter === filter ? null : filter;
      rebuild();
    };
    const count = (test) => state.log.filter((entry) => entry.number > view.since && test(entry)).length;
    refill(
      chips,
      Object.entries(FILTERS).map(([name, test]) => {
        const found = name === "errors" || name === "complaints" ? count(test) : 0;
        return button(
          {
            class: found ? `chip found-${name}` : "chip",
            testid: `filter-${name}`,
            "aria-pressed": String(view.filter === name),
            on: { click: choose(name) },
          },
          t(name),
          found > 0 && el("b", { text: found }),
        );
      }),
      button({
        class: "chip",
        testid: "filter-polls",
        "aria-pressed": String(view.emptyPolls),
        title: t("emptyPollsHint"),
        text: t("emptyPolls"),
        on: {
          click: () => {
            view.emptyPolls = !view.emptyPolls;
            rebuild();
          },
        },
      }),
    );
  }

  const takeSoon = soon(take);
  life.on("entry", (entry) => {
    waiting.add(entry);
    takeSoon();
  });
  life.on("log world", rebuild);
  rebuild();
  queueMicrotask(() => (list.scrollTop = list.scrollHeight));
  return { node, end: life.end, focus: () => search.focus() };
}

function walk(event, list) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const stops = [...list.querySelectorAll(".record-row")];
  const place = stops.indexOf(document.activeElement);
  if (place < 0 && document.activeElement !== list) return;
  event.preventDefault();
  const next = place < 0 ? stops.length - 1 : place + (event.key === "ArrowDown" ? 1 : -1);
  stops[Math.max(0, Math.min(stops.length - 1, next))]?.focus();
}
