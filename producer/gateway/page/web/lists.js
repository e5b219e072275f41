// lists.js - the tables of what operators look after: queues, workers, endpoints, sessions, schedules,
// jobs that failed for good, tenants, keys.
import { get, post, send } from "./api.js";
import { h } from "./dom.js";
import { ago, bytes, count, counted, date, either, foreign, length, money, moneyInColumn, quoted, visible } from "./format.js";
import { isUp, oldest, stateOfQueue } from "./health.js";
import { openList } from "./list_view.js";
import { now } from "./time.js";
import { t } from "./words.js";

export function open(place, me) {
  const list = LISTS[place.path[0]];
  return openList(list, place, me.scopes.includes(list.scope ?? "operate"));
}

// Browsers take "." and ".." out of an address, however they are written.
function at(...parts) {
  const dots = parts.find((part) => part === "." || part === "..");
  if (dots) throw new Error(t("A browser cannot ask for the name {}: use the command quern.", quoted(dots)));
  return `/v1/${parts.map(encodeURIComponent).join("/")}`;
}

function jobs(name, query) {
  return name === undefined ? name : h("a", { href: `#/jobs?${new URLSearchParams(query)}` }, foreign(name));
}

function job(id) {
  return id && h("a", { href: `#/job/${id}`, class: "id" }, id);
}

// 0: never.
function ahead(ms, never) {
  if (ms === undefined) return ms;
  return ms ? h("time", { datetime: new Date(ms).toISOString(), title: date(ms) }, t("in {}", length(Math.max(ms - now(), 0)))) : never;
}

// 0: there is no limit.
function limit(number) {
  return number ? count(number) : "–";
}

const queues = {
  title: "Queues",
  path: "/v1/queues",
  more: () => get("/v1/workers"),
  rows: (answer, more) => answer.queues?.map((queue) => ({ ...queue, workers: more?.workers })),
  key: (queue) => queue.queue,
  columns: [
    ["Queue", (queue) => jobs(queue.queue, { tenant: "*", queue: queue.queue })],
    ["State", (queue) => stateOfQueue(queue, queue.workers)],
    ["Running", (queue) => count(queue.running), "number"],
    ["Queued", (queue) => count(queue.waiting), "number"],
    ["May start", (queue) => count(queue.may_start), "number"],
    ["Oldest", oldest, "number"],
    ["Later", (queue) => count(queue.scheduled), "number"],
    ["For a budget", (queue) => count(queue.held_by_budget), "number"],
    ["For an endpoint", (queue) => count(queue.held_by_endpoint), "number"],
    ["Failed for good", (queue) => count(queue.dead), "number"],
    ["Tenants that wait in line", (queue) => limit(queue.tenants), "number"],
    ["Most waiting", (queue) => limit(queue.max_depth), "number"],
    ["Most of a tenant", (queue) => limit(queue.tenant_running), "number"],
  ],
  actions: [
    { name: "Pause", when: (queue) => !queue.paused, run: (queue) => post(at("queues", queue.queue, "pause")).then(() => null) },
    { name: "Resume", when: (queue) => queue.paused, run: (queue) => post(at("queues", queue.queue, "resume")).then(() => null) },
    {
      name: "Cancel what waits",
      when: (queue) => queue.waiting + queue.scheduled > 0,
      ask: askPurge,
      run: purge,
    },
  ],
  form: (rows) => rows.length > 0 && [
    choice("queue", "Queue", [["", t("choose one")], ...namesOf(rows)]),
    field("tenant", "Tenant (empty: each)", {}),
    choice("limit", "Limit", Object.entries(LIMITS).map(([limit, { name }]) => [limit, t(name)])),
    field("value", "At most (0: no limit; empty: not set)", { type: "number", min: 0, step: "any" }),
    h("button", {}, t("Set the limit")),
  ],
  submit: setLimit,
};

function namesOf(rows) {
  return rows.flatMap(({ queue }) => (queue === undefined ? [] : [[queue, visible(queue)]]));
}

// Of a tenant, or of each that has none of its own. unit: of the setting, in what somebody types.
const LIMITS = {
  tenant_running: { name: "Jobs at once", unit: 1 },
  tenant_depth: { name: "Jobs that wait", unit: 1 },
  tenant_rate: { name: "Starts in a time", unit: 1 },
  tenant_rate_ms: { name: "The time of starts, in seconds", unit: 1000 },
  tenant_tokens: { name: "Tokens of a budget", unit: 1 },
  tenant_cost: { name: "Cost of a budget, in dollars", unit: 1e6 },
  tenant_budget_ms: { name: "The time of a budget, in hours", unit: 3_600_000 },
};
const SECOND_MS = 1000;
const DAY_MS = 86_400_000;

