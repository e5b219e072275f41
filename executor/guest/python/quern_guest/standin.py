"""standin.py - IPython, with or without IPython.

Models write `from IPython.display import display, HTML, Image`. Where IPython is not
installed, modules that are made here have what they ask for. Where it is installed,
it would print to a terminal that is not there: so its functions are replaced once a
cell imports it. Loading it ahead would make every session slower.
"""

import base64
import html
import importlib.util
import json
import mimetypes
import os
import sys
import types

from . import display as ours
from . import hooks, shell

# Classes that are nothing but data of one media type.
KINDS = {
    "HTML": "text/html",
    "Javascript": "application/javascript",
    "Latex": "text/latex",
    "Markdown": "text/markdown",
    "Pretty": "text/plain",
    "SVG": "image/svg+xml",
}
MAX_EMBEDDED_BYTES = 8 << 20  # of sound and film in a page: base64 adds a third
MAX_PATH = 4096
NAMES_OR_BYTES = (str, bytes, os.PathLike, type(None))


class Rich:
    """Data of one media type, as it is given, or as a file or an address has it."""

    mime = "text/plain"
    mode = "r"

    def __init__(self, data=None, filename=None, url=None, **options):
        if isinstance(data, os.PathLike) or self._is_file(data):
            data, filename = None, os.fspath(data)
        elif isinstance(data, str) and data.startswith(("http:", "https:")):
            data, url = None, data
        if data is None and filename is not None:
            data = self._read(filename)
        if data is None and url is not None:
            data = self._fetch(url)
        self.data, self.filename, self.options = data, filename, options

    @staticmethod
    def _is_file(data):
        """Whether data is the name of a file: as in notebooks, its content is shown."""
        short = isinstance(data, str) and len(data) <= MAX_PATH and "\0" not in data
        return short and os.path.isfile(data)

    def _read(self, filename):
        with open(filename, self.mode) as file:
            return file.read()

    def _fetch(self, url):
        import urllib.request

        with urllib.request.urlopen(url) as answer:
            data = answer.read()
        return data if "b" in self.mode else data.decode()

    def _repr_mimebundle_(self, **_options):
        return {self.mime: self.data}

    def __repr__(self):
        return f"<IPython.core.display.{type(self).__name__} object>"


class Math(Rich):
    mime = "text/latex"

    def _repr_mimebundle_(self, **_options):
        return {self.mime: f"$\\displaystyle {self.data.strip('$')}$"}


class JSON(Rich):
    mime = "application/json"

    def _read(self, filename):
        return json.loads(super()._read(filename))


class GeoJSON(JSON):
    mime = "application/geo+json"


class Media(Rich):
    """Bytes, or a name: of a file, or an address at which a browser finds it."""

    mode = "rb"
    url = None

    def _is_file(self, data):
        return isinstance(data, str) and not data.startswith(("http:", "https:"))

    def _fetch(self, url):
        self.url = url


class Image(Media):
    mime = "image/png"  # display.py sees what it is

    def _repr_mimebundle_(self, **_options):
        if self.url:
            return {"text/html": f'<img src="{html.escape(self.url)}"/>'}
        return {self.mime: self.data}


class Video(Media):
    """An element of a page."""

    mime = "video/mp4"

    def _repr_mimebundle_(self, **_options):
        kind = mimetypes.guess_type(self.filename or "")[0] or self.mime
        size = len(self.data or b"")
        if size > MAX_EMBEDDED_BYTES:
            return {"text/plain": f"[{kind} of {size:,} bytes: too large to be shown]"}
        tag, source = self.mime.partition("/")[0], html.escape(self.url or "")
        if not self.url:
            source = f"data:{kind};base64,{base64.b64encode(self.data).decode()}"
        return {"text/html": f'<{tag} controls src="{source}"></{tag}>'}


class Audio(Video):
    """A file of sound, or samples with their rate."""

    mime = "audio/wav"

    def __init__(self, data=None, filename=None, url=None, rate=None, **options):
        if rate is not None and not isinstance(data, NAMES_OR_BYTES):
            data = wave_of(data, rate)
        super().__init__(data, filename, url, **options)


def wave_of(samples, rate):
    """Samples of -1 to 1, a row a channel, as a WAV file of 16 bits."""
    import io
    import wave

    import numpy

    samples = numpy.atleast_2d(numpy.asarray(samples, dtype=float))
    samples = samples / (numpy.abs(samples).max() or 1)
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(len(samples))
        sound.setsampwidth(2)
        sound.setframerate(int(rate))
        sound.writeframes((samples.T * 32767).astype("<i2").tobytes())
    return file.getvalue()


class Code(Rich):
    def __repr__(self):
        return self.data

    def _repr_mimebundle_(self, **_options):
        language = self.options.get("language") or "python"
        return {"text/markdown": f"```{language}\n{self.data}\n```"}


class IFrame(Rich):
    def __init__(self, src, width="100%", height=400, **_options):
        self.data, self.size = src, (width, height)

    def _repr_mimebundle_(self, **_options):
        src, (width, height) = html.escape(self.data), self.size
        frame = f'<iframe src="{src}" width="{width}" height="{height}"></iframe>'
        return {"text/html": frame}


class YouTubeVideo(IFrame):
    place = "https://www.youtube.com/embed/"

    def __init__(self, id, width=400, height=300, **_options):
        super().__init__(f"{self.place}{id}", width, height)


class VimeoVideo(YouTubeVideo):
    place = "https://player.vimeo.com/video/"


