// question.js - a question that somebody answers before something is done that cannot be taken back.
import { h } from "./dom.js";
import { foreign, visible } from "./format.js";
import { t } from "./words.js";

// text: may have names of others in it; yes: the words of the button that does it; typed, where it is
// given: what somebody types before, so that no slip of the finger does it: the focus goes to its field.
// Else it goes to the button that does nothing.
// When it is answered, the focus goes back to what had it before; Escape says no.
export function question(text, yes, run, forget, typed = null) {
  const accept = (event) => {
    const field = event.target.closest(".question").querySelector("input");
    if (!field || field.reportValidity()) leave(run);
  };
  const press = (event) => {
    if (event.key === "Escape") leave(forget);
    if (event.key === "Enter" && event.target.tagName === "INPUT") accept(event);
  };
  return h(
    "div",
    { key: "question", class: "question", role: "alertdialog", "aria-label": visible(text), onkeydown: press },
    h("p", {}, foreign(text)),
    typed !== null && typing(typed),
    h("button", { type: "button", onclick: accept }, yes),
    h("button", { type: "button", onclick: () => leave(forget), shown: typed === null && shown }, t("No")),
  );
}

function typing(text) {
  const field = { required: true, pattern: text, autocomplete: "off", inputmode: "numeric", size: 8, shown };
  return h("label", {}, t("Type {} to do it:", text), " ", h("input", field));
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
