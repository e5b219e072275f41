"""Real servers and real processes for tests, in temporary folders.

Whatever happens to a test, nothing outlives it: processes are ended by id at
exit, and by the kernel when the test runner itself is killed.
"""

import atexit
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import cgroups
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("QUERN_BUILD", os.path.join(SOURCE, "build", "dev"))
KIND = os.environ.get("QUERN_REDIS", "single")
SERVER = os.environ.get("QUERN_REDIS_SERVER", "redis-server")
PR_SET_PDEATHSIG = 1
PATIENCE_S = 60.0  # of a busy machine: who waits so long has waited in vain
libc = ctypes.CDLL(None, use_errno=True)
atexit.register(cgroups.tidy)


def binary(name):
    """A binary of the build under test."""
    return os.path.join(BUILD, "bin", name)


def wait_until(true, timeout=PATIENCE_S, what="condition"):
    """Asks true() until it is; returns what it said. Asking costs time that a
    busy machine has not, so it rests a twentieth of the time that it has waited."""
    begun = time.monotonic()
    while True:
        answer = true()
        if answer:
            return answer
        waited = time.monotonic() - begun
        if waited > timeout:
            raise TimeoutError(f"{what}: not within {timeout} s")
        time.sleep(min(max(0.01, waited / 20), 0.1))


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

    def wait_for(self, what, timeout=PATIENCE_S):
        """Waits for a line that contains what, in all it ever said."""

        def said():
            for line in self.text().splitlines():
                if what in line:
                    return line
            if not self.alive():
                raise AssertionError(self.end())
            return None

        return wait_until(said, timeout, f"{self.args[0]} says {what!r}")

    def wait_socket(self, path, timeout=PATIENCE_S):
        def there():
            if not self.alive():
                raise AssertionError(self.end())
            return os.path.exists(path)

        wait_until(there, timeout, f"{self.args[0]} listens on {path}")

    def wait(self, timeout=PATIENCE_S):
        return self.child.wait(timeout)

    def signal(self, number):
        if self.alive():
            self.child.send_signal(number)

    def stop(self, timeout=PATIENCE_S):
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
        return self.child.wait(PATIENCE_S)


class RedisServer:
    """A redis-server of our own on a unix socket.

    port: also listens on that loopback port. aof: what it has answered survives
    kill(), which "everysec" does not promise while a sync goes on. More settings
    as keywords: maxmemory="10mb", requirepass="secret". The variable
    QUERN_REDIS_SERVER names another program, valkey-server for example.
    """

    def __init__(self, port=0, aof=False, **settings):
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
            "appendfsync": "always" if aof else "everysec",
            "daemonize": "no",
            "enable-debug-command": "yes",
            # With it a replica may be up, and get nothing before it has spoken.
            "repl-diskless-sync": "no",
        }
        given.update({k.replace("_", "-"): v for k, v in settings.items()})
        args = [SERVER]
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

    def ask(self, *words):
        """One command, its answer as text. Sentinels kill connections when they
        turn a master into a replica, also while they greet."""
        for rest in range(5, -1, -1):
            try:
                with self.client(decode_responses=True) as client:
                    return client.execute_command(*words)
            except redis.exceptions.ConnectionError:
                if rest == 0:
                    raise
                time.sleep(0.1)

    def info(self, name):
        return self.ask("INFO", "REPLICATION").get(name)

    def wait_in_step(self):
        """It is a replica, and has what its master has."""
        wait_until(lambda: self.info("master_link_status") == "up", what="a replica")

    def slots(self):
        """CLUSTER SLOTS as it comes over the wire."""
        with self.client(decode_responses=True) as client:
            client.response_callbacks.clear()
            return client.execute_command("CLUSTER SLOTS")

    def alive(self):
        return self.process.alive()

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


