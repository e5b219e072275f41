"""figures.py - a matplotlib backend: every figure of a cell is shown, once.

show() shows all open figures in order and closes them. Figures that are open when
the code of a cell ends are shown then, also after an exception. The warden is told
that they are being drawn: so there is some more time for them when that of the cell
is over. A figure is shown again only when it looks different. There is no window,
hence no warning, and choosing another backend changes nothing: libraries and
scripts that do so mean a screen that is not there.
"""

import contextlib
import hashlib
import io
import math
import sys
import warnings
import weakref

import _quern
import matplotlib
from matplotlib import pyplot
from matplotlib._pylab_helpers import Gcf
from matplotlib.animation import Animation
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from PIL import Image

from . import charts, display, fonts, text

MAX_PIXELS = 16 << 20  # 4096 x 4096; larger ones get fewer dots per inch
MAX_SIDE = 30000  # pixels
MAX_FRAMES = 100  # of an animation
MAX_MOVING_PIXELS = 32 << 20  # of all its frames; a hundred of matplotlib's own size
PADDING = 0.1  # inches around what is drawn

_shown = None  # figure: what it looked like; None: the cell has shown none
_told = False  # whether the warden knows that the cell has one open
_places = weakref.WeakKeyDictionary()  # figure: (file, line) where it was made
_warned = set()  # (text, class) of warnings that the cell's drawing has raised
THEIRS = (__package__, "matplotlib", "mpl_toolkits")  # files that no cell wrote


class FigureManager(FigureManagerBase):
    def __init__(self, canvas, num):
        global _told
        super().__init__(canvas, num)
        if not _told:
            _quern.figure()
            _told = True
        if place := _place_in_cell():
            _places[canvas.figure] = place

    def show(self):
        emit(self.canvas.figure)


class FigureCanvas(FigureCanvasAgg):
    manager_class = FigureManager
    supports_blit = False  # an animation that can draws at once, and counts as shown


def show(*, block=None):
    """Does pyplot.show(). Not with block=False: the program is still drawing."""
    if block is False:
        return
    failed = None
    for manager in _managers():
        try:
            emit(manager.canvas.figure)
        except Exception as error:
            failed = failed or error
        Gcf.destroy(manager)
    if failed:
        raise failed


def start():
    global _shown, _told
    _shown, _told = None, False
    _warned.clear()
    fonts.start()


def cleared():
    """The output of the cell was cleared: figures count as not shown."""
    global _shown
    _shown = None


def finish():
    if not Gcf.figs:
        return
    failed = sys.exception()  # of the cell's code
    try:
        _quern.drawing()
        show()
    except KeyboardInterrupt:
        _give_up()
        if not failed:
            raise
    except Exception as error:
        what = text.describe(error)
        print(f"A figure could not be drawn: {what}", file=sys.stderr)


def _give_up():
    """Drops the figures: drawing takes too long, or nobody wants them any more."""
    count = sum(not _is_empty(manager.canvas.figure) for manager in _managers())
    pyplot.close("all")
    are = "figure was" if count == 1 else "figures were"
    if count:
        print(f"{count} {are} not drawn: the cell was stopped", file=sys.stderr)


def _managers():
    return sorted(Gcf.get_all_fig_managers(), key=lambda manager: manager.num)


def is_figure(value):
    return isinstance(value, (Figure, Animation))


def emit(value):
    """Shows a figure, or an animation with its figure."""
    global _shown
    animation = value if isinstance(value, Animation) else None
    figure = animation._fig if animation else value
    if _is_empty(figure):
        return
    if display.is_full():
        display.emit({})
        return
    animation = animation or _animation_of(figure)
    with _warnings_of_drawing(figure):
        moving, note = _moving(animation) if animation else ({}, "")
        data, cut = render(figure, _wanted_dpi(figure))
    digest = hashlib.sha256(data).digest()
    if _shown is None:
        _shown = weakref.WeakKeyDictionary()
    seen = _shown.get(figure) == digest and not moving
    if seen and not display.is_asked_for():
        return
    forms, missed = _other_forms(figure)
    about = {"text/plain": text.show(figure) + note + cut + missed}
    forms["image/png"] = data
    display.emit({**about, **moving, **forms, **_chart(figure)})
    _shown[figure] = digest  # last: if drawing is interrupted, it is drawn again


def _place_in_cell():
    """Gives (file, line) of the cell's code that runs; None: it has ended."""
    frame = sys._getframe(1)
    while frame:
        if frame.f_code.co_filename.startswith("<cell-"):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


@contextlib.contextmanager
def _warnings_of_drawing(figure):
    """Makes warnings name the line of the cell that shows the figure, or that made it,
    and come once, though a figure is drawn several times."""
    # Before it is drawn: then code of the cell itself may warn, while it draws.
    names = vars(sys.modules["__main__"]).get("__warningregistry__", ())
    _warned.update(key[:2] for key in names if isinstance(key, tuple))
    with warnings.catch_warnings(record=True) as caught:
        yield
    for one in caught:
        key = str(one.message), one.category
        place = one.filename, one.lineno
        if any(name in one.filename for name in THEIRS):
            place = _place_in_cell() or _places.get(figure) or place
        if key not in _warned:
            _warned.add(key)
            warnings.warn_explicit(*key, *place)


def _is_empty(figure):
    return len(figure.get_children()) <= 1  # its background: nothing is drawn


def _chart(figure):
    try:
        return charts.of_figure(figure)
    except Exception:  # what others draw may be odd: the picture is there
        return {}


