"""quern session against a real Redis and a stand-in consumer: what it asks for,
what it shows, and what it says when something is wrong."""

import hashlib
import json
import time

import msgpack
import pytest
from command import Terminal
from servers import wait_until
from standin import ROOT

pytestmark = pytest.mark.usefixtures("ends")

DAY_MS = 86400000


def keep(redis, name, tenant="default", **more):
    """Puts a session's record where consumers would."""
    now = int(time.time() * 1000)
    record = {
        "v": 1,
        "name": name,
        "tenant": tenant,
        "generation": 3,
        "cells": 2,
        "created_ms": now - 7200000,
        "updated_ms": now - 90000,
        **more,
    }
    key = f"{ROOT}session:{tenant}/{name}"
    redis.hset(key, mapping={"record": msgpack.packb(record), "generation": 3})
    if not record.get("closed"):
        redis.zadd(
            f"{ROOT}sessions", {f"{tenant}/{name}": record["updated_ms"] + DAY_MS}
        )
    return record


FILES = [
    {"name": "a.csv", "blob": hashlib.sha256(b"a").hexdigest(), "bytes": 2048},
    {"name": "big.bin", "bytes": 1 << 30, "note": "more than 64 MiB are not kept"},
]
LAB = {
    "holder": "host/1.2",
    "picture": hashlib.sha256(b"p").hexdigest(),
    "picture_bytes": 3072,
    "missing": {"conn": "a socket cannot be pickled"},
    "files": FILES,
    "packages": ["humanize==4.9.0"],
    "cells": 12,
}


# --- ls


def test_ls_shows_a_line_a_session_the_latest_first(quern, redis):
    keep(redis, "lab", **LAB)
    keep(redis, "older", tenant="acme", updated_ms=int(time.time() * 1000) - 3 * DAY_MS)
    head, first, second = quern("session", "ls").splitlines()
    assert head.split() == "NAME TENANT CELLS FILES SIZE AGE WHERE".split()
    assert first.split() == "lab default 12 2 5.0 KiB 1 min host/1.2".split()
    assert second.split() == "older acme 2 0 0 B 3 days -".split()
    (only,) = quern("session", "ls", "--tenant", "acme").splitlines()[1:]
    assert only.startswith("older")
    (only,) = quern("session", "ls", QUERN_TENANT="acme").splitlines()[1:]
    assert only.startswith("older")


def test_ls_as_json_gives_the_whole_records(quern, redis):
    lab = keep(redis, "lab", **LAB)
    other = keep(redis, "other")
    assert {line["name"]: line for line in quern.json("session", "ls")} == {
        "lab": lab,
        "other": other,
    }


def test_ls_of_nothing_is_no_error(quern, redis):
    out, err, code = quern.run("session", "ls")
    assert (out, err, code) == ("", "no sessions are kept\n", 0)
    assert quern.run("session", "ls", "--json") == ("", "", 0)


def test_ls_passes_over_what_has_just_gone(quern, redis):
    keep(redis, "lab")
    keep(redis, "gone")
    redis.delete(f"{ROOT}session:default/gone")
    assert [line["name"] for line in quern.json("session", "ls")] == ["lab"]


def test_a_record_that_cannot_be_read_does_not_hide_the_others(quern, redis):
    keep(redis, "lab")
    keep(redis, "torn")
    redis.hset(f"{ROOT}session:default/torn", "record", b"\xc1")
    out, err, code = quern.run("session", "ls")
    assert out.splitlines()[1].startswith("lab ") and code == 65
    assert "what is kept of a session" in err


def test_ls_of_many(quern, redis):
    for n in range(300):
        keep(redis, f"s-{n}")
    assert len(quern.json("session", "ls")) == 300


def test_ls_fits_the_terminal(quern, redis):
    keep(redis, "a-session-with-" + "a-very-long-name-" * 5, **LAB)
    with Terminal(quern, "session", "ls") as terminal:  # of 80 columns
        terminal.end()
        lines = terminal.said.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    assert len(lines) == 2 and max(map(len, lines)) <= 80, lines
    assert ".." in lines[1] and lines[1].endswith("host/1.2")


# --- show


