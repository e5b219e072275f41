"""Consumers that die, entries that are garbage, servers that run out."""

import msgpack
import pytest

from invariants import GROUP
from library import Library, job_id, pack, refused
from servers import RedisServer

A, B = job_id(1), job_id(2)


# ------------------------------------------------------------------ reclaim


def test_a_job_whose_consumer_died_runs_again(queue):
    queue.submit(A)
    queue.begin("dead", lease_ms=5)
    queue.journal(A, queue.epoch(A), 0, b"r0")
    queue.wait_idle(10)
    assert queue.lapse() == (1, False)
    facts = queue.facts(A)
    assert (facts["state"], facts["crashes"], facts["attempts"]) == ("queued", "1", "1")
    lost, queued = queue.events(A)[-2:]
    assert lost["type"] == "job.lost"
    assert lost["data"] == {"consumer": "dead", "reason": "lease ended"}
    assert queued["data"] == {"queue": "default", "reason": "lost"}
    job = queue.begin("heir")
    assert (job.attempt, job.crashes, job.journal) == (2, 1, [b"r0"])


def test_a_zombie_is_refused_whatever_it_tries(queue):
    queue.submit(A)
    queue.begin("zombie", lease_ms=0)
    queue.lapse()
    zombie = {
        "journal": (A, queue.epoch(A), 0, b"late"),
        "event": (A, queue.epoch(A), "message.delta", pack(text="late")),
        "finish": (A, queue.epoch(A), "completed", b"late", b"", "", 0, 0),
    }
    for name, args in zombie.items():
        refused("STALE", queue.call, name, *args)
    assert queue.beat("zombie", (A, queue.epoch(A))) == [(0, 0)]
    assert queue.release(A, queue.epoch(A)) == "queued"  # which it is, but not by this
    assert queue.types(A).count("job.queued") == 2
    heir = queue.begin("heir")
    for name, args in zombie.items():
        refused("STALE", queue.call, name, *args)
    refused("STALE", queue.release, A, queue.epoch(A))
    assert queue.beat("zombie", (A, queue.epoch(A)), (A, heir.epoch)) == [
        (0, 0),
        (0, 0),
    ]
    queue.finish(A, heir.epoch, result=pack(by="heir"))
    for name, args in zombie.items():
        refused("STALE", queue.call, name, *args)
    assert queue.result(A) == {"by": "heir"}


def test_a_zombie_cannot_finish_what_ended_without_it(queue):
    """Ended from outside, in the state that the zombie would have written."""
    queue.submit(A)
    queue.begin(lease_ms=0)
    queue.lapse(max_crashes=0)
    assert queue.state(A) == "failed"
    refused("STALE", queue.finish, A, queue.epoch(A), "failed")


def test_a_lease_that_is_kept_does_not_lapse(queue):
    queue.submit(A)
    queue.begin(lease_ms=1500)
    for _ in range(4):
        queue.wait_idle(500)
        assert queue.beat("c", (A, queue.epoch(A))) == [(1, 0)]
        assert queue.lapse() == (0, False)
    assert queue.state(A) == "in_progress"


def test_what_was_read_but_not_started_is_nobodys_fault(queue):
    queue.submit(A)
    queue.take("dead")
    assert queue.reclaim() == ("-", 1)
    facts = queue.facts(A)
    assert facts["state"] == "queued"
    assert "crashes" not in facts and "attempts" not in facts
    assert queue.types(A) == ["job.queued", "job.queued"]


def test_a_job_that_kills_its_consumers_fails_in_the_end(queue):
    queue.submit(A, b"poison")
    for crash in range(3):
        job = queue.begin(f"victim-{crash}", lease_ms=0, max_crashes=2)
        assert job.crashes == crash
        queue.lapse(max_crashes=2)
    facts = queue.facts(A)
    assert (facts["state"], facts["error_code"]) == ("failed", "crashed")
    assert queue.body(A) == b"poison"
    assert queue.dead() == [A]
    error = queue.result(A)["error"]
    assert (error["kind"], error["code"]) == ("reject", "crashed")
    assert queue.types(A)[-2:] == ["job.lost", "job.failed"]


def test_a_consumer_with_a_lower_bound_judges_before_it_decodes(queue):
    queue.submit(A)
    for crash in range(2):
        queue.begin(lease_ms=0)
        queue.lapse(max_crashes=9)
    job = queue.begin(max_crashes=1)
    assert (job.run, job.reason) == (False, "crashed")
    assert queue.state(A) == "failed"


def test_what_was_read_and_never_started_are_found_by_walking(queue):
    for number in range(300):
        queue.submit(job_id(number), tenant=f"t{number}")
    queue.take("dead", 300)
    queue.wait_idle(20)
    cursor, found, steps = "-", 0, 0
    while steps == 0 or cursor != "-":
        cursor, jobs = queue.reclaim(lease_ms=5, count=20, cursor=cursor)
        found, steps = found + jobs, steps + 1
        assert steps < 100
    assert (found, steps) == (300, 16)
    assert len(queue.take("alive", 301)) == 300


def test_leases_that_have_ended_are_found_at_once(queue):
    for number in range(300):
        queue.submit(job_id(number))
    queue.take_jobs("alive", 290)
    dead = [job.id for job in queue.take_jobs("dead", 10, lease_ms=5)]
    queue.wait_idle(20)
    assert queue.lapse(count=4) == (4, True)
    assert queue.lapse(count=7) == (6, False)
    assert queue.lapse() == (0, False)
    for id in dead:
        assert (queue.state(id), queue.facts(id)["crashes"]) == ("queued", "1")


