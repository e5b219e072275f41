// overview.js - what the fleet does now, and did in the last hour, day or week.
import { get, later } from "./api.js";
import { bars } from "./chart.js";
import { h } from "./dom.js";
import { bound, clock, count, date, foreign, length, money } from "./format.js";
import { oldest, stateOfQueue, troubles, workersInShort } from "./health.js";
import { language, t } from "./words.js";

const EVERY_MS = { hour: 2000, day: 10_000, week: 60_000 };
const ENDS = ["completed", "incomplete", "failed", "cancelled"];

export function open(place) {
  const span = Object.hasOwn(EVERY_MS, place.query.span) ? place.query.span : "hour";
  let seen = null;
  let workers = null;
  let fault = null;
  let timer = null;
  let closed = false;

  async function look() {
    try {
      const asked = get("/v1/workers").then((answer) => answer.workers, () => null);
      seen = await get("/v1/overview", { span });
      workers = await asked;
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
      seen?.queues && troubles(seen.queues, workers),
      seen && [now(seen, workers), past(seen), queues(seen, workers)],
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

// The numbers are those of all tenants, and so are the jobs behind them.
function jobsAt(query) {
  return `#/jobs?${new URLSearchParams({ ...query, tenant: "*" })}`;
}

function jobsOf(queue) {
  return h("a", { href: jobsAt({ queue }) }, foreign(queue));
}

function now({ queues: all }, workers) {
  if (!all) return null;
  const sum = (name) => all.reduce((total, queue) => total + queue[name], 0);
  const longest = Math.max(0, ...all.map((queue) => queue.oldest_ms || queue.waits_ms || 0));
  const waits = longest > 0 && t("the oldest for {}", length(longest));
  const served = workers && workersInShort(workers);
  return h(
    "section",
    { class: "tiles", "aria-label": t("Now") },
    tile(t("Running"), count(sum("running")), jobsAt({ state: "in_progress" })),
    tile(t("Queued"), count(sum("waiting")), jobsAt({ state: "queued" }), waits),
    tile(t("Later"), count(sum("scheduled")), jobsAt({ state: "scheduled waiting" }), t("scheduled or waiting")),
    tile(t("Failed for good"), count(sum("dead")), "#/dead"),
    served && tile(t("Workers"), served.text, "#/workers", served.more),
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
  const times = places.map((at) => axisTime(at, span));
  const since = from === undefined ? {} : { since: from };
  return [
    isWhole && bars({ title: t("Jobs that ended"), points: shown, names: ENDS, times }),
    total && h("ul", { class: "legend" }, ENDS.map((name) =>
      h("li", {}, h("span", { class: `swatch ${name}`, "aria-hidden": "true" }), h("a", { href: jobsAt({ state: name, ...since }) }, `${count(total[name])} ${t(name)}`)),
    )),
    total && h(
      "section",
      { class: "tiles", "aria-label": t("In this time") },
      tile(t("Wait, the median"), bound(total.wait_p50), jobsAt(since), `p95 ${bound(total.wait_p95)}`),
      tile(t("Run, the median"), bound(total.run_p50), jobsAt(since), `p95 ${bound(total.run_p95)}`),
      tile(t("Tokens"), count(total.tokens), jobsAt(since)),
      tile(t("Cost"), money(total.cost), jobsAt(since)),
    ),
  ];
}

// Below the chart: as short as it can be.
function axisTime(at, span) {
  const format = span === "week" ? { weekday: "short", day: "numeric" } : { hour: "2-digit", minute: "2-digit" };
  return new Intl.DateTimeFormat(language(), format).format(at);
}

const COLUMNS = [
  ["Queue", "held"],
  ["State"],
  ["Running", "number"],
  ["Queued", "number"],
  ["Oldest", "number"],
  ["Later", "number"],
  ["For a budget", "number"],
  ["For an endpoint", "number"],
];

function queues({ queues: all }, workers) {
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
            h("td", {}, stateOfQueue(queue, workers)),
            h("td", { class: "number" }, count(queue.running)),
            h("td", { class: "number" }, count(queue.waiting)),
            h("td", { class: "number" }, oldest(queue)),
            h("td", { class: "number" }, count(queue.scheduled)),
            h("td", { class: "number" }, count(queue.held_by_budget)),
            h("td", { class: "number" }, count(queue.held_by_endpoint)),
          ),
        )),
      ),
    ),
  );
}
