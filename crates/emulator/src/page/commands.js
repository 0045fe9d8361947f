// The list of the bot's commands above the field: by its button, or by typing "/".
//
// Promise: the field keeps the focus; arrows choose and Enter sends the choice, Tab takes the first, Escape closes.

import { button, el, fill } from "./dom.js";
import { state } from "./state.js";
import { t } from "./texts.js";

export function commandList(field, onChoose) {
  let shown = [];
  let chosen = -1;
  const node = el("div", {
    class: "commands",
    role: "listbox",
    "aria-label": t("commands"),
    testid: "commands-list",
    hidden: true,
  });

  function show(commands) {
    shown = commands;
    // Enter sends what was typed until a command is picked with the arrows.
    chosen = -1;
    node.hidden = !shown.length;
    draw();
  }

  function draw() {
    fill(
      node,
      shown.map(({ command, description }, place) =>
        button(
          {
            class: "command-item",
            role: "option",
            tabindex: "-1",
            testid: `command-${command}`,
            "aria-selected": String(place === chosen),
            // The field must not lose the focus to the list.
            on: { pointerdown: (event) => event.preventDefault(), click: () => choose(place) },
          },
          el("span", { class: "command-name", text: `/${command}` }),
          el("span", { class: "command-words", dir: "auto", text: description }),
        ),
      ),
    );
    node.children[chosen]?.scrollIntoView?.({ block: "nearest" });
  }

  function choose(place) {
    const { command } = shown[place];
    show([]);
    onChoose(`/${command}`);
  }

  function key(event) {
    if (node.hidden) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) chosen = chosen < 0 && step < 0 ? shown.length - 1 : (chosen + step + shown.length) % shown.length;
    else if (event.key === "Escape") show([]);
    else if (event.key === "Tab") choose(Math.max(0, chosen));
    else if (event.key === "Enter" && !event.shiftKey && chosen >= 0) choose(chosen);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    if (step) draw();
    return true;
  }

  return {
    node,
    key,
    toggle() {
      show(node.hidden ? state.commands : []);
      field.focus();
    },
    suggest(text) {
      const typed = /^\/([a-z0-9_]*)$/i.exec(text)?.[1]?.toLowerCase();
      show(typed === undefined ? [] : state.commands.filter(({ command }) => command.startsWith(typed)));
    },
  };
}
