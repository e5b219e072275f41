// jobs.js - the tenant's jobs, the newest first, with filters that stand in the address.
import { get, later, send as call } from "./api.js";
import { bulk, listedSince } from "./bulk.js";
import { h } from "./dom.js";
import { ago, count, fault, foreign, length, moneyInColumn, quoted } from "./format.js";
import { now } from "./time.js";
import { t } from "./words.js";

const ENDS = ["completed", "incomplete", "failed", "cancelled"];
const STATES = ["queued", "in_progress", "waiting", "scheduled", "scheduled waiting", ...ENDS];
const TEXTS = ["queue", "session", "worker", "model", "metadata", "error_code", "tenant"];
const TIMES = ["since", "until"]; // ms since 1970 in the address, minutes of the reader's zone in the form
const SPANS = { "Last hour": 3_600_000, "Last day": 86_400_000, "Last week": 604_800_000 };
const WHOLE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const EVERY_MS = 2000;
const ROWS = 100;
const PHONE = matchMedia("(max-width: 40rem)");

// Codes of jobs that only another job can correct: these are not kept to run again (schemas/MESSAGES.md).
const WRONG = ["cell_failed", "model_refused", "unknown_session", "session_exists", "unknown_file"];

export function canRunAgain({ state, error_code }) {
  return state === "failed" && !WRONG.includes(error_code);
}

const ACTS = [
  {
    name: "Cancel all",
    ask: ["Cancel {} job?", "Cancel {} jobs?"],
    when: (job) => !ENDS.includes(job.state),
    run: (id) => call("POST", `/v1/jobs/${id}/cancel`, {}),
    isFinal: true,
  },
  {
    name: "Run all again",
    ask: ["Run {} job again?", "Run {} jobs again?"],
    when: canRunAgain,
    run: (id) => call("POST", `/v1/jobs/${id}/retry`, {}),
    isOfEnded: true,
  },
  {
    name: "Remove all",
    ask: ["Remove all that is kept of {} job?", "Remove all that is kept of {} jobs?"],
    when: (job) => ENDS.includes(job.state),
    run: (id) => call("DELETE", `/v1/jobs/${id}`),
    isOfEnded: true,
    isFinal: true,
  },
];
const PAGE = 500; // jobs that are asked for at once, for an act on all

let left = null; // what was shown when the list was left: { address, pages, next, since, paused }

// What somebody has typed into the filters of a list and not sent, by the list's address.
const drafts = new Map();

