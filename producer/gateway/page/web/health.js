// health.js - whether jobs that wait will start: which workers serve a queue, and what holds its jobs. It
// judges as `quern doctor` does.
import { h } from "./dom.js";
import { count, counted, either, foreign, length } from "./format.js";
import { t } from "./words.js";

// A worker that has left stands in the list while its name is to drain.
export function isUp(worker) {
  return worker.seen_at !== 0;
}

function takes({ draining, mode }) {
  return !draining && (mode ?? "serving") === "serving";
}

// What keeps workers from starting jobs of that queue: "", when one starts them; null: not known.
function unserved(queue, workers) {
  if (!workers || queue === undefined) return null;
  const serve = workers.filter((one) => isUp(one) && (one.queues ?? queue).split(/[, ]+/).includes(queue));
  if (serve.some((one) => takes(one) && !one.executor?.away)) return "";
  if (serve.some(takes)) return "executors are away";
  return serve.length > 0 ? "its workers drain" : "no worker serves it";
}

export function stateOfQueue(queue, workers) {
  if (queue.paused === false && queue.queue === undefined) return foreign();
  const why = !queue.paused && unserved(queue.queue, workers);
  return why ? h("span", { class: queue.waiting > 0 && "bad" }, t(why)) : either(queue.paused, "paused", "open");
}

// How long the oldest job has waited, also where the queue is paused.
export function oldest({ oldest_ms: ms, waits_ms: all }) {
  const waits = ms || all;
  return waits > 0 ? length(waits) : "–";
}

const UNSERVED = {
  "no worker serves it": ["{} job waits in {}: no worker serves it.", "{} jobs wait in {}: no worker serves it."],
  "its workers drain": [
    "{} job waits in {}: its workers take no more.",
    "{} jobs wait in {}: its workers take no more.",
  ],
  "executors are away": [
    "{} job waits in {}: the executors of its workers are away.",
    "{} jobs wait in {}: the executors of its workers are away.",
  ],
};
const PAUSED = ["{} job waits in {}, which is paused.", "{} jobs wait in {}, which is paused."];
const PAUSED_LONG = [
  "{} job waits in {}, which is paused, the oldest for {}.",
  "{} jobs wait in {}, which is paused, the oldest for {}.",
];
const BUDGET = [
  "{} job of {} waits for the next budget of its tenant.",
  "{} jobs of {} wait for the next budget of their tenants.",
];
const ENDPOINT = ["{} job of {} waits for a model's endpoint.", "{} jobs of {} wait for a model's endpoint."];

// What an operator should know at a glance, the worst first: sentences that lead to the jobs.
export function troubles(queues, workers) {
  const waits = queues.filter((one) => one.waiting > 0);
  const paused = waits.filter((one) => one.paused).map((one) => {
    const sentences = one.waits_ms > 0 ? PAUSED_LONG : PAUSED;
    return trouble(one, { state: "queued" }, one.waiting, sentences, oldest(one));
  });
  const held = queues.flatMap((one) => [
    one.held_by_budget > 0 && trouble(one, { reason: "budget" }, one.held_by_budget, BUDGET),
    one.held_by_endpoint > 0 && trouble(one, { reason: "endpoint" }, one.held_by_endpoint, ENDPOINT),
  ]);
  const stopped = waits.filter((one) => !one.paused).map((one) => {
    const why = unserved(one.queue, workers);
    return why && trouble(one, { state: "queued" }, one.waiting, UNSERVED[why]);
  });
  const all = [noWorker(workers), ...stopped, ...paused, ...held].filter(Boolean);
  if (all.length === 0) return null;
  return h("ul", { key: "troubles", class: "troubles", "aria-label": t("What holds jobs back") }, all);
}

function noWorker(workers) {
  if (!workers) return null;
  const up = workers.filter(isUp);
  if (up.some(takes)) return null;
  const text = up.length > 0 ? t("All workers drain: no job starts.") : t("No worker is there: no job starts.");
  return h("li", { key: "workers", class: "bad" }, h("a", { href: "#/workers" }, text));
}

function trouble({ queue = "–" }, filter, number, sentences, ...given) {
  const query = new URLSearchParams({ tenant: "*", queue, ...filter });
  const text = counted(number, ...sentences, queue, ...given);
  return h("li", { key: text }, h("a", { href: `#/jobs?${query}` }, foreign(text)));
}

// A tile's words for the workers: how many are there, and how many of them drain.
export function workersInShort(workers) {
  const up = workers.filter(isUp);
  const drain = up.filter((one) => !takes(one)).length;
  return { text: count(up.length), more: drain > 0 && counted(drain, "{} drains", "{} drain") };
}
