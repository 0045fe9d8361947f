// The state of the page: one plain object, and subscriptions to changes by topic.
//
// Promise: views read `state` and change it only through the functions of `session.js` and `screen.js`. Messages of a
// chat are kept in order of their ids. Nothing here talks to the server or to the document.

export const state = fresh();

function fresh() {
  return {
    bots: [],
    server: null,
    token: null,
    bot: null,
    users: new Map(),
    hints: {},
    chats: new Map(),
    commands: [],
    menuButton: null,
    description: "",
    webhook: null,
    clockOffset: 0,
    rooms: new Map(),
    reactions: new Map(),
    pins: new Map(),
    typing: new Map(),
    unread: new Map(),
    deliveries: new Map(),
    votes: new Map(),
    log: [],
    faults: [],
    connection: "connecting",
    open: [],
    active: null,
    layout: "single",
    drafts: new Map(),
    writers: new Map(),
    threads: new Map(),
    inspector: false,
  };
}

/** Clears everything about the current bot. Settings of the window (layout, inspector) stay. */
export function emptyWorld() {
  const { bots, server, layout, inspector } = state;
  Object.assign(state, fresh(), { bots, server, layout, inspector });
}

const listeners = new Map();

/** Calls the subscribers of a topic. */
export function tell(topic, detail) {
  for (const listener of [...(listeners.get(topic) ?? [])]) listener(detail);
}

/** Subscriptions that end together, when their view is closed. */
export function scope() {
  const endings = [];
  return {
    on(topics, listener) {
      for (const topic of topics.split(" ")) {
        if (!listeners.has(topic)) listeners.set(topic, new Set());
        listeners.get(topic).add(listener);
        endings.push(() => listeners.get(topic).delete(listener));
      }
    },
    after(ending) {
      endings.push(ending);
    },
    end() {
      for (const ending of endings.splice(0)) ending();
    },
  };
}

/** The messages of a chat, made on first use. */
export function room(chatId) {
  if (!state.rooms.has(chatId)) state.rooms.set(chatId, { messages: new Map(), order: [], loaded: false });
  return state.rooms.get(chatId);
}

/** Adds or replaces a message; returns whether it is new. */
export function keep(chatId, message) {
  const kept = room(chatId);
  const known = kept.messages.has(message.message_id);
  kept.messages.set(message.message_id, message);
  if (known) return false;
  const last = kept.order.at(-1) ?? -Infinity;
  kept.order.push(message.message_id);
  if (message.message_id < last) kept.order.sort((a, b) => a - b);
  return true;
}

export function discard(chatId, messageIds) {
  const kept = room(chatId);
  const gone = new Set(messageIds);
  for (const id of gone) kept.messages.delete(id);
  kept.order = kept.order.filter((id) => !gone.has(id));
}

/** All chats of the list: groups, and a private chat for each person even if nothing was said yet. */
export function chatList() {
  const chats = [...state.chats.values()].filter((chat) => chat.type !== "private" || state.users.has(chat.id));
  for (const user of state.users.values()) if (!state.chats.has(user.id)) chats.push(privateChat(user));
  const when = (chat) => lastMessage(chat.id)?.date ?? 0;
  return chats
    .map((chat, place) => ({ chat, place }))
    .sort((a, b) => when(b.chat) - when(a.chat) || a.place - b.place)
    .map((entry) => entry.chat);
}

function privateChat(user) {
  return {
    id: user.id,
    type: "private",
    first_name: user.first_name,
    last_name: user.last_name,
    username: user.username,
    member_ids: [user.id],
    blocked_by: [],
    topics: [],
  };
}

export function chatOf(chatId) {
  const user = state.users.get(chatId);
  return state.chats.get(chatId) ?? (user && privateChat(user)) ?? null;
}

export function lastMessage(chatId) {
  const kept = state.rooms.get(chatId);
  if (kept?.order.length) return kept.messages.get(kept.order.at(-1));
  return kept?.loaded ? null : (state.chats.get(chatId)?.last_message ?? null);
}

/** The writer of a chat: the person in a private chat, the chosen member in a group. */
export function writerOf(chatId) {
  const chat = chatOf(chatId);
  if (!chat || chat.type === "private") return chatId;
  const members = (chat.member_ids ?? []).filter((id) => state.users.has(id));
  const chosen = state.writers.get(chatId);
  return members.includes(chosen) ? chosen : (members[0] ?? null);
}

export const isBlocked = (chatId) => (chatOf(chatId)?.blocked_by ?? []).includes(writerOf(chatId));

export function nameOf(person) {
  if (!person) return "";
  return person.title ?? [person.first_name, person.last_name].filter(Boolean).join(" ") ?? "";
}

export const keyOf = (chatId, messageId) => `${chatId}:${messageId}`;
