"""Every transition by FCALL, as a client without our code would call it."""

import time

import msgpack
import pytest

from library import job_id, pack, refused

A, B = job_id(1), job_id(2)
WEEK_MS = 7 * 24 * 3600 * 1000
HOUR_MS = 3600 * 1000
DAY_MS = 24 * HOUR_MS


# ---------------------------------------------------------------- the way


def test_a_job_goes_its_way(queue):
    assert queue.submit(A, b"body", queue="default") == (A, "created")
    assert queue.state(A) == "queued"
    job = queue.begin()
    assert (job.run, job.id, job.attempt, job.crashes) == (True, A, 1, 0)
    assert (job.body, job.journal, job.deadline_at) == (b"body", [], 0)
    assert job.submitted_at <= job.now
    assert queue.beat("c", (A, queue.epoch(A))) == [(1, 0)]
    assert queue.journal(A, queue.epoch(A), 0, b"r0", "turn.started", pack(turn=1)) == 1
    assert queue.event(A, queue.epoch(A), "message.delta", pack(turn=1, text="hé")) == 4
    assert (
        queue.finish(A, queue.epoch(A), result=pack(v=1), data=pack(ms=7))
        == "completed"
    )

    assert queue.types(A) == [
        "job.queued",
        "job.started",
        "turn.started",
        "message.delta",
        "job.completed",
    ]
    assert queue.result(A) == {"v": 1}
    facts = queue.facts(A)
    assert facts["state"] == "completed"
    assert queue.client.xlen(queue.work()) == 0
    for kept in ("journal", "body"):  # together they tell what was done
        left = queue.client.pttl(f"{queue.root}{kept}:{A}")
        assert HOUR_MS - 5000 < left <= HOUR_MS, kept
    assert DAY_MS - 5000 < queue.client.pttl(f"{queue.root}result:{A}") <= DAY_MS
    assert queue.client.pttl(f"{queue.root}job:{A}") > WEEK_MS


def test_events_are_one_map_with_the_members_of_the_contract(queue):
    queue.submit(A)
    queue.begin("host:1:x")
    stream = f"{queue.root}events:{A}"
    entries = queue.client.xrange(stream)
    assert [entry for entry, _ in entries] == [b"1-0", b"2-0"]
    event = msgpack.unpackb(entries[1][1][b"event"])
    assert list(event) == ["v", "seq", "at", "attempt", "type", "data"]
    assert (event["v"], event["seq"], event["attempt"]) == (1, 2, 1)
    assert event["data"] == {"consumer": "host:1:x"}
    assert isinstance(event["at"], int)


def test_what_is_published_is_what_is_in_the_stream(queue):
    channel = f"{queue.root}events:{A}"
    with queue.client.pubsub() as reader:
        reader.subscribe(channel)
        assert reader.get_message(timeout=30)["type"] == "subscribe"
        queue.submit(A)
        queue.begin()
        queue.finish(A, queue.epoch(A))
        heard = [reader.get_message(timeout=30)["data"] for _ in range(3)]
    stored = [fields[b"event"] for _, fields in queue.client.xrange(channel)]
    assert heard == stored


# ------------------------------------------------------------------- submit


def test_pairs_come_in_any_order(queue):
    queue.call("submit", "priority", "high", "job", "x", "id", A)
    assert queue.client.xlen(queue.work(priority="high")) == 1
    assert queue.facts(A)["priority"] == "high"


