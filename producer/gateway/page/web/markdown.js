// markdown.js - what a model wrote in Markdown, as elements. marked says what is what; no HTML is made:
// tags stand there as text, links lead to http, https and mailto alone, and pictures of other hosts are
// links, since a request for one would tell that host what was written.
import { coloured } from "./code.js";
import { h } from "./dom.js";
import { foreign } from "./format.js";
import { long } from "./long.js";
import { marked } from "./marked.js";

const MOST_BYTES = 200_000; // longer text is not read

// picture(name): an element for a picture of the job itself, or null.
export function markdown(text, picture) {
  if (text.length > MOST_BYTES) return plain(text);
  try {
    return h("div", { class: "markdown" }, blocks(marked.lexer(text), picture));
  } catch {
    return plain(text); // nested too deeply
  }
}

function plain(text) {
  return h("div", { class: "text" }, long(text, "text"));
}

const BLOCKS = {
  heading: (token, picture) => h(`h${Math.min(token.depth + 2, 6)}`, {}, inline(token.tokens, picture)),
  paragraph: (token, picture) => h("p", {}, inline(token.tokens, picture)),
  text: (token, picture) => (token.tokens ? inline(token.tokens, picture) : foreign(token.raw)),
  code: (token) => h("pre", { class: "code" }, coloured(token.text, token.lang)),
  blockquote: (token, picture) => h("blockquote", {}, blocks(token.tokens, picture)),
  list: (token, picture) => h(token.ordered ? "ol" : "ul", { start: token.ordered && token.start !== 1 && token.start }, token.items.map((item) => listItem(item, picture))),
  table: (token, picture) => table(token, picture),
  hr: () => h("hr", {}),
  html: (token) => h("p", {}, foreign(token.raw)),
  space: () => null,
  def: () => null,
};

const MOST_DEPTH = 200; // what is nested more deeply could be described, but not drawn
let depth = 0;

function blocks(tokens, picture) {
  if (depth >= MOST_DEPTH) throw new RangeError("nested too deeply");
  depth++;
  try {
    return tokens.map((token) => (BLOCKS[token.type] ? BLOCKS[token.type](token, picture) : foreign(token.raw)));
  } finally {
    depth--;
  }
}

function listItem(item, picture) {
  return h("li", {}, item.task && (item.checked ? "☑ " : "☐ "), blocks(item.tokens, picture));
}

function table(token, picture) {
  const cell = (tag, one, i) => h(tag, { class: token.align[i] === "right" ? "number" : null }, inline(one.tokens, picture));
  return h(
    "div",
    { class: "scroll" },
    h("table", {}, h("thead", {}, h("tr", {}, token.header.map((one, i) => cell(one.text ? "th" : "td", one, i)))), h("tbody", {}, token.rows.map((row) => h("tr", {}, row.map((one, i) => cell("td", one, i)))))),
  );
}

const INLINE = {
  strong: (token, picture) => h("strong", {}, inline(token.tokens, picture)),
  em: (token, picture) => h("em", {}, inline(token.tokens, picture)),
  del: (token, picture) => h("del", {}, inline(token.tokens, picture)),
  codespan: (token) => h("code", {}, foreign(unescaped(token.text))),
  br: () => h("br", {}),
  escape: (token) => foreign(token.raw.slice(1)),
  link: (token, picture) => link(token.href, inline(token.tokens, picture)),
  image: (token, picture) => picture?.(token.href) ?? link(token.href, foreign(token.text ? unescaped(token.text) : token.href)),
};

function inline(tokens = [], picture) {
  return tokens.map((token) => (INLINE[token.type] ? INLINE[token.type](token, picture) : foreign(token.raw)));
}

const SAFE = ["http:", "https:", "mailto:"];

function link(href, content) {
  const url = URL.canParse?.(href) ? new URL(href) : null;
  if (!url || !SAFE.includes(url.protocol)) return [content, " (", foreign(href), ")"];
  return h("a", { href: url.href, rel: "noopener noreferrer nofollow", target: "_blank", title: url.href }, content);
}

// marked writes these five for HTML.
const ENTITIES = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&" };

function unescaped(text) {
  return text.replace(/&(?:lt|gt|quot|#39|amp);/g, (one) => ENTITIES[one]);
}
