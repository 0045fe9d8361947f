// Actions of a person in a chat: send, press, vote, react.
//
// Promise: a refusal becomes a toast in that chat, and nothing throws. Every action is done as the chat's current
// writer.

import { api } from "./api.js";
import { showAlert } from "./dialogs.js";
import { takeSent } from "./session.js";
import { keyOf, state } from "./state.js";
import { t } from "./texts.js";

const PRESS_WAIT_SECONDS = 10;

/** Runs an action; a refusal becomes a toast. Returns whether it succeeded. */
async function attempt(here, deed) {
  try {
    return (await deed()) ?? {};
  } catch (refusal) {
    here.toast(refusal.message, "error");
    return null;
  }
}

/** Sends as the current writer, into the current topic. */
export async function send(here, body) {
  const thread = here.thread();
  const whole = { from: here.writer(), ...body };
  if (here.isForum && thread) whole.thread_id = thread;
  const answer = await attempt(here, () => api.send(state.token, here.chatId, whole));
  if (answer) takeSent(here.chatId, answer);
  return answer;
}

/** Presses a button, which shows that it waits until the bot answers. */
export async function press(here, message, data, row, column) {
  const key = `${message.message_id}:${row}:${column}`;
  if (here.pending.has(key)) return;
  here.pending.add(key);
  here.refresh();
  const body = { from: here.writer(), message_id: message.message_id, data, wait: PRESS_WAIT_SECONDS };
  const answer = await attempt(here, () => api.press(state.token, here.chatId, body));
  here.pending.delete(key);
  here.refresh();
  if (!answer) return;
  if (answer.answered) return showAnswer(here, answer);
  here.unanswered ??= new Set();
  here.unanswered.add(answer.callback_query_id);
  here.toast(t("noAnswer"), "warning");
}

/** An answer to a press after its timeout. */
export function lateAnswer(here, answer) {
  if (here.unanswered?.delete(answer.callback_query_id)) showAnswer(here, answer);
}

function showAnswer(here, { text, show_alert: isAlert, url }) {
  if (url) showAlert(text || t("botOpensLink"), url);
  else if (text && isAlert) showAlert(text);
  else if (text) here.toast(text);
}

export function vote(here, message, ids) {
  const body = { from: here.writer(), message_id: message.message_id, option_ids: ids };
  return attempt(here, () => api.vote(state.token, here.chatId, body));
}

/** Sets a reaction, or removes it if it is set. */
export function react(here, message, emoji) {
  const given = state.reactions.get(keyOf(here.chatId, message.message_id)) ?? [];
  const mine = given.find(({ from }) => from === here.writer())?.reaction ?? [];
  const reaction = mine.some((one) => one.emoji === emoji) ? [] : [{ type: "emoji", emoji }];
  const body = { from: here.writer(), message_id: message.message_id, reaction };
  return attempt(here, () => api.react(state.token, here.chatId, body));
}
