// timeline.js - the steps of a job, drawn to scale: what it waited for, the model, the code.
import { h } from "./dom.js";
import { count, length, visible } from "./format.js";
import { now } from "./time.js";
import { t } from "./words.js";

const WIDTH = 600;
const ROW = 8;
const MOST = 300; // rows

const KINDS = [["wait", "Wait"], ["turn", "Model"], ["call", "Code and tools"]];

export function timeline({ steps, isKept }) {
  if (isKept) return null; // a result has no times of steps
  const all = steps.filter((step) => step.kind !== "note");
  if (all.length === 0) return null;
  const from = all[0].at;
  const until = all.reduce((last, step) => Math.max(last, step.end ?? now()), from + 1);
  const scale = WIDTH / (until - from);
  const drawn = longest(all, until);
  return h(
    "figure",
    { class: "timeline" },
    h("figcaption", {}, legend(all), t("{} from the submit to the last step", length(until - from)), drawn.length < all.length && t("; the {} longest of {} steps", count(drawn.length), count(all.length))),
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

function legend(steps) {
  return h("ul", { class: "legend" }, KINDS.filter(([kind]) => steps.some((step) => step.kind === kind)).map(([kind, name]) => h("li", { key: kind }, h("span", { class: `swatch of-${kind}` }), t(name))));
}

// Those that took the longest, in their order.
function longest(steps, until) {
  if (steps.length <= MOST) return steps;
  const time = (step) => (step.end ?? until) - step.at;
  const least = steps.map(time).sort((a, b) => b - a)[MOST - 1];
  return steps.filter((step) => time(step) >= least).slice(0, MOST);
}

function stepText(step) {
  const name = { wait: () => t("waits: {}", t(step.reason)), turn: () => t("model, turn {}", step.turn), call: () => visible(step.tool ?? "") }[step.kind]();
  return step.end ? `${name} ${length(step.end - step.at)}` : name;
}
