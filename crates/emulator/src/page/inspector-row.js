// One line of the inspector and what unfolds under it.

import { button, copyText, el, icon } from "./dom.js";
import { api } from "./api.js";
import { chatOf, nameOf, state } from "./state.js";
import { chatOfEntry, complaintsOf, isFailure, nameOfEntry } from "./record.js";
import { jsonView } from "./json.js";
import { exactTime, t } from "./texts.js";

/** The line: time, direction, name, chat, status, duration. */
export function entryRow(entry, onToggle, isOpen = false) {
  const { kind, event } = entry;
  const complaints = complaintsOf(entry);
  const status = statusOf(entry);
  const isCall = kind === "call";
  return button(
    {
      class: `record-row ${kind}${isFailure(entry) ? " failed" : ""}`,
      testid: "inspector-row",
      data: { kind, name: nameOfEntry(entry) },
      "aria-expanded": String(isOpen),
      on: { click: onToggle },
    },
    el("span", { class: "record-time", text: exactTime(event.at) }),
    el("span", { class: "record-way", title: t(isCall ? "fromBot" : "toBot"), text: isCall ? "→" : "←" }),
    el("span", { class: "record-name", text: nameOfEntry(entry) }),
    event.fault !== undefined &&
      event.fault !== null &&
      el("span", { class: "record-fault", title: t("byFault") }, icon("bolt")),
    complaints.length > 0 &&
      el(
        "span",
        { class: "record-complaint", testid: "complaint", title: complaints.join("\n") },
        icon("warning"),
        String(complaints.length),
      ),
    el("bdi", { class: "record-chat", text: chatName(entry) }),
    el("span", { class: `record-status ${status.kind}`, text: status.text }),
    el("span", { class: "record-took", text: tookOf(entry) }),
  );
}

function chatName(entry) {
  const id = chatOfEntry(entry);
  if (id === null) return "";
  return nameOf(chatOf(id)) || String(id);
}

function statusOf(entry) {
  if (entry.kind === "call") {
    const { status } = entry.event;
    if (!status) return { kind: "bad", text: t("cutShort") };
    return { kind: status >= 400 ? "bad" : "good", text: String(status) };
  }
  const last = entry.deliveries.at(-1);
  if (!last) return { kind: "waits", text: t("queued") };
  const times = entry.deliveries.length > 1 ? ` ×${entry.deliveries.length}` : "";
  if (last.ok === false) return { kind: "bad", text: `${last.status ?? t("failed")}${times}` };
  return { kind: "good", text: `${last.by ?? "ok"}${times}` };
}

function tookOf(entry) {
  const last = entry.deliveries.at(-1);
  const us = entry.kind === "call" ? entry.event.took_us : last?.at ? (last.at - entry.event.at) * 1000 : undefined;
  if (us === undefined || us === null) return "";
  if (us < 1000) return `${us} µs`;
  return us < 1_000_000 ? `${Math.round(us / 1000)} ms` : `${(us / 1_000_000).toFixed(1)} s`;
}

const searchTexts = new WeakMap();

/** All of an entry as lower-case text, built once. */
export function searchText(entry) {
  if (!searchTexts.has(entry))
    searchTexts.set(entry, `${chatName(entry)} ${nameOfEntry(entry)} ${JSON.stringify(entry.event)}`.toLowerCase());
  return searchTexts.get(entry);
}

/** What unfolds: complaints, both sides of a call, or an update and its deliveries. */
export function entryDetails(entry) {
  const { event } = entry;
  const complaints = complaintsOf(entry);
  const parts =
    entry.kind === "call"
      ? [part(t("parameters"), event.parameters ?? {}), part(t("answer"), event.answer ?? null)]
      : [
          part(t("update"), event.update),
          entry.deliveries.some((one) => one.error) && part(t("deliveries"), entry.deliveries),
        ];
  return el(
    "div",
    { class: "record-details" },
    complaints.length > 0 &&
      el(
        "ul",
        { class: "complaints" },
        complaints.map((words) => el("li", { text: words })),
      ),
    entry.kind === "update" && replayButton(event.update),
    parts,
  );
}

function part(title, value) {
  const copy = button({
    class: "chip",
    text: t("copy"),
    on: { click: () => copyText(JSON.stringify(value, null, 2)) },
  });
  return el("section", {}, el("header", { class: "part-head" }, el("h3", { text: title }), copy), jsonView(value));
}

function replayButton(update) {
  const label = el("span", { text: t("replay") });
  const node = button({ class: "chip replay", testid: "replay", title: t("replayHint") }, icon("replay"), label);
  node.addEventListener("click", async () => {
    try {
      await api.replay(state.token, update.update_id);
      label.textContent = t("replayed");
    } catch (refusal) {
      label.textContent = refusal.message;
    }
  });
  return node;
}
