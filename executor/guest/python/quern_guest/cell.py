"""cell.py - runs a cell in __main__ and tells what came of it.

Every statement runs exactly once. Whatever the code does, the next cell starts
with working streams, built-ins and signals.
"""

import __future__

import ast
import asyncio
import builtins
import contextlib
import functools
import inspect
import linecache
import operator
import os
import re
import sys
import traceback
import warnings

import _quern

import __main__

from . import display, endings, magics, missing, openfiles, shell, source
from . import streams, text, tools

MAX_VALUE_BYTES = _quern.MAX_STREAM_BYTES
FUTURES = functools.reduce(
    operator.or_,
    (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names),
)
LEAST_RECURSION = 1000  # we need some of it, too
# Names by which notebooks keep earlier cells; there are none here.
PAST = re.compile(r"In|Out|_\d+|_i+\d*|_[iod]h")
NO_PAST = (
    "Of earlier cells there are the last three values, _, __ and ___. "
    "Give a name to what you want to use again."
)
# Code for warm_up(): without effect, and with a little of everything.
LIKE_MOST = "if 0:\n    x = f(1) + 1\n    print(x)\nNone"
_futures = 0  # __future__ flags that cells have imported: later cells have them, too
_loop = None

# Made once, of built-in parts: it works even if a cell has deleted the built-ins.
restore_builtins = None


def remember_builtins():
    global restore_builtins
    original = dict(vars(builtins))
    restore_builtins = functools.partial(_quern.restore, vars(builtins), original)


def repair():
    """Undoes what a cell may have broken: the next one finds all in order."""
    restore_builtins()
    vars(__main__)["__builtins__"] = builtins
    streams.repair()
    sys.displayhook = sys.__displayhook__
    sys.excepthook = sys.__excepthook__
    sys.settrace(None)
    sys.setprofile(None)
    if sys.getrecursionlimit() < LEAST_RECURSION:
        sys.setrecursionlimit(LEAST_RECURSION)


def run(code, number, described="", last=False, env=None):
    """Gives (status, result, error name, error value, traceback, missing module).
    described: what the code may call, as tools.offer() takes it. last: the session
    ends with this cell, so functions of atexit are run. env: variables of the
    environment while it runs."""

    def work():
        tools.offer(described)
        filename = f"<cell-{number}>"
        if not env:  # as in most cells
            return evaluate(code, filename)
        with environment(env):
            return evaluate(code, filename)

    return guarded(work, last)


