"""Tenants side by side: windows, limits, depths, and what operators set."""

import pytest
from invariants import GROUP, WINDOW
from library import job_id, refused

A, B, C = job_id(1), job_id(2), job_id(3)


def submit_many(queue, numbers, **given):
    for number in numbers:
        queue.submit(job_id(number), **given)


def taken(queue, count=9, **given):
    return [job.id for job in queue.take_jobs(count=count, **given)]


def finish(queue, *ids):
    for id in ids:
        queue.finish(id, queue.facts(id)["epoch"])


# ---------------------------------------------------------------- fairness


def test_a_tenant_has_a_window_in_the_streams_the_rest_waits_in_its_lane(queue):
    submit_many(queue, range(100), tenant="big")
    assert queue.client.xlen(queue.work()) == WINDOW
    assert queue.lane("big") == [job_id(n) for n in range(WINDOW, 100)]
    stats = queue.stats()
    assert (stats["ready"], stats["lanes"], stats["tenants"]) == (32, 68, 1)


def test_one_that_comes_late_does_not_wait_for_all_of_another(queue):
    submit_many(queue, range(500), tenant="big")
    queue.submit(job_id(1000), tenant="small")
    first = taken(queue, count=WINDOW + 1)
    assert job_id(1000) in first


def test_three_tenants_go_in_turns(queue):
    for tenant in range(3):
        submit_many(
            queue, range(1000 * tenant, 1000 * tenant + 200), tenant=f"t{tenant}"
        )
    got = []
    while len(got) < 300:
        got += taken(queue, count=10)
    shares = [sum(1 for id in got if int(id[-12:], 16) // 1000 == t) for t in range(3)]
    assert max(shares) - min(shares) <= WINDOW, shares


def test_order_within_a_tenant_is_that_of_its_submits(queue):
    submit_many(queue, range(200), tenant="t")
    got = []
    for count in (1, 7, 40, 100, 60):
        got += taken(queue, count=count)
    assert got == [job_id(number) for number in range(200)]


def test_a_lane_of_higher_priority_is_let_in_first(queue):
    submit_many(queue, range(WINDOW))
    submit_many(queue, range(100, 120), priority="low")
    submit_many(queue, range(200, 220))
    submit_many(queue, range(300, 320), priority="high")
    got = taken(queue, count=WINDOW + 60)
    want = [*range(300, 320), *range(200, 220), *range(100, 120)]
    assert [id for id in got if id > job_id(99)] == [job_id(number) for number in want]


def test_one_that_was_cancelled_in_its_lane_is_not_counted(queue):
    """Before: it waited for every limit until it came to the head."""
    submit_many(queue, range(WINDOW + 8))
    for number in range(WINDOW, WINDOW + 6):
        assert queue.cancel(job_id(number)) == "cancelled"
    stats = queue.stats()
    assert (stats["ready"], stats["lanes"], stats["tenants"]) == (WINDOW, 2, 1)
    told = queue.call("explain", job_id(WINDOW + 7))
    told = dict(zip(told[::2], told[1::2]))
    assert (told[b"lane_place"], told[b"lane_length"]) == (2, 2)
    queue.queue_set(max_depth=WINDOW + 3, tenant_depth=WINDOW + 3)
    submit_many(queue, [100])
    refused("QUEUEFULL", queue.submit, job_id(101))
    for number in (WINDOW + 6, WINDOW + 7, 100):
        queue.cancel(job_id(number))
    assert queue.stats()["lanes"] == queue.stats()["tenants"] == 0
    assert queue.mend() == 0
    submit_many(queue, [102])
    assert taken(queue, count=99) == [job_id(n) for n in (*range(WINDOW), 102)]


def test_one_that_was_cancelled_in_its_lane_is_passed_over(queue):
    submit_many(queue, range(WINDOW + 3))
    assert queue.cancel(job_id(WINDOW + 1)) == "cancelled"
    assert queue.state(job_id(WINDOW + 1)) == "cancelled"
    got = taken(queue, count=100)
    assert got == [job_id(n) for n in range(WINDOW + 3) if n != WINDOW + 1]
    assert queue.stats()["lanes"] == 0


def test_an_element_whose_job_stands_elsewhere_is_passed_over(queue):
    """Left behind by a job that has moved on, or somebody's."""
    submit_many(queue, range(WINDOW + 3))
    (running,) = taken(queue, count=1)
    lane = f"{queue.root}lane:default/default:normal"
    for number in (1, WINDOW + 1):
        queue.client.rpush(lane, f"{WINDOW + number}:{job_id(number)}:")
    queue.client.rpush(lane, f"99:{running}:", "noise", b"\xff:\0:")
    got = taken(queue, count=99)
    assert got == [job_id(number) for number in range(1, WINDOW + 3)]
    assert queue.state(running) == "in_progress"


def test_a_lane_of_the_cancelled_does_not_hold_up_who_is_behind(queue):
    submit_many(queue, range(200))
    for number in range(WINDOW, 150):
        queue.cancel(job_id(number))
    got = taken(queue, count=WINDOW)
    for _ in range(9):
        queue.promote()
        got += taken(queue, count=100)
    assert got == [job_id(n) for n in range(200) if not WINDOW <= n < 150]


def test_what_comes_back_goes_before_what_has_not_been_out(queue):
    submit_many(queue, range(100))
    (job,) = queue.take_jobs()
    submit_many(queue, range(200, 200 + WINDOW))
    assert queue.release(job.id, job.epoch) == "queued"
    got = taken(queue, count=200)
    assert got.index(job.id) < got.index(job_id(99))


@pytest.mark.parametrize(
    "size", [100, 2000], ids=["in the lane", "with a key of its own"]
)
def test_a_body_waits_with_its_job(queue, size):
    bodies = {job_id(n): bytes([n % 256]) * size for n in range(WINDOW + 5)}
    for id, body in bodies.items():
        queue.submit(id, body)
    last = job_id(WINDOW + 4)
    assert queue.submit(last, bodies[last]) == (last, "exists")
    refused("BADARG", queue.submit, last, b"another")
    assert (queue.body(last) is None) == (size == 100)
    assert {job.id: job.body for job in queue.take_jobs(count=99)} == bodies


def test_an_id_that_is_in_the_body_waits_there(queue):
    submit_many(queue, range(WINDOW))
    bodies = {job_id(40 + n): b"x" * n + job_id(40 + n).encode() for n in range(9)}
    bodies |= {job_id(61): job_id(62).encode(), job_id(63): b"::1:"}
    for id, body in bodies.items():
        queue.submit(id, body)
    assert queue.lane() == list(bodies)
    (element,) = queue.client.lrange(f"{queue.root}lane:default/default:normal", 2, 2)
    assert element == f"3:3:xx{job_id(42)}".encode()
    assert queue.submit(job_id(42), bodies[job_id(42)])[1] == "exists"
    refused("BADARG", queue.submit, job_id(42), b"another")
    got = {job.id: job.body for job in queue.take_jobs(count=99)}
    assert {id: got[id] for id in bodies} == bodies


def test_a_job_that_fails_in_its_lane_is_kept_with_its_bytes(queue):
    submit_many(queue, range(WINDOW))
    queue.submit(A[:-1] + "f", b"kept", deadline_ms=1)
    queue.wait_idle(5)
    queue.promote()
    assert queue.state(A[:-1] + "f") == "failed"
    assert queue.body(A[:-1] + "f") == b"kept"


# ------------------------------------------------------------------ limits


def test_no_more_of_a_tenant_run_than_it_may(queue):
    queue.queue_set(tenant_running=3)
    submit_many(queue, range(10), tenant="t")
    submit_many(queue, range(20, 25), tenant="other")
    got = taken(queue, count=99)
    assert got == [job_id(n) for n in (0, 1, 2, 20, 21, 22)]
    assert taken(queue, count=99) == []
    finish(queue, job_id(1))
    assert taken(queue, count=99) == [job_id(3)]
    queue.release(job_id(0), queue.epoch(job_id(0)))
    assert taken(queue, count=99) == [job_id(0)]


def test_who_waits_for_a_session_is_one_of_the_queue(queue):
    for number in range(5):
        queue.submit(job_id(number), session=f"s{number % 2}")
    assert queue.stats()["ready"] == 2 and queue.stats()["lanes"] == 3
    refused("QUEUEFULL", queue.submit, job_id(9), max_depth=5)
    assert queue.submit(job_id(9), max_depth=6) == (job_id(9), "created")
    assert queue.call("purge", "default", 9, 1) == [6, 0]
    while queue.call("purge", "default", 2, 0)[1]:
        pass
    assert {queue.state(job_id(n)) for n in (0, 1, 2, 3, 4, 9)} == {"cancelled"}


# how a job that counts ends
LEAVES = [
    ("finish", lambda q: q.finish(A, q.epoch(A))),
    ("release and cancel", lambda q: (q.cancel(A), q.release(A, q.epoch(A)))),
    ("wait for a retry", lambda q: q.wait(A, q.epoch(A), 60000)),
    ("wait for approval", lambda q: q.wait(A, q.epoch(A), 0, "approval", 0)),
    ("lapse, out of crashes", lambda q: q.lapse(max_crashes=0)),
]


@pytest.mark.parametrize("what, leave", LEAVES, ids=[row[0] for row in LEAVES])
def test_whatever_way_a_job_leaves_the_next_of_its_tenant_may_run(queue, what, leave):
    queue.queue_set(tenant_running=1)
    queue.submit(A)
    queue.submit(B)
    queue.take_jobs(lease_ms=0)
    leave(queue)
    assert taken(queue) == [B]


def test_a_tenant_may_have_a_limit_of_its_own(queue):
    queue.queue_set(tenant_running=1)
    queue.tenant_set("big", tenant_running=2)
    submit_many(queue, range(5), tenant="big")
    submit_many(queue, range(10, 15), tenant="small")
    assert taken(queue, count=99) == [job_id(0), job_id(1), job_id(10)]
    queue.tenant_set("big", tenant_running="")
    queue.promote()
    assert taken(queue, count=99) == []
    finish(queue, job_id(0), job_id(1))
    assert taken(queue, count=99) == [job_id(2)]


def test_a_limit_that_is_raised_lets_more_in(queue):
    queue.queue_set(tenant_running=1)
    submit_many(queue, range(5))
    assert taken(queue) == [job_id(0)]
    queue.queue_set(tenant_running=4)
    queue.promote()
    assert taken(queue) == [job_id(1), job_id(2), job_id(3)]


def test_a_limit_that_is_lowered_holds_for_what_stands_in_the_streams(queue):
    submit_many(queue, range(5))
    queue.queue_set(tenant_running=2)
    assert taken(queue) == [job_id(0), job_id(1)]
    assert sorted(queue.lane()) == [job_id(2), job_id(3), job_id(4)]
    queue.finish(job_id(0), queue.epoch(job_id(0)))
    assert len(taken(queue)) == 1


def test_starts_of_a_tenant_keep_to_its_rate(queue):
    queue.queue_set(tenant_rate=3, tenant_rate_ms=60000)
    submit_many(queue, range(8), tenant="t")
    assert queue.stats()["ready"] == 3, "what stands in the streams may start"
    got = taken(queue, count=99)
    assert got == [job_id(0), job_id(1), job_id(2)], "so many at once"
    assert 0 < queue.promote()[1] <= 20000, "then evenly"
    for number in (3, 4):  # 20 s pass
        key, wakes = f"{queue.root}rate:default/t", f"{queue.root}wakes:default"
        queue.client.set(key, float(queue.client.get(key)) - 20000)
        queue.client.zincrby(wakes, -20000, "t")
        queue.promote()
        assert taken(queue, count=99) == [job_id(number)]


def test_a_rate_holds_for_what_stands_in_the_streams_when_it_is_set(queue):
    submit_many(queue, range(5))
    queue.queue_set(tenant_rate=2, tenant_rate_ms=60000)
    assert taken(queue, count=99) == [job_id(0), job_id(1)]
    assert len(queue.lane()) == 3


def test_a_rate_that_was_not_used_is_not_saved_up_beyond_its_number(queue):
    queue.queue_set(tenant_rate=2, tenant_rate_ms=50)
    queue.submit(A)
    taken(queue)
    queue.wait_idle(500)
    submit_many(queue, range(10, 20))
    assert len(taken(queue, count=99)) == 2


# ------------------------------------------------------------------- depth


def test_the_depth_counts_lanes_streams_and_what_is_scheduled(queue):
    submit_many(queue, range(WINDOW + 3))
    queue.submit(job_id(100), delay_ms=60000)
    text = refused("QUEUEFULL", queue.submit, job_id(200), max_depth=WINDOW + 4)
    assert f"{WINDOW + 4} jobs, at most {WINDOW + 4}" in text
    assert queue.submit(job_id(200), max_depth=WINDOW + 5)[1] == "created"


def test_operators_set_the_depth_and_the_lower_of_two_counts(queue):
    queue.queue_set(max_depth=2)
    queue.submit(A, max_depth=9)
    refused("QUEUEFULL", queue.submit, B, max_depth=1)
    queue.submit(B)
    refused("QUEUEFULL", queue.submit, C)
    queue.queue_set(max_depth="")
    queue.submit(C)


def test_the_depth_of_a_tenant_is_its_own(queue):
    submit_many(queue, range(3), tenant="t", tenant_depth=3)
    text = refused("QUEUEFULL", queue.submit, A[:-1] + "a", tenant="t", tenant_depth=3)
    assert "tenant t" in text
    queue.submit(job_id(10), tenant="other", tenant_depth=3)
    taken(queue, count=1)
    queue.submit(job_id(11), tenant="t", tenant_depth=3)
    queue.tenant_set("t", tenant_depth=1)
    refused("QUEUEFULL", queue.submit, job_id(12), tenant="t")


def test_those_that_wait_in_line_count_for_the_next_of_their_session(queue):
    submit_many(queue, range(3), session="s", max_depth=3)
    refused("QUEUEFULL", queue.submit, job_id(9), session="s", max_depth=3)


# ------------------------------------------------------------------- pause


def test_a_paused_queue_starts_nothing_and_takes_everything(queue):
    queue.submit(A)
    queue.queue_set(paused=1)
    queue.submit(B)
    assert taken(queue) == []
    assert queue.stats()["paused"] == 1
    queue.queue_set(paused=0)
    queue.promote()
    assert taken(queue) == [A, B]


def test_a_queue_that_was_paused_from_the_beginning_resumes(queue):
    queue.queue_set(paused=1)
    submit_many(queue, range(3))
    queue.queue_set(paused="")
    queue.promote()
    assert len(taken(queue)) == 3


def test_what_runs_in_a_paused_queue_ends_and_what_comes_back_waits(queue):
    queue.submit(A)
    queue.submit(B)
    queue.take_jobs(count=2)
    queue.queue_set(paused=1)
    queue.finish(A, queue.epoch(A))
    queue.release(B, queue.epoch(B))
    assert taken(queue) == []
    queue.queue_set(paused=0)
    queue.promote()
    assert taken(queue) == [B]


def test_an_entry_of_a_paused_queue_goes_before_the_others_of_its_lane(queue):
    for id in (A, B):
        queue.submit(id)
    entries = queue.take("c", 2)
    queue.queue_set(paused=1)
    queue.submit(C)
    assert [queue.start(entry).reason for entry in reversed(entries)] == ["paused"] * 2
    assert queue.lane() == [A, B, C]
    queue.queue_set(paused=0)
    queue.promote()
    assert taken(queue) == [A, B, C]


def test_control_is_told(queue):
    with queue.client.pubsub() as reader:
        reader.subscribe(f"{queue.root}control")
        reader.get_message(timeout=30)
        queue.queue_set("q", paused=1)
        queue.queue_set("q", paused="")
        heard = [reader.get_message(timeout=30)["data"] for _ in range(2)]
    assert heard == [b"pause q", b"resume q"]


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["q"],
        ["q", "paused"],
        ["q", "paused", "2"],
        ["q", "paused:t", "1"],
        ["q", "max_depth:t", "1"],
        ["q", "max_depth", "-1"],
        ["q", "max_depth", "x"],
        ["q", "tenant_running:a\nb", "1"],
        ["q", "colour", "1"],
        ["a b", "paused", "1"],
        ["q", "paused", "1", "colour", "2"],
    ],
)
def test_settings_that_are_none_are_refused_and_none_is_set(queue, args):
    refused("BADARG", queue.call, "queue_set", *args)
    assert queue.client.dbsize() == 0


