"""Jobs that cannot be carried out: each ends, says why, disturbs nobody."""

import msgpack
import pytest
from command import Command
from servers import wait_until
from stack import ROOT, Stack, job_id


@pytest.fixture(scope="module")
def stack():
    with Stack(executor=False) as stack:
        stack.consumer()
        yield stack


def packed(**job):
    """A body for the id, which is a placeholder of the right length."""
    return lambda id: msgpack.packb({"v": 1, "id": id, **job})


FILE = {"name": "a.csv", "blob": "0" * 64, "bytes": 3}

BAD = [
    ("no MessagePack", lambda id: b"\xc1", "bad_message", "byte"),
    ("nothing but a number", lambda id: b"\x05", "bad_message", ""),
    (
        "five bytes that ask for gigabytes",
        lambda id: b"\xdd\x10\0\0\0",
        "bad_message",
        "",
    ),
    ("a cut body", lambda id: packed(prompt="x")(id)[:-1], "bad_message", ""),
    ("two values", lambda id: packed(prompt="x")(id) + b"\xc0", "bad_message", ""),
    (
        "version 2",
        lambda id: msgpack.packb({"v": 2, "id": id, "prompt": "x"}),
        "unsupported_version",
        "2",
    ),
    (
        "no version",
        lambda id: msgpack.packb({"id": id, "prompt": "x"}),
        "unsupported_version",
        "",
    ),
    ("no id", lambda id: msgpack.packb({"v": 1, "prompt": "x"}), "missing_field", "id"),
    ("another job's id", lambda id: packed(prompt="x")(job_id()), "id_mismatch", ""),
    ("neither prompt nor messages", packed(), "missing_field", "prompt"),
    (
        "both of them",
        packed(prompt="x", messages=[{"role": "user", "content": "x"}]),
        "bad_field",
        "",
    ),
    ("messages that are text", packed(messages="hello"), "bad_field", "messages"),
    (
        "a message without a role",
        packed(messages=[{"content": "x"}]),
        "missing_field",
        "role",
    ),
    ("a prompt that is a number", packed(prompt=7), "bad_field", "prompt"),
    (
        "a prompt that is too large",
        packed(prompt="x" * (200 << 10)),
        "too_large",
        "prompt",
    ),
    ("an unknown kind", packed(kind="dance", prompt="x"), "bad_field", "kind"),
    ("a mode that is none", packed(mode="dance", prompt="x"), "bad_field", "mode"),
    ("code without cells", packed(kind="code"), "missing_field", "cells"),
    (
        "a model that is not configured",
        packed(prompt="x", model="nobody"),
        "unknown_model",
        "nobody",
    ),
    (
        "a tool that is not there",
        packed(prompt="x", tools=["fly"]),
        "unknown_tool",
        "fly",
    ),
    (
        "a file without its blob",
        packed(prompt="x", files=[FILE]),
        "missing_blob",
        "a.csv",
    ),
    (
        "a file name that is a path",
        packed(prompt="x", files=[{**FILE, "name": "../a"}]),
        "bad_field",
        "files[0].name",
    ),
    (
        "a blob that is no hash",
        packed(prompt="x", files=[{**FILE, "blob": "no"}]),
        "",
        "files[0].blob",
    ),
    (
        "two files of one name",
        packed(prompt="x", files=[FILE, FILE]),
        "bad_field",
        "files[1]",
    ),
    ("too many turns", packed(prompt="x", limits={"max_turns": 1000}), "", "max_turns"),
]


@pytest.mark.parametrize("what,body,code,says", BAD, ids=[row[0] for row in BAD])
def test_bad_job(stack, what, body, code, says):
    id = job_id()
    sent = body(id)
    stack.submit(body=sent, id=id)
    result = stack.result(id)
    assert result["status"] == "failed" and result["id"] == id
    error = result["error"]
    assert code in ("", error["code"]), error
    assert error["kind"] == "reject" and says in error["message"], error
    assert stack.facts(id)["error_code"] == error["code"]
    assert stack.db.get(f"{ROOT}body:{id}") == sent, "kept as they came"
    assert stack.db.zscore(f"{ROOT}dead:default", id)
    assert stack.check_events(id)[-1]["data"]["error"]["code"] == error["code"]
    assert stack.is_quiet()