def _animation_of(figure):
    """Gives the animation of a figure that was neither drawn nor saved; else None."""
    registered = getattr(figure.canvas.callbacks, "callbacks", {})
    for method in list(registered.get("draw_event", {}).values()):
        owner = getattr(method(), "__self__", None)
        if isinstance(owner, Animation):
            return None if getattr(owner, "_draw_was_started", True) else owner
    return None


def _moving(animation):
    """Gives a GIF of an animation, and a note when that does not have all frames."""
    figure, frames, note = animation._fig, [], ""
    _as_agg(figure)
    animation._draw_was_started = True
    width, height = figure.get_size_inches()
    dpi = _bounded_dpi(width, height, figure.dpi, MAX_MOVING_PIXELS // MAX_FRAMES)
    if dpi < figure.dpi:
        note = f" [its frames have {dpi:g} dpi, not {figure.dpi:g}]"
    with _drawn_with(figure, dpi):
        animation._init_draw()
        for number, data in enumerate(animation.new_saved_frame_seq()):
            if number == MAX_FRAMES:
                note += f" [only its first {MAX_FRAMES} frames are shown]"
                break
            animation._draw_next_frame(data, blit=False)
            frames.append(_pixels(figure.canvas))
    if not frames:
        return {}, ""
    gif = io.BytesIO()
    wait_ms = getattr(animation, "_interval", 200)
    options = {"save_all": True, "duration": max(int(wait_ms), 20), "loop": 0}
    frames[0].save(gif, format="gif", append_images=frames[1:], **options)
    return {"image/gif": gif.getvalue()}, note


def _pixels(canvas):
    """Gives the pixels that have just been drawn."""
    drawn = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba())
    return drawn.convert("P", palette=Image.Palette.ADAPTIVE)


@contextlib.contextmanager
def _drawn_with(figure, dpi):
    asked, figure.dpi = figure.dpi, dpi
    try:
        yield
    finally:
        figure.dpi = asked


def _as_agg(figure):
    if not isinstance(figure.canvas, FigureCanvasAgg):
        FigureCanvas(figure)


def _wanted_dpi(figure):
    return figure.dpi * (2 if display.SHARP & display.figure_formats else 1)


def _other_forms(figure):
    """Gives the formats that the session has asked for beside PNG, and a note of those
    that the figure cannot give."""
    forms, note = {}, ""
    for name in sorted(display.figure_formats & display.FIGURE_FORMATS.keys()):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they have come with the PNG
                data = _drawn(figure, name, figure.dpi, _tight_box(figure))
            forms[display.FIGURE_FORMATS[name]] = data
        except Exception as error:
            note += f" [not as {name}: {text.describe(error)}]"
    return forms, note


def render(figure, wanted_dpi=None):
    """Gives the PNG of a figure, and a note when it is not as the cell asked for."""
    wanted_dpi = wanted_dpi or figure.dpi
    _as_agg(figure)
    width, height = figure.get_size_inches()
    with _drawn_with(figure, _bounded_dpi(width, height, figure.dpi)):
        box = _tight_box(figure)
    if box:
        width, height = box.size
    dpi = _bounded_dpi(width, height, wanted_dpi)
    note = ""
    if dpi < wanted_dpi:
        note = f" [dpi lowered from {wanted_dpi:g} to {dpi:g}: too many pixels]"
    return _drawn(figure, "png", dpi, box), note


def _drawn(figure, name, dpi, box):
    """Draws a figure, trimmed; where that cannot be done, as it is."""
    try:
        return _encoded(figure, name, dpi, box)
    except Exception:
        if box is None:
            raise
    return _encoded(figure, name, dpi, None)


def _encoded(figure, name, dpi, box):
    file = io.BytesIO()
    figure.canvas.print_figure(
        file,
        format=name,
        dpi=dpi,
        bbox_inches=box,
        facecolor=figure.get_facecolor(),
        edgecolor=figure.get_edgecolor(),
    )
    return file.getvalue()


def _tight_box(figure):
    """Gives the box of all that is drawn, with labels outside the figure; None: it
    cannot be measured. Some artists know their size only once they have been drawn."""
    try:
        return _measured_box(figure)
    except Exception:
        with contextlib.suppress(Exception):
            figure.draw_without_rendering()
            return _measured_box(figure)
    return None


def _measured_box(figure):
    deep = [axes for axes in figure.axes if axes.name == "3d"]
    if deep or figure.get_layout_engine():
        figure.draw_without_rendering()  # these find their places by drawing
    renderer = figure.canvas.get_renderer()
    box = figure.get_tightbbox(renderer)
    box = Bbox.union([box, *_labels_of(deep, renderer, figure.dpi)])
    width, height = figure.get_size_inches()
    sane = 0 < box.width <= 2 * width and 0 < box.height <= 2 * height
    return box.padded(PADDING) if sane else None  # NaN is not sane either


def _labels_of(deep, renderer, dpi):
    """Gives the boxes of labels, in inches: axes with depth do not count them."""
    for axes in deep:
        for label in (axes.xaxis.label, axes.yaxis.label, axes.zaxis.label):
            if axes.get_visible() and label.get_visible() and label.get_text():
                yield Bbox(label.get_window_extent(renderer).get_points() / dpi)


def _bounded_dpi(width, height, dpi, most=MAX_PIXELS):
    fits = math.sqrt(most / (width * height))
    fits = min(fits, MAX_SIDE / width, MAX_SIDE / height)
    return dpi if dpi <= fits else math.floor(fits * 100) / 100


def install():
    if not fonts.install():
        matplotlib.rcParams["axes.unicode_minus"] = False
    charts.install()
    pyplot.switch_backend(f"module://{__name__}")
    pyplot.switch_backend = lambda newbackend: None


install()
