// approval.js - a call that waits for a person: all that would run, and the verdicts.
import { coloured } from "./code.js";
import { h } from "./dom.js";
import { fault, foreign, length } from "./format.js";
import { now } from "./time.js";
import { t } from "./words.js";

// Verdicts that need words: the label of the field, and the member that they are.
const WORDS = {
  reject: { name: "Reject", label: "Why, for the model", member: "note", rows: 2 },
  ask: { name: "Tell the model", label: "What the model is told", member: "text", rows: 3 },
  edit: { name: "Edit", label: "What runs in its place", member: "text", rows: 12 },
};
const AT_ONCE = [
  ["approve", "Approve"],
  ["skip", "Skip"],
  ["regenerate", "Try another reply"],
  ["abort", "End the job"],
];

// data: of the event job.waiting. seen: { verdict }, which the caller keeps, and forgets when
// it has been given; act(body): gives the verdict; changed(): seen is another one.
export function approval(data, seen, act, changed) {
  const asked = data.code ?? data.text ?? "";
  const left = data.until ? data.until - now() : 0;

  function choose(verdict) {
    seen.verdict = seen.verdict === verdict ? null : verdict;
    changed();
  }

  function submit(event) {
    event.preventDefault();
    const { words } = Object.fromEntries(new FormData(event.target));
    act({ verdict: seen.verdict, call: data.call, [WORDS[seen.verdict].member]: words });
  }

  return h(
    "section",
    // Each call has buttons of its own: who presses twice does not approve the next call, too.
    { class: "approval", "aria-label": t("A call that waits for you"), key: `approval ${data.call}` },
    h("h2", {}, t("May this run?")),
    h("p", {}, h("strong", {}, foreign(data.tool ?? "")), left > 0 && [" ", t("{} are left to decide.", length(left))]),
    h("pre", { class: "code" }, data.code ? coloured(asked) : foreign(asked)),
    fault(data.error?.message),
    h(
      "p",
      { key: "verdicts", class: "bar" },
      AT_ONCE.map(([verdict, name]) => h("button", { type: "button", key: verdict, class: verdict === "approve" && "main", onclick: () => act({ verdict, call: data.call }) }, t(name))),
      Object.entries(WORDS).map(([verdict, { name }]) => h("button", { type: "button", key: verdict, "aria-expanded": String(seen.verdict === verdict), onclick: () => choose(verdict) }, t(name))),
    ),
    seen.verdict && field(seen.verdict, asked, submit),
  );
}

function field(verdict, asked, submit) {
  const { name, label, rows } = WORDS[verdict];
  return h(
    "form",
    { class: "ask", key: verdict, onsubmit: submit },
    h("label", { for: "words" }, t(label)),
    h("textarea", { id: "words", name: "words", rows, class: verdict === "edit" && "code", value: verdict === "edit" ? asked : "", required: verdict !== "reject", spellcheck: "false", shown: (node) => node.focus() }),
    h("p", {}, h("button", { class: "main" }, t(name))),
  );
}
