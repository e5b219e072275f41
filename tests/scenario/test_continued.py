"""A job whose result is kept, with its conversation; jobs that go on from there."""

import hashlib

import pytest
import redis
from stack import Stack

DAY_MS = 24 * 3600 * 1000
WEEK_MS = 7 * DAY_MS
WEATHER = {"name": "get_weather", "parameters": {"type": "object"}}


@pytest.fixture(scope="module")
def stack():
    with Stack(executor=False) as stack:
        stack.consumer()
        yield stack


def said(stack):
    return [(m["role"], m.get("content")) for m in stack.model.request()["messages"]]


def ttl(stack, key):
    return stack.db.pttl(f"quern:{{000}}:{key}")


def test_any_number_of_jobs_go_on_from_one(stack):
    stack.model.script([{"text": "one"}])
    first = stack.run(prompt="a", system="Old.", keep_ms=WEEK_MS)
    for word in ("two", "three"):
        stack.model.script([{"text": word}])
        next = stack.run(
            prompt="b", system="New.", earlier=first["conversation"], keep_ms=WEEK_MS
        )
        assert next["answer"] == word
        assert said(stack)[-3:] == [("user", "a"), ("assistant", "one"), ("user", "b")]
        assert ("system", "Old.") not in said(stack)
    stack.model.script([{"text": "four"}])
    stack.run(prompt="c", earlier=next["conversation"])
    assert [text for role, text in said(stack) if role != "system"] == [
        *("a", "one", "b", "three", "c")
    ]


def test_the_result_is_kept_as_long_as_it_says(stack):
    stack.model.script([{"text": "one"}])
    id = stack.submit(prompt="a", keep_ms=WEEK_MS)
    blob = stack.result(id)["conversation"]
    for key in (f"result:{id}", f"blob:{blob}"):
        assert WEEK_MS - 60_000 < ttl(stack, key) <= WEEK_MS + 3 * DAY_MS
    assert ttl(stack, f"job:{id}") > 2 * WEEK_MS - 60_000
    stack.model.script([{"text": "one"}])
    id = stack.submit(prompt="a")
    assert "conversation" not in stack.result(id)
    assert ttl(stack, f"result:{id}") <= DAY_MS


def test_also_when_no_consumer_ends_it(stack):
    id = stack.submit(prompt="a", keep_ms=WEEK_MS, queue="unserved")
    stack.call("cancel", id)
    assert stack.result(id)["status"] == "cancelled"
    assert WEEK_MS - 60_000 < ttl(stack, f"result:{id}") <= WEEK_MS


def test_a_call_is_answered_by_the_next_job(stack):
    ask = {"id": "w", "name": "get_weather", "arguments": "{}"}
    stack.model.script([{"tool_calls": [ask]}])
    first = stack.run(prompt="go", functions=[WEATHER], keep_ms=WEEK_MS)
    answer = {"role": "tool", "tool_call_id": "w", "content": "rain"}
    stack.model.script([{}, {"text": "Rain."}])
    next = stack.run(
        messages=[answer], functions=[WEATHER], earlier=first["conversation"]
    )
    assert next["answer"] == "Rain."
    # Without it, both conversations together are none.
    refused = stack.run(prompt="And?", earlier=first["conversation"])
    assert refused["error"]["code"] == "bad_field"
    assert "get_weather" in refused["error"]["message"]


def test_a_conversation_larger_than_a_job(stack):
    long = "x" * 180_000
    blob = None
    for _ in range(3):
        stack.model.script([{"text": "yes"}])
        more = {"earlier": blob} if blob else {}
        result = stack.run(prompt=long, keep_ms=WEEK_MS, **more)
        assert result["answer"] == "yes"
        blob = result["conversation"]
    kept = stack.db.get(f"quern:{{000}}:blob:{blob}")
    assert kept.count(long.encode()) == 3


def test_what_is_no_conversation_is_refused(stack):
    gone = hashlib.sha256(b"gone").hexdigest()
    with pytest.raises(redis.ResponseError, match="NOBLOB"):
        stack.submit(prompt="a", earlier=gone)
    other = stack.blob(b"\x81\xa1v\x01")
    result = stack.run(prompt="a", earlier=other)
    assert result["error"]["code"] == "missing_field"
    assert result["error"]["message"].startswith("earlier: ")
    false = hashlib.sha256(b"true").hexdigest()
    stack.db.set(f"quern:{{000}}:blob:{false}", b"false", ex=60)
    result = stack.run(prompt="a", earlier=false)
    assert result["error"]["code"] == "missing_blob"
    assert stack.run(kind="code", cells=["1"], earlier=other)["error"]["message"] == (
        "earlier is for a conversation"
    )


def test_its_blob_stays_while_a_job_waits(stack):
    stack.model.script([{"text": "one"}])
    first = stack.run(prompt="a", keep_ms=60_000)
    id = stack.submit(prompt="b", earlier=first["conversation"], queue="unserved")
    assert ttl(stack, f"blob:{first['conversation']}") == -1
    stack.call("cancel", id)
    assert ttl(stack, f"blob:{first['conversation']}") > 0

