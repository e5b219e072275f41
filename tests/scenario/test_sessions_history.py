"""What was said in a session: shown to its next job, once, and never without
its other half."""

import json

import msgpack
import pytest
from held_redis import HeldRedis
from hosts import record
from servers import PATIENCE_S, wait_until
from stack import ROOT, Stack, call_of


@pytest.fixture
def name(request):
    return request.node.name[:100].replace("[", ".").replace("]", "").replace(" ", "_")


def say(stack, *replies):
    stack.model.reset()
    stack.model.script([{"match": "", "in_order": True, "replies": list(replies)}])


def chat(stack, session, prompt, answer, **job):
    """A job that is answered so; what the model was shown, without the first."""
    say(stack, *(answer if isinstance(answer, list) else [{"text": answer}]))
    result = stack.run(session=session, prompt=prompt, **job)
    assert result["status"] == "completed", result
    return shown(stack.model.request(0))


def shown(request):
    return [(m["role"], m["content"]) for m in request["messages"][1:]]


def history(stack, session, tenant="default"):
    found = record(stack, session, tenant)
    blob = found and found.get("history")
    if not blob:
        return []
    data = stack.bytes_of({"blob": blob, "bytes": found["history_bytes"]})
    kept = msgpack.unpackb(data)["exchanges"]
    assert len(kept) == found["exchanges"]
    return [(e["question"], e["answer"]) for e in kept]


def act(number):
    code = f"n = {number}\nopen('f', 'w').write('{number}');"
    return {"tool_calls": [call_of(code, f"c{number}")]}


def file_of(stack, session):
    (file,) = record(stack, session)["files"]
    return file


def picture_of(stack, session):
    return record(stack, session).get("picture")


FIRST = [("user", "My name is Ada."), ("assistant", "Hello Ada.")]


def test_the_next_job_sees_it(stack, name):
    assert chat(stack, name, *(text for _, text in FIRST)) == FIRST[:1]
    assert chat(stack, name, "Who am I?", "Ada.") == [*FIRST, ("user", "Who am I?")]
    third = chat(stack, name, "Sure?", "Yes.")
    assert third == [*FIRST, ("user", "Who am I?"), ("assistant", "Ada."), third[-1]]
    assert [q for q, _ in history(stack, name)] == [FIRST[0][1], "Who am I?", "Sure?"]


def test_a_session_in_which_only_words_fell_is_no_session_lost(stack, name):
    """No executor has had it: its first cell is told of nothing."""
    chat(stack, name, "Hello.", "Hello.")
    assert record(stack, name).get("holder") is None
    kept = stack.db.hget(f"{ROOT}session:default/{name}", "picture")
    assert kept.decode() == record(stack, name)["history"], "the one blob, by its name"
    cell = stack.run(kind="code", cells=["1"], session=name)["cells"][0]
    assert cell["state"] == "kept" and "reason" not in cell
    assert history(stack, name) == [("Hello.", "Hello.")], "code says nothing"


@pytest.mark.parametrize("mode", ["tools", "codeact"])
def test_code_that_ran_is_a_note_behind_the_question(stack, name, mode):
    acts = {
        "tools": {"tool_calls": [call_of("x = 41\nopen('f.csv', 'w').write('1')")]},
        "codeact": {"text": "```python\nx = 41\nopen('f.csv', 'w').write('1')\n```"},
    }
    chat(stack, name, "Set x.", [acts[mode], {"text": "Done."}], mode=mode)
    other = "codeact" if mode == "tools" else "tools"
    (role, note), answer, question = chat(stack, name, "And?", "So.", mode=other)
    assert role == "user" and note.startswith("Set x.\n\n[What was done for this:")
    assert "x = 41" in note and "Files: f.csv]" in note
    assert answer == ("assistant", "Done.") and question == ("user", "And?")
    request = stack.model.request(0)
    assert not any(
        "tool_calls" in m or m["role"] == "tool" for m in request["messages"]
    )
    assert stack.run(kind="code", cells=["x"], session=name)["answer"] == "41"


def test_the_result_holds_what_this_job_said(stack, name):
    chat(stack, name, "One.", "1")
    say(stack, {"text": "2"})
    messages = stack.run(session=name, prompt="Two.")["messages"]
    assert [m["content"] for m in messages] == ["Two.", "2"]


