"""Sessions that outlive their jobs and their host: two hosts, one Redis."""

import contextlib
import time

import msgpack
import pytest
from executor_client import Executor
from held_redis import HeldRedis
from servers import wait_until
from stack import ROOT, Stack, call_of


class Host:
    """An executor and a consumer, which serves a queue of its own."""

    def __init__(self, stack, name, **settings):
        self.stack, self.name, self.settings = stack, name, settings
        self.executor = Executor()
        self.consumer = self.start()

    def start(self, **settings):
        given = {"queues": self.name, **self.settings, **settings}
        return self.stack.consumer(executor=self.executor.path, **given)

    def submit(self, *cells, session="s", **job):
        if cells:
            job = {"kind": "code", "cells": list(cells), **job}
        return self.stack.submit(queue=self.name, session=session, **job)

    def run(self, *cells, timeout=30, **job):
        return self.stack.result(self.submit(*cells, **job), timeout)

    def cell(self, code, **job):
        """One that ends well."""
        result = self.run(code, **job)
        assert result["status"] == "completed", result
        return result["cells"][0]

    def act(self, do, session="s", files=(), **action):
        return self.run(
            kind="session",
            session=session,
            action={"do": do, **action},
            **({"files": files} if files else {}),
        )

    def kill(self):
        """As the machine's end would."""
        self.consumer.kill()
        self.executor.process.kill()


@contextlib.contextmanager
def hosts(*names, **settings):
    with Stack(executor=False) as stack:
        made = []
        try:
            for name in names:
                made.append(Host(stack, name, **settings))
            yield made
        finally:
            for host in made:
                host.executor.stop()


@pytest.fixture(scope="module")
def pair():
    with hosts("a", "b") as made:
        yield made


@pytest.fixture
def name(request):
    """A session of the test's own."""
    return f"s-{abs(hash(request.node.name))}"


def record(stack, session, tenant="default"):
    found = stack.db.hget(f"{ROOT}session:{tenant}/{session}", "record")
    return found and msgpack.unpackb(found)


# ------------------------------------------------------------- another host


def test_it_goes_on_where_its_host_was_lost():
    with hosts("a", "b") as (a, b):
        a.run(
            "import pandas\nx = 41\nt = pandas.DataFrame({'n': [1, 2]})",
            "def plus(n): return x + n",
            "import os\nos.makedirs('d')\nopen('d/é.csv', 'w').write('1,2')",
            "log = open('log', 'w')\ncounts = (n for n in range(3))",
        )
        a.kill()
        result = b.run("plus(1), int(t.n.sum()), open('d/é.csv').read()", "log")
        first, second = result["cells"]
        assert first["result"] == "(42, 3, '1,2')"
        assert first["state"] == "restored"
        assert "log (" in first["reason"] and "counts (" in first["reason"]
        assert second["error"]["name"] == "NameError"
        assert second["state"] == "kept", "it is told once"


def test_one_that_stayed_behind_never_answers(pair, name):
    a, b = pair
    a.cell("x = 'of a'", session=name)
    assert b.cell("x", session=name)["result"] == "'of a'"
    b.cell("x = 'of b'\nopen('f', 'w').write(x)", session=name)
    cell = a.cell("x, open('f').read()", session=name)
    assert cell["result"] == "('of b', 'of b')" and cell["state"] == "restored"
    assert a.cell("x", session=name)["state"] == "kept"
    assert b.cell("x", session=name)["state"] == "restored"


def test_one_that_is_over_never_answers(pair, name):
    """Closed by a host that has never had it."""
    a, b = pair
    a.cell("x = 1", session=name)
    assert b.act("close", session=name)["status"] == "completed"
    listed = a.stack.db.zrange(f"{ROOT}sessions", 0, -1)
    assert f"default/{name}".encode() not in listed
    assert b.act("show", session=name)["error"]["code"] == "unknown_session"
    cell = a.run("x", session=name)["cells"][0]
    assert cell["error"]["name"] == "NameError" and cell["state"] == "kept"


def test_a_file_that_was_deleted_stays_away(pair, name):
    a, b = pair
    a.cell("open('old', 'w').write('1');", session=name)
    b.cell("import os\nos.remove('old')\nopen('new', 'w').write('2')", session=name)
    cell = a.cell("sorted(os.listdir())", session=name)
    assert cell["result"] == "['new']"


