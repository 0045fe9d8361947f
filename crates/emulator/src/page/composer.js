// The input of a chat: text, replies, edits, commands, attachments and the bot's keyboard below.
//
// Promise: Enter sends, Shift+Enter breaks the line, Escape leaves a reply or an edit; a draft survives switching
// chats; a refused message stays in the field.

import { button, el, fill, icon, iconButton, refill } from "./dom.js";
import { attachMenu, fileInputs } from "./attach.js";
import { unblock } from "./chat-menus.js";
import { commandList } from "./commands.js";
import { bannerOf, editBody, menuButton, writerChoice } from "./composer-parts.js";
import { contactForm, locationForm } from "./forms.js";
import { replyKeyboard, replyMarkup } from "./keyboard.js";
import { openMenu } from "./menu.js";
import { soon } from "./soon.js";
import { isBlocked, state } from "./state.js";
import { t } from "./texts.js";

const TALLEST_PX = 180;

export function createComposer(here, life) {
  const draft = state.drafts.get(here.chatId) ?? { text: "", replyTo: null, editing: null };
  state.drafts.set(here.chatId, draft);
  let hiddenKeyboard = draft.hiddenKeyboard ?? null;
  let forced = draft.forced ?? null;
  let force = null;

  const field = el("textarea", {
    class: "field",
    testid: "composer",
    rows: 1,
    dir: "auto",
    "aria-label": t("writeMessage"),
    value: draft.text,
    maxlength: 8192,
  });
  const banner = el("div", { class: "banner-slot" });
  const keys = el("div", { class: "keyboard-slot" });
  const menuSlot = el("span", { class: "menu-slot" });
  const keyboardToggle = iconButton("keyboard", t("replyKeyboard"), {
    class: "keyboard-toggle",
    testid: "keyboard-toggle",
    on: { click: toggleKeyboard },
  });
  const sendButton = iconButton("send", t("send"), { class: "send", testid: "send", on: { click: () => submit() } });
  const inputs = fileInputs(here, takeCaption);
  const commands = commandList(field, (command) => {
    setText("");
    here.send({ text: here.isGroup && state.bot?.username ? `${command}@${state.bot.username}` : command });
  });
  const attach = iconButton("attach", t("attach"), {
    testid: "attach",
    "aria-haspopup": "menu",
    on: { click: (event) => openMenu(event.currentTarget, attachMenu(here, inputs)) },
  });
  const line = el(
    "div",
    { class: "composer-line" },
    el("div", { class: "composer-left" }, menuSlot, attach),
    el("div", { class: "field-box" }, field, keyboardToggle),
    sendButton,
  );
  const blocked = button({
    class: "unblock",
    testid: "unblock",
    text: t("unblockBot"),
    on: { click: () => unblock(here) },
  });
  const writerSlot = el("div", { class: "writer-slot" });
  const node = el("footer", { class: "composer" }, commands.node, writerSlot, banner, line, blocked, keys, inputs.node);

  field.addEventListener("input", () => {
    draft.text = field.value;
    grow();
    commands.suggest(field.value);
    drawSend();
  });
  field.addEventListener("keydown", (event) => {
    if (commands.key(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape" && (draft.editing || draft.replyTo)) {
      leaveBanner();
    } else if (event.key === "ArrowUp" && !field.value) {
      event.preventDefault();
      editLast();
    }
  });

  function setText(text) {
    field.value = text;
    draft.text = text;
    commands.suggest(text);
    grow();
    drawSend();
  }

  function grow() {
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight, TALLEST_PX)}px`;
  }

  function drawSend() {
    sendButton.classList.toggle("ready", Boolean(field.value.trim()));
  }

  /** The text in the input becomes the caption of an attachment. */
  function takeCaption() {
    const body = {};
    if (draft.text.trim() && !draft.editing) body.caption = draft.text.trim();
    if (draft.replyTo) body.reply_to = draft.replyTo.message_id;
    if (body.caption) setText("");
    if (draft.replyTo) leaveBanner();
    return body;
  }

  async function submit() {
    const text = field.value.trim();
    if (!text || here.writer() === null) return;
    const body = draft.editing ? editBody(draft.editing, text) : { text };
    if (!draft.editing && draft.replyTo) body.reply_to = draft.replyTo.message_id;
    const before = { ...draft };
    setText("");
    draft.editing = draft.replyTo = null;
    draw();
    if (await here.send(body)) return;
    // Refused: the text must not be lost.
    if (!field.value) {
      Object.assign(draft, before);
      setText(text);
      draw();
    }
  }

  function leaveBanner() {
    if (draft.editing) setText("");
    draft.editing = draft.replyTo = null;
    draw();
    field.focus();
  }

  function editLast() {
    const kept = state.rooms.get(here.chatId);
    const id = kept?.order.findLast(
      (one) => kept.messages.get(one).from?.id === here.writer() && kept.messages.get(one).text,
    );
    if (id) startEdit(kept.messages.get(id));
  }

  function startEdit(message) {
    draft.editing = message;
    draft.replyTo = null;
    setText(message.text ?? message.caption ?? "");
    draw();
    field.focus();
  }

  function startReply(message) {
    if (draft.editing) setText("");
    draft.editing = null;
    draft.replyTo = message;
    draw();
    field.focus();
  }

  function toggleKeyboard() {
    const found = replyMarkup(here);
    hiddenKeyboard = hiddenKeyboard === found?.message.message_id ? null : found?.message.message_id;
    draft.hiddenKeyboard = hiddenKeyboard;
    draw();
  }

  async function pressKey(key, found) {
    const replyTo = here.isGroup ? { reply_to: found.message.message_id } : {};
    const send = async (body) => {
      if (!(await here.send({ ...body, ...replyTo }))) return;
      if (found.markup.one_time_keyboard) {
        hiddenKeyboard = draft.hiddenKeyboard = found.message.message_id;
        draw();
      }
    };
    if (key.request_contact) contactForm(here, { own: true, send });
    else if (key.request_location) locationForm(here, { send });
    else send({ text: key.text });
  }

  function draw() {
    const found = replyMarkup(here);
    const keyboard = found?.kind === "keyboard" ? found : null;
    force = found?.kind === "force_reply" ? found : null;
    if (force && forced !== force.message.message_id) {
      forced = draft.forced = force.message.message_id;
      draft.replyTo = force.message;
      draft.editing = null;
    }
    const isHidden = keyboard && hiddenKeyboard === keyboard.message.message_id;
    const isBlockedNow = isBlocked(here.chatId);
    const hasNoWriter = here.writer() === null;
    line.hidden = isBlockedNow || hasNoWriter;
    blocked.hidden = !isBlockedNow;
    keyboardToggle.hidden = !keyboard || Boolean(keyboard.markup.is_persistent && !isHidden);
    keyboardToggle.replaceChildren(icon(isHidden ? "keyboard" : "keyboardHide"));
    field.placeholder = (force ?? (isHidden ? null : keyboard))?.markup.input_field_placeholder || t("writeMessage");
    drawKeys(keyboard && !isHidden && !isBlockedNow && !hasNoWriter ? keyboard : null);
    refill(menuSlot, menuButton(commands));
    refill(banner, bannerOf(draft, leaveBanner));
    refill(writerSlot, here.isGroup && writerChoice(here));
    drawSend();
  }

  let drawnKeys = null;
  function drawKeys(keyboard) {
    if (drawnKeys === (keyboard?.markup ?? null)) return;
    drawnKeys = keyboard?.markup ?? null;
    fill(keys, keyboard && replyKeyboard(keyboard.markup, (key) => pressKey(key, keyboard)));
  }

  life.after(() => (draft.text = field.value));
  draw();
  queueMicrotask(grow);
  return {
    node,
    refresh: soon(draw),
    reply: startReply,
    edit: startEdit,
    takeCaption,
    focus: () => field.focus({ preventScroll: true }),
  };
}
