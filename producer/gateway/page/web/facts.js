// facts.js - a job in numbers: its facts, what its models have cost, why it is where it is, how it ended.
import { hasEnded } from "./conversation.js";
import { h } from "./dom.js";
import { ago, count, foreign, length, money } from "./format.js";
import { state } from "./jobs.js";
import { t } from "./words.js";

export function head(facts, conversation) {
  const result = facts.result ?? {};
  const ended = facts.finished_at || hasEnded(conversation);
  const rows = [
    ["State", state(ended ? (facts.state ?? conversation.state) : conversation.state)],
    ["Queue", facts.queue && jobsOf({ queue: facts.queue }, facts.queue)],
    ["Session", facts.session && jobsOf({ session: facts.session }, facts.session)],
    ["Model", result.model && foreign(result.model)],
    ["Submitted", facts.submitted_at && ago(facts.submitted_at)],
    ["Waited", facts.started_at && length(facts.started_at - facts.submitted_at)],
    ["Ran", facts.finished_at && facts.started_at && length(facts.finished_at - facts.started_at)],
    ["Attempts", facts.attempts && count(facts.attempts)],
    ["Tokens", result.usage && count((result.usage.input_tokens ?? 0) + (result.usage.output_tokens ?? 0))],
    ["Cost", result.usage?.cost && money(result.usage.cost)],
    ["Error", facts.error_code && foreign(facts.error_code)],
  ];
  const names = rows.flatMap(([name]) => [name, t(name)]);
  return h(
    "dl",
    { class: "facts" },
    rows.filter(([, value]) => value).map(([name, value]) => fact(name, t(name), value)),
    metadata(result.metadata ?? {}).map(([name, value]) =>
      fact(`metadata ${name}`, [names.includes(name) && `${t("metadata")} `, foreign(name)], value),
    ),
  );
}

function jobsOf(filter, text) {
  return h("a", { href: `#/jobs?${new URLSearchParams(filter)}` }, foreign(text));
}

// Lists find jobs by a model and metadata that have 240 bytes together: what may be beyond them leads nowhere.
function metadata(all) {
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
  return h(
    "details",
    { key: "usage" },
    h("summary", {}, t("Tokens and cost")),
    h(
      "table",
      { class: "usage" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("Model")), columns.map(([name]) => h("th", { scope: "col", class: "number" }, t(name))), h("th", { scope: "col", class: "number" }, t("Cost")))),
      h("tbody", {}, all.models.map((model) => h("tr", { key: model.name }, h("th", { scope: "row" }, foreign(model.name ?? "")), columns.map(([, member]) => h("td", { class: "number" }, count(model[member]))), h("td", { class: "number" }, money(model.cost))))),
    ),
  );
}

// What quern replay says: whether the job would go the same way today.
export function replayed({ equal, steps, requests, first_difference: other }) {
  if (equal) return h("p", { class: "told", role: "status" }, t("Replayed: equal in {} steps, {} requests to a model among them.", count(steps), count(requests)));
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
