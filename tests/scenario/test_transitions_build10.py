"""Consumers of build 10 beside those of today, in one fleet on the same keys.

They read entries themselves, call start, beat and reclaim with the arguments of
then, and take from the answers what was there then. Jobs that the library of
build 10 has written go on under that of today.
"""

import msgpack
import pytest
from invariants import GROUP
from library import job_id, refused

A, B, C = job_id(1), job_id(2), job_id(3)
LEASE_MS = 60000


class Old:
    """A consumer of build 10, in the words that it sends."""

    def __init__(self, queue, name="old", lease_ms=LEASE_MS):
        self.queue, self.name, self.lease_ms = queue, name, lease_ms
        self.stream = queue.work()
        self.held = {}

    def read(self, count):
        got = self.queue.client.xreadgroup(GROUP, self.name, {self.stream: ">"}, count)
        return [entry for entry, _ in got[0][1]] if got else []

    def start(self, entry):
        answer = self.queue.call(
            "start", self.stream, entry, self.name, self.lease_ms, 3
        )
        run, reason, id = answer[:3]
        if not run:
            return reason.decode()
        epoch, attempt, crashes, _cancel, now, _deadline, submitted = answer[3:10]
        body, journal = answer[10:12]
        assert isinstance(body, bytes) and isinstance(journal, list)
        assert now >= submitted and crashes >= 0 and attempt >= 1
        self.held[id.decode()] = epoch
        return id.decode()

    def work(self, count=9):
        return [self.start(entry) for entry in self.read(count)]

    def beat(self):
        pairs = [part for pair in self.held.items() for part in pair]
        answer = self.queue.call("beat", self.name, *pairs)
        return list(zip(answer[::2], answer[1::2]))

    def sweep(self, lease_ms=None):
        cursor, found = "-", 0
        while True:
            lease_ms = self.lease_ms if lease_ms is None else lease_ms
            cursor, jobs = self.queue.call(
                "reclaim", self.stream, lease_ms, 3, 100, cursor
            )
            found += jobs
            if cursor == b"-":
                return found

    def finish(self, id):
        epoch = self.held.pop(id)
        return self.queue.call("finish", id, epoch, "completed", b"\x80", b"", "", 0, 0)


def test_its_jobs_go_their_way_and_keep_all_sets_true(queue):
    for number in range(50):
        queue.submit(job_id(number))
    old, done = Old(queue), 0
    while True:
        ids = old.work(7)
        if not ids:
            break
        queue.check()
        assert old.beat() == [(1, 0)] * len(ids)
        for id in ids:
            assert old.finish(id) == b"completed"
        done += len(ids)
    assert done == 50


def test_its_beat_renews_the_lease_that_others_look_at(queue):
    queue.submit(A)
    old = Old(queue)
    old.work()
    queue.come_due()
    assert old.beat() == [(1, 0)]
    assert queue.lapse() == (0, False)
    queue.come_due()
    assert queue.lapse() == (1, False)
    assert old.beat() == [(0, 0)]


def test_its_sweep_leaves_alone_what_others_run(queue):
    """Their beats do not touch the pending entries, which look idle to it."""
    queue.submit(A)
    queue.submit(B)
    (mine,) = queue.take_jobs("new")
    (lost,) = queue.take_jobs("dead", lease_ms=5)
    queue.wait_idle(20)
    assert Old(queue).sweep(lease_ms=5) == 1
    assert (queue.state(mine.id), queue.state(lost.id)) == ("in_progress", "queued")
    assert queue.finish(mine.id, mine.epoch) == "completed"


def test_each_takes_over_what_the_other_has_lost(queue):
    queue.submit(A)
    old = Old(queue, lease_ms=5)
    old.work()
    queue.wait_idle(10)
    queue.lapse()
    (job,) = queue.take_jobs("new", lease_ms=5)
    assert (job.attempt, job.crashes) == (2, 1)
    refused("STALE", old.finish, A)
    queue.wait_idle(10)
    assert old.sweep() == 1
    assert old.work() == [A]
    refused("STALE", queue.finish, A, job.epoch)
    assert old.finish(A) == b"completed"


def test_it_hands_back_and_asks_again_as_before(queue):
    queue.submit(A)
    old = Old(queue)
    (entry,) = old.read(1)
    assert old.start(entry) == A
    lost = old.held[A]
    assert old.start(entry) == A, "its reply was lost"
    assert old.held[A] > lost
    assert queue.call("release", A, old.held[A], "released") == b"queued"
    assert queue.take_jobs("new")[0].attempt == 1


