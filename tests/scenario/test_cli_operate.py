"""The operators' verbs of quern: queues, the dead, workers, endpoints, schedules."""

import json
import re
import subprocess
import threading
import time

import msgpack
import pytest
from command import Terminal
from library import Library, job_id, pack
from standin import ROOT

A, B, C = job_id(1), job_id(2), job_id(3)

pytestmark = pytest.mark.usefixtures("ends")


@pytest.fixture
def jobs(redis):
    return Library(redis).load()


def bury(jobs, number, queue="default", code="model_unavailable", **pairs):
    """A job that failed for good."""
    id = job_id(number)
    body = pack(v=1, id=id, prompt=f"question {number}")
    jobs.submit(id, body, queue=queue, **pairs)
    jobs.begin(stream=jobs.work(queue))
    error = {"kind": "retry", "code": code, "message": "nobody answered"}
    result = pack(v=1, id=id, status="failed", error=error)
    jobs.finish(id, jobs.epoch(id), "failed", result, error_code=code)
    return id


# --- queues ---------------------------------------------------------------------


def test_queues_as_they_stand(quern, jobs):
    assert quern.run("queue", "ls") == ("", "no queue has ever held a job\n", 0)
    for number in range(40):  # eight more than one tenant's window
        jobs.submit(job_id(number))
    jobs.begin()
    jobs.submit(job_id(50), queue="night", delay_ms=60000)
    bury(jobs, 60, "night")
    assert quern("queue", "ls").splitlines() == [
        "QUEUE    WAITING  RUNNING  LATER  DEAD  OLDEST  STATE",
        "default       39        1      0     0     0 s  open",
        "night          0        0      1     1       -  open",
    ]
    default, night = quern.json("queue", "ls")
    assert (default["waiting"], default["running"], default["tenants"]) == (39, 1, 1)
    assert 0 <= default["oldest_ms"] < 60000
    assert night == {
        **dict.fromkeys(default, 0),
        "queue": "night",
        "paused": False,
        "scheduled": 1,
        "dead": 1,
    }


def test_a_paused_queue_lets_nothing_start(quern, jobs):
    jobs.submit(A)
    assert "queue default is paused" in quern("queue", "pause", "default")
    assert quern("queue", "ls").split()[-3:] == ["paused,", "holds", "1"]
    (entry,) = jobs.take()
    assert jobs.start(entry).reason == "paused"
    assert quern.json("queue", "resume", "default") == [
        {"queue": "default", "paused": False}
    ]
    jobs.promote()
    assert jobs.begin().id == A


def test_what_holds_a_queue_up_is_said(quern, jobs):
    """OLDEST is of what may start; a job that may not is not said to wait."""
    jobs.tenant_set("acme", tenant_running=1)
    for number in range(3):
        jobs.submit(job_id(number), tenant="acme")
    jobs.take_jobs()
    said = quern("queue", "stats")
    assert "waiting    2; 2 wait for their turn, a limit or their session\n" in said
    assert "more than their turn" not in said
    (row,) = quern.json("queue", "ls")
    assert (row["waiting"], row["may_start"], row["oldest_ms"]) == (2, 0, 0)
    assert quern("queue", "ls").splitlines()[1].split()[-2:] == ["-", "open"]
    jobs.submit(job_id(9), tenant="other")
    jobs.wait_idle(3)
    assert "1 may start, the first since" in quern("queue", "stats")
    (row,) = quern.json("queue", "stats")
    assert row["may_start"] == 1 and row["oldest_ms"] >= 3
    quern("queue", "pause", "default")
    assert "none may start: the queue is paused" in quern("queue", "stats")
    (row,) = quern.json("queue", "stats")
    assert row["oldest_ms"] == 0 and row["waits_ms"] >= 3
    assert quern("queue", "ls").splitlines()[1].endswith(" -  paused, holds 3")


@pytest.mark.parametrize(
    "reason,column,sentence",
    [
        ("budget", "1 waits for a budget", "1 waits for the tenant's budget"),
        (
            "endpoint",
            "1 waits for an endpoint",
            "1 waits for a model endpoint that is left alone",
        ),
    ],
)
@pytest.mark.parametrize("leaves", ["its time comes", "it is cancelled", "purged"])
def test_what_a_budget_or_an_endpoint_holds_is_said(
    reason, column, sentence, leaves, quern, jobs
):
    for number, why in enumerate([reason, "backoff"]):
        jobs.submit(job_id(number))
        jobs.begin()
        jobs.wait(job_id(number), jobs.epoch(job_id(number)), 60000, why)
    member = f"held_by_{reason}"
    (row,) = quern.json("queue", "ls")
    assert (row["scheduled"], row[member]) == (2, 1)
    assert row["held_by_budget"] + row["held_by_endpoint"] == 1
    assert quern("queue", "ls").splitlines()[1].endswith(f"open, {column}")
    assert f"later      2; {sentence}\n" in quern("queue", "stats")
    if leaves == "purged":
        jobs.purge()
    elif leaves == "it is cancelled":
        jobs.cancel(job_id(0))
    else:
        jobs.come_due()
        jobs.promote()
    assert not jobs.keys("resting")
    (row,) = quern.json("queue", "ls")
    assert row[member] == 0 and quern("queue", "ls").split()[-1] == "open"


