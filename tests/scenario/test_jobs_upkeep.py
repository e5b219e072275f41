"""What consumers do for all of them: what is due goes on, schedules go off, and
operators are heard."""

import json
import signal
import subprocess
import time

import pytest
from command import QUERN
from held_redis import HeldRedis
from servers import PATIENCE_S, wait_until
from stack import DRAINED, ROOT, Stack


@pytest.fixture(scope="module")
def stack():
    with Stack(lease="900ms") as stack:
        stack.consumer(name="first")
        yield stack


def quern(stack, *words, code=0):
    done = subprocess.run(
        [QUERN, *words],
        env={"REDIS_URL": stack.redis.url, "HOME": "/nowhere"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, done
    return done.stdout


def workers(stack):
    lines = quern(stack, "worker", "ls", "--json").splitlines()
    return {line["worker"]: line for line in map(json.loads, lines)}


def test_a_delayed_job_runs_when_its_time_has_come(stack):
    began = time.time()
    job = stack.submit(kind="code", cells=["1"], pairs={"delay_ms": 700})
    assert stack.state(job) == "scheduled"
    assert stack.result(job)["status"] == "completed"
    assert time.time() - began >= 0.7


def test_a_deadline_passes_while_nobody_runs_the_job(stack):
    job = stack.submit(
        kind="code", cells=["1"], queue="nobodys", limits={"deadline_ms": 300}
    )
    assert stack.result(job)["error"]["code"] == "deadline_exceeded"


def test_a_schedule_goes_off_again_and_again(stack):
    quern(stack, "schedule", "add", "tick", "every 1s", "hello")
    seen = set()

    def jobs():
        seen.add(stack.db.hget(f"{ROOT}schedule:tick", "last_id"))
        return len(seen - {None}) >= 3

    wait_until(jobs, what="three jobs of the schedule")
    quern(stack, "schedule", "rm", "tick", "--yes")
    for job in seen - {None}:
        result = stack.result(job.decode())
        assert (result["status"], result["id"]) == ("completed", job.decode())


def test_times_that_nobody_could_take_are_made_up_for_once(stack):
    quern(stack, "schedule", "add", "late", "every 1h", "hello")
    past = int(time.time() * 1000) - 7 * 3600 * 1000
    stack.db.hset(f"{ROOT}schedule:late", "next_at", past)
    stack.db.zadd(f"{ROOT}schedules", {"late": past})

    def facts():
        return stack.db.hgetall(f"{ROOT}schedule:late")

    wait_until(lambda: b"last_id" in facts(), what="it goes off")
    assert int(facts()[b"last_at"]) == past
    assert int(facts()[b"next_at"]) > time.time() * 1000
    quern(stack, "schedule", "rm", "late", "--yes")


def test_a_schedule_that_is_removed_while_it_is_due_starts_no_job():
    with Stack(lease="900ms") as stack, HeldRedis(stack.redis.socket) as way:

        def is_due(name):
            quern(stack, "schedule", "add", name, "every 1h", "hello")
            stack.db.hset(f"{ROOT}schedule:{name}", "next_at", 1)
            stack.db.zadd(f"{ROOT}schedules", {name: 1})

        is_due("removed")
        way.hold(b"quern_v1_promote")
        stack.consumer(redis_url=way.url)
        assert way.held.wait(PATIENCE_S), "it is read as due"
        quern(stack, "schedule", "rm", "removed", "--yes")
        is_due("after")
        way.let_go()
        wait_until(
            lambda: stack.db.hget(f"{ROOT}schedule:after", "last_id"),
            what="the next one goes off",
        )
        assert len(list(stack.db.scan_iter(f"{ROOT}job:*"))) == 1


def test_a_schedule_that_nobody_can_read_goes_off_once(stack):
    quern(stack, "schedule", "add", "broken", "every 1h", "hello")
    stack.db.hset(f"{ROOT}schedule:broken", mapping={"spec": "moonrise", "next_at": 1})
    stack.db.zadd(f"{ROOT}schedules", {"broken": 1})
    facts = wait_until(
        lambda: stack.db.hget(f"{ROOT}schedule:broken", "last_id"), what="it goes off"
    )
    assert stack.result(facts.decode())["status"] == "completed"
    assert stack.db.hget(f"{ROOT}schedule:broken", "next_at") == b"0"
    assert stack.consumers[0].wait_for('"schedule.broken"')
    quern(stack, "schedule", "rm", "broken", "--yes")


def test_a_lane_is_let_in_at_its_rate(stack):
    quern(stack, "queue", "set", "default", "tenant_rate:slow=2", "tenant_rate_ms=500")
    began = time.time()
    jobs = [stack.submit(kind="code", cells=["1"], tenant="slow") for _ in range(6)]
    for job in jobs:
        assert stack.result(job)["status"] == "completed"
    assert time.time() - began >= 0.9  # two at once, then one in 250 ms
    quern(stack, "queue", "set", "default", "tenant_rate:slow=", "tenant_rate_ms=")


def test_a_stream_that_was_deleted_behind_a_busy_worker_comes_back(stack):
    busy = stack.consumer(name="busy", queues="mended", slots=1)
    lasting = "import time; time.sleep(4)"
    jobs = [
        stack.submit(kind="code", cells=[cell], queue="mended")
        for cell in (lasting, "1", "2")
    ]
    stack.wait_event(jobs[0], "tool.started")
    walked = f"{ROOT}mended"
    wait_until(lambda: stack.db.pttl(walked) > 60000, what="nobody walks")
    stack.db.delete(f"{ROOT}work:mended:normal")
    jobs.append(stack.submit(kind="code", cells=["3"], queue="mended"))
    for job in jobs:
        assert stack.result(job, 60)["status"] == "completed"
    busy.kill()


def test_a_worker_reports_what_it_does(stack):
    wait_until(lambda: "first" in workers(stack), what="its report")
    line = workers(stack)["first"]
    assert (line["queues"], line["mode"], line["pid"]) == (
        "default",
        "serving",
        stack.consumers[0].pid,
    )
    job = stack.submit(kind="code", cells=["import time; time.sleep(30)"])
    wait_until(lambda: workers(stack)["first"]["running"] == 1, what="that it runs one")
    stack.call("cancel", job)


def test_a_queue_is_known_when_somebody_serves_it(stack):
    """Also before its first job: its streams are there, which nobody makes then."""
    worker = stack.consumer(name="server", queues="served")
    wait_until(lambda: "server" in workers(stack), what="its report")
    assert stack.db.sismember(f"{ROOT}queues", "served")
    job = stack.submit(kind="code", cells=["1"], queue="served")
    assert stack.result(job)["status"] == "completed"
    names = [
        json.loads(line)["queue"]
        for line in quern(stack, "queue", "ls", "--json").splitlines()
    ]
    assert "served" in names
    worker.kill()


def test_a_worker_that_is_drained_ends_what_it_runs_and_leaves(stack):
    leaver = stack.consumer(name="leaver", queues="aside")
    job = stack.submit(
        kind="code", cells=["import time; time.sleep(1.5); 'done'"], queue="aside"
    )
    stack.wait_event(job, "tool.started")
    quern(stack, "worker", "drain", "leaver")
    leaver.wait_for('"drain"')
    assert leaver.wait() == DRAINED
    result = stack.result(job)
    assert (result["status"], result["attempts"]) == ("completed", 1)
    quern(stack, "worker", "resume", "leaver")
    wait_until(lambda: "leaver" not in workers(stack), what="that it is forgotten")
    assert stack.consumers[0].alive()


def test_who_stood_still_goes_on_with_what_nobody_has_taken():
    """Its lease is over, and its own sweep is due: it holds on first."""
    with Stack(lease="1s", executor=False) as stack:
        stack.model.script([{"text": "done", "delay_ms": 60000}])
        consumer = stack.consumer()
        job = stack.submit(prompt="x")
        wait_until(lambda: stack.model.counts()["total"] == 1)
        for n in range(8):
            consumer.signal(signal.SIGSTOP)
            time.sleep(1.5)
            consumer.signal(signal.SIGCONT)
            time.sleep(0.3 + 0.05 * n)
        assert stack.types(job).count("job.started") == 1
        assert stack.model.counts()["total"] == 1
