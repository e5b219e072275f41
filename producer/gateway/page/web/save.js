// save.js - a job as a file that somebody keeps: a notebook, Markdown, or the events and the result as
// JSON. All but keep() need no document: the tests run them alone.

// asked: what was asked, or ""; steps: of conversation.js; image(name): its bytes in base64, or null.
// The notebook is one of nbformat 4.5 (https://nbformat.readthedocs.io/en/latest/format_description.html).
export async function notebookOf(asked, steps, image) {
  const cells = [];
  let number = 0;
  const add = (cell) => cells.push({ id: `cell-${cells.length + 1}`, metadata: {}, ...cell });
  if (asked) add({ cell_type: "markdown", source: asked });
  for (const step of steps) {
    if (step.isVoid) continue;
    if (step.kind === "turn" && step.text) add({ cell_type: "markdown", source: step.text });
    if (step.kind !== "call" || !step.code) continue;
    const outputs = step.output.map(({ stream, text }) => ({ output_type: "stream", name: stream === "stderr" ? "stderr" : "stdout", text }));
    for (const picture of step.images) {
      const bytes = await image(picture.name);
      if (bytes) outputs.push({ output_type: "display_data", metadata: {}, data: { [picture.mime ?? "image/png"]: bytes } });
    }
    for (const display of step.displays)
      if (display.text && !display.parts?.length) outputs.push({ output_type: "display_data", metadata: {}, data: { "text/plain": display.text } });
    add({ cell_type: "code", execution_count: ++number, source: step.code, outputs });
  }
  const kernelspec = { name: "python3", display_name: "Python 3", language: "python" };
  return { nbformat: 4, nbformat_minor: 5, metadata: { kernelspec, language_info: { name: "python" } }, cells };
}

export function markdownOf(asked, steps) {
  const parts = asked ? [quoted(asked)] : [];
  for (const step of steps) {
    if (step.isVoid) continue;
    if (step.kind === "turn" && step.text) parts.push(step.text);
    if (step.kind !== "call") continue;
    if (step.code) parts.push(fenced(step.code, "python"));
    const printed = step.output.map((part) => part.text).join("");
    if (printed) parts.push(fenced(printed, "text"));
    parts.push(...step.images.map(({ name }) => `![${name.replace(/[[\]]/g, "")}](<${name}>)`));
  }
  return `${parts.join("\n\n")}\n`;
}

function quoted(text) {
  return text.replace(/^/gm, "> ");
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
