// The top of a chat: name and photo, the pinned message, the topics.

import { avatar, button, el, icon, iconButton } from "./dom.js";
import { chatMenu } from "./chat-menus.js";
import { topicForm } from "./forms.js";
import { openMenu } from "./menu.js";
import { backToList, closeChat, toggleInspector } from "./screen.js";
import { chatOf, nameOf, room, state, tell } from "./state.js";
import { summary } from "./summary.js";
import { languageName, t } from "./texts.js";

/** The name of the chat and its menu. */
export function headerParts(here) {
  const chat = chatOf(here.chatId);
  if (!chat) return [];
  const name = nameOf(chat);
  const user = state.users.get(here.chatId);
  const typing = state.typing.get(here.chatId);
  const note = typing
    ? t(`action_${typing.action}`) || t("action_typing")
    : here.isGroup
      ? t("members", { n: (chat.member_ids ?? []).length + (chat.is_member === false ? 0 : 1) })
      : [user?.username && `@${user.username}`, languageName(user?.language_code), `id ${here.chatId}`]
          .filter(Boolean)
          .join(" · ");
  return [
    iconButton("back", t("backToList"), { class: "back", testid: "back", on: { click: backToList } }),
    avatar(here.chatId, name, here.isGroup ? "group" : ""),
    el(
      "div",
      { class: "chat-title" },
      el("h2", { dir: "auto", text: name }),
      el("p", { class: typing ? "busy" : "", text: note }),
    ),
    iconButton("inspect", t("inspector"), { class: "narrow-only", on: { click: () => toggleInspector(true) } }),
    iconButton("more", t("chatMenu"), {
      testid: "chat-menu",
      "aria-haspopup": "menu",
      on: { click: (event) => openMenu(event.currentTarget, chatMenu(here)) },
    }),
    state.open.length > 1 &&
      iconButton("close", t("closeColumn"), { class: "wide-only", on: { click: () => closeChat(here.chatId) } }),
  ];
}

export function pinBar(here) {
  const pinned = room(here.chatId).messages.get(state.pins.get(here.chatId));
  if (!pinned) return null;
  return button(
    {
      class: "pin-bar",
      testid: "pin-bar",
      data: { pinned: pinned.message_id },
      on: { click: () => here.jump(pinned.message_id) },
    },
    icon("pin"),
    el(
      "span",
      { class: "row-words" },
      el("span", { class: "reply-name", text: t("pinned") }),
      el("span", { class: "reply-words", dir: "auto", text: summary(pinned) }),
    ),
  );
}

export function topicBar(here) {
  if (!here.isForum) return null;
  const topics = [
    { id: null, name: t("allTopics") },
    { id: 0, name: t("generalTopic") },
  ];
  for (const topic of chatOf(here.chatId).topics ?? []) topics.push({ id: topic.message_thread_id, name: topic.name });
  const choose = (id) => {
    state.threads.set(here.chatId, id);
    tell("chat", here.chatId);
  };
  const tabs = topics.map(({ id, name }) =>
    button({
      class: "topic",
      role: "tab",
      testid: `topic-${id ?? "all"}`,
      "aria-selected": String(here.thread() === id),
      dir: "auto",
      text: name,
      on: { click: () => choose(id) },
    }),
  );
  return el(
    "div",
    { class: "topics" },
    el("div", { class: "topic-tabs", role: "tablist", "aria-label": t("topics") }, tabs),
    iconButton("add", t("newTopic"), { testid: "add-topic", on: { click: () => topicForm(here) } }),
  );
}
