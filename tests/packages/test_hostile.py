"""Packages made by an enemy: refused, and nothing of them runs outside of a box."""

import os

import pytest
from conftest import installing
from wheels import link, source, wheel

GREET = "import os, pathlib\npathlib.Path({path!r}).write_text(str(os.getpid()))\n"

# name of the package; what is wrong with it; what the reason says
WHEELS = [
    ("outside", {"../outside.py": ""}, 'has a file "../outside.py"'),
    ("rooted", {"/tmp/rooted.py": ""}, 'has a file "/tmp/rooted.py"'),
    ("dotted", {"a/./b.py": ""}, 'has a file "a/./b.py"'),
    ("windows", {"a\\b.py": ""}, "has a file"),
    ("linked", {link("linked.py"): "/etc/passwd"}, 'has a file "linked.py"'),
    ("named", {"a" * 2000: ""}, "has a file"),
    ("crowded", {f"n{i}.py": "" for i in range(50_001)}, "at most 50000"),
    ("bomb", {"bomb.py": b"\0" * (40 << 20)}, "more than a session may have"),
    (
        "smuggles",
        {"quern_smuggles-1.0.data/purelib/quern_other-1.0.dist-info/METADATA": ""},
        "has metadata of another package",
    ),
    (
        "foreign",
        {"quern_other-1.0.data/purelib/quern_foreign.py": ""},
        "has files of another package",
    ),
    (
        "twice",
        {"quern_twice.py": "", "quern_twice-1.0.data/purelib/quern_twice.py": ""},
        'has "quern_twice.py" twice',
    ),
    ("above", {"above-1.0.data/purelib/../../x.py": ""}, "has a file"),
]


@pytest.fixture(scope="module")
def traces(scratch):
    """Where code of a package would leave its trace, had it run outside."""
    folder = scratch / "traces"
    folder.mkdir()
    folder.chmod(0o777)
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture(scope="module")
def executor(scratch, traces):
    folder = scratch / "hostile"
    for name, files, _ in WHEELS:
        wheel(folder, f"quern_{name}", files)

    def greet(name):
        return GREET.format(path=str(traces / name))

    built = source(folder, "quern_source", greet("setup"))
    wheel(
        folder,
        "quern_asks",
        {"quern_asks.py": ""},
        needs=[f"quern-source @ file://{built}"],
    )
    wheel(
        folder, "quern_git", {"quern_git.py": ""}, needs=["x @ git+file:///tmp/nothing"]
    )
    wheel(
        folder,
        "quern_start",
        {
            "quern_start.pth": f"import os; exec({greet('pth')!r})\n",
            "sitecustomize.py": greet("site"),
            "quern_start.py": greet("import") + "n = 1\n",
            "keyring.py": greet("keyring"),
        },
    )
    wheel(folder, "quern_more", {"quern_more.py": "n = 2\n"})
    wheel(
        folder,
        "quern_shadow",
        {"quern_shadow.py": "n = 1\n", "json/__init__.py": "1/0\n"},
    )
    wheel(folder, "quern_liar", {"quern_liar.py": ""}, info="quern_other-1.0.dist-info")
    wheel(folder, "msgpack", {"msgpack/__init__.py": ""}, version="999")
    wheel(folder, "quern_newer", {"quern_newer.py": ""}, needs=["msgpack>=999"])
    path = wheel(folder, "quern_broken", {"quern_broken.py": ""})
    path.write_bytes(b"PK\3\4" + bytes(100))
    path = wheel(folder, "quern_damaged", {"quern_damaged.py": "#" * 5000})
    data = bytearray(path.read_bytes())
    data[60:70] = bytes(10)
    path.write_bytes(data)
    with installing(scratch, folder, "--packages-size", "32M") as executor:
        yield executor


@pytest.fixture
def session(session):
    yield session
    assert session.run("import os; os.listdir('/')").status == "ok"


def refused(session, module):
    done = session.run(f"import {module}")
    assert (done.status, done.state, done.restarts) == ("error", "kept", 0)
    assert session.run("import os; os.listdir('/packages')").result == "[]"
    return done.reason


