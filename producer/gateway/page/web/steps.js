// steps.js - the steps of a conversation, as people know it from chats: text, code, output, pictures,
// files.
//
// shown: what the view keeps: { path, of the job; frame(name), setFrame(name, kind): how a part that may
// run is shown; data(name): the JSON of a part, undefined: not yet, null: it cannot be read;
// isGone(name), setGone(name), gone: of
// pictures that are not kept any more, and how many they are; branch(turn): a link, or nothing;
// isPlain: without colours and forms }
import { address } from "./api.js";
import { isChart, readChart } from "./chart_data.js";
import { coloured, colours } from "./code.js";
import { isCut } from "./conversation.js";
import { dataChart } from "./data_chart.js";
import { h } from "./dom.js";
import { bytes, clock, count, date, foreign, length, money, visible } from "./format.js";
import { textOf } from "./kept.js";
import { long, longParts } from "./long.js";
import { grown, markdown, plain } from "./markdown.js";
import { pageFrame } from "./page_frame.js";
import { language, t } from "./words.js";

// What was asked: the prompt, or the last text of the user before the model spoke.
export function askedOf({ facts, body }) {
  if (body?.prompt) return body.prompt;
  const messages = facts?.result?.messages ?? body?.messages ?? [];
  const first = messages.findIndex((message) => message.role === "assistant");
  const before = first < 0 ? messages : messages.slice(0, first);
  const asked = (body?.messages ?? before).findLast((message) => message.role === "user");
  return textOf(asked?.content);
}

// files: that were given with it.
export function drawAsked(text, files = []) {
  if (!text && files.length === 0) return null;
  return h("article", { class: "asked", key: "asked" }, h("p", { class: "by" }, text ? t("Question") : t("Files")), foreign(text), drawGiven(files));
}

function drawGiven(files) {
  return files.length > 0 && h("ul", { class: "files" }, files.map((file) => h("li", { key: file.name }, foreign(file.name), " ", bytes(file.bytes ?? 0))));
}

// Of all steps that are shown. One text alone can have eighty thousand.
const MOST_ELEMENTS = 50_000;

// What had no room: by step, { text, size }.
const large = new WeakMap();

// The last ones have their colours and forms; of those before, what has no room is plain.
export function drawAll(steps, shown) {
  let left = MOST_ELEMENTS;
  const drawn = steps.toReversed().map((step) => {
    const one = drawWithin(step, shown, left);
    left = Math.max(left - sizeOf(one), 0);
    return one;
  });
  return drawn.reverse();
}

function drawWithin(step, shown, room) {
  const text = step.code ?? step.text;
  const before = large.get(step);
  const isKnown = before !== undefined && before.text === text && before.size > room;
  const one = isKnown ? null : draw(step, shown);
  const size = sizeOf(one);
  if (!isKnown && size <= room) return one;
  if (!isKnown) {
    large.set(step, { text, size });
    described.delete(step);
  }
  return draw(step, { ...shown, isPlain: true });
}

const sizes = new WeakMap();

// Elements of a description.
function sizeOf(one) {
  if (one === null || typeof one !== "object") return 0;
  if (!sizes.has(one)) sizes.set(one, one.children.reduce((all, child) => all + sizeOf(child), 1));
  return sizes.get(one);
}

const DRAWS = { turn: drawTurn, call: drawCall, note: drawNote, asked: drawSaid, made: drawMade };

export function draw(step, shown) {
  return DRAWS[step.kind](step, shown);
}

// What is long is described once, as long as its text is the same and as whole. describe() says whether the
// description is over, or more will be known of it.
const described = new WeakMap();

function once(step, text, describe, version = 0) {
  const before = described.get(step);
  const isSame = before?.text === text && before.isWhole === step.isWhole && before.version === version;
  if (isSame && before.language === language()) return before.description;
  const { description, isOver } = describe();
  if (isOver) described.set(step, { text, isWhole: step.isWhole, version, language: language(), description });
  return description;
}

function said(step, shown) {
  const own = (name) => (/^[^/:]+\.(png|jpe?g|gif|webp)$/i.test(name) && picture({ name }, shown)) || null;
  if (!step.isWhole) return { description: grown(step, step.text, own), isOver: false };
  return markdown(step, step.text, own);
}

// What was said before, and by the system.
function drawSaid(step) {
  if (step.role === "user") return h("article", { key: step.key, class: "asked" }, h("p", { class: "by" }, t("Question")), long(step.text, step.key), drawGiven(step.files ?? []));
  return h("details", { key: step.key }, h("summary", {}, foreign(step.role ?? "")), h("pre", { class: "text" }, long(step.text, step.key)));
}

// By no call that is known.
function drawMade(step, shown) {
  return h("article", { key: step.key, class: "call" }, step.images.map((image) => picture(image, shown)), drawFiles(step.files, shown));
}

// A line along the whole of it is of the page: no text can draw one beside itself.
function drawTurn(step, shown) {
  const branch = step.isWhole && shown.branch(step.turn);
  if (!step.text && !step.reasoning && !step.usage && !branch) return null;
  return h(
    "article",
    { key: step.key, class: "turn" },
    h("p", { class: "by" }, t("Model")),
    step.reasoning && h("details", {}, h("summary", {}, t("Reasoning")), h("pre", { class: "text" }, long(step.reasoning, `${step.key}-reasoning`))),
    step.text && (shown.isPlain ? plain(step.text) : once(step, step.text, () => said(step, shown), shown.gone)),
    cutNote(step),
    step.usage && h("p", { class: "note" }, used(step.usage)),
    branch,
  );
}

