// ask.js - puts a question or code to the fleet, with files; in a session, or by itself.
import { get, post } from "./api.js";
import { h } from "./dom.js";
import { fault, foreign } from "./format.js";
import { t } from "./words.js";

const MOST_FILES = 20;

export function open(place) {
  const { from, back, again } = place.query;
  const seen = { kind: "prompt", files: [], fault: null, isBusy: false, before: null, text: "", isTyped: false };
  let isClosed = false;

  // What another job had been asked, or the conversation up to one of its turns.
  async function load() {
    if (again) takeAgain(await get(`/v1/jobs/${encodeURIComponent(again)}/body`));
    if (!from) return;
    seen.before = upTo((await get(`/v1/jobs/${encodeURIComponent(from)}`)).result?.messages ?? [], Number(back));
    if (seen.before.length === 0) throw new Error(t("The conversation of that job is not kept any more."));
  }

  function loadFirst() {
    const tell = (error) => (seen.fault = error.message);
    load().catch(tell).finally(place.changed);
  }

  function takeAgain(body) {
    if (seen.isTyped) return; // who has begun to write keeps it
    seen.kind = body.cells ? "code" : "prompt";
    seen.text = body.cells?.join("\n\n") ?? body.prompt ?? "";
  }

  async function submit(event) {
    event.preventDefault();
    if (seen.isBusy) return;
    const given = Object.fromEntries(new FormData(event.target));
    seen.isBusy = true;
    seen.fault = null;
    place.changed();
    try {
      if (from && !seen.before?.length) await load();
      const job = await jobOf(given, seen);
      const { id } = await post("/v1/jobs", job);
      if (!isClosed) location.hash = `#/job/${id}`;
    } catch (error) {
      seen.fault = error.message;
    } finally {
      seen.isBusy = false;
      place.changed();
    }
  }

  function choose(event) {
    seen.files = [...event.target.files].slice(0, MOST_FILES);
    place.changed();
  }

  function turn(kind) {
    seen.kind = kind;
    place.changed();
  }

  if (from || again) loadFirst();
  return {
    title: () => t("Ask"),
    draw: () => [
      h("h1", {}, t("Ask")),
      seen.before?.length > 0 && h("p", { class: "told" }, t("It goes on from a step of this job:"), " ", h("a", { href: `#/job/${from}`, class: "id" }, foreign(from))),
      h(
        "form",
        { class: "ask", onsubmit: submit },
        !from && h("div", { class: "spans", role: "group", "aria-label": t("What to send") }, [["prompt", "A question"], ["code", "Python"]].map(([kind, name]) =>
          h("button", { type: "button", "aria-pressed": String(kind === seen.kind), onclick: () => turn(kind) }, t(name)),
        )),
        h("label", { for: "text" }, seen.kind === "prompt" ? t("Question") : t("Code")),
        h("textarea", { id: "text", name: "text", value: seen.text, rows: 8, required: true, class: seen.kind, spellcheck: seen.kind === "prompt" ? "true" : "false", oninput: () => (seen.isTyped = true), onkeydown: sendByKey, shown: (node) => node.focus() }),
        h("div", { class: "filters" },
          h("div", {}, h("label", { for: "session" }, t("Session")), h("input", { id: "session", name: "session", value: place.query.session ?? "", autocomplete: "off" })),
          h("div", {}, h("label", { for: "queue" }, t("Queue")), h("input", { id: "queue", name: "queue", autocomplete: "off" })),
          h("div", {}, h("label", { for: "files" }, t("Files")), h("input", { id: "files", type: "file", multiple: true, onchange: choose })),
        ),
        seen.files.length > 0 && h("ul", { class: "files" }, seen.files.map((file) => h("li", { key: file.name }, foreign(file.name)))),
        fault(seen.fault),
        h("p", { key: "send" }, h("button", { "aria-disabled": String(seen.isBusy), class: "main" }, seen.kind === "prompt" ? t("Ask") : t("Run"))),
      ),
    ],
    close() {
      isClosed = true;
    },
  };
}

function sendByKey(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form.requestSubmit();
}

// The messages up to a reply of the model and the outputs of its calls. back: replies behind that one.
function upTo(messages, back) {
  const wanted = messages.filter((message) => message.role === "assistant").length - back;
  let replies = 0;
  const end = messages.findIndex(({ role }) => (role === "assistant" && ++replies > wanted) || (role === "user" && replies === wanted));
  return end < 0 ? messages : messages.slice(0, end);
}

async function jobOf({ text, session, queue }, { kind, files, before }) {
  const job = kind === "prompt" ? { prompt: text } : { kind: "code", cells: [text] };
  if (before?.length > 0) {
    delete job.prompt;
    job.messages = [...before, { role: "user", content: text }];
  }
  if (session) job.session = session;
  if (queue) job.queue = queue;
  if (files.length > 0) job.files = await Promise.all(files.map(upload));
  return job;
}

async function upload(file) {
  const { blob, bytes } = await post("/v1/blobs", file);
  return { name: file.name, blob, bytes, mime: file.type || "application/octet-stream" };
}
