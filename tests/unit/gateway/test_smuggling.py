"""Requests that two servers may read in two ways: 400, and the end.

Each is followed by a second request, which must not be answered: nor may the
first one be, by more than one answer.
"""

import http_server
import pytest
from smuggled import REFUSED, ZERO, get, post

SECOND = b"GET /status?code=299 HTTP/1.1\r\nHost: x\r\n\r\n"
PIECES = {"at once": 1 << 20, "in single bytes": 1, "in sevens": 7}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = http_server.EchoServer(tmp_path_factory.mktemp("http"))
    yield server
    server.drain()


def ask(server, request, size=1 << 20):
    with server.connect() as peer:
        try:
            for at in range(0, len(request), size):
                peer.sendall(request[at : at + size])
        except (BrokenPipeError, ConnectionResetError):
            pass
        return http_server.rest_of(peer)


@pytest.mark.parametrize("size", PIECES.values(), ids=PIECES.keys())
@pytest.mark.parametrize("request_of", REFUSED.values(), ids=REFUSED.keys())
def test_is_refused_and_ends_the_connection(server, request_of, size):
    got = ask(server, request_of + SECOND, size)
    assert got.startswith(b"HTTP/1.1 400 "), got
    assert got.count(b"HTTP/1.1 ") == 1, got
    assert b"\r\nConnection: close\r\n" in got
    assert b'{"error":{"message":"' in got and b'"param":null' in got


ACCEPTED = {
    "an absolute target": get(b"http://localhost/echo"),
    "Host with a port": post(host=b"Host: x:80"),
    "Host of v6": post(host=b"Host: [::1]:80"),
    "chunked in capitals": post(b"Transfer-Encoding: CHUNKED", body=ZERO),
    "no blank behind a colon": post(b"Content-Length:5", body=b"12345"),
    "blanks around a value": post(b"Content-Length:   5  ", body=b"12345"),
    "two of a list": post(b"Accept: a/b", b"Accept: c/d"),
    "an empty value": post(b"X-A:"),
    "the target * of OPTIONS": post(line=b"OPTIONS * HTTP/1.1"),
    "an offer of websocket": get(b"/echo", b"Connection: Upgrade", b"Upgrade: websocket"),
    "an offer of h2c": get(b"/echo", b"Connection: Upgrade, HTTP2-Settings",
                           b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__"),
    "an offer with a body": post(b"Connection: Upgrade", b"Upgrade: h2c",
                                 b"Content-Length: 5", body=b"12345"),
    "an offer with chunks": post(b"Connection: Upgrade", b"Upgrade: h2c",
                                 b"Transfer-Encoding: chunked", body=b"1\r\nx\r\n" + ZERO),
    "a byte above ASCII in a value": post(b"X-A: \xc3\xa4"),
}  # fmt: skip


@pytest.mark.parametrize("size", PIECES.values(), ids=PIECES.keys())
@pytest.mark.parametrize("request_of", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_is_served_and_so_is_the_next(server, request_of, size):
    last = SECOND.replace(b"Host", b"Connection: close\r\nHost")
    got = ask(server, request_of + last, size)
    assert got.count(b"HTTP/1.1 ") == 2, got
    assert b"HTTP/1.1 299 " in got
