// The list on the left: the current bot, its people and groups.
//
// Promise: each chat shows its last message, its time and the number of unread messages; everything is one click away.

import { avatar, button, el, icon, iconButton, refill } from "./dom.js";
import { api } from "./api.js";
import { chatList, isBlocked, lastMessage, nameOf, scope, state } from "./state.js";
import { openChat, switchLayout, switchTheme, theme, toggleInspector } from "./screen.js";
import { chooseBot, refreshBots } from "./session.js";
import { confirmDeed } from "./dialogs.js";
import { addPerson, groupForm, personForm } from "./forms.js";
import { linkParts, noteOn } from "./hints.js";
import { openMenu } from "./menu.js";
import { language, listTime, setLanguage, t } from "./texts.js";
import { botForm, connectGuide } from "./welcome.js";
import { soon } from "./soon.js";
import { serviceText, summary } from "./summary.js";
import { createTour, hasTour, restartTour } from "./tour.js";

export function createPeople(complain) {
  const life = scope();
  const head = el("header", { class: "list-head" });
  const list = el("ul", { class: "chat-list", "aria-label": t("chats") });
  const deeds = el("div", { class: "list-deeds" });
  const links = el("div", { class: "list-links" });
  const tour = createTour();
  const node = el(
    "nav",
    { class: "people", "aria-label": t("chats") },
    el("h1", { class: "sr-only", text: "Opora" }),
    head,
    deeds,
    links,
    list,
    tour.node,
  );
  const drawHead = () => {
    refill(head, headParts());
    refill(deeds, deedParts(complain));
    refill(links, linkParts());
  };
  const drawList = () => {
    const focused = document.activeElement?.dataset?.testid;
    refill(list, chatList().map(entry));
    if (focused?.startsWith("chat-")) list.querySelector(`[data-testid="${focused}"]`)?.focus();
    const unread = [...state.unread.values()].reduce((sum, count) => sum + count, 0);
    document.title = `${unread ? `(${unread}) ` : ""}${nameOf(state.bot) || "Opora"} · Opora`;
  };
  life.on("bots profile world theme inspector open hints", drawHead);
  life.on("people open active world", soon(drawList));
  list.addEventListener("keydown", walk);
  drawHead();
  drawList();
  const end = () => {
    life.end();
    tour.end();
  };
  return { node, end };
}

function headParts() {
  const bot = state.bot;
  const isDark = theme() === "dark";
  const otherLanguage = language() === "ru" ? "EN" : "RU";
  return [
    button(
      { class: "bot-choice", testid: "bot-menu", "aria-haspopup": "menu", title: t("botMenu"), on: { click: botMenu } },
      avatar(bot?.id ?? 0, nameOf(bot) || "Opora", "bot"),
      el(
        "span",
        { class: "row-words" },
        el("bdi", { class: "row-title", text: nameOf(bot) || "Opora" }),
        el("span", { class: "row-note", text: bot ? `@${bot.username ?? bot.id}` : t("noBot") }),
      ),
      icon("down"),
    ),
    el(
      "div",
      { class: "head-deeds" },
      button({
        class: "icon-button words",
        testid: "language",
        title: t("switchLanguage"),
        "aria-label": `${otherLanguage}: ${t("switchLanguage")}`,
        text: otherLanguage,
        on: { click: () => setLanguage(otherLanguage.toLowerCase()) },
      }),
      iconButton(isDark ? "sun" : "moon", t(isDark ? "lightTheme" : "darkTheme"), {
        testid: "theme",
        on: { click: switchTheme },
      }),
      iconButton("inspect", t("inspector"), {
        testid: "inspector-toggle",
        "aria-pressed": String(state.inspector),
        on: { click: () => toggleInspector() },
      }),
    ),
  ];
}

function deedParts(complain) {
  if (!state.token) return [];
  const isColumns = state.layout === "columns";
  return [
    button(
      { class: "deed primary", testid: "add-person", on: { click: () => addPerson().catch(complain) } },
      icon("addPerson"),
      el("span", { text: t("person") }),
    ),
    iconButton("sliders", t("personDetails"), {
      class: "deed-more",
      testid: "add-person-details",
      on: { click: personForm },
    }),
    button(
      { class: "deed", testid: "add-group", on: { click: groupForm } },
      icon("addGroup"),
      el("span", { text: t("group") }),
    ),
    iconButton(isColumns ? "single" : "columns", t(isColumns ? "oneChat" : "sideBySide"), {
      class: "wide-only",
      testid: "layout",
      "aria-pressed": String(isColumns),
      on: {
        click: () =>
          switchLayout(
            chatList()
              .map((chat) => chat.id)
              .slice(0, 6),
          ),
      },
    }),
  ];
}

