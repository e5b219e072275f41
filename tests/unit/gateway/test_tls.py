"""What only TLS can do to the gateway's HTTP: handshakes that are slow, broken or
cut off, ends that are none, certificates that change."""

import os
import random
import signal
import socket
import ssl
import subprocess
import threading
import time

import http_server
import pytest
import servers
import tls_peer
from http_server import Answer

HEAD = b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n"
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
IDS = ["1.2", "1.3"]


@pytest.fixture
def start(tmp_path):
    started = []

    def start_one(*limits):
        certificate = tls_peer.Certificate(tmp_path)
        server = http_server.EchoServer(tmp_path, *limits, certificate=certificate)
        started.append(server)
        return server

    yield start_one
    for server in started:
        server.drain()


@pytest.fixture
def server(start):
    return start()


def context_of(server, version=None, alpn=None):
    context = ssl.create_default_context(cafile=server.certificate.path)
    if version:
        context.minimum_version = context.maximum_version = version
    if alpn:
        context.set_alpn_protocols(alpn)
    return context


def connect(server, context=None, raw=None, session=None):
    raw = raw or server.connect_tcp(server.tls_port)
    return tls_peer.TlsPeer(raw, server.certificate, context, session)


def has(server, **wanted):
    def there():
        stats = server.stats()
        return all(stats[name] == value for name, value in wanted.items())

    servers.wait_until(there, http_server.PATIENCE_S, f"{wanted}")


# ---------------------------------------------------------------- handshakes


@pytest.mark.parametrize("version", VERSIONS, ids=IDS)
def test_versions(server, version):
    with connect(server, context_of(server, version)) as peer:
        peer.sendall(HEAD % b"/echo")
        assert Answer(peer).status == 200
        assert peer.tls.version() == version.name.replace("_", ".")
        assert peer.tls.compression() is None


def test_an_old_version_gets_an_alert(server):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with connect(server, context) as peer:
        with pytest.raises(ssl.SSLError, match="(?i)protocol.version"):
            peer.handshake()


def test_alpn(server):
    with connect(server, context_of(server, alpn=["h2", "http/1.1"])) as peer:
        peer.handshake()
        assert peer.tls.selected_alpn_protocol() == "http/1.1"
    with connect(server, context_of(server, alpn=["h2"])) as peer:
        with pytest.raises(ssl.SSLError, match="(?i)no.application.protocol"):
            peer.handshake()


def test_http_without_tls_is_told_so(server):
    with server.connect_tcp(server.tls_port) as raw:
        raw.sendall(HEAD % b"/echo")
        answer = Answer(raw)
        assert answer.status == 400 and b'"tls_required"' in answer.body
        assert http_server.rest_of(raw) == b""
    has(server, connections=1, requests=1)


GARBAGE = {
    "zeros": b"\x00" * 100,
    "a record of another kind": b"\x17\x03\x03\x00\x04abcd",
    "a record too long": b"\x16\x03\x01\xff\xff" + b"\x01" * 70000,
    "an empty record": b"\x16\x03\x01\x00\x00" * 40,
    "an alert": b"\x15\x03\x01\x00\x02\x02\x28",
    "a hello of another kind": b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
    "an unknown method": b"BREW /echo HTTP/1.1\r\n\r\n",
}


@pytest.mark.parametrize("sent", GARBAGE.values(), ids=GARBAGE)
def test_garbage_for_a_hello(server, sent):
    with server.connect_tcp(server.tls_port) as raw:
        begun = time.monotonic()
        raw.sendall(sent)
        got = http_server.rest_of(raw)
        assert time.monotonic() - begun < 5  # not by the limit of a head
    assert got == b"" or got[0] == 0x15
    has(server, connections=1)


def hello_of(server):
    peer = tls_peer.TlsPeer(None, server.certificate)
    with pytest.raises(ssl.SSLWantReadError):
        peer.tls.do_handshake()
    return peer.out.read()


def test_a_hello_with_any_byte_changed(server):
    hello, seed = hello_of(server), random.Random(1)
    for at in range(len(hello)):
        with server.connect_tcp(server.tls_port) as raw:
            changed = hello[:at] + bytes([seed.randrange(256)]) + hello[at + 1 :]
            raw.sendall(changed)
            raw.shutdown(socket.SHUT_WR)
            http_server.rest_of(raw)
    has(server, connections=1)


def test_a_hello_has_at_most_16_kib(server):
    record = b"\x16\x03\x01\x40\x00" + b"\x01\x00\xff\xff" + b"\x00" * 16380
    with server.connect_tcp(server.tls_port) as raw:
        raw.sendall(record)
        http_server.rest_of(raw)
    has(server, connections=1)


