"""A cell that the executor runs again from its beginning: what came is void."""

import os
import socket
import struct
import threading

import msgpack
import pytest
from stack import Stack


class StandIn(threading.Thread):
    """An executor that begins each cell anew, once."""

    def __init__(self, path):
        super().__init__(daemon=True)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(path)
        self.server.listen()
        self.start()

    def read(self, size):
        data = b""
        while len(data) < size:
            piece = self.peer.recv(size - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def send(self, ref, **frame):
        body = msgpack.packb({"v": 1, "ref": ref, **frame})
        self.peer.sendall(struct.pack(">I", len(body)) + body)

    def run(self):
        try:
            self.peer, _ = self.server.accept()
            while True:
                (size,) = struct.unpack(">I", self.read(4))
                frame = msgpack.unpackb(self.read(size))
                self.answer(frame["type"], frame.get("ref", 0))
        except (OSError, EOFError):
            pass

    def answer(self, type, ref):
        if type == "hello":
            self.send(ref, type="welcome", isolation="none", version="0")
        elif type == "open":
            self.send(ref, type="opened", fresh=True)
        elif type == "run":
            self.send(ref, type="output", stream="stdout", data=b"void")
            self.send(ref, type="display", bundle={"text/plain": b"void"})
            self.send(ref, type="restart")
            self.send(ref, type="output", stream="stdout", data=b"good")
            self.send(ref, type="done", cell={"status": "ok", "state": "kept"})
        else:
            self.send(ref, type="ok")


@pytest.fixture
def stack():
    with Stack(executor=False) as stack:
        stand_in = StandIn(stack.socket)
        stack.consumer(executor=stack.socket)
        yield stack
        stand_in.server.close()


def test_followers_are_told_and_the_result_holds_the_second_run(stack):
    job = stack.submit(kind="code", cells=["1"])
    [cell] = stack.result(job)["cells"]
    assert cell["stdout"] == "good" and cell["stdout_bytes"] == 4
    assert "displays" not in cell
    shown = ("tool.started", "tool.output", "display", "tool.completed")
    events = [e for e in stack.check_events(job) if e["type"] in shown]
    assert [(e["type"], e["data"].get("text")) for e in events] == [
        ("tool.started", None),
        ("tool.output", "void"),
        ("display", None),
        ("tool.started", None),
        ("tool.output", "good"),
        ("tool.completed", None),
    ]
    assert events[0]["data"] == events[3]["data"], "the same call"
