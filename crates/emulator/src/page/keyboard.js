// Keyboards of the bot: buttons under a message and buttons below the input.
//
// Promise: a pressed button shows that it waits until the bot answers; kinds that make no sense outside Telegram are
// shown, named and disabled. Which reply keyboard is in force follows from the messages alone.

import { button, copyText, el, icon } from "./dom.js";
import { outerLink, safeUrl } from "./entities.js";
import { room, state } from "./state.js";
import { t } from "./texts.js";

/** The inline keyboard of a message, or null. */
export function inlineKeyboard(message, here) {
  const rows = message.reply_markup?.inline_keyboard;
  if (!Array.isArray(rows) || !rows.length) return null;
  return el(
    "div",
    { class: "inline-keyboard", role: "group", "aria-label": t("buttons") },
    rows.map((row, y) =>
      el(
        "div",
        { class: "keyboard-row" },
        row.map((key, x) => inlineButton(message, key, y, x, here)),
      ),
    ),
  );
}

function inlineButton(message, key, y, x, here) {
  const testid = `inline-${here.chatId}-${message.message_id}-${y}-${x}`;
  const classes = `inline-button ${styleOf(key)}`;
  const label = el("span", { class: "button-label", dir: "auto", text: key.text });
  const address = key.url ?? key.login_url?.url ?? key.web_app?.url;
  if (address && safeUrl(address))
    return outerLink(address, { class: classes, testid }, label, icon(key.web_app ? "app" : "link"));
  if (key.copy_text) {
    const copy = async () => {
      await copyText(key.copy_text.text);
      here.toast(t("copied"));
    };
    return button({ class: classes, testid, on: { click: copy } }, label, icon("copy"));
  }
  if (key.callback_data !== undefined) {
    const waits = here.pending.has(`${message.message_id}:${y}:${x}`);
    return button(
      {
        class: waits ? `${classes} pending` : classes,
        testid,
        "aria-busy": waits ? "true" : null,
        title: key.callback_data,
        on: { click: () => here.press(message, key.callback_data, y, x) },
      },
      label,
      waits && el("span", { class: "spinner", "aria-hidden": "true" }),
    );
  }
  const kind = Object.keys(key).find((name) => !["text", "style", "icon_custom_emoji_id"].includes(name)) ?? "";
  return button({ class: classes, testid, disabled: true, title: t("notHere", { kind }) }, label);
}

const styleOf = ({ style }) => (["primary", "success", "danger"].includes(style) ? `style-${style}` : "");

/** The reply markup in force for the current writer: {kind: "keyboard" | "force_reply", markup, message} or null. */
export function replyMarkup(here) {
  const kept = room(here.chatId);
  let answered = false;
  for (let place = kept.order.length - 1; place >= 0; place -= 1) {
    const message = kept.messages.get(kept.order[place]);
    if (message.from?.id === here.writer()) answered = true;
    const markup = message.reply_markup;
    if (!markup || markup.inline_keyboard || message.from?.id !== state.bot?.id) continue;
    if (here.thread() && message.message_thread_id !== here.thread()) continue;
    if (markup.selective && !isMeant(message, here.writer())) continue;
    if (markup.remove_keyboard) return null;
    if (markup.keyboard) return { kind: "keyboard", markup, message };
    // A forced reply is asked for once; the keyboard before it comes back after the answer.
    if (markup.force_reply && !answered) return { kind: "force_reply", markup, message };
  }
  return null;
}

function isMeant(message, userId) {
  if (message.reply_to_message?.from?.id === userId) return true;
  const username = state.users.get(userId)?.username?.toLowerCase();
  return [...(message.entities ?? []), ...(message.caption_entities ?? [])].some((entity) => {
    if (entity.type === "text_mention") return entity.user?.id === userId;
    const text = (message.text ?? message.caption ?? "").slice(entity.offset, entity.offset + entity.length);
    return entity.type === "mention" && username && text.toLowerCase() === `@${username}`;
  });
}

/** The buttons below the input. `onKey` gets the pressed button. */
export function replyKeyboard(markup, onKey) {
  const size = markup.resize_keyboard ? "resized" : "tall";
  return el(
    "div",
    { class: `reply-keyboard ${size}`, role: "group", "aria-label": t("replyKeyboard") },
    markup.keyboard.map((row, y) =>
      el(
        "div",
        { class: "keyboard-row" },
        row.map((raw, x) => replyButton(typeof raw === "string" ? { text: raw } : raw, y, x, onKey)),
      ),
    ),
  );
}

const SUPPORTED = ["request_contact", "request_location"];
const FOREIGN = ["request_users", "request_chat", "request_poll", "request_managed_bot", "web_app"];

function replyButton(key, y, x, onKey) {
  const foreign = FOREIGN.find((name) => key[name]);
  const special = SUPPORTED.find((name) => key[name]);
  return button(
    {
      class: `reply-button ${styleOf(key)}`,
      testid: `reply-${y}-${x}`,
      disabled: Boolean(foreign),
      title: foreign ? t("notHere", { kind: foreign }) : null,
      on: { click: () => onKey(key) },
    },
    special && icon(special === "request_contact" ? "contact" : "location"),
    el("span", { class: "button-label", dir: "auto", text: key.text }),
  );
}
