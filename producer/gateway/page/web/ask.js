// ask.js - puts a question or code to the fleet, with files; in a session, or by itself; as another job was asked, or
// from a step of its conversation on.
import { get, later, post } from "./api.js";
import { h } from "./dom.js";
import { bytes, fault, foreign, isId, quoted } from "./format.js";
import { textOf } from "./kept.js";
import { long } from "./long.js";
import { t } from "./words.js";

const MOST_FILES = 20;
const MOST_NAME = 110; // bytes of a session, of which a copy has more

// What is not taken from another job: it is of that job alone, or hidden.
const ITS_OWN = "v id tenant idempotency_key not_before traceparent tracestate client env".split(" ");
const IN_FORM = "kind prompt cells messages session queue model metadata files".split(" ");

let opened = 0;

// What somebody has typed, by address: it stays until it is sent, also when the page is loaded anew. Files that were
// chosen stay as long as the page does.
const drafts = new Map();

function draftOf(key, fresh) {
  if (!drafts.has(key)) {
    drafts.set(key, { ...fresh, ...JSON.parse(sessionStorage.getItem(key) ?? "{}") });
  }
  return drafts.get(key);
}

function keepDraft(key, draft) {
  drafts.set(key, draft);
  try {
    const [files, lost] = [draft.files.filter((file) => file.blob), draft.files.filter((file) => !file.blob)];
    sessionStorage.setItem(key, JSON.stringify({ ...draft, files, lost: lost.map((file) => file.name) }));
  } catch {
    // It is too long to be kept.
  }
}

