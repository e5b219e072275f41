"""The fleet under test, of which anything may be killed, with its onlookers.

with Fleet(history) as fleet:
    worker = fleet.hire()
    fleet.client.submit(made)
    fleet.kill(worker)
    fleet.settle()
    print(fleet.verdicts())
"""

import itertools
import json
import os
import subprocess
import sys
import time

from check import verdicts
from client import Client
from follower import Follower
from jobs import NOTE
from processes import resident
from servers import (
    RedisCluster,
    RedisSentinels,
    RedisServer,
    answers,
    binary,
    wait_until,
)
from stack import Stack
from web import Web

LEASE_MS = 1000
SECRET = "sk-nobody-may-read-this"
STUCK_S = 60
# An endpoint beside the default one, which keeps its replies.
KEPT = {
    "dialect": "responses",
    "model": "practice",
    "parameters": {"store": True, "background": True},
}
SLOW_S = 120  # what a machine with much else to do may take


class Fleet(Stack):
    def __init__(self, history, tell=print, library=None, **settings):
        """library: in place of what the consumers bring."""
        os.environ["OPENAI_API_KEY"] = SECRET
        self.tell, self.history, self.faults = tell, history, 0
        self.numbers = itertools.count(1)
        self.lease_ms = settings.pop("lease_ms", LEASE_MS)
        settings["lease"] = f"{self.lease_ms}ms"
        server = settings.pop("server", None) or RedisServer()
        super().__init__(executor=False, server=server, **settings)
        if library is not None:
            self.db.function_load(library, replace=True)
        self.web = Web()
        self.web.__enter__()
        NOTE["note"]["url"] = f"{self.web.url}/note"
        self.settings["tools"] = self.write("tools", NOTE)
        kept = {"url": self.model.url, "key": SECRET, **KEPT}
        self.settings["models"] = self.write("models", {"kept": kept})
        self.start_bare()
        self.follower = Follower(history, self.redis.client)
        self.follower.start()
        self.client = Client(history, self.follower, self.redis.client)
        history.note("secret", value=SECRET)

    def __exit__(self, kind, *rest):
        self.follower.stop()
        self.web.__exit__()
        super().__exit__(kind, *rest)

    def write(self, name, value):
        """A file of the consumers' settings."""
        path = os.path.join(self.folder, f"{name}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        return path

    def fault(self, kind):
        self.faults += 1
        self.history.note("fault", kind=kind)

    def suffer(self, kind, act):
        """A fault that is over when act() is; jobs must wait to be started."""
        self.fault(kind)
        act()
        self.history.note("healed", kind=kind)

    def start_bare(self):
        """As often as it takes, as its service manager would."""
        for left in (2, 1, 0):
            try:
                return self.start_executor()
            except (AssertionError, TimeoutError):
                if left == 0:
                    raise

    def limit(self, name, tenant, value, **more):
        """Of the queue default, from now on."""
        settings = {f"{name}:{tenant}": value}
        settings.update({f"{name}_{k}:{tenant}": v for k, v in more.items()})
        pairs = [part for pair in settings.items() for part in pair]
        self.client.call("queue_set", "default", *pairs)
        self.history.note("limit", name=name, tenant=tenant, value=value, **more)

    # -- workers

    def new_name(self):
        return f"c{next(self.numbers)}"

    def hire(self, wire=None, name=None, **settings):
        """A consumer with a name of its own; wire: its way to Redis."""
        if wire is not None:
            settings["redis_url"] = wire.url
        worker = self.consumer(name=name or self.new_name(), **settings)
        worker.name = worker.env["QUERN_NAME"]
        return worker

    def named(self, name):
        """The worker of that name, who may not be ready yet."""
        return next(c for c in self.consumers if c.env["QUERN_NAME"] == name)

    def kill(self, worker):
        worker.kill()
        self.consumers.remove(worker)
        self.history.note("gone", consumer=worker.name)

    def let_go(self, worker):
        """It has nothing to do any more."""
        worker.kill()
        self.consumers.remove(worker)

    def kill_executor(self):
        self.executor.kill()
        self.start_bare()

    def replace_redis(self):
        """It is killed and comes back, or another one takes its place."""
        self.history.note("away")
        self.redis.kill()
        if isinstance(self.redis, RedisServer):
            self.redis.start()
        wait_until(lambda: answers(self.db), SLOW_S, "a master")
        self.history.note("back")

    def bring_back(self):
        """Who has lost its place, to stand by: not before it has all that the
        other one has may that one be killed."""
        lost = getattr(self.redis, "lost", None)
        if lost is not None and not lost.alive():
            self.redis.start()
            lost.wait_in_step()

    # -- the end

    def is_done(self):
        return self.client.accepted <= self.follower.ended | self.follower.excused

    def wait_done(self, stuck_s=STUCK_S):
        """Until all have ended, or nothing ends any more."""
        ended, since = -1, time.monotonic()
        while not self.is_done() and time.monotonic() - since < stuck_s:
            if len(self.follower.ended) > ended:
                ended, since = len(self.follower.ended), time.monotonic()
            time.sleep(0.05)

    def wait_for(self, jobs, patience_s):
        """Until these have ended, or patience has."""
        end = time.monotonic() + patience_s
        while not self.follower.ended.issuperset(jobs) and time.monotonic() < end:
            time.sleep(0.05)

    def settle(self, stuck_s=STUCK_S):
        """Quiet, and two more rounds of everything that sweeps."""
        self.wait_done(stuck_s)
        time.sleep(2 * self.lease_ms / 1000)
        self.follower.stop()
        self.check()
        for token, times in self.called().items():
            self.history.note("called", token=token, times=times)
        counts = self.model.counts()
        self.history.note("asked", total=counts["total"], different=counts["different"])
        for process in [*self.consumers, self.executor]:
            if SECRET in process.text():
                self.history.note("spilled", where=process.args[0])

    def called(self):
        tokens = [json.loads(asked.body)["token"] for asked in self.web.asked]
        return {token: tokens.count(token) for token in set(tokens)}

    def check(self, prefix="quern:"):
        """What quern check has to say."""
        done = subprocess.run(
            [binary("quern"), "check", "--json", "--prefix", prefix],
            env={"REDIS_URL": self.redis.url, "HOME": self.folder},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SLOW_S,
        )
        for line in map(json.loads, done.stdout.splitlines()):
            if line["type"] == "fault":
                self.history.note("checked", text=f"{line['key']}: {line['text']}")
        if done.returncode not in (0, 1):
            self.history.note("checked", text=done.stderr)

    def verdicts(self, within_ms):
        clients = [self.redis.client(encoding="latin-1")]
        return verdicts(self.history.lines(), clients, within_ms)

    def sample(self, name, process):
        """What a process has."""
        rss = resident(process.pid) >> 10
        fds = len(os.listdir(f"/proc/{process.pid}/fd"))
        self.history.note("sample", process=name, rss_kib=rss, fds=fds)


class Cluster(RedisCluster):
    """Every master has a replica, which takes its place."""

    def __init__(self, **settings):
        # Who has just no processor is not dead.
        super().__init__(replicas=True, cluster_node_timeout=5000, **settings)

    def start(self):
        wait_until(self.has_another, SLOW_S, "another master")
        self.lost.start()
        self.lost.wait_in_step()
        return self

    def has_another(self):
        return any(node.alive() for node in self.masters(self.KEY))


SERVERS = {"single": RedisServer, "cluster": Cluster, "sentinel": RedisSentinels}


def server_of(kind, **settings):
    return SERVERS[kind](**settings)


class Progress:
    """A line on a terminal that is written over; nothing elsewhere."""

    def __init__(self, name, total):
        self.name, self.total = name, total
        self.shown = sys.stderr.isatty()

    def __call__(self, done, note=""):
        if self.shown:
            part = 100 * done // max(1, self.total)
            line = f"{self.name} {part:3}%  {done}/{self.total}  {note}"
            print(f"\r{line[:78]:78}", end="", file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print(file=sys.stderr)


def jobs_in(fleet, state, owner=None):
    """Ids of the jobs that are in that state, in those hands."""
    for job, root in list(fleet.follower.open.items()):
        facts = fleet.db.hmget(f"{root}job:{job}", "state", "owner")
        if facts[0] == state and owner in (None, facts[1]):
            yield job


def wait_started(fleet, count, timeout=SLOW_S):
    """Until so many jobs are in progress."""
    wait_until(
        lambda: len(list(jobs_in(fleet, b"in_progress"))) >= count,
        timeout,
        f"{count} jobs run",
    )
