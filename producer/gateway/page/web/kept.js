// kept.js - a job as its result holds it: its conversation when its events are gone, and what its events leave out.
// No document, no network: the tests run it alone.
//
// The steps are those of conversation.js, without times, and
//   kind "asked"  role, text: what somebody, or the system, has said
//   kind "made"   images, files: that no call is known to have made
import { isCut, newConversation } from "./conversation.js";

const PYTHON = "execute_python_code";

export function textOf(content) {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part) => part.text ?? `[${part.type ?? ""}]`).join("\n") : "";
}

// Bytes that are no UTF-8 come in base64.
function printed(text) {
  return typeof text === "object" ? atob(text.base64 ?? "") : text;
}

// facts: of a job that has ended, with its result.
export function keptConversation({ state, finished_at, result }) {
  const made = { ...newConversation(), state, isKept: true };
  const left = { cells: [...(result.cells ?? [])], calls: new Map() };
  const messages = result.messages ?? [];
  for (const message of messages) takeMessage(made, left, message, message === messages.at(-1));
  placeCells(made, left);
  placeRest(made, result);
  made.last = { at: finished_at, error: result.error };
  return made;
}

function add(made, step) {
  made.steps.push({ key: `kept-${made.steps.length}`, ...step });
  return made.steps.at(-1);
}

function takeMessage(made, left, { role, content, reasoning_content: reasoning = "", tool_calls: calls = [], tool_call_id: id }, isLast) {
  const text = textOf(content);
  if (role === "tool") {
    const step = left.calls.get(id);
    if (step && !step.isCell) step.output = [{ stream: "stdout", text }];
  } else if (role === "assistant") {
    // Cells whose calls are not in the messages ran before the answer.
    if (isLast && calls.length === 0) placeCells(made, left);
    const turn = made.turns.size + 1;
    made.turns.set(turn, add(made, { kind: "turn", turn, text, reasoning, isWhole: true }));
    for (const call of calls) left.calls.set(call.id, takeCall(made, left, call));
    while (calls.length === 0 && left.cells[0]?.code && text.includes(left.cells[0].code.trim())) placeCell(made, left.cells.shift());
  } else if (text) {
    add(made, { kind: "asked", role, text });
  }
}

function takeCall(made, left, { function: called = {} }) {
  const code = called.name === PYTHON ? codeOf(called.arguments) : null;
  const at = left.cells.findIndex((cell) => cell.code === code);
  if (at >= 0) return placeCell(made, left.cells.splice(at, 1)[0]);
  return add(made, { kind: "call", tool: called.name, code, text: code === null ? called.arguments : null, status: null, output: [], images: [], displays: [], files: [] });
}

function codeOf(text) {
  try {
    const { code } = JSON.parse(text);
    return typeof code === "string" ? code : null; // a model may have written anything there
  } catch {
    return null;
  }
}

function placeCells(made, left) {
  for (const cell of left.cells.splice(0)) placeCell(made, cell);
}

function placeCell(made, cell) {
  const output = ["stdout", "stderr"].filter((stream) => cell[stream]).map((stream) => ({ stream, text: printed(cell[stream]) }));
  const files = (cell.files ?? []).filter((file) => file.blob);
  return add(made, { kind: "call", isCell: true, tool: PYTHON, ...shownOf(cell), status: cell.status, ms: cell.ms, output, images: [], displays: cell.displays ?? [], files });
}

// Of a cell, what no event tells.
function shownOf({ code, result, error }) {
  return { code, value: printed(result), traceback: printed(error?.traceback) };
}

function placeRest(made, { images = [], files = [] }) {
  const calls = made.steps.filter((step) => step.kind === "call");
  const shown = new Set(calls.flatMap((step) => step.displays.flatMap((display) => (display.parts ?? []).map((part) => part.name))));
  const given = new Set(calls.flatMap((step) => step.files.map((file) => file.name)));
  const rest = { images: images.filter(({ name }) => !shown.has(name)), files: files.filter(({ name, blob }) => blob && !given.has(name)) };
  if (rest.images.length + rest.files.length > 0) add(made, { kind: "made", ...rest });
}

// Completes the steps of events by the result: events have the beginning of what is long, and neither the values of
// cells nor what they raised.
export function complete(conversation, result) {
  for (const { call, cell } of result.items ?? []) {
    const step = conversation.calls.get(call);
    const whole = result.cells?.[cell - 1];
    if (step && whole) Object.assign(step, shownOf(whole), { isCut: false });
  }
  const replies = (result.messages ?? []).filter(({ role }) => role === "assistant");
  const last = Math.max(0, ...conversation.turns.keys());
  for (const [turn, step] of conversation.turns) {
    const reply = replies.at(turn - last - 1);
    if (turn - last - 1 < -replies.length || !reply) continue;
    completeText(step, textOf(reply.content));
    for (const [at, { function: called = {} }] of (reply.tool_calls ?? []).entries()) {
      const call = conversation.calls.get(`${turn}.${at}`);
      if (call?.text) completeText(call, called.arguments ?? "");
    }
  }
}

function completeText(step, whole) {
  if (isCut(step) && whole.startsWith(step.text)) Object.assign(step, { text: whole, isCut: false });
}