export function open(place, me) {
  const { from, back, again, session = "" } = place.query;
  const other = from ?? again;
  if (other && !isId(other)) return noJob(other);
  const key = `quern-ask ${me.tenant} ${location.hash}`;
  const number = ++opened; // each view has a form of its own
  const draft = draftOf(key, { kind: "prompt", text: "", session, queue: "", model: "", metadata: "", files: [], lost: [], forks: false, isTyped: false });
  // body: of the job that is asked again; before: the conversation that is gone on from; facts: of either job.
  const seen = { fault: null, isBusy: false, body: null, before: null, facts: null };
  let isClosed = false;

  async function load() {
    const path = `/v1/jobs/${encodeURIComponent(other)}`;
    seen.facts = await get(path);
    seen.body = await get(`${path}/body`).catch((error) => {
      if (again) throw error;
    });
    if (seen.body && !draft.isTyped) take(seen.body);
    if (!from) return;
    seen.before = upTo(seen.facts.result?.messages ?? [], Number(back));
    if (seen.before.length === 0) throw new Error(t("The conversation of that job is not kept any more."));
  }

  function loadFirst() {
    load().catch((error) => (seen.fault = error.message)).finally(place.changed);
  }

  const isForeign = () => seen.facts && seen.facts.tenant !== me.tenant;

  function take(body) {
    const { session = "", queue = "", model = "", metadata = {}, files = [] } = body;
    Object.assign(draft, { queue, model, files: isForeign() ? [] : files });
    draft.metadata = Object.entries(metadata).map(([name, value]) => `${name}=${value}`).join("\n");
    if (from) return;
    draft.session = isForeign() ? "" : session;
    draft.kind = body.cells ? "code" : "prompt";
    draft.text = body.cells?.join("\n\n") ?? body.prompt ?? textOf(body.messages?.findLast(({ role }) => role === "user")?.content);
  }

  async function submit(event) {
    event.preventDefault();
    if (seen.isBusy) return;
    seen.isBusy = true;
    seen.fault = null;
    place.changed();
    try {
      if (other && !seen.facts) await load();
      if (from && !seen.before?.length) throw new Error(t("The conversation of that job is not kept any more."));
      if (draft.forks && forkable()) draft.session = await fork(forkable());
      const { id } = await post("/v1/jobs", await jobOf({ ...draft, files: filesOf() }, seen, other, isForeign()));
      drafts.delete(key);
      sessionStorage.removeItem(key);
      if (!isClosed) location.hash = `#/job/${id}`;
    } catch (error) {
      seen.fault = error.message;
    } finally {
      seen.isBusy = false;
      place.changed();
    }
  }

  // A copy has files of its own: those that were given with the other job would take the place of what became of them.
  const filesOf = () => (draft.forks && forkable() ? draft.files.filter((file) => !isOf(seen.body, file)) : draft.files);

  const forkable = () => (from && !isForeign() && seen.facts?.session) || null;

  function type(name) {
    return (event) => {
      draft[name] = event.target.value;
      draft.isTyped = true;
      keepDraft(key, draft);
    };
  }

  function set(change) {
    Object.assign(draft, change);
    keepDraft(key, draft);
    place.changed();
  }

  // The field is for one choice; the list below it has them all.
  function choose(event) {
    set({ files: [...draft.files, ...event.target.files].slice(0, MOST_FILES), lost: [], isTyped: true });
    event.target.value = "";
  }

  const input = (name, label, more = {}) =>
    h("div", {}, h("label", { for: name }, t(label)), h("input", { id: name, value: draft[name], autocomplete: "off", oninput: type(name), ...more }));

  if (other) loadFirst();
  return {
    title: () => t("Ask"),
    draw: () => [
      h("h1", {}, t("Ask")),
      h(
        "form",
        { class: "ask", key: `ask ${number}`, onsubmit: submit },
        other && told(other, seen, draft, isForeign(), me),
        !from && h("div", { class: "spans", role: "group", "aria-label": t("What to send") }, [["prompt", "A question"], ["code", "Python"]].map(([kind, name]) =>
          h("button", { type: "button", "aria-pressed": String(kind === draft.kind), onclick: () => set({ kind }) }, t(name)),
        )),
        h("label", { for: "text" }, draft.kind === "prompt" ? t("Question") : t("Code")),
        h("textarea", { id: "text", value: draft.text, rows: 8, required: true, class: draft.kind, spellcheck: draft.kind === "prompt" ? "true" : "false", oninput: type("text"), onkeydown: sendByKey, shown: (node) => node.focus({ preventScroll: true }) }),
        h("div", { class: "filters" },
          input("session", "Session", { disabled: draft.forks && Boolean(forkable()) }),
          input("queue", "Queue"),
          input("model", "Model"),
          h("div", {}, h("label", { for: "metadata" }, t("Metadata (key=value)")), h("textarea", { id: "metadata", rows: 1, value: draft.metadata, spellcheck: "false", oninput: type("metadata") })),
          h("div", {}, h("label", { for: "files" }, t("Files")), h("input", { id: "files", type: "file", multiple: true, onchange: choose })),
        ),
        forkable() && h("p", {}, h("label", {}, h("input", { type: "checkbox", checked: draft.forks, onchange: (event) => set({ forks: event.target.checked }) }), " ", t("In a copy of the session {} as it is now", quoted(forkable())))),
        filesOf().length > 0 && h("ul", { class: "files" }, filesOf().map((file, at) => h("li", { key: `${at} ${file.name}` }, foreign(file.name), " ", bytes(file.size ?? file.bytes ?? 0), " ", h("button", { type: "button", onclick: () => set({ files: draft.files.filter((one) => one !== file) }) }, t("Take out"))))),
        draft.lost.length > 0 && h("p", { key: "lost", class: "note" }, t("To be chosen again:"), " ", foreign(draft.lost.join(", "))),
        fault(seen.fault),
        h("p", { key: "send" }, h("button", { "aria-disabled": String(seen.isBusy), class: "main" }, draft.kind === "prompt" ? t("Ask") : t("Run"))),
      ),
    ],
    close() {
      isClosed = true;
    },
  };
}

function noJob(id) {
  return {
    title: () => t("Ask"),
    draw: () => [h("h1", {}, t("Ask")), fault(t("There is no job {}.", quoted(id)))],
    close() {},
  };
}

function sendByKey(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form.requestSubmit();
}

// Whether that file was given with the job; a draft has copies.
function isOf(body, file) {
  return Boolean(file.blob) && (body?.files ?? []).some(({ name, blob }) => name === file.name && blob === file.blob);
}

