"""Attacks that take too much: time, memory, processes, disk, output."""

import time

import pytest
from conftest import FORKS, OTHERS
from executor_client import Executor

THREADS = """
import threading
n = 0
try:
    while n < 1000:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        n += 1
except RuntimeError:
    pass
n < 64
"""
PIECES = "a = []\nwhile True: a.append(bytearray(1 << 26))"
FILL = "f = open({!r}, 'wb')\nwhile True:\n    f.write(bytes(1 << 20))"
DEEP = """
for i in range(1000):
    os.mkdir('d')
    os.chdir('d')
os.chdir('/workspace')
1
"""

LINKS = "open('a', 'w')\nfor i in range(10**5): os.link('a', f'b{i}')"

# name, code, its value or its exception's name
BOUNDED = [
    ("a fork bomb", FORKS, "True"),
    ("a thread bomb", THREADS, "True"),
    ("10 GB at once", "bytearray(10 << 30)", "MemoryError"),
    ("10 GB in pieces", PIECES, "MemoryError"),
    ("a full disk", FILL.format("full"), "OSError"),
    ("a full /tmp", FILL.format("/tmp/full"), "OSError"),
    ("a full /dev/shm", FILL.format("/dev/shm/full"), "OSError"),
    ("a petabyte of nothing", "open('sparse', 'w').truncate(1 << 50)", "OSError"),
    ("a million files", "for i in range(1 << 20): open(f'/tmp/{i}', 'w')", "OSError"),
    ("a hundred thousand hard links", LINKS, "OSError"),
    ("a million descriptors", "a = []\nwhile True: a.append(os.dup(0))", "OSError"),
    ("recursion", "f = lambda: f()\nf()", "RecursionError"),
    ("deep folders", DEEP, "1"),
]


@pytest.mark.parametrize("name, code, expected", BOUNDED, ids=[r[0] for r in BOUNDED])
def test_bounded(attacker, name, code, expected):
    done = attacker.run(code)
    assert expected in (done.result, done.error.get("name")), done


MANY = """
import os, time
for i in range(6):
    if os.fork() == 0:
        b = bytearray(b'x') * (50 << 20)
        time.sleep(60)
time.sleep(60)
"""


@pytest.mark.parametrize("cgroup", ["auto", "off"])
def test_memory_of_many_processes_is_counted_together(cgroup):
    flags = ["--profile", "bare", "--memory", "128M", "--cgroup", cgroup]
    with Executor(*flags) as executor:
        session = executor.open("a")
        session.run("kept = 7")
        done = session.run(MANY)
        assert (done.status, done.state) == ("memory", "rolled_back")
        assert "its limit is 128 MiB" in done.reason
        assert session.run("kept").result == "7"


def test_memory_that_is_shared_is_counted_once(attacker):
    done = attacker.run(
        "b = bytearray(b'x') * (600 << 20)\n"
        "for i in range(5):\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(0.5)\n"
        "        os._exit(0)\n"
        "time.sleep(0.7)\n"
        "1"
    )
    assert (done.status, done.result) == ("ok", "1"), done.reason


SWALLOW = """
while True:
    try:
        while True:
            n = len('body')
    except BaseException:
        pass
"""
STOP_PARENT = """
pid = os.getpid()
if os.fork() == 0:
    os.kill(pid, 19)
    os._exit(0)
while True: pass
"""
IGNORE = "import signal\nsignal.signal(2, signal.SIG_IGN)\nwhile True: pass"
MASK = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True: pass
"""

DRAW = """
import _quern
while True:
    try:
        while True:
            _quern.drawing()
            time.sleep(0.01)
    except BaseException:
        pass
"""

# name, code, what becomes of the state
ENDLESS = [
    ("a loop in Python", "while True: pass", "kept"),
    ("sleep", "time.sleep(100)", "kept"),
    ("asyncio.run", "import asyncio\nasyncio.run(asyncio.sleep(100))", "kept"),
    ("a loop in native code", "sum(range(10**12))", "rolled_back"),
    ("SIGINT ignored", IGNORE, "rolled_back"),
    ("all signals masked", MASK, "rolled_back"),
    ("KeyboardInterrupt swallowed", SWALLOW, "rolled_back"),
    ("a loop that says it draws", DRAW, "rolled_back"),
    ("SIGSTOP", "os.kill(os.getpid(), 19)", "rolled_back"),
    ("a child that stops its parent", STOP_PARENT, "rolled_back"),
]


@pytest.mark.parametrize("name, code, state", ENDLESS, ids=[r[0] for r in ENDLESS])
def test_deadline(attacker, name, code, state):
    attacker.run("kept = 7")
    done = attacker.run("print('begun', flush=True)\n" + code, cell_ms=900)
    assert (done.status, done.state) == ("timeout", state), done
    assert "0.9 s" in done.reason
    assert done.stdout == "begun\n", "what it had said is not lost"
    assert attacker.run("kept").result == "7"


GIGABYTE = """
b = bytes(65536)
for i in range(16383): os.write(1, b)
n = os.write(1, b[:-7] + b'the end')
"""


def test_a_gigabyte_of_output_costs_nobody_memory(executor, attacker):
    done = attacker.run(GIGABYTE)
    assert done.status == "ok"
    assert done.stdout_bytes == 1 << 30
    assert len(done.raw["stdout"]) == 8 << 20
    offset, end = done.ends["stdout"]
    assert offset + len(end) == 1 << 30 and end.endswith(b"\0the end")
    with open(f"/proc/{executor.process.pid}/status") as status:
        peak = next(int(s.split()[1]) for s in status if s.startswith("VmHWM"))
    assert peak < 200 << 10, "KiB of the warden"


def test_a_consumer_that_does_not_read_slows_its_own_session_only(executor, attacker):
    other = executor.connect()
    flood = other.open("flood")
    code = "import os\nfor i in range(6 << 10): os.write(1, b'%1023d\\n' % i)"
    ref, _ = flood.start(code)
    for i in range(20):
        assert attacker.run(f"{i}").result == str(i)
    time.sleep(0.5)
    ended = [s for s in executor.process.text().splitlines() if "cell.done" in s]
    assert not any('"who":"flood"' in s for s in ended), "it waits"
    lines = flood.finish(ref).stdout.splitlines()
    assert lines == ["%1023d" % i for i in range(6 << 10)]
    flood.close()
    other.close()


DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: time.sleep(1)
    os._exit(0)
"""
HOPPING = """
if os.fork() == 0:
    os.setsid()
    while True:
        if os.fork(): os._exit(0)
"""
HOLDING = """
import subprocess
subprocess.Popen('sleep 600; echo late', shell=True, start_new_session=True)
1
"""
STRAYS = [
    ("a child", "if os.fork() == 0:\n    time.sleep(600)\n    os._exit(0)"),
    ("a daemon", DAEMON),
    ("a program", "import subprocess\np = subprocess.Popen(['sleep', '600'])"),
    ("one that hops from pid to pid", HOPPING),
    ("one that holds stdout", HOLDING),
]


@pytest.mark.parametrize("name, code", STRAYS, ids=[r[0] for r in STRAYS])
def test_strays_do_not_outlive_the_cell(attacker, name, code):
    started = time.monotonic()
    done = attacker.run(code)
    assert done.status == "ok", done.error
    assert time.monotonic() - started < 20
    if done.state == "kept":
        assert attacker.run(OTHERS + "len(others())").result == "1", "the snapshot"
    else:
        assert "could not be ended" in done.reason
