"""Streams of the gateway's HTTP: followers, some of whom do not read."""

import contextlib
import selectors
import time

import http_server
import pytest
import servers
from http_server import Answer

FOLLOW = b"GET /follow HTTP/1.1\r\nHost: x\r\n\r\n"
# Python is slow at TLS.
FOLLOWERS, SILENT = (300, 30) if http_server.OVER_TLS else (1000, 100)


@pytest.fixture
def server(tmp_path):
    server = http_server.EchoServer(
        tmp_path, "stall_ms=60000", env=http_server.FREES_AT_ONCE
    )
    yield server
    server.drain()


def ask(server, method, target, body=b""):
    with server.connect() as peer:
        head = b"%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        peer.sendall(head % (method, target, len(body)) + body)
        assert Answer(peer).status == 200


def follow(server, tcp=False, request=FOLLOW):
    peer = server.connect(tcp)
    peer.sendall(request)
    return peer


def has(server, **wanted):
    def there():
        stats = server.stats()
        return all(stats[name] == value for name, value in wanted.items())

    servers.wait_until(there, http_server.PATIENCE_S, f"{wanted}")


def dechunked(got):
    """The body of an answer in chunks, and what is behind it."""
    body, rest = b"", got.split(b"\r\n\r\n", 1)[1]
    while True:
        size, rest = rest.split(b"\r\n", 1)
        length = int(size, 16)
        assert rest[length : length + 2] == b"\r\n"
        if length == 0:
            return body, rest[2:]
        body, rest = body + rest[:length], rest[length + 2 :]


