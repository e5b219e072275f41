"""R2's scenarios, each under a prefix of its own, and who is in it.

A scenario is what comes before the worker whose commands are looked at, and what
happens then.
"""

import collections
import json
import signal
import subprocess
import time

import hand
import msgpack
import redis
from client import Client
from fleet import SLOW_S
from jobs import NO_ID, Made, fenced
from servers import binary, die_with_parent, wait_until
from stack import job_id

LEASE_MS = 600
SLOWLY = [{"match": "slowly", "replies": [{"text": "done", "delay_ms": 600}]}]


class World:
    """A prefix, and who works under it."""

    def __init__(self, fleet, number, wire):
        self.fleet, self.number, self.wire = fleet, number, wire
        self.root = f"w{number}:{{000}}:"
        self.settings = {"prefix": f"w{number}:"}
        self.worker = self.victim = None
        self.jobs = []

    def made(self, members, expect=("completed",), **more):
        return Made(f"t{self.number}-{len(self.jobs)}", members, expect, **more)

    def submit(self, members, expect=("completed",), **more):
        made = self.made(members, expect, **more)
        (id,) = self.fleet.client.submit(made, self.root)
        self.jobs.append(id)
        return id

    def call(self, step, *args):
        return self.fleet.client.call(step, *args, root=self.root)

    def connect(self):
        return redis.Redis.from_url(self.wire.url)

    def quern(self, *words, stdin=b""):
        """The command, by the wire; again without it when it came to grief. What
        it prints, in the end."""
        args = [binary("quern"), *words, "--prefix", f"w{self.number}:"]
        for url in (self.wire.url, self.fleet.redis.url):
            child = subprocess.Popen(
                args,
                env={"REDIS_URL": url, "HOME": self.fleet.folder},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                preexec_fn=die_with_parent,
            )
            self.victim = child.kill
            out, _ = child.communicate(stdin, timeout=SLOW_S)
            yield child.returncode, out.decode()
            if child.returncode == 0:
                break

    def hire(self):
        self.worker = self.fleet.hire(**self.settings)

    def hire_wired(self):
        """The one whose commands are looked at; it may die before it is ready."""
        name = self.fleet.new_name()

        def kill():
            self.fleet.history.note("gone", consumer=name)
            self.fleet.named(name).kill()

        self.victim = kill
        try:
            self.worker = self.fleet.hire(self.wire, name, **self.settings)
        except AssertionError:
            self.hire()

    def man(self):
        """Who has died is followed by another."""
        if not self.worker.alive():
            self.hire()

    def runs(self, id):
        """Waits until somebody is at work on it."""
        events = f"{self.root}events:{id}"

        def runs():
            self.man()
            return self.fleet.db.xlen(events) > 2

        wait_until(runs, SLOW_S, f"{id} runs")

    def kill(self):
        self.fleet.history.note("gone", consumer=self.worker.name)
        self.worker.kill()

    def wait(self, timeout=60, meanwhile=lambda: None):
        """Until all has ended."""
        end = time.monotonic() + timeout
        while not self.fleet.follower.ended.issuperset(self.jobs):
            if time.monotonic() > end:
                return  # the checker says what is wrong
            self.man()
            meanwhile()
            time.sleep(0.02)

    def leave(self):
        if self.worker is not None:
            self.worker.kill()


# -- scenarios


def nothing(*_):
    pass


def talk_with_a_cell(world):
    world.submit({"prompt": fenced(f"print({world.number})")})


def code_that_leaves_a_file(world):
    code = "open('a.txt', 'w').write('x' * 100)"
    world.submit({"kind": "code", "cells": [code, "1 + 1"]})


def two_in_a_session(world):
    name = f"s{world.number}"
    for _ in range(2):
        cells = ["n = globals().get('n', 0) + 1\nn"]
        world.submit({"kind": "code", "cells": cells, "session": name}, session=name)


def handed_back(world):
    id = world.submit({"prompt": f"slowly {world.number}"})
    world.runs(id)
    for _ in range(2):
        world.worker.signal(signal.SIGTERM)
        time.sleep(0.1)


def cancelled(world):
    id = world.submit({"prompt": f"slowly {world.number}"}, ("completed", "cancelled"))
    world.runs(id)
    world.fleet.client.cancel(id, world.root)


def one_that_dies(world):
    world.hire()
    world.runs(world.submit({"prompt": f"slowly {world.number}"}))
    world.kill()


def too_many_crashes(world):
    """More than it may have: it ends before anybody decodes it."""
    world.settings["max_crashes"] = 0
    world.hire()
    world.runs(world.submit({"prompt": f"slowly {world.number}"}, ("failed:crashed",)))
    world.kill()


