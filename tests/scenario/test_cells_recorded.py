"""Cells that models wrote, against what another interpreter (IPython) showed
them at the time: mint-bench's recorded conversations, where they are at hand,
else the few of their kind below."""

import pathlib

from conformance import codeact

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = ROOT.parent / "shared" / "data" / "codeact-transcripts.jsonl.gz"
EVERY = 12  # conversations between two that are run
SOME = [
    [("x = 3\ny = 4\nx * y", "Out[1]: 12"), ("print(x)\ny", "3\nOut[2]: 4")],
    [("def f(n):\n    return n * 2\n\nf('ab')", "Out[1]: 'abab'")],
    [("import math\nr = math.sqrt(2)", "[Executed Successfully with No Output]")],
    [("1 / 0", "ZeroDivisionError: division by zero")],
]


def conversations():
    return codeact.conversations(RECORDED, EVERY) if RECORDED.exists() else SOME


def test_cells_show_what_was_recorded(executor):
    same, different = codeact.differences(executor, conversations())
    print(f"{same} alike, {len(different)} not")
    # Not alike: random numbers, the last digit of a float, the order of a set, what
    # newer libraries answer.
    assert len(different) <= (same + len(different)) // 20, "\n=====\n".join(
        codeact.told(*row) for row in different
    )
