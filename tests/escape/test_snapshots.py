"""Attacks on the snapshot of a session, and what becomes of its state."""

import contextlib
import os
import re
import time

import pytest
from conftest import OTHERS, TOOLS, answers
from executor_client import Executor
from servers import wait_until
from test_forgery import FORGE

# The snapshot is the process of the box that is neither init nor us.
FIND = OTHERS + "snapshot = others()[-1]\n"
DIE = "os.kill(os.getpid(), 9)"
KILL = "os.kill(snapshot, 9)\n"
CONTINUE = "os.kill(snapshot, 18)"
WRITE = "n = open(f'/proc/{snapshot}/mem', 'r+b')"

# name, code, its value or its exception's name
ON_IT = [
    ("continuing it", CONTINUE, "PermissionError"),
    ("continuing it by upper bits", "syscall(62, snapshot, 18 + 2**32)", "EPERM"),
    ("continuing it by a thread", "syscall(234, snapshot, snapshot, 18)", "EPERM"),
    (
        "continuing it by a pidfd",
        "signal.pidfd_send_signal(os.pidfd_open(snapshot), 18)",
        "PermissionError",
    ),
    ("a signal of its own for a pipe", "syscall(72, 0, 10, 18)", "EPERM"),
    ("SIGCONT when a parent ends", "syscall(157, 1, 18)", "EPERM"),
    ("tracing it", "syscall(101, 16, snapshot, 0, 0)", "EPERM"),
    ("writing its memory", WRITE, "PermissionError"),
    ("reading its memory", "syscall(310, snapshot, 0, 0, 0, 0, 0)", "EPERM"),
    ("its descriptors", "syscall(438, os.pidfd_open(snapshot), 3, 0)", "EPERM"),
]


@pytest.mark.parametrize("name, code, expected", ON_IT, ids=[r[0] for r in ON_IT])
def test_it_is_out_of_reach(attacker, name, code, expected):
    attacker.run("mark = 1")
    done = attacker.run(FIND + code)
    assert expected in str((done.result, done.error.get("name"))), done
    done = attacker.run("mark = 2\n" + DIE)
    assert (done.status, done.state) == ("crashed", "rolled_back"), done
    assert attacker.run("mark").result == "1"


# A fork is made of the runner when a cell is over: its code runs then.
HOOK = "os.register_at_fork({}=lambda: {})\nmark = 2"
ONCE = "os.path.exists('once') or (open('once', 'w'), {})"
HANGS = ONCE.format("time.sleep(60)")
DEAF = ONCE.format("sum(range(10**12))")
RAISES = "1 / 0"
LEAVES = ONCE.format("os._exit(3)")
FORKS = "libc.fork() or time.sleep(60)"
THREADS = "threading.Thread(target=time.sleep, args=(60,)).start()"
GROWS = "globals().update(big=bytearray(b'x') * (300 << 20))"

# when, its name, what it does, what the next cell must say of it
HOOKS = [
    ("before", "that hangs", HANGS, None),
    ("after_in_parent", "that hangs", HANGS, None),
    ("before", "that does not obey", DEAF, "could not be made in time"),
    ("after_in_parent", "that does not obey", DEAF, "could not be made in time"),
    ("after_in_child", "that hangs", HANGS, None),
    ("before", "that raises", RAISES, None),
    ("after_in_parent", "that raises", RAISES, None),
    ("after_in_child", "that raises", RAISES, None),
    ("before", "that leaves", LEAVES, "ended itself with code 3"),
    ("after_in_parent", "that leaves", LEAVES, None),
    ("after_in_child", "that leaves", LEAVES, None),
    ("before", "that forks", FORKS, None),
    ("after_in_parent", "that forks", FORKS, None),
    ("before", "that starts a thread", THREADS, None),
    ("after_in_parent", "that starts a thread", THREADS, None),
    ("before", "that grows", GROWS, None),
]