@contextlib.contextmanager
def environment(variables):
    """Sets variables while the cell runs. They belong to the job: the next job of the
    session does not see them. A variable that the cell itself has changed stays."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in variables.items():
            if os.environ.get(name) == value:
                del os.environ[name]
                if before[name] is not None:
                    os.environ[name] = before[name]


def guarded(work, last=False):
    """Calls work(), which may run code of the session; gives the same as run()."""
    repair()
    try:
        _quern.enter()
        try:
            display.start()
            result = work()
        finally:
            restore_builtins()
            display.finish()
            if last:
                endings.run_exit_functions()
                display.settle()
            openfiles.flush()
            streams.flush()
        return ("ok", result, "", "", "", "")
    except BaseException as error:
        _quern.release()
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + 200)  # to tell of it takes some calls, too
        try:
            if not _quern.is_session():
                endings.end_child(error, trace(error))
            return failure(error)
        finally:
            sys.setrecursionlimit(limit)
    finally:
        _quern.leave()


def warm_up():
    """Does what every cell does, and gives the same as run(). Between cells: after a
    fork, whoever writes to a page first waits for its copy."""
    return guarded(lambda: evaluate(LIKE_MOST, "<cell-0>") or display.result(2))


def evaluate(code, filename):
    """Runs the code; gives the text of its value, "" when there is none."""
    code = source.clean(code)
    command = magics.of_cell(code)
    if command:
        return command(filename)
    value, silent = execute(code, filename)
    if value is None:
        return ""
    remember(value)
    return "" if silent else display.result(value)


def evaluate_and_display(code, filename):
    """evaluate() for a cell within a cell: its value is displayed."""
    with display.nested():
        result = evaluate(code, filename)
    if result:
        display.emit({"text/plain": result})


def remember(value):
    """Keeps the value: the last three are _, __ and ___."""
    names = vars(builtins)
    names["___"], names["__"] = names.get("__", ""), names.get("_", "")
    names["_"] = value


def execute(code, filename):
    """Runs all steps. Gives (value of the last expression, whether it is silenced)."""
    global _futures
    vars(__main__).pop("__warningregistry__", None)  # a cell has its own warnings
    steps, kinds = compile_steps(code, filename, _futures, shows_every_value())
    _futures |= kinds & FUTURES
    step = step_in_loop if kinds & inspect.CO_COROUTINE else step_at_once
    value, silent = None, True
    for ready, is_silent in steps:
        if value is not None and not silent:
            display.display(value)
        value, silent = step(ready), is_silent
    return value, silent


def compile_steps(code, filename, futures, every):
    """Compiles all steps before any runs, so that a cell with an error does nothing.
    Gives ([(code, whether its value is silenced)], their flags)."""
    shown, steps = source.parse(code, filename, futures, every)
    lines = [line + "\n" for line in shown.split("\n")]
    linecache.cache[filename] = (len(shown), None, lines, filename)
    compiled, kinds = [], 0
    for part in steps:
        flags = futures | kinds & FUTURES | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(part.tree, filename, part.mode, flags, True)
        compiled.append((code, part.silent))
        kinds |= code.co_flags
    return compiled, kinds


def shows_every_value():
    """InteractiveShell.ast_node_interactivity = "all", as notebooks have it."""
    module = sys.modules.get("IPython.core.interactiveshell")
    theirs = getattr(module, "InteractiveShell", None)
    ours = shell.get_ipython().ast_node_interactivity
    return "all" in (ours, getattr(theirs, "ast_node_interactivity", ""))


def step_at_once(code):
    return eval(code, vars(__main__))


def step_in_loop(code):
    """Runs all steps of a cell that awaits something, in one event loop: one step may
    start a task, and the next await it."""
    global _loop

    async def step():
        value = eval(code, vars(__main__))
        return await value if code.co_flags & inspect.CO_COROUTINE else value

    if _loop is None or _loop.get_loop().is_closed():
        _loop = asyncio.Runner()  # one for all cells: tasks go on
    return _loop.run(step())


def failure(error):
    if isinstance(error, SystemExit):
        code = text.message(error) if endings.tell_exit(error) else ""
        streams.flush()
        return ("exit", "", "SystemExit", text.clip(code, MAX_VALUE_BYTES), "", "")
    interrupted = isinstance(error, KeyboardInterrupt)
    module = missing.module_of(error)
    if module:
        error.add_note(missing.advice(module))
    if isinstance(error, NameError) and PAST.fullmatch(str(error.name)):
        error.add_note(NO_PAST)
    return (
        "interrupted" if interrupted else "error",
        "",
        text.clip(type(error).__name__, 256),
        text.clip(text.message(error), MAX_VALUE_BYTES),
        trace(error),
        module,
    )


def is_ours(filename):
    """Whether a frame is ours. Those of runpy count: %run uses it."""
    return __package__ in filename or filename == "<frozen runpy>"


def hide_our_frames(told):
    """Takes our frames out of the traceback, also out of those of causes, and of the
    exceptions in a group."""
    waiting = [told]
    while waiting:
        told = waiting.pop()
        theirs = (frame for frame in told.stack if not is_ours(frame.filename))
        told.stack = traceback.StackSummary.from_list(theirs)
        waiting += filter(None, (told.__cause__, told.__context__))
        waiting += told.exceptions or ()


def trace(error):
    """Gives the traceback from the first line of a cell on, without our own frames."""
    frames = error.__traceback__
    while frames and not frames.tb_frame.f_code.co_filename.startswith("<cell-"):
        frames = frames.tb_next
    try:
        told = traceback.TracebackException(type(error), error, frames)
        hide_our_frames(told)
        lines = "".join(told.format())
    except Exception:
        lines = text.describe(error)
    limit = text.MAX_TEXT_BYTES
    return text.clip(lines, limit, tail=limit * 3 // 4)
