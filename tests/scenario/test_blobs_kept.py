"""What cells leave lives as long as the result that names it."""

from stack import ROOT, Stack

SHOW = "display({'image/svg+xml': '<svg/>'}, raw=True)\nopen('f', 'w').write('x')"
SLEEP = "import time; time.sleep(1)"


def left_ms(stack, result):
    """Of all that the first cell left."""
    cell = result["cells"][0]
    names = [part["blob"] for part in cell["displays"][0]["parts"]]
    names += [file["blob"] for file in cell["files"]]
    assert len(names) == 2
    return [stack.db.pttl(f"{ROOT}blob:{name}") for name in names]


def test_a_job_may_take_longer_than_its_blobs_live():
    with Stack(result_ttl="4s") as stack:
        stack.start_executor("--profile", "bare")
        stack.consumer()
        job = stack.submit(kind="code", cells=[SHOW, *[SLEEP] * 5])
        result = stack.result(job)
        assert result["status"] == "completed"
        for left in left_ms(stack, result):
            assert left > stack.db.pttl(f"{ROOT}result:{job}") - 2000


def test_those_of_a_failed_job_live_as_long_as_it_is_kept():
    with Stack(result_ttl="10s", dead_ttl="10m") as stack:
        stack.start_executor("--profile", "bare")
        stack.consumer()
        job = stack.submit(kind="code", cells=[SHOW, "1 / 0"])
        result = stack.result(job)
        assert result["status"] == "failed"
        for left in left_ms(stack, result):
            assert left > stack.db.pttl(f"{ROOT}result:{job}") - 2000
