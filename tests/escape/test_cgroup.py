"""Limits of a whole box, by cgroups: what the kernel counts that nobody sees."""

import os
import signal

import pytest
from cgroups import own_folders
from conftest import FORKS
from executor_client import Executor
from servers import Process, binary, wait_until

OFF = ["--cgroup", "off"]
SMALL = ["--profile", "bare", "--memory", "128M", "--ready", "0"]


def check(*flags, by=()):
    args = [*by, binary("quern-executor"), "--check", "--profile", "bare", *flags]
    process = Process(args).start()
    return process.wait(60), process.text()


@pytest.fixture(scope="module", autouse=True)
def cgroups():
    """Only where there are some: as root, or where systemd has delegated."""
    code, said = check()
    assert code == 0, said
    if "by cgroup" not in said:
        pytest.skip(said.splitlines()[-1])


@pytest.fixture
def executor():
    with Executor(*SMALL) as executor:
        neighbour = executor.open("neighbour")
        neighbour.run("mine = 41")
        yield executor
        assert neighbour.run("mine + 1").result == "42", "the neighbour's variables"
        assert executor.process.stop() == 0, executor.process.text()


def linux():
    return tuple(int(n) for n in os.uname().release.split("-")[0].split(".")[:2])


# Files are memory too, but no process's own.
FILE = "open('/dev/shm/a', 'wb').write(bytes(64 << 20))"
HUNGER = FILE + "\na = []\nwhile True: a.append(b'x' * (1 << 20))"


def test_where_it_was_is_known_when_the_kernel_has_killed_it(executor):
    session = executor.open("a")
    code = (
        FILE + "\nimport time\na = []\n"
        "while True: a.append(b'x' * (1 << 20)); time.sleep(0.01)"
    )
    done = session.run(code)
    assert (done.status, " at line 4;" in done.reason) == ("memory", True), done


def test_it_is_where_it_died_and_not_where_it_was_asked(executor):
    """It comes near its limit, is asked where it is, and goes on to crash."""
    session = executor.open("a")
    code = (
        "import ctypes, time\n"
        "a = [b'x' * (1 << 20) for _ in range(85)]\n"
        "for _ in range(10): a.append(b'x' * (1 << 20)); time.sleep(0.02)\n"
    )
    done = session.run(code + "ctypes.string_at(0)")
    assert (done.status, " at line 4;" in done.reason) == ("crashed", True), done
    done = session.run(code + "__import__('os')._exit(1)")
    assert (done.status, " at line " in done.reason) == ("crashed", False), done


def test_a_session_that_the_kernel_kills_goes_back(executor):
    session = executor.open("a")
    session.run("kept = 7")
    for _ in range(5):
        done = session.run(HUNGER)
        assert (done.status, done.state) == ("memory", "rolled_back"), done
        assert "its limit is 128 MiB" in done.reason
        assert 120 << 20 <= done.peak_bytes <= 128 << 20
        assert session.run("import os; os.unlink('/dev/shm/a'); kept").result == "7"
    if "cgroup v1" in executor.connection.welcome["isolation"] or linux() >= (6, 12):
        assert session.run("1").peak_bytes < 64 << 20, "the peak is of a cell"


CHILD = """
import os
if os.fork() == 0:
    open('/dev/shm/a', 'wb').write(bytes(100 << 20))
    b = b'x' * (100 << 20)
    os._exit(0)
os.wait()[1]
"""


def test_it_is_told_that_a_child_was_killed(executor):
    session = executor.open("a")
    done = session.run(CHILD)
    if done.status == "ok":  # it was over before anybody looked
        assert done.result == "9" and "1 of its processes was killed" in done.reason
    else:
        assert (done.status, done.state) == ("memory", "rolled_back"), done


# 200 KiB wait in each of 250 sockets that each of 12 processes has.
SOCKETS = """
import os, socket, time
def fill():
    pair = socket.socketpair()
    pair[0].setblocking(False)
    try:
        while True: pair[0].send(bytes(4096))
    except BlockingIOError:
        return pair
for i in range(12):
    if os.fork() == 0:
        kept = [fill() for _ in range(250)]
        open(f'full{i}', 'w')
        time.sleep(60)
until = time.monotonic() + 20
while len(os.listdir()) < 12 and time.monotonic() < until:
    time.sleep(0.01)
len(os.listdir())
"""


@pytest.mark.parametrize("flags", [[], OFF], ids=["standing", "missing"])
def test_what_waits_in_sockets_is_counted(flags):
    with Executor(*SMALL, *flags) as executor:
        session = executor.open("a")
        session.run("kept = 7")
        done = session.run(SOCKETS)
        if flags:
            assert done.result == "12", "600 MiB, and nobody has seen them"
        else:
            assert (done.status, done.state) == ("memory", "rolled_back"), done
        assert session.run("kept").result == "7"


@pytest.mark.parametrize("flags", [[], OFF], ids=["standing", "missing"])
def test_processes_are_counted(flags):
    env = {"QUERN_WITHOUT_WALL": "rlimits"}
    with Executor("--profile", "bare", *flags, env=env) as executor:
        assert executor.open("a").run(FORKS).result == str(not flags)


BUSY = """
import os, time
for i in range({0} - 1):
    if os.fork() == 0:
        while True: pass
until, before = time.monotonic() + {1}, time.process_time()
while time.monotonic() < until: pass
time.process_time() - before
"""


def autogroups():
    """The kernel itself is fair between sessions of processes, in the root."""
    try:
        with open("/proc/sys/kernel/sched_autogroup_enabled") as file:
            return file.read().strip() == "1"
    except OSError:
        return False


