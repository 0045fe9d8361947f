// The current bot: chooses it, follows its events and turns them into state.
//
// Promise: after a lost connection everything on the screen is fetched again, so that no change is missed. Only this
// module writes answers and events of the server into `state`.

import { api } from "./api.js";
import { follow } from "./live.js";
import { chatOf, discard, emptyWorld, keep, keyOf, room, state, tell } from "./state.js";
import { isNarrow, note, recall, reopenChats } from "./screen.js";
import { keepLog, logEvent } from "./record.js";

const TYPING_MS = 5000;
let stop = () => {};

/** Fetches the list of bots. */
export async function refreshBots() {
  const server = await api.server();
  state.server = server;
  state.bots = server.bots ?? [];
  tell("bots");
}

/** Picks the bot named in the address, else the last one used, else the first. */
export async function start() {
  await refreshBots();
  const wanted = new URLSearchParams(location.search).get("bot");
  const known = (name) => state.bots.find((bot) => bot.token === name || String(bot.id) === name)?.token;
  const unknown = /^\d+:[\w-]{20,}$/.test(wanted ?? "") ? wanted : undefined;
  const token = known(wanted) ?? unknown ?? known(recall("bot")) ?? state.bots[0]?.token;
  if (token) await chooseBot(token);
}

/** Creates a bot by using its token, and switches to it. */
export async function createBot(token, profile) {
  await api.setBot(token, profile);
  await refreshBots();
  await chooseBot(token);
}

export async function chooseBot(token) {
  stop();
  emptyWorld();
  state.token = token;
  note("bot", token);
  tell("world");
  await new Promise((ready) => {
    stop = follow(api.eventsUrl(token), {
      onOpen: () => resync(token),
      onEvent: (event) => token === state.token && apply(event),
      onStatus(status) {
        state.connection = status;
        tell("connection");
        ready();
      },
    });
  });
}

/** Leaves the current bot, for example when it was deleted. */
export async function leaveBot() {
  stop();
  emptyWorld();
  note("bot", null);
  tell("world");
  await refreshBots();
  if (state.bots[0]) await chooseBot(state.bots[0].token);
}

async function resync(token) {
  const [world, log, faults] = await Promise.all([api.world(token), api.log(token), api.faults(token)]);
  if (token !== state.token) return;
  takeWorld(world);
  keepLog(log, world.pending_update_count ?? 0);
  state.faults = faultList(faults);
  const shown = [...new Set([...state.open, ...[...state.rooms].filter(([, kept]) => kept.loaded).map(([id]) => id)])];
  await Promise.all(shown.map((chatId) => loadMessages(chatId)));
  for (const topic of ["world", "people", "profile", "log", "faults", "clock"]) tell(topic);
}

const faultList = (answer) => (Array.isArray(answer) ? answer : (answer?.faults ?? []));

function takeWorld(world) {
  state.bot = world.bot;
  state.users = new Map((world.users ?? []).map((user) => [user.id, user]));
  state.chats = new Map((world.chats ?? []).map((chat) => [chat.id, chat]));
  state.hints = world.hints ?? {};
  state.clockOffset = world.clock_offset_seconds ?? 0;
  state.webhook = world.webhook ?? null;
  takeProfile(world);
  for (const chat of state.chats.values()) takePin(chat);
  for (const chatId of state.rooms.keys()) if (!chatOf(chatId)) state.rooms.delete(chatId);
  reopenChats();
}

function takeProfile({ commands, menu_button: menu, description, bot }) {
  state.commands = commands ?? state.commands;
  state.menuButton = menu ?? state.menuButton;
  state.description = description ?? state.description;
  state.bot = bot ?? state.bot;
}

function takePin(chat) {
  if (!("pinned_message_id" in chat)) return;
  if (chat.pinned_message_id) state.pins.set(chat.id, chat.pinned_message_id);
  else state.pins.delete(chat.id);
}

