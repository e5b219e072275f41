// The fold of a job's events into steps, without a browser.
import assert from "node:assert/strict";
import test from "node:test";
import { hasEnded, isCut, isPart, newConversation, take } from "../../producer/gateway/page/web/conversation.js";
import { complete, keptConversation } from "../../producer/gateway/page/web/kept.js";
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

const image = async (name) => (name === "a.png" ? "AAAA" : null);

test("a job as Markdown: fences are longer than those in the text, pictures are in it", async () => {
  assert.equal(
    await markdownOf("why?\nnow", STEPS, image, "gone"),
    "> why?\n> now\n\nI run it.\n\n````python\nprint('```')\n````\n\n````text\n```\n!\n````\n\n![a.png](data:image/png;base64,AAAA)\n\ngone.png: gone\n",
  );
});

test("what a model wrote hides nothing in Markdown", async () => {
  const said = (text) => markdownOf("", [{ kind: "turn", text }], image, "");
  assert.equal(await said("a <!-- b"), "a &lt;!-- b\n");
  assert.equal(await said("```html\n<!-- b\n```\n<!-- c"), "```html\n<!-- b\n```\n&lt;!-- c\n");
  assert.equal(await said("```html\n<b>"), "```html\n<b>\n```\n");
  assert.equal(await said("- a\n  ```\n<!-- b"), "- a\n```\n<!-- b\n```\n");
  assert.equal(await said(" ~~~\n~~~\n<!-- b"), "~~~\n~~~\n&lt;!-- b\n");
  assert.equal(await said("~~~\n```\n<b>\n~~~~\n<b> 1 < 2"), "~~~\n```\n<b>\n~~~~\n&lt;b> 1 < 2\n");
  assert.equal(await said("```a`b\n<b>"), "```a`b\n&lt;b>\n");
});

test("a job as a notebook", async () => {
  const made = await notebookOf("", [...STEPS, { kind: "asked", role: "user", text: "And?" }], image, "gone");
  assert.deepEqual(made.cells.map((cell) => cell.cell_type), ["markdown", "code", "markdown"]);
  assert.deepEqual(made.cells[1].outputs, [
    { output_type: "stream", name: "stdout", text: "```\n" },
    { output_type: "stream", name: "stderr", text: "!" },
    { output_type: "display_data", metadata: {}, data: { "image/png": "AAAA" } },
    { output_type: "display_data", metadata: {}, data: { "text/plain": "gone.png: gone" } },
    { output_type: "display_data", metadata: {}, data: { "text/plain": "42" } },
  ]);
});

test("what events have cut is said, and completed by the result", () => {
  const code = `${"x".repeat(32 * 1024 - 2)}é`.slice(0, -1); // the last letter had no room
  const seen = fold(
    ["message.delta", { turn: 1, text: "é".repeat(30_000) }],
    ["message.completed", { turn: 1, text: "é".repeat(24 * 1024) }],
    ["tool.started", { call: "1.0", tool: "execute_python_code", code }],
    ["tool.started", { call: "1.1", tool: "fetch", text: "y".repeat(4096) }],
    ["tool.started", { call: "1.1/1", tool: "fetch", parent: "1.0", text: "z".repeat(4096) }],
    ["message.completed", { turn: 2, text: "w".repeat(48 * 1024) }],
    ["job.completed", {}],
  );
  const cut = () => seen.steps.map(isCut);
  assert.deepEqual(cut(), [false, true, true, true, true]);
  assert.equal(seen.steps[0].text.length, 30_000);
  complete(seen, {
    items: [{ number: 1, kind: "code", call: "1.0", cell: 1 }, { number: 2, call: "9.9", cell: 7 }],
    cells: [{ code: `${code}é`, result: "5" }],
    messages: [
      { role: "assistant", content: "earlier" },
      { role: "assistant", content: "é".repeat(30_000), tool_calls: [{ id: "a", function: {} }, { id: "b", function: { arguments: "y".repeat(5000) } }] },
      { role: "assistant", content: "w".repeat(50_000) },
    ],
  });
  assert.deepEqual(cut(), [false, false, false, true, false]);
  const [, cell, call, , turn] = seen.steps;
  assert.deepEqual([cell.code, cell.value, call.text.length, turn.text.length], [`${code}é`, "5", 5000, 50_000]);
});

