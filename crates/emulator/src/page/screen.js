// What is on the screen: open chats, layout, language and theme, remembered between visits.
//
// Promise: works without browser storage, but then remembers nothing. Nothing here talks to the server.

import { chatOf, room, state, tell } from "./state.js";

const PREFIX = "opora.";

export function recall(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

export function note(name, value) {
  try {
    if (value === null || value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Storage may be full or forbidden; the page works without it.
  }
}

/** Shows a chat: beside the others if asked or if the layout says so, else instead of the active one. */
export function openChat(chatId, { beside = state.layout === "columns" } = {}) {
  if (!state.open.includes(chatId)) {
    const place = state.open.indexOf(state.active);
    if (beside || place < 0) state.open.push(chatId);
    else state.open[place] = chatId;
    if (!beside && state.layout === "single") state.open = [chatId];
  } else if (!beside && state.layout === "single") {
    state.open = [chatId];
  }
  if (beside && state.open.length > 1) state.layout = "columns";
  activate(chatId);
  tell("open");
  saveScreen();
}

export function closeChat(chatId) {
  state.open = state.open.filter((id) => id !== chatId);
  if (state.active === chatId) state.active = state.open.at(-1) ?? null;
  if (state.open.length < 2) state.layout = "single";
  tell("open");
  saveScreen();
}

/** Makes a chat the active one and marks it as read. */
export function activate(chatId) {
  state.active = chatId;
  if (state.unread.delete(chatId)) tell("people");
  tell("active");
}

/** Back to the list of chats on a narrow screen. */
export function backToList() {
  state.active = null;
  tell("open");
  tell("active");
}

/** One chat, or all people side by side. */
export function switchLayout(everyone) {
  if (state.layout === "columns") {
    state.layout = "single";
    state.open = state.open.filter((id) => id === (state.active ?? state.open[0]));
  } else {
    state.layout = "columns";
    for (const id of everyone) if (!state.open.includes(id)) state.open.push(id);
    state.active ??= state.open[0] ?? null;
  }
  tell("open");
  saveScreen();
}

export function toggleInspector(wanted = !state.inspector) {
  state.inspector = wanted;
  note("inspector", wanted);
  tell("inspector");
}

function saveScreen() {
  note(`open.${state.token}`, { open: state.open, layout: state.layout });
}

/** After the world was fetched: reopens the open chats that still exist. */
export function reopenChats() {
  const saved = recall(`open.${state.token}`);
  if (!state.open.length && Array.isArray(saved?.open)) {
    state.open = saved.open;
    state.layout = saved.layout === "columns" ? "columns" : "single";
  }
  state.open = state.open.filter((id) => chatOf(id));
  if (!state.open.includes(state.active)) state.active = isNarrow() ? null : (state.open[0] ?? null);
}

/** A phone, or a window as narrow as one: the list and the chat take turns. */
export const isNarrow = () => window.matchMedia("(max-width: 760px)").matches;

export function restoreScreen() {
  state.inspector = recall("inspector") === true && !isNarrow();
  applyTheme();
}

const wantsDark = () => window.matchMedia("(prefers-color-scheme: dark)").matches;

/** The theme in force: the chosen one, else the system's. */
export const theme = () => recall("theme") ?? (wantsDark() ? "dark" : "light");

export function switchTheme() {
  note("theme", theme() === "dark" ? "light" : "dark");
  applyTheme();
  tell("theme");
}

function applyTheme() {
  const chosen = recall("theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
}

/** Whether the messages of a chat still have to be fetched. */
export const isUnloaded = (chatId) => !room(chatId).loaded;
