"""Many jobs in one step: which ones, in what order, and when it is sent again."""

import time

import pytest
from invariants import GROUP
from library import job_id, pack, refused

A, B, C, D = (job_id(number) for number in range(1, 5))


def taken(queue, **given):
    return [job.id for job in queue.take_jobs(**{"count": 9, **given})]


# ------------------------------------------------------------------- which


def test_never_more_than_were_asked_for(queue):
    for number in range(70):
        queue.submit(job_id(number))
    for count in (1, 16, 17, 30):
        assert len(taken(queue, count=count)) == count
    assert len(taken(queue, count=512)) == 6
    assert taken(queue, count=512) == []


def test_what_it_answers_is_what_start_answers(queue):
    queue.submit(A, b"body", deadline_ms=60000)
    (job,) = queue.take_jobs()
    assert (job.run, job.id, job.attempt, job.crashes) == (True, A, 1, 0)
    assert job.epoch == job.now
    assert (job.body, job.journal, job.errors, job.approval) == (b"body", [], 0, "")
    assert job.deadline_at == job.submitted_at + 60000
    assert queue.types(A) == ["job.queued", "job.started"]


def test_those_of_one_queue_come_in_the_order_of_their_submits(queue):
    for number in range(100):
        queue.submit(job_id(number))
    got = taken(queue, count=40) + taken(queue, count=100)
    assert got == [job_id(number) for number in range(100)]


def test_a_journal_comes_with_the_job(queue):
    queue.submit(A)
    (job,) = queue.take_jobs()
    queue.journal(A, job.epoch, 0, b"r0")
    queue.release(A, job.epoch)
    assert queue.take_jobs()[0].journal == [b"r0"]


def test_a_take_ends_after_a_megabyte(queue):
    for number in range(40):
        queue.submit(job_id(number), b"x" * 256 * 1024)
    assert len(taken(queue, count=40)) == 16


# ------------------------------------------------------------------- order

# A job of normal priority counts as 60 s younger than it is, of low as 600 s:
# who goes first, (priority, seconds that it has waited)
ORDER = [
    ("high before normal", ("high", 0), ("normal", 0)),
    ("normal before low", ("normal", 0), ("low", 0)),
    ("normal that has waited a minute longer before high", ("normal", 61), ("high", 0)),
    ("high before normal that has waited less", ("high", 0), ("normal", 59)),
    ("low that has waited ten minutes before high", ("low", 601), ("high", 0)),
    ("normal before low that has waited eight minutes", ("normal", 0), ("low", 480)),
    ("the older of two that are normal", ("normal", 5), ("normal", 1)),
]


@pytest.mark.parametrize("what, first, second", ORDER, ids=[row[0] for row in ORDER])
@pytest.mark.parametrize("queues", [("a", "a"), ("a", "b")], ids=["one queue", "two"])
def test_who_goes_first(queue, what, first, second, queues):
    now = int(queue.client.time()[0]) * 1000
    rows = [(first, A, queues[0]), (second, B, queues[1])]
    for (priority, _), id, name in rows:
        queue.submit(id, priority=priority, queue=name)
    queue.client.delete(*queue.keys("work"))  # and made again, as old as that
    for (priority, waited), id, name in sorted(rows, key=lambda row: -row[0][1]):
        entry = f"{now - waited * 1000}-1"
        queue.client.xadd(queue.work(name, priority), {"id": id}, id=entry)
        queue.client.hset(f"{queue.root}job:{id}", "entry", entry)
    assert taken(queue, count=1, queues=("b", "a")) == [A]
    assert taken(queue, count=1, queues=("b", "a")) == [B]


def test_one_of_another_stream_goes_between_two_of_the_same(queue):
    now = int(queue.client.time()[0]) * 1000
    rows = [(A, "high", 5), (B, "normal", 62), (C, "high", 0)]
    for id, priority, _ in rows:
        queue.submit(id, priority=priority)
    queue.client.delete(*queue.keys("work"))  # and made again, as old as that
    for id, priority, waited in rows:
        entry = f"{now - waited * 1000}-1"
        queue.client.xadd(queue.work("default", priority), {"id": id}, id=entry)
        queue.client.hset(f"{queue.root}job:{id}", "entry", entry)
    assert taken(queue, count=3) == [A, B, C]


def test_of_several_priorities_the_batch_is_in_order(queue):
    for number in range(30):
        queue.submit(job_id(number), priority=("low", "high", "normal")[number % 3])
    got = taken(queue, count=30)
    by_priority = [[job_id(n) for n in range(30) if n % 3 == k] for k in (1, 2, 0)]
    assert got == [id for ids in by_priority for id in ids]


