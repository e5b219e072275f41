"""Queues that run empty jobs: quern, those that it is measured against, and the
server on its own.

Each is filled by a producer process, and drained by a worker process that is
started on a queue that is full. How fast, is seen from outside: of each it is
known how many jobs are left in Redis. What a job of all of them promises is the
same: acknowledged after it was done, its result kept for a day.
"""

import os
import re
import signal
import subprocess
import time

from harness import BENCH, OWN, first_line
from peers import BULLMQ, Lines, bullmq_version
from servers import Process, wait_until

WORK = "quern:{000}:work:default:normal"
LANE = "quern:{000}:lane:default/default:normal"
LEASES = "quern:{000}:leases:default"
SECONDS_OF_A_DRAIN = 60  # at most: a slower one has a figure all the same


class Queue:
    """One kind of queue on one server. Those that follow say how to start its
    two sides, and how many jobs it has left."""

    column = ""
    jobs = 10000  # of a round
    round_trips = 100  # of a round; 0: it does not tell that a result is there
    has_worker = True

    def __init__(self, server):
        self.server = server
        self.db = server.client()
        self.made = None
        self.env = {"REDIS_SOCKET": server.socket, "REDIS_URL": server.url}

    # -- what differs

    @classmethod
    def is_there(cls):
        """Whether it could be installed."""
        raise NotImplementedError

    @classmethod
    def version(cls):
        raise NotImplementedError

    def producer(self):
        """The command line."""
        raise NotImplementedError

    def worker(self):
        raise NotImplementedError

    def left(self):
        """Jobs that are not done."""
        raise NotImplementedError

    def is_ready(self, process):
        """Whether the worker waits for work."""
        return "ready" in process.text()

    # -- what does not

    def lines(self):
        if self.made is None:
            self.made = Lines(*self.producer(), **self.env)
        return self.made

    def close(self):
        if self.made is not None:
            self.made.close()
            self.made = None

    def ask(self, count, verb):
        return self.lines().run(count, verb)

    def clean(self):
        self.close()
        self.db.flushall()

    def fill(self, count):
        """Jobs a second."""
        return count / self.ask(count, "many")

    def start(self):
        return Process(self.worker(), env=self.env, cwd=BENCH).start()

    def wait_ready(self, process):
        wait_until(lambda: self.is_ready(process), 30, f"{self.column} is ready")

    def stop(self, process):
        process.signal(signal.SIGTERM)
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            process.kill()

    def drain(self, count, workers=1):
        """Jobs a second, from the first that is seen to be done to the last."""
        started = [self.start() for _ in range(workers)]
        try:
            wait_until(lambda: self.left() < count, 30, f"{self.column} begins")
            first, begin = self.left(), time.perf_counter()
            left, end = first, begin + SECONDS_OF_A_DRAIN
            while left > 0 and time.perf_counter() < end:
                time.sleep(0.003)
                left = self.left()
            return (first - left) / (time.perf_counter() - begin)
        finally:
            for worker in started:
                self.stop(worker)

    def trips(self, count):
        """ms from the submit of a job to its result, of one after the other."""
        return self.ask(count, "trips")


class Quern(Queue):
    slots = 256

    def __init__(self, server, build):
        super().__init__(server)
        self.build, self.column = build, build.column

    def producer(self):
        return [self.build.binary("bench-submit"), "empty"]

    def worker(self):
        program = self.build.binary("quern-consumer")
        return [program, "--slots", self.slots, "--executor", "none"]

    def is_ready(self, process):
        return '"ready"' in process.text()

    def left(self):
        return self.db.xlen(WORK) + self.db.llen(LANE) + self.db.zcard(LEASES)

    def clean(self):
        super().clean()
        self.db.function_load(self.build.library(), replace=True)


class Limit(Quern):
    """The same calls, and nothing around them."""

    has_worker = False

    def __init__(self, server, build):
        super().__init__(server, build)
        self.column = "limit"

    def producer(self):
        return [self.build.binary("bench-limit"), self.server.url]

    def fill(self, count):
        return count / self.ask(count, "submit")

    def drain(self, count):
        return count / self.ask(count, "drain")


class BullMQ(Queue):
    column = "BullMQ"
    concurrency = 50

    @staticmethod
    def is_there():
        return bullmq_version() is not None

    @staticmethod
    def version():
        return bullmq_version()

    def producer(self):
        return ["node", BULLMQ, "producer", self.server.socket]

    def worker(self):
        return ["node", BULLMQ, "worker", self.server.socket, self.concurrency]

    def left(self):
        return sum(map(self.db.llen, ("bull:bench:wait", "bull:bench:active")))


class Asynq(Queue):
    column = "Asynq"
    round_trips = 0
    concurrency = 50

    @classmethod
    def is_there(cls):
        return os.path.exists(f"{OWN}/asynq")

    @classmethod
    def version(cls):
        with open(f"{BENCH}/asynq/go.mod") as module:
            return re.search(r"hibiken/asynq v(\S+)", module.read())[1]

    def producer(self):
        return [f"{OWN}/asynq", "producer", self.server.socket]

    def worker(self):
        return [f"{OWN}/asynq", "worker", self.server.socket, self.concurrency]

    def left(self):
        keys = "asynq:{default}:pending", "asynq:{default}:active"
        return sum(map(self.db.llen, keys))


class InPython(Queue):
    """One with a virtual environment of its own."""

    package = ""
    module = ""

    @classmethod
    def is_there(cls):
        return os.path.exists(cls.python())

    @classmethod
    def version(cls):
        ask = f"import importlib.metadata as m; print(m.version('{cls.package}'))"
        return first_line(cls.python(), "-c", ask)

    @classmethod
    def python(cls, program="python"):
        return f"{OWN}/peers/{cls.package}/bin/{program}"

    def producer(self):
        return [self.python(), f"{BENCH}/{self.module}.py"]


class Celery(InPython):
    column, package, module = "Celery", "celery", "celery_peer"
    jobs = 1000

    def worker(self):
        flags = "--without-gossip --without-mingle --without-heartbeat -c 2".split()
        return [self.python("celery"), "-A", self.module, "worker", *flags]

    def is_ready(self, process):
        return self.db.exists("_kombu.binding.celery.pidbox")

    def left(self):
        return self.db.llen("celery") + self.db.hlen("unacked")


class Taskiq(InPython):
    column, package, module = "taskiq-redis", "taskiq-redis", "taskiq_peer"
    jobs = 2000

    def worker(self):
        flags = "--workers 1 --max-async-tasks 100 --ack-type when_saved".split()
        return [self.python("taskiq"), "worker", f"{self.module}:broker", *flags]

    def is_ready(self, process):
        return "Listening started" in process.text()

    def left(self):
        [group] = self.db.xinfo_groups("taskiq")
        return group["lag"] + group["pending"]


class Streaq(InPython):
    column, package, module = "streaQ", "streaq", "streaq_peer"
    jobs = 2000

    def worker(self):
        return [self.python("streaq"), "run", f"{self.module}:worker"]

    def is_ready(self, process):
        return "starting" in process.text()

    def left(self):
        return self.db.xlen("streaq:default:queues:normal")


PEERS = (BullMQ, Asynq, Celery, Taskiq, Streaq)
