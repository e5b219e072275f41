"""In what the openai client is known to differ, and why that is not our fault.

Each is decided by the bytes of the recording, and says what has to come of them
instead: it is written down here a second time, in another way than in C.
"""

import re
from dataclasses import dataclass, replace
from typing import Any

from recordings import pack

KNOWN = {}
FAILED = "error"  # the client raised what no endpoint said


@dataclass
class Difference:
    """One field of one recording."""

    field: str
    ours: Any
    theirs: Any
    all_ours: dict
    all_theirs: dict
    found: list  # the chunks
    recording: dict


@dataclass
class Known:
    sentence: str
    seen: int  # in the 840 recordings
    fields: tuple
    explains: Any


def known(seen, *fields):
    def keep(explains):
        sentence = " ".join(explains.__doc__.split())
        KNOWN[explains.__name__] = Known(sentence, seen, fields, explains)
        return explains

    return keep


def explain(difference):
    """The name of what explains it, or None."""
    for name, reason in KNOWN.items():
        if difference.field in reason.fields and reason.explains(difference):
            return name
    return None


# ----------------------------------------------------------------- tool calls

CALLS = ("count", "ids", "names", "arguments")
OF_CALLS = {"ids": "id", "names": "name", "arguments": "arguments"}


def pieces(found):
    """(index, id, name, arguments) of each delta of a call; in a plain body each
    is whole, and its place is its index."""
    for choice in pack.all_choices(found):
        delta = choice.get("delta") or choice.get("message") or {}
        for place, call in enumerate(delta.get("tool_calls") or []):
            function = call.get("function") or {}
            index = call.get("index", place if "message" in choice else None)
            yield index, call.get("id"), function.get("name"), function.get("arguments")


def calls_of(found):
    """What calls the deltas are: first id and name count, arguments are joined."""
    calls = []
    for index, given, name, arguments in pieces(found):
        same = [
            call
            for call in calls
            if (call["index"] == index if index is not None else not given)
            or (index is None and call["id"] == given)
        ]
        call = same[-1] if same else None
        if not call or (given and call["id"] and given != call["id"]):
            call = {"index": index, "id": "", "name": "", "arguments": ""}
            calls.append(call)
        call["id"] = call["id"] or given or ""
        call["name"] = call["name"] or name or ""
        call["arguments"] += arguments or ""
    return calls


def are_the_calls(difference):
    """Whether ours are what the deltas say."""
    calls = calls_of(difference.found)
    if difference.field == "count":
        return difference.ours == len(calls)
    told = [call[OF_CALLS[difference.field]] for call in calls]
    if difference.field == "arguments":
        told = [text or "{}" for text in told]
    return difference.ours == told


@known(2, "arguments")
def empty_arguments(difference):
    """A call without arguments comes as null or "": the client leaves them so,
    which no endpoint takes back; ours are {}."""
    pairs = list(zip(difference.ours, difference.theirs))
    return are_the_calls(difference) and all(
        ours == theirs or (ours, theirs) == ("{}", "") for ours, theirs in pairs
    )


@known(1, "ids", "names")
def repeated_id_or_name(difference):
    """The client joins the ids and names that an endpoint says in each delta."""
    said = {}
    for index, given, name, _ in pieces(difference.found):
        value = given if difference.field == "ids" else name
        said.setdefault(index, []).append(value or "")
    joined = ["".join(values) for values in said.values()]
    first = [next(filter(None, values), "") for values in said.values()]
    return difference.theirs == joined and difference.ours == first


def indexes(difference):
    return [index for index, *_ in pieces(difference.found)]


@known(0, *CALLS, FAILED)
def missing_index(difference):
    """The client wants an index of every delta and raises where there is none."""
    return None in indexes(difference) and is_right_alone(difference)


@known(0, *CALLS, FAILED)
def sparse_index(difference):
    """The client takes an index for a place: it inserts what begins beyond the
    end, does not find it again, and raises."""
    told = list(dict.fromkeys(indexes(difference)))
    return (
        None not in told
        and told != list(range(len(told)))
        and is_right_alone(difference)
    )


@known(0, *CALLS, FAILED)
def reused_index(difference):
    """Several calls under one index: the client joins them to one."""
    ids = {}
    for index, given, *_ in pieces(difference.found):
        ids.setdefault(index, set()).update({given} - {None, ""})
    several = any(len(given) > 1 for given in ids.values())
    return several and None not in ids and is_right_alone(difference)


@known(0, *CALLS)
def call_cut_off(difference):
    """The client hands out calls of a reply that was stopped by its length, or
    whose arguments have no end; ours has none."""
    found, recording = difference.found, difference.recording
    told = [choice.get("finish_reason") for choice in pack.all_choices(found)]
    stopped = {"length", "max_tokens", "model_length"} & {str(r).lower() for r in told}
    spent = 0 < pack.max_tokens_of(recording) <= last_usage(found)[1]
    open_ended = any(
        pack.parse(c["arguments"] or "{}") is None for c in calls_of(found)
    )
    return not difference.all_ours["count"] and bool(stopped or spent or open_ended)


def is_right_alone(difference):
    """What the client made is no measure here: ours is what the bytes say."""
    return is_beginning(difference) and all(
        are_the_calls(replace(difference, field=field, ours=difference.all_ours[field]))
        for field in CALLS
    )


