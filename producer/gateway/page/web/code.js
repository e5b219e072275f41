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
  return { description: colours(code, tokens), isOver };
}

// tokens: of reader.js, or none.
export function colours(code, tokens) {
  return tokens ? tokens.map((one) => word(one, 0)) : foreign(linesOf(code));
}

function linesOf(text) {
  return text.replace(/\r\n?/g, "\n");
}

function word(token, depth) {
  if (typeof token === "string") return foreign(token);
  const { type, content } = token;
  const parts = Array.isArray(content) ? content : [content];
  return h("span", { class: `token ${type}` }, depth < MOST_DEPTH ? parts.map((one) => word(one, depth + 1)) : foreign(textOf(content)));
}

function textOf(content) {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map(textOf).join("") : textOf(content.content);
}
