"""Endpoints that fail: another one is asked, or nobody for a while."""

import json
import time

import pytest
from practice_model import PracticeModel
from stack import Stack


@pytest.fixture
def other():
    with PracticeModel() as model:
        yield model


@pytest.fixture
def stack(tmp_path, other):
    with Stack(executor=False) as stack:
        models = {
            "default": {"url": stack.model.url, "model": "a", "fallback": "second"},
            "second": {"url": other.url, "model": "b"},
            "alone": {"url": stack.model.url, "model": "c"},
        }
        path = tmp_path / "models.json"
        path.write_text(json.dumps(models))
        stack.settings["models"] = str(path)
        yield stack


def always(reply):
    return [{"match": "", "in_order": True, "replies": [reply] * 99}]


DOWN = {"status": 503, "error": "closed"}


def test_another_one_is_asked_when_the_first_has_failed_often_enough(stack, other):
    stack.model.script(always(DOWN))
    other.script(always({"text": "here I am"}))
    stack.consumer(max_attempts=2)
    job = stack.submit(prompt="go")
    result = stack.result(job)
    assert result["answer"] == "here I am" and result["model"] == "second"
    assert (stack.model.counts()["total"], other.counts()["total"]) == (2, 1)
    assert "repeated_calls" not in result["usage"]
    stack.check_events(job)


def test_after_failures_it_is_asked_at_once(stack, other):
    """The first one is left alone: nobody waits for it again and again."""
    stack.model.script(always(DOWN))
    other.script(always({"text": "ok"}))
    consumer = stack.consumer(max_attempts=2, slots=1)
    results = [stack.run(prompt=f"job {n}") for n in range(6)]
    assert {result["answer"] for result in results} == {"ok"}
    # Of twelve tries; one more after some seconds, where the jobs take so long.
    assert 5 <= stack.model.counts()["total"] <= 7 and other.counts()["total"] == 6
    assert consumer.text().count("model.fallback") == 6


def test_without_another_one_it_is_left_alone_and_tried_again(stack):
    stack.model.script(
        [{"match": "", "in_order": True, "replies": [DOWN] * 5 + [{"text": "back"}]}]
    )
    stack.consumer(max_attempts=9, hold="1m")
    begin = time.monotonic()
    result = stack.run(prompt="go", model="alone")
    assert result["answer"] == "back" and stack.model.counts()["total"] == 6
    assert time.monotonic() - begin >= 5


def test_a_wait_that_one_is_asked_for_is_kept_by_all(stack):
    busy = {"status": 429, "headers": {"Retry-After": "10"}, "error": "slow down"}
    stack.model.script(
        [{"match": "", "in_order": True, "replies": [busy] + [{"text": "ok"}] * 9}]
    )
    stack.consumer(slots=4)
    first = stack.submit(prompt="one", model="alone")
    stack.wait_event(first, "job.retrying")
    others = [stack.submit(prompt=f"more {n}", model="alone") for n in range(3)]
    for job in others:
        stack.wait_event(job, "job.retrying")
    assert stack.model.counts()["total"] == 1
    for job in (first, *others):
        assert stack.result(job)["answer"] == "ok"


@pytest.mark.parametrize("hold_ms", [60_000, 0])
def test_a_wait_for_what_others_were_told_is_no_try(stack, hold_ms):
    """It has one try, and has not had it while it waited."""
    busy = {"status": 429, "headers": {"Retry-After": "6"}, "error": "slow down"}
    stack.model.script(
        [{"match": "", "in_order": True, "replies": [busy] + [{"text": "ok"}] * 9}]
    )
    stack.consumer(max_attempts=1, hold=f"{hold_ms}ms")
    first = stack.run(prompt="one", model="alone")
    assert first["error"]["code"] == "model_unavailable"
    second = stack.submit(prompt="two", model="alone")
    result = stack.result(second)
    assert result["answer"] == "ok" and result["attempts"] == 1
    assert "job.retrying" in stack.types(second), "it had to wait"


WRONG = [
    ({"fallback": "nobody"}, 'there is no model "nobody"'),
    ({"fallback": "default"}, "lead back"),
    ({"fallback": 7}, "must be a text"),
]


@pytest.mark.parametrize("entry, says", WRONG)
def test_what_is_wrong_is_told(stack, tmp_path, entry, says):
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps({"default": {"url": "http://x", **entry}}))
    with pytest.raises(AssertionError) as told:
        stack.consumer(models=path)
    assert says in str(told.value)
    stack.consumers.pop()
