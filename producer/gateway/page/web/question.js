// question.js - a question that somebody answers before something is done that cannot be taken back.
import { h } from "./dom.js";
import { foreign } from "./format.js";
import { t } from "./words.js";

// text: may have names of others in it; yes: the words of the button that does it; typed, where it is
// given: what somebody types before, so that no slip of the finger does it.
// When it is answered, the focus goes back to what had it before; Escape says no.
export function question(text, yes, run, forget, typed = null) {
  const answer = (event) => {
    event.preventDefault();
    leave(run);
  };
  const field = { required: true, autocomplete: "off", inputmode: "numeric", size: 8 };
  return h(
    "div",
    { key: "question", class: "question", role: "alertdialog", "aria-label": text, onkeydown: (event) => event.key === "Escape" && leave(forget) },
    h("p", {}, foreign(text)),
    h(
      "form",
      { onsubmit: answer },
      typed !== null && h("label", {}, t("Type {} to do it:", typed), " ", h("input", { ...field, pattern: typed, shown })),
      h("button", { shown: typed === null && shown }, yes),
      h("button", { type: "button", onclick: () => leave(forget) }, t("No")),
    ),
  );
}

let before = null; // had the focus when the question came

function shown(first) {
  before = document.activeElement;
  first.focus();
}

function leave(act) {
  if (before?.isConnected) before.focus();
  act();
}
