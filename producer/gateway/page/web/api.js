// api.js - the gateway's routes: one call, or events as they come.
//
// A call that fails throws an ApiError with the gateway's own sentence. Events come once and in
// order, also when the connection breaks or another gateway goes on.
import { quoted } from "./format.js";
import { heed } from "./time.js";
import { t } from "./words.js";

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let onUnknown = () => {}; // what to do when the gateway does not know who asks (401)

export function whenUnknown(run) {
  onUnknown = run;
}

export function get(path, query = {}) {
  return call("GET", path, query);
}

export function post(path, body = {}) {
  return call("POST", path, {}, body);
}

export function send(method, path, body) {
  return call(method, path, {}, body);
}

// Calls run after that time, and not while nobody looks at the tab. Returns a function that forgets it.
export function later(run, ms) {
  let isWanted = true;
  const attempt = () => {
    if (!isWanted) return;
    if (document.hidden) document.addEventListener("visibilitychange", attempt, { once: true });
    else {
      isWanted = false;
      run();
    }
  };
  const timer = setTimeout(attempt, ms);
  return () => {
    isWanted = false;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", attempt);
  };
}

export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined);
  const text = new URLSearchParams(given).toString();
  return text ? `${path}?${text}` : path;
}

// body: a file is sent as it is, anything else as JSON.
async function call(method, path, query, body) {
  const headers = { "X-Quern-Page": "1" };
  const isFile = body instanceof Blob;
  if (body !== undefined) headers["Content-Type"] = isFile ? "application/octet-stream" : "application/json";
  const sent = Date.now();
  let answer;
  try {
    answer = await fetch(address(path, query), { method, headers, body: isFile ? body : JSON.stringify(body) });
  } catch {
    throw new ApiError(0, t("The gateway does not answer."));
  }
  heed(answer.headers.get("Date"), sent);
  if (answer.status === 204) return null;
  const json = await answer.json().catch(() => null);
  if (answer.ok) return json;
  if (answer.status === 401) onUnknown();
  const message = json?.error?.message ?? `${method} ${path}: ${answer.status}`;
  // Somebody may have sent an address with a sentence in it: it is quoted, so that it is none of this page.
  const isAddress = method === "GET" && answer.status === 400;
  throw new ApiError(answer.status, isAddress ? t("The address is not understood: {}", quoted(message)) : message);
}

// The events of the job at that path, from the first one on. heard: { event(data), away(isAway),
// ended(): whether the last event has come, end(): there is no more to come }. Returns a function that
// stops it.
export function follow(path, heard) {
  const stop = new AbortController();
  run(path, heard, stop.signal);
  return () => stop.abort();
}

const PAUSES_MS = [200, 500, 1000, 2000, 5000];
const STREAMS = 4; // of all tabs: browsers open six connections, and calls need some
const TURN_MS = 1000;

async function run(path, heard, signal) {
  const state = { last: 0, tries: 0, isOver: false };
  while (!signal.aborted && !state.isOver) await inTurn(signal, (turn) => read(path, heard, state, turn)).catch(() => {});
}

// Runs read(turn) when it is this tab's turn, which is over when turn is aborted: somebody else waits, or
// nobody looks. Without locks (of plain HTTP on other hosts) there are no turns.
async function inTurn(signal, read) {
  await seen(signal);
  if (!navigator.locks) return read(signal);
  const held = (await navigator.locks.query()).held.map((lock) => lock.name);
  const names = Array.from({ length: STREAMS }, (_, i) => `quern-stream-${i}`);
  const free = names.filter((name) => !held.includes(name));
  const name = free[0] ?? names[Math.floor(Math.random() * STREAMS)];
  await navigator.locks.request(name, { signal }, async () => {
    const over = new AbortController();
    const timer = setInterval(async () => {
      const { pending } = await navigator.locks.query();
      if (document.hidden || pending.some((lock) => lock.name === name)) over.abort();
    }, TURN_MS);
    await read(AbortSignal.any([signal, over.signal])).finally(() => clearInterval(timer));
  });
}

function seen(signal) {
  return new Promise((done) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      done();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}

// Until the last event, or until the signal ends it; then state knows where to go on.
async function read(path, heard, state, signal) {
  const end = () => {
    state.isOver = true;
    heard.end();
  };
  while (!signal.aborted) {
    try {
      const answer = await fetch(address(`${path}/events`, state.last ? { after: state.last } : {}), { signal });
      if (answer.status === 204 || answer.status === 404) return end();
      if (answer.status === 401) onUnknown();
      if (answer.ok) {
        heard.away(false);
        state.tries = 0;
        for await (const event of eventsOf(answer.body)) {
          if (event.id <= state.last) continue;
          state.last = event.id;
          heard.event(event.data);
        }
        if (heard.ended()) return end();
      }
    } catch {
      if (signal.aborted) return;
    }
    heard.away(true);
    await new Promise((done) => setTimeout(done, PAUSES_MS[Math.min(state.tries++, PAUSES_MS.length - 1)]));
  }
}

// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), of those
// fields that the gateway writes.
async function* eventsOf(body) {
  let text = "";
  for await (const piece of piecesOf(body.pipeThrough(new TextDecoderStream()))) {
    text += piece;
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      const event = eventOf(text.slice(0, end));
      text = text.slice(end + 2);
      if (event) yield event;
    }
  }
}

async function* piecesOf(stream) {
  const reader = stream.getReader();
  try {
    for (let got = await reader.read(); !got.done; got = await reader.read()) yield got.value;
  } finally {
    reader.cancel().catch(() => {});
  }
}

function eventOf(block) {
  const fields = {};
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).trimStart();
  }
  return fields.data ? { id: Number(fields.id), data: JSON.parse(fields.data) } : null;
}
