"""One executor for the attacks of a file, and a neighbour that must not notice."""

import pytest
from executor_client import Executor

PRELUDE = """
import ctypes, errno, os, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def syscall(number, *args):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    return got, errno.errorcode.get(ctypes.get_errno(), "")
"""


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


@pytest.fixture
def attacker(executor, neighbour, request):
    """A new session; afterwards it, the neighbour and the next one are fine."""
    name = f"attacker-{abs(hash(request.node.name))}"
    session = executor.open(name)
    assert session.run(PRELUDE).status == "ok"
    yield session
    assert session.run("1 + 1").result == "2", "the session's next cell"
    assert neighbour.run("mine + 1").result == "42", "the neighbour's variables"
    assert neighbour.list() == {"secret.txt": 16}, "the neighbour's files"
    session.close()
    following = executor.open(name)
    assert following.fresh
    assert following.run("1 + 1").result == "2", "the next session"
    following.close()
