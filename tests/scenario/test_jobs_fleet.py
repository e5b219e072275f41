"""Consumers come, go, are asked to stop; Redis goes away; jobs are cancelled.

Nothing here needs code to run: the model is what takes its time.
"""

import json
import signal
import time

import pytest
from held_redis import HeldRedis
from servers import KIND, PATIENCE_S, wait_until
from stack import ROOT, Stack

SLOW = [{"text": "at last", "delay_ms": 1500}]
one_way = pytest.mark.skipif(KIND != "single", reason="HeldRedis holds one way")
short = pytest.mark.skipif(KIND != "single", reason="a failover outlasts the job")


@pytest.fixture
def stack():
    with Stack(executor=False, redis={"aof": True}) as stack:
        yield stack


def wait_busy(stack, job):
    stack.wait_event(job, "turn.started")
    wait_until(lambda: stack.model.counts()["total"] > 0, what="the model is asked")


def pending(stack):
    group = stack.db.xpending(f"{ROOT}work:default:normal", "consumers")
    return group["pending"]


def test_a_drain_lets_what_runs_end(stack):
    stack.model.script(SLOW)
    consumer = stack.consumer()
    job = stack.submit(prompt="x")
    wait_busy(stack, job)
    consumer.signal(signal.SIGTERM)
    consumer.wait_for('"drain"')
    late = stack.submit(prompt="y")
    assert consumer.wait() == 0
    assert stack.state(job) == "completed"
    assert stack.state(late) == "queued"
    assert stack.model.counts()["total"] == 1


def test_a_drain_that_takes_too_long_hands_back(stack):
    stack.model.script([{"text": "at last", "delay_ms": 60000}])
    consumer = stack.consumer(drain="200ms")
    job = stack.submit(prompt="x")
    wait_busy(stack, job)
    consumer.signal(signal.SIGTERM)
    assert consumer.wait() == 0
    facts = stack.facts(job)
    assert facts["state"] == "queued"
    assert facts["attempts"] == "0" and "crashes" not in facts, "nobody is charged"
    stack.model.script([])
    stack.consumer()
    result = stack.result(job)
    assert result["status"] == "completed" and result["attempts"] == 1
    queued = [e["data"] for e in stack.check_events(job) if e["type"] == "job.queued"]
    assert queued[1]["reason"] == "released"


def test_a_second_term_hands_back_now(stack):
    stack.model.script([{"text": "at last", "delay_ms": 60000}])
    consumer = stack.consumer(drain="1m")
    job = stack.submit(prompt="x")
    wait_busy(stack, job)
    consumer.signal(signal.SIGTERM)
    consumer.wait_for('"drain"')
    consumer.signal(signal.SIGTERM)
    assert consumer.wait() == 0
    assert stack.state(job) == "queued"


@one_way
def test_work_that_comes_in_a_drain_goes_back(stack):
    """It was claimed before, the answer was slow: it is not begun."""
    stack.model.script([{"text": "at last", "delay_ms": 2500}])
    with HeldRedis(stack.redis.socket) as way:
        consumer = stack.consumer(redis_url=way.url)
        first = stack.submit(prompt="x")
        wait_busy(stack, first)
        way.hold(b"XREADGROUP")
        assert way.held.wait(PATIENCE_S)
        late = stack.submit(prompt="y")
        wait_until(lambda: pending(stack) == 1, what="it is claimed")
        consumer.signal(signal.SIGTERM)
        consumer.wait_for('"drain"')
        way.let_go()
        assert consumer.wait() == 0
    assert stack.state(first) == "completed"
    facts = stack.facts(late)
    assert facts["state"] == "queued" and facts["attempts"] == "0"
    assert stack.types(late)[-1] == "job.queued"
    assert pending(stack) == 0, "nobody has to wait for a lease to end"
    assert stack.model.counts()["total"] == 1


@one_way
def test_a_lost_answer_is_no_crash(stack):
    """Jobs have started, and nobody heard of it: whoever asked asks again, long
    before their leases end."""
    with HeldRedis(stack.redis.socket) as way:
        stack.consumer(redis_url=way.url, lease="10m")
        way.hold(b"quern_v1_take")
        jobs = [stack.submit(prompt="x") for _ in range(3)]
        assert way.held.wait(PATIENCE_S)
        stack.wait_event(jobs[0], "job.started")
        way.drop()
        results = [stack.result(job) for job in jobs]
    assert [result["status"] for result in results] == ["completed"] * 3
    assert [result["attempts"] for result in results] == [1] * 3
    assert stack.types(jobs[0]).count("job.started") == 1
    assert stack.model.counts()["total"] == 3


