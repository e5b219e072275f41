// chart_data.js - the data of a chart that code has displayed, as Plotly and Vega-Lite describe it.
// No document: the tests run it alone.
//
// readChart() gives { title, x, y, series: [{ name, kind, xs, ys }] }: x and y are the titles of the
// axes, kind is "line", "points" or "bars"; or null, when it is a chart of another kind. xs are all
// numbers, all times (ms since 1970; isTime), or else texts (places); ys are numbers, NaN: none.

const MOST_SERIES = 20;
const MOST_POINTS = 10_000; // of all series

export function isChart(mime) {
  return mime === "application/vnd.plotly.v1+json" || /^application\/vnd\.vegalite\.v\d+\+json$/.test(mime ?? "");
}

export function readChart(mime, spec) {
  try {
    const chart = mime.includes("plotly") ? plotly(spec) : vegaLite(spec);
    return chart && isDrawn(chart.series) ? withPlaces(chart) : null;
  } catch {
    return null; // code may have written anything there
  }
}

function isDrawn(series) {
  const points = series.reduce((all, { ys }) => all + ys.length, 0);
  return series.length <= MOST_SERIES && points > 0 && points <= MOST_POINTS && series.every(({ xs, ys }) => xs.length === ys.length);
}

// --- Plotly: https://plotly.com/javascript/reference

function plotly({ data, layout = {} }) {
  if (!Array.isArray(data)) return null;
  const series = data.map(trace);
  if (series.includes(null)) return null;
  return { title: titleOf(layout), x: titleOf(layout.xaxis), y: titleOf(layout.yaxis), series };
}

// A title is a text, or { text }.
function titleOf(holder) {
  const title = holder?.title;
  return text(typeof title === "object" ? title?.text : title);
}

function trace(one) {
  const { type = "scatter", mode, name, labels, values } = one ?? {};
  if (type === "pie") return { name: text(name), kind: "bars", xs: column(labels), ys: column(values).map(Number) };
  if (type === "bar" && one.orientation === "h") return { name: text(name), kind: "bars", xs: column(one.y), ys: column(one.x).map(Number) };
  if (!["scatter", "scattergl", "bar"].includes(type)) return null;
  const ys = column(one.y).map(number);
  const xs = one.x === undefined ? ys.map((_, i) => i) : column(one.x);
  const kind = type === "bar" ? "bars" : mode === "markers" ? "points" : "line";
  return { name: text(name), kind, xs, ys };
}

const ARRAYS = { i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };

// An array; or { dtype, bdata }: its bytes in base64, little-endian, as Plotly 6 writes them.
function column(values) {
  if (Array.isArray(values)) return values;
  const kind = ARRAYS[values?.dtype];
  if (!kind || typeof values.bdata !== "string") return [];
  const bytes = Uint8Array.from(atob(values.bdata), (one) => one.charCodeAt(0));
  return [...new kind(bytes.buffer, 0, Math.floor(bytes.length / kind.BYTES_PER_ELEMENT))];
}

// --- Vega-Lite: https://vega.github.io/vega-lite/docs

const MARKS = { line: "line", area: "line", trail: "line", point: "points", circle: "points", square: "points", bar: "bars" };

function vegaLite({ mark, encoding, data, datasets, title }) {
  const kind = MARKS[typeof mark === "object" ? mark?.type : mark];
  const rows = data?.values ?? datasets?.[data?.name];
  const { x, y, color } = encoding ?? {};
  const plain = (one) => typeof one?.field === "string" && !one.aggregate && !one.bin && !one.timeUnit;
  if (!kind || !Array.isArray(rows) || !plain(x) || !plain(y)) return null;
  const isTurned = kind === "bars" && x.type === "quantitative" && y.type !== "quantitative";
  const [across, up] = isTurned ? [y, x] : [x, y];
  const series = new Map();
  for (const row of rows) {
    const name = text(color?.field && row?.[color.field]);
    if (!series.has(name)) series.set(name, { name, kind, xs: [], ys: [] });
    series.get(name).xs.push(row?.[across.field]);
    series.get(name).ys.push(number(row?.[up.field]));
  }
  return { title: titleOf({ title }), x: text(across.title ?? across.field), y: text(up.title ?? up.field), series: [...series.values()] };
}

// --- both

function text(value) {
  return value === undefined || value === null || value === false ? "" : String(value);
}

function number(value) {
  return value === null || value === "" || value === undefined ? NaN : Number(value);
}

const ISO = /^\d{4}-\d\d(-\d\d([T ]\d\d:\d\d.*)?)?$/;

function withPlaces(chart) {
  const all = chart.series.flatMap(({ xs }) => xs);
  const isTime = all.every((one) => typeof one === "string" && ISO.test(one) && !Number.isNaN(Date.parse(one)));
  const isNumber = all.every((one) => typeof one === "number");
  const read = isTime ? Date.parse : isNumber ? Number : text;
  return { ...chart, isTime, isNumber, series: chart.series.map((one) => ({ ...one, xs: one.xs.map(read) })) };
}
