"""What was streamed of a reply before its job was stopped is in the result."""

import pytest
from command import Command
from stack import Stack

SLOW = {"text": "word " * 40, "chunk": 200, "chunk_ms": 300}


@pytest.fixture(scope="module")
def stack():
    with Stack(executor=False) as stack:
        stack.consumer()
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


def test_a_job_that_met_its_deadline_too(stack):
    job = begun(stack, limits={"deadline_ms": 1500})
    result = stack.result(job)
    assert result["error"]["code"] == "deadline_exceeded"
    assert result["answer"] == streamed(stack, job) != ""
