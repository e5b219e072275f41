"""What is done with a session: forks, files, names."""

import time

import msgpack
import pytest
from hosts import record
from stack import job_id


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


def test_a_fork_of_a_fork(pair, name):
    a, b = pair
    a.cell("x = [1]\nopen('f', 'w').write('1');", session=name)
    a.act("fork", session=name, to=f"{name}-2")
    a.act("fork", session=f"{name}-2", to=f"{name}-3")
    a.cell("x.append(2)", session=f"{name}-2")
    a.act("close", session=name)
    cell = b.cell("x, open('f').read()", session=f"{name}-3")
    assert cell["result"] == "([1], '1')" and cell["state"] == "restored"
    assert record(a.stack, f"{name}-3")["cells"] == 2


def test_a_fork_that_is_asked_for_while_a_cell_runs_is_of_what_it_leaves(pair, name):
    a, b = pair
    slow = a.submit("import time\ntime.sleep(1)\nx = 1", session=name)
    a.stack.wait_event(slow, "tool.started")
    fork = b.act("fork", session=name, to=f"{name}-2")
    assert fork["status"] == "completed", fork
    assert b.cell("x", session=f"{name}-2")["result"] == "1"


LONGEST = "s" * 128


# what a session is called, by whom; and another that is not the same one
ALIKE = [
    ("the longest name", (LONGEST, "default"), (LONGEST[1:], "default")),
    ("the longest tenant", ("s", LONGEST), ("s", LONGEST[1:])),
    ("a tenant that ends as a name begins", ("b", "a-"), ("-b", "a")),
    ("dots", ("...", "a.."), ("a..", "...")),
    ("another case", ("lab", "default"), ("LAB", "default")),
    ("the default tenant", ("own", "default"), ("own", "Default")),
]


@pytest.mark.parametrize("what, one, other", ALIKE, ids=[r[0] for r in ALIKE])
def test_names_at_their_bounds_are_of_one_session_each(pair, what, one, other):
    a, _ = pair

    def cell(code, who):
        return a.cell(code, session=who[0], tenant=who[1])

    cell("x = 1\nopen('f', 'w').write('1');", one)
    cell("x = 2", other)
    assert cell("x, open('f').read()", one)["result"] == "(1, '1')"
    assert cell("import os\nx, os.listdir()", other)["result"] == "(2, [])"


@pytest.mark.parametrize("bad", ["s" * 129, "é" * 65, "a\n", "\x7f", "a\0", "\x85"], ids=ascii)
def test_names_out_of_bounds_are_refused(pair, bad):
    a, _ = pair
    body = {"v": 1, "kind": "code", "cells": ["1"], "session": bad}
    id = job_id()
    bytes = msgpack.packb({**body, "id": id})
    a.stack.submit(bytes, id=id, queue=a.name)
    error = a.stack.result(id)["error"]
    assert error["code"] in ("bad_field", "too_large") and "session" in error["message"]


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
