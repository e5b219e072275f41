// job.js - one job: its facts, a timeline, the conversation as it goes on, what may be done to it, and
// what may be kept of it.
import { follow, get, later, send } from "./api.js";
import { approval } from "./approval.js";
import { hasEnded, newConversation, take } from "./conversation.js";
import { h } from "./dom.js";
import { ended, head, reasons, replayed, usage } from "./facts.js";
import { count, fault, foreign } from "./format.js";
import { long } from "./long.js";
import { whenRead } from "./read.js";
import { question } from "./question.js";
import { keep, markdownOf, nameOf, notebookOf } from "./save.js";
import { askedOf, draw, drawAsked } from "./steps.js";
import { timeline } from "./timeline.js";
import { t } from "./words.js";

const STEPS = 300; // that are shown at first, and more each time that somebody asks
const STRIDE = 100;

export function open(place, me) {
  const id = place.path[1] ?? "";
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  // fault: of asking; refusal: of what somebody wanted done, until something else is done.
  const seen = { facts: null, body: null, why: null, fault: null, refusal: null, away: false, asked: null, verdict: null, replay: null, isJudging: false, showsEvents: false, mostSteps: STEPS };
  const frames = new Map(); // how parts that may run are shown, by name: "plain", "scripts"
  const datas = new Map(); // what parts that are JSON hold, by name
  const mayJudge = me.scopes.includes("operate");
  const may = me.scopes.includes("submit");
  let conversation;
  let events;
  let stop = () => {};
  let forget = null;
  let isClosed = false;
  let isLooking = false;

  // Until the facts say that the job has ended.
  async function look() {
    if (isLooking) return;
    isLooking = true;
    let isGone = false;
    try {
      seen.facts = await get(path);
      seen.why = seen.facts.finished_at ? null : await get(`${path}/explain`).catch(() => null);
      seen.fault = null;
    } catch (error) {
      seen.fault = error.message;
      isGone = error.status === 404;
    }
    isLooking = false;
    if (isClosed) return;
    place.changed();
    forget?.();
    if (seen.facts?.finished_at || isGone) return;
    // The last event came after the facts.
    const isSoon = hasEnded(conversation) && !seen.fault;
    forget = later(look, isSoon ? 100 : 5000);
  }

  async function act(method, verb, body) {
    seen.asked = null;
    seen.refusal = null;
    try {
      await send(method, `${path}${verb}`, body);
      return true;
    } catch (error) {
      seen.refusal = error.message;
      return false;
    } finally {
      place.changed();
    }
  }

  function begin() {
    stop();
    conversation = newConversation();
    events = [];
    stop = follow(path, {
      event(event) {
        events.push(event);
        take(conversation, event);
        if (hasEnded(conversation) && !seen.facts?.finished_at) look();
        place.changed();
      },
      away(isAway) {
        seen.away = isAway;
        place.changed();
      },
      ended: () => hasEnded(conversation),
      end() {
        seen.away = false;
        place.changed();
      },
    });
    look();
  }

  async function runAgain() {
    if (await act("POST", "/retry", {})) begin();
  }

  async function remove() {
    if ((await act("DELETE", "")) && !isClosed) location.hash = "#/jobs";
  }

  async function decide(verdict) {
    if (!(await act("POST", "/approve", verdict))) return;
    seen.verdict = null;
    look();
  }

  async function loadData(name) {
    datas.set(name, undefined);
    const json = await get(`${path}/images/${encodeURIComponent(name)}`).catch(() => null);
    datas.set(name, typeof json === "object" ? json : null);
    place.changed();
  }

  async function judge() {
    if (seen.isJudging) return;
    seen.replay = null;
    seen.isJudging = true;
    seen.refusal = null;
    place.changed();
    try {
      seen.replay = await get(`${path}/replay`);
    } catch (error) {
      seen.refusal = error.message;
    }
    seen.isJudging = false;
    place.changed();
  }

  function ask(text, yes, run) {
    seen.asked = { text, yes, run };
    place.changed();
  }

  function no() {
    seen.asked = null;
    place.changed();
  }

  const shown = {
    path,
    frame: (name) => frames.get(name),
    setFrame(name, kind) {
      if (frames.get(name) === kind) frames.delete(name);
      else frames.set(name, kind);
      place.changed();
    },
    data(name) {
      if (!datas.has(name)) loadData(name);
      return datas.get(name);
    },
    branch: (turn) => may && hasEnded(conversation) && h("a", { class: "branch", href: `#/ask?${new URLSearchParams({ from: id, back: Math.max(...conversation.turns.keys()) - turn })}` }, t("Branch from here")),
  };

  // The last ones; they go in strides, not with each new one.
  function steps() {
    const all = conversation.steps.filter((step) => step.kind !== "wait" && !step.isVoid);
    const before = Math.ceil(Math.max(all.length - seen.mostSteps, 0) / STRIDE) * STRIDE;
    return [
      before > 0 && h("p", { key: "before", class: "bar" }, h("button", { type: "button", onclick: showMore }, t("Show earlier steps ({})", count(before)))),
      all.slice(before).map((step) => draw(step, shown)),
    ];
  }

  function showMore() {
    seen.mostSteps += STEPS;
    place.changed();
  }

  const actions = () => [
    !hasEnded(conversation) && h("button", { type: "button", key: "cancel", onclick: () => act("POST", "/cancel", {}).then(look) }, t("Cancel")),
    conversation.state === "failed" && h("button", { type: "button", key: "again", onclick: runAgain }, t("Run again")),
    hasEnded(conversation) && h("button", { type: "button", key: "remove", onclick: () => ask(t("Remove all that is kept of {}?", id), t("Remove"), remove) }, t("Remove")),
    mayJudge && hasEnded(conversation) && h("button", { type: "button", key: "replay", "aria-disabled": String(seen.isJudging), onclick: judge }, t("Replay")),
    seen.body && (seen.body.prompt || seen.body.cells) && h("a", { key: "ask", href: `#/ask?${new URLSearchParams({ again: id })}` }, t("Ask it again")),
  ];

  get(`${path}/body`).then(
    (body) => {
      seen.body = body;
      place.changed();
    },
    () => {},
  );
  whenRead(place.changed);
  begin();
  return {
    title: () => t("Job {}", id.slice(0, 8)),
    draw: () => [
      h("h1", {}, t("Job"), " ", h("code", {}, foreign(id))),
      fault(seen.fault),
      fault(seen.refusal),
      seen.away && h("p", { class: "fault", role: "status" }, t("The connection is lost: what is shown may be old.")),
      seen.facts && head(seen.facts, conversation),
      may && h("p", { key: "acts", class: "bar" }, actions()),
      seen.asked && question(seen.asked.text, seen.asked.yes, seen.asked.run, no),
      seen.replay && replayed(seen.replay),
      seen.why && !hasEnded(conversation) && conversation.wait?.reason !== "approval" && reasons(seen.why),
      timeline(conversation),
      drawAsked(askedOf(seen)),
      h("section", { key: "conversation", class: "conversation", "aria-label": t("Conversation") }, steps()),
      may && conversation.wait?.reason === "approval" && approval(conversation.wait.data, seen, decide, place.changed),
      hasEnded(conversation) && ended(conversation.last, seen.facts),
      hasEnded(conversation) && usage(seen.facts?.result?.usage),
      saving(id, path, seen, conversation, () => events),
      drawEvents(seen, events, place.changed),
    ],
    close() {
      isClosed = true;
      forget?.();
      stop();
    },
  };
}