@pytest.mark.parametrize("size", [1, 3, 9])
def test_a_hello_that_says_it_is_long_is_refused_at_once(server, size):
    """In records of any size: OpenSSL would take 150 KiB for its first bytes."""
    message = b"\x01\x01\xff\xf0" + b"\x03" * 5
    pieces = [message[at : at + size] for at in range(0, len(message), size)]
    records = b"".join(b"\x16\x03\x01\x00" + bytes([len(piece)]) + piece for piece in pieces)
    with server.connect_tcp(server.tls_port) as raw:
        raw.sendall(records)  # at once: the server may refuse them before the last
        begun = time.monotonic()
        http_server.rest_of(raw)
        assert time.monotonic() - begun < 5


def test_a_second_hello_that_says_it_is_long(server):
    """The first has a key of a group that nobody knows: the server wants another."""
    hello = hello_of(server).replace(b"\x00\x1d\x00\x20", b"\x1f\x1f\x00\x20")
    hello = hello.replace(b"\x00\x1e\x00\x19", b"\x1f\x1f\x00\x19")
    with server.connect_tcp(server.tls_port) as raw:
        raw.sendall(hello)
        assert raw.recv(65536)[0] == 0x16  # no alert
        raw.sendall(b"\x14\x03\x03\x00\x01\x01")
        raw.sendall(b"\x16\x03\x03\x00\x09\x01\x01\xff\xf0" + b"\x03" * 5)
        begun = time.monotonic()
        http_server.rest_of(raw)
        assert time.monotonic() - begun < 5


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_hello_in_many_records(server, size):
    class Cut(Budget):
        def sendall(self, data):
            hello, data = (data[5:], b"") if data[0] == 0x16 else (b"", data)
            for at in range(0, len(hello), size):
                piece = hello[at : at + size]
                data += b"\x16\x03\x01\x00" + bytes([len(piece)]) + piece
            self.raw.sendall(data)

    raw = Cut(server.connect_tcp(server.tls_port), 0)
    with connect(server, None, raw) as peer:
        peer.sendall(HEAD % b"/echo")
        assert Answer(peer).status == 200


@pytest.mark.parametrize("sent", [0, 1, 5, 100, None])
def test_a_slow_handshake(start, sent):
    server = start("head_ms=500")
    with server.connect_tcp(server.tls_port) as raw:
        begun = time.monotonic()
        raw.sendall(hello_of(server)[:sent])
        http_server.rest_of(raw)
        assert 0.4 < time.monotonic() - begun < 5
    has(server, connections=1)


def test_renegotiation_is_refused(server):
    command = ["openssl", "s_client", "-tls1_2", "-connect"]
    command.append(f"127.0.0.1:{server.tls_port}")
    done = subprocess.run(
        command, input=b"R\n", capture_output=True, timeout=http_server.PATIENCE_S
    )
    said = done.stdout + done.stderr
    assert b"RENEGOTIATING" in said and b"no renegotiation" in said, said.decode()
    has(server, connections=1)


# ---------------------------------------------------------------------- cuts


class Budget:
    """A socket that takes so many bytes, one in a write, and then none."""

    def __init__(self, raw, left):
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.raw = raw
        self.left = left
        self.sent = 0
        self.recv, self.close = raw.recv, raw.close

    def sendall(self, data):
        data = data[: self.left - self.sent]
        self.raw.sendall(data)
        self.sent += len(data)
        if self.sent == self.left:
            raise BrokenPipeError


def converse(peer):
    """A request that is answered, a follower, and the end."""
    peer.sendall(HEAD % b"/echo/whole")
    assert Answer(peer).body == b"GET\n/echo/whole\n\n"
    peer.sendall(HEAD % b"/follow")
    assert Answer(peer).status == 200
    peer.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("version", VERSIONS, ids=IDS)
def test_a_peer_that_goes_away_after_any_byte(server, version):
    context = context_of(server, version)
    n, whole = 0, False
    while not whole:
        n += 1
        raw = Budget(server.connect_tcp(server.tls_port), n)
        with connect(server, context, raw) as peer:
            try:
                converse(peer)
                whole = True
            except BrokenPipeError:
                pass
    assert n > 400  # so the whole conversation was cut everywhere
    has(server, connections=1, followers=0, bad=0, slow=0)


@pytest.mark.parametrize("version", VERSIONS, ids=IDS)
def test_writes_of_one_byte(server, version):
    class Trickle(Budget):
        def sendall(self, data):
            for byte in data:
                self.raw.sendall(bytes([byte]))

    raw = Trickle(server.connect_tcp(server.tls_port), 0)
    with connect(server, context_of(server, version), raw) as peer:
        converse(peer)
    has(server, connections=1, followers=0, peer=1)


# ---------------------------------------------------------------------- ends


def ends_clean(peer):
    """b"" by the end of TLS: an end without it would raise Truncated."""
    return peer.recv(1) == b""


def test_an_end_is_an_end_of_tls(start):
    server = start("keep_alive_ms=500")
    with connect(server) as ended, connect(server) as idle, connect(server) as fresh:
        fresh.handshake()
        for peer, more in (idle, b""), (ended, b"Connection: close\r\n"):
            peer.sendall((HEAD % b"/echo")[:-2] + more + b"\r\n")
            assert Answer(peer).status == 200
        assert ends_clean(ended)
        assert ends_clean(idle)
        server.begin_to_drain()
        assert ends_clean(fresh)


