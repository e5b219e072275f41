"""Jobs that wait for a time, a verdict, or another of their kind."""

import time

import msgpack
import pytest
from library import job_id, pack, refused

A, B, C = job_id(1), job_id(2), job_id(3)
DAY_MS = 24 * 3600 * 1000
WEEK_MS = 7 * DAY_MS


def begun(queue, id=A, **given):
    """Submitted and started; its epoch."""
    queue.submit(id, **given)
    (job,) = queue.take_jobs()
    assert job.id == id
    return job.epoch


def taken(queue):
    return [job.id for job in queue.take_jobs(count=9)]


# -------------------------------------------------------------------- wait


def test_a_retry_waits_and_counts_an_error(queue):
    epoch = begun(queue)
    assert queue.wait(A, epoch, 60000, "retry", 1) == "waiting"
    assert taken(queue) == []
    facts = queue.facts(A)
    assert (facts["state"], facts["reason"]) == ("waiting", "retry")
    assert (facts["errors"], facts["attempts"]) == ("1", "1")
    moved, next_ms, _ = queue.promote()
    assert moved == 0 and 0 < next_ms <= 60000
    queue.come_due()
    assert queue.promote() == (1, -1, [])
    (job,) = queue.take_jobs()
    assert (job.attempt, job.errors, job.crashes) == (2, 1, 0)
    assert queue.types(A) == [
        "job.queued",
        "job.started",
        "job.waiting",
        "job.queued",
        "job.started",
    ]
    waiting, queued = queue.events(A)[2:4]
    assert waiting["data"]["reason"] == queued["data"]["reason"] == "retry"
    assert queue.facts(A).get("reason", "") == ""


def test_a_wait_without_an_error_is_no_attempt(queue):
    queue.wait(A, begun(queue), 1, "backoff", 0)
    facts = queue.facts(A)
    assert "errors" not in facts and facts["attempts"] == "0"
    queue.wait_idle(5)
    queue.promote()
    assert queue.take_jobs()[0].attempt == 1


def test_a_wait_again_is_no_change(queue):
    epoch = begun(queue)
    assert queue.wait(A, epoch, 5) == "waiting"
    assert queue.wait(A, epoch, 5) == "waiting"
    assert queue.facts(A)["errors"] == "1"
    queue.wait_idle(10)
    queue.promote()
    assert queue.wait(A, epoch, 5) == "queued"
    queue.take_jobs()
    refused("STALE", queue.wait, A, epoch, 5)


def test_a_waiting_job_holds_no_lease_and_no_entry(queue):
    epoch = begun(queue)
    queue.wait(A, epoch, 60000)
    assert queue.ids("leases:default") == [] and queue.client.xlen(queue.work()) == 0
    refused("STALE", queue.event, A, epoch, "turn.started", b"")
    assert queue.beat("c", (A, epoch)) == [(0, 0)]


def test_the_caller_says_what_its_event_tells(queue):
    queue.wait(A, begun(queue), 60000, "approval", 0, pack(tool="pay", cost=9))
    assert queue.events(A)[-1]["data"] == {"tool": "pay", "cost": 9}


@pytest.mark.parametrize(
    "args",
    [
        (0, "retry", 1),
        ("x", "retry", 1),
        (1, "mood", 1),
        (1, "retry", "many"),
        (1, "retry", 1, b"\x90"),
        (1, "retry", 1, b"\x81" + b"x" * 65536),
        (1, "retry", 1, b"", "1.0"),
        (0, "approval", 0, b"", "1.0 "),
        (0, "approval", 0, b"", "1.0", "approve"),
    ],
)
def test_waits_that_are_none_are_refused(queue, args):
    epoch = begun(queue)
    refused("BADARG", queue.wait, A, epoch, *args)
    assert queue.state(A) == "in_progress"


# what happens to a job that waits for a minute, what becomes of it
WHILE_IT_WAITS = [
    ("it is cancelled", {}, lambda q: q.cancel(A), "cancelled", None),
    (
        "its deadline passes",
        {"deadline_ms": 600000},
        lambda q: (q.overdue(A), q.promote()),
        "failed",
        "deadline_exceeded",
    ),
    ("its queue is purged", {}, lambda q: q.purge(), "cancelled", None),
]