def test_each_is_told_when_it_was_submitted(queue):
    for number in range(50):
        queue.submit(job_id(number), queue=f"q{number % 2}")
        time.sleep(0.0005)
    for job in queue.take_jobs(count=50, queues=("q0", "q1")):
        first, second = queue.events(job.id)
        assert (first["at"], second["at"]) == (job.submitted_at, job.now)
        assert first["data"] == {"queue": queue.facts(job.id)["queue"]}


# ----------------------------------------------------- straight from the lanes


def fill(queue, start, count, **pairs):
    """Beyond what the streams hold: the rest of them stand in the lane."""
    for number in range(start, start + count):
        queue.submit(job_id(number), b"body of %d" % number, **pairs)


def test_what_starts_from_a_lane_has_no_entry_and_one_is_left_to_wake(queue):
    fill(queue, 0, 100)
    assert taken(queue, count=90) == [job_id(number) for number in range(90)]
    assert queue.client.xlen(queue.work()) == 1
    assert queue.stats()["ready"] == 1 and queue.stats()["running"] == 90
    assert [queue.facts(job_id(90))["entry"]] == [
        entry.decode() for entry in queue.take("blocked")
    ]
    assert queue.take("other") == []


def test_a_lane_whose_entry_went_with_its_reader_is_looked_at_again(queue):
    fill(queue, 0, 100)
    taken(queue, count=40)
    assert len(queue.take("dies")) == 1
    assert 0 < queue.promote()[1] <= 1000
    queue.come_due()
    queue.client.delete(f"{queue.root}leases:default")  # nobody else has died
    queue.promote()
    assert len(queue.take("lives", 99)) == 31
    queue.mend()


def test_one_that_started_from_a_lane_is_found_when_its_consumer_dies(queue):
    fill(queue, 0, 50)
    job = queue.take_jobs("dies", 50, lease_ms=1)[-1]
    assert (job.id, job.body) == (job_id(49), b"body of 49")
    queue.journal(job.id, job.epoch, 0, b"r0")
    queue.wait_idle(3)
    assert queue.lapse() == (50, False)
    again = {job.id: job for job in queue.take_jobs("lives", 50)}[job_id(49)]
    assert (again.body, again.journal, again.crashes) == (b"body of 49", [b"r0"], 1)


def test_high_priority_in_a_lane_goes_before_low_in_the_streams(queue):
    fill(queue, 0, 50, tenant="a", priority="high")
    fill(queue, 100, 50, tenant="b", priority="low")
    assert taken(queue, count=60) == [
        job_id(number) for number in [*range(50), *range(100, 110)]
    ]


