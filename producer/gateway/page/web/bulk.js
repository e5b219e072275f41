// bulk.js - one act on all jobs that the filters find: it counts them, asks, and then does it to each.
import { get, send } from "./api.js";
import { h } from "./dom.js";
import { count, foreign } from "./format.js";
import { question } from "./question.js";
import { t } from "./words.js";

const MOST = 10_000; // jobs of one act
const AT_ONCE = 6;
const PAGE = 500;
const ENDS = ["completed", "incomplete", "failed", "cancelled"];

const ACTS = {
  cancel: { name: "Cancel all", ask: "Cancel {} jobs?", when: (job) => !ENDS.includes(job.state), run: (path) => send("POST", `${path}/cancel`, {}) },
  retry: { name: "Run all again", ask: "Run {} jobs again?", when: (job) => job.state === "failed", run: (path) => send("POST", `${path}/retry`, {}) },
  remove: { name: "Remove all", ask: "Remove all that is kept of {} jobs?", when: (job) => ENDS.includes(job.state), run: (path) => send("DELETE", path) },
};

// query: of GET /v1/jobs; changed(): there is something new to show; done(): the jobs are others now.
// Returns { draw, close }.
export function bulk(query, changed, done) {
  let stage = null; // { verb, ids } asks; { verb, ids, at, faults } runs; { text } tells
  let isClosed = false;

  function show(next) {
    if (isClosed) return;
    stage = next;
    changed();
  }

  async function find(verb) {
    const ids = [];
    show({ text: t("Counting…") });
    try {
      let cursor;
      do {
        const page = await get("/v1/jobs", { ...query, limit: PAGE, cursor });
        ids.push(...page.jobs.filter(ACTS[verb].when).map((job) => job.id));
        cursor = page.next;
      } while (cursor && ids.length < MOST && !isClosed);
      const unique = [...new Set(ids)].slice(0, MOST);
      show(unique.length > 0 ? { verb, ids: unique } : { text: t("There are none.") });
    } catch (error) {
      show({ text: error.message });
    }
  }

  async function run({ verb, ids }) {
    const state = { verb, ids, at: 0, faults: [], running: true };
    const rest = [...ids];
    show(state);
    async function worker() {
      for (let id = rest.shift(); id !== undefined && !isClosed; id = rest.shift()) {
        await ACTS[verb].run(`/v1/jobs/${id}`).catch((error) => state.faults.push(error.message));
        state.at++;
        changed();
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    const faults = [...new Set(state.faults)];
    show({ text: [t("Done: {} of {}.", count(state.at - state.faults.length), count(ids.length)), ...faults.slice(0, 3)].join(" ") });
    done();
  }

  function draw() {
    return [
      h("p", { class: "bar", key: "bulk" }, Object.entries(ACTS).map(([verb, { name }]) => h("button", { type: "button", key: verb, "aria-disabled": String(Boolean(stage?.running)), onclick: () => stage?.running || find(verb) }, t(name)))),
      stage?.text && h("p", { class: "told", role: "status", key: "told" }, foreign(stage.text)),
      stage?.running && h("p", { class: "note", role: "status", key: "runs" }, t("{} of {}", count(stage.at), count(stage.ids.length))),
      stage?.ids && !stage.running && question(t(ACTS[stage.verb].ask, count(stage.ids.length)), t(ACTS[stage.verb].name), () => run(stage), () => show(null)),
    ];
  }

  return {
    draw,
    close() {
      isClosed = true;
    },
  };
}
