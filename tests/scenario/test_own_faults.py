"""What a person's own code did wrong: no dead job for operators, its cause first,
and the same number of the cell wherever it is named."""

import json
import re

import pytest
from command import Command
from hosts import hosts
from servers import SOURCE
from stack import ROOT

DAY_S = 24 * 3600


def ask(stack, *words):
    return Command(stack.redis.url, stack.folder)(*words)


def own_faults():
    with open(f"{SOURCE}/schemas/redis/library/ends.lua") as library:
        (block,) = re.findall(r"OWN_FAULTS = \{(.*?)\}", library.read(), re.S)
    return re.findall(r"(\w+) = true", block)


def test_a_cell_that_raises_is_no_dead_job(stack):
    """Before: each typing error of a user was one of the operator's dead."""
    job = stack.submit(kind="code", cells=["1 / 0"])
    result = stack.result(job)
    assert result["error"]["message"] == "cell 1 raised ZeroDivisionError"
    assert stack.db.zscore(f"{ROOT}dead:default", job) is None
    assert ask(stack, "dead", "ls", "--json") == ""
    assert 0 < stack.db.ttl(f"{ROOT}result:{job}") <= DAY_S
    ask(stack, "check")  # which fails when it finds a fault


@pytest.mark.parametrize("code", own_faults())
def test_check_knows_every_such_code(stack, code):
    """The list of the function library, and that of the command."""
    job = stack.submit(kind="code", cells=["1 / 0"])
    stack.result(job)
    stack.db.hset(f"{ROOT}job:{job}", "error_code", code)
    ask(stack, "check")


def test_a_malformed_job_is_one(stack):
    job = stack.submit(kind="code")
    assert stack.result(job)["status"] == "failed"
    assert stack.db.zscore(f"{ROOT}dead:default", job)


def test_cells_are_numbered_alike_over_jobs(stack):
    """Before: "cell 1" in the sentence, <cell-3> in the traceback."""
    stack.run(kind="code", cells=["def f():\n    1 / 0", "1"], session="n")
    result = stack.run(kind="code", cells=["2", "f()"], session="n")
    assert [cell["number"] for cell in result["cells"]] == [3, 4]
    assert result["error"]["message"] == "cell 4 raised ZeroDivisionError"
    traceback = result["cells"][1]["error"]["traceback"]
    assert '"<cell-4>", line 1' in traceback and '"<cell-1>", line 2, in f' in traceback


def test_the_cause_stands_first_in_a_session_that_was_made_again():
    """Before: only that it was made again."""
    with hosts("a", "b") as (a, b):
        a.cell("x = 1")
        a.kill()
        result = b.run("1 / 0")
        [cell] = result["cells"]
        assert result["error"]["message"].startswith("cell 2 raised ZeroDivisionError; ")
        assert cell["number"] == 2 and "<cell-2>" in cell["error"]["traceback"]
        killed = b.run("import os; os.abort()")
        assert killed["error"]["message"].startswith("cell 3: ")
        assert killed["cells"][0]["number"] == 3


def test_cells_of_a_conversation_have_numbers(stack):
    answer = stack.run(prompt="```python\n6 * 7\n```")
    numbers = [cell["number"] for cell in answer.get("cells", [])]
    assert numbers == list(range(1, len(numbers) + 1)) != [], json.dumps(answer)
