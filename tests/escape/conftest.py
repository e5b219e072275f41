"""One executor for the attacks of a file, and whoever must not notice: the host,
a neighbour, the session's next cell, the next session."""

import contextlib
import os

import pytest
from executor_client import Executor
from processes import resident
from servers import wait_until

PRELUDE = """
import ctypes, errno, os, signal, socket, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def syscall(number, *args):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    return got, errno.errorcode.get(ctypes.get_errno(), "")
"""
SECRETS = """
mine = 41
open('secret.txt', 'w').write('of the neighbour')
open('/dev/shm/secret.shm', 'w').write('of the neighbour')
"""
# Is there an end to the processes of a session?
FORKS = """
import os, time
n = 0
try:
    while n < 200:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        n += 1
except BlockingIOError:
    pass
n < 70
"""
# Who lives in the box but for init and us, in the end: the snapshot, and strays.
OTHERS = """
def others():
    found = []
    for pid in sorted(int(p) for p in os.listdir('/proc') if p.isdigit()):
        try:
            state = open(f'/proc/{pid}/stat').read().rsplit(')')[1].split()[0]
        except OSError:
            continue
        if pid not in (1, os.getpid()) and state != 'Z':
            found.append(pid)
    return found
for _ in range(500):
    if len(others()) == 1: break
    time.sleep(0.02)  # the snapshot before this one is ending
"""
TOOLS = '[{"name": "add", "parameters": {"type": "object", "properties": {}}}]'
EMPTY, READY = 2, 4  # boxes, and interpreters in boxes, that stand ready
PROCESSES = 2 + EMPTY + 2 * READY  # zygote, maker, each box's init
WARDEN_MIB = 256  # resident, whatever is done to it
CANARY = "sings"


def pytest_configure(config):
    config.addinivalue_line("markers", "sabotage(why): of its own session")


# ------------------------------------------------------------------- the host


def family(pid):
    """What has come of a process: pid to state, zombies included."""
    parents = {}
    for task in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{task}/stat") as stat:
            state, parent = stat.read().rpartition(")")[2].split()[:2]
            parents[int(task)] = int(parent), state
    found, young = {}, {pid}
    while young:
        young = {p for p, (parent, _) in parents.items() if parent in young}
        found.update((p, parents[p][1]) for p in young)
    return found


def belongings(executor):
    """How many descriptors and processes an executor has."""
    pid = executor.process.pid
    return len(os.listdir(f"/proc/{pid}/fd")), len(family(pid))


def settled(executor):
    """How many descriptors, once all stand ready and nothing moves."""
    seen = []

    def still():
        seen.append(belongings(executor))
        return len(seen) >= 10 and {*seen[-10:]} == {(seen[-1][0], PROCESSES)}

    wait_until(still, timeout=60, what=f"{PROCESSES} processes stand ready")
    return seen[-1][0]


def host_is_well(executor):
    """The warden is there and small; a file next to it is what it was."""
    assert executor.process.alive(), executor.process.text()
    assert resident(executor.process.pid) < WARDEN_MIB << 20, "bytes of the warden"
    with open(os.path.join(executor.folder, "canary")) as canary:
        assert canary.read() == CANARY


@contextlib.contextmanager
def watched(*flags, **options):
    """An executor; afterwards nothing that it once needed is still there."""
    with Executor(*flags, **options) as executor:
        with open(os.path.join(executor.folder, "canary"), "w") as canary:
            canary.write(CANARY)
        descriptors = settled(executor)
        yield executor
        host_is_well(executor)
        for name in [s["name"] for s in sessions(executor)]:
            executor.connection.ask(type="close", session=name)

        assert settled(executor) <= descriptors + 2, "descriptors are closed"
        assert "Z" not in family(executor.process.pid).values()
        assert executor.process.stop() == 0, executor.process.text()


def sessions(executor):
    return executor.connection.ask(type="sessions").get("sessions", [])


# ------------------------------------------------------------------- sessions


def open_neighbour(executor):
    session = executor.open("neighbour")
    assert session.run(SECRETS).status == "ok"
    return session


def neighbour_is_well(neighbour):
    done = neighbour.run("mine + 1")
    assert (done.result, done.state) == ("42", "kept"), "the neighbour's variables"
    assert neighbour.list() == {"secret.txt": 16}, "the neighbour's files"


def answers(session):
    """It is at odds with itself: then it says why, for some cells."""
    for _ in range(5):
        done = session.run("1 + 1", cell_ms=2000)
        if done.result == "2":
            return True
        assert done.reason, done
    return False


@contextlib.contextmanager
def attacked(executor, neighbour, name, strict=True):
    """A new session; afterwards it, the neighbour and the next one are fine."""
    session = executor.open(name)
    assert session.run(PRELUDE).status == "ok"
    yield session
    host_is_well(executor)
    if strict:
        assert session.run("1 + 1").result == "2", "the session's next cell"
    assert answers(session), "the session's next cells"
    neighbour_is_well(neighbour)
    session.close()
    following = executor.open(name)
    assert following.fresh
    done = following.run("1 + 1")
    assert (done.result, done.state) == ("2", "kept"), "the next session"
    following.close()


@pytest.fixture(scope="module")
def executor():
    with watched("--profile", "bare") as executor:
        yield executor


@pytest.fixture(scope="module")
def neighbour(executor):
    return open_neighbour(executor)


@pytest.fixture
def attacker(executor, neighbour, request):
    name = f"attacker-{abs(hash(request.node.name))}"
    strict = request.node.get_closest_marker("sabotage") is None
    with attacked(executor, neighbour, name, strict) as session:
        yield session


# ------------------------------------------------------------------- the list


def pytest_terminal_summary(terminalreporter):
    """What was tried, by name."""
    held = [
        report
        for report in terminalreporter.stats.get("passed", [])
        if report.when == "call"
    ]
    for report in held:
        told = "".join(f": {text}" for _, text in report.user_properties)
        name = report.nodeid.split("::")[-1]
        terminalreporter.write_line(f"held: {name}{told}")
    failed = len(terminalreporter.stats.get("failed", []))
    skipped = len(terminalreporter.stats.get("skipped", []))
    terminalreporter.write_line(
        f"{len(held)} attacks and checks held, {failed} did not, {skipped} skipped"
    )
