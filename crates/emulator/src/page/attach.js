// Sending files: from the menu, by dropping them on the chat, by pasting a picture.
//
// Promise: pictures go as photos (several as one album, ten at most), videos as videos, anything else as documents;
// the text in the input becomes the caption.

import { el } from "./dom.js";
import { packed } from "./api.js";
import { t } from "./texts.js";
import { contactForm, locationForm } from "./forms.js";

const LARGEST_ALBUM = 10;
const PHOTO_TYPES = /^image\/(jpeg|png|webp|gif|bmp)$/;
const isVideo = (file) => file.type.startsWith("video/");

/** The hidden file inputs that the menu opens. */
export function fileInputs(here, takeCaption) {
  const input = (testid, props, handle) => {
    const node = el("input", {
      type: "file",
      class: "sr-only",
      testid,
      tabindex: "-1",
      "aria-hidden": "true",
      ...props,
    });
    node.addEventListener("change", async () => {
      const files = [...node.files];
      if (files.length) await handle(files);
      node.value = "";
    });
    return node;
  };
  const photo = input("file-input-photo", { accept: "image/*,video/*", multiple: true }, (files) =>
    sendVisual(here, files, takeCaption()),
  );
  const file = input("file-input-document", { multiple: true }, (files) => sendDocuments(here, files, takeCaption()));
  const voice = input("file-input-voice", { accept: "audio/*" }, async ([sound]) =>
    here.send({ voice: await packed(sound), ...takeCaption() }),
  );
  return { node: el("div", { class: "inputs" }, photo, file, voice), photo, file, voice };
}

export function attachMenu(here, inputs) {
  return [
    { label: t("attachPhoto"), icon: "photo", testid: "attach-photo", action: () => inputs.photo.click() },
    { label: t("attachFile"), icon: "file", testid: "attach-document", action: () => inputs.file.click() },
    { label: t("attachVoice"), icon: "voice", testid: "attach-voice", action: () => inputs.voice.click() },
    {
      label: t("attachContact"),
      icon: "contact",
      testid: "attach-contact",
      action: () => contactForm(here, { send: here.send }),
    },
    {
      label: t("attachLocation"),
      icon: "location",
      testid: "attach-location",
      action: () => locationForm(here, { send: here.send }),
    },
  ];
}

async function sendPhotos(here, files, rest) {
  for (let at = 0; at < files.length; at += LARGEST_ALBUM) {
    const part = await Promise.all(files.slice(at, at + LARGEST_ALBUM).map(packed));
    const body = part.length > 1 ? { album: part } : { photo: part[0] };
    await here.send({ ...body, ...(at === 0 ? rest : {}) });
  }
}

async function sendDocuments(here, files, rest) {
  for (const [place, file] of files.entries())
    await here.send({ document: await packed(file), ...(place === 0 ? rest : {}) });
}

/** Photos first, with the caption if there are any; then videos, one by one. */
async function sendVisual(here, files, rest) {
  const videos = files.filter(isVideo);
  const photos = files.filter((file) => !isVideo(file));
  if (photos.length) await sendPhotos(here, photos, rest);
  for (const [place, video] of videos.entries())
    await here.send({ video: await packed(video), ...(place === 0 && !photos.length ? rest : {}) });
}

async function sendDropped(here, files, rest) {
  const visual = files.filter((file) => PHOTO_TYPES.test(file.type) || isVideo(file));
  const others = files.filter((file) => !visual.includes(file));
  if (visual.length) await sendVisual(here, visual, rest);
  if (others.length) await sendDocuments(here, others, visual.length ? {} : rest);
}

/** Lets a column accept dropped files and pasted pictures. */
export function catchFiles(node, here, composer) {
  const hint = el("div", { class: "drop-hint", "aria-hidden": "true" }, el("span", { text: t("dropHere") }));
  let depth = 0;
  const isFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const shade = (isOver) => {
    depth = isOver ? depth : 0;
    node.classList.toggle("dropping", isOver);
  };
  node.append(hint);
  node.addEventListener("dragenter", (event) => {
    if (!isFiles(event)) return;
    depth += 1;
    shade(true);
  });
  node.addEventListener("dragover", (event) => isFiles(event) && event.preventDefault());
  node.addEventListener("dragleave", () => (depth -= 1) <= 0 && shade(false));
  node.addEventListener("drop", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    shade(false);
    sendDropped(here, [...event.dataTransfer.files], composer.takeCaption());
  });
  node.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    sendDropped(here, files, composer.takeCaption());
  });
}
