// conversation.js - the events of a job, folded into its steps: what waited, what the model said,
// which code ran and what came of it. No document, no network: the tests run it alone.
//
// A step is { kind, key, at, end } and
//   kind "wait"  reason: since the submit, or until it goes on
//   kind "turn"  turn, reasoning, text, isWhole, usage, isCut
//   kind "call"  call, tool, code, text, status, output: [{ stream, text }], images,
//                displays, files, isCut; of the result (kept.js): value, traceback
//   kind "note"  type, data: any other event that somebody may want to know
// Times are those of Redis, ms since 1970.

export function newConversation() {
  return { state: "queued", steps: [], calls: new Map(), turns: new Map(), wait: null, last: null };
}

// The last events of a job. There is none behind them.
const ENDS = { "job.completed": "completed", "job.incomplete": "incomplete", "job.failed": "failed", "job.cancelled": "cancelled" };

// Events have the beginning of what is longer than so many bytes; it ends with a whole character.
const CODE_BYTES = 32 << 10;
const ARGUMENTS_BYTES = 4 << 10;
const REPLY_BYTES = 48 << 10;

function isFull(text, most) {
  return Boolean(text) && 3 * text.length >= most - 3 && new TextEncoder().encode(text).length >= most - 3;
}

// Whether there was more of a step's code or text than its events have.
export function isCut(step) {
  return step.isCut === true;
}

export function hasEnded(conversation) {
  return conversation.last !== null;
}

export function take(conversation, event) {
  const { type, data = {}, at } = event;
  if (type in ENDS) {
    endAll(conversation, at);
    conversation.state = ENDS[type];
    conversation.last = { at, ...data };
    return;
  }
  (TAKES[type] ?? note)(conversation, data, at, type);
}

function add(conversation, step) {
  step.key = `${step.kind}-${conversation.steps.length}`;
  conversation.steps.push(step);
  return step;
}

// Also of a job that had failed for good, and runs again: the events of its earlier attempts are gone, not its own.
function beginWait(conversation, data, at) {
  endWait(conversation, at);
  if (data.reason === "requeued") for (const step of conversation.steps) step.isEarlier = true;
  conversation.last = null;
  conversation.state = data.reason ? "waiting" : "queued";
  conversation.wait = add(conversation, { kind: "wait", at, end: null, reason: data.reason ?? "queue", data });
}

function endWait(conversation, at) {
  if (conversation.wait) conversation.wait.end = at;
  conversation.wait = null;
}

// What ran when its attempt came to an end.
function endAll(conversation, at) {
  endWait(conversation, at);
  for (const step of conversation.steps) if (step.end === null) step.end = at;
}

function begin(conversation, data, at) {
  endAll(conversation, at);
  conversation.state = "in_progress";
}

// A turn that begins again: what was said of it is void.
function beginTurn(conversation, { turn }, at) {
  const before = conversation.turns.get(turn);
  if (before) before.isVoid = true;
  const step = add(conversation, { kind: "turn", at, end: null, turn, reasoning: "", text: "", isWhole: false });
  conversation.turns.set(turn, step);
}

function turnOf(conversation, { turn }, at) {
  if (!conversation.turns.has(turn)) beginTurn(conversation, { turn }, at);
  return conversation.turns.get(turn);
}

// Its pieces may have more of a long text.
function endTurn(conversation, data, at) {
  const step = turnOf(conversation, data, at);
  const text = data.text ?? "";
  const isLong = isFull(text, REPLY_BYTES);
  const isKnown = isLong && step.text.length > text.length && step.text.startsWith(text);
  Object.assign(step, { text: isKnown ? step.text : text, isCut: isLong && !isKnown, isWhole: true, usage: data.usage, end: at });
}

// The model has spoken when its first call begins.
function endTurns(conversation, at) {
  for (const step of conversation.turns.values()) if (step.end === null) step.end = at;
}

function beginCall(conversation, data, at) {
  endTurns(conversation, at);
  const before = conversation.calls.get(data.call);
  const isCut = isFull(data.code, CODE_BYTES) || isFull(data.text, ARGUMENTS_BYTES);
  const fresh = { ...data, isCut, kind: "call", at, end: null, status: null, output: [], images: [], displays: [], files: [] };
  if (before) Object.assign(before, fresh, { key: before.key });
  else conversation.calls.set(data.call, add(conversation, fresh));
}

function callOf(conversation, data, at) {
  if (!conversation.calls.has(data.call)) beginCall(conversation, data, at);
  return conversation.calls.get(data.call);
}

function addOutput(call, stream, text) {
  const last = call.output.at(-1);
  if (last?.stream === stream) last.text += text;
  else call.output.push({ stream, text });
}

function updateDisplays(conversation, display) {
  for (const call of conversation.calls.values())
    call.displays = call.displays.map((one) => (one.id === display.id ? display : one));
}

// Whether the result of a job that has ended tells more than its events: some are gone, or there were none for steps
// that an earlier attempt had made.
export function isPart({ steps, turns, calls }, result) {
  if (steps.some((step) => step.type === "gap" && !step.isEarlier)) return true;
  if (!steps.some((step) => step.isEarlier)) return false;
  return (result.cells ?? []).length > calls.size || (turns.size > 0 && Math.min(...turns.keys()) > 1);
}

function note(conversation, data, at, type) {
  add(conversation, { kind: "note", at, end: at, type, data });
}

const TAKES = {
  "job.queued": beginWait,
  "job.waiting": beginWait,
  "job.started": begin,
  "turn.started": beginTurn,
  "reasoning.delta": (all, data, at) => (turnOf(all, data, at).reasoning += data.text),
  "message.delta": (all, data, at) => (turnOf(all, data, at).text += data.text),
  "message.completed": endTurn,
  "tool.started": beginCall,
  "tool.output": (all, data, at) => addOutput(callOf(all, data, at), data.stream, data.text),
  "tool.cleared": (all, data, at) => Object.assign(callOf(all, data, at), { output: [], images: [], displays: [] }),
  "tool.completed": (all, data, at) => Object.assign(callOf(all, data, at), { end: at, status: data.status }),
  image: (all, data, at) => callOf(all, data, at).images.push(data.image),
  display: (all, data, at) => callOf(all, data, at).displays.push(data.display),
  "display.updated": (all, data) => updateDisplays(all, data.display),
  file: (all, data, at) => callOf(all, data, at).files.push(data.file),
};
