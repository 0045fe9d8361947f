// The menu of a message and the menu of a chat.

import { api } from "./api.js";
import { copyText } from "./dom.js";
import { chatOf, isBlocked, nameOf, state } from "./state.js";
import { loadMessages } from "./session.js";
import { openChat } from "./screen.js";
import { topicForm } from "./forms.js";
import { t } from "./texts.js";

const QUICK_REACTIONS = ["👍", "❤️", "🔥", "🎉", "😁", "😢", "👎"];

export function messageMenu(message, here) {
  const isOwn = message.from?.id === here.writer();
  const words = message.text ?? message.caption;
  const canEdit = isOwn && words !== undefined;
  const copy = async (text) => {
    await copyText(text);
    here.toast(t("copied"));
  };
  return [
    { row: QUICK_REACTIONS.map((emoji) => ({ label: emoji, action: () => here.react(message, plain(emoji)) })) },
    { label: t("reply"), icon: "reply", testid: "menu-reply", action: () => here.reply(message) },
    canEdit && { label: t("edit"), icon: "edit", testid: "menu-edit", action: () => here.edit(message) },
    words && { label: t("copyWords"), icon: "copy", action: () => copy(words) },
    { label: t("copyJson"), icon: "inspect", action: () => copy(JSON.stringify(message, null, 2)) },
  ];
}

// The Bot API uses the heart without its variation selector.
const plain = (emoji) => emoji.replace("\uFE0F", "");

export function chatMenu(here) {
  const chat = chatOf(here.chatId);
  const copyId = {
    label: t("copyId", { id: here.chatId }),
    icon: "copy",
    testid: "menu-copy-id",
    action: () => copyText(String(here.chatId)),
  };
  const beside = { label: t("openBeside"), icon: "beside", action: () => openChat(here.chatId, { beside: true }) };
  if (!here.isGroup) return [beside, copyId, blockItem(here)];
  const members = chat.member_ids ?? [];
  const outside = [...state.users.values()].filter((user) => !members.includes(user.id));
  const writer = here.writer();
  return [
    beside,
    copyId,
    here.isForum && { label: t("newTopic"), icon: "topic", action: () => topicForm(here) },
    ...outside.map((user) => ({
      label: t("joinAs", { name: nameOf(user) }),
      icon: "addPerson",
      action: () => member(here, "join", user.id),
    })),
    writer && {
      label: t("leaveAs", { name: nameOf(state.users.get(writer)) }),
      icon: "leave",
      danger: true,
      action: () => member(here, "leave", writer),
    },
  ];
}

function blockItem(here) {
  if (isBlocked(here.chatId))
    return { label: t("unblock"), icon: "block", testid: "menu-unblock", action: () => unblock(here) };
  return {
    label: t("block"),
    icon: "block",
    danger: true,
    testid: "menu-block",
    action: () => member(here, "block", here.writer()),
  };
}

export const unblock = (here) => member(here, "unblock", here.writer());

async function member(here, deed, from) {
  try {
    await api.membership(state.token, here.chatId, deed, from);
    await loadMessages(here.chatId);
  } catch (refusal) {
    here.toast(refusal.message, "error");
  }
}
