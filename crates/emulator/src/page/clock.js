// The emulator's clock: shows its time and moves it forward.

import { button, el, fill, icon } from "./dom.js";
import { api } from "./api.js";
import { state } from "./state.js";
import { field, formDialog } from "./dialogs.js";
import { moment, t } from "./texts.js";

const STEPS = [
  ["plusMinute", 60],
  ["plusHour", 3600],
  ["plusDay", 86400],
];

export function createClock(life) {
  const node = el("section", { class: "clock", "aria-label": t("clock") });
  const advance = async (seconds) => {
    const answer = await api.advanceClock(state.token, seconds);
    state.clockOffset = answer.offset_seconds;
    draw();
  };
  const ask = () =>
    formDialog(
      t("clock"),
      [
        field(
          t("advanceBy"),
          el("input", {
            name: "seconds",
            type: "number",
            min: 1,
            value: 600,
            required: true,
            testid: "clock-seconds",
            autofocus: true,
          }),
        ),
      ],
      {
        submit: t("advance"),
        submitTestid: "clock-submit",
        onSubmit: (data) => advance(Number(data.get("seconds"))),
      },
    );
  const draw = () => {
    const now = moment(Math.floor(Date.now() / 1000) + state.clockOffset);
    fill(
      node,
      icon("clock"),
      el("span", {
        class: state.clockOffset ? "clock-now moved" : "clock-now",
        title: t("clock"),
        testid: "clock",
        text: now,
      }),
      STEPS.map(([name, seconds]) =>
        button({
          class: "chip",
          testid: `clock-${seconds}`,
          text: t(name),
          on: { click: () => advance(seconds).catch(() => {}) },
        }),
      ),
      button({
        class: "chip",
        text: "…",
        title: t("advanceBy"),
        "aria-label": t("advanceBy"),
        testid: "clock-open",
        on: { click: ask },
      }),
    );
  };
  const timer = setInterval(() => !document.hidden && !node.contains(document.activeElement) && draw(), 20_000);
  life.after(() => clearInterval(timer));
  life.on("clock", draw);
  draw();
  return node;
}
