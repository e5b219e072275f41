"""Docstring examples: does a cell show what Python's prompt shows?

    tests/conformance/run doctests [PACKAGE...]

Every example in the docstrings of a package and its modules is run twice: at a
prompt (exec of what compile() gives for "single", in a plain interpreter) and
as a cell in the box. Compared is what was shown, or the exception's name; not
what the docstring promises. Prints rates, and the classes of what differs.
"""

import ast
import contextlib
import doctest
import importlib
import io
import json
import os
import pkgutil
import re
import signal
import subprocess
import sys
import tempfile
import types
import warnings
from collections import Counter

from executor_client import Executor

PACKAGES = ("stdlib", "numpy", "pandas", "scipy")
EXAMPLE_MS = 5000
MODULE_S = 180
LEFT_OUT = re.compile(
    r"(^|\.)(tests?|_?testing|_?pytesttester|timer_comparison|conftest|__main__|setup)(\.|$)"
    r"|^(antigravity|this|idlelib|turtledemo|lib2to3|ensurepip|tkinter)(\.|$)"
)
# Both sides start with these names, the module's own, and the same seeds.
START = """
for _name in [n for n in globals() if not n.startswith("__")]: del globals()[_name]
import importlib
globals().update({{
    name: value
    for name, value in vars(importlib.import_module({module!r})).items()
    if not name.startswith("__")
}})
import random; random.seed(0)
{imports}
"""
IMPORTS = {
    "numpy": "import numpy as np; np.random.seed(0)",
    "scipy": "import numpy as np; np.random.seed(0)",
    "pandas": "import numpy as np, pandas as pd; np.random.seed(0)",
}
ADDRESS = re.compile(r"0x[0-9a-f]+")
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")


def modules_of(package):
    if package == "stdlib":
        roots = sorted(sys.stdlib_module_names - {"test"})
    else:
        roots = [package]
    for root in roots:
        if LEFT_OUT.search(root):
            continue
        yield root
        spec = importlib.util.find_spec(root)  # None: of another system
        folders = spec and spec.submodule_search_locations
        for module in pkgutil.walk_packages(folders or [], root + ".", str):
            if not LEFT_OUT.search(module.name):
                yield module.name


def start_of(module):
    return START.format(module=module, imports=IMPORTS.get(module.split(".")[0], ""))


# In a process of its own: what the prompt shows.


def on_alarm(*_):
    raise TimeoutError("an example took too long")


def at_the_prompt(source, names):
    out, name = io.StringIO(), ""
    signal.setitimer(signal.ITIMER_REAL, EXAMPLE_MS / 1000)
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(source, "<prompt>", "single"), names)
    except BaseException as error:
        name = type(error).__name__
    signal.setitimer(signal.ITIMER_REAL, 0)
    return out.getvalue(), name


def show_module(name):
    """Prints, as JSON lines, each docstring's [source, shown, error]."""
    signal.signal(signal.SIGALRM, on_alarm)
    warnings.simplefilter("ignore")
    answers = os.dup(1)
    os.dup2(2, 1)  # for what writes past sys.stdout
    try:
        module = importlib.import_module(name)
        found = doctest.DocTestFinder(exclude_empty=True).find(module)
    except Exception as error:
        sys.exit(f"{name}: {error}")
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    names = vars(main)
    names["__builtins__"] = __builtins__
    with open(answers, "w") as file:
        for test in found:
            if test.examples:
                exec(start_of(name), names)
                sources = [example.source for example in test.examples]
                rows = [[s, *at_the_prompt(s, names)] for s in sources]
                print(json.dumps([test.name, rows]), file=file, flush=True)


