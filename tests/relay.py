"""A way to a server that a test has its hands on: a socket whose every connection is
carried on to the server, each direction by a thread.

A kind of Relay says what goes through: requests() and answers() are given both
ends and what the two of a connection share, and return when it is to break.
"""

import shutil
import socket
import tempfile
import threading

READ = 65536


def read(end):
    """b"": it is over."""
    try:
        return end.recv(READ)
    except OSError:
        return b""


def write(end, data):
    try:
        end.sendall(data)
        return True
    except OSError:
        return False


def hang_up(*ends):
    for end in ends:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other direction was first


class Relay:
    def __init__(self, server, shared):
        """server: a socket's path. shared: makes what both directions of a
        connection have in common."""
        self.server, self.shared = server, shared
        self.folder = tempfile.mkdtemp(prefix="quern-way-", dir="/tmp")
        self.listener = self.bind()
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        hang_up(self.listener)
        self.listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def bind(self):
        self.url = f"unix://{self.folder}/redis.sock"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{self.folder}/redis.sock")
        return listener

    def connect(self):
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.server)
        return server

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = self.connect()
            except OSError:
                client.close()
                continue
            ends = client, server, self.shared()
            for direction in (self.requests, self.answers):
                threading.Thread(
                    target=self.carry, args=(direction, *ends), daemon=True
                ).start()

    def carry(self, direction, client, server, shared):
        direction(client, server, shared)
        hang_up(client, server)