def test_show_names_what_there_is_and_what_is_missing(quern, redis):
    lab = keep(redis, "lab", **LAB)
    said = quern("session", "show", "lab")
    for line in [
        "session    lab of tenant default",
        "where      host/1.2",
        "variables  3.0 KiB",
        "not saved  conn: a socket cannot be pickled",
        "packages   humanize==4.9.0",
        "files      2",
        "   2.0 KiB  a.csv",
        "1024.0 MiB  big.bin  more than 64 MiB are not kept",
    ]:
        assert line in said.splitlines(), said
    assert quern.json("session", "show", "lab") == [lab]


def test_show_says_what_the_next_cell_will_be_told(quern, redis):
    keep(redis, "lab", state="lost", note="its host is gone", unsaved="too large")
    said = quern("session", "show", "lab")
    assert "state      lost: its host is gone\n" in said
    assert "not saved  too large\n" in said
    keep(redis, "lab", state="restored", note="not saved: " + "name, " * 100)
    said = quern("session", "show", "lab")
    assert f"state      restored: not saved: {'name, ' * 100}\n" in said, "all of it"


def test_show_says_how_much_was_said(quern, redis):
    keep(redis, "lab", exchanges=2, history="0" * 64, history_bytes=2048)
    said = quern("session", "show", "lab")
    assert "said       2 questions and answers, 2.0 KiB\n" in said


def test_one_that_was_never_saved_is_as_old_as_it_is(quern, redis):
    keep(redis, "lab", updated_ms=0)
    assert "used       2 hours ago, 2 cells\n" in quern("session", "show", "lab")
    assert " 2 hours  -" in quern("session", "ls")


UNKNOWN = "there is no session lab of tenant {}: never used, closed, or expired\n"


def test_a_session_that_is_not_there(quern, redis):
    said = quern("session", "show", "lab", code=65)
    assert said == "quern session show: " + UNKNOWN.format("default")
    keep(redis, "lab", closed=True)
    assert UNKNOWN.format("default") in quern("session", "show", "lab", code=65)
    keep(redis, "lab", tenant="acme")
    assert UNKNOWN.format("default") in quern("session", "show", "lab", code=65)
    assert quern("session", "show", "lab", "--tenant", "acme")
    (error,) = [json.loads(quern("session", "show", "lab", "--json", code=65))]
    assert error["error"]["code"] == "unknown_session"


LABEL = "must be 1 to 128 bytes of UTF-8 without control characters"
NAMES = [
    ("a\nb", LABEL),
    ("", f'session is "", {LABEL}'),
    ("x" * 129, LABEL),
    ("\u00e9" * 65, LABEL),
    ("\x1b[2J", LABEL),
]


@pytest.mark.parametrize("name, said", NAMES)
def test_bad_names(name, said, quern, redis):
    assert said in quern("session", "show", name, code=65)


@pytest.mark.parametrize("verb", ["files {}", "put {} f", "fork lab {}", "close {}"])
@pytest.mark.parametrize("name", ["a\nb", "x" * 129])
def test_bad_names_of_jobs(verb, name, quern, redis):
    (quern.cwd / "f").write_text("f")
    words = [name if word == "{}" else word for word in verb.split()]
    said = quern("session", *words, code=65)
    assert " 128" in said
    assert not redis.exists(f"{ROOT}work:default:normal")


# --- what a job is asked for


def answers(quern, consumer, words, **result):
    """Runs the verb; gives the job that it made, and what it said."""
    child = quern.start("session", *words)
    job = consumer.take()
    job.finish(**result)
    out, err = child.communicate(timeout=30)
    return job.job, out, err, child.returncode


def test_files_lists_the_workspace(quern, consumer):
    job, out, _, code = answers(quern, consumer, ["files", "lab"], listing=FILES)
    assert (job["kind"], job["session"], job["action"]) == (
        "session",
        "lab",
        {"do": "files"},
    )
    assert code == 0 and out.splitlines()[0] == "   2.0 KiB  a.csv"
    listing = [*FILES, {"name": b"caf\xe9", "bytes": 3}]
    _, out, _, _ = answers(quern, consumer, ["files", "lab", "--json"], listing=listing)
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[0] == FILES[0]
    assert lines[2] == {"name": {"base64": "Y2Fm6Q=="}, "bytes": 3}


