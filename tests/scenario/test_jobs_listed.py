"""Jobs are listed by where they stand, those that have ended too; one is
explained; figures are kept of every minute; old jobs are removed."""

import json
import re
import time

import pytest
from library import Library, job_id, pack, refused

A, B, C, D = (job_id(number) for number in range(1, 5))

pytestmark = pytest.mark.usefixtures("ends")


@pytest.fixture
def jobs(redis):
    return Library(redis).load()


def walk(jobs, count=50, **filters):
    """(id, state, place) of all that the walk tells, piece by piece."""
    args = [part for pair in filters.items() for part in pair]
    cursor, rows = b"", []
    for _ in range(10000):
        cursor, told, *_ = jobs.call("jobs", cursor, count, *args)
        assert len(told) <= max(count, 50)
        rows += told
        if cursor == b"":
            return [tuple(word.decode() for word in row[:3]) for row in rows]
    raise AssertionError("the walk does not end")


def ids(rows):
    return [row[0] for row in rows]


def run(jobs, id, state="completed", code="", tokens=0, cost=0, **pairs):
    """A job that has ended."""
    jobs.submit(id, pack(v=1, id=id), **pairs)
    queue = pairs.get("queue", "default")
    (job,) = jobs.take_jobs(queues=[queue])
    jobs.call(
        "finish", id, job.epoch, state, b"\x80", b"", code, 0, 0, tokens, cost
    )


def stand_everywhere(jobs):
    """One job at each place, two where they may be many; by place."""
    placed = {}
    for number in range(34):  # two more than stand in the streams
        jobs.submit(job_id(number), tenant="many", priority="low")
    placed["lane"] = {job_id(32), job_id(33)}
    jobs.submit(job_id(50), session="s", queue="q2")
    jobs.submit(job_id(51), session="s", queue="q2")
    placed["behind"] = {job_id(51)}
    jobs.submit(job_id(52), delay_ms=60000)
    jobs.submit(job_id(53), queue="q2", delay_ms=60000)
    placed["later"] = {job_id(52), job_id(53)}
    jobs.submit(job_id(54), queue="q3")
    jobs.take_jobs("worker", queues=["q3"])
    placed["running"] = {job_id(54)}
    run(jobs, job_id(55), queue="q3")
    run(jobs, job_id(56), "failed", "oops", queue="q3")
    placed["ended"] = {job_id(55), job_id(56)}
    placed["stream"] = {job_id(number) for number in range(32)} | {job_id(50)}
    return placed


ROMAN = {"team": "Straße", "order": "7", "n": 3, "long": "x" * 300, "last": "a\tb=c", "wide": "é" * 70}


def test_jobs_are_found_by_their_model_and_metadata(jobs, quern):
    placed = [
        {"delay_ms": 60000},
        {"session": "s"},
        {"session": "s"},  # behind it
        {"queue": "q3"},  # runs
        *[{"queue": "q4", "priority": "low", "tenant": "many"}] * 34,  # the last in a lane
    ]
    for number, pairs in enumerate(placed):
        id = job_id(number)
        said = {"model": "m1", "metadata": ROMAN} if number % 2 else {"metadata": {"order": "8"}}
        jobs.submit(id, pack(v=1, id=id, **said), **pairs)
    jobs.take_jobs(queues=["q3"])
    odd = {job_id(number) for number in range(1, len(placed), 2)}
    even = {job_id(number) for number in range(0, len(placed), 2)}
    for id in map(job_id, (60, 61)):
        run_as(jobs, id, "q5", model="m1", metadata=ROMAN)
    ended = {job_id(60), job_id(61)}
    for found in ({"model": "m1"}, {"metadata": "team=Straße"}, {"metadata": "last=a\tb=c"}, {"metadata": "wide=" + "é" * 70}):
        assert set(ids(walk(jobs, **found))) == odd | ended, found
    assert set(ids(walk(jobs, model="m1", metadata="order=7", state="completed"))) == ended
    assert set(ids(walk(jobs, metadata="order=8"))) == even
    rows = quern.json("job", "ls", "--model", "m1", "--metadata", "team=Straße")
    assert {row["id"] for row in rows} == odd | ended
    for found in ({"model": "m"}, {"model": "order=7"}, {"metadata": "order="}, {"metadata": "n=3"}):
        assert walk(jobs, **found) == [], found
    facts = jobs.client.hgetall(f"{jobs.root}job:{job_id(1)}")
    assert all(len(value) <= 64 for value in facts.values()), facts
    assert walk(jobs, metadata="long=" + "x" * 300) == []  # longer than is kept
    assert "'order' is not key=value" in refused("BADARG", walk, jobs, metadata="order")


