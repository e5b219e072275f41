"""R2: a crash at every point between two Redis commands of every transition.

A step of the library is one command, and atomic. So the points are those
between two commands on the way of a consumer, or a producer, to Redis: before
the n-th is sent, and after it was carried out but before its answer. At each
the connection breaks; and once more, its process is killed as well.

Every scenario runs once undisturbed, which gives its points; then once for each
of them, in a partition of its own.
"""

import collections
import itertools
import json
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import hand
import msgpack
import redis
from client import Client
from fleet import SLOW_S, Fleet, Progress
from jobs import NO_ID, Made, dice_of, fenced
from servers import binary, die_with_parent, wait_until
from stack import job_id
from wire import Loss, Wire

AT_ONCE = 4
TRIES = 3
LEASE_MS = 600
SLOWLY = [{"match": "slowly", "replies": [{"text": "done", "delay_ms": 600}]}]
# What timers send: the first few of each stand for all.
TIMED = {
    "XREADGROUP",
    "beat",
    "reclaim",
    "take",
    "lapse",
    "sweep",
    "promote",
    "session_claim",
    "report",
    "mend",
    "TIME",
    "fire",
}
OF_TIMED = 3
# When a worker begins: the same in every scenario.
FIRST = {"build", "FUNCTION", "XGROUP"}

Point = collections.namedtuple("Point", "scenario place loss kill")


class World:
    """A partition, and who is in it."""

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


# -- scenarios: what comes before the worker whose commands are looked at, and
# what happens then


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
    for code, out in world.quern("submit", "--job", "-", stdin=json.dumps(job).encode()):
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


def name_of(scenario):
    named = scenario.act if scenario.act is not nothing else scenario.before
    return named.__name__.replace("_", " ")


def play(fleet, number, scenario, point=None):
    """Once; gives the steps that were seen, and whether the point was reached."""
    with Wire(fleet.redis.socket, fleet.history) as wire:
        world = World(fleet, number, wire)
        try:
            scenario.before(world)
            wire.watch()
            if point is not None:
                on_cut = (lambda: world.victim()) if point.kill else nothing
                wire.cut_at(point.place, point.loss, on_cut)
            if scenario.wired:
                world.hire_wired()
            else:
                world.hire()
            scenario.act(world)
            world.wait()
            time.sleep(LEASE_MS / 1000)  # two rounds of what sweeps
            fleet.check(f"w{number}:")
            return list(wire.steps), wire.cut.is_set()
        finally:
            world.leave()


def points_of(scenario, steps):
    for step, ordinal in steps:
        if step in TIMED and ordinal > OF_TIMED:
            continue
        if step in FIRST and scenario is not SCENARIOS[0]:
            continue
        for loss in Loss:
            for kill in (False, True):
                yield Point(scenario, (step, ordinal), loss, kill)


def find_points(fleet, pool):
    """All there are, of every scenario."""
    seen = pool.map(lambda n: play(fleet, n, SCENARIOS[n]), range(len(SCENARIOS)))
    return [
        point
        for scenario, (steps, _) in zip(SCENARIOS, seen)
        for point in points_of(scenario, steps)
    ]


def try_often(fleet, numbers, point):
    """What timers send, or a poll, may not come as often as the first time."""
    for _ in range(TRIES):
        _, was_cut = play(fleet, next(numbers), point.scenario, point)
        if was_cut:
            what = "killed" if point.kill else "cut"
            fleet.fault(f"{what}, {point.loss.value} lost")
            return True
    return False


def run(asked, history, tell):
    settings = {"lease_ms": LEASE_MS, "max_crashes": 50}
    with Fleet(history, tell, script=SLOWLY, **settings) as fleet:
        # Threads outlive what they start: the kernel ends it with them.
        with ThreadPoolExecutor(AT_ONCE) as pool:
            points = find_points(fleet, pool)
            some = min(asked.jobs or len(points), len(points))
            chosen = dice_of(asked.seed).sample(points, some)
            tell(f"{len(points)} points, {len(chosen)} are tried")
            progress = Progress("R2", len(chosen))
            numbers = itertools.count(len(SCENARIOS))
            done = itertools.count(1)

            def try_point(point):
                reached = try_often(fleet, numbers, point)
                progress(next(done), name_of(point.scenario))
                return reached

            reached = list(pool.map(try_point, chosen))
        progress.end()
        tell(f"{sum(reached)} points were reached")
        for point, was_reached in zip(chosen, reached):
            if not was_reached:
                tell(f"not again: {name_of(point.scenario)}, {point.place}")
        fleet.settle()
        return fleet.verdicts(asked.within_s * 1000)
