"""standin.py - IPython.display, with or without IPython.

Models write `from IPython.display import display, HTML, Image`. Without IPython
modules made here hold just that. A real one would print to a terminal that is
not there, so its functions are replaced, once somebody imports it: loading it
ahead would make every session slower.
"""

import importlib.util
import sys
import types

from . import display as ours
from . import hooks

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


def publish_display_data(data, **_options):
    ours.display(data, raw=True)


FUNCTIONS = {
    "display": ours.display,
    "clear_output": clear_output,
    "publish_display_data": publish_display_data,
}


def install():
    if importlib.util.find_spec("IPython"):
        hooks.after_import(
            "IPython.core.display_functions",
            lambda module: vars(module).update(FUNCTIONS),
        )
    else:
        install_modules()


def install_modules():
    module = types.ModuleType("IPython.display")
    vars(module).update(FUNCTIONS, Image=Image)
    for name, mime in KINDS.items():
        kind = type(name, (Rich,), {"mime": mime, "__module__": module.__name__})
        setattr(module, name, kind)
    core = types.ModuleType("IPython.core")
    core.display = core.display_functions = module
    package = types.ModuleType("IPython")
    package.display, package.core = module, core
    package.__path__ = core.__path__ = []
    package.get_ipython = lambda: None  # libraries: not a notebook
    package.version_info = (0, 0, 0)
    sys.modules["IPython"] = package
    sys.modules["IPython.core"] = core
    for name in ("display", "core.display", "core.display_functions"):
        sys.modules[f"IPython.{name}"] = module
