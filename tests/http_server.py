"""The small HTTP server of tests/unit/gateway, and raw sockets to ask it.

With QUERN_HTTP_OVER=tls in the environment all tests speak TLS to it.
"""

import os
import re
import signal
import socket

import servers
import tls_peer

OVER_TLS = os.environ.get("QUERN_HTTP_OVER") == "tls"
PATIENCE_S = servers.PATIENCE_S
# ASan keeps what is freed for a while: here a little of it.
FREES_AT_ONCE = {
    "ASAN_OPTIONS": "quarantine_size_mb=1:thread_local_quarantine_size_kb=64"
}


class EchoServer(servers.Process):
    """Listens on a unix socket, on a port of 127.0.0.1, and on one for TLS."""

    def __init__(self, folder, *limits, env=None, certificate=None):
        self.path = str(folder / "http.sock")
        self.is_draining = False
        if OVER_TLS:
            certificate = tls_peer.certificate_of_all()
        self.certificate = certificate
        if certificate:
            limits += (f"certificate={certificate.path}", f"key={certificate.key}")
        super().__init__([servers.binary("echo_server"), self.path, *limits], env)
        self.start()
        servers.wait_until(self.text, what="the port of echo_server")
        self.port, self.tls_port = map(int, self.text().split()[:2])

    def drain(self):
        """It must end by itself, and ASan must have nothing to say."""
        self.begin_to_drain()
        assert self.child.wait(PATIENCE_S) == 0, self.end()

    def begin_to_drain(self):
        if not self.is_draining:
            self.signal(signal.SIGTERM)
        self.is_draining = True

    def connect(self, tcp=False):
        if self.certificate:
            return tls_peer.TlsPeer(self.connect_tcp(self.tls_port), self.certificate)
        return self.connect_tcp(self.port) if tcp else self.connect_unix()

    def connect_tcp(self, port):
        peer = socket.socket()
        # Else the kernel holds megabytes for a peer that does not read.
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        peer.settimeout(PATIENCE_S)
        peer.connect(("127.0.0.1", port))
        return peer

    def connect_unix(self):
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(PATIENCE_S)
        peer.connect(self.path)
        return peer

    def stats(self):
        with self.connect_unix() as peer:
            peer.sendall(b"GET /stats HTTP/1.1\r\nHost: x\r\n\r\n")
            lines = Answer(peer).body.decode().splitlines()
        return {name: int(value) for name, value in map(str.split, lines)}


class Answer:
    """One answer, read from the socket: exactly its bytes."""

    def __init__(self, peer, bodyless=False):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = peer.recv(1)
            if not byte:
                raise ConnectionError(f"closed after {head!r}")
            head += byte
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(re.match(r"HTTP/1\.1 (\d{3}) \S", lines[0])[1])
        pairs = [line.split(": ", 1) for line in lines[1:] if line]
        self.headers = {name.lower(): value for name, value in pairs}
        self.body = b""
        if bodyless or self.status < 200 or self.status in (204, 304):
            return
        length = int(self.headers.get("content-length", 0))
        while len(self.body) < length:
            piece = peer.recv(length - len(self.body))
            assert piece, "closed inside of a body"
            self.body += piece


def rest_of(peer):
    """All that comes until the server closes. A reset counts as closed."""
    got = b""
    try:
        while piece := peer.recv(65536):
            got += piece
    except ConnectionResetError:
        pass
    return got
