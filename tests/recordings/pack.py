"""Recordings: packs of them, and the simple way to read one, as it is all there."""

import gzip
import json
import re


def read_pack(path):
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as lines:
        return [json.loads(line) for line in lines]


def write_pack(path, recordings):
    with gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w") as lines:
        for recording in recordings:
            lines.write(json.dumps(recording) + "\n")


def request_of(recording):
    """What was asked, as far as that is known."""
    return json.loads(recording.get("request") or "{}")


def is_stream(recording):
    """Whether a stream was asked for."""
    kind = str(recording.get("headers", {}).get("content-type", ""))
    if recording.get("request"):
        return bool(request_of(recording).get("stream"))
    return "event-stream" in kind or is_written_as_stream(recording["body"])


def is_written_as_stream(body):
    return re.match(r"\s*(data|event|id|retry)?:", body) is not None


def max_tokens_of(recording):
    request = request_of(recording)
    return request.get("max_completion_tokens") or request.get("max_tokens") or 0


def events(body):
    """(name, data) of each event."""
    for block in re.split(r"\n\n+", re.sub(r"\r\n?", "\n", body)):
        fields = [line.split(":", 1) for line in block.split("\n") if ":" in line]
        data = [value.removeprefix(" ") for key, value in fields if key == "data"]
        kind = [value.strip() for key, value in fields if key == "event"]
        if data:
            yield (kind or [""])[-1], "\n".join(data)


def chunks(body):
    """The JSON objects of a reply, until one is not: then the rest is cut off."""
    if not is_written_as_stream(body):
        found = parse(body)
        return [] if found is None else [found]
    found = []
    for _, data in events(body):
        chunk = None if data.startswith("[DONE]") else parse(data)
        if chunk is None:
            break
        found.append(chunk)
    return found


def parse(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def choices(chunk):
    """Those that are ours: of several only the first is read."""
    listed = chunk.get("choices") if isinstance(chunk, dict) else None
    return [choice for choice in listed or [] if choice.get("index", 0) == 0]


def all_choices(found):
    return (choice for chunk in found for choice in choices(chunk))


def deltas(found):
    for choice in all_choices(found):
        yield choice.get("delta") or choice.get("message") or {}


def has_calls(body):
    return any(delta.get("tool_calls") for delta in deltas(chunks(body)))


def write_stream(found, done=True, ascii_only=True):
    """The chunks as a stream again."""
    lines = [f"data: {json.dumps(c, ensure_ascii=ascii_only)}\n\n" for c in found]
    return "".join(lines) + ("data: [DONE]\n\n" if done else "")
