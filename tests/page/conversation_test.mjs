// The fold of a job's events into steps, without a browser.
import assert from "node:assert/strict";
import test from "node:test";
import { hasEnded, newConversation, take } from "../../producer/gateway/page/web/conversation.js";
import { markdownOf, notebookOf } from "../../producer/gateway/page/web/save.js";

function fold(...events) {
  const conversation = newConversation();
  events.forEach(([type, data = {}], i) => take(conversation, { seq: i + 1, at: 1000 + i, type, data }));
  return conversation;
}

const kinds = ({ steps }) => steps.map((step) => step.kind);

test("a job waits, a model speaks, code runs", () => {
  const seen = fold(
    ["job.queued", { queue: "default" }],
    ["job.started", { consumer: "a" }],
    ["turn.started", { turn: 1 }],
    ["message.delta", { turn: 1, text: "It " }],
    ["message.delta", { turn: 1, text: "is" }],
    ["tool.started", { call: "c1", tool: "python", code: "1" }],
    ["tool.output", { call: "c1", stream: "stdout", text: "a" }],
    ["tool.output", { call: "c1", stream: "stdout", text: "b" }],
    ["tool.output", { call: "c1", stream: "stderr", text: "!" }],
    ["tool.completed", { call: "c1", status: "ok", ms: 3 }],
    ["job.completed", { ms: 9 }],
  );
  assert.deepEqual(kinds(seen), ["wait", "turn", "call"]);
  const [wait, turn, call] = seen.steps;
  assert.deepEqual([wait.at, wait.end], [1000, 1001]);
  assert.deepEqual([turn.text, turn.end], ["It is", 1005]);
  assert.deepEqual(call.output, [{ stream: "stdout", text: "ab" }, { stream: "stderr", text: "!" }]);
  assert.deepEqual([call.status, call.end], ["ok", 1009]);
  assert.ok(hasEnded(seen));
  assert.equal(seen.state, "completed");
});

test("a turn that begins again takes back what was said", () => {
  const seen = fold(
    ["turn.started", { turn: 1 }],
    ["message.delta", { turn: 1, text: "wrong" }],
    ["job.lost", { consumer: "a", reason: "lease" }],
    ["job.started", { consumer: "b" }],
    ["turn.started", { turn: 1 }],
    ["message.delta", { turn: 1, text: "right" }],
  );
  const texts = seen.steps.filter((step) => step.kind === "turn" && !step.isVoid).map((step) => step.text);
  assert.deepEqual(texts, ["right"]);
});

test("a call that begins again takes back what it showed", () => {
  const begin = ["tool.started", { call: "c1", tool: "python", code: "1" }];
  const seen = fold(
    begin,
    ["tool.output", { call: "c1", stream: "stdout", text: "old" }],
    ["image", { call: "c1", image: { name: "old.png" } }],
    begin,
    ["tool.output", { call: "c1", stream: "stdout", text: "new" }],
  );
  assert.deepEqual(kinds(seen), ["call"]);
  assert.deepEqual(seen.steps[0].output, [{ stream: "stdout", text: "new" }]);
  assert.deepEqual(seen.steps[0].images, []);
});

test("output that was cleared is gone, files stay", () => {
  const seen = fold(
    ["tool.started", { call: "c1" }],
    ["tool.output", { call: "c1", stream: "stdout", text: "50 %" }],
    ["file", { call: "c1", file: { name: "a.csv" } }],
    ["tool.cleared", { call: "c1" }],
  );
  assert.deepEqual(seen.steps[0].output, []);
  assert.equal(seen.steps[0].files.length, 1);
});

test("a display is replaced wherever it stands", () => {
  const seen = fold(
    ["tool.started", { call: "c1" }],
    ["display", { call: "c1", display: { id: "d", text: "old" } }],
    ["tool.started", { call: "c2" }],
    ["display.updated", { call: "c2", display: { id: "d", text: "new" } }],
  );
  assert.equal(seen.steps[0].displays[0].text, "new");
});

test("a wait has its reason and its end", () => {
  const seen = fold(
    ["job.queued"],
    ["job.started"],
    ["job.waiting", { reason: "approval" }],
    ["job.queued", { reason: "approve" }],
    ["job.started"],
  );
  assert.deepEqual(seen.steps.map((step) => [step.reason, step.at, step.end]), [
    ["queue", 1000, 1001],
    ["approval", 1002, 1003],
    ["approve", 1003, 1004],
  ]);
  assert.equal(seen.state, "in_progress");
});

test("an event that comes before the one that it belongs to", () => {
  const seen = fold(["gap", { from: 1, to: 9 }], ["tool.output", { call: "c7", stream: "stdout", text: "x" }]);
  assert.deepEqual(kinds(seen), ["note", "call"]);
});

test("what runs when the job ends has ended, too", () => {
  const seen = fold(["tool.started", { call: "c1" }], ["job.cancelled", { ms: 1 }]);
  assert.equal(seen.steps[0].end, 1001);
});

test("a job that failed and runs again goes on", () => {
  const seen = fold(["job.failed", { ms: 1, error: { code: "x" } }], ["job.queued", { reason: "requeued" }]);
  assert.ok(!hasEnded(seen));
  assert.equal(seen.state, "waiting");
});

const STEPS = [
  { kind: "turn", text: "I run it.", isVoid: false },
  { kind: "turn", text: "Never said.", isVoid: true },
  {
    ...{ kind: "call", code: "print('```')\n", images: [{ name: "a.png", mime: "image/png" }, { name: "gone.png" }] },
    output: [{ stream: "stdout", text: "```\n" }, { stream: "stderr", text: "!" }],
    displays: [{ text: "42", parts: [] }],
  },
];

test("a job as Markdown: fences are longer than those in the text", () => {
  assert.equal(
    markdownOf("why?\nnow", STEPS),
    "> why?\n> now\n\nI run it.\n\n````python\nprint('```')\n````\n\n````text\n```\n!\n````\n\n![a.png](<a.png>)\n\n![gone.png](<gone.png>)\n",
  );
});

test("a job as a notebook", async () => {
  const made = await notebookOf("", STEPS, async (name) => (name === "a.png" ? "AAAA" : null));
  assert.deepEqual(made.cells.map((cell) => cell.cell_type), ["markdown", "code"]);
  assert.deepEqual(made.cells[1].outputs, [
    { output_type: "stream", name: "stdout", text: "```\n" },
    { output_type: "stream", name: "stderr", text: "!" },
    { output_type: "display_data", metadata: {}, data: { "image/png": "AAAA" } },
    { output_type: "display_data", metadata: {}, data: { "text/plain": "42" } },
  ]);
});
