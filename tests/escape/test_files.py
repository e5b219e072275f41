"""Files of a session, seen from outside: whatever code made of their names."""

import time

import pytest
from executor_client import Failed
from servers import wait_until

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


def test_a_change_is_seen_however_soon_it_comes(attacker):
    """Of the same size, within a tick of the clock that files are timed by."""
    attacker.run("n = open('f', 'w').write('0')")
    refs = [
        attacker.start(f"n = open('f', 'w').write('{i % 10}')")[0]
        for i in range(1, 40)
    ]
    seen = [attacker.finish(ref).files for ref in refs]
    assert seen == [{"f": "changed"}] * len(refs)


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


def get_while_it_changes(attacker, path):
    """Often; what is there is its own file, or there is none."""
    seen = set()
    for _ in range(50):
        attacker.run("time.sleep(0.005)")
        try:
            seen.add(attacker.get(path))
        except Failed as failed:
            seen.add(type(failed))
    assert seen <= {b"mine", Failed}
    attacker.run("thread.join()")


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
    get_while_it_changes(attacker, "swap")


FOLDERS = """
os.mkdir('real')
n = open('real/passwd', 'w').write('mine')
def swap():
    end = time.time() + 2
    while time.time() < end:
        os.rename('real', 'swap')
        os.rename('swap', 'real')
        os.symlink('/etc', 'swap')
        os.unlink('swap')
thread = threading.Thread(target=swap, daemon=True)
thread.start()
"""


def test_a_folder_that_changes_its_meaning_all_the_time(attacker):
    attacker.run(FOLDERS)
    get_while_it_changes(attacker, "swap/passwd")


GROWS = """
grown = threading.Event()
def grow():
    with open('grows', 'ab', buffering=0) as file:
        while file.tell() < 50 << 20: file.write(bytes(999)), grown.set()
threading.Thread(target=grow, daemon=True).start()
grown.wait()
"""


def test_a_file_that_grows_while_it_is_read(attacker):
    """It stands still once its snapshot is made: what is listed is there."""

    def stands_still():
        before = attacker.list()["grows"]
        time.sleep(0.2)
        return attacker.list()["grows"] == before

    attacker.run(GROWS)
    wait_until(stands_still, what="it stands still")
    bytes_ = attacker.list()["grows"]
    assert bytes_ > 0 and len(attacker.get("grows")) == bytes_


def test_a_sparse_file_is_what_it_says(attacker):
    attacker.run("open('sparse', 'w').truncate(9 << 20)")
    assert attacker.get("sparse") == bytes(9 << 20)
    attacker.run("open('sparse', 'w').truncate(80 << 20)")
    with pytest.raises(Failed, match="at most"):
        attacker.get("sparse")


HARD = [
    ("of the system", "os.link('/etc/passwd', 'trick')", "OSError"),
    ("of a device", "os.link('/dev/null', 'trick')", "OSError"),
    ("of an open file", "os.link('/proc/self/fd/1', 'trick')", "OSError"),
    ("of a folder", "os.mkdir('d')\nos.link('d', 'trick')", "PermissionError"),
]


@pytest.mark.parametrize("name, code, error", HARD, ids=[r[0] for r in HARD])
def test_a_hard_link(attacker, name, code, error):
    assert attacker.run(code).error["name"] == error
    assert attacker.list() == {}


def test_a_hard_link_of_its_own_is_a_file(attacker):
    attacker.run("n = open('a', 'w').write('x')\nos.link('a', 'b')")
    assert attacker.list() == {"a": 1, "b": 1}


LONG = [
    ("a name of 256 bytes", "x" * 256),
    ("a path of 4000 bytes", "x" * 4000),
    ("a NUL", "a\0b"),
    ("no name", ""),
    ("only the folder", "."),
    ("the parent of a folder", "a/../../x"),
    ("a slash at the end", "a/"),
]


@pytest.mark.parametrize("name, path", LONG, ids=[r[0] for r in LONG])
def test_a_name_that_cannot_be(attacker, name, path):
    with pytest.raises(Failed):
        attacker.put(path, b"x")
    with pytest.raises(Failed):
        attacker.get(path)
    assert [n for n in attacker.list() if n != "a"] == []


def test_the_same_name_twice_is_one_file(attacker):
    attacker.put("twice", b"first, and longer")
    attacker.put("twice", b"second")
    assert attacker.list() == {"twice": 6}
    assert attacker.get("twice") == b"second"
    done = attacker.run("open('TWICE', 'w').close()\nopen('twice', 'w').close()")
    assert done.files == {"TWICE": "new", "twice": "changed"}


DEEP = """
for i in range(1000):
    os.mkdir('d')
    os.chdir('d')
    open('f', 'w').close()
os.chdir('/workspace')
"""


def test_folders_a_thousand_deep_are_not_followed_to_their_end(attacker):
    done = attacker.run(DEEP)
    assert done.status == "ok"
    assert 1 <= len(done.files) <= 32
    assert attacker.get("d/d/d/f") == b""


def test_many_files_are_bounded(attacker):
    done = attacker.run("for i in range(10**5): open(f'f{i:05}', 'w').close()")
    assert done.status in ("ok", "error"), "or there are no inodes left"
    assert 1000 < len(done.files) <= 4096
    assert attacker.get("f00000") == b""