def theirs(module):
    """[(docstring, [[source, shown, error]])] of a module."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, __file__, "--prompt", module],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=MODULE_S,
                env={
                    "PYTHONPATH": os.environ["PYTHONPATH"],
                    "PATH": "/usr/bin:/bin",
                    "LANG": "C.UTF-8",
                    "HOME": folder,
                    "MPLBACKEND": "Agg",
                    "OMP_NUM_THREADS": "1",
                },
            ).stdout
        except subprocess.TimeoutExpired as error:
            done = (error.stdout or b"").rpartition(b"\n")[0]
    return [json.loads(line) for line in done.splitlines()]


# In the box.


class Sessions:
    """A session, and the next one when a cell has taken it down."""

    def __init__(self, executor):
        self.executor, self.count, self.session = executor, 0, None

    def start(self, module):
        for _ in range(2):
            if self.session is None:
                self.count += 1
                self.session = self.executor.open(f"doctests-{self.count}")
            cell = self.session.run(start_of(module), cell_ms=60_000)
            if cell.status == "ok":
                return True
            self.end()
        return False

    def show(self, source):
        cell = self.session.run(source, cell_ms=EXAMPLE_MS)
        shown = cell.stdout + (cell.result + "\n" if cell.result else "")
        error = "" if cell.status == "ok" else cell.error.get("name", cell.status)
        return shown, error

    def end(self):
        if self.session:
            self.session.close()
        self.session = None


def plain(text):
    return ADDRESS.sub("0x", text)


def rounded(text):
    """To nine digits, as what is left of zero is zero; columns may be wider."""
    text = NUMBER.sub(lambda n: f"{float(n[0]) + 1:.9g}", plain(text))
    return " ".join(text.split())


def compounds(source):
    """Whether the prompt shows more than the last value of that."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return False
    values = [
        node for node in ast.walk(ast.Module(body, [])) if isinstance(node, ast.Expr)
    ]
    return len(values) > (isinstance(body[-1], ast.Expr) if body else 0)


LATE = {"TimeoutError", "timeout", "KeyboardInterrupt"}
RANDOM = re.compile(r"rand|rng|Generator|uuid|SeedSeq|secrets|empty\(|resample|rvs")
MOMENT = re.compile(r"time|now|today|hash\(|\bids?\(|tempfile|getpid|perf_counter")
FIGURE = re.compile(r"\bplt\.|\bax\w*\.|pyplot|colorbar")


def kind_of(source, context, theirs, ours):
    """The class of a difference; context: the docstring's examples."""
    same_end = theirs[1] == ours[1]
    if {theirs[1], ours[1]} & LATE:
        return "not ended in time"
    if compounds(source):
        return "several values in one example: a cell shows the last"
    if same_end and rounded(theirs[0]) == rounded(ours[0]):
        return "last digits of a float"
    if same_end and sorted(theirs[0]) == sorted(ours[0]):
        return "order of a set"
    if len(theirs[0]) > 32 << 10:
        return "more than 32 KiB: cut"
    if FIGURE.search(source):
        return "a figure is shown and closed at the end of its cell"
    if MOMENT.search(source):
        return "times, ids and addresses"
    if RANDOM.search(context):
        return "random numbers without a seed"
    return "other"


def compare(executor, package):
    """(examples, [(docstring, source, context, theirs, ours)] that differ)."""
    count, different = 0, []
    for module in modules_of(package):
        sessions = Sessions(executor)
        for docstring, rows in theirs(module):
            if not sessions.start(module):
                different.append((docstring, "", "", ("", ""), ("", "no start")))
                continue
            context = "".join(source for source, *_ in rows)
            for source, *expected in rows:
                got = sessions.show(source)
                count += 1
                if [plain(expected[0]), expected[1]] != [plain(got[0]), got[1]]:
                    different.append((docstring, source, context, expected, got))
        sessions.end()
    return count, different


def report(package, count, different):
    kinds = Counter()
    for docstring, source, context, expected, got in different:
        kind = kind_of(source, context, expected, got)
        kinds[kind] += 1
        print(f"[{kind}] {docstring}\n>>> {source}", file=sys.stderr, end="")
        print(
            f"--- prompt {expected[1]}\n{expected[0][:2000]}", file=sys.stderr, end=""
        )
        print(f"--- cell {got[1]}\n{got[0][:2000]}=====", file=sys.stderr)
    same = count - len(different)
    print(f"{package}: {same} of {count} examples show the same ({same / count:.2%})")
    for kind, number in kinds.most_common():
        print(f"{number:6}  {kind}", flush=True)


def main(*packages):
    with Executor() as executor:
        for package in packages or PACKAGES:
            report(package, *compare(executor, package))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--prompt"]:
        show_module(sys.argv[2])
    else:
        sys.exit(main(*sys.argv[1:]))
