"""Recordings of Messages and Responses, read by us and by the vendors' clients.

    python -m recordings.dialects PACK [--record]

PACK is as tests/replay has it, each recording with its "dialect". --record
writes into it what the clients made of each.
"""

import argparse
import json
import os
import random
import subprocess
import sys

from recordings import pack
from recordings.cuts import calls_run
from recordings.readers import BUILD, READ_S, Frame, read_ours

DIALECTS = ("anthropic", "responses")
CLIENTS = ("anthropic==2.12.0", "openai==3.51.0")
PLACE = os.path.join(os.path.dirname(os.path.abspath(BUILD)), "dialect-clients")
PYTHON = os.path.join(PLACE, "bin", "python")
MADE = os.path.join(PLACE, "made-" + "-".join(CLIENTS))
CUTS = 4  # at random, a recording


# ------------------------------------------------------------------- clients


def has_clients():
    return os.path.exists(MADE)


def fetch_clients():
    """Raises CalledProcessError where they cannot be had."""
    made = ["/usr/bin/python3", "-m", "venv", "--clear", PLACE]
    subprocess.run(made, check=True, stdout=2)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--retries", "1"]
    subprocess.run([*pip, *CLIENTS], check=True, stdout=2)
    with open(MADE, "w"):
        pass


def is_stream(recording):
    return pack.is_written_as_stream(recording["body"])


def read_clients(recordings):
    lines = [
        json.dumps(
            {
                "dialect": recording["dialect"],
                "status": recording["status"],
                "type": recording["headers"].get("content-type") or "application/json",
                "stream": is_stream(recording),
                "body": recording["body"],
            }
        )
        for recording in recordings
    ]
    done = subprocess.run(
        [PYTHON, os.path.join(os.path.dirname(__file__), "dialect_client.py")],
        input="\n".join(lines),
        stdout=subprocess.PIPE,
        text=True,
        timeout=READ_S,
        check=True,
    )
    made = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(made) == len(recordings)
    return made


# --------------------------------------------------------------------- forms

NOTHING = {
    "content": "",
    "calls": [],
    "kept": [],
    "finish": "",
    "usage": (0, 0, 0),
    "error": "",
    "retry": None,
}
ERROR_BYTES = 255


def parse(text):
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


def solid(block):
    """Without what is not said."""
    return {name: value for name, value in block.items() if value is not None}


def form_of_ours(made, status):
    if "code" in made:
        retry = made["retry"] if status != 200 else None
        return NOTHING | {"error": made["text"], "retry": retry}
    message = made["message"]
    opaque = message.get("opaque", {"blocks": []})
    return NOTHING | {
        "content": message["content"] or "",
        "calls": [
            (c["id"], c["function"]["name"], parse(c["function"]["arguments"]))
            for c in message.get("tool_calls", [])
        ],
        "kept": [b for b in opaque["blocks"] if "type" in b],
        "finish": made["finish_reason"],
        "usage": (made["input_tokens"], made["output_tokens"], made["cached_tokens"]),
    }


STOPPED = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "pause_turn": "length",
    None: "",
}


