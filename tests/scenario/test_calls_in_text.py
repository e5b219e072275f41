"""Calls of tools that a server leaves in the text of a message, because it has
no parser for what its model writes."""

import json

import pytest
from stack import Stack

NAME = "calculate_math_expression"
CALL = {"name": NAME, "arguments": {"expression": "6*7"}}
BARE = json.dumps(CALL)
MEANT = {
    "tags": f"Let me see.\n<tool_call>\n{BARE}\n</tool_call>",
    "tags without an end": f"<tool_call>{BARE}",
    "JSON alone": BARE,
    "JSON in a fence": f"```json\n{BARE}\n```",
    "parameters": json.dumps({"name": NAME, "parameters": CALL["arguments"]}),
    "arguments in a text": json.dumps({**CALL, "arguments": json.dumps(CALL["arguments"])}),
    "a list": json.dumps([CALL]),
    "as the API has it": json.dumps({"type": "function", "function": CALL}),
}
OTHERWISE = {
    "another tool": json.dumps({**CALL, "name": "rm"}),
    "arguments that it does not take": json.dumps({**CALL, "arguments": {"x": 1}}),
    "a call that is spoken of": f"You could say {BARE} here.",
    "one good and one bad": f"<tool_call>{BARE}</tool_call><tool_call>{{}}</tool_call>",
    "in quotes": f"One writes `<tool_call>{BARE}</tool_call>`.",
    "data": '{"name": "Ann", "age": 7}',
}


@pytest.fixture(scope="module")
def stack():
    with Stack() as stack:
        stack.consumer(tools_builtin=NAME)
        yield stack


def run(stack, *replies, **job):
    replies = [reply if isinstance(reply, dict) else {"text": reply} for reply in replies]
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])
    return stack.run(prompt="6*7?", **job)


@pytest.mark.parametrize("mode", ["tools", "codeact"])
@pytest.mark.parametrize("text", MEANT)
def test_a_call_in_the_text_is_made(stack, text, mode):
    result = run(stack, MEANT[text], "FINAL ANSWER: 42", mode=mode)
    assert result["status"] == "completed" and "42" in result["answer"], result
    said, told = result["messages"][1:3]
    assert said["tool_calls"][0]["function"]["name"] == NAME and told["role"] == "tool"
    assert "42" in told["content"] and "tool_call>" not in (said["content"] or "")
    assert said["content"] == ("Let me see." if text == "tags" else None)


@pytest.mark.parametrize("mode", ["tools", "codeact"])
@pytest.mark.parametrize("text", OTHERWISE)
def test_what_is_no_call_stays_text(stack, text, mode):
    result = run(stack, OTHERWISE[text], "FINAL ANSWER: no", mode=mode)
    assert result["answer"] == OTHERWISE[text], result
    assert "tool_calls" not in result["messages"][1]


@pytest.mark.parametrize("mode", ["tools", "codeact"])
@pytest.mark.parametrize("text", ["<tool_call>{}</tool_call>", "{}"])
def test_python_in_the_text_is_run(stack, text, mode):
    call = {"name": "execute_python_code", "arguments": {"code": "6 * 7"}}
    said = text.replace("{}", json.dumps(call))
    result = run(stack, said, "It is 42.", mode=mode)
    assert result["answer"] == "It is 42." and result["cells"][0]["result"] == "42"


PYTHON = {"name": "execute_python_code", "arguments": {"code": "6 * 7"}}
NATIVE = {"tool_calls": [{"id": "c", "name": PYTHON["name"], "arguments": '{"code": "6 * 7"}'}]}


@pytest.mark.parametrize("reply", [json.dumps(PYTHON), NATIVE], ids=["in text", "proper"])
def test_python_is_not_run_for_a_job_that_names_other_tools(stack, reply):
    result = run(stack, reply, "No.", tools=[NAME])
    assert result["status"] == "completed" and "cells" not in result, result


def test_several_are_made(stack):
    other = {**CALL, "arguments": {"expression": "1+1"}}
    text = f"<tool_call>{BARE}</tool_call>\n<tool_call>{json.dumps(other)}</tool_call>"
    result = run(stack, text, "Done.")
    told = sorted(m["content"] for m in result["messages"] if m["role"] == "tool")
    assert told == ["2", "42"], "these run at once"


def test_one_that_was_cut_off_is_not_made(stack):
    result = run(stack, {"text": f"<tool_call>{BARE}", "finish_reason": "length"})
    assert result["error"]["code"] == "token_limit"
    assert "tool_calls" not in result["messages"][1]


def test_an_answer_of_a_form_is_no_call(stack):
    schema = {"type": "object", "required": ["name"]}
    result = run(stack, BARE, output_schema=schema)
    assert result["status"] == "completed" and result["output"] == CALL
