"""What a watch gives of jobs whose events are not all there, and of many jobs at
once."""

import msgpack
import pytest
from servers import wait_until
from standin import ROOT
from watcher import Watcher

pytestmark = pytest.mark.usefixtures("ends")
UNKNOWN = "0197c6a0-1111-7000-8000-000000000000"


def key(job):
    return f"{ROOT}events:{job.id}"


@pytest.fixture
def job(quern, consumer):
    """A started one, of which 12 events are there."""
    quern("submit", "q")
    job = consumer.take()
    for n in range(10):
        job.event("message.delta", turn=1, text=f"{n}")
    return job


@pytest.fixture
def watcher(server):
    with Watcher(server.url) as watcher:
        yield watcher


def sees(watcher, job):
    """All that it tells of the job: what has ended."""
    watcher.follow(job.id)
    watcher.wait_for(lambda: job.id in watcher.ended)
    assert not watcher.broken
    return watcher.gaps[job.id], watcher.seqs(job.id)


# --- what is no longer kept ---------------------------------------------------------


def test_what_was_trimmed_is_a_gap(job, redis, watcher):
    job.finish(answer="x")
    redis.xtrim(key(job), maxlen=5, approximate=False)
    assert sees(watcher, job) == ([(1, 8, 0)], [9, 10, 11, 12, 13])


def test_what_is_missing_in_the_middle_is_a_gap(job, redis, watcher):
    job.finish(answer="x")
    redis.xdel(key(job), "5-0", "6-0", "10-0")
    seqs = [1, 2, 3, 4, 7, 8, 9, 11, 12, 13]
    assert sees(watcher, job) == ([(5, 6, 4), (10, 10, 7)], seqs)


def test_a_running_job_may_have_lost_its_stream(job, redis, watcher):
    redis.delete(key(job))
    watcher.follow(job.id)
    watcher.wait_for(lambda: watcher.gaps[job.id] == [(1, 12, 0)])
    job.event("turn.started", turn=2)
    watcher.wait_for(lambda: watcher.seqs(job.id) == [13])
    job.finish(answer="x")
    watcher.wait_for(lambda: job.id in watcher.ended)
    assert watcher.seqs(job.id) == [13, 14]


def test_a_requeued_job_goes_on_counting(job, redis, quern, consumer, watcher):
    job.finish("failed", error={"kind": "reject", "code": "x", "message": "y"})
    quern("dead", "requeue", job.id)
    again = consumer.take()
    again.finish(answer="at last")
    assert again.id == job.id
    assert sees(watcher, job) == ([(1, 13, 0)], [14, 15, 16])


ERROR = {"kind": "reject", "code": "cell_failed", "message": "a sentence"}
ENDS = [
    ("completed", "it is in the result", [], {"answer": "42"}),
    ("completed", "the result has gone as well", ["result"], {}),
    ("failed", "it is in the result", [], {"error": ERROR}),
    ("failed", "the result has gone", ["result"], {"error": {"code": "cell_failed"}}),
]


@pytest.mark.parametrize("state, why, gone, data", ENDS)
def test_the_end_is_told_without_a_stream(state, why, gone, data, job, redis, watcher):
    job.finish(state, **({"error": ERROR} if state == "failed" else {"answer": "42"}))
    for kind in ["events", *gone]:
        redis.delete(f"{ROOT}{kind}:{job.id}")
    assert sees(watcher, job) == ([(1, 12, 0)], [13])
    (end,) = watcher.told(job.id)
    facts = redis.hgetall(f"{ROOT}job:{job.id}")
    assert end["type"] == f"job.{state}" and end["attempt"] == 1
    assert end["at"] == int(facts[b"finished_at"])
    took = int(facts[b"finished_at"]) - int(facts[b"submitted_at"])
    told = end["data"]
    assert told.pop("ms", 0) == took
    assert {name: told.get(name) for name in data} == data


def test_the_command_tells_gap_end_and_that_it_has_expired(job, redis, quern):
    job.finish(answer="42")
    redis.delete(key(job))
    gap, end, result = quern.json("watch", job.id)
    assert (gap["type"], gap["data"]) == ("gap", {"from": 1, "to": 12})
    assert end["type"] == "job.completed" and end["data"]["answer"] == "42"
    assert result["result"]["answer"] == "42"
    assert quern("watch", job.id) == "42\n"
    redis.delete(f"{ROOT}result:{job.id}")
    assert "no longer kept" in quern("watch", job.id, code=1)


