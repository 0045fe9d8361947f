// The first steps: what this page is, how to point a bot at it, and how to make one by a token.

import { button, copyText, el, fill, icon } from "./dom.js";
import { createBot } from "./session.js";
import { dialog, field, formDialog } from "./dialogs.js";
import { addPerson } from "./forms.js";
import { t } from "./texts.js";

// Also read by the browser under the `v` flag, which wants the hyphen escaped.
const TOKEN = /^\d{3,16}:[\w\-]{20,64}$/;
const SAMPLE_TOKEN = "123456789:AAExampleTokenExampleTokenExample01";

/** The page without any bot. */
export function welcome() {
  return el(
    "div",
    { class: "welcome", testid: "welcome" },
    el("div", { class: "welcome-mark", "aria-hidden": "true" }, icon("topic")),
    el("h1", { text: t("welcomeTitle") }),
    el("p", { class: "lead", text: t("welcomeWords") }),
    el(
      "ol",
      { class: "steps" },
      el(
        "li",
        {},
        el("h2", { text: t("stepConnect") }),
        el("p", { text: t("stepConnectWords") }),
        snippets(SAMPLE_TOKEN),
      ),
      el("li", {}, el("h2", { text: t("stepToken") }), tokenForm()),
      el("li", {}, el("h2", { text: t("stepWait") }), el("p", { text: t("stepWaitWords") })),
    ),
  );
}

/** A bot without people, or with no chat open. */
export function chooseFace(hasPeople, complain) {
  return el(
    "div",
    { class: "welcome small" },
    el("div", { class: "welcome-mark", "aria-hidden": "true" }, icon(hasPeople ? "topic" : "addPerson")),
    el("h1", { text: t(hasPeople ? "chooseChat" : "noPeopleTitle") }),
    el("p", { class: "lead", text: t(hasPeople ? "chooseChatWords" : "noPeopleWords") }),
    !hasPeople &&
      button(
        { class: "primary big", testid: "add-first-person", on: { click: () => addPerson().catch(complain) } },
        icon("addPerson"),
        t("addFirstPerson"),
      ),
  );
}

export function connectGuide(token) {
  dialog(
    t("connectBot"),
    el("div", { class: "dialog-body" }, el("p", { text: t("stepConnectWords") }), snippets(token)),
    { className: "wide" },
  );
}

export function botForm() {
  const input = tokenInput();
  formDialog(t("newBot"), [field(t("token"), input, t("tokenHint"))], {
    submit: t("create"),
    submitTestid: "bot-submit",
    onSubmit: (data) => createBot(String(data.get("token")).trim(), {}),
  });
}

function tokenInput() {
  return el("input", {
    name: "token",
    value: newToken(),
    required: true,
    pattern: TOKEN.source.replace(/^\^|\$$/g, ""),
    testid: "token",
    spellcheck: "false",
    autocomplete: "off",
    class: "mono",
    "aria-label": t("token"),
  });
}

function tokenForm() {
  const problem = el("p", { class: "problem", role: "alert" });
  const form = el(
    "form",
    { class: "token-form" },
    tokenInput(),
    el("button", { type: "submit", class: "primary", testid: "create-bot", text: t("createBot") }),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    createBot(String(new FormData(form).get("token")).trim(), {}).catch(
      (refusal) => (problem.textContent = refusal.message),
    );
  });
  return el("div", {}, el("p", { text: t("tokenHint") }), form, problem);
}

function newToken() {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  const random = crypto.getRandomValues(new Uint8Array(42));
  const id = [...random.slice(0, 9)].map((byte, place) => (place ? byte % 10 : 1 + (byte % 9))).join("");
  return `${id}:AA${[...random.slice(9)].map((byte) => letters[byte % 64]).join("")}`;
}

function snippets(token) {
  const base = location.origin;
  const kinds = {
    env: `BOT_API_URL=${base}\nBOT_TOKEN=${token}`,
    curl: `curl ${base}/bot${token}/getMe`,
    aiogram: `session = AiohttpSession(api=TelegramAPIServer.from_base("${base}"))\nbot = Bot("${token}", session=session)`,
    "python-telegram-bot": `ApplicationBuilder().token("${token}")\n    .base_url("${base}/bot")\n    .base_file_url("${base}/file/bot")`,
    grammY: `new Bot("${token}", {\n  client: { apiRoot: "${base}" },\n})`,
    teloxide: `Bot::new("${token}")\n    .set_api_url("${base}".parse()?)`,
  };
  const code = el("code", { text: kinds.env });
  const tabs = el("div", { class: "chips", role: "tablist", "aria-label": t("library") });
  const draw = (chosen) => {
    code.textContent = kinds[chosen];
    fill(
      tabs,
      Object.keys(kinds).map((kind) =>
        button({
          class: "chip",
          role: "tab",
          "aria-selected": String(kind === chosen),
          text: kind === "env" ? t("environment") : kind,
          on: { click: () => draw(kind) },
        }),
      ),
    );
  };
  const copy = button({ class: "snippet-copy", testid: "copy-snippet" }, icon("copy"), el("span", { text: t("copy") }));
  copy.addEventListener("click", async () => {
    await copyText(code.textContent);
    copy.lastChild.textContent = t("copied");
    setTimeout(() => (copy.lastChild.textContent = t("copy")), 1500);
  });
  draw("env");
  return el("div", { class: "snippets" }, tabs, el("div", { class: "snippet" }, el("pre", {}, code), copy));
}
