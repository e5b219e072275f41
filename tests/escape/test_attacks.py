"""Attacks that must be refused on the spot: nothing to see, nothing to do."""

import contextlib
import ctypes
import os
import socket

import pytest

EPERM = "(-1, 'EPERM')"
ENOSYS = "(-1, 'ENOSYS')"
NOTSUP = "(-1, 'ENOTSUP')"
MERGEABLE = """
import mmap
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
syscall(28, ctypes.addressof(ctypes.c_char.from_buffer(page)), 4096, 12)
"""
STATUS = "open('/proc/self/status').read().split('{}:')[1].split()[0]"

CGROUPS = "{line.split(':')[2] for line in open('/proc/self/cgroup').read().split()}"
PIDFD = "signal.pidfd_send_signal(os.pidfd_open({}), 9)"
# Landlock keeps signals inside since Linux 6.12. Before, init has no ear for them.
SCOPES = ctypes.CDLL(None).syscall(444, None, ctypes.c_long(0), 1) >= 6
UNHEARD = "PermissionError" if SCOPES else ""
DEVICES = repr(
    ["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom"]
)

# name, code, what its value or its exception's name must be (None: any error)
REFUSED = [
    # the host's files
    ("the host's passwords", "open('/etc/shadow')", "FileNotFoundError"),
    ("the host's homes", "os.listdir('/root')", "FileNotFoundError"),
    (
        "other folders of the host",
        "sorted({'home', 'root', 'run', 'srv', 'sys'} & {*os.listdir('/')})",
        "[]",
    ),
    (
        "what the host has mounted",
        "os.listdir('/mnt'), os.readlink('/mnt/data')",
        "(['data'], '/workspace')",
    ),
    ("the host's users", "open('/etc/passwd').read().count('\\n')", "1"),
    (
        "a neighbour's files",
        "[d for d, _, files in os.walk('/') if 'secret.txt' in files]",
        "[]",
    ),
    ("a new program", "open('/usr/bin/x', 'w')", None),
    ("a change of the root", "os.mkdir('/x')", None),
    ("a change of /etc", "open('/etc/passwd', 'a')", None),
    (
        "a neighbour's shared memory",
        "[*os.listdir('/dev/shm'), os.path.exists('/dev/shm/secret.shm')]",
        "[False]",
    ),
    ("above the root", "os.chdir('../../../..')\nos.getcwd()", "'/'"),
    (
        "around by /proc",
        "os.listdir('/proc/self/root/../../root')",
        "FileNotFoundError",
    ),
    ("a system that can be written", "os.statvfs('/usr/bin').f_flag & 1", "1"),
    ("programs with another's rights", "os.statvfs('/usr/bin').f_flag & 2", "2"),
    ("a device", "os.mknod('sda', 0o60600, os.makedev(8, 0))", "OSError"),
    ("a file by its handle", "syscall(304, 0, 0, 0)", EPERM),
    (
        "a program of one's own",
        "import shutil\nshutil.copy('/usr/bin/env', 'env')\nos.execv('env', ['env'])",
        "PermissionError",
    ),
    ("a program without a path", "syscall(322, 0, 0, 0, 0, 0x1000)", EPERM),
    # mounts and namespaces
    ("a remount", "syscall(165, 0, 0, 0, 32 | 4096, 0)", EPERM),
    ("unmounting", "syscall(166, 0, 2)", EPERM),
    ("chroot", "os.chroot('/tmp')", "PermissionError"),
    ("pivot_root", "syscall(155, 0, 0)", EPERM),
    ("a new user namespace", "syscall(272, 0x10000000)", EPERM),
    ("a clone into a namespace", "syscall(56, 0x10000011, 0, 0, 0, 0)", EPERM),
    ("a clone3 that no filter sees", "syscall(435, 0, 88)", ENOSYS),
    (
        "entering a namespace",
        "syscall(308, os.open('/proc/self/ns/mnt', 0), 0)",
        EPERM,
    ),
    # other processes
    (
        "a neighbour's processes",
        "len([p for p in os.listdir('/proc') if p.isdigit()])",
        "3",  # init, the interpreter, its snapshot
    ),
    ("tracing init", "syscall(101, 16, 1, 0, 0)", EPERM),
    ("init's memory", "open('/proc/1/mem', 'rb')", "PermissionError"),
    ("init's environment", "open('/proc/1/environ', 'rb')", "PermissionError"),
    ("init's root", "os.listdir('/proc/1/root')", "PermissionError"),
    ("init's descriptors", "os.listdir('/proc/1/fd')", "PermissionError"),
    ("another's memory", "syscall(310, 1, 0, 0, 0, 0, 0)", EPERM),
    ("another's descriptors", "syscall(438, os.pidfd_open(1), 0, 0)", EPERM),
    ("killing init", "os.kill(1, 9)", UNHEARD),
    ("asking for init's life", "os.kill(1, 0)", UNHEARD),
    ("a group with others", "(os.getpgid(0), os.getsid(0))", "(2, 2)"),
    ("a child for the zygote", "syscall(56, 0x8011, 0, 0, 0, 0)", EPERM),
    ("a child whose end is told by SIGCONT", "syscall(56, 18, 0, 0, 0, 0)", ENOSYS),
    ("a thread's child likewise", "syscall(56, 0x112, 0, 0, 0, 0)", ENOSYS),
    ("a child whose end is told by SIGSTOP", "syscall(56, 19, 0, 0, 0, 0)", ENOSYS),
    ("killing all", "try:\n    os.kill(-1, 9)\nexcept OSError:\n    pass\n1", "1"),
    ("init's memory map", "open('/proc/1/maps').read(1)", "PermissionError"),
    ("init's namespaces", "os.open('/proc/1/ns/mnt', 0)", "PermissionError"),
    ("init, by a pidfd", PIDFD.format(1), UNHEARD),
    (
        "init, by a thread",
        "syscall(234, 1, 1, 9)",
        EPERM if SCOPES else "(0, '')",
    ),
    ("its parent", "os.kill(os.getppid() or 1, 9)", UNHEARD),
    ("to be traced", "syscall(101, 0, 0, 0, 0)", EPERM),
    ("its own memory, as a file", "open('/proc/self/mem', 'r+b')", "PermissionError"),
    (
        "to be killed last",
        "open('/proc/self/oom_score_adj', 'w')",
        "PermissionError",
    ),
    (
        "real time",
        "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
        "OSError",
    ),
    ("memory that cannot be swapped", "syscall(151, 3)", ENOSYS),
    # cgroups
    ("where it is among cgroups", CGROUPS, "{'/'}"),
    ("another cgroup", "open('/sys/fs/cgroup/cgroup.procs')", "FileNotFoundError"),
    (
        "any cgroup",
        "[d for d, _, names in os.walk('/')"
        " if {'cgroup.procs', 'tasks', 'release_agent'} & {*names}]",
        "[]",
    ),
    # the network
    ("AF_INET", "socket.socket(socket.AF_INET)", "PermissionError"),
    ("AF_INET6", "socket.socket(10, socket.SOCK_DGRAM)", "PermissionError"),
    ("AF_NETLINK", "socket.socket(16, socket.SOCK_RAW)", "PermissionError"),
    ("AF_PACKET", "socket.socket(17, socket.SOCK_RAW)", "PermissionError"),
    ("AF_RXRPC", "socket.socket(33, socket.SOCK_DGRAM)", "PermissionError"),
    ("AF_ALG", "socket.socket(38, socket.SOCK_SEQPACKET)", "PermissionError"),
    ("AF_VSOCK", "socket.socket(40, socket.SOCK_STREAM)", "PermissionError"),
    ("names of the internet", "socket.getaddrinfo('example.com', 80)", "gaierror"),
    (
        "a socket of the host",
        "socket.socket(socket.AF_UNIX).connect('/run/quern/executor.sock')",
        "FileNotFoundError",
    ),
    ("a pair of netlink", "syscall(53, 16, 3, 0, 0)", "(-1, 'EACCES')"),
    ("the broker", "socket.create_connection(('127.0.0.1', 6379))", "PermissionError"),
    (
        "the cloud",
        "socket.create_connection(('169.254.169.254', 80))",
        "PermissionError",
    ),
    # the kernel
    ("a keyring", "syscall(250, 0, -3, 0)", EPERM),
    ("a new key", "syscall(248, 0, 0, 0, 0, -3)", EPERM),
    ("io_uring", "syscall(425, 1, 0)", EPERM),
    ("bpf", "syscall(321, 0, 0, 0)", EPERM),
    ("perf_event_open", "syscall(298, 0, 0, -1, -1, 0)", EPERM),
    ("userfaultfd", "syscall(323, 0)", EPERM),
    ("another personality", "syscall(135, 0x0040000)", ENOSYS),
    ("kexec", "syscall(246, 0, 0, 0, 0)", EPERM),
    ("a module", "syscall(313, 0, 0, 0)", EPERM),
    ("the kernel's log", "syscall(103, 3, 0, 0)", EPERM),
    ("the clock", "time.clock_settime(time.CLOCK_REALTIME, 0)", "PermissionError"),
    ("settings of the kernel", "open('/proc/sys/kernel/hostname')", None),
    ("any setting of the kernel", "os.listdir('/proc/sys')", "FileNotFoundError"),
    ("the machine's memory", "open('/proc/kcore', 'rb')", None),
    ("the magic key", "open('/proc/sysrq-trigger', 'w')", None),
    ("the machine's name", "os.uname().nodename", "'box'"),
    # memory that no limit sees
    ("memfd_create", "os.memfd_create('x')", "PermissionError"),
    ("shmget", "syscall(29, 0, 1 << 30, 0o1600)", EPERM),
    ("semget", "syscall(64, 0, 1, 0o1600)", ENOSYS),
    ("msgget", "syscall(68, 0, 0o1600)", ENOSYS),
    ("a POSIX message queue", "syscall(240, 0, 0, 0, 0)", EPERM),
    ("shared memory", "import mmap\nmmap.mmap(-1, 1)", "PermissionError"),
    ("as much of /dev/zero", "open('/dev/zero')", "FileNotFoundError"),
    # what the kernel counts for all of a user, and the warden needs as well
    ("epoll", "import select\nselect.epoll()", "OSError"),
    # what tells of others, or makes them wait
    ("a lease", "syscall(72, os.open('f', os.O_CREAT | os.O_RDWR), 1024, 1)", EPERM),
    ("a lease by upper bits", "syscall(72, 0, (1 << 32) + 1024, 0)", EPERM),
    ("a folder's news", "syscall(72, os.open('/usr/bin', 0), 1026, 2)", EPERM),
    ("another signal of I/O", "syscall(72, 0, 10, 18)", EPERM),
    (
        "what others have read",
        "os.preadv(os.open('/usr/bin/env', 0), [bytearray(1)], 0, os.RWF_NOWAIT)",
        "OSError",
    ),
    ("what can be read at once", "syscall(327, 0, 0, 0, 0, 0, 8)", NOTSUP),
    ("what can be written at once", "syscall(328, 1, 0, 0, 0, 0, 8)", NOTSUP),
    ("huge pages", "syscall(9, 0, 1 << 21, 3, 0x40022, -1, 0)", EPERM),
    ("huge pages of a file", "syscall(9, 0, 1 << 21, 3, 0x40002, 0, 0)", EPERM),
    ("pages merged with others'", MERGEABLE, EPERM),
    (
        "speculation past stores",
        "syscall(157, 53, 0, 2, 0, 0)",
        ENOSYS,
    ),
    # terminals, devices
    ("a pseudo-terminal", "os.openpty()", None),
    ("the terminal", "open('/dev/tty')", "FileNotFoundError"),
    ("other devices", "sorted(os.listdir('/dev'))", DEVICES),
    ("TIOCSTI", "import fcntl\nfcntl.ioctl(0, 0x5412, b'x')", "PermissionError"),
    ("TIOCSTI with upper bits", "syscall(16, 0, 0x100005412, 0)", EPERM),
    # what the process itself may
    (
        "the warden's environment",
        "[k for k in os.environ if k.startswith(('QUERN', 'REDIS', 'OPENAI'))]",
        "[]",
    ),
    ("any capability", STATUS.format("CapEff"), repr("0" * 16)),
    ("a bounding set", STATUS.format("CapBnd"), repr("0" * 16)),
    ("new privileges", STATUS.format("NoNewPrivs"), "'1'"),
    ("no filter", STATUS.format("Seccomp"), "'2'"),
    (
        "higher limits",
        "import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (9999, 9999))",
        "ValueError",
    ),
    (
        "limits of init",
        "import resource\nresource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))",
        "PermissionError",
    ),
    (
        "a core for the host's programs",
        "import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
        None,
    ),
    ("a core", "import resource\nresource.getrlimit(resource.RLIMIT_CORE)", "(1, 1)"),
    (
        "descriptors of others",
        "fds = '/proc/self/fd/'\n"
        "kinds = {os.readlink(fds + fd).split(':')[0]\n"
        "  for fd in os.listdir(fds) if os.path.exists(fds + fd)}\n"
        "sorted(kinds - {'pipe', 'socket', '/dev/null'})",
        "[]",
    ),
]


