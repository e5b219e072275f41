"""Docstring examples: does a cell show what Python's prompt shows?

    tests/conformance/run doctests [PACKAGE...]

Every example in the docstrings of a package and its modules is run at a prompt
(exec of what compile() gives for "single", in a plain interpreter), and as a cell
by `quern exec --json --session`. Compared is what was shown, or the exception's
name. Where that differs the plain interpreter runs again, three times: what it does
not show twice alike is not the cell's fault. Prints rates, and the classes of what
differs.
"""

import ast
import doctest
import importlib
import json
import pkgutil
import re
import sys
import tempfile
from collections import Counter

from conformance import plain
from scenario.command import Command
from stack import Stack

PACKAGES = ("stdlib", "numpy", "pandas", "scipy")
EXAMPLE_MS = 5000
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


def show_module(name):
    """Prints, as JSON lines, each docstring's [source, promised, shown, error]."""
    names, answers = plain.start()
    try:
        module = importlib.import_module(name)
        found = doctest.DocTestFinder(exclude_empty=True).find(module)
    except Exception as error:
        sys.exit(f"{name}: {error}")
    for test in found:
        if test.examples:
            exec(start_of(name), names)
            rows = [[e.source, promise_of(e), *shown(e, names)] for e in test.examples]
            print(json.dumps([test.name, rows]), file=answers, flush=True)


def shown(example, names):
    source = example.source
    return plain.show(
        lambda: [compile(source, "<prompt>", "single")], names, EXAMPLE_MS
    )


def promise_of(example):
    """None where the docstring promises nothing that can be compared."""
    skipped = example.options.get(doctest.SKIP) or example.exc_msg
    return None if skipped or not example.want else example.want


def at_the_prompt(module):
    return plain.run(__file__, "--prompt", module)


# In the box.


class Cells:
    """The examples of one module, in one session."""

    def __init__(self, quern, module):
        self.quern, self.start = quern, start_of(module)
        self.arguments = ("exec", "--json", "--session", module.replace(".", "-"))
        self.arguments += ("--deadline-ms", str(EXAMPLE_MS), "-")

    def show(self, sources):
        """What each of them shows, and the name of its exception."""
        rows, waiting, first = [], list(sources), [self.start]
        while waiting:
            given = [*first, *waiting[:MOST_CELLS]]
            cells = self.run(given)[len(first) :]
            if not cells:  # not even the start
                cells = [("", "no start")]
            rows += cells
            waiting, first = waiting[len(cells) :], []
        return rows

    def run(self, sources):
        code = "# %%\n" + "\n# %%\n".join(sources)
        out, err, _code = self.quern.run(*self.arguments, stdin=code)
        if err and not out:
            print(err, file=sys.stderr)
        return [outcome_of(json.loads(line)) for line in out.splitlines()]


def outcome_of(cell):
    shown = cell["stdout"] + (cell["result"] + "\n" if cell["result"] else "")
    if cell["status"] == "ok":
        return shown, ""
    return shown, (cell["error"] or {"name": cell["status"]})["name"]


# Comparing.


def plain_text(text):
    return ADDRESS.sub("0x", text)


def same(one, other):
    """Whether two outcomes are."""
    return (plain_text(one[0]), one[1]) == (plain_text(other[0]), other[1])


def rounded(text):
    """To nine digits, as what is left of zero is zero; columns may be wider."""
    text = NUMBER.sub(lambda n: f"{float(n[0]) + 1:.9g}", plain_text(text))
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


def keeps(text, promise):
    """Whether that is what the docstring promises."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(promise, text, flags)


LATE = {"TimeoutError", "timeout", "KeyboardInterrupt"}
FIGURE = re.compile(r"\bplt\.|\bax\w*\.|\bfig\w*\.|pyplot|colorbar|\.plot\b")


def kind_of(source, expected, got, others):
    """The class of a difference; others: what the prompt showed the other times."""
    same_end = expected[1] == got[1]
    if not all(same(expected, other) for other in others):
        return "the prompt shows something else each time"
    if {expected[1], got[1]} & LATE:
        return "not ended in time"
    if expected[1] in ("SyntaxError", "IndentationError"):
        return "no statement of Python to the prompt"
    if "\\\n" in got[0] and "\\\n" not in expected[0]:
        return "a wide table is wrapped, as in notebooks"
    if compounds(source):
        return "several values in one example: a cell shows the last"
    if same_end and rounded(expected[0]) == rounded(got[0]):
        return "last digits of a float"
    if len(expected[0]) > 32 << 10:
        return "more than 32 KiB: cut"
    if FIGURE.search(source):
        return "a figure is shown and closed at the end of its cell"
    return "other"


class Tally:
    """What came of a package."""

    def __init__(self):
        self.count, self.kinds, self.promises = 0, Counter(), Counter()

    def add(self, docstring, row, got, others):
        source, promise, *expected = row
        self.count += 1
        if promise is not None:
            self.promises[keeps(expected[0], promise), keeps(got[0], promise)] += 1
        if same(expected, got):
            return
        kind = kind_of(source, expected, got, others())
        self.kinds[kind] += 1
        print(f"[{kind}] {docstring}\n>>> {source}", file=sys.stderr, end="")
        for name, (text, error) in (("prompt", expected), ("cell", got)):
            print(f"--- {name} {error}\n{text[:2000]}", file=sys.stderr, end="")
        print("=====", file=sys.stderr, flush=True)

    def report(self, package):
        alike = self.count - self.kinds.total()
        rate = f"({alike / self.count:.2%})"
        print(f"{package}: {alike} of {self.count} examples show the same {rate}")
        for kind, number in self.kinds.most_common():
            print(f"{number:6}  {kind}")
        kept = self.promises
        print(
            f"        of {kept.total()} promises of a text {kept[1, 1] + kept[1, 0]} are "
            f"kept at the prompt, {kept[1, 1] + kept[0, 1]} in cells, {kept[1, 0]} at the "
            f"prompt only, {kept[0, 1]} in cells only",
            flush=True,
        )


class Others:
    """A module at the prompt, more than once; run when somebody asks."""

    def __init__(self, module):
        self.module, self.runs = module, None

    def of(self, docstring, number):
        if self.runs is None:
            self.runs = [dict(at_the_prompt(self.module)) for _ in range(AGAIN)]
        rows = [run.get(docstring, []) for run in self.runs]
        return [row[number][2:] for row in rows if number < len(row)]


def compare(quern, package):
    tally = Tally()
    for module in modules_of(package):
        cells, others = Cells(quern, module), Others(module)
        for docstring, rows in at_the_prompt(module):
            shown = cells.show([source for source, *_ in rows])
            for number, (row, got) in enumerate(zip(rows, shown)):
                tally.add(
                    docstring,
                    row,
                    got,
                    lambda: others.of(docstring, number),  # noqa: B023
                )
    return tally


def main(*packages):
    with (
        Stack(executor=False) as stack,
        tempfile.TemporaryDirectory() as folder,
    ):
        stack.start_executor("--idle-ms", "30000")  # sessions of modules that are done
        stack.consumer()
        quern = Command(stack.redis.url, folder)
        for package in packages or PACKAGES:
            compare(quern, package).report(package)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--prompt"]:
        show_module(sys.argv[2])
    else:
        sys.exit(main(*sys.argv[1:]))