async function setLimit({ queue, tenant, limit, value }) {
  const { name, unit } = LIMITS[limit];
  if (unit === 1 && !Number.isInteger(Number(value))) throw new Error(t("{}: must be a whole number", t(name)));
  const amount = value === "" ? null : Math.round(Number(value) * unit);
  await send("PATCH", at("queues", queue), { [tenant ? `${limit}:${tenant}` : limit]: amount });
  const now = amount === null ? t("not set") : amount === 0 ? t("no limit") : count(amount / unit);
  return t("{} of {} in {}: {}", t(name), tenant || t("each tenant"), queue, now);
}

// "60 / 1 min"
function starts({ tenant_rate: rate, tenant_rate_ms: ms }) {
  return rate ? `${count(rate)} / ${length(ms === 0 ? SECOND_MS : ms)}` : "–";
}

// "1,000 / $5.00 / 1 d"
function budget({ tenant_tokens: tokens, tenant_cost: cost, tenant_budget_ms: ms }) {
  const parts = [tokens && count(tokens), cost && money(cost)].filter(Boolean);
  return parts.length > 0 ? [...parts, length(ms === 0 ? DAY_MS : ms)].join(" / ") : "–";
}

const JOBS = 500; // of a page

const PURGE = ["Cancel the {} job of {} that waits?", "Cancel the {} jobs of {} that wait?"];
const LOST = [
  "{} has begun, and waits for an approval or another try: what it has done is lost.",
  "{} have begun, and wait for an approval or another try: what they have done is lost.",
];
const LOST_MANY = "More than {} have begun, and wait for an approval or another try: what they have done is lost.";

// Those among them that have begun are told of.
async function askPurge({ queue, waiting, scheduled }) {
  let begun = 0;
  let cursor;
  for (let left = scheduled > 0; left; left = cursor !== undefined && begun <= JOBS) {
    const page = await get("/v1/jobs", { tenant: "*", queue, state: "waiting", limit: JOBS, cursor });
    begun += page.jobs.length;
    cursor = page.next;
  }
  const all = counted(waiting + scheduled, ...PURGE, queue);
  if (begun === 0) return all;
  const lost = begun > JOBS ? t(LOST_MANY, count(JOBS)) : counted(begun, ...LOST);
  return `${all} ${lost}`;
}

// A call cancels some hundred jobs, and says whether there are more.
async function purge(queue) {
  let cancelled = 0;
  let answer;
  do {
    answer = await post(at("queues", queue.queue, "purge"));
    cancelled += answer.jobs;
  } while (answer.more);
  return counted(cancelled, "{} job is cancelled.", "{} jobs are cancelled.");
}

const workers = {
  title: "Workers",
  path: "/v1/workers",
  rows: (answer) => answer.workers,
  key: (worker) => worker.worker,
  columns: [
    ["Worker", (worker) => worker.worker],
    ["Host", (worker) => worker.host],
    ["State", stateOfWorker],
    ["Running", (worker) => (isUp(worker) ? `${count(worker.running)} / ${count(worker.slots)}` : "–"), "number"],
    ["Queues", (worker) => worker.queues],
    ["Jobs", (worker) => worker.jobs?.map((one) => h("div", {}, job(one.id ?? one)))],
    ["Version", (worker) => worker.version],
    ["Started", (worker) => ago(worker.started_at)],
    ["Seen", (worker) => ago(worker.seen_at)],
  ],
  actions: [
    { name: "Drain", when: (worker) => !worker.draining, ask: (worker) => t("Let {} end its jobs and leave?", quoted(worker.worker)), run: (worker) => post(at("workers", worker.worker, "drain"), { drain: true }).then(() => null) },
    { name: "Keep", when: (worker) => worker.draining && isUp(worker), run: keep },
    { name: "Let it come back", when: (worker) => worker.draining && !isUp(worker), run: keep },
  ],
};

function keep({ worker }) {
  return post(at("workers", worker, "drain"), { drain: false }).then(() => null);
}

function stateOfWorker(worker) {
  if (!isUp(worker)) return t("has left");
  if (!worker.draining && worker.executor?.away) return h("span", { class: "bad" }, t("its executor is away"));
  return either(worker.draining, "drains", "works");
}

const endpoints = {
  title: "Endpoints",
  path: "/v1/endpoints",
  rows: (answer) => answer.endpoints,
  key: (endpoint) => endpoint.id,
  columns: [
    ["Endpoint", (endpoint) => endpoint.host],
    ["Model", (endpoint) => endpoint.model],
    ["State", stateOfEndpoint],
    ["Calls", (endpoint) => count(endpoint.calls), "number"],
    ["Failures in a row", (endpoint) => count(endpoint.failures), "number"],
    ["Answered", (endpoint) => ago(endpoint.answered_at)],
    ["Failed", (endpoint) => ago(endpoint.failed_at)],
    ["Error", (endpoint) => endpoint.error],
  ],
  actions: [],
};