# ------------------------------------------------------------ purge, stats


def test_a_purge_cancels_what_waits_and_nothing_else(queue):
    submit_many(queue, range(3), tenant="runs")
    running = taken(queue)
    for tenant in "abc":
        start = 1000 * (1 + ord(tenant) - ord("a"))
        submit_many(queue, range(start, start + 50), tenant=tenant)
    submit_many(queue, range(50, 60), delay_ms=60000)
    submit_many(queue, range(60, 70), session="s")
    queue.submit(job_id(99), queue="other")
    assert queue.purge(dry=1) == (150 + 10 + 10, False)
    steps, purged = 0, 0
    while True:
        jobs, more = queue.purge(count=20)
        steps, purged = steps + 1, purged + jobs
        if not more:
            break
    assert purged == 150 + 10 + 10 and steps <= 20
    assert queue.purge() == (0, False)
    assert [queue.state(id) for id in running] == ["in_progress"] * 3
    assert queue.state(job_id(99)) == "queued"
    assert queue.result(job_id(50))["notes"] == "cancelled: purged"


def test_a_purge_leaves_what_runs_though_its_entry_comes_again(queue):
    queue.submit(A)
    taken(queue)
    queue.client.xgroup_destroy(queue.work(), GROUP)
    queue.reclaim()
    assert queue.purge() == (0, False)
    assert queue.state(A) == "in_progress"
    assert taken(queue) == []


def test_figures_of_a_queue(queue):
    assert queue.stats("unknown") == dict.fromkeys(queue.stats("unknown"), 0)
    submit_many(queue, range(40), tenant="t")
    queue.submit(job_id(50), delay_ms=60000)
    queue.wait_idle(3)
    job, *_ = queue.take_jobs(count=10)
    queue.finish(job.id, queue.epoch(job.id), "failed")
    stats = queue.stats()
    oldest = stats.pop("oldest_ms")
    assert oldest >= 3 and stats.pop("waits_ms") == oldest
    assert stats == {
        "paused": 0,
        "ready": 22,
        "running": 9,
        "lanes": 8,
        "tenants": 1,
        "scheduled": 1,
        "dead": 1,
        "budget": 0,
        "endpoint": 0,
    }
    for args in ([], ["a b"]):
        refused("BADARG", queue.call, "stats", *args)
