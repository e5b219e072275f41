"""Replies that are made to hurt: each ends a job with a sentence, soon, and the
consumer serves on in the memory that it had."""

import itertools
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from processes import resident
from stack import Stack, call_of

MIB = 1 << 20
ENDLESS_MS, TOTAL_MS = 6000, 120000  # of those that never end; of the others
ENDLESS = ("endless-comments", "endless-deltas-of-nothing", "a-byte-a-second")
GROWTH_MIB = 96
QUARANTINE = "quarantine_size_mb=16"  # of what was freed, in a sanitizer
STREAM, PLAIN = "text/event-stream", "application/json"


def event(**delta):
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


def body(**message):
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"choices": [choice]}).encode()


def head_and_tail(whole, mark):
    head, tail = whole.split(mark)
    return head, tail


def filled(whole, piece, count):
    """A body in whose place MARK stands that piece, so many times."""
    head, tail = head_and_tail(whole, b"MARK")
    yield head
    block = piece * 1000
    for _ in range(count // 1000):
        yield block
    yield tail


def slowly(whole):
    for at in itertools.count():
        yield whole[at % len(whole) :][:1]
        time.sleep(1)


def counted_calls():
    for index in range(10**6):
        call = call_of("1", f"c{index}")
        function = {"name": call["name"], "arguments": "{}"}
        made = {"index": index, "id": call["id"], "function": function}
        yield event(tool_calls=[made])


CALL = b'{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}'
DEEP = b'{"a":' * 10**5

# What it sends, and the codes of which one has to be the job's.
REPLIES = {
    "100-mb-plain": (
        lambda: filled(body(role="assistant", content="MARK"), b"x" * 100, MIB),
        PLAIN,
        {"model_too_long"},
    ),
    "100-mb-streamed": (
        lambda: itertools.repeat(event(content="x" * 1000), 100_000),
        STREAM,
        {"model_too_long"},
    ),
    "100-mb-on-one-line": (
        lambda: itertools.chain([b"data: "], itertools.repeat(b"x" * MIB, 100)),
        STREAM,
        {"model_too_long", "model_garbage"},
    ),
    "100-mb-of-nonsense": (
        lambda: itertools.repeat(b"\x00\xff" * (MIB // 2), 100),
        PLAIN,
        {"model_too_long", "model_garbage"},
    ),
    "100-mb-of-an-error": (
        lambda: itertools.repeat(b"no " * (MIB // 3), 100),
        "500",
        {"model_unavailable"},
    ),
    "a-million-calls-plain": (
        lambda: filled(
            body(role="assistant", content=None, tool_calls=["MARK"]).replace(
                b'"MARK"', CALL + b"MARK"
            ),
            b"," + CALL,
            10**6,
        ),
        PLAIN,
        {"model_too_long"},
    ),
    "a-million-calls-streamed": (counted_calls, STREAM, {"model_too_long"}),
    "deep-plain": (lambda: [DEEP], PLAIN, {"model_garbage"}),
    "deep-streamed": (
        lambda: [b"data: " + DEEP + b"\n\n", b"data: [DONE]\n\n"],
        STREAM,
        {"model_garbage", "model_cut"},
    ),
    "deep-arguments": (
        lambda: [
            event(
                tool_calls=[
                    {
                        "index": 0,
                        "id": "c",
                        "function": {
                            "name": "execute_python_code",
                            "arguments": DEEP.decode(),
                        },
                    }
                ]
            ),
            b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
            b"data: [DONE]\n\n",
        ],
        STREAM,
        {"no_action"},
    ),
    "endless-comments": (
        lambda: itertools.repeat(b": still here\n\n", 10**9),
        STREAM,
        {"model_unavailable", "model_cut", "model_too_long"},
    ),
    "endless-deltas-of-nothing": (
        lambda: itertools.repeat(event(), 10**9),
        STREAM,
        {"model_unavailable", "model_cut", "model_too_long"},
    ),
    "a-byte-a-second": (
        lambda: slowly(event(content="x")),
        STREAM,
        {"model_unavailable", "model_cut"},
    ),
}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        pieces, kind, _ = REPLIES[self.path.split("/")[1]]
        self.send_response(500 if kind == "500" else 200)
        self.send_header("Content-Type", PLAIN if kind == "500" else kind)
        self.end_headers()
        self.server.asked += 1
        try:
            for piece in pieces():
                self.wfile.write(piece)
                self.server.sent += len(piece)
                if self.server.over.is_set():
                    break
        except OSError:
            pass  # who has heard enough hangs up

    def log_message(self, *_):
        pass


class Hostile(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.over = threading.Event()
        self.asked = self.sent = 0

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.shutdown()
        self.server_close()


@pytest.fixture(scope="module")
def hostile():
    with Hostile() as server:
        yield server


def total_ms(name):
    return ENDLESS_MS if name in ENDLESS else TOTAL_MS


@pytest.fixture(scope="module")
def stack(hostile, tmp_path_factory):
    models = {
        name: {
            "url": f"http://127.0.0.1:{hostile.server_port}/{name}/v1",
            "model": "m",
            "total_ms": total_ms(name),
            "idle_ms": total_ms(name) // 2,
        }
        for name in REPLIES
    }
    with Stack(executor=False, max_attempts=1) as stack:
        models["default"] = {"url": stack.model.url, "model": "m"}
        path = tmp_path_factory.mktemp("models") / "models.json"
        path.write_text(json.dumps(models))
        with pytest.MonkeyPatch.context() as patch:
            given = os.environ.get("ASAN_OPTIONS", "")
            patch.setenv("ASAN_OPTIONS", f"{given}:{QUARANTINE}".lstrip(":"))
            stack.hostile_consumer = stack.consumer(models=path)
        assert stack.run(prompt="x")["status"] == "completed"
        yield stack


@pytest.mark.parametrize("name", REPLIES)
def test_it_ends_with_a_sentence(stack, hostile, name):
    pid = stack.hostile_consumer.child.pid
    before, asked = resident(pid), hostile.asked
    codes = REPLIES[name][2]
    result = stack.run(prompt="x", model=name)
    assert result["status"] in ("failed", "incomplete"), result
    assert result["error"]["code"] in codes, result["error"]
    assert result["error"]["message"]
    assert hostile.asked > asked, "it was really asked"
    assert resident(pid) - before < GROWTH_MIB << 20
    assert stack.run(prompt="x")["status"] == "completed", "it serves on"