function stateOfEndpoint({ wait_ms: ms }) {
  return ms ? t("left alone for {}", length(ms)) : either(ms, "", "answers");
}

const sessions = {
  title: "Sessions",
  scope: "submit",
  path: "/v1/sessions",
  rows: (answer) => answer.sessions,
  key: (session) => session.name,
  columns: [
    ["Session", (session) => jobs(session.name, { session: session.name })],
    ["State", (session) => t(session.closed ? "closed" : session.holder ? "in memory" : "kept")],
    ["Cells", (session) => count(session.cells), "number"],
    ["Questions", (session) => count(session.exchanges), "number"],
    ["Files", (session) => count(session.files?.length), "number"],
    ["Variables", (session) => (session.unsaved ? t("not kept: {}", session.unsaved) : bytes(session.picture_bytes)), "number"],
    ["Used", (session) => ago(session.updated_ms)],
    ["Last job", (session) => job(session.job)],
    ["Continue", goOn],
  ],
  actions: [
    {
      name: "Close",
      when: (session) => !session.closed,
      ask: (session) => t("Close {}? Its variables and files are then gone.", quoted(session.name)),
      run: (session) => post("/v1/jobs", { kind: "session", action: { do: "close" }, session: session.name }).then(() => null),
    },
  ],
};

function goOn({ closed, name }) {
  const query = new URLSearchParams({ session: name });
  return !closed && name !== undefined && h("a", { href: `#/ask?${query}` }, t("Continue"));
}

const DEAD_ACTS = [
  {
    name: "Run all again",
    ask: ["Run {} job again?", "Run {} jobs again?"],
    when: () => true,
    run: (id) => post(at("dead", id, "requeue")),
  },
  {
    name: "Remove all",
    ask: ["Remove all that is kept of {} job?", "Remove all that is kept of {} jobs?"],
    when: () => true,
    run: (id) => send("DELETE", at("dead", id)),
    isFinal: true,
  },
];

function deadOf(queue) {
  return `#/dead?${new URLSearchParams({ queue })}`;
}

async function deadAfter(queue, skip = 0) {
  const { dead: jobs, total } = await get("/v1/dead", { queue, skip, limit: JOBS });
  const next = skip + jobs.length;
  return { jobs, next: jobs.length > 0 && next < total ? next : undefined };
}

const dead = {
  title: "Failed for good",
  path: "/v1/dead",
  stride: 50,
  rows: (answer) => answer.dead,
  key: (one) => one.id,
  filters: ({ queue }, go) => h(
    "form",
    { key: "filters", class: "filters", role: "search", onsubmit: (event) => findIn(event, go) },
    field("queue", "Queue", { value: queue ?? "", of: queue ?? "" }),
    h("button", {}, t("Find")),
    queue && h("a", { href: "#/dead" }, t("Without filters")),
  ),
  bulk: ({ queue }) => ({ acts: DEAD_ACTS, pages: (skip) => deadAfter(queue, skip), isAll: !queue }),
  columns: [
    ["Id", (one) => job(one.id)],
    ["Queue", (one) => one.queue && h("a", { href: deadOf(one.queue) }, foreign(one.queue))],
    ["Tenant", (one) => jobs(one.tenant, { tenant: one.tenant, state: "failed" })],
    ["Error", (one) => jobs(one.error_code, { tenant: "*", state: "failed", error_code: one.error_code })],
    ["Attempts", (one) => count(one.attempts), "number"],
    ["Crashes", (one) => count(one.crashes), "number"],
    ["Submitted", (one) => ago(one.submitted_at)],
    ["Ended", (one) => ago(one.finished_at)],
  ],
  actions: [
    { name: "Run again", run: (one) => post(at("dead", one.id, "requeue")).then(() => [t("It is queued again:"), " ", job(one.id)]) },
    { name: "Remove", ask: (one) => t("Remove all that is kept of {}?", quoted(one.id)), run: (one) => send("DELETE", at("dead", one.id)).then(() => null) },
  ],
};

function findIn(event, go) {
  event.preventDefault();
  go(Object.fromEntries(new FormData(event.target)));
}

const schedules = {
  title: "Schedules",
  path: "/v1/schedules",
  rows: (answer) => answer.schedules,
  key: (one) => one.schedule,
  columns: [
    ["Schedule", (one) => one.schedule],
    ["When", (one) => one.spec && `${one.spec} ${one.zone ?? ""}`],
    ["State", (one) => either(one.paused, "paused", "open")],
    ["Next", (one) => ahead(one.next_at, "–")],
    ["Last", (one) => ago(one.last_at)],
    ["Job", (one) => job(one.last_id)],
  ],
  actions: [
    { name: "Pause", when: (one) => !one.paused, run: (one) => post(at("schedules", one.schedule, "pause")).then(() => null) },
    { name: "Resume", when: (one) => one.paused, run: (one) => post(at("schedules", one.schedule, "resume")).then(() => null) },
    { name: "Run now", run: (one) => post(at("schedules", one.schedule, "run")).then(() => null) },
    { name: "Remove", ask: (one) => t("Remove the schedule {}?", quoted(one.schedule)), run: (one) => send("DELETE", at("schedules", one.schedule)).then(() => null) },
  ],
};

