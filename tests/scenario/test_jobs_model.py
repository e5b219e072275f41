"""What endpoints do wrong, and what becomes of the job."""

import time

import pytest
from servers import PATIENCE_S
from stack import Stack


@pytest.fixture(scope="module")
def stack():
    with Stack(executor=False) as stack:
        stack.consumer(max_attempts=3)
        yield stack


def run(stack, script, timeout=PATIENCE_S, **job):
    stack.model.script(script)
    stack.model.reset()
    id = stack.submit(prompt="go", **job)
    return id, stack.result(id, timeout)


def test_a_failure_that_passes_is_tried_again(stack):
    id, result = run(stack, [[{"status": 503}, {"status": 500}, {"text": "now"}]])
    assert result["status"] == "completed" and result["answer"] == "now"
    assert stack.model.counts()["total"] == 3
    again = [e for e in stack.events(id) if e["type"] == "job.retrying"]
    assert len(again) == 2
    assert again[0]["data"]["error"]["code"] == "model_unavailable"
    assert again[0]["data"]["wait_ms"] > 0
    assert result["usage"]["model_calls"] == 1
    assert "repeated_calls" not in result["usage"]


def test_it_is_given_up_in_the_end(stack):
    reply = {"status": 500, "error": "the GPU is on fire"}
    id, result = run(stack, [reply])
    assert result["status"] == "failed"
    assert result["error"]["code"] == "model_unavailable"
    assert result["error"]["retryable"]
    assert "the GPU is on fire" in result["error"]["message"]
    assert stack.model.counts()["total"] == 3
    assert stack.types(id).count("job.retrying") == 2


def test_a_job_may_want_fewer_attempts(stack):
    _, result = run(stack, [{"status": 500}], retry={"max_attempts": 1})
    assert result["status"] == "failed"
    assert stack.model.counts()["total"] == 1


def test_retry_after_is_waited_for(stack):
    busy = {"status": 429, "headers": {"Retry-After": "1"}}
    begin = time.monotonic()
    _, result = run(stack, [[busy, {"text": "now"}]])
    assert result["status"] == "completed"
    assert time.monotonic() - begin >= 1


def test_odd_characters_go_through(stack):
    text = "a\0b \U0001f600 \u2028 end"
    _, result = run(stack, [{"text": text}])
    assert result["status"] == "completed" and result["answer"] == text


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_not_tried_again(stack, status):
    _, result = run(stack, [{"status": status, "error": "no such luck"}])
    assert result["status"] == "failed"
    assert result["error"]["code"] == "model_rejected"
    assert "no such luck" in result["error"]["message"]
    assert stack.model.counts()["total"] == 1


@pytest.mark.parametrize(
    "what,reply,code",
    [
        ("not JSON", {"body": "<html>hello</html>"}, "model_garbage"),
        ("cut in the middle", {"text": "a long answer " * 20, "cut": 900}, "model_cut"),
        ("no end", {"text": "x", "finish_reason": None, "done": False}, "model_cut"),
        ("no answer", {"drop": True}, "model_unavailable"),
    ],
)
def test_half_answers_are_no_answers(stack, what, reply, code):
    id, result = run(stack, [[reply, {"text": "whole"}]])
    assert result["status"] == "completed", result
    assert result["answer"] == "whole"
    events = stack.check_events(id)
    again = [e for e in events if e["type"] == "job.retrying"]
    assert [e["data"]["error"]["code"] for e in again] == [code]
    # A second turn.started of the same turn voids what was heard before it.
    types = [e["type"] for e in events]
    last = len(types) - types[::-1].index("turn.started")
    deltas = [e["data"]["text"] for e in events[last:] if e["type"] == "message.delta"]
    assert "".join(deltas) == "whole"
    if code != "model_garbage":
        assert result["usage"]["repeated_calls"] == 1, "it may have been paid for"


def test_a_long_answer_is_cut(stack):
    _, result = run(stack, [{"text": "ab " * 100_000}])
    assert result["status"] == "completed"
    assert result["answer"].startswith("ab ab ") and len(result["answer"]) <= 256 << 10
    assert "cut to 262144 bytes" in result["notes"]


@pytest.mark.parametrize("size", [600_000, 3_000_000])
def test_an_answer_beyond_all_measure_is_paid_for_once(stack, size):
    _, result = run(stack, [{"text": "ab " * (size // 3)}], timeout=120)
    assert result["status"] == "failed"
    assert result["error"]["code"] == "model_too_long"
    assert not result["error"].get("retryable")
    assert "at most 524288 bytes" in result["error"]["message"]
    assert stack.model.counts()["total"] == 1


def test_a_content_filter_ends_it(stack):
    _, result = run(stack, [{"text": "", "finish_reason": "content_filter"}])
    assert result["status"] == "failed"
    assert result["error"]["code"] == "model_refused"


def test_an_answer_that_was_cut_is_incomplete(stack):
    _, result = run(stack, [{"text": "It is", "finish_reason": "length"}])
    assert result["status"] == "incomplete"
    assert result["error"]["code"] == "token_limit"
    assert result["answer"] == "It is"


def test_deltas_add_up(stack):
    text = "中文 🙂 and " * 200
    id, result = run(stack, [{"text": text, "chunk": 1}])
    assert result["answer"] == text
    events = stack.check_events(id)
    deltas = [e["data"]["text"] for e in events if e["type"] == "message.delta"]
    assert "".join(deltas) == text
    assert len(deltas) < 200, "they are gathered"


def test_the_first_delta_does_not_wait():
    text = "".join(f"piece {n:06}" for n in range(4))
    with Stack(executor=False, script=[{"text": text, "chunk_ms": 300}]) as stack:
        stack.consumer(delta="10s")
        id = stack.submit(prompt="x")
        assert stack.result(id)["answer"] == text
        deltas = [e for e in stack.events(id) if e["type"] == "message.delta"]
        assert len(deltas) == 2, "one at once, the others gathered"
        assert "".join(e["data"]["text"] for e in deltas) == text


def test_reasoning_is_told_apart_and_sent_back(stack):
    id, result = run(stack, [{"text": "4", "reasoning": "2 and 2"}])
    reasoning = [e for e in stack.events(id) if e["type"] == "reasoning.delta"]
    assert "".join(e["data"]["text"] for e in reasoning) == "2 and 2"
    assert result["answer"] == "4"
    assert result["messages"][-1]["reasoning_content"] == "2 and 2"


def test_the_deadline_of_a_job_holds_while_the_model_thinks(stack):
    _, result = run(
        stack, [{"text": "late", "delay_ms": 20000}], limits={"deadline_ms": 1000}
    )
    assert result["status"] == "failed"
    assert result["error"]["code"] == "deadline_exceeded"


def test_a_model_that_is_not_there(stack):
    stack.model.script([])
    stack.model.kill()
    result = stack.run(prompt="anyone?")
    assert result["status"] == "failed"
    assert result["error"]["code"] == "model_unavailable"