@pytest.mark.parametrize(
    "word, pairs",
    [
        ("BADARG", {"id": "nonsense"}),
        ("BADARG", {"id": ""}),
        ("BADARG", {"id": job_id(1, partition=1)}),
        ("BADARG", {"id": A.upper().replace("8000", "8ABC")}),
        ("BADARG", {"id": A.replace("-7", "-4", 1)}),
        ("BADARG", {"id": "x\r\ny" * 40}),
        ("BADARG", {"job": b""}),
        ("TOOBIG", {"job": b"x" * (256 * 1024 + 1)}),
        ("BADARG", {"queue": "a b"}),
        ("BADARG", {"queue": "a{b}"}),
        ("BADARG", {"queue": "q" * 129}),
        ("BADARG", {"tenant": "a\nb"}),
        ("BADARG", {"session": "s\x7f"}),
        ("BADARG", {"priority": "urgent"}),
        ("BADARG", {"deadline_ms": "-1"}),
        ("BADARG", {"deadline_ms": "soon"}),
        ("BADARG", {"deadline_ms": "1e3"}),
        ("BADARG", {"max_depth": "9" * 16}),
        ("TOOBIG", {"idempotency_key": "k" * 257}),
    ],
)
def test_bad_submits_leave_nothing_behind(queue, word, pairs):
    refused(word, queue.submit, **{"id": A, "job": b"x", **pairs})
    assert queue.client.dbsize() == 0


def test_a_name_without_a_value_is_refused(queue):
    refused("BADARG", queue.call, "submit", "id", A, "job")
    refused("BADARG", queue.call, "submit")


def test_the_largest_job_is_taken_byte_for_byte(queue):
    body = bytes(range(256)) * 1024
    queue.submit(A, body)
    assert queue.begin().body == body


def test_the_same_id_again_is_the_same_job(queue):
    assert queue.submit(A, b"one") == (A, "created")
    assert queue.submit(A, b"one") == (A, "exists")
    refused("BADARG", queue.submit, A, b"two")
    queue.begin()
    queue.finish(A, queue.epoch(A))
    assert queue.submit(A, b"one") == (A, "exists")
    assert queue.client.xlen(queue.work()) == 0


def test_the_same_key_of_the_same_tenant_is_the_same_job(queue):
    assert queue.submit(A, idempotency_key="k") == (A, "created")
    assert queue.submit(B, idempotency_key="k") == (A, "exists")
    other = pack(v=1, id=B, tenant="other")
    assert queue.submit(B, other, idempotency_key="k", tenant="other")[1] == "created"
    # Once the facts are gone the key names nothing, and is given anew.
    queue.client.delete(f"{queue.root}job:{A}", queue.work())
    queue.client.delete(f"{queue.root}job:{B}")
    assert queue.submit(job_id(3), idempotency_key="k")[1] == "created"
    assert queue.submit(B, idempotency_key="k")[0] == job_id(3)
    queue.mend()


def test_an_id_whose_facts_were_deleted_can_be_used_again(queue):
    queue.submit(A)
    queue.begin()
    queue.event(A, queue.epoch(A), "turn.started", b"")
    queue.journal(A, queue.epoch(A), 0, b"old")
    queue.client.delete(f"{queue.root}job:{A}", queue.work())
    assert queue.submit(A) == (A, "created")
    assert queue.types(A) == []
    (job,) = queue.take_jobs()
    assert queue.types(A) == ["job.queued", "job.started"]
    queue.release(A, job.epoch)
    (job,) = queue.take_jobs()
    assert job.journal == [], "another's"
    assert queue.journal(A, job.epoch, 0, b"new") == 1
    assert queue.journal(A, job.epoch, 1, b"more") == 2


def test_a_waiting_job_takes_little_memory(queue):
    """Its facts and its body: what is absent is the default, and its events
    begin with its start. A stream as Redis makes it would take 4 KiB."""
    queue.submit(A, b"x" * 100)
    assert set(queue.facts(A)) == {"state", "submitted_at", "entry"}
    assert queue.keys("events") == []
    kinds = ("job", "body")
    taken = [queue.client.memory_usage(f"{queue.root}{kind}:{A}") for kind in kinds]
    assert sum(taken) < 450, taken
    queue.begin()
    assert queue.client.memory_usage(f"{queue.root}events:{A}") < 1024


