// code.js - code with its words in colours, when it has been read; before that, and where it cannot be read, in one
// colour. No HTML is made.
import { h } from "./dom.js";
import { foreign } from "./format.js";
import { read } from "./read.js";

const MOST_DEPTH = 50; // of words in words; what is deeper has one colour

// { description, isOver: it stays so }. A carriage return ends a line for Python, but not for a browser: what comes
// behind it would stand in a comment.
export function coloured(text) {
  const code = linesOf(text);
  const { tokens, isOver } = read(code, "python");
  return { description: colours(code, tokens, true), isOver };
}

// tokens: of reader.js, or none. isRun: it is code that runs, of which all marks are shown.
export function colours(code, tokens, isRun = false) {
  return tokens ? tokens.map((one) => word(one, isRun, 0)) : foreign(linesOf(code), isRun);
}

function linesOf(text) {
  return text.replace(/\r\n?/g, "\n");
}

function word(token, isRun, depth) {
  if (typeof token === "string") return foreign(token, isRun);
  const { type, content } = token;
  const parts = Array.isArray(content) ? content : [content];
  return h("span", { class: `token ${type}` }, depth < MOST_DEPTH ? parts.map((one) => word(one, isRun, depth + 1)) : foreign(textOf(content), isRun));
}

function textOf(content) {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map(textOf).join("") : textOf(content.content);
}
