// save.js - a job as a file that somebody keeps: a notebook, Markdown, or the events and the result as
// JSON. All but keep() need no document: the tests run them alone.

// asked: what was asked, or ""; steps: of conversation.js and kept.js; image(name): its bytes in base64, or null;
// gone: the words for a picture that is not kept any more.
// The notebook is one of nbformat 4.5 (https://nbformat.readthedocs.io/en/latest/format_description.html).
export async function notebookOf(asked, steps, image, gone) {
  const cells = [];
  let number = 0;
  const add = (cell) => cells.push({ id: `cell-${cells.length + 1}`, metadata: {}, ...cell });
  if (asked) add({ cell_type: "markdown", source: asked });
  for (const step of steps) {
    if (step.isVoid) continue;
    if ((step.kind === "turn" || step.kind === "asked") && step.text) add({ cell_type: "markdown", source: step.text });
    if (step.kind !== "call" || !step.code) continue;
    add({ cell_type: "code", execution_count: ++number, source: step.code, outputs: await outputsOf(step, image, gone) });
  }
  const kernelspec = { name: "python3", display_name: "Python 3", language: "python" };
  return { nbformat: 4, nbformat_minor: 5, metadata: { kernelspec, language_info: { name: "python" } }, cells };
}

async function outputsOf(step, image, gone) {
  const outputs = step.output.map(({ stream, text }) => ({ output_type: "stream", name: stream === "stderr" ? "stderr" : "stdout", text }));
  const show = (data) => outputs.push({ output_type: "display_data", metadata: {}, data });
  for (const { name, mime } of picturesOf(step)) {
    const bytes = await image(name);
    show(bytes ? { [mime ?? "image/png"]: bytes } : { "text/plain": `${name}: ${gone}` });
  }
  for (const display of step.displays) if (display.text && !display.parts?.length) show({ "text/plain": display.text });
  if (step.value) show({ "text/plain": step.value });
  if (step.traceback) outputs.push({ output_type: "stream", name: "stderr", text: step.traceback });
  return outputs;
}

// Each once: a figure is an image of the job, and a part of a display.
function picturesOf({ images, displays = [] }) {
  const parts = displays.map((display) => display.parts?.find((part) => part.mime?.startsWith("image/"))).filter(Boolean);
  return [...new Map([...images, ...parts].map((one) => [one.name, one])).values()];
}

export async function markdownOf(asked, steps, image, gone) {
  const parts = asked ? [quoted(asked)] : [];
  for (const step of steps) {
    if (step.isVoid) continue;
    if (step.kind === "asked") parts.push(quoted(step.text));
    if (step.kind === "turn" && step.text) parts.push(plain(step.text));
    if (step.kind === "call") await addCall(parts, step, image, gone);
  }
  return `${parts.join("\n\n")}\n`;
}

async function addCall(parts, step, image, gone) {
  if (step.code) parts.push(fenced(step.code, "python"));
  const printed = [...step.output.map((part) => part.text), step.value && `${step.value}\n`, step.traceback].filter(Boolean).join("");
  if (printed) parts.push(fenced(printed, "text"));
  for (const { name, mime } of picturesOf(step)) {
    const bytes = await image(name);
    parts.push(bytes ? `![${name.replace(/[^\w.-]/g, "_")}](data:${/^image\/[\w.+-]+$/.test(mime) ? mime : "image/png"};base64,${bytes})` : plain(`${name}: ${gone}`));
  }
}

// What somebody wrote in Markdown, so that it cannot hide what stands behind it: without HTML, but in fences, and with
// each fence closed. A fence that begins a line is one for every reader; of others this is not certain, so it is moved
// there: else the next one would end it for some, and begin one for others.
function plain(text) {
  const lines = [];
  let fence = null;
  for (const line of text.replace(/\r\n?/g, "\n").split("\n")) {
    const mark = line.match(fence ? /^ {0,3}(`{3,}|~{3,})[ \t]*$/ : /^ {0,3}(`{3,}(?!.*`)|~{3,})/)?.[1];
    lines.push(fence ? line : mark ? line.trimStart() : line.replace(/<(?=[!?/A-Za-z])/g, "&lt;"));
    if (!fence) fence = mark ?? null;
    else if (mark && mark[0] === fence[0] && mark.length >= fence.length) fence = null;
  }
  if (fence) lines.push(fence);
  return lines.join("\n");
}

function quoted(text) {
  return plain(text).replace(/^/gm, "> ");
}

// A fence is longer than any in the text.
function fenced(text, language) {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((one) => one.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

export function nameOf(job, suffix) {
  return `job-${job.slice(0, 13)}.${suffix}`;
}

// Has the browser keep it.
export function keep(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