@pytest.mark.sabotage("what it does at a fork, it does at every one")
@pytest.mark.parametrize(
    "when, name, what, why", HOOKS, ids=[f"{h[0]}, one {h[1]}" for h in HOOKS]
)
def test_hooks_of_a_fork(attacker, when, name, what, why):
    attacker.run("mark = 1")
    done = attacker.run(HOOK.format(when, what))
    assert (done.status, done.state) == ("ok", "kept"), done
    done = attacker.run("mark", cell_ms=3000)
    if done.status != "ok":
        assert done.status in ("timeout", "crashed"), done
        assert done.state == "rolled_back", done
        done = attacker.run("mark")
    assert (done.result, done.state) in (
        ("2", "kept"),
        ("2", "rolled_back"),
        ("1", "rolled_back"),
    ), done
    if done.state == "rolled_back":
        assert done.reason
    if why:
        assert why in done.reason


# And when it wakes, it is the child of that fork.
WAKING = [
    ("that hangs", HANGS),
    ("that does not obey", DEAF),
    ("that raises", RAISES),
    ("that leaves", LEAVES),
    ("that forks", FORKS),
    ("that starts a thread", THREADS),
    ("that grows", GROWS),
]


@pytest.mark.sabotage("what it does when it wakes, it does every time")
@pytest.mark.parametrize("name, what", WAKING, ids=[r[0] for r in WAKING])
def test_hooks_of_a_snapshot_that_wakes(attacker, name, what):
    attacker.run(HOOK.format("after_in_child", what))
    done = attacker.run(DIE)
    assert (done.status, done.state) == ("crashed", "rolled_back"), done
    done = attacker.run("mark", cell_ms=2000)
    if (done.result, done.state) != ("2", "kept"):
        assert done.state in ("rolled_back", "lost") and done.reason, done
        assert done.status != "ok" or done.result == "2", done


@pytest.mark.parametrize("when", ["before", "after_in_parent", "after_in_child"])
def test_a_hook_that_hangs_is_interrupted_and_nothing_is_lost(attacker, when):
    attacker.run("mark = 1")
    done = attacker.run(HOOK.format(when, HANGS))
    if when == "after_in_child":
        done = attacker.run("mark = 3\n" + DIE)
    assert done.state == ("kept" if done.status == "ok" else "rolled_back"), done
    done = attacker.run("mark, os.path.exists('once')")
    assert (done.result, done.state) == ("(2, True)", "kept"), done
    attacker.run("mark = 4\n" + DIE)
    assert attacker.run("mark").result == "2", "and it has a snapshot"


def test_one_that_ends_at_every_fork_does_not_go_back_for_ever(executor):
    session = executor.open("faller")
    session.run("import os\nos.register_at_fork(after_in_parent=lambda: os._exit(3))")
    time.sleep(1)
    text = executor.process.text()
    backs = [s for s in text.splitlines() if "rolled_back" in s and '"faller"' in s]
    assert len(backs) <= 3, "and what it did last was to wait"
    session.close()


GREEDY = """
import ctypes, os, time
libc = ctypes.CDLL(None)
def grow():
    for i in range(4):
        if libc.fork() == 0:
            data = bytearray(b'x') * (100 << 20)
            time.sleep(60)
    time.sleep(60)
os.register_at_fork(before=lambda: os.path.exists('once') or (open('once', 'w'), grow()))
"""


def test_memory_is_watched_while_a_snapshot_is_made():
    """Where the kernel does not: there is no cgroup."""
    with Executor("--profile", "bare", "--cgroup", "off") as executor:
        session = executor.open("greedy", memory_bytes=256 << 20)
        session.run("1")
        session.run(GREEDY)
        done = session.run("1 + 1")
        assert (done.result, done.state) == ("2", "rolled_back"), done
        assert "took too much memory while a snapshot was made" in done.reason


def test_what_is_told_when_no_snapshot_can_be_made(attacker):
    """The one before stays, and it is said how old it is."""
    attacker.run("mark = 1")
    attacker.run(
        "mark = 2\nstay = []\n"
        "def fill():\n"
        "    try:\n"
        "        while True:\n"
        "            t = threading.Thread(target=time.sleep, args=(600,), daemon=True)\n"
        "            t.start()\n"
        "            stay.append(t)\n"
        "    except RuntimeError:\n"
        "        pass\n"
        "fill()"
    )
    done = attacker.run(DIE)
    assert (done.status, done.state) == ("crashed", "rolled_back"), done
    assert "after cell 2" in done.reason, "the prelude is cell 1"
    assert attacker.run("mark").result == "1"


