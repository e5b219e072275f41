"""Recorded replies of Messages and Responses: the sample always.

No client is fetched here: what the vendors' clients made of the sample is
written beside each recording.
"""

import copy
import os
import random

import pytest

from recordings import pack, practice
from recordings.dialects import (
    DIALECTS,
    NOTHING,
    cuts_of,
    differences,
    is_stream,
    judge,
    kept_items,
)
from recordings.readers import Frame, read_ours
from recordings.test_requests import body_of
from servers import SOURCE

SAMPLE = os.path.join(os.path.dirname(__file__), "dialects.jsonl")
TRAFFIC = os.path.join(SOURCE, "..", "shared", "data", "dialect-traffic.jsonl.gz")


def sample(dialect=None):
    found = pack.read_pack(SAMPLE)
    return [r for r in found if dialect in (None, r["dialect"])]


def made_of(recordings, dialect):
    return read_ours([Frame(r["body"], r["status"]) for r in recordings], 1, dialect)


@pytest.mark.parametrize("path", filter(os.path.exists, (SAMPLE, TRAFFIC)))
def test_recordings(path):
    recordings = pack.read_pack(path)
    wrong, count = judge(recordings, [r["client"] for r in recordings])
    assert not wrong
    assert count["calls_of_cut_replies"] == 0
    assert count["recordings"] == len(recordings)


def test_a_field_that_differs_is_seen():
    """Whatever of ours is changed."""
    changes = {
        "content": lambda made: made["message"].update(content="other"),
        "calls": lambda made: made["message"]["tool_calls"].pop(),
        "kept": lambda made: made["message"].pop("opaque"),
        "finish": lambda made: made.update(finish_reason="other"),
        "usage": lambda made: made.update(cached_tokens=1 << 20),
        "error": lambda made: made.update(text="other") if "code" in made else 1 / 0,
        "retry": lambda made: made.update(retry=made["retry"] is False),
    }
    assert set(changes) == set(NOTHING)
    for dialect in DIALECTS:
        recordings = sample(dialect)
        for field, change in changes.items():
            seen = 0
            for recording, made in zip(recordings, made_of(recordings, dialect)):
                assert not differences(recording, made, recording["client"])
                made = copy.deepcopy(made)
                try:
                    change(made)
                except (KeyError, IndexError, ZeroDivisionError):
                    continue
                told = differences(recording, made, recording["client"])
                seen += field in [name for name, *_ in told]
            assert seen > 0, (dialect, field)


def test_there_are_cuts_before_and_behind_the_end():
    for dialect in DIALECTS:
        frames = [f for r in sample(dialect) for f in cuts_of(r, random.Random(1))]
        assert {f.about for f in frames} == {True, False}


def test_the_practice_model_still_says_what_the_clients_have_read():
    """Changed it, on purpose? recordings/practice.py, then --record."""
    known = {r["path"]: r for r in sample() if r["source"] == practice.SOURCE}
    for said in practice.recordings():
        found = known.pop(said["path"])
        assert {n: found[n] for n in said} == said
    assert not known


def joined(blocks):
    """Texts that follow each other are one, blank ones are none."""
    told = []
    for block in blocks:
        if block["type"] == "text" and told and told[-1]["type"] == "text":
            told[-1]["text"] += block["text"]
        else:
            told.append(dict(block))
    return [b for b in told if b["type"] != "text" or b["text"].strip()]


KNOWN_BLOCKS = {
    "text": ("type", "text"),
    "thinking": ("type", "thinking", "signature"),
    "redacted_thinking": ("type", "data"),
    "tool_use": ("type", "id", "name", "input"),
}


def test_what_messages_said_goes_back_as_it_was():
    recordings = [r for r in sample("anthropic") if r["status"] == 200]
    for recording, made in zip(recordings, made_of(recordings, "anthropic")):
        said = recording["client"]["message"]["content"]
        wanted = joined(
            {name: block[name] for name in KNOWN_BLOCKS[block["type"]]}
            for block in said
            if block["type"] in KNOWN_BLOCKS
        )
        while wanted and "thinking" in wanted[-1]["type"]:
            wanted.pop()
        message = made["message"]
        if "opaque" in message:
            message["opaque"]["endpoint"] = "e"
        body = body_of(
            "anthropic", [{"role": "user", "content": "q"}, message], last=True
        )
        assert body["messages"][1]["content"] == wanted, recording["path"]


def test_what_responses_said_goes_back_as_it_was():
    """In the order of the items, without the ids of what is stored."""
    recordings = [r for r in sample("responses") if r["status"] == 200]
    for recording, made in zip(recordings, made_of(recordings, "responses")):
        if "message" not in made:
            continue
        order = []
        for item in recording["client"]["message"]["output"]:
            if item["type"] == "message":
                text = "".join(part["text"] for part in item["content"])
                order.append({"role": "assistant", "content": text})
                if item.get("phase"):
                    order[-1]["phase"] = item["phase"]
            elif item["type"] == "function_call":
                names = ("type", "call_id", "name", "arguments")
                order.append({name: item[name] for name in names})
            elif item["type"] == "reasoning":
                order.append(item)
        message = made["message"]
        if "opaque" in message:
            message["opaque"]["endpoint"] = "e"
        told = body_of("responses", [message])["input"]
        if is_stream(recording):  # encrypted anew in the response
            assert [i for i in told if i.get("type") != "reasoning"] == [
                i for i in order if i.get("type") != "reasoning"
            ]
        else:
            kept = iter(kept_items(order))
            wanted = [next(kept) if i.get("type") == "reasoning" else i for i in order]
            assert told == [i for i in wanted if may_go_back(i)], recording["path"]


def may_go_back(item):
    """Reasoning that is not there is looked for, and nothing is stored."""
    has = item.get("encrypted_content") or item.get("content")
    return item.get("type") != "reasoning" or bool(has)
