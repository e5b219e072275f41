// jobs.js - the tenant's jobs, the newest first, with filters that stand in the address.
import { get, later } from "./api.js";
import { bulk } from "./bulk.js";
import { h } from "./dom.js";
import { ago, count, fault, foreign, length, money } from "./format.js";
import { now } from "./time.js";
import { t } from "./words.js";

const STATES = ["queued", "in_progress", "waiting", "scheduled", "completed", "incomplete", "failed", "cancelled"];
const TEXTS = ["queue", "session", "worker", "model", "metadata", "error_code", "tenant"];
const TIMES = ["since", "until"]; // ms since 1970 in the address, minutes of the reader's zone in the form
const WHOLE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const EVERY_MS = 2000;
const ROWS = 100;

export function open(place, me) {
  const filters = place.query;
  let pages = [];
  let next;
  let failure = null;
  let paused = false;
  let forget = null;
  let closed = false;
  const all = me.scopes.includes("submit") && bulk(query(), place.changed, () => look());

  function query(cursor) {
    return { ...filters, limit: ROWS, cursor };
  }

  // A page may have no jobs although there are more: then the next one is asked for.
  async function pageFrom(cursor) {
    const jobs = [];
    let next = cursor;
    do {
      const page = await get("/v1/jobs", query(next));
      if (!page.jobs) throw new Error(t("The gateway does not say."));
      jobs.push(...page.jobs);
      next = page.next;
    } while (next && jobs.length < ROWS && !closed);
    return { jobs, next };
  }

  async function look() {
    try {
      const first = await pageFrom();
      if (pages.length <= 1) {
        pages = [first.jobs];
        next = first.next;
      }
      failure = null;
    } catch (error) {
      failure = error.message;
    }
    if (closed) return;
    place.changed();
    forget?.();
    if (!paused) forget = later(look, EVERY_MS);
  }

  async function more() {
    paused = true;
    forget?.();
    try {
      const page = await pageFrom(next);
      pages.push(page.jobs);
      next = page.next;
      failure = null;
    } catch (error) {
      failure = error.message;
    }
    place.changed();
  }

  function pause() {
    paused = !paused;
    forget?.();
    if (!paused) {
      pages = [];
      look();
    }
    place.changed();
  }

  function submit(event) {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.target));
    given.id = given.id.trim().toLowerCase();
    for (const name of TIMES) given[name] &&= new Date(given[name]).getTime();
    if (WHOLE_ID.test(given.id)) location.hash = `#/job/${given.id}`;
    else place.go(given);
  }

  look();
  return {
    title: () => t("Jobs"),
    draw: () => [
      h("h1", {}, t("Jobs")),
      form(filters, me, submit),
      h(
        "p",
        { key: "live", class: "bar" },
        h("button", { type: "button", "aria-pressed": String(paused), onclick: pause }, paused ? t("Go on") : t("Pause")),
        h("span", { class: "note", role: "status" }, paused ? t("The list stands still.") : t("Live.")),
      ),
      fault(failure),
      all && all.draw(),
      pages.length > 0 && table(pages.flat(), filters.tenant === "*"),
      pages.length === 0 && !failure && h("p", { class: "note" }, t("Loading…")),
      next && h("p", { key: "more" }, h("button", { type: "button", onclick: more }, t("More"))),
    ],
    close() {
      closed = true;
      forget?.();
      all && all.close();
    },
  };
}

const NAMES = {
  queue: "Queue",
  session: "Session",
  worker: "Worker",
  model: "Model",
  metadata: "Metadata (key=value)",
  error_code: "Error",
  since: "Since",
  until: "Until",
  tenant: "Tenant (* for all)",
};

function form(filters, me, submit) {
  const texts = TEXTS.filter((name) => name !== "tenant" || me.scopes.includes("operate"));
  return h(
    "form",
    { class: "filters", onsubmit: submit, role: "search" },
    field("input", "id", "Id, or a part of it", { size: 36, spellcheck: "false", value: filters.id ?? "" }),
    field("select", "state", "State", {}, h("option", { value: "" }, t("any")), STATES.map((one) =>
      h("option", { value: one, selected: filters.state === one }, t(one)),
    )),
    texts.map((name) => field("input", name, NAMES[name], { value: filters[name] ?? "" })),
    TIMES.map((name) => field("input", name, NAMES[name], { type: "datetime-local", value: minute(filters[name]) })),
    h("button", {}, t("Find")),
    Object.keys(filters).length > 0 && h("a", { href: "#/jobs" }, t("Without filters")),
  );
}

// As a field of that type has it.
function minute(ms) {
  const at = new Date(Number(ms ?? NaN));
  const there = new Date(at - at.getTimezoneOffset() * 60_000);
  return isNaN(there) ? "" : there.toISOString().slice(0, 16);
}

function field(tag, name, label, props, ...options) {
  const id = `filter-${name}`;
  return h("div", { key: name }, h("label", { for: id }, t(label)), h(tag, { id, name, autocomplete: "off", ...props }, ...options));
}

const COLUMNS = ["State", "Id", "Submitted", "Wait", "Run", "Queue", "Session", "Tokens", "Cost", "Error", "Worker"];
const ENDED = ["completed", "incomplete", "failed", "cancelled"];
const STARTED = ["completed", "incomplete", "in_progress"];
const NUMBERS = ["Wait", "Run", "Tokens", "Cost"];

function table(jobs, hasTenants) {
  const columns = hasTenants ? ["Tenant", ...COLUMNS] : COLUMNS;
  if (jobs.length === 0) return h("p", { class: "note" }, t("No jobs."));
  return h(
    "div",
    { key: "table", class: "scroll", tabindex: "0", role: "region", "aria-label": t("Jobs") },
    h(
      "table",
      { class: "jobs" },
      h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col", class: NUMBERS.includes(name) ? "number" : name === "Id" && "held" }, t(name))))),
      h("tbody", {}, jobs.map((job) => row(job, hasTenants))),
    ),
  );
}

function row(job, hasTenants) {
  // What has ended, or has started, and does not say when: neither is known.
  const end = job.finished_at ?? (ENDED.includes(job.state) ? undefined : now());
  const start = job.started_at ?? (STARTED.includes(job.state) ? undefined : end);
  return h(
    "tr",
    { key: job.id },
    hasTenants && h("td", {}, foreign(job.tenant ?? "")),
    h("td", {}, state(job.state)),
    h("th", { scope: "row" }, job.id ? link(job.id) : foreign()),
    h("td", {}, ago(job.submitted_at)),
    h("td", { class: "number" }, length(start - job.submitted_at)),
    h("td", { class: "number" }, job.started_at ? length(end - job.started_at) : "–"),
    h("td", {}, foreign(job.queue)),
    h("td", {}, foreign(job.session ?? "")),
    h("td", { class: "number" }, job.tokens ? count(job.tokens) : "–"),
    h("td", { class: "number" }, job.cost ? money(job.cost) : "–"),
    h("td", { class: job.error_code && "bad" }, foreign(job.error_code ?? (job.reason ? t(job.reason) : ""))),
    h("td", {}, foreign(job.worker ?? "")),
  );
}

function link(id) {
  return h("a", { href: `#/job/${id}`, class: "id", title: id }, short(id));
}

// Of an id its time and what was drawn by chance: the whole one is in the title.
function short(id) {
  return `${id.slice(0, 13)}…${id.slice(-6)}`;
}

export function state(name) {
  return name ? h("span", { class: `state ${name}` }, t(name)) : foreign();
}