@one_way
def test_what_is_handed_back_is_handed_back_for_certain(stack):
    """The answer to an earlier write is not the answer to the release."""
    with HeldRedis(stack.redis.socket) as way:
        consumer = stack.consumer(redis_url=way.url, lease="1m")
        way.hold(b"quern_v1_spend")
        job = stack.submit(prompt="x")
        assert way.held.wait(PATIENCE_S)
        way.lose(b"quern_v1_release")
        for line in ('"drain"', '"drain.release"'):
            consumer.signal(signal.SIGTERM)
            consumer.wait_for(line)
        way.let_go()
        assert consumer.wait() == 0
        assert way.lost.is_set()
    assert stack.state(job) == "queued"
    assert stack.facts(job)["attempts"] == "0"


def test_quiet_claims_nothing(stack):
    consumer = stack.consumer()
    consumer.signal(signal.SIGTSTP)
    consumer.wait_for('"quiet"')
    job = stack.submit(prompt="x")
    time.sleep(0.5)
    assert stack.state(job) == "queued"
    assert consumer.alive()


def asked(stack):
    """How often it was asked for jobs: a take reads its ticket, once."""
    stats = stack.db.info("commandstats")
    return stats["cmdstat_get"]["calls"] + stats["cmdstat_xreadgroup"]["calls"]


def test_a_paused_queue_is_left_alone_until_it_goes_on(stack):
    replies = [{"text": "ok", "delay_ms": 6000}, *[{"text": "ok"}] * 4]
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])
    jobs = [stack.submit(prompt="x") for _ in range(5)]
    stack.consumer(slots=1)
    stack.wait_event(jobs[0], "job.started")
    stack.call("queue_set", "default", "paused", "1")
    stack.result(jobs[0])
    wait_until(stack.is_quiet, what="the others stand in their lane")
    before = asked(stack)
    time.sleep(1)
    assert asked(stack) - before < 20
    assert [stack.state(job) for job in jobs[1:]] == ["queued"] * 4
    stack.call("queue_set", "default", "paused", "")
    assert [stack.result(job)["attempts"] for job in jobs] == [1] * 5


def test_the_state_is_dumped(stack):
    stack.model.script(SLOW)
    consumer = stack.consumer()
    job = stack.submit(prompt="x")
    wait_busy(stack, job)
    consumer.signal(signal.SIGUSR1)
    line = json.loads(consumer.wait_for('"state.attempt"'))
    assert line["job"] == job and line["state"] == "requesting"
    assert json.loads(consumer.wait_for('"what":"state"'))["running"] == 1


def test_a_waiting_job_is_cancelled_at_once(stack):
    job = stack.submit(prompt="x")
    assert stack.call("cancel", job, "changed my mind") == b"cancelled"
    assert stack.result(job)["status"] == "cancelled"
    stack.consumer()
    assert stack.run(prompt="y")["status"] == "completed"
    assert stack.model.counts()["total"] == 1, "only the second one was asked"


def test_a_running_job_is_cancelled_soon(stack):
    stack.model.script([{"text": "at last", "delay_ms": 60000}])
    # With such a lease the beat alone would take minutes.
    stack.consumer(lease="10m")
    job = stack.submit(prompt="x")
    wait_busy(stack, job)
    assert stack.call("cancel", job, "enough") == b"asked"
    assert stack.result(job)["status"] == "cancelled"
    stack.check_events(job)


def test_a_dead_consumers_job_goes_on(stack):
    stack.model.script([{"text": "at last", "delay_ms": 60000}])
    first = stack.consumer(lease="600ms")
    job = stack.submit(prompt="x")
    wait_busy(stack, job)
    first.kill()
    stack.model.script([])
    stack.consumer(lease="600ms")
    result = stack.result(job)
    assert result["status"] == "completed" and result["attempts"] == 2
    assert result["usage"]["repeated_calls"] == 1, "what became of it is not known"
    types = [e["type"] for e in stack.check_events(job)]
    assert types.count("job.lost") == 1 and types.count("job.started") == 2


def test_a_job_that_kills_its_consumers_fails(stack):
    stack.model.script([{"text": "at last", "delay_ms": 60000}])
    job = stack.submit(prompt="x")
    for _ in range(2):
        seen = stack.types(job).count("turn.started")
        consumer = stack.consumer(lease="600ms", max_crashes=1)
        wait_until(
            lambda: stack.types(job).count("turn.started") > seen,
            what="it is taken up",
        )
        consumer.kill()
    stack.consumer(lease="600ms", max_crashes=1)
    result = stack.result(job)
    assert result["status"] == "failed" and result["error"]["code"] == "crashed"


