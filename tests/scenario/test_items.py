"""Items: the parts of what a model says and does, and their numbers."""

import pytest
from stack import Stack, call_of

WEATHER = {"name": "get_weather", "parameters": {"type": "object"}}


@pytest.fixture
def stack():
    with Stack() as stack:
        yield stack


def first_seen(events):
    """(number, type) of the first event of each item, in order."""
    seen = {}
    for event in events:
        number = event["data"].get("item")
        if number and number not in seen:
            seen[number] = event["type"]
    return list(seen.items())


def kinds(result):
    return [(i["number"], i.get("kind", "message")) for i in result["items"]]


def test_each_part_has_a_number(stack):
    stack.model.script(
        [
            {"text": "I compute.", "tool_calls": [call_of("print(6 * 7)")]},
            {"tool_calls": [call_of("x = 1", id="b"), call_of("x", id="c")]},
            {"text": "42"},
        ]
    )
    stack.consumer()
    job = stack.submit(prompt="go")
    result = stack.result(job)
    events = stack.events(job)
    assert kinds(result) == [
        (1, "message"),
        (2, "code"),
        (3, "code"),
        (4, "code"),
        (5, "message"),
    ]
    assert result["items"][0]["text"] == "I compute."
    assert [i["cell"] for i in result["items"] if "cell" in i] == [1, 2, 3]
    assert "text" not in result["items"][4] and result["answer"] == "42"
    assert [number for number, _ in first_seen(events)] == [1, 2, 3, 4, 5]
    printed = [e for e in events if e["type"] == "tool.output"]
    assert {e["data"]["item"] for e in printed} == {2}
    whole = [e["data"] for e in events if e["type"] == "message.completed"]
    assert [d.get("item") for d in whole] == [1, None, 5]
    [used] = result["usage"]["models"]
    for name in used.keys() - {"name"}:
        assert sum(d["usage"].get(name, 0) for d in whole) == used[name], name
    assert {d["usage"]["name"] for d in whole} == {used["name"]}


def test_calls_of_functions_are_items_and_events(stack):
    ask = {"id": "w", "name": "get_weather", "arguments": '{"city": "Ulm"}'}
    stack.model.script([{"text": "Wait.", "tool_calls": [ask, call_of("1", id="p")]}])
    stack.consumer()
    job = stack.submit(prompt="go", functions=[WEATHER])
    result = stack.result(job)
    assert kinds(result) == [(1, "message"), (2, "function"), (3, "code")]
    [called] = [e["data"] for e in stack.events(job) if e["type"] == "function.called"]
    assert called == {
        "turn": 1,
        "call": "w",
        "tool": "get_weather",
        "text": '{"city": "Ulm"}',
        "item": 2,
    }
    assert result["items"][1]["call"] == "w" == result["calls"][0]["call_id"]


def test_cells_of_kind_code_are_items(stack):
    stack.consumer()
    result = stack.run(kind="code", cells=["1", "2"])
    assert kinds(result) == [(1, "code"), (2, "code")]


def test_numbers_go_on_where_a_lost_attempt_was(stack):
    stack.model.script([{"text": "one two three four " * 3, "chunk_ms": 300}])
    consumer = stack.consumer(lease="1s")
    job = stack.submit(prompt="go")
    stack.wait_event(job, "message.delta")
    consumer.kill()
    stack.consumer(lease="1s")
    result = stack.result(job)
    events = stack.events(job)
    assert [n for n, _ in first_seen(events)] == [1, 2]
    lost = [e["data"] for e in events if e["attempt"] == 1 and "item" in e["data"]]
    assert lost and {d["item"] for d in lost} == {1}
    assert kinds(result) == [(2, "message")]