def test_a_job_that_is_lost_is_not_held_for_ever(quern, jobs):
    """Its facts are gone, so nobody takes its id out."""
    jobs.submit(A)
    jobs.begin()
    jobs.wait(A, jobs.epoch(A), 60000, "budget")
    assert quern.json("queue", "ls")[0]["held_by_budget"] == 1
    jobs.client.delete(f"{jobs.root}job:{A}")
    jobs.client.zadd(f"{jobs.root}resting:budget:default", {A: 1})
    jobs.come_due()
    assert quern.json("queue", "ls")[0]["held_by_budget"] == 0
    jobs.promote()
    jobs.client.delete(f"{jobs.root}resting:budget:default")


def test_how_many_a_pause_holds_is_said(quern, jobs):
    for number in range(3):
        jobs.submit(job_id(number))
    quern("queue", "pause", "default")
    assert quern("queue", "ls").splitlines()[1].endswith("  paused, holds 3")


def test_limits_of_each_tenant_are_told(quern, jobs):
    words = "tenant_running:acme=3 tenant_depth:acme=9 tenant_rate:b=1"
    said = quern("queue", "set", "default", *words.split())
    assert "3 settings of queue default changed" in said
    assert "limit      3 (tenant_running) of tenant acme\n" in said
    (row,) = quern.json("queue", "stats")
    assert row["limits"] == {
        "acme": {"tenant_running": 3, "tenant_depth": 9},
        "b": {"tenant_rate": 1},
    }


def test_max_depth_counts_what_its_help_says(quern, jobs):
    """Those that wait, also those that come later; not those that run."""
    assert "jobs that wait, including those that come later" in quern(
        "help", "queue", "set"
    )
    quern("queue", "set", "default", "max_depth=2")
    jobs.submit(A)
    jobs.take_jobs()
    jobs.submit(B)
    quern("submit", "x", "--delay", "1h")
    assert "queue default holds 2 jobs" in quern("submit", "y", code=75)


@pytest.mark.parametrize("verb", ["pause", "resume", "set", "purge", "stats"])
def test_a_queue_that_nobody_has_named(quern, jobs, verb):
    more = ["max_depth=1"] if verb == "set" else []
    said = quern("queue", verb, "nihgt", *more, code=65)
    assert "has ever named queue nihgt" in said
    if verb in ("pause", "resume", "set"):
        assert "--create" in said
        quern("queue", verb, "nihgt", *more, "--create")
        assert "queue      nihgt" in quern("queue", "stats", "nihgt")
    jobs.submit(A, queue="day")
    quern("queue", "pause", "day")


@pytest.mark.parametrize(
    "words",
    ["queue history", "dead requeue --all --queue", "dead rm --all --queue"]
    + ["job rm --older 1h --queue", "job ls --queue", "dead ls --queue"]
    + ["tenant ls --queue"],
)
def test_so_is_one_that_a_verb_would_look_into(quern, words):
    """Before: 0 jobs, as if there were such a queue."""
    assert "has ever named queue nihgt" in quern(*words.split(), "nihgt", code=65)


def test_limits_are_set_and_removed(quern, jobs):
    words = "tenant_running=8 tenant_running:acme=32 max_depth=2"
    said = quern("queue", "set", "default", *words.split())
    assert "limit      8 of one tenant at once (tenant_running)\n" in said
    assert jobs.client.hgetall(f"{jobs.root}queue:default") == {
        b"tenant_running": b"8",
        b"tenant_running:acme": b"32",
        b"max_depth": b"2",
    }
    quern("submit", "1")
    quern("submit", "2")
    assert "queue default holds 2 jobs" in quern("submit", "3", code=75)
    said = quern("queue", "set", "default", "max_depth=", "tenant_running=")
    assert said.count("limit ") == 1  # that of acme
    quern("submit", "3")


def test_budgets_are_set_like_limits(quern, jobs):
    words = "tenant_tokens=90000 tenant_cost:acme=1 tenant_cost=2500000"
    said = quern("queue", "set", "default", *words.split())
    assert "limit      90000 tokens of one tenant a day (tenant_tokens)\n" in said
    assert "limit      $2.50 of one tenant a day (tenant_cost)\n" in said
    said = quern("queue", "set", "default", "tenant_budget_ms=3600000")
    assert "of one tenant in 60 min 0 s (tenant_cost)" in said
    (row,) = quern.json("queue", "stats", "default")
    assert row["tenant_tokens"] == 90000 and row["tenant_cost"] == 2_500_000
    assert "must be a whole number" in quern(
        "queue", "set", "default", "tenant_cost=2.5", code=65
    )


