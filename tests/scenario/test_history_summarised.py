"""Conversations that are longer than the window of a model whose operator wants
what they leave out summarised: by one call of the model, before the request that
would leave it out ("history": "summarise")."""

import json

import msgpack
import pytest
from command import Command
from servers import wait_until
from stack import ROOT, Stack, call_of

WINDOW = 8000
LONG = "print('x' * 4000)"
SUMMARY = "The user wants a task done. Cells 0 to 2 have printed many x."
SUMMARISED = {"text": SUMMARY}
DONE = {"text": "done"}
LEFT_OUT = "earlier messages are left out here"


@pytest.fixture
def stack():
    with Stack() as stack:
        yield stack


@pytest.fixture
def quern(stack, tmp_path):
    return Command(stack.redis.url, tmp_path)


def endpoint(stack, tmp_path, **more):
    path = tmp_path / "models.json"
    entry = {"url": stack.model.url, "model": "m", "window": WINDOW, **more}
    path.write_text(json.dumps({"default": {"history": "summarise", **entry}}))
    return {"models": path}


def acts(count, start=0):
    return [
        {"tool_calls": [call_of(f"{LONG}; {n}", f"c{n}")]}
        for n in range(start, start + count)
    ]


def script(stack, *replies, summaries=(SUMMARISED,)):
    """One a request: what is left out must not count."""
    stack.model.script(
        [
            {"match": "[task]", "in_order": True, "replies": summaries},
            {"match": "", "in_order": True, "replies": replies},
        ]
    )
    stack.model.call("DELETE", "/counts")


def requests(stack):
    return [stack.model.request(n) for n in range(stack.model.counts()["total"])]


def asks_for_summary(request):
    return "Write a summary that takes its place" in json.dumps(request["messages"][0])


def notes(request):
    return [
        m["content"] for m in request["messages"] if LEFT_OUT in str(m.get("content"))
    ]


def pairs(messages):
    """Ids of calls, and of results."""
    calls = [c["id"] for m in messages for c in m.get("tool_calls", [])]
    return calls, [m["tool_call_id"] for m in messages if m["role"] == "tool"]


def journal(stack, job):
    return [msgpack.unpackb(r) for r in stack.db.lrange(f"{ROOT}journal:{job}", 0, -1)]


def purposes(stack, job):
    """Of the records of summaries: their kind, and what is wrong."""
    return [
        (record["kind"], record.get("last", ""))
        for record in journal(stack, job)
        if record.get("purpose") == "summary"
    ]


def is_replayed(quern, job):
    [outcome] = quern.json("replay", job)
    assert outcome["equal"], outcome


def events(stack, job, type):
    return [e["data"] for e in stack.events(job) if e["type"] == type]


def test_a_summary_takes_the_place_of_what_is_left_out(stack, quern, tmp_path):
    script(stack, *acts(8), DONE)
    stack.consumer(**endpoint(stack, tmp_path))
    job = stack.submit(prompt="the task")
    result = stack.result(job)
    assert result["status"] == "completed" and result["answer"] == "done"
    all = requests(stack)
    at = [n for n, request in enumerate(all) if asks_for_summary(request)]
    assert len(at) == 1, "once, when it was to be left out"
    before, asked, turn, after = all[at[0] - 1 : at[0] + 3]

    said = asked["messages"][1]["content"]
    assert [m["role"] for m in asked["messages"]] == ["system", "user"]
    assert "tools" not in asked and "[task]\nthe task" in said
    assert f"{LONG}; 0" in said and f"{LONG}; {at[0] - 1}" not in said

    for request in (turn, after):
        [note] = notes(request)
        assert SUMMARY in note and request["messages"][1]["content"] == "the task"
        calls, results = pairs(request["messages"])
        assert calls == results and "c0" not in calls
    assert len(turn["messages"]) < len(before["messages"])

    assert len(result["cells"]) == 8 and result["usage"]["model_calls"] == 10
    assert "a summary in the place of earlier messages" in result["notes"]
    assert SUMMARY not in json.dumps(result["messages"]), "those are as they were"
    types = stack.types(job)
    assert types.count("turn.started") == types.count("message.completed") == 9
    assert types.index("history.summarised") == types.index("history.summarising") + 1
    [told] = events(stack, job, "history.summarised")
    assert told == {"turn": at[0] + 1, "text": SUMMARY}
    heard = "".join(e.get("text", "") for e in events(stack, job, "message.delta"))
    assert SUMMARY not in heard
    is_replayed(quern, job)