def test_what_failed_or_was_cancelled_was_not_said(stack, name):
    say(stack, {"status": 400, "error": "no"})
    assert stack.run(session=name, prompt="Fails.")["status"] == "failed"
    say(stack, {"delay_ms": 60000, "text": "late"})
    job = stack.submit(session=name, prompt="Is cancelled.")
    stack.wait_event(job, "turn.started")
    stack.call("cancel", job)
    assert stack.result(job)["status"] == "cancelled"
    assert chat(stack, name, "Is answered.", "Yes.") == [("user", "Is answered.")]


def test_an_answer_that_a_limit_has_stopped_was_said(stack, name):
    say(stack, {"text": "Once upon", "finish_reason": "length"})
    assert stack.run(session=name, prompt="Tell.")["status"] == "incomplete"
    assert history(stack, name) == [("Tell.", "Once upon")]


def test_a_job_may_begin_anew_or_stay_out(stack, name):
    chat(stack, name, "One.", "1")
    assert chat(stack, name, "Off.", "-", history="off") == [("user", "Off.")]
    assert history(stack, name) == [("One.", "1")]
    assert chat(stack, name, "Anew.", "2", history="anew") == [("user", "Anew.")]
    assert history(stack, name) == [("Anew.", "2")]


def test_whole_messages_are_a_history_of_their_own(stack, name):
    """Chat front ends send all of it: what was said last is added."""
    chat(stack, name, "One.", "1")
    say(stack, {"text": "4"})
    messages = [
        {"role": "user", "content": "Three."},
        {"role": "assistant", "content": "3"},
        {"role": "user", "content": [{"type": "text", "text": "Four."}]},
    ]
    assert stack.run(session=name, messages=messages)["answer"] == "4"
    assert len(stack.model.request(0)["messages"]) == 4
    assert history(stack, name) == [("One.", "1"), ("Four.", "4")]


def test_a_fork_has_it_and_a_closed_one_has_forgotten(stack, name):
    chat(stack, name, "One.", "1")
    act = {"kind": "session", "session": name}
    fork = stack.run(**act, action={"do": "fork", "to": f"{name}.f"})
    assert fork["record"]["exchanges"] == 1
    assert stack.run(**act, action={"do": "close"})["status"] == "completed"
    assert history(stack, name) == []
    assert chat(stack, name, "Two.", "2") == [("user", "Two.")]
    assert len(chat(stack, f"{name}.f", "Two.", "2")) == 3


def test_tenants_have_their_own(stack, name):
    chat(stack, name, "Mine.", "1", tenant="one")
    assert chat(stack, name, "Whose?", "2", tenant="two") == [("user", "Whose?")]
    assert history(stack, name, "one") == [("Mine.", "1")]


def test_the_oldest_goes_first(name):
    with Stack(executor=False) as stack:
        stack.consumer(history_size="3000B")
        for number in range(8):
            chat(stack, name, f"{number} " + "q" * 500, f"{number} " + "a" * 5000)
        kept = history(stack, name)
        assert [q[0] for q, _ in kept] == ["6", "7"]
        assert all(q[0] == a[0] and "left out" in a for q, a in kept)
        assert record(stack, name)["history_bytes"] <= 3000
        sent = chat(stack, name, "Last.", "l")
        assert [role for role, _ in sent] == ["user", "assistant"] * 2 + ["user"]


def test_none_is_kept_when_the_operator_wants_none(name):
    with Stack(executor=False) as stack:
        stack.consumer(history_size=0)
        chat(stack, name, "One.", "1")
        assert chat(stack, name, "Two.", "2") == [("user", "Two.")]
        assert record(stack, name) is None


def test_one_that_is_gone_is_no_error(stack, name):
    """Somebody has deleted the blob: jobs go on without it, of either kind."""
    chat(stack, name, "One.", "1")
    stack.db.delete(f"{ROOT}blob:{record(stack, name)['history']}")
    assert chat(stack, name, "Two.", "2") == [("user", "Two.")]
    assert history(stack, name) == [("Two.", "2")]
    stack.db.delete(f"{ROOT}blob:{record(stack, name)['history']}")
    result = stack.run(kind="code", cells=["1"], session=name)
    assert result["status"] == "completed" and "notes" not in result, result
    assert "history" not in record(stack, name)


