// The page put together: list, chats, inspector; one start and one redraw for a change of language.

import { button, el, fill } from "./dom.js";
import { scope, state, tell } from "./state.js";
import { isNarrow, restoreScreen } from "./screen.js";
import { chooseBot, refreshBots, start } from "./session.js";
import { createPeople } from "./people.js";
import { createChat } from "./chat.js";
import { createInspector } from "./inspector.js";
import { chooseFace, welcome } from "./welcome.js";
import { toaster } from "./dialogs.js";
import { senderName, summary } from "./summary.js";
import { onLanguage, t } from "./texts.js";

const BOT_WATCH_MS = 3000;
const app = document.getElementById("app");
const announcer = document.getElementById("announcer");
let endAll = () => {};

/** Builds the whole page from the state; also after the language was switched. */
function mount() {
  endAll();
  const life = scope();
  const toasts = toaster();
  const complain = (refusal) => toasts.show(refusal.message, "error");
  const people = createPeople(complain);
  const columns = el("div", { class: "columns" });
  const side = el("div", { class: "side" });
  const offline = el(
    "div",
    { class: "offline", role: "alert", testid: "offline", hidden: true },
    el("span", { class: "spinner", "aria-hidden": "true" }),
    el("span", { text: t("offline") }),
  );
  const open = new Map();
  let inspector = null;

  function drawColumns() {
    for (const [id, chat] of open) {
      if (state.open.includes(id)) continue;
      chat.end();
      open.delete(id);
    }
    const added = state.open.filter((id) => !open.has(id));
    for (const id of added) open.set(id, createChat(id));
    const nodes = state.open.map((id) => open.get(id).node);
    // Moving a node loses its scroll position, so nothing is touched when the order is right already.
    if (!nodes.length) fill(columns, state.token ? chooseFace(state.users.size > 0, complain) : welcome());
    else if (nodes.length !== columns.children.length || nodes.some((node, place) => columns.children[place] !== node))
      columns.replaceChildren(...nodes);
    drawActive();
    // On a phone the focus would raise the keyboard over the chat.
    if (added.includes(state.active) && !isNarrow()) open.get(state.active).focus();
  }

  function drawActive() {
    app.classList.toggle("in-chat", state.active !== null || !state.token);
    app.classList.toggle("several", state.open.length > 1);
    for (const [id, chat] of open) chat.node.classList.toggle("active", id === state.active);
    if (state.open.length > 1) open.get(state.active)?.node.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function drawInspector() {
    if (state.inspector && !inspector) {
      inspector = createInspector();
      fill(side, inspector.node);
    } else if (!state.inspector && inspector) {
      inspector.end();
      inspector = null;
      fill(side);
      document.querySelector('[data-testid="inspector-toggle"]')?.focus({ preventScroll: true });
    }
    app.classList.toggle("inspecting", state.inspector);
  }

  life.on("open world", drawColumns);
  life.on("people", () => !state.open.length && drawColumns());
  life.on("active", drawActive);
  life.on("inspector", drawInspector);
  life.on("connection", () => (offline.hidden = state.connection !== "lost"));
  endAll = () => {
    life.end();
    people.end();
    for (const chat of open.values()) chat.end();
    inspector?.end();
  };
  fill(app, offline, people.node, columns, side, toasts.node);
  toasts.node.classList.add("global");
  drawColumns();
  drawInspector();
  offline.hidden = state.connection !== "lost";
}

/** Announces new messages of the bot to screen readers. */
function announce({ chatId, message }) {
  if (message.from?.id !== state.bot?.id || !state.open.includes(chatId)) return;
  announcer.append(el("p", { text: `${senderName(message)}: ${summary(message)}` }));
  while (announcer.children.length > 5) announcer.firstChild.remove();
}

/** Without a bot the page waits for one: the first request with a token creates it. */
async function watchForBots() {
  if (state.token || document.hidden) return;
  await refreshBots().catch(() => {});
  if (!state.token && state.bots[0]) await chooseBot(state.bots[0].token);
}

async function begin() {
  restoreScreen();
  onLanguage(mount);
  mount();
  const whole = scope();
  whole.on("said", announce);
  try {
    await start();
  } catch (refusal) {
    fill(
      app,
      el(
        "div",
        { class: "welcome small" },
        el("h1", { text: t("cannotStart") }),
        el("p", { class: "lead", text: refusal.message }),
        button({ class: "primary", text: t("tryAgain"), on: { click: () => location.reload() } }),
      ),
    );
  }
  app.setAttribute("aria-busy", "false");
  setInterval(watchForBots, BOT_WATCH_MS);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && state.active !== null && state.unread.delete(state.active)) tell("people");
  });
}

begin();
