"""figures.py and fonts.py: every figure of a cell is shown, once."""

import io

import PIL.Image
import pytest

PLOT = "import matplotlib.pyplot as plt\n"
FRAME = "import pandas as pd\ndf = pd.DataFrame({'a': [1, 3, 2], 'b': [2, 1, 3]})\n"

# What the last of the cells does, the cells, how many images it shows.
COUNTS = [
    ("a plot without show", [PLOT + "plt.plot([1, 2])"], 1),
    ("a plot with show", [PLOT + "plt.plot([1, 2])\nplt.show()"], 1),
    ("show twice", [PLOT + "plt.plot([1, 2])\nplt.show()\nplt.show()"], 1),
    (
        "a plot after each show",
        [PLOT + "plt.plot([1])\nplt.show()\nplt.plot([2, 1])\nplt.show()"],
        2,
    ),
    (
        "two figures, one show",
        [PLOT + "plt.figure()\nplt.plot([1])\nplt.figure()\nplt.plot([2])\nplt.show()"],
        2,
    ),
    (
        "two figures, no show",
        [PLOT + "plt.figure()\nplt.plot([1])\nplt.figure()\nplt.plot([2])"],
        2,
    ),
    ("subplots are one figure", [PLOT + "fig, axes = plt.subplots(2, 2)"], 1),
    (
        "the figure as last value",
        [PLOT + "fig, ax = plt.subplots()\nax.plot([1, 2])\nfig"],
        1,
    ),
    ("the axes as last value", [PLOT + "ax = plt.gca()\nax.plot([1, 2])\nax"], 1),
    (
        "the figure as last value after show",
        [PLOT + "fig, ax = plt.subplots()\nax.plot([1, 2])\nplt.show()\nfig"],
        1,
    ),
    ("fig.show()", [PLOT + "fig, ax = plt.subplots()\nax.plot([1, 2])\nfig.show()"], 1),
    (
        "fig.show() and a change",
        [
            PLOT
            + "fig, ax = plt.subplots()\nax.plot([1, 2])\nfig.show()\nax.plot([2, 1])"
        ],
        2,
    ),
    (
        "display(fig)",
        [PLOT + "fig, ax = plt.subplots()\nax.plot([1, 2])\ndisplay(fig)"],
        1,
    ),
    (
        "savefig and show",
        [PLOT + "plt.plot([1, 2])\nplt.savefig('a.png')\nplt.show()"],
        1,
    ),
    ("savefig only", [PLOT + "plt.plot([1, 2])\nplt.savefig('a.png')"], 1),
    (
        "savefig and close is a file",
        [PLOT + "plt.plot([1, 2])\nplt.savefig('a.png')\nplt.close()"],
        0,
    ),
    (
        "show, then savefig of nothing",
        [PLOT + "plt.plot([1, 2])\nplt.show()\nplt.savefig('a.png')"],
        1,
    ),
    ("an empty figure", [PLOT + "plt.figure()"], 0),
    ("a figure with only a title", [PLOT + "plt.figure().suptitle('t')"], 1),
    ("a closed figure", [PLOT + "plt.plot([1, 2])\nplt.close()"], 0),
    ("an exception after the plot", [PLOT + "plt.plot([1, 2])\n1/0"], 1),
    ("sys.exit after the plot", [PLOT + "plt.plot([1, 2])\nimport sys\nsys.exit()"], 1),
    ("an exception after show", [PLOT + "plt.plot([1, 2])\nplt.show()\n1/0"], 1),
    ("a plot of the cell before", [PLOT + "plt.plot([1, 2])", "1"], 0),
    (
        "a figure of the cell before as value",
        [PLOT + "fig, ax = plt.subplots()\nax.plot([1])", "fig"],
        1,
    ),
    (
        "a figure of the cell before, changed and shown",
        [PLOT + "fig, ax = plt.subplots()\nax.plot([1])", "ax.plot([2])\nfig"],
        1,
    ),
    (
        "show(block=False) and more lines",
        [PLOT + "plt.plot([1])\nplt.show(block=False)\nplt.plot([2])"],
        1,
    ),
    ("ion", [PLOT + "plt.ion()\nplt.plot([1, 2])\nplt.pause(0.01)\nplt.show()"], 1),
    (
        "another backend before pyplot",
        [
            "import matplotlib\nmatplotlib.use('Agg')\n"
            + PLOT
            + "plt.plot([1])\nplt.show()\nplt.plot([2, 1])\nplt.show()"
        ],
        2,
    ),
    (
        "a backend with windows",
        [
            "import matplotlib\nmatplotlib.use('TkAgg')\n"
            + PLOT
            + "plt.plot([1])\nplt.show()"
        ],
        1,
    ),
    (
        "switch_backend",
        [PLOT + "plt.switch_backend('agg')\nplt.plot([1])\nplt.show()"],
        1,
    ),
    ("%matplotlib inline", ["%matplotlib inline\n" + PLOT + "plt.plot([1])"], 1),
    (
        "a style and defaults",
        [PLOT + "plt.style.use('ggplot')\nplt.rcdefaults()\nplt.plot([1])\nplt.show()"],
        1,
    ),
    (
        "a figure without pyplot as value",
        [
            "from matplotlib.figure import Figure\nf = Figure()\nf.subplots().plot([1, 2])\nf"
        ],
        1,
    ),
    ("df.plot", [FRAME + "df.plot()"], 1),
    ("df.plot and show", [FRAME + PLOT + "df.plot(kind='bar')\nplt.show()"], 1),
    ("df.hist gives axes", [FRAME + "df.hist()"], 1),
    (
        "seaborn",
        [
            FRAME
            + "import seaborn as sns\nsns.set_theme()\nsns.lineplot(data=df, x='a', y='b')"
        ],
        1,
    ),
    (
        "a seaborn grid as value",
        [FRAME + "import seaborn as sns\nsns.relplot(data=df, x='a', y='b')"],
        1,
    ),
    ("sympy.plot", ["import sympy\nx = sympy.Symbol('x')\nsympy.plot(x**2)"], 1),
    ("a table as value beside a plot", [FRAME + "df.plot()\ndf"], 1),
]