def run_as(jobs, id, queue, **said):
    jobs.submit(id, pack(v=1, id=id, **said), queue=queue)
    (job,) = jobs.take_jobs(queues=[queue])
    jobs.call("finish", id, job.epoch, "completed", b"\x80", b"", "", 0, 0, 1, 2)


def test_the_jobs_of_one_call_share_the_time_of_the_search(jobs):
    """Those behind the bound are found by all but their model and metadata."""
    many = [pack(v=1, id=job_id(n), model="m", prompt="x", extra=[0] * 13000) for n in range(20)]
    pairs = [part for n, job in enumerate(many) for part in ("id", job_id(n), "job", job)]
    assert {answer[1] for answer in jobs.call("submit_many", *pairs)} == {b"created"}
    found = ids(walk(jobs, model="m"))
    assert sorted(found) == [job_id(n) for n in range(8)] and len(walk(jobs)) == 20
    jobs.submit(job_id(30), pack(v=1, id=job_id(30), model="m"))
    assert len(walk(jobs, model="m")) == 9


def test_no_fact_adds_a_line_to_the_index(jobs):
    jobs.submit(A, pack(v=1, id=A, metadata={"a": "b"}))
    jobs.client.hset(f"{jobs.root}job:{A}", "found_by", "x\n" + B + "\tc\t\tevil\n")
    jobs.call("cancel", A, "")
    assert ids(walk(jobs)) == [A] and jobs.client.get(jobs.root + "ended").count(b"\n") == 1


def test_lines_of_before_are_listed_with_those_of_now(jobs, redis):
    """An index that an older library has written has no columns for model and metadata."""
    run(jobs, A)
    run_as(jobs, B, "default", metadata={"a": "b"})
    key = next(key for key in redis.scan_iter("*:ended"))
    first, second = redis.get(key).split(b"\n")[:2]
    assert len(first.split(b"\t")) == 13 and second.split(b"\t")[13:] == [b"", b"a=b", b""]
    assert ids(walk(jobs)) == [B, A]
    assert ids(walk(jobs, metadata="a=b")) == [B]


@pytest.mark.parametrize("metadata", [{1: "x"}, {"a": 1, 2: "b"}, [1], 5, {b"k": "x"}, {"": ""}, {str(n): "" for n in range(300)}])
def test_metadata_that_is_wrong_stands_in_no_way(jobs, metadata):
    jobs.submit(A, pack(v=1, id=A, metadata=metadata))
    assert ids(walk(jobs)) == [A]
    assert jobs.call("cancel", A, "") == b"cancelled"
    assert ids(walk(jobs)) == [A]


@pytest.mark.parametrize("count", [1, 2, 7, 500])
def test_every_job_is_told_once_where_it_stands(jobs, count):
    placed = stand_everywhere(jobs)
    rows = walk(jobs, count)
    assert len(rows) == len(set(ids(rows))) == sum(map(len, placed.values()))
    for place, members in placed.items():
        assert {row[0] for row in rows if row[2] == place} == members, place
    order = list(dict.fromkeys(row[2] for row in rows))
    assert order == ["running", "stream", "lane", "behind", "later", "ended"]


FILTERS = [
    ({"state": "in_progress"}, {54}),
    ({"state": "failed"}, {56}),
    ({"state": "completed failed"}, {55, 56}),
    ({"state": "scheduled"}, {52, 53}),
    ({"state": "scheduled", "queue": "q2"}, {53}),
    ({"queue": "q3"}, {54, 55, 56}),
    ({"session": "s"}, {50, 51}),
    ({"worker": "worker"}, {54}),
    ({"worker": "c"}, {55, 56}),
    ({"error_code": "oops"}, {56}),
    ({"reason": "schedule"}, {52, 53}),
    ({"tenant": "many", "state": "queued"}, set(range(34))),
    ({"tenant": "nobody"}, set()),
    ({"since": 2**48}, set()),
    ({"until": 1}, set()),
]