def form_of_messages(message):
    blocks = message["content"]
    usage = message["usage"]
    read = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    return NOTHING | {
        "content": "".join(b["text"] for b in blocks if b["type"] == "text"),
        "calls": [
            (b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"
        ],
        "kept": [
            solid(b) for b in blocks if b["type"] in ("thinking", "redacted_thinking")
        ],
        "finish": STOPPED[message["stop_reason"]],
        "usage": (usage["input_tokens"] + read + written, usage["output_tokens"], read),
    }


def kept_items(items):
    kept = [solid(item) for item in items if item.get("type") == "reasoning"]
    return [{n: v for n, v in item.items() if n != "status"} for item in kept]


def items_done(recording):
    """In a stream an item is encrypted anew with the response: both are good."""
    found = pack.chunks(recording["body"])
    done = [c for c in found if c.get("type") == "response.output_item.done"]
    return [c["item"] for c in sorted(done, key=lambda c: c["output_index"])]


def form_of_responses(response):
    items = response.get("output") or []
    if response.get("status") in ("queued", "in_progress"):
        return NOTHING | {
            "error": "the reply is not there yet: the endpoint is still at work on it"
        }
    calls = [
        (i["call_id"], i["name"], parse(i["arguments"]))
        for i in items
        if i["type"] == "function_call"
    ]
    parts = [p for i in items if i["type"] == "message" for p in i["content"]]
    usage = response.get("usage") or {}
    details = usage.get("input_tokens_details") or {}
    return NOTHING | {
        "content": "".join(p.get("text", "") for p in parts),
        "calls": calls,
        "kept": kept_items(items),
        "finish": "tool_calls" if calls else "stop",
        "usage": (
            usage.get("input_tokens") or 0,
            usage.get("output_tokens") or 0,
            details.get("cached_tokens") or 0,
        ),
    }


def form_of_client(recording, seen):
    failure = seen.get("error")
    if failure:
        status = failure["status"]
        text = failure["text"].encode()[:ERROR_BYTES].decode(errors="ignore")
        retry = status and (status in (408, 409, 429) or status >= 500)
        return NOTHING | {"error": text, "retry": retry}
    if recording["dialect"] == "anthropic":
        return form_of_messages(seen["message"])
    form = form_of_responses(seen["message"])
    if is_stream(recording):
        form["kept"] = kept_items(items_done(recording))
    return form


# ------------------------------------------------------------------ verdicts


def is_same(field, ours, theirs):
    if field == "error" and theirs.startswith("not a reply"):
        return ours.startswith(theirs)
    return ours == theirs


def differences(recording, made, seen):
    """(field, ours, theirs) of each that is not the same."""
    if "differs" in made:
        return [("split", made["at"], made["differs"])]
    ours = form_of_ours(made, recording["status"])
    theirs = form_of_client(recording, seen)
    return [
        (field, ours[field], theirs[field])
        for field in NOTHING
        if not is_same(field, ours[field], theirs[field])
    ]


def ends(body):
    """Behind each event, with the reason of its end or without."""
    at = 0
    while (at := body.find(b"\n\n", at)) >= 0:
        at += 2
        yield at


def says_the_end(chunk):
    """Of a reply: why it has ended."""
    delta = chunk.get("delta")
    return chunk.get("type") == "response.completed" or (
        isinstance(delta, dict) and delta.get("stop_reason")
    )


def cuts_of(recording, chance):
    """Frames of it that break off; about: whether the end had been said."""
    body = recording["body"].encode()
    places = [*ends(body), *(chance.randrange(len(body)) for _ in range(CUTS))]
    for place in places if is_stream(recording) else []:
        head = body[:place]
        said = any(map(says_the_end, pack.chunks(head.decode(errors="ignore"))))
        yield Frame(head, whole=False, splits=1, about=said)


def judge(recordings, seen, splits=3, seed=1):
    """What is wrong, a sentence each; how much was compared."""
    wrong, count = [], {"recordings": 0, "cuts": 0, "calls_of_cut_replies": 0}
    chance = random.Random(seed)
    for dialect in DIALECTS:
        pairs = [p for p in zip(recordings, seen) if p[0]["dialect"] == dialect]
        frames = [Frame(r["body"], r["status"], splits=splits) for r, _ in pairs]
        for (recording, theirs), made in zip(pairs, read_ours(frames, seed, dialect)):
            count["recordings"] += 1
            for difference in differences(recording, made, theirs):
                wrong.append((recording["path"], recording["n"], *difference))
        cuts = [f for r, _ in pairs if r["status"] == 200 for f in cuts_of(r, chance)]
        for frame, made in zip(cuts, read_ours(cuts, seed, dialect)):
            count["cuts"] += 1
            if not frame.about:
                count["calls_of_cut_replies"] += len(calls_run(made))
                if made.get("code") != "model_cut":
                    wrong.append(("a cut", frame.body[-200:], made))
    return wrong, count


def main():
    parser = argparse.ArgumentParser(prog="recordings.dialects")
    parser.add_argument("pack", metavar="PACK")
    parser.add_argument("--record", action="store_true")
    asked = parser.parse_args()
    recordings = pack.read_pack(asked.pack)
    if not has_clients():
        fetch_clients()
    seen = read_clients(recordings)
    if asked.record:
        pack.write_pack(
            asked.pack, [{**r, "client": s} for r, s in zip(recordings, seen)]
        )
    wrong, count = judge(recordings, seen)
    for difference in wrong:
        print("different:", *difference, sep=" | ")
    print(json.dumps({**count, "different": len(wrong)}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
