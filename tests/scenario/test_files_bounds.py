"""A file may be empty; it may have 64 MiB, and who sends more is told at once."""

import pytest
from command import Command
from stack import ROOT

MIB = 1 << 20
MOST = 64 * MIB


@pytest.fixture
def sender(stack, tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "size.py").write_text("import os; os.path.getsize('empty')")
    return Command(stack.redis.url, tmp_path)


def test_exec_takes_an_empty_file(sender):
    assert sender("exec", "--file", "empty", "size.py") == "0\n"


def test_run_takes_an_empty_file(stack, sender):
    assert "You said: hello" in sender("run", "hello", "--file", "empty")


def test_a_session_takes_an_empty_file_and_gives_it(sender, tmp_path):
    sender("session", "put", "bounds", "empty")
    assert sender("exec", "--session", "bounds", "size.py") == "0\n"
    sender("session", "get", "bounds", "empty", "--out", "got")
    assert (tmp_path / "got" / "empty").read_bytes() == b""


def test_an_empty_file_of_a_plain_client_reaches_a_cell(stack):
    blob = stack.blob(b"")
    file = {"name": "empty", "blob": blob, "bytes": 0}
    cells = ["import os; os.path.getsize('empty')"]
    result = stack.run(kind="code", files=[file], cells=cells)
    assert result["cells"][0]["result"] == "0", result


def test_what_is_too_large_is_refused_before_anything_is_sent(stack, sender, tmp_path):
    (tmp_path / "small").write_text("not to be uploaded")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(MOST + 1)
    before = set(stack.db.scan_iter(f"{ROOT}blob:*"))
    words = ["submit", "sum", "--file", "small", "--file", "large"]
    why = f"file large: {MOST + 1} bytes, a file may have {MOST} (64 MiB)"
    assert why in sender(*words, code=65)
    assert set(stack.db.scan_iter(f"{ROOT}blob:*")) == before


def test_the_largest_file_reaches_a_cell(sender, tmp_path):
    with open(tmp_path / "empty", "wb") as file:
        file.truncate(MOST)
    assert sender("exec", "--file", "empty", "size.py") == f"{MOST}\n"


def test_a_job_is_told_the_same_bound(stack):
    file = {"name": "f", "blob": "0" * 64, "bytes": MOST + 1}
    stack.db.set(f"{ROOT}blob:{'0' * 64}", b"x", ex=60)
    error = stack.run(prompt="x", files=[file])["error"]
    assert error["code"] == "bad_field", error
    assert "files[0].bytes" in error["message"] and str(MOST) in error["message"]


def test_of_a_file_that_is_too_large_the_length_is_told(stack):
    code = "f = open('big', 'wb'); f.truncate(%d); f.close()" % (MOST + 1)
    (file,) = stack.run(kind="code", cells=[code])["files"]
    assert file["bytes"] == MOST + 1 and "blob" not in file
    assert file["note"] == "not kept, it is larger than 64 MiB"


def test_a_file_without_its_bytes_is_told_to_a_person(sender, tmp_path):
    """By exec and by run: it is not just missing among what was saved."""
    code = "f = open('big', 'wb'); f.truncate(%d); f.close()" % (MOST + 1)
    (tmp_path / "big.py").write_text(code)
    for words in (["exec", "big.py"], ["run", f"```python\n{code}\n```"]):
        _, err, returned = sender.run(*words)
        assert returned == 0
        assert "file big  64.0 MiB, not kept, it is larger than 64 MiB" in err, err