@pytest.mark.parametrize("filters, numbers", FILTERS)
@pytest.mark.parametrize("count", [2, 500])
def test_filters(jobs, filters, numbers, count):
    stand_everywhere(jobs)
    rows = walk(jobs, count, **filters)
    assert sorted(ids(rows)) == sorted(job_id(number) for number in numbers)


@pytest.mark.parametrize("tenant", [{}, {"tenant": "many"}])
@pytest.mark.parametrize("count", [1, 500])
def test_a_session_whose_jobs_stand_in_lane_and_line(jobs, count, tenant):
    """Found by its line: the lane of its tenant is not searched for it."""
    for number in range(40):
        jobs.submit(job_id(number), tenant="many", priority="low")
    for number in range(50, 54):
        jobs.submit(job_id(number), tenant="many", session="s", priority="low")
    jobs.submit(job_id(54), tenant="many", session="s", queue="q2")
    jobs.submit(job_id(55), tenant="many", session="other")
    rows = walk(jobs, count, session="s", **tenant)
    places = ["lane", "behind", "behind", "behind", "behind"]
    assert [row[2] for row in rows] == places
    assert rows[0][0] == job_id(50)
    assert sorted(ids(rows)) == [job_id(number) for number in range(50, 55)]
    told = jobs.call("jobs", b"", 50, "session", "s", *sum(tenant.items(), ()))[1]
    assert {row[17] for row in told} <= {0}, "nothing is due"


def test_what_ended_last_comes_first(jobs):
    for number in range(20):
        run(jobs, job_id(number))
    assert ids(walk(jobs, 3)) == [job_id(number) for number in reversed(range(20))]


def test_whoever_ends_a_job_it_is_told(jobs):
    """Also those that no consumer has ended."""
    jobs.submit(A)
    jobs.cancel(A, "no")
    jobs.submit(B)
    jobs.overdue(B)
    jobs.promote()
    jobs.submit(C)
    jobs.take_jobs(lease_ms=1)
    time.sleep(0.01)
    jobs.lapse(max_crashes=0)
    states = {row[0]: row[1] for row in walk(jobs)}
    assert states == {A: "cancelled", B: "failed", C: "failed"}
    (row,) = jobs.call("jobs", b"", 9, "error_code", "crashed")[1]
    assert row[0] == C.encode() and row[6] == b"c"


def test_a_job_that_runs_again_has_not_ended(jobs):
    run(jobs, A, "failed", "oops")
    assert jobs.requeue(A) == "queued"
    assert [row[1:] for row in walk(jobs)] == [("queued", "stream")]
    (job,) = jobs.take_jobs()
    jobs.finish(A, job.epoch)
    assert [row[1:] for row in walk(jobs)] == [("completed", "ended")]


def test_the_index_is_bounded_and_goes_on(jobs, quern):
    """Its older half is replaced when the newer one is full."""
    run(jobs, A)
    ended = jobs.root + "ended"
    jobs.client.setrange(ended, 5 << 20, "\n")  # somebody's, to be passed over
    run(jobs, B)
    assert not jobs.client.exists(ended)
    assert 0 < jobs.client.pttl(ended + ":before") <= 8 * 86400000
    run(jobs, C)
    assert ids(walk(jobs, 1)) == [C, B, A]
    assert [row["id"] for row in quern.json("job", "ls")] == [C, B, A]


def test_what_the_index_has_lost_is_told(jobs):
    """Since when ended jobs are listed, at the end of the walk, and when that leaves any out."""
    run(jobs, A)
    assert len(jobs.call("jobs", b"", 9)) == 2, "nothing is lost"
    jobs.client.rename(jobs.root + "ended", jobs.root + "ended:before")
    run(jobs, B)
    cursor, rows = jobs.call("jobs", b"", 1)
    assert cursor != b"" and len(rows) == 1
    (_, (row,), since) = jobs.call("jobs", cursor, 9)
    assert row[0].decode() == A and row[13] == since
    assert jobs.call("jobs", b"", 9, "since", since - 1)[2] == since
    assert len(jobs.call("jobs", b"", 9, "since", since)) == 2
    assert len(jobs.call("jobs", b"", 9, "state", "queued")) == 2


