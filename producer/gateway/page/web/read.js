// read.js - has texts read by a worker (reader.js), one at a time, each for a second at most. Who asks gets what is
// known by now, and is told when more is: no text can keep the page from answering.

const MOST_MS = 1000;
const MOST_KEPT = 2_000_000; // characters of all texts whose tokens are kept

// The one script that may become a worker.
const policy = globalThis.trustedTypes?.createPolicy("quern-reader", { createScriptURL: () => "/page/reader.js" });

const kept = new Map(); // by language and text: readings that are over and were asked for since, the latest ones last
const awaited = new Map(); // the others: they stay, else whoever waits for them would ask anew for ever
let size = 0; // of what is kept
const asked = [];
let now = null; // the reading that the worker has
let worker = null;
let isReady = false;
let timer = null;
let tell = () => {};

// The view that hears when a text has been read. What the one before it waited for is not read any more.
export function whenRead(run) {
  tell = run;
  asked.length = 0;
  awaited.clear();
}

// A reading: { tokens, isOver }; tokens are undefined as long as none are known, null when there will be none.
// language: of code; null for Markdown.
export function read(text, language) {
  const key = `${language}\n${text}`;
  const reading = kept.get(key) ?? awaited.get(key) ?? readAnew(text, language);
  if (reading.isOver) keep(key, reading);
  else awaited.set(key, reading);
  return reading;
}

function keep(key, reading) {
  awaited.delete(key);
  if (!kept.delete(key)) size += reading.text.length;
  kept.set(key, reading);
  for (const [old, { text }] of kept) {
    if (size <= MOST_KEPT || old === key) break;
    kept.delete(old);
    size -= text.length;
  }
}

// Of a text that will soon be another one: nothing is kept.
export function readAnew(text, language) {
  const reading = { text, language, tokens: undefined, isOver: false };
  asked.push(reading);
  next();
  return reading;
}

function next() {
  if (now || asked.length === 0) return;
  now = asked.shift();
  if (!worker) start();
  else if (isReady) send();
}

function start() {
  isReady = false;
  worker = new Worker(policy?.createScriptURL("") ?? "/page/reader.js", { type: "module" });
  worker.onmessage = ({ data }) => heed(data);
  worker.onerror = give; // it could not be loaded
}

function send() {
  worker.postMessage({ text: now.text, language: now.language });
  // An answer that has come while the page was busy is heard before the time is up.
  timer = setTimeout(() => (timer = setTimeout(give, 50)), MOST_MS);
}

function heed(data) {
  if (data === "ready") {
    isReady = true;
    send();
    return;
  }
  Object.assign(now, data);
  if (data.isOver) end();
  tell();
}

// What has not been read by now stays as it is.
function give() {
  worker.terminate();
  worker = null;
  Object.assign(now, { tokens: now.tokens ?? null, isOver: true });
  end();
  tell();
}

function end() {
  clearTimeout(timer);
  now = null;
  next();
}
