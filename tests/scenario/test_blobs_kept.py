"""What cells leave lives as long as the result that names it."""

import time

import pytest
from servers import wait_until
from stack import ROOT, Stack, call_of

SHOW = "display({'image/svg+xml': '<svg/>'}, raw=True)\nopen('f', 'w').write('x')"
SLEEP = "import time; time.sleep(1)"
HANDLE = "h = display('old', display_id=True)"
UPDATE = "h.update({'image/svg+xml': '<svg/>'}, raw=True)\nopen('f', 'w').write('x')"


def left_ms(stack, result, shower=0, writer=0):
    """Of what the cell of that index shows, and of the file of the other."""
    cells = result["cells"]
    names = [part["blob"] for part in cells[shower]["displays"][0]["parts"]]
    names += [file["blob"] for file in cells[writer]["files"]]
    assert len(names) == 2
    return [stack.db.pttl(f"{ROOT}blob:{name}") for name in names]


# What the cells do, and which of them shows the figure and writes the file.
LEAVE = [
    ("a cell shows it", [SHOW], 0, 0),
    ("a cell updates that of an earlier one", [HANDLE, UPDATE], 0, 1),
]
left = pytest.mark.parametrize(
    "cells, shower, writer", [r[1:] for r in LEAVE], ids=[r[0] for r in LEAVE]
)


@left
def test_a_job_may_take_longer_than_its_blobs_live(cells, shower, writer):
    with Stack(result_ttl="4s") as stack:
        stack.consumer()
        job = stack.submit(kind="code", cells=[*cells, *[SLEEP] * 5])
        result = stack.result(job)
        assert result["status"] == "completed"
        for left in left_ms(stack, result, shower, writer):
            assert left > stack.db.pttl(f"{ROOT}result:{job}") - 100


@left
def test_those_of_a_failed_job_live_as_long_as_it_is_kept(cells, shower, writer):
    with Stack(result_ttl="10s", dead_ttl="10m") as stack:
        stack.consumer()
        limits = {"deadline_ms": 4000}
        cells = [*cells, "import time; time.sleep(60)"]
        job = stack.submit(kind="code", cells=cells, limits=limits)
        result = stack.result(job)
        assert result["error"]["code"] == "deadline_exceeded"
        assert stack.db.pttl(f"{ROOT}result:{job}") > 500_000
        for left in left_ms(stack, result, shower, writer):
            assert left > stack.db.pttl(f"{ROOT}result:{job}") - 100


def test_a_job_may_wait_for_longer_than_its_blobs_live():
    """For a person who approves its next cell, and without running."""
    with Stack(result_ttl="4s") as stack:
        stack.model.script(
            [
                {"tool_calls": [call_of(SHOW)]},
                {"tool_calls": [call_of("1")]},
                {"text": "done"},
            ]
        )
        stack.consumer()
        job = stack.submit(prompt="go", approve=["execute_python_code"])
        for waited_s in (0, 7):
            wait_until(lambda: stack.state(job) == "waiting", what="it asks")
            time.sleep(waited_s)
            stack.call("approve", job, "approve", "", "", "")
        result = stack.result(job)
        assert result["status"] == "completed", result
        for left in left_ms(stack, result):
            assert left > stack.db.pttl(f"{ROOT}result:{job}") - 100