def test_a_purge_takes_what_waits_and_leaves_what_runs(quern, jobs):
    for number in range(1200):
        jobs.submit(job_id(number))
    runs = jobs.begin().id
    jobs.submit(job_id(2000), delay_ms=60000)
    assert quern("queue", "purge", "default", "--dry-run") == (
        "1200 jobs would be cancelled\n"
    )
    assert "give --yes" in quern("queue", "purge", "default", code=64)
    assert jobs.stats()["ready"] > 0
    assert quern.json("queue", "purge", "default", "-y") == [
        {"queue": "default", "jobs": 1200, "dry_run": False}
    ]
    assert jobs.state(runs) == "in_progress"
    assert jobs.state(job_id(2000)) == "cancelled"
    assert jobs.result(job_id(1199))["notes"] == "cancelled: purged"
    assert quern("queue", "purge", "default", "-y") == "0 jobs cancelled\n"


@pytest.mark.parametrize("paused", ["", "1"], ids=["open", "paused"])
def test_a_purge_takes_those_that_wait_for_their_session_too(quern, jobs, paused):
    jobs.queue_set(paused=paused)
    for number in range(10):
        jobs.submit(job_id(number), session=f"s{number % 2}")
    assert quern("queue", "purge", "default", "-y") == "10 jobs cancelled\n"
    assert {jobs.state(job_id(number)) for number in range(10)} == {"cancelled"}


def test_a_person_is_asked_first(quern, jobs):
    jobs.submit(A)
    with Terminal(quern, "queue", "purge", "default") as terminal:
        terminal.wait_for("Cancel the 1 job that waits in queue default? [y/N]")
        terminal.type("\n")
        terminal.wait_for("nothing was done")
        assert terminal.end() == 0
    assert jobs.state(A) == "queued"
    with Terminal(quern, "queue", "purge", "default") as terminal:
        terminal.wait_for("[y/N]")
        terminal.type("y\n")
        terminal.wait_for("1 job cancelled")
    assert jobs.state(A) == "cancelled"


def test_tenants(quern, jobs):
    """Also those without a budget, and those that only have a limit."""
    assert "no tenant has a job" in quern.run("tenant", "ls")[1]
    jobs.tenant_set("capped", tenant_tokens=1000, tenant_running=2)
    jobs.queue_set(tenant_rate=9)
    jobs.tenant_set("quiet", queue="night", tenant_depth=5)
    for number in range(40):
        jobs.submit(job_id(number), tenant="free")
    jobs.submit(job_id(50), tenant="free", delay_ms=60000)
    first, second = jobs.take_jobs(count=2)
    args = ("completed", b"\x80", b"", "", 0, 0, 70, 5)
    jobs.call("finish", first.id, first.epoch, *args)
    jobs.submit(A.replace("8000", "8001"), tenant="capped")
    capped = next(job for job in jobs.take_jobs(count=9) if "8001" in job.id)
    intent = pack(v=1, kind="model_intent", turn=1, reserved=30)
    assert jobs.reserve(capped.id, capped.epoch, 0, intent, 30) is True
    reply = pack(v=1, kind="model_reply", turn=1)
    jobs.settle(capped.id, capped.epoch, 1, reply, 25, 3)
    rows = {(row["tenant"], row["queue"]): row for row in quern.json("tenant", "ls")}
    assert set(rows) == {
        ("capped", "default"), ("free", "default"), ("quiet", "night")
    }  # fmt: skip
    free = rows["free", "default"]
    running = len(jobs.ids("leases:default")) - 1
    assert (free["waiting"], free["running"]) == (39 - running, running)
    assert (free["scheduled"], free["tokens"], free["cost"]) == (1, 70, 5)
    assert not free["budget"] and free["tenant_rate"] == 9
    capped = rows["capped", "default"]
    assert capped["budget"] and (capped["tokens"], capped["cost"]) == (25, 3)
    assert capped["tenant_running"] == 2 and capped["tenant_rate"] == 9
    assert rows["quiet", "night"]["tenant_depth"] == 5
    jobs.queue_set(tenant_rate=1, tenant_rate_ms=60000)
    assert "1 start each 1 min 0 s" in quern("tenant", "ls")
    jobs.queue_set(tenant_cost=5_000_000)
    told = quern("tenant", "ls")
    assert "$5.00 in a day" in told and "$0.000003" in told
    lines = quern("tenant", "ls", "--queue", "night").splitlines()
    assert lines[1].split()[-2:] == ["5", "waiting"] and len(lines) == 2


# --- the dead -------------------------------------------------------------------


def test_the_dead_are_listed_the_latest_first_and_in_pieces(quern, jobs):
    assert quern.run("dead", "ls") == ("", "none is dead\n", 0)
    ids = []
    for number in range(7):
        ids.append(bury(jobs, number, "night" if number % 2 else "default"))
        time.sleep(0.002)
    listed = [line["id"] for line in quern.json("dead", "ls")]
    assert listed == ids[::-1]
    assert [line["id"] for line in quern.json("dead", "ls", "-q", "night")] == ids[
        5::-2
    ]
    piece = quern.json("dead", "ls", "--skip", "2", "--limit", "3")
    assert [line["id"] for line in piece] == ids[4:1:-1]
    assert piece[0] == {
        "id": ids[4],
        "queue": "default",
        "tenant": "default",
        "error_code": "model_unavailable",
        "attempts": 1,
        "errors": 0,
        "crashes": 0,
        "submitted_at": int(jobs.facts(ids[4])["submitted_at"]),
        "finished_at": int(jobs.facts(ids[4])["finished_at"]),
    }
    with Terminal(quern, "dead", "ls", "-n", "3") as terminal:
        terminal.wait_for("1 to 3 of 7; go on with --skip 3")
    assert quern.json("dead", "ls", "--skip", "7") == []


