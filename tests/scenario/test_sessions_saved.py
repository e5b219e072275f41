"""What of a session could not be saved, or is not what was saved: told, all of
it, and worth no job."""

import msgpack
import pytest
from hosts import hosts, record
from servers import wait_until
from stack import ROOT


def test_what_no_host_has_and_nobody_saved_is_lost_and_said_so():
    with hosts("a", "b", save_sessions="off") as (a, b):
        a.cell("x = 1")
        assert a.cell("x")["state"] == "kept"
        result = b.run("x")
        cell = result["cells"][0]
        assert cell["error"]["name"] == "NameError"
        assert cell["state"] == "lost" and "not saved" in cell["reason"]
        assert "files (this consumer saves none)" in cell["reason"]


def test_files_beyond_the_bound_are_named():
    with hosts("a", "b", session_size="1000B") as (a, b):
        a.cell("x = 1\nopen('big', 'w').write('x' * 2000);")
        saved = record(a.stack, "s")["files"]
        assert [f["name"] for f in saved if "too large" in f["note"]] == ["big"]
        cell = b.cell("import os\nx, os.listdir()")
        assert cell["result"] == "(1, [])"
        assert "big" in cell["reason"] and "too large" in cell["reason"]


def test_a_picture_that_cannot_be_made_costs_the_job_nothing(pair, name):
    """It ends well; what is lost is told where it is lost."""
    a, b = pair
    code = (
        "class C:\n    def __reduce__(self):\n        import os; os._exit(1)\nc = C()"
    )
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
    assert "what was saved of them is gone" in cell["reason"]
    assert b.cell("y = 1", session=name)["state"] == "kept"


def test_what_expired_is_gone():
    with hosts("a", "b", session_ttl="1s") as (a, b):
        a.cell("x = 1")
        wait_until(lambda: not a.stack.db.exists(f"{ROOT}session:default/s"))
        cell = b.run("x")["cells"][0]
        assert cell["error"]["name"] == "NameError" and cell["state"] == "kept"


def test_what_expired_is_not_what_its_host_has_still():
    """Nobody knows any more whether that is the latest of it."""
    with hosts("a", session_ttl="1s") as (a,):
        a.cell("x = 1\nopen('f', 'w').write('1');")
        wait_until(lambda: not a.stack.db.exists(f"{ROOT}session:default/s"))
        result = a.run("import os\nos.listdir()", "x")
        first, second = result["cells"]
        assert first["result"] == "[]" and first["state"] == "kept"
        assert second["error"]["name"] == "NameError"


def test_what_could_not_be_saved_is_named_however_much_it_is(pair, name):
    a, b = pair
    names = [f"g{number}" for number in range(30)]
    code = "\n".join(f"{g} = (1 for _ in [1])" for g in names)
    a.cell(code + "\nfs = [open(f'f{n}', 'w') for n in range(9)]", session=name)
    assert set(record(a.stack, name)["missing"]) == {*names, "fs"}
    cell = b.cell("sorted(set(globals()) & {'g0', 'g29', 'fs'})", session=name)
    assert cell["result"] == "[]"
    told = cell["reason"].split("not saved: ")[1].split(";")[0].split(", ")
    assert {*told} == {*names, "fs"}


def test_only_what_is_too_large_stays_behind(pair, name):
    a, b = pair
    code = "import os\nsmall, large = os.urandom(1 << 20), os.urandom(99 << 20)"
    a.cell(code, session=name)
    cell = b.cell("len(small), 'large' in globals()", session=name)
    assert cell["result"] == f"({1 << 20}, False)"
    assert cell["state"] == "restored"
    assert "not saved: large (too " in cell["reason"], "much, or slow where all is"
    assert " for a picture: 103,809," in cell["reason"]


def test_of_another_pythons_picture_code_stays_behind_and_that_is_said(pair, name):
    a, b = pair
    code = "x = 1\ndef f(): return x\nopen('f', 'w').write('1');"
    a.cell(code, session=name)
    hash = f"{ROOT}session:default/{name}"
    saved = record(a.stack, name)
    picture = a.stack.db.get(f"{ROOT}blob:{saved['picture']}")
    other = picture.replace(b"Python 3.", b"Python 2.", 1)
    saved["picture"] = a.stack.blob(other)
    a.stack.db.hset(hash, "record", msgpack.packb(saved))
    first, second = b.run("x, open('f').read()", "f", session=name)["cells"]
    assert first["result"] == "(1, '1')" and first["state"] == "restored"
    assert "not brought back: f (code of Python 2." in first["reason"]
    assert second["error"]["name"] == "NameError"


