// lists.js - the tables of what operators look after: queues, workers, endpoints, sessions, schedules,
// jobs that failed for good, tenants, keys.
import { post, send } from "./api.js";
import { h } from "./dom.js";
import { ago, bytes, count, either, foreign, length, money, quoted, visible } from "./format.js";
import { openList } from "./list_view.js";
import { now } from "./time.js";
import { t } from "./words.js";

export function open(place, me) {
  const list = LISTS[place.path[0]];
  return openList(list, place, me.scopes.includes(list.scope ?? "operate"));
}

function at(...parts) {
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
  return ms ? h("time", { datetime: new Date(ms).toISOString() }, t("in {}", length(Math.max(ms - now(), 0)))) : never;
}

// 0: there is no limit.
function limit(number) {
  return number ? count(number) : "–";
}

const queues = {
  title: "Queues",
  path: "/v1/queues",
  rows: (answer) => answer.queues,
  key: (queue) => queue.queue,
  columns: [
    ["Queue", (queue) => jobs(queue.queue, { queue: queue.queue })],
    ["State", (queue) => either(queue.paused, "paused", "open")],
    ["Running", (queue) => count(queue.running), "number"],
    ["Waiting", (queue) => count(queue.waiting), "number"],
    ["May start", (queue) => count(queue.may_start), "number"],
    ["Oldest", (queue) => (queue.oldest_ms ? length(queue.oldest_ms) : "–"), "number"],
    ["Later", (queue) => count(queue.scheduled), "number"],
    ["Failed for good", (queue) => count(queue.dead), "number"],
    ["Tenants", (queue) => count(queue.tenants), "number"],
    ["Most waiting", (queue) => limit(queue.max_depth), "number"],
    ["Most of a tenant", (queue) => limit(queue.tenant_running), "number"],
  ],
  actions: [
    { name: "Pause", when: (queue) => !queue.paused, run: (queue) => post(at("queues", queue.queue, "pause")).then(() => null) },
    { name: "Resume", when: (queue) => queue.paused, run: (queue) => post(at("queues", queue.queue, "resume")).then(() => null) },
    {
      name: "Cancel what waits",
      when: (queue) => queue.waiting + queue.scheduled > 0,
      ask: (queue) => t("Cancel the {} jobs of {} that wait?", count(queue.waiting + queue.scheduled), queue.queue),
      run: purge,
    },
  ],
  form: (rows) => rows.length > 0 && [
    choice("queue", "Queue", rows.flatMap(({ queue }) => (queue === undefined ? [] : [[queue, visible(queue)]]))),
    field("tenant", "Tenant (empty: each)", {}),
    choice("limit", "Limit", Object.entries(LIMITS).map(([limit, { name }]) => [limit, t(name)])),
    field("value", "At most (0: no limit; empty: not set)", { type: "number", min: 0, step: "any" }),
    h("button", {}, t("Set the limit")),
  ],
  submit: setLimit,
};

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
  const amount = value === "" ? null : unit === 1 ? Number(value) : Math.round(Number(value) * unit);
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

// A call cancels some hundred jobs, and says whether there are more.
async function purge(queue) {
  let cancelled = 0;
  let answer;
  do {
    answer = await post(at("queues", queue.queue, "purge"));
    cancelled += answer.jobs;
  } while (answer.more);
  return t("{} jobs are cancelled.", count(cancelled));
}

const workers = {
  title: "Workers",
  path: "/v1/workers",
  rows: (answer) => answer.workers,
  key: (worker) => worker.worker,
  columns: [
    ["Worker", (worker) => worker.worker],
    ["Host", (worker) => worker.host],
    ["State", (worker) => either(worker.draining, "drains", "works")],
    ["Running", (worker) => `${count(worker.running)} / ${count(worker.slots)}`, "number"],
    ["Queues", (worker) => worker.queues],
    ["Jobs", (worker) => worker.jobs?.map((one) => h("div", {}, job(one.id ?? one)))],
    ["Version", (worker) => worker.version],
    ["Started", (worker) => ago(worker.started_at)],
    ["Seen", (worker) => ago(worker.seen_at)],
  ],
  actions: [
    { name: "Drain", when: (worker) => !worker.draining, ask: (worker) => t("Let {} end its jobs and leave?", quoted(worker.worker)), run: (worker) => post(at("workers", worker.worker, "drain"), { drain: true }).then(() => null) },
    { name: "Keep", when: (worker) => worker.draining, run: (worker) => post(at("workers", worker.worker, "drain"), { drain: false }).then(() => null) },
  ],
};

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

const dead = {
  title: "Failed for good",
  path: "/v1/dead",
  rows: (answer) => answer.dead,
  key: (one) => one.id,
  columns: [
    ["Id", (one) => job(one.id)],
    ["Queue", (one) => one.queue],
    ["Tenant", (one) => one.tenant],
    ["Error", (one) => one.error_code],
    ["Attempts", (one) => count(one.attempts), "number"],
    ["Crashes", (one) => count(one.crashes), "number"],
    ["Submitted", (one) => ago(one.submitted_at)],
    ["Ended", (one) => ago(one.finished_at)],
  ],
  actions: [
    { name: "Run again", run: (one) => post(at("dead", one.id, "requeue")).then(() => null) },
    { name: "Remove", ask: (one) => t("Remove all that is kept of {}?", quoted(one.id)), run: (one) => send("DELETE", at("dead", one.id)).then(() => null) },
  ],
};

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
    ["Queue", (one) => one.queue],
    ["Running", (one) => count(one.running), "number"],
    ["Waiting", (one) => count(one.waiting), "number"],
    ["Later", (one) => count(one.scheduled), "number"],
    ["Tokens", (one) => count(one.tokens), "number"],
    ["Cost", (one) => money(one.cost), "number"],
    ["Jobs at once", (one) => limit(one.tenant_running), "number"],
    ["Jobs that wait", (one) => limit(one.tenant_depth), "number"],
    ["Starts in a time", starts, "number"],
    ["Budget", budget, "number"],
  ],
  actions: [],
};

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
    ["Cost a day", (key) => (key.cost ? money(key.cost) : "–"), "number"],
  ],
  actions: [
    { name: "Replace", ask: (key) => t("Replace {}? The old one works for another day.", quoted(key.key)), run: (key) => post(at("keys", key.key, "rotate")).then(secret) },
    { name: "Remove", ask: (key) => t("Remove {}? It ends at once.", quoted(key.key)), run: (key) => send("DELETE", at("keys", key.key)).then(() => null) },
  ],
  form: () => [
    field("tenant", "Tenant", { required: true }),
    field("name", "Name", {}),
    field("scopes", "Scopes", { value: "submit read" }),
    h("button", {}, t("Make a key")),
  ],
  submit: ({ tenant, name, scopes }) => post("/v1/keys", { tenant, scopes, ...(name && { name }) }).then(secret),
};

function field(name, label, props) {
  const id = `new-${name}`;
  return h("div", { key: name }, h("label", { for: id }, t(label)), h("input", { id, name, autocomplete: "off", ...props }));
}

function choice(name, label, options) {
  const id = `new-${name}`;
  const shown = options.map(([value, text]) => h("option", { value }, text));
  return h("div", { key: name }, h("label", { for: id }, t(label)), h("select", { id, name }, shown));
}

// The answer alone has it.
function secret(made) {
  return [t("Keep this key: nobody can show it again."), " ", h("code", {}, made.secret)];
}

const LISTS = { queues, workers, endpoints, sessions, dead, schedules, tenants, keys };
