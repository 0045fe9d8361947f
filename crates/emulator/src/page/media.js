// Photos, videos, sounds and files inside a bubble.
//
// Promise: nothing heavy is fetched before it is seen or asked for; a file plays from memory under a type this page
// chose, because the server hands out everything but images as plain bytes.

import { button, el, icon } from "./dom.js";
import { api } from "./api.js";
import { state } from "./state.js";
import { bytes, duration, t } from "./texts.js";
import { lightbox } from "./dialogs.js";
import { testId } from "./message.js";

const BOX_PX = 320;
const VISUAL = ["photo", "video", "animation", "video_note", "sticker"];
const ROWS = ["document", "audio", "voice"];

/** The picture, player or file row of a message, or null. */
export function mediaOf(message, here) {
  const kind = kindOf(message);
  if (!kind) return null;
  if (ROWS.includes(kind)) return row(kind, message[kind]);
  if (kind === "sticker") return sticker(message.sticker);
  return tile(kind, message, here, true);
}

mediaOf.handles = (message) => Boolean(kindOf(message));

// An animation also carries a document for older clients, hence the order.
const kindOf = (message) => [...VISUAL, ...ROWS].find((kind) => message[kind]);

/** Several photos or videos as a grid; files and sounds below each other. */
export function albumGrid(messages, here, place) {
  const isVisual = messages.every((message) => VISUAL.includes(kindOf(message)));
  const side = place.own ? "own" : "bot";
  const cells = messages.map((message) => {
    const media = isVisual ? tile(kindOf(message), message, here, false) : mediaOf(message, here);
    return el(
      "div",
      { class: `album-cell ${side}`, testid: testId(here, message), data: { id: message.message_id } },
      media,
    );
  });
  const layout = isVisual ? `album-grid count-${Math.min(messages.length, 10)}` : "album-rows row-media";
  return el("div", { class: layout }, cells);
}

function tile(kind, message, here, sized) {
  const media = kind === "photo" ? message.photo.at(-1) : message[kind];
  const poster = kind === "photo" ? media : (media.thumbnail ?? null);
  const isPhoto = kind === "photo";
  const label = t(isPhoto ? "openPhoto" : "playVideo");
  const face = poster ? image(poster, label) : el("span", { class: "no-poster" });
  const badge = isPhoto
    ? null
    : el("span", { class: "tile-badge", text: kind === "animation" ? "GIF" : duration(media.duration) });
  const node = button(
    { class: `tile tile-${kind}`, "aria-label": label, on: { click: () => open(node, kind, media, message) } },
    face,
    !isPhoto && el("span", { class: "tile-play" }, icon("play")),
    badge,
  );
  if (message.has_media_spoiler) node.classList.add("veiled");
  if (sized) size(node, kind === "video_note" ? { width: 1, height: 1 } : media);
  return node;
}

function open(node, kind, media, message) {
  if (node.classList.contains("veiled")) return node.classList.remove("veiled");
  if (kind === "photo") return lightbox(image(media, message.caption ?? t("kindPhoto")), message.caption);
  const video = el("video", { controls: true, autoplay: true, playsinline: true, loop: kind === "animation" });
  lightbox(video, message.caption);
  playable(media, "video/mp4").then(
    (url) => (video.src = url),
    () => video.replaceWith(el("p", { text: t("cannotLoad") })),
  );
}

/** Keeps the shape before the picture arrives, so that the chat does not jump. */
function size(node, media) {
  const width = Math.max(1, media.width ?? 1);
  const height = Math.max(1, media.height ?? 1);
  const scale = Math.min(BOX_PX / width, (BOX_PX * 1.2) / height, 4);
  node.style.width = `${Math.max(120, Math.round(width * scale))}px`;
  node.style.aspectRatio = `${Math.max(120, width * scale)} / ${Math.max(90, height * scale)}`;
}

function image(media, label) {
  const picture = el("img", {
    src: api.fileUrl(state.token, media.file_id),
    alt: label,
    loading: "lazy",
    decoding: "async",
  });
  picture.addEventListener("error", () => picture.replaceWith(el("span", { class: "broken", text: t("cannotLoad") })));
  return picture;
}

function sticker(media) {
  const isStill = !media.is_animated && !media.is_video;
  const face = isStill ? image(media, media.emoji ?? "") : el("span", { class: "jumbo", text: media.emoji ?? "🙂" });
  return el("div", { class: "sticker", title: media.set_name }, face);
}

function row(kind, media) {
  if (kind === "document") return fileRow(media);
  return player(kind, media);
}

function fileRow(media) {
  const name = media.file_name ?? t("kindDocument");
  return el(
    "a",
    { class: "file row-media", href: api.fileUrl(state.token, media.file_id), download: name },
    el("span", { class: "row-sign" }, icon("file")),
    el(
      "span",
      { class: "row-words" },
      el("bdi", { class: "row-title", text: name }),
      el("span", { class: "row-note", text: bytes(media.file_size) }),
    ),
  );
}

function player(kind, media) {
  const title = kind === "voice" ? "" : [media.performer, media.title ?? media.file_name].filter(Boolean).join(" — ");
  const position = el("input", {
    type: "range",
    min: 0,
    max: 1000,
    value: 0,
    class: "position",
    "aria-label": t("position"),
  });
  const time = el("span", { class: "row-note", text: duration(media.duration) });
  const toggle = button({ class: "row-sign", "aria-label": t("play") }, icon("play"));
  let sound = null;
  toggle.addEventListener("click", async () => {
    try {
      sound ??= wire(new Audio(await playable(media, kind === "voice" ? "audio/ogg" : "audio/mpeg")), media, {
        position,
        time,
        toggle,
      });
      await (sound.paused ? sound.play() : sound.pause());
    } catch {
      time.textContent = t("cannotPlay");
    }
  });
  const words = el(
    "span",
    { class: "row-words" },
    title && el("bdi", { class: "row-title", text: title }),
    position,
    time,
  );
  return el("div", { class: `player ${kind} row-media` }, toggle, words);
}

function wire(sound, media, { position, time, toggle }) {
  const length = () => (Number.isFinite(sound.duration) ? sound.duration : media.duration || 1);
  sound.addEventListener("timeupdate", () => {
    position.value = String((sound.currentTime / length()) * 1000);
    time.textContent = `${duration(Math.floor(sound.currentTime))} / ${duration(Math.round(length()))}`;
  });
  position.addEventListener("input", () => (sound.currentTime = (position.value / 1000) * length()));
  for (const event of ["play", "pause", "ended"]) {
    sound.addEventListener(event, () => {
      toggle.replaceChildren(icon(sound.paused ? "play" : "pause"));
      toggle.setAttribute("aria-label", sound.paused ? t("play") : t("pause"));
    });
  }
  return sound;
}

async function playable(media, fallbackType) {
  const response = await fetch(api.fileUrl(state.token, media.file_id));
  if (!response.ok) throw new Error(String(response.status));
  const type = /^(audio|video)\//.test(media.mime_type ?? "") ? media.mime_type : fallbackType;
  return URL.createObjectURL(new Blob([await response.arrayBuffer()], { type }));
}
