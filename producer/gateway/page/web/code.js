// code.js - code with its words in colours. Prism says what is what; no HTML is made.
import { h } from "./dom.js";
import { foreign } from "./format.js";
import { Prism } from "./prism.js";

const MOST_BYTES = 50_000; // longer code stands there in one colour
const NAMES = { py: "python", python3: "python", sh: "bash", shell: "bash" };

// A carriage return ends a line for Python, but not for a browser: what comes behind it would stand in a comment.
export function coloured(text, language = "python") {
  const code = text.replace(/\r\n?/g, "\n");
  const name = (language ?? "").toLowerCase();
  const grammar = Prism.languages[NAMES[name] ?? name];
  if (typeof grammar !== "object" || code.length > MOST_BYTES) return foreign(code);
  return described(Prism.tokenize(code, grammar));
}

function described(content) {
  if (typeof content === "string") return foreign(content);
  if (Array.isArray(content)) return content.map(described);
  return h("span", { class: `token ${content.type}` }, described(content.content));
}
