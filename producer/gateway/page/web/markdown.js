// markdown.js - what a model wrote in Markdown, as elements, when it has been read (read.js); plain before that, and
// where it cannot be read. No HTML is made: tags stand there as text, links lead to http, https and mailto alone, and
// pictures of other hosts are links, since a request for one would tell that host what was written.
import { colours } from "./code.js";
import { h } from "./dom.js";
import { foreign } from "./format.js";
import { long } from "./long.js";
import { read, readAnew } from "./read.js";

const MOST_BYTES = 200_000; // longer text is not read
const MOST_OPEN = 5000; // of a text that grows: a longer block is read when it has ended

// { description, isOver: it stays so }. owner: an object that the text is of; picture(name): an element for a picture
// of the job itself, or null.
export function markdown(owner, text, picture) {
  if (text.length > MOST_BYTES) return { description: plain(text), isOver: true };
  const { tokens, isOver } = read(text, null);
  if (tokens === undefined) return { description: growing.has(owner) ? grown(owner, text, picture) : plain(text, " unread"), isOver };
  return { description: tokens ? drawn(tokens, text, picture) : plain(text), isOver };
}

function drawn(tokens, text, picture) {
  try {
    return h("div", { class: "markdown" }, blocks(tokens, picture));
  } catch {
    return plain(text); // nested too deeply
  }
}

export function plain(text, more = "") {
  return h("div", { class: `text${more}` }, long(text, "text"));
}

// --- a text that grows: its blocks that have ended are read once, the open one as it goes

// By owner: { text, pieces: [{ text, isOver, description }], from: where the open block begins, reading: of it }
const growing = new WeakMap();

export function grown(owner, text, picture) {
  let one = growing.get(owner);
  if (!one || !text.startsWith(one.text)) growing.set(owner, (one = { pieces: [], from: 0, reading: null }));
  one.text = text;
  const open = openBlock(text, one.from);
  if (open > one.from) {
    one.pieces.push({ text: text.slice(one.from, open), isOver: false });
    one.from = open;
    one.reading = null;
  }
  return h("div", { class: "grown" }, one.pieces.map((piece) => pieceOf(piece, picture)), drawOpen(one, text.slice(one.from), picture));
}

// Where the last block begins that is not surely over: behind an empty line that stands in no fence.
function openBlock(text, from) {
  let open = from;
  let at = from;
  let fence = null;
  for (const line of text.slice(from).split("\n")) {
    at += line.length + 1;
    const mark = line.match(/^ *(`{3,}|~{3,})/)?.[1];
    if (!fence) fence = mark ?? null;
    else if (mark && mark[0] === fence[0] && mark.length >= fence.length) fence = null;
    if (!fence && line.trim() === "" && at <= text.length) open = at;
  }
  return open;
}

function pieceOf(piece, picture) {
  if (!piece.isOver) Object.assign(piece, markdown(piece, piece.text, picture));
  return piece.description;
}

// What has been read of it, and behind that what has not.
function drawOpen(one, text, picture) {
  if (text === "") return null;
  if (text.length > MOST_OPEN) return plain(text);
  if (!one.reading || (one.reading.isOver && one.reading.text !== text)) {
    if (one.reading?.tokens) one.known = one.reading;
    one.reading = readAnew(text, null);
  }
  const known = one.reading.tokens ? one.reading : one.known;
  if (!known || !text.startsWith(known.text)) return plain(text);
  const rest = text.slice(known.text.length);
  return [drawn(known.tokens, known.text, picture), rest && plain(rest)];
}

// --- tokens as elements

const BLOCKS = {
  heading: (token, picture) => h(`h${Math.min(token.depth + 2, 6)}`, {}, inline(token.tokens, picture)),
  paragraph: (token, picture) => h("p", {}, inline(token.tokens, picture)),
  text: (token, picture) => (token.tokens ? inline(token.tokens, picture) : foreign(token.raw)),
  code: (token) => h("pre", { class: "code" }, colours(token.text, token.colours)),
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
