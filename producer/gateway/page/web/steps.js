// steps.js - the steps of a conversation, as people know it from chats: text, code, output, pictures,
// files.
//
// shown: what the view keeps: { path, of the job; frame(name), setFrame(name, kind): how a part that may
// run is shown; data(name): the JSON of a part, undefined: not yet, null: it cannot be read;
// branch(turn): a link, or nothing }
import { address } from "./api.js";
import { isChart, readChart } from "./chart_data.js";
import { coloured } from "./code.js";
import { dataChart } from "./data_chart.js";
import { h } from "./dom.js";
import { clock, count, foreign, length, money, visible } from "./format.js";
import { long, longParts } from "./long.js";
import { grown, markdown } from "./markdown.js";
import { pageFrame } from "./page_frame.js";
import { language, t } from "./words.js";

// What was asked: the prompt, or the last text of the user before the model spoke.
export function askedOf({ facts, body }) {
  if (body?.prompt) return body.prompt;
  const messages = facts?.result?.messages ?? body?.messages ?? [];
  const first = messages.findIndex((message) => message.role === "assistant");
  const before = first < 0 ? messages : messages.slice(0, first);
  const asked = (body?.messages ?? before).findLast((message) => message.role === "user");
  const content = asked?.content ?? "";
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("\n");
}

export function drawAsked(text) {
  return text && h("article", { class: "asked", key: "asked" }, foreign(text));
}

const DRAWS = { turn: drawTurn, call: drawCall, note: drawNote };

export function draw(step, shown) {
  return DRAWS[step.kind](step, shown);
}

// What is long is described once, as long as its text is the same and as whole. describe() says whether the
// description is over, or more will be known of it.
const described = new WeakMap();

function once(step, text, describe) {
  const before = described.get(step);
  if (before?.text === text && before.isWhole === step.isWhole && before.language === language()) return before.description;
  const { description, isOver } = describe();
  if (isOver) described.set(step, { text, isWhole: step.isWhole, language: language(), description });
  return description;
}

function said(step, path) {
  const own = (name) => (/^[^/:]+\.(png|jpe?g|gif|webp)$/i.test(name) && picture({ name }, path)) || null;
  if (!step.isWhole) return { description: grown(step, step.text, own), isOver: false };
  return markdown(step, step.text, own);
}

function drawTurn(step, { path, branch }) {
  if (!step.text && !step.reasoning && !step.usage) return null;
  return h(
    "article",
    { key: step.key, class: "turn" },
    step.reasoning && h("details", {}, h("summary", {}, t("Reasoning")), h("pre", { class: "text" }, long(step.reasoning, `${step.key}-reasoning`))),
    step.text && once(step, step.text, () => said(step, path)),
    step.usage && h("p", { class: "note" }, took(step.usage)),
    step.isWhole && branch(step.turn),
  );
}

// What a reply of the model took.
function took({ name, input_tokens, output_tokens, uncounted_tokens, cost }) {
  const tokens = uncounted_tokens ? t("about {} tokens", count(uncounted_tokens)) : t("{} tokens read, {} written", count(input_tokens), count(output_tokens));
  return [foreign(name ?? ""), `: ${tokens}`, cost > 0 && `, ${money(cost)}`];
}

function drawCall(step, shown) {
  const { path } = shown;
  const { output } = step;
  return h(
    "article",
    { key: step.key, class: "call" },
    h("header", {}, h("strong", {}, foreign(step.tool ?? "")), " ", h("time", {}, clock(step.at)), " ", step.end ? length(step.end - step.at) : t("runs"), step.status && step.status !== "ok" && h("span", { class: "state failed" }, t(step.status))),
    step.code && h("pre", { class: "code" }, once(step, step.code, () => coloured(step.code))),
    step.text && h("pre", { class: "code" }, long(step.text, step.key)),
    output.length > 0 && h("pre", { class: "output" }, once(output.at(-1), output.at(-1).text, () => ({ description: longParts(output, step.key), isOver: true }))),
    step.images.map((image) => picture(image, path)),
    step.displays.map((display) => drawDisplay(display, step, shown)),
    step.files.length > 0 && h("ul", { class: "files" }, step.files.map((file) => h("li", { key: file.name }, h("a", { href: address(`${path}/files/${encodeURIComponent(file.name)}`), download: true }, foreign(file.name))))),
  );
}

function picture(image, path) {
  return h("img", { key: image.name, src: `${path}/images/${encodeURIComponent(image.name)}`, alt: visible(image.name), loading: "lazy", width: image.width, height: image.height });
}

// What a cell shows, in the first form of it that this page can show: pictures, else text. A figure is
// an image of the job, too, and stands there already. HTML is shown in a frame when somebody asks.
function drawDisplay(display, step, shown) {
  const parts = display.parts ?? [];
  const isShown = (part) => step.images.some((image) => image.name === part.name);
  const pictures = parts.filter((part) => part.mime?.startsWith("image/"));
  if (pictures.length > 0) return pictures.filter((part) => !isShown(part)).map((part) => picture(part, shown.path));
  const charts = parts.filter((part) => isChart(part.mime)).map((part) => drawChart(part, shown)).filter(Boolean);
  if (charts.length > 0) return charts;
  const pages = parts.filter((part) => part.mime === "text/html");
  return [display.text && h("pre", { class: "output" }, long(display.text, step.key)), pages.map((part) => drawPage(part, shown))];
}

// Nothing, when it is a chart that this page cannot draw.
function drawChart(part, { data }) {
  const json = data(part.name);
  if (json === undefined) return h("p", { key: part.name, class: "note" }, t("Loading…"));
  if (json === null) return null;
  return once(json, part.mime, () => {
    const chart = readChart(part.mime, json);
    return { description: chart && dataChart(chart), isOver: true };
  });
}

function drawPage(part, { path, frame, setFrame }) {
  const kind = frame(part.name);
  const button = (one, name) => h("button", { type: "button", "aria-pressed": String(kind === one), onclick: () => setFrame(part.name, one) }, t(name));
  return h(
    "div",
    { class: "page", key: part.name },
    h("p", { class: "bar" }, button("plain", "Show the page"), button("scripts", "Show it with scripts"), h("span", { class: "note" }, t("Its scripts can send what they see to other hosts."))),
    kind && pageFrame(`${path}/images/${encodeURIComponent(part.name)}`, kind),
  );
}

function drawNote(step) {
  return h("p", { key: step.key, class: "note" }, `${clock(step.at)} `, foreign(step.type), step.data.error?.message && [": ", foreign(step.data.error.message)]);
}
