"""Examples that others wrote, as cells: each shows what Python's own prompt
shows. They are those in the docstrings of the modules below."""

import contextlib
import doctest
import importlib
import io
import random
import re
import sys
import types

import conftest
import pytest

MODULES = (
    "collections decimal difflib enum fractions json statistics turtle "
    "numpy numpy.linalg pandas.core.series pandas.core.strings.accessor"
).split()
MOST = 60  # docstrings of a module
# The prompt shows every expression within a loop; an address is never the same.
DIFFERENT = re.compile(r"(for|with|if) |.*\bids?\(|.*; \w|.*\b_\b", re.S)

FLOAT = re.compile(r"\d+\.\d+(?:e[+-]?\d+)?")


def sources_of(name):
    """(names, sources) of each docstring that has examples."""
    module = importlib.import_module(name)
    tests = doctest.DocTestFinder(exclude_empty=True).find(module)
    for test in [test for test in tests if test.examples][:MOST]:
        sources = [example.source for example in test.examples]
        yield test.globs, [s for s in sources if not DIFFERENT.match(s)]


def at_the_prompt(source, names):
    """What Python's interactive mode prints, or what it raises."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(source, "<prompt>", "single"), names)
        except Exception as error:
            return type(error).__name__
    return out.getvalue()


def as_cell(source, number):
    from quern_guest import cell

    with conftest.captured(1) as out, conftest.captured(2):
        status, result, name, *_ = cell.run(source, number)
    said = out[0].decode() + (result + "\n" if result else "")
    return name if status == "error" else said


def rounded(said):
    """The last bits of a sum depend on where in memory its numbers lie."""
    return FLOAT.sub(lambda number: f"{float(number[0]):.12g}", said)


def alike(run, *arguments):
    """What is drawn by lot is drawn the same both times."""
    random.seed(1)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(1)
    return run(*arguments)


def compare(names, sources):
    """(source, at the prompt, as a cell) of what is not the same."""
    from quern_guest import boot

    boot.session()
    main = types.ModuleType("__main__")
    conftest.use_main(main)
    vars(main).update(names)
    theirs = dict(names)
    shown = [
        (
            source,
            alike(at_the_prompt, source, theirs),
            alike(as_cell, source, number),
        )
        for number, source in enumerate(sources, 1)
    ]
    return [row for row in shown if rounded(row[1]) != rounded(row[2])]


@pytest.mark.parametrize("module", MODULES)
def test_examples_show_what_the_prompt_shows(loaded, module, tmp_path, monkeypatch):
    pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    count = 0
    for names, sources in sources_of(module):
        assert conftest.in_child(lambda: compare(names, sources)) == []  # noqa: B023
        count += len(sources)
    assert count > 0
    print(f"{module}: {count} examples")
