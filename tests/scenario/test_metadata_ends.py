"""Metadata are in the results of jobs that no consumer has ended."""

import pytest

from library import job_id, pack

A, B = job_id(1), job_id(2)
GIVEN = {"ticket": "T-7", "bytes": b"\xff\x00", "größe": "ü" * 300}
SHORT = {"ticket": "T-7"}


def submit(queue, id=A, metadata=GIVEN, pairs=(), **members):
    body = pack(v=1, id=id, prompt="x", metadata=metadata, **members)
    queue.call("submit", "id", id, "job", body, *pairs)
    return body


def cancelled_while_queued(queue):
    submit(queue)
    queue.cancel(A)


def cancelled_in_a_lane(queue):
    queue.queue_set(paused=1)
    submit(queue, metadata=SHORT)
    assert queue.facts(A)["place"], "it stands in a lane, with its body"
    queue.cancel(A)
    queue.queue_set(paused=0)


def cancelled_while_scheduled(queue):
    submit(queue, pairs=("delay_ms", 60000))
    queue.cancel(A)


def cancelled_while_it_waits(queue):
    submit(queue)
    queue.wait(A, queue.begin().epoch, 60000, "retry", 1)
    queue.cancel(A)


def past_its_deadline_while_queued(queue):
    submit(queue, limits={"deadline_ms": 1})
    queue.wait_idle(5)
    queue.promote()


def past_its_deadline_after_its_consumer_died(queue):
    submit(queue, limits={"deadline_ms": 40})
    queue.begin(lease_ms=1)
    queue.wait_idle(50)
    queue.lapse()


def crashed(queue):
    submit(queue)
    queue.begin(lease_ms=0)
    queue.lapse(max_crashes=0)


def not_approved(queue):
    submit(queue)
    queue.wait(A, queue.begin().epoch, 1, "approval", 0, pack(turn=1), "1.0")
    queue.wait_idle(5)
    queue.promote()


def released_after_a_cancel(queue):
    submit(queue)
    epoch = queue.begin().epoch
    queue.cancel(A)
    queue.release(A, epoch)


def purged_from_a_lane(queue):
    queue.queue_set(paused=1)
    submit(queue, metadata=SHORT)
    queue.purge()
    queue.queue_set(paused=0)


def purged_from_a_stream(queue):
    submit(queue)
    queue.purge()


WAYS = [
    cancelled_while_queued,
    cancelled_in_a_lane,
    cancelled_while_scheduled,
    cancelled_while_it_waits,
    past_its_deadline_while_queued,
    past_its_deadline_after_its_consumer_died,
    crashed,
    not_approved,
    released_after_a_cancel,
    purged_from_a_lane,
    purged_from_a_stream,
]


@pytest.mark.parametrize("end", WAYS, ids=lambda end: end.__name__)
def test_metadata_come_back_however_it_ends(queue, end):
    end(queue)
    result = queue.result(A)
    assert result["status"] in ("cancelled", "failed")
    assert result["metadata"] in (GIVEN, SHORT), result


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        5,
        "text",
        [],
        {},
        {"a": 1},
        {"a": {"b": "c"}},
        {"": "empty"},
        {"k" * 129: "long"},
        {str(n): "many" for n in range(33)},
    ],
)
def test_what_no_result_may_hold_is_left_out(queue, metadata):
    submit(queue, metadata=metadata)
    queue.cancel(A)
    assert not queue.result(A).get("metadata")


@pytest.mark.parametrize(
    "body",
    [
        b"x",
        b"\x81\xa8metadata",
        b"\x81\xa8metadata\x81\xa1a",
        b"\x81\xa8metadata\x82\xa1a\xa1b\xa1a\xa1c",
        b"\x81\xa8metadata\x81\xa1\xff\xa1b",
        b"\x81\xa8metadata\xdf\x00\x01\x00\x00",
    ],
)
def test_a_job_that_nobody_can_read_has_none(queue, body):
    queue.call("submit", "id", A, "job", body)
    queue.cancel(A)
    assert "metadata" not in queue.result(A)


def test_a_job_of_too_many_values_has_none(queue):
    """FUNCTIONS.md says so: to look for them would hold the server."""
    submit(queue, x=[1] * 30000, pairs=("pairs", "all"))
    queue.cancel(A)
    assert "metadata" not in queue.result(A)


def test_a_purge_of_large_jobs_does_not_hold_the_server(queue):
    """It reads their bodies, so it stops after some and is called again."""
    for number in range(40):
        body = pack(v=1, x=[[1]] * 1900, prompt="p" * 100000, metadata=SHORT)
        queue.call("submit", "id", job_id(number), "job", body)
    jobs, more = queue.purge()
    assert 0 < jobs < 10 and more
    while more:
        _, more = queue.purge()
    for number in range(40):
        assert queue.result(job_id(number))["metadata"] == SHORT