GROWN = "big = bytearray(b'x') * (600 << 20)"


def test_a_snapshot_that_would_be_too_large_is_not_made_and_that_is_said(attacker):
    done = attacker.run(GROWN)
    assert (done.status, done.state) == ("ok", "kept")
    assert "no snapshot is kept" in done.reason
    done = attacker.run(DIE)
    assert (done.status, done.state) == ("crashed", "lost")
    assert re.search(r"there was no snapshot, one of 6\d\d MiB is too large", done.reason)


def test_an_operator_who_keeps_no_snapshots_is_named():
    why = "the operator keeps none (--snapshot 0)"
    with Executor("--profile", "bare", "--snapshot", "0") as executor:
        session = executor.open("a")
        assert session.run("x = 1").reason == ""
        done = session.run("x")
        assert done.result == "1"
        assert f"no snapshot was kept of the cell before this one ({why})" in done.reason
        done = session.run("import os; os._exit(1)")
        assert (done.status, done.state) == ("crashed", "lost")
        assert f"there was no snapshot, {why}" in done.reason


def test_a_killed_snapshot_is_owned_up_to(attacker):
    attacker.run("mark = 1")
    done = attacker.run(FIND + KILL + "time.sleep(0.3)\n" + DIE)
    assert (done.status, done.state) == ("crashed", "lost"), done
    assert "variables are lost, files are kept" in done.reason
    assert attacker.run("'mark' in globals()").result == "False"


def test_a_killed_snapshot_is_replaced_after_the_cell(attacker):
    done = attacker.run(FIND + KILL + "mark = 2")
    assert (done.status, done.state) == ("ok", "kept")
    attacker.run(DIE)
    assert attacker.run("mark").result == "2"


def test_a_stopped_snapshot_is_no_different(attacker):
    attacker.run("mark = 1")
    assert attacker.run(FIND + "os.kill(snapshot, 19)").status == "ok"
    attacker.run("mark = 2\n" + DIE)
    assert attacker.run("mark").result == "1"


# The channel of a snapshot passes through the runner: code may take it, and
# say whatever it likes.
STEAL = """
import socket
def steal():
    channel = socket.socket(fileno=os.dup(3))
    while True:
        bytes_, rights, *_ = channel.recvmsg(4096, 512)
        for level, kind, data in rights:
            fd = int.from_bytes(data[:4], 'little')
            try:
                forge(socket.socket(fileno=fd))
            except OSError:
                pass
            time.sleep(60)
threading.Thread(target=steal, daemon=True).start()
time.sleep(0.1)
FRAME = bytes([0x82]) + b'\\xa1v\\x01' + b'\\xa4type\\xa5ready'
READY = len(FRAME).to_bytes(4, 'big') + FRAME
def rights(*fds):
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
             b''.join(fd.to_bytes(4, 'little') for fd in fds))]
def forge(channel):
"""
FORGERIES = [
    ("without a descriptor", "channel.sendall(READY)"),
    ("with a file", "channel.sendmsg([READY], rights(0))"),
    ("with init", "channel.sendmsg([READY], rights(os.pidfd_open(1)))"),
    ("with the runner itself", "channel.sendmsg([READY], rights(os.pidfd_open(2)))"),
    ("with a dozen files", "channel.sendmsg([READY], rights(*[0] * 12))"),
    ("with two files", "channel.sendmsg([READY], rights(0, 0))"),
    (
        "with a file for every byte",
        "for i in range(len(READY)): channel.sendmsg([READY[i:i + 1]], rights(0))",
    ),
    ("in pieces that never end", "channel.sendall(READY[:9])"),
    ("too large", "channel.sendall(b'\\xff' * 4)"),
    ("many times", "channel.sendmsg([READY * 99], rights(os.pidfd_open(2)))"),
    ("and hangs up", "channel.shutdown(2)"),
]


