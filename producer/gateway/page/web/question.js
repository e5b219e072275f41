// question.js - a question that somebody answers before something is done that cannot be taken back.
import { h } from "./dom.js";
import { foreign, visible } from "./format.js";
import { t } from "./words.js";

// text: may have names of others in it; yes: the words of the button that does it.
// The focus goes to the button that does nothing. When it is answered, the focus goes back to what had it before; Escape says no.
export function question(text, yes, run, forget) {
  return h(
    "div",
    { key: "question", class: "question", role: "alertdialog", "aria-label": visible(text), onkeydown: (event) => event.key === "Escape" && leave(forget) },
    h("p", {}, foreign(text)),
    h("button", { type: "button", onclick: () => leave(run) }, yes),
    h("button", { type: "button", onclick: () => leave(forget), shown }, t("No")),
  );
}

let before = null; // had the focus when the question came

function shown(no) {
  before = document.activeElement;
  no.focus();
}

function leave(act) {
  if (before?.isConnected) before.focus();
  act();
}