@pytest.mark.parametrize(
    "wrong", [{"output_schema": {"type": "strange"}}, {"model": 5}, {"prompt": 7}, {"prompt": "", "promt": "x"}]
)
@pytest.mark.parametrize("more", [{}, {"sesion": "s"}], ids=["", "unknown"])
def test_a_replay_of_one_ends_the_same(stack, tmp_path, wrong, more):
    job = {"prompt": "x", "metadata": {"ticket": "T-7"}, **wrong, **more}
    result = stack.run(**job)
    assert result["status"] == "failed" and result["metadata"] == job["metadata"]
    out, err, code = Command(stack.redis.url, tmp_path).run("replay", result["id"])
    assert (code, err) == (0, ""), out


def test_entries_that_are_no_jobs(stack):
    stream = f"{ROOT}work:default:normal"
    for fields in ({"id": "x"}, {"id": job_id()}, {b"\xff": b"\xfe"}):
        stack.db.xadd(stream, fields)
    assert stack.run(prompt="after them")["status"] == "completed"
    assert stack.is_quiet()


def another_type(db, key):
    db.delete(key)
    db.sadd(key, "x")


def noise(db, key):
    db.rpush(key, "x")


def noise_in(db, key):
    """Of a job whose facts say that it has one."""
    noise(db, key)
    db.hset(key.replace("journal:", "job:"), "journal", 1)


# What somebody may do to a job's keys, and the job's state in the end. None:
# nobody can say any more whose entry it was; it is kept under its own name.
BROKEN = [
    ("facts of another type", "job", another_type, None),
    ("facts without a state", "job", lambda db, key: db.hdel(key, "state"), None),
    ("no number", "job", lambda db, key: db.hset(key, "epoch", "x"), "completed"),
    ("numbered anew", "job", lambda db, key: db.hset(key, "seq", 0), "completed"),
    ("events of another type", "events", another_type, "completed"),
    ("a journal of another type", "journal", another_type, "completed"),
    ("noise before its journal", "journal", noise, "completed"),
    ("noise in its journal", "journal", noise_in, "failed"),
    ("no body", "body", lambda db, key: db.delete(key), "failed"),
    ("a body of another type", "body", another_type, "failed"),
]


def test_broken_keys_are_in_nobodys_way():
    """All of them were claimed by a consumer that died, and a good one last."""
    with Stack(executor=False, lease="400ms", max_crashes=1) as stack:
        jobs = {}
        for what, key, damage, _ in BROKEN:
            jobs[what] = stack.submit(prompt="x")
            damage(stack.db, f"{ROOT}{key}:{jobs[what]}")
        good = stack.submit(prompt="behind them")
        stream = f"{ROOT}work:default:normal"
        read = stack.db.xreadgroup("consumers", "dead", {stream: ">"}, count=100)
        assert len(read[0][1]) == len(BROKEN) + 1
        stack.consumer()
        assert stack.result(good)["status"] == "completed"
        wait_until(stack.is_quiet, what="every entry is out of the way")
        for what, key, _, state in BROKEN:
            if state is not None:
                assert stack.state(jobs[what]) == state, what
        unknown = sum(row[3] is None for row in BROKEN)
        buried = stack.db.zrange(f"{ROOT}dead:default", 0, -1)
        assert sum(id.startswith(b"entry-") for id in buried) == unknown


def test_after_all_of_them_it_still_works(stack):
    result = stack.run(prompt="hello")
    assert result["status"] == "completed"
    assert result["answer"] == "You said: hello"
    assert len(stack.consumers) == 1 and stack.consumers[0].alive()