def test_events_as_clients_decode_them(server):
    with follow(server, request=FOLLOW.replace(b"follow", b"ticks?n=2")) as peer:
        peer.sendall(b"GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        got = http_server.rest_of(peer)
    assert b"\r\nContent-Type: text/event-stream\r\n" in got
    assert b"\r\nTransfer-Encoding: chunked\r\n" in got
    body, behind = dechunked(got)
    assert body == b"event: tick\ndata: {}\n\n" * 2 + b"data: [DONE]\n\n"
    assert behind.startswith(b"HTTP/1.1 200 ") and behind.endswith(b"GET\n/echo\n\n")


def test_a_peer_of_1_0_gets_no_chunks(server):
    with follow(server, request=b"GET /ticks?n=1 HTTP/1.0\r\n\r\n") as peer:
        got = http_server.rest_of(peer)
    assert b"chunked" not in got and b"\r\nConnection: close\r\n" in got
    assert got.endswith(b"\r\n\r\nevent: tick\ndata: {}\n\ndata: [DONE]\n\n")


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@pytest.mark.parametrize("sent", [0, 3, 50000])
def test_a_stream_before_the_body_is_whole(server, version, sent):
    """The rest of the body is dropped, and the connection is the stream's."""
    head = b"GET /ticks?n=2&ms=100 HTTP/%s\r\nHost: x\r\nContent-Length: 60000\r\n\r\n"
    with follow(server, request=head % version + b"x" * sent) as peer:
        got = http_server.rest_of(peer)
    assert b"\r\nConnection: close\r\n" in got
    assert got.count(b"event: tick\n") == 2 and got.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("target", [b"/inside", b"/inside?n=2&ms=100"])
def test_an_answer_inside_of_a_body_that_turns_out_too_long(server, target):
    """What was begun is the one answer, and it comes whole."""
    head = b"POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"5\r\nhello\r\n3e8\r\n" + b"x" * 1000
    with follow(server, request=head % target + chunks) as peer:
        got = http_server.rest_of(peer)
    assert got.count(b"HTTP/1.1 ") == 1 and got.startswith(b"HTTP/1.1 200 ")
    if b"?" not in target:
        assert got.endswith(b"\r\n\r\ninside")
        return
    body, behind = dechunked(got)
    assert body == b"event: tick\ndata: {}\n\n" * 2 + b"data: [DONE]\n\n"
    assert behind == b""
    has(server, bad=0, peer=0, connections=1)


def test_a_follower_that_sends_more_is_still_seen_to_go(server):
    request = FOLLOW.replace(b"Host", b"Connection: close\r\nHost")
    with follow(server, request=request) as peer:
        has(server, followers=1)
        peer.sendall(b"x" * 200000)
    has(server, followers=0, peer=1, connections=1)


def test_a_follower_that_goes_away_is_seen_at_once(server):
    peers = [follow(server, tcp=i % 2) for i in range(10)]
    has(server, followers=10)
    for peer in peers:
        peer.close()
    has(server, followers=0, peer=10, connections=1)


def test_a_download_goes_as_fast_as_the_peer_reads(tmp_path):
    server = http_server.EchoServer(tmp_path, env=http_server.FREES_AT_ONCE)
    size = 20 << 20
    ask(server, b"GET", b"/download")
    before = server.stats()["resident"]
    with server.connect(tcp=True) as peer:
        peer.sendall(b"GET /download?size=%d HTTP/1.1\r\nHost: x\r\n\r\n" % size)
        has(server, connections=2)
        assert server.stats()["resident"] - before < 3072
        assert len(Answer(peer).body) == size
    assert server.stats()["resident"] - before < 3072
    server.drain()


@pytest.mark.parametrize("before", [150_000, 215_000, 260_000])
def test_a_download_behind_an_answer_that_waits(server, before):
    """Its writer is told when it may go on, whatever fills the socket."""
    with server.connect() as peer:
        body = bytes(before)
        head = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        download = b"GET /download?size=100000 HTTP/1.1\r\nHost: x\r\n"
        peer.sendall(head % before + body + download + b"Connection: close\r\n\r\n")
        got = http_server.rest_of(peer)
    assert len(got) > before + 100_000


def test_a_peer_that_stops_reading_is_cut_after_a_while(tmp_path):
    server = http_server.EchoServer(tmp_path, "stall_ms=1000")
    with server.connect() as peer:
        peer.sendall(b"GET /download?size=20000000 HTTP/1.1\r\nHost: x\r\n\r\n")
        has(server, slow=1, connections=1)
    server.drain()


def test_a_follower_that_reads_nothing_is_cut_while_events_are_sent(tmp_path):
    """Small events, as pings are, do not count as bytes that it has taken."""
    server = http_server.EchoServer(tmp_path, "stall_ms=1500")
    with follow(server), contextlib.ExitStack() as closes:
        has(server, followers=1)
        while server.stats()["waiting"] == 0:
            ask(server, b"POST", b"/publish?n=20", b"x" * 1000)
        reader = closes.enter_context(follow(server))
        has(server, followers=2)
        for _ in range(100):
            if server.stats()["followers"] == 1:
                break
            ask(server, b"POST", b"/publish", b"ping")
            time.sleep(0.05)
        stats = server.stats()
        # Far fewer bytes than those for which a follower is cut at once. Over TCP
        # the kernel may see it first (TCP_USER_TIMEOUT): then the peer has gone.
        assert (stats["slow"] + stats["peer"], stats["cut"]) == (1, 0)
        assert stats["followers"] == 1
        ask(server, b"POST", b"/end")
        assert bytes(*read_all([reader])).count(b"data: ping\n") > 5
    server.drain()


def read_all(peers):
    """What each of the peers gets until its stream ends."""
    got = {peer: bytearray() for peer in peers}
    with selectors.DefaultSelector() as selector:
        for peer in peers:
            peer.setblocking(False)
            selector.register(peer, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(http_server.PATIENCE_S)
            assert ready, "followers wait for nothing"
            for key, _ in ready:
                piece = key.fileobj.recv(1 << 20)
                got[key.fileobj] += piece
                if not piece or got[key.fileobj].endswith(b"\r\n0\r\n\r\n"):
                    selector.unregister(key.fileobj)
    return got.values()


def test_a_follower_may_have_much_waiting_while_others_have_not(server):
    """An answer of a megabyte comes as several large events at once."""
    with follow(server) as reader:
        has(server, followers=1)
        for size in (100_000, 900_000, 900_000):
            ask(server, b"POST", b"/publish", b"x" * size)
        ask(server, b"POST", b"/end")
        [got] = read_all([reader])
    assert got.count(b"x" * 1000) == 1900
    has(server, followers=0, cut=0)


def test_many_followers_of_whom_some_do_not_read(tmp_path):
    """Those who do not read are cut; memory is bounded; the others get all."""
    all_full = ["stall_ms=60000", "waiting_bytes=65536"]
    server = http_server.EchoServer(tmp_path, *all_full, env=http_server.FREES_AT_ONCE)
    readers = [follow(server) for _ in range(FOLLOWERS - SILENT)]
    silent = [follow(server) for _ in range(SILENT)]
    has(server, followers=FOLLOWERS)
    before = server.stats()["resident"]
    event = b"x" * 1000
    sent = 0
    most = 0
    while server.stats()["cut"] < SILENT:
        ask(server, b"POST", b"/publish?n=20", event)
        sent += 20
        for peer in readers:
            drop(peer, 20 * len(b"3f8\r\nevent: said\ndata: \n\n\r\n" + event))
        most = max(most, server.stats()["resident"])
        assert sent < 10000, "those who do not read are never cut"
    # 64 KiB wait for each at most, and all of them share the events.
    assert most - before < SILENT * 480
    has(server, followers=FOLLOWERS - SILENT, connections=1 + FOLLOWERS - SILENT)
    ask(server, b"POST", b"/publish", b"last")
    ask(server, b"POST", b"/end")
    for got in read_all(readers):
        assert bytes(got).endswith(
            b"event: said\ndata: last\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
        )
    for peer in readers + silent:
        peer.close()
    has(server, followers=0, cut=SILENT, peer=0, connections=1)
    server.drain()


def drop(peer, size):
    while size > 0:
        piece = peer.recv(size)
        assert piece, "a follower that reads was cut"
        size -= len(piece)


def test_close_while_the_server_writes(server):
    """Followers that do not read close while bytes wait for them."""
    for _ in range(5):
        peers = [follow(server) for _ in range(20)]
        has(server, followers=20)
        ask(server, b"POST", b"/publish?n=240", b"x" * 1000)
        for peer in peers:
            peer.close()
        has(server, followers=0, connections=1)
