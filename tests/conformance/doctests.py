"""Docstring examples: does a cell show what Python's prompt shows?

    tests/conformance/run doctests [PACKAGE...]

Every example in the docstrings of a package and its modules is run at a prompt
(exec of what compile() gives for "single", in a plain interpreter), and as a cell
by `quern exec --json --session`. Compared is what was shown, or the exception.
Where that differs the plain interpreter runs again: three times as before, as what it
does not show twice alike is not the cell's fault, and once by the rules of a cell.
Prints rates and the kinds of what differs, and in the end all of it as JSON.
"""

import contextlib
import doctest
import importlib
import io
import json
import pkgutil
import re
import sys
import tempfile
import time
from collections import Counter

from conformance import plain
from conformance.kinds import keeps, kind_of, same
from scenario.command import Command
from stack import Stack

PACKAGES = ("stdlib", "numpy", "pandas", "scipy")
EXAMPLE_MS = 5000
CELL_MS = 4 * EXAMPLE_MS  # a box has less of a busy machine than the prompt
IMPORT_MS = 60_000
MODULE_S = 900
AGAIN = 3
MOST_CELLS = 200  # in one go
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


def show_module(how, name):
    """Prints, as JSON lines, each docstring's [source, promised, shown, error]."""
    names, answers = plain.start()
    show = {"--prompt": at_prompt, "--rules": by_rules}[how]
    try:
        module = importlib.import_module(name)
        found = doctest.DocTestFinder(exclude_empty=True).find(module)
    except Exception as error:
        sys.exit(f"{name}: {error}")
    if how == "--rules" and (pandas := sys.modules.get("pandas")):
        pandas.set_option("display.max_columns", 20)
    for test in found:
        if test.examples:
            exec(start_of(name), names)
            rows = [
                [e.source, promise_of(e), *told(*show(e.source, names))]
                for e in test.examples
            ]
            print(json.dumps([test.name, rows]), file=answers, flush=True)


def at_prompt(source, names):
    codes = lambda: [compile(source, "<prompt>", "single")]  # noqa: E731
    return plain.show(codes, names, EXAMPLE_MS)


def by_rules(source, names):
    """What a cell does otherwise: it shows one value, draws figures, closes them."""
    answer = plain.show(lambda: plain.statements(source), names, EXAMPLE_MS)
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        for number in pyplot.get_fignums():
            with contextlib.suppress(Exception):
                pyplot.figure(number).savefig(io.BytesIO(), bbox_inches="tight")
        pyplot.close("all")
    return answer


def told(text, error):
    return text, f"{type(error).__name__}: {error}" if error else ""


def promise_of(example):
    """None where the docstring promises nothing that can be compared."""
    skipped = example.options.get(doctest.SKIP) or example.exc_msg
    return None if skipped or not example.want else example.want


def plainly(module, how="--prompt"):
    return plain.run(__file__, how, module, timeout_s=MODULE_S)


# In the box.


class Cells:
    """The examples of one module, in one session."""

    def __init__(self, quern, module):
        self.quern, self.start = quern, start_of(module)
        self.arguments = ("exec", "--json", "--session", module.replace(".", "-"))
        self.run([self.start], IMPORT_MS)  # for the first time

    def show(self, sources):
        """What each of them shows, and its exception."""
        rows, waiting, first = [], list(sources), [self.start]
        while waiting:
            given = [*first, *waiting[:MOST_CELLS]]
            cells = self.run(given)[len(first) :]
            if not cells:  # not even the start
                cells = [("", "no start")]
            rows += cells
            waiting, first = waiting[len(cells) :], []
        return rows

    def run(self, sources, deadline_ms=CELL_MS):
        given = (*self.arguments, "--cell-time", f"{deadline_ms}ms", "-")
        code = "# %%\n" + "\n# %%\n".join(sources)
        child = self.quern.start(*given, stdin=code)
        out, err = child.communicate(timeout=MODULE_S)
        if err and not out:
            print(err, file=sys.stderr)
        return [outcome_of(json.loads(line)) for line in out.splitlines()]


def outcome_of(cell):
    shown = cell["stdout"] + (cell["result"] + "\n" if cell["result"] else "")
    if cell["status"] == "ok":
        return shown, ""
    error = cell["error"] or {"name": cell["status"], "value": cell["reason"]}
    return shown, f"{error['name']}: {error['value']}"


# Comparing.


class Tally:
    """What came of a package."""

    def __init__(self, package):
        self.package, self.started = package, time.monotonic()
        self.count, self.kinds, self.promises = 0, Counter(), Counter()

    def add(self, docstring, row, got, others):
        source, promise, *expected = row
        self.count += 1
        if promise is not None:
            self.promises[keeps(expected[0], promise), keeps(got[0], promise)] += 1
        if same(expected, got):
            return
        kind = kind_of(source, expected, got, *others())
        self.kinds[kind] += 1
        print(f"[{kind}] {docstring}\n>>> {source}", file=sys.stderr, end="")
        for name, (text, error) in (("prompt", expected), ("cell", got)):
            print(f"--- {name} {error}\n{text[:2000]}", file=sys.stderr, end="")
        print("=====", file=sys.stderr, flush=True)

    def report(self):
        """A table; gives the same for machines."""
        alike, kept = self.count - self.kinds.total(), self.promises
        rate = f"{alike / max(self.count, 1):.2%}"
        took = time.monotonic() - self.started
        print(
            f"{self.package}: {alike} of {self.count} examples show the same "
            f"({rate}), in {took:.0f} s"
        )
        for kind, number in self.kinds.most_common():
            print(f"{number:6}  {kind}")
        print(
            f"        of {kept.total()} promises of a text {kept[1, 1] + kept[1, 0]} are "
            f"kept at the prompt, {kept[1, 1] + kept[0, 1]} in cells, {kept[1, 0]} at the "
            f"prompt only, {kept[0, 1]} in cells only",
            flush=True,
        )
        return {"same": alike, "of": self.count, "kinds": self.kinds}


class Others:
    """What else a plain interpreter shows of a module; run when somebody asks."""

    def __init__(self, module):
        self.module, self.runs = module, None

    def of(self, docstring, number):
        """What the prompt showed the other times, and what the rules give."""
        if self.runs is None:
            hows = ["--prompt"] * AGAIN + ["--rules"]
            self.runs = [dict(plainly(self.module, how)) for how in hows]
        *again, ruled = [
            rows[number][2:] if number < len(rows) else ("", "not run: it took too long")
            for rows in (run.get(docstring, []) for run in self.runs)
        ]
        return again, ruled


def compare(quern, package):
    tally = Tally(package)
    for module in modules_of(package):
        cells, others = Cells(quern, module), Others(module)
        for docstring, rows in plainly(module):
            shown = cells.show([source for source, *_ in rows])
            for number, (row, got) in enumerate(zip(rows, shown)):
                tally.add(
                    docstring,
                    row,
                    got,
                    lambda: others.of(docstring, number),  # noqa: B023
                )
    return tally.report()


def main(*packages):
    with (
        Stack(executor=False, profile="science") as stack,
        tempfile.TemporaryDirectory() as folder,
    ):
        stack.start_executor("--idle", "30s")  # sessions of modules that are done
        stack.consumer()
        quern = Command(stack.redis.url, folder)
        found = {p: compare(quern, p) for p in packages or PACKAGES}
    print(json.dumps({"doctests": found}))


if __name__ == "__main__":
    if sys.argv[1:2] in (["--prompt"], ["--rules"]):
        show_module(*sys.argv[1:])
    else:
        sys.exit(main(*sys.argv[1:]))
