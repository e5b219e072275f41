// overview.js - what the fleet does now, and did in the last hour, day or week.
import { get, later } from "./api.js";
import { bars } from "./chart.js";
import { h } from "./dom.js";
import { bound, clock, count, date, either, foreign, length, money } from "./format.js";
import { t } from "./words.js";

const EVERY_MS = { hour: 2000, day: 10_000, week: 60_000 };
const ENDS = ["completed", "incomplete", "failed", "cancelled"];

export function open(place) {
  const span = Object.hasOwn(EVERY_MS, place.query.span) ? place.query.span : "hour";
  let seen = null;
  let fault = null;
  let timer = null;
  let closed = false;

  async function look() {
    try {
      seen = await get("/v1/overview", { span });
      fault = null;
    } catch (error) {
      fault = error.message;
    }
    if (closed) return;
    place.changed();
    timer = later(look, EVERY_MS[span]);
  }

  look();
  return {
    title: () => t("Overview"),
    draw: () => [
      h("h1", {}, t("Overview")),
      h("div", { class: "spans", role: "group", "aria-label": t("Time") }, Object.keys(EVERY_MS).map((one) =>
        h("button", { type: "button", "aria-pressed": String(one === span), onclick: () => place.go({ span: one }) }, t(one)),
      )),
      fault && h("p", { class: "fault", role: "status" }, foreign(t("What is shown may be old: {}", fault))),
      seen && [now(seen), past(seen), queues(seen)],
    ],
    close() {
      closed = true;
      timer?.();
    },
  };
}

function tile(name, value, href, more) {
  return h("a", { class: "tile", href }, h("span", { class: "label" }, name), h("strong", {}, value), more && h("span", { class: "more" }, more));
}

function jobsAt(query) {
  return `#/jobs?${new URLSearchParams(query)}`;
}

function jobsOf(queue) {
  return h("a", { href: jobsAt({ queue }) }, foreign(queue));
}

function now({ queues: all }) {
  if (!all) return null;
  const sum = (name) => all.reduce((total, queue) => total + queue[name], 0);
  const oldest = Math.max(0, ...all.map((queue) => queue.oldest_ms));
  return h(
    "section",
    { class: "tiles", "aria-label": t("Now") },
    tile(t("Running"), count(sum("running")), jobsAt({ state: "in_progress" })),
    tile(t("Waiting"), count(sum("waiting")), jobsAt({ state: "queued" }), oldest > 0 && t("the oldest for {}", length(oldest))),
    tile(t("Later"), count(sum("scheduled")), jobsAt({ place: "later" })),
    tile(t("Failed for good"), count(sum("dead")), "#/dead"),
  );
}

function past({ points, total, from, step_ms: stepMs, steps, span }) {
  const isWhole = points && [from, stepMs, steps].every(Number.isFinite);
  const byAt = new Map(isWhole ? points.map((point) => [point.at, point]) : []);
  const places = Array.from({ length: isWhole ? steps : 0 }, (_, i) => from + i * stepMs);
  const time = span === "hour" ? clock : date;
  const shown = places.map((at) => {
    const point = byAt.get(at);
    const parts = ENDS.map((name) => point?.[name] ?? 0);
    const label = `${time(at)}: ${ENDS.map((name, i) => `${count(point ? point[name] : 0)} ${t(name)}`).join(", ")}`;
    return { at, parts, label, href: jobsAt({ since: at, until: at + stepMs }) };
  });
  const since = from === undefined ? {} : { since: from };
  return [
    isWhole && bars({ title: t("Jobs that ended"), points: shown, names: ENDS }),
    total && h("ul", { class: "legend" }, ENDS.map((name) =>
      h("li", {}, h("span", { class: `swatch ${name}`, "aria-hidden": "true" }), h("a", { href: jobsAt({ state: name, ...since }) }, `${count(total[name])} ${t(name)}`)),
    )),
    total && h(
      "section",
      { class: "tiles", "aria-label": t("In this time") },
      tile(t("Wait"), bound(total.wait_p50), jobsAt(since), `p95 ${bound(total.wait_p95)}`),
      tile(t("Run"), bound(total.run_p50), jobsAt(since), `p95 ${bound(total.run_p95)}`),
      tile(t("Tokens"), count(total.tokens), jobsAt(since)),
      tile(t("Cost"), money(total.cost), jobsAt(since)),
    ),
  ];
}

const COLUMNS = [
  ["Queue", "held"],
  ["Running", "number"],
  ["Waiting", "number"],
  ["Later", "number"],
  ["Oldest", "number"],
  ["State"],
];

function queues({ queues: all }) {
  if (!all) return null;
  return h(
    "section",
    {},
    h("h2", {}, t("Queues")),
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, COLUMNS.map(([name, kind]) => h("th", { scope: "col", class: kind }, t(name))))),
        h("tbody", {}, all.map((queue) =>
          h(
            "tr",
            { key: queue.queue },
            h("th", { scope: "row" }, queue.queue === undefined ? foreign() : jobsOf(queue.queue)),
            h("td", { class: "number" }, count(queue.running)),
            h("td", { class: "number" }, count(queue.waiting)),
            h("td", { class: "number" }, count(queue.scheduled)),
            h("td", { class: "number" }, queue.oldest_ms > 0 ? length(queue.oldest_ms) : "–"),
            h("td", {}, either(queue.paused, "paused", "open")),
          ),
        )),
      ),
    ),
  );
}