def test_pages_join_without_a_gap(quern, jobs):
    """More than one call brings."""
    ids = {bury(jobs, number) for number in range(450)}
    listed = [line["id"] for line in quern.json("dead", "ls", "--limit", "1000")]
    assert len(listed) == 450 and set(listed) == ids


def test_why_a_job_is_dead_and_what_was_asked(quern, jobs):
    bury(jobs, 1)
    said = quern("dead", "show", A)
    assert "error      model_unavailable: nobody answered\n" in said
    assert '"prompt": "question 1"' in said
    (line,) = quern.json("dead", "show", A)
    assert line["job"]["prompt"] == "question 1"
    assert line["result"]["error"]["message"] == "nobody answered"
    assert "no job" in quern("dead", "show", B, code=65)


def test_what_was_no_job_is_shown_and_forgotten_but_never_run(quern, jobs):
    jobs.submit(A)
    jobs.finish(A, jobs.begin().epoch)
    entry = jobs.client.xadd(jobs.work(), {"no": "job"}).decode()
    jobs.start(*jobs.take())
    (line,) = quern.json("dead", "ls")
    assert (line["id"], line["error_code"]) == (f"entry-{entry}", "bad_entry")
    (shown,) = quern.json("dead", "show", line["id"])
    assert shown["job"] == ["no", "job"]
    said = quern("dead", "requeue", line["id"], code=65)
    assert "is an entry that was not a job: it cannot run" in said
    assert quern("dead", "requeue", "--all", "-y") == "0 jobs requeued\n"
    assert quern("dead", "rm", line["id"], "-y") == "1 job forgotten\n"
    assert quern.json("dead", "ls") == []


@pytest.mark.parametrize("verb", [["dead", "requeue"], ["retry"]], ids=" ".join)
def test_a_dead_job_goes_on_where_it_failed_or_begins_anew(quern, jobs, verb):
    jobs.submit(A, pack(v=1, id=A, prompt="?"))
    for how, records in (([], [b"paid"]), (["--anew"], [])):
        job = jobs.begin()
        if not job.journal:
            jobs.journal(A, job.epoch, 0, b"paid")
        jobs.finish(A, job.epoch, "failed")
        quern(*verb, A, *how)
        assert jobs.records(A) == records


@pytest.mark.parametrize("verb", [["dead", "requeue"], ["retry"]], ids=" ".join)
def test_a_dead_job_runs_again_under_its_id(quern, jobs, verb):
    bury(jobs, 1)
    assert quern.json(*verb, A) == [{"id": A, "outcome": "requeued", "dry_run": False}]
    assert jobs.state(A) == "queued"
    again = jobs.begin()
    assert (again.id, again.attempt, again.crashes) == (A, 1, 0)
    jobs.finish(A, again.epoch)
    assert "is not among the dead, or what was asked is not kept" in quern(*verb, A, code=65)
    assert "no job" in quern(*verb, B, code=65)


def test_all_of_a_queue_run_again(quern, jobs):
    for number in range(250):
        bury(jobs, number, "night" if number < 240 else "default")
    assert "240 jobs would be requeued" in quern(
        "dead", "requeue", "--all", "-q", "night", "--dry-run"
    )
    assert jobs.stats("night")["dead"] == 240
    said = quern("dead", "requeue", "--all", "-q", "night", "--yes")
    assert said == "240 jobs requeued\n"
    assert (jobs.stats("night")["dead"], jobs.stats()["dead"]) == (0, 10)
    assert jobs.stats("night")["ready"] + jobs.stats("night")["lanes"] == 240


def test_those_that_died_first_run_first_again(quern, jobs):
    ids = []
    for number in (3, 1, 2):
        ids.append(bury(jobs, number))
        time.sleep(0.002)
    quern("dead", "requeue", "--all", "-y")
    assert [jobs.begin().id for _ in ids] == ids


def test_what_dies_again_meanwhile_is_not_requeued_again(quern, jobs, redis):
    """A consumer that fails every job at once."""
    ids = {bury(jobs, number) for number in range(60)}
    stop = threading.Event()

    def fail():
        client = Library(redis)
        while not stop.is_set():
            for job in client.take_jobs(count=10):
                client.finish(job.id, job.epoch, "failed", error_code="again")

    failer = threading.Thread(target=fail)
    failer.start()
    try:
        assert quern("dead", "requeue", "--all", "-y") == "60 jobs requeued\n"
    finally:
        stop.set()
        failer.join()
    assert {jobs.state(id) for id in ids} <= {"failed", "queued"}