@pytest.mark.parametrize(
    "what, given, do, state, code", WHILE_IT_WAITS, ids=[r[0] for r in WHILE_IT_WAITS]
)
def test_while_it_waits(queue, what, given, do, state, code):
    queue.wait(A, begun(queue, **given), 60000)
    do(queue)
    assert (queue.state(A), queue.facts(A).get("error_code")) == (state, code)
    assert queue.promote()[1] == -1


def test_who_leaves_after_its_deadline_or_a_cancel_ends(queue):
    epoch = begun(queue, A, deadline_ms=600000)
    queue.overdue(A)
    assert queue.promote()[0] == 1 and queue.state(A) == "in_progress"
    assert queue.wait(A, epoch, 60000) == "failed"
    assert queue.wait(A, epoch, 60000) == "failed"
    epoch = begun(queue, B)
    queue.cancel(B)
    assert queue.wait(B, epoch, 60000) == "cancelled"
    assert queue.wait(B, epoch, 60000) == "cancelled"
    epoch = begun(queue, C, deadline_ms=600000)
    queue.overdue(C)
    assert queue.release(C, epoch) == "failed"


@pytest.mark.parametrize(
    "leave",
    [
        lambda queue, epoch: queue.release(A, epoch),
        lambda queue, epoch: queue.wait(A, epoch, 0, "approval", 0),
        lambda queue, epoch: queue.wait(A, epoch, 60000, "budget", 1),
    ],
    ids=["handed back", "waits for a person", "waits for a budget"],
)
def test_an_attempt_that_ends_as_it_leaves_was_one(queue, leave):
    """Only what goes on later is as if it had not begun."""
    epoch = begun(queue)
    queue.cancel(A)
    assert leave(queue, epoch) == "cancelled"
    assert queue.facts(A)["attempts"] == "1"


# ---------------------------------------------------------------- approval


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_a_verdict_lets_it_go_on_and_is_told(queue, verdict):
    epoch = begun(queue)
    assert queue.wait(A, epoch, 0, "approval", 0) == "waiting"
    assert 6 * DAY_MS < queue.promote()[1] <= WEEK_MS
    assert queue.approve(A, verdict, "since it is little") == "queued"
    assert queue.approve(A, verdict) == "queued", "sent again"
    assert queue.approve(A, "reject" if verdict == "approve" else "approve") == "late"
    (job,) = queue.take_jobs()
    assert (job.approval, job.approval_note) == (verdict, "since it is little")
    assert (job.attempt, job.errors) == (1, 0)
    queue.finish(A, job.epoch)
    assert queue.approve(A, verdict) == "late", "it has ended"


def test_a_verdict_that_finds_a_job_late_is_late_for_good(queue):
    queue.wait(A, begun(queue, deadline_ms=600000), 0, "approval", 0)
    queue.overdue(A)
    assert queue.approve(A) == "late"
    assert queue.approve(A) == "late", "sent again"


def test_a_verdict_on_a_job_that_has_ended_is_late(queue):
    """Also the one that it was told while it waited."""
    queue.wait(A, begun(queue), 0, "approval", 0)
    assert queue.approve(A) == "queued"
    assert queue.approve(A) == "queued", "sent again"
    (job,) = queue.take_jobs()
    assert queue.approve(A) == "queued", "it goes on"
    queue.finish(A, job.epoch)
    assert queue.approve(A) == "late"


def test_a_second_wait_for_approval_forgets_the_first_verdict(queue):
    queue.wait(A, begun(queue), 0, "approval", 0)
    queue.approve(A, "approve", "once")
    (job,) = queue.take_jobs()
    queue.wait(A, job.epoch, 0, "approval", 0)
    queue.approve(A, "reject")
    (job,) = queue.take_jobs()
    assert (job.approval, job.approval_note) == ("reject", "")


def test_nobody_approves_within_the_time(queue):
    queue.wait(A, begun(queue), 5, "approval", 0)
    queue.wait_idle(10)
    queue.promote()
    assert queue.facts(A)["error_code"] == "not_approved"
    assert queue.approve(A) == "late"


