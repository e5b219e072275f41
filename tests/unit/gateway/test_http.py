"""Requests and answers of the gateway's HTTP: order, limits, bodies, the end."""

import json
import socket
import time

import http_server
import pytest
import servers
from http_server import Answer

HEAD = b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def start(tmp_path):
    """Starts a server with these limits; at the end it must drain."""
    started = []

    def start_one(*limits, env=None):
        started.append(http_server.EchoServer(tmp_path, *limits, env=env))
        return started[-1]

    yield start_one
    for server in started:
        server.drain()


@pytest.fixture
def server(start):
    return start()


def post(target, body, *fields):
    lines = [b"POST %s HTTP/1.1" % target, b"Host: x", *fields]
    lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*lines, b"", body])


def is_closed(peer):
    return http_server.rest_of(peer) == b""


def eventually(server, **wanted):
    """Waits for these figures, which the server counts."""

    def there():
        stats = server.stats()
        return all(stats[name] == value for name, value in wanted.items())

    servers.wait_until(there, http_server.PATIENCE_S, f"{wanted}")


# ------------------------------------------------------------------ requests


@pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])
def test_a_connection_serves_many_requests(server, tcp):
    with server.connect(tcp) as peer:
        for i in range(50):
            peer.sendall(post(b"/echo/%d" % i, b"hello"))
            answer = Answer(peer)
            assert answer.body == b"POST\n/echo/%d\n\nhello" % i
            assert "connection" not in answer.headers
            assert answer.headers["date"].endswith(" GMT")


@pytest.mark.parametrize(
    "target, said",
    [
        (b"/echo/a%20b/%C3%A4", "/echo/a b/ä\n\n"),
        (b"/echo/a+b/", "/echo/a+b\n\n"),
        (b"/echo/%2541", "/echo/%41\n\n"),
        (b"/echo?a=1&b=x+y%2B&c", "/echo\na=1&b=x y+&c=&\n"),
        (b"/echo?a=%2f&a=%26&&=d", "/echo\na=/&a=&&=d&\n"),
        (b"/echo?a=b=c?d", "/echo\na=b=c?d&\n"),
    ],
)
def test_targets_are_decoded_once(server, target, said):
    with server.connect() as peer:
        peer.sendall(HEAD % target)
        assert Answer(peer).body.decode() == "GET\n" + said


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
def test_requests_come_in_any_pieces(server, size):
    chunks = b"5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n"
    head = b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    bytes_of = (head + chunks) * 3 + HEAD % b"/echo"
    with server.connect() as peer:
        for at in range(0, len(bytes_of), size):
            peer.sendall(bytes_of[at : at + size])
        for _ in range(3):
            assert Answer(peer).body == b"POST\n/echo\n\nhello0123456789"
        assert Answer(peer).body == b"GET\n/echo\n\n"


def test_pipelined_requests_are_answered_in_order(server):
    with server.connect() as peer:
        first = HEAD % b"/slow?ms=200"
        rest = [post(b"/echo/%d" % i, b"x" * 100) for i in range(200)]
        peer.sendall(first + b"".join(rest))
        assert Answer(peer).body.startswith(b"GET\n/slow")
        for i in range(200):
            assert Answer(peer).body.startswith(b"POST\n/echo/%d\n" % i)


def test_who_pipelines_and_does_not_read_stops_being_served(start):
    server = start("stall_ms=1000")
    with server.connect() as peer:
        peer.settimeout(0.5)
        asked = post(b"/echo", b"x" * 60000)
        with pytest.raises((TimeoutError, BrokenPipeError, ConnectionResetError)):
            for _ in range(10000):
                peer.sendall(asked)
        # The kernel's buffers and ours are full: far less than was sent.
        assert server.stats()["requests"] < 100
        eventually(server, connections=1)


