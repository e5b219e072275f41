"""charts.py: what a figure shows, as data."""

import json

import pytest

TYPE = "application/vnd.quern.chart+json"
PLOT = "import matplotlib.pyplot as plt, numpy as np, pandas as pd\nfig, ax = plt.subplots()\n"


def series(label, *points):
    return {
        "label": label,
        "points": [list(point) for point in points],
        "total": len(points),
    }


# What is drawn, the code, the type of the chart, its series.
CHARTS = [
    (
        "a line",
        "ax.plot([1, 2], [3, 4.5], label='a')",
        "line",
        [series("a", (1, 3), (2, 4.5))],
    ),
    (
        "two lines, one without a label",
        "ax.plot([1, 2], label='a')\nax.plot([2, 1])",
        "line",
        [series("a", (0, 1), (1, 2)), series("", (0, 2), (1, 1))],
    ),
    (
        "a line with a hole",
        "ax.plot([1, np.nan, 3])",
        "line",
        [series("", (0, 1), (1, None), (2, 3))],
    ),
    (
        "a line over names",
        "ax.plot(['a', 'b'], [1, 2])",
        "line",
        [series("", ("a", 1), ("b", 2))],
    ),
    (
        "a line over days",
        "ax.plot(pd.to_datetime(['2024-01-01', '2024-01-02']), [1, 2])",
        "line",
        [series("", ("2024-01-01", 1), ("2024-01-02", 2))],
    ),
    (
        "a line over moments",
        "import datetime\nax.plot([datetime.datetime(2024, 1, 1, 12, 30)], [1])",
        "line",
        [series("", ("2024-01-01T12:30:00", 1))],
    ),
    ("marks without a line", "ax.plot([1], [2], 'o')", "scatter", [series("", (1, 2))]),
    (
        "a scatter plot",
        "ax.scatter([1, 2], [3, 4], label='s')",
        "scatter",
        [series("s", (1, 3), (2, 4))],
    ),
    (
        "bars over names",
        "ax.bar(['x', 'y'], [1, 2], label='b')",
        "bar",
        [series("b", ("x", 1), ("y", 2))],
    ),
    (
        "lying bars",
        "ax.barh(['x', 'y'], [1, 2])",
        "bar",
        [series("", ("x", 1), ("y", 2))],
    ),
    (
        "bars over numbers",
        "ax.bar([1, 2], [3, 4])",
        "bar",
        [series("", (1, 3), (2, 4))],
    ),
    (
        "bars with errors",
        "ax.bar(['x'], [2], yerr=[1], capsize=4)",
        "bar",
        [series("", ("x", 2))],
    ),
    (
        "stacked bars: each its own end",
        "ax.bar(['x'], [1], label='a')\nax.bar(['x'], [2], bottom=[1], label='b')",
        "bar",
        [series("a", ("x", 1)), series("b", ("x", 3))],
    ),
    (
        "bars of pandas",
        "pd.DataFrame({'n': [1, 2]}, index=['x', 'y']).plot.bar(ax=ax)",
        "bar",
        [series("n", ("x", 1), ("y", 2))],
    ),
    (
        "a histogram",
        "ax.hist([1, 1, 2, 3], bins=[0.5, 1.5, 2.5, 3.5])",
        "histogram",
        [series("", (1, 2), (2, 1), (3, 1))],
    ),
    (
        "a pie",
        "ax.pie([1, 3], labels=['x', 'y'], autopct='%d')",
        "pie",
        [series("", ("x", 0.25), ("y", 0.75))],
    ),
    (
        "a box plot",
        "ax.boxplot([[1, 2, 3, 4, 5, 99]], labels=['b'])",
        "box",
        [
            {
                "label": "b",
                "low": 1,
                "q1": 2.25,
                "median": 3.5,
                "q3": 4.75,
                "high": 5,
                "outliers": [99],
                "total": 1,
            }
        ],
    ),
    (
        "errors around a line are not lines",
        "ax.errorbar([1, 2], [3, 4], yerr=1, capsize=3, label='e')",
        "line",
        [series("e", (1, 3), (2, 4))],
    ),
    (
        "stems are their ends",
        "ax.stem([1, 2], [3, 4], label='s')",
        "scatter",
        [series("s", (1, 3), (2, 4))],
    ),
    (
        "a line across is no data",
        "ax.plot([1, 2])\nax.axhline(1.5)",
        "line",
        [series("", (0, 1), (1, 2))],
    ),
    (
        "seaborn's bars",
        "import seaborn\nseaborn.barplot(x=['u', 'u', 'v'], y=[1, 1, 2], ax=ax)",
        "bar",
        [series("", ("u", 1), ("v", 2))],
    ),
]