def test_what_does_not_wait_for_approval_cannot_be_approved(queue):
    refused("GONE", queue.approve, A)
    queue.submit(A)
    assert queue.approve(A) == "late"
    queue.wait(A, queue.begin().epoch, 60000, "retry")
    assert queue.approve(A) == "late"
    for args in (("x",), (A, "approve", "x" * 257)):
        refused("BADARG", queue.approve, *args)


@pytest.mark.parametrize("word", ["maybe", "yes", "approved", "APPROVE", ""])
def test_a_wrong_verdict_is_told_the_right_ones(queue, word):
    queue.submit(A)
    assert refused("BADARG", queue.approve, A, word) == (
        f"approve: verdict '{word}', must be approve, reject, edit, skip, "
        "regenerate, ask or abort"
    )


# ------------------------------------------------- approval of a certain call


def asking(queue, call="1.0", fallback="", delay_ms=0, **told):
    """Waits before that call of its model, with a journal of one record."""
    if queue.records(A) == []:
        epoch = begun(queue)
        queue.journal(A, epoch, 0, pack(v=1))
    else:
        epoch = queue.take_jobs()[0].epoch
    return queue.wait(A, epoch, delay_ms, "approval", 0, pack(**told), call, fallback)


def records(queue):
    return [msgpack.unpackb(record) for record in queue.records(A)]


WORDS = ["approve", "reject", "edit", "skip", "regenerate", "ask", "abort"]


@pytest.mark.parametrize("verdict", WORDS)
def test_a_verdict_is_a_record_of_the_journal(queue, verdict):
    text = "text" if verdict in ("edit", "ask") else ""
    assert asking(queue, tool="pay") == "waiting"
    told = queue.events(A)[-1]["data"]
    assert told["tool"] == "pay" and told["until"] > time.time() * 1000 + 6 * DAY_MS
    assert queue.approve(A, verdict, "note", "1.0", text) == "queued"
    assert queue.approve(A, verdict, "note", "1.0", text) == "queued", "sent again"
    assert queue.events(A)[-1]["data"]["reason"] == verdict
    (job,) = queue.take_jobs()
    _, record = records(queue)
    assert record == {
        "v": 1,
        "kind": "approval",
        "attempt": 0,
        "turn": 1,
        "call": "1.0",
        "verdict": verdict,
        "observation": "note",
        "arguments": text,
    }
    assert len(job.journal) == 2 and job.attempt == 1


def test_a_verdict_is_for_its_call_only(queue):
    asking(queue, "1.0")
    assert queue.approve(A, "approve", "", "1.1") == "late"
    assert queue.approve(A, "edit", "", "1.0", "new") == "queued"
    assert queue.approve(A, "edit", "", "1.0", "newer") == "late"
    asking(queue, "1.1")
    assert queue.approve(A, "edit", "", "1.0", "new") == "late", "of the one before"
    assert queue.approve(A, "approve") == "queued", "of whoever does not name it"
    assert [r.get("call") for r in records(queue)] == [None, "1.0", "1.1"]


@pytest.mark.parametrize(
    "args",
    [
        ("approve", "", "1.0", "text"),
        ("edit", "", "1.0", ""),
        ("ask", "", "1.0", b"\xff"),
        ("ask", "", "1.0", "x" * 49153),
        ("maybe", "", "1.0", ""),
    ],
)
def test_verdicts_that_are_none_are_refused(queue, args):
    asking(queue)
    refused("BADARG", queue.approve, A, *args)
    assert queue.state(A) == "waiting" and len(queue.records(A)) == 1


def test_nobody_has_said_anything_and_it_goes_on(queue):
    asking(queue, fallback="skip", delay_ms=5)
    queue.wait_idle(10)
    queue.promote()
    assert queue.state(A) == "queued"
    record = records(queue)[-1]
    assert (record["verdict"], record["failed"]) == ("skip", True)
    assert queue.approve(A) == "late"


def test_a_wait_that_was_lost_is_until_the_same_time(queue):
    asking(queue, delay_ms=60000)
    queue.client.delete(f"{queue.root}scheduled:default")
    queue.mend()
    assert 0 < queue.promote()[1] <= 60000


