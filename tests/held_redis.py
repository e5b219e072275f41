"""A way to Redis that can be slow: answers wait until a test lets them go.

with HeldRedis(server.socket) as way:
    ... REDIS_URL=way.url ...
    way.hold(b"quern_v1_journal")   # answers on that connection wait
    way.held.wait(10)
    way.lose(b"quern_v1_release")   # this request is lost on the way, once
    way.let_go()
"""

import os
import shutil
import socket
import tempfile
import threading


class HeldRedis:
    def __init__(self, socket_path):
        self.server = socket_path
        self.folder = tempfile.mkdtemp(prefix="quern-way-", dir="/tmp")
        self.url = f"unix://{self.folder}/redis.sock"
        self.marker = self.lost_marker = None
        self.dropping = False
        self.held = threading.Event()
        self.lost = threading.Event()
        self.open = threading.Event()
        self.open.set()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.folder}/redis.sock")
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.let_go()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def hold(self, marker):
        """From the next request with these bytes on, on its connection."""
        self.dropping = False
        self.held.clear()
        self.open.clear()
        self.marker = marker

    def drop(self):
        """The answers that wait are lost, and their connection with them."""
        self.dropping = True
        self.let_go()

    def let_go(self):
        self.marker = None
        self.open.set()

    def lose(self, marker):
        """The connection breaks before the next such request gets through."""
        self.lost_marker = marker

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.server)
            except OSError:
                client.close()
                continue
            held = threading.Event()
            for pump in (self.requests, self.answers):
                threading.Thread(
                    target=pump, args=(client, server, held), daemon=True
                ).start()

    def requests(self, client, server, held):
        while data := self.read(client):
            if self.lost_marker and self.lost_marker in data:
                self.lost_marker = None
                self.lost.set()
                break
            if self.marker and self.marker in data:
                held.set()
                self.held.set()
            if not self.write(server, data):
                break
        self.hang_up(client, server)

    def answers(self, client, server, held):
        while data := self.read(server):
            if held.is_set():
                self.open.wait()
                held.clear()
                if self.dropping:
                    break
            if not self.write(client, data):
                break
        self.hang_up(client, server)

    @staticmethod
    def read(end):
        try:
            return end.recv(65536)
        except OSError:
            return b""

    @staticmethod
    def write(end, data):
        try:
            end.sendall(data)
            return True
        except OSError:
            return False

    @staticmethod
    def hang_up(*ends):
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the other direction was first
