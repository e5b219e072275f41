"""People in the loop: what a model wants waits for somebody's word, and nothing
of it is held meanwhile. A real consumer and executor, and a server that counts."""

import json
import tempfile
import time

import msgpack
import pytest
from command import Command
from executor_client import Connection
from servers import wait_until
from stack import ROOT, Stack, call_of
from web import Web

PARAMETERS = {
    "type": "object",
    "properties": {"what": {"type": "string"}},
    "required": ["what"],
}


@pytest.fixture
def web():
    with Web() as web:
        yield web


@pytest.fixture
def stack(web):
    order = {"url": web.url + "/order", "method": "POST", "parameters": PARAMETERS}
    look = {"url": web.url + "/look", "parameters": PARAMETERS}
    tools = {"order": {**order, "approve": True}, "look-up": look}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(tools, file)
        file.flush()
        with Stack(executor=False, tools=file.name, lease="600ms") as stack:
            yield stack


@pytest.fixture
def python(stack):
    """The same, with an executor."""
    stack.take_executor()
    return stack


def asks(name="order", what="tea", id="c1"):
    return {"id": id, "name": name, "arguments": json.dumps({"what": what})}


def in_order(stack, *replies):
    """Whatever the history says: replies that are thrown away are no part of it."""
    stack.model.script([{"match": "", "in_order": True, "replies": [*replies]}])


def asked(stack, job, count=1):
    """The last of so many questions, when the job waits for an answer to it."""

    def found():
        events = [e for e in stack.events(job) if e["type"] == "job.waiting"]
        facts = stack.facts(job)
        waits = (facts["state"], facts.get("reason")) == ("waiting", "approval")
        return waits and len(events) == count and events[-1]["data"]

    return wait_until(found, what=f"question {count} of {job}")


def decide(stack, job, verdict, note="", text="", call=""):
    return stack.call("approve", job, verdict, note, call, text).decode()


def told(stack):
    """What the last request ended with."""
    return stack.model.request()["messages"][-1]


def kinds(stack, job):
    records = stack.db.lrange(f"{ROOT}journal:{job}", 0, -1)
    return [msgpack.unpackb(record)["kind"] for record in records]


def check(stack, job, status="completed"):
    """Also: from the journal alone follows that the same people are asked."""
    result = stack.result(job)
    assert result["status"] == status, result
    stack.check_events(job)
    assert stack.is_quiet()
    [outcome] = Command(stack.redis.url, "/").json("replay", job)
    assert outcome["equal"], outcome
    return result


# Every row: the verdict, what is sent with it, the orders that come of it, and
# what the model is told.
CALLS = [
    ("approve", {}, [{"what": "tea"}], '{"what":"tea"}'),
    ("edit", {"text": '{"what": "milk"}'}, [{"what": "milk"}], "has changed this call"),
    (
        "reject",
        {"note": "too dear"},
        [],
        "does not allow this call. The user says: too dear",
    ),
    ("skip", {}, [], "has skipped this call"),
    ("ask", {"text": "which tea?"}, [], "Not run. The user says: which tea?"),
]


@pytest.mark.parametrize(
    "verdict, given, orders, words", CALLS, ids=[row[0] for row in CALLS]
)
def test_a_verdict_on_a_tool(stack, web, verdict, given, orders, words):
    in_order(stack, {"tool_calls": [asks()]}, {"text": "so be it"})
    stack.consumer()
    job = stack.submit(prompt="go")
    question = asked(stack, job)
    assert question.pop("until") > time.time() * 1000
    assert question == {
        "turn": 1,
        "call": "1.0",
        "tool": "order",
        "text": '{"what": "tea"}',
        "reason": "approval",
    }
    assert web.asked == []
    assert decide(stack, job, verdict, **given, call="1.0") == "queued"
    assert decide(stack, job, verdict, **given, call="1.0") == "queued", "sent again"
    result = check(stack, job)
    assert [json.loads(order.body) for order in web.asked] == orders
    assert told(stack)["role"] == "tool" and words in told(stack)["content"]
    assert result["attempts"] == 1, "who waits for somebody has not failed"
    assert kinds(stack, job).count("approval") == 1
    (done,) = [e["data"] for e in stack.events(job) if e["type"] == "tool.completed"]
    assert done["status"] == ("ok" if orders else "refused")


# Every row: the mode; how the model wants code to be run.
MODES = [
    ("tools", {"tool_calls": [call_of("print(6 * 7)")]}),
    ("codeact", {"text": "I do it.\n```python\nprint(6 * 7)\n```"}),
]
ENDS = {"tools": {"text": "done"}, "codeact": {"text": "FINAL ANSWER: done"}}
CODES = [
    ("approve", {}, ["print(6 * 7)"], "42"),
    ("edit", {"text": "print(6 * 8)"}, ["print(6 * 8)"], "48"),
    ("reject", {"note": "never"}, [], "does not allow this call. The user says: never"),
    ("skip", {}, [], "has skipped this call"),
    ("ask", {"text": "why?"}, [], "The user says: why?"),
]