def test_the_depth_counts_what_waits_in_all_priorities(queue):
    queue.submit(job_id(1), max_depth=3, priority="low")
    queue.submit(job_id(2), max_depth=3, priority="high")
    queue.submit(job_id(3), max_depth=3)
    text = refused("QUEUEFULL", queue.submit, job_id(4), max_depth=3)
    assert "3 jobs, at most 3" in text
    assert queue.submit(job_id(3), max_depth=3)[1] == "exists"
    assert queue.submit(job_id(4), queue="other", max_depth=3)[1] == "created"
    queue.begin()
    assert queue.submit(job_id(5), max_depth=3)[1] == "created"


def test_what_was_submitted_before_the_first_consumer_is_not_lost(queue):
    queue.client.xadd(queue.work(), {"id": A})  # no group
    queue.submit(B)
    assert queue.reclaim() == ("-", 0)  # makes it, at 0
    assert len(queue.take(count=10)) == 2
    queue.client.delete(queue.work(), f"{queue.root}job:{B}")
    queue.mend()


# --------------------------------------------------------------- idempotence


def test_a_record_again_is_no_change(queue):
    queue.submit(A)
    queue.begin()
    assert queue.journal(A, queue.epoch(A), 0, b"r0", "turn.started", b"") == 1
    assert queue.journal(A, queue.epoch(A), 1, b"r1") == 2
    assert queue.journal(A, queue.epoch(A), 0, b"r0", "turn.started", b"") == 2
    refused("MISPLACED", queue.journal, A, queue.epoch(A), 0, b"other")
    refused("MISPLACED", queue.journal, A, queue.epoch(A), 3, b"r3")
    assert queue.records(A) == [b"r0", b"r1"]
    assert queue.types(A).count("turn.started") == 1


def test_finish_again_is_the_same_answer(queue):
    queue.submit(A)
    queue.begin()
    assert queue.finish(A, queue.epoch(A), "incomplete", pack(n=1)) == "incomplete"
    assert queue.finish(A, queue.epoch(A), "incomplete", pack(n=2)) == "incomplete"
    refused("STALE", queue.finish, A, queue.epoch(A), "completed", pack(n=3))
    assert queue.result(A) == {"n": 1}
    assert queue.types(A)[-1] == "job.incomplete"


def test_release_again_is_no_change(queue):
    queue.submit(A)
    queue.begin()
    assert queue.release(A, queue.epoch(A), "drain") == "queued"
    assert queue.release(A, queue.epoch(A), "drain") == "queued"
    assert queue.client.xlen(queue.work()) == 1
    assert queue.begin().attempt == 1
    refused("STALE", queue.release, A, queue.epoch(A))
    queue.submit(B)
    queue.begin()
    queue.cancel(B)
    assert queue.release(B, queue.epoch(B)) == "cancelled"
    assert queue.release(B, queue.epoch(B)) == "cancelled"


def test_cancel_again_is_the_same_answer(queue):
    queue.submit(A)
    assert queue.cancel(A) == "cancelled"
    assert queue.cancel(A) == "cancelled"
    queue.submit(B)
    queue.begin()
    assert queue.cancel(B) == "asked"
    assert queue.cancel(B) == "asked"


def test_many_end_in_one_step_and_each_is_answered(queue):
    for number in range(4):
        queue.submit(job_id(number), session=f"s{number}", unique_key=number)
    jobs = queue.take_jobs(count=4)
    queue.release(jobs[1].id, jobs[1].epoch)
    rows = [
        (jobs[0], "completed", b"r0"),
        (jobs[1], "completed", b"late"),
        (jobs[2], "failed", b"r2"),
        (jobs[0], "completed", b"again"),
        (jobs[3], "completed", b"x" * (1024 * 1024 + 1)),
        (jobs[3], "failed", b"too large"),
    ]
    args = [
        part
        for job, state, result in rows
        for part in (job.id, job.epoch, state, pack(r=result), b"", "", 0, 0, 0, 0)
    ]
    answers = queue.call("finish_many", *args)
    words = [str(answer).split()[0].strip("b'") for answer in answers]
    assert words == ["completed", "STALE", "failed", "completed", "TOOBIG", "failed"]
    assert queue.result(jobs[0].id) == {"r": b"r0"}
    assert queue.result(jobs[3].id) == {"r": b"too large"}, "not tried for ever"
    assert queue.body(jobs[0].id) is None and queue.body(jobs[2].id)
    refused("BADARG", queue.call, "finish_many")
    refused("BADARG", queue.call, "finish_many", *args[:-1])
    refused("BADARG", queue.call, "finish_many", *args[:8] * 513)


