// Structured contents of a bubble: contact, location, poll, dice, invoice, checklist and others.
//
// Promise: no map and no request to other servers; coordinates are shown as numbers. An unsupported kind is named.

import { avatar, button, copyText, el, icon } from "./dom.js";
import { richText } from "./entities.js";
import { keyOf, nameOf, state } from "./state.js";
import { t } from "./texts.js";
import { money, plainWords } from "./summary.js";

const DRAWN = {
  contact,
  venue,
  location: place,
  poll,
  dice,
  invoice,
  game,
  checklist,
  rich_message: rich,
  paid_media: other,
  story: other,
};

/** The card of a message, or null. */
export function cardOf(message, here) {
  const kind = kindOf(message);
  return kind ? DRAWN[kind](message, here) : null;
}

cardOf.handles = (message) => Boolean(kindOf(message));

// A venue also carries its location, hence the order of the table.
const kindOf = (message) => Object.keys(DRAWN).find((kind) => message[kind]);

function contact({ contact: person }) {
  const name = nameOf(person) || person.phone_number;
  return el(
    "div",
    { class: "card contact-card" },
    avatar(person.user_id ?? 0, name),
    el(
      "span",
      { class: "row-words" },
      el("bdi", { class: "row-title", text: name }),
      el("span", { class: "row-note", text: person.phone_number }),
    ),
  );
}

function place({ location: point }) {
  return placeCard(point, point.live_period ? t("liveLocation") : t("kindLocation"), "");
}

function venue({ venue: spot }) {
  return placeCard(spot.location, spot.title, spot.address);
}

function placeCard(point, title, address) {
  const digits = `${point.latitude.toFixed(6)}, ${point.longitude.toFixed(6)}`;
  return el(
    "div",
    { class: "card place-card" },
    el("div", { class: "place-face", "aria-hidden": "true" }, icon("location")),
    el("bdi", { class: "row-title", text: title }),
    address && el("bdi", { class: "row-note", text: address }),
    button({ class: "coordinates", title: t("copy"), on: { click: () => copyText(digits) } }, digits, icon("copy")),
  );
}

function dice({ dice: thrown }) {
  const card = el(
    "div",
    { class: "dice", title: `${thrown.emoji} ${thrown.value}` },
    el("span", { class: "jumbo", text: thrown.emoji }),
    el("span", { class: "dice-value", text: thrown.value }),
  );
  card.dataset.plain = "1";
  return card;
}

function poll(message, here) {
  const { poll: question } = message;
  const key = `${keyOf(here.chatId, message.message_id)}:${here.writer()}`;
  const mine = state.votes.get(key) ?? [];
  const showsResult = question.is_closed || mine.length > 0;
  const chosen = new Set();
  const kind = [
    question.is_anonymous ? t("pollAnonymous") : t("pollPublic"),
    question.type === "quiz" && t("pollQuiz"),
  ];
  const vote = async (ids) => {
    if (await here.vote(message, ids)) state.votes.set(key, ids);
    here.refresh();
  };
  const options = question.options.map((option, index) => {
    const share = question.total_voter_count ? Math.round((option.voter_count / question.total_voter_count) * 100) : 0;
    const isRight = question.correct_option_ids?.includes(index) || question.correct_option_id === index;
    return pollOption(
      option,
      { share, mine: mine.includes(index), isRight, showsResult, several: question.allows_multiple_answers },
      (box) => {
        if (!question.allows_multiple_answers) return vote([index]);
        if (!chosen.delete(index)) chosen.add(index);
        box.classList.toggle("chosen", chosen.has(index));
        box.setAttribute("aria-pressed", String(chosen.has(index)));
      },
    );
  });
  return el(
    "div",
    { class: "card poll" },
    el("div", { class: "poll-question", dir: "auto" }, richText(question.question, question.question_entities)),
    el("div", { class: "row-note", text: question.is_closed ? t("pollClosed") : kind.filter(Boolean).join(" · ") }),
    options,
    showsResult &&
      question.explanation &&
      el("div", { class: "quote" }, richText(question.explanation, question.explanation_entities)),
    !showsResult &&
      question.allows_multiple_answers &&
      button({ class: "poll-vote", text: t("vote"), on: { click: () => chosen.size && vote([...chosen].sort()) } }),
    mine.length > 0 &&
      !question.is_closed &&
      question.type !== "quiz" &&
      button({ class: "poll-vote", text: t("retractVote"), on: { click: () => vote([]) } }),
    el("div", { class: "row-note", text: t("votes", { n: question.total_voter_count }) }),
  );
}

function pollOption(option, { share, mine, isRight, showsResult, several }, onChoose) {
  const bar = el("span", { class: "poll-bar" });
  bar.style.width = `${share}%`;
  const sign = showsResult
    ? el("span", { class: "poll-share", text: `${share}%` })
    : el("span", { class: several ? "poll-box several" : "poll-box" });
  const classes = ["poll-option", mine && "mine", showsResult && "result", showsResult && isRight && "right"];
  const node = button(
    { class: classes.filter(Boolean).join(" "), disabled: showsResult, on: { click: () => onChoose(node) } },
    sign,
    el("span", { class: "poll-words", dir: "auto" }, richText(option.text, option.text_entities)),
    mine && icon("check"),
    showsResult && bar,
  );
  return node;
}

function invoice({ invoice: bill }) {
  return el(
    "div",
    { class: "card" },
    el("bdi", { class: "row-title", text: bill.title }),
    el("div", { class: "text", dir: "auto", text: bill.description }),
    el("div", { class: "price", text: money(bill.total_amount, bill.currency) }),
  );
}

function game({ game: title }) {
  return el(
    "div",
    { class: "card" },
    el("bdi", { class: "row-title", text: title.title }),
    el("div", { class: "text", text: title.description }),
  );
}

function checklist({ checklist: list }) {
  const tasks = list.tasks.map((task) =>
    el(
      "li",
      { class: task.completion_date ? "done" : "" },
      el("span", { class: "poll-box several" }),
      richText(task.text, task.text_entities),
    ),
  );
  return el(
    "div",
    { class: "card checklist" },
    el("div", { class: "row-title" }, richText(list.title, list.title_entities)),
    el("ul", {}, tasks),
  );
}

function rich({ rich_message: content }) {
  return el("div", { class: "text", dir: "auto", text: plainWords(content) || t("unsupported") });
}

function other() {
  return el("div", { class: "card row-note", text: t("unsupported") });
}
