"""Limits on what a job's model calls may take together, and what they took."""

import json
import time

import pytest
from held_redis import HeldRedis
from servers import wait_until
from stack import Stack, call_of

ACT = {"text": "Let me see.", "tool_calls": [call_of("1 + 1")]}
PRICE = {"input": 2, "cached": 0.5, "output": 8}


def usage(input, output, **more):
    return {"prompt_tokens": input, "completion_tokens": output, **more}


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    with Stack() as stack:
        models = {
            "default": {"url": stack.model.url, "model": "a"},
            "priced": {"url": stack.model.url, "model": "b", "price": PRICE},
            "writes": {
                "url": stack.model.url,
                "dialect": "anthropic",
                "model": "d",
                "price": {**PRICE, "cache_write": 2.5},
            },
            "falls": {
                "url": stack.model.url,
                "model": "c",
                "price": PRICE,
                "fallback": "default",
            },
        }
        path = tmp_path_factory.mktemp("budgets") / "models.json"
        path.write_text(json.dumps(models))
        stack.consumer(models=path, repeats=0)
        yield stack


def script(stack, *replies):
    """One a request, then the last one for ever."""
    replies = [*replies, *[replies[-1]] * 20]
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])
    stack.model.reset()


def answers(stack, turns, each, last="Two."):
    """Acts, so many times, and an answer when it has to."""
    act = {**ACT, "usage": each}
    final = {"match": "No more tools", "replies": [{"text": last, "usage": each}]}
    stack.model.script([final, {"match": "", "replies": [act] * turns}])
    stack.model.reset()


def requests(stack):
    return [stack.model.request(n) for n in range(stack.model.counts()["total"])]


def used(result):
    """What counts against a limit."""
    names = ("input_tokens", "output_tokens", "uncounted_tokens")
    return sum(result["usage"].get(name, 0) for name in names)


# ------------------------------------------------------------------ tokens


def test_before_tokens_run_out_an_answer_is_asked_for(stack):
    answers(stack, 20, usage(3000, 50))
    result = stack.run(prompt="go", limits={"max_total_tokens": 20000})
    assert result["status"] == "incomplete" and result["answer"] == "Two."
    assert result["error"]["code"] == "token_limit"
    assert "max_total_tokens" in result["error"]["message"]
    assert used(result) <= 20000
    *acts, last = requests(stack)
    assert len(acts) == 5 and last["tool_choice"] == "none"
    assert "No more tools" in json.dumps(last)


def test_the_answer_is_as_long_as_what_is_left(stack):
    answers(stack, 20, usage(3000, 50))
    stack.run(prompt="go", limits={"max_total_tokens": 13000})
    *acts, last = requests(stack)
    assert "max_tokens" not in acts[0], "there is more than it can say"
    left = 13000 - 3050 * len(acts)
    assert 100 <= last["max_tokens"] < left - 3000


def test_a_bound_of_its_own_stays_where_it_is_less(stack):
    answers(stack, 20, usage(3000, 50))
    stack.run(prompt="go", limits={"max_total_tokens": 13000, "max_tokens": 300})
    assert {r["max_tokens"] for r in requests(stack)} == {300}


def test_what_does_not_even_allow_an_answer_is_not_asked(stack):
    script(stack, {**ACT, "usage": usage(9000, 500)}, {"text": "never"})
    result = stack.run(prompt="go", limits={"max_total_tokens": 12000})
    assert result["status"] == "incomplete"
    assert result["error"]["code"] == "token_limit"
    assert "9500 of 12000 tokens" in result["error"]["message"]
    assert result["answer"] == "Let me see.", "its best one"
    assert stack.model.counts()["total"] == 1 and len(result["cells"]) == 1


def test_less_than_a_request_is_not_asked_at_all(stack):
    script(stack, {"text": "never"})
    result = stack.run(prompt="go " * 1000, limits={"max_total_tokens": 200})
    assert result["error"]["code"] == "token_limit" and "answer" not in result
    assert stack.model.counts()["total"] == 0


def test_who_stays_below_notices_nothing(stack):
    script(
        stack, {**ACT, "usage": usage(900, 50)}, {"text": "2", "usage": usage(950, 9)}
    )
    result = stack.run(prompt="go", limits={"max_total_tokens": 100_000})
    assert result["status"] == "completed" and "error" not in result
    assert used(result) == 900 + 50 + 950 + 9
    assert "uncounted_tokens" not in result["usage"] and "cost" not in result["usage"]


