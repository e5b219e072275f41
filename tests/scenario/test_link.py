"""The link between consumer and executor breaks in the midst of a cell: what
comes again comes once, and what is too much to keep meanwhile is told."""

import os
import select
import socket
import threading

import pytest
from executor_client import Connection
from servers import wait_until
from stack import Stack

MARK = b"the link breaks here"


class Link(threading.Thread):
    """A way to the executor that breaks when MARK has come, nobody having heard
    what follows; there is none then until it is mended."""

    def __init__(self, path, executor):
        super().__init__(daemon=True)
        self.path, self.executor = path, executor
        self.ended, self.broken = threading.Event(), threading.Event()
        self.mended = threading.Event()
        self.start()

    def run(self):
        self.serve(MARK)
        self.broken.set()
        self.mended.wait()
        while not self.ended.is_set():
            self.serve(None)

    def serve(self, mark):
        """One connection, to its end."""
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(self.path)
            server.listen()
            while not select.select([server], [], [], 0.1)[0]:
                if self.ended.is_set():
                    return
            consumer = server.accept()[0]
            os.unlink(self.path)
        with consumer, socket.socket(socket.AF_UNIX) as executor:
            executor.connect(self.executor)
            seen = b""
            while not self.ended.is_set():
                for one in select.select([consumer, executor], [], [], 0.1)[0]:
                    data = one.recv(1 << 16)
                    if not data:
                        return
                    (consumer if one is executor else executor).sendall(data)
                    if one is executor:
                        seen = (seen + data)[-len(data) - len(MARK) :]
                    if mark and mark in seen:
                        return

    def end(self):
        self.ended.set()
        self.mended.set()
        self.join()
        if os.path.exists(self.path):
            os.unlink(self.path)


@pytest.fixture
def stack():
    with Stack() as stack:
        path = os.path.join(stack.folder, "link")
        stack.link = Link(path, stack.socket)
        stack.consumer(executor=path)
        yield stack
        stack.link.end()


def cells_of(stack, *cells):
    """What comes of them when nobody listens from the mark to the end."""
    job = stack.submit(kind="code", cells=list(cells), session="s")
    assert stack.link.broken.wait(60)
    executor = Connection(stack.socket)

    def idle():
        [session] = executor.ask(type="sessions")["sessions"]
        return session["state"] == "idle"

    wait_until(idle, 60)
    stack.link.mended.set()
    return stack.result(job)["cells"]


SHOW = """class Large:
    def __init__(self, n): self.n = n
    def _repr_mimebundle_(self, **_):
        return {"text/plain": str(self.n), "text/csv": str(self.n) * (7 << 20)}
"""


def test_what_nobody_heard_comes_when_the_link_is_there_again(stack):
    code = f"print({MARK.decode()!r}, flush=True)\nprint('more')\ndisplay(1)\n2"
    [cell] = cells_of(stack, code)
    assert cell["stdout"] == f"{MARK.decode()}\nmore\n"
    assert [display["text"] for display in cell["displays"]] == ["1"]
    assert cell["result"] == "2" and "notes" not in cell


def test_a_cell_goes_on_when_the_link_is_there_again_while_it_runs(stack):
    code = f"import time\nprint({MARK.decode()!r}, flush=True)\ntime.sleep(3)\n2"
    job = stack.submit(kind="code", cells=[code], session="s")
    assert stack.link.broken.wait(60)
    stack.link.mended.set()
    [cell] = stack.result(job)["cells"]
    assert (cell["status"], cell["state"]) == ("ok", "kept"), cell
    assert cell["result"] == "2"


def test_what_was_too_much_to_keep_is_told(stack):
    """24 MiB of a session are kept: three of seven, and of the streams a part."""
    code = f"""{SHOW}
print({MARK.decode()!r}, flush=True)
for n in range(1, 6): display(Large(n))
print('x' * (4 << 20), flush=True)
"""
    [cell] = cells_of(stack, code)
    assert [display["text"] for display in cell["displays"]] == ["1", "2", "3"]
    displays, stdout = cell["notes"].splitlines()
    assert displays.startswith("[displays: 2 of 5 are lost: the link")
    all = len(MARK) + (4 << 20) + 2
    assert stdout.startswith(f"[stdout: of its {all} bytes the first ")
    assert cell["stdout_bytes"] == all


def test_what_was_heard_before_it_was_too_much_is_not_lost(stack):
    code = f"""{SHOW}
for n in range(1, 6): display(Large(n))
display({MARK.decode()!r}, 6)
"""
    [cell] = cells_of(stack, code)
    texts = [display["text"] for display in cell["displays"]]
    assert texts == ["1", "2", "3", "4", "5", repr(MARK.decode()), "6"]
    assert "notes" not in cell
