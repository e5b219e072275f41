"""Cells that call tools and are begun anew for a package: through a consumer, with
a server here that counts what it is asked."""

import json
import os
import signal
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import QUIET
from servers import wait_until
from stack import Stack
from wheels import wheel

PARAMETERS = {"type": "object", "properties": {"what": {"type": "string"}}}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        what = json.loads(body)["what"]
        self.server.seen[what] += 1
        if what == "slow":
            self.server.let_go.wait(30)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def web():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.seen, server.let_go = Counter(), threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.let_go.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def stack(web, scratch, monkeypatch):
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    wheel(scratch / "wheels", "quern_needed", {"quern_needed.py": "n = 2\n"})
    order = {
        "url": f"http://127.0.0.1:{web.server_port}/orders",
        "method": "POST",
        "parameters": PARAMETERS,
    }
    catalog = scratch / "tools.json"
    catalog.write_text(
        json.dumps({"order": order, "slow": {**order, "repeat": True}})
    )
    store = scratch / "store"
    store.mkdir(exist_ok=True)
    store.chmod(0o777)
    with Stack(executor=False, tools=catalog) as stack:
        stack.flags = ("--profile", "bare", "--packages", str(scratch / "wheels"))
        stack.flags += ("--packages-store", os.path.join(store, "packages"))
        stack.start_executor(*stack.flags)
        yield stack


ORDERS = """
a = order('one')['what']
import quern_needed
b = order('two')['what']
"""


def test_no_order_is_made_twice(stack, web):
    stack.consumer()
    result = stack.run(kind="code", cells=[ORDERS + "a, b"])
    cell = result["cells"][0]
    assert (cell.get("result"), cell["state"]) == ("('one', 'two')", "kept"), cell
    assert web.seen == {"one": 1, "two": 1}


def test_nor_when_the_session_is_restored(stack, web):
    """The cell runs again elsewhere, and is begun anew there as well."""
    stack.consumer()
    job = stack.submit(kind="code", cells=[ORDERS, "slow('slow')\na, b"])
    wait_until(lambda: web.seen["slow"] == 1, 60, "it is asked")
    stack.executor.signal(signal.SIGKILL)
    stack.executor.wait()
    stack.start_executor(*stack.flags)
    web.let_go.set()
    cell = stack.result(job, 60)["cells"][1]
    assert (cell.get("result"), cell["state"]) == ("('one', 'two')", "restored"), cell
    assert (web.seen["one"], web.seen["two"]) == (1, 1)


def test_an_order_that_is_on_its_way_is_waited_for(stack, web):
    """The cell is begun anew while a thread of it waits for the answer."""
    code = (
        "import sys, threading, time\n"
        "print('begun')\n"
        "sys.setswitchinterval(100)\n"
        "begun, got = [], []\n"
        "def first():\n"
        "    begun.append(1)\n"
        "    got.append(slow('slow'))\n"
        "thread = threading.Thread(target=first)\n"
        "thread.start()\n"
        "while not begun: time.sleep(0.01)\n"
        "import quern_needed\n"
        "thread.join()\n"
        "got"
    )
    stack.consumer()
    job = stack.submit(kind="code", cells=[code])
    wait_until(
        lambda: stack.types(job).count("tool.started") == 3, 60, "it is begun anew"
    )
    web.let_go.set()
    cell = stack.result(job, 60)["cells"][0]
    assert cell.get("result") == "[{'what': 'slow'}]", cell
    assert web.seen["slow"] == 1
