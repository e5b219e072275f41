"""A client of TLS that a test can watch and break: a socket's functions, with
TLS in memory between. The handshake comes with the first byte.

Certificates are made by openssl.
"""

import atexit
import functools
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile


class Truncated(ConnectionResetError):
    """The server closed without the end of TLS: to be taken for a reset."""


class Certificate:
    """A key and a certificate for 127.0.0.1 that it signs itself."""

    def __init__(self, folder, name="server"):
        self.path = folder / f"{name}.pem"
        self.key = folder / f"{name}.key"
        command = "openssl req -x509 -nodes -days 2 -newkey ec -pkeyopt".split()
        command += ["ec_paramgen_curve:P-256", "-subj", f"/CN={name}"]
        command += ["-addext", "subjectAltName=IP:127.0.0.1"]
        command += ["-keyout", self.key, "-out", self.path]
        subprocess.run(command, check=True, capture_output=True)
        self.context = ssl.create_default_context(cafile=self.path)


@functools.cache
def certificate_of_all():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="quern-"))
    atexit.register(shutil.rmtree, folder)
    return Certificate(folder)


class TlsPeer:
    def __init__(self, raw, certificate, context=None, session=None):
        self.raw = raw
        self.sealed = ssl.MemoryBIO()  # from the server
        self.out = ssl.MemoryBIO()
        context = context or certificate.context
        self.tls = context.wrap_bio(
            self.sealed, self.out, server_hostname="127.0.0.1", session=session
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.raw.close()

    def __getattr__(self, name):
        if name in ("close", "fileno", "settimeout", "setblocking"):
            return getattr(self.raw, name)
        raise AttributeError(name)

    def flush(self):
        if self.out.pending:
            self.raw.sendall(self.out.read())

    def fill(self):
        piece = self.raw.recv(65536)
        if not piece:
            raise Truncated
        self.sealed.write(piece)

    def do(self, function, *args):
        """Repeats it until TLS has the bytes that it needs."""
        while True:
            try:
                result = function(*args)
                self.flush()
                return result
            except ssl.SSLWantReadError:
                self.flush()
                self.fill()

    def handshake(self):
        if self.tls.version() is None:
            self.do(self.tls.do_handshake)

    def sendall(self, data):
        self.handshake()
        if data:
            self.do(self.tls.write, data)

    def recv(self, size):
        """All that is there, at least one byte; b"" at the end of TLS."""
        self.handshake()
        got = self.do(self.read, size)
        try:
            while got and len(got) < size and (piece := self.read(size - len(got))):
                got += piece
        except ssl.SSLWantReadError:
            pass
        return got

    def read(self, size):
        try:
            return self.tls.read(size)
        except ssl.SSLZeroReturnError:  # we have ended it, too
            return b""

    def shutdown(self, how):
        """The end of TLS; the socket itself stays open."""
        assert how == socket.SHUT_WR
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass
        self.flush()
