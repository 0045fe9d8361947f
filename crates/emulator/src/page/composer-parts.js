// Parts around the input: the banner of a reply or an edit, the bot's menu button, the choice of the writer.

import { button, el, icon, iconButton } from "./dom.js";
import { showAlert } from "./dialogs.js";
import { chatOf, nameOf, state, tell } from "./state.js";
import { senderName, summary } from "./summary.js";
import { t } from "./texts.js";

/** The request for an edited message. */
export function editBody(message, text) {
  const body = { edit: message.message_id };
  if (message.text !== undefined) body.text = text;
  else body.caption = text;
  return body;
}

/** The banner above the input: the message that is edited or answered. */
export function bannerOf({ editing, replyTo }, onLeave) {
  const message = editing ?? replyTo;
  if (!message) return null;
  return el(
    "div",
    { class: "banner", testid: editing ? "editing" : "replying" },
    icon(editing ? "edit" : "reply"),
    el(
      "span",
      { class: "row-words" },
      el("span", { class: "reply-name", dir: "auto", text: editing ? t("editing") : senderName(message) }),
      el("span", { class: "reply-words", dir: "auto", text: summary(message) }),
    ),
    iconButton("close", t("cancel"), { on: { click: onLeave } }),
  );
}

/** The button left of the input: the bot's menu button. */
export function menuButton(commands) {
  const menu = state.menuButton;
  if (menu?.type === "web_app") {
    return button({
      class: "menu-button",
      text: menu.text,
      title: menu.web_app?.url,
      on: { click: () => showAlert(menu.text, menu.web_app?.url) },
    });
  }
  if (!state.commands.length) return null;
  return iconButton("slash", t("commands"), {
    class: "commands-button",
    testid: "commands",
    "aria-haspopup": "listbox",
    on: { click: () => commands.toggle() },
  });
}

/** In a group: the choice of the writer. */
export function writerChoice(here) {
  const members = (chatOf(here.chatId)?.member_ids ?? []).filter((id) => state.users.has(id));
  if (!members.length) return el("p", { class: "row-note no-writer", text: t("emptyGroup") });
  const writer = here.writer();
  const choose = (id) => {
    state.writers.set(here.chatId, id);
    tell("chat", here.chatId);
  };
  return el(
    "div",
    { class: "writers", role: "radiogroup", "aria-label": t("writeAs") },
    el("span", { class: "row-note", text: t("writeAs") }),
    members.map((id) =>
      button(
        {
          class: "writer",
          role: "radio",
          "aria-checked": String(id === writer),
          testid: `writer-${id}`,
          dir: "auto",
          on: { click: () => choose(id) },
        },
        el("span", { class: `dot hue-${Math.abs(id) % 7}` }),
        el("bdi", { text: nameOf(state.users.get(id)) }),
      ),
    ),
  );
}