def by_command(world):
    """Submitted by the quern command: it goes over the wire as well."""
    id = job_id()
    token = f"t{world.number}-0"
    job = {"id": id, "prompt": f"say {token}", "idempotency_key": token}
    job["metadata"] = {"token": token}
    history = world.fleet.history
    world.fleet.follower.follow(world.root, id)
    history.note("submit", job=id, token=token, key=token, expect=("completed",))
    for code, out in world.quern(
        "submit", "--job", "-", stdin=json.dumps(job).encode()
    ):
        if code == 0:
            history.note("answer", job=id, verdict="created", stands=out.strip())
            world.fleet.client.accepted.add(out.strip())
        else:
            history.note("answer", job=id, verdict="unknown")
    world.jobs.append(id)


def put_off(world):
    for n in range(2):
        world.submit({"prompt": f"say {world.number} {n}"}, pairs={"delay_ms": 300})


def in_a_lane(world):
    """One at a time: each end lets in the next."""
    world.call("queue_set", "default", "tenant_running", 1)
    for n in range(3):
        world.submit({"prompt": f"say {world.number} {n}"})


def a_stream_that_is_gone(world):
    in_a_lane(world)
    world.fleet.db.delete(f"{world.root}work:default:normal")


def a_schedule(world):
    name = f"tick{world.number}"
    world.fleet.history.note("schedule", name=name)
    body = msgpack.packb({"v": 1, "id": NO_ID, "kind": "code", "cells": ["1"]})
    about = (name, "every 1s", "", int(time.time() * 1000))
    world.call("schedule_set", *about, "job", body)

    def fired():
        world.man()
        keys = world.fleet.db.keys(f"{world.root}idem:default:schedule:{name}:*")
        return keys if len(keys) >= 2 else None

    wait_until(fired, SLOW_S, f"{name} has fired twice")
    world.call("schedule_rm", name)
    world.jobs += [id.decode() for id in world.fleet.db.mget(fired())]


def by_hand(world):
    """All that a worker may do with a job; a client approves by the wire, too."""
    acts = ("finish", "retry", "approval", "release")
    ids = {
        act: world.submit({"prompt": act}, pairs={"queue": hand.QUEUE}) for act in acts
    }
    client = Client(world.fleet.history, world.fleet.follower, world.connect)
    facts = f"{world.root}job:{ids['approval']}"

    def hire():
        world.hand = hand.Hand(
            world.connect, world.fleet.new_name(), LEASE_MS, world.root, 50
        )

    def kill():
        world.fleet.history.note("gone", consumer=world.hand.name)
        world.hand.dead.set()

    def work():
        if world.hand.dead.is_set():
            hire()
        try:
            for job in world.hand.take():
                world.hand.work(job)
        except hand.Died:
            return
        if world.fleet.db.hmget(facts, "state", "reason") == [b"waiting", b"approval"]:
            client.approve(ids["approval"], True, world.root)

    hire()
    world.victim = kill
    world.wait(meanwhile=work)


def operators(world):
    """Of a queue that nobody serves, and of a job that is dead."""
    for number in range(3):
        pairs = {"queue": "aside", "delay_ms": number * 100000}
        world.submit({"prompt": "x"}, ("cancelled",), pairs=pairs)
    for words in (
        ("queue", "pause", "aside"),
        ("queue", "set", "aside", "tenant_running=1"),
        ("queue", "resume", "aside"),
        ("cancel", world.jobs[0]),
        ("queue", "purge", "aside", "--yes"),
    ):
        list(world.quern(*words))
    dead = world.submit({}, ("failed:bad_message",), raw=b"\xc1")
    world.wait()

    def announce():
        # Whose answer is lost is sent again, after it may have failed again.
        for _ in range(2):
            world.fleet.history.note("requeue", job=dead)
        world.fleet.follower.revive(world.root, dead)

    announce()
    for code, _ in world.quern("dead", "requeue", dead):
        if code != 0:
            announce()


Scenario = collections.namedtuple(
    "Scenario", "act before wired", defaults=[nothing, True]
)
SCENARIOS = [
    Scenario(talk_with_a_cell),
    Scenario(code_that_leaves_a_file),
    Scenario(two_in_a_session),
    Scenario(handed_back),
    Scenario(cancelled),
    Scenario(nothing, before=one_that_dies),
    Scenario(nothing, before=too_many_crashes),
    Scenario(by_command, wired=False),
    Scenario(put_off),
    Scenario(in_a_lane),
    Scenario(nothing, before=a_stream_that_is_gone),
    Scenario(a_schedule),
    Scenario(by_hand, wired=False),
    Scenario(operators, wired=False),
]
