"""What a stream of the Responses API must be, so that every official client can
read it: the fields of each event, and the order of events.

    check_stream(events)      raises an AssertionError that names the event
    check_response(response)  the same for a response object
"""

import json
import re

LIFE = "created queued in_progress completed incomplete failed".split()
ENDS = {
    "response.completed": {"completed"},
    "response.incomplete": {"incomplete", "cancelled"},
    "response.failed": {"failed"},
}
CLOSED = {"completed", "incomplete", "failed"}

# Fields of events that belong to an item, beside sequence_number, item_id and
# output_index; and the letter of each in GRAMMAR.
FIELDS = {
    "content_part.added": ("p", "content_index part"),
    "content_part.done": ("P", "content_index part"),
    "output_text.delta": ("t", "content_index delta logprobs"),
    "output_text.done": ("T", "content_index text logprobs"),
    "output_text.annotation.added": ("a", "content_index annotation_index annotation"),
    "refusal.delta": ("r", "content_index delta"),
    "refusal.done": ("R", "content_index refusal"),
    "reasoning_summary_part.added": ("s", "summary_index part"),
    "reasoning_summary_part.done": ("S", "summary_index part"),
    "reasoning_summary_text.delta": ("y", "summary_index delta"),
    "reasoning_summary_text.done": ("Y", "summary_index text"),
    "reasoning_text.delta": ("x", "content_index delta"),
    "reasoning_text.done": ("X", "content_index text"),
    "function_call_arguments.delta": ("f", "delta"),
    "function_call_arguments.done": ("F", "arguments name"),
    "code_interpreter_call.in_progress": ("i", ""),
    "code_interpreter_call.interpreting": ("I", ""),
    "code_interpreter_call.completed": ("C", ""),
    "code_interpreter_call_code.delta": ("c", "delta"),
    "code_interpreter_call_code.done": ("D", "code"),
    "web_search_call.in_progress": ("u", ""),
    "web_search_call.searching": ("v", ""),
    "web_search_call.completed": ("w", ""),
}

# What comes between the added and the done of a whole item.
GRAMMAR = {
    "message": "(p(t*a*T|r*R)P)*",
    "reasoning": "(sy*YS|px*XP)*",
    "function_call": "f*F",
    "code_interpreter_call": "ic+DIC",
    "web_search_call": "uvw",
}
# The same for one that was closed before it was whole.
CUT = {
    "message": GRAMMAR["message"],
    "reasoning": GRAMMAR["reasoning"],
    "function_call": "f*F?",
    "code_interpreter_call": "i?c*D?I?C?",
    "web_search_call": "u?v?w?",
}
ITEM_FIELDS = {
    "message": "id role status content",
    "reasoning": "id summary",
    "function_call": "id call_id name arguments status",
    "code_interpreter_call": "id container_id code outputs status",
    "web_search_call": "id status action",
}
RESPONSE_FIELDS = """id object created_at status error incomplete_details instructions
    model tools output parallel_tool_calls metadata tool_choice temperature top_p
    background max_output_tokens max_tool_calls previous_response_id reasoning text
    truncation usage user top_logprobs service_tier store presence_penalty
    frequency_penalty""".split()
# Readers exist that accept no null for these.
NEVER_NULL = """id object created_at status model tools output tool_choice temperature
    top_p truncation background service_tier presence_penalty frequency_penalty
    top_logprobs parallel_tool_calls metadata""".split()
USAGE_FIELDS = """input_tokens input_tokens_details output_tokens output_tokens_details
    total_tokens""".split()


def has(where, found, names):
    for name in names.split() if isinstance(names, str) else names:
        assert name in found, f"{where}: no {name} in {json.dumps(found)[:300]}"


# --- objects