def test_each_of_many_ends_has_its_own_event(queue):
    """They share what they have in common, and nothing else."""
    for number in range(4):
        queue.submit(job_id(number))
    jobs = queue.take_jobs(count=4)
    queue.release(jobs[1].id, jobs[1].epoch)
    [jobs[1]] = queue.take_jobs(count=1)
    queue.release(jobs[1].id, jobs[1].epoch)
    [jobs[1]] = queue.take_jobs(count=1)
    queue.event(jobs[2].id, jobs[2].epoch, "message.delta", pack(text="x"))
    states = ["completed", "completed", "completed", "failed"]
    args = []
    for job, state in zip(jobs, states):
        data = pack(ms=int(job.id[-1]))
        args += [job.id, job.epoch, state, pack(v=1), data, "", 0, 0, 0, 0]
    queue.call("finish_many", *args)
    last = [queue.events(job.id)[-1] for job in jobs]
    seqs = [3, 7, 4, 3]
    for number, event in enumerate(last):
        kind = f"job.{states[number]}"
        assert (event["seq"], event["type"]) == (seqs[number], kind)
        assert (event["attempt"], event["data"]) == (1, {"ms": number})


def test_fields_that_are_no_facts_change_nothing(queue):
    """The hash may have fields of any name: anybody may have written them."""
    queue.submit(A)
    job = queue.begin()
    names = ("root", "id", "key", "changes", "fenced", "body")
    queue.client.hset(f"{queue.root}job:{A}", mapping=dict.fromkeys(names, "x"))
    assert queue.beat("c", (A, job.epoch)) == [(1, 0)]
    assert queue.finish(A, job.epoch) == "completed"
    assert queue.state(A) == "completed" and queue.result(A) is not None



# ------------------------------------------------------------------- fencing


def test_no_write_of_an_epoch_that_is_over_is_taken(queue):
    queue.submit(A)
    queue.begin("zombie")
    queue.release(A, queue.epoch(A))
    mine, over = queue.begin("heir").epoch, queue.epoch(A)
    assert mine > over + 1
    writes = {
        "journal": lambda epoch: queue.journal(A, epoch, 0, b"r"),
        "event": lambda epoch: queue.event(A, epoch, "turn.started", b""),
        "finish": lambda epoch: queue.finish(A, epoch),
        "release": lambda epoch: queue.release(A, epoch),
    }
    before = queue.facts(A)
    for write in writes.values():
        for epoch in (0, over, over + 1, mine + 1, "x", "", f"{mine}.0", f"-{mine}"):
            refused("STALE", write, epoch)
    assert queue.beat("zombie", (A, over), (A, mine)) == [(0, 0), (0, 0)]
    assert queue.beat("heir", (A, over), (A, mine)) == [(0, 0), (1, 0)]
    assert queue.facts(A) == before and queue.records(A) == []


def test_an_epoch_does_not_come_again_when_a_failover_has_lost_its_start(queue):
    queue.submit(A)
    replica = {key: queue.client.dump(key) for key in queue.client.keys()}
    lost = queue.begin("zombie").epoch
    queue.wait_idle(2)
    queue.client.flushdb()
    for key, bytes in replica.items():
        queue.client.restore(key, 0, bytes)
    heir = queue.begin("heir")
    assert (heir.attempt, heir.epoch > lost) == (1, True)
    refused("STALE", queue.finish, A, lost)


def test_an_epoch_rises_also_when_the_clock_stands_behind_it(queue):
    """The clock of the server before was ahead."""
    queue.submit(A)
    ahead = queue.begin().epoch + 3600 * 1000
    queue.client.hset(f"{queue.root}job:{A}", "epoch", ahead)
    queue.release(A, ahead)
    assert queue.begin().epoch == ahead + 2


