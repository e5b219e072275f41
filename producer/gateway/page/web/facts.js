// facts.js - a job in numbers: its facts, what its models have cost, why it is where it is, how it ended.
import { hasEnded } from "./conversation.js";
import { h } from "./dom.js";
import { count, foreign, length, moment, money } from "./format.js";
import { state } from "./jobs.js";
import { t } from "./words.js";

// tenant: of who looks; links to jobs of another one name it.
export function head(facts, conversation, tenant) {
  const result = facts.result ?? {};
  const ended = facts.finished_at || hasEnded(conversation);
  // Events are newer than the facts, but tell neither that a job is scheduled nor what came before them.
  const isOld = !ended && conversation.steps.length > 0 && !(facts.state === "scheduled" && conversation.wait);
  const other = facts.tenant && facts.tenant !== tenant ? { tenant: facts.tenant } : {};
  const jobsOf = (filter, text) => h("a", { href: `#/jobs?${new URLSearchParams({ ...filter, ...other })}` }, foreign(text));
  const rows = [
    ["Tenant", facts.tenant && jobsOf({}, facts.tenant)],
    ["State", state(isOld ? conversation.state : (facts.state ?? conversation.state))],
    ["Queue", facts.queue && jobsOf({ queue: facts.queue }, facts.queue)],
    ["Session", facts.session && jobsOf({ session: facts.session }, facts.session)],
    ["Model", result.model && foreign(result.model)],
    ["Submitted", facts.submitted_at && moment(facts.submitted_at)],
    ["Waited", facts.started_at && length(facts.started_at - facts.submitted_at)],
    ["Ran", facts.finished_at && facts.started_at && length(facts.finished_at - facts.started_at)],
    ["Ended", facts.finished_at && moment(facts.finished_at)],
    ["Attempts", facts.attempts && count(facts.attempts)],
    ["Tokens", result.usage && tokens(result.usage)],
    ["Cost", result.usage?.cost && money(result.usage.cost)],
    ["Error", facts.error_code && foreign(facts.error_code)],
  ];
  const names = rows.flatMap(([name]) => [name, t(name)]);
  return h(
    "dl",
    { class: "facts" },
    rows.filter(([, value]) => value).map(([name, value]) => fact(name, t(name), value)),
    metadata(result.metadata ?? {}, jobsOf).map(([name, value]) =>
      fact(`metadata ${name}`, [names.includes(name) && `${t("metadata")} `, foreign(name)], value),
    ),
  );
}

// With what is only estimated, of replies that no endpoint has counted.
function tokens({ input_tokens = 0, output_tokens = 0, uncounted_tokens = 0 }) {
  const all = count(input_tokens + output_tokens + uncounted_tokens);
  return uncounted_tokens > 0 ? t("about {}", all) : all;
}

// Lists find jobs by a model and metadata that have 240 bytes together: what may be beyond them leads nowhere.
function metadata(all, jobsOf) {
  let room = 180;
  return Object.entries(all).map(([name, value]) => {
    const pair = `${name}=${value}`;
    room -= new TextEncoder().encode(pair).length + 1;
    return [name, room > 0 ? jobsOf({ metadata: pair }, String(value)) : foreign(String(value))];
  });
}

function fact(key, name, value) {
  return h("div", { key }, h("dt", {}, name), h("dd", {}, value));
}

// What each model has cost.
export function usage(all) {
  if (!all?.models?.length) return null;
  const columns = [["Requests", "model_calls"], ["Input", "input_tokens"], ["Output", "output_tokens"], ["Cached", "cached_tokens"]];
  if (all.models.some((model) => model.uncounted_tokens > 0)) columns.push(["Estimated", "uncounted_tokens"]);
  return h(
    "details",
    { key: "usage" },
    h("summary", {}, t("Tokens and cost")),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("Tokens and cost") }, h(
      "table",
      { class: "usage" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("Model")), columns.map(([name]) => h("th", { scope: "col", class: "number" }, t(name))), h("th", { scope: "col", class: "number" }, t("Cost")))),
      h("tbody", {}, all.models.map((model) => h("tr", { key: model.name }, h("th", { scope: "row" }, foreign(model.name ?? "")), columns.map(([, member]) => h("td", { class: "number" }, count(model[member] ?? 0))), h("td", { class: "number" }, money(model.cost))))),
    )),
  );
}

// What quern replay says: whether the job would go the same way today.
export function replayed({ equal, steps, requests, first_difference: other }) {
  if (equal) return h("p", { class: "told", role: "status" }, t("Replayed: equal. Steps: {}; requests to a model among them: {}.", count(steps), count(requests)));
  return h(
    "section",
    { class: "why", role: "status" },
    h("h2", {}, t("Replayed: step {}, turn {}, goes another way today", count(other.step), count(other.turn))),
    h("pre", { class: "code" }, foreign(other.diff)),
  );
}

export function reasons({ why }) {
  return why && h("section", { class: "why" }, h("h2", {}, t("Why it is where it is")), h("p", {}, foreign(why)));
}

export function ended(last, facts) {
  const error = last.error ?? facts?.result?.error;
  return error?.message && h("p", { class: "fault" }, foreign(`${error.code}: ${error.message}`));
}
