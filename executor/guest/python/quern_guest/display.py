"""display.py - what a cell shows: values as bundles of media types.

A bundle always has text/plain, which is what the model reads.
"""

import base64
import builtins
import contextlib
import json
import sys

import _quern

from . import hooks, streams, text

MAX_DISPLAYS = 64  # a cell
MAX_ROWS = 1000  # of a table, whatever its own options say
MAX_COLUMNS = 100
METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_latex_": "text/latex",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_json_": "application/json",
}
_count = 0


def start():
    """A cell starts."""
    global _count
    _count = 0
    if figures := _figures():
        figures.start()


def finish():
    """Its code has ended: figures that are still open are shown."""
    if figures := _figures():
        figures.finish()


def _figures():
    """Our backend, once somebody has asked for matplotlib."""
    return sys.modules.get(f"{__package__}.figures")


def is_full():
    """What is emitted now is not shown: it need not be drawn."""
    return _count >= MAX_DISPLAYS


def emit(bundle):
    """Sends one bundle of str and bytes, within the bounds."""
    global _count
    _count += 1
    if _count > MAX_DISPLAYS + 1:
        return
    if _count > MAX_DISPLAYS:
        bundle = {"text/plain": f"[only {MAX_DISPLAYS} displays a cell are shown]"}
    data = {
        mime: (
            value.encode("utf-8", "backslashreplace")
            if isinstance(value, str)
            else bytes(value)
        )
        for mime, value in bundle.items()
    }
    size = sum(map(len, data.values()))
    if size > _quern.MAX_DISPLAY_BYTES:
        plain = bundle.get("text/plain", "")
        note = f"{text.clip(plain, 1000)}\n[not shown: {size:,} bytes]"
        data = {"text/plain": note.encode()}
    streams.flush()
    _quern.display(data)


def result(value):
    """Shows the value of a cell; its text goes into the result instead."""
    if figures := _figures_of(value):
        figures.emit(value)
        return text.show(value)
    bundle = bundle_of(value)
    if len(bundle) > 1:
        emit(bundle)
    return bundle["text/plain"]


def display(*values, raw=False, **_options):
    """Shows values in the middle of a cell."""
    for value in values:
        if figures := _figures_of(value):
            figures.emit(value)
        elif raw:
            emit({"text/plain": "", **_checked(value)})
        else:
            emit(bundle_of(value))


def _figures_of(value):
    figures = _figures()
    return figures if figures and figures.is_figure(value) else None


def bundle_of(value):
    with _bounded_tables():
        bundle = {"text/plain": text.show(value)}
        bundle.update(_checked(_ask(value, "_repr_mimebundle_")))
        for name, mime in METHODS.items():
            if mime not in bundle and not _is_double(mime, bundle):
                bundle.update(_checked({mime: _ask(value, name)}))
    return bundle


def _is_double(mime, bundle):
    """Pillow offers every picture as PNG and as JPEG."""
    return mime == "image/jpeg" and "image/png" in bundle


def _ask(value, name):
    """None when the class has no such method, or it fails."""
    method = getattr(type(value), name, None)
    if not callable(method):
        return None
    try:
        answer = method(value)
    except Exception:
        return None
    return answer[0] if isinstance(answer, tuple) else answer


def _checked(bundle):
    """What can be sent of a bundle."""
    sent = {}
    if not isinstance(bundle, dict):
        return sent
    for mime, value in bundle.items():
        if isinstance(mime, str) and value is not None:
            value = _as_sent(mime, value)
            if isinstance(value, (str, bytes)):
                sent[mime] = value
    return sent


def _as_sent(mime, value):
    """Notebooks give images in base64, and JSON as the values it stands for."""
    with contextlib.suppress(Exception):
        if mime == "text/plain":
            return text.clip(value)
        if mime == "application/json" and not isinstance(value, str):
            return json.dumps(value)
        if mime in ("image/png", "image/jpeg") and isinstance(value, str):
            return base64.b64decode(value)
        return value
    return None


@contextlib.contextmanager
def _bounded_tables():
    """A session that asks pandas for all rows does not mean ten million."""
    pandas = sys.modules.get("pandas")
    bounds = (("display.max_rows", MAX_ROWS), ("display.max_columns", MAX_COLUMNS))
    unbound = []
    if hasattr(pandas, "get_option"):
        for name, most in bounds:
            if (pandas.get_option(name) or most + 1) > most:
                unbound += (name, most)
    if not unbound:
        yield
        return
    with pandas.option_context(*unbound):
        yield


def install():
    builtins.display = display
    hooks.after_import("PIL.ImageShow", _show_here)


def _show_here(image_show):
    """Image.show() looks for programs with windows: it finds us first."""

    class Viewer(image_show.Viewer):
        def show(self, image, **_options):
            display(image)
            return True

    image_show.register(Viewer(), 0)