def test_what_nobody_counts_is_estimated(stack):
    silent = {**ACT, "usage": None}
    final = {"match": "No more tools", "replies": [{"text": "Two.", "usage": None}]}
    stack.model.script([final, {"match": "", "replies": [silent] * 20}])
    result = stack.run(prompt="x" * 4000, limits={"max_total_tokens": 9000})
    assert result["error"]["code"] == "token_limit" and result["answer"] == "Two."
    assert "input_tokens" not in result["usage"]
    assert 1000 < result["usage"]["uncounted_tokens"] <= 9000


# -------------------------------------------------------------------- money


def test_cost_is_what_the_prices_say(stack):
    counted = usage(1001, 10, prompt_tokens_details={"cached_tokens": 1000})
    script(stack, {"text": "x", "usage": counted})
    result = stack.run(prompt="go", model="priced")
    # 1 * 2 + 1000 * 0.5 + 10 * 8 micro-dollars
    assert result["usage"]["cost"] == 582
    assert result["usage"]["models"] == [
        {
            "name": "priced",
            "input_tokens": 1001,
            "output_tokens": 10,
            "cached_tokens": 1000,
            "cost": 582,
            "model_calls": 1,
        }
    ]


def test_what_is_written_to_the_cache_has_its_price(stack):
    details = {"cached_tokens": 100, "cache_write_tokens": 800}
    script(stack, {"text": "x", "usage": usage(1000, 10, prompt_tokens_details=details)})
    result = stack.run(prompt="go", model="writes")
    # 100 * 2 + 100 * 0.5 + 800 * 2.5 + 10 * 8 micro-dollars
    assert result["usage"]["cost"] == 2330
    assert result["usage"]["cache_write_tokens"] == 800


@pytest.mark.parametrize("refused", ["refusal", "filter", "no name"])
def test_a_refused_reply_costs_what_was_counted(stack, refused):
    """Not all that was reserved for it."""
    replies = {
        "refusal": {"text": "", "refusal": "I will not."},
        "filter": {"text": "no", "finish_reason": "content_filter"},
        "no name": {"text": "", "tool_calls": [{**call_of("1"), "name": ""}]},
    }
    counted = {**replies[refused], "usage": usage(1000, 10)}
    if refused == "refusal":
        message = {"role": "assistant", "content": None, "refusal": "I will not."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"choices": [choice], "usage": usage(1000, 10)}
        counted = {"body": json.dumps(body)}
    script(stack, counted)
    retry = {"max_attempts": 2, "backoff_ms": 1}
    result = stack.run(prompt="go", model="priced", retry=retry)
    tries = 2 if refused == "no name" else 1
    code = "model_garbage" if refused == "no name" else "model_refused"
    assert (result["status"], result["error"]["code"]) == ("failed", code)
    assert stack.model.counts()["total"] == tries
    counts = {
        "input_tokens": 1000 * tries,
        "output_tokens": 10 * tries,
        "cost": 2080 * tries,
        "model_calls": tries,
    }
    assert result["usage"] == {**counts, "models": [{"name": "priced", **counts}]}


@pytest.mark.parametrize("said, cost", [(0.00123, 1230), (0, 0), ("dear", 2080)])
def test_what_the_endpoint_itself_says_counts(stack, said, cost):
    script(stack, {"text": "x", "usage": usage(1000, 10, cost=said)})
    result = stack.run(prompt="go", model="priced")
    assert result["usage"].get("cost", 0) == cost


def test_before_money_runs_out_an_answer_is_asked_for(stack):
    answers(stack, 20, usage(3000, 50))  # 6400 micro-dollars
    result = stack.run(prompt="go", model="priced", limits={"max_cost": 50_000})
    assert result["status"] == "incomplete" and result["answer"] == "Two."
    assert result["error"]["code"] == "cost_limit"
    assert "max_cost" in result["error"]["message"]
    assert "micro" not in result["error"]["message"]
    calls = stack.model.counts()["total"]
    assert result["usage"]["cost"] == calls * 6400 <= 50_000 and calls >= 4


def test_a_limit_that_nothing_would_hold_is_refused(stack):
    script(stack, {"text": "never"})
    result = stack.run(prompt="go", limits={"max_cost": 1_000_000})
    assert result["status"] == "failed" and result["error"]["code"] == "bad_field"
    assert "limits.max_cost: model default has no price" in result["error"]["message"]
    assert stack.model.counts()["total"] == 0


