"""What the kernel counts for each user: a box has a user of its own, so that it
uses up nothing of its neighbours', nor of another executor's."""

import contextlib
import os
import re
import signal
import subprocess
import time

import pytest
from conftest import OTHERS
from executor_client import Executor
from servers import Process, binary, wait_until

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="ids of others: needs root")

# Three lines: more descriptors on their way than a user may have.
IN_FLIGHT = """
import os, socket
pairs = [socket.socketpair() for _ in range(4)]
for a, _ in pairs: socket.send_fds(a, [b"x"], [0] * 250)
"""
# As much as the pipes of one user may have; then a pipe has one page or two.
PIPES = """
import contextlib, fcntl, os
fds = []
while len(fds) < 200:
    fds.append(os.pipe())
    with contextlib.suppress(OSError):
        fcntl.fcntl(fds[-1][0], 1031, 1 << 20)
"""
PIPE_BYTES = "import fcntl, os; fcntl.fcntl(os.pipe()[0], 1032)"
SIGNALS = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
for _ in range(3000):
    os.kill(os.getpid(), 40)
int(open("/proc/self/status").read().split("SigQ:")[1].split("/")[0]) < 200
"""


def user_of(session):
    """The id outside of whoever runs the cells of a session."""
    session.run("import ctypes; ctypes.CDLL(None).prctl(15, b'whoami')")
    session.list()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as status:
            text = status.read()
            if text.startswith("Name:\twhoami\n"):
                session.run("ctypes.CDLL(None).prctl(15, b'known')")
                session.list()  # the parked process has the old name until then
                return int(re.search(r"Uid:\t(\d+)", text)[1])
    raise AssertionError("nobody")


def keeps_its_variables(neighbour):
    assert neighbour.run("mine = 41").status == "ok"
    done = neighbour.run("import os; os._exit(1)")
    assert done.state == "rolled_back", done.reason
    return neighbour.run("mine + 1").result == "42"


@ROOT
@pytest.mark.parametrize("whose", ["the same executor's", "another executor's"])
def test_descriptors_in_flight_are_nobody_elses(whose):
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(Executor("--profile", "bare"))
        second = first
        if whose == "another executor's":
            second = stack.enter_context(Executor("--profile", "bare"))
        attacker, neighbour = first.open("attacker"), second.open("neighbour")
        assert attacker.run(IN_FLIGHT).status in ("ok", "error")
        assert keeps_its_variables(neighbour)


@ROOT
def test_pages_of_pipes_are_nobody_elses():
    with Executor("--profile", "bare") as executor:
        attacker, neighbour = executor.open("attacker"), executor.open("neighbour")
        assert attacker.run(PIPES).status == "ok"
        assert attacker.run(PIPE_BYTES).result in ("4096", "8192")
        assert neighbour.run(PIPE_BYTES).result == "65536"


def test_pending_signals_are_bounded():
    with Executor("--profile", "bare") as executor:
        done = executor.open("a").run(SIGNALS)
        assert done.result == "True", done


@ROOT
def test_each_box_has_a_user_and_lends_it_again():
    """More sessions than there are ids, one after the other, and all at once."""
    flags = ["--profile", "bare", "--ready", "1", "--uid-range", "1910000000-1910000015"]
    with Executor(*flags) as executor:
        assert "a user id for each box" in executor.connection.welcome["isolation"]
        (line,) = [s for s in executor.process.text().splitlines() if "user ids" in s]
        most = int(re.search(r'"text":"(\d+) sessions', line)[1])
        assert 5 <= most < 16
        for _ in range(3):
            sessions = [executor.open(f"s{i}") for i in range(most)]
            users = [user_of(session) for session in sessions]
            assert len({*users}) == most, "one each"
            assert all(1910000000 <= user <= 1910000015 for user in users)
            for session in sessions:
                session.close()
        for i in range(40):
            session = executor.open(f"t{i}")
            assert session.run("1 + 1").result == "2"
            session.close()


@ROOT
def test_executors_share_a_range_and_no_id():
    flags = ["--profile", "bare", "--ready", "1", "--sessions", "8"]
    with Executor(*flags) as first, Executor(*flags) as second:
        users = [user_of(e.open("a")) for e in (first, second)]
        assert users[0] // 256 != users[1] // 256, "a block each"
        own = os.stat(f"/proc/{first.process.pid}").st_uid
        assert own not in users


@ROOT
@pytest.mark.skipif(not os.path.exists("/etc/subuid"), reason="there is no /etc/subuid")
def test_a_range_of_its_user_is_taken_from_subuid(tmp_path):
    """What both files give it; the lines of others count for nothing."""
    lines = ["nobody:100000:65536\n", "{}:195000{}:4096\n"]
    names = ["quern", "61184"]  # the account, or the number where there is none
    for file, first in (("subuid", "0000"), ("subgid", "1024")):
        text = lines[0] + "".join(lines[1].format(name, first) for name in names)
        (tmp_path / file).write_text(text)
    mounted = [f"mount --bind {tmp_path}/{x} /etc/{x} && " for x in ("subuid", "subgid")]
    within = ["unshare", "-m", "sh", "-c", "".join(mounted) + 'exec "$@"', "sh"]
    flags = ["--profile", "bare", "--ready", "1", "--sessions", "4"]
    with Executor(*flags, within=within) as executor:
        assert "a user id for each box" in executor.connection.welcome["isolation"]
        users = {user_of(executor.open(name)) for name in "abc"}
        assert len(users) == 3
        assert all(1950001024 <= user < 1950004096 for user in users), users


@ROOT
def test_ids_of_processes_that_live_are_not_lent():
    held = subprocess.Popen(["setpriv", "--reuid=1920000000", "sleep", "60"])
    flags = ["--profile", "bare", "--ready", "1", "--uid-range", "1920000000-1920000255"]
    try:
        time.sleep(0.2)
        with Executor(*flags) as executor:
            assert user_of(executor.open("a")) > 1920000000
    finally:
        held.kill()
        held.wait()


@ROOT
def test_one_user_for_all_is_owned_up_to():
    args = [binary("quern-executor"), "--check", "--profile", "bare"]
    process = Process([*args, "--uid-range", "off"]).start()
    assert process.wait(60) == 0, process.text()
    assert "one user id for all boxes" in process.text()
    assert "--uid-range off" in process.text()


@pytest.mark.parametrize("given", ["5", "9-5", "1-3", "0-99", "a-b", "1-9999999999"])
def test_a_range_that_is_none_is_refused(given):
    args = [binary("quern-executor"), "--check", "--uid-range", given]
    process = Process(args).start()
    assert process.wait(60) == 64, process.text()
    assert f'--uid-range is "{given}", must be auto, off, or FIRST-LAST' in process.text()


@ROOT
def test_a_range_that_cannot_be_had_is_refused():
    ordinary = ["setpriv", "--reuid=61184", "--regid=61184", "--clear-groups"]
    args = [*ordinary, binary("quern-executor"), "--check", "--profile", "bare"]
    process = Process([*args, "--uid-range", "1930000000-1930000255"]).start()
    assert process.wait(60) == 69, process.text()
    assert "--uid-range 1930000000-1930000255: " in process.text()
    process = Process(args).start()
    assert process.wait(60) == 0, "as before, and says so"
    assert "one user id for all boxes" in process.text()
    assert "no range for user 61184" in process.text()


@ROOT
def test_rights_that_a_unit_gives_for_the_start_are_given_up():
    """As systemd does with AmbientCapabilities=."""
    caps = "+setuid,+setgid,+sys_admin,+mknod"
    place = 'chown 61184 "$(dirname "$3")"; exec setpriv --reuid=61184 '
    place += "--regid=61184 --clear-groups --no-new-privs "
    place += f"--inh-caps=-all,{caps} --ambient-caps=-all,{caps} "
    place += f'--bounding-set=-all,{caps} "$@"'
    unit = ["sh", "-c", place, "sh"]
    with Executor("--profile", "bare", within=unit) as executor:
        isolation = executor.connection.welcome["isolation"]
        assert "a user id for each box; files and devices of its own" in isolation
        assert executor.open("a").run("1 + 1").result == "2"
        with open(f"/proc/{executor.process.pid}/status") as status:
            text = status.read()
        for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            assert int(re.search(name + r":\t(\w+)", text)[1], 16) == 0, name


FILES = """
import os
os.umask(0o077)
os.makedirs("closed/in", exist_ok=True)
open("closed/in/f", "w").write("mine")
os.chmod("closed", 0o700)
open("locked", "w").write("x")
os.chmod("locked", 0)
print("heard", file=open("/dev/stdout", "w"))
os.system("echo too > /dev/stderr")
os.stat("f").st_uid if os.path.exists("f") else None
"""


def test_files_are_the_users_and_come_out_all_the_same():
    with Executor("--profile", "bare") as executor:
        session = executor.open("a")
        session.put("f", b"given")
        done = session.run(FILES)
        assert (done.result, done.stdout, done.stderr) == ("1000", "heard\n", "too\n")
        assert done.files == {"closed/in/f": "new", "locked": "new"}
        assert session.get("closed/in/f") == b"mine"
        with pytest.raises(Exception, match="Permission denied"):
            session.get("locked")
        session.put("new/f", b"from outside")
        assert session.run("open('new/f', 'a').write('!')").status == "ok"
        assert session.run("os.chmod('.', 0); os.listdir('closed')").status == "error"
        assert session.run("1").result == "1"
        assert session.run("os.chmod('/workspace', 0o700)").status == "ok"
        assert session.get("new/f") == b"from outside!"


@ROOT
def test_a_killed_executor_leaves_no_id_in_doubt_for_long():
    flags = ["--profile", "bare", "--uid-range", "1940000000-1940000255"]
    with Executor(*flags) as first:
        first.open("a").run("1")
        os.kill(first.process.pid, signal.SIGKILL)
    with Executor(*flags) as second:
        users = {user_of(second.open(f"s{i}")) for i in range(3)}
        assert len(users) == 3
        wait_until(lambda: second.open("more").run("1").result == "1")


KILL_SNAPSHOT = "import os, time\n" + OTHERS + "os.kill(others()[-1], 9)\n"


def test_a_cell_without_a_snapshot_is_told():
    with Executor("--profile", "bare", "--processes", "8") as executor:
        session = executor.open("a")
        session.run("x = 1")
        session.run("import resource; resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))")
        done = session.run("x")
        assert done.result == "1" and "no snapshot was kept of the cell before this one (" in done.reason
        done = session.run("import os; os._exit(1)")
        assert "variables are as they were after cell 1" in done.reason, done.reason
        killed = executor.open("b")
        killed.run("x = 1")
        killed.list()
        done = killed.run(KILL_SNAPSHOT + "time.sleep(0.1)")
        assert "of the cell before this one (it has ended)" in done.reason, done
