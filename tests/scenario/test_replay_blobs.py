"""quern replay of jobs whose requests were made of blobs: pictures, what was
said in the session before; and of what an operator's links make of an answer.

With QUERN_UPDATE=1 the recordings become part of the pack of
tests/recordings/jobs."""

import base64
import hashlib
import json
import os
import shutil

import pytest
from command import Command
from pictures import PNG, shows
from recording import NOWHERE, PACK, lines_of, outcome_of, written
from stack import ROOT, Stack, call_of

COUNTED = {"prompt_tokens": 400, "completion_tokens": 10}
LINKED = "![so](figure-1.png) [in](./a.csv)"
BLIND = {"status": 400, "error": "This model does not support image inputs."}


# What the model says, what is asked for, which blobs the recording has.
JOBS = {
    "pictures": ([*shows(1, 2), {"text": LINKED}], {"prompt": "Draw."}, 2),
    "pictures-refused": (
        [*shows(3), BLIND, {"text": "I see nothing."}],
        {"prompt": "Draw.", "model": "claims"},
        1,
    ),
    "upload": ([{"text": "Got it."}], {"files": ["表.csv"]}, 0),
    "session": (
        [{"text": "Ada."}],
        {"prompt": "Who am I?", "session": "replayed"},
        1,
    ),
    "session-anew": (
        [{"text": "Who knows."}],
        {"prompt": "Who am I?", "session": "replayed", "history": "anew"},
        0,
    ),
    # Asked about the cell, a person says yes: another attempt shows the picture.
    "session-asked": (
        [*shows(1), {"text": 'So: {"name": "Ada"}'}],
        {
            "prompt": "Who am I?",
            "session": "asked",
            "approve": ["execute_python_code"],
            "output_schema": {"type": "object"},
        },
        2,
    ),
    # With its picture the next request does not fit into what is left.
    "session-spent": (
        [{**shows(1)[0], "text": "I draw.", "usage": COUNTED}],
        {
            "prompt": "Draw.",
            "session": "spent",
            "limits": {"max_total_tokens": 1900},
        },
        2,
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("recordings")


@pytest.fixture(scope="module")
def stack(folder):
    with Stack() as stack:
        eyes = {"url": stack.model.url, "model": "m", "sees": True}
        models = {"default": eyes, "claims": eyes}
        (folder / "models.json").write_text(json.dumps(models))
        stack.consumer(
            models=folder / "models.json", blob_url="https://files.example/{blob}"
        )
        yield stack


@pytest.fixture(scope="module")
def quern(stack, folder):
    return Command(stack.redis.url, folder)


def say(stack, replies):
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])


@pytest.fixture(scope="module")
def recorded(stack, quern, folder):
    def record(name):
        path = folder / f"{name}.jsonl"
        if path.exists():
            return path
        replies, job, _ = JOBS[name]
        if "session" in job:
            say(stack, [{"text": "Hello Ada."}])
            stack.run(prompt="My name is Ada.", session=job["session"])
        files = [stack.file(n, b"1,2") for n in job.get("files", ["a.csv"])]
        say(stack, replies)
        id = stack.submit(**{**job, "files": files})
        if "approve" in job:
            stack.wait_event(id, "job.waiting")
            stack.call("approve", id, "approve", "", "", "")
        ends = "incomplete" if "limits" in job else "completed"
        assert stack.result(id)["status"] == ends
        [outcome] = quern.json("replay", id, "--save", path)
        assert outcome["equal"] and outcome["bare_requests"] == 0, outcome
        return path

    return record


def blobs_of(lines):
    return [line["blob"] for line in lines if "blob" in line]


def records_of(lines):
    return [line["record"] for line in lines if "record" in line]


def asked(lines):
    intents = [r for r in records_of(lines) if r["kind"] == "model_intent"]
    return [r for r in intents if not r.get("failed")]


@pytest.mark.parametrize("name", JOBS)
def test_it_is_done_again(quern, recorded, name):
    path = recorded(name)
    lines = lines_of(path)
    outcome = outcome_of(quern, path)
    assert outcome["equal"] and outcome["bare_requests"] == 0
    assert outcome["requests"] == len(asked(lines)), "each, byte for byte"
    assert len(blobs_of(lines)) == JOBS[name][2]
    if os.environ.get("QUERN_UPDATE"):
        shutil.copy(path, PACK)


def test_they_are_what_they_are_called(recorded):
    """Or some of them would show nothing."""

    def result(name):
        return lines_of(recorded(name))[-1]["result"]

    shown = [len(r.get("shown", [])) for r in asked(lines_of(recorded("pictures")))]
    assert shown == [0, 1, 2]
    assert result("pictures")["answer"].count("https://files.example/") == 2
    assert result("pictures")["messages"][-1]["content"] == LINKED
    terms = [json.loads(r["terms"]) for r in asked_with_terms(recorded, "refused")]
    assert [t.get("pictures", 0) for t in terms] == [4, 0]
    assert "上传" in result("upload")["messages"][0]["content"]
    limit = records_of(lines_of(recorded("session-spent")))[-1]
    assert limit["failed"] and limit["last"] == "token_limit" and limit["shown"]
    verdicts = [r["kind"] for r in records_of(lines_of(recorded("session-asked")))]
    assert verdicts.count("approval") == 1
    assert result("session-asked")["output"] == {"name": "Ada"}
    for name in JOBS:
        sees = name.startswith("session") and name != "session-anew"
        for intent in asked(lines_of(recorded(name))):
            assert bool(intent.get("history")) == sees, name


