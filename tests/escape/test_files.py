"""Files of a session, seen from outside: whatever code made of their names."""

import pytest
from executor_client import Failed

LINKED = """
os.mkdir('/tmp/d')
open('/tmp/d/f', 'w').write('x')
os.symlink('/tmp/d', 'trick')
"""

# name, code, the path that is asked for
TRICKS = [
    ("a symbolic link", "os.symlink('/etc/passwd', 'trick')", "trick"),
    ("a way out by a link", "os.symlink('/', 'trick')", "trick/etc/passwd"),
    ("a folder that is a link", LINKED, "trick/f"),
    ("a FIFO", "os.mkfifo('trick')", "trick"),
    ("a socket", "socket.socket(socket.AF_UNIX).bind('trick')", "trick"),
    ("a folder", "os.mkdir('trick')", "trick"),
    ("the parent", "1", "../etc/passwd"),
    ("the root", "1", "/etc/passwd"),
    ("magic", "os.symlink('/proc/self/root', 'trick')", "trick/etc/passwd"),
]


@pytest.mark.parametrize("name, code, path", TRICKS, ids=[r[0] for r in TRICKS])
def test_only_regular_files_go_out_or_in(attacker, name, code, path):
    done = attacker.run(code)
    assert done.status == "ok", done.error
    assert done.files == {}
    assert attacker.list() == {}
    with pytest.raises(Failed):
        attacker.get(path)
    with pytest.raises(Failed):
        attacker.put(path, b"planted")


NAMES = ["a b", "a\nb", "-rf", "ünï-中文", "x" * 255, "quote'\"", "$(id)", "a\\b"]


@pytest.mark.parametrize("name", NAMES, ids=[ascii(n)[:20] for n in NAMES])
def test_any_name_goes_in_and_out(attacker, name):
    attacker.put(name, b"in")
    assert attacker.run(f"open({name!r}).read()").result == "'in'"
    done = attacker.run(f"n = open({name!r}, 'w').write('out')")
    assert done.files == {name: "changed"}
    assert attacker.get(name) == b"out"
    assert attacker.run(f"os.remove({name!r})").files == {name: "deleted"}


def test_a_name_that_is_not_text(attacker):
    done = attacker.run("n = open(b'\\xff\\xfe', 'w').write('x')")
    assert done.files == {b"\xff\xfe": "new"}
    assert attacker.get(b"\xff\xfe") == b"x"


def test_changes_of_a_cell(attacker):
    attacker.put("given.csv", b"a,b\n")
    done = attacker.run(
        "os.makedirs('d/e')\n"
        "n = open('d/e/f', 'w').write('1')\n"
        "n = open('.hidden', 'w').write('1')"
    )
    assert done.files == {"d/e/f": "new"}
    assert attacker.run("1").files == {}
    assert attacker.run("n = open('d/e/f', 'a').write('2')").files == {
        "d/e/f": "changed"
    }
    assert attacker.run("os.remove('given.csv')").files == {"given.csv": "deleted"}


def test_files_outlive_the_interpreter_that_made_them(attacker):
    attacker.run("n = open('f', 'w').write('1')")
    done = attacker.run("n = open('g', 'w').write('22')\nos._exit(1)")
    assert "files as they are now" in done.reason
    assert done.files == {"g": "new"}
    assert attacker.list() == {"f": 1, "g": 2}


def test_large_files(attacker):
    data = bytes(range(256)) * (4 << 12)
    attacker.put("large", data)
    assert attacker.run("os.path.getsize('large')").result == str(len(data))
    assert attacker.get("large") == data
    with pytest.raises(Failed, match="more than"):
        attacker.put("larger", bytes(65 << 20))
    attacker.run("open('larger', 'wb').write(bytes(70 << 20))")
    with pytest.raises(Failed, match="at most"):
        attacker.get("larger")
    attacker.put("empty", b"")
    assert attacker.get("empty") == b""


def test_a_large_file_waits_for_the_cell_that_runs(attacker):
    ref, _ = attacker.start("time.sleep(0.5)")
    data = bytes(range(256)) * (4 << 12) * 2
    attacker.put("large", data)
    assert attacker.finish(ref).status == "ok"
    assert attacker.get("large") == data


def test_a_name_that_changes_its_meaning_all_the_time(attacker):
    """Now a file, now a link, now a FIFO. (It stands still while it is read:
    nothing runs between cells. What if it did not: tests/unit/warden.)"""
    attacker.run(
        "import threading\n"
        "n = open('real', 'w').write('mine')\n"
        "def swap():\n"
        "    end = time.time() + 2\n"
        "    while time.time() < end:\n"
        "        for make in (lambda: os.link('real', 'next'),\n"
        "                     lambda: os.symlink('/etc/passwd', 'next'),\n"
        "                     lambda: os.mkfifo('next')):\n"
        "            make()\n"
        "            os.rename('next', 'swap')\n"
        "            os.path.lexists('next') and os.remove('next')\n"
        "thread = threading.Thread(target=swap, daemon=True)\n"
        "thread.start()"
    )
    seen = set()
    for _ in range(50):
        attacker.run("time.sleep(0.005)")
        try:
            seen.add(attacker.get("swap"))
        except Failed as failed:
            seen.add(type(failed))
    assert seen <= {b"mine", Failed}
    attacker.run("thread.join()")


def test_many_files_are_bounded(attacker):
    done = attacker.run("for i in range(9000): open(f'f{i:05}', 'w').close()")
    assert done.status == "ok"
    assert 1000 < len(done.files) <= 4096