const tenants = {
  title: "Tenants",
  path: "/v1/tenants",
  rows: (answer) => answer.tenants,
  key: (one) => (one.tenant === undefined || one.queue === undefined ? undefined : `${one.tenant} ${one.queue}`),
  columns: [
    ["Tenant", (one) => jobs(one.tenant, { tenant: one.tenant })],
    ["Queue", (one) => jobs(one.queue, { tenant: one.tenant ?? "*", queue: one.queue })],
    ["Running", (one) => count(one.running), "number"],
    ["Queued", (one) => count(one.waiting), "number"],
    ["Later", (one) => count(one.scheduled), "number"],
    ["Tokens", (one) => count(one.tokens), "number"],
    ["Cost", (one) => moneyInColumn(one.cost), "number"],
    ["Spent in", period],
    ["Jobs at once", (one) => limit(one.tenant_running), "number"],
    ["Jobs that wait", (one) => limit(one.tenant_depth), "number"],
    ["Starts in a time", starts, "number"],
    ["Budget", budget, "number"],
  ],
  actions: [],
  total: (rows) => {
    const sum = (name) => rows.reduce((all, row) => all + row[name], 0);
    const isOfOne = new Set(rows.map(period)).size === 1; // what was spent in different times has no sum
    const spent = isOfOne ? [count(sum("tokens")), moneyInColumn(sum("cost")), period(rows[0])] : ["–", "–", ""];
    const jobs = ["running", "waiting", "scheduled"].map((name) => count(sum(name)));
    return [t("All"), "", ...jobs, ...spent, "", "", "", ""];
  },
};

// Of which time its tokens and cost are.
function period({ budget: has, tenant_budget_ms: ms }) {
  return has ? t("the budget of {}", length(ms === 0 ? DAY_MS : ms)) : either(has, "", "today, in UTC");
}

const keys = {
  title: "Keys",
  scope: "admin",
  path: "/v1/keys",
  rows: (answer) => answer.keys,
  key: (key) => key.key,
  columns: [
    ["Key", (key) => key.key],
    ["Name", (key) => key.name],
    ["Tenant", (key) => key.tenant],
    ["Scopes", (key) => key.scopes],
    ["Made", (key) => ago(key.created_at)],
    ["Used", (key) => ago(key.last_used_at)],
    ["Ends", (key) => ahead(key.expires_at, t("never"))],
    ["Requests a minute", (key) => limit(key.rate), "number"],
    ["Jobs at once", (key) => limit(key.jobs), "number"],
    ["Cost a day", (key) => (key.cost ? moneyInColumn(key.cost) : "–"), "number"],
  ],
  actions: [
    { name: "Replace", ask: (key) => t("Replace {}? The old one works for another day.", quoted(key.key)), run: (key) => post(at("keys", key.key, "rotate")).then(secret) },
    { name: "Remove", ask: (key) => t("Remove {}? It ends at once.", quoted(key.key)), run: (key) => send("DELETE", at("keys", key.key)).then(() => null) },
  ],
  form: () => [
    field("tenant", "Tenant", { required: true, value: "", of: made }),
    field("name", "Name", { value: "", of: made }),
    field("scopes", "Scopes", { value: "submit read" }),
    h("button", {}, t("Make a key")),
  ],
  submit: ({ tenant, name, scopes }) => post("/v1/keys", { tenant, scopes, ...(name && { name }) }).then(madeOne),
};

function field(name, label, props) {
  const id = `new-${name}`;
  return h("div", { key: name }, h("label", { for: id }, t(label)), h("input", { id, name, autocomplete: "off", ...props }));
}

function choice(name, label, options) {
  const id = `new-${name}`;
  // With keys: what is chosen stays when another option comes before it.
  const shown = options.map(([value, text]) => h("option", { key: value, value }, text));
  return h("div", { key: name }, h("label", { for: id }, t(label)), h("select", { id, name, required: true }, shown));
}

let made = 0; // keys: the form is empty for each, so pressing twice does not make two

function madeOne(key) {
  made++;
  return secret(key);
}

// The answer alone has it.
function secret(made) {
  return [t("Keep this key: nobody can show it again."), " ", h("code", {}, made.secret)];
}

const LISTS = { queues, workers, endpoints, sessions, dead, schedules, tenants, keys };
