// Faults: failures of the network and of Telegram, on request.
//
// Promise: a preset is two clicks away, every field of a fault can be set, and active faults are listed with the number
// of times they still apply.

import { button, el, fill, icon, iconButton } from "./dom.js";
import { api } from "./api.js";
import { chatList, nameOf, state } from "./state.js";
import { field, formDialog } from "./dialogs.js";
import { t } from "./texts.js";

const PRESETS = {
  faultTooMany: { kind: "call", status: 429, retry_after: 5, method: "sendMessage" },
  faultServer: { kind: "call", status: 500, description: "Internal Server Error: restart" },
  faultBlocked: {
    kind: "call",
    status: 403,
    description: "Forbidden: bot was blocked by the user",
    method: "sendMessage",
  },
  faultCutBefore: { kind: "call", cut: "before", method: "sendMessage" },
  faultCutAfter: { kind: "call", cut: "after", method: "sendMessage" },
  faultSlow: { kind: "call", delay_ms: 3000 },
  faultTwice: { kind: "updates", updates: "duplicate" },
  faultReorder: { kind: "updates", updates: "reorder" },
  faultLate: { kind: "updates", updates: "delay", delay_ms: 5000 },
  faultRestart: { kind: "updates", updates: "restart_ids" },
};

/** The panel of the inspector: a button and the list of active faults. */
export function createFaults(life) {
  const node = el("section", { class: "faults", "aria-label": t("faults") });
  const draw = () =>
    fill(
      node,
      el(
        "div",
        { class: "faults-head" },
        icon("bolt"),
        el("h3", { text: t("faults") }),
        state.faults.length > 0 &&
          button({
            class: "chip",
            testid: "faults-clear",
            text: t("clearAll"),
            on: { click: () => api.clearFaults(state.token).then(refresh) },
          }),
        button({
          class: "chip strong",
          testid: "fault-open",
          text: t("injectFault"),
          on: { click: () => faultForm(refresh) },
        }),
      ),
      state.faults.length > 0 &&
        el(
          "ul",
          { class: "fault-list" },
          state.faults.map((fault) => faultLine(fault, refresh)),
        ),
    );
  const refresh = async () => {
    const answer = await api.faults(state.token);
    state.faults = Array.isArray(answer) ? answer : (answer.faults ?? []);
    draw();
  };
  life.on("faults world", draw);
  draw();
  return node;
}

function faultLine(fault, refresh) {
  const { id, left, times, ...what } = fault;
  const words = fault.updates
    ? [t(`updates_${fault.updates}`) || fault.updates, fault.delay_ms && `${fault.delay_ms} ms`]
    : [
        fault.method ?? t("anyMethod"),
        fault.chat_id && (nameOf(state.chats.get(fault.chat_id)) || fault.chat_id),
        fault.status,
        fault.retry_after && `retry_after ${fault.retry_after}`,
        fault.delay_ms && `+${fault.delay_ms} ms`,
        fault.cut && t(`cut_${fault.cut}`),
      ];
  const remove = () => api.clearFault(state.token, id).then(refresh);
  return el(
    "li",
    { class: "fault", testid: `fault-${id}`, title: JSON.stringify(what) },
    el("bdi", { class: "fault-words", text: words.filter(Boolean).join(" · ") }),
    el("span", { class: "fault-left", title: t("faultLeft"), text: `×${left ?? times ?? 1}` }),
    iconButton("close", t("remove"), { on: { click: remove } }),
  );
}

function faultForm(refresh) {
  const input = (name, props = {}) => el("input", { name, testid: `fault-${name}`, autocomplete: "off", ...props });
  const choice = (name, values) =>
    el(
      "select",
      { name, testid: `fault-${name}` },
      values.map(([value, label]) => el("option", { value, text: label })),
    );
  const controls = {
    kind: choice("kind", [
      ["call", t("faultOfCall")],
      ["updates", t("faultOfUpdates")],
    ]),
    method: input("method", { list: "known-methods", placeholder: t("anyMethod") }),
    chat_id: choice("chat_id", [["", t("anyChat")], ...chatList().map((chat) => [chat.id, nameOf(chat)])]),
    status: input("status", { type: "number", min: 400, max: 599, placeholder: "—" }),
    description: input("description", { placeholder: "Bad Request: …" }),
    retry_after: input("retry_after", { type: "number", min: 1, max: 86400, placeholder: "—" }),
    delay_ms: input("delay_ms", { type: "number", min: 0, max: 600000, placeholder: "0" }),
    cut: choice("cut", [
      ["", t("cut_none")],
      ["before", t("cut_before")],
      ["after", t("cut_after")],
    ]),
    updates: choice(
      "updates",
      ["duplicate", "reorder", "delay", "restart_ids"].map((name) => [name, t(`updates_${name}`)]),
    ),
    times: input("times", { type: "number", min: 1, max: 100000, value: 1, required: true }),
  };
  const rows = Object.fromEntries(
    Object.entries(controls).map(([name, control]) => [name, field(t(`field_${name}`), control)]),
  );
  const show = () => {
    const ofCall = controls.kind.value === "call";
    for (const name of ["method", "chat_id", "status", "description", "retry_after", "cut"])
      rows[name].hidden = !ofCall;
    rows.updates.hidden = ofCall;
  };
  const preset = (values) => {
    for (const [name, control] of Object.entries(controls))
      control.value = values[name] ?? (name === "times" ? 1 : name === "updates" ? "duplicate" : "");
    show();
  };
  const presets = Object.entries(PRESETS).map(([name, values]) =>
    button({ class: "chip", testid: `preset-${name}`, text: t(name), on: { click: () => preset(values) } }),
  );
  controls.kind.addEventListener("change", show);
  const pair = (...names) =>
    el(
      "div",
      { class: "field-pair" },
      names.map((name) => rows[name]),
    );
  formDialog(
    t("injectFault"),
    [
      el("div", { class: "chips", role: "group", "aria-label": t("presets") }, presets),
      pair("kind", "times"),
      pair("method", "chat_id"),
      rows.updates,
      pair("status", "retry_after"),
      rows.description,
      pair("cut", "delay_ms"),
      methodNames(),
    ],
    {
      submit: t("inject"),
      testid: "fault-form",
      submitTestid: "fault-submit",
      className: "wide",
      onSubmit: async (data) => (await api.addFault(state.token, faultOf(data)), refresh()),
    },
  );
  show();
}

function methodNames() {
  const common = [
    "sendMessage",
    "editMessageText",
    "answerCallbackQuery",
    "getUpdates",
    "sendPhoto",
    "sendDocument",
    "sendMediaGroup",
    "deleteMessage",
    "getFile",
    "setWebhook",
  ];
  const seen = state.log.filter((entry) => entry.kind === "call").map((entry) => entry.event.method);
  return el(
    "datalist",
    { id: "known-methods" },
    [...new Set([...seen, ...common])].map((name) => el("option", { value: name })),
  );
}

const NUMBERS = ["chat_id", "status", "retry_after", "delay_ms", "times"];

/** The request for the form: only filled fields, and only fields of the chosen kind. */
function faultOf(data) {
  const ofCall = data.get("kind") === "call";
  const names = ofCall
    ? ["method", "chat_id", "status", "description", "retry_after", "cut", "delay_ms", "times"]
    : ["updates", "delay_ms", "times"];
  const fault = {};
  for (const name of names) {
    const value = String(data.get(name) ?? "").trim();
    if (value) fault[name] = NUMBERS.includes(name) ? Number(value) : value;
  }
  return fault;
}