def test_nothing_is_written_after_the_end(queue):
    queue.submit(A)
    queue.begin()
    queue.finish(A, queue.epoch(A))
    refused("STALE", queue.journal, A, queue.epoch(A), 0, b"r")
    refused("STALE", queue.event, A, queue.epoch(A), "turn.started", b"")
    refused("STALE", queue.release, A, queue.epoch(A))
    assert queue.beat("c", (A, queue.epoch(A))) == [(0, 0)]
    assert queue.cancel(A) == "late"


def test_unknown_jobs_are_gone_and_ids_must_be_ids(queue):
    for write in (queue.event, queue.finish, queue.release):
        refused("GONE", write, A, 1)
        refused("BADARG", write, "x", 1)
    refused("GONE", queue.journal, A, 1, 0, b"r")
    refused("GONE", queue.cancel, A)
    refused("BADARG", queue.cancel, job_id(1, partition=1))
    assert queue.beat("c", (A, 1), ("x", "y")) == [(0, 0), (0, 0)]


def test_only_the_consumer_that_holds_the_entry_may_start_it(queue):
    queue.submit(A)
    (entry,) = queue.take("c1")
    assert queue.start(entry, "c2").reason == "taken"
    assert queue.start("0-1", "c1").reason == "taken"
    assert queue.start(entry, "c1").run


# --------------------------------------------------------------- what it says


@pytest.mark.parametrize(
    "word, events",
    [
        ("BADARG", ["job.completed", b""]),
        ("BADARG", ["job.started", b""]),
        ("BADARG", ["Turn.Started", b""]),
        ("BADARG", ["", b""]),
        ("BADARG", ["image", b"\x90"]),
        ("BADARG", ["image", b"text"]),
        ("BADARG", ["image"]),
        ("TOOBIG", ["image", b"\x81" + b"x" * 65536]),
        ("BADARG", ["image", b"\x80", "job.failed", b""]),
    ],
)
def test_bad_events_change_nothing(queue, word, events):
    queue.submit(A)
    queue.begin()
    refused(word, queue.event, A, queue.epoch(A), *events)
    refused(word, queue.journal, A, queue.epoch(A), 0, b"r", *events)
    assert queue.records(A) == [] and len(queue.events(A)) == 2


def test_events_of_the_consumer_about_the_job_are_two(queue):
    queue.submit(A)
    queue.begin()
    assert (
        queue.event(
            A, queue.epoch(A), "job.retrying", b"", "job.waiting", pack(wait_ms=5)
        )
        == 4
    )
    assert queue.event(A, queue.epoch(A)) == 4


def test_bounds_of_records_and_results(queue):
    queue.submit(A)
    queue.begin()
    refused("TOOBIG", queue.journal, A, queue.epoch(A), 0, b"x" * (1024 * 1024 + 1))
    refused(
        "TOOBIG", queue.finish, A, queue.epoch(A), "completed", b"x" * (1024 * 1024 + 1)
    )
    refused("TOOBIG", queue.finish, A, queue.epoch(A), data=b"\x81" + b"x" * 65536)
    refused("BADARG", queue.finish, A, queue.epoch(A), data=b"\x90")
    refused("BADARG", queue.finish, A, queue.epoch(A), state="queued")
    refused("BADARG", queue.finish, A, queue.epoch(A), result_ttl_ms="x")
    assert queue.journal(A, queue.epoch(A), 0, b"x" * (1024 * 1024)) == 1
    assert (
        queue.finish(A, queue.epoch(A), "completed", b"x" * (1024 * 1024))
        == "completed"
    )


def test_many_events_are_capped_and_the_terminal_one_is_there(queue):
    queue.submit(A)
    queue.begin()
    pairs = ["message.delta", pack(text="x")] * 1000
    for _ in range(12):
        queue.event(A, queue.epoch(A), *pairs)
    queue.finish(A, queue.epoch(A))
    assert 10000 <= len(queue.events(A)) < 10300
    assert queue.types(A)[-1] == "job.completed"


