// job.js - one job: its facts, a timeline, the conversation as it goes on, what may be done to it, and
// what may be kept of it.
import { follow, get, later, send } from "./api.js";
import { approval, decided } from "./approval.js";
import { hasEnded, isPart, newConversation, take } from "./conversation.js";
import { h } from "./dom.js";
import { ended, head, reasons, replayed, usage } from "./facts.js";
import { count, fault, isId, quoted } from "./format.js";
import { canRunAgain } from "./jobs.js";
import { complete, keptConversation } from "./kept.js";
import { long } from "./long.js";
import { whenRead } from "./read.js";
import { question } from "./question.js";
import { keep, markdownOf, nameOf, notebookOf } from "./save.js";
import { askedOf, drawAll, drawAsked } from "./steps.js";
import { timeline } from "./timeline.js";
import { t } from "./words.js";

const STEPS = 300; // that are shown at first, and more each time that somebody asks
const STRIDE = 100;

// The job that somebody had asked, or gone on from, as this page notes it in `client`.
function originOf(body) {
  try {
    const { from } = JSON.parse(body.client).page;
    return isId(from) ? from : null;
  } catch {
    return null;
  }
}

export function open(place, me) {
  const id = place.path[1] ?? "";
  if (!isId(id)) return noJob(id);
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  const wordsKey = `quern-words ${me.tenant} ${id}`;
  // fault: of asking; refusal: of what somebody wanted done, until something else is done.
  const seen = { facts: null, body: null, why: null, fault: null, refusal: null, away: false, asked: null, verdict: null, words: wordsOf(wordsKey), decided: null, replay: null, isJudging: false, showsEvents: false, mostSteps: STEPS };
  const frames = new Map(); // how parts that may run are shown, by name: "plain", "scripts"
  const datas = new Map(); // what parts that are JSON hold, by name
  const gone = new Set(); // names of pictures that are not kept any more
  const mayJudge = me.scopes.includes("operate");
  const may = me.scopes.includes("submit");
  let conversation; // of the events
  let kept; // of the result, when events are lost
  let events;
  let isAtEnd; // no more events come
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
      completeIt();
    } catch (error) {
      seen.fault = error.message;
      isGone = error.status === 404;
    }
    seen.isGone = isGone;
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
    kept = null;
    events = [];
    isAtEnd = false;
    seen.replay = null;
    stop = follow(path, {
      event(event) {
        events.push(event);
        heedVerdict(event);
        take(conversation, event);
        if (hasEnded(conversation)) completeIt();
        if (hasEnded(conversation)) sessionStorage.removeItem(wordsKey);
        if (hasEnded(conversation) && !seen.facts?.finished_at) look();
        place.changed();
      },
      away(isAway) {
        seen.away = isAway;
        place.changed();
      },
      ended: isOver,
      end() {
        isAtEnd = true;
        seen.away = false;
        place.changed();
      },
    });
    look();
  }

  // When events and result are there, whichever comes last.
  function completeIt() {
    if (hasEnded(conversation) && seen.facts?.result) complete(conversation, seen.facts.result);
  }

  // Also when its events are gone.
  function isOver() {
    return hasEnded(conversation) || Boolean(seen.facts?.finished_at);
  }

  // The conversation that is shown: the one of the result when events are lost.
  function current() {
    if (!isAtEnd || !seen.facts?.finished_at || !seen.facts.result) return conversation;
    if (events.length > 0 && !isPart(conversation, seen.facts.result)) return conversation;
    if (kept?.facts !== seen.facts) kept = { facts: seen.facts, conversation: keptConversation(seen.facts) };
    return kept.conversation;
  }

  // Somebody else may decide while words are typed.
  function heedVerdict({ type, data = {} }) {
    if (conversation.wait?.reason !== "approval") return;
    if (seen.verdict && !seen.isDeciding) {
      const words = seen.words[conversation.wait.data.call]?.[seen.verdict];
      seen.decided = { reason: data.reason ?? type.replace("job.", ""), words };
    }
    seen.verdict = null;
    seen.isDeciding = false;
  }

  async function runAgain() {
    if (!(await act("POST", "/retry", {}))) return;
    delete seen.facts?.finished_at;
    begin();
  }

  async function remove() {
    if ((await act("DELETE", "")) && !isClosed) location.hash = "#/jobs";
  }

  // What is typed for a verdict stays until the job has ended, also when the page is loaded anew.
  function keepWords() {
    try {
      sessionStorage.setItem(wordsKey, JSON.stringify(seen.words));
    } catch {
      // They are too long to be kept.
    }
  }

  async function decide(verdict) {
    seen.isDeciding = true;
    seen.decided = null;
    seen.isDeciding = await act("POST", "/approve", verdict);
    if (seen.isDeciding) look();
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
    isGone: (name) => gone.has(name),
    get gone() {
      return gone.size;
    },
    // It may as well be no picture: then its name stays.
    async setGone(name) {
      const answer = await fetch(`${path}/images/${encodeURIComponent(name)}`).catch(() => null);
      if (answer?.status !== 404) return;
      gone.add(name);
      place.changed();
    },
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
    branch: (turn) => may && isOver() && h("a", { class: "branch", href: `#/ask?${new URLSearchParams({ from: id, back: Math.max(...current().turns.keys()) - turn })}` }, t("Branch from here")),
  };

  // The last ones; they go in strides, not with each new one.
  function steps() {
    const all = current().steps.filter((step) => step.kind !== "wait" && !step.isVoid);
    const before = Math.ceil(Math.max(all.length - seen.mostSteps, 0) / STRIDE) * STRIDE;
    return [
      before > 0 && h("p", { key: "before", class: "bar" }, h("button", { type: "button", onclick: showMore }, t("Show earlier steps ({})", count(before)))),
      drawAll(all.slice(before), shown),
    ];
  }

  function showMore() {
    seen.mostSteps += STEPS;
    place.changed();
  }

  const canContinue = () => isOver() && seen.facts?.session && seen.facts.tenant === me.tenant;

  const actions = () => [
    !isOver() && h("button", { type: "button", key: "cancel", onclick: () => act("POST", "/cancel", {}).then(look) }, t("Cancel")),
    seen.facts?.finished_at && canRunAgain(seen.facts) && h("button", { type: "button", key: "again", onclick: runAgain }, t("Run again")),
    isOver() && h("button", { type: "button", key: "remove", onclick: () => ask(t("Remove all that is kept of {}?", quoted(id)), t("Remove"), remove) }, t("Remove")),
    mayJudge && isOver() && h("button", { type: "button", key: "replay", "aria-disabled": String(seen.isJudging), onclick: judge }, t("Replay")),
    canContinue() && h("a", { key: "continue", href: `#/ask?${new URLSearchParams({ session: seen.facts.session })}` }, t("Continue its session")),
    seen.body && (seen.body.prompt || seen.body.cells || seen.body.messages) && h("a", { key: "ask", href: `#/ask?${new URLSearchParams({ again: id })}` }, t("Ask it again")),
  ];

  function describe() {
    if (seen.isGone && !seen.facts) return [heading(), fault(seen.fault)];
    const shownOne = current();
    // A result with messages has the question among them, and so its card.
    const question = shownOne.isKept && shownOne.steps.findLast(({ kind, role }) => kind === "asked" && role === "user");
    if (question) question.files = seen.body?.files;
    const asked = question ? "" : askedOf(seen);
    const waits = !isOver() && conversation.wait?.reason === "approval";
    return [
      heading(),
      fault(seen.fault),
      fault(seen.refusal),
      seen.away && !isOver() && h("p", { key: "away", class: "fault", role: "status" }, t("The connection is lost: what is shown may be old.")),
      seen.facts && head(seen.facts, conversation, me.tenant),
      origin(),
      may && !seen.isGone && h("p", { key: "acts", class: "bar" }, actions()),
      seen.asked && question(seen.asked.text, seen.asked.yes, seen.asked.run, no),
      seen.replay && replayed(seen.replay),
      seen.why && !isOver() && !waits && reasons(seen.why),
      timeline(shownOne),
      lost(shownOne),
      !question && drawAsked(asked, seen.body?.files),
      h("section", { key: "conversation", class: "conversation", "aria-label": t("Conversation") }, steps()),
      seen.decided && decided(seen.decided),
      may && waits && approval(conversation.wait.data, seen, decide, keepWords, place.changed),
      isOver() && ended(conversation.last ?? {}, seen.facts),
      isOver() && usage(seen.facts?.result?.usage),
      saving(id, path, seen, shownOne, asked, () => events),
      drawEvents(seen, events, place.changed),
    ];
  }

  function heading() {
    return h("h1", {}, t("Job"), " ", h("code", {}, id));
  }

  // Of the page that submitted it (ask.js).
  function origin() {
    const from = originOf(seen.body);
    return from && h("p", { key: "origin", class: "note" }, t("Asked from this job:"), " ", h("a", { href: `#/job/${from}`, class: "id" }, from));
  }

  // What is not there to be shown.
  function lost({ isKept }) {
    const isGone = isAtEnd && seen.facts?.finished_at && !seen.facts.result;
    const text = isKept ? t("Events of this job are not kept any more: this is what its result holds.") : isGone && t("The result of this job is not kept any more.");
    return text && h("p", { key: "lost", class: "told", role: "status" }, text);
  }

  get(`${path}/body`).then(
    (body) => {
      seen.body = body;
      place.changed();
    },
    () => {},
  );
  whenRead(place.changed);
  begin();
  // Somebody may have removed it meanwhile, in another tab.
  const lookAgain = () => !document.hidden && isOver() && look();
  document.addEventListener("visibilitychange", lookAgain);
  return {
    title: () => t("Job {}", id.slice(0, 8)),
    draw: describe,
    close() {
      isClosed = true;
      document.removeEventListener("visibilitychange", lookAgain);
      forget?.();
      stop();
    },
  };
}

function wordsOf(key) {
  return JSON.parse(sessionStorage.getItem(key) ?? "{}");
}

// An address may have any text in it: what is no id is quoted, so that it is no sentence of this page.
function noJob(id) {
  return {
    title: () => t("Job"),
    draw: () => [h("h1", {}, t("Job")), fault(t("There is no job {}.", quoted(id)))],
    close() {},
  };
}

// --- what somebody may keep

function saving(id, path, seen, { steps }, asked, events) {
  const image = (name) => base64Of(`${path}/images/${encodeURIComponent(name)}`);
  const gone = t("It is not kept any more.");
  const saved = {
    ipynb: async () => JSON.stringify(await notebookOf(asked, steps, image, gone), null, 1),
    md: () => markdownOf(asked, steps, image, gone),
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