def test_the_forgotten_leave_nothing(quern, jobs):
    for number in range(3):
        bury(jobs, number)
    assert "give --yes" in quern("dead", "rm", "--all", code=64)
    assert "give ids or --all, not both" in quern("dead", "rm", A, "--all", code=64)
    assert "ID is missing; give --all" in quern("dead", "rm", code=64)
    assert quern("dead", "rm", A, "-y") == "1 job forgotten\n"
    assert quern("dead", "rm", "--all", "-y") == "2 jobs forgotten\n"
    left = {key.decode() for key in jobs.client.scan_iter(f"{jobs.root}*")}
    assert not [key for key in left if job_id(0)[-12:] in key or A in key]


# --- approval, delay, unique keys -----------------------------------------------


def test_a_job_that_waits_for_an_approval_goes_on(quern, jobs):
    jobs.submit(A)
    job = jobs.begin()
    jobs.wait(A, job.epoch, 0, "approval", 0)
    assert quern.run("get", A)[0] == "waiting\n"
    assert quern("approve", A) == "approved: it goes on\n"
    assert jobs.facts(A)["approval"] == "approve"
    assert quern("approve", A, "--reject") == "the job does not wait for an approval\n"


def test_a_rejection_says_why(quern, jobs):
    jobs.submit(A)
    jobs.wait(A, jobs.begin().epoch, 0, "approval", 0)
    said = quern.json("approve", A, "--reject", "--reason", "too dear")
    assert said == [{"id": A, "outcome": "reject"}]
    assert jobs.facts(A)["approval"] == "reject"
    assert jobs.facts(A)["approval_note"] == "too dear"


def test_a_delayed_job_is_scheduled(quern, jobs):
    id = quern("submit", "later", "--delay", "1h").strip()
    assert jobs.state(id) == "scheduled"


def test_a_unique_key_gives_the_job_that_stands(quern, jobs):
    first = quern("submit", "one", "--unique", "k").strip()
    assert quern.json("submit", "two", "-u", "k") == [{"id": first, "existed": True}]
    quern("cancel", first)
    assert quern.json("submit", "three", "-u", "k")[0]["existed"] is False


# --- workers --------------------------------------------------------------------


def test_workers_by_what_they_report(quern, jobs):
    assert "start one: quern-consumer" in quern.run("worker", "ls")[1]
    about = "host h pid 7 version 0.1.0 slots 50 running 3 mode running".split()
    jobs.call("report", "h:7:x", 60000, *about, "queues", "default night")
    (line,) = quern.json("worker", "ls")
    assert (line["worker"], line["pid"], line["running"]) == ("h:7:x", 7, 3)
    assert (line["queues"], line["draining"]) == ("default night", False)
    quern("worker", "drain", "h:7:x")
    assert jobs.call("report", "h:7:x", 60000, *about)[0] == 1
    assert "draining" in quern("worker", "ls")
    quern("worker", "resume", "h:7:x")
    assert jobs.call("report", "h:7:x", 60000, *about)[0] == 0
    assert 'no worker "nobody"' in quern("worker", "drain", "nobody", code=65)
    assert 'no worker "a b"' in quern("worker", "drain", "a b", code=65)


AWAY = ["absent", "refused", "not permitted"]


@pytest.mark.parametrize("word", AWAY)
def test_an_executor_that_is_away_is_told(word, quern, jobs):
    since = int(jobs.client.time()[0]) * 1000 - 300000
    about = "host h slots 4 queues default mode serving executor /run/e.sock".split()
    about += ["executor_away", word, "executor_reason", "so it is"]
    jobs.call("report", "w", 60000, *about, "executor_away_since", since)
    out, err, _ = quern.run("worker", "ls")
    assert f" {word} 5 min " in out
    assert "w takes no jobs: its executor at /run/e.sock on h has been away" in err
    assert "for 5 min (so it is)" in err
    assert quern.json("worker", "ls")[0]["executor"] == {
        "socket": "/run/e.sock",
        "away": True,
        "reason": word,
        "text": "so it is",
        "away_since": since,
    }


# --- endpoints ------------------------------------------------------------------

FLEET = "quern:{quern:fleet}:"
ONE, OTHER = "my model#0123456789abcdef", "gpt#fedcba9876543210"


def test_endpoints_by_what_is_known_of_them(quern, redis):
    assert quern.run("endpoint", "ls") == ("", "no model has been asked lately\n", 0)
    redis.hset(FLEET + "counts", f"{ONE} calls", 120)
    redis.hset(FLEET + "counts", f"{ONE} paid_twice", 3)
    redis.hset(FLEET + "counts", f"{ONE} recovered", 17)
    now = int(redis.time()[0]) * 1000
    redis.zadd(FLEET + "waits", {OTHER: now + 90000, ONE: now - 1000})
    gpt, mine = quern.json("endpoint", "ls")
    assert 0 < gpt.pop("wait_ms") <= 90000
    assert gpt == {
        "endpoint": "gpt",
        "id": OTHER,
        **dict.fromkeys(("calls", "paid_twice", "recovered", "failures"), 0),
        **dict.fromkeys(("answered_at", "failed_at"), 0),
        **dict.fromkeys(("host", "model", "error_code", "error"), ""),
    }
    assert (mine["endpoint"], mine["wait_ms"]) == ("my model", 0)
    assert (mine["calls"], mine["paid_twice"], mine["recovered"]) == (120, 3, 17)
    head, first, second = quern("endpoint", "ls").splitlines()
    assert head.split("  ")[0] == "ENDPOINT" and "PAID TWICE" in head
    assert first.split()[0] == "gpt" and first.split()[3:7] == ["0"] * 4
    assert second.split()[:8] == ["my", "model", "-", "-", "120", "0", "3", "17"]


