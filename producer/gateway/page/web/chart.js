// chart.js - a chart of bars over time, as SVG.
//
// Each bar is a link to what is behind it, with its numbers as its name: so a chart can be used by
// keyboard and read aloud.
import { h } from "./dom.js";
import { short } from "./format.js";

const WIDTH = 600;
const HEIGHT = 120;

// points: [{ at, href, label, parts: [number, ...] }], one place for each step; names: the classes of
// the parts.
export function bars({ title, points, names }) {
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
  );
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

// The next of 1, 2, 3, 4, 5, 6, 8, 10, 20, ...
export function niceMost(number) {
  const size = 10 ** Math.floor(Math.log10(number));
  return [1, 2, 3, 4, 5, 6, 8, 10].map((one) => one * size).find((one) => one >= number);
}