@pytest.mark.parametrize("what", ["file", "picture", "both"])
def test_words_are_kept_where_a_file_is_gone(stack, name, what):
    """The record names it no more, and says so."""
    chat(stack, name, "One.", [act(1), {"text": "1"}])
    blobs = {"file": file_of(stack, name)["blob"], "picture": picture_of(stack, name)}
    gone = [blob for kind, blob in blobs.items() if what in (kind, "both")]
    stack.db.delete(*(f"{ROOT}blob:{blob}" for blob in gone))
    assert len(chat(stack, name, "Two.", "2")) == 3
    assert [q for q, _ in history(stack, name)] == ["One.", "Two."]
    assert len(chat(stack, name, "Three.", "3")) == 5
    if what != "picture":
        assert file_of(stack, name) == {"name": "f", "bytes": 1, "note": "gone"}
    assert picture_of(stack, name) == (None if what != "file" else blobs["picture"])


def test_a_fork_is_of_what_is_left(stack, name):
    chat(stack, name, "One.", [act(1), {"text": "1"}])
    found = record(stack, name)
    stack.db.delete(f"{ROOT}blob:{found['history']}")
    stack.db.delete(f"{ROOT}blob:{file_of(stack, name)['blob']}")
    act_on = {"kind": "session", "session": name}
    fork = stack.run(**act_on, action={"do": "fork", "to": f"{name}.f"})
    assert fork["status"] == "completed", fork
    assert "exchanges" not in fork["record"]
    assert file_of(stack, f"{name}.f")["note"] == "gone"
    assert picture_of(stack, f"{name}.f") == found["picture"]
    assert chat(stack, f"{name}.f", "Two.", "2") == [("user", "Two.")]


BAD = {"bytes": b"\xc1", "form": msgpack.packb({"v": 1, "exchanges": 7})}


@pytest.mark.parametrize("bad", BAD)
def test_one_that_cannot_be_read_is_no_error(stack, name, bad):
    chat(stack, name, "One.", "1")
    stack.db.set(f"{ROOT}blob:{record(stack, name)['history']}", BAD[bad])
    assert chat(stack, name, "Two.", "2") == [("user", "Two.")]
    assert history(stack, name) == [("Two.", "2")]


def test_it_is_as_good_as_replaced_when_the_next_has_spoken(stack, name):
    """Not for a day and longer, as a job's files."""
    chat(stack, name, "One.", "1")
    old = record(stack, name)["history"]
    chat(stack, name, "Two.", "2")
    new = record(stack, name)["history"]
    assert stack.db.ttl(f"{ROOT}blob:{old}") <= 3600 + 1
    assert stack.db.ttl(f"{ROOT}blob:{new}") > 6 * 24 * 3600


def test_of_a_long_one_the_oldest_is_left_out_and_the_task_stays(name, tmp_path):
    with Stack(executor=False) as stack:
        path = tmp_path / "models.json"
        entry = {"url": stack.model.url, "model": "m", "window": 4000}
        path.write_text(json.dumps({"default": entry}))
        stack.consumer(models=path)
        for number in range(6):
            sent = chat(
                stack, name, f"{number} " + "q" * 2000, f"{number} " + "a" * 2000
            )
            assert sent[-1][1][0] == str(number)
            assert len(json.dumps(sent)) < 4000 * 4
        note, *rest = sent
        assert "earlier messages are left out" in note[1]
        assert [role for role, _ in rest] == ["user", "assistant"] * (
            len(rest) // 2
        ) + ["user"]


# ----------------------------------------------------------------------- deaths


