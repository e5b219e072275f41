"""What a job has used up that was stopped from outside: a request that is under
way may have been paid for, whoever writes the result."""

import json
import time

import msgpack
import pytest
from command import Command
from held_redis import HeldRedis
from servers import PATIENCE_S, wait_until
from stack import ROOT, Stack

PAID = {
    "tool_calls": [{"id": "c1", "name": "nobody", "arguments": "{}"}],
    "usage": {"prompt_tokens": 900, "completion_tokens": 100},
}
SLOW = {"text": "and so on " * 100, "chunk_ms": 1000}
BUSY = {"status": 429, "headers": {"Retry-After": "60"}, "error": "busy"}
COUNTED = {"input_tokens": 900, "output_tokens": 100, "model_calls": 1, "cost": 1000}


@pytest.fixture
def stack(tmp_path):
    price = {"input": 1, "output": 1}
    with Stack(executor=False, lease="600ms", hold=0) as stack:
        model = {"url": stack.model.url, "model": "m", "price": price}
        path = tmp_path / "models.json"
        path.write_text(json.dumps({"default": model}))
        stack.settings["models"] = path
        yield stack


def begin(stack, *replies, **job):
    """One a request; the job, when the last of them is asked for."""
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])
    job = stack.submit(prompt="go", **job)
    wait_until(lambda: stack.model.counts()["total"] == len(replies), what="it asks")
    return job


def reserved(stack, job):
    """For its last request: tokens, cost."""
    records = stack.db.lrange(f"{ROOT}journal:{job}", 0, -1)
    intent = msgpack.unpackb(records[-1])
    assert intent["kind"] == "model_intent"
    return intent["reserved"], intent["cost"]


def expected(stack, job):
    """A reply that was counted, and a request that nobody knows the outcome of."""
    tokens, cost = reserved(stack, job)
    assert tokens > 4096 and cost > 4096
    usage = {**COUNTED, "uncounted_tokens": tokens, "cost": 1000 + cost}
    return {**usage, "models": [{"name": "default", **usage}]}


def sleep_until(at):
    time.sleep(max(0, at - time.monotonic()))


def check(stack, job, status, usage):
    result = stack.result(job)
    assert result["status"] == status and result.get("usage") == usage, result
    stack.check_events(job)
    [outcome] = Command(stack.redis.url, "/").json("replay", job)
    assert outcome["equal"], outcome


def test_a_job_that_is_cancelled(stack):
    stack.consumer()
    job = begin(stack, PAID, SLOW)
    stack.wait_event(job, "message.delta")
    stack.call("cancel", job)
    check(stack, job, "cancelled", expected(stack, job))


def test_a_job_that_meets_its_deadline(stack):
    stack.consumer()
    job = begin(stack, PAID, SLOW, limits={"deadline_ms": 6000})
    check(stack, job, "failed", expected(stack, job))


@pytest.mark.parametrize("ends", ["cancelled", "failed"])
def test_nobody_holds_it_any_more(stack, ends):
    """It ends in a step of Redis, when its lease has."""
    limits = {"deadline_ms": 6000} if ends == "failed" else {}
    first = stack.consumer()
    submitted = time.monotonic()
    job = begin(stack, PAID, {**SLOW, "delay_ms": 60_000}, limits=limits)
    first.kill()
    if ends == "cancelled":
        stack.call("cancel", job)
    else:
        sleep_until(submitted + 6.5)
    stack.consumer()
    check(stack, job, ends, expected(stack, job))
    assert stack.model.counts()["total"] == 2, "nobody has asked again"


@pytest.mark.parametrize("step, deadline_s", [("request", 4), ("reply", 9)])
def test_a_step_is_being_written(stack, step, deadline_s):
    """Then the result tells of it, and so does what the tenant has spent: the
    journal has it, and whoever reads that. A request that was not sent costs
    nothing."""
    with HeldRedis(stack.redis.socket) as way:
        stack.consumer(redis_url=way.url, lease="20s")
        stack.call("queue_set", "default", "tenant_tokens", 100_000)
        stack.model.script([{**PAID, "delay_ms": 5000}])
        if step == "request":
            way.hold(b"turn.started")
        deadline = time.monotonic() + deadline_s + 0.5
        limits = {"deadline_ms": 1000 * deadline_s}
        job = stack.submit(prompt="go", limits=limits)
        if step == "reply":
            stack.wait_event(job, "turn.started")
            way.hold(b"message.completed")
        assert way.held.wait(PATIENCE_S)
        sleep_until(deadline)
        way.let_go()
        paid = {**COUNTED, "models": [{"name": "default", **COUNTED}]}
        check(stack, job, "failed", paid if step == "reply" else None)
        spent = stack.db.hget(f"{ROOT}spent:default/default", "tokens")
        assert int(spent or 0) == (1000 if step == "reply" else 0)
        assert stack.model.counts()["total"] == (step == "reply")


@pytest.mark.parametrize(
    "hold_ms, event", [(0, "job.waiting"), (60_000, "job.retrying")]
)
def test_a_refused_request_has_cost_nothing(stack, hold_ms, event):
    """It waits for its endpoint, in nobody's hands or in a consumer's."""
    stack.consumer(hold=f"{hold_ms}ms")
    job = begin(stack, PAID, BUSY)
    stack.wait_event(job, event)
    stack.call("cancel", job)
    usage = {**COUNTED, "models": [{"name": "default", **COUNTED}]}
    check(stack, job, "cancelled", usage)
