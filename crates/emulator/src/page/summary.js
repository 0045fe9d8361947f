// A message in one line: for the list of chats, quotes, the pinned bar and screen readers.
//
// Promise: any message gets some words, also kinds that this page does not draw. Text only, no markup.

import { nameOf, state } from "./state.js";
import { t } from "./texts.js";

const MAX_LENGTH = 160;

/** The line itself. */
export function summary(message) {
  if (!message) return "";
  const words = message.text ?? (kindWords(message) || serviceText(message) || t("unsupported"));
  return words.replace(/\s+/g, " ").slice(0, MAX_LENGTH);
}

function kindWords(message) {
  const caption = message.caption ? `, ${message.caption}` : "";
  for (const [kind, words] of Object.entries(KINDS)) if (message[kind]) return words(message[kind]) + caption;
  return "";
}

const KINDS = {
  animation: () => t("kindAnimation"),
  photo: () => `🖼 ${t("kindPhoto")}`,
  video: () => `🎬 ${t("kindVideo")}`,
  video_note: () => `🎬 ${t("kindVideoNote")}`,
  voice: () => `🎤 ${t("kindVoice")}`,
  audio: (audio) => `🎵 ${audio.title ?? audio.file_name ?? t("kindAudio")}`,
  sticker: (sticker) => `${sticker.emoji ?? ""} ${t("kindSticker")}`.trim(),
  document: (file) => `📄 ${file.file_name ?? t("kindDocument")}`,
  contact: (contact) => `👤 ${nameOf(contact)} ${contact.phone_number}`,
  venue: (venue) => `📍 ${venue.title}`,
  location: () => `📍 ${t("kindLocation")}`,
  poll: (poll) => `📊 ${poll.question}`,
  dice: (dice) => `${dice.emoji} ${dice.value}`,
  invoice: (invoice) => `🧾 ${invoice.title}`,
  game: (game) => `🎮 ${game.title}`,
  checklist: (list) => `☑️ ${list.title}`,
  rich_message: (rich) => plainWords(rich),
  paid_media: () => t("kindPaidMedia"),
  story: () => t("kindStory"),
};

/** All strings under `text` keys of a structured message, in order: enough to recognise it. */
export function plainWords(part) {
  if (typeof part === "string") return part;
  if (Array.isArray(part)) return part.map(plainWords).join("");
  if (!part || typeof part !== "object") return "";
  return Object.entries(part)
    .filter(([key]) => ["text", "blocks", "items", "cells", "caption", "content", "summary"].includes(key))
    .map(([key, value]) => plainWords(value) + (key === "text" && part.type === "paragraph" ? "\n" : ""))
    .join("");
}

const who = (message) => nameOf(message.from) || t("someone");
const names = (users) => [users].flat().map(nameOf).join(", ");

const SERVICE = {
  new_chat_members: (members, message) =>
    members.length === 1 && members[0].id === message.from?.id
      ? t("serviceJoined", { who: who(message) })
      : t("serviceAdded", { who: who(message), whom: names(members) }),
  left_chat_member: (member, message) =>
    member.id === message.from?.id
      ? t("serviceLeft", { who: nameOf(member) })
      : t("serviceRemoved", { who: who(message), whom: nameOf(member) }),
  new_chat_title: (title, message) => t("serviceTitle", { who: who(message), title }),
  new_chat_photo: (_, message) => t("servicePhoto", { who: who(message) }),
  delete_chat_photo: (_, message) => t("servicePhotoRemoved", { who: who(message) }),
  group_chat_created: (_, message) => t("serviceGroup", { who: who(message) }),
  supergroup_chat_created: (_, message) => t("serviceGroup", { who: who(message) }),
  pinned_message: (pinned, message) => t("servicePinned", { who: who(message), what: summary(pinned) }),
  forum_topic_created: (topic, message) => t("serviceTopic", { who: who(message), title: topic.name }),
  forum_topic_edited: (topic, message) => t("serviceTopicEdited", { who: who(message), title: topic.name ?? "" }),
  forum_topic_closed: () => t("serviceTopicClosed"),
  forum_topic_reopened: () => t("serviceTopicReopened"),
  general_forum_topic_hidden: () => t("serviceGeneralHidden"),
  general_forum_topic_unhidden: () => t("serviceGeneralShown"),
  migrate_to_chat_id: () => t("serviceMigrated"),
  migrate_from_chat_id: () => t("serviceMigrated"),
  successful_payment: (paid) => t("servicePaid", { sum: money(paid.total_amount, paid.currency) }),
  refunded_payment: (paid) => t("serviceRefunded", { sum: money(paid.total_amount, paid.currency) }),
  users_shared: () => t("serviceShared"),
  chat_shared: () => t("serviceShared"),
  web_app_data: (data) => t("serviceAppData", { title: data.button_text }),
  message_auto_delete_timer_changed: () => t("serviceTimer"),
  write_access_allowed: () => t("serviceWriteAccess"),
  boost_added: () => t("serviceBoost"),
};

/** The text of a service message, or "" for other messages. */
export function serviceText(message) {
  for (const [kind, words] of Object.entries(SERVICE)) {
    if (message[kind] !== undefined && message[kind] !== false) return words(message[kind], message);
  }
  return "";
}

/** An amount in the smallest units of its currency, as people write it. */
export function money(amount, currency) {
  if (currency === "XTR") return `⭐ ${amount}`;
  try {
    const format = new Intl.NumberFormat(document.documentElement.lang, { style: "currency", currency });
    return format.format(amount / 10 ** format.resolvedOptions().maximumFractionDigits);
  } catch {
    return `${amount} ${currency}`;
  }
}

/** The sender of a message, as seen from a chat. */
export function senderName(message) {
  if (message.sender_chat) return nameOf(message.sender_chat);
  if (message.from?.id === state.bot?.id) return nameOf(state.bot);
  return nameOf(message.from);
}
