// One message, or one album, as a bubble.
//
// Promise: a bubble depends only on its messages and is drawn again when they change. All text is in text nodes.
// Actions (reply, press, vote) go through `here`, the chat of the bubble.

import { avatar, button, el, icon, iconButton } from "./dom.js";
import { richText } from "./entities.js";
import { chatOf, keyOf, nameOf, state } from "./state.js";
import { clockTime, moment, t } from "./texts.js";
import { albumGrid, mediaOf } from "./media.js";
import { cardOf } from "./cards.js";
import { inlineKeyboard } from "./keyboard.js";
import { senderName, serviceText, summary } from "./summary.js";

const ONLY_EMOJI =
  /^(?:\p{Extended_Pictographic}[\u{1F3FB}-\u{1F3FF}\uFE0F]?(?:\u200D\p{Extended_Pictographic}\uFE0F?)*){1,3}$/u;

/** Draws the messages of one bubble: a single one, or those of an album. `place`: {own, bot, first, last}. */
export function bubble(messages, here, place) {
  const [message] = messages;
  const service = messages.length === 1 && isService(message) ? serviceText(message) : "";
  if (service) return serviceLine(message, service, here);
  const side = place.own ? "own" : place.bot ? "bot" : "other";
  const classes = ["message", side, place.first && "first", place.last && "last", messages.length > 1 && "album"];
  const body = bubbleBody(messages, here, place);
  const article = el(
    "article",
    {
      class: classes.filter(Boolean).join(" "),
      testid: messages.length > 1 ? `album-${here.chatId}-${message.media_group_id}` : testId(here, message),
      data: { id: message.message_id },
      tabindex: "-1",
      "aria-label": `${senderName(message)}, ${clockTime(message.date)}: ${summary(message)}`,
    },
    here.isGroup &&
      !place.own &&
      (place.last ? avatar(message.from?.id, senderName(message)) : el("span", { class: "avatar-gap" })),
    el("div", { class: "stack" }, body, messages.length === 1 && inlineKeyboard(message, here)),
    iconButton("moreAcross", t("messageMenu"), {
      class: "message-menu",
      "aria-haspopup": "menu",
      on: { click: (event) => here.openMenu(messages.at(-1), event.currentTarget) },
    }),
  );
  article.addEventListener("contextmenu", (event) => {
    if (event.target.closest("a, img, .inline-keyboard")) return;
    event.preventDefault();
    const tile = event.target.closest("[data-id]");
    here.openMenu(messages.find((one) => String(one.message_id) === tile?.dataset.id) ?? messages.at(-1), event);
  });
  return article;
}

export const testId = (here, message) => `message-${here.chatId}-${message.message_id}`;

function isService(message) {
  return (
    message.text === undefined && message.caption === undefined && !mediaOf.handles(message) && !cardOf.handles(message)
  );
}

function serviceLine(message, words, here) {
  const own = message.from?.id === state.bot?.id ? "bot" : "own";
  return el(
    "div",
    { class: `service ${own}`, testid: testId(here, message), data: { id: message.message_id }, tabindex: "-1" },
    el("span", { dir: "auto", text: words }),
  );
}

function bubbleBody(messages, here, place) {
  const [message] = messages;
  const captioned = messages.find((one) => one.caption) ?? message;
  const text = message.text ?? captioned.caption;
  const entities = message.text !== undefined ? message.entities : captioned.caption_entities;
  const media = messages.length > 1 ? albumGrid(messages, here, place) : mediaOf(message, here);
  const card = cardOf(message, here);
  const isJumbo = text !== undefined && !media && !entities?.length && ONLY_EMOJI.test(text);
  const meta = metaOf(messages, here, place);
  const words = text
    ? el("div", { class: isJumbo ? "text jumbo" : "text", dir: "auto" }, richText(text, entities, here.command), meta)
    : null;
  const isBare = media && !words && !media.classList.contains("row-media");
  const parts = [media, words];
  if (message.show_caption_above_media) parts.reverse();
  const classes = [
    "bubble",
    media && "with-media",
    isBare && "bare",
    isJumbo && "plain",
    card?.dataset.plain && "plain",
  ];
  return el(
    "div",
    { class: classes.filter(Boolean).join(" ") },
    here.isGroup && !place.own && place.first && senderLine(message),
    message.forward_origin && forwardLine(message.forward_origin),
    message.via_bot && el("div", { class: "via", text: `via @${message.via_bot.username ?? ""}` }),
    replyLine(message, here),
    ...parts,
    card,
    !words && meta,
    reactionsOf(messages.at(-1), here),
  );
}

function senderLine(message) {
  const id = message.from?.id ?? 0;
  return el("div", { class: `sender hue-${Math.abs(id) % 7}`, dir: "auto", text: senderName(message) });
}

function forwardLine(origin) {
  const name = origin.sender_user_name ?? nameOf(origin.sender_user ?? origin.sender_chat ?? origin.chat);
  return el("div", { class: "forward" }, `${t("forwardedFrom")} `, el("bdi", { text: name || "?" }));
}

function replyLine(message, here) {
  const original = message.reply_to_message ?? message.external_reply;
  if (!original || original.forum_topic_created) return null;
  const id = message.reply_to_message?.message_id;
  const current = state.rooms.get(here.chatId)?.messages.get(id) ?? original;
  return button(
    { class: "reply-quote", on: { click: () => id && here.jump(id) }, title: t("goToOriginal") },
    el("span", { class: "reply-name", dir: "auto", text: senderName(current) }),
    el("span", { class: "reply-words", dir: "auto", text: message.quote?.text ?? summary(current) }),
  );
}

function metaOf(messages, here, place) {
  const message = messages.at(-1);
  const edited = messages.some((one) => one.edit_date);
  const title = moment(message.date) + (message.edit_date ? `, ${t("edited")} ${moment(message.edit_date)}` : "");
  return el(
    "span",
    { class: "meta", title },
    edited && el("span", { class: "edited", text: t("edited") }),
    el("time", { text: clockTime(message.date) }),
    place.own && ticks(here, message),
  );
}

/** One tick: waits for the bot. Two: the bot has fetched it. None: too old for the record. */
function ticks(here, message) {
  const delivered = state.deliveries.get(keyOf(here.chatId, message.message_id));
  if (delivered === undefined) return null;
  const label = delivered ? t("delivered") : t("waitsForBot");
  return el("span", { class: delivered ? "ticks done" : "ticks", title: label }, icon(delivered ? "checks" : "check"));
}

function reactionsOf(message, here) {
  const given = state.reactions.get(keyOf(here.chatId, message.message_id)) ?? [];
  const counts = new Map();
  for (const { from, reaction } of given) {
    for (const { emoji, type } of reaction ?? []) {
      const sign = emoji ?? (type === "paid" ? "⭐" : "◆");
      counts.set(sign, [...(counts.get(sign) ?? []), from]);
    }
  }
  if (!counts.size) return null;
  const chips = [...counts].map(([sign, people]) => {
    const mine = people.includes(here.writer());
    const names = people
      .map((id) => nameOf(id === state.bot?.id ? state.bot : (state.users.get(id) ?? chatOf(id))))
      .join(", ");
    const title = names || undefined;
    const press = { click: () => here.react(message, sign) };
    // A heart without its variation selector is drawn as a black sign.
    const drawn = sign === "❤" ? "❤\uFE0F" : sign;
    return button(
      { class: mine ? "reaction mine" : "reaction", title, on: press },
      `${drawn} `,
      el("span", { text: people.length }),
    );
  });
  return el("div", { class: "reactions" }, chips);
}
