"""Cells that call tools and are begun anew for a package: through a consumer, with
a server here that counts what it is asked."""

import json
import os
import signal
from collections import Counter

import pytest
from conftest import QUIET
from servers import wait_until
from stack import Stack
from web import Web
from wheels import wheel

PARAMETERS = {"type": "object", "properties": {"what": {"type": "string"}}}


class Orders(Web):
    def answer(self, asked):
        if b"behind" in asked.body:
            wait_until(lambda: self.seen["/slow"], 60, "the other is on its way")
        return super().answer(asked)


@pytest.fixture
def web():
    with Orders() as web:
        yield web


def made(web):
    """What was ordered, and how often."""
    bodies = [asked.body for asked in web.asked if asked.path == "/orders"]
    return Counter(json.loads(body)["what"] for body in bodies)


@pytest.fixture
def stack(web, scratch, monkeypatch):
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    wheel(scratch / "wheels", "quern_needed", {"quern_needed.py": "n = 2\n"})
    order = {
        "url": f"{web.url}/orders",
        "method": "POST",
        "parameters": PARAMETERS,
    }
    slow = {**order, "url": f"{web.url}/slow", "repeat": True}
    catalog = scratch / "tools.json"
    catalog.write_text(json.dumps({"order": order, "slow": slow}))
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
    assert made(web) == {"one": 1, "two": 1}


def test_nor_when_the_session_is_restored(stack, web):
    """The cell runs again elsewhere, and is begun anew there as well."""
    stack.consumer()
    job = stack.submit(kind="code", cells=[ORDERS, "slow('slow')\na, b"])
    wait_until(lambda: web.seen["/slow"] == 1, 60, "it is asked")
    stack.executor.signal(signal.SIGKILL)
    stack.executor.wait()
    stack.start_executor(*stack.flags)
    web.let_go.set()
    cell = stack.result(job, 60)["cells"][1]
    assert (cell.get("result"), cell["state"]) == ("('one', 'two')", "restored"), cell
    assert made(web) == {"one": 1, "two": 1}


ON_ITS_WAY = """
import threading
got = []
def first():
    got.append(slow('slow'))
thread = threading.Thread(target=first)
thread.start()
order('behind')
import quern_needed
order('after')
thread.join()
got
"""


def test_an_order_that_is_on_its_way_is_waited_for(stack, web):
    """The cell is begun anew while a thread of it waits for the answer."""
    stack.consumer()
    job = stack.submit(kind="code", cells=[ON_ITS_WAY])
    wait_until(lambda: made(web)["after"] == 1, 60, "it has been begun anew")
    web.let_go.set()
    cell = stack.result(job, 60)["cells"][0]
    assert cell.get("result") == "[{'what': 'slow'}]", cell
    assert web.seen["/slow"] == 1
