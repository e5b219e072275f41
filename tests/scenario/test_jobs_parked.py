"""A long wait for another try holds no slot: the queue keeps the job."""

import pytest
from stack import Stack

BUSY = {"status": 429, "headers": {"Retry-After": "1"}, "error": "too many of you"}


@pytest.fixture(scope="module")
def stack():
    with Stack(executor=False) as stack:
        stack.consumer(max_attempts=3, hold=0, slots=1)
        yield stack


def script(stack, *replies):
    stack.model.script(list(replies))
    stack.model.reset()


def waiting_of(stack, id):
    return [e["data"] for e in stack.events(id) if e["type"] == "job.waiting"]


def test_others_have_its_slot_meanwhile(stack):
    # Only the first is refused: the other's refusal would have it wait again.
    script(stack, {"match": "first", "replies": [[BUSY, {"text": "now"}]]})
    id = stack.submit(prompt="first")
    stack.wait_event(id, "job.waiting")
    other = stack.submit(prompt="second")
    stack.wait_event(other, "job.started")
    (waiting,) = waiting_of(stack, id)
    assert int(stack.facts(other)["started_at"]) < waiting["until"], "one slot"
    result = stack.result(id)
    assert result["answer"] == "now" and result["attempts"] == 2
    assert waiting["reason"] == "retry"
    again = [e["data"] for e in stack.check_events(id) if e["type"] == "job.retrying"]
    assert [e["error"]["code"] for e in again] == ["model_unavailable"]
    assert "repeated_calls" not in result["usage"], "a refusal is not paid for"
    assert stack.result(other)["status"] == "completed"


def test_its_tries_are_counted_on(stack):
    script(stack, BUSY)
    id = stack.submit(prompt="go")
    result = stack.result(id)
    assert result["status"] == "failed" and "too many of you" in str(result["error"])
    assert stack.model.counts()["total"] == 3
    assert len(waiting_of(stack, id)) == 2


def test_a_success_begins_the_count_anew(stack):
    call = {"tool_calls": [{"id": "a", "name": "of_no_such_name", "arguments": "{}"}]}
    script(stack, [BUSY, call], [BUSY, BUSY, {"text": "at last"}])
    result = stack.result(stack.submit(prompt="go"))
    assert result["answer"] == "at last" and stack.model.counts()["total"] == 5


def test_what_may_have_been_paid_for_is_counted(stack):
    cut = {"text": "a long answer " * 20, "cut": 900}
    script(stack, [cut, {"text": "whole"}])
    id = stack.submit(prompt="go", retry={"backoff_ms": 50})
    result = stack.result(id)
    assert result["answer"] == "whole" and result["attempts"] == 2
    assert result["usage"]["repeated_calls"] == 1
    assert waiting_of(stack, id)[0]["reason"] == "backoff"


def test_it_can_be_cancelled_while_it_waits(stack):
    script(stack, {"status": 429, "headers": {"Retry-After": "600"}})
    id = stack.submit(prompt="go")
    stack.wait_event(id, "job.waiting")
    stack.call("cancel", id)
    assert stack.result(id)["status"] == "cancelled"
    assert stack.types(id)[-1] == "job.cancelled"


def test_no_wait_goes_past_the_deadline(stack):
    script(stack, {"status": 429, "headers": {"Retry-After": "600"}})
    result = stack.result(stack.submit(prompt="go", limits={"deadline_ms": 60000}))
    assert result["error"]["code"] == "model_unavailable"