// What a reply of the model took.
function used({ name, input_tokens, output_tokens, uncounted_tokens, cost }) {
  const tokens = uncounted_tokens ? t("about {} tokens", count(uncounted_tokens)) : t("{} tokens read, {} written", count(input_tokens), count(output_tokens));
  return [foreign(name ?? ""), `: ${tokens}`, cost > 0 && `, ${money(cost)}`];
}

function cutNote(step) {
  return isCut(step) && h("p", { class: "note cut" }, t("This may be only its beginning: events keep no more."));
}

function drawCall(step, shown) {
  const { output } = step;
  return h(
    "article",
    { key: step.key, class: "call" },
    h("header", {}, h("strong", {}, foreign(step.tool ?? "")), " ", step.at && [h("time", { datetime: new Date(step.at).toISOString(), title: date(step.at) }, clock(step.at)), " "], took(step), " ", step.status && step.status !== "ok" && h("span", { class: "state failed" }, t(step.status))),
    step.code && h("pre", { class: "code" }, shown.isPlain ? colours(step.code, null, true) : once(step, step.code, () => coloured(step.code))),
    step.text && h("pre", { class: "code" }, long(step.text, step.key)),
    cutNote(step),
    output.length > 0 && h("pre", { class: "output" }, once(output.at(-1), output.at(-1).text, () => ({ description: longParts(output, step.key), isOver: true }))),
    step.value && h("pre", { class: "value" }, long(step.value, step.key)),
    step.traceback && h("pre", { class: "value stderr", tabindex: "0" }, long(step.traceback, step.key)),
    step.images.map((image) => picture(image, shown)),
    step.displays.map((display) => drawDisplay(display, step, shown)),
    drawFiles(step.files, shown),
  );
}

function took({ at, end, ms }) {
  if (at) return end ? length(end - at) : t("runs");
  return ms > 0 && length(ms);
}

function drawFiles(files, { path }) {
  return files.length > 0 && h("ul", { class: "files" }, files.map((file) => h("li", { key: file.name }, h("a", { href: address(`${path}/files/${encodeURIComponent(file.name)}`), download: true }, foreign(file.name)))));
}

function picture({ name, width, height }, { path, isGone, setGone }) {
  if (isGone(name)) return h("p", { key: `${name} gone`, class: "note" }, foreign(name), ": ", t("It is not kept any more."));
  return h("img", { key: name, src: `${path}/images/${encodeURIComponent(name)}`, alt: visible(name), loading: "lazy", width, height, onerror: () => setGone(name) });
}

// What a cell shows, in the first form of it that this page can show: pictures, else text. A figure is
// an image of the job, too, and stands there already. HTML is shown in a frame when somebody asks.
function drawDisplay(display, step, shown) {
  const parts = display.parts ?? [];
  const isShown = (part) => step.images.some((image) => image.name === part.name);
  const pictures = parts.filter((part) => part.mime?.startsWith("image/"));
  if (pictures.length > 0) return pictures.filter((part) => !isShown(part)).map((part) => picture(part, shown));
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
  const src = `${path}/images/${encodeURIComponent(part.name)}`;
  const button = (one, name, more) => h("button", { type: "button", onclick: () => setFrame(part.name, one), ...more }, t(name));
  return h(
    "div",
    { class: "page", key: part.name },
    h("p", { class: "bar" }, button("plain", "Show the page", { "aria-pressed": String(kind === "plain") }), button("scripts", "Show it with scripts", { "aria-haspopup": "dialog" }), h("span", { class: "note" }, t("Its scripts can send what they see to other hosts: it is shown alone, over the page."))),
    kind === "plain" && pageFrame(src, kind),
    kind === "scripts" && alone(pageFrame(src, kind), () => setFrame(part.name, kind)),
  );
}

// Scripts in a frame can take the focus at any time, and with it what somebody types, and can scroll the page: so
// nothing of the page can be typed into or pressed until the frame is closed.
function alone(frame, close) {
  const leave = (event) => event.target.closest("dialog").close();
  return h(
    "dialog",
    { key: "alone", class: "alone", "aria-label": t("What the code shows"), onclose: close, shown: (node) => node.showModal() },
    h("p", { class: "bar" }, h("button", { type: "button", onclick: leave }, t("Close")), h("span", { class: "note" }, t("What is typed here, its scripts see."))),
    frame,
  );
}

function drawNote(step) {
  if (step.isEarlier && step.type === "gap") return h("p", { key: step.key, class: "note" }, t("It was run again: events of its earlier attempts are not kept."));
  if (step.type === "gap") return h("p", { key: step.key, class: "note" }, t("Events {} to {} are not kept any more.", count(step.data.from), count(step.data.to)));
  return h("p", { key: step.key, class: "note" }, `${clock(step.at)} `, foreign(step.type), step.data.error?.message && [": ", foreign(step.data.error.message)]);
}