def test_files_whose_names_are_bytes(pair, name):
    a, b = pair
    a.cell("import os\nopen(b'caf\\xe9 \\n', 'w').write('x')", session=name)
    assert b.cell("os.listdir(b'.')", session=name)["result"] == "[b'caf\\xe9 \\n']"


def test_a_jobs_own_files_come_after_those_that_were_saved(pair, name):
    a, b = pair
    a.cell("open('f', 'w').write('old');", session=name)
    file = a.stack.file("f", b"new")
    cell = b.cell("open('f').read()", session=name, files=[file])
    assert cell["result"] == "'new'"


def test_tenants_have_their_own(pair, name):
    a, b = pair
    a.cell("x = 1", session=name, tenant="one")
    result = b.run("x", session=name, tenant="two")
    assert result["cells"][0]["error"]["name"] == "NameError"
    assert b.cell("x", session=name, tenant="one")["result"] == "1"


def test_the_model_is_told(name):
    code = ["x", "x + 1"]
    script = {
        "replies": [
            {"tool_calls": [call_of(code[0])]},
            {"tool_calls": [call_of(code[1], "c2")]},
            {"content": "done"},
        ]
    }
    with hosts("a", "b") as (a, b):
        a.cell("x = 41\ng = (1 for _ in [1])", session=name)
        a.kill()
        job = b.stack.submit(queue="b", session=name, prompt="```python\nx\n```")
        result = b.stack.result(job)
        told = [m["content"] for m in result["messages"] if m["role"] == "tool"]
        assert told and "The session was restored" in told[0], script
        assert "not saved: g (" in told[0] and "41" in told[0]


# -------------------------------------------------------- what was not saved


def test_what_no_host_has_and_nobody_saved_is_lost_and_said_so():
    with hosts("a", "b", save_sessions="off") as (a, b):
        a.cell("x = 1")
        assert a.cell("x")["state"] == "kept"
        result = b.run("x")
        cell = result["cells"][0]
        assert cell["error"]["name"] == "NameError"
        assert cell["state"] == "lost" and "not saved" in cell["reason"]


def test_files_beyond_the_bound_are_named():
    with hosts("a", "b", session_bytes=1000) as (a, b):
        a.cell("x = 1\nopen('big', 'w').write('x' * 2000);")
        saved = record(a.stack, "s")["files"]
        assert [f["name"] for f in saved if "too large" in f["note"]] == ["big"]
        cell = b.cell("import os\nx, os.listdir()")
        assert cell["result"] == "(1, [])"
        assert "big" in cell["reason"] and "too large" in cell["reason"]


def test_a_picture_that_cannot_be_made_costs_the_job_nothing(pair, name):
    """It ends well; what is lost is told where it is lost."""
    a, b = pair
    code = "class C:\n    def __reduce__(self):\n        import os; os._exit(1)\nc = C()"
    assert a.run(code, "x = 1", session=name)["status"] == "completed"
    assert "crashed" in record(a.stack, name)["unsaved"]
    assert a.cell("x", session=name)["state"] == "kept"
    cell = b.run("x", session=name)["cells"][0]
    assert cell["state"] == "lost" and "not saved" in cell["reason"]


def test_a_blob_that_somebody_deleted_is_named(pair, name):
    a, b = pair
    a.cell("x = 1\nopen('f', 'w').write('1');", session=name)
    saved = record(a.stack, name)
    for sha256 in (saved["picture"], saved["files"][0]["blob"]):
        a.stack.db.delete(f"{ROOT}blob:{sha256}")
    cell = b.run("x", session=name)["cells"][0]
    assert cell["state"] == "lost"
    assert "the file f is gone" in cell["reason"], cell
    assert "variables is gone" in cell["reason"]
    assert b.cell("y = 1", session=name)["state"] == "kept"


def test_what_expired_is_gone():
    with hosts("a", "b", session_ttl_ms=1000) as (a, b):
        a.cell("x = 1")
        wait_until(lambda: not a.stack.db.exists(f"{ROOT}session:default/s"), 5)
        cell = b.run("x")["cells"][0]
        assert cell["error"]["name"] == "NameError" and cell["state"] == "kept"


# ----------------------------------------------------------------- one by one


def test_jobs_of_a_session_take_turns_across_hosts(pair, name):
    a, b = pair
    slow = a.submit("import time\ntime.sleep(1)\nx = 1", session=name)
    a.stack.wait_event(slow, "tool.started")
    cell = b.cell("x", session=name)
    assert cell["result"] == "1" and a.stack.state(slow) == "completed"


