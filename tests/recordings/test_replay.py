"""Recorded replies: the sample always, all of them where they are at hand.

No client is fetched here. Where it is not there, what it made of the sample is
written beside each recording.
"""

import copy
import os
import random

import pytest

from recordings import cuts, pack
from recordings.known import KNOWN
from recordings.readers import Frame, has_client
from recordings.replay import Verdict, compare, read_arguments, read_whole, replay
from recordings.variants import VARIANTS, variants_of
from servers import SOURCE

SAMPLE = os.path.join(os.path.dirname(__file__), "sample.jsonl")
TRAFFIC = os.path.join(SOURCE, "..", "shared", "data", "model-traffic.jsonl.gz")


def replay_here(path):
    told = []
    verdict = replay([path, "--offline", "--splits", "3"], told.append)
    assert verdict.is_good, "\n".join(told)
    return verdict.report()


@pytest.mark.parametrize("path", filter(os.path.exists, (SAMPLE, TRAFFIC)))
def test_recordings(path):
    report = replay_here(path)
    if path == SAMPLE:  # it shows every known difference
        assert set(report["known"]) == set(KNOWN)
        assert report["recordings"] == report["compared"] >= 32
        assert report["equal"] >= 17
    elif has_client():
        seen = {name: known.seen for name, known in KNOWN.items() if known.seen}
        assert (report["known"], report["compared"]) == (seen, 840)


# ------------------------------------------------------- can it be trusted?


def sample():
    return pack.read_pack(SAMPLE)


def test_every_variant_is_written():
    written = {name for r in sample() for name, _ in variants_of(r["body"])}
    assert written == set(VARIANTS)


def test_a_field_that_differs_is_seen():
    """Whatever of a client's answer is changed, where nothing excuses it."""
    changes = {
        "content": lambda seen: seen["message"].update(content="other"),
        "ids": lambda seen: seen["message"]["tool_calls"][0].update(id="other"),
        "arguments": lambda seen: seen["message"]["tool_calls"][0]["function"].update(
            arguments='{"other": 1}'
        ),
        "finish": lambda seen: seen.update(finish_reason="other"),
        "usage": lambda seen: seen["usage"].update(completion_tokens=1 << 20),
        "reasoning": lambda seen: seen["message"].update(reasoning_content="other"),
        "refusal": lambda seen: seen["message"].update(refusal="other"),
        "error": lambda seen: seen["error"].update(text="other"),
        "retry": lambda seen: seen["error"].update(status=503),
    }
    ours = read_whole(Verdict(), sample(), read_arguments([SAMPLE]))
    for field, change in changes.items():
        seen_to_differ = 0
        for recording, made in zip(sample(), ours):
            seen = copy.deepcopy(recording["client"])
            before, after = Verdict(), Verdict()
            compare(before, recording, made, seen)
            try:
                change(seen)
            except (KeyError, IndexError, TypeError, AttributeError):
                continue
            compare(after, recording, made, seen)
            assert not before.different
            seen_to_differ += field in after.different
        assert seen_to_differ > 0, field


def test_a_call_that_is_half_is_counted():
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    half = {"id": "a", "function": {"name": "f", "arguments": "{"}}
    whole = {"message": {"tool_calls": [call, call]}}
    broken = Frame(b"", about="whole calls")
    assert cuts.truncated_calls(broken, whole, whole) == 0
    assert cuts.truncated_calls(broken, {"message": {"tool_calls": [half]}}, whole) == 1
    assert cuts.truncated_calls(broken, whole, {"message": {}}) == 2
    assert cuts.truncated_calls(Frame(b"", about="no call"), whole, whole) == 2
    assert cuts.truncated_calls(broken, {"code": "model_cut"}, whole) == 0


def test_there_are_cuts_of_every_kind():
    chance = random.Random(1)
    frames = [frame for r in sample() for frame in cuts.cuts_of(r, chance, 4)]
    assert any(not cuts.has_ended(f.body) for f in frames if f.about == "whole calls")
    assert any(f.max_tokens for f in frames if f.about == "no call")
    assert all(f.status == 200 for f in frames)
    assert len(frames) > 200