def test_a_walk_goes_on_when_the_index_has_been_turned_over(jobs):
    for number in range(6):
        run(jobs, job_id(number))
    cursor, rows = jobs.call("jobs", b"", 2)
    jobs.client.rename(jobs.root + "ended", jobs.root + "ended:before")
    run(jobs, job_id(9))
    found = [row[0].decode() for row in rows]
    while cursor != b"":
        cursor, rows, *_ = jobs.call("jobs", cursor, 2)
        found += [row[0].decode() for row in rows]
    assert found == [job_id(number) for number in reversed(range(6))]


BAD = [
    ([b"x", 9], "a cursor"),
    ([b"", 0], "a count of 1 to 500"),
    ([b"", 501], "a count of 1 to 500"),
    ([b"", 9, "color", "red"], "no filter 'color'"),
    ([b"", 9, "state", "done"], "state 'done'"),
    ([b"", 9, "since", "now"], "since 'now'"),
    ([b"\x81\xa5place\xa1x", 9], "a cursor"),
]


@pytest.mark.parametrize("args, said", BAD)
def test_what_is_no_walk_is_refused(jobs, args, said):
    assert said in refused("BADARG", jobs.call, "jobs", *args)


# --- the command -----------------------------------------------------------------


def test_the_list(quern, jobs):
    stand_everywhere(jobs)
    lines = quern("job", "ls", "--limit", "3").splitlines()
    assert lines[0].split() == (
        "ID STATE QUEUE TENANT SESSION AGE RAN WORKER ERROR".split()
    )
    assert lines[1].split()[:3] == [job_id(54), "in_progress", "q3"]
    assert len(lines) == 4
    rows = quern.json("job", "ls", "--state", "ended", "--sort", "age")
    assert [row["id"] for row in rows] == [job_id(55), job_id(56)]
    assert rows[1]["error_code"] == "oops" and rows[1]["worker"] == "c"
    everything = quern.json("job", "ls", "--limit", "1000")
    parts = [
        row["id"]
        for skip in range(0, 60, 15)
        for row in quern.json("job", "ls", "--limit", "15", "--skip", str(skip))
    ]
    assert parts == [row["id"] for row in everything]
    assert "no such job" in quern.run("job", "ls", "--tenant", "nobody")[1]
    assert '"done" is none of' in quern("job", "ls", "--state", "done", code=65)


def test_sorted_by_what_it_took(quern, jobs):
    for number, tokens in enumerate((5, 500, 50)):
        run(jobs, job_id(number), tokens=tokens, cost=1000 - tokens)
    by = {
        word: [row["id"] for row in quern.json("job", "ls", "--sort", word)]
        for word in ("tokens", "cost")
    }
    assert by["tokens"] == [job_id(1), job_id(2), job_id(0)]
    assert by["cost"] == [job_id(0), job_id(2), job_id(1)]


def test_sorted_by_how_long_it_ran(quern, jobs):
    for number, ran_ms in enumerate((1, 60, 20)):
        id = job_id(number)
        jobs.submit(id)
        (job,) = jobs.take_jobs()
        time.sleep(ran_ms / 1000)
        jobs.finish(id, job.epoch)
    rows = quern.json("job", "ls", "--sort", "runtime")
    assert [row["id"] for row in rows] == [job_id(1), job_id(2), job_id(0)]
    assert rows[0]["runtime_ms"] >= 60


def test_what_waits_for_an_approval_is_listed(quern, jobs):
    assert "no job waits for an approval" in quern.run("approve")[1]
    for id in (A, B):
        jobs.submit(id)
    (job,) = jobs.take_jobs()
    jobs.wait(A, job.epoch, 60000, "approval", 0, b"", "1.0")
    (row,) = quern.json("approve")
    assert (row["id"], row["call"], row["reason"]) == (A, "1.0", "approval")
    assert quern("approve").split()[6:8] == [A, "1.0"]
    assert "ID is missing" in quern("approve", "--reject", code=64)


# Every row: what is done, of which job, and what is said of it.


def paused(jobs):
    jobs.submit(A)
    jobs.queue_set(paused=1)
    return "queue default is paused"


def not_served(jobs):
    jobs.submit(A)
    return "no consumer serves queue default"


def away(jobs):
    jobs.submit(A)
    about = ("queues", "default", "mode", "serving", "executor_away", "absent")
    jobs.call("report", "w", 60000, *about)
    return "of its consumers 1 cannot reach its executor: quern worker ls"


def leaving(jobs):
    jobs.submit(A)
    jobs.call("report", "w", 60000, "queues", "default", "mode", "draining")
    jobs.call("report", "v", 60000, "queues", "default", "mode", "serving")
    jobs.call("drain", "v", 1)
    return "of its consumers 2 take no more jobs: quern worker ls"


