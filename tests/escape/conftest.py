"""One executor for the attacks of a file, and a neighbour that must not notice."""

import pytest
from executor_client import Executor

PRELUDE = """
import ctypes, errno, os, signal, socket, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def syscall(number, *args):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    return got, errno.errorcode.get(ctypes.get_errno(), "")
"""
WARDEN_MIB = 256  # resident, whatever is done to it


@pytest.fixture(scope="module")
def executor():
    with Executor("--profile", "bare") as executor:
        yield executor
        assert executor.process.alive(), executor.process.text()
        assert executor.process.stop() == 0, executor.process.text()


@pytest.fixture(scope="module")
def neighbour(executor):
    session = executor.open("neighbour")
    done = session.run("mine = 41\nopen('secret.txt', 'w').write('of the neighbour')")
    assert done.status == "ok"
    return session


def host_is_well(executor):
    """The warden is there, small, and does nothing when there is nothing to do."""
    assert executor.process.alive(), executor.process.text()
    with open(f"/proc/{executor.process.pid}/status") as status:
        resident = next(int(s.split()[1]) for s in status if s.startswith("VmRSS"))
    assert resident < WARDEN_MIB << 10, "KiB of the warden"


def answers(session):
    """It may still be at odds with itself: then it says why, for some cells."""
    for _ in range(5):
        done = session.run("1 + 1", cell_ms=2000)
        if done.result == "2":
            return True
        assert done.reason, done
    return False


@pytest.fixture
def attacker(executor, neighbour, request):
    """A new session; afterwards it, the neighbour and the next one are fine."""
    name = f"attacker-{abs(hash(request.node.name))}"
    session = executor.open(name)
    assert session.run(PRELUDE).status == "ok"
    yield session
    host_is_well(executor)
    assert answers(session), "the session's next cell"
    done = neighbour.run("mine + 1")
    assert (done.result, done.state) == ("42", "kept"), "the neighbour's variables"
    assert neighbour.list() == {"secret.txt": 16}, "the neighbour's files"
    session.close()
    following = executor.open(name)
    assert following.fresh
    assert following.run("1 + 1").result == "2", "the next session"
    following.close()


def pytest_terminal_summary(terminalreporter):
    """What was tried, by name."""
    held = [
        report.nodeid.split("::")[-1]
        for report in terminalreporter.stats.get("passed", [])
        if report.when == "call"
    ]
    for name in held:
        terminalreporter.write_line(f"held: {name}")
    terminalreporter.write_line(f"{len(held)} attacks and checks held")