def test_endpoints_that_are_none(quern, redis):
    """What stands there was not written by a consumer."""
    for field in ("", " ", "x calls", " calls", "#0123456789abcdef calls", ONE):
        redis.hset(FLEET + "counts", field, 1)
    redis.hset(FLEET + "counts", b"\xff\xfe#0123456789abcdef calls", 1)
    redis.hset(FLEET + "counts", "x" * 500 + "#0123456789abcdef calls", 1)
    redis.hset(FLEET + "counts", f"{ONE} calls", "many")
    redis.hset(FLEET + "counts", f"{ONE} " + "y" * 400, 1)
    redis.zadd(FLEET + "waits", {"nobody": 9e15, "": 1})
    (line,) = quern.json("endpoint", "ls")
    assert (line["id"], line["calls"]) == (ONE, 0)
    redis.delete(FLEET + "counts")
    redis.set(FLEET + "counts", "no hash")
    assert "WRONGTYPE" in quern("endpoint", "ls", code=69)


# --- webhooks -------------------------------------------------------------------


def test_a_webhook_is_added_rotated_tried_and_removed(quern, redis):
    """Its secret is printed once; the receiver of the old one has a day."""
    added = quern("hook", "add", "https://r.example/x", "--tenant", "t", "--name", "ci")
    id, secret = added.split("\n")[:2]
    assert re.fullmatch(r"hook_[0-9a-f]{16}", id)
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", secret)
    (row,) = quern.json("hook", "ls", "--tenant", "t")
    assert (row["hook"], row["url"], row["name"]) == (id, "https://r.example/x", "ci")
    assert (row["events"], row["disabled"], row["secrets"]) == ("", False, 1)
    assert secret not in quern("hook", "ls", "--tenant", "t")
    assert quern("hook", "ls") == ""  # of the tenant default

    (new,) = quern.json("hook", "rotate", id, "--tenant", "t")
    assert new["hook"] == id and new["secret"] != secret
    assert quern.json("hook", "ls", "--tenant", "t")[0]["secrets"] == 2
    quern("hook", "rotate", id, "--tenant", "t", "--at-once")
    assert quern.json("hook", "ls", "--tenant", "t")[0]["secrets"] == 1

    assert "will be sent a test" in quern("hook", "test", id, "--tenant", "t")
    (due,) = redis.zrange(f"{ROOT}deliver", 0, -1)
    assert due.decode().endswith(f"/{id}")
    assert quern("hook", "enable", id, "--tenant", "t").startswith(f"{id} enabled")
    assert "would be" in quern("hook", "rm", id, "--tenant", "t", "--dry-run")
    assert quern("hook", "rm", id, "--tenant", "t", "-y") == f"{id} removed\n"
    assert redis.keys("*hooks*") == []


def test_what_a_webhook_may_not_be(quern):
    """Each refusal names the value."""
    unknown = "hook_" + "0" * 16
    for verb in ("rotate", "test", "enable"):
        said = quern("hook", verb, unknown, code=65)
        assert f"tenant default has no webhook {unknown}" in said
    assert "no webhook" in quern("hook", "rm", unknown, "-y", code=65)
    assert 'webhook is "x"' in quern("hook", "test", "x", code=65)
    for url in ("ftp://r.example", "r.example", "https://", "https:///x"):
        assert f'url is "{url}"' in quern("hook", "add", url, code=65)
    assert "in front of its host" in quern("hook", "add", "https://a:b@c.d", code=65)
    add = ("hook", "add", "https://r.example/" + "x" * 2048)
    assert "url has 2066 bytes, at most 2048" in quern(*add, code=65)
    add = ("hook", "add", "https://r.example/", "--events")
    assert "events is 'done', must be states" in quern(*add, "done", code=65)
    quern(*add, "failed,response.cancelled")
    assert quern.json("hook", "ls")[0]["events"] == "failed cancelled"


# --- schedules ------------------------------------------------------------------


def fire(jobs, number=900):
    """As a consumer does when a schedule is due; gives what fire says."""
    (name, _, _, at), *_ = jobs.promote()[2]
    return jobs.call("fire", name, at, int(at) + 60000, job_id(number))


def test_a_schedule_submits_its_job(quern, jobs):
    said = quern(
        *("schedule", "add", "report", "every 1s", "how much?"),
        *"--queue night --tenant acme --model big --session lab".split(),
        *"--unique u --priority high".split(),
    )
    assert said.count("\n") == 6 and said.startswith("report added\nnext       20")
    time.sleep(1.01)
    id, verdict = fire(jobs)
    assert (id.decode(), verdict) == (job_id(900), b"created")
    facts = jobs.facts(job_id(900))
    assert (facts["queue"], facts["tenant"], facts["session"]) == (
        "night",
        "acme",
        "lab",
    )
    assert (facts["unique"], facts["priority"]) == ("u", "high")
    body = msgpack.unpackb(jobs.body(job_id(900)))
    assert body["prompt"] == "how much?" and body["model"] == "big"
    assert body["id"] == job_id(900)
    (line,) = quern.json("schedule", "ls")
    assert (line["schedule"], line["last_id"]) == ("report", job_id(900))


