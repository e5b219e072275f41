"""walls.py - what pip may do while it reads what strangers wrote.

    rlimits    memory, time, the size of a file
    Landlock   reads the system and the wheels, writes the store; runs nothing;
               signals nobody; opens no connection unless there is an index
    audit      starts no program and no process, connects to no unix socket

Source packages are kept out for good because no program can be run: pip builds them,
and fetches them from version control, by running programs.
"""

import ctypes
import os
import resource
import sys

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = (1 << bit for bit in range(4))
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
ABI_1 = REFER - 1
OF_FILES = WRITE_FILE | READ_FILE | TRUNCATE
READ = READ_FILE | READ_DIR
NET_TCP, SCOPES = 3, 3

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PR_SET_NO_NEW_PRIVS = 38
RULE_PATH_BENEATH = 1

MEMORY_BYTES = 2 << 30
CPU_SECONDS = 120

SYSTEM = (
    "/usr",
    "/bin",
    "/lib",
    "/lib64",
    "/etc",
    "/dev/urandom",
    "/run/systemd/resolve",  # /etc/resolv.conf leads there
)

libc = ctypes.CDLL(None, use_errno=True)


class Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("fs", "net", "scoped")]


class PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def enter(read, write, network, file_bytes):
    """Puts up all walls, for good."""
    for what, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(what, (most, most))
    enter_landlock([*SYSTEM, *read], [*write, "/dev/null"], network)
    sys.addaudithook(refuse)


def refuse(event, args):
    if event in ("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn"):
        raise PermissionError(f"{event} while packages are installed")
    if event == "subprocess.Popen":
        raise PermissionError("a program is to be run while packages are installed")
    if event == "socket.connect" and not isinstance(args[1], tuple):
        raise PermissionError("a connection to a unix socket")


def enter_landlock(read, write, network):
    """Enters Landlock; on a kernel without it only the other walls hold."""
    abi = libc.syscall(CREATE_RULESET, None, 0, 1)
    if abi < 1:
        return
    handled = ABI_1
    for least, access in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        if abi >= least:
            handled |= access
    ruleset = Ruleset(
        handled,
        NET_TCP if abi >= 4 and not network else 0,
        SCOPES if abi >= 6 else 0,
    )
    fd = checked(
        libc.syscall(CREATE_RULESET, ctypes.byref(ruleset), ctypes.sizeof(ruleset), 0)
    )
    own = handled & ~(EXECUTE | MAKE_CHAR | MAKE_BLOCK)
    for paths, access in ((read, READ), (write, own)):
        for path in paths:
            add_rule(fd, path, access & handled)
    checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    checked(libc.syscall(RESTRICT_SELF, fd, 0))
    os.close(fd)


def add_rule(ruleset, path, access):
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # not there: it needs no rule
    try:
        if not os.path.isdir(path):
            access &= OF_FILES
        rule = PathBeneath(access, parent)
        checked(
            libc.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, ctypes.byref(rule), 0)
        )
    finally:
        os.close(parent)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "landlock")
    return result