def test_who_has_such_a_limit_does_not_fall_back_to_where_it_would_not_hold(stack):
    down = {"status": 503}
    script(stack, down)
    members = {"retry": {"max_attempts": 1}, "model": "falls"}
    result = stack.run(prompt="go", limits={"max_cost": 1_000_000}, **members)
    assert result["error"]["code"] == "model_unavailable"
    assert stack.model.counts()["total"] == 1
    script(stack, down, {"text": "here"})
    assert stack.run(prompt="go", **members)["answer"] == "here"


# ----------------------------------------------------------------- operator


def test_the_operators_bounds_hold_for_all(stack, tmp_path):
    path = tmp_path / "models.json"
    entry = {"url": stack.model.url, "model": "b", "price": PRICE}
    path.write_text(json.dumps({"default": entry}))
    with Stack(executor=False, models=path) as bounded:
        bounded.consumer(max_total_tokens=200, max_cost=0.4)
        answers(stack, 20, usage(3000, 50))
        for limits in ({}, {"max_total_tokens": 10**9}):
            result = bounded.run(prompt="go " * 1000, limits=limits)
            assert result["error"]["code"] == "token_limit"
            assert "of 200 tokens" in result["error"]["message"]


WRONG = [
    ("free", "must be an object"),
    ({"input": 1}, "input and output are needed"),
    ({"input": -1, "output": 1}, "input must be dollars for a million tokens"),
    ({"input": 1, "output": "1"}, "output must be dollars"),
    ({"input": 1, "output": 1, "image": 1}, 'there is no "image"'),
]


@pytest.mark.parametrize("price, says", WRONG)
def test_what_is_wrong_with_a_price_is_told(tmp_path, price, says):
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps({"default": {"url": "http://x", "price": price}}))
    with Stack(executor=False) as stack:
        with pytest.raises(AssertionError) as told:
            stack.consumer(models=path)
        stack.consumers.pop()
    assert says in str(told.value)


# ------------------------------------------------------------------ crashes


def test_what_was_on_its_way_when_its_consumer_died_counts(stack):
    """It may have been paid for: counted as what was reserved for it."""
    slow = {"text": "too late", "delay_ms": 60000, "usage": usage(500, 5)}
    quick = {"text": "done", "usage": usage(500, 5)}
    with Stack(executor=False) as own:
        own.model.script([{"match": "", "in_order": True, "replies": [slow, quick]}])
        first = own.consumer(lease="500ms")
        job = own.submit(prompt="go", limits={"max_total_tokens": 50_000})
        wait_until(lambda: own.model.counts()["total"] == 1, what="it has asked")
        first.kill()
        own.consumer(lease="500ms")
        result = own.result(job)
    assert result["answer"] == "done" and result["usage"]["repeated_calls"] == 1
    # The request, and a reply without a bound.
    assert 4096 < result["usage"]["uncounted_tokens"] < 4096 + 2000
    assert result["usage"]["input_tokens"] == 500
    (model,) = result["usage"]["models"]
    assert model["uncounted_tokens"] == result["usage"]["uncounted_tokens"]


def test_what_was_never_sent_is_not_paid_for():
    """The deadline passes while its intent is on the way into the journal."""
    with (
        Stack(executor=False) as own,
        HeldRedis(own.redis.socket) as way,
    ):
        own.consumer(redis_url=way.url)
        way.hold(b"quern_v1_spend")
        job = own.submit(prompt="go", limits={"deadline_ms": 1500})
        assert way.held.wait(10)
        time.sleep(2.5)
        way.let_go()
        result = own.result(job)
        assert result["error"]["code"] == "deadline_exceeded"
        assert own.model.counts()["total"] == 0
        usage = result.get("usage", {})
        assert "uncounted_tokens" not in usage and "cost" not in usage, usage


def test_a_crash_gives_no_money_back(stack):
    """What is left after it does not cover another request."""
    slow = {"text": "too late", "delay_ms": 60000}
    with Stack(executor=False) as own:
        own.model.script([{"match": "", "in_order": True, "replies": [slow] * 2}])
        first = own.consumer(lease="500ms")
        job = own.submit(prompt="x" * 4000, limits={"max_total_tokens": 3000})
        wait_until(lambda: own.model.counts()["total"] == 1, what="it has asked")
        first.kill()
        own.consumer(lease="500ms")
        result = own.result(job)
        assert own.model.counts()["total"] == 1
    assert result["status"] == "incomplete"
    assert result["error"]["code"] == "token_limit"


def test_a_request_that_was_refused_costs_nothing(stack):
    busy = {"status": 429, "headers": {"Retry-After": "1"}, "error": "busy"}
    script(stack, busy, {"text": "x", "usage": usage(500, 5)})
    result = stack.run(prompt="go", limits={"max_total_tokens": 50_000})
    assert used(result) == 505
