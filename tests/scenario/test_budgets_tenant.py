"""A tenant's budget: reserved before a request, settled after it, whoever dies
in between; who is over it waits for the next period."""

import json
import signal
import threading
import time

import pytest
from servers import wait_until
from stack import ROOT, Stack

REPLY = {"text": "x", "usage": {"prompt_tokens": 900, "completion_tokens": 100}}
DAY_MS = 24 * 3600 * 1000


@pytest.fixture
def stack(tmp_path):
    with Stack(executor=False) as stack:
        price = {"input": 1, "output": 1}
        models = {
            "default": {"url": stack.model.url, "model": "a"},
            "priced": {"url": stack.model.url, "model": "b", "price": price},
        }
        path = tmp_path / "models.json"
        path.write_text(json.dumps(models))
        stack.settings.update(models=path, lease="600ms")
        yield stack


def script(stack, *replies):
    """One a request, then the last one for ever."""
    replies = [*replies, *[replies[-1]] * 50]
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])
    stack.model.reset()


def budget(stack, tenant="acme", **settings):
    pairs = [x for k, v in settings.items() for x in (f"{k}:{tenant}", v)]
    stack.call("queue_set", "default", *pairs)


def spent(stack, tenant="acme"):
    """Tokens and cost: spent, and held."""
    names = ("tokens", "cost", "held_tokens", "held_cost")
    found = stack.db.hmget(f"{ROOT}spent:default/{tenant}", names)
    return tuple(int(value or 0) for value in found)


def begin_of_period(ms):
    time.sleep((ms - time.time() * 1000 % ms) / 1000)


# -------------------------------------------------------------- who is over


def test_what_it_took_is_counted(stack):
    budget(stack, tenant_tokens=100_000)
    script(stack, REPLY)
    stack.consumer()
    for model in ("default", "priced"):
        assert stack.run(prompt="go", tenant="acme", model=model)["answer"] == "x"
    assert spent(stack) == (2000, 1000, 0, 0)
    assert stack.run(prompt="go", tenant="other")["answer"] == "x"
    assert stack.db.keys(f"{ROOT}spent:*") == [b"quern:{000}:spent:default/acme"]


def test_who_is_over_it_waits_for_the_next_period(stack):
    """Out of the consumer's hands, and it is no try of the job."""
    budget(stack, tenant_tokens=1600, tenant_budget_ms=10000)
    script(stack, REPLY)
    stack.consumer(hold=0, slots=1, max_attempts=1)
    begin_of_period(10000)
    limits = {"max_tokens": 600}
    first = stack.run(prompt="go", tenant="acme", limits=limits)
    second = stack.submit(prompt="go", tenant="acme", limits=limits)
    waiting = stack.wait_event(second, "job.waiting")
    assert first["status"] == "completed" and waiting["data"]["reason"] == "budget"
    assert stack.model.counts()["total"] == 1
    assert waiting["data"]["until"] % 10000 < 100
    (retrying,) = [e for e in stack.events(second) if e["type"] == "job.retrying"]
    error = retrying["data"]["error"]
    assert error["code"] == "tenant_budget" and error["retryable"]
    assert "tenant acme has 1600 tokens in 10000 ms; 1000 tokens of it are spent" in error["message"]
    other = stack.run(prompt="go", tenant="other")
    assert other["status"] == "completed", "nobody else waits for it"
    result = stack.result(second)
    assert result["status"] == "completed" and result["attempts"] == 1
    assert "repeated_calls" not in result["usage"]
    stack.check_events(second)


def test_who_cannot_wait_so_long_is_told(stack):
    budget(stack, tenant_tokens=1600, tenant_budget_ms=7 * DAY_MS)
    script(stack, REPLY)
    stack.consumer()
    limits = {"max_tokens": 600}
    stack.run(prompt="go", tenant="acme", limits=limits)
    result = stack.run(
        prompt="go", tenant="acme", limits={"deadline_ms": 60_000, **limits}
    )
    assert result["status"] == "failed"
    assert result["error"]["code"] == "tenant_budget" and result["error"]["retryable"]
    assert "1000 tokens of it are spent or reserved" in result["error"]["message"]
    assert "it may be made in" in result["error"]["message"]
    # Without a deadline of its own it has the time.
    patient = stack.submit(prompt="go", tenant="acme", limits=limits)
    until = stack.wait_event(patient, "job.waiting")["data"]["until"]
    assert until % (7 * DAY_MS) < 100 and stack.state(patient) == "waiting"
    # Somebody has raised it: it need not wait that long to be cancelled either.
    stack.call("cancel", patient)
    assert stack.result(patient)["status"] == "cancelled"
    assert stack.model.counts()["total"] == 1


def test_what_is_more_than_all_of_it_fails_at_once(stack):
    budget(stack, tenant_tokens=1600)
    stack.consumer()
    result = stack.run(prompt="go", tenant="acme")
    assert result["error"]["code"] == "tenant_budget"
    assert not result["error"].get("retryable")
    assert "less in max_tokens may do" in result["error"]["message"]


def test_money_needs_a_price(stack):
    budget(stack, tenant_cost=1_000_000)
    script(stack, REPLY)
    stack.consumer()
    result = stack.run(prompt="go", tenant="acme")
    assert result["error"]["code"] == "tenant_budget"
    said = "has a budget of $1.00, and model default has no price"
    assert said in result["error"]["message"]
    result = stack.run(prompt="go", tenant="acme", model="priced")
    assert result["usage"]["cost"] == 1000 and spent(stack) == (1000, 1000, 0, 0)