def check_response(response):
    has("a response", response, RESPONSE_FIELDS)
    for name in NEVER_NULL:
        assert response[name] is not None, f"a response: {name} is null"
    assert response["object"] == "response", response["object"]
    assert isinstance(response["created_at"], (int, float)), response["created_at"]
    status, error = response["status"], response["error"]
    assert (status == "failed") == (error is not None), f"{status} with error {error}"
    if error:
        # Without a type the AI SDK cannot read the response at all.
        has("the error of a response", error, "code message type")
    details = response["incomplete_details"]
    if status == "incomplete":
        assert details["reason"] in ("max_output_tokens", "content_filter"), details
    if response["usage"] is not None:
        check_usage(response["usage"])
    for item in response["output"]:
        check_item(item)
    if status == "completed":
        assert response["usage"] is not None, "a completed response without usage"


def check_usage(usage):
    has("usage", usage, USAGE_FIELDS)
    has("usage", usage["input_tokens_details"], "cached_tokens")
    has("usage", usage["output_tokens_details"], "reasoning_tokens")
    total = usage["input_tokens"] + usage["output_tokens"]
    assert usage["total_tokens"] == total, usage


def check_item(item):
    assert item["type"] in ITEM_FIELDS, f"an item of type {item['type']}"
    has(f"item {item['type']}", item, ITEM_FIELDS[item["type"]])
    assert item["id"], f"an item without id: {item}"
    for part in item["content"] if item["type"] == "message" else []:
        wanted = {"output_text": "text annotations", "refusal": "refusal"}
        assert part["type"] in wanted, f"a part of type {part['type']}"
        has(f"part {part['type']}", part, wanted[part["type"]])
        for annotation in part.get("annotations", []):
            check_annotation(annotation, part["text"])


def check_annotation(annotation, text):
    if annotation["type"] != "container_file_citation":
        return
    names = "container_id file_id filename start_index end_index"
    has("a citation", annotation, names)
    begin, end = annotation["start_index"], annotation["end_index"]
    assert 0 <= begin <= end <= len(text), f"{begin} to {end} of {len(text)} characters"


# --- streams


class Item:
    """One that is open: what its events have said so far."""

    def __init__(self, event):
        self.id, self.type = event["item"]["id"], event["item"]["type"]
        self.letters = ""
        self.deltas = ""
        self.annotations = []
        self.texts = []

    def take(self, event, letter):
        self.letters += letter
        if letter in "pPsS":
            self.deltas = ""
        if "delta" in event:
            self.deltas += event["delta"]
        if letter == "a":
            self.annotations.append(event["annotation"])
        if letter in "TRYXFD":
            key = dict(
                T="text", R="refusal", Y="text", X="text", F="arguments", D="code"
            )
            whole = event[key[letter]]
            assert self.deltas in (whole, ""), f"{self.deltas!r} became {whole!r}"
            self.texts.append(whole)

    def close(self, item):
        status = item.get("status", "completed")
        assert status in CLOSED, f"item {self.id} ends {status}"
        grammar = (GRAMMAR if status == "completed" else CUT)[self.type]
        assert re.fullmatch(grammar, self.letters), (
            f"the events of the {self.type} {self.id}, {status}, are "
            f"{self.letters!r}, not {grammar}"
        )
        said = {
            "message": lambda: [
                p.get("text", p.get("refusal")) for p in item["content"]
            ],
            "reasoning": lambda: [
                p["text"] for p in (item.get("content") or item["summary"])
            ],
            "function_call": lambda: [item["arguments"]],
            "code_interpreter_call": lambda: [item["code"]],
        }.get(self.type)
        if said and status == "completed":
            assert said() == self.texts, f"{said()} was streamed as {self.texts}"
        if self.type == "message":
            kept = [a for p in item["content"] for a in p.get("annotations", [])]
            assert kept == self.annotations, f"{kept}, streamed: {self.annotations}"