# settings, what it is answered; nothing is lost and it does not go round
KEPT_FROM_IT = [
    ("its queue is paused", {"paused": 1}, "paused"),
    ("the tenant's limit is reached", {"tenant_running": 1}, "limit"),
]


@pytest.mark.parametrize(
    "what, settings, why", KEPT_FROM_IT, ids=[r[0] for r in KEPT_FROM_IT]
)
def test_it_keeps_to_what_operators_set(queue, what, settings, why):
    queue.submit(C)
    queue.submit(A)
    queue.submit(B)
    queue.take_jobs("new")
    queue.client.sadd(f"{queue.root}running:default/default", C)
    queue.client.hset(f"{queue.root}job:{C}", "limited", 1)
    old = Old(queue)
    entries = old.read(9)
    queue.queue_set(**settings)
    assert [old.start(entry) for entry in entries] == [why, why]
    assert old.read(9) == [], "they wait in the lane"
    queue.queue_set(paused=0, tenant_running="")
    queue.promote()
    assert sorted(old.work()) == [A, B]


# ------------------------------------------------- jobs written by build 10


def write_old(queue, id, state, events, **facts):
    """As the library of build 10 left it."""
    stream = queue.work()
    if not queue.client.exists(stream):
        queue.client.xgroup_create(stream, GROUP, id="0", mkstream=True)
    entry = queue.client.xadd(stream, {"id": id}).decode()
    now = int(queue.client.time()[0]) * 1000
    all_facts = {
        "state": state,
        "epoch": 0,
        "attempts": 0,
        "crashes": 0,
        "queue": "default",
        "priority": "normal",
        "tenant": "default",
        "submitted_at": now,
        "stream": stream,
        "entry": entry,
        "seq": len(events),
        **facts,
    }
    queue.client.hset(f"{queue.root}job:{id}", mapping=all_facts)
    queue.client.set(f"{queue.root}body:{id}", b"old body")
    for seq, type in enumerate(events, 1):
        event = {"v": 1, "seq": seq, "at": now, "attempt": 0, "type": type, "data": {}}
        queue.client.xadd(
            f"{queue.root}events:{id}", {"event": msgpack.packb(event)}, id=f"{seq}-0"
        )
    return entry


def test_one_that_waits_since_build_10_is_taken(queue):
    write_old(queue, A, "queued", ["job.queued"])
    assert queue.mend() == 1, "among the ready"
    (job,) = queue.take_jobs()
    assert (job.id, job.body, job.attempt) == (A, b"old body", 1)
    assert queue.types(A) == ["job.queued", "job.started"]
    queue.finish(A, job.epoch)


def run_old(queue, id=A):
    """It runs, at a consumer of build 10 that has beaten by XCLAIM."""
    entry = write_old(
        queue, id, "in_progress", ["job.queued", "job.started"],
        epoch=1, attempts=1, owner="old", lease_ms=5, told=0,
    )  # fmt: skip
    queue.client.xreadgroup(GROUP, "old", {queue.work(): ">"})
    return entry


def test_one_that_runs_since_build_10_gets_a_lease_by_its_next_beat(queue):
    run_old(queue)
    assert queue.ids("leases:default") == []
    assert queue.call("beat", "old", A, 1) == [1, 0]
    assert queue.ids("leases:default") == [A]
    queue.finish(A, 1)


def test_one_whose_consumer_of_build_10_lives_is_left_alone(queue):
    run_old(queue)
    queue.client.hset(f"{queue.root}job:{A}", "lease_ms", 60000)
    queue.wait_idle(10)
    assert queue.reclaim(lease_ms=5) == ("-", 0)
    queue.call("beat", "old", A, 1)


def test_one_whose_consumer_died_with_build_10_is_found(queue):
    run_old(queue)
    queue.wait_idle(10)
    assert queue.lapse() == (0, False), "it has no lease to end"
    assert queue.reclaim(lease_ms=5) == ("-", 1)
    assert queue.facts(A)["crashes"] == "1"
    assert queue.take_jobs()[0].body == b"old body"


def test_one_that_has_its_turn_since_build_10_keeps_it(queue):
    """It has left its line when it claimed its session."""
    run_old(queue)
    queue.client.hset(f"{queue.root}job:{A}", mapping={"tenant": "t", "session": "s"})
    queue.client.hset(f"{queue.root}session:t/s", "job", A)
    queue.client.expire(f"{queue.root}session:t/s", 100)
    queue.call("beat", "old", A, 1)
    queue.submit(B, tenant="t", session="s")
    (job,) = queue.take_jobs("new")
    assert queue.claim(B, job.epoch) == (False, A)
    assert queue.claim(A, 1)[0]
    queue.finish(A, 1)
    assert queue.claim(B, job.epoch)[0]
