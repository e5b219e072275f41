"""Pictures, to models that see: the newest, right behind what they come of."""

import json

import msgpack
import pytest
from pictures import PNG, parts, show, shows
from servers import wait_until
from stack import ROOT, Stack, call_of

DONE = {"text": "done"}


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    with Stack() as stack:
        folder = tmp_path_factory.mktemp("models")
        stack.consumer(models=models(stack, folder))
        yield stack


def models(stack, folder, **more):
    path = folder / "models.json"
    url = stack.model.url
    path.write_text(
        json.dumps(
            {
                "default": {"url": url, "model": "eyes", "sees": True, **more},
                "blind": {"url": url, "model": "none"},
            }
        )
    )
    return path


def say(stack, *replies):
    stack.model.reset()
    stack.model.script([{"match": "", "in_order": True, "replies": list(replies)}])


def test_a_picture_is_shown_right_behind_the_call(stack):
    say(stack, *shows(1), DONE)
    result = stack.run(prompt="Draw.")
    assert result["answer"] == "done"
    request = stack.model.request(-1)
    assert [m["role"] for m in request["messages"]] == [
        *["system", "user", "assistant", "tool", "user"]
    ]
    assert "[image: figure-1.png]" in request["messages"][3]["content"]
    assert parts(request) == [(4, "user", ["[image: figure-1.png]"], [1])]
    assert "base64" not in json.dumps(result["messages"]), "the result names it"