def asked_with_terms(recorded, name):
    lines = lines_of(recorded(f"pictures-{name}"))
    return [r for r in asked(lines) if r.get("terms")]


@pytest.mark.parametrize("name, bare", [("pictures", 2), ("session", 1)])
def test_without_its_blobs_it_says_what_it_cannot_compare(quern, recorded, name, bare):
    path = recorded(name)
    lines = [line for line in lines_of(path) if "blob" not in line]
    other = written(path, lines)
    outcome = outcome_of(quern, other)
    assert outcome["equal"] and outcome["bare_requests"] == bare
    assert outcome["requests"] == len(asked(lines)) - bare
    out, _, code = quern.run("replay", other, REDIS_URL=NOWHERE)
    assert code == 0 and f"of {bare} the bytes cannot be compared" in out


def gets(stack):
    return int(stack.db.info("commandstats").get("cmdstat_get", {}).get("calls", 0))


def test_a_blob_that_is_gone_is_looked_for_once(stack, quern, folder):
    """However many requests were made of it."""
    pages = [{"tool_calls": [call_of(f"{n}", f"d{n}")]} for n in range(9)]
    say(stack, [*shows(7), *pages, {"text": "So."}])
    id = stack.submit(prompt="Draw.")
    assert stack.result(id)["status"] == "completed"
    before = gets(stack)
    [outcome] = quern.json("replay", id, "--save", folder / "there.jsonl")
    there, before = gets(stack) - before, gets(stack)
    [blob] = {b["name"] for b in blobs_of(lines_of(folder / "there.jsonl"))}
    stack.db.delete(f"{ROOT}blob:{blob}")
    [outcome] = quern.json("replay", id, "--save", folder / "gone.jsonl")
    assert outcome["bare_requests"] == 10
    assert gets(stack) - before < there + 5, "not once for each of ten"


def test_a_journal_without_terms_is_named(quern, recorded):
    path = recorded("session")
    lines = lines_of(path)
    del asked(lines)[0]["terms"]
    _, said, code = quern.run("replay", written(path, lines), REDIS_URL=NOWHERE)
    assert code == 65 and said.endswith("under which terms the model was asked\n")


@pytest.mark.parametrize(
    "name, old, new", [("pictures", b"\0", b"\1"), ("session", b"Ada", b"Eva")]
)
def test_other_bytes_make_another_request(quern, recorded, name, old, new):
    path = recorded(name)
    lines, names = lines_of(path), {}
    for blob in blobs_of(lines):
        data = base64.b64decode(blob["base64"])
        assert old in data
        data = data.replace(old, new)
        blob["base64"] = base64.b64encode(data).decode()
        names[blob["name"]] = hashlib.sha256(data).hexdigest()
    other = written(path, lines)
    _, said, code = quern.run("replay", other, REDIS_URL=NOWHERE)
    assert code not in (0, 1) and "have another SHA-256" in said
    text = other.read_text()
    for before, after in names.items():
        text = text.replace(before, after)
    other.write_text(text)
    outcome = outcome_of(quern, other, code=1)
    assert outcome["first_difference"]["what"] == "model_intent"


def test_another_picture_is_decided_on(quern, recorded):
    """The journal says which were shown: one more is a difference, even where
    there are no bytes to compare."""
    path = recorded("pictures")
    lines = [line for line in lines_of(path) if "blob" not in line]
    asked(lines)[1]["shown"].append("0" * 64)
    outcome = outcome_of(quern, written(path, lines), code=1)
    assert outcome["first_difference"]["turn"] == 2


def test_a_link_that_led_elsewhere(quern, recorded):
    path = recorded("pictures")
    text = path.read_text().replace("files.example/{blob}", "files.other/{blob}")
    other = path.with_name("edited.jsonl")
    other.write_text(text)
    outcome = outcome_of(quern, other, code=1)
    assert outcome["first_difference"]["what"] == "result"


def test_other_words_for_an_upload(quern, recorded, tmp_path):
    (tmp_path / "upload.zh.md").write_text("别的话\n")
    outcome = outcome_of(quern, recorded("upload"), "--prompts", tmp_path, code=1)
    assert "别的话" in json.dumps(
        outcome["first_difference"]["replayed"], ensure_ascii=False
    )


def test_one_picture_under_two_names(quern, stack, folder):
    """Of which one had room: what their producer says of them is not so."""
    data = PNG + bytes(3 << 20)
    files = [{**stack.file(n, data, "image/png"), "bytes": 1} for n in ("a", "b")]
    stack.dismiss(stack.consumers[-1])
    models, path = folder / "models.json", folder / "twice.jsonl"
    stack.consumer(models=models, image_size="4M")
    say(stack, [{"text": "so"}])
    id = stack.submit(prompt="Look.", files=files)
    assert stack.result(id)["status"] == "completed"
    [outcome] = quern.json("replay", id, "--save", path)
    assert outcome["equal"] and outcome["requests"] == 1, outcome
    assert len(asked(lines_of(path))[0]["shown"]) == 1