def test_who_waits_for_a_person_has_not_failed(queue):
    epoch = begun(queue)
    queue.wait(A, epoch, 1)
    queue.wait_idle(5)
    queue.promote()
    (job,) = queue.take_jobs()
    assert job.errors == 1
    queue.wait(A, job.epoch, 0, "approval", 0)
    queue.approve(A)
    assert queue.take_jobs()[0].errors == 0


# ------------------------------------------------------------- not before


def test_a_delayed_job_is_not_started_before_its_time(queue):
    queue.submit(A, delay_ms=60000)
    assert queue.state(A) == "scheduled"
    assert taken(queue) == []
    queue.promote()
    assert taken(queue) == []
    queue.come_due()
    assert queue.promote()[0] == 1
    assert taken(queue) == [A]
    first = queue.events(A)[0]
    facts = queue.facts(A)
    assert first["data"] == {"queue": "default", "not_before": int(facts["not_before"])}


def test_not_before_is_a_time_of_the_servers_clock(queue):
    now = int(queue.client.time()[0]) * 1000
    queue.submit(A, not_before=now - 60000)
    queue.submit(B, not_before=now + 60000, delay_ms=10)
    assert taken(queue) == [A]
    assert 58000 < queue.promote()[1] <= 60000


def test_a_scheduled_job_stands_in_line_when_its_time_has_come(queue):
    queue.submit(A, session="s", delay_ms=20)
    queue.submit(B, session="s")
    assert taken(queue) == [B]
    queue.wait_idle(25)
    queue.promote()
    assert taken(queue) == []
    queue.finish(B, queue.epoch(B))
    assert taken(queue) == [A]


def test_many_that_are_due_are_moved_in_batches(queue):
    for number in range(30):
        queue.submit(job_id(number), delay_ms=1)
    queue.wait_idle(10)
    assert [queue.promote(20)[0] for _ in range(3)] == [20, 10, 0]
    assert taken(queue) == [job_id(number) for number in range(9)]
    for args in ([], [0], [513], ["x"]):
        refused("BADARG", queue.call, "promote", *args)


# -------------------------------------------------------------- unique keys


def test_of_a_unique_key_there_is_one_until_it_has_ended(queue):
    assert queue.submit(A, unique_key="k") == (A, "created")
    assert queue.submit(B, unique_key="k") == (A, "exists")
    assert queue.submit(B, unique_key="k", tenant="other") == (B, "created")
    assert queue.submit(A, unique_key="k") == (A, "exists")
    assert taken(queue) == [A, B]
    assert queue.submit(C, unique_key="k") == (A, "exists")
    queue.finish(A, queue.epoch(A))
    assert queue.submit(C, unique_key="k") == (C, "created")
    refused("TOOBIG", queue.submit, job_id(4), unique_key="k" * 257)


@pytest.mark.parametrize("end", ["cancelled", "deleted"])
def test_a_unique_key_is_free_whatever_ends_its_job(queue, end):
    queue.submit(A, unique_key="k")
    if end == "cancelled":
        queue.cancel(A)
    else:
        queue.client.delete(f"{queue.root}job:{A}")
    assert queue.submit(B, unique_key="k") == (B, "created")
    queue.mend()
    taken(queue)


# ------------------------------------------------------------ out of the dead


def dead(queue, id=A, **given):
    epoch = begun(queue, id, **given)
    queue.journal(id, epoch, 0, b"r0")
    queue.wait(id, epoch, 1, "retry", 1)
    queue.wait_idle(3)
    queue.promote()
    queue.finish(id, queue.take_jobs()[0].epoch, "failed", error_code="bad_field")


# how it is brought back, the journal that it then has
WAYS_BACK = [
    ("it goes on where it failed", [], [b"r0"]),
    ("it begins anew", ["anew"], []),
]


def test_a_requeue_sent_again_is_known_by_its_ticket(queue):
    dead(queue)
    assert queue.requeue(A, "", "one") == "queued"
    queue.finish(A, queue.take_jobs()[0].epoch, "failed", error_code="bad_field")
    assert queue.requeue(A, "", "one") == "queued", "its reply was lost"
    assert queue.state(A) == "failed"
    assert queue.requeue(A, "", "two") == "queued"
    assert queue.state(A) == "queued"


