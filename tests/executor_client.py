"""A client of quern-executor with nothing of quern's in it: its own reading of
schemas/FRAMES.md.

    with Executor() as executor:
        session = executor.open("a")
        done = session.run("print(1)\\n2 + 2")
        assert (done.stdout, done.result) == ("1\\n", "4")
"""

import atexit
import itertools
import json
import os
import shutil
import socket
import struct
import tempfile
import time
from collections import defaultdict
from types import SimpleNamespace

import msgpack
from servers import Process, binary, wait_until


PATIENCE_S = 120  # longer than any cell of a test may run on a busy machine


def pack(frame):
    body = msgpack.packb({"v": 1, **frame}, use_bin_type=True)
    return struct.pack(">I", len(body)) + body


class Failed(Exception):
    """The executor did not carry out a request."""

    def __init__(self, error):
        super().__init__(error.get("message", ""))
        self.error = error


class Connection:
    """One connection; answers are sorted by the ref of their request."""

    def __init__(self, path, hello=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(PATIENCE_S)
        self.refs = itertools.count(1)
        self.bytes = b""
        self.waiting = defaultdict(list)
        if hello:
            self.welcome = self.ask(type="hello", version="test")

    def close(self):
        self.socket.close()

    def send(self, **frame):
        ref = frame.setdefault("ref", next(self.refs))
        self.socket.sendall(pack(frame))
        return ref

    def read(self):
        """The next frame, whoever it is for. EOFError: closed."""
        while True:
            if len(self.bytes) >= 4:
                (length,) = struct.unpack(">I", self.bytes[:4])
                if len(self.bytes) >= 4 + length:
                    body = self.bytes[4 : 4 + length]
                    self.bytes = self.bytes[4 + length :]
                    return msgpack.unpackb(body, raw=False)
            got = self.socket.recv(1 << 20)
            if not got:
                raise EOFError
            self.bytes += got

    def next(self, ref):
        """The next answer to ref."""
        while not self.waiting[ref]:
            frame = self.read()
            self.waiting[frame.get("ref", 0)].append(frame)
        return self.waiting[ref].pop(0)

    def answer(self, ref):
        """The next answer to ref, unless it failed."""
        frame = self.next(ref)
        if frame["type"] == "failed":
            raise Failed(frame["error"])
        return frame

    def ask(self, **frame):
        return self.answer(self.send(**frame))

    def open(self, name, **limits):
        limits = {"limits": limits} if limits else {}
        opened = self.ask(type="open", session=name, **limits)
        return Session(self, name, opened.get("fresh", False))


class Session:
    calls = itertools.count(1)

    def __init__(self, connection, name, fresh):
        self.connection = connection
        self.name = name
        self.fresh = fresh

    def start(self, code, call=None, **more):
        """Asks for a run; returns (ref, call)."""
        call = call or f"call-{next(self.calls)}"
        ref = self.connection.send(
            type="run", session=self.name, call=call, code=code, **more
        )
        return ref, call

    def reply(self, asked, value=None, error=None):
        """Answers a frame of type tool: by a value, or a sentence."""
        self.connection.send(
            type="answer",
            session=self.name,
            call=asked["call"],
            number=asked["number"],
            **(
                {"error": {"kind": "reject", "code": "tool_failed", "message": error}}
                if error
                else {"data": json.dumps(value).encode()}
            ),
        )

    def finish(self, ref, on_tool=None):
        """All that a run puts out, until it is done. on_tool(name, arguments)
        gives the values of what its code calls."""
        out = {"stdout": b"", "stderr": b""}
        ends = {}  # of more than is passed on: (offset, the last bytes)
        displays = []
        restarts = 0
        while True:
            frame = self.connection.answer(ref)
            if frame["type"] == "restart":  # what it put out is void
                out = {"stdout": b"", "stderr": b""}
                displays = []
                restarts += 1
            elif frame["type"] == "output":
                stream, at = frame["stream"], frame.get("offset", 0)
                if at > len(out[stream]):
                    ends[stream] = (at, frame["data"])
                else:
                    assert at == len(out[stream]), "it comes in its order"
                    out[stream] += frame.get("data", b"")
            elif frame["type"] == "display":
                displays.append(frame["bundle"])
            elif frame["type"] == "tool":
                arguments = json.loads(frame["data"])
                self.reply(frame, on_tool(frame["name"], arguments))
            elif frame["type"] == "done":
                break
        cell = frame.get("cell", {})
        return SimpleNamespace(
            status=cell.get("status", "ok"),
            state=cell.get("state", "kept"),
            reason=cell.get("reason", ""),
            result=cell.get("result", ""),
            error=cell.get("error", {}),
            ms=cell.get("ms", 0),
            peak_bytes=cell.get("peak_bytes", 0),
            stdout_bytes=cell.get("stdout_bytes", 0),
            stderr_bytes=cell.get("stderr_bytes", 0),
            picture=frame.get("picture", b""),
            stdout=out["stdout"].decode(errors="backslashreplace"),
            stderr=out["stderr"].decode(errors="backslashreplace"),
            raw=out,
            ends=ends,
            displays=displays,
            restarts=restarts,
            files={f["name"]: f.get("change", "same") for f in frame.get("files", [])},
            call=frame.get("call"),
        )

    def run(self, code, call=None, **more):
        return self.finish(self.start(code, call, **more)[0])

    def put(self, name, data, piece=256 << 10):
        ref = None
        for at in range(0, max(len(data), 1), piece):
            frame = {
                "type": "put",
                "session": self.name,
                "name": name,
                "data": data[at : at + piece],
                "offset": at,
                "last": at + piece >= len(data),
            }
            if ref is not None:
                frame["ref"] = ref
            ref = self.connection.send(**frame)
        return self.connection.answer(ref)

    def get(self, name):
        ref = self.connection.send(type="get", session=self.name, name=name)
        data = b""
        while True:
            frame = self.connection.answer(ref)
            assert frame.get("offset", 0) == len(data)
            data += frame.get("data", b"")
            if frame.get("last"):
                return data

    def list(self):
        files = self.connection.ask(type="list", session=self.name).get("files", [])
        return {f["name"]: f.get("bytes", 0) for f in files}

    def interrupt(self):
        return self.connection.ask(type="interrupt", session=self.name)

    def forget(self, call):
        return self.connection.ask(type="forget", session=self.name, call=call)

    def close(self):
        return self.connection.ask(type="close", session=self.name)


class Executor:
    """quern-executor in a temporary folder, with one connection. within: the
    words of a command that starts it."""

    def __init__(self, *flags, env=None, within=()):
        self.folder = tempfile.mkdtemp(prefix="quern-executor-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.path = os.path.join(self.folder, "socket")
        args = [*within, binary("quern-executor"), "--executor", self.path, *flags]
        self.flags, self.env = flags, env
        try:
            self.start(args)
        except BaseException:
            self.stop()
            raise

    def start(self, args):
        self.process = Process(args, env=self.env).start()
        self.process.wait_for("executor.ready", PATIENCE_S)
        self.connection = self.connect()

    def restart(self):
        """At the same path."""
        self.process.stop()
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.start(self.process.args)

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        if failed:
            print(self.process.text()[-10000:])  # what it said, for the report
        self.stop()

    def stop(self):
        code = self.process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        return code

    def connect(self, **options):
        return Connection(self.path, **options)

    def open(self, name, **limits):
        return self.connection.open(name, **limits)

    def close_all(self):
        """The sessions, whoever has opened them."""
        link = self.connect()
        for session in link.ask(type="sessions").get("sessions", []):
            link.ask(type="close", session=session["name"])
        wait_until(
            lambda: not link.ask(type="sessions").get("sessions"),
            what="no session is left",
        )
        link.close()


# An executor takes seconds to start, so one test after another has it. Those
# that no test has just now:
idle = []


def borrow(*flags):
    """An executor without sessions, of these flags."""
    for executor in idle:
        if executor.flags == flags:
            idle.remove(executor)
            return executor
    executor = Executor(*flags)
    atexit.register(executor.stop)
    return executor


def give_back(executor, failed=False):
    """Unless it was killed, or it is not known to be sound."""
    if failed or not executor.process.alive():
        executor.stop()
    else:
        executor.close_all()
        idle.append(executor)


def boxed_processes():
    """Pids of everything that runs in a box of quern's, on this machine."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/status") as status:
                levels = [s for s in status if s.startswith("NSpid:")]
            with open(f"/proc/{pid}/comm") as comm:
                ours = comm.read().strip() in ("quern-box", "quern-guest")
        except OSError:
            continue
        if ours or len(levels[0].split()) > 2:
            found.append(int(pid))
    return found


__all__ = [
    "Connection",
    "Executor",
    "Failed",
    "borrow",
    "boxed_processes",
    "give_back",
    "time",
    "wait_until",
]
