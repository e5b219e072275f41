"""A stand-in for quern-executor that greets and answers `numbers`, and nothing else."""

import os
import shutil
import socket
import struct
import tempfile
import threading

import msgpack
from executor_client import pack
from servers import wait_until


class Warden:
    """numbers: what it answers to FRAME_NUMBERS. None: it is as old as to not know
    that frame, and closes the connection. heard: the types of frames that came."""

    def __init__(self, numbers=None):
        self.numbers = numbers
        self.heard = []
        self.connections = 0
        self.folder = tempfile.mkdtemp(prefix="quern-warden-", dir="/tmp")
        self.path = os.path.join(self.folder, "executor.sock")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=[client], daemon=True).start()

    def serve(self, client):
        with client, client.makefile("rb") as stream:
            while head := stream.read(4):
                frame = msgpack.unpackb(stream.read(*struct.unpack(">I", head)))
                self.heard.append(frame["type"])
                answer = self.answer(frame["type"])
                if answer is None:
                    return
                client.sendall(pack({**answer, "ref": frame.get("ref", 0)}))

    def answer(self, type):
        if type == "hello":
            counts = {"counts": True} if self.numbers is not None else {}
            return {"type": "welcome", "isolation": "none", "version": "test", **counts}
        if type == "numbers" and self.numbers is not None:
            return {"type": "numbers", "data": self.numbers.encode()}
        if type == "numbers":
            return None
        return {"type": "ok"}

    def wait_for(self, type):
        wait_until(lambda: type in self.heard, what=f"a frame {type}")
