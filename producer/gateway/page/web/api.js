// api.js - the gateway's routes: one call, or events as they come.
//
// A call that fails throws an ApiError with the gateway's own sentence. Events come once and in
// order, also when the connection breaks or another gateway goes on.
import { t } from "./words.js";

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
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
  let answer;
  try {
    answer = await fetch(address(path, query), { method, headers, body: isFile ? body : JSON.stringify(body) });
  } catch {
    throw new ApiError(0, t("The gateway does not answer."));
  }
  if (answer.status === 204) return null;
  const json = await answer.json().catch(() => null);
  if (answer.ok) return json;
  throw new ApiError(answer.status, json?.error?.message ?? `${method} ${path}: ${answer.status}`);
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

async function run(path, heard, signal) {
  let last = 0;
  let tries = 0;
  while (!signal.aborted) {
    try {
      const answer = await fetch(address(`${path}/events`, last ? { after: last } : {}), { signal });
      if (answer.status === 204 || answer.status === 404) return heard.end();
      if (answer.ok) {
        heard.away(false);
        tries = 0;
        for await (const event of eventsOf(answer.body)) {
          if (event.id <= last) continue;
          last = event.id;
          heard.event(event.data);
        }
        if (heard.ended()) return heard.end();
      }
    } catch {
      if (signal.aborted) return;
    }
    heard.away(true);
    await new Promise((done) => setTimeout(done, PAUSES_MS[Math.min(tries++, PAUSES_MS.length - 1)]));
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
