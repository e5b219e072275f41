// The data of charts, read without a browser.
import assert from "node:assert/strict";
import test from "node:test";
import { isChart, readChart } from "../../producer/gateway/page/web/chart_data.js";

const PLOTLY = "application/vnd.plotly.v1+json";
const VEGA = "application/vnd.vegalite.v5+json";

function plotly(...data) {
  return readChart(PLOTLY, { data });
}

test("lines, points and bars of Plotly", () => {
  const chart = readChart(PLOTLY, {
    data: [
      { y: [3, null, 4], name: "a" },
      { type: "scatter", mode: "markers", x: [0, 1], y: [1, 2] },
      { type: "bar", x: [5, 6], y: [1, 2] },
    ],
    layout: { title: { text: "Rain" }, xaxis: { title: "day" } },
  });
  assert.deepEqual([chart.title, chart.x, chart.y, chart.isNumber], ["Rain", "day", "", true]);
  assert.deepEqual(chart.series.map((one) => one.kind), ["line", "points", "bars"]);
  assert.deepEqual(chart.series[0], { name: "a", kind: "line", xs: [0, 1, 2], ys: [3, NaN, 4] });
});

test("numbers that Plotly writes as bytes", () => {
  const bdata = Buffer.from(new Float64Array([1.5, -2]).buffer).toString("base64");
  assert.deepEqual(plotly({ x: ["a", "b"], y: { dtype: "f8", bdata } }).series[0].ys, [1.5, -2]);
  const cut = Buffer.from([1, 2, 3]).toString("base64");
  assert.deepEqual(plotly({ y: { dtype: "i2", bdata: cut } }).series[0].ys, [513]);
});

test("times and places", () => {
  const times = plotly({ x: ["2026-01-01", "2026-01-02"], y: [1, 2] });
  assert.ok(times.isTime);
  assert.equal(times.series[0].xs[0], Date.UTC(2026, 0, 1));
  assert.deepEqual(plotly({ type: "pie", labels: ["a", "b"], values: [1, 2] }).series[0].xs, ["a", "b"]);
  const turned = plotly({ type: "bar", orientation: "h", x: [1, 2], y: ["a", "b"] }).series[0];
  assert.deepEqual([turned.xs, turned.ys], [["a", "b"], [1, 2]]);
});

test("Vega-Lite", () => {
  const rows = [{ d: "x", n: 1, k: "a" }, { d: "y", n: 2, k: "b" }, { d: "y", n: 3, k: "a" }];
  const encoding = { x: { field: "d", type: "nominal" }, y: { field: "n", title: "Count" }, color: { field: "k" } };
  const chart = readChart(VEGA, { mark: { type: "bar" }, encoding, data: { name: "t" }, datasets: { t: rows } });
  assert.equal(chart.y, "Count");
  assert.deepEqual(chart.series.map(({ name, ys }) => [name, ys]), [["a", [1, 3]], ["b", [2]]]);
  const sum = { ...encoding, y: { field: "n", aggregate: "sum" } };
  assert.equal(readChart(VEGA, { mark: "bar", encoding: sum, data: { values: rows } }), null);
});

test("what it cannot draw is none, whatever it is", () => {
  assert.ok(isChart(PLOTLY) && isChart(VEGA) && !isChart("application/json") && !isChart(undefined));
  const wrong = [null, 7, [], {}, { data: 7 }, { data: [] }, { data: [null] }, { data: [{ type: "surface" }] }, { data: [{ y: [] }] },
    { data: [{ x: [1], y: [1, 2] }] }, { data: [{ y: "text" }] }, { data: [{ y: { dtype: "f8", bdata: 7 } }] },
    { data: Array(21).fill({ y: [1] }) }, { data: [{ y: Array(10_001).fill(1) }] }, { mark: "bar" },
    { mark: "bar", encoding: { x: { field: "a" }, y: { field: "b" } }, data: { values: 7 } }];
  for (const spec of wrong) for (const mime of [PLOTLY, VEGA]) assert.equal(readChart(mime, spec), null, JSON.stringify(spec)?.slice(0, 80));
  assert.equal(plotly({ y: { dtype: "f8", bdata: "!!" } }), null);
});