def test_what_is_left_out_is_known_anew_when_what_was_said_is_gone(name, tmp_path):
    """Else the next attempt would take no word of its own for behind the cut."""
    with Stack(executor=False, lease="600ms") as stack:
        path = tmp_path / "models.json"
        entry = {"url": stack.model.url, "model": "m", "window": 4000}
        path.write_text(json.dumps({"default": entry}))
        first = stack.consumer(models=path)
        for number in range(4):
            chat(stack, name, f"{number} " + "q" * 2000, f"{number} " + "a" * 2000)
        calls = [{"tool_calls": [call_of("", f"c{n}", "none")]} for n in range(2)]
        say(stack, {"delay_ms": 60000, "text": "late"}, *calls, {"text": "Done."})
        job = stack.submit(session=name, prompt="And?")
        wait_until(lambda: stack.model.counts()["total"] == 1, 10, "it is asked")
        sent = shown(stack.model.request(0))
        assert "earlier messages are left out" in sent[0][1]
        first.kill()
        stack.db.delete(f"{ROOT}blob:{record(stack, name)['history']}")
        stack.consumer(models=path)
        assert stack.result(job)["answer"] == "Done."
        roles = [role for role, _ in shown(stack.model.request(3))]
        assert roles == ["user", *["assistant", "tool"] * 2], roles


@pytest.mark.parametrize("how", ["words", "cells"])
@pytest.mark.parametrize("written", [True, False], ids=["after", "before"])
def test_a_death_at_the_save_says_nothing_twice(name, how, written):
    """after: nobody has heard that it is written; before: it was not."""
    cells = [act(1)] if how == "cells" else []
    with (
        Stack(executor=bool(cells), lease="600ms") as stack,
        HeldRedis(stack.redis.socket) as way,
    ):
        first = stack.consumer()
        chat(stack, name, "One.", [*cells, {"text": "1"}])
        stack.dismiss(first)
        second = stack.consumer(redis_url=way.url)
        if written:
            way.hold(b"quern_v1_session_save")
        else:
            way.lose(b"quern_v1_session_save", for_good=True)
        cells = [act(2)] if cells else []
        say(stack, *cells, {"text": "2"})
        job = stack.submit(session=name, prompt="Two.")
        assert (way.held if written else way.lost).wait(PATIENCE_S)
        if written:
            wait_until(lambda: len(history(stack, name)) == 2, what="it is written")
        second.kill()
        assert len(history(stack, name)) == 1 + written
        stack.consumer()
        assert stack.result(job)["answer"] == "2"
        assert stack.model.counts()["total"] == len(cells) + 1
        assert history(stack, name) == [("One.", "1"), ("Two.", "2")]
        assert len(chat(stack, name, "Three.", "3")) == 5


def test_who_takes_over_shows_the_model_the_same(name):
    """A death while the model answers: the same request, byte for byte."""
    with Stack(executor=False, lease="600ms") as stack:
        first = stack.consumer()
        chat(stack, name, "One.", "1")
        say(stack, {"delay_ms": 60000, "text": "late"}, {"text": "2"})
        job = stack.submit(session=name, prompt="Two.")
        wait_until(lambda: stack.model.counts()["total"] == 1, what="it is asked")
        first.kill()
        stack.consumer()
        assert stack.result(job)["usage"]["repeated_calls"] == 1
        counts = stack.model.counts()
        assert (counts["total"], counts["different"]) == (2, 1)


def test_one_that_is_requeued_anew_says_it_anew(name):
    """It had an answer, and its consumers died too often over the end."""
    with (
        Stack(executor=False, lease="5s", max_crashes=0) as stack,
        HeldRedis(stack.redis.socket) as way,
    ):
        first = stack.consumer()
        chat(stack, name, "One.", "1")
        stack.dismiss(first)
        second = stack.consumer(redis_url=way.url)
        way.hold(b"quern_v1_session_save")
        say(stack, {"text": "2"})
        job = stack.submit(session=name, prompt="Two.")
        wait_until(lambda: len(history(stack, name)) == 2, what="it is written")
        second.kill()
        stack.consumer()
        assert stack.result(job)["error"]["code"] == "crashed"
        say(stack, {"text": "two"})
        assert stack.call("requeue", job, "anew") == b"queued"
        wait_until(lambda: stack.state(job) == "completed", what="it has ended")
        sent = [text for _, text in shown(stack.model.request(0))]
        assert sent == ["One.", "1", "Two."]
        assert history(stack, name) == [("One.", "1"), ("Two.", "two")]
