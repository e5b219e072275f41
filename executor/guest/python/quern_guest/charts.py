"""charts.py - what a figure shows, as data, for front ends that draw it themselves.

    {"v": 1, "title": str, "charts": [chart], "dropped": [str]}
    chart  = {"type": line | scatter | bar | histogram | pie | box,
              "title", "x_label", "y_label": str, "x_scale", "y_scale": str,
              "series": [series]}
    series = {"label": str, "points": [[x, y]], "total": int}

One chart for each kind of mark in each axes. x and y are numbers, null (no
number), ISO dates or names of categories; x_scale and y_scale are "date" or
"category" then, else matplotlib's: "linear", "log", "symlog", "logit" or a name
that a library has registered. The x of a bar is its category or its middle, also when
the bar is horizontal. A point of a pie is [name, share of the whole]. A series of a
box chart has "low", "q1", "median", "q3", "high" and "outliers" instead of points.
Where a series has more than MAX_POINTS, or all together take more than MAX_BYTES,
points evenly apart are kept: total tells how many there were. dropped names what is
drawn but not in the data.
"""

import datetime
import functools
import json
import math
import weakref
from collections import Counter, defaultdict

import numpy
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.container import BarContainer, ErrorbarContainer, StemContainer
from matplotlib.patches import Wedge
from matplotlib.ticker import FixedFormatter

from . import text

TYPE = "application/vnd.quern.chart+json"
MAX_POINTS = 1000  # a series
MAX_SERIES = 64  # a figure
MAX_BYTES = 512 << 10
MAX_ERROR_POINTS = 6  # of an error bar
MAX_TEXT_BYTES = 500  # a title, a label, a category

_boxes = weakref.WeakKeyDictionary()  # axes: [(statistics, artists)]


def of_figure(figure):
    """Gives the part of a bundle that holds the data; {} when there is none."""
    charts, dropped, room = [], Counter(), MAX_SERIES
    for axes in figure.axes:
        if hasattr(axes, "_colorbar"):
            continue
        for chart in of_axes(axes, dropped):
            dropped["series"] += max(0, len(chart["series"]) - room)
            chart["series"] = chart["series"][:room]
            room -= len(chart["series"])
            charts += [chart] if chart["series"] else []
    if not charts:
        return {}
    title = getattr(figure, "_suptitle", None)
    told = {"v": 1, "title": string(title.get_text() if title else "")}
    told["charts"] = charts
    told["dropped"] = [f"{n} {what}" for what, n in dropped.items() if n]
    most = MAX_POINTS
    while len(data := json.dumps(told, allow_nan=False)) > MAX_BYTES and most > 1:
        most //= 2
        thin(charts, most)
    return {TYPE: data} if len(data) <= MAX_BYTES else {}


def thin(charts, most):
    for chart in charts:
        for series in chart["series"]:
            kept = "outliers" if chart["type"] == "box" else "points"
            series[kept] = evenly(series[kept], most)


def of_axes(axes, dropped):
    if axes.name not in ("rectilinear", "polar"):
        dropped[f"{axes.name} axes"] += 1
        return []
    found = defaultdict(list)
    seen = set()  # artists that are in the data, or belong to one that is
    for find in (boxes, bars, pies, lines, scatters):
        for kind, series in find(axes, seen):
            found[kind].append(series)
    for artist in (*axes.lines, *axes.patches, *axes.collections, *axes.images):
        if id(artist) not in seen and artist.get_visible():
            dropped[type(artist).__name__] += 1
    about = {
        "title": string(axes.get_title()),
        "x_label": string(axes.get_xlabel()),
        "y_label": string(axes.get_ylabel()),
    }
    return [
        {"type": kind, **about, **scales_of(axes, series), "series": series}
        for kind, series in found.items()
    ]


def scales_of(axes, series):
    series = [one.get("points") or one.pop("places", ()) for one in series]
    points = [point for one in series for point in one]
    scales = axes.get_xscale(), axes.get_yscale()
    return {
        f"{name}_scale": scale_of([point[at] for point in points], scales[at])
        for at, name in enumerate("xy")
    }