@pytest.mark.parametrize(
    "cells, count", [r[1:] for r in COUNTS], ids=[r[0] for r in COUNTS]
)
def test_images(one, cells, count):
    cell = one(*cells)
    assert len(cell.images) == count, cell.traceback
    assert cell.err == ""
    for image in cell.images:
        PIL.Image.open(io.BytesIO(image)).verify()


def sizes(cell):
    return [PIL.Image.open(io.BytesIO(image)).size for image in cell.images]


def test_order_is_that_of_the_figures(one):
    cell = one(
        PLOT
        + "for width in (3, 4, 5):\n    plt.figure(figsize=(width, 2))\n    plt.plot([1, 2])\nplt.figure(1)\nplt.show()"
    )
    widths = [width for width, _height in sizes(cell)]
    assert widths == sorted(widths) and len(widths) == 3


def test_labels_outside_the_figure_are_kept(one):
    cell = one(
        PLOT
        + "plt.plot([1, 2])\nplt.xticks([0, 1], ['a very long label'] * 2, rotation=90)"
    )
    assert sizes(cell)[0][1] > 480


def test_the_label_of_the_third_axis_is_kept(one):
    cell = one(
        PLOT + "ax = plt.figure().add_subplot(projection='3d')\n"
        "ax.plot_surface(*[[[0, 0], [1, 1]]] * 2, plt.np.array([[-0.75, 0], [0, 0.75]]))\n"
        "ax.set_zlabel('third')"
    )
    ink = dark_columns(cell.images[0])
    assert any(ink) and not ink[-1], "it is cut at the right"