def test_what_failed_before_its_time_comes_back_at_its_time(queue):
    later = int(time.time() * 1000) + 3600000
    queue.submit(A, not_before=later, deadline_ms=1)
    queue.wait_idle(5)
    queue.promote()
    assert queue.state(A) == "failed"
    assert queue.requeue(A) == "queued"
    assert queue.state(A) == "scheduled"
    assert int(queue.facts(A)["not_before"]) == later
    assert queue.client.zscore(f"{queue.root}scheduled:default", A) == later
    assert queue.events(A)[0]["data"]["not_before"] == later


@pytest.mark.parametrize("what, how, records", WAYS_BACK, ids=[r[0] for r in WAYS_BACK])
def test_a_dead_job_comes_back(queue, what, how, records):
    file = queue.put(b"file", seconds=60)
    dead(
        queue, job=b"body", blobs=[file], session="s", deadline_ms=60000, unique_key="k"
    )
    seq = int(queue.facts(A)["seq"])
    before = queue.facts(A)["submitted_at"]
    queue.wait_idle(2)
    assert queue.client.pttl(f"{queue.root}journal:{A}") > WEEK_MS - 60000
    assert queue.requeue(A, *how) == "queued"
    assert queue.requeue(A, *how) == "queued", "sent again"
    assert queue.dead() == [] and queue.result(A) is None
    assert queue.blob_ttl(file) == -1
    (event,) = queue.events(A)
    assert (event["type"], event["seq"]) == ("job.queued", seq + 1)
    assert event["data"]["reason"] == "requeued"
    (job,) = queue.take_jobs()
    assert (job.id, job.body, job.journal) == (A, b"body", records)
    assert queue.client.pttl(f"{queue.root}journal:{A}") == (-1 if records else -2)
    assert (job.attempt, job.errors, job.crashes) == (1, 0, 0)
    assert job.deadline_at == job.submitted_at + 60000 and job.submitted_at > int(
        before
    )
    assert queue.submit(B, unique_key="k") == (A, "exists")
    queue.finish(A, job.epoch)
    assert "error_code" not in queue.facts(A)


def test_a_late_writer_of_the_life_before_is_refused(queue):
    epoch = begun(queue)
    queue.finish(A, epoch, "failed")
    queue.requeue(A)
    refused("STALE", queue.finish, A, epoch, "failed")
    queue.take_jobs()
    refused("STALE", queue.finish, A, epoch, "failed")


def test_what_is_not_dead_cannot_be_brought_back(queue):
    refused("GONE", queue.requeue, A)
    refused("BADARG", queue.requeue, "entry-1-0")
    refused("BADARG", queue.requeue, A, "again")
    queue.submit(A)
    assert queue.requeue(A) == "late"
    queue.finish(A, queue.begin().epoch)
    assert queue.requeue(A) == "late"
    dead(queue, B)
    queue.client.delete(f"{queue.root}body:{B}")
    assert queue.requeue(B) == "late"


def test_it_is_not_brought_back_without_its_files_or_beside_another(queue):
    file = queue.put(b"file", seconds=60)
    dead(queue, A, blobs=[file])
    queue.client.delete(f"{queue.root}blob:{file}", f"{queue.root}refs:{file}")
    refused("NOBLOB", queue.requeue, A)
    dead(queue, B, unique_key="k")
    queue.submit(C, unique_key="k")
    refused("BADARG", queue.requeue, B)
    assert queue.dead() == [A, B]


def test_the_dead_go_for_good(queue):
    dead(queue)
    queue.client.xadd(queue.work(), {"id": "nonsense"})
    assert taken(queue) == []
    entry = next(id for id in queue.dead() if id.startswith("entry-"))
    for id in (A, entry):
        assert queue.forget(id, "other") == "late"
        assert queue.forget(id) == "forgotten"
        assert queue.forget(id) == "forgotten", "sent again"
        assert not queue.client.exists(
            f"{queue.root}job:{id}", f"{queue.root}body:{id}"
        )
    assert queue.dead() == []
    queue.submit(B)
    assert queue.forget(B) == "late"
    for args in ([], ["default"], ["default", "x"], ["a b", A]):
        refused("BADARG", queue.call, "forget", *args)


# --------------------------------------------------------------- schedules


