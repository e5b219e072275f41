"""served.py - what the server said in a run: as figures, and as a pack."""

import json
import os

from recordings import pack

from real_model.server import PLACE

SERVED = []  # every exchange


def usage_of(exchange):
    return pack.chunks(exchange.body)[-1]["usage"]


def text_of(exchange):
    deltas = pack.deltas(pack.chunks(exchange.body))
    return "".join(delta.get("content") or "" for delta in deltas)


def calls_of(exchange):
    """The pieces of calls, as they came."""
    deltas = pack.deltas(pack.chunks(exchange.body))
    return [piece for delta in deltas for piece in delta.get("tool_calls", [])]


def counted():
    streams = [e for e in SERVED if e.status == 200]
    usage = [usage_of(e) for e in streams if e.whole]
    return {
        "requests": len(SERVED),
        "streams": len(streams),
        "broken_off": sum(not e.whole for e in streams),
        "with_a_call": sum(bool(calls_of(e)) for e in streams),
        "chunks": sum(len(pack.chunks(e.body)) for e in streams),
        "input_tokens": sum(u["prompt_tokens"] for u in usage),
        "output_tokens": sum(u["completion_tokens"] for u in usage),
    }


def recording(number, exchange):
    """As tests/replay reads it."""
    kept = ("stream", "max_tokens")
    asked = exchange.request or {}
    request = {name: v for name, v in asked.items() if name in kept}
    return {
        "source": "llama.cpp with SmolLM2-135M-Instruct",
        "licence": "Apache-2.0",
        "path": "tests/real_model",
        "n": number,
        "url": "http://127.0.0.1/v1/chat/completions",
        "status": exchange.status,
        "headers": {"content-type": exchange.headers["Content-Type"]},
        "request": json.dumps(request),
        "body": exchange.body,
    }


def keep(version):
    whole = [e for e in SERVED if e.whole]
    pack.write_pack(
        os.path.join(PLACE, "streams.jsonl"),
        [recording(number, exchange) for number, exchange in enumerate(whole)],
    )
    figures = {"server": version, "model": "SmolLM2-135M-Instruct Q4_1", **counted()}
    with open(os.path.join(PLACE, "figures.json"), "w") as file:
        file.write(json.dumps({"real_model": figures}) + "\n")
