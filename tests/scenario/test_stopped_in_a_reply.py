"""What was streamed of a reply before its job was stopped is in the result."""

import pytest
from command import Command
from servers import wait_until
from stack import Stack, call_of

SLOW = {"text": "word " * 40, "chunk": 200, "chunk_ms": 300}


@pytest.fixture(scope="module")
def stack():
    with Stack(executor=False) as stack:
        stack.consumer()
        yield stack


@pytest.fixture
def asked_of():
    with Stack() as stack:
        stack.consumer()
        stack.model.script([{"match": "", "replies": [ASKS]}])
        yield stack


def begun(stack, **job):
    stack.model.script([{"match": "", "replies": [SLOW]}])
    job = stack.submit(prompt="go", **job)
    stack.wait_event(job, "message.delta")
    return job


def streamed(stack, job):
    events = stack.events(job)
    return "".join(e["data"]["text"] for e in events if e["type"] == "message.delta")


def test_a_cancelled_job_has_what_was_streamed(stack, tmp_path):
    job = begun(stack)
    stack.call("cancel", job)
    result = stack.result(job)
    assert result["status"] == "cancelled"
    assert result["answer"].startswith("word") and result["answer"] == streamed(stack, job)
    out, err, code = Command(stack.redis.url, tmp_path).run("replay", job)
    assert (code, err) == (0, ""), out


BREAKS_OFF = {"text": "word " * 40, "chunk": 50, "cut": 2000}


def test_so_has_one_whose_reply_broke_off(stack, tmp_path):
    """It waits to ask again: until then what was streamed stands."""
    stack.model.script([{"match": "", "replies": [BREAKS_OFF]}])
    job = stack.submit(prompt="go", retry={"max_attempts": 3, "backoff_ms": 8000})
    stack.wait_event(job, "job.retrying")
    stack.call("cancel", job)
    result = stack.result(job)
    assert result["status"] == "cancelled"
    assert result["answer"].startswith("word") and result["answer"] == streamed(stack, job)
    out, err, code = Command(stack.redis.url, tmp_path).run("replay", job)
    assert (code, err) == (0, ""), out


def test_what_broke_off_is_no_answer_of_a_job_that_fails(stack):
    stack.model.script([{"match": "", "replies": [BREAKS_OFF] * 2}])
    result = stack.run(prompt="go", retry={"max_attempts": 2, "backoff_ms": 1})
    assert (result["status"], result["error"]["code"]) == ("failed", "model_cut")
    assert "answer" not in result


ASKS = {
    "text": "I want to run this.",
    "tool_calls": [call_of("1")],
}


def test_one_that_waited_for_a_person_has_what_was_said(asked_of):
    """No consumer has it then: the function library writes its result."""
    job = asked_of.submit(prompt="go", approve=["execute_python_code"])
    asked_of.wait_event(job, "job.waiting")
    wait_until(lambda: asked_of.state(job) == "waiting", what="that it waits")
    asked_of.call("cancel", job)
    result = asked_of.result(job)
    assert (result["status"], result["answer"]) == ("cancelled", ASKS["text"])


def test_a_deadline_while_a_person_was_asked_says_so(asked_of):
    job = asked_of.submit(
        prompt="go", approve=["execute_python_code"], limits={"deadline_ms": 1500}
    )
    error = asked_of.result(job)["error"]
    assert error["code"] == "deadline_exceeded"
    assert "nobody had approved" in error["message"], "it has started long ago"


def test_a_job_that_met_its_deadline_too(stack):
    job = begun(stack, limits={"deadline_ms": 1500})
    result = stack.result(job)
    assert result["error"]["code"] == "deadline_exceeded"
    assert result["answer"] == streamed(stack, job) != ""