class Reader:
    def __init__(self):
        self.open = None
        self.done = []
        self.id = None
        self.number = -1

    def take(self, event):
        has("an event", event, "type sequence_number")
        assert event["sequence_number"] > self.number, "numbers must grow"
        self.number = event["sequence_number"]
        kind = event["type"]
        if kind == "keepalive":
            return
        name = kind.removeprefix("response.")
        assert kind != name, f"a type that clients do not know: {kind}"
        if name in LIFE:
            self.take_life(event["response"])
        elif name == "output_item.added":
            self.take_added(event)
        elif name == "output_item.done":
            self.take_done(event)
        else:
            self.take_piece(event, name)

    def take_life(self, response):
        check_response(response)
        self.id = self.id or response["id"]
        assert response["id"] == self.id, f"{self.id} became {response['id']}"

    def take_added(self, event):
        has("added", event, "item output_index")
        item = event["item"]
        check_item(item)
        assert self.open is None, f"{item['id']} begins before {self.open.id} has ended"
        assert event["output_index"] == len(self.done), "output_index has a hole"
        assert item["id"] not in [d["id"] for d in self.done], f"{item['id']} twice"
        self.open = Item(event)

    def take_piece(self, event, name):
        assert name in FIELDS, f"a type that clients do not know: {event['type']}"
        letter, fields = FIELDS[name]
        has(name, event, f"{fields} item_id output_index")
        assert self.open, f"{name} while no item is open"
        assert event["item_id"] == self.open.id, f"{name} of {event['item_id']}"
        assert event["output_index"] == len(self.done), f"{name}: output_index"
        self.open.take(event, letter)

    def take_done(self, event):
        has("done", event, "item output_index")
        item = event["item"]
        check_item(item)
        assert self.open, f"{item['id']} is done before it was added"
        same = (self.open.id, self.open.type) == (item["id"], item["type"])
        assert same, f"{self.open.id} ends as {item['id']}"
        assert event["output_index"] == len(self.done), "done: output_index"
        self.open.close(item)
        self.done.append(item)
        self.open = None


def check_stream(events):
    """Returns the last response object. A stream that is read on from its middle
    is checked together with its beginning."""
    reader = Reader()
    for event in events:
        reader.take(event)
    types = [event["type"] for event in events if event["type"] != "keepalive"]
    check_beginning(types, events[0])
    ends = [kind for kind in types if kind in ENDS]
    assert ends == types[-1:], f"the stream ends with {types[-1]}; ends: {ends}"
    final = events[-1]["response"]
    assert final["status"] in ENDS[ends[0]], f"{ends[0]} with {final['status']}"
    assert reader.open is None, f"{reader.open.id} is open at the end"
    check_output(final, reader.done)
    return final


def check_beginning(types, first):
    """created is first, also in the background."""
    assert types[0] == "response.created", f"the first event is {types[0]}"
    is_queued = first["response"]["status"] == "queued"
    names = " ".join(kind.removeprefix("response.") for kind in types)
    begin = "created queued " if is_queued else "created "
    assert names.startswith(begin), f"{names[:80]}: should begin {begin}"
    rest = names.removeprefix(begin)
    assert "queued" not in rest.split(), names
    if "output_item.added" in rest:
        assert rest.startswith("in_progress "), f"{names[:80]}: no in_progress"
    assert rest.split().count("in_progress") <= 1, names


def check_output(final, done):
    """The output has the items that were streamed, with the same ids and in the same
    order. Those closed as incomplete are left out, but for the last one of a
    response that was cut off."""
    ids = [item["id"] for item in done]
    kept = [item["id"] for item in final["output"]]
    whole = [item["id"] for item in done if item.get("status") != "incomplete"]
    assert kept == [id for id in ids if id in kept], f"{kept} of {ids}"
    assert not set(whole) - set(kept), f"{whole} became {kept}"
    if final["status"] == "completed":
        assert kept == whole, f"{whole} became {kept}"
    by_id = {item["id"]: item for item in done}
    for item in final["output"]:
        assert item == by_id[item["id"]], f"{by_id[item['id']]} became {item}"