class FileLink(Rich):
    """Shows the path; which files changed is in the outcome of every cell anyway."""

    def __init__(self, path, *_args, **_options):
        self.data = os.fspath(path)

    def __repr__(self):
        return self.data

    def _repr_mimebundle_(self, **_options):
        path = html.escape(self.data)
        return {"text/html": f'<a href="{path}">{path}</a>'}


class FileLinks(FileLink):
    """Shows the files of a folder, as lines."""

    def __repr__(self):
        found = (entry.path for entry in os.scandir(self.data) if entry.is_file())
        return "\n".join(sorted(found))

    def _repr_mimebundle_(self, **_options):
        return {}


class ProgressBar(Rich):
    """Iterates over range(total), and shows how far it is."""

    def __init__(self, total):
        self.total, self._progress, self._handle = total, 0, ours.Handle()

    def __repr__(self):
        return f"{self.progress}/{self.total}"

    def _repr_mimebundle_(self, **_options):
        return {}

    def __iter__(self):
        self.display()
        for done in range(self.total):
            self.progress = done
            yield done
        self.progress = self.total

    @property
    def progress(self):
        return self._progress

    @progress.setter
    def progress(self, value):
        self._progress = value
        self.update()

    def display(self):
        self._handle.display(self)

    def update(self):
        self._handle.update(self)


def publish_display_data(data, *_args, transient=None, update=False, **_options):
    name = (transient or {}).get("display_id")
    ours.display(data, raw=True, display_id=name, update=update)


def shows(mime):
    """Makes display_html() and the like: they show objects, or with raw=True data."""

    def display_kind(*values, raw=False, **_options):
        for value in values:
            ours.display({mime: value} if raw else value, raw=raw)

    return display_kind


FUNCTIONS = {
    "DisplayHandle": ours.Handle,
    "clear_output": ours.clear_output,
    "display": ours.display,
    "publish_display_data": publish_display_data,
    "update_display": ours.update_display,
}
KIND_FUNCTIONS = {
    f"display_{name}": shows(mime)
    for name, mime in {
        "html": "text/html",
        "javascript": "application/javascript",
        "jpeg": "image/jpeg",
        "json": "application/json",
        "latex": "text/latex",
        "markdown": "text/markdown",
        "pdf": "application/pdf",
        "png": "image/png",
        "pretty": "text/plain",
        "svg": "image/svg+xml",
    }.items()
}


def registers(kind):
    """Makes @register_line_magic and the like."""

    def register(function):
        shell.get_ipython().register_magic_function(function, kind)
        return function

    return register


MAGIC = {
    "register_cell_magic": registers("cell"),
    "register_line_cell_magic": registers("line_cell"),
    "register_line_magic": registers("line"),
}


def set_matplotlib_formats(*formats, **_options):
    ours.set_figure_formats(*formats)


# Notebooks tell their backend by this how figures are to be shown.
INLINE = {
    "set_matplotlib_close": lambda *_args, **_options: None,
    "set_matplotlib_formats": set_matplotlib_formats,
}


class InteractiveShell:
    """Cells set ast_node_interactivity = "all", which cell.py looks up."""

    ast_node_interactivity = "last_expr"
    instance = staticmethod(shell.get_ipython)


def install():
    if importlib.util.find_spec("IPython"):
        replace = {
            "IPython.core.display_functions": FUNCTIONS,
            "IPython.core.getipython": {"get_ipython": shell.for_cells_only},
            "IPython.core.magic": MAGIC,
            "matplotlib_inline.backend_inline": INLINE,
            "IPython.display": {"set_matplotlib_formats": set_matplotlib_formats},
        }
        for name, functions in replace.items():
            hooks.after_import(
                name, lambda module, new=functions: vars(module).update(new)
            )
        hooks.after_import("IPython.core.display", replace_kind_functions)
    else:
        install_modules()


def replace_kind_functions(module):
    for name, function in KIND_FUNCTIONS.items():
        if hasattr(module, name):
            setattr(module, name, function)


def install_modules():
    names = {**FUNCTIONS, **KIND_FUNCTIONS}
    for name, mime in KINDS.items():
        names[name] = type(name, (Rich,), {"mime": mime})
    kinds = (Audio, Code, FileLink, FileLinks, GeoJSON, IFrame, Image, JSON, Math)
    kinds += (ProgressBar, Video, VimeoVideo, YouTubeVideo)
    names.update((kind.__name__, kind) for kind in kinds)
    names.update(DisplayObject=Rich, TextDisplayObject=Rich)
    names.update(INLINE)
    package = make_module("IPython", display=make_module("IPython.display", **names))
    package.core = make_module("IPython.core")
    for name in ("display", "display_functions"):
        setattr(package.core, name, make_module(f"IPython.core.{name}", **names))
    package.core.magic = make_module("IPython.core.magic", **MAGIC)
    package.core.interactiveshell = make_module(
        "IPython.core.interactiveshell", InteractiveShell=InteractiveShell
    )
    inline = make_module("matplotlib_inline.backend_inline", **INLINE)
    make_module("matplotlib_inline", backend_inline=inline)
    package.get_ipython = shell.for_cells_only
    package.version_info = (0, 0, 0)
    package.__version__ = "0.0.0"


def make_module(name, **names):
    module = sys.modules[name] = types.ModuleType(name)
    vars(module).update(names)
    if name in ("IPython", "IPython.core", "matplotlib_inline"):
        module.__path__ = []
    return module