@pytest.mark.parametrize("name, code, expected", REFUSED, ids=[r[0] for r in REFUSED])
def test_refused(attacker, name, code, expected):
    done = attacker.run(code)
    assert done.state == "kept", done.reason
    if expected is None:
        assert done.status == "error", done.result
    else:
        assert expected in (done.result, done.error.get("name")), done


SPECULATION = ["Speculation_Store_Bypass", "SpeculationIndirectBranch"]


@pytest.mark.parametrize("kind", SPECULATION)
def test_speculation_is_switched_off_for_good(attacker, kind):
    with open("/proc/self/status") as status:
        ours = dict(line.rstrip("\n").split(":\t", 1) for line in status).get(kind, "")
    done = attacker.run(
        "status = dict(l.split(':', 1) for l in open('/proc/self/status'))\n"
        f"print(status.get('{kind}', '').strip(), end='')"
    )
    if ours.startswith(("thread", "conditional")):
        assert "force" in done.stdout, done
    else:  # the processor gives no choice: a box is as the host is
        assert done.stdout == ours, done


ASYNCIO = """
import asyncio
async def main():
    echo = await asyncio.create_subprocess_exec("echo", "hi", stdout=-1)
    server = await asyncio.start_unix_server(lambda r, w: w.close(), "/tmp/s")
    reader, writer = await asyncio.open_unix_connection("/tmp/s")
    return await echo.stdout.read(), await reader.read()
await main()
"""
POOL = """
import multiprocessing
from multiprocessing import shared_memory
block = shared_memory.SharedMemory(create=True, size=9)
with multiprocessing.get_context("fork").Pool(2) as pool:
    total = sum(pool.map(abs, [-1, -2]))
block.unlink()
total
"""
MAPPED = """
import numpy
m = numpy.memmap("m", numpy.uint8, "w+", shape=9)
m[:] = 2
int(m.sum())
"""
# What is refused must not be missed: name, code, value.
ALLOWED = [
    ("asyncio without epoll", ASYNCIO, r"(b'hi\n', b'')"),
    ("multiprocessing and its shared memory", POOL, "3"),
    ("a file mapped into memory", MAPPED, "18"),
]


