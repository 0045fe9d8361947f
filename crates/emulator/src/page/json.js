// JSON, indented and coloured, as DOM nodes.
//
// Promise: values are text nodes; an answer of any size is cut to what a browser can show without stalling.

import { el } from "./dom.js";

const MOST_NODES = 4000;
const LONGEST_STRING = 4096;

export function jsonView(value) {
  const code = el("code");
  const budget = { left: MOST_NODES };
  write(code, value, "", budget);
  return el("pre", { class: "json", tabindex: "0" }, code);
}

function write(out, value, indent, budget) {
  if ((budget.left -= 1) < 0) return void out.append("…");
  if (Array.isArray(value))
    return several(
      out,
      value.map((item) => [null, item]),
      "[]",
      indent,
      budget,
    );
  if (value !== null && typeof value === "object") return several(out, Object.entries(value), "{}", indent, budget);
  const kind = value === null ? "null" : typeof value;
  const text = JSON.stringify(value) ?? "null";
  const short = text.length > LONGEST_STRING ? `${text.slice(0, LONGEST_STRING)}…"` : text;
  out.append(el("span", { class: `json-${kind}`, text: short }));
}

function several(out, items, [opening, closing], indent, budget) {
  if (!items.length) return out.append(opening + closing);
  const deeper = `${indent}  `;
  out.append(`${opening}\n`);
  items.forEach(([key, item], place) => {
    out.append(deeper);
    if (key !== null) out.append(el("span", { class: "json-key", text: JSON.stringify(key) }), ": ");
    write(out, item, deeper, budget);
    out.append(place < items.length - 1 ? ",\n" : "\n");
  });
  out.append(indent + closing);
}
