// data_chart.js - a chart that code has displayed, drawn from its data, with the data as a table.
import { h } from "./dom.js";
import { date, foreign, short, visible } from "./format.js";
import { t } from "./words.js";

const WIDTH = 600;
const HEIGHT = 240;
const MOST_ROWS = 500; // of the table
const MOST_NAMES = 12; // of places under the chart
const COLOURS = 6; // series-0 to series-5 in style.css

// chart: of chart_data.js.
export function dataChart(chart) {
  const axes = axesOf(chart);
  const name = chart.title || t("A chart");
  return h(
    "figure",
    { class: "chart data" },
    h("figcaption", {}, foreign(name), chart.y && [" · ", foreign(chart.y)]),
    h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": visible(name) }, chart.series.map((one, i) => drawSeries(one, i, chart, axes))),
    h("span", { class: "axis top", "aria-hidden": "true" }, short(axes.most)),
    under(chart, axes),
    chart.series.length > 1 && h("ul", { class: "legend" }, chart.series.map((one, i) => h("li", { key: i }, h("span", { class: `swatch ${colour(i)}`, "aria-hidden": "true" }), foreign(one.name)))),
    h("details", {}, h("summary", {}, t("The data")), table(chart)),
  );
}

function colour(i) {
  return `series-${i % COLOURS}`;
}

// What stands under the chart: each place, when there is room; else the ends, and what they are of.
function under(chart, { places, first, last }) {
  const isNamed = places.length > 0 && places.length <= MOST_NAMES;
  const ends = [shownX(chart, places.at(0) ?? first), foreign(chart.x), shownX(chart, places.at(-1) ?? last)];
  return h("p", { class: isNamed ? "under places" : "under", "aria-hidden": "true" }, (isNamed ? places.map((one) => shownX(chart, one)) : ends).map((one) => h("span", {}, one)));
}

function shownX(chart, value) {
  return chart.isTime ? date(value) : foreign(String(value));
}

// places: the texts of the x axis, in the order in which they come; else it goes from first to last.
function axesOf({ series, isTime, isNumber }) {
  const ys = series.flatMap((one) => one.ys).filter(Number.isFinite);
  const xs = series.flatMap((one) => one.xs);
  const isScale = isTime || isNumber;
  const hasBars = series.some(({ kind }) => kind === "bars");
  const places = isScale && !hasBars ? [] : [...new Set(xs)].sort(isScale ? (a, b) => a - b : () => 0);
  const [first, last] = places.length === 0 ? extent(xs) : [0, 0];
  const [low, most] = extent(ys);
  return { places, at: new Map(places.map((one, i) => [one, i])), first, last, least: Math.min(low, 0), most: Math.max(most, 0) };
}

function extent(numbers) {
  let [low, high] = [Infinity, -Infinity];
  for (const one of numbers) [low, high] = [Math.min(low, one), Math.max(high, one)];
  return low > high ? [0, 0] : [low, high];
}

function drawSeries({ name, kind, xs, ys }, i, chart, axes) {
  const { places, at, first, last, least, most } = axes;
  const slot = WIDTH / Math.max(places.length, 1);
  const across = (x) => (places.length > 0 ? (at.get(x) + 0.5) * slot : ((x - first) / (last - first || 1)) * WIDTH);
  const up = (y) => HEIGHT - ((y - least) / (most - least || 1)) * HEIGHT;
  const there = xs.map((x, k) => [x, ys[k]]).filter(([, y]) => Number.isFinite(y));
  const label = ([x, y]) => h("title", {}, name && [foreign(name), ": "], shownX(chart, x), ` ${y}`);
  if (kind === "line") {
    const sorted = places.length > 0 ? there : there.toSorted(([a], [b]) => a - b);
    return h("polyline", { key: i, class: `line ${colour(i)}`, points: sorted.map(([x, y]) => `${across(x).toFixed(1)},${up(y).toFixed(1)}`).join(" ") }, name && h("title", {}, foreign(name)));
  }
  if (kind === "points") return h("g", { key: i, class: colour(i) }, there.map((one) => h("ellipse", { cx: across(one[0]), cy: up(one[1]), rx: 3, ry: 3 }, label(one))));
  const bars = chart.series.filter((one) => one.kind === "bars");
  const place = bars.findIndex((one) => one.name === name && one.xs === xs);
  const width = (slot * 0.8) / bars.length;
  const left = (x) => across(x) - slot * 0.4 + Math.max(place, 0) * width;
  return h("g", { key: i, class: colour(i) }, there.map((one) => h("rect", { x: left(one[0]), y: Math.min(up(one[1]), up(0)), width, height: Math.abs(up(one[1]) - up(0)) }, label(one))));
}

function table({ x, y, series, ...chart }) {
  const rows = series.flatMap((one) => one.xs.map((at, i) => [one.name, at, one.ys[i]]));
  const names = series.length > 1;
  return [
    h(
      "table",
      { class: "usage" },
      h("thead", {}, h("tr", {}, names && h("th", { scope: "col" }, t("Series")), h("th", { scope: "col" }, foreign(x || "x")), h("th", { scope: "col", class: "number" }, foreign(y || "y")))),
      h("tbody", {}, rows.slice(0, MOST_ROWS).map(([name, at, value], i) => h("tr", { key: i }, names && h("td", {}, foreign(name)), h("td", {}, shownX(chart, at)), h("td", { class: "number" }, Number.isFinite(value) ? String(value) : "–")))),
    ),
    rows.length > MOST_ROWS && h("p", { class: "note" }, t("{} of {}", MOST_ROWS, rows.length)),
  ];
}
