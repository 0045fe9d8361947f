// The people's side of the emulator over HTTP: one function per route of `/client`.
//
// Promise: an answer is the parsed JSON; a refused request throws a `Refusal` with the server's message. Nothing here
// keeps state or touches the document.

import { t } from "./texts.js";

/** The server refused the request, or could not be reached (status 0). */
export class Refusal extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

async function call(method, path, body) {
  const request = { method, headers: { accept: "application/json" } };
  if (body !== undefined) {
    request.headers["content-type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, request);
  } catch {
    // The browser's own message ("Failed to fetch") is not in the page's language and does not help.
    throw new Refusal(0, t("unreachable"));
  }
  const text = await response.text();
  let answer = null;
  try {
    answer = text ? JSON.parse(text) : {};
  } catch {
    throw new Refusal(response.status, text.slice(0, 200));
  }
  if (!response.ok) throw new Refusal(response.status, answer?.error ?? response.statusText);
  return answer;
}

const of = (token) => `/client/${encodeURIComponent(token)}`;
const chat = (token, id) => `${of(token)}/chats/${id}`;

export const api = {
  server: () => call("GET", "/client"),
  world: (token) => call("GET", of(token)),
  forget: (token) => call("DELETE", of(token)),
  setBot: (token, profile) => call("POST", `${of(token)}/bot`, profile),
  addUser: (token, user) => call("POST", `${of(token)}/users`, user),
  addChat: (token, group) => call("POST", `${of(token)}/chats`, group),
  addTopic: (token, id, topic) => call("POST", `${chat(token, id)}/topics`, topic),
  messages: (token, id) => call("GET", `${chat(token, id)}/messages?after=0&wait=0&limit=10000`),
  send: (token, id, message) => call("POST", `${chat(token, id)}/send`, message),
  press: (token, id, press) => call("POST", `${chat(token, id)}/press`, press),
  vote: (token, id, vote) => call("POST", `${chat(token, id)}/vote`, vote),
  react: (token, id, reaction) => call("POST", `${chat(token, id)}/react`, reaction),
  /** deed: block, unblock, leave or join. */
  membership: (token, id, deed, from) => call("POST", `${chat(token, id)}/${deed}`, { from }),
  faults: (token) => call("GET", `${of(token)}/faults`),
  addFault: (token, fault) => call("POST", `${of(token)}/faults`, fault),
  clearFault: (token, id) => call("DELETE", `${of(token)}/faults/${id}`),
  clearFaults: (token) => call("DELETE", `${of(token)}/faults`),
  advanceClock: (token, seconds) => call("POST", `${of(token)}/clock`, { advance_seconds: seconds }),
  replay: (token, updateId) => call("POST", `${of(token)}/replay`, { update_id: updateId }),
  log: (token) => call("GET", `${of(token)}/log?limit=500`),
  fileUrl: (token, fileId) => `${of(token)}/files/${encodeURIComponent(fileId)}`,
  eventsUrl: (token) => `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${of(token)}/events`,
};

/** A file as `send` takes it in JSON. */
export function packed(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(new Refusal(0, String(reader.error)));
    reader.onload = () => {
      const base64 = String(reader.result).split(",", 2)[1] ?? "";
      resolve({ name: file.name || "file", base64, mime_type: file.type || undefined });
    };
    reader.readAsDataURL(file);
  });
}
