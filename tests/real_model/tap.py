"""tap.py - a way to a web server on which every byte is kept, both ways.

    with Tap(port) as tap:
        ... http://127.0.0.1:PORT instead is tap.url ...
        for exchange in tap.take(): exchange.body

Bytes go on as they came, in the same pieces.
"""

import http.client
import io
import itertools
import json
import socket
import threading

from relay import Relay, read, write


class Exchange:
    """A request, the how manieth it was, and as much of its answer as there was."""

    def __init__(self, number, request, answer):
        self.number, self.request = number, request
        self.status, self.headers = answer.status, dict(answer.getheaders())
        try:
            self.body, self.whole = answer.read().decode(), True
        except http.client.IncompleteRead as cut:
            self.body, self.whole = cut.partial.decode(), False


class Bytes(io.BytesIO):
    """As a socket, of which one answer after the other is read."""

    def makefile(self, _):
        return self

    def close(self):
        pass


class Connection:
    """What went through one, each way; numbers: of its requests."""

    def __init__(self):
        self.asked, self.told = bytearray(), bytearray()
        self.numbers, self.taken = [], 0

    def requests(self):
        rest = bytes(self.asked)
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            length = http.client.parse_headers(
                io.BytesIO(head.partition(b"\r\n")[2] + b"\r\n\r\n")
            )["Content-Length"]
            body, rest = rest[: int(length)], rest[int(length) :]
            # Who is turned away at the door has not said it all.
            yield json.loads(body) if len(body) == int(length) else None

    def exchanges(self):
        told = Bytes(self.told)
        for number, request in zip(self.numbers, self.requests()):
            answer = http.client.HTTPResponse(told)
            try:
                answer.begin()
            except http.client.HTTPException:
                return  # there was none
            yield Exchange(number, request, answer)


class Tap(Relay):
    def __init__(self, port):
        self.connections, self.numbers = [], itertools.count()
        self.marker, self.act, self.acted = None, None, threading.Event()
        super().__init__(port, self.open)

    def bind(self):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % listener.getsockname()[1]
        return listener

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.server))

    def open(self):
        self.connections.append(Connection())
        return self.connections[-1]

    def at(self, marker, act):
        """act() once, when these bytes have come from the server, before they
        are passed on."""
        self.acted.clear()
        self.act, self.marker = act, marker

    def take(self):
        """The exchanges that began since it was asked last, in their order; none
        may be under way."""
        new = []
        for connection in self.connections:
            found = list(connection.exchanges())
            new += found[connection.taken :]
            connection.taken = len(found)
        return sorted(new, key=lambda exchange: exchange.number)

    def requests(self, client, server, connection):
        while data := read(client):
            if data.startswith(b"POST "):
                connection.numbers.append(next(self.numbers))
            connection.asked += data
            if not write(server, data):
                break

    def answers(self, client, server, connection):
        while data := read(server):
            connection.told += data
            if self.marker and self.marker in data:
                self.marker = None
                self.act()
                self.acted.set()
            if not write(client, data):
                break