def dark_columns(image):
    """Of each column of pixels, whether anything is drawn in it."""
    grey = PIL.Image.open(io.BytesIO(image)).convert("L").point(lambda x: x < 200)
    width, height = grey.size
    return [grey.crop((x, 0, x + 1, height)).getbbox() for x in range(width)]


def test_text_far_away_does_not_blow_up_the_image(one):
    cell = one(PLOT + "plt.plot([1, 2])\nplt.text(1e6, 1e6, 'far')")
    assert sizes(cell) == [(640, 480)]


@pytest.mark.parametrize("inches", [200, 600])
def test_too_many_pixels_get_fewer_dots(one, inches):
    memory = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2 << 30,) * 2)\n"
    figure = f"plt.figure(figsize=({inches}, {inches}), dpi=100)\nplt.plot([1, 2])"
    cell = one(memory + PLOT + figure)
    (size,) = sizes(cell)
    assert size[0] * size[1] <= 16 << 20 and cell.err == ""
    assert "dpi lowered from 100" in cell.displays[0]["text/plain"].decode()


def test_too_many_figures_are_cut_and_said_so(one):
    cell = one(
        PLOT
        + "for i in range(70):\n    plt.figure(figsize=(1, 1))\n    plt.axis('off')\n    plt.text(0, 0, i)"
    )
    assert len(cell.images) == 64
    assert b"a cell shows 64 displays" in cell.displays[-1]["text/plain"]


def test_figures_beyond_the_limit_are_not_even_drawn(one):
    code = "for i in range(1000):\n    fig.suptitle(i)\n    fig.show()"
    cell = one(PLOT + "fig = plt.figure(figsize=(1, 1))\n" + code)
    assert len(cell.displays) == 65


def test_a_figure_that_cannot_be_drawn_is_told(run):
    broken = PLOT + "plt.title('$\\\\nope$')\n"
    last, shown, after = run(broken, broken + "plt.show()", PLOT + "plt.plot([1])")
    assert last.status == "ok" and "A figure could not be drawn: ValueError" in last.err
    assert shown.status == "error" and shown.name == "ValueError"
    assert "plt.show()" in shown.traceback and "quern_guest" not in shown.traceback
    assert len(after.images) == 1


SCRIPTS = [
    ("as it is", ""),
    ("with seaborn's theme", "import seaborn\nseaborn.set_theme()\n"),
    ("with SimHei", "plt.rcParams['font.sans-serif'] = ['SimHei']\n"),
    ("with SimHei as family", "plt.rcParams['font.family'] = 'SimHei'\n"),
    ("with a style", "plt.style.use('seaborn-v0_8')\n"),
    ("after rcdefaults", "plt.rcdefaults()\n"),
]


@pytest.mark.parametrize(
    "setting", [r[1] for r in SCRIPTS], ids=[r[0] for r in SCRIPTS]
)
def test_chinese_has_glyphs(one, setting):
    cell = one(
        PLOT
        + setting
        + "plt.plot([-1, 1])\nplt.title('销售额 かな 한국어')\nplt.ylabel('温度 °C')"
    )
    assert len(cell.images) == 1
    assert cell.err == ""  # neither a missing glyph nor a missing font


@pytest.mark.parametrize("kind", ["pdf", "svg", "eps", "jpg"])
def test_chinese_in_files(one, kind):
    cell = one(
        PLOT
        + f"plt.title('销售额')\nplt.savefig('a.{kind}')\nimport os\nos.path.getsize('a.{kind}') > 1000"
    )
    assert (cell.result, cell.err) == ("True", "")


def test_minus_is_as_matplotlib_has_it(one):
    assert one(PLOT + "plt.rcParams['axes.unicode_minus']").result == "True"