# --- what Redis has lost --------------------------------------------------------------


@pytest.mark.parametrize("seen_before_new_ones", [True, False])
def test_what_a_failover_has_lost_is_forgotten(
    seen_before_new_ones, job, redis, watcher
):
    """Numbers are given again, to other events."""
    keys = [key(job), f"{ROOT}job:{job.id}"]
    kept = [redis.dump(key) for key in keys]
    for n in range(3):
        job.event("message.delta", turn=1, text=f"lost {n}")
    watcher.follow(job.id)
    watcher.wait_for(lambda: watcher.seqs(job.id) == list(range(1, 16)))
    for name, value in zip(keys, kept):
        redis.restore(name, 0, value, replace=True)
    if seen_before_new_ones:
        redis.client_kill_filter(_type="pubsub")
        watcher.wait_for(lambda: watcher.gaps[job.id])
    for n in range(5):
        job.event("message.delta", turn=1, text=f"new {n}")
    redis.client_kill_filter(_type="pubsub")
    job.finish(answer="x")
    watcher.wait_for(lambda: job.id in watcher.ended)
    assert watcher.gaps[job.id] == [(1, 15, 15)]
    now = [fields[b"event"] for _, fields in redis.xrange(key(job))]
    assert watcher.events[job.id][15:] == now


def test_a_job_that_is_gone_is_unknown(job, redis, watcher):
    watcher.follow(job.id)
    watcher.wait_for(lambda: len(watcher.events[job.id]) == 12)
    redis.delete(key(job), f"{ROOT}job:{job.id}")
    watcher.wait_for(lambda: watcher.broken == {job.id: "unknown_job"})


# --- many at once -----------------------------------------------------------------------


def subscribers(redis):
    """How many channels each has."""
    return [int(client["sub"]) for client in redis.client_list(_type="pubsub")]


def test_one_connection_follows_many(quern, consumer, redis, watcher):
    jobs = []
    for n in range(100):
        id = quern("submit", "q").strip() if n < 10 else copy(consumer, n)
        watcher.follow(id)
        jobs.append(consumer.take())
    watcher.follow(UNKNOWN)
    watcher.wait_for(lambda: watcher.broken == {UNKNOWN: "unknown_job"})
    wait_until(lambda: subscribers(redis) == [100], what="one with 100 channels")
    for n in range(10):
        for job in jobs:
            job.event("message.delta", turn=1, text=f"{job.id} {n}")
        if n == 5:
            redis.client_kill_filter(_type="pubsub")
    watcher.drop(jobs[0].id)
    wait_until(lambda: subscribers(redis) == [99], what="one channel less")
    for job in jobs:
        job.finish(answer="x")
    assert watcher.end() == 0
    assert watcher.ended == {job.id for job in jobs[1:]}
    for job in jobs[1:]:
        now = [fields[b"event"] for _, fields in redis.xrange(key(job))]
        assert watcher.events[job.id] == now and len(now) == 13
    assert not any(watcher.gaps.values())


def copy(consumer, n):
    id = f"0197c6a0-{n:04x}-7000-8000-000000000000"
    body = msgpack.packb({"v": 1, "id": id, "prompt": "q"})
    consumer.call("submit", "id", id, "job", body)
    return id


def test_who_may_not_subscribe_is_told_so(job, redis, server):
    redis.acl_setuser(
        "deaf", enabled=True, passwords=["+x"], keys=["*"], categories=["+@all"]
    )
    with Watcher(server.url.replace("unix://", "unix://deaf:x@")) as watcher:
        watcher.follow(job.id)
        watcher.wait_for(lambda: watcher.broken == {"-": "redis_refused"})


def test_nothing_is_followed_twice(job, watcher):
    watcher.follow(job.id)
    watcher.wait_for(lambda: watcher.events[job.id])
    watcher.follow(job.id)
    watcher.wait_for(lambda: watcher.broken == {job.id: "bad_field"})