def next_one(jobs):
    jobs.submit(A)
    jobs.call("report", "w", 60000, "queues", "default", "mode", "serving")
    return "it may start as soon as a consumer has room; it is the next of its"


def behind_one(jobs):
    jobs.submit(B)
    jobs.submit(A)
    jobs.call("report", "w", 60000, "queues", "default", "mode", "serving")
    return "it may start as soon as a consumer has room; 1 job is before it"


def in_a_lane(jobs):
    for number in range(100, 133):
        jobs.submit(job_id(number), tenant="t")
    jobs.submit(A, tenant="t")
    return "place 2 of 2 in the lane of tenant t"


def limited(jobs):
    jobs.tenant_set("t", tenant_running=1)
    jobs.submit(B, tenant="t")
    jobs.submit(A, tenant="t")
    jobs.take_jobs()
    return "tenant t runs 1 of 1 jobs at once"


def rated(jobs):
    jobs.tenant_set("t", tenant_rate=1, tenant_rate_ms=60000)
    jobs.submit(B, tenant="t")
    jobs.submit(A, tenant="t")
    jobs.take_jobs()
    return "the rate of tenant t lets the next job start at 2"


def in_line(jobs):
    jobs.submit(B, session="s")
    jobs.submit(A, session="s")
    return f"it waits for its session s behind job {B} (queued)"


def later(jobs):
    jobs.submit(A, delay_ms=90000)
    return "it does not start before 2"


def hold(jobs, reason, **data):
    jobs.submit(A)
    (job,) = jobs.take_jobs()
    if data:
        jobs.event(A, job.epoch, "job.retrying", pack(**data))
    jobs.wait(A, job.epoch, 90000, reason, 1)


def backing_off(jobs):
    error = {"kind": "retry", "code": "x", "message": "the model sleeps"}
    hold(jobs, "backoff", error=error)
    return "the model sleeps"


def endpoint(jobs):
    hold(jobs, "endpoint")
    return "its model endpoint is left alone until 2"


def endpoint_named(jobs):
    error = {"kind": "retry", "code": "x", "message": "model gpt: it is left alone"}
    hold(jobs, "endpoint", error=error)
    return "; model gpt: it is left alone"


def budget(jobs):
    hold(jobs, "budget")
    return "the budget of tenant default is used up"


def approval(jobs):
    jobs.submit(A)
    (job,) = jobs.take_jobs()
    jobs.wait(A, job.epoch, 60000, "approval", 0, b"", "1.2", "skip")
    return "it waits for approval of call 1.2"


def held(jobs):
    jobs.submit(A)
    jobs.take_jobs("host:7")
    return "worker host:7 holds it since 2"


def leased(jobs):
    jobs.submit(A)
    jobs.take_jobs("host:7")
    return "; its lease ends at 2"


def lapsed(jobs):
    jobs.submit(A)
    jobs.take_jobs(lease_ms=1)
    time.sleep(0.01)
    return "its lease has ended, and nobody takes it over; no consumer serves"


def ended(jobs):
    run(jobs, A, "failed", "oops")
    return "it ended (failed) at 2"


WHY = (
    paused, not_served, away, leaving, next_one, behind_one, in_a_lane, limited, rated, in_line, later, backing_off,
    endpoint, endpoint_named, budget, approval, held, leased, lapsed, ended,
)  # fmt: skip


@pytest.mark.parametrize("case", WHY, ids=lambda case: case.__name__)
def test_why_a_job_is_where_it_is(quern, jobs, case):
    said = case(jobs)
    (shown,) = quern.json("job", "show", A)
    assert said in shown["why"], shown
    assert shown["id"] == A and shown["state"] == jobs.state(A)
    assert said in quern("job", "show", A)
    if shown.get("served_by") == 0 or case is paused:
        assert "may start" not in shown["why"]  # before: said of a paused queue
    if case not in (held, leased, lapsed, ended, not_served, away, leaving, next_one, behind_one):
        jobs.call("report", "c", 60000, "queues", "other default")
        (shown,) = quern.json("job", "show", A)
        assert "no consumer" not in shown["why"] and shown["served_by"] == 1


