"""What was said in a session, and pictures, where a person is asked, an answer
has a form, or what may be spent runs out."""

import json
import time

import msgpack
import pytest
from command import Command
from hosts import record
from pictures import parts, shows
from servers import wait_until
from stack import ROOT, Stack, call_of
from test_budgets_tenant import begin_of_period, budget
from test_sessions_history import FIRST, chat, history, say, shown

FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
ACT = {"tool_calls": [call_of("x = 41")]}


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    with Stack() as stack:
        path = tmp_path_factory.mktemp("models") / "models.json"
        eyes = {"url": stack.model.url, "model": "eyes", "sees": True}
        path.write_text(json.dumps({"default": eyes}))
        stack.settings.update(models=path, blob_url="https://files.example/{blob}")
        stack.consumer()
        yield stack


@pytest.fixture
def name(request):
    return request.node.name[:100].replace("[", ".").replace("]", "")


def asks(stack, session, prompt="Set x.", after=({"text": "Done."},)):
    """A job that waits for a person before its only cell."""
    say(stack, ACT, *after)
    job = stack.submit(session=session, prompt=prompt, approve=["execute_python_code"])
    waits(stack, job)
    return job


def waits(stack, job):
    facts = lambda: stack.facts(job)
    wait_until(lambda: facts().get("reason") == "approval", what="it asks")


def decide(stack, job, verdict, note=""):
    assert stack.call("approve", job, verdict, note, "", "") == b"queued"


def check(stack, job, status="completed"):
    result = stack.result(job)
    assert result["status"] == status, result
    stack.check_events(job)
    [outcome] = Command(stack.redis.url, "/").json("replay", job)
    assert outcome["equal"] and outcome["bare_requests"] == 0, outcome
    return result


def intents(stack, job):
    records = stack.db.lrange(f"{ROOT}journal:{job}", 0, -1)
    records = [msgpack.unpackb(record) for record in records]
    return [r for r in records if r["kind"] == "model_intent"]


def work(stack, session):
    found = record(stack, session)
    data = stack.bytes_of({"blob": found["history"], "bytes": found["history_bytes"]})
    return msgpack.unpackb(data)["exchanges"][-1].get("work", "")


# ---------------------------------------------------------------------- people


def test_who_waits_for_a_person_keeps_the_turn(stack, name):
    """Its next attempt claims it again, and finds that it is its own; what was
    said before is what it was."""
    chat(stack, name, *(text for _, text in FIRST))
    job = asks(stack, name, after=[{"text": "Done."}, {"text": "It is 41."}])
    before = shown(stack.model.request(-1))
    second = stack.submit(session=name, prompt="What is x?")
    time.sleep(0.5)
    assert stack.state(second) == "queued", "it is not its turn"
    assert history(stack, name) == [tuple(text for _, text in FIRST)]
    decide(stack, job, "approve")
    assert check(stack, job)["attempts"] == 1
    assert stack.result(second)["answer"] == "It is 41."
    first, again, last = (shown(stack.model.request(n)) for n in range(3))
    assert first == before == [*FIRST, ("user", "Set x.")]
    assert again[:3] == first, "the same beginning, by another attempt"
    assert len({intent["history"] for intent in intents(stack, job)}) == 1
    assert (
        last[-3][1].startswith("Set x.\n\n[What was done") and "x = 41" in last[-3][1]
    )
    assert [q for q, _ in history(stack, name)][1:] == ["Set x.", "What is x?"]


def test_what_a_person_has_ended_was_not_said(stack, name):
    chat(stack, name, *(text for _, text in FIRST))
    job = asks(stack, name)
    decide(stack, job, "abort", "not today")
    assert check(stack, job, "cancelled")["error"]["code"] == "aborted"
    assert history(stack, name) == [tuple(text for _, text in FIRST)]
    assert chat(stack, name, "Who am I?", "Ada.") == [*FIRST, ("user", "Who am I?")]


def test_a_call_that_was_not_made_is_told_so(stack, name):
    job = asks(stack, name)
    decide(stack, job, "skip")
    check(stack, job)
    assert work(stack, name) == "\nexecute_python_code did not come to anything."