def test_a_zombie_writes_nothing(stack):
    stack.model.script(
        [[{"text": "of the first", "delay_ms": 2500}, {"text": "of the second"}]]
    )
    zombie = stack.consumer(lease="600ms")
    job = stack.submit(prompt="x")
    wait_busy(stack, job)
    zombie.signal(signal.SIGSTOP)
    stack.consumer(lease="600ms")
    result = stack.result(job)
    assert result["answer"] == "of the second"
    before = stack.check_events(job)
    zombie.signal(signal.SIGCONT)
    zombie.wait_for('"job.lost"')
    time.sleep(2)
    assert stack.check_events(job) == before
    assert zombie.alive()


def test_redis_dies_while_the_model_thinks(stack):
    stack.model.script(SLOW)
    consumer = stack.consumer(lease="10s")
    job = stack.submit(prompt="x")
    wait_busy(stack, job)
    stack.redis.kill()
    time.sleep(2)  # the answer comes, and cannot be written
    stack.redis.start()
    result = stack.result(job)
    assert result["status"] == "completed" and result["answer"] == "at last"
    assert result["attempts"] == 1 and consumer.alive()
    assert stack.model.counts()["total"] == 1
    stack.check_events(job)
    assert stack.run(prompt="y")["status"] == "completed", "it claims again"


def test_an_outage_longer_than_a_lease_takes_no_job_from_its_holder(stack):
    """Who is back first must not think that the others have died."""
    stack.model.script([{"text": "at last", "delay_ms": 40000}])
    for _ in range(4):
        stack.consumer(lease="6s", slots=2)
    jobs = [stack.submit(prompt=f"x{n}") for n in range(8)]
    wait_until(lambda: stack.model.counts()["open"] == 8, what="all run")
    for _ in range(2):
        stack.redis.kill()
        time.sleep(8)
        stack.redis.start()
        time.sleep(10)  # for two walks of those who look for the dead
    for job in jobs:
        result = stack.result(job)
        assert result["status"] == "completed" and result["attempts"] == 1
        stack.check_events(job)
    assert stack.model.counts()["total"] == 8


def test_redis_forgets_everything(stack):
    consumer = stack.consumer()
    assert stack.run(prompt="x")["status"] == "completed"
    stack.db.flushall()
    assert stack.run(prompt="y")["status"] == "completed"
    stack.db.execute_command("FUNCTION", "FLUSH")
    for stream in stack.db.keys(f"{ROOT}work:*"):
        stack.db.delete(stream)
    stack.db.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    wait_until(
        lambda: stack.db.execute_command("FUNCTION", "LIST"), what="the library is back"
    )
    assert stack.run(prompt="z")["status"] == "completed"
    assert consumer.alive()


def test_no_more_than_its_slots(stack):
    stack.model.script([{"text": "ok", "delay_ms": 300}])
    stack.consumer(slots=3)
    jobs = [stack.submit(prompt=f"job {n}") for n in range(12)]
    for job in jobs:
        assert stack.result(job)["status"] == "completed"
    assert stack.model.counts()["peak"] <= 3
    assert stack.is_quiet()


def test_the_urgent_comes_first(stack):
    low = [stack.submit(prompt="x", priority="low") for _ in range(3)]
    high = [stack.submit(prompt="x", priority="high") for _ in range(3)]
    stack.model.script([{"text": "ok", "delay_ms": 50}])
    stack.consumer(slots=1)
    for job in low + high:
        stack.result(job)
    started = lambda job: int(stack.facts(job)["started_at"])
    assert max(map(started, high)) <= min(map(started, low))


def test_many_jobs_and_consumers(stack):
    for _ in range(3):
        stack.consumer(slots=8, lease="1m")
    jobs = [stack.submit(prompt=f"job {n}") for n in range(300)]
    for n, job in enumerate(jobs):
        assert stack.result(job, 60)["answer"] == f"You said: job {n}"
    assert stack.model.counts()["total"] == 300
    assert stack.is_quiet()


@short
def test_deltas_add_up_although_redis_dies(stack):
    text = "".join(f"piece {n}, " for n in range(200))
    stack.model.script([{"text": text, "chunk": 40, "chunk_ms": 5}])
    stack.consumer(lease="10s", delta="1ms")
    job = stack.submit(prompt="x")
    for count in (3, 30):
        wait_until(
            lambda: stack.types(job).count("message.delta") > count, what="deltas"
        )
        # Stopped first: what is sent then is never answered.
        server = stack.redis.process
        server.signal(signal.SIGSTOP)
        time.sleep(0.1)
        server.signal(signal.SIGKILL)
        stack.redis.restart()
    assert stack.result(job)["answer"] == text
    deltas = [
        e["data"]["text"]
        for e in stack.check_events(job)
        if e["type"] == "message.delta"
    ]
    assert "".join(deltas) == text, "none is lost, none stands twice"