def scale_of(values, scale):
    """Gives "date" or "category" if all values are such, else the scale of the axis."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {Moment}:
        return "date"
    return "category" if kinds == {str} else scale


# ------------------------------------------------------------ kinds of mark


def boxes(axes, seen):
    names = (("low", "whislo"), ("q1", "q1"), ("median", "med"))
    names += (("q3", "q3"), ("high", "whishi"))
    for statistics, medians, artists in _boxes.get(axes, ()):
        if not any(artist.axes is axes for artist in artists):
            continue  # cleared since
        seen.update(map(id, artists))
        for number, (box, median) in enumerate(zip(statistics, medians), 1):
            place = place_of(axes, median)
            label = place[0] or place[1] or box.get("label", number)
            outliers = box.get("fliers", ())
            yield "box", {
                "label": string(label),
                **{name: scalar(box[key]) for name, key in names},
                "outliers": [scalar(value) for value in evenly(outliers)],
                "total": len(outliers),
                "places": [place],
            }


def place_of(axes, median):
    """Gives x and y of a box, as a name or a date if its place stands for one."""
    x, y = median.get_data(orig=False)
    lying = x[0] == x[-1]
    at = numpy.mean(y if lying else x)
    name = reader(axes.yaxis if lying else axes.xaxis)(at)
    if not isinstance(name, str) or name == f"{at:g}":
        name = None
    return [None, name] if lying else [name, None]


def bars(axes, seen):
    for container in axes.containers:
        if not isinstance(container, BarContainer) or not container.patches:
            continue
        seen.update(map(id, container.patches))
        if container.errorbar:
            hide_errors(container.errorbar, seen)
        lying = container.orientation == "horizontal"
        axis = axes.yaxis if lying else axes.xaxis
        spans = [span_of(patch, lying) for patch in container.patches]
        name = reader(axis)
        points = [[name(start + wide / 2), high] for start, wide, high in spans]
        kind = "histogram" if touch(spans) and is_plain(axis) else "bar"
        yield kind, series_of(container.get_label(), points)


def span_of(patch, lying):
    if lying:
        return patch.get_y(), patch.get_height(), patch.get_x() + patch.get_width()
    return patch.get_x(), patch.get_width(), patch.get_y() + patch.get_height()


def touch(spans):
    """Whether each bar begins where the one before ends."""
    return len(spans) > 1 and all(
        math.isclose(a[0] + a[1], b[0], abs_tol=1e-9 * abs(a[1] or 1))
        for a, b in zip(spans, spans[1:])
    )


def pies(axes, seen):
    wedges = [patch for patch in axes.patches if isinstance(patch, Wedge)]
    if not wedges:
        return
    seen.update(map(id, wedges))
    points = [
        [string(label_of(wedge)), abs(wedge.theta2 - wedge.theta1) / 360]
        for wedge in wedges
    ]
    yield "pie", series_of("", points)


def lines(axes, seen):
    labels = {}
    for container in axes.containers:
        if isinstance(container, (ErrorbarContainer, StemContainer)):
            labels[id(container[0])] = container.get_label()
            hide_errors(container, seen)
    x, y = reader(axes.xaxis), reader(axes.yaxis)
    for line in axes.lines:
        if id(line) in seen or not line.get_visible() or not is_data(line):
            continue
        seen.add(id(line))
        kind = "scatter" if line.get_linestyle() in ("None", "") else "line"
        data = zip(line.get_xdata(orig=False), line.get_ydata(orig=False))
        label = labels.get(id(line), line.get_label())
        yield kind, series_of(label, data, x, y)


def hide_errors(container, seen):
    """Marks the artists of an error bar as seen, but for the line itself."""
    for part in container[1:]:
        seen.update(map(id, part if isinstance(part, tuple) else (part,)))


def is_data(line):
    """False for lines of axvline() and the like, and for error bars of seaborn."""
    x, y = line.get_data(orig=False)
    if line.get_transform() != line.axes.transData or not len(x):
        return False
    beside = any(isinstance(c, BarContainer) for c in line.axes.containers)
    flat = len(set(x)) == 1 or len(set(y)) == 1
    return not (beside and flat and len(x) <= MAX_ERROR_POINTS)


def scatters(axes, seen):
    x, y = reader(axes.xaxis), reader(axes.yaxis)
    for points in axes.collections:
        if not isinstance(points, PathCollection) or not points.get_visible():
            continue
        seen.add(id(points))
        offsets = numpy.ma.filled(points.get_offsets(), numpy.nan)
        if len(offsets):
            yield "scatter", series_of(label_of(points), offsets, x, y)


# ------------------------------------------------------------------- values


def series_of(label, points, x=None, y=None):
    points = points if isinstance(points, (list, numpy.ndarray)) else list(points)
    kept = [[x(a) if x else a, y(b) if y else scalar(b)] for a, b in evenly(points)]
    label = "" if str(label).startswith("_") else string(label)
    return {"label": label, "points": kept, "total": len(points)}


def evenly(values, most=MAX_POINTS):
    if len(values) <= most:
        return values
    at = numpy.linspace(0, len(values) - 1, most).astype(int)
    return [values[number] for number in at]


def label_of(artist):
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def string(value):
    return text.clip(str(value), MAX_TEXT_BYTES)


def scalar(value):
    value = float(value)
    return value if math.isfinite(value) else None


def is_plain(axis):
    """Whether an axis has numbers only: neither names nor dates."""
    return not hasattr(axis.units, "_mapping") and not has_dates(axis)


class Moment(str):
    """An ISO date. A type of its own, as a name could look like a date."""


def has_dates(axis):
    locator, formatter = axis.get_major_locator(), axis.get_major_formatter()
    converter = axis.get_converter() if hasattr(axis, "get_converter") else None
    converter = converter or getattr(axis, "converter", None)
    return (
        is_period(axis)
        or isinstance(locator, dates.DateLocator)
        or isinstance(formatter, (dates.DateFormatter, dates.ConciseDateFormatter))
        or isinstance(converter, (dates.DateConverter, dates.ConciseDateConverter))
        or type(converter).__name__ == "_SwitchableDateConverter"
    )


def is_period(axis):
    """pandas counts regular dates in their own unit: days, months, quarters."""
    return type(axis.get_major_locator()).__name__ == "TimeSeries_DateLocator"


def reader(axis):
    """Gives the function from a place on an axis to what it stands for."""
    if hasattr(axis.units, "_mapping"):  # strings
        names = {at: name for name, at in axis.units._mapping.items()}
    elif is_period(axis):
        return functools.partial(period, axis.get_major_locator().freq)
    elif has_dates(axis):
        return moment
    else:
        names = fixed_labels(axis)
    return lambda value: named(names, value)


def named(names, value):
    value = scalar(value)
    if value is None:
        return None
    near = names.get(round(value))
    return string(near) if near and abs(value - round(value)) < 0.5 else value


def fixed_labels(axis):
    """Gives names that were put at whole numbers, as pandas does for bars."""
    places = getattr(axis.get_major_locator(), "locs", ())
    names = axis.get_major_formatter()
    if isinstance(names, FixedFormatter):
        found = zip(places, names.seq)
    elif isinstance(getattr(names, "func", None), functools.partial):
        found = ((place, names(place)) for place in places)  # set_ticklabels()
    else:
        return {}
    return {round(place): name for place, name in found if place == round(place)}


def moment(value):
    value = scalar(value)
    return None if value is None else written(dates.num2date(value))


def period(unit, value):
    from pandas import Period  # it has drawn the axis

    value = scalar(value)
    if value is None:
        return None
    return written(Period(ordinal=round(value), freq=unit).to_timestamp())


def written(when):
    when = when.replace(tzinfo=None)
    is_day = when.time() == datetime.time()
    return Moment(when.date().isoformat() if is_day else when.isoformat())


# ------------------------------------------------------ what axes do not keep


def install():
    """Wraps Axes.bxp(), because the numbers of a box plot are kept nowhere once it is
    drawn."""
    draw = Axes.bxp

    @functools.wraps(draw)
    def bxp(axes, bxpstats, *args, **kwargs):
        artists = draw(axes, bxpstats, *args, **kwargs)
        flat = [artist for group in artists.values() for artist in group]
        found = bxpstats, artists.get("medians", ()), flat
        _boxes.setdefault(axes, []).append(found)
        return artists

    Axes.bxp = bxp