def test_every_option_reaches_the_job(quern, consumer):
    words = "close lab --tenant acme --deadline 7s".split()
    job, _, _, code = answers(quern, consumer, words)
    assert code == 0
    assert (job["tenant"], job["limits"]) == ("acme", {"deadline_ms": 7000})


def test_put_sends_the_files(quern, consumer, redis):
    (quern.cwd / "sub").mkdir()
    (quern.cwd / "sub/a.csv").write_text("1,2\n")
    words = ["put", "lab", "sub/a.csv", "--json"]
    job, out, _, code = answers(quern, consumer, words)
    sha = hashlib.sha256(b"1,2\n").hexdigest()
    assert job["files"] == [{"name": "a.csv", "blob": sha, "bytes": 4}]
    assert redis.get(f"{ROOT}blob:{sha}") == b"1,2\n"
    said = {"type": "put", "session": "lab", "path": "sub/a.csv"}
    assert code == 0 and json.loads(out) == said


BAD_FILES = [
    (["/none"], "file /none: No such file"),
    (["/"], '"" is not a file name'),
    (["big"], "a file may have 67108864 (64 MiB)"),
    (["f", "./f"], "files[1] has the name of files[0]"),
]


@pytest.mark.parametrize("files, why", BAD_FILES)
def test_files_that_cannot_be_put(files, why, quern, redis):
    (quern.cwd / "f").write_text("f")
    with open(quern.cwd / "big", "wb") as big:
        big.truncate((64 << 20) + 1)
    assert why in quern("session", "put", "lab", *files, code=65)
    assert not redis.exists(f"{ROOT}work:default:normal")


FORKS = [
    ("a\tb", f'NEW is "a?b", {LABEL}'),
    ("lab", "NEW is the session lab itself"),
]


@pytest.mark.parametrize("to, why", FORKS)
def test_forks_that_cannot_be(to, why, quern, redis):
    said = quern("session", "fork", "lab", to, code=65)
    assert said == f"quern session fork: {why}\n"
    assert not redis.exists(f"{ROOT}work:default:normal")


# --- get


def blob(redis, data):
    sha = hashlib.sha256(data).hexdigest()
    redis.set(f"{ROOT}blob:{sha}", data)
    return sha


def test_get_saves_under_out_and_prints_where(quern, consumer, redis):
    files = [{"name": "a.csv", "blob": blob(redis, b"1,2"), "bytes": 3}]
    words = ["get", "lab", "data/a.csv", "--out", "here"]
    job, out, _, code = answers(quern, consumer, words, files=files)
    assert job["action"] == {"do": "get", "names": ["data/a.csv"]}
    assert (out, code) == ("here/a.csv\n", 0)
    assert (quern.cwd / "here/a.csv").read_bytes() == b"1,2"
    (quern.cwd / "here/a.csv").write_text("mine")
    _, out, _, _ = answers(quern, consumer, words, files=files)
    assert out == "here/a~2.csv\n"
    assert (quern.cwd / "here/a.csv").read_text() == "mine"
    words = ["get", "lab", "a.csv", "--json"]
    _, out, _, _ = answers(quern, consumer, words, files=files)
    assert json.loads(out) == {
        "type": "saved",
        "path": "quern-out/a.csv",
        **files[0],
    }


@pytest.mark.parametrize("name", ["../a", "/etc/a", "..", "a\x1b[2J", b"\xff", "a\nb"])
def test_a_consumers_names_do_not_leave_the_folder(name, quern, consumer, redis):
    files = [{"name": name, "blob": blob(redis, b"1"), "bytes": 1}]
    words = ["get", "lab", "a", "--out", "here"]
    _, out, err, code = answers(quern, consumer, words, files=files)
    assert code == 65 and out == ""
    assert not (quern.cwd / "a").exists() and not (quern.cwd / "here").exists()


def test_a_path_may_be_any_bytes(quern, consumer):
    child = quern.start("session", "get", "lab", b"caf\xe9.csv")
    job = consumer.take()
    job.finish()
    child.communicate(timeout=30)
    assert job.job["action"]["names"] == [b"caf\xe9.csv"]