def test_who_only_waits_for_what_others_hold_goes_on_soon(stack):
    budget(stack, tenant_tokens=6000)
    script(stack, {**REPLY, "delay_ms": 1500}, REPLY)
    stack.consumer()
    jobs = [stack.submit(prompt=f"go {n}", tenant="acme") for n in range(2)]
    for job in jobs:
        assert stack.result(job)["status"] == "completed"
    types = sum((stack.types(job) for job in jobs), [])
    assert "job.retrying" in types and "job.waiting" not in types
    assert spent(stack) == (2000, 0, 0, 0)


# ------------------------------------------------------------------ refused


def test_what_was_refused_costs_nothing(stack):
    budget(stack, tenant_tokens=6000)
    script(stack, {"status": 503}, {"status": 429}, {"status": 400, "error": "no"})
    stack.consumer(max_attempts=5)
    result = stack.run(prompt="go", tenant="acme")
    assert result["error"]["code"] == "model_rejected"
    assert stack.model.counts()["total"] == 3 and spent(stack) == (0, 0, 0, 0)
    assert "usage" not in result
    script(stack, {"status": 503})
    result = stack.run(prompt="go", tenant="acme", retry={"max_attempts": 2})
    assert result["error"]["code"] == "model_unavailable"
    assert spent(stack) == (0, 0, 0, 0)


def test_nothing_is_held_while_a_job_waits(stack):
    budget(stack, tenant_tokens=6000)
    busy = {"status": 429, "headers": {"Retry-After": "60"}, "error": "busy"}
    script(stack, busy)
    stack.consumer(hold=0)
    job = stack.submit(prompt="go", tenant="acme")
    stack.wait_event(job, "job.waiting")
    assert spent(stack) == (0, 0, 0, 0)
    stack.call("cancel", job)


# ------------------------------------------------------------------- killed


def test_a_request_whose_outcome_nobody_knows_counts(stack):
    budget(stack, tenant_tokens=20_000)
    script(stack, {**REPLY, "delay_ms": 60_000}, REPLY)
    first = stack.consumer()
    job = stack.submit(prompt="go", tenant="acme")
    wait_until(lambda: stack.model.counts()["total"] == 1, what="it is asked")
    held = spent(stack)[2]
    assert held > 4096
    first.kill()
    assert spent(stack) == (0, 0, held, 0)
    stack.consumer()
    result = stack.result(job)
    assert result["usage"]["uncounted_tokens"] == held
    assert spent(stack) == (held + 1000, 0, 0, 0)


def test_a_zombie_settles_nothing(stack):
    """It is stopped while the model works, and wakes when another has the job."""
    budget(stack, tenant_tokens=20_000)
    script(stack, {**REPLY, "delay_ms": 1000}, REPLY)
    first = stack.consumer()
    job = stack.submit(prompt="go", tenant="acme")
    wait_until(lambda: stack.model.counts()["total"] == 1, what="it is asked")
    held = spent(stack)[2]
    first.signal(signal.SIGSTOP)
    stack.consumer()
    assert stack.result(job)["status"] == "completed"
    first.signal(signal.SIGCONT)
    first.wait_for('"job.lost"')
    time.sleep(1)
    assert spent(stack) == (held + 1000, 0, 0, 0)


def test_kills_at_any_time_let_nobody_have_more(stack):
    """Of all requests that the model has answered, none is missing."""
    budget(stack, tenant_tokens=10_000_000)
    script(stack, {**REPLY, "delay_ms": 200})
    jobs = [stack.submit(prompt=f"go {n}", tenant="acme") for n in range(60)]
    stop = threading.Event()

    def kill():
        while not stop.is_set():
            consumer = stack.consumer(max_crashes=100, slots=4)
            stop.wait(0.35)
            consumer.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    time.sleep(4)
    stop.set()
    killer.join()
    stack.consumer(max_crashes=100)
    results = [stack.result(job, timeout=60) for job in jobs]
    assert all(result["status"] == "completed" for result in results)
    tokens, _, held, _ = spent(stack)
    told = sum(
        sum(result["usage"].get(f"{n}_tokens", 0) for n in ("input", "output"))
        + result["usage"].get("uncounted_tokens", 0)
        for result in results
    )
    repeated = sum(r["usage"].get("repeated_calls", 0) for r in results)
    assert repeated > 0, "no kill was between the two"
    assert tokens == told and held == 0
    assert tokens >= 1000 * stack.model.counts()["total"]


# ------------------------------------------------------------- round trips


def steps_of(stack, **job):
    """Names of the steps that Redis was asked for, by the job's consumer."""
    names = []
    with stack.redis.client().monitor() as monitor:
        id = stack.submit(**job)
        for told in monitor.listen():
            words = told["command"].split()
            beats = words[1:2] == ["quern_v1_beat"]  # as many as there is time for
            if words[0] == "FCALL" and id in words[4:6] and not beats:
                names.append(words[1])
            if words[1:2] == ["quern_v1_finish_many"]:
                return names


def test_it_costs_no_round_trip(stack):
    """A budget or none: the same steps, one with the intent, one with the reply."""
    script(stack, REPLY)
    stack.consumer(delta=0, lease="1m")
    without = steps_of(stack, prompt="go", tenant="acme")
    budget(stack, tenant_tokens=100_000)
    within = steps_of(stack, prompt="go", tenant="acme")
    assert spent(stack)[0] == 1000
    assert without == within and without.count("quern_v1_spend") == 2