# -------------------------------------------------------------------- content


def is_beginning(difference):
    """Where the client raised, it came to a part of what we have."""
    ours, theirs = difference.all_ours, difference.all_theirs
    if difference.field != FAILED:
        return True
    return (
        not ours["error"]
        and isinstance(theirs["content"], str)
        and ours["content"].startswith(theirs["content"])
        and ours["usage"] == last_usage(difference.found)
    )


def parts(found):
    for delta in pack.deltas(found):
        if isinstance(delta.get("content"), list):
            yield from delta["content"]


@known(3, "content", "reasoning")
def content_parts(difference):
    """Content as a list of parts: the client leaves a list, and in a stream it
    loses those that come after a string; ours is their text, and their thoughts."""
    if not any(parts(difference.found)):
        return False
    if difference.field == "content":
        told = [delta.get("content") for delta in pack.deltas(difference.found)]
        flat = [part for c in told for part in (c if isinstance(c, list) else [c])]
        texts = [p if isinstance(p, str) else (p or {}).get("text", "") for p in flat]
        return difference.ours == "".join(texts)
    thoughts = [
        thought["text"]
        for part in parts(difference.found)
        for thought in part.get("thinking") or []
    ]
    return difference.ours == "".join(thoughts)


@known(8, "content", "reasoning")
def thinking_in_the_text(difference):
    """Reasoning between <think> marks that begins the text: the client leaves it
    there; ours is told as reasoning, and is no part of the answer. One that does
    not end was cut off."""
    told = [delta.get("content") for delta in pack.deltas(difference.found)]
    text = "".join(content for content in told if isinstance(content, str))
    thought = re.match(r"\s*<think>(.*?)(?:</think>\s*(.*)|$)", text, re.S)
    if not thought:
        return False
    ours = thought[2 if difference.field == "content" else 1]
    return difference.ours == (ours or "")


def lists_of_objects(found):
    for delta in pack.deltas(found):
        for name, value in delta.items():
            if isinstance(value, list) and name not in ("tool_calls", "content"):
                yield from ((name, v) for v in value if isinstance(v, dict))


@known(1, FAILED)
def list_without_index(difference):
    """The client cannot join lists whose objects have no index (annotations) and
    raises; we do not need them."""
    failed = difference.all_theirs["error"] in ("RuntimeError", "TypeError")
    bare = any("index" not in v for _, v in lists_of_objects(difference.found))
    return failed and bare and is_beginning(difference)


@known(2, "details")
def joined_details(difference):
    """The client joins every member of a block of reasoning that is repeated, its
    id and its format; ours joins what comes in pieces."""
    blocks = {}
    for delta in pack.deltas(difference.found):
        for piece in delta.get("reasoning_details") or []:
            block = blocks.setdefault((piece.get("index"), piece.get("type")), {})
            for name, value in piece.items():
                if name in ("text", "summary", "data"):
                    block[name] = block.get(name, "") + value
                else:
                    block[name] = value or block.get(name, value)
    return difference.ours == list(blocks.values())


# ---------------------------------------------------------------------- usage


@known(3, "usage")
def usage_before_the_end(difference):
    """The client has the usage of the last chunk, and none when that has none;
    it does not look into x_groq either. Ours is the last that was said."""
    last = difference.found[-1].get("usage")
    return not last and difference.ours == last_usage(difference.found)


def last_usage(found):
    told = (0, 0, 0)
    for chunk in found:
        inner = (chunk.get("x_groq") or {}).get("usage")
        for usage in [c.get("usage") for c in pack.choices(chunk)] + [inner]:
            told = counts(usage) or told
        told = counts(chunk.get("usage")) or told
    return told


def counts(usage):
    if not usage:
        return None
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0), cached


# --------------------------------------------------------------------- errors


@known(1, "refusal")
def error_in_plain_reply(difference):
    """An error inside a 200 that is no stream: the client hands out a completion
    without choices; ours is the error."""
    if len(difference.found) != 1 or pack.is_written_as_stream(
        difference.recording["body"]
    ):
        return False
    error = difference.found[0].get("error")
    return bool(error) and difference.ours == error["message"]


@known(0, "content", "reasoning", "details", "finish", "usage", *CALLS, FAILED)
def no_end(difference):
    """A stream that breaks off is a completion to the client; ours is an error."""
    body = difference.recording["body"]
    reasons = [c.get("finish_reason") for c in pack.all_choices(difference.found)]
    return (
        pack.is_written_as_stream(body)
        and not any(reasons)
        and "data: [DONE]" not in body
        and difference.all_ours["error"].startswith("the reply ended before its end")
    )


@known(2, FAILED)
def no_completion(difference):
    """The client hands out whatever JSON or text it was sent; ours is an error
    that shows how it began."""
    choices = [chunk for chunk in difference.found if "choices" in chunk]
    return not choices and difference.ours.endswith(difference.recording["body"][:160])


@known(2, "retry")
def failed_generation(difference):
    """The model wrote a call that the endpoint could not read: the client does not
    ask again; we do, the model may write it better."""
    return difference.ours and '"tool_use_failed"' in difference.recording["body"]
