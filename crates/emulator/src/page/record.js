// The record of calls and updates behind the inspector.
//
// Promise: the newest entries are kept up to a limit, each once, and a delivery is joined to its update. It also knows
// which messages of people have reached the bot, which the chat shows as ticks.

import { keyOf, state, tell } from "./state.js";

const KEPT_ENTRIES = 2000;
let number = 0;

/** Replaces the record by what the server remembers, of which `waiting` updates are still in its queue. */
export function keepLog(events, waiting) {
  state.log = [];
  state.deliveries = new Map();
  for (const event of Array.isArray(events) ? events : []) take(event);
  const updates = state.log.filter((entry) => entry.kind === "update" && !entry.deliveries.length);
  // The server remembers updates but not their deliveries: what left its queue was delivered.
  for (const entry of updates.slice(0, Math.max(0, updates.length - waiting))) settle(entry);
}

function settle(entry) {
  entry.deliveries.push({ by: state.webhook?.url ? "webhook" : "poll", ok: true });
  mark(entry.event.update, true);
}

/** Adds one event of the stream. */
export function logEvent(event) {
  const entry = take(event);
  if (entry) tell("entry", entry);
}

function take(event) {
  if (event.event === "delivery") return delivered(event);
  const kind = event.event ?? (event.method ? "call" : "update");
  const known = state.log.find((entry) => entry.kind === kind && entry.event.id === event.id);
  if (known && event.id !== undefined) return null;
  const entry = { kind, event, number: ++number, deliveries: [] };
  state.log.push(entry);
  if (state.log.length > KEPT_ENTRIES) state.log.splice(0, state.log.length - KEPT_ENTRIES);
  if (kind === "update") mark(event.update, Boolean(event.delivered));
  if (event.delivered) entry.deliveries.push({ by: event.delivered, ok: true });
  return entry;
}

function delivered(event) {
  const entry = state.log.findLast((one) => one.kind === "update" && one.event.update?.update_id === event.update_id);
  if (!entry) return null;
  entry.deliveries.push(event);
  if (event.ok !== false) mark(entry.event.update, true);
  return entry;
}

function mark(update, isDelivered) {
  const message = update?.message ?? update?.edited_message;
  if (!message?.chat) return;
  const key = keyOf(message.chat.id, message.message_id);
  if (state.deliveries.get(key) === isDelivered || state.deliveries.get(key)) return;
  state.deliveries.set(key, isDelivered);
  tell("messages", message.chat.id);
}

/** Method of a call or kind of an update. */
export function nameOfEntry(entry) {
  if (entry.kind === "call") return entry.event.method ?? "?";
  return Object.keys(entry.event.update ?? {}).find((key) => key !== "update_id") ?? "?";
}

/** The chat an entry is about, if it is about one. */
export function chatOfEntry(entry) {
  if (entry.kind === "call") return idOrNull(entry.event.parameters?.chat_id ?? entry.event.answer?.result?.chat?.id);
  const body = entry.event.update?.[nameOfEntry(entry)];
  return idOrNull(body?.chat?.id ?? body?.message?.chat?.id ?? body?.user?.id ?? body?.from?.id);
}

function idOrNull(value) {
  const id = Number(value);
  return Number.isFinite(id) && value !== undefined && value !== null && value !== "" ? id : null;
}

/** Whether a call was refused or an update could not be delivered. */
export function isFailure(entry) {
  if (entry.kind === "call")
    return entry.event.status >= 400 || entry.event.answer?.ok === false || !entry.event.status;
  return entry.deliveries.at(-1)?.ok === false;
}

export const complaintsOf = (entry) => entry.event.complaints ?? [];

/** A `getUpdates` call without updates, which the inspector can hide. */
export function isEmptyPoll(entry) {
  const result = entry.event.answer?.result;
  return entry.kind === "call" && entry.event.method === "getUpdates" && Array.isArray(result) && result.length === 0;
}
