// job.js - one job: its facts, a timeline, and the conversation as it goes on.
import { address, follow, get, post } from "./api.js";
import { coloured } from "./code.js";
import { hasEnded, newConversation, take } from "./conversation.js";
import { h } from "./dom.js";
import { ago, clock, count, foreign, length, money } from "./format.js";
import { state } from "./jobs.js";
import { markdown } from "./markdown.js";
import { t } from "./words.js";

export function open(place, me) {
  const id = place.path[1] ?? "";
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  const conversation = newConversation();
  let facts = null;
  let why = null;
  let fault = null;
  let away = false;
  let stop = () => {};
  let timer = null;

  async function look() {
    try {
      facts = await get(path);
      why = hasEnded(conversation) ? null : await get(`${path}/explain`);
      fault = null;
    } catch (error) {
      fault = error.message;
    }
    place.changed();
    if (!hasEnded(conversation) && !fault) timer = setTimeout(look, 5000);
  }

  async function act(verb, body) {
    try {
      await post(`${path}/${verb}`, body);
    } catch (error) {
      fault = error.message;
    }
    clearTimeout(timer);
    await look();
  }

  look();
  stop = follow(id, {
    event(event) {
      take(conversation, event);
      if (hasEnded(conversation)) look();
      place.changed();
    },
    away(isAway) {
      away = isAway;
      place.changed();
    },
    ended: () => hasEnded(conversation),
    end() {
      away = false;
      place.changed();
    },
  });

  return {
    title: t("Job {}", id.slice(0, 8)),
    draw: () => [
      h("h1", {}, t("Job"), " ", h("code", {}, id)),
      fault && h("p", { class: "fault", role: "alert" }, fault),
      away && h("p", { class: "fault", role: "status" }, t("The connection is lost: what is shown may be old.")),
      facts && head(facts, conversation, me, act),
      why && !hasEnded(conversation) && reasons(why),
      timeline(conversation),
      question(facts),
      h("section", { class: "conversation", "aria-label": t("Conversation") }, conversation.steps.filter((step) => step.kind !== "wait" && !step.isVoid).map((step) => draw(step, path))),
      hasEnded(conversation) && end(conversation.last, facts),
    ],
    close() {
      clearTimeout(timer);
      stop();
    },
  };
}

