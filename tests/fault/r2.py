"""R2: a crash at every point between two Redis commands of every transition.

A step of the library is one command, and atomic. So the points are those
between two commands on the way of a consumer, or a producer, to Redis: before
the n-th is sent, and after it was carried out but before its answer. At each
the connection breaks; and once more, its process is killed as well.

Every scenario runs once undisturbed, which gives its points; then once for each
of them, in a partition of its own.
"""

import collections
import json
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from fleet import Fleet, Progress
from jobs import Made, dice_of, fenced
from servers import binary, die_with_parent, wait_until
from stack import job_id
from wire import Loss, Wire

AT_ONCE = 4
LEASE_MS = 600
SLOWLY = [{"match": "slowly", "replies": [{"text": "done", "delay_ms": 600}]}]
# What timers send: the first few of each stand for all.
TIMED = {"XREADGROUP", "XGROUP", "beat", "reclaim", "take", "lapse", "sweep", "promote"}
OF_TIMED = 3

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

    def hire(self, wire=None):
        self.worker = self.fleet.hire(wire, **self.settings)
        return self.worker

    def runs(self, id):
        """Waits until somebody is at work on it."""
        events = f"{self.root}events:{id}"
        wait_until(lambda: self.fleet.db.xlen(events) > 2, 20, f"{id} runs")

    def kill(self):
        self.fleet.history.note("gone", consumer=self.worker.name)
        self.worker.kill()

    def wait(self, timeout=60):
        """Until all has ended; who dies is followed by another."""
        end = time.monotonic() + timeout
        while not self.fleet.follower.ended.issuperset(self.jobs):
            if time.monotonic() > end:
                return  # the checker says what is wrong
            if not self.worker.alive():
                self.hire()
            time.sleep(0.02)

    def leave(self):
        if self.worker is not None:
            self.worker.kill()


# -- scenarios: what comes before the worker whose commands are looked at, and
# what happens then


def nothing(_):
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
    args = [binary("quern"), "submit", "--job", "-", "--prefix", f"w{world.number}:"]
    for url in (world.wire.url, world.fleet.redis.url):
        child = subprocess.Popen(
            args,
            env={"REDIS_URL": url, "HOME": world.fleet.folder},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
        world.victim = child.kill
        out, _ = child.communicate(json.dumps(job).encode(), timeout=60)
        if child.returncode == 0:
            stands = out.decode().strip()
            history.note("answer", job=id, verdict="created", stands=stands)
            world.fleet.client.accepted.add(stands)
            break
        history.note("answer", job=id, verdict="unknown")
    world.jobs.append(id)


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
            worker = world.hire(wire if scenario.wired else None)
            world.victim = worker.kill
            if point is None:
                wire.watch()
            else:
                wire.cut_at(point.place, point.loss, lambda: cut(world, point))
            scenario.act(world)
            world.wait()
            time.sleep(LEASE_MS / 1000)  # two rounds of what sweeps
            return list(wire.steps), wire.cut.is_set()
        finally:
            world.leave()


def cut(world, point):
    if not point.kill:
        return
    if world.worker is not None and world.victim == world.worker.kill:
        world.fleet.history.note("gone", consumer=world.worker.name)
    world.victim()


def points_of(scenario, steps):
    for step, ordinal in steps:
        if step in TIMED and ordinal > OF_TIMED:
            continue
        for loss in Loss:
            for kill in (False, True):
                yield Point(scenario, (step, ordinal), loss, kill)


def run(asked, history, tell):
    settings = {"lease_ms": LEASE_MS, "max_crashes": 50}
    with Fleet(history, tell, script=SLOWLY, **settings) as fleet:
        # Threads outlive what they start: the kernel ends it with them.
        with ThreadPoolExecutor(AT_ONCE) as pool:
            seen = list(
                pool.map(lambda n: play(fleet, n, SCENARIOS[n]), range(len(SCENARIOS)))
            )
            points = [
                point
                for scenario, (steps, _) in zip(SCENARIOS, seen)
                for point in points_of(scenario, steps)
            ]
            some = min(asked.jobs or len(points), len(points))
            chosen = dice_of(asked.seed).sample(points, some)
            tell(f"{len(points)} points, {len(chosen)} are tried")
            progress = Progress("R2", len(chosen))
            reached = collections.Counter()

            def try_point(row):
                number, point = row
                _, was_cut = play(fleet, number, point.scenario, point)
                reached[was_cut] += 1
                what = "killed" if point.kill else "cut"
                if was_cut:
                    fleet.fault(f"{what}, {point.loss.value} lost")
                progress(sum(reached.values()), name_of(point.scenario))

            list(pool.map(try_point, enumerate(chosen, len(SCENARIOS))))
        progress.end()
        tell(
            f"{reached[True]} points were reached, {reached[False]} did not come again"
        )
        fleet.settle()
        return fleet.verdicts(asked.within_s * 1000)