// What is taken from the other job, and what cannot be.
function told(id, { body, before, facts }, draft, isForeign, me) {
  const more = Object.keys(body ?? {}).filter((name) => ![...ITS_OWN, ...IN_FORM].includes(name));
  const lines = [
    facts?.session && before && !draft.forks && t("Variables and files of the cells before are not there."),
    body?.files?.length > 0 && draft.forks && before && t("Its files are not taken: the copy has files of its own."),
    body?.files?.length > 0 && !isForeign && !(draft.forks && before) && t("Its files are taken as long as they are kept: without them the new job fails."),
    isForeign && t("That job is of the tenant {}, this one will be of {}: session and files are not taken.", quoted(facts.tenant), quoted(me.tenant)),
    more.length > 0 && t("Taken as well: {}.", more.map(quoted).join(", ")),
    body?.env && t("Variables of the environment are not taken: they are hidden."),
  ].filter(Boolean);
  return h(
    "div",
    { class: "told", key: "told" },
    h("p", {}, before ? t("It goes on from a step of this job:") : t("It is asked as this job was:"), " ", h("a", { href: `#/job/${encodeURIComponent(id)}`, class: "id" }, foreign(id))),
    lines.map((line) => h("p", { key: line }, foreign(line))),
    more.map((name) => valueOf(name, body[name])),
  );
}

// What is sent without a field for it, as somebody else may have written it.
function valueOf(name, value) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 1);
  return h("details", { key: `value ${name}` }, h("summary", {}, foreign(name)), h("pre", { class: "text", tabindex: "0" }, long(text, name)));
}

// The messages up to a reply of the model and the outputs of its calls. back: replies behind that one.
function upTo(messages, back) {
  const wanted = messages.filter((message) => message.role === "assistant").length - back;
  let replies = 0;
  const end = messages.findIndex(({ role }) => (role === "assistant" && ++replies > wanted) || (role === "user" && replies === wanted));
  return end < 0 ? messages : messages.slice(0, end);
}

// A copy of a session, made by a job of its own. Its name.
async function fork(session) {
  const letters = [...session];
  while (new TextEncoder().encode(letters.join("")).length > MOST_NAME) letters.pop();
  const to = `${letters.join("")}-${Date.now().toString(36)}`;
  const { id } = await post("/v1/jobs", { kind: "session", session, action: { do: "fork", to } });
  for (;;) {
    const { state, result } = await get(`/v1/jobs/${id}`);
    if (state === "completed") return to;
    if (["failed", "cancelled", "incomplete"].includes(state)) throw new Error(result?.error?.message ?? state);
    await new Promise((done) => later(done, 300));
  }
}

// other: the job that it comes from, which it notes as a client may (`client`).
async function jobOf(draft, { body, before }, other, isForeign) {
  const { text, session, queue, model, files } = draft;
  const isSame = body && Boolean(body.cells) === (draft.kind === "code");
  const job = isSame ? withoutOwn(body) : {};
  if (before || isForeign) delete job.earlier;
  if (before) delete job.system; // it is in the messages
  if (draft.kind === "code") Object.assign(job, { kind: "code", cells: text === body?.cells?.join("\n\n") ? body.cells : [text] });
  else if (before?.length > 0) job.messages = [...before, { role: "user", content: text }];
  else if (body?.messages) job.messages = [...beforeLast(body.messages), { role: "user", content: text }];
  else job.prompt = text;
  // The conversation is in the messages, not in the session.
  if (before && session) job.history = "off";
  for (const [name, value] of Object.entries({ session, queue, model })) if (value) job[name] = value;
  const metadata = metadataOf(draft.metadata);
  if (metadata) job.metadata = metadata;
  if (files.length > 0) job.files = await Promise.all(files.map((file) => (file.blob ? file : upload(file))));
  if (other) job.client = JSON.stringify({ page: { from: other } });
  return job;
}

// What the form has no field for goes on as it was, when the kind is the same.
function withoutOwn(body) {
  return Object.fromEntries(Object.entries(body).filter(([name]) => ![...ITS_OWN, ...IN_FORM].includes(name)));
}

function beforeLast(messages) {
  const last = messages.findLastIndex(({ role }) => role === "user");
  return messages.slice(0, last < 0 ? messages.length : last);
}

function metadataOf(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  if (lines.length === 0) return null;
  return Object.fromEntries(lines.map((line) => {
    const at = line.indexOf("=");
    if (at < 1) throw new Error(t("{} is no key=value.", quoted(line)));
    return [line.slice(0, at).trim(), line.slice(at + 1)];
  }));
}

async function upload(file) {
  const { blob, bytes } = await post("/v1/blobs", file);
  return { name: file.name, blob, bytes, mime: file.type || "application/octet-stream" };
}
