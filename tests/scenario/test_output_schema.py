"""Answers that have to be JSON of a form that the job names."""

import json

import pytest
from command import Command
from stack import Stack, call_of

CITY = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "people": {"type": "integer", "minimum": 0},
    },
    "required": ["name", "people"],
    "additionalProperties": False,
}
ROME = {"name": "Rome", "people": 2749031}
GOOD, BAD = json.dumps(ROME), json.dumps({"name": "Rome"})


@pytest.fixture
def stack():
    with Stack() as stack:
        yield stack


def in_order(stack, *texts):
    replies = [text if isinstance(text, dict) else {"text": text} for text in texts]
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])


def ask(stack, **job):
    id = stack.submit(prompt="go", output_schema=CITY, **job)
    result = stack.result(id)
    stack.check_events(id)
    [outcome] = Command(stack.redis.url, "/").json("replay", id)
    assert outcome["equal"], outcome
    return result


# Every row: the mode; what the model writes.
ANSWERS = [
    ("tools", GOOD),
    ("tools", f"It is this:\n\n```json\n{GOOD}\n```\n"),
    ("codeact", f"FINAL ANSWER: {GOOD}"),
    ("codeact", GOOD),
]


@pytest.mark.parametrize("mode, text", ANSWERS)
def test_an_answer_that_fits(stack, mode, text):
    in_order(stack, text)
    stack.consumer()
    result = ask(stack, mode=mode)
    assert (result["status"], result["output"]) == ("completed", ROME)
    assert GOOD in result["answer"]
    told = stack.model.request()["messages"][0]["content"]
    assert told.endswith(json.dumps(CITY, separators=(",", ":")))
    assert ("FINAL ANSWER: or given to final_answer()" in told) == (mode == "codeact")


def test_one_that_does_not_is_asked_for_again(stack):
    in_order(stack, "Rome has many.", BAD, GOOD)
    stack.consumer()
    result = ask(stack)
    assert (result["status"], result["output"]) == ("completed", ROME)
    said = [m["content"] for m in result["messages"] if m["role"] == "user"]
    assert "it is not JSON. Answer again" in said[1]
    assert '$: "people" is missing. Answer again' in said[2]
    assert result["usage"]["model_calls"] == 3


def test_it_is_not_asked_for_for_ever(stack):
    stack.model.script(
        [{"match": "", "in_order": True, "replies": [{"text": BAD}] * 9}]
    )
    stack.consumer(output_repairs=1)
    result = ask(stack)
    assert (result["status"], result["answer"]) == ("incomplete", BAD)
    assert result["error"]["code"] == "bad_output"
    assert 'after 2 tries: $: "people" is missing' in result["error"]["message"]
    assert "output" not in result and result["usage"]["model_calls"] == 2


def test_the_last_turn_has_what_it_has(stack):
    in_order(stack, BAD, GOOD)
    stack.consumer(max_turns=1)
    result = ask(stack)
    assert (result["status"], result["error"]["code"]) == ("incomplete", "turn_limit")
    assert result["output"] == ROME


def test_code_gives_a_value(stack):
    in_order(
        stack,
        "```python\nfinal_answer({'name': 'Rome'})\n```",
        "```python\nfinal_answer({'name': 'Rome', 'people': 2749031})\n```",
    )
    stack.consumer()
    result = ask(stack, mode="codeact")
    assert (result["status"], result["output"]) == ("completed", ROME)
    said = [m["content"] for m in result["messages"] if m["role"] == "user"]
    assert said[1].startswith("Observation:\n")
    assert '$: "people" is missing. Answer again' in said[1]


def test_it_goes_on_after_a_crash(stack):
    in_order(stack, BAD, {"text": GOOD, "delay_ms": 60000})
    first = stack.consumer(lease="600ms")
    job = stack.submit(prompt="go", output_schema=CITY)
    stack.wait_event(job, "message.completed")
    first.kill()
    stack.model.script([{"match": "", "in_order": True, "replies": [{"text": GOOD}]}])
    stack.consumer(lease="600ms")
    result = stack.result(job)
    assert (result["status"], result["output"]) == ("completed", ROME)
    assert "is missing. Answer again" in json.dumps(result["messages"]).replace(
        "\\", ""
    )


def test_tools_are_called_before(stack):
    in_order(stack, {"tool_calls": [call_of("6 * 7")]}, GOOD)
    stack.consumer()
    assert ask(stack)["output"] == ROME


# Every row: the schema, what is said of it.
SCHEMAS = [
    ({"pattern": "a+"}, "bad_field", "output_schema: $.pattern: is not checked here"),
    ({"type": "text"}, "bad_field", '$.type: is "text"'),
    ([1], "bad_field", "output_schema must be a map"),
    ({"title": "x" * 33000}, "too_large", "at most 32768"),
]


@pytest.mark.parametrize("schema, code, words", SCHEMAS)
def test_schemas_that_cannot_be_checked(stack, schema, code, words):
    stack.consumer()
    result = stack.run(prompt="go", output_schema=schema)
    assert (result["status"], result["error"]["code"]) == ("failed", code)
    assert words in result["error"]["message"]
    assert stack.model.counts()["total"] == 0


def test_what_no_model_answers_has_no_schema(stack):
    stack.consumer()
    result = stack.run(kind="code", cells=["1"], output_schema=CITY)
    assert "output_schema is for a conversation" in result["error"]["message"]