# -------------------------------------------------------------- ways of ending


def test_a_failed_job_is_kept_with_its_bytes_among_the_dead(queue):
    queue.submit(A, b"body")
    queue.begin()
    queue.finish(A, queue.epoch(A), "failed", error_code="bad_field", dead_ttl_ms=1000)
    facts = queue.facts(A)
    assert (queue.body(A), facts["error_code"]) == (b"body", "bad_field")
    assert queue.dead() == [A]
    for kind in ("result", "body"):
        assert 0 < queue.client.pttl(f"{queue.root}{kind}:{A}") <= 1000


def test_a_drain_costs_no_attempt(queue):
    queue.submit(A)
    for _ in range(5):
        job = queue.begin()
        assert job.attempt == 1
        queue.release(A, job.epoch, "drain")
    assert queue.facts(A)["attempts"] == "0"
    assert queue.events(A)[-1]["data"] == {"queue": "default", "reason": "drain"}


def test_a_released_job_keeps_its_journal_and_goes_on(queue):
    queue.submit(A)
    queue.begin()
    queue.journal(A, queue.epoch(A), 0, b"r0")
    queue.release(A, queue.epoch(A))
    assert queue.begin("c2").journal == [b"r0"]
    assert queue.client.ttl(f"{queue.root}journal:{A}") == -1


def test_the_first_start_is_remembered(queue):
    queue.submit(A)
    queue.begin()
    first = queue.facts(A)["started_at"]
    queue.release(A, queue.epoch(A))
    queue.wait_idle(5)
    queue.begin()
    assert queue.facts(A)["started_at"] == first


def test_the_dead_are_forgotten_with_their_facts(queue):
    queue.client.zadd(f"{queue.root}dead:default", {"old": 1})
    queue.client.expire(f"{queue.root}dead:default", 100)
    queue.submit(A)
    queue.begin()
    queue.finish(A, queue.epoch(A), "failed")
    assert queue.dead() == [A]
    assert queue.client.pttl(f"{queue.root}dead:default") > WEEK_MS


def test_each_of_the_dead_is_kept_for_its_own_time(queue):
    queue.submit(A)
    queue.begin()
    queue.finish(A, queue.epoch(A), "failed", dead_ttl_ms=9 * WEEK_MS)
    # One that is kept for a shorter time, when the first is old already.
    queue.client.zadd(f"{queue.root}dead:default", {A: 1})
    queue.submit(B)
    queue.begin()
    queue.finish(B, queue.epoch(B), "failed", dead_ttl_ms=1000)
    assert queue.dead() == [A, B]
    assert queue.client.pttl(f"{queue.root}dead:default") > 9 * WEEK_MS


def test_a_deadline_that_passed_in_the_queue_ends_the_job(queue):
    queue.submit(A, b"body", deadline_ms=1)
    queue.wait_idle(5)
    job = queue.begin()
    assert (job.run, job.reason, job.id) == (False, "deadline", A)
    assert queue.state(A) == "failed"
    assert queue.body(A) == b"body"
    result = queue.result(A)
    assert (result["v"], result["id"], result["status"]) == (1, A, "failed")
    assert result["error"]["code"] == "deadline_exceeded"
    assert queue.events(A)[-1]["data"]["error"] == result["error"]


def test_a_deadline_counts_from_submit(queue):
    queue.submit(A, deadline_ms=60000)
    job = queue.begin()
    assert job.deadline_at == job.submitted_at + 60000


# ------------------------------------------------------------------- cancel


def test_cancel_while_it_waits(queue):
    queue.submit(A)
    assert queue.cancel(A, "不要了") == "cancelled"
    assert queue.take() == []
    assert queue.result(A)["status"] == "cancelled"
    assert queue.result(A)["notes"] == "cancelled: 不要了"
    assert queue.events(A)[-1]["data"]["reason"] == "不要了"