@pytest.mark.parametrize("mode, reply", MODES)
def test_a_verdict_on_code(python, mode, reply):
    """In one world, one after the other: what it costs is the executor."""
    python.consumer(approve="execute_python_code")
    for verdict, given, cells, words in CODES:
        in_order(python, reply, ENDS[mode])
        job = python.submit(prompt="go", mode=mode)
        question = asked(python, job)
        assert (question["tool"], question["code"]) == (
            "execute_python_code",
            "print(6 * 7)",
        )
        assert decide(python, job, verdict, **given) == "queued"
        result = check(python, job)
        assert [cell["code"] for cell in result.get("cells", [])] == cells
        said = told(python)
        assert words in said["content"]
        assert said["content"].startswith("Observation:\n") == (mode == "codeact")
        if verdict == "edit":
            assert "What was run:\nprint(6 * 8)\n]" in said["content"]


@pytest.mark.parametrize("mode, reply", MODES)
def test_a_reply_is_thrown_away(python, mode, reply):
    in_order(python, reply, ENDS[mode])
    python.consumer(approve="execute_python_code")
    job = python.submit(prompt="go", mode=mode)
    asked(python, job)
    assert decide(python, job, "regenerate", note="in words") == "queued"
    result = check(python, job)
    assert result["answer"] == "done" and "cells" not in result
    history = python.model.request()["messages"][1:]
    assert [message["role"] for message in history] == ["user", "user"]
    assert "thrown your last reply away" in history[1]["content"]
    assert history[1]["content"].endswith("The user says: in words")
    assert result["usage"]["model_calls"] == 2, "it has been paid for"


def test_a_person_ends_it(stack, web):
    in_order(stack, {"text": "I order.", "tool_calls": [asks()]})
    stack.consumer()
    job = stack.submit(prompt="go")
    asked(stack, job)
    assert decide(stack, job, "abort", note="not today") == "queued"
    result = check(stack, job, "cancelled")
    assert result["error"]["code"] == "aborted"
    assert result["error"]["message"].endswith("call 1.0 of order: not today")
    assert result["answer"] == "I order." and web.asked == []
    assert decide(stack, job, "approve") == "late"


def test_all_of_a_reply_is_asked_about_before_any_of_it_runs(stack, web):
    calls = [
        asks("look-up", "a", "c1"),
        asks("order", "b", "c2"),
        asks("order", "c", "c3"),
    ]
    in_order(stack, {"tool_calls": calls}, {"text": "done"})
    stack.consumer()
    job = stack.submit(prompt="go")
    assert asked(stack, job)["call"] == "1.1"
    assert decide(stack, job, "skip", call="1.1") == "queued"
    assert asked(stack, job, 2)["call"] == "1.2"
    assert web.asked == []
    assert decide(stack, job, "approve", call="1.1") == "late", "of another call"
    assert decide(stack, job, "approve", call="1.2") == "queued"
    check(stack, job)
    assert sorted(asked.path for asked in web.asked) == ["/look?what=a", "/order"]


def test_what_is_edited_badly_is_asked_about_again(stack, web):
    in_order(stack, {"tool_calls": [asks()]}, {"text": "done"})
    stack.consumer()
    job = stack.submit(prompt="go")
    for count, text in enumerate(("milk, please", '{"whom": "me"}'), 1):
        asked(stack, job, count)
        assert decide(stack, job, "edit", text=text) == "queued"
    question = asked(stack, job, 3)
    assert 'argument "what" is missing' in question["error"]["message"]
    assert question["text"] == '{"what": "tea"}'
    assert decide(stack, job, "approve") == "queued"
    check(stack, job)
    assert [json.loads(order.body) for order in web.asked] == [{"what": "tea"}]


def test_what_cannot_be_carried_out_is_not_asked_about(stack, web):
    broken = {"id": "c1", "name": "order", "arguments": '{"whom": "me"}'}
    in_order(stack, {"tool_calls": [broken]}, {"text": "done"})
    stack.consumer()
    job = stack.submit(prompt="go")
    check(stack, job)
    assert "job.waiting" not in stack.types(job) and web.asked == []
    assert 'argument "what" is missing' in told(stack)["content"]


def test_what_cannot_be_shown_whole_is_not_run(stack, web):
    in_order(stack, {"tool_calls": [asks(what="x" * 50000)]}, {"text": "done"})
    stack.consumer()
    check(stack, stack.submit(prompt="go"))
    assert "at most 49152 can be shown" in told(stack)["content"] and web.asked == []


