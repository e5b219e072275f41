"""The practice model itself: everybody's tests lean on it."""

import http.client
import json
import time
import urllib.error

import pytest

from practice_model import PracticeModel
from servers import wait_until

CODE_TOOL = [{"type": "function", "function": {"name": "execute_python_code"}}]
PATH = "/v1/chat/completions"


def ask(model, content="hi", **more):
    body = {"model": "m", "messages": [{"role": "user", "content": content}], **more}
    return model.call("POST", PATH, body)["choices"][0]


def stream(model, content="hi", **more):
    """The events of a stream, [DONE] as a string."""
    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
    body.update(stream=True, **more)
    address = model.url.split("/")[2]
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request("POST", PATH, json.dumps(body))
    text = connection.getresponse().read().decode()
    connection.close()
    events = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    return [e if e == "[DONE]" else json.loads(e) for e in events]


@pytest.fixture(scope="module")
def running():
    with PracticeModel() as model:
        yield model
        assert model.stop() == 0


@pytest.fixture
def model(running):
    running.reset()
    running.script([])
    return running


def test_echo(model):
    choice = ask(model, "good morning")
    assert choice["message"]["content"] == "You said: good morning"
    assert choice["finish_reason"] == "stop"


def test_blocks_run_one_by_one_then_the_answer(model):
    question = "a\n```python\nx = 1\n```\nb\n```python\nx\n```\n"
    messages = [{"role": "user", "content": question}]
    for code in ("x = 1", "x"):
        body = {"messages": messages, "tools": CODE_TOOL}
        choice = model.call("POST", PATH, body)["choices"][0]
        call = choice["message"]["tool_calls"][0]
        assert choice["finish_reason"] == "tool_calls"
        assert json.loads(call["function"]["arguments"]) == {"code": code}
        messages.append(choice["message"])
        messages.append(
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": f"ran {code}\n[image: f-{code[-1]}.png]",
            }
        )
    body = {"messages": messages, "tools": CODE_TOOL}
    answer = model.call("POST", PATH, body)["choices"][0]["message"]["content"]
    assert "ran x = 1" in answer and "ran x\n" in answer
    assert "![f-1.png](f-1.png)" in answer and "![f-x.png](f-x.png)" in answer


def test_blocks_are_text_when_the_tool_is_not_offered(model):
    assert "tool_calls" not in ask(model, "```python\n1\n```")["message"]


def test_stream_is_the_same_in_deltas(model):
    question = "```python\nprint('é' * 40)\n```"
    events = stream(
        model, question, tools=CODE_TOOL, stream_options={"include_usage": True}
    )
    assert events[-1] == "[DONE]"
    assert events[-2]["choices"] == [] and events[-2]["usage"]["total_tokens"] > 0
    pieces = [
        call["function"].get("arguments") or ""
        for event in events[:-2]
        for call in event["choices"][0]["delta"].get("tool_calls", [])
    ]
    assert len(pieces) > 2
    assert json.loads("".join(pieces)) == {"code": "print('é' * 40)"}


def test_script_by_turn_by_match_and_by_repetition(model):
    model.script(
        [
            {"match": "first", "replies": [[{"text": "a"}, {"text": "b"}]]},
            {"replies": [{"text": "other"}]},
        ]
    )
    said = [ask(model, q)["message"]["content"] for q in ("first", "first", "x")]
    assert said == ["a", "b", "other"]


def test_failures(model):
    model.script(
        [
            [
                {"status": 429, "headers": {"Retry-After": "7"}, "error": "slow down"},
                {"drop": True},
                {"text": "cut off", "cut": 20},
            ]
        ]
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(model)
    assert refused.value.code == 429
    assert refused.value.headers["Retry-After"] == "7"
    assert json.load(refused.value)["error"]["message"] == "slow down"
    with pytest.raises(http.client.RemoteDisconnected):
        ask(model)
    with pytest.raises(http.client.IncompleteRead):
        ask(model)


def test_refused_member(model):
    model.script([{"refuse": ["stop"], "text": "good"}])
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(model, stop=["x"])
    assert json.load(refused.value)["error"]["param"] == "stop"
    assert ask(model)["message"]["content"] == "good"


def test_raw_body_and_sizes(model):
    model.script([{"body": 'data: {"x": 1}\n\n', "chunk": 1, "chunk_ms": 1}])
    assert stream(model) == [{"x": 1}]


def test_a_stamp_is_the_time_at_which_its_delta_goes(model):
    model.script([{"text": "time-of-send" * 3, "stamp": True, "chunk_ms": 20}])
    before = time.monotonic_ns() // 1000 % 10**12
    events = stream(model)
    took = time.monotonic_ns() // 1000 % 10**12 - before
    deltas = [e["choices"][0]["delta"] for e in events if e != "[DONE]"]
    sent = [int(d["content"]) - before for d in deltas if d.get("content")]
    assert len(sent) == 3
    assert 0 <= sent[0] < sent[1] - 19000 < sent[2] - 2 * 19000 < took


def test_counts(model):
    for content in ("a", "b", "a"):
        ask(model, content)
    counts = model.counts()
    assert (counts["total"], counts["different"]) == (3, 2)
    assert sorted(counts["requests"].values()) == [1, 2]
    assert model.request(-2)["messages"][0]["content"] == "b"


def respond(model, **more):
    return model.call("POST", "/v1/responses", {"model": "m", "input": "hi", **more})


def test_responses_that_are_kept(model):
    model.script([{"match": "", "in_order": True, "replies": [{"text": "a"}] * 4}])
    assert respond(model)["id"] == "resp_practice"
    made = respond(model, store=True)
    assert model.call("GET", f"/v1/responses/{made['id']}") == made
    with pytest.raises(urllib.error.HTTPError) as refused:
        model.call("POST", f"/v1/responses/{made['id']}/cancel", {})
    assert refused.value.code == 400
    with pytest.raises(urllib.error.HTTPError) as refused:
        model.call("GET", "/v1/responses/resp_practice")
    assert refused.value.code == 404
    counts = model.counts()
    assert (counts["total"], counts["made"]) == (2, 2)
    assert (counts["fetched"], counts["cancelled"]) == (2, 1)


def test_responses_in_the_background(model):
    late = {"text": "a", "kept": {"after_ms": 60000}}
    soon = {"text": "b", "kept": {"after_ms": 300}}
    model.script([{"match": "", "in_order": True, "replies": [late, soon]}])
    ids = []
    for _ in range(2):
        begun = respond(model, store=True, background=True)
        assert begun["status"] == "in_progress" and begun["output"] == []
        ids.append(begun["id"])
    first, second = (f"/v1/responses/{id}" for id in ids)
    assert model.call("GET", first)["status"] == "in_progress"
    assert model.call("POST", first + "/cancel", {})["status"] == "cancelled"
    assert model.call("GET", first)["status"] == "cancelled"
    done = wait_until(
        lambda: (told := model.call("GET", second))["status"] == "completed" and told,
        what="the second is there",
    )
    assert done["output"][0]["content"][0]["text"] == "b"


def test_key():
    with PracticeModel(key="sesame") as model:
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(model)
        assert refused.value.code == 401


def test_bad_script_is_refused(model):
    with pytest.raises(urllib.error.HTTPError) as refused:
        model.script({"text": "not a list"})
    assert refused.value.code == 400
