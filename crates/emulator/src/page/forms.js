// Small forms: a new person, a group, a topic, a contact, a place.
//
// Promise: every field has a sensible default, so that the main button can be pressed at once.

import { button, el } from "./dom.js";
import { api } from "./api.js";
import { chatOf, nameOf, state } from "./state.js";
import { openChat } from "./screen.js";
import { field, formDialog } from "./dialogs.js";
import { hintText } from "./hints.js";
import { language, languageName, LANGUAGE_CODES, PEOPLE, PLACES, t } from "./texts.js";

/** The next preset person who does not exist yet. */
export function nextPerson() {
  const taken = new Set([...state.users.values()].map((user) => user.first_name));
  const ready = PEOPLE[language()].find((person) => !taken.has(person.first_name));
  const person = ready ?? { first_name: t("personNumber", { n: state.users.size + 1 }) };
  return { ...person, language_code: language() };
}

/** Adds a person at once and opens their chat. */
export async function addPerson(person = nextPerson()) {
  const user = await api.addUser(state.token, person);
  state.users.set(user.id, user);
  openChat(user.id);
  return user;
}

export function personForm() {
  const next = nextPerson();
  const text = (name, value, props = {}) =>
    el("input", {
      name,
      value: value ?? "",
      testid: `person-form-${name}`,
      maxlength: 64,
      autocomplete: "off",
      dir: "auto",
      ...props,
    });
  const languages = el(
    "select",
    { name: "language_code", testid: "person-form-language" },
    LANGUAGE_CODES.map((code) => el("option", { value: code, text: languageName(code) })),
  );
  languages.value = next.language_code;
  formDialog(
    t("newPerson"),
    [
      field(t("firstName"), text("first_name", next.first_name, { required: true, autofocus: true })),
      field(t("lastName"), text("last_name", next.last_name)),
      field(t("username"), text("username", next.username, { maxlength: 32 })),
      field(t("language"), languages),
    ],
    {
      submit: t("add"),
      submitTestid: "person-form-submit",
      onSubmit: (data) => addPerson(filled(data)),
    },
  );
}

/** The filled fields, without empty ones. */
function filled(data) {
  return Object.fromEntries(
    [...data].map(([name, value]) => [name, String(value).trim()]).filter(([, value]) => value),
  );
}

export function groupForm() {
  const people = [...state.users.values()];
  const title = el("input", {
    name: "title",
    value: t("groupName"),
    required: true,
    maxlength: 128,
    testid: "group-title",
    dir: "auto",
    autofocus: true,
  });
  const members = people.map((user) =>
    el(
      "label",
      { class: "check-row" },
      el("input", { type: "checkbox", name: "members", value: user.id, checked: true }),
      el("bdi", { text: nameOf(user) }),
    ),
  );
  const topics = el("textarea", {
    name: "topics",
    rows: 3,
    placeholder: t("topicsHint"),
    testid: "group-topics",
    dir: "auto",
  });
  const forum = el("input", { type: "checkbox", name: "is_forum", testid: "group-forum" });
  const topicsRow = field(t("topics"), topics);
  topicsRow.hidden = true;
  forum.addEventListener("change", () => (topicsRow.hidden = !forum.checked));
  formDialog(
    t("newGroup"),
    [
      field(t("groupTitle"), title),
      el(
        "fieldset",
        {},
        el("legend", { text: t("groupMembers") }),
        members.length ? members : el("p", { class: "row-note", text: t("noPeopleYet") }),
      ),
      el("label", { class: "check-row" }, forum, el("span", { text: t("withTopics") })),
      topicsRow,
    ],
    {
      submit: t("create"),
      submitTestid: "group-submit",
      async onSubmit(data) {
        const isForum = data.get("is_forum") !== null;
        const group = {
          type: "supergroup",
          title: data.get("title").trim(),
          members: data.getAll("members").map(Number),
        };
        if (isForum) Object.assign(group, { is_forum: true, topics: lines(data.get("topics")) });
        const chat = await api.addChat(state.token, group);
        if (!state.chats.has(chat.id)) state.chats.set(chat.id, chat);
        openChat(chat.id);
      },
    },
  );
}

const lines = (text) =>
  String(text ?? "")
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

