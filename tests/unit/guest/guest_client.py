"""Plays the warden for quern-guest: the real program, without a box."""

import array
import os
import pathlib
import socket
import struct
import subprocess
import threading
import time

import msgpack

BUILD = pathlib.Path(os.environ.get("QUERN_BUILD", "build/dev"))
PROGRAM = BUILD / "bin" / "quern-guest"
WAIT_S = 60


def send(channel, frame, fds=()):
    body = msgpack.packb({"v": 1, **frame}, use_bin_type=True)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
    channel.sendmsg([struct.pack(">I", len(body)), body], rights if fds else [])


def receive(channel, fds=None):
    """The next frame, None at the end; descriptors go to the list."""
    head = b""
    while len(head) < 4:
        data, rights, _flags, _address = channel.recvmsg(4 - len(head), 256)
        if not data:
            return None
        for _level, _type, packed in rights:
            got = array.array("i", packed)
            (fds.extend if fds is not None else (lambda x: None))(got)
        head += data
    (size,), body = struct.unpack(">I", head), b""
    while len(body) < size:
        body += channel.recv(size - len(body))
    return msgpack.unpackb(body, raw=False)


def wait_until(condition):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.005)


class Zygote:
    def __init__(self, *arguments):
        ours, theirs = socket.socketpair()
        ours.settimeout(WAIT_S)
        self.channel = ours
        launcher = "import os,sys; os.dup2(int(sys.argv[1]), 3); os.execv(sys.argv[2], sys.argv[2:])"
        self.process = subprocess.Popen(
            [
                "/usr/bin/python3",
                "-IS",
                "-c",
                launcher,
                str(theirs.fileno()),
                str(PROGRAM),
                *arguments,
            ],
            pass_fds=[theirs.fileno()],
            env={"SECRET": "of the warden", "PATH": "/bin"},
        )
        theirs.close()
        assert receive(self.channel)["type"] == "ready", "all is loaded"

    def open(self, folder, **limits):
        return Session(self, folder, limits)

    def close(self):
        self.channel.close()
        self.process.wait(WAIT_S)


class Session:
    def __init__(self, zygote, folder, limits):
        self.zygote, self.channel = zygote, None
        self.channel, theirs = socket.socketpair()
        self.channel.settimeout(WAIT_S)
        self.said = {"stdout": b"", "stderr": b"", "trace": b""}
        self.readers = []
        fds = [theirs.detach(), *map(self._pipe, self.said)]
        fds += [os.open(os.devnull, os.O_WRONLY) for _ in range(3)]  # no cgroups
        fds.append(os.open(folder, os.O_PATH | os.O_DIRECTORY))
        self.started = time.perf_counter()
        send(zygote.channel, {"type": "fork", "number": 7, "limits": limits}, fds)
        for fd in fds:
            os.close(fd)
        pidfds = []
        self.forked = receive(zygote.channel, pidfds)
        self.pidfd = pidfds[0]
        self.ready = receive(self.channel)
        self.ready_ms = (time.perf_counter() - self.started) * 1e3
        self.number = 0
        self.heard = []  # the types of what came of the cell

    def _pipe(self, name):
        read, write = os.pipe()

        def drain():
            with open(read, "rb", buffering=0) as pipe:
                while data := pipe.read(1 << 16):
                    self.said[name] += data

        self.readers.append(threading.Thread(target=drain, daemon=True))
        self.readers[-1].start()
        return write

    def hears(self, text, name="stdout"):
        """Waits until that is the last that the session has said."""
        wait_until(lambda: self.said[name].endswith(text))

    def start(self, code, **more):
        self.number += 1
        self.heard = []
        frame = {"type": "cell", "nonce": self.number + 1000, "number": self.number}
        send(self.channel, {**frame, "code": code, **more})

    def outcome(self):
        """(frame done, or None when the session died; displays)"""
        displays = []
        while frame := receive(self.channel):
            assert frame["nonce"] == self.number + 1000
            self.heard.append(frame["type"])
            if frame["type"] == "done":
                break
            if frame["type"] == "clear":
                send(self.channel, {**frame, "type": "answer"})
            if frame["type"] == "display":
                displays.append(frame["bundle"])
        return frame, displays

    def run(self, code):
        self.start(code)
        return self.outcome()

    def wait(self):
        """The wait status that the zygote tells."""
        frame = receive(self.zygote.channel)
        assert frame["type"] == "exited" and frame["pid"] == self.forked["pid"]
        for reader in self.readers:
            reader.join(WAIT_S)
        return frame.get("wait_status", 0)

    def close(self):
        self.channel.close()
        return self.wait()
