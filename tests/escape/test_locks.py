"""What a lock or a time is set on is the box's own: neither the host nor a
neighbour finds its files or devices locked."""

import fcntl
import os
import re
import struct

import pytest
from executor_client import Executor
from servers import Process, binary

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="makes devices: needs root")
OVERLAY = "overlay" in open("/proc/filesystems").read()
FILES = [
    path
    for path in (
        "/usr/bin/env",
        "/etc/ld.so.cache",
        "/etc/mime.types",
        "/usr/bin",
        "/etc/alternatives",
        "/usr/share/zoneinfo",
    )
    if os.path.exists(path)
]
DEVICES = ["/dev/null", "/dev/full", "/dev/random", "/dev/urandom"]
# Keeps the locks for as long as the session lives.
LOCK = """
import fcntl, os
held = {{}}
for path in {}:
    fd = os.open(path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    held[path] = fd
    if not os.path.isdir(path):
        reader = os.open(path, os.O_RDONLY)
        fcntl.lockf(reader, fcntl.LOCK_SH | fcntl.LOCK_NB)
        held[path, "posix"] = reader
len(held)
"""


def locked(paths, kinds):
    """Those of the paths that the host cannot lock."""
    found = []
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            found.append(path)
        os.close(fd)
        if "posix" in kinds and os.geteuid() == 0 and os.path.isfile(path):
            found += [path] * is_read_locked(path)
    return found


def is_read_locked(path):
    """Asks only: whoever wants to write would have to wait."""
    fd = os.open(path, os.O_RDONLY)
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    kind = struct.unpack("hhqqi4x", fcntl.fcntl(fd, fcntl.F_GETLK, lock))[0]
    os.close(fd)
    return kind != fcntl.F_UNLCK


def check(executor, paths):
    attacker, neighbour = executor.open("attacker"), executor.open("neighbour")
    done = attacker.run(LOCK.format(paths))
    assert done.status == "ok", done
    assert locked(paths, {"flock", "posix"}) == []
    done = neighbour.run(LOCK.format(paths))
    assert done.status == "ok", done


@pytest.mark.skipif(not OVERLAY, reason="this kernel has no overlayfs")
def test_no_file_of_the_host_can_be_locked():
    with Executor("--profile", "bare") as executor:
        check(executor, FILES)


@ROOT
def test_no_device_of_the_host_can_be_locked():
    with Executor("--profile", "bare") as executor:
        check(executor, DEVICES)


@ROOT
def test_the_program_that_boxes_share_can_be_neither_locked_nor_touched():
    refused = """
import os
for act in (os.open, os.utime):
    try:
        act("/proc/self/exe", *[os.O_RDONLY] * (act is os.open))
    except PermissionError as error:
        print(error.errno)
"""
    with Executor("--profile", "bare") as executor:
        assert executor.open("a").run(refused).stdout == "13\n13\n"


TIMES = """
import os
refused = []
for path in {}:
    try:
        os.utime(path)
    except OSError:
        refused.append(path)
open("/dev/null", "w").write("gone")
try:
    print(1, file=open("/dev/full", "w", buffering=1))
except OSError as error:
    refused.append(error.errno)
(refused, open("/dev/null").read(), len(open("/dev/urandom", "rb").read(9)))
"""


@pytest.mark.parametrize("without", ["", "devices"], ids=["own", "the host's"])
def test_times_of_the_host_do_not_move(without):
    paths = [*FILES[:2], *DEVICES]
    env = {"QUERN_WITHOUT_WALL": without}
    with Executor("--profile", "bare", env=env) as executor:
        before = [os.stat(path).st_mtime_ns for path in paths]
        done = executor.open("a").run(TIMES.format(paths))
        assert done.result == repr((paths + [28], "", 9)), done
        assert [os.stat(path).st_mtime_ns for path in paths] == before


WORKS = """
import dbm.dumb, fcntl, os, sqlite3, tempfile
for folder in ("/workspace", "/tmp", "/dev/shm"):
    with open(folder + "/lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    db = sqlite3.connect(folder + "/db")
    with db: db.execute("create table t (n)")
    with db: db.execute("insert into t values (41)")
db.execute("select n + 1 from t").fetchone()
"""


def test_locks_of_its_own_files_work():
    with Executor("--profile", "bare") as executor:
        assert executor.open("a").run(WORKS).result == "(42,)"


LEFT_OUT = [
    ("overlay", "the host's files, devices of its own", "lock the system's files"),
    ("devices", "files of its own, the host's devices", "can lock /dev/null"),
    ("overlay,devices", "the host's files and devices", "can lock /dev/null"),
]


@ROOT
@pytest.mark.parametrize("wall, isolation, lack", LEFT_OUT, ids=[r[0] for r in LEFT_OUT])
def test_what_is_the_hosts_is_owned_up_to(wall, isolation, lack):
    args = [binary("quern-executor"), "--check", "--profile", "bare"]
    process = Process(args, env={"QUERN_WITHOUT_WALL": wall}).start()
    assert process.wait(60) == 0, process.text()
    assert f"; {isolation}; " in process.text()
    assert lack in process.text()


@ROOT
def test_something_mounted_within_the_system_is_no_obstacle():
    """The kernel allows no overlay then: boxes have the host's folder, and say so."""
    mounted = "mount --bind /usr/share/misc /usr/share/misc && exec \"$@\""
    args = ["unshare", "-m", "sh", "-c", mounted, "sh", binary("quern-executor")]
    process = Process([*args, "--check", "--profile", "bare"]).start()
    assert process.wait(60) == 0, process.text()
    assert "; the host's files, devices of its own; " in process.text()


def test_a_box_shows_no_path_of_the_host():
    build = re.escape(os.path.dirname(os.path.dirname(binary("quern-executor"))))
    code = """
import os
text = os.readlink("/proc/self/exe")
for name in ("maps", "mountinfo", "mounts", "cmdline", "smaps"):
    text += open("/proc/self/" + name).read()
for name in ("mountinfo", "mounts", "cmdline"):
    text += open("/proc/1/" + name).read()
text
"""
    with Executor("--profile", "bare") as executor:
        text = executor.open("a").run(code + "print(text)").stdout
        assert not re.findall(build + r"[^\s]*|/dev/[vsn][dv][^ ]*", text)
        assert executor.folder not in text
