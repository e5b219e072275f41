"""display.py - what a cell shows: values as bundles of media types.

A bundle always has text/plain, which is what the model reads.
"""

import base64
import builtins
import contextlib
import json
import os
import re
import sys

import _quern

from . import streams, text, updates

MAX_DISPLAYS = 64  # a cell
MAX_ROWS = 1000  # of a table, whatever its own options say
MAX_COLUMNS = 100
MAX_NUMBERS = 20_000  # of an array, whatever numpy's own options say
METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_latex_": "text/latex",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_json_": "application/json",
    "_repr_pdf_": "application/pdf",
    "_repr_javascript_": "application/javascript",
}
STARTS = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}
PLAIN = frozenset({bool, bytes, complex, float, int, str})  # they have no other form
BINARY = re.compile(r"image/(?!svg)|audio/|video/|application/pdf")
# Formats that figures are also shown in, beside PNG: their media types.
FIGURE_FORMATS = {
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "pdf": "application/pdf",
    "svg": "image/svg+xml",
}
SHARP = frozenset({"retina", "png2x"})  # twice the dots
figure_formats = frozenset({"png"})  # until a cell asks for others
_count = 0
_captured = None  # a list: bundles go there instead of to the warden
_nested = False  # the value of a cell within a cell is a display
_target = "", False  # of what is emitted: its display_id, whether it is an update


def start():
    """A cell starts."""
    global _count, _captured, _nested, _target
    _count, _captured, _nested, _target = 0, None, False, ("", False)
    updates.start()
    if figures := _figures():
        figures.start()


def finish():
    """The code has ended: shows the figures that are still open."""
    try:
        if figures := _figures():
            figures.finish()
    finally:
        updates.finish()


def settle():
    """Sends what functions of atexit have shown."""
    updates.finish()


def _figures():
    """Gives our backend once matplotlib has been imported, else None."""
    return sys.modules.get(f"{__package__}.figures")


def is_full():
    """Whether a display would not be shown any more: it need not be drawn."""
    return _count >= MAX_DISPLAYS and not updates.is_cleared()


def is_asked_for():
    """Whether the display has an id: then it is sent even if it was shown already."""
    return _target[0] != ""


def emit(bundle):
    """Sends one bundle of str and bytes, within the bounds."""
    name, is_update = _target
    if _captured is not None:
        _captured.append(bundle)
        return
    if not is_update and not _takes_place():
        return
    if _count > MAX_DISPLAYS and not is_update:
        bundle = {"text/plain": f"[a cell shows {MAX_DISPLAYS} displays, not more]"}
    streams.flush()
    bundle = bounded({mime: encoded(bundle[mime]) for mime in bundle})
    if is_update:
        updates.update(bundle, name)
    else:
        updates.show(bundle, name)


def _takes_place():
    """Takes a place of those that a cell has, the last for a note. False: none left."""
    global _count
    _count = 1 if updates.is_cleared() else _count + 1
    return _count <= MAX_DISPLAYS + 1


def clear_output(wait=False):
    """Clears what the cell has printed and shown; with wait, only when more comes."""
    global _count
    if _captured is not None:
        _captured.clear()
        return
    streams.flush()
    if updates.clear(bool(wait)):
        _count = _count if wait else 0
        if figures := _figures():
            figures.cleared()


def encoded(value):
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace")
    return bytes(value)


def bounded(data):
    """Drops the largest forms of a bundle until the rest fits."""
    while sum(map(len, data.values())) > _quern.MAX_DISPLAY_BYTES:
        mime = max(data, key=lambda mime: len(data[mime]))
        note = (
            f"\n[{mime} is not shown: it has {len(data[mime]):,} bytes, "
            f"a display may have {_quern.MAX_DISPLAY_BYTES:,}]"
        )
        del data[mime]
        data["text/plain"] = data.get("text/plain", b"") + note.encode()
    return data


@contextlib.contextmanager
def captured():
    """While it holds, displays go into a list."""
    global _captured
    before, _captured = _captured, []
    try:
        yield _captured
    finally:
        _captured = before


@contextlib.contextmanager
def nested():
    """While it holds, the value of a cell is displayed: this is a cell in a cell."""
    global _nested
    before, _nested = _nested, True
    try:
        yield
    finally:
        _nested = before


def result(value):
    """Shows the value of a cell; gives its text, which is the result."""
    if _nested:
        display(value)
        return ""
    if type(value) in PLAIN:
        return text.show(value)
    if _shows_itself(value):
        return ""
    if figures := _figures_of(value):
        figures.emit(value)
        return text.show(value)
    bundle = bundle_of(value)
    if len(bundle) > 1:
        emit(bundle)
    return bundle["text/plain"]


class Handle:
    """What display(..., display_id=True) gives: it can replace what it has shown."""

    def __init__(self, display_id=None):
        self.display_id = display_id or _new_id()

    def __repr__(self):
        return f"<DisplayHandle display_id={self.display_id}>"

    def display(self, value, **options):
        display(value, display_id=self.display_id, **options)

    def update(self, value, **options):
        update_display(value, display_id=self.display_id, **options)


def _new_id():
    return os.urandom(16).hex()