def test_times_of_a_job(quern, jobs):
    """Before: each that is to come was "0 s ago"."""
    jobs.submit(A, delay_ms=3 * 3600000)
    shown = quern("job", "show", A).splitlines()
    facts = {line[:20].strip(): line[21:] for line in shown}
    assert facts["due_at"] == facts["not_before"] == "in 2 hours"
    assert re.fullmatch(r"\d+ s ago", facts["submitted_at"])
    jobs.submit(B)
    jobs.take_jobs(lease_ms=3600000)
    assert "\nlease_until          in 59 min\n" in quern("job", "show", B)


def test_get_says_why_too(quern, jobs):
    jobs.submit(A, tenant="t", session="s")
    status = json.loads(quern.run("get", A, "--json")[0])
    assert status["tenant"] == "t" and status["session"] == "s"
    assert "no consumer serves" in status["why"] and status["result"] is None
    assert "no consumer serves" in quern.run("get", A)[1]
    quern("queue", "pause", "default")
    assert "queue default is paused" in quern.run("get", A)[1]


def test_get_says_that_a_budget_holds_it(quern, jobs):
    hold(jobs, "budget")
    said = "the budget of tenant default is used up"
    assert said in quern.run("get", A)[1]
    assert said in json.loads(quern.run("get", A, "--json")[0])["why"]


def test_no_such_job(quern, jobs):
    assert f"no job {A}" in quern("job", "show", A, code=65)
    assert "not a job id" in quern("job", "show", "x", code=65)


# --- figures ----------------------------------------------------------------------


def test_figures_of_a_minute(quern, jobs):
    run(jobs, A, tokens=30, cost=7)
    run(jobs, B, "failed", "oops", tokens=5)
    jobs.submit(C)
    jobs.cancel(C)
    jobs.submit(D)
    (job,) = jobs.take_jobs()
    jobs.release(D, job.epoch)
    jobs.take_jobs()
    sums = {}
    for minute in quern.json("queue", "history"):
        assert len(minute["waits"]) == len(minute["runs"]) == 13
        minute |= {"waits": sum(minute["waits"]), "runs": sum(minute["runs"])}
        for name, count in minute.items():
            sums[name] = sums.get(name, 0) + count
    assert sums.pop("at") > 0
    assert sums == {
        "started": 4,  # a job that is handed back starts again,
        "waits": 3,  # but has waited once
        "completed": 1,
        "incomplete": 0,
        "failed": 1,
        "cancelled": 1,
        "runs": 2,  # what never ran did not take long
        "tokens": 35,
        "cost": 7,
    }
    (key, *_) = jobs.keys("figures")
    assert 7 * 86400 <= jobs.client.ttl(key) <= 7 * 86400 + 600
    assert quern("queue", "history").split()[:2] == ["AGO", "STARTED"]


def test_a_waiting_job_has_no_key_more(jobs):
    jobs.submit(A)
    names = {key.decode()[len(jobs.root) :] for key in jobs.client.keys(jobs.root + "*")}
    assert {name for name in names if not name.startswith("blob:")} == {
        f"job:{A}", f"body:{A}", "work:default:normal", "ready:default/default",
        "queues",
    }  # fmt: skip


# --- old ones go ------------------------------------------------------------------


def test_old_jobs_are_removed(quern, jobs):
    run(jobs, A)
    run(jobs, B, "failed", "oops")
    jobs.submit(C)
    assert quern("job", "rm", "--older", "1d", "--yes") == "0 jobs removed\n"
    time.sleep(0.01)
    said = quern("job", "rm", "--older", "1ms", "--state", "failed", "--dry-run")
    assert said == "1 job would be removed\n"
    assert "give --yes" in quern("job", "rm", "--older", "1ms", code=64)
    said = quern("job", "rm", "--older", "1ms", "--state", "failed", "--yes")
    assert said == "1 job removed\n"
    assert jobs.dead() == [] and ids(walk(jobs)) == [C, A]
    assert quern("job", "rm", "--older", "1ms", "--yes") == "1 job removed\n"
    assert ids(walk(jobs)) == [C]
    for kind in ("result", "events", "body", "journal"):
        assert [key for key in jobs.keys(kind) if C not in key] == []
    assert "--older TIME is missing" in quern("job", "rm", code=64)