export function topicForm(here) {
  const name = el("input", {
    name: "name",
    required: true,
    maxlength: 128,
    dir: "auto",
    autofocus: true,
    testid: "topic-name",
  });
  formDialog(t("newTopic"), [field(t("topicName"), name)], {
    submit: t("create"),
    submitTestid: "topic-submit",
    async onSubmit(data) {
      const topic = await api.addTopic(state.token, here.chatId, {
        from: here.writer(),
        name: data.get("name").trim(),
      });
      const chat = chatOf(here.chatId);
      if (!(chat.topics ?? []).some((one) => one.message_thread_id === topic.message_thread_id))
        chat.topics = [...(chat.topics ?? []), topic];
      state.threads.set(here.chatId, topic.message_thread_id);
      here.refresh();
    },
  });
}

/** A fictional phone number, always the same for a person. */
function phoneOf(userId) {
  const digits = String(Math.abs(userId)).padStart(7, "0").slice(-7);
  return language() === "ru" ? `+7900${digits}` : `+1555${digits}`;
}

/** Shares a contact: the writer's own if a button asked for it, otherwise that of any person here. */
export function contactForm(here, { own = false, send }) {
  const me = state.users.get(here.writer());
  const phone = el("input", {
    name: "phone_number",
    type: "tel",
    value: phoneOf(me?.id ?? 0),
    required: true,
    testid: "contact-phone",
    autofocus: true,
  });
  const whose = el(
    "select",
    { name: "user_id", testid: "contact-whose" },
    [...state.users.values()].map((user) =>
      el("option", {
        value: user.id,
        text: user.id === me?.id ? t("myContact", { name: nameOf(user) }) : nameOf(user),
      }),
    ),
  );
  whose.append(el("option", { value: 0, text: t("contactOutside") }));
  whose.value = String(me?.id ?? "");
  const name = el("input", {
    name: "first_name",
    value: t("contactName"),
    maxlength: 64,
    dir: "auto",
    testid: "contact-name",
  });
  const nameRow = field(t("firstName"), name);
  nameRow.hidden = true;
  whose.addEventListener("change", () => {
    phone.value = phoneOf(Number(whose.value) || 5550000);
    nameRow.hidden = whose.value !== "0";
  });
  formDialog(
    own ? t("shareContact") : t("attachContact"),
    [
      own ? el("p", { text: t("shareContactWords", { bot: nameOf(state.bot) }) }) : field(t("whoseContact"), whose),
      nameRow,
      field(t("phone"), phone),
    ],
    {
      submit: t("share"),
      submitTestid: "contact-confirm",
      async onSubmit(data) {
        const id = own ? me.id : Number(data.get("user_id"));
        const person = state.users.get(id) ?? { first_name: data.get("first_name").trim() || t("contactName") };
        const contact = { phone_number: data.get("phone_number").trim(), first_name: person.first_name, user_id: id };
        if (person.last_name) contact.last_name = person.last_name;
        await send({ contact });
      },
    },
  );
}

export function locationForm(here, { send }) {
  const number = (name, testid, value, most) =>
    el("input", { name, testid, value, type: "number", step: "any", min: -most, max: most, required: true });
  const hinted = (state.hints.places ?? []).map((place) => ({ ...place, name: hintText(place.name) }));
  const places = [...hinted, ...PLACES.map((place) => ({ ...place, name: t(place.name) }))];
  const latitude = number("latitude", "location-lat", places[0].latitude, 90);
  const longitude = number("longitude", "location-lon", places[0].longitude, 180);
  const presets = places.map((place) =>
    button({
      class: "chip",
      text: place.name,
      on: {
        click: () => {
          latitude.value = place.latitude;
          longitude.value = place.longitude;
        },
      },
    }),
  );
  formDialog(
    t("shareLocation"),
    [
      el("div", { class: "chips", role: "group", "aria-label": t("places") }, presets),
      el("div", { class: "field-pair" }, field(t("latitude"), latitude), field(t("longitude"), longitude)),
    ],
    {
      submit: t("share"),
      submitTestid: "location-confirm",
      onSubmit: async (data) => {
        await send({ location: { latitude: Number(data.get("latitude")), longitude: Number(data.get("longitude")) } });
      },
    },
  );
}