def test_the_peer_may_end_a_connection_by_its_header(server):
    with server.connect() as peer:
        peer.sendall(b"GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert Answer(peer).headers["connection"] == "close"
        assert is_closed(peer)


@pytest.mark.parametrize("keeps", [False, True])
def test_version_1_0(server, keeps):
    wish = b"Connection: keep-alive\r\n" if keeps else b""
    with server.connect() as peer:
        peer.sendall(b"GET /echo HTTP/1.0\r\n" + wish + b"\r\n")
        answer = Answer(peer)
        assert answer.headers["connection"] == ("keep-alive" if keeps else "close")
        if not keeps:
            assert is_closed(peer)


@pytest.mark.parametrize("code", [204, 304])
def test_answers_that_have_no_body(server, code):
    with server.connect() as peer:
        peer.sendall(HEAD % b"/status?code=%d" % code + HEAD % b"/echo")
        answer = Answer(peer)
        assert answer.status == code
        assert "content-length" not in answer.headers
        assert Answer(peer).body == b"GET\n/echo\n\n"


def test_head_has_the_headers_of_get_alone(server):
    with server.connect() as peer:
        peer.sendall(b"HEAD /status?code=200 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert Answer(peer, bodyless=True).headers["content-length"] == "6"
        peer.sendall(b"HEAD /ticks?n=3 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert Answer(peer, bodyless=True).headers["transfer-encoding"] == "chunked"
        peer.sendall(HEAD % b"/echo")
        assert Answer(peer).body == b"GET\n/echo\n\n"


@pytest.mark.parametrize("value", [b"a\r\nX-B: c", b"a\nb", b"a\x00b", b"\x7f"])
def test_no_header_is_sent_with_a_control_byte(server, value):
    with server.connect() as peer:
        peer.sendall(post(b"/header", value))
        answer = Answer(peer)
        assert answer.status == 500 and "x-echo" not in answer.headers
        assert json.loads(answer.body)["error"]["type"] == "server_error"


# -------------------------------------------------------------------- limits


def refusal(server, request):
    with server.connect() as peer:
        peer.sendall(request)
        answer = Answer(peer)
        assert answer.headers["connection"] == "close" and is_closed(peer)
    error = json.loads(answer.body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return answer.status, error["code"]


def test_a_head_has_at_most_16_kib(server):
    fit = b"GET /echo HTTP/1.1\r\nHost: x\r\nA: %s\r\n\r\n"
    room = (16 << 10) - len(fit % b"")
    with server.connect() as peer:
        peer.sendall(fit % (b"a" * room))
        assert Answer(peer).status == 200
    long = fit % (b"a" * (room + 1))
    assert refusal(server, long) == (431, "headers_too_large")


def test_a_head_has_at_most_100_fields(server):
    with server.connect() as peer:
        peer.sendall(b"GET /echo HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 99 + b"\r\n")
        assert Answer(peer).status == 200
    many = b"GET /echo HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 100 + b"\r\n"
    assert refusal(server, many)[0] == 431


def test_a_declared_length_is_refused_before_the_body(server):
    head = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n"
    assert refusal(server, head) == (413, "request_too_large")


def test_a_chunked_body_is_refused_when_it_gets_too_long(server):
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    head = b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert refusal(server, head + chunk * 17) == (413, "request_too_large")
    eventually(server, bad=1)


def test_an_unknown_expectation_is_refused(server):
    request = post(b"/echo", b"", b"Expect: magic")
    assert refusal(server, request)[0] == 417


@pytest.mark.parametrize("sent", [b"", b"GET /echo HT", b"GET /echo HTTP/1.1\r\nA: b"])
def test_a_slow_head(start, sent):
    server = start("head_ms=500")
    with server.connect() as peer:
        begun = time.monotonic()
        peer.sendall(sent)
        got = http_server.rest_of(peer)
        assert 0.4 < time.monotonic() - begun < 5
    assert got.startswith(b"HTTP/1.1 408 ") if sent else got == b""


def test_a_head_that_trickles(start):
    server = start("head_ms=700")
    with server.connect() as peer:
        with pytest.raises((BrokenPipeError, ConnectionResetError, TimeoutError)):
            for byte in HEAD % b"/echo" * 10:
                peer.sendall(bytes([byte]))
                time.sleep(0.1)
                peer.settimeout(http_server.PATIENCE_S)


def test_a_slow_body(start):
    server = start("body_grace_ms=500")
    with server.connect() as peer:
        peer.sendall(b"POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab")
        answer = Answer(peer)
        assert answer.status == 408 and is_closed(peer)
    eventually(server, slow=1, uploads=0)


def test_idle_connections_end(start):
    server = start("keep_alive_ms=500")
    with server.connect() as peer:
        peer.sendall(HEAD % b"/echo")
        assert Answer(peer).status == 200
        assert is_closed(peer)


@pytest.mark.parametrize("drains", [False, True])
def test_an_answer_that_still_waits_is_not_cut_off(start, drains):
    """The connection is idle for the server, but not for a peer that reads."""
    server = start("keep_alive_ms=300", "linger_ms=300")
    body = b"x" * 1000000
    with server.connect() as peer:
        peer.sendall(post(b"/echo", body))
        assert peer.recv(9) == b"HTTP/1.1 "
        if drains:
            server.begin_to_drain()
        time.sleep(1)
        assert http_server.rest_of(peer).endswith(b"\n" + body)


def test_connections_are_bounded_in_all(start):
    server = start("connections=5")
    peers = [server.connect(tcp=i % 2) for i in range(5)]
    for peer in peers:
        peer.sendall(HEAD % b"/echo")
        assert Answer(peer).status == 200
    with server.connect() as another:
        assert is_closed(another)
    peers.pop().close()
    servers.wait_until(lambda: not fails(server.stats))
    for peer in peers:
        peer.close()


def fails(function):
    try:
        function()
    except OSError:
        return True
    return False


def test_connections_are_bounded_per_address(start):
    server = start("connections_per_address=3")
    peers = [server.connect(tcp=True) for _ in range(3)]
    for peer in peers:
        peer.sendall(HEAD % b"/echo")
        assert Answer(peer).status == 200
    with server.connect(tcp=True) as another:
        assert is_closed(another)
    assert server.stats()["connections"] == 4
    for peer in peers:
        peer.close()
    eventually(server, connections=1)
    with server.connect(tcp=True) as peer:
        peer.sendall(HEAD % b"/echo")
        assert Answer(peer).status == 200


# -------------------------------------------------------------------- bodies


def test_100_continue_comes_when_the_handler_accepts(server):
    head = post(b"/late?ms=300", b"hello", b"Expect: 100-continue")[:-5]
    with server.connect() as peer:
        begun = time.monotonic()
        peer.sendall(head)
        assert Answer(peer).status == 100
        assert time.monotonic() - begun > 0.25
        peer.sendall(b"hello")
        assert Answer(peer).body.endswith(b"hello")


def test_no_100_continue_when_it_refuses(server):
    with server.connect() as peer:
        peer.sendall(post(b"/refuse", b"hello", b"Expect: 100-continue")[:-5])
        answer = Answer(peer)
        assert answer.status == 401 and answer.headers["connection"] == "close"
        assert is_closed(peer)


def test_a_body_waits_until_the_handler_has_chosen(server):
    body = b"x" * 1000000
    with server.connect() as peer:
        peer.sendall(post(b"/late?ms=300", body))
        assert Answer(peer).body.endswith(b"\n" + body)


def test_a_refusal_reaches_a_peer_that_still_sends(server):
    """The server reads on for a while: a reset would destroy its answer."""
    with server.connect(tcp=True) as peer:
        peer.sendall(post(b"/refuse", b"x" * 300000))
        assert Answer(peer).status == 401


def test_an_answer_inside_of_a_piece(server):
    with server.connect() as peer:
        peer.sendall(post(b"/inside", b"x" * 1000))
        assert Answer(peer).body == b"inside"
        assert is_closed(peer)


@pytest.mark.parametrize("target", [b"/upload", b"/upload?pause=5"])
def test_48_mb_in_flat_memory(start, target):
    server = start(env=http_server.FREES_AT_ONCE)
    size = (4 if b"pause" in target else 48) << 20
    with server.connect(tcp=True) as peer:
        peer.sendall(post(target, b"x"))
        assert Answer(peer).body == b"1"
    before = server.stats()["resident"]
    with server.connect(tcp=True) as peer:
        peer.sendall(post(target, b"")[:-5] + b"%d\r\n\r\n" % size)
        begun = time.monotonic()
        for _ in range(size >> 16):
            peer.sendall(b"x" * 65536)
        assert Answer(peer).body == b"%d" % size
    if b"pause" in target:  # it rests 5 ms after each 64 KiB
        assert time.monotonic() - begun > (size >> 16) * 0.004
    assert server.stats()["resident"] - before < 4096


def test_a_peer_that_goes_away_during_an_upload(server):
    with server.connect() as peer:
        peer.sendall(post(b"/upload", b"x" * 1000)[:-10])
    eventually(server, peer=1, connections=1)


def test_a_peer_that_goes_away_while_it_waits(server):
    with server.connect() as peer:
        peer.sendall(HEAD % b"/slow?ms=60000")
        eventually(server, connections=2)
    eventually(server, peer=1, connections=1)


def test_half_a_connection_gets_what_was_answered(server):
    with server.connect() as peer:
        peer.sendall(post(b"/echo", b"x" * 900000))
        peer.shutdown(socket.SHUT_WR)
        assert len(Answer(peer).body) > 900000
        assert is_closed(peer)


@pytest.mark.parametrize("method", [b"GET", b"HEAD", b"DELETE", b"OPTIONS"])
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_a_body_of_a_method_that_has_none(server, method, chunked, size):
    """It is read as any other, so that the next request is found behind it."""
    body = b"5\r\nhello\r\n0\r\n\r\n" if chunked else b"hello"
    how = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: 5"
    request = b"%s /echo HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n%s" % (method, how, body)
    with server.connect() as peer:
        for at in range(0, len(request * 2), size):
            peer.sendall((request * 2)[at : at + size])
        peer.sendall(HEAD % b"/echo/last")
        for _ in range(2):
            answer = Answer(peer, bodyless=method == b"HEAD")
            said = b"%s\n/echo\n\nhello" % method
            assert answer.status == 200 and answer.body in (said, b"")
            assert answer.headers["content-length"] == str(len(said))
        assert Answer(peer).body == b"GET\n/echo/last\n\n"


# ------------------------------------------------------------------- the end


def test_drain_closes_idle_connections_and_lets_requests_end(start):
    server = start()
    with server.connect() as idle, server.connect() as busy, server.connect() as old:
        old.sendall(HEAD % b"/echo")
        assert Answer(old).status == 200
        busy.sendall(HEAD % b"/slow?ms=1000")
        eventually(server, connections=4)
        server.begin_to_drain()
        assert is_closed(idle) and is_closed(old)
        with pytest.raises(OSError):
            server.connect()
        answer = Answer(busy)
        assert answer.status == 200 and is_closed(busy)


def test_drain_cuts_what_does_not_end(start):
    server = start()
    with server.connect() as slow, server.connect() as follower:
        slow.sendall(HEAD % b"/slow?ms=60000")
        follower.sendall(HEAD % b"/follow")
        eventually(server, connections=3)
        begun = time.monotonic()
        server.begin_to_drain()
        assert is_closed(slow)
        assert http_server.rest_of(follower).endswith(b"\r\n\r\n")
        assert 1.5 < time.monotonic() - begun < 10
