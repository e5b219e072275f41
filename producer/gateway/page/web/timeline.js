// timeline.js - the steps of a job, drawn to scale: what it waited for, the model, the code.
import { h } from "./dom.js";
import { length } from "./format.js";
import { t } from "./words.js";

const WIDTH = 600;
const ROW = 8;

export function timeline({ steps }) {
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
