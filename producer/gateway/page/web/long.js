// long.js - a text that may be very long: its end, and all of it as a file.
import { h } from "./dom.js";
import { count, foreign } from "./format.js";
import { keep } from "./save.js";
import { t } from "./words.js";

const MOST = 100_000; // characters that are shown
const MOST_PARTS = 1000;

export function long(text, name) {
  return longParts([{ text }], name);
}

// parts: [{ text, stream }], as a call has printed them.
export function longParts(parts, name) {
  const shown = [];
  let left = MOST;
  for (let i = parts.length - 1; i >= 0 && left > 0 && shown.length < MOST_PARTS; i--) {
    const { text, stream } = parts[i];
    shown.unshift(h("span", { class: stream }, foreign(endOf(text, left))));
    left -= text.length;
  }
  if (left >= 0 && shown.length === parts.length) return shown;
  const save = () => keep(`${name}.txt`, "text/plain", parts.map((part) => part.text).join(""));
  return [
    h("span", { class: "bar" }, t("This is the end of {} characters.", count(parts.reduce((all, part) => all + part.text.length, 0))), h("button", { type: "button", onclick: save }, t("Save all of it"))),
    shown,
  ];
}

// Not the second half of a character.
function endOf(text, most) {
  return text.length <= most ? text : text.slice(-most).replace(/^[\udc00-\udfff]/, "");
}
