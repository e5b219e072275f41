"""Each wall matters: without it, something gets through that must not."""

import os
import re
import signal
import tempfile
from pathlib import Path

import pytest
from conftest import FORKS
from executor_client import Executor
from servers import Process, binary, wait_until


def check(without=""):
    args = [binary("quern-executor"), "--check", "--profile", "bare"]
    process = Process(args, env={"QUERN_WITHOUT_WALL": without}).start()
    return process.wait(60), process.text()


def test_the_self_test_passes_with_all_walls():
    code, said = check()
    assert code == 0, said
    assert "landlock" in said and "seccomp" in said


# Without it, this is what is told.
NEEDED = [
    ("seccomp", "no network"),
    ("landlock", "what /proc shows"),
    ("user", "no box could be made: "),
    ("mnt", "no box could be made: root"),
    ("pid", "no process of others is seen"),
]


@pytest.mark.parametrize("wall, told", NEEDED, ids=[r[0] for r in NEEDED])
def test_nobody_is_served_without(wall, told):
    code, said = check(without=wall)
    assert code == 69, said
    assert "cannot be boxed here" in said
    assert told in said.split("cannot be boxed here")[1]


def test_a_program_that_cannot_be_started_is_named():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # the user that runs boxes gets there
        path = Path(folder) / "quern-box"
        path.write_text("#!/nothing/there\n")
        path.chmod(0o755)
        args = [binary("quern-executor"), "--check", "--profile", "bare", "--box", path]
        process = Process([*map(str, args)]).start()
        assert process.wait(60) == 69, process.text()
    assert f"no box could be made: {path} could not be started" in process.text()


def test_a_guest_that_does_not_start_is_no_riddle():
    args = [binary("quern-executor"), "--check", "--profile", "bare"]
    process = Process([*args, "--guest", "/bin/false"]).start()
    # Whoever waits for one that may come up waits for a minute.
    assert process.wait(40) == 69, process.text()
    last = process.text().splitlines()[-1]
    assert last.startswith("quern-executor: no session can begin here: ")
    assert "quern-guest does not start" in last


# As container engines do with parts of /proc: the kernel then refuses a new one.
MASK = 'mount --bind /dev/null /proc/timer_list && exec "$@"'
MASKED = ["unshare", "-m", "sh", "-c", MASK]


@pytest.mark.skipif(os.geteuid() != 0, reason="masks a file of /proc: needs root")
def test_without_a_proc_of_its_own_a_box_still_holds():
    executor = [binary("quern-executor"), "--check", "--profile", "bare"]
    args = [*MASKED, "sh", *executor, "--cgroup", "off"]
    process = Process(args).start()
    assert process.wait(60) == 0, process.text()
    assert "rlimit of each process" in process.text()
    process = Process([*args, "--level", "watched"]).start()
    assert process.wait(60) == 69, process.text()
    assert "cannot be watched" in process.text()


# An ordinary user in a place where no namespace may be made.
NO_NAMESPACES = """
echo 0 >/proc/sys/user/max_user_namespaces
exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$@"
"""
ORDINARY = ["setpriv", "--reuid", "61184", "--regid", "61184", "--clear-groups"]


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user: needs root")
def test_without_user_namespaces_nobody_is_served_and_the_remedy_is_told():
    place = ["unshare", "-U", "--map-current-user", "--keep-caps"]
    executor = [binary("quern-executor"), "--check", "--profile", "bare"]
    shell = ["sh", "-c", NO_NAMESPACES, "sh"]
    process = Process([*ORDINARY, *place, *shell, *executor]).start()
    assert process.wait(60) == 69, process.text()
    assert "cannot be boxed here" in process.text()
    assert "sysctl user.max_user_namespaces=" in process.text()
    assert "--insecure" in process.text()


BOUNDING = "open('/proc/self/status').read().split('CapBnd:')[1].split()[0].strip('0')"

OURS = "import os; os.readlink('/proc/self/ns/{0}') == '{1}'"

# wall, code, its value while the wall stands
TELLING = [
    ("rlimits", FORKS, "True"),
    ("caps", BOUNDING, "''"),
    *[
        (name, OURS.format(name, os.readlink(f"/proc/self/ns/{name}")), "False")
        for name in ("net", "ipc", "uts", "cgroup")
    ],
]


@pytest.mark.parametrize("wall, code, value", TELLING, ids=[r[0] for r in TELLING])
@pytest.mark.parametrize("standing", [True, False], ids=["standing", "missing"])
def test_an_attack_tells_whether_it_stands(wall, code, value, standing):
    env = {} if standing else {"QUERN_WITHOUT_WALL": wall}
    with Executor("--profile", "bare", "--cgroup", "off", env=env) as executor:
        done = executor.open("a").run(code)
        assert (done.result == value) is standing, done


# Reaches whoever is in the same process group, in whatever pid namespace.
GROUP = """
import os, signal
os.setpriority(os.PRIO_PGRP, 0, 19)
signal.signal(signal.SIGUSR1, lambda *_: print("mine"))
os.kill(0, signal.SIGUSR1)
"""