def told(cell):
    assert cell.status == "ok" and len(cell.displays) == 1, cell.traceback
    return json.loads(cell.displays[0][TYPE])


def close(a, b):
    """Equal, but for the last digits of floats."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) < 1e-6
    return a == b


@pytest.mark.parametrize(
    "code, kind, expected", [r[1:] for r in CHARTS], ids=[r[0] for r in CHARTS]
)
def test_chart(one, code, kind, expected):
    if "seaborn" in code:
        pytest.importorskip("seaborn")
    charts = told(one(PLOT + code))["charts"]
    assert [chart["type"] for chart in charts] == [kind]
    assert close(charts[0]["series"], expected), charts[0]["series"]


def test_titles_labels_and_scales(one):
    code = "ax.plot([1, 2])\nax.set(title='t', xlabel='x', ylabel='y', yscale='log')\nfig.suptitle('all')"
    answer = told(one(PLOT + code))
    chart = answer["charts"][0]
    assert (answer["v"], answer["title"], answer["dropped"]) == (1, "all", [])
    assert (chart["title"], chart["x_label"], chart["y_label"]) == ("t", "x", "y")
    assert (chart["x_scale"], chart["y_scale"]) == ("linear", "log")


FRAME = "import pandas as pd\nplt.close()\ns = pd.Series([1, 2], index={})\nax = s.plot()\n"
# What is drawn, its scale and the x of its points.
SCALES = [
    ("numbers", "ax.plot([1, 2], [3, 4])", "linear", [1, 2]),
    ("numbers by their logarithm", "ax.loglog([1, 10], [3, 4])", "log", [1, 10]),
    ("names", "ax.bar(['a', 'b'], [1, 2])", "category", ["a", "b"]),
    ("names of lying bars", "ax.barh(['a', 'b'], [1, 2])", "category", ["a", "b"]),
    ("names that look like dates", "ax.plot(['2024-01-01', '2024-01-02'], [1, 2])", "category", ["2024-01-01", "2024-01-02"]),
    ("names of ticks", "ax.bar([0, 1], [1, 2])\nax.set_xticks([0, 1], ['a', 'b'])", "category", ["a", "b"]),
    ("a name among numbers", "ax.plot([0, 1, 2], [1, 2, 3])\nax.set_xticks([1], ['b'])", "linear", [0, "b", 2]),
    ("dates", "import datetime as d\nax.plot([d.date(2024, 1, 1), d.date(2024, 1, 2)], [1, 2])", "date", ["2024-01-01", "2024-01-02"]),
    ("dates with a locator of numbers", "import datetime as d\nax.plot([d.date(2024, 1, 1), d.date(2024, 1, 2)], [1, 2])\nax.xaxis.set_major_locator(plt.MaxNLocator(2))", "date", ["2024-01-01", "2024-01-02"]),
    ("times", "ax.plot(np.array(['2024-01-01T12', '2024-01-01T13'], 'M8[h]'), [1, 2])", "date", ["2024-01-01T12:00:00", "2024-01-01T13:00:00"]),
    ("days of pandas", FRAME.format("pd.date_range('2024-01-01', periods=2)"), "date", ["2024-01-01", "2024-01-02"]),
    ("days apart of pandas", FRAME.format("pd.to_datetime(['2024-01-01', '2024-03-01'])"), "date", ["2024-01-01", "2024-03-01"]),
    ("months of pandas", FRAME.format("pd.period_range('2024-01', periods=2, freq='M')"), "date", ["2024-01-01", "2024-02-01"]),
    ("names of pandas", FRAME.format("['a', 'b', 'c']").replace("[1, 2]", "[1, 2, 3]"), "category", ["a", "b", "c"]),
]  # fmt: skip


@pytest.mark.parametrize("code, scale, x", [r[1:] for r in SCALES], ids=[r[0] for r in SCALES])
def test_scales_of_dates_and_names(one, code, scale, x):
    (chart,) = told(one(PLOT + code))["charts"]
    assert chart["x_scale"] == scale
    assert [point[0] for point in chart["series"][0]["points"]] == x


DATA = "import pandas as pd\nd = pd.DataFrame({'c': [*'aabb'], 'v': [1, 2, 3, 4], 'w': [1, 2, 3, 4]})\n"
# A box plot, its scales and the labels of its boxes.
BOXES = [
    ("without names", "ax.boxplot([[1, 2], [3, 4]])", ["linear", "linear"], ["1", "2"]),
    ("by name", "ax.boxplot([[1, 2], [3, 4]], labels=['a', 'b'])", ["category", "linear"], ["a", "b"]),
    ("lying", "ax.boxplot([[1, 2], [3, 4]], vert=False, labels=['a', 'b'])", ["linear", "category"], ["a", "b"]),
    ("of pandas", DATA + "d[['v', 'w']].boxplot(ax=ax)", ["category", "linear"], ["v", "w"]),
    ("of groups", DATA + "d.boxplot('v', by='c', ax=ax)", ["category", "linear"], ["a", "b"]),
    ("of seaborn", DATA + "import seaborn\nseaborn.boxplot(data=d, x='c', y='v', ax=ax)", ["category", "linear"], ["a", "b"]),
]  # fmt: skip


@pytest.mark.parametrize("code, scales, labels", [r[1:] for r in BOXES], ids=[r[0] for r in BOXES])
def test_boxes_have_the_names_at_their_places(one, code, scales, labels):
    if "seaborn" in code:
        pytest.importorskip("seaborn")
    (chart,) = told(one(PLOT + code))["charts"]
    assert [chart["x_scale"], chart["y_scale"]] == scales
    assert [box["label"] for box in chart["series"]] == labels
    assert "places" not in chart["series"][0]


def test_several_axes_are_several_charts(one):
    code = "fig, (a, b) = plt.subplots(1, 2)\na.plot([1])\nb.bar(['x'], [1])\nc = a.twinx()\nc.plot([5])"
    charts = told(one(PLOT + "plt.close()\n" + code))["charts"]
    assert [chart["type"] for chart in charts] == ["line", "bar", "line"]


def test_bars_and_a_line_in_one_axes_are_two_charts(one):
    charts = told(one(PLOT + "ax.bar(['a', 'b'], [1, 2])\nax.plot([1, 2])"))["charts"]
    assert [chart["type"] for chart in charts] == ["bar", "line"]
    assert charts[1]["series"] == [series("", ("a", 1), ("b", 2))]


def test_what_is_not_told_is_named(one):
    code = "ax.plot([1])\nax.fill_between([1, 2], [1, 2])\nax.imshow([[1]])"
    image, filled = sorted(told(one(PLOT + code))["dropped"])
    assert image == "1 AxesImage"
    assert filled in ("1 PolyCollection", "1 FillBetweenPolyCollection")


def test_long_series_keep_points_evenly_apart(one):
    line = told(one(PLOT + "ax.plot(range(100_001))"))["charts"][0]["series"][0]
    assert line["total"] == 100_001 and len(line["points"]) == 1000
    assert line["points"][0] == [0, 0] and line["points"][-1] == [100_000, 100_000]


def test_points_are_left_out_until_all_fits(one):
    code = "for n in range(64): ax.plot(np.random.rand(1000))"
    lines = told(one(PLOT + code))["charts"][0]["series"]
    assert {line["total"] for line in lines} == {1000} and len(lines) == 64
    assert {len(line["points"]) for line in lines} == {250}
    assert [line["points"][-1][0] for line in lines] == [999] * 64


def test_outliers_are_counted(one):
    code = "ax.boxplot([[*range(100), *range(1000, 1005)]])"
    box = told(one(PLOT + code))["charts"][0]["series"][0]
    assert box["total"] == len(box["outliers"]) == 5


def test_too_many_series_are_cut_and_said_so(one):
    answer = told(one(PLOT + "for n in range(70): ax.plot([n])"))
    assert len(answer["charts"][0]["series"]) == 64
    assert answer["dropped"] == ["6 series"]


@pytest.mark.parametrize(
    "code",
    ["ax.imshow([[1, 2]])", "ax.set_title('t')", "ax.fill_between([1, 2], [1, 2])"],
)
def test_no_data_no_chart(one, code):
    assert TYPE not in one(PLOT + code).displays[0]


def test_odd_data_costs_only_the_chart(one):
    code = (
        "line, = ax.plot([1, 2])\nline.get_label = lambda: 1 / 0\nax.get_title = None"
    )
    (display,) = one(PLOT + code).displays
    assert "image/png" in display and TYPE not in display
