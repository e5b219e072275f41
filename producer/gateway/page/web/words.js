// words.js - the page's words in English and Chinese. The English ones are the names.

const LANGUAGES = { en: "English", zh: "中文" };
const STORED = "quern-language";
let chosen = stored() ?? (navigator.language.startsWith("zh") ? "zh" : "en");
let chinese = {};

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
  chosen = language in LANGUAGES ? language : "en";
  localStorage.setItem(STORED, chosen);
  await load();
}

export async function load() {
  document.documentElement.lang = chosen === "zh" ? "zh-CN" : "en";
  if (chosen === "zh") ({ chinese } = await import("./chinese.js"));
}

// "{}" stands for what is given, in its order.
export function t(text, ...given) {
  const words = chosen === "zh" ? (chinese[text] ?? text) : text;
  let at = 0;
  return words.replace(/\{\}/g, () => given[at++]);
}