/** Fetches a chat's messages and replaces what was known of them. */
export async function loadMessages(chatId) {
  const token = state.token;
  const messages = await api.messages(token, chatId).catch((refusal) => {
    if (refusal.status === 404) return [];
    throw refusal;
  });
  if (token !== state.token) return;
  const kept = room(chatId);
  kept.messages = new Map(messages.map((message) => [message.message_id, message]));
  kept.order = [...kept.messages.keys()].sort((a, b) => a - b);
  kept.loaded = true;
  for (const message of messages) {
    if (message.reactions) state.reactions.set(keyOf(chatId, message.message_id), message.reactions);
  }
  tell("messages", chatId);
}

const handlers = {
  message({ chat_id: chatId, message }) {
    const isNew = keep(chatId, message);
    const fromBot = message.from?.id === state.bot?.id;
    if (fromBot) quiet(chatId);
    if (isNew && fromBot && !isSeen(chatId)) state.unread.set(chatId, (state.unread.get(chatId) ?? 0) + 1);
    tell("messages", chatId);
    tell("people");
    if (isNew) tell("said", { chatId, message });
  },
  edit({ chat_id: chatId, message }) {
    if (!room(chatId).loaded && !room(chatId).messages.has(message.message_id)) return;
    keep(chatId, message);
    tell("messages", chatId);
    tell("people");
  },
  delete({ chat_id: chatId, message_ids: ids }) {
    discard(chatId, ids);
    tell("messages", chatId);
    tell("people");
  },
  chat_action({ chat_id: chatId, message_thread_id: thread, action }) {
    clearTimeout(state.typing.get(chatId)?.timer);
    state.typing.set(chatId, { action, thread, timer: setTimeout(() => quiet(chatId), TYPING_MS) });
    tell("typing", chatId);
  },
  callback_answer: (event) => tell("callback", event),
  user({ user }) {
    state.users.set(user.id, user);
    tell("people");
  },
  hints({ hints }) {
    state.hints = hints ?? {};
    tell("hints");
    tell("people");
  },
  chat({ chat }) {
    state.chats.set(chat.id, { ...state.chats.get(chat.id), ...chat });
    takePin(chat);
    tell("people");
    tell("chat", chat.id);
  },
  reaction({ chat_id: chatId, message_id: messageId, reactions }) {
    state.reactions.set(keyOf(chatId, messageId), reactions ?? []);
    tell("messages", chatId);
  },
  pin({ chat_id: chatId, message_id: messageId }) {
    if (messageId) state.pins.set(chatId, messageId);
    else state.pins.delete(chatId);
    tell("chat", chatId);
  },
  profile(event) {
    takeProfile(event);
    tell("profile");
  },
  webhook({ webhook }) {
    state.webhook = webhook;
    tell("profile");
  },
  call: logEvent,
  update: logEvent,
  delivery: logEvent,
  faults({ faults }) {
    state.faults = faults ?? [];
    tell("faults");
  },
  clock({ offset_seconds: offset }) {
    state.clockOffset = offset ?? 0;
    tell("clock");
  },
  forgotten: () => leaveBot(),
  // The server dropped events because this page read them too slowly.
  lagged: () => resync(state.token).catch(() => {}),
};

function apply(event) {
  handlers[event.event]?.(event);
}

function quiet(chatId) {
  clearTimeout(state.typing.get(chatId)?.timer);
  if (state.typing.delete(chatId)) tell("typing", chatId);
}

/** A message is seen when its chat is on the screen and the window is not in the background. */
function isSeen(chatId) {
  return state.open.includes(chatId) && !document.hidden && !(isNarrow() && state.active !== chatId);
}

/** Stores the answer to a sent message, unless its event has arrived already. */
export function takeSent(chatId, answer) {
  for (const message of [answer].flat()) {
    if (message?.message_id && !room(chatId).messages.has(message.message_id)) {
      handlers.message({ chat_id: chatId, message });
    }
  }
}