def test_lanes_of_several_tenants_take_turns(queue):
    for tenant in range(3):
        fill(queue, 100 * tenant, 60, tenant=f"t{tenant}")
    taken(queue, count=96)
    got = [int(id[-12:], 16) // 100 for id in taken(queue, count=30)]
    assert sorted(got) == [0] * 10 + [1] * 10 + [2] * 10


# why one that stands in a lane does not start when its turn has come
ENDS_IN_LANE = [
    ("cancelled", {"cancel": 1}, "cancelled"),
    ("its deadline has passed", {"deadline_at": 1}, "failed"),
    ("it has killed too many", {"crashes": 9}, "failed"),
]


@pytest.mark.parametrize(
    "what, facts, state", ENDS_IN_LANE, ids=[r[0] for r in ENDS_IN_LANE]
)
def test_one_that_ends_in_its_lane_holds_up_nobody(queue, what, facts, state):
    fill(queue, 0, 40)
    queue.client.hset(f"{queue.root}job:{job_id(35)}", mapping=facts)
    assert len(taken(queue, count=40)) == 39
    assert queue.state(job_id(35)) == state


# ------------------------------------------------- entries of blocking reads


def test_an_entry_that_a_read_has_brought_is_answered_first(queue):
    for id in (A, B, C):
        queue.submit(id)
    (entry,) = queue.take("c")
    assert taken(queue, entries=[entry]) == [A, B, C]


def test_entries_count_among_those_asked_for(queue):
    for id in (A, B, C):
        queue.submit(id)
    entries = queue.take("c", 2)
    assert taken(queue, entries=entries, count=2) == [A, B]
    refused("BADARG", queue.take_jobs, entries=entries, count=1)


# what has become of the entry before, what take says of it
NOT_STARTED = [
    ("somebody deleted it", lambda q, e: q.client.xdel(q.work(), e), "gone"),
    ("its job was cancelled", lambda q, e: q.cancel(A), "taken"),
    (
        "another consumer claimed it",
        lambda q, e: q.client.xclaim(q.work(), GROUP, "other", 0, [e]),
        "taken",
    ),
    ("its job runs", lambda q, e: q.start(e), "taken"),
    ("its queue is paused", lambda q, e: q.queue_set(paused=1), "paused"),
]


@pytest.mark.parametrize("what, do, why", NOT_STARTED, ids=[r[0] for r in NOT_STARTED])
def test_an_entry_that_does_not_become_a_job(queue, what, do, why):
    queue.submit(A)
    (entry,) = queue.take("c")
    do(queue, entry)
    answers = queue.take_jobs(entries=[entry], count=3)
    assert [(answer.run, answer.reason) for answer in answers] == [(False, why)]
    queue.queue_set(paused=0)
    queue.mend()


# --------------------------------------------------------------- sent again


def test_the_same_ticket_again_is_the_same_answer(queue):
    for number in range(5):
        queue.submit(job_id(number))
    first = queue.take_jobs(count=3, ticket=7)
    again = queue.take_jobs(count=3, ticket=7)
    assert [(job.id, job.epoch) for job in again] == [(j.id, j.epoch) for j in first]
    assert [job.body for job in again] == [b"\x80"] * 3
    assert len(taken(queue, count=9, ticket=8)) == 2
    assert queue.types(first[0].id) == ["job.queued", "job.started"]


def test_the_same_ticket_with_entries_answers_in_their_order(queue):
    for id in (A, B, C, D):
        queue.submit(id)
    entries = queue.take("c", 2)
    queue.cancel(A)
    for _ in range(2):
        answers = queue.take_jobs(count=3, ticket=7, entries=entries)
        assert [job.run for job in answers] == [False, True, True, True][: len(answers)]
        assert [job.id for job in answers if job.run] == [B, C, D]


def test_what_has_left_its_hands_since_does_not_come_again(queue):
    for id in (A, B, C):
        queue.submit(id)
    jobs = queue.take_jobs(count=3, ticket=7)
    queue.finish(A, jobs[0].epoch)
    queue.release(B, jobs[1].epoch)
    assert taken(queue, ticket=7) == [C]
    assert taken(queue, ticket=7, consumer="other") == [B], "a ticket of another"
    assert taken(queue, ticket=7) == [C], "not what another has"


# ------------------------------------------------------------------ garbage


def test_garbage_in_the_stream_does_not_end_a_take(queue):
    for number in range(20):
        queue.client.xadd(queue.work(), {"x": "y", "id": f"nonsense-{number}"})
    queue.submit(A)
    assert taken(queue, count=2) == [A]
    assert len(queue.dead()) == 20


def test_a_take_looks_at_512_entries_at_most(queue):
    queue.submit(B)
    queue.cancel(B)
    for number in range(600):
        queue.client.xadd(queue.work(), {"id": B})
    queue.submit(A)
    assert taken(queue, count=1) == []
    assert taken(queue, count=1) == [A]


def test_a_stream_that_is_none_and_a_group_that_is_gone_heal(queue):
    queue.submit(A)
    queue.client.xgroup_destroy(queue.work(), GROUP)
    assert taken(queue) == [A]
    queue.finish(A, queue.epoch(A))
    queue.client.set(queue.work(priority="high"), "not a stream")
    queue.submit(B, priority="high")
    assert taken(queue) == [B]


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["c"],
        ["c", 1, 1],
        ["c", 1, 1, 0],
        ["c", 1, 1, 513],
        ["c", 1, 1, 1, "queue"],
        ["c", 1, 1, 1, "queue", "a b"],
        ["c", 1, 1, 1, "entry", "quern:{000}:work:a:normal"],
        ["c", 1, 1, 1, "entry", "quern:{000}:job:x", "1-0"],
        ["c", 1, 1, 1, "ticket", "x"],
        ["c", 1, 1, 1, "later", "1"],
        ["a b", 1, 1, 1],
        ["c", "x", 1, 1],
        ["c" * 129, 1, 1, 1],
    ],
)
def test_bad_arguments_are_refused(queue, args):
    queue.submit(A)
    refused("BADARG", queue.call, "take", *args)
    assert queue.state(A) == "queued"


def test_poison_is_quarantined_before_its_body_is_given(queue):
    queue.submit(A, b"poison")
    for crash in range(3):
        assert queue.take_jobs(f"victim-{crash}", lease_ms=0)[0].crashes == crash
        queue.lapse()
    assert queue.state(A) == "failed"
    assert queue.take_jobs() == []
    queue.submit(B, b"poison")
    queue.take_jobs("victim", lease_ms=0)
    queue.lapse(max_crashes=9)
    assert queue.take_jobs(max_crashes=0) == []
    assert queue.facts(B)["error_code"] == "crashed"


def test_events_of_a_started_job_are_contiguous_for_a_late_reader(queue):
    queue.submit(A)
    (job,) = queue.take_jobs()
    queue.event(A, job.epoch, "message.delta", pack(text="x"))
    queue.finish(A, job.epoch)
    assert [event["seq"] for event in queue.events(A)] == [1, 2, 3, 4]
    assert queue.events(A)[0]["at"] == job.submitted_at
