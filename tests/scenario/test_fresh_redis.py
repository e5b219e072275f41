"""A Redis that nobody has used: the first who comes brings the functions."""

import json
import re
from pathlib import Path

import msgpack
import pytest

from command import Command
from library import job_id
from servers import SOURCE, RedisServer, wait_until

ID = job_id(1)

# what, and with which exit code it ends where there is nothing yet
VERBS = [
    ("submit x", 0),
    (f"get {ID}", 65),
    (f"wait {ID}", 65),
    (f"watch {ID}", 65),
    (f"cancel {ID}", 65),
    (f"approve {ID}", None),
    (f"retry {ID}", None),
    ("job ls", 0),
    (f"job show {ID}", 65),
    ("job rm --older 1d", 0),
    ("tenant ls", 0),
    ("check", 0),
    ("session ls", 0),
    ("session show s", None),
    ("queue ls", 0),
    ("queue stats", 0),
    ("queue set default max_depth=5", 0),
    ("queue pause default", 0),
    ("queue purge default --yes", None),
    ("dead ls", 0),
    ("worker ls", 0),
    ("worker drain w", None),
    ("endpoint ls", 0),
    ("metrics", 0),
    ("schedule ls", 0),
    ("schedule rm s", None),
    ("schedule add s @daily x", None),
    ("schedule show s", 65),
    ("schedule pause s", 65),
    ("schedule run s", 65),
    ("worker resume w", 65),
    ("queue resume default", None),
    ("queue history default", None),
    ("dead show " + ID, 65),
    ("dead requeue " + ID, 65),
    ("dead rm --yes " + ID, 65),
    ("schedule resume s", 65),
    (f"replay {ID}", None),
    ("session files s --deadline 100ms", None),
    ("session put s file --deadline 100ms", None),
    ("session get s file --deadline 100ms", None),
    ("session close s --deadline 100ms", None),
    ("session fork s t --deadline 100ms", None),
    ("hook ls", 0),
    ("hook add https://r.example/x", 0),
    ("hook rotate hook_0123456789abcdef", 65),
    ("hook test hook_0123456789abcdef", 65),
    ("hook enable hook_0123456789abcdef", 65),
    ("hook rm --yes hook_0123456789abcdef", 65),
    ("key ls", 0),
    ("key add", 0),
    ("key rotate key_0", 65),
    ("key rm --yes key_0", 65),
]
FOLLOWS = ("run x", "exec file")  # until the job ends
LOADS_NOTHING = ("probe", "doctor", "completion", "help")


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        yield server


@pytest.fixture
def fresh(server):
    client = server.client()
    client.flushall()
    client.function_flush()
    return client


def submit_plainly(redis):
    """As the README's clients do, with no more than Redis and MessagePack."""
    job = msgpack.packb({"v": 1, "id": ID, "prompt": "x"})
    return redis.execute_command(
        "FCALL", "quern_v1_submit", 1, "quern:{000}:", "id", ID, "job", job
    )


def test_no_verb_is_left_out():
    source = Path(SOURCE, "producer", "cli", "verb_table.c").read_text()
    names = set(re.findall(r'\.name = "([a-z ]+)"', source)) - {*LOADS_NOTHING}
    asked = [words for words, _ in VERBS] + [*FOLLOWS]
    assert not {name for name in names if not any(w.startswith(name) for w in asked)}


@pytest.mark.parametrize("words", FOLLOWS)
def test_who_follows_brings_the_functions(fresh, server, tmp_path, words):
    (tmp_path / "file").write_text("1")
    child = Command(server.url, tmp_path).start(*words.split())
    wait_until(lambda: fresh.function_list() != [], what="the functions")
    child.terminate()
    child.communicate(timeout=30)


@pytest.mark.parametrize("words, code", VERBS, ids=[words for words, _ in VERBS])
def test_any_verb_brings_the_functions(fresh, server, tmp_path, words, code):
    with pytest.raises(Exception, match="Function not found"):
        submit_plainly(fresh)
    (tmp_path / "file").write_text("1")
    out, err, returned = Command(server.url, tmp_path).run(*words.split())
    assert "Function not found" not in out + err
    assert code in (None, returned), (out, err, returned)
    assert submit_plainly(fresh)[1] in (b"created", b"exists")


def test_who_may_not_load_them_can_still_read(fresh, server, tmp_path):
    fresh.acl_setuser(
        "reader", enabled=True, passwords=["+pw"], keys="*", commands=["+@read", "+@connection"]
    )
    quern = Command(f"unix://reader:pw@{server.socket}", tmp_path)
    assert quern.run("get", ID)[2] == 65


def test_doctor_looks_at_a_fresh_server_and_leaves_it_as_it_is(fresh, server, tmp_path):
    quern = Command(server.url, tmp_path)
    lines = quern.run("doctor", "--json")[0].splitlines()
    found = {row["check"]: row for row in map(json.loads, lines)}
    assert found["library"]["level"] == "note", found["library"]
    assert "loads it" in found["library"]["text"]
    assert {"redis", "consumers"} <= set(found)
    assert "Function not found" not in str(found)
    assert fresh.function_list() == []
    # what it tried to write expires within a second
    wait_until(lambda: fresh.dbsize() == 0, what="an empty server")