def test_a_schedules_files_are_kept_as_long_as_it_is(quern, jobs):
    (quern.cwd / "a.csv").write_text("1,2\n")
    quern("schedule", "add", "n", "@daily", "sum", "--file", "a.csv")
    (blob,) = [key for key in jobs.keys("blob") if jobs.client.get(key) == b"1,2\n"]
    assert jobs.client.pttl(blob) == -1
    quern("schedule", "rm", "n", "-y")
    assert jobs.client.pttl(blob) > 0


def test_a_schedule_is_shown_replaced_and_removed(quern, jobs):
    quern("schedule", "add", "n", "@daily", "one", "--zone", "Europe/Berlin")
    quern("schedule", "add", "n", "30 6 * * mon-fri", "two", "-z", "America/New_York")
    (line,) = quern.json("schedule", "ls")
    assert (line["spec"], line["zone"]) == ("30 6 * * mon-fri", "America/New_York")
    assert re.search(r" 06:30 -0[45]:00 +America/New_York  ", quern("schedule", "ls"))
    (line,) = quern.json("schedule", "show", "n")
    assert line["job"]["prompt"] == "two"
    assert '"prompt": "two"' in quern("schedule", "show", "n")
    assert quern("schedule", "rm", "n", "--dry-run") == "n would be removed\n"
    assert quern("schedule", "rm", "n", "--yes") == "n removed\n"
    assert 'there is no schedule "n"' in quern("schedule", "rm", "n", "-y", code=65)
    assert quern.run("schedule", "ls") == ("", "there are no schedules\n", 0)


def test_a_preview_adds_nothing(quern, jobs):
    said = quern("schedule", "add", "n", "0 2 29 2 *", "--dry-run")
    first, *times = said.splitlines()
    assert first == "n would be added"
    assert [line.split()[-4][5:] for line in times] == ["02-29"] * 5
    assert quern.json("schedule", "ls") == []


WRONG = [
    ("n|61 * * * *|q", 'schedule: minute: "61" is not 0 to 59'),
    ("n|@reboot|q", '"@reboot" is none of @hourly'),
    ("n|@daily|q|--zone|Mars/Olympus", '"Mars/Olympus" is no time zone here'),
    ("a/b|@daily|q", 'schedule: "a/b" is not a name'),
    ("n|@daily|q|--session|a\tb", "session"),
]


@pytest.mark.parametrize("words, said", WRONG)
def test_a_wrong_schedule(words, said, quern, jobs):
    assert said in quern("schedule", "add", *words.split("|"), code=65)
    assert quern.json("schedule", "ls") == []


def test_a_schedules_job_as_json(quern, jobs):
    job = json.dumps({"kind": "code", "cells": ["1 + 1"]})
    quern("schedule", "add", "n", "@daily", "--job", "-", stdin=job)
    assert quern.json("schedule", "show", "n")[0]["job"]["cells"] == ["1 + 1"]
    for name, value in (("id", A), ("idempotency_key", "k"), ("not_before", 1)):
        job = json.dumps({"prompt": "q", name: value})
        said = quern("schedule", "add", "m", "@daily", "--job", "-", stdin=job, code=65)
        assert f"{name}: leave it out" in said


WINTER = [
    ("2026-10-24", ["2026-10-24 06:30 +02:00", "2026-10-25 06:30 +01:00"]),
    ("2026-10-24 06:29", ["2026-10-24 06:30 +02:00"]),
    ("2026-10-24T06:30", ["2026-10-25 06:30 +01:00"]),
    ("2026-10-24T04:29:59Z", ["2026-10-24 06:30 +02:00"]),
    ("2026-10-24 00:31-04:00", ["2026-10-25 06:30 +01:00"]),
]


@pytest.mark.parametrize("start, times", WINTER)
def test_the_times_of_a_schedule_from_some_day_on(start, times, quern, jobs):
    """Before: from now on only, and without an offset."""
    quern("schedule", "add", "n", "30 6 * * *", "q", "--zone", "Europe/Berlin")
    shown = quern("schedule", "show", "n", "--from", start)
    told = re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d [+-]\d\d:\d\d", shown)
    assert told[: len(times)] == times


BAD_TIMES = ["tomorrow", "2026-13-01", "2027-02-29", "2026-01-01 25:00", "5"]


@pytest.mark.parametrize("start", BAD_TIMES)
def test_a_time_that_is_none(start, quern, jobs):
    quern("schedule", "add", "n", "@daily", "q")
    said = quern("schedule", "show", "n", "--from", start, code=64)
    assert f'--from is "{start}", must be a time such as' in said