def test_one_that_waits_can_be_cancelled(pair, name):
    a, b = pair
    slow = a.submit("import time\ntime.sleep(30)", session=name)
    a.stack.wait_event(slow, "tool.started")
    job = b.submit("1", session=name)
    wait_until(lambda: a.stack.db.exists(f"{ROOT}line:default/{name}"), 10)
    a.stack.call("cancel", job)
    assert a.stack.result(job)["status"] == "cancelled"
    a.stack.call("cancel", slow)
    assert a.stack.result(slow)["status"] == "cancelled"


def test_a_cancelled_job_leaves_what_it_did(pair, name):
    a, b = pair
    job = a.submit("x = 1", "import time\ntime.sleep(30)", session=name)
    wait_until(lambda: a.stack.types(job).count("tool.started") == 2, 10)
    a.stack.call("cancel", job)
    assert a.stack.result(job)["status"] == "cancelled"
    assert b.cell("x", session=name)["result"] == "1"


# --------------------------------------------------------------------- deaths


def lines(host, session):
    return host.cell("open('log').read()", session=session)["result"]


ONCE = "n = globals().get('n', 0) + 1\nopen('log', 'a').write(f'{n};')"


def test_killed_after_the_save_it_is_not_saved_twice():
    """The job is another host's then, and has only to end."""
    with hosts("a", "b", lease_ms=600) as (a, b):
        a.cell(ONCE)
        with HeldRedis(a.stack.redis.socket) as way:
            a.consumer.kill()
            a.consumer = a.start(redis_url=way.url)
            other = b.start(queues="a")  # takes over what is a's
            other.signal(19)
            job = a.submit(ONCE)
            a.stack.wait_event(job, "job.started")
            way.hold(b"quern_v1_session_save")
            assert way.held.wait(10)
            wait_until(lambda: record(a.stack, "s")["cells"] == 2, 10)
            a.kill()
            other.signal(18)
        assert a.stack.result(job)["status"] == "completed"
        assert record(a.stack, "s")["cells"] == 2
        assert lines(b, "s") == "'1;2;'"


def test_killed_before_the_save_the_next_one_makes_it():
    """And runs the job's cells again there, on top of what was saved."""
    with hosts("a", "b", lease_ms=600) as (a, b):
        a.cell(ONCE)
        with HeldRedis(a.stack.redis.socket) as way:
            a.consumer.kill()
            a.consumer = a.start(redis_url=way.url)
            way.lose(b"quern_v1_session_save")
            job = a.submit(ONCE)
            assert way.lost.wait(10)
            a.kill()
            b.start(queues="a")
            assert a.stack.result(job)["status"] == "completed"
        assert record(a.stack, "s")["cells"] == 2
        assert lines(b, "s") == "'1;2;'"


def test_a_save_that_was_lost_on_the_way_is_made_again():
    with hosts("a") as (a,):
        with HeldRedis(a.stack.redis.socket) as way:
            a.consumer.kill()
            a.consumer = a.start(redis_url=way.url)
            way.lose(b"quern_v1_session_save")
            a.cell(ONCE)
            assert way.lost.is_set()
        assert record(a.stack, "s")["cells"] == 1


def test_its_executor_dies_in_a_later_job_of_it():
    """What was saved, then the job's own cells, then the one that ran."""
    with hosts("a", away_ms=20000) as (a,):
        a.cell(ONCE)
        job = a.submit(ONCE, "import time\ntime.sleep(1)\nn")
        wait_until(lambda: a.stack.types(job).count("tool.started") == 2, 10)
        a.executor.process.kill()
        a.executor.process.start()
        cell = a.stack.result(job)["cells"][1]
        assert cell["result"] == "2" and cell["state"] == "restored"
        assert lines(a, "s") == "'1;2;'"


def test_a_consumer_dies_and_its_executor_does_not(name):
    """Nothing is made again: another consumer of the host goes on."""
    with hosts("a", lease_ms=600) as (a,):
        a.cell("x = object()\nfirst = id(x)", session=name)
        job = a.submit("import time\ntime.sleep(1)", "id(x) == first", session=name)
        a.stack.wait_event(job, "tool.started")
        a.consumer.kill()
        a.start()
        result = a.stack.result(job)
        assert [c["state"] for c in result["cells"]] == ["kept", "kept"]
        assert result["cells"][1]["result"] == "True"