def free_ports(count):
    """Loopback ports that nobody listens on just now, no two alike."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


# The server is another one now: redis-py before 5 says so by the answer's first
# word, later ones by a class, without the word.
WORDS = ("MOVED", "CLUSTERDOWN", "MASTERDOWN")
GONE = (
    redis.exceptions.MovedError,
    redis.exceptions.ClusterDownError,
    redis.exceptions.MasterDownError,
)


class Roaming(redis.Connection):
    """Connects to wherever find() says that the server is now."""

    def __init__(self, find=None, **options):
        super().__init__(**options)
        self.find = find

    def _connect(self):
        self.host, self.port = "127.0.0.1", self.find()
        return super()._connect()

    def read_response(self, *args, **options):
        try:
            return super().read_response(*args, **options)
        except redis.exceptions.ResponseError as error:
            if not isinstance(error, GONE) and str(error).split()[0] not in WORDS:
                raise
            self.disconnect()
            raise redis.exceptions.ConnectionError(str(error)) from error


def roaming_client(find, password=None):
    """A redis-py client that outlasts a failover."""
    passing = [
        redis.exceptions.ConnectionError,
        redis.exceptions.TimeoutError,
        redis.exceptions.ReadOnlyError,
        redis.exceptions.BusyLoadingError,
    ]
    pool = redis.ConnectionPool(
        connection_class=Roaming,
        find=find,
        password=password,
        retry=Retry(ConstantBackoff(0.1), 200),
        retry_on_error=passing,
    )
    return redis.Redis(connection_pool=pool)


class RedisCluster:
    """Three masters, with a replica each if replicas=True.

    Its client, and what is killed and restarted, are those of the node that has
    the slot of partition 000. More settings as RedisServer takes them.
    """

    KEY = "{000}"

    def __init__(self, replicas=False, cluster_node_timeout=1000, **settings):
        self.password = settings.get("requirepass")
        if self.password:
            settings["masterauth"] = self.password
        count = 6 if replicas else 3
        ports = free_ports(2 * count)
        self.nodes = [
            RedisServer(
                port=port,
                cluster_enabled="yes",
                cluster_port=bus,
                cluster_node_timeout=cluster_node_timeout,
                cluster_replica_validity_factor=0,
                **settings,
            )
            for port, bus in zip(ports[:count], ports[count:])
        ]
        self.buses = dict(zip(ports[:count], ports[count:]))
        self.url = self.url_of(*self.nodes)
        self.join()
        if replicas:
            self.replicate()
        self.lost = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def url_of(self, *nodes):
        login = f":{self.password}@" if self.password else ""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        return f"redis+cluster://{login}{hosts}"

    def join(self):
        first, masters = self.nodes[0], self.nodes[:3]
        for number, node in enumerate(self.nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if node is not first:
                bus = self.buses[first.port]
                node.ask("CLUSTER", "MEET", "127.0.0.1", first.port, bus)
        for number, node in enumerate(masters):
            begin, end = number * 5461, 16383 if number == 2 else number * 5461 + 5460
            node.ask("CLUSTER", "ADDSLOTSRANGE", begin, end)
        wait_until(self.is_whole, what="a cluster")

    def is_whole(self):
        wanted = {"cluster_state:ok", f"cluster_known_nodes:{len(self.nodes)}"}
        return all(
            wanted <= set(node.ask("CLUSTER", "INFO").split())
            for node in self.nodes
            if node.alive()
        )

    def replicate(self):
        for master, replica in zip(self.nodes[:3], self.nodes[3:]):
            id = master.ask("CLUSTER", "MYID")
            replica.ask("CLUSTER", "REPLICATE", id)
        for replica in self.nodes[3:]:
            replica.wait_in_step()

    def masters(self, key):
        """Who has the slot of that key, as the living nodes say."""
        for node in filter(RedisServer.alive, self.nodes):
            slot = node.ask("CLUSTER", "KEYSLOT", key)
            for begin, end, (_, port, *_), *_ in node.slots():
                if begin <= slot <= end:
                    yield self.at(port)

    def master(self, key=KEY):
        for node in filter(RedisServer.alive, self.masters(key)):
            return node
        raise redis.exceptions.ConnectionError(f"nobody has the slot of {key}")

    def at(self, port):
        return next(node for node in self.nodes if node.port == port)

    @property
    def process(self):
        return self.master().process

    def client(self, key=KEY, **_):
        return roaming_client(lambda: self.master(key).port, self.password)

    def move(self, key, to, meanwhile=None):
        """Moves the slot of key, as redis-cli does; meanwhile() when a part of
        it has moved."""
        source, slot = self.master(key), to.ask("CLUSTER", "KEYSLOT", key)
        ids = [node.ask("CLUSTER", "MYID") for node in (source, to)]
        to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, 10):
            login = ["AUTH", self.password] if self.password else []
            words = ["MIGRATE", "127.0.0.1", to.port, "", 0, 10000, *login, "KEYS"]
            source.ask(*words, *keys)
            if meanwhile:
                meanwhile()
                meanwhile = None
        for node in (to, source, *self.nodes):
            if node.info("role") == "master":
                node.ask("CLUSTER", "SETSLOT", slot, "NODE", ids[1])

    def kill(self):
        self.lost = next(self.masters(self.KEY))
        self.lost.kill()

    def start(self):
        self.lost.start()
        return self

    def restart(self):
        self.kill()
        return self.start()

    def stop(self):
        for node in self.nodes:
            node.stop()


class RedisSentinels:
    """A master, a replica, and three sentinels that watch them.

    Its client, and what is killed and restarted, are the master's.
    """

    NAME = "jobs"

    def __init__(self, sentinel_password=None, **settings):
        self.password = settings.get("requirepass")
        self.sentinel_password = sentinel_password
        if self.password:
            settings["masterauth"] = self.password
        self.nodes = [RedisServer(port=port, **settings) for port in free_ports(2)]
        self.ports = free_ports(3)
        self.folder = tempfile.mkdtemp(prefix="quern-sentinels-", dir="/tmp")
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.follow(self.nodes[1], self.nodes[0])
        self.sentinels = [self.start_sentinel(port) for port in self.ports]
        login = f":{self.password}@" if self.password else ""
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        self.url = f"redis+sentinel://{login}{hosts}/{self.NAME}"
        wait_until(self.is_whole, what="the sentinels see all")
        self.lost = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @staticmethod
    def follow(replica, master):
        replica.ask("REPLICAOF", "127.0.0.1", master.port)
        replica.wait_in_step()

    def start_sentinel(self, port):
        folder = os.path.join(self.folder, str(port))
        os.mkdir(folder)
        path = os.path.join(folder, "sentinel.conf")
        name, password = self.NAME, self.sentinel_password
        lines = [
            f"port {port}",
            "bind 127.0.0.1",
            f"dir {folder}",
            f"sentinel monitor {name} 127.0.0.1 {self.nodes[0].port} 2",
            f"sentinel down-after-milliseconds {name} 2000",
            f"sentinel failover-timeout {name} 10000",
        ]
        if self.password:
            lines.append(f"sentinel auth-pass {name} {self.password}")
        if password:
            lines += [f"requirepass {password}", f"sentinel sentinel-pass {password}"]
        with open(path, "w") as file:
            file.write("\n".join(lines) + "\n")
        log = os.path.join(folder, "log")
        process = Process([SERVER, path, "--sentinel"], log=log, cwd=folder)
        return process.start()

    def ask_sentinel(self, port, *words):
        options = {"port": port, "password": self.sentinel_password}
        with redis.Redis(decode_responses=True, **options) as client:
            return client.execute_command("SENTINEL", *words)

    def is_whole(self):
        try:
            for port in self.ports:
                self.ask_sentinel(port, "CKQUORUM", self.NAME)
                state = self.ask_sentinel(port, "MASTER", self.NAME)
                state = dict(zip(state[::2], state[1::2]))
                if (state["num-slaves"], state["num-other-sentinels"]) != ("1", "2"):
                    return False
        except redis.exceptions.RedisError:
            return False
        return True

    def master(self):
        for port in self.ports:
            try:
                named = self.ask_sentinel(port, "GET-MASTER-ADDR-BY-NAME", self.NAME)
            except redis.exceptions.ConnectionError:
                continue
            return next(node for node in self.nodes if node.port == int(named[1]))
        raise redis.exceptions.ConnectionError("no sentinel answers")

    @property
    def process(self):
        return self.master().process

    def client(self, **_):
        return roaming_client(lambda: self.master().port, self.password)

    def kill(self):
        self.lost = self.master()
        self.lost.kill()

    def start(self):
        """Once there is another master: one that comes back while they vote may
        be voted for again, and what the other has is gone."""
        wait_until(lambda: self.master() is not self.lost, what="another master")
        self.lost.start()
        self.lost.wait_in_step()
        return self

    def restart(self):
        self.kill()
        return self.start()

    def stop(self):
        for sentinel in self.sentinels:
            sentinel.kill()
        for node in self.nodes:
            node.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def redis_of_kind(**settings):
    """A server, or what QUERN_REDIS names instead: cluster, sentinel."""
    kinds = {
        "single": RedisServer,
        "cluster": RedisCluster,
        "sentinel": RedisSentinels,
    }
    return kinds[KIND](**settings)


def answers(client):
    try:
        return client.ping()
    except redis.exceptions.AuthenticationError:
        return True
    except (redis.exceptions.ConnectionError, redis.exceptions.ResponseError):
        return False  # not there yet; or BUSY