def test_a_schedule_rests_and_goes_on(quern, redis, jobs):
    quern("schedule", "add", "n", "every 1s", "q")
    assert quern("schedule", "pause", "n") == "n paused\n"
    (line,) = quern.json("schedule", "ls")
    assert line["paused"] is True and " paused" in quern("schedule", "ls")
    time.sleep(1.2)
    now = int(redis.time()[0]) * 1000
    moved, wait_ms, due, _ = jobs.call("promote", 10)
    assert due == [] and wait_ms > 10**12
    assert jobs.call("fire", "n", line["next_at"], now + 5000, job_id(901))[1] == b"late"
    assert quern("schedule", "resume", "n") == "n goes on\n"
    (line,) = quern.json("schedule", "ls")
    assert line["paused"] is False and line["next_at"] >= now
    assert redis.zscore(f"{jobs.root}schedules", "n") == line["next_at"]
    for verb in ("pause", "resume", "run"):
        assert 'there is no schedule "m"' in quern("schedule", verb, "m", code=65)


def test_a_schedule_that_is_replaced_rests_on(quern, redis, jobs):
    """Before: it went on, and nobody was told."""
    quern("schedule", "add", "n", "@daily", "q")
    quern("schedule", "pause", "n")
    out, err, _ = quern.run("schedule", "add", "n", "every 1s", "other")
    assert out.startswith("n added\n")
    assert err == "n is paused: quern schedule resume n\n"
    time.sleep(1.2)
    assert jobs.call("promote", 10)[2] == []
    (line,) = quern.json("schedule", "ls")
    assert (line["spec"], line["paused"]) == ("every 1s", True)
    quern("schedule", "resume", "n")
    out, err, _ = quern.run("schedule", "add", "n", "@daily", "q")
    assert err == "" and quern.json("schedule", "ls")[0]["paused"] is False


def test_a_schedules_job_now(quern, jobs):
    quern("schedule", "add", "n", "@yearly", "how much?", "--queue", "night")
    (before,) = quern.json("schedule", "ls")
    quern("schedule", "pause", "n")
    first = quern("schedule", "run", "n").strip()
    (second,) = quern.json("schedule", "run", "n")
    assert first != second["id"]
    for id in (first, second["id"]):
        assert (jobs.state(id), jobs.facts(id)["queue"]) == ("queued", "night")
    (after,) = quern.json("schedule", "ls")
    assert after["next_at"] == before["next_at"] and after["last_id"] == second["id"]


def test_what_is_said_beside_a_schedules_job_wins(quern, redis, jobs, tmp_path):
    (tmp_path / "a.csv").write_text("a\n")
    job = json.dumps({"prompt": "q", "queue": "own"})
    beside = "--queue q2 --priority low --unique u --file a.csv".split()
    quern("schedule", "add", "n", "@daily", "--job", "-", *beside, stdin=job)
    shown = quern.json("schedule", "show", "n")[0]["job"]
    assert (shown["queue"], shown["priority"]) == ("q2", "low")
    assert [file["name"] for file in shown["files"]] == ["a.csv"]
    assert redis.hget(f"{jobs.root}schedule:n", "unique_key") == b"u"


# --- words ----------------------------------------------------------------------

USAGE = [
    ("queue purge", "NAME is missing"),
    ("queue set default", "SETTING=VALUE is missing"),
    ("queue set default paused", '"paused" is not SETTING=VALUE'),
    ("schedule add n", "SCHEDULE is missing"),
    ("schedule add n @daily", "QUESTION is missing (or --job FILE)"),
    ("dead ls --limit x", '"x", must be a number'),
    ("retry" + " x" * 65, '"x" is one word too many: at most 64 at once'),
    ("dead rm" + " x" * 65, '"x" is one word too many: at most 64 at once'),
    ("queue list", 'quern queue: there is no verb "list"'),
    ("completion tcsh", "for bash, zsh and fish"),
]


@pytest.mark.parametrize("words, said", USAGE)
def test_usage(words, said, quern, redis):
    assert said in quern(*words.split(), code=64)


def test_no_such_setting(quern, jobs):
    said = quern("queue", "set", "default", "depth=1", code=65)
    assert 'there is no setting "depth": paused, max_depth' in said


OFFERED = [
    ("que", "queue"),
    ("queue p", "pause purge"),
    ("run --pr", "--priority --prefix"),
    ("run --priority h", "high"),
    ("dead ls --li", "--limit"),
    ("completion z", "zsh"),
    ("help queue", "queue"),
    ("nonsense x", ""),
]


@pytest.mark.parametrize("line, offered", OFFERED)
def test_what_a_shell_may_offer(line, offered, quern):
    said = quern("completion", "words", "--", *line.split(" "))
    assert said.split() == offered.split()


def test_bash_completes_quern(quern):
    script = quern("completion", "bash")
    words = "COMP_WORDS=(quern queue pu); COMP_CWORD=2; _quern; echo ${COMPREPLY[@]}"
    path = f"{quern.program.rpartition('/')[0]}:{quern.env['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"compopt() {{ :; }}\n{script}\n{words}"],
        env={"PATH": path},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.stdout == "purge\n", done
