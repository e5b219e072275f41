"""Conversations with endpoints of every dialect, and from one to another.

The practice model refuses what a real endpoint of that dialect refuses:
reasoning that is missing or not as it was, calls without results, blank text.
"""

import json

import pytest
from practice_model import PracticeModel
from stack import Stack

DIALECTS = ["chat", "anthropic", "responses"]
KEY = "sk-not-to-be-told"
THINKS = {
    "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    "responses": {"reasoning": {"effort": "low"}},
}


@pytest.fixture
def other():
    with PracticeModel() as model:
        yield model


@pytest.fixture(params=["stream", "plain"])
def form(request):
    return {"stream": request.param == "stream"}


def models(stack, tmp_path, **entries):
    """Each the practice model of the stack, unless it says what else."""
    table = {
        name: {"url": stack.model.url, "model": "m", "key": KEY, **entry}
        for name, entry in entries.items()
    }
    path = tmp_path / "models.json"
    path.write_text(json.dumps(table))
    stack.settings["models"] = str(path)


@pytest.fixture
def stack(tmp_path, request):
    with Stack(executor=False) as stack:
        stack.settings["tools_builtin"] = "calculate_math_expression"
        models(
            stack,
            tmp_path,
            **{d: {"dialect": d, "parameters": THINKS.get(d, {})} for d in DIALECTS},
        )
        yield stack


def sum_of(expression, id="c1"):
    arguments = json.dumps({"expression": expression})
    return {"id": id, "name": "calculate_math_expression", "arguments": arguments}


def in_order(*replies):
    return [{"match": "", "in_order": True, "replies": list(replies)}]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_conversation_with_calls_and_reasoning(stack, dialect, form):
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 60},
    }
    stack.model.script(
        [
            {
                "reasoning": "two sums, then",
                "text": "I do both.",
                "tool_calls": [sum_of("1+1", "a.1"), sum_of("2*3", "b")],
                "usage": usage,
                **form,
            },
            {
                "reasoning": "one more",
                "tool_calls": [sum_of("2+6", "b")],
                "usage": usage,
                **form,
            },
            {"reasoning": "done", "text": "it is 8", "usage": usage, **form},
        ]
    )
    stack.consumer()
    job = stack.submit(prompt="go", model=dialect)
    result = stack.result(job)
    assert (result["status"], result["answer"]) == ("completed", "it is 8"), result
    counted = {
        "input_tokens": 300,
        "output_tokens": 21,
        "cached_tokens": 180,
        "model_calls": 3,
    }
    assert result["usage"] == {**counted, "models": [{"name": dialect, **counted}]}
    assert stack.model.counts()["total"] == 3
    events = stack.check_events(job)
    said = "".join(e["data"]["text"] for e in events if e["type"] == "reasoning.delta")
    assert said == "two sums, thenone moredone"
    sent = json.dumps(stack.model.request())
    assert all(part in sent for part in ("two sums, then", "one more", "I do both."))
    assert KEY not in json.dumps(result, default=str)


def test_an_answer_that_pauses_goes_on(stack, form):
    """pause_turn: the parts are one answer, and the model sees the first one."""
    begun = {"reasoning": "hm", "text": "Two, ", "finish_reason": "pause_turn", **form}
    stack.model.script(in_order(begun, {"text": "or three.", **form}))
    stack.consumer()
    result = stack.run(prompt="how many?", model="anthropic")
    assert (result["status"], result["answer"]) == ("completed", "Two, or three.")
    assert result["usage"]["model_calls"] == 2
    assert "Two, " in json.dumps(stack.model.request())