# ---------------------------------------------------------------- who decides


def test_a_job_may_ask_for_more_and_not_for_less(stack, web):
    in_order(
        stack,
        {"tool_calls": [asks("look-up", "a", "c1"), asks("order", "b", "c2")]},
        {"text": "done"},
    )
    stack.consumer()
    job = stack.submit(prompt="go", approve=["look-up"])
    assert asked(stack, job)["tool"] == "look-up"
    decide(stack, job, "reject")
    assert asked(stack, job, 2)["tool"] == "order"
    decide(stack, job, "reject")
    check(stack, job)
    assert web.asked == []


# Every row: what it shows, the job, its error.
BAD = [
    ("no tool", {"approve": ["dance"]}, "unknown_tool", 'no tool "dance"'),
    ("no name", {"approve": ["a b"]}, "bad_field", "approve[0]"),
    ("no word", {"approval_default": "yes"}, "bad_field", "approval_default"),
    (
        "no model",
        {"kind": "code", "cells": ["1"], "prompt": "", "approve": ["order"]},
        "bad_field",
        "only calls of a model need approval",
    ),
]


@pytest.mark.parametrize(
    "given, code, words", [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_wishes_that_are_none(stack, given, code, words):
    stack.consumer()
    result = stack.run(**{"prompt": "go", **given})
    assert (result["status"], result["error"]["code"]) == ("failed", code)
    assert words in result["error"]["message"]


def test_settings_that_are_none(stack):
    for name, value, words in (
        ("approve", "order, dance", 'there is no tool "dance"'),
        ("approval_default", "yes", "must be abort or skip"),
    ):
        with pytest.raises(AssertionError) as refused:
            stack.consumer(**{name: value})
        stack.consumers.pop()
        assert words in str(refused.value)


# ------------------------------------------------------- code that calls tools

NAMES = "try: print(order(what='tea'))\nexcept ToolError as e: print(e)"
HIDES = (
    "try: print(globals()['or' + 'der'](what='tea'))\n"
    "except ToolError as e: print(e)"
)


def test_code_that_names_the_tool_is_shown_first(python, web):
    python.consumer()
    for verdict, orders in (("skip", 0), ("approve", 1)):
        in_order(python, {"tool_calls": [call_of(NAMES)]}, {"text": "done"})
        job = python.submit(prompt="go")
        assert asked(python, job)["code"] == NAMES
        decide(python, job, verdict)
        check(python, job)
        assert len(web.asked) == orders


@pytest.mark.parametrize("mode", ["tools", "codeact"])
def test_code_that_nobody_approved_cannot_call_it(python, web, mode):
    reply = {"tool_calls": [call_of(HIDES)]}
    if mode == "codeact":
        reply = {"text": f"```python\n{HIDES}\n```"}
    in_order(python, reply, ENDS[mode])
    python.consumer()
    job = python.submit(prompt="go", mode=mode)
    check(python, job)
    assert web.asked == [] and "job.waiting" not in python.types(job)
    assert "the user has to approve calls of" in told(python)["content"]


def test_cells_that_a_person_submits_are_approved(python, web):
    python.consumer(approve="execute_python_code")
    job = python.submit(kind="code", cells=["order(what='tea')"])
    check(python, job)
    assert len(web.asked) == 1


# -------------------------------------------------------------------- time-out


def test_nobody_says_anything(stack, web):
    in_order(stack, {"tool_calls": [asks()]}, {"text": "done"})
    stack.consumer()
    job = stack.submit(prompt="go", approval_ms=300)
    result = check(stack, job, "failed")
    assert result["error"]["code"] == "not_approved" and web.asked == []
    assert stack.call("requeue", job) == b"queued"
    asked(stack, job)  # again: the reply is not paid for twice
    decide(stack, job, "approve")
    result = stack.result(job)
    assert result["status"] == "completed" and result["usage"]["model_calls"] == 2
    assert web.seen["/order"] == 1


@pytest.mark.parametrize(
    "settings, job",
    [
        ({}, {"approval_ms": 300, "approval_default": "skip"}),
        ({"approval_time": "1s", "approval_default": "skip"}, {"approval_ms": 9000}),
    ],
    ids=["job", "operator"],
)
def test_nobody_says_anything_and_it_goes_on(stack, web, settings, job):
    in_order(stack, {"tool_calls": [asks()]}, {"text": "done"})
    stack.consumer(**settings)
    id = stack.submit(prompt="go", **job)
    check(stack, id)
    assert "nobody has approved this call in time" in told(stack)["content"]
    assert web.asked == [] and decide(stack, id, "approve") == "late"


def test_its_deadline_goes_on(stack):
    in_order(stack, {"tool_calls": [asks()]})
    stack.consumer()
    job = stack.submit(
        prompt="go", limits={"deadline_ms": 1000}, pairs={"deadline_ms": 1000}
    )
    assert check(stack, job, "failed")["error"]["code"] == "deadline_exceeded"


def test_it_is_cancelled_while_it_waits(stack):
    in_order(stack, {"tool_calls": [asks()]})
    stack.consumer()
    job = stack.submit(prompt="go")
    asked(stack, job)
    assert stack.call("cancel", job) == b"cancelled"
    check(stack, job, "cancelled")
    assert decide(stack, job, "approve") == "late"


# ------------------------------------------------------- who waits holds nothing


def test_another_job_runs_meanwhile(stack, web):
    stack.model.script(
        [
            {"match": "order", "replies": [{"tool_calls": [asks()]}, {"text": "ok"}]},
            {"match": "other", "replies": [{"text": "hello"}]},
        ]
    )
    stack.consumer(slots=1)
    waiting = [stack.submit(prompt="order") for _ in range(3)]
    for job in waiting:
        asked(stack, job)
    assert stack.run(prompt="other")["answer"] == "hello"
    assert not stack.db.exists(f"{ROOT}leases:default")
    for job in waiting:
        decide(stack, job, "approve")
    for job in waiting:
        assert stack.result(job)["status"] == "completed"
    assert web.seen["/order"] == 3


def test_a_session_waits_with_its_job(python):
    """Its variables are there after; the next job of the session comes later."""
    python.consumer(approve="execute_python_code")
    in_order(
        python,
        {"tool_calls": [call_of("x = 41")]},
        {"tool_calls": [call_of("x + 1")]},
        {"text": "first"},
        {"text": "second"},
    )
    first = python.submit(prompt="go", session="s")
    asked(python, first)
    second = python.submit(prompt="go", session="s")
    decide(python, first, "approve")
    asked(python, first, 2)
    assert python.state(second) == "queued"
    decide(python, first, "approve")
    assert python.result(second)["answer"] == "second"
    result = check(python, first)
    assert [cell["state"] for cell in result["cells"]] == ["kept", "kept"]
    assert result["cells"][1]["result"] == "42"


def test_a_session_in_which_nothing_has_run_is_not_kept(python):
    """It may have been made ready while the reply still came."""
    python.consumer(approve="execute_python_code")
    code = "```python\nx = 41\n```\n" + "And on it goes. " * 50
    in_order(python, {"text": code, "chunk_ms": 20}, {"text": "FINAL ANSWER: 42"})
    job = python.submit(prompt="go", mode="codeact")
    asked(python, job)
    executor = Connection(python.socket)
    wait_until(
        lambda: not executor.ask(type="sessions").get("sessions"), 20, "it is ended"
    )
    executor.close()
    decide(python, job, "approve")
    assert check(python, job)["cells"][0]["state"] == "kept"


def test_a_session_that_ended_meanwhile_is_made_again(python):
    python.consumer(approve="execute_python_code")
    in_order(
        python,
        {"tool_calls": [call_of("x = 41")]},
        {"tool_calls": [call_of("x + 1")]},
        {"text": "done"},
    )
    job = python.submit(prompt="go")
    asked(python, job)
    decide(python, job, "approve")
    asked(python, job, 2)
    python.start_executor()
    decide(python, job, "approve")
    first, second = check(python, job)["cells"]
    assert (second["state"], second["result"]) == ("restored", "42")


# ------------------------------------------------------------------ kill -9


def test_another_consumer_goes_on(stack, web):
    in_order(stack, {"tool_calls": [asks()]}, {"text": "done"})
    first = stack.consumer()
    job = stack.submit(prompt="go")
    asked(stack, job)
    first.kill()
    assert decide(stack, job, "approve") == "queued"
    assert stack.state(job) == "queued"
    stack.consumer()
    assert check(stack, job)["usage"]["model_calls"] == 2
    assert web.seen["/order"] == 1


def test_a_verdict_is_heeded_once_whoever_dies(stack, web):
    """Killed between the verdict and what comes of it, again and again."""
    slow = {"id": "c1", "name": "order", "arguments": '{"what": "tea"}'}
    in_order(stack, {"tool_calls": [slow]}, {"text": "done", "delay_ms": 700})
    consumers = [stack.consumer(max_crashes=100) for _ in range(2)]
    job = stack.submit(prompt="go")
    asked(stack, job)
    decide(stack, job, "approve")
    for _ in range(2):
        time.sleep(0.1)
        consumers.pop(0).kill()
        consumers.append(stack.consumer(max_crashes=100))
    check(stack, job)
    assert web.seen["/order"] == 1 and kinds(stack, job).count("approval") == 1