def test_those_of_one_turn_are_in_one_message(stack):
    """Behind all of its results: nothing may come between these."""
    calls = [call_of(show(n), f"c{n}", index=n) for n in range(2)]
    say(stack, {"tool_calls": calls}, DONE)
    stack.run(prompt="Draw.")
    request = stack.model.request(-1)
    roles = [m["role"] for m in request["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    names = ["[image: figure-1.png]", "[image: figure-2.png]"]
    assert parts(request) == [(5, "user", names, [0, 1])]


def test_in_codeact_mode_they_are_in_the_observation(stack):
    say(stack, {"text": f"```python\n{show(3)}\n```"}, DONE)
    stack.run(prompt="Draw.", mode="codeact")
    request = stack.model.request(-1)
    [(at, role, (text, name), lengths)] = parts(request)
    assert (at, role, lengths) == (3, "user", [3])
    assert text.startswith("Observation:") and name == "[image: figure-1.png]"


def test_the_newest_are_shown(stack):
    say(stack, *shows(1, 2, 3, 4, 5, 6), DONE)
    assert len(stack.run(prompt="Draw.")["images"]) == 6
    request = stack.model.request(-1)
    assert [lengths for *_, lengths in parts(request)] == [[3], [4], [5], [6]]
    assert json.dumps(request).count("[image: figure-1.png]") == 1, "it is named"


def test_who_does_not_see_is_told_their_names(stack):
    say(stack, *shows(1), DONE)
    stack.run(prompt="Draw.", model="blind")
    assert parts(stack.model.request(-1)) == []
    assert "[image: figure-1.png]" in json.dumps(stack.model.request(-1))


def test_pictures_of_the_user(stack):
    files = [
        stack.file("a.png", PNG + b"1", "image/png"),
        stack.file("b.csv", b"1,2", "text/csv"),
        stack.file("c.png", b"no picture", "image/png"),
        stack.file("d.svg", b"<svg/>", "image/svg+xml"),
    ]
    say(stack, DONE)
    stack.run(prompt="What is it?", files=files)
    request = stack.model.request(-1)
    assert parts(request) == [(1, "user", ["What is it?", "[image: a.png]"], [1])]
    # Nobody has said what these are, as quern does not: their names tell.
    unsaid = [stack.file("e.PNG", PNG + b"2", ""), stack.file("f", PNG + b"3", "")]
    say(stack, DONE)
    stack.run(prompt="What is it?", files=unsaid)
    request = stack.model.request(-1)
    assert parts(request) == [(1, "user", ["What is it?", "[image: e.PNG]"], [1])]
    messages = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": [{"type": "text", "text": "And it?"}]},
    ]
    say(stack, DONE)
    stack.run(messages=messages, files=files)
    request = stack.model.request(-1)
    assert parts(request) == [(3, "user", ["And it?", "[image: a.png]"], [1])]


def test_one_that_is_gone_is_named(stack):
    """Nothing is an error of the job: it was displayed, it has a name."""
    stack.model.reset()
    say(stack, *shows(7), {**shows(8)[0], "delay_ms": 5000}, DONE)
    job = stack.submit(prompt="Draw.")
    blob = stack.wait_event(job, "image")["data"]["image"]["blob"]
    wait_until(lambda: stack.model.counts()["total"] == 2, what="it is asked")
    stack.db.delete(f"{ROOT}blob:{blob}")
    assert stack.result(job)["status"] == "completed"
    assert [lengths for *_, lengths in parts(stack.model.request(-1))] == [[8]]


def test_one_that_goes_between_two_tries(stack):
    """What is sent the second time is what the journal says then."""
    say(stack, *shows(11), {"status": 503}, DONE)
    job = stack.submit(prompt="Draw.", retry={"backoff_ms": 1500})
    blob = stack.wait_event(job, "image")["data"]["image"]["blob"]
    stack.wait_event(job, "job.retrying")
    stack.db.delete(f"{ROOT}blob:{blob}")
    result = stack.result(job)
    assert result["answer"] == "done" and "repeated_calls" not in result["usage"]
    assert [bool(parts(stack.model.request(n))) for n in (1, 2)] == [True, False]
    journal = stack.db.lrange(f"{ROOT}journal:{job}", 0, -1)
    records = [msgpack.unpackb(record) for record in journal][-4:]
    assert [(r["kind"], r.get("failed")) for r in records] == [
        ("model_intent", None),
        ("model_intent", True),
        ("model_intent", None),
        ("model_reply", None),
    ]
    assert records[0]["shown"] == [blob] and "shown" not in records[2]
    assert records[0]["hash"] != records[2]["hash"]


def test_all_of_them_have_bounds(tmp_path):
    with Stack() as stack:
        limits = {"image_size": f"{3 * len(PNG)}B", "images": 9}
        stack.consumer(models=models(stack, tmp_path), **limits)
        say(stack, *shows(1, 9, 4000, 2, 3), DONE)
        stack.run(prompt="Draw.")
        assert [n for *_, n in parts(stack.model.request(-1))] == [[2], [3]]
        lies = {**stack.file("a.png", PNG + bytes(4000), "image/png"), "bytes": 1}
        say(stack, DONE)
        stack.run(prompt="Look.", files=[lies])
        assert parts(stack.model.request(-1)) == []


REFUSAL = {"status": 400, "error": "This model does not support image inputs."}


def test_an_endpoint_that_takes_none_is_asked_without(tmp_path):
    """Once: from then on it is known."""
    with Stack() as stack:
        stack.consumer(models=models(stack, tmp_path))
        say(stack, *shows(1), REFUSAL, DONE)
        job = stack.submit(prompt="Draw.")
        result = stack.result(job)
        assert result["answer"] == "done", result
        assert "repeated_calls" not in result["usage"]
        assert [bool(parts(stack.model.request(n))) for n in range(3)] == [
            *[False, True, False]
        ]
        say(stack, *shows(1), DONE)
        assert stack.run(prompt="Draw.")["answer"] == "done"
        assert stack.model.counts()["total"] == 2
        assert not parts(stack.model.request(-1))
        stack.check_events(job)


def test_a_picture_that_is_too_large_says_nothing_of_the_next(tmp_path):
    with Stack() as stack:
        stack.consumer(models=models(stack, tmp_path))
        say(stack, *shows(1), {"status": 400, "error": "image exceeds 5 MB"}, DONE)
        assert stack.run(prompt="Draw.")["answer"] == "done"
        say(stack, *shows(1), DONE)
        stack.run(prompt="Draw.")
        assert len(parts(stack.model.request(-1))) == 1


def test_a_request_that_is_too_long_is_made_without(stack):
    """Before anything of the conversation is left out."""
    refusal = {"status": 400, "error": "prompt is too long: 9 > 8"}
    say(stack, *shows(1, 2), refusal, DONE)
    assert stack.run(prompt="Draw.")["answer"] == "done"
    before, after = [stack.model.request(n) for n in (2, 3)]
    assert parts(before) and not parts(after)
    assert "are left out" not in json.dumps(after)


def test_an_endpoint_that_is_away_is_asked_the_same_again(stack):
    """The pictures are read anew: they were not kept while it was waited for."""
    say(stack, *shows(1), {"status": 503}, {"drop": True}, DONE)
    assert stack.run(prompt="Draw.")["answer"] == "done"
    asked = [stack.model.request(n) for n in range(4)]
    assert asked[1] == asked[2] == asked[3] and parts(asked[3])


def test_who_takes_over_shows_the_same(tmp_path):
    with Stack(lease="600ms") as stack:
        path = models(stack, tmp_path)
        first = stack.consumer(models=path)
        say(stack, *shows(1), {"delay_ms": 60000, "text": "late"}, DONE)
        job = stack.submit(prompt="Draw.")
        wait_until(lambda: stack.model.counts()["total"] == 2, what="it is asked")
        first.kill()
        stack.consumer(models=path)
        assert stack.result(job)["answer"] == "done"
        assert stack.model.counts()["different"] == 2
        assert parts(stack.model.request(1)) == parts(stack.model.request(2)) != []


def test_they_count_against_the_window(tmp_path):
    """Some thousand tokens each, however many bytes they have."""
    with Stack() as stack:
        stack.consumer(models=models(stack, tmp_path, window=6000))
        uncounted = [{**reply, "usage": None} for reply in shows(1, 2, 3, 4, 5)]
        say(stack, *uncounted, DONE)
        assert stack.run(prompt="Draw.")["status"] == "completed"
        asked = [stack.model.request(n) for n in range(6)]
        assert "are left out" not in json.dumps(asked[2])
        assert "are left out" in json.dumps(asked[5])
        assert parts(asked[5])[-1][-1] == [5]
