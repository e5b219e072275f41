"""quern-gateway against peers that mean harm: smuggled requests, slow ones, many.

A request that two servers may read in two ways is answered with 400, and its
connection ends. Behind each comes a second request, which would submit a job:
none is ever submitted.
"""

import contextlib
import json
import resource
import socket
import time

import pytest
import smuggled
from gateway import Gateway, frees_at_once
from http_server import rest_of
from processes import resident
from stack import ROOT, Stack

JOB = json.dumps({"kind": "code", "cells": ["1"]}).encode()
SECOND = (
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(JOB), JOB)
)
LIVE = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
LAST = LIVE % b"Connection: close\r\n"
SLOW_S = 10  # http_limits.h: head_ms, body_grace_ms
PEERS = 100
IDLE = 10000
IDLE_BYTES = 4096  # of memory, for each connection that only waits


@pytest.fixture(scope="module")
def stack():
    with Stack() as stack:
        yield stack


@pytest.fixture(autouse=True)
def nothing_is_submitted(stack):
    yield
    assert stack.db.keys(f"{ROOT}job:*") == []


def connect(gateway, source="127.0.0.1"):
    peer = socket.create_connection(("127.0.0.1", gateway.port), 30, (source, 0))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peer


def ask(gateway, sent, size=1 << 20):
    """All that is answered until the gateway closes the connection."""
    with connect(gateway) as peer:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for at in range(0, len(sent), size):
                peer.sendall(sent[at : at + size])
        return rest_of(peer)


def statuses(got):
    return [int(part[:3]) for part in got.split(b"HTTP/1.1 ")[1:]]


# ------------------------------------------------------------- smuggled requests


@pytest.mark.parametrize("size", [1 << 20, 1], ids=["at once", "in single bytes"])
@pytest.mark.parametrize("sent", smuggled.REFUSED.values(), ids=smuggled.REFUSED.keys())
def test_what_may_be_read_in_two_ways_is_refused(gateway, sent, size):
    taken = b"POST /v1/jobs HTTP/1.1\r\nContent-Type: application/json\r\n"
    got = ask(gateway, sent.replace(b"POST /echo HTTP/1.1\r\n", taken) + SECOND, size)
    assert statuses(got) == [400], got
    assert b"\r\nConnection: close\r\n" in got and b'"code":"invalid_' in got


def test_a_request_inside_of_a_body_is_a_body(gateway):
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    length = head + b"Content-Length: %d\r\n\r\n%s" % (len(SECOND), SECOND)
    chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(SECOND), SECOND)
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk
    assert statuses(ask(gateway, length + chunked + LAST)) == [400, 400, 200]


@pytest.mark.parametrize("method", [b"GET", b"HEAD", b"DELETE"])
@pytest.mark.parametrize("path", [b"/livez", b"/v1/jobs", b"/nowhere"])
def test_a_body_that_the_route_does_not_take_ends_the_connection(gateway, method, path):
    """Its bytes are never taken for a request, of HEAD neither."""
    head = b"%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    got = ask(gateway, head % (method, path, len(SECOND)) + SECOND)
    assert len(statuses(got)) == 1 and 400 <= statuses(got)[0] <= 405
    assert b"\r\nConnection: close\r\n" in got


def test_nothing_behind_an_error_is_answered(gateway):
    bad = smuggled.REFUSED["CL with TE"]
    assert statuses(ask(gateway, LIVE % b"" * 2 + bad + SECOND * 3 + LAST)) == [200, 200, 400]


def test_a_body_that_is_never_whole_submits_nothing(gateway):
    with connect(gateway) as peer:
        peer.sendall(SECOND[:-1])
        peer.shutdown(socket.SHUT_WR)
        assert rest_of(peer) == b""


# ------------------------------------------------------------------ slow and many


def test_slow_heads_and_slow_bodies_end_and_others_are_served(gateway):
    """None of them gets more time by sending a byte now and then."""
    with contextlib.ExitStack() as peers:
        heads = [peers.enter_context(connect(gateway)) for _ in range(PEERS)]
        bodies = [peers.enter_context(connect(gateway)) for _ in range(PEERS)]
        begun = time.monotonic()
        for peer in heads:
            peer.sendall(SECOND[:20])
        for peer in bodies:
            peer.sendall(SECOND[: -len(JOB)])
        for _ in range(SLOW_S - 1):
            time.sleep(1)
            for peer in heads + bodies:
                with contextlib.suppress(ConnectionError):  # it was refused meanwhile
                    peer.sendall(b" ")
            assert statuses(ask(gateway, LAST)) == [200]
        for peer in heads + bodies:
            assert statuses(rest_of(peer)) == [408]
        assert SLOW_S - 1 < time.monotonic() - begun < 3 * SLOW_S


def room_for_connections():
    """How many this process may open, some files aside."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(IDLE, hard - 500) if hard != resource.RLIM_INFINITY else IDLE


def test_ten_thousand_idle_connections(stack):
    """They cost little memory, others are served, and all of them can ask."""
    count = room_for_connections()
    with Gateway(stack.redis.url, more=frees_at_once()) as gateway:
        gateway.ready()
        with contextlib.ExitStack() as peers:
            before = resident(gateway.pid)
            idle = [
                # An address may have 2000.
                peers.enter_context(connect(gateway, f"127.0.0.{2 + i % 8}"))
                for i in range(count)
            ]
            assert statuses(ask(gateway, LAST)) == [200]
            each = (resident(gateway.pid) - before) // count
            print(f"{count} idle connections: {each} bytes each")
            assert each < IDLE_BYTES
            for peer in idle:
                peer.sendall(LAST)
            for peer in idle:
                assert statuses(rest_of(peer)) == [200]
        gateway.drain()