def test_a_group_that_was_destroyed_costs_no_attempt(queue):
    queue.submit(A)
    queue.submit(B)
    queue.begin("c1")
    queue.client.xgroup_destroy(queue.work(), GROUP)
    assert queue.beat("c1", (A, queue.epoch(A))) == [
        (1, 0)
    ], "the lease is not in the group"
    assert queue.reclaim() == ("-", 0)  # makes it
    (other,) = queue.take("c2", 10)
    assert queue.start(other, "c2").crashes == 0
    assert queue.finish(A, queue.epoch(A)) == "completed"


def test_one_beat_carries_many_jobs(queue):
    for number in range(512):
        queue.submit(job_id(number))
    holdings = [(job.id, job.epoch) for job in queue.take_jobs(count=512)]
    assert len(holdings) == 512
    assert queue.beat("c", *holdings) == [(1, 0)] * 512
    refused("BADARG", queue.beat, "c", *holdings, (A, queue.epoch(A)))
    refused("BADARG", queue.call, "beat")
    refused("BADARG", queue.call, "beat", "c", A)


# ----------------------------------------------------------- garbage entries


@pytest.mark.parametrize(
    "fields",
    [
        {"no": "id"},
        {"id": "nonsense"},
        {"id": A},  # unknown
        {"id": job_id(1, partition=1)},
        {"id": "", "x": bytes(range(256))},
    ],
)
@pytest.mark.parametrize("finder", ["take", "reclaim"])
def test_garbage_is_kept_aside_and_disturbs_nothing(queue, fields, finder):
    queue.submit(B)
    entry = queue.client.xadd(queue.work(), fields).decode()
    entries = queue.take(count=2)
    if finder == "take":
        verdict = queue.start(entries[1])
        assert (verdict.run, verdict.reason) == (False, "unknown")
    else:
        queue.reclaim()
    id = f"entry-{entry}"
    assert queue.dead() == [id]
    facts = queue.facts(id)
    assert (facts["state"], facts["error_code"]) == ("failed", "bad_entry")
    kept = msgpack.unpackb(queue.body(id), raw=True)
    assert len(kept) == 2 * len(fields)
    assert queue.client.xlen(queue.work()) == 1
    assert queue.state(B) == "queued"


def test_a_second_entry_for_a_job_is_dropped(queue):
    queue.submit(A)
    queue.client.xadd(queue.work(), {"id": A})
    first, second = queue.take(count=2)
    assert queue.start(second).reason == "duplicate"
    assert queue.start(first).run
    queue.client.xadd(queue.work(), {"id": A})
    (third,) = queue.take("other")
    assert queue.start(third, "other").reason == "duplicate"
    queue.finish(A, queue.epoch(A))
    queue.client.xadd(queue.work(), {"id": A})
    (fourth,) = queue.take("other")
    assert queue.start(fourth, "other").reason == "terminal"


def test_an_entry_that_somebody_deleted_is_gone(queue):
    queue.submit(A)
    (entry,) = queue.take()
    queue.client.xdel(queue.work(), entry)
    assert queue.start(entry).reason == "gone"
    assert queue.client.xpending(queue.work(), GROUP)["pending"] == 0
    assert queue.mend() == 1, "the job has another"
    assert queue.begin().id == A


def test_bad_arguments_of_take_and_reclaim(queue):
    queue.submit(A)
    (entry,) = queue.take()
    refused("BADARG", queue.start, entry, lease_ms="x")
    refused("BADARG", queue.start, entry, consumer="a b")
    refused("BADARG", queue.start, entry, stream="quern:{abc}:work:default:normal")
    refused("BADARG", queue.reclaim, stream="other")
    refused("BADARG", queue.reclaim, lease_ms="x")
    refused("BADARG", queue.reclaim, count=0)
    refused("BADARG", queue.reclaim, count=513)
    refused("BADARG", queue.call, "reclaim", queue.work(), 1, 1)
    assert not queue.client.exists("other")


# ------------------------------------------------------------------- memory


def test_when_memory_is_out_running_jobs_end_and_new_ones_are_refused(queue):
    queue.submit(A)
    queue.begin()
    queue.client.config_set("maxmemory", "1")
    try:
        refused("OOM", queue.submit, B)
        assert queue.beat("c", (A, queue.epoch(A))) == [(1, 0)]
        assert queue.journal(A, queue.epoch(A), 0, b"r", "turn.started", b"") == 1
        assert queue.finish(A, queue.epoch(A)) == "completed"
    finally:
        queue.client.config_set("maxmemory", "0")


def test_two_partitions_do_not_meet(queue):
    other = Library(queue.client, partition=0xABC)
    id = job_id(1, partition=0xABC)
    other.submit(id)
    queue.submit(A)
    assert queue.client.xlen(other.work()) == 1
    refused("BADARG", queue.cancel, id)
    refused("BADARG", other.cancel, A)
    other.check()


def test_the_functions_and_the_jobs_survive_a_crash_of_redis():
    with RedisServer(aof=True) as server:
        queue = Library(server.client()).load()
        queue.submit(A, b"body")
        queue.begin()
        queue.journal(A, queue.epoch(A), 0, b"r0")
        server.restart()
        queue.client = server.client()
        assert queue.beat("c", (A, queue.epoch(A))) == [(1, 0)]
        assert queue.records(A) == [b"r0"]
        assert queue.finish(A, queue.epoch(A)) == "completed"
        queue.check()