@pytest.mark.sabotage("its own snapshots cannot be told from forged ones")
@pytest.mark.parametrize("name, forge", FORGERIES, ids=[r[0] for r in FORGERIES])
def test_a_forged_snapshot(executor, attacker, name, forge):
    def descriptors():
        """Of the warden, once it has made all boxes that it wants at hand."""
        counts = []
        while len(counts) < 5 or len({*counts[-5:]}) > 1:
            assert len(counts) < 100, counts
            counts.append(len(os.listdir(f"/proc/{executor.process.pid}/fd")))
            time.sleep(0.1)
        return counts[-1]

    attacker.run("mark = 1")
    before = descriptors()
    done = attacker.run(STEAL + "    " + forge, cell_ms=3000)
    assert (done.status, done.state) == ("ok", "kept"), done
    for _ in range(3):
        done = attacker.run("1", cell_ms=1000)
        assert done.state == "kept" or done.reason, "it says why"
    assert answers(attacker)
    assert descriptors() <= before + 4, "none is left open"


COUNT = """
import threading, time
ticks = []
def tick():
    while True:
        time.sleep(0.01)
        ticks.append(time.monotonic())
threading.Thread(target=tick, daemon=True).start()
def longest():
    count = len(ticks)
    while len(ticks) < count + 2: time.sleep(0.01)
    return max(b - a for a, b in zip(ticks, ticks[1:]))
longest()
"""
FULL = """
def fill():
    try:
        while True:
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    except RuntimeError:
        pass
fill()
"""
WAKER = """
pid = os.getpid()
if os.fork() == 0:
    while True:
        try:
            os.kill(pid, 18)
        except OSError:
            pass
"""
# When the last one outside of a process group that looked after it ends, the
# kernel wakes who is stopped in the group.
ORPHANED = """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
if os.fork() == 0:
    os.setpgid(0, 0)
    if os.fork() == 0:
        os.setpgid(0, 2)
    time.sleep(60)
    os._exit(0)
time.sleep(0.1)
"""
AWAKE = [
    ("a snapshot that cannot be made", FULL),
    ("a child that wakes it", WAKER),
    ("a process group without a parent", ORPHANED),
    ("nothing at all", ""),
]


@pytest.mark.parametrize("name, code", AWAKE, ids=[r[0] for r in AWAKE])
def test_nothing_runs_between_cells(attacker, name, code):
    attacker.run(COUNT + code)
    attacker.list()
    time.sleep(1.5)
    done = attacker.run("longest()", cell_ms=3000)
    assert done.status == "ok", done
    assert float(done.result) > 1, "it stood still"


# The kernel tells of a child's end by the signal that clone() was given. The one
# that a fork's hook starts is ended when all is told, by the last sweep. Dead ones
# keep the sweep busy, between its last SIGSTOP and the child's end.
ENDS_BY_SIGCONT = """
child = -1
libc.prctl(15, b"sleeper")
for _ in range(50):
    if os.fork() == 0:
        os._exit(0)
def breed():
    global child
    if child > 0:
        os.waitpid(child, 0x40000000)  # __WALL
    child, _ = syscall(56, 18, 0, 0, 0, 0)
    while child == 0:
        libc.pause()
os.register_at_fork(before=breed)
"""


def states_of(name):
    """Of all processes of that name, but for those that have ended."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as stat:
            text = stat.read()
            if f"({name})" in text:
                found.append(text.rpartition(")")[2].split()[0])
    return [state for state in found if state not in "ZX"]


def test_the_end_of_a_child_does_not_wake_a_session(attacker):
    assert attacker.run(ENDS_BY_SIGCONT).status == "ok"
    for _ in range(40):
        assert attacker.run("1").result == "1"
        attacker.list()  # the snapshot is made, and what it left is ended
        # On a busy machine a signal takes a moment; one that was woken stays awake.
        wait_until(lambda: {*states_of("sleeper")} == {"T"}, timeout=5)


# It has a child whenever it is forked: what runs between two cells.
BREEDS = """
def breed():
    if libc.fork() == 0:
        while True: time.sleep(600)
os.register_at_fork(before=breed)
"""
# Those that were there before this cell, but for init, itself and the snapshot.
OLDER = """
def older():
    began = time.clock_gettime(time.CLOCK_BOOTTIME) - 0.05
    for pid in sorted(int(p) for p in os.listdir('/proc') if p.isdigit()):
        try:
            fields = open(f'/proc/{pid}/stat').read().rsplit(')')[1].split()
        except OSError:
            continue
        if fields[0] not in 'ZX' and pid not in (1, os.getpid()):
            if int(fields[19]) / os.sysconf('SC_CLK_TCK') < began:
                yield pid