def display(
    *values, raw=False, display_id=None, update=False, clear=False, **_options
):
    """Shows values in the middle of a cell; with update, in place of a display."""
    if update and not display_id:
        raise TypeError("display_id required for update=True")
    name = _new_id() if display_id is True else updates.checked(display_id or "")
    if clear:
        clear_output(wait=True)
    with _shown_as(name, update):
        for value in values:
            if raw:
                emit({"text/plain": "", **_checked(value)})
            elif figures := _figures_of(value):
                figures.emit(value)
            elif not _shows_itself(value):
                emit(bundle_of(value))
    return Handle(name) if name and not update else None


def update_display(value, *, display_id, **options):
    display(value, display_id=display_id, **{**options, "update": True})


@contextlib.contextmanager
def _shown_as(name, update):
    global _target
    before, _target = _target, (name, update)
    try:
        yield
    finally:
        _target = before


def _shows_itself(value):
    """_ipython_display_() calls display()."""
    method = getattr(type(value), "_ipython_display_", None)
    if not callable(method):
        return False
    try:
        method(value)
    except NotImplementedError:
        return False
    except Exception as error:
        tell_failure(value, "_ipython_display_", error)
        return False
    return True


def _figures_of(value):
    figures = _figures()
    return figures if figures and figures.is_figure(value) else None


def bundle_of(value):
    with _bounded_options():
        bundle = {"text/plain": text.show(value)}
        everything = {"include": None, "exclude": None}
        bundle.update(_checked(_ask(value, "_repr_mimebundle_", **everything)))
        for name, mime in METHODS.items():
            if mime not in bundle and not _is_double(mime, bundle):
                bundle.update(_checked({mime: _ask(value, name)}))
    return bundle


def _is_double(mime, bundle):
    """Whether a form is the second of one picture: Pillow gives both PNG and JPEG."""
    return mime == "image/jpeg" and "image/png" in bundle


def _ask(value, name, **options):
    """Calls the method. None: the class has none, or it failed, which is told."""
    method = getattr(type(value), name, None)
    if not callable(method):
        return None
    try:
        answer = method(value, **options)
    except NotImplementedError:
        return None
    except Exception as error:
        tell_failure(value, name, error)
        return None
    return answer[0] if isinstance(answer, tuple) else answer


def tell_failure(value, name, error):
    what = f"{type(value).__name__}.{name}()"
    print(f"{what} failed: {text.describe(error)}", file=sys.stderr)


def _checked(bundle):
    """Gives what can be sent of a bundle."""
    sent = {}
    if not isinstance(bundle, dict):
        return sent
    for mime, value in bundle.items():
        if isinstance(mime, str) and value is not None:
            value = _as_sent(mime, value)
            if isinstance(value, (str, bytes)):
                sent[_true_type(mime, value)] = value
    return sent


def _true_type(mime, value):
    """Gives the type that the bytes have: IPython may call a GIF a PNG."""
    if isinstance(value, bytes) and mime.startswith("image/"):
        return STARTS.get(next(filter(value.startswith, STARTS), b""), mime)
    return mime


def _as_sent(mime, value):
    """Gives a form as bytes: notebooks have images in base64, and JSON as values."""
    with contextlib.suppress(Exception):
        if mime == "text/plain":
            return text.clip(value)
        if mime.endswith("json") and not isinstance(value, str):
            return json.dumps(value)
        if BINARY.match(mime) and isinstance(value, str):
            return base64.b64decode(value)
        return value
    return None


@contextlib.contextmanager
def _bounded_options():
    """Bounds the options of pandas and numpy: a session that asks for all rows, or all
    numbers, does not mean ten million."""
    with contextlib.ExitStack() as stack:
        pandas = sys.modules.get("pandas")
        if hasattr(pandas, "option_context") and (unbound := _unbound(pandas)):
            stack.enter_context(pandas.option_context(*unbound))
        numpy = sys.modules.get("numpy")
        if hasattr(numpy, "printoptions"):
            options = numpy.get_printoptions()
            if options["threshold"] > MAX_NUMBERS:
                options["threshold"] = MAX_NUMBERS
                stack.enter_context(numpy.printoptions(**options))
        yield


def _unbound(pandas):
    """Gives the options that exceed our bounds, with the bounds."""
    bounds = {"display.max_rows": MAX_ROWS, "display.max_columns": MAX_COLUMNS}
    unbound = []
    for name, most in bounds.items():
        asked = pandas.get_option(name)  # None: all; 0: what fits
        if asked is None or asked > most:
            unbound += (name, most)
    if "display.max_rows" in unbound:
        # Of a table with more rows pandas shows only min_rows, which are ten.
        unbound += ("display.min_rows", MAX_ROWS)
    return unbound


def set_figure_formats(*names):
    """Does what %config InlineBackend.figure_formats does. PNG is always there, for
    models that see pictures."""
    global figure_formats
    for name in names:
        if name != "png" and name not in SHARP and name not in FIGURE_FORMATS:
            known = ", ".join(sorted({"png", *SHARP, *FIGURE_FORMATS}))
            raise ValueError(f"figure format {name!r} is not known; there are {known}")
    figure_formats = frozenset(names)


def install():
    builtins.display = display
