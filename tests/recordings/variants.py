"""The same reply as other endpoints would have written it.

Each takes a stream and gives another one that must come to the same message, or
None where it cannot be written so.
"""

import copy
import json
import re

from recordings import pack

VARIANTS = {}


def variant(write):
    VARIANTS[write.__name__] = write
    return write


def variants_of(body):
    """(name, bytes) of each that can be written."""
    if "\r" in body or not pack.is_written_as_stream(body):
        return
    for name, write in VARIANTS.items():
        made = write(body)
        if made is not None and made != body:
            yield name, made


# ----------------------------------------------------------------- as bytes


@variant
def lines_end_in_crlf(body):
    return body.replace("\n", "\r\n")


@variant
def lines_end_in_cr(body):
    return body.replace("\n", "\r")


@variant
def comments_between_events(body):
    return body.replace("\n\n", "\n\n: keep-alive\n\n")


@variant
def no_space_behind_the_colon(body):
    return re.sub(r"^data: ", "data:", body, flags=re.M)


@variant
def other_fields(body):
    return re.sub(r"^data:", "id: 7\nretry: 9\nx\ndata:", body, flags=re.M)


@variant
def blank_lines_first(body):
    return "\r\n\n \n" + body


@variant
def no_blank_line_at_the_end(body):
    return body.rstrip("\n")


@variant
def nothing_behind_the_reason(body):
    """No [DONE]: who gave a reason has ended."""
    found = pack.chunks(body)
    return re.sub(r"data: ?\[DONE\]\s*", "", body) if has_reason(found) else None


@variant
def something_behind_the_end(body):
    return body + "data: {oops\n\n" if "[DONE]" in body else None


# ---------------------------------------------------------------- as events


def rewritten(body, change, **options):
    """Its chunks changed; None where there is an event that is no chunk."""
    events = [data for _, data in pack.events(body) if not data.startswith("[DONE]")]
    found = pack.chunks(body)
    if len(found) != len(events) or any("error" in chunk for chunk in found):
        return None
    found = change(copy.deepcopy(found))
    return found and pack.write_stream(found, "[DONE]" in body, **options)


def has_reason(found):
    return any(choice.get("finish_reason") for choice in pack.all_choices(found))


@variant
def characters_are_escaped(body):
    return rewritten(body, list)


@variant
def characters_are_not_escaped(body):
    return rewritten(body, list, ascii_only=False)


@variant
def data_over_several_lines(body):
    made = rewritten(body, list)
    return made and re.sub(
        r"^data: (\{.*\})$",
        lambda m: "data: "
        + json.dumps(json.loads(m[1]), indent=1).replace("\n", "\ndata: "),
        made,
        flags=re.M,
    )


@variant
def several_lines_in_crlf(body):
    made = data_over_several_lines(body)
    return made and made.replace("\n", "\r\n")


@variant
def comments_inside_events(body):
    made = data_over_several_lines(body)
    return made and made.replace("\ndata: ", "\n: keep-alive\ndata: ")


@variant
def padding(body):
    def pad(found):
        return [{**chunk, "obfuscation": "x" * 20, "p": "abc"} for chunk in found]

    return rewritten(body, pad)


@variant
def role_in_every_delta(body):
    def add(found):
        for delta in pack.deltas(found):
            delta["role"] = "assistant"
        return found

    return rewritten(body, add)


@variant
def reason_and_usage_twice(body):
    """They are not summed."""

    def repeat(found):
        last = {"choices": [], "usage": found[-1].get("usage")}
        reasons = [
            {
                "choices": [
                    {"index": 0, "delta": {}, "finish_reason": c["finish_reason"]}
                ]
            }
            for chunk in found
            for c in pack.choices(chunk)
            if c.get("finish_reason")
        ]
        return found + reasons + [last] if reasons else None

    return rewritten(body, repeat)


# ---------------------------------------------------------------- as calls


def of_calls(change):
    """For streams of which each call begins with its own id, and then goes on to
    its end: others cannot be told apart without an index."""

    def write(found):
        calls = [call for d in pack.deltas(found) for call in d.get("tool_calls") or []]
        order = [call.get("index") for call in calls]
        first = {call.get("index"): call for call in reversed(calls)}
        ids = [call.get("id") for call in first.values()]
        if not calls or None in order or order != sorted(order) or not all(ids):
            return None
        said = {
            (call["index"], call.get("id") or first[call["index"]]["id"])
            for call in calls
        }
        if not len(set(ids)) == len(ids) == len(said):
            return None
        for call in calls:
            change(call, first[call["index"]])
        return found

    return lambda body: rewritten(body, write)


@variant
def no_index(body):
    return of_calls(lambda call, first: call.pop("index"))(body)


@variant
def index_with_gaps(body):
    return of_calls(lambda call, first: call.update(index=call["index"] * 3 + 2))(body)


@variant
def index_always_0(body):
    return of_calls(lambda call, first: call.update(index=0))(body)


@variant
def id_and_name_in_every_delta(body):
    def repeat(call, first):
        call["id"] = first["id"]
        call.setdefault("function", {})["name"] = first["function"]["name"]

    return of_calls(repeat)(body)


@variant
def no_index_but_ids(body):
    def repeat(call, first):
        call["id"] = first["id"]
        call.pop("index")

    return of_calls(repeat)(body)


@variant
def arguments_null_for_nothing(body):
    def none(call, first):
        function = call.get("function") or {}
        if function.get("arguments") == "":
            function["arguments"] = None

    return of_calls(none)(body)
