// bulk.js - one act on all jobs that are found: it counts them, asks, and then does it to each. It goes on
// when its view is left: main.js shows it above each view, and what came of it.
import { later } from "./api.js";
import { h } from "./dom.js";
import { count, counted, date, foreign } from "./format.js";
import { question } from "./question.js";
import { t } from "./words.js";

const MOST = 10_000; // jobs of one act
const AT_ONCE = 6;
const REASONS = 5; // of refusals that are told
const MANY = 100; // jobs that one slip of the finger must not end, whatever the filters are
const RETRY_MS = 1000;

let act = null; // the one that runs, or ran last: { name, ids, at, refused, hasMore, isAway, isStopped, isOver }

export function isActing() {
  return act !== null && !act.isOver;
}

// What is told of an act that is over.
export function forgetActs() {
  if (act?.isOver) act = null;
}

export function showActs(changed) {
  if (!act) return null;
  const shown = act.isOver ? told(changed) : runs(changed);
  return h("aside", { key: "acts", class: "acts", "aria-label": t("An act on many jobs") }, shown);
}

function runs(changed) {
  const stop = () => {
    act.isStopped = true;
    changed();
  };
  return [
    h("p", {}, t("{}: {} of {}", t(act.name), count(act.at), count(act.ids.length))),
    h("progress", { max: act.ids.length, value: act.at, "aria-label": t(act.name) }),
    act.isAway && h("p", { class: "bad", role: "status" }, t("The gateway does not answer: the act waits for it.")),
    h("button", { type: "button", onclick: stop }, t("Stop")),
  ];
}

function told(changed) {
  const refused = [...act.refused].sort(([, a], [, b]) => b - a);
  const all = refused.reduce((sum, [, jobs]) => sum + jobs, 0);
  const rest = all - refused.slice(0, REASONS).reduce((sum, [, jobs]) => sum + jobs, 0);
  const hide = () => {
    act = null;
    changed();
  };
  return h(
    "div",
    { class: all > 0 || act.isStopped ? "fault" : "told", role: "status" },
    act.isStopped && h("p", {}, t("Stopped at {} of {}.", count(act.at), count(act.ids.length))),
    h("p", {}, t("Done: {} of {}.", count(act.at - all), count(act.ids.length))),
    act.hasMore && h("p", {}, t("There are more jobs than one act does: do it again.")),
    all > 0 && h("p", {}, counted(all, "{} was refused:", "{} were refused:")),
    all > 0 && h("ul", {}, refused.slice(0, REASONS).map(([text, jobs]) =>
      h("li", { key: text }, `${count(jobs)} × `, foreign(text)),
    )),
    rest > 0 && h("p", {}, t("and {} for other reasons", count(rest))),
    hideButton(hide),
  );
}

async function run({ name, run: one }, { ids, hasMore }, changed) {
  const state = { name, ids, hasMore, at: 0, refused: new Map(), isAway: false, isStopped: false, isOver: false };
  const rest = [...ids];
  act = state;
  changed();
  async function worker() {
    while (rest.length > 0 && !state.isStopped) {
      const id = rest.shift();
      const error = await one(id).then(() => null, (error) => error);
      state.isAway = error?.status === 0;
      if (state.isAway) {
        rest.unshift(id);
        changed();
        await new Promise((done) => later(done, RETRY_MS));
        continue;
      }
      if (error) {
        const text = error.message.replaceAll(id, "…");
        state.refused.set(text, (state.refused.get(text) ?? 0) + 1);
      }
      state.at++;
      changed();
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  state.isStopped &&= state.at < ids.length;
  state.isOver = true;
  changed();
}

export function hideButton(onclick) {
  return h("button", { type: "button", onclick }, t("Hide"));
}

// The index of jobs that have ended is bounded.
export function listedSince(ms) {
  return t("The list goes back to {}: jobs that ended before are not listed.", date(ms));
}

// acts: [{ name, ask: [of one job, of several], when(job), run(id), isFinal, isOfEnded }]; pages(cursor) asks for
// some of the jobs that are found: { jobs, next, ended_since }; isAll: nothing is filtered, so an act that isFinal is confirmed
// by its number, as it is when there are many; changed(): there is something new to show; done(): the jobs are others now.
// Returns { draw, close }.
export function bulk({ acts, pages, isAll, changed, done }) {
  let stage = null; // { text } tells; { one, ids, hasMore, since } asks
  let isClosed = false;

  function show(next) {
    stage = next;
    if (!isClosed) changed();
  }

  async function find(one) {
    if (isActing()) return;
    forgetActs();
    const ids = new Set();
    let since = 0;
    show({ text: t("Counting…") });
    try {
      let cursor;
      do {
        const page = await pages(cursor);
        for (const job of page.jobs) if (one.when(job)) ids.add(job.id);
        if (one.isOfEnded) since = Math.max(since, page.ended_since ?? 0);
        cursor = page.next;
      } while (cursor && ids.size <= MOST && !isClosed);
      const hasMore = ids.size > MOST || Boolean(cursor);
      if (ids.size > 0) show({ one, ids: [...ids].slice(0, MOST), hasMore, since });
      else show({ text: [t("There are none."), since > 0 && listedSince(since)].filter(Boolean).join(" ") });
    } catch (error) {
      show({ text: error.message });
    }
  }

  async function start({ one, ids, hasMore }) {
    if (isActing()) return;
    show(null);
    await run(one, { ids, hasMore }, changed);
    if (!isClosed) done();
  }

  function ask() {
    const { one, ids, hasMore, since } = stage;
    const more = hasMore && t("There are more: these are the first.");
    const text = [counted(ids.length, ...one.ask), more, since > 0 && listedSince(since)];
    const typed = one.isFinal && (isAll || ids.length > MANY) ? String(ids.length) : null;
    return question(text.filter(Boolean).join(" "), t(one.name), () => start(stage), () => show(null), typed);
  }

  return {
    draw: () => [
      h("p", { class: "bar", key: "bulk" }, acts.map((one) => {
        const props = { type: "button", "aria-disabled": String(isActing()), onclick: () => find(one) };
        return h("button", { key: one.name, ...props }, t(one.name));
      })),
      stage?.text && h("p", { class: "told", role: "status", key: "told" }, foreign(stage.text), " ", hideButton(() => show(null))),
      stage?.ids && ask(),
    ],
    close() {
      isClosed = true;
    },
  };
}