def test_cancel_between_read_and_start(queue):
    queue.submit(A)
    (entry,) = queue.take()
    assert queue.cancel(A) == "cancelled"
    assert queue.start(entry).run is False


def test_cancel_while_it_runs(queue):
    with queue.client.pubsub() as reader:
        reader.subscribe(f"{queue.root}control")
        assert reader.get_message(timeout=30)["type"] == "subscribe"
        queue.submit(A)
        queue.begin()
        assert queue.cancel(A, "enough") == "asked"
        assert reader.get_message(timeout=30)["data"] == f"cancel {A}".encode()
    assert queue.beat("c", (A, queue.epoch(A))) == [(1, 1)]
    assert queue.state(A) == "in_progress"
    assert queue.finish(A, queue.epoch(A), "cancelled") == "cancelled"


def test_names_of_consumers_long_gone_are_forgotten(queue):
    def names():
        rows = queue.client.xinfo_consumers(queue.work(), "consumers")
        return sorted(row["name"] for row in rows)

    queue.submit(A)
    queue.submit(B)
    (entry,) = queue.take("idle")
    queue.start(entry, "idle")
    queue.take("dead")
    time.sleep(0.11)
    queue.reclaim(lease_ms=60000)
    assert names() == [b"dead", b"idle"], "not heard of for a while"
    queue.reclaim(lease_ms=1)
    assert names() == [], "what they had read is put back"
    assert (queue.state(A), queue.state(B)) == ("in_progress", "queued")


def test_what_was_asked_to_cancel_does_not_come_back(queue):
    queue.submit(A)
    queue.begin()
    queue.cancel(A, "enough")
    assert queue.release(A, queue.epoch(A)) == "cancelled"
    assert queue.state(A) == "cancelled"
    queue.submit(B)
    (entry,) = queue.take()
    queue.start(entry, lease_ms=0)
    queue.cancel(B)
    queue.lapse()
    assert queue.state(B) == "cancelled"


@pytest.mark.parametrize("reason", ["x" * 257, "\x80", "a\xff"])
def test_reasons_are_short_text(queue, reason):
    raw = reason.encode("latin-1")
    queue.submit(A)
    refused("BADARG", queue.cancel, A, raw)
    queue.begin()
    refused("BADARG", queue.release, A, queue.epoch(A), raw)
    assert queue.release(A, queue.epoch(A), "ä€😀".encode()) == "queued"


def test_an_event_that_comes_again_is_known_by_its_number(queue):
    queue.submit(A)
    queue.begin()
    assert queue.event(A, queue.epoch(A), 1, "message.delta", pack(text="ha")) == 3
    assert queue.event(A, queue.epoch(A), 2, "message.delta", pack(text="ha")) == 4
    for number in (2, 1):
        assert (
            queue.event(A, queue.epoch(A), number, "message.delta", pack(text="ha"))
            == 4
        )
    assert queue.types(A).count("message.delta") == 2
    assert queue.release(A, queue.epoch(A), "released") == "queued"
    queue.begin()
    before = len(queue.types(A))
    queue.event(
        A,
        queue.epoch(A, 2),
        1,
        "message.delta",
        pack(text="another attempt counts anew"),
    )
    assert len(queue.types(A)) == before + 1


@pytest.mark.parametrize("keys", [[], [""], ["quern:"], ["{zzz}:"], ["{000}:", "x"]])
def test_the_one_key_is_a_partitions_root(queue, keys):
    for name, args in {
        "submit": ["id", A, "job", "x"],
        "take": ["c", 1, 1, 1],
        "beat": ["c", A, 1],
        "journal": [A, 1, 0, "r"],
        "event": [A, 1],
        "finish": [A, 1, "failed", "r", "", "", 0, 0],
        "release": [A, 1],
        "reclaim": [queue.work(), 0, 1, "-"],
        "cancel": [A],
    }.items():
        refused("BADARG", queue.call_with, name, keys, *args)
    assert queue.client.dbsize() == 0
