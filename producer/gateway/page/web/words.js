// words.js - the page's words in English and Chinese. The English ones are the names, but for a few.

const LANGUAGES = { en: "English", zh: "中文" };
const STORED = "quern-language";
let chosen = stored() ?? (navigator.language.startsWith("zh") ? "zh" : "en");
let chinese = {};
// Names of the fleet that are no words.
const english = { in_progress: "in progress" };
export const missed = new Set(); // words that were to be shown in Chinese and are not there; for tests

function stored() {
  const language = localStorage.getItem(STORED);
  return language in LANGUAGES ? language : null;
}

export function languages() {
  return Object.entries(LANGUAGES);
}

export function language() {
  return chosen;
}

export async function choose(language) {
  await load(language);
  localStorage.setItem(STORED, language);
}

export async function load(language = chosen) {
  if (language === "zh") ({ chinese } = await import("./chinese.js"));
  chosen = language;
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

// "{}" stands for what is given, in its order.
export function t(text, ...given) {
  let at = 0;
  return wordsOf(text).replace(/\{\}/g, () => given[at++]);
}

function wordsOf(text) {
  if (chosen === "en") return Object.hasOwn(english, text) ? english[text] : text;
  if (Object.hasOwn(chinese, text)) return chinese[text];
  missed.add(text);
  return text;
}
