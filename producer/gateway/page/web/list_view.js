// list_view.js - a view that is one table: it asks a route every few seconds, shows the rows, and
// offers what may be done to each. lists.js has the tables.
//
// A list is { title, path, rows, key, columns, actions }, and may have { form, submit }:
//   path      the route; rows(answer): its rows; key(row): what tells rows apart
//   columns   [name, value(row) -> description, "number" or nothing]
//   actions   [{ name, when(row), ask(row), run(row) }]: ask, where there is one, is a question that
//             somebody answers first; run returns a promise, and may give a note to show
//   form      form(rows): what somebody fills in; submit(values) is as run
import { get, later } from "./api.js";
import { h } from "./dom.js";
import { fault, foreign, visible } from "./format.js";
import { question } from "./question.js";
import { t } from "./words.js";

const EVERY_MS = 3000;

export function openList(list, place, may) {
  // fault: of asking; refusal: of what somebody wanted done, until something else is done.
  const seen = { answer: null, fault: null, refusal: null, note: null, asked: null, timer: null, isClosed: false };

  async function look() {
    try {
      seen.answer = await get(list.path, place.query);
      seen.fault = null;
    } catch (error) {
      seen.fault = error.message;
    }
    if (seen.isClosed) return;
    place.changed();
    seen.timer?.();
    seen.timer = later(look, EVERY_MS);
  }

  async function run(action, row) {
    seen.asked = null;
    seen.refusal = null;
    seen.note = null;
    try {
      seen.note = (await action.run(row)) ?? null;
    } catch (error) {
      seen.refusal = error.message;
    }
    await look();
  }

  function press(action, row) {
    if (!action.ask) return run(action, row);
    seen.asked = { action, row };
    place.changed();
  }

  function forget() {
    seen.asked = null;
    place.changed();
  }

  look();
  return {
    title: () => t(list.title),
    draw,
    close() {
      seen.isClosed = true;
      seen.timer?.();
    },
  };

  function draw() {
    const rows = seen.answer && list.rows(seen.answer);
    const form = may && list.form?.(rows ?? []);
    return [
      h("h1", {}, t(list.title)),
      form && h("form", { key: "form", class: "filters", onsubmit: submit }, form),
      fault(seen.fault),
      fault(seen.refusal),
      seen.note && h("p", { key: "told", class: "told", role: "status" }, text(seen.note)),
      seen.asked && ask(seen.asked),
      rows ? table(list, rows, may ? press : null) : !seen.fault && nothing(),
    ];
  }

  function nothing() {
    return h("p", { class: "note" }, seen.answer ? t("The gateway does not say.") : t("Loading…"));
  }

  function ask({ action, row }) {
    return question(action.ask(row), t(action.name), () => run(action, row), forget);
  }

  async function submit(event) {
    event.preventDefault();
    await run({ run: () => list.submit(Object.fromEntries(new FormData(event.target))) });
  }
}

function table(list, rows, press) {
  if (rows.length === 0) return h("p", { class: "note" }, t("There are none."));
  const acts = press && list.actions.length > 0;
  return h(
    "div",
    { key: "table", class: "scroll", tabindex: "0", role: "region", "aria-label": t(list.title) },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          list.columns.map(([name, , kind], i) => h("th", { scope: "col", class: i === 0 ? "held" : kind }, t(name))),
          acts && h("th", { scope: "col" }, t("Actions")),
        ),
      ),
      h("tbody", {}, rows.map((row) => line(list, row, acts && press))),
    ),
  );
}

function line(list, row, press) {
  return h(
    "tr",
    { key: list.key(row) },
    list.columns.map(([, value, kind], i) => h(i === 0 ? "th" : "td", { class: kind, scope: i === 0 ? "row" : null }, text(value(row)))),
    press && h("td", { class: "actions" }, actionsOf(list, row).map((one) =>
      h("button", { type: "button", onclick: () => press(one, row), "aria-label": visible(`${t(one.name)}: ${list.key(row)}`) }, t(one.name)),
    )),
  );
}

// A row without its name cannot be acted on.
function actionsOf(list, row) {
  if (list.key(row) === undefined) return [];
  return list.actions.filter((one) => !one.when || one.when(row));
}

function text(value) {
  return typeof value === "string" || value === undefined ? foreign(value) : value;
}