@pytest.mark.parametrize("name, code, value", ALLOWED, ids=[r[0] for r in ALLOWED])
def test_allowed(attacker, name, code, value):
    done = attacker.run(code)
    assert (done.status, done.result) == ("ok", value), done


INT80 = """
import mmap
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
page.write(b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3")
ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
"""

# What ends the interpreter: the session says so and goes on with a new one.
FATAL = [
    ("os._exit", "os._exit(0)", "ended itself with code 0"),
    ("a segmentation fault", "ctypes.string_at(0)", "signal 11"),
    ("abort", "os.abort()", "signal 6"),
    ("killing oneself", "os.kill(os.getpid(), 9)", "signal 9"),
    ("32-bit calls", INT80, "signal 31"),
    ("x32 calls", "syscall(0x40000000 | 39)", "signal 31"),
    ("another program", "os.execv('/bin/true', ['true'])", "ended itself with code 0"),
]


@pytest.mark.parametrize("name, code, cause", FATAL, ids=[r[0] for r in FATAL])
def test_fatal(attacker, name, code, cause):
    attacker.run("kept = 1")
    done = attacker.run(code)
    assert (done.status, done.state) == ("crashed", "rolled_back")
    assert cause in done.reason
    assert attacker.run("kept").result == "1", "rolled back means rolled back"


@pytest.mark.parametrize("whose", ["the executor's", "a broker's"])
def test_a_socket_that_is_there_cannot_be_reached(executor, attacker, whose):
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as broker:
        path = executor.path
        if whose == "a broker's":
            path = os.path.join(executor.folder, "broker")
            broker.bind(path)
            broker.listen()
            os.chmod(path, 0o777)
        done = attacker.run(f"socket.socket(socket.AF_UNIX).connect({path!r})")
    assert done.error["name"] == "FileNotFoundError", done


def test_an_abstract_socket_is_not_seen_next_door(executor, attacker):
    next_door = executor.open("next-door")
    next_door.run(
        "import socket\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        "s.bind('\\0quern')\n"
        "s.listen()"
    )
    done = attacker.run("socket.socket(socket.AF_UNIX).connect('\\0quern')")
    assert done.error["name"] in ("ConnectionRefusedError", "PermissionError")
    next_door.close()
