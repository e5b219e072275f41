"""Replies of real endpoints, recorded by other projects.

Each is read whole, byte by byte and in random pieces, and must come to what an
accumulation written independently, here, comes to.
"""

import gzip
import json
import os
import re
import subprocess

from servers import SOURCE, binary

SAMPLE = os.path.join(os.path.dirname(__file__), "sample.jsonl")
TRAFFIC = os.path.join(SOURCE, "..", "shared", "data", "model-traffic.jsonl.gz")


def replay(exchanges):
    lines = "".join(json.dumps(e) + "\n" for e in exchanges)
    done = subprocess.run(
        [binary("reply_replay")], input=lines, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert "differs" not in done.stdout
    return [json.loads(line) for line in done.stdout.splitlines()]


def name(exchange):
    return f"{exchange['path']}: {exchange['body'][:60]!r}"


def events(body):
    """(name, data) of each event, the simple way: the body is all there."""
    for block in re.split(r"\n\n+", re.sub(r"\r\n?", "\n", body)):
        fields = [line.split(":", 1) for line in block.split("\n") if ":" in line]
        data = [value.removeprefix(" ") for key, value in fields if key == "data"]
        kind = [value.strip() for key, value in fields if key == "event"]
        if data:
            yield (kind or [""])[-1], "\n".join(data)


def chunks(body):
    """The JSON objects of a reply, and whether it is a stream."""
    try:
        return [json.loads(body)], False
    except ValueError:
        pass
    found = []
    for kind, data in events(body):
        if data.startswith("[DONE]"):
            break
        found.append({"error": data} if kind == "error" else json.loads(data))
    return found, True


def text_of(content):
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content)
    return content or ""


def accumulate(body):
    """{content, calls, finish_reason, usage}, or None when it is no reply."""
    content, finish, usage, calls, refused = "", "", (0, 0), {}, False
    found, stream = chunks(body)
    for chunk in found:
        if chunk.get("error"):
            return None
        for choice in chunk.get("choices") or []:
            if choice.get("index", 0) != 0:
                continue
            delta = choice.get("delta") or choice.get("message") or {}
            content += text_of(delta.get("content"))
            refused = refused or bool(delta.get("refusal"))
            finish = choice.get("finish_reason") or finish
            listed = delta.get("tool_calls") or []
            function = delta.get("function_call")
            if function and function.get("name") != "":
                listed = [{"function": function}]
            for place, call in enumerate(listed):
                key = call.get("index", place if not stream else 0)
                seen = calls.setdefault(key, ["", "", ""])
                seen[0] = seen[0] or call.get("id") or ""
                seen[1] = seen[1] or call["function"].get("name") or ""
                seen[2] += call["function"].get("arguments") or ""
        given = chunk.get("usage") or (chunk.get("x_groq") or {}).get("usage")
        if given:
            usage = (given.get("prompt_tokens", 0), given.get("completion_tokens", 0))
    if refused or finish == "content_filter" or not any("choices" in c for c in found):
        return None
    calls = [tuple(c[:2]) + (c[2] or "{}",) for c in calls.values()]
    return {"content": content, "calls": calls, "finish": finish, "usage": usage}


def what_we_made(result):
    message = result["message"]
    return {
        "content": message["content"] or "",
        "calls": [
            (c["id"], c["function"]["name"], c["function"]["arguments"])
            for c in message.get("tool_calls", [])
        ],
        "finish": result["finish_reason"],
        "usage": (result["input_tokens"], result["output_tokens"]),
    }


ALL = os.path.exists(TRAFFIC)


def recorded():
    """All recordings where they are at hand, else the sample of them."""
    with gzip.open(TRAFFIC, "rt") if ALL else open(SAMPLE) as lines:
        exchanges = [json.loads(line) for line in lines]
    assert len(exchanges) >= (840 if ALL else 20)
    return exchanges


def test_sample():
    with open(SAMPLE, encoding="utf-8") as lines:
        exchanges = [json.loads(line) for line in lines]
    results = replay(exchanges)
    assert len(results) == len(exchanges) >= 20
    for exchange, result in zip(exchanges, results):
        assert result == exchange["expected"], name(exchange)


def test_all_recordings():
    exchanges = recorded()
    results = replay(exchanges)
    assert len(results) == len(exchanges)
    compared = 0
    for exchange, result in zip(exchanges, results):
        if exchange["status"] >= 400:
            assert "code" in result, name(exchange)
            continue
        try:
            expected = accumulate(exchange["body"])
        except ValueError:
            expected = None
        if expected is None:
            assert "code" in result, name(exchange)
            continue
        assert "code" not in result, (name(exchange), result)
        assert what_we_made(result) == expected, name(exchange)
        compared += 1
    assert compared >= (800 if ALL else 12)


def test_no_call_comes_out_of_a_cut_stream():
    """Every stream with calls, cut behind each of its events."""
    cuts = []
    for exchange in recorded():
        body = exchange["body"]
        end = body.find('"finish_reason":"')
        if '"tool_calls":[' not in body or not body.startswith("data:") or end < 0:
            continue
        for match in re.finditer("\n\n", body[:end]):
            cuts.append({"status": 200, "body": body[: match.end()]})
    assert len(cuts) > (500 if ALL else 0)
    for cut, result in zip(cuts, replay(cuts)):
        assert result.get("code") == "model_cut", (cut["body"][-200:], result)
