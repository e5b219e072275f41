"""What the warden does against a session, besides the walls of its box: each is
there, and left out it is missed. Only builds for tests can leave any out."""

import os
import re
import subprocess
import time

import pytest
import without
from conftest import PRELUDE, open_neighbour, watched
from executor_client import Executor, Failed
from servers import SOURCE
from test_exhaustion import MANY, SWALLOW
from test_forgery import FORGE, HEAD
from test_frames import NONCE
from test_locks import DEVICES, FILES, LOCK, locked
from test_snapshots import BREEDS, COUNT, OLDER
from test_users import PIPE_BYTES, PIPES

SWALLOWS = SWALLOW.replace("while True:", "while time.time() < end:")
NAMESPACES = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"]
DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: time.sleep(1)
    os._exit(0)
"""


def deadline(session):
    done = session.run("time.sleep(1.5)\n'late'", cell_ms=300)
    return done.result != "'late'"


def kill(session):
    """Of whoever does not obey."""
    code = "end = time.time() + 2\n" + SWALLOWS + "\n'late'"
    return session.run(code, cell_ms=300).result != "'late'"


def watchdog(session):
    return session.run(MANY, cell_ms=3000).status == "memory"


def freeze(session):
    session.run(COUNT)
    session.list()
    time.sleep(1.5)
    return float(session.run("longest()").result) > 1


def sweep(session):
    session.run(OLDER)
    session.run(DAEMON)
    session.list()
    return session.run("time.sleep(0.2); count()").result == "1"


def sweep_of_a_snapshot(session):
    session.run(OLDER + BREEDS)
    session.list()
    return session.run("time.sleep(0.2); count()").result == "1"


def nonce(session):
    session.run(FORGE)
    done = session.run("os.write(3, frame(type='done', nonce=5, result='x'))\n'true'")
    return done.result == "'true'"


def frames(session):
    session.run(FORGE)
    code = "for i in range(3000): n = os.write(3, frame(type='done', nonce=1))\n'true'"
    return session.run(code).result != "'true'"


def output(session):
    done = session.run("for i in range(9 << 4): n = os.write(1, bytes(65536))")
    return len(done.raw["stdout"]) == 8 << 20


def displays(session):
    code = "for i in range(200): say(type='display', bundle={'text/plain': b'x'})"
    return len(session.run(NONCE + BUNDLES + code).displays) <= 65


# frame() of the forger knows no maps.
BUNDLES = """
def say(type, bundle):
    body = frame(type=type, nonce=nonce)[4:]
    body = bytes([body[0] + 1]) + body[1:] + b'\\xa6bundle' + bytes([0x80 + len(bundle)])
    for mime, data in bundle.items():
        body += bytes([0xd9, len(mime)]) + mime.encode()
        body += b'\\xc4' + bytes([len(data)]) + data
    data = len(body).to_bytes(4, 'big') + body
    while data: data = data[os.write(3, data):]
"""


def images(session):
    image = HEAD + "b'\\x7f\\xff\\xff\\xff' * 2 + bytes(64)"
    code = f"import _quern\n_quern.display({{'image/png': {image}}})"
    (shown,) = session.run(code).displays
    return "image/png" not in shown


def files(session):
    """A link to a file of the host; a box's own has one user."""
    session.run("os.symlink('/etc/passwd', 'trick')")
    try:
        return b"root:" not in session.get("trick")
    except Failed:
        return True


def quota(session):
    code = "for i in range(9): open(f'f{i}', 'wb').write(bytes(300 << 10))"
    done = session.run(code)
    return done.error.get("value", "").startswith("[Errno 28]")


def readonly(session):
    return session.run("os.statvfs('/usr').f_flag & 3").result == "3"


def proc(session):
    return session.run("os.path.exists('/proc/sys')").result == "False"


def overlay(session):
    session.run(LOCK.format(FILES))
    return locked(FILES, {"flock"}) == []


def devices(session):
    """Left out, boxes share those of the executor, not of the host."""
    session.run(LOCK.format(DEVICES))
    other = session.connection.open("other")
    return other.run(LOCK.format(DEVICES)).status == "ok"


def users(session):
    session.run(PIPES)
    return session.connection.open("other").run(PIPE_BYTES).result == "65536"


# Made before the executor becomes an ordinary user.
BY_ROOT = {"devices", "users"}
NO_CGROUPS = ["--cgroup", "off", "--memory", "128M"]

# what is left out, an attack: whether it held; flags
DEFENCES = [
    ("deadline", deadline, []),
    ("deadline", kill, []),
    ("watchdog", watchdog, NO_CGROUPS),
    ("freeze", freeze, []),
    ("sweep", sweep, []),
    ("sweep", sweep_of_a_snapshot, []),
    ("nonce", nonce, []),
    ("bounds", frames, []),
    ("bounds", output, []),
    ("bounds", displays, []),
    ("images", images, []),
    ("files", files, []),
    ("overlay", overlay, []),
    ("devices", devices, []),
    ("users", users, []),
    ("quota", quota, []),
    ("readonly", readonly, []),
    ("proc", proc, []),
]


@pytest.mark.parametrize(
    "what, holds, flags", DEFENCES, ids=[r[1].__name__ for r in DEFENCES]
)
def test_it_holds_and_without_it_does_not(what, holds, flags):
    if what in BY_ROOT and os.geteuid() != 0:
        pytest.skip("needs root")
    limits = {"disk_bytes": 1 << 20} if what == "quota" else {}
    with watched("--profile", "bare", *flags) as executor:
        neighbour = open_neighbour(executor)
        session = executor.open("a", **limits)
        session.run(PRELUDE)
        assert holds(session)
        assert neighbour.run("mine").result == "41"
    env = {"QUERN_WITHOUT_WALL": what}
    with Executor("--profile", "bare", *flags, env=env) as executor:
        session = executor.open("a", **limits)
        session.run(PRELUDE)
        assert not holds(session)


def wanted():
    """Every name that the sources ask for; those of namespaces have none."""
    names = set()
    for folder, _, files in os.walk(os.path.join(SOURCE, "executor")):
        for name in files:
            if name.endswith(".c"):
                with open(os.path.join(folder, name)) as source:
                    names |= {*re.findall(r'wall_wanted\("(\w+)"\)', source.read())}
    return names


def test_every_wall_that_can_be_left_out_has_attacks_that_miss_it():
    from test_walls import NEEDED, TELLING

    known = {row[0] for row in [*NEEDED, *TELLING, *DEFENCES]} | {"scopes"}
    assert wanted() <= known
    assert wanted() | {*NAMESPACES} == {*without.MISSED}


@pytest.mark.parametrize("testing", [True, False], ids=["of tests", "of a release"])
def test_only_a_build_for_tests_can_leave_any_out(tmp_path, testing):
    built = tmp_path / "walls.o"
    define = ["-DQUERN_TESTING"] if testing else []
    source = os.path.join(SOURCE, "executor", "box", "walls.c")
    flags = ["-std=c17", "-D_GNU_SOURCE", "-I", SOURCE, "-c", source, "-o", built]
    subprocess.run(["cc", *define, *flags], check=True)
    assert (b"QUERN_WITHOUT_WALL" in built.read_bytes()) is testing
