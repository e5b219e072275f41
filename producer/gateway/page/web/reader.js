// reader.js - the worker that reads Markdown and code: which words mean what. It may take long over a text that
// somebody wrote for that; read.js then ends it, and the page has gone on meanwhile.
//
// It takes { text, language }, null for Markdown, and answers { tokens, isOver }: null for what it cannot read. Of
// Markdown the first answer has no colours in its code yet.
import { marked } from "./marked.js";
import { Prism } from "./prism.js";

const NAMES = { py: "python", python3: "python", sh: "bash", shell: "bash" };
const MOST_BYTES = 50_000; // longer code has one colour

function coloursOf(code, language) {
  const name = language.toLowerCase();
  const grammar = Prism.languages[NAMES[name] ?? name];
  if (typeof grammar !== "object" || code.length > MOST_BYTES) return null;
  return Prism.tokenize(code, grammar);
}

function readMarkdown(text) {
  const tokens = marked.lexer(text);
  const codes = [];
  marked.walkTokens(tokens, (token) => {
    if (token.type === "code" && token.lang) codes.push(token);
    // Each of a hundred quotes in quotes has all the text once more.
    if (token.tokens || token.items) token.raw = token.text = undefined;
  });
  if (codes.length > 0) postMessage({ tokens, isOver: false });
  for (const code of codes) code.colours = coloursOf(code.text, code.lang);
  return tokens;
}

addEventListener("message", ({ data: { text, language } }) => {
  try {
    postMessage({ tokens: language === null ? readMarkdown(text) : coloursOf(text, language), isOver: true });
  } catch {
    postMessage({ tokens: null, isOver: true }); // nested too deeply
  }
});
postMessage("ready");