function head(facts, conversation, me, act) {
  const result = facts.result ?? {};
  const may = me.scopes.includes("submit");
  const ended = facts.finished_at || hasEnded(conversation);
  const rows = [
    ["State", state(hasEnded(conversation) || facts.finished_at ? (facts.state ?? conversation.state) : conversation.state)],
    ["Queue", facts.queue && foreign(facts.queue)],
    ["Session", facts.session && foreign(facts.session)],
    ["Submitted", facts.submitted_at && ago(facts.submitted_at)],
    ["Attempts", facts.attempts && count(facts.attempts)],
    ["Tokens", result.usage && count((result.usage.input_tokens ?? 0) + (result.usage.output_tokens ?? 0))],
    ["Cost", result.usage?.cost && money(result.usage.cost)],
    ["Error", facts.error_code && foreign(facts.error_code)],
  ];
  return [
    h("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([name, value]) => h("div", { key: name }, h("dt", {}, t(name)), h("dd", {}, value)))),
    may && !ended && h("p", { class: "bar" }, h("button", { type: "button", onclick: () => act("cancel", {}) }, t("Cancel"))),
  ];
}

function reasons({ why }) {
  return why && h("section", { class: "why" }, h("h2", {}, t("Why it is where it is")), h("p", {}, foreign(why)));
}

// --- the timeline

const WIDTH = 600;
const ROW = 8;

function timeline({ steps }) {
  const drawn = steps.filter((step) => step.kind !== "note");
  if (drawn.length === 0) return null;
  const from = drawn[0].at;
  const until = Math.max(...drawn.map((step) => step.end ?? Date.now()), from + 1);
  const scale = WIDTH / (until - from);
  return h(
    "figure",
    { class: "timeline" },
    h("figcaption", {}, t("{} from the submit to the last step", length(until - from))),
    h(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${drawn.length * ROW}`, preserveAspectRatio: "none", role: "img", "aria-label": drawn.map(stepText).join("; ") },
      drawn.map((step, i) =>
        h(
          "rect",
          {
            key: step.key,
            class: step.isVoid ? "void" : step.kind,
            x: (step.at - from) * scale,
            y: i * ROW + 1,
            width: Math.max(((step.end ?? until) - step.at) * scale, 1.5),
            height: ROW - 2,
          },
          h("title", {}, stepText(step)),
        ),
      ),
    ),
  );
}

function stepText(step) {
  const name = { wait: () => t("waits: {}", t(step.reason)), turn: () => t("model, turn {}", step.turn), call: () => step.tool }[step.kind]();
  return step.end ? `${name} ${length(step.end - step.at)}` : name;
}

// --- the conversation

// What was asked: the last text of the user before the model spoke.
function question(facts) {
  const messages = facts?.result?.messages ?? [];
  const first = messages.findIndex((message) => message.role === "assistant");
  const asked = messages.slice(0, Math.max(first, 0)).findLast((message) => message.role === "user");
  const content = asked?.content ?? "";
  const text = typeof content === "string" ? content : content.map((part) => part.text ?? "").join("\n");
  return text && h("article", { class: "asked" }, foreign(text));
}

const DRAWS = { turn: drawTurn, call: drawCall, note: drawNote };

function draw(step, path) {
  return DRAWS[step.kind](step, path);
}

// What is long is described once, as long as its text is the same.
const described = new WeakMap();

function once(step, text, describe) {
  const before = described.get(step);
  if (before?.text === text) return before.description;
  const description = describe();
  described.set(step, { text, description });
  return description;
}

const MOST_LIVE = 20_000; // a longer text is read as Markdown when it is whole

function said(step, path) {
  if (!step.isWhole && step.text.length > MOST_LIVE) return h("div", { class: "text" }, foreign(step.text));
  const own = (name) => /^[^/:]+\.(png|jpe?g|gif|webp)$/i.test(name) && picture({ name }, path);
  return markdown(step.text, (name) => own(name) || null);
}

function drawTurn(step, path) {
  if (!step.text && !step.reasoning) return null;
  return h(
    "article",
    { key: step.key, class: "turn" },
    step.reasoning && h("details", {}, h("summary", {}, t("Reasoning")), h("pre", { class: "text" }, foreign(step.reasoning))),
    step.text && once(step, step.text, () => said(step, path)),
  );
}

function drawCall(step, path) {
  return h(
    "article",
    { key: step.key, class: "call" },
    h("header", {}, h("strong", {}, foreign(step.tool ?? "")), " ", h("time", {}, clock(step.at)), " ", step.end ? length(step.end - step.at) : t("runs"), step.status && step.status !== "ok" && h("span", { class: "state failed" }, t(step.status))),
    step.code && h("pre", { class: "code" }, once(step, step.code, () => coloured(step.code))),
    step.text && h("pre", { class: "code" }, foreign(step.text)),
    step.output.length > 0 && h("pre", { class: "output" }, step.output.map((part) => h("span", { class: part.stream }, foreign(part.text)))),
    step.images.map((image) => picture(image, path)),
    step.displays.map((display) => drawDisplay(display, step, path)),
    step.files.length > 0 && h("ul", { class: "files" }, step.files.map((file) => h("li", { key: file.name }, h("a", { href: address(`${path}/files/${encodeURIComponent(file.name)}`), download: true }, foreign(file.name))))),
  );
}

function picture(image, path) {
  return h("img", { key: image.name, src: `${path}/images/${encodeURIComponent(image.name)}`, alt: image.name, loading: "lazy", width: image.width, height: image.height });
}

// What a cell shows, in the first form of it that this page can show: pictures, else text. A figure is
// an image of the job, too, and stands there already.
function drawDisplay(display, step, path) {
  const parts = display.parts ?? [];
  const isShown = (part) => step.images.some((image) => image.name === part.name);
  const pictures = parts.filter((part) => part.mime?.startsWith("image/"));
  if (pictures.length > 0) return pictures.filter((part) => !isShown(part)).map((part) => picture(part, path));
  return display.text && h("pre", { class: "output" }, foreign(display.text));
}

function drawNote(step) {
  return h("p", { key: step.key, class: "note" }, `${clock(step.at)} ${step.type}`, step.data.error?.message && [": ", foreign(step.data.error.message)]);
}

function end(last, facts) {
  const error = last.error ?? facts?.result?.error;
  return error?.message && h("p", { class: "fault" }, `${error.code}: `, foreign(error.message));
}