@pytest.mark.parametrize("flags", [[], OFF], ids=["standing", "missing"])
def test_many_processes_get_no_more_time_than_one(flags):
    """On one processor; whatever else runs there, the two are compared."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        with Executor("--profile", "bare", *flags) as executor:
            one, many = executor.open("one"), executor.open("many")
            # Where others leave them next to nothing, for longer.
            for seconds in (2, 4, 8, 16):
                asked, _ = many.start(BUSY.format(8, seconds))
                mine = float(one.run(BUSY.format(1, seconds)).result)
                theirs = 8 * float(many.finish(asked).result)
                if mine + theirs > 0.8:
                    break
    finally:
        os.sched_setaffinity(0, before)
    fair = not flags or autogroups()
    assert (mine > theirs / 3) == fair, (mine, theirs)


def names():
    return {os.path.join(f, n) for f in own_folders() for n in subfolders(f)}


def subfolders(folder):
    return [e.name for e in os.scandir(folder) if e.is_dir()]


def processes(folder):
    try:
        with open(os.path.join(folder, "cgroup.procs")) as file:
            return set(map(int, file.read().split()))
    except OSError:
        return set()


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return "gone"


def boxes(executor):
    """What runs in them, by hierarchy: a list of names for each box."""
    folders = [f for f in names() if f.endswith(f"/{executor.process.pid}")]
    assert folders
    return [
        sorted(
            sorted(map(comm, processes(os.path.join(folder, box))))
            for box in set(subfolders(folder)) - {"warden"}
        )
        for folder in folders
    ]


READY, USED = ["quern-box"], ["quern-box", "quern-guest", "quern-guest"]


def test_all_of_a_box_is_in_its_cgroup_and_nobody_else(executor):
    executor.open("a").run("1")
    wait_until(
        lambda: all(b == [READY, READY, USED, USED] for b in boxes(executor)),
        what="two sessions with their snapshots, two boxes ahead",
    )


def test_a_box_takes_its_cgroup_along(executor):
    for i in range(10):
        session = executor.open(f"a{i}")
        session.run("1")
        session.close()
    wait_until(
        lambda: all(b == [READY, READY, USED] for b in boxes(executor)),
        what="cgroups go with their boxes",
    )


def test_what_a_killed_executor_leaves_goes_with_the_next_one():
    killed = Executor("--profile", "bare")
    try:
        killed.open("a").run("1")
        left = {f for f in names() if f.endswith(f"/{killed.process.pid}")}
        assert left
        with Executor("--profile", "bare") as alive:
            both = {os.path.basename(f) for f in names()}
            assert {str(killed.process.pid), str(alive.process.pid)} <= both
            killed.process.kill()
            with Executor("--profile", "bare") as following:
                assert not left & names()
                assert following.open("a").run("1").status == "ok"
            assert alive.open("a").run("1").status == "ok"
    finally:
        killed.stop()


def test_a_minimum_can_be_demanded():
    code, said = check("--level", "full")
    assert code == 0, said
    code, said = check("--level", "watched", *OFF)
    assert code == 0, said
    assert "by watchdog" in said
    code, said = check("--level", "full", *OFF)
    assert code == 69, said
    assert "fewer walls than demanded: not limited by a cgroup: memory" in said
    assert "(--cgroup off)" in said


ORDINARY = ["setpriv", "--reuid", "61300", "--regid", "61300", "--clear-groups"]


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user: needs root")
def test_an_ordinary_user_is_told_what_is_missing_and_how_to_get_it():
    code, said = check(by=ORDINARY)
    assert code == 0, said
    assert "memory 2048 MiB by watchdog" in said
    assert "not limited by a cgroup: memory, pids, cpu" in said
    assert "Permission denied" in said and "Delegate=yes" in said


# As who counts its processes apart from us, in a container, may have the folder of
# our process's number, and is alive: a child keeps the locks, until the test ends it.
TAKES_ITS_NAME = """
import fcntl, os, sys
keeper, *folders, end = sys.argv[1:sys.argv.index("--") + 1]
for folder in folders:
    own = f"{folder}/{os.getpid()}"
    os.mkdir(own)
    lock = os.open(own, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.set_inheritable(lock, True)
child = os.fork()
if child == 0:
    os.closerange(0, 3)
    os.execv("/bin/sleep", ["sleep", "60"])
with open(keeper, "w") as file:
    file.write(str(child))
words = sys.argv[sys.argv.index("--") + 1:]
os.execv(words[0], words)
"""


def is_at_work(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_name_that_another_executor_has_is_left_to_it(tmp_path):
    keeper = tmp_path / "keeper"
    with Executor("--profile", "bare") as other:
        folders = sorted({os.path.dirname(f) for f in names()})
        way = ["/usr/bin/python3", "-c", TAKES_ITS_NAME, keeper, *folders, "--"]
        with Executor(*SMALL, within=way) as executor:
            pid = executor.process.pid
            assert {f"{folder}/{pid}-1" for folder in folders} <= names()
            assert executor.open("a").run("1").status == "ok"
        left = {os.path.basename(folder) for folder in names()}
        assert {str(pid), str(other.process.pid)} <= left and f"{pid}-1" not in left
    child = int(keeper.read_text())
    os.kill(child, signal.SIGKILL)
    wait_until(lambda: not is_at_work(child), what="nobody has the name")
    with Executor("--profile", "bare"):
        assert not {f"{folder}/{pid}" for folder in folders} & names()