def test_fork_names_the_other_and_what_it_lacks(quern, consumer):
    record = {"name": "new", "tenant": "default", "generation": 1}
    record["missing"] = {"conn": "a socket"}
    words = ["fork", "lab", "new"]
    job, out, err, code = answers(quern, consumer, words, record=record)
    assert job["action"] == {"do": "fork", "to": "new"}
    assert (out, err, code) == ("", "not saved  conn: a socket\n", 0)
    _, out, _, _ = answers(quern, consumer, [*words, "--json"], record=record)
    assert json.loads(out) == {"v": 1, **record}


# --- when it does not work


FAILURES = [
    ("unknown_session", "reject", 65),
    ("unknown_file", "reject", 65),
    ("executor_unavailable", "retry", 75),
]


@pytest.mark.parametrize("code, kind, exit", FAILURES)
def test_what_a_job_fails_with_is_what_the_verb_says(code, kind, exit, quern, consumer):
    error = {"kind": kind, "code": code, "message": "it is not so"}
    error["retryable"] = kind == "retry"
    child = quern.start("session", "files", "lab")
    consumer.take().finish("failed", error=error)
    out, err = child.communicate(timeout=30)
    assert (out, err) == ("", "quern session files: it is not so\n")
    assert child.returncode == exit


def test_a_job_that_nobody_takes_is_taken_back(quern, redis):
    said = quern("session", "close", "lab", "--deadline", "100ms", code=75)
    assert said == (
        "quern session close: no consumer has taken the job for session lab in 100 ms: "
        "see quern doctor\n"
    )
    assert redis.xlen(f"{ROOT}work:default:normal") == 0


def test_a_session_that_is_busy_is_told_from_nobody(quern, consumer):
    child = quern.start("session", "files", "lab", "--deadline", "100ms")
    job = consumer.take()
    out, err = child.communicate(timeout=30)
    assert child.returncode == 75
    assert "session lab has not answered in 100 ms: it may be busy" in err
    job.finish("cancelled")


@pytest.mark.parametrize("state", ["completed", "cancelled"])
def test_what_was_done_at_the_last_moment_counts(state, quern, consumer, redis):
    child = quern.start("session", "files", "lab", "--deadline", "100ms")
    job = consumer.take()
    key = f"{ROOT}job:{job.id}"
    wait_until(lambda: redis.hget(key, "cancel"), what="that it is taken back")
    job.finish(state, listing=FILES)
    out, err = child.communicate(timeout=30)
    assert child.returncode == (0 if state == "completed" else 75), (out, err)
    assert ("a.csv" in out) == (state == "completed")
    assert ("has not answered" in err) == (state == "cancelled")


def test_a_deadline_is_told_in_the_same_words(quern, consumer):
    error = {"kind": "reject", "code": "deadline_exceeded", "message": "passed"}
    child = quern.start("session", "files", "lab", "--deadline", "2m")
    consumer.take().finish("failed", error=error)
    said = child.communicate(timeout=30)[1]
    assert child.returncode == 75
    assert "session lab has not answered in 2 min 0 s: it may be busy" in said


DONE = [
    ("files lab", "session lab has no files"),
    ("put lab f", "session lab has it"),
    ("put lab f g", "session lab has them"),
    ("close lab", "session lab is closed"),
    ("fork lab new", "session new begins as lab is"),
]


@pytest.mark.parametrize("words, said", DONE)
def test_a_person_is_told_that_it_was_done(words, said, quern, consumer):
    for name in "fg":
        (quern.cwd / name).write_text(name)
    with Terminal(quern, "session", *words.split()) as terminal:
        consumer.take().finish()
        assert terminal.end() == 0
    assert said in terminal.said


def test_a_person_is_told_what_is_waited_for(quern, consumer):
    with Terminal(quern, "session", "files", "lab") as terminal:
        job = consumer.take()
        terminal.wait_for(f"waiting for session lab (job {job.id})")
        job.finish(listing=FILES)
        assert terminal.end() == 0
    assert "a.csv" in terminal.said


@pytest.mark.parametrize("verb", ["ls", "show x", "files x", "close x", "fork x y"])
def test_no_redis_is_69(verb, quern):
    said = quern("session", *verb.split(), code=69, REDIS_URL="unix:///nowhere/r.sock")
    assert "/nowhere/r.sock" in said
