"""Conversations that are longer than the model's window."""

import json

import msgpack
import pytest
from stack import ROOT, Stack, call_of

LONG = "print('x' * 4000)"


@pytest.fixture
def stack():
    with Stack() as stack:
        yield stack


def set_window(stack, tmp_path, **more):
    path = tmp_path / "models.json"
    entry = {"url": stack.model.url, "model": "m", **more}
    path.write_text(json.dumps({"default": entry}))
    return {"models": path}


def script(stack, *replies):
    """One a request: what is left out must not count."""
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])


def acts(count, **more):
    return [
        {"tool_calls": [call_of(f"{LONG}; {n}", f"c{n}")], **more} for n in range(count)
    ]


DONE = {"text": "done"}


def pairs(messages):
    """Ids of calls, and of results."""
    calls = [c["id"] for m in messages for c in m.get("tool_calls", [])]
    return calls, [m["tool_call_id"] for m in messages if m["role"] == "tool"]


def requests(stack):
    total = stack.model.counts()["total"]
    return [stack.model.request(n) for n in range(total)]


def test_what_is_oldest_is_left_out(stack, tmp_path):
    script(stack, *acts(10), DONE)
    stack.consumer(**set_window(stack, tmp_path, window=8000))
    result = stack.run(prompt="the task")
    assert result["status"] == "completed" and len(result["cells"]) == 10
    sizes, cuts = [], 0
    for request in requests(stack):
        messages = request["messages"]
        calls, results = pairs(messages)
        assert calls == results, "never the one without the other"
        assert messages[0]["role"] == "system"
        assert messages[1] == {"role": "user", "content": "the task"}
        sizes.append(len(json.dumps(request)))
        cuts += len(sizes) > 1 and sizes[-1] < sizes[-2]
    assert max(sizes) < 8000 * 4 and cuts in (1, 2), sizes
    notes = [m["content"] for m in messages if "are left out" in str(m["content"])]
    assert len(notes) == 1 and "earlier messages" in notes[0]


def test_an_endpoint_that_says_it_is_too_long(stack, tmp_path):
    """Then what is oldest is left out, once a turn, and nothing is paid twice."""
    refusal = {
        "status": 400,
        "error": {
            "message": "This model's maximum context length is 4096 tokens.",
            "code": "context_length_exceeded",
        },
    }
    script(stack, *acts(3), refusal, DONE)
    stack.consumer()
    job = stack.submit(prompt="the task")
    result = stack.result(job)
    assert result["status"] == "completed" and "job.retrying" in stack.types(job)
    *_, before, after = requests(stack)
    assert len(after["messages"]) < len(before["messages"])
    assert pairs(after["messages"])[0] == pairs(after["messages"])[1]
    assert "repeated_calls" not in result["usage"]
    script(stack, *acts(3), refusal, refusal, DONE)
    result = stack.run(prompt="the task")
    assert result["error"]["code"] == "model_context", "once a turn is enough"


def test_a_window_that_is_named_is_kept_to(stack):
    """Many times too long: half of what was sent would be refused again."""
    refusal = {
        "status": 400,
        "error": {
            "code": 400,
            "message": "request (7301 tokens) exceeds the available context size "
            "(2048 tokens), try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 7301,
            "n_ctx": 2048,
        },
    }
    script(stack, refusal, DONE)
    stack.consumer()
    said = [
        {"role": role, "content": f"{n} " * 150}
        for n in range(40)
        for role in ("user", "assistant")
    ]
    messages = [*said, {"role": "user", "content": "the task"}]
    assert stack.run(messages=messages)["status"] == "completed"
    sent, cut = requests(stack)
    assert len(json.dumps(sent)) > 4 * 2 * 2048, "half of it is too long as well"
    assert len(json.dumps(cut)) < 4 * 2048
    assert cut["messages"][-1] == messages[-1]


def digits(count, of=2000):
    """A digit is a token to small models, and a quarter of one to us."""
    return [
        {"role": role, "content": str(n % 10) * of}
        for n in range(count)
        for role in ("user", "assistant")
    ]


def test_a_refusal_that_counts_is_believed(stack):
    """Half of the window, as we estimate, would be refused again: twice as long
    as it is."""
    stack.model.script([{**DONE, "window": 8192}])
    stack.consumer()
    job = stack.submit(messages=[*digits(10), {"role": "user", "content": "the task"}])
    result = stack.result(job)
    assert result["status"] == "completed", result["error"]
    sent, cut = requests(stack)
    assert len(cut["messages"]) < len(sent["messages"]) / 2
    assert cut["messages"][-1]["content"] == "the task"
    records = stack.db.lrange(f"{ROOT}journal:{job}", 0, -1)
    counted = [msgpack.unpackb(record).get("counted", 0) for record in records]
    assert [count > 40000 for count in counted] == [False, True, False, False]


def test_what_was_left_out_stays_out(stack):
    """Too long in two turns: what is sent then is shorter each time."""
    refusal = {"status": 400, "error": "prompt is too long: 9 > 8"}
    script(stack, *acts(6), refusal, *acts(1), refusal, DONE)
    stack.consumer()
    assert stack.run(prompt="the task")["status"] == "completed"
    *_, sent, shorter, after, again = [len(r["messages"]) for r in requests(stack)]
    assert shorter < sent and again < after <= shorter + 2


def test_what_cannot_be_cut_is_told(stack, tmp_path):
    script(stack, {"status": 400, "error": "prompt is too long: 9 > 8"})
    stack.consumer()
    result = stack.run(prompt="the task")
    assert result["error"]["code"] == "model_context"
    assert "nothing more of it can be left out" in result["error"]["message"]
    assert "prompt is too long: 9 > 8" in result["error"]["message"]


def test_a_model_that_counts_more_than_we_do(stack, tmp_path):
    """Its own counts are believed: it is cut sooner."""
    usage = {"prompt_tokens": 30000, "completion_tokens": 1}
    script(stack, *acts(4, usage=usage), DONE)
    stack.consumer(**set_window(stack, tmp_path, window=8000))
    assert stack.run(prompt="the task")["status"] == "completed"
    assert any("are left out" in json.dumps(r) for r in requests(stack))