def schedule(queue, /, name="nightly", at=None, **pairs):
    now = int(time.time() * 1000)
    pairs = {"job": b"\x80", **pairs}
    args = [part for pair in pairs.items() for part in pair]
    return queue.call(
        "schedule_set", name, "0 3 * * *", "Europe/Berlin", at or now - 10, *args
    )


def fire(queue, at, next_at, id, name="nightly"):
    what, word = queue.call("fire", name, at, next_at, id)
    return what.decode(), word.decode()


def test_a_schedule_submits_its_job_when_it_is_due(queue):
    facts = {"queue": "q", "tenant": "t", "priority": "high"}
    schedule(queue, pairs="all", deadline_ms=60000, **facts)
    _, next_ms, ((name, spec, zone, at),) = queue.promote()
    assert (name, spec, zone) == ("nightly", "0 3 * * *", "Europe/Berlin")
    assert next_ms == -1, "what is due now is told, not waited for"
    assert fire(queue, at, at + DAY_MS, A) == (A, "created")
    facts = queue.facts(A)
    assert (facts["queue"], facts["tenant"], facts["priority"]) == ("q", "t", "high")
    assert queue.promote()[2] == []
    (job,) = queue.take_jobs(queues=["q"])
    assert (job.id, job.deadline_at - job.submitted_at) == (A, 60000)


def test_nobody_fires_twice(queue):
    schedule(queue)
    ((*_, at),) = queue.promote()[2]
    assert fire(queue, at, at + DAY_MS, A) == (A, "created")
    assert fire(queue, at, at + DAY_MS, A) == (A, "created"), "sent again"
    assert fire(queue, at, at + DAY_MS, B) == ("", "late")
    assert queue.state(B) is None


def test_two_that_were_set_back_to_the_same_time_make_one_job(queue):
    at = int(time.time() * 1000) - 10
    schedule(queue, at=at)
    fire(queue, at, at + DAY_MS, A)
    schedule(queue, at=at)
    for _ in range(2):  # its reply was lost
        assert fire(queue, at, at + DAY_MS, B) == (A, "exists")
    assert fire(queue, at, at + DAY_MS, A) == ("", "late")


def test_a_time_that_is_refused_is_left_out_and_remembered(queue):
    queue.queue_set(max_depth=1)
    queue.submit(C)
    schedule(queue)
    ((*_, at),) = queue.promote()[2]
    text, word = fire(queue, at, at + DAY_MS, A)
    assert word == "refused" and text.startswith("QUEUEFULL")
    assert fire(queue, at, at + DAY_MS, A) == (text, word), "its reply was lost"
    facts = queue.client.hgetall(f"{queue.root}schedule:nightly")
    assert facts[b"last_error"].decode() == text
    assert queue.promote()[2] == []


def test_a_schedule_whose_job_still_runs_makes_no_other(queue):
    schedule(queue, unique_key="nightly")
    ((*_, at),) = queue.promote()[2]
    next_at = at + 1
    fire(queue, at, next_at, A)
    assert fire(queue, next_at, next_at + DAY_MS, B) == (A, "exists")


def test_one_that_was_removed_meanwhile_starts_no_job(queue):
    """Somebody has read it as due before it was removed."""
    schedule(queue)
    ((*_, at),) = queue.promote()[2]
    assert queue.call("schedule_rm", "nightly") == 1
    assert fire(queue, at, at + DAY_MS, A) == ("", "late")
    assert queue.state(A) is None and queue.ids("schedules") == []
    assert not queue.client.exists(f"{queue.root}schedule:nightly")


def test_one_without_a_next_time_is_over(queue):
    schedule(queue)
    ((*_, at),) = queue.promote()[2]
    assert fire(queue, at, 0, A) == (A, "created")
    assert queue.promote()[2] == [] and queue.ids("schedules") == []
    assert queue.call("schedule_rm", "nightly") == 1
    assert queue.call("schedule_rm", "nightly") == 0


def test_files_of_a_schedule_stay_until_it_is_removed(queue):
    file, other = queue.put(b"a", seconds=60), queue.put(b"b", seconds=60)
    schedule(queue, blob=file)
    assert queue.blob_ttl(file) == -1
    ((*_, at),) = queue.promote()[2]
    fire(queue, at, at + DAY_MS, A)
    queue.finish(A, queue.begin().epoch)
    assert queue.blob_ttl(file) == -1
    schedule(queue, blob=other)
    assert queue.blob_ttl(file) > 0 and queue.blob_ttl(other) == -1
    queue.call("schedule_rm", "nightly")
    assert queue.blob_ttl(other) > 0


