// One chat as a column: header, pinned message, topics, messages, composer.
//
// Promise: creates `here`, the only object through which its parts act in the chat, and ends all subscriptions when it
// is closed. The parts draw themselves.

import { el, refill } from "./dom.js";
import { catchFiles } from "./attach.js";
import { headerParts, pinBar, topicBar } from "./chat-head.js";
import { messageMenu } from "./chat-menus.js";
import { createComposer } from "./composer.js";
import { lateAnswer, press, react, send, vote } from "./deeds.js";
import { toaster } from "./dialogs.js";
import { emptyFace, typingFace } from "./faces.js";
import { openMenu } from "./menu.js";
import { activate, isUnloaded } from "./screen.js";
import { loadMessages } from "./session.js";
import { soon } from "./soon.js";
import { chatOf, nameOf, scope, state, writerOf } from "./state.js";
import { createTimeline } from "./timeline.js";

export function createChat(chatId) {
  const life = scope();
  const toasts = toaster();
  const here = place(chatId, toasts.show);
  const timeline = createTimeline(here);
  const composer = createComposer(here, life);
  Object.assign(here, {
    refresh: timeline.refresh,
    jump: timeline.jump,
    reply: composer.reply,
    edit: composer.edit,
  });
  const header = el("header", { class: "chat-header" });
  const bars = el("div", { class: "bars" });
  const node = el(
    "section",
    { class: "chat", testid: `column-${chatId}`, data: { chat: chatId }, "aria-label": nameOf(chatOf(chatId)) },
    [header, bars, timeline.node, composer.node, toasts.node],
  );
  node.addEventListener("pointerdown", () => state.active !== chatId && activate(chatId));
  node.addEventListener("focusin", () => state.active !== chatId && activate(chatId));
  catchFiles(node, here, composer);
  const drawHead = soon(() => {
    refill(header, headerParts(here));
    refill(bars, pinBar(here), topicBar(here));
  });
  listen(here, life, { timeline, composer, drawHead });
  if (isUnloaded(chatId)) loadMessages(chatId).catch((refusal) => here.toast(refusal.message, "error"));
  const end = () => {
    timeline.end();
    life.end();
  };
  return { node, focus: composer.focus, end };
}

/** The chat as its parts see it: the writer, the topic and the actions. */
function place(chatId, toast) {
  const here = {
    chatId,
    isGroup: chatOf(chatId).type !== "private",
    get isForum() {
      return Boolean(chatOf(chatId)?.is_forum);
    },
    /** Presses that wait for an answer, as "message:row:column". */
    pending: new Set(),
    typingFace: null,
    writer: () => writerOf(chatId),
    /** null: all topics; 0: the general one. */
    thread: () => state.threads.get(chatId) ?? null,
    toast,
    command: (text) => here.send({ text }),
    emptyFace: () => emptyFace(here),
    openMenu: (message, anchor) => message && openMenu(anchor, messageMenu(message, here)),
    send: (body) => send(here, body),
    press: (message, data, row, column) => press(here, message, data, row, column),
    vote: (message, ids) => vote(here, message, ids),
    react: (message, emoji) => react(here, message, emoji),
  };
  return here;
}

/** Redraws the parts that a change affects. */
function listen(here, life, { timeline, composer, drawHead }) {
  const isHere = (chatId) => chatId === here.chatId;
  const drawAll = () => {
    drawHead();
    composer.refresh();
    timeline.refresh();
  };
  const drawTyping = () => {
    here.typingFace = typingFace(here.chatId);
    drawHead();
    timeline.refresh();
  };
  life.on("messages", (chatId) => {
    if (!isHere(chatId)) return;
    timeline.refresh();
    composer.refresh();
    if (state.pins.has(chatId)) drawHead();
  });
  life.on("typing", (chatId) => isHere(chatId) && drawTyping());
  life.on("chat", (chatId) => isHere(chatId) && drawAll());
  life.on("people profile open world", drawAll);
  life.on("said", (said) => isHere(said.chatId) && timeline.said(said.message.from?.id === here.writer()));
  life.on("callback", (answer) => lateAnswer(here, answer));
  drawTyping();
}
