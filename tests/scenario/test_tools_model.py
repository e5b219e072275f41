"""Tools that the model calls itself, beside Python: a real consumer, and a server
here that counts what it is asked."""

import json
import tempfile

import pytest
from servers import wait_until
from stack import Stack, call_of
from web import Web

PARAMETERS = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["query"],
}


@pytest.fixture
def web():
    with Web() as web:
        yield web


@pytest.fixture
def stack(web):
    paths = {"search": "/search", "slow": "/slow", "slow-look": "/slow-look"}
    tools = {
        name: {"url": web.url + path, "parameters": PARAMETERS}
        for name, path in paths.items()
    }
    tools["order"] = {**tools["search"], "url": web.url + "/orders", "method": "POST"}
    tools["slow"]["method"] = "POST"
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(tools, file)
        file.flush()
        with Stack(executor=False, tools=file.name) as stack:
            yield stack


def asks(name, arguments, id="c1"):
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    return {"id": id, "name": name, "arguments": arguments}


def answers(stack):
    """What the calls of the last request were told, by id."""
    messages = stack.model.request()["messages"]
    return {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}


def test_a_tool_is_called(stack, web):
    call = asks("search", {"query": "a b", "count": 2})
    stack.model.script([{"tool_calls": [call]}, {"text": "found"}])
    stack.consumer()
    job = stack.submit(prompt="go")
    result = stack.result(job)
    assert result["status"] == "completed" and "cells" not in result
    assert answers(stack) == {"c1": '{"path": "/search?query=a%20b&count=2"}'}
    told = [e["data"] for e in stack.check_events(job) if e["type"][:5] == "tool."]
    assert [(d["call"], d["tool"]) for d in told] == [("1.0", "search")] * 2
    assert told[0]["text"] == call["arguments"] and told[1]["status"] == "ok"


# Every row: what it shows, the arguments as the model writes them, the sentence
# that it is told, or the path that was asked for.
ARGUMENTS = [
    ("a string in a string", json.dumps('{"query": "a"}'), "/search?query=a"),
    ("just the text", "who is it", "/search?query=who%20is%20it"),
    ("nothing", "", 'argument "query" is missing'),
    ("of another type", '{"query": 7}', 'argument "query" is not what'),
]


@pytest.mark.parametrize("said, told", [row[1:] for row in ARGUMENTS])
def test_sloppy_arguments(stack, said, told):
    stack.model.script([{"tool_calls": [asks("search", said)]}, {"text": "so"}])
    stack.consumer()
    assert stack.run(prompt="go")["status"] == "completed"
    assert told in answers(stack)["c1"]


def test_an_unknown_tool_is_told_what_there_is(stack):
    stack.model.script([{"tool_calls": [asks("dance", {})]}, {"text": "so"}])
    stack.consumer()
    assert stack.run(prompt="go")["status"] == "completed"
    said = answers(stack)["c1"]
    assert 'there is no tool "dance"; there is: search' in said


def test_many_at_once_and_python_in_its_order(stack, web):
    """The slow ones wait for one another's answers: all must be asked first."""
    calls = [
        asks("slow", {"query": "1"}, "a"),
        asks("slow-look", {"query": "2"}, "b"),
        call_of("print('between')", "c"),
        asks("search", {"query": "3"}, "d"),
    ]
    stack.model.script([{"tool_calls": calls}, {"text": "done"}])
    stack.take_executor()
    stack.consumer()
    job = stack.submit(prompt="go")
    wait_until(lambda: len(web.asked) == 2, what="both are asked")
    assert "tool.completed" not in stack.types(job)
    web.let_go.set()
    result = stack.result(job)
    assert result["status"] == "completed"
    said = answers(stack)
    assert sorted(said) == list("abcd") and "between" in said["c"]
    told = [e for e in stack.events(job) if e["type"] == "tool.completed"]
    ended = [event["data"]["call"] for event in told]
    assert ended.index("1.2") > max(ended.index("1.0"), ended.index("1.1"))
    assert ended.index("1.3") > ended.index("1.2")


KILLED = [("slow", "is not known", 1), ("slow-look", "/slow-look", 2)]


@pytest.mark.parametrize("name, told, times", KILLED)
def test_a_call_whose_outcome_nobody_knows(stack, web, name, told, times):
    """A POST is not made again, a GET is."""
    stack.model.script([{"tool_calls": [asks(name, {"query": "x"})]}, {"text": "so"}])
    first = stack.consumer(lease="600ms")
    job = stack.submit(prompt="go")
    wait_until(lambda: len(web.asked) == 1, what="it is asked")
    first.kill()
    web.let_go.set()
    stack.consumer(lease="600ms")
    assert stack.result(job)["status"] == "completed"
    assert told in answers(stack)["c1"] and len(web.asked) == times


def test_a_job_names_its_tools(stack, web):
    call = asks("order", {"query": "x"})
    stack.model.script([{"tool_calls": [call]}, {"text": "so"}])
    stack.consumer()
    assert stack.run(prompt="go", tools=["search"])["status"] == "completed"
    offered = [t["function"]["name"] for t in stack.model.request(0)["tools"]]
    assert offered == ["search"] and not web.asked
    assert "there is: search" in answers(stack)["c1"]


def test_the_same_again_and_again_is_stopped(stack, web):
    replies = [{"tool_calls": [asks("search", {"query": "x"})]}] * 9
    last = {"match": "No more tools", "replies": [{"text": "I give up."}]}
    stack.model.script([last, {"match": "go", "replies": replies}])
    stack.consumer()
    result = stack.run(prompt="go", limits={"max_turns": 20})
    assert result["error"]["code"] == "loop" and result["answer"] == "I give up."
    assert len(web.asked) == 4


def test_a_cancel_leaves_nothing_behind(stack, web):
    stack.model.script([{"tool_calls": [asks("slow", {"query": "x"})]}])
    consumer = stack.consumer()
    job = stack.submit(prompt="go")
    wait_until(lambda: len(web.asked) == 1, what="it is asked")
    stack.call("cancel", job)
    assert stack.result(job)["status"] == "cancelled"
    web.let_go.set()
    assert stack.run(prompt="again")["status"] == "completed" and consumer.alive()