@pytest.mark.parametrize("state", ["done", "queued", "completed,failed"])
def test_only_what_has_ended_is_removed(quern, jobs, state):
    """Before: "tidy: cursor '0', count '256', ..."."""
    jobs.submit(A)
    said = quern("job", "rm", "--older", "1ms", "--state", state, "-y", code=65)
    assert f'state: "{state}" is not one of completed, incomplete,' in said
    said = quern("job", "rm", "--older", "1ms", "--state", "ended", "-y")
    assert said == "0 jobs removed\n" and ids(walk(jobs)) == [A]


def test_only_of_one_queue(quern, jobs):
    run(jobs, A)
    run(jobs, B, queue="night")
    time.sleep(0.01)
    said = quern.json("job", "rm", "--older", "1ms", "--queue", "night", "--yes")
    assert said == [{"jobs": 1, "dry_run": False}]
    assert ids(walk(jobs)) == [A]


# --- memory -----------------------------------------------------------------------


def test_a_submit_is_refused_at_once_when_memory_is_full(quern, jobs):
    quern("submit", "before")
    jobs.client.config_set("maxmemory", 1)
    try:
        since = time.monotonic()
        said = json.loads(quern("submit", "x", "--json", code=69))
        took = time.monotonic() - since
        (quern.cwd / "jobs").write_text('{"prompt": "x"}\n' * 3)
        many = quern("submit", "--jobs", "jobs", code=69)
        took_many = time.monotonic() - since - took
    finally:
        jobs.client.config_set("maxmemory", 0)
    assert said["error"]["code"] == "redis_full" and said["error"]["retryable"]
    assert said["error"]["message"].startswith("OOM ")
    assert "OOM " in many
    assert took < 3 and took_many < 3  # ten seconds before


@pytest.mark.parametrize(
    "words", ["submit x --file f", "run x", "exec f", "session put s f"]
)
def test_so_is_whatever_else_submits(quern, jobs, words):
    (quern.cwd / "f").write_text("1")
    jobs.client.config_set("maxmemory", 1)
    try:
        since = time.monotonic()
        said = quern(*words.split(), code=69)
        took = time.monotonic() - since
    finally:
        jobs.client.config_set("maxmemory", 0)
    assert "OOM " in said and took < 3


def test_a_purge_gives_memory_back(quern, jobs):
    def used():
        return jobs.client.info("memory")["used_memory"]

    empty = used()
    for first in range(0, 4000, 400):
        words = []
        for number in range(first, first + 400):
            id = job_id(number)
            body = pack(v=1, id=id, prompt="x" * 900, tenant=f"t{number % 7}")
            words += ["id", id, "job", body]
        jobs.call("submit_many", *words)
    waiting = used()
    assert quern("queue", "purge", "default", "-y") == "4000 jobs cancelled\n"
    assert used() < waiting  # half as much again, before
    id = job_id(9)
    assert jobs.result(id)["status"] == "cancelled"
    assert jobs.types(id) == ["job.queued", "job.cancelled"]
    lives = {
        kind: jobs.client.ttl(f"{jobs.root}{kind}:{id}")
        for kind in ("events", "result", "job")
    }
    assert 500 < lives["events"] <= 600
    assert 3500 < lives["result"] <= 3600
    assert 86000 < lives["job"] <= 86400
    assert not jobs.client.exists(f"{jobs.root}body:{id}")
    for key in jobs.keys("events"):  # ten minutes pass
        jobs.client.delete(key)
    left = used() - empty
    assert left < (waiting - empty) * 0.7, (empty, waiting, left)
    jobs.client.flushall()


@pytest.mark.parametrize("state", ["completed", "failed", "cancelled"])
def test_one_that_has_ended_is_removed(jobs, redis, state):
    run(jobs, A, state=state, code="x" if state == "failed" else "")
    run(jobs, B)
    for _ in range(2):  # the first answer was lost
        assert jobs.call("remove", A) == b"removed"
    assert not redis.keys(f"*{A}*")
    assert ids(walk(jobs)) == [B]
    assert not redis.zcard(jobs.root + "dead:default")


def test_one_that_goes_on_is_not_removed(jobs, redis):
    jobs.submit(A, pack(v=1, id=A))
    before = redis.hgetall(f"{jobs.root}job:{A}")
    assert jobs.call("remove", A) == b"late"
    assert redis.hgetall(f"{jobs.root}job:{A}") == before
    for wrong in ("", "x", "*", A.upper(), A + "x"):
        refused("BADARG", jobs.call, "remove", wrong)
