"""boot.py - what is loaded before a session exists, and what makes one.

zygote() runs once, where the files of the host can be seen. session() runs in each
process that is forked from it, in its box, before the first cell.
"""

import faulthandler
import gc
import importlib
import importlib.abc
import importlib.util
import os
import pathlib
import random
import selectors
import sys
import threading
import traceback
import warnings

from . import absent, cell, display, endings, hooks, installed, libraries
from . import missing, shell, standin

_main_thread = threading.main_thread()
MT_WORDS = 624  # of the state of a Mersenne twister
REHEARSALS = 40  # Python 3.11 and 3.13 look at most code again after 16 runs


def zygote(profile, trace, trace_signal):
    """trace: the descriptor that sessions have for where they are when they die,
    or when the signal asks."""
    gc.disable()
    display.install()
    shell.install()
    absent.install()
    libraries.install()
    standin.install()
    sys.meta_path.insert(0, HeldModules("charts", "figures", "fonts"))
    figures = f"{__package__}.figures"
    hooks.after_import("matplotlib.pyplot", lambda _: importlib.import_module(figures))
    if profile == "science":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warm_up()
    cell.remember_builtins()
    selectors.DefaultSelector = selectors.PollSelector  # no epoll in a box
    faulthandler.enable(trace, all_threads=False)
    faulthandler.register(trace_signal, trace, all_threads=False)
    endings.remember_functions()
    installed.look()  # before the memory of sessions is laid out
    rehearse(REHEARSALS)
    gc.collect()
    gc.freeze()  # or the collector would write to these pages in each session


def libraries_installed():
    return installed.names


def settle():
    """Rehearses once more, now that memory is laid out: what a cell takes over from
    the one before it, and frees, then lies where sessions put their own objects."""
    rehearse(1)
    gc.freeze()
    gc.enable()


def rehearse(times):
    """Runs what each session runs. Python fills caches of types and rewrites
    instructions when code runs for the first times: that is done once, here, and
    not in each session."""
    path = sys.path[:]
    for _ in range(times):
        session()
        before_snapshot()
        for status, *rest in (cell.run("None", 0), cell.warm_up()):
            if status != "ok":
                raise RuntimeError(f"a cell without effect ended {status!r}: {rest}")
        sys.path[:] = path
        os.environ.pop("PYTHONPATH", None)


def session():
    """Makes a session of this process. Each session copies the pages that this writes
    to, so what is the same for all sessions is done before."""
    _main_thread._native_id = os.getpid()  # in the fork it is still the zygote's
    sys.path.insert(0, "")
    missing.look_there()
    reseed()


def reseed():
    random.seed()
    if numpy := sys.modules.get("numpy"):
        key = numpy.frombuffer(os.urandom(4 * MT_WORDS), numpy.uint32)
        numpy.random.set_state(("MT19937", key, MT_WORDS))


_generator = random.random.__self__
_gauss = None
# A function in C: interp_wake() calls it where no Python code may run.
state_of_random = super(random.Random, _generator).getstate


def before_snapshot():
    global _gauss
    _gauss = _generator.gauss_next


def after_snapshot(state):
    """In a snapshot that becomes the session. state: of the random numbers, to go on
    from; Python gives a fork new ones."""
    missing.look_again()
    if state:
        random.setstate((_generator.VERSION, state, _gauss))


class HeldModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Holds modules of ours that are executed when matplotlib is loaded: their files
    are not in the box, so they cannot be read then."""

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


def warm_up():
    """Uses the libraries once: what they make at first use is made here, for all."""
    for warm in (warm_tables, warm_figures):
        try:
            warm()
        except ImportError:
            pass  # not installed
        except Exception:  # a cell that uses it gets the same error
            traceback.print_exc()


def warm_tables():
    import numpy
    import pandas

    table = pandas.DataFrame({"a": numpy.arange(3.0), "b": ["x", "y", "z"]})
    display.bundle_of(table)
    table.groupby("b").mean().describe()


def warm_figures():
    from matplotlib import font_manager, pyplot

    from . import figures

    figure, axes = pyplot.subplots()
    axes.plot([0, 1], [1, 0], label="$x^2$")
    axes.set_title("quern 图")
    axes.legend()
    figures.render(figure)
    pyplot.close("all")
    # Fonts keep their files open, which a session must not inherit.
    font_manager._get_font.cache_clear()
