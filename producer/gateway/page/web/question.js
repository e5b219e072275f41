// question.js - a question that somebody answers before something is done that cannot be taken back.
import { h } from "./dom.js";
import { foreign } from "./format.js";
import { t } from "./words.js";

// text: may have names of others in it; yes: the words of the button that does it.
export function question(text, yes, run, forget) {
  return h(
    "div",
    { class: "question", role: "alertdialog", "aria-label": text },
    h("p", {}, foreign(text)),
    h("button", { type: "button", onclick: run, shown: (node) => node.focus() }, yes),
    h("button", { type: "button", onclick: forget }, t("No")),
  );
}