def test_it_is_killed_half_made_again():
    """What is under its name then is not the session, though it has run."""
    with hosts("a", "b", lease_ms=600) as (a, b):
        a.cell("x = 1\nopen('f', 'w').write('1');")
        with HeldRedis(a.stack.redis.socket) as way:
            b.consumer.kill()
            b.consumer = b.start(redis_url=way.url)
            way.lose(b"quern_v1_session_save")  # which says that b has it
            job = b.submit("x, open('f').read()")
            assert way.lost.wait(10)
            b.consumer.kill()
        b.start()
        cell = b.stack.result(job)["cells"][0]
        assert cell["result"] == "(1, '1')" and cell["state"] == "restored"


# ------------------------------------------------------------------- actions


def test_a_fork_begins_as_the_other_is_and_goes_its_own_way(pair, name):
    a, b = pair
    a.cell("x = [1]\nopen('f', 'w').write('1')\ng = (1 for _ in x)", session=name)
    fork = a.act("fork", session=name, to=f"{name}-2")["record"]
    assert fork["name"] == f"{name}-2" and "holder" not in fork
    cell = a.cell("x.append(2)\nx, open('f').read()", session=f"{name}-2")
    assert cell["result"] == "([1, 2], '1')" and "g (" in cell["reason"]
    assert a.cell("x", session=name)["result"] == "[1]"
    assert a.act("close", session=name)["status"] == "completed"
    assert b.cell("x", session=f"{name}-2")["result"] == "[1, 2]"


def test_files_go_in_and_come_out(pair, name):
    a, b = pair
    file = a.stack.file("in.csv", b"1,2")
    assert a.act("put", session=name, files=[file])["status"] == "completed"
    code = "import os\nos.makedirs('d')\nopen('d/out', 'w').write(open('in.csv').read())"
    b.cell(code, session=name)
    listing = a.act("files", session=name)["listing"]
    assert {f["name"]: f["bytes"] for f in listing} == {"in.csv": 3, "d/out": 3}
    (got,) = a.act("get", session=name, names=["d/out"])["files"]
    assert got["name"] == "d_out" and a.stack.bytes_of(got) == b"1,2"


def test_what_was_put_is_there_for_the_next_host(pair, name):
    a, b = pair
    a.act("put", session=name, files=[a.stack.file("f", b"1")])
    assert b.cell("open('f').read()", session=name)["result"] == "'1'"


def test_names_that_are_alike_stay_apart(pair, name):
    a, _ = pair
    code = "import os\nos.makedirs('d')\nopen('d/f', 'w').write('1')\nopen('d_f', 'w').write('2')"
    a.cell(code, session=name)
    files = a.act("get", session=name, names=["d/f", "d_f"])["files"]
    assert [f["name"] for f in files] == ["d_f", "2_d_f"]
    assert [a.stack.bytes_of(f) for f in files] == [b"1", b"2"]


def test_what_is_known_is_shown(pair, name):
    a, _ = pair
    a.run("x = 1", "g = (1 for _ in [1])", session=name)
    shown = a.act("show", session=name)["record"]
    assert shown["cells"] == 2 and set(shown["missing"]) == {"g"}
    assert shown["updated_ms"] <= time.time() * 1000


# what is done, with what; the error's code, a word of its sentence
REFUSED = [
    ({"do": "show"}, "unknown", "unknown_session", "expired"),
    ({"do": "files"}, "unknown", "unknown_session", "expired"),
    ({"do": "get", "names": ["f"]}, "unknown", "unknown_session", "expired"),
    ({"do": "close"}, "unknown", "unknown_session", "expired"),
    ({"do": "fork", "to": "new"}, "unknown", "unknown_session", "expired"),
    ({"do": "get", "names": ["nope"]}, "known", "unknown_file", "nope"),
    ({"do": "get", "names": ["../f"]}, "known", "unknown_file", "../f"),
    ({"do": "fork", "to": "known-2"}, "known", "session_exists", "known-2"),
    ({"do": "get"}, "known", "missing_field", "names"),
    ({"do": "sing"}, "known", "bad_field", "sing"),
]


@pytest.mark.parametrize("action, session, code, word", REFUSED, ids=str)
def test_refused(pair, action, session, code, word):
    a, _ = pair
    for known in ("known", "known-2"):
        a.cell("1", session=known)
    result = a.run(kind="session", session=session, action=action)
    assert result["status"] == "failed"
    assert result["error"]["code"] == code and word in result["error"]["message"]