def test_reasoning_that_is_not_shown_goes_back_too(stack, form):
    stack.model.script(
        [
            {"redacted": "secret", "tool_calls": [sum_of("1+1")], **form},
            {"text": "2", **form},
        ]
    )
    stack.consumer()
    result = stack.run(prompt="go", model="anthropic")
    assert result["answer"] == "2", result
    first = stack.model.request()["messages"][1]["content"][0]
    assert first == {"type": "redacted_thinking", "data": "secret"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_that_was_stopped_runs_no_call(stack, dialect, form):
    """The model is told, and does it again."""
    cut = {"tool_calls": [sum_of("1+1")], "finish_reason": "length", **form}
    stack.model.script(in_order(cut, {"text": "never mind", **form}))
    stack.consumer()
    job = stack.submit(prompt="go", model=dialect)
    assert stack.result(job)["answer"] == "never mind"
    assert "tool.started" not in stack.types(job)


BROKEN = [
    ({"text": "half of", "cut": 400}, "model_cut"),
    ({"text": "half of", "done": False, "finish_reason": None}, "model_cut"),
    (
        {"text": "half of", "stream_error": {"message": "Overloaded", "type": "x"}},
        "model_unavailable",
    ),
]


@pytest.mark.parametrize("reply, code", BROKEN, ids=["cut", "no end", "error"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_that_breaks_is_asked_for_again(stack, dialect, reply, code):
    stack.model.script([[reply, {"text": "all of it"}]])
    stack.consumer()
    job = stack.submit(prompt="go", model=dialect)
    result = stack.result(job)
    assert result["answer"] == "all of it", result
    retries = [e for e in stack.check_events(job) if e["type"] == "job.retrying"]
    assert [e["data"]["error"]["code"] for e in retries] == [code]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_an_endpoint_says_is_told(stack, dialect):
    stack.model.script([{"status": 400, "error": "no such thing"}])
    stack.consumer()
    error = stack.run(prompt="go", model=dialect)["error"]
    assert error["code"] == "model_rejected"
    assert error["message"] == f"model {dialect}: HTTP 400: no such thing"


def test_an_overloaded_endpoint_is_asked_again(stack):
    overloaded = {
        "status": 529,
        "error": "Overloaded",
        "headers": {"x-should-retry": "true"},
    }
    stack.model.script([[overloaded, overloaded, {"text": "now"}]])
    stack.consumer()
    assert stack.run(prompt="go", model="anthropic")["answer"] == "now"


@pytest.mark.parametrize("dialect", DIALECTS[1:])
def test_a_refusal_is_one(stack, dialect, form):
    stack.model.script([{"finish_reason": "content_filter", **form}])
    stack.consumer()
    result = stack.run(prompt="go", model=dialect)
    assert result["error"]["code"] == "model_refused", result


def test_the_last_answer_is_asked_for_without_tools(stack):
    call = {"tool_calls": [sum_of("1+1")]}
    for dialect, none in (("anthropic", {"type": "none"}), ("responses", "none")):
        stack.model.script(in_order(call, {"text": "2"}))
        stack.consumer()
        result = stack.run(prompt="go", model=dialect, limits={"max_turns": 1})
        assert result["answer"] == "2"
        assert stack.model.request()["tool_choice"] == none
        assert stack.model.request()["tools"]


@pytest.mark.parametrize("to", DIALECTS)
@pytest.mark.parametrize("of", DIALECTS)
def test_from_one_dialect_to_another(stack, tmp_path, other, of, to):
    """In the middle of a conversation: the other one knows all of it, but for
    reasoning that is not its own."""
    models(
        stack,
        tmp_path,
        first={"dialect": of, "fallback": "second", "parameters": THINKS.get(of, {})},
        second={"dialect": to, "url": other.url, "parameters": THINKS.get(to, {})},
    )
    begun = {"reasoning": "hm", "text": "so", "tool_calls": [sum_of("40+2", "a.b")]}
    stack.model.script([begun, {"status": 503, "error": "closed"}])
    other.script(
        [{}, {"reasoning": "aha", "tool_calls": [sum_of("1+1")]}, {"text": "42"}]
    )
    stack.consumer(max_attempts=2)
    result = stack.run(prompt="go", model="first")
    assert (result["answer"], result["model"]) == ("42", "second"), result
    sent = json.dumps(other.request())
    assert "42" in sent and "aha" in sent
    assert '"opaque"' not in sent
    if of != "chat":
        assert '"hm"' not in sent