GLYPHS = [
    ("Devanagari", "\u0939\u093f\u0928\u094d\u0926\u0940"),
    ("Arabic", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629"),
    ("Hebrew", "\u05e2\u05d1\u05e8\u05d9\u05ea"),
    ("Thai", "\u0e44\u0e17\u0e22"),
    ("emoji", "\U0001f600 \U0001f680 \U0001f4c8 \u2705"),
]


@pytest.mark.parametrize("setting", [r[1] for r in SCRIPTS], ids=[r[0] for r in SCRIPTS])
def test_scripts_and_emoji_have_glyphs(one, setting):
    figures = [f"plt.figure(figsize=(3, 2))\nplt.title({title!r})\n" for _, title in GLYPHS]
    cell = one(PLOT + setting + "".join(figures))
    assert len(cell.images) == len(GLYPHS)
    assert "missing from" not in cell.err


ANIMATION = (
    PLOT + "from matplotlib.animation import FuncAnimation\n"
    "fig, ax = plt.subplots()\n"
    "line, = ax.plot([0, 1], [0, 1])\n"
    "def draw(n):\n    line.set_ydata([0, n / 10])\n    return line,\n"
    "anim = FuncAnimation(fig, draw, frames=12, interval=50)\n"
)
# What the cell does with it, its last line, frames of each thing that is shown.
MOVING = [
    ("the animation as value", "anim", [12]),
    ("display()", "display(anim)", [12]),
    ("show()", "plt.show()", [12]),
    ("nothing", "pass", [12]),
    ("the value after show()", "plt.show()\nplt.close()", [12]),
    ("saved: a file, and its first picture", "anim.save('a.gif')", [0]),
    ("closed", "plt.close()", []),
    ("closed, and shown all the same", "plt.close()\nanim", [12]),
]


@pytest.mark.parametrize(
    "code, frames", [r[1:] for r in MOVING], ids=[r[0] for r in MOVING]
)
def test_animations(one, code, frames):
    cell = one(ANIMATION + code)
    assert (cell.status, cell.traceback, cell.err) == ("ok", "", "")
    found = []
    for bundle in cell.displays:
        assert bundle["image/png"].startswith(b"\x89PNG")
        gif = bundle.get("image/gif")
        found.append(PIL.Image.open(io.BytesIO(gif)).n_frames if gif else 0)
    assert found == frames


@pytest.mark.parametrize("inches, lowered", [((6.4, 4.8), False), ((20, 10), True)])
def test_large_animations_get_fewer_dots(one, inches, lowered):
    cell = one(ANIMATION + f"fig.set_size_inches{inches}\nanim")
    gif = PIL.Image.open(io.BytesIO(cell.displays[0]["image/gif"]))
    assert gif.width * gif.height * 100 <= 32 << 20
    assert (b"its frames have" in cell.displays[0]["text/plain"]) == lowered
    assert (gif.width < inches[0] * 100) == lowered


def test_an_animation_that_draws_only_what_changes_moves(one):
    cell = one(ANIMATION.replace("50)", "50, blit=True)") + "plt.show()")
    gif = PIL.Image.open(io.BytesIO(cell.displays[0]["image/gif"]))
    assert gif.n_frames == 12


def test_long_animations_are_cut_and_said_so(one):
    code = ANIMATION.replace("frames=12", "frames=1000")
    cell = one(code + "fig.set_size_inches(1, 1)\nanim")
    gif = PIL.Image.open(io.BytesIO(cell.displays[0]["image/gif"]))
    assert gif.n_frames == 100
    assert b"only its first 100 frames" in cell.displays[0]["text/plain"]


# mpl_toolkits draws the grid of a floating axis when it is first drawn.
FLOATING = """
import warnings
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.projections import PolarAxes
from matplotlib.transforms import Affine2D
from mpl_toolkits.axisartist import GridHelperCurveLinear, HostAxes, angle_helper
warnings.simplefilter("ignore", DeprecationWarning)  # of newer releases
turned = Affine2D().scale(np.pi / 180, 1) + PolarAxes.PolarTransform()
ends = angle_helper.ExtremeFinderCycle(20, 20, 360, None, None, (0, np.inf))
helper = GridHelperCurveLinear(turned, extreme_finder=ends)
axes = plt.figure(figsize=(5, 5)).add_subplot(axes_class=HostAxes, grid_helper=helper)
axes.axis["lat"] = axes.new_floating_axis(0, 60)
axes.set_aspect(1)
axes.set(xlim=(-5, 12), ylim=(-5, 10))
axes.grid(True)
"""


@pytest.mark.parametrize("end", ["plt.show()", ""], ids=["show()", "left open"])
def test_an_axis_that_knows_its_size_once_it_is_drawn(one, end):
    cell = one(FLOATING + end)
    assert (cell.status, cell.err, len(cell.images)) == ("ok", "", 1)
    assert sizes(cell) != [(500, 500)], "it is trimmed"


@pytest.mark.parametrize("method", ["get_tightbbox", "get_window_extent"])
def test_a_figure_whose_size_is_not_to_be_had_is_shown_untrimmed(one, method):
    cell = one(
        PLOT + "from matplotlib.text import Text\n"
        "class Odd(Text):\n"
        f"    def {method}(self, *a, **b): raise TypeError('odd')\n"
        "plt.gcf().add_artist(Odd(0.5, 0.5, 'x'))\nplt.show()"
    )
    assert (cell.status, cell.err) == ("ok", "")
    assert sizes(cell) == [(640, 480)]


@pytest.mark.parametrize(
    "setting, forms", [("", 0), ("%config InlineBackend.figure_format = 'svg'", 1)]
)
def test_a_figure_that_cannot_be_trimmed_is_shown_untrimmed(one, setting, forms):
    cell = one(
        setting,
        PLOT + "plt.plot([1, 2])\ndraw = plt.gcf().canvas.print_figure\n"
        "def odd(*a, bbox_inches=None, **b):\n"
        "    if bbox_inches: raise TypeError('odd')\n"
        "    return draw(*a, **b)\n"
        "plt.gcf().canvas.print_figure = odd\nplt.show()"
    )
    assert (cell.status, cell.err) == ("ok", "")
    assert sizes(cell) == [(640, 480)]
    assert sum(b"<svg" in shown.get(SVG, b"") for shown in cell.displays) == forms


def test_a_figure_that_cannot_be_drawn_as_svg_is_shown_as_png(one):
    cell = one(
        f"{CONFIG}s = ['svg', 'pdf']",
        PLOT + "from matplotlib.text import Text\n"
        "class Odd(Text):\n"
        "    def draw(self, renderer):\n"
        "        if 'SVG' in repr(getattr(renderer, '_renderer', '')):\n"
        "            raise TypeError('odd')\n"
        "plt.gcf().add_artist(Odd(0.5, 0.5, 'x'))\nplt.show()",
    )
    assert (cell.status, cell.err, len(cell.images)) == ("ok", "", 1)
    (shown,) = cell.displays
    assert b"[not as svg: TypeError: odd]" in shown["text/plain"]
    assert SVG not in shown and shown[PDF].startswith(b"%PDF")


UNKNOWN_GLYPH = "Glyph 983040 "
# How a figure with a glyph that no font has is shown, and the line that is named.
WARNED = [
    ("by show()", "plt.title(chr(0xf0000))\nplt.show()", 4),
    ("by its value", "plt.title(chr(0xf0000))\nplt.gcf()", 2),
    ("at the end of the cell", "plt.title(chr(0xf0000));", 2),
    ("by show() after savefig()", "plt.title(chr(0xf0000))\nplt.savefig('a.png')\nplt.show()", 4),
    ("in two figures", "plt.title(chr(0xf0000))\nplt.show()\nplt.plot([1])\nplt.title(chr(0xf0000))\nplt.show()", 4),
]  # fmt: skip


@pytest.mark.parametrize("code, line", [r[1:] for r in WARNED], ids=[r[0] for r in WARNED])
def test_a_warning_of_drawing_names_a_line_of_the_cell_once(one, code, line):
    cell = one("import matplotlib.pyplot as plt\nplt.plot([1, 2])\n" + code)
    assert cell.err.count("UserWarning: ") == 1
    assert f"<cell-1>:{line}: UserWarning: {UNKNOWN_GLYPH}" in cell.err
    assert "quern_guest" not in cell.err


def test_a_warning_of_drawing_that_is_not_wanted_does_not_come(one):
    quiet = "import warnings\nwarnings.filterwarnings('ignore')\n"
    assert one(quiet + PLOT + "plt.title(chr(0xf0000))\nplt.show()").err == ""


DRAWN_BY_THE_CELL = """import matplotlib.pyplot as plt, warnings
class Line(plt.Line2D):
    def draw(self, renderer):
        warnings.warn("drawn badly")
        super().draw(renderer)
plt.gca().add_line(Line([0, 1], [0, 1]))
plt.show()"""


def test_a_warning_of_a_cells_own_drawing_comes_once(one):
    cell = one(DRAWN_BY_THE_CELL)
    assert cell.err.count("UserWarning: ") == 1
    assert "<cell-1>:4: UserWarning: drawn badly" in cell.err


def test_each_cell_has_its_own_warnings_of_drawing(run):
    draw = PLOT + "plt.title(chr(0xf0000))\nplt.show()"
    assert ["UserWarning" in cell.err for cell in run(draw, draw)] == [True, True]


SVG, PDF, JPEG = "image/svg+xml", "application/pdf", "image/jpeg"
CONFIG = "%config InlineBackend.figure_format"
# What a session asks for, the forms of its figures beside PNG and data.
FORMATS = [
    ("nothing", "", []),
    ("svg", f"{CONFIG} = 'svg'", [SVG]),
    ("a bare word", f"{CONFIG} = svg", [SVG]),
    ("png", f"{CONFIG} = 'png'", []),
    ("a set", f"{CONFIG}s = {{'png', 'svg'}}", [SVG]),
    ("a list", f"{CONFIG}s = ['svg', 'pdf', 'jpg']", [PDF, JPEG, SVG]),
    ("a list, in the singular", f"{CONFIG} = ['svg']", [SVG]),
    ("another setting", "%config InlineBackend.close_figures = False", []),
    ("a setting of the shell", "%config IPCompleter.greedy = True", []),
    ("a function of the backend", "from matplotlib_inline.backend_inline import set_matplotlib_formats as s\ns('svg')", [SVG]),
    ("what is undone", f"{CONFIG} = 'svg'\n{CONFIG} = 'png'", []),
]  # fmt: skip


@pytest.mark.parametrize("setting, forms", [r[1:] for r in FORMATS], ids=[r[0] for r in FORMATS])
def test_figures_have_the_formats_that_are_asked_for(run, setting, forms):
    asked, *shown = run(setting, PLOT + "plt.plot([1, 2]);", PLOT + "plt.plot([1])\nplt.show()")
    assert (asked.status, asked.result, asked.err) == ("ok", "", "")
    for cell in shown:
        (bundle,) = cell.displays
        assert cell.err == "" and bundle["image/png"].startswith(b"\x89PNG")
        others = {"image/png", "text/plain", "application/vnd.quern.chart+json"}
        assert sorted(bundle.keys() - others) == sorted(forms)
        if SVG in bundle:
            assert b"<svg" in bundle[SVG]


def test_retina_has_twice_the_dots(run):
    plot = PLOT + "plt.plot([1, 2]);"
    before, _, after = run(plot, f"{CONFIG} = 'retina'", plot)
    (width, height), (wide, high) = sizes(before)[0], sizes(after)[0]
    assert abs(wide - 2 * width) <= 2 and abs(high - 2 * height) <= 2


def test_a_format_that_nobody_knows_is_named(one):
    cell = one(f"{CONFIG} = 'bmp'")
    assert cell.name == "ValueError"
    assert "'bmp' is not known; there are jpeg, jpg, pdf, png, png2x, retina, svg" in cell.value
