"""boot.py - what is loaded before a session exists, and what makes one.

zygote() runs once, with the system's own files in view; session() runs in
every process forked from it, in its box, before the first cell.
"""

import faulthandler
import gc
import importlib
import importlib.abc
import importlib.util
import os
import pathlib
import selectors
import shutil
import sys
import tempfile
import traceback
import warnings

from . import cell, display, hooks, libraries, missing, shell, standin, streams

REHEARSALS = 40  # Python 3.11 and 3.13 look at most code again after 16 runs


def zygote(profile):
    gc.disable()
    display.install()
    shell.install()
    libraries.install()
    standin.install()
    sys.meta_path.insert(0, HeldModules("charts", "figures", "fonts"))
    figures = f"{__package__}.figures"
    hooks.after_import("matplotlib.pyplot", lambda _: importlib.import_module(figures))
    if profile == "science":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            preload()
    cell.remember_builtins()
    rehearse()
    gc.collect()
    gc.freeze()  # so that sessions do not copy these pages to count them


def rehearse():
    """What Python makes and rewrites when code runs for the first times (caches
    of types, faster instructions) is made once, here, and not in each session."""
    for _ in range(REHEARSALS):
        reseed()
        status, *rest = cell.warm_up()
        if status != "ok":
            raise RuntimeError(f"a cell without effect ended {status!r}: {rest}")


def session(trace, trace_signal):
    gc.enable()
    selectors.DefaultSelector = selectors.PollSelector  # no epoll in a box
    faulthandler.enable(trace, all_threads=False)
    faulthandler.register(trace_signal, trace, all_threads=False)
    sys.path.insert(0, "")
    missing.look_there()
    streams.repair()
    reseed()


def reseed():
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(list(os.urandom(64)))


_random = None  # the state of random in a snapshot, which a fork would reseed


def before_snapshot():
    global _random
    if random := sys.modules.get("random"):
        _random = random.getstate()


def after_snapshot():
    missing.look_again()
    if _random and (random := sys.modules.get("random")):
        random.setstate(_random)


class HeldModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Our modules that wait for matplotlib: their files are not in the box."""

    def __init__(self, *names):
        folder = pathlib.Path(__file__).parent
        self.code = {}
        for name in names:
            file = folder / f"{name}.py"
            code = compile(file.read_bytes(), str(file), "exec")
            self.code[f"{__package__}.{name}"] = code

    def find_spec(self, fullname, path=None, target=None):
        if fullname in self.code:
            return importlib.util.spec_from_loader(fullname, self)
        return None

    def exec_module(self, module):
        exec(self.code[module.__name__], vars(module))


def preload():
    """The scientific modules that are installed, used once so that what they
    make at first use is made."""
    folder = tempfile.mkdtemp(prefix="quern-guest-")
    os.environ["MPLCONFIGDIR"] = folder  # sessions make their own of that name
    try:
        for warm in (warm_tables, warm_figures, warm_machine):
            try:
                warm()
            except ImportError:
                pass  # not installed
            except Exception:  # a cell that imports it will see the same
                traceback.print_exc()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def warm_tables():
    import numpy
    import pandas

    table = pandas.DataFrame({"a": numpy.arange(3.0), "b": ["x", "y", "z"]})
    display.bundle_of(table)
    table.groupby("b").mean().describe()


def warm_figures():
    from matplotlib import font_manager, pyplot

    from . import figures

    importlib.import_module("PIL.Image")
    figure, axes = pyplot.subplots()
    axes.plot([0, 1], [1, 0], label="$x^2$")
    axes.set_title("quern 图")
    axes.legend()
    figures.render(figure)
    pyplot.close("all")
    # Fonts keep their files open, which a session must not inherit.
    font_manager._get_font.cache_clear()


def warm_machine():
    """scikit-learn brings psutil along where it is installed, which complains at
    length when it is first imported where /proc shows processes only."""
    importlib.import_module("psutil")