def test_what_is_no_picture_is_lost_with_what_was_installed(pair, name):
    a, b = pair
    a.cell("x = 1\nopen('f', 'w').write('1');", session=name)
    saved = record(a.stack, name)
    saved["picture"] = a.stack.blob(b"quern picture 0, Python 3.11\n")
    saved["packages"] = ["humanize==4.9.0"]
    hash = f"{ROOT}session:default/{name}"
    a.stack.db.hset(hash, "record", msgpack.packb(saved))
    first, second = b.run("open('f').read()", "x", session=name)["cells"]
    assert first["result"] == "'1'" and first["state"] == "lost"
    assert '"quern picture 0, Python 3.11" begins no picture' in first["reason"]
    assert second["error"]["name"] == "NameError"
    assert "packages to install again: humanize==4.9.0" in first["reason"]


# what stands in Redis instead of the picture
FORGED = [
    ("nothing", lambda was: b""),
    ("half of it", lambda was: was[: len(was) // 2]),
    ("noise", lambda was: b"\xff" * 4096),
    ("noise behind a true head", lambda was: was[:40] + b"\xff" * 4096),
    ("one bit turned", lambda was: was[:-9] + bytes([was[-9] ^ 1]) + was[-8:]),
    ("more than a picture holds", lambda was: was + b"\0" * (17 << 20)),
]


@pytest.mark.parametrize("what, forge", FORGED, ids=[r[0] for r in FORGED])
def test_a_forged_picture_costs_the_variables_and_no_more(pair, name, what, forge):
    a, b = pair
    a.cell("x = 1\nopen('f', 'w').write('1');", session=name)
    key = f"{ROOT}blob:{record(a.stack, name)['picture']}"
    a.stack.db.set(key, forge(a.stack.db.get(key)), keepttl=True)
    cell = b.cell("open('f').read(), 'x' in globals()", session=name)
    assert cell["result"] == "('1', False)" and cell["state"] == "lost"
    assert "variables" in cell["reason"], cell
    assert b.cell("y = 1\ny", session=name)["state"] == "kept"


@pytest.mark.parametrize("bytes", [b"\xc1", b"\x81\xa1v\x01", b"\x80" * 99], ids=str)
def test_a_record_that_is_none_fails_the_job_and_not_the_consumer(pair, name, bytes):
    a, _ = pair
    a.cell("x = 1", session=name)
    hash = f"{ROOT}session:default/{name}"
    a.stack.db.hset(hash, "record", bytes)
    result = a.run("x", session=name)
    assert result["status"] == "failed"
    assert "what is kept of the session: " in result["error"]["message"]
    a.stack.db.delete(hash)
    assert a.cell("1", session=name)["result"] == "1"


def test_a_blob_that_somebody_deleted_is_saved_again(pair, name):
    """Its host has the file still."""
    a, b = pair
    a.cell("x = 1\nopen('f', 'w').write('1');", session=name)
    a.stack.db.delete(f"{ROOT}blob:{record(a.stack, name)['files'][0]['blob']}")
    result = a.run("x", session=name)
    assert "not saved" not in result.get("notes", ""), result
    assert b.cell("x, open('f').read()", session=name)["result"] == "(1, '1')"


def test_one_that_was_idle_for_too_long_is_made_again():
    with hosts("a", flags=("--idle", "1s")) as (a,):
        a.cell("x = 1\ng = (1 for _ in [1])")
        link = a.executor.connection
        wait_until(lambda: not link.ask(type="sessions").get("sessions"))
        cell = a.cell("x")
        assert cell["result"] == "1" and cell["state"] == "restored"
        assert "not saved: g (" in cell["reason"]


def test_redis_starts_again_in_between():
    """Of its own file, as operators run it."""
    with hosts("a", "b", redis={"aof": True}) as (a, b):
        a.cell("x = 1\nopen('f', 'w').write('1');")
        a.stack.redis.restart()
        assert a.cell("x")["state"] == "kept"
        assert b.cell("x, open('f').read()")["result"] == "(1, '1')"