@pytest.mark.parametrize(
    "word, name, pairs",
    [
        ("BADARG", "a b", {}),
        ("BADARG", "n", {"at": "soon"}),
        ("BADARG", "n", {"job": ""}),
        ("BADARG", "n", {"queue": "a b"}),
        ("BADARG", "n", {"id": A}),
        ("BADARG", "n", {"idempotency_key": "k"}),
        ("BADARG", "n", {"not_before": "1"}),
        ("BADARG", "n", {"last_id": "1"}),
        ("NOBLOB", "n", {"blob": "a" * 64}),
        ("TOOBIG", "n", {"job": b"x" * (256 * 1024 + 1)}),
    ],
)
def test_schedules_that_are_none_are_refused(queue, word, name, pairs):
    refused(word, schedule, queue, name, **pairs)
    assert queue.client.dbsize() == 0


def test_bad_arguments_of_fire(queue):
    schedule(queue)
    for args in (
        [],
        ["a b", 1, 2, A],
        ["nightly", "x", 2, A],
        ["nightly", 2, 2, A],
        ["nightly", 2, 1, A],
        ["nightly", 1, 2, "x"],
    ):
        refused("BADARG", queue.call, "fire", *args)
    assert fire(queue, 1, 2, A, "unknown") == ("", "late")


# ----------------------------------------------------------------- workers


def report(queue, consumer="c", ttl_ms=60000, **pairs):
    args = [part for pair in {"host": "h", **pairs}.items() for part in pair]
    draining, paused = queue.call("report", consumer, ttl_ms, *args)
    return draining, [name.decode() for name in paused]


def test_a_worker_says_what_it_is_and_hears_what_is_wished(queue):
    queue.queue_set("b", paused=1)
    assert report(queue, slots=9, queues="a b") == (0, ["b"])
    assert queue.client.hget(f"{queue.root}worker:c", "slots") == b"9"
    assert queue.ids("workers") == ["c"]
    assert 0 < queue.client.pttl(f"{queue.root}worker:c") <= 60000
    queue.call("drain", "c", 1)
    assert report(queue, queues="a") == (1, [])
    queue.call("drain", "c", 0)
    assert report(queue) == (0, [])


def test_a_drain_holds_for_a_name_that_is_not_there(queue):
    report(queue)
    queue.call("drain", "c", 1)
    assert queue.call("report", "c", 0) == [0, []]  # it leaves
    assert queue.ids("workers") == [] and not queue.client.exists(
        f"{queue.root}worker:c"
    )
    queue.call("drain", "c", 1)  # again: no harm
    assert report(queue) == (1, [])
    queue.call("report", "c", 0)
    queue.call("drain", "c", 0)
    refused("GONE", queue.call, "drain", "c", 0)
    assert queue.client.dbsize() == 0


def test_a_worker_that_says_nothing_any_more_is_forgotten(queue):
    report(queue, ttl_ms=1)
    queue.wait_idle(5)
    refused("GONE", queue.call, "drain", "c", 1)
    queue.client.zadd(f"{queue.root}workers", {"old": 1})
    report(queue, "d")
    assert queue.ids("workers") == ["c", "d"]


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["c"],
        ["c", 1],
        ["c", 0, "host", "h"],
        ["c", 1, "host"],
        ["c", 1, "Host", "h"],
        ["c", 1, "host", "h" * 4097],
        ["a b", 1, "host", "h"],
        ["c", 1, *["host", "h"] * 33],
    ],
)
def test_reports_that_are_none_are_refused(queue, args):
    refused("BADARG", queue.call, "report", *args)
    assert queue.client.dbsize() == 0


def test_events_are_maps_of_plain_types(queue):
    queue.wait(A, begun(queue), 60000)
    (entry,) = queue.client.xrange(f"{queue.root}events:{A}", "3-0", "3-0")
    assert set(msgpack.unpackb(entry[1][b"event"])["data"]) == {"reason", "until"}
