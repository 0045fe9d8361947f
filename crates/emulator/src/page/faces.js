// The empty chat, and the sign of a busy bot.

import { avatar, button, el } from "./dom.js";
import { isBlocked, nameOf, state } from "./state.js";
import { t } from "./texts.js";

/** The introduction of the bot in a chat without messages. */
export function emptyFace(here) {
  const isBot = !here.isGroup;
  return el(
    "div",
    { class: "empty-chat" },
    avatar(state.bot?.id, nameOf(state.bot), "large"),
    el("h3", { dir: "auto", text: nameOf(state.bot) }),
    state.bot?.username && el("p", { class: "row-note", text: `@${state.bot.username}` }),
    el("p", {
      class: "empty-words",
      dir: "auto",
      text: (isBot && state.description) || t(isBot ? "emptyPrivate" : "emptyGroup"),
    }),
    isBot &&
      !isBlocked(here.chatId) &&
      button({
        class: "primary start",
        testid: "start",
        text: t("start"),
        on: { click: () => here.send({ text: "/start" }) },
      }),
  );
}

/** The dots of a bot that is busy, or null. */
export function typingFace(chatId) {
  const typing = state.typing.get(chatId);
  if (!typing) return null;
  const words = t(`action_${typing.action}`) || t("action_typing");
  const label = `${nameOf(state.bot)}: ${words}`;
  const dots = [el("span"), el("span"), el("span")];
  return el("div", { class: "typing", testid: "typing", role: "status", "aria-label": label }, dots);
}