def test_a_reply_that_was_thrown_away_was_not_said(stack, name):
    job = asks(stack, name, after=[{"text": "In words."}])
    decide(stack, job, "regenerate")
    check(stack, job)
    assert history(stack, name) == [("Set x.", "In words.")] and not work(stack, name)


def test_a_picture_is_shown_to_who_goes_on(stack, name):
    """Another attempt, after a person: the picture is where it was."""
    say(stack, *shows(1), ACT, {"text": "seen"})
    job = stack.submit(session=name, prompt="Draw.", approve=["execute_python_code"])
    for count in (1, 2):
        questions = lambda: stack.types(job).count("job.waiting")
        wait_until(lambda: questions() == count, what=f"question {count}")
        decide(stack, job, "approve")
    check(stack, job)
    pictures = [parts(stack.model.request(n)) for n in range(3)]
    assert [len(found) for found in pictures] == [0, 1, 1]
    assert pictures[1] == pictures[2]


# ----------------------------------------------------------------------- forms


def test_the_value_of_an_answer_was_said(stack, name):
    """Not the words around it; and no link is put into it."""
    say(stack, {"text": 'So: {"name": "![](a.csv)"}'})
    file = stack.file("a.csv", b"1,2")
    job = stack.submit(
        session=name, prompt="Name it.", output_schema=FORM, files=[file]
    )
    result = check(stack, job)
    assert result["output"] == {"name": "![](a.csv)"}
    assert result["answer"] == 'So: {"name": "![](a.csv)"}'
    assert history(stack, name) == [("Name it.", '{"name":"![](a.csv)"}')]
    assert len(chat(stack, name, "And?", "So.")) == 3


def test_an_answer_of_another_form_was_said(stack, name):
    """It is incomplete: the best there is."""
    say(stack, *[{"text": "Ada"}] * 9)
    job = stack.submit(session=name, prompt="Name it.", output_schema=FORM)
    check(stack, job, "incomplete")
    assert history(stack, name) == [("Name it.", "Ada")]


# ---------------------------------------------------------------------- budgets


def used(input, output=10):
    return {"usage": {"prompt_tokens": input, "completion_tokens": output}}


# What it shows: the limit, what is asked for after the picture.
LIMITS = {"an answer": (3000, "none"), "nothing": (1800, None)}


@pytest.mark.parametrize("what", LIMITS)
def test_pictures_are_of_what_may_be_spent(stack, name, what):
    """A thousand tokens each, before they are sent."""
    limit, choice = LIMITS[what]
    name = name.replace(" ", "_")
    chat(stack, name, *(text for _, text in FIRST))
    [act] = shows(1)
    act = {**act, "text": "I draw.", **used(400)}
    say(stack, act, {"text": "enough", **used(1400)})
    job = stack.submit(session=name, prompt="Draw.", limits={"max_total_tokens": limit})
    result = check(stack, job, "incomplete")
    assert result["error"]["code"] == "token_limit"
    assert stack.model.counts()["total"] == 1 + (choice is not None)
    last = intents(stack, job)[-1]
    assert len(last["shown"]) == 1 and last["history"]
    if choice is not None:
        assert stack.model.request(-1)["tool_choice"] == choice
        assert parts(stack.model.request(-1))
    said = "enough" if choice else "I draw."
    assert history(stack, name)[1] == ("Draw.", said)


def test_a_request_that_waits_for_the_budget_shows_the_same(stack, name):
    """Out of the consumer's hands, with a session, and back with a picture."""
    stack.dismiss(stack.consumers[-1])
    stack.consumer(hold=0, slots=1)
    budget(stack, tenant_tokens=2500, tenant_budget_ms=20000)
    limits = {"max_tokens": 700}
    first = (text for _, text in FIRST)
    chat(stack, name, *first, tenant="acme", limits=limits)
    begin_of_period(20000)
    [act] = shows(1)
    say(stack, {**act, **used(400, 600)}, {"text": "seen", **used(1400)})
    job = stack.submit(session=name, prompt="Draw.", tenant="acme", limits=limits)
    assert stack.wait_event(job, "job.waiting")["data"]["reason"] == "budget"
    check(stack, job)
    assert stack.model.counts()["total"] == 2
    assert len(parts(stack.model.request(-1))) == 1
    assert shown(stack.model.request(-1))[:2] == FIRST
    assert len(history(stack, name, "acme")) == 2
