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
  ["skip", "Skip"],
  ["regenerate", "Try another reply"],
];

// data: of the event job.waiting. seen: { verdict, words: by call and verdict }, which the caller keeps, and forgets when
// it has been given; typed(): there are other words; act(body): gives the verdict; changed(): seen is another one.
export function approval(data, seen, act, typed, changed) {
  const asked = data.code ?? data.text ?? "";
  const left = data.until ? data.until - now() : 0;

  function choose(verdict) {
    seen.verdict = seen.verdict === verdict ? null : verdict;
    changed();
  }

  const atOnce = (verdict, name, kind) => h("button", { type: "button", key: verdict, class: kind, onclick: () => act({ verdict, call: data.call }) }, t(name));

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
    h("pre", { class: "code" }, data.code ? coloured(asked).description : foreign(asked)),
    fault(data.error?.message),
    h(
      "p",
      { key: "verdicts", class: "bar" },
      atOnce("approve", "Approve", "main"),
      Object.entries(WORDS).map(([verdict, { name }]) => h("button", { type: "button", key: verdict, "aria-expanded": String(seen.verdict === verdict), onclick: () => choose(verdict) }, t(name))),
      AT_ONCE.map(([verdict, name]) => atOnce(verdict, name)),
      atOnce("abort", "End the job", "apart"),
    ),
    seen.verdict && field(seen.verdict, (seen.words[data.call] ??= {}), asked, submit, typed),
  );
}

// Words that were typed for a call on which somebody else has decided meanwhile.
export function decided({ reason, words }) {
  return h(
    "section",
    { key: "decided", class: "told", role: "status" },
    h("p", {}, t("Somebody else has decided on this call: {}.", t(reason))),
    words && [h("p", {}, t("Your words were not sent:")), h("pre", {}, foreign(words))],
  );
}

function field(verdict, words, asked, submit, typed) {
  const type = (event) => {
    words[verdict] = event.target.value;
    typed();
  };
  const { name, label, rows } = WORDS[verdict];
  const text = words[verdict] ?? (verdict === "edit" ? asked : "");
  return h(
    "form",
    { class: "ask", key: verdict, onsubmit: submit },
    h("label", { for: "words" }, t(label)),
    h("textarea", { id: "words", name: "words", rows, class: verdict === "edit" && "code", value: text, oninput: type, required: verdict !== "reject", spellcheck: "false", shown: (node) => node.focus() }),
    h("p", {}, h("button", { class: "main" }, t(name))),
  );
}
