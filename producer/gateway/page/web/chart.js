// chart.js - a chart of bars over time, as SVG.
//
// Each bar is a link to what is behind it, with its numbers as its name: so a chart can be used by
// keyboard and read aloud.
import { h } from "./dom.js";
import { short } from "./format.js";

const WIDTH = 600;
const HEIGHT = 120;
const LABELS = 5; // of the axis of time

// points: [{ at, href, label, parts: [number, ...] }], one place for each step; names: the classes of
// the parts; times: what stands below each step, of which some are shown.
export function bars({ title, points, names, times }) {
  const most = niceMost(Math.max(1, ...points.map((point) => sum(point.parts))));
  const step = WIDTH / points.length;
  return h(
    "figure",
    { class: "chart" },
    h("figcaption", {}, title),
    h(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "group", "aria-label": title },
      points.map((point, i) => bar(point, i * step, step, most, names)),
    ),
    h("span", { class: "axis top", "aria-hidden": "true" }, short(most)),
    h("p", { class: "under", "aria-hidden": "true" }, some(times).map((text) => h("span", {}, text))),
  );
}

function some(times) {
  return Array.from({ length: LABELS }, (_, i) => times[Math.round((i * (times.length - 1)) / (LABELS - 1))]);
}

function sum(parts) {
  return parts.reduce((all, one) => all + one, 0);
}

function bar(point, x, width, most, names) {
  if (sum(point.parts) === 0) return null;
  let y = HEIGHT;
  const rects = point.parts.map((value, i) => {
    const height = (value / most) * HEIGHT;
    y -= height;
    return value > 0 && h("rect", { class: names[i], x: x + 0.5, y, width: Math.max(width - 1, 0.5), height });
  });
  return h(
    "a",
    { key: point.at, href: point.href, "aria-label": point.label },
    h("title", {}, point.label),
    h("rect", { class: "room", x, y: 0, width, height: HEIGHT }),
    rects,
  );
}

// The next of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 25, 30, 35, 40, 50, 60, ...: a chart is at
// least four fifths full.
export function niceMost(number) {
  const size = 10 ** Math.floor(Math.log10(number));
  const steps = [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9, 10];
  return steps.map((one) => Math.round(one * size * 10) / 10).find((one) => one >= number && Number.isInteger(one));
}