def test_a_peer_that_ends_tls_is_answered_by_the_same(server):
    with connect(server) as peer:
        peer.sendall(HEAD % b"/echo")
        assert Answer(peer).status == 200
        peer.shutdown(socket.SHUT_WR)
        assert ends_clean(peer)


def test_what_is_cut_is_not_ended(server):
    """A body that ends with the connection would seem to be whole."""
    with connect(server) as peer:
        peer.sendall(b"GET /follow HTTP/1.0\r\n\r\n")
        has(server, followers=1)
        server.begin_to_drain()
        assert Answer(peer).status == 200
        with pytest.raises(tls_peer.Truncated):
            peer.recv(1)


def test_a_socket_that_ends_before_tls_is_gone(server):
    with connect(server) as peer:
        peer.sendall(HEAD % b"/slow?ms=60000")
        has(server, connections=2)
        peer.raw.shutdown(socket.SHUT_WR)
        with pytest.raises(tls_peer.Truncated):
            peer.recv(1)
    has(server, connections=1, peer=1)


def test_a_record_that_was_changed(server):
    with connect(server) as peer:
        peer.sendall(HEAD % b"/follow")
        has(server, followers=1)
        peer.raw.sendall(b"\x17\x03\x03\x00\x20" + b"x" * 32)
        with pytest.raises(ssl.SSLError, match="(?i)bad.record.mac"):
            while peer.recv(65536):
                pass
    has(server, connections=1, followers=0, peer=1)


def test_a_slow_reader_gets_a_whole_download(server):
    size = 3 << 20
    with connect(server) as peer:
        peer.sendall(HEAD % b"/download?size=%d" % size)
        answer = Answer(peer, bodyless=True)
        assert answer.headers["content-length"] == str(size)
        got = 0
        while got < size:
            got += len(peer.recv(min(20000, size - got)))
            time.sleep(0.002)


# -------------------------------------------------------------- certificates


def reload(server):
    count = server.text().count("reload: ")
    server.signal(signal.SIGHUP)

    def said():
        lines = [line for line in server.text().splitlines() if "reload: " in line]
        return len(lines) > count and lines[-1].removeprefix("reload: ")

    return servers.wait_until(said, http_server.PATIENCE_S, "an answer to SIGHUP")


def name_of(peer):
    peer.handshake()
    return peer.tls.getpeercert()["subject"][0][0][1]


def test_sessions_are_resumed_until_the_next_reload(server):
    context = context_of(server)

    def resumes(session):
        with connect(server, context, session=session) as peer:
            peer.sendall(HEAD % b"/echo")
            assert Answer(peer).status == 200
            return peer.tls.session_reused, peer.tls.session

    is_reused, session = resumes(None)
    assert not is_reused
    is_reused, session = resumes(session)
    assert is_reused
    assert reload(server) == "done"
    assert not resumes(session)[0]


def test_files_that_are_wrong_change_nothing(server):
    ours, path = server.certificate, server.certificate.path
    certificate = path.read_bytes()
    for written, said in [
        (b"", f"{path}: it holds no certificate: no start line"),
        (certificate[:200], f"{path}: a certificate is malformed: "),
        (certificate + b"-----BEGIN CERTIFI", f"{path}: it ends inside of a line"),
    ]:
        path.write_bytes(written)
        assert reload(server).startswith(said)
        with connect(server) as peer:
            assert name_of(peer) == "server"
    os.unlink(path)
    assert reload(server) == f"{path}: it cannot be read: No such file or directory"
    path.write_bytes(certificate)
    other = tls_peer.Certificate(path.parent, "other")
    ours.key.write_bytes(other.key.read_bytes())
    assert "does not fit the certificate" in reload(server)


def test_reload_under_load(server):
    """No request is lost, old connections go on, new ones see the new one."""
    ours = server.certificate
    others = [tls_peer.Certificate(ours.path.parent, f"c{i}") for i in range(2)]
    context = ssl.create_default_context(cafile=ours.path)
    for other in others:
        context.load_verify_locations(other.path)
    old = connect(server, context)
    assert name_of(old) == "server"
    failures, names, is_over = [], set(), threading.Event()

    def ask():
        try:
            while not is_over.is_set():
                with connect(server, context) as peer:
                    names.add(name_of(peer))
                    for _ in range(3):
                        peer.sendall(HEAD % b"/echo")
                        assert Answer(peer).status == 200
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(20):
        ours.path.write_bytes(others[i % 2].path.read_bytes())
        assert "does not fit" in reload(server)
        ours.key.write_bytes(others[i % 2].key.read_bytes())
        assert reload(server) == "done"
        with connect(server, context) as peer:
            assert name_of(peer) == f"c{i % 2}"
    is_over.set()
    for thread in threads:
        thread.join()
    assert not failures and names >= {"c0", "c1"}
    with old:
        old.sendall(HEAD % b"/echo")
        assert Answer(old).status == 200
