"""Replies with calls that were cut off: nothing of them may be run.

What is cut is told by what comes back: a call counts only when it is, whole, one
that the recording has.
"""

import copy
import json

from recordings import pack
from recordings.known import calls_of
from recordings.readers import Frame

REASONS = ("length", "max_tokens", "model_length", "MAX_TOKENS")


def cuts_of(recording, random, count):
    """Frames; about says what may come of each: "whole calls" or "no call"."""
    body = recording["body"]
    if recording["status"] != 200 or not pack.has_calls(body):
        return
    if pack.is_written_as_stream(body):
        yield from broken_off(body.encode(), random, count)
        yield from lost_the_end_of_its_arguments(body, random, count)
    yield from stopped_by_length(body)
    yield from used_up_its_tokens(recording)


def broken_off(data, random, count):
    """The connection ends: behind each event, and anywhere."""
    places = [n + 2 for n in range(len(data)) if data[n : n + 2] == b"\n\n"]
    places += [random.randrange(len(data)) for _ in range(count)]
    for place in places:
        for whole in (True, False):
            yield Frame(data[:place], whole=whole, splits=1, about="whole calls")


def has_ended(data):
    """Whether what came so far says that it is all."""
    text = data.decode(errors="ignore")
    reasons = (c.get("finish_reason") for c in pack.all_choices(pack.chunks(text)))
    return "data: [DONE]" in text or any(reasons)


def stopped_by_length(body):
    """All of it came, and the endpoint says that it stopped it."""
    for reason in REASONS:
        found = copy.deepcopy(pack.chunks(body))
        for choice in pack.all_choices(found):
            if choice.get("finish_reason"):
                choice["finish_reason"] = reason
        if any(
            choice.get("finish_reason") == reason for choice in pack.all_choices(found)
        ):
            yield Frame(again(body, found), splits=1, about="no call")


def again(body, found):
    if pack.is_written_as_stream(body):
        return pack.write_stream(found)
    return json.dumps(found[0])


def used_up_its_tokens(recording):
    """It says tool_calls, and that it used all tokens that were allowed."""
    body = recording["body"]
    told = [(c.get("usage") or {}).get("completion_tokens") for c in pack.chunks(body)]
    told = [tokens for tokens in told if tokens]
    if told:
        yield Frame(body, max_tokens=told[-1], splits=1, about="no call")


def fragments(found):
    """Each delta of a call that has arguments, in order."""
    for delta in pack.deltas(found):
        for call in delta.get("tool_calls") or []:
            function = call.get("function") or {}
            if function.get("arguments"):
                yield function


def lost_the_end_of_its_arguments(body, random, count):
    """The last call's arguments end anywhere behind their first byte, then comes
    all that comes behind a good call."""
    length = sum(len(f["arguments"]) for f in fragments(pack.chunks(body)))
    last = length - len(calls_of(pack.chunks(body))[-1]["arguments"])
    for _ in range(count if length > last + 1 else 0):
        found = copy.deepcopy(pack.chunks(body))
        left = random.randrange(last + 1, length)
        for function in fragments(found):
            text = function["arguments"]
            function["arguments"] = text[:left]
            left = max(0, left - len(text))
        yield Frame(pack.write_stream(found), splits=1, about="no call")


def calls_run(made):
    return made.get("message", {}).get("tool_calls", [])


def truncated_calls(frame, made, recorded):
    """How many calls were handed out that may not be."""
    calls = calls_run(made)
    if frame.about == "no call":
        return len(calls)
    whole = calls_run(recorded)
    return sum(n >= len(whole) or call != whole[n] for n, call in enumerate(calls))


def is_taken_for_whole(frame, made):
    """A stream that broke off before its end, and nobody noticed."""
    return (
        frame.about == "whole calls"
        and "code" not in made
        and not has_ended(frame.body)
    )
