"""How the gateway's HTTP ends a connection, and when it does not."""

import contextlib
import json
import time

import http_server
import pytest
import servers
from http_server import Answer

CHUNKED = b"POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
LENGTH = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"


@pytest.fixture
def start(tmp_path):
    """Starts a server with these limits; at the end it must drain."""
    started = []

    def start_one(*limits):
        started.append(http_server.EchoServer(tmp_path, *limits))
        return started[-1]

    yield start_one
    for server in started:
        server.drain()


@pytest.mark.parametrize(
    "request_of, status",
    [
        (b"GET /\x01 HTTP/1.1\r\n", 400),
        (CHUNKED % b"/echo" + b"g\r\n", 400),
        (LENGTH % (b"/echo", 2 << 20), 413),
    ],
    ids=["head", "body", "length"],
)
def test_an_error_is_answered_and_what_follows_is_dropped(start, request_of, status):
    """For linger_ms the peer may go on sending: a reset would destroy the answer."""
    server = start("linger_ms=1500")
    with server.connect(tcp=True) as peer:
        begun = time.monotonic()
        peer.sendall(request_of)
        for _ in range(5):
            with contextlib.suppress(ConnectionError):  # linger_ms are over
                peer.sendall(b"GET /echo HTTP/1.1\r\nHost: x\r\n\r\n" * 500)
            time.sleep(0.05)
        assert server.stats()["connections"] == 2
        got = http_server.rest_of(peer)
        assert got.startswith(b"HTTP/1.1 %d " % status)
        assert got.count(b"HTTP/1.1 ") == 1
        servers.wait_until(lambda: server.stats()["connections"] == 1)
        assert 1.2 < time.monotonic() - begun < 10


def test_what_exceeds_a_declared_length_is_no_part_of_the_body(start):
    server = start()
    with server.connect() as peer:
        peer.sendall(LENGTH % (b"/echo", 5) + b"helloXX /echo HTTP/1.1\r\n\r\n")
        answer = Answer(peer)
        assert answer.status == 200 and answer.body.endswith(b"\n\nhello")
        assert Answer(peer).status == 400
        assert http_server.rest_of(peer) == b""


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_that_are_collected_have_a_bound_for_all(start, chunked):
    server = start("collected_bytes=100000")
    half = CHUNKED % b"/echo" + b"ea60\r\n" if chunked else LENGTH % (b"/echo", 60001)
    half += b"x" * 60000
    end = b"\r\n1\r\nx\r\n0\r\n\r\n" if chunked else b"x"
    with server.connect() as first, server.connect() as declares:
        declares.sendall(LENGTH % (b"/echo", 90000))  # and sends nothing
        first.sendall(half)
        servers.wait_until(lambda: server.stats()["requests"] > 2)
        for _ in range(2):
            with server.connect() as second:
                second.sendall(half + end)
                answer = Answer(second)
                assert (answer.status, answer.headers["retry-after"]) == (503, "1")
                assert answer.headers["connection"] == "close"
                error = json.loads(answer.body)["error"]
                assert (error["type"], error["code"]) == ("server_error", "body_memory_full")
        first.sendall(end)
        assert Answer(first).status == 200
        for _ in range(3):  # what the first one had is free again
            first.sendall(half + end)
            assert Answer(first).status == 200


def test_answers_that_nobody_reads_have_a_bound_for_all(start):
    """Short answers still come, and long ones when those who do not read are gone."""
    server = start("waiting_bytes=2000000", "stall_ms=60000")
    long = LENGTH % (b"/echo", 1 << 20) + b"x" * (1 << 20)
    short = LENGTH % (b"/echo", 1) + b"x"
    with contextlib.ExitStack() as silent:
        for asked in range(1, 40):
            silent.enter_context(server.connect()).sendall(long)
            servers.wait_until(lambda n=asked: server.stats()["requests"] >= 3 * n)
            with server.connect() as reader:
                reader.sendall(long)
                answer = Answer(reader)
            if answer.status == 503:
                break
        assert answer.headers["retry-after"] == "1", f"{asked} of a megabyte wait"
        assert json.loads(answer.body)["error"]["code"] == "answer_memory_full"
        with server.connect() as reader:
            reader.sendall(short)
            assert Answer(reader).status == 200
    servers.wait_until(lambda: server.stats()["connections"] == 1)
    with server.connect() as reader:
        reader.sendall(long)
        assert Answer(reader).status == 200


def test_while_a_body_is_paused_no_time_runs_against_the_peer(start):
    server = start("body_grace_ms=400")
    with server.connect() as peer:
        peer.sendall(LENGTH % (b"/upload?pause=1500", 10) + b"hello")
        time.sleep(1)
        peer.sendall(b"hello")
        answer = Answer(peer)
        assert (answer.status, answer.body) == (200, b"10")


def test_after_a_pause_the_clock_runs_again(start):
    server = start("body_grace_ms=400")
    with server.connect() as peer:
        begun = time.monotonic()
        peer.sendall(LENGTH % (b"/upload?pause=1000", 10) + b"hello")
        assert Answer(peer).status == 408
        assert 1.2 < time.monotonic() - begun < 10


def test_a_head_that_is_too_long_to_send_ends_the_stream(start):
    """Nothing of it is sent, rather than a part."""
    server = start()
    with server.connect() as peer:
        value = b"a" * 70000
        peer.sendall(LENGTH % (b"/header?n=2", len(value)) + value)
        assert http_server.rest_of(peer) == b""
    servers.wait_until(lambda: server.stats()["server"] == 1)