async function botMenu(event) {
  const anchor = event.currentTarget;
  await refreshBots().catch(() => {});
  const bots = state.bots.map((bot) => ({
    label: `${nameOf(bot)} @${bot.username ?? bot.id}`,
    checked: bot.token === state.token,
    testid: `bot-${bot.id}`,
    action: () => chooseBot(bot.token),
  }));
  const live = document.querySelector('[data-testid="bot-menu"]') ?? anchor;
  openMenu(live, [
    ...bots,
    { label: t("newBot"), icon: "add", testid: "new-bot", action: botForm },
    state.token && {
      label: t("connectBot"),
      icon: "link",
      testid: "connect-bot",
      action: () => connectGuide(state.token),
    },
    hasTour() && { label: t("tourAgain"), icon: "replay", testid: "tour-again", action: restartTour },
    state.token && { label: t("forgetBot"), icon: "trash", danger: true, testid: "forget-bot", action: forgetBot },
  ]);
}

function forgetBot() {
  confirmDeed(t("forgetBot"), t("forgetWords", { name: nameOf(state.bot) }), t("forget"), () =>
    api.forget(state.token),
  );
}

function entry(chat) {
  const isGroup = chat.type !== "private";
  const last = lastMessage(chat.id);
  const unread = state.unread.get(chat.id) ?? 0;
  const name = nameOf(chat);
  const isOpen = state.open.includes(chat.id);
  const remark = isGroup ? "" : noteOn(chat.id);
  const row = button(
    {
      class: "chat-entry",
      testid: `chat-${chat.id}`,
      "aria-current": state.active === chat.id ? "true" : null,
      on: { click: (event) => openChat(chat.id, event.ctrlKey || event.metaKey ? { beside: true } : {}) },
    },
    avatar(chat.id, name, isGroup ? "group" : ""),
    el(
      "span",
      { class: "entry-words" },
      el(
        "span",
        { class: "entry-top" },
        el("bdi", { class: "entry-name", text: name }),
        remark && el("span", { class: "entry-note", testid: `note-${chat.id}`, text: remark }),
        el("span", { class: "entry-time", text: last ? listTime(last.date) : "" }),
      ),
      el(
        "span",
        { class: "entry-bottom" },
        el("span", { class: "entry-last", dir: "auto", text: preview(chat, last) }),
        isBlocked(chat.id) && el("span", { class: "entry-blocked", title: t("blockedHere") }, icon("block")),
        unread > 0 &&
          el("span", {
            class: "unread",
            testid: `unread-${chat.id}`,
            "aria-label": t("unread", { n: unread }),
            text: unread > 99 ? "99+" : unread,
          }),
      ),
    ),
  );
  const beside = iconButton("beside", t("openBeside"), {
    class: "entry-beside wide-only",
    on: { click: () => openChat(chat.id, { beside: true }) },
  });
  return el(
    "li",
    { class: isOpen ? "open" : "", testid: isGroup ? `group-${chat.id}` : `person-${chat.id}` },
    row,
    !isOpen && beside,
  );
}

function preview(chat, last) {
  if (!last) return chat.type === "private" ? t("nothingYet") : t("members", { n: (chat.member_ids ?? []).length });
  if (chat.type === "private") return last.from?.id === chat.id ? `${t("you")}: ${summary(last)}` : summary(last);
  return serviceText(last) ? summary(last) : `${last.from?.first_name ?? ""}: ${summary(last)}`;
}

function walk(event) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const stops = [...event.currentTarget.querySelectorAll(".chat-entry")];
  const place = stops.indexOf(document.activeElement);
  if (place < 0) return;
  event.preventDefault();
  stops[Math.max(0, Math.min(stops.length - 1, place + (event.key === "ArrowDown" ? 1 : -1)))].focus();
}