@pytest.mark.parametrize("flags", [[], ["--insecure"]], ids=["boxed", "insecure"])
def test_a_group_of_processes_ends_at_the_session(flags):
    """On kernels before 6.12, where Landlock does not keep signals inside."""
    env = {"QUERN_WITHOUT_WALL": "scopes"}
    flags = ["--ready", "0", *flags]  # or one of those there becomes session a
    with Executor("--profile", "bare", *flags, env=env) as executor:
        isolation = executor.connection.welcome["isolation"]
        assert int(re.search(r"landlock (\d+)", isolation)[1]) < 6
        neighbour = executor.open("neighbour")
        neighbour.run("import os")
        there = descendants(executor.process.pid)
        done = executor.open("a").run(GROUP)
        assert (done.status, done.stdout) == ("ok", "mine\n"), done
        alive = [executor.process.pid, *filter(is_alive, there)]
        ours = os.getpriority(os.PRIO_PROCESS, 0)
        assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in alive} == {ours}
        assert neighbour.run("os.nice(0)").result == str(ours)


def test_no_secret_of_the_environment_gets_in():
    env = {"OPENAI_API_KEY": "sk-secret", "REDIS_URL": "redis://:secret@host"}
    with Executor("--profile", "bare", env=env) as executor:
        session = executor.open("a")
        code = "import os\n'secret' in repr(os.environ)"
        assert session.run(code).result == "False"
        done = session.run("b'secret' in open('/proc/self/environ', 'rb').read()")
        assert done.result == "False" or done.error["name"] == "PermissionError"


def status_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file)


def zygote_of(warden):
    """The one that is in no box."""
    (pid,) = (
        pid
        for pid in descendants(warden)
        if "quern-guest" in name_of(pid) and len(status_of(pid)["NSpid"].split()) == 1
    )
    return pid


def held_by(pid, *but):
    """The kinds of its descriptors; [] when they change under our eyes."""
    fds = f"/proc/{pid}/fd"
    try:
        held = [os.readlink(f"{fds}/{fd}") for fd in os.listdir(fds)]
    except OSError:
        return []
    held = [what for what in held if what not in ("/dev/null", *but)]
    return sorted(what.split("[")[0] for what in held)


def test_warden_and_zygote_hold_nothing_that_is_worth_taking():
    with Executor("--profile", "bare", env={"OPENAI_API_KEY": "secret"}) as executor:
        executor.open("a").run("1")
        warden = executor.process.pid
        zygote = zygote_of(warden)
        for pid in (warden, zygote):
            status = status_of(pid)
            assert status["Uid"].split()[0] != "0", "an ordinary user"
            assert {int(status[c], 16) for c in ("CapEff", "CapPrm", "CapInh")} == {0}
            assert os.stat(f"/proc/{pid}/environ").st_uid == 0, "not dumpable"
        if os.geteuid() == 0:  # nobody else may look
            with open(f"/proc/{zygote}/environ", "rb") as environ:
                assert b"secret" not in environ.read()
            log = os.readlink(f"/proc/{warden}/fd/2")
            # While it forks it has what the child is given.
            wait_until(
                lambda: held_by(zygote, log) == ["anon_inode:", "socket:"],
                what="the zygote holds its signals and its channel",
            )


def test_insecure_works_and_says_so_everywhere():
    with Executor("--profile", "bare", "--insecure") as executor:
        assert executor.connection.welcome["isolation"].startswith("insecure")
        session = executor.open("a")
        session.put("in.txt", b"in")
        done = session.run("n = open('out.txt', 'w').write(open('in.txt').read() * 2)")
        assert done.files == {"out.txt": "new"}, done
        assert session.get("out.txt") == b"inin"
        done = session.run("sum(range(10**12))", cell_ms=300)
        assert (done.status, done.state) == ("timeout", "lost")
        assert "variables are lost, files are kept" in done.reason
        assert session.run("import os; len(os.listdir())").result == "2"
        assert session.run("import socket; socket.socket()").status == "error"
        folder = session.run("os.getcwd()").result.strip("'")
        session.run("os.makedirs('a/b'); open('a/b/c', 'w'); os.chmod('a/b', 0)")
        session.run("os.chmod('a', 0)")
        session.close()
        wait_until(lambda: not os.path.exists(folder), what=f"{folder} goes")


def descendants(pid):
    found = []
    for task in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{task}/stat") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found += [int(task), *descendants(int(task))]
    return found


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as comm:
            return comm.read()
    except OSError:  # it has just ended
        return ""


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


BUSY = """
import os, time
if os.fork() == 0:
    time.sleep(600)
while True:
    pass
"""


HOW = ["stopped", "killed", "killed with a zygote that hangs"]


@pytest.mark.parametrize("how", HOW)
def test_nothing_is_left_when_the_executor_is(how):
    executor = Executor("--profile", "bare")
    executor.open("a").start(BUSY)
    executor.open("b").run("1")
    there = descendants(executor.process.pid)
    assert len(there) >= 5, "zygote, two boxes, two interpreters"
    if "hangs" in how:
        os.kill(next(p for p in there if "quern-guest" in name_of(p)), signal.SIGSTOP)
    if "killed" in how:
        executor.process.kill()
    else:
        assert executor.stop() == 0
    wait_until(lambda: not any(map(is_alive, there)), what=f"{there} end")
    executor.stop()