export function open(place, me) {
  const filters = place.query;
  const address = location.hash;
  const draft = drafts.get(address) ?? {};
  const kept = place.isBack && left?.address === address ? left : null;
  // since: jobs that ended before are not listed any more; 0: all are.
  let { pages, next, since, paused } = kept ?? { pages: [], next: undefined, since: 0, paused: false };
  let showsFilters = false; // of a phone
  let failure = null;
  let forget = null;
  let closed = false;
  const isAll = Object.entries(filters).every(([name, value]) => name === "tenant" || value === "");
  const ofAll = { acts: ACTS, pages: ask, isAll, changed: place.changed, done: () => look() };
  const all = me.scopes.includes("submit") && bulk(ofAll);

  // A part of an id may have been taken from a list, which leaves out the middle (short()).
  function ask(cursor, limit = PAGE) {
    const { id, metadata } = filters;
    if (metadata && !metadata.includes("=")) throw new Error(t("Metadata is found as key=value, as in order=A-1042."));
    return get("/v1/jobs", { ...filters, id: id?.split("…")[0], limit, cursor });
  }

  // A page may have no jobs although there are more: then the next one is asked for.
  async function pageFrom(cursor) {
    const jobs = [];
    let since = 0;
    let next = cursor;
    do {
      const page = await ask(next, ROWS);
      if (!page.jobs) throw new Error(t("The gateway does not say."));
      jobs.push(...page.jobs);
      since = Math.max(since, page.ended_since ?? 0);
      next = page.next;
    } while (next && jobs.length < ROWS && !closed);
    return { jobs, next, since };
  }

  // All pages that are shown, anew.
  async function look() {
    try {
      const seen = [];
      let latest = 0;
      let cursor;
      do {
        const page = await pageFrom(cursor);
        seen.push(page.jobs);
        latest = Math.max(latest, page.since);
        cursor = page.next;
      } while (cursor && seen.length < pages.length && !closed);
      pages = seen;
      since = latest;
      next = cursor;
      failure = null;
    } catch (error) {
      failure = error.message;
    }
    if (closed) return;
    place.changed();
    forget?.();
    if (!paused) forget = later(look, EVERY_MS * Math.max(pages.length, 1));
  }

  async function more() {
    paused = true;
    forget?.();
    try {
      const page = await pageFrom(next);
      pages.push(page.jobs);
      since = Math.max(since, page.since);
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
    if (!paused) look();
    place.changed();
  }

  function submit(event) {
    event.preventDefault();
    send(event.target);
  }

  // times: in place of those of the form.
  function send(form, times = {}) {
    const given = Object.fromEntries(new FormData(form));
    given.id = given.id.trim().toLowerCase();
    // The form has minutes: what nobody has changed stays as exact as it was.
    for (const name of TIMES)
      if (given[name] === minute(filters[name])) given[name] = filters[name];
      else given[name] &&= new Date(given[name]).getTime();
    drafts.delete(address);
    if (WHOLE_ID.test(given.id)) location.hash = `#/job/${given.id}`;
    else place.go({ ...given, ...times });
  }

  const filtersForm = () => form(place, me, draft, {
    submit,
    span: (event, ms) => send(event.target.form, { since: now() - ms, until: "" }),
    type: (event) => drafts.set(address, Object.fromEntries(new FormData(event.currentTarget))),
  });

  function toggle() {
    showsFilters = !showsFilters;
    place.changed();
  }

  function filtersButton() {
    const props = { type: "button", "aria-expanded": String(showsFilters), onclick: toggle };
    return h("button", { key: "filters", ...props }, t("Filters"));
  }

  if (!kept?.paused) look();
  return {
    title: () => t("Jobs"),
    draw: () => [
      h("h1", {}, t("Jobs")),
      !PHONE.matches && filtersForm(),
      h(
        "p",
        { key: "live", class: "bar" },
        PHONE.matches && filtersButton(),
        h("button", { type: "button", "aria-pressed": String(paused), onclick: pause }, paused ? t("Go on") : t("Pause")),
        h("span", { class: "note", role: "status" }, paused ? t("The list stands still.") : failure ? t("Not live.") : t("Live.")),
      ),
      PHONE.matches && showsFilters && filtersForm(),
      fault(failure),
      all && all.draw(),
      pages.length > 0 && table(pages.flat(), filters, me),
      pages.length === 0 && !failure && h("p", { class: "note" }, t("Loading…")),
      pages.length > 0 && !next && since > 0 && h("p", { key: "since", class: "note" }, listedSince(since)),
      next && h("p", { key: "more" }, h("button", { type: "button", onclick: more }, t("More"))),
    ],
    close() {
      left = { address, pages, next, since, paused };
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

// draft: what was typed before, and not sent; submit(event), span(event, ms), type(event): what is done.
function form(place, me, draft, { submit, span, type }) {
  const filters = place.query;
  const of = JSON.stringify(filters);
  const value = (name) => draft[name] ?? filters[name] ?? "";
  const texts = TEXTS.filter((name) => name !== "tenant" || me.scopes.includes("operate"));
  // A filter of the address that no field is for: it is seen, and can be taken away.
  const others = Object.keys(filters).filter((name) => !["id", "state", ...TEXTS, ...TIMES].includes(name));
  const states = [...STATES, ...(filters.state && !STATES.includes(filters.state) ? [filters.state] : [])];
  const spans = Object.entries(SPANS).map(([name, ms]) =>
    h("button", { key: name, type: "button", onclick: (event) => span(event, ms) }, t(name)),
  );
  return h(
    "form",
    { key: "form", class: "filters", onsubmit: submit, oninput: type, role: "search" },
    field("input", "id", "Id, or a part of it", { size: 36, spellcheck: "false", value: value("id"), of }),
    field(
      "select", "state", "State", { value: value("state"), of },
      h("option", { key: "", value: "" }, t("any")),
      states.map((one) => h("option", { key: one, value: one }, stateName(one))),
    ),
    [...texts, ...others].map((name) => field("input", name, Object.hasOwn(NAMES, name) ? NAMES[name] : null, { value: value(name), of })),
    TIMES.map((name) =>
      field("input", name, NAMES[name], { type: "datetime-local", value: draft[name] ?? minute(filters[name]), of }),
    ),
    h("div", { key: "spans", class: "spans", role: "group", "aria-label": t("Time") }, spans),
    h("button", { key: "find" }, t("Find")),
    Object.keys(filters).length > 0 && h("a", { key: "none", href: "#/jobs" }, t("Without filters")),
  );
}

// Of several states their words; an address may have others.
function stateName(words) {
  return words.split(" ").map((one) => (STATES.includes(one) ? t(one) : one)).join(t(" or "));
}

// As a field of that type has it.
function minute(ms) {
  const at = new Date(Number(ms ?? NaN));
  const there = new Date(at - at.getTimezoneOffset() * 60_000);
  const text = isNaN(there) ? "" : there.toISOString();
  return /^\d{4}-/.test(text) ? text.slice(0, 16) : "";
}

// label: null: somebody else has named it, in an address.
function field(tag, name, label, props, ...options) {
  const id = `filter-${name}`;
  const text = label === null ? foreign(quoted(name)) : t(label);
  const input = h(tag, { id, name, autocomplete: "off", ...props }, ...options);
  return h("div", { key: name }, h("label", { for: id }, text), input);
}

const COLUMNS = ["State", "Id", "Submitted", "Wait", "Run", "Queue", "Session", "Tokens", "Cost", "Error", "Worker"];
const STARTED = ["completed", "incomplete", "in_progress"];
const NUMBERS = ["Wait", "Run", "Tokens", "Cost"];

function table(jobs, filters, me) {
  const hasTenants = filters.tenant === "*";
  const columns = hasTenants ? ["Tenant", ...COLUMNS] : COLUMNS;
  if (jobs.length === 0) return none(filters, me);
  return h(
    "div",
    { key: "table", class: "scroll", tabindex: "0", role: "region", "aria-label": t("Jobs") },
    h(
      "table",
      { class: "jobs" },
      h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col", class: NUMBERS.includes(name) ? "number" : name === "Id" && "held" }, t(name))))),
      h("tbody", {}, jobs.map((job) => row(job, filters, hasTenants))),
    ),
  );
}

// A search finds the jobs of one tenant, unless it says otherwise.
function none(filters, me) {
  const ofAll = new URLSearchParams({ ...filters, tenant: "*" });
  const isOfOne = filters.tenant !== "*" && me.scopes.includes("operate");
  const told = [
    [" ", foreign(t("These would be of the tenant {}.", filters.tenant || me.tenant))],
    [" ", h("a", { href: `#/jobs?${ofAll}` }, t("Look in all tenants"))],
  ];
  return h("p", { class: "note" }, t("No jobs."), isOfOne && told);
}

// Leads to those of the shown jobs that are alike in that.
function alike(filters, name, value) {
  return value ? h("a", { href: `#/jobs?${new URLSearchParams({ ...filters, [name]: value })}` }, foreign(value)) : "";
}

function row(job, filters, hasTenants) {
  // What has ended, or has started, and does not say when: neither is known.
  const end = job.finished_at ?? (ENDS.includes(job.state) ? undefined : now());
  const start = job.started_at ?? (STARTED.includes(job.state) ? undefined : end);
  return h(
    "tr",
    { key: job.id },
    hasTenants && h("td", {}, alike(filters, "tenant", job.tenant)),
    h("td", {}, state(job.state)),
    h("th", { scope: "row" }, job.id ? link(job.id) : foreign()),
    h("td", {}, ago(job.submitted_at)),
    h("td", { class: "number" }, length(start - job.submitted_at)),
    h("td", { class: "number" }, job.started_at ? length(end - job.started_at) : "–"),
    h("td", {}, job.queue ? alike(filters, "queue", job.queue) : foreign()),
    h("td", {}, alike(filters, "session", job.session)),
    h("td", { class: "number" }, job.tokens ? count(job.tokens) : "–"),
    h("td", { class: "number" }, job.cost ? moneyInColumn(job.cost) : "–"),
    h("td", { class: job.error_code && "bad" }, alike(filters, "error_code", job.error_code) || reason(job)),
    h("td", {}, alike(filters, "worker", job.worker)),
  );
}

function reason(job) {
  return job.reason ? t(job.reason) : "";
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
