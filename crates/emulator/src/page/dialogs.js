// Windows above the page: alerts, questions, forms, the picture viewer and toasts.
//
// Promise: native dialogs, so that Escape closes them and the focus stays inside and returns. Dialogs can be stacked.

import { button, el, iconButton } from "./dom.js";
import { outerLink } from "./entities.js";
import { t } from "./texts.js";

const TOAST_MS = 4500;
const MOST_TOASTS = 3;

/** Shows a dialog with a title and contents; returns a function that closes it. */
export function dialog(title, contents, { testid, role, className = "" } = {}) {
  const close = () => node.close();
  const head = el(
    "header",
    { class: "dialog-head" },
    el("h2", { text: title, dir: "auto" }),
    iconButton("close", t("close"), { on: { click: close } }),
  );
  const node = el("dialog", { class: `dialog ${className}`, testid, role, "aria-label": title }, head, contents);
  return raise(node);
}

function raise(node) {
  node.addEventListener("close", () => node.remove());
  // A press on the backdrop reaches the dialog element itself.
  node.addEventListener("pointerdown", (event) => event.target === node && node.close());
  document.body.append(node);
  node.showModal();
  return () => node.close();
}

/** The alert of a callback answer, with a link if the bot gave one. */
export function showAlert(text, url) {
  const ok = button({
    class: "primary",
    testid: "alert-ok",
    text: t("ok"),
    autofocus: true,
    on: { click: () => node.close() },
  });
  const words = el("p", { class: "alert-words", dir: "auto", text });
  const link = url && outerLink(url, { class: "link" }, url);
  const node = el(
    "dialog",
    { class: "dialog alert", testid: "alert", role: "alertdialog", "aria-label": text },
    words,
    link,
    el("div", { class: "dialog-deeds" }, ok),
  );
  raise(node);
}

/** Asks before an action that cannot be undone. */
export function confirmDeed(title, words, label, deed) {
  const sure = button({
    class: "primary danger",
    testid: "confirm",
    text: label,
    on: { click: () => (close(), deed()) },
  });
  const no = button({ class: "secondary", text: t("cancel"), on: { click: () => close() } });
  const close = dialog(
    title,
    el("div", { class: "dialog-body" }, el("p", { text: words }), el("div", { class: "dialog-deeds" }, no, sure)),
  );
}

/** A form in a dialog. `onSubmit` gets the form's data; if it throws, the message is shown. */
export function formDialog(title, fields, { submit, testid, submitTestid, onSubmit, className }) {
  const problem = el("p", { class: "problem", role: "alert" });
  const send = el("button", { type: "submit", class: "primary", testid: submitTestid, text: submit });
  const no = button({ class: "secondary", text: t("cancel"), on: { click: () => close() } });
  const form = el(
    "form",
    { class: "dialog-body", testid },
    fields,
    problem,
    el("div", { class: "dialog-deeds" }, no, send),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    send.disabled = true;
    problem.textContent = "";
    try {
      await onSubmit(new FormData(form));
      close();
    } catch (refusal) {
      problem.textContent = refusal.message;
    } finally {
      send.disabled = false;
    }
  });
  const close = dialog(title, form, { className });
  return { form, close };
}

/** A labelled field of a form. */
export function field(label, control, hint) {
  return el(
    "label",
    { class: "field-row" },
    el("span", { class: "field-label", text: label }),
    control,
    hint && el("span", { class: "field-hint", text: hint }),
  );
}

/** A picture or a video above the page; a click beside it closes it. */
export function lightbox(media, caption) {
  const close = () => node.close();
  const node = el(
    "dialog",
    { class: "lightbox", "aria-label": t("viewer") },
    iconButton("close", t("close"), { class: "lightbox-close", on: { click: close } }),
    el("figure", {}, media, caption && el("figcaption", { dir: "auto", text: caption })),
  );
  node.addEventListener("click", (event) => ["DIALOG", "FIGURE"].includes(event.target.tagName) && close());
  node.addEventListener("close", () => {
    const video = node.querySelector("video");
    if (video?.src) URL.revokeObjectURL(video.src);
  });
  raise(node);
}

/** A place for short notices; each column has its own. */
export function toaster() {
  const node = el("div", { class: "toasts", role: "status", "aria-live": "polite" });
  return {
    node,
    show(text, kind = "") {
      const toast = el("div", { class: `toast ${kind}`, testid: "toast", dir: "auto", text });
      let timer = setTimeout(() => toast.remove(), TOAST_MS);
      toast.addEventListener("click", () => toast.remove());
      toast.addEventListener("pointerenter", () => clearTimeout(timer));
      toast.addEventListener("pointerleave", () => (timer = setTimeout(() => toast.remove(), TOAST_MS / 2)));
      node.append(toast);
      while (node.children.length > MOST_TOASTS) node.firstChild.remove();
    },
  };
}
