"""Real servers and real processes for tests, in temporary folders.

Whatever happens to a test, nothing outlives it: processes are ended by id at
exit, and by the kernel when the test runner itself is killed.
"""

import atexit
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import time

import cgroups
import redis

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("QUERN_BUILD", os.path.join(SOURCE, "build", "dev"))
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)
atexit.register(cgroups.tidy)


def binary(name):
    """A binary of the build under test."""
    return os.path.join(BUILD, "bin", name)


def wait_until(true, timeout=10.0, what="condition"):
    """Asks true() until it is; returns what it said."""
    end = time.monotonic() + timeout
    while True:
        answer = true()
        if answer:
            return answer
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {timeout} s")
        time.sleep(0.01)


def die_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """One child process; what it says goes to a log file.

    Start it from the main thread: the kernel kills it when the thread that
    started it ends.
    """

    def __init__(self, args, env=None, log=None, cwd=None):
        self.args = [str(arg) for arg in args]
        self.env = {**os.environ, **(env or {})}
        self.cwd = cwd
        self.child = None
        self.log = log
        if log is None:
            handle, self.log = tempfile.mkstemp(prefix="quern-", suffix=".log")
            os.close(handle)
            atexit.register(lambda: os.path.exists(self.log) and os.unlink(self.log))
        atexit.register(self.kill)

    def __enter__(self):
        if self.child is None:
            self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def pid(self):
        return self.child.pid

    @property
    def code(self):
        """The exit code, or None while it runs."""
        return self.child.poll() if self.child else None

    def alive(self):
        return self.child is not None and self.child.poll() is None

    def start(self):
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(
                self.args,
                env=self.env,
                cwd=self.cwd,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=die_with_parent,
            )
        return self

    def text(self):
        with open(self.log, "rb") as log:
            return log.read().decode(errors="replace")

    def end(self):
        """How it ended and what it said, as a sentence."""
        return f"{self.args[0]} ended with {self.code}:\n{self.text()}"

    def wait_for(self, what, timeout=10.0):
        """Waits for a line that contains what, in all it ever said."""

        def said():
            for line in self.text().splitlines():
                if what in line:
                    return line
            if not self.alive():
                raise AssertionError(self.end())
            return None

        return wait_until(said, timeout, f"{self.args[0]} says {what!r}")

    def wait_socket(self, path, timeout=10.0):
        def there():
            if not self.alive():
                raise AssertionError(self.end())
            return os.path.exists(path)

        wait_until(there, timeout, f"{self.args[0]} listens on {path}")

    def wait(self, timeout=10.0):
        return self.child.wait(timeout)

    def signal(self, number):
        if self.alive():
            self.child.send_signal(number)

    def stop(self, timeout=10.0):
        """Asks it to end, then makes it; returns the exit code."""
        self.signal(signal.SIGTERM)
        try:
            return self.child.wait(timeout) if self.child else None
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self):
        if self.child is None:
            return None
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        return self.child.wait(10)


class RedisServer:
    """A redis-server of our own on a unix socket.

    port: also listens on that loopback port. aof: survives kill(). More
    settings as keywords: maxmemory="10mb", requirepass="secret". The variable
    QUERN_REDIS_SERVER names another program, valkey-server for example.
    """

    def __init__(self, port=0, aof=False, **settings):
        program = os.environ.get("QUERN_REDIS_SERVER", "redis-server")
        # Short: a socket's path has at most 107 bytes.
        self.folder = tempfile.mkdtemp(prefix="quern-redis-", dir="/tmp")
        self.socket = os.path.join(self.folder, "redis.sock")
        self.port = port
        self.url = f"unix://{self.socket}"
        self.password = settings.get("requirepass")
        given = {
            "port": port,
            "bind": "127.0.0.1",
            "unixsocket": self.socket,
            "dir": self.folder,
            "save": "",
            "appendonly": "yes" if aof else "no",
            "daemonize": "no",
            "enable-debug-command": "yes",
        }
        given.update({k.replace("_", "-"): v for k, v in settings.items()})
        args = [program]
        for name, value in given.items():
            args += [f"--{name}", str(value)]
        log = os.path.join(self.folder, "log")
        self.process = Process(args, log=log, cwd=self.folder)
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        # Runs before the folder goes.
        atexit.register(self.process.kill)
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def client(self, **options):
        """A redis-py client; replies are bytes unless told otherwise."""
        options.setdefault("password", self.password)
        return redis.Redis(unix_socket_path=self.socket, **options)

    def start(self):
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        self.process.start()
        self.process.wait_socket(self.socket)
        with self.client() as client:
            wait_until(lambda: answers(client), what="redis-server answers")
        return self

    def kill(self):
        """As a crash would: no goodbye, no save."""
        self.process.kill()

    def restart(self):
        self.kill()
        return self.start()

    def stop(self):
        self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def answers(client):
    try:
        return client.ping()
    except redis.exceptions.BusyLoadingError:
        return False
    except redis.exceptions.ConnectionError:
        return False
