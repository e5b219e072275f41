"""standin.py - IPython.display for sessions that have no IPython.

Models write `from IPython.display import display, HTML, Image`. The modules
made here hold just that; with a real IPython only its display() is replaced,
which would otherwise print to a terminal.
"""

import importlib.util
import sys
import types

from . import display as ours

KINDS = {
    "HTML": "text/html",
    "Markdown": "text/markdown",
    "Latex": "text/latex",
    "Math": "text/latex",
    "SVG": "image/svg+xml",
    "JSON": "application/json",
}


class Rich:
    """Data of one media type."""

    mime = "text/plain"

    def __init__(self, data=None, filename=None, url=None, **_options):
        if data is None and filename is not None:
            mode = "rb" if self.mime.startswith("image/p") else "r"
            with open(filename, mode) as file:
                data = file.read()
        if data is None and url is not None:
            raise ValueError("this session has no network: url cannot be read")
        self.data = data

    def _repr_mimebundle_(self, **_options):
        return {self.mime: self.data}

    def __repr__(self):
        return f"<IPython.core.display.{type(self).__name__} object>"


class Image(Rich):
    """A PNG or JPEG, from bytes or a file."""

    mime = "image/png"

    def __init__(self, data=None, filename=None, url=None, **options):
        if isinstance(data, str):
            data, filename = None, data
        super().__init__(data, filename, url, **options)
        if self.data and self.data.startswith(b"\xff\xd8"):
            self.mime = "image/jpeg"


def clear_output(wait=False):
    """There is no screen to clear: all output is kept."""


def install():
    if importlib.util.find_spec("IPython"):
        from IPython import display as real

        real.display = ours.display
        real.clear_output = clear_output
        return
    module = types.ModuleType("IPython.display")
    for name, mime in KINDS.items():
        kind = type(name, (Rich,), {"mime": mime, "__module__": module.__name__})
        setattr(module, name, kind)
    module.Image = Image
    module.display = ours.display
    module.clear_output = clear_output
    package = types.ModuleType("IPython")
    package.__path__ = []
    package.display = module
    package.get_ipython = lambda: None  # libraries: not a notebook
    package.version_info = (0, 0, 0)
    sys.modules["IPython"] = package
    sys.modules["IPython.display"] = module
