// list_view.js - a view that is one table: it asks a route every few seconds, shows the rows, and
// offers what may be done to each. lists.js has the tables.
//
// A list is { title, path, rows, key, columns, actions }, and may have more:
//   path      the route; rows(answer, more): its rows; key(row): what tells rows apart
//   columns   [name, value(row) -> description, "number" or nothing]
//   actions   [{ name, when(row), ask(row), run(row) }]: ask, where there is one, gives or promises a
//             question that somebody answers first; run returns a promise, and may give a note to show
//   form      form(rows): what somebody fills in; submit(values) is as run
//   more      more(): promises what another route knows of the rows; null: it does not say
//   filters   filters(query, go): what narrows the rows
//   total     total(rows): the last row, a cell for each column
//   stride    rows that are asked for at first, and more each time that somebody wants more; the answer
//             then has its total
//   bulk      what bulk() takes, for acts on all of the list (bulk.js): bulk(query)
import { get, later } from "./api.js";
import { bulk, hideButton } from "./bulk.js";
import { h } from "./dom.js";
import { count, fault, foreign, visible } from "./format.js";
import { question } from "./question.js";
import { t } from "./words.js";

const EVERY_MS = 3000;
const MOST_ROWS = 500; // that a gateway gives at once

export function openList(list, place, may) {
  // fault: of asking; refusal: of what somebody wanted done, until something else is done.
  const seen = { answer: null, more: null, fault: null, refusal: null, note: null, asked: null };
  let limit = list.stride;
  let timer = null;
  let isClosed = false;
  const all = may && list.bulk && bulk({ ...list.bulk(place.query), changed: place.changed, done: look });

  async function look() {
    try {
      const more = list.more?.().catch(() => null);
      seen.answer = await get(list.path, { ...place.query, limit });
      seen.more = await more;
      seen.fault = null;
    } catch (error) {
      seen.fault = error.message;
    }
    if (isClosed) return;
    place.changed();
    timer?.();
    timer = later(look, EVERY_MS);
  }

  function showMore() {
    limit = Math.min(limit + list.stride, MOST_ROWS);
    return look();
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

  async function press(action, row) {
    if (!action.ask) return run(action, row);
    seen.refusal = null;
    try {
      seen.asked = { action, row, text: await action.ask(row) };
    } catch (error) {
      seen.refusal = error.message;
    }
    if (!isClosed) place.changed();
  }

  function hide() {
    seen.refusal = null;
    seen.note = null;
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
      isClosed = true;
      timer?.();
      all && all.close();
    },
  };

  function draw() {
    const rows = seen.answer && list.rows(seen.answer, seen.more);
    const form = may && list.form?.(rows ?? []);
    return [
      h("h1", {}, t(list.title)),
      form && h("form", { key: "form", class: "filters", onsubmit: submit }, form),
      list.filters?.(place.query, (filters) => place.go(filters)),
      all && seen.answer?.total !== 0 && all.draw(),
      fault(seen.fault),
      // In sight also of the last row.
      h(
        "div",
        { key: "said", class: "said" },
        fault(seen.refusal),
        seen.note && h("p", { key: "told", class: "told", role: "status" }, text(seen.note)),
        (seen.refusal || seen.note) && h("p", { key: "hide" }, hideButton(hide)),
        seen.asked && ask(seen.asked),
      ),
      rows?.length > 0 && list.stride && part(rows.length),
      rows ? table(list, rows, may ? press : null) : !seen.fault && nothing(),
      rows && list.stride && hasMore(rows.length) && moreButton(),
    ];
  }

  function part(shown) {
    return h("p", { key: "part", class: "note" }, t("{} of {}", count(shown), count(seen.answer.total)));
  }

  function moreButton() {
    return h("p", { key: "more" }, h("button", { type: "button", onclick: showMore }, t("More")));
  }

  function hasMore(shown) {
    const { total } = seen.answer;
    return limit < MOST_ROWS && (total === undefined ? shown >= limit : shown < total);
  }

  function nothing() {
    return h("p", { class: "note" }, seen.answer ? t("The gateway does not say.") : t("Loading…"));
  }

  function ask({ action, row, text }) {
    return question(text, t(action.name), () => run(action, row), forget);
  }

  async function submit(event) {
    event.preventDefault();
    await run({ run: () => list.submit(Object.fromEntries(new FormData(event.target))) });
  }
}

function table(list, rows, press) {
  if (rows.length === 0) return h("p", { class: "note" }, t("There are none."));
  const acts = press && list.actions.length > 0;
  const total = list.total?.(rows);
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
          acts && h("th", { scope: "col", class: "actions" }, t("Actions")),
        ),
      ),
      h("tbody", {}, rows.map((row) => line(list, row, acts && press))),
      total && h("tfoot", {}, h("tr", {}, total.map((value, i) => cell(list, value, i)))),
    ),
  );
}

function cell(list, value, i) {
  const kind = list.columns[i][2];
  return h(i === 0 ? "th" : "td", { class: kind, scope: i === 0 ? "row" : null }, text(value));
}

function line(list, row, press) {
  return h(
    "tr",
    { key: list.key(row) },
    list.columns.map(([, value], i) => cell(list, value(row), i)),
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
