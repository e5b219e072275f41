"""A way to Redis that can be slow: answers wait until a test lets them go.

with HeldRedis(server.socket) as way:
    ... REDIS_URL=way.url ...
    way.hold(b"quern_v1_spend")   # answers on that connection wait
    way.held.wait(PATIENCE_S)
    way.lose(b"quern_v1_release")   # this request is lost on the way, once;
                                    # for_good=True: whenever it is sent
    way.let_go()
"""

import threading

from relay import Relay, read, write


class HeldRedis(Relay):
    def __init__(self, socket_path):
        self.marker = self.lost_marker = None
        self.for_good = False
        self.dropping = False
        self.held = threading.Event()
        self.lost = threading.Event()
        self.open = threading.Event()
        self.open.set()
        super().__init__(socket_path, shared=threading.Event)

    def __exit__(self, *_):
        self.let_go()
        super().__exit__()

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

    def lose(self, marker, for_good=False):
        """The connection breaks before the next such request gets through;
        for_good: before each of them."""
        self.for_good = for_good
        self.lost_marker = marker

    def requests(self, client, server, held):
        while data := read(client):
            if self.lost_marker and self.lost_marker in data:
                if not self.for_good:
                    self.lost_marker = None
                self.lost.set()
                break
            if self.marker and self.marker in data:
                held.set()
                self.held.set()
            if not write(server, data):
                break

    def answers(self, client, server, held):
        while data := read(server):
            if held.is_set():
                self.open.wait()
                held.clear()
                if self.dropping:
                    break
            if not write(client, data):
                break