@pytest.mark.parametrize("name, files, why", WHEELS, ids=[row[0] for row in WHEELS])
def test_a_wheel_that_is_none(session, executor, name, files, why):
    assert why in refused(session, f"quern_{name}")
    assert not list(executor.store.glob(f"wheels/*/*{name}*"))
    assert not os.path.exists("/tmp/rooted.py")


# module, what the reason says, what it would be if it were allowed
OTHERS = [
    ("quern_source", "no wheels", "a source package, which is built by its own code"),
    ("quern_asks", "", "a wheel that needs a source package at an address"),
    ("quern_git", "", "a wheel that needs what version control has"),
    ("quern_liar", "", "metadata of another package"),
    ("quern_newer", "no wheels", "something newer than the distribution has"),
    ("quern_broken", "", "not even a zip file"),
    ("quern_damaged", "", "a damaged zip file"),
]


@pytest.mark.parametrize("module, why, _", OTHERS, ids=[row[2] for row in OTHERS])
def test_a_package_that_is_refused(session, module, why, _):
    assert why in refused(session, module)


def test_code_of_a_package_runs_in_its_session_only(session, traces):
    """Also not when the next one is installed, with the first one there."""
    done = session.run("import quern_start")
    assert done.status == "error" and "No such file" in done.error["value"]
    assert session.run("import quern_more\nquern_more.n").result == "2"
    assert list(traces.iterdir()) == []


def test_the_systems_own_modules_come_first(session):
    done = session.run("import quern_shadow, json\njson.loads('[1]')")
    assert done.result == "[1]"


NAMES = ["x" * 127, "_", "__future", "é", "quern-more", "--help", "a;b", "a\nb", "a b"]


def test_names_that_no_package_has(session):
    for name in NAMES:
        done = session.run(f"raise ModuleNotFoundError('no', name={name!r})")
        assert (done.status, done.restarts) == ("error", 0), name
    assert session.run("import quern_more\nquern_more.n").result == "2"


# Through the folder that it shares with the warden: all must fail.
ATTACKS = """
open('/packages/x', 'w')
open('/packages/quern_more.py', 'a')
os.remove('/packages/quern_more.py')
os.rename('/packages/quern_more.py', '/packages/y')
os.mkdir('/packages/d')
os.symlink('/etc', '/packages/s')
os.link('/packages/quern_more.py', '/packages/l')
os.link('/packages/quern_more.py', '/workspace/l')
os.chmod('/packages', 0o777)
os.chmod('/packages/quern_more.py', 0o777)
os.utime('/packages/quern_more.py')
os.truncate('/packages/quern_more.py', 0)
os.setxattr('/packages/quern_more.py', 'user.x', b'1')
os.open('/proc/self/fd/%d' % os.open('/packages/quern_more.py', os.O_RDONLY), os.O_RDWR)
os.open('../wheels', os.O_RDONLY, dir_fd=os.open('/packages', os.O_RDONLY))
os.open('../../lock', os.O_RDONLY, dir_fd=os.open('/packages', os.O_RDONLY))
call(libc.mount(b'none', b'/packages', None, 32 | 4096, None))
call(libc.umount2(b'/packages', 2))
""".strip().splitlines()

PRELUDE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), 'refused')
import quern_more
"""


def test_the_folder_is_no_way_out(executor, session):
    assert session.run(PRELUDE).status == "ok"
    for attack in ATTACKS:
        error = session.run(attack).error.get("name")
        assert error in ("OSError", "PermissionError", "FileNotFoundError"), attack
    (file,) = executor.store.glob("wheels/*/quern_more.py")
    assert file.read_text() == "n = 2\n"


def test_the_store_must_be_ours(scratch):
    theirs = scratch / "theirs"
    theirs.mkdir()
    theirs.chmod(0o777)
    with (
        pytest.raises(AssertionError, match="may write"),
        installing(scratch, scratch, "--packages-store", str(theirs)),
    ):
        pass