// --- what somebody may keep

function saving(id, path, seen, conversation, events) {
  const { steps } = conversation;
  const saved = {
    ipynb: async () => JSON.stringify(await notebookOf(askedOf(seen), steps, (name) => base64Of(`${path}/images/${encodeURIComponent(name)}`)), null, 1),
    md: async () => markdownOf(askedOf(seen), steps),
    json: async () => JSON.stringify({ job: seen.body, facts: seen.facts, events: events() }, null, 1),
  };
  const types = { ipynb: "application/x-ipynb+json", md: "text/markdown", json: "application/json" };
  return h(
    "p",
    { class: "bar", key: "save" },
    t("Save as"),
    [["ipynb", "Notebook"], ["md", "Markdown"], ["json", "JSON"]].map(([suffix, name]) =>
      h("button", { type: "button", key: suffix, onclick: async () => keep(nameOf(id, suffix), types[suffix], await saved[suffix]()) }, t(name)),
    ),
  );
}

async function base64Of(url) {
  const answer = await fetch(url).catch(() => null);
  if (!answer?.ok) return null;
  let text = "";
  for (const byte of new Uint8Array(await answer.arrayBuffer())) text += String.fromCharCode(byte);
  return btoa(text);
}

const MOST_EVENTS = 500; // that are shown; JSON has all of them

function drawEvents(seen, events, changed) {
  function turn(event) {
    if (seen.showsEvents === event.target.open) return;
    seen.showsEvents = event.target.open;
    changed();
  }
  return h(
    "details",
    { key: "events", class: "events", ontoggle: turn },
    h("summary", {}, t("Events ({})", count(events.length))),
    seen.showsEvents && h("pre", { class: "code", tabindex: "0" }, long(events.slice(-MOST_EVENTS).map((one) => JSON.stringify(one)).join("\n"), "events")),
  );
}