test("a result without its events is a conversation", () => {
  const call = (id, name, args) => ({ id, type: "function", function: { name, arguments: args } });
  const result = {
    messages: [
      { role: "system", content: "Be kind." },
      { role: "user", content: [{ type: "text", text: "Why?" }, { type: "image_url" }] },
      {
        ...{ role: "assistant", content: "I look.", reasoning_content: "hm" },
        tool_calls: [call("c1", "execute_python_code", '{"code": "print(1)"}'), call("c2", "fetch", '{"url": 1}')],
      },
      { role: "tool", tool_call_id: "c1", content: "stdout:\n1" },
      { role: "tool", tool_call_id: "c2", content: "a page" },
      { role: "assistant", content: "Done." },
    ],
    cells: [
      { code: "print(1)", status: "ok", ms: 3, stdout: "1\n", displays: [{ text: "<F>", parts: [{ name: "a.png", mime: "image/png" }] }], files: [{ name: "gone.txt", change: "deleted" }] },
      { code: "edited", status: "error", stderr: { base64: "/w==" }, error: { name: "E", traceback: "T" } },
    ],
    images: [{ name: "a.png" }, { name: "b.png" }],
    files: [{ name: "kept.csv", blob: "0" }],
  };
  const seen = keptConversation({ state: "completed", finished_at: 9, result });
  assert.deepEqual(seen.steps.map((step) => step.kind), ["asked", "asked", "turn", "call", "call", "call", "turn", "made"]);
  const [system, asked, turn, cell, fetched, edited, , made] = seen.steps;
  assert.deepEqual([system.role, asked.text, turn.reasoning], ["system", "Why?\n[image_url]", "hm"]);
  assert.deepEqual([cell.code, cell.output, cell.ms, cell.files], ["print(1)", [{ stream: "stdout", text: "1\n" }], 3, []]);
  assert.deepEqual([fetched.tool, fetched.text, fetched.output], ["fetch", '{"url": 1}', [{ stream: "stdout", text: "a page" }]]);
  assert.deepEqual([edited.code, edited.traceback, edited.output], ["edited", "T", [{ stream: "stderr", text: "\u00ff" }]]);
  assert.deepEqual([made.images, made.files.map((file) => file.name)], [[{ name: "b.png" }], ["kept.csv"]]);
  assert.deepEqual([seen.turns.size, seen.state, hasEnded(seen)], [2, "completed", true]);
});

test("a result of cells alone, or of a failure alone", () => {
  const seen = (result) => keptConversation({ state: "failed", result }).steps.map((step) => step.code ?? step.text);
  assert.deepEqual(seen({ cells: [{ code: "1" }, { code: "2" }] }), ["1", "2"]);
  assert.deepEqual(seen({ error: { code: "x" } }), []);
});

test("a result tells more than events that are gone", () => {
  const gap = ["gap", { from: 1, to: 3 }];
  const again = [gap, ["job.queued", { queue: "default", reason: "requeued" }], ["turn.started", { turn: 1 }]];
  const first = ["tool.started", { call: "1.0", code: "1" }];
  assert.equal(isPart(fold(...again), {}), false);
  assert.equal(isPart(fold(...again, gap), {}), true);
  assert.equal(isPart(fold(gap), {}), true);
  assert.equal(isPart(fold(...again, first), { cells: [{}] }), false);
  assert.equal(isPart(fold(...again, first), { cells: [{}, {}] }), true);
  assert.equal(isPart(fold(...again.slice(0, 2), ["turn.started", { turn: 2 }]), {}), true);
});
