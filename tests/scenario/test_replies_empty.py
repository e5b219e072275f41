"""Replies that say nothing: the model is reminded, and a job that gets no
answer says so instead of being completed."""

import json

import pytest
from command import Command
from stack import Stack

DIALECTS = ["chat", "anthropic", "responses"]
REMINDER = "[Your last reply was empty."
EMPTY = {
    "nothing": {"text": ""},
    "white space": {"text": " \n\t "},
    "what nobody sees": {"text": "\u00a0\u3000\u200b\ufeff"},
    "reasoning only": {"text": "", "reasoning": "it has to be 2"},
}


def sum_of(expression):
    arguments = json.dumps({"expression": expression})
    return {"id": "c1", "name": "calculate_math_expression", "arguments": arguments}


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    with Stack() as stack:
        table = {d: {"url": stack.model.url, "model": "m", "dialect": d} for d in DIALECTS}
        path = tmp_path_factory.mktemp("models") / "models.json"
        path.write_text(json.dumps(table))
        stack.consumer(models=path, tools_builtin="calculate_math_expression")
        yield stack


def script(stack, *replies, stream=True):
    replies = [{**reply, "stream": stream} for reply in replies]
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])
    stack.model.reset()


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "plain"])
@pytest.mark.parametrize("kind", EMPTY)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_that_says_nothing_is_reminded(stack, dialect, kind, stream):
    script(stack, EMPTY[kind], {"text": "Two."}, stream=stream)
    result = stack.run(prompt="1+1?", model=dialect)
    assert (result["status"], result["answer"]) == ("completed", "Two."), result
    assert REMINDER in json.dumps(stack.model.request())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_behind_a_good_tool_result(stack, dialect):
    script(stack, {"tool_calls": [sum_of("1+1")]}, {"text": ""}, {"text": "Two."})
    result = stack.run(prompt="1+1?", model=dialect)
    assert (result["status"], result["answer"]) == ("completed", "Two."), result


@pytest.mark.parametrize("kind", EMPTY)
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("mode", ["tools", "codeact"])
def test_three_empty_replies_are_no_answer(stack, dialect, kind, mode):
    script(stack, *[EMPTY[kind]] * 9)
    result = stack.run(prompt="1+1?", model=dialect, mode=mode)
    assert result["status"] == "incomplete", result
    assert result["error"]["code"] == "no_answer"
    assert "3 replies in a row" in result["error"]["message"]
    assert result["usage"]["model_calls"] == 3
    assert result.get("answer", "") == ""


def test_a_person_is_told(stack, tmp_path):
    script(stack, *[{"text": ""}] * 9)
    out, err, code = Command(stack.redis.url, tmp_path).run("run", "1+1?", "--model", "chat")
    assert (out, code) == ("", 1)
    assert err.startswith("incomplete: the model gave no answer: 3 replies in a row were empty")


@pytest.mark.parametrize("mode", ["tools", "codeact"])
def test_an_empty_reply_that_its_length_ended(stack, mode):
    """All it could write was reasoning: asked again it would be the same."""
    script(stack, {"text": "", "reasoning": "well", "finish_reason": "length"})
    result = stack.run(prompt="1+1?", model="chat", mode=mode)
    assert result["status"] == "incomplete"
    assert result["error"]["code"] == "token_limit"


def test_an_empty_reply_that_was_the_last_turn(stack):
    script(stack, {"tool_calls": [sum_of("1+1")]}, {"text": ""})
    result = stack.run(prompt="1+1?", model="chat", limits={"max_turns": 1})
    assert result["status"] == "incomplete"
    assert "gave no answer" in result["error"]["message"], "it asked for nothing"


def test_an_empty_answer_of_a_form(stack):
    schema = {"type": "object", "required": ["n"]}
    script(stack, {"text": ""}, {"text": '{"n": 2}'})
    result = stack.run(prompt="1+1?", model="chat", output_schema=schema)
    assert result["status"] == "completed" and result["output"] == {"n": 2}