def count():
    for _ in range(500):
        if len([*older()]) == 1: break
        time.sleep(0.02)  # the snapshot before this one is ending
    return len([*older()])
"""


@pytest.mark.sabotage("it has another child at every snapshot")
def test_children_of_the_moment_when_a_snapshot_is_made_end(attacker):
    attacker.run(OLDER + BREEDS)
    for _ in range(3):
        attacker.list()  # the snapshot is made
        time.sleep(0.2)
        assert attacker.run("count()").result == "1", "the snapshot"


# What a snapshot shares with the runner, it does not bring back; the rest it
# does.
OFFSET = "f = open('f', 'w+')\nn = f.write('abc')\nf.flush()"
MAPPED = """
import mmap
open('m', 'wb').write(bytes(9))
shared = mmap.mmap(os.open('m', os.O_RDWR), 9)
"""
SQLITE = """
import sqlite3
db = sqlite3.connect('d', isolation_level=None)
n = db.execute('create table t (a)')
n = db.execute('insert into t values (1)')
"""
IN_TRANSACTION = "n = db.execute('begin')\nn = db.execute('insert into t values (2)')"
RANDOM = "import random, numpy\nrandom.seed(1)\nnumpy.random.seed(1)\nn = random.gauss()"
DRAW = "random.gauss(), random.random(), float(numpy.random.rand())"
TIMER = "signal.signal(14, lambda *_: None)\nn = signal.setitimer(0, 600)"
WRITTEN = [f"n = open('g', 'w').write('{when}')" for when in ("before", "after")]
SHARED = [
    ("the place in a file", OFFSET, "n = f.write('def')\nf.flush()", "f.tell()", "6"),
    ("a mapped file", MAPPED, "shared[0] = 7", "shared[0]", "7"),
    (
        "a lock of sqlite",
        SQLITE,
        IN_TRANSACTION,
        "db.execute('select count(*) from t').fetchone()[0]",
        "1",
    ),
    (
        "a timer",
        TIMER,
        "signal.getitimer(0)[0] > 0 or 1 / 0",
        "signal.getitimer(0)[0]",
        "0.0",
    ),
    ("a file that is written", *WRITTEN, "open('g').read()", "'after'"),
]


@pytest.mark.parametrize(
    "name, before, change, after, value", SHARED, ids=[r[0] for r in SHARED]
)
def test_what_is_shared(attacker, name, before, change, after, value):
    assert attacker.run(before).status == "ok"
    done = attacker.run(change + "\n" + DIE)
    assert (done.status, done.state) == ("crashed", "rolled_back"), done
    assert attacker.run(after).result == value


def test_random_numbers_are_drawn_as_if_the_cell_had_not_been(attacker):
    attacker.run(RANDOM)
    expected = attacker.run(DRAW).result
    attacker.run(RANDOM)
    attacker.run(DRAW + "\n" + DIE)
    assert attacker.run(DRAW).result == expected


def test_a_nonce_of_before_is_worth_nothing(attacker):
    """Each cell has its own, in the snapshot as well."""
    attacker.run(FORGE)
    attacker.run(DIE)
    done = attacker.run("os.write(3, frame(type='done', nonce=1, result='x'))\n'true'")
    assert (done.status, done.result) == ("ok", "'true'")


def test_an_answer_to_a_call_of_before_goes_nowhere(attacker):
    """Its cell ended while it was open; the snapshot's first call is another."""
    leave = "threading.Timer(0.2, os._exit, (3,)).start()\nadd()"
    ref, _ = attacker.start(leave, tools=TOOLS)
    old = attacker.connection.answer(ref)
    assert old["type"] == "tool", old
    done = attacker.finish(ref)
    assert (done.status, done.state) == ("crashed", "rolled_back"), done
    attacker.reply(old, "of before")
    ref, _ = attacker.start("add()", tools=TOOLS)
    asked = attacker.connection.answer(ref)
    assert (asked["type"], asked["number"]) == ("tool", old["number"])
    attacker.reply(old, "of before")
    attacker.reply(asked, "its own")
    assert attacker.finish(ref).result == "'its own'"
