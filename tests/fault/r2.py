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

from fleet import SLOW_S, Fleet, Progress
from jobs import Made, dice_of, fenced
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

    def wait(self, timeout=60):
        """Until all has ended."""
        end = time.monotonic() + timeout
        while not self.fleet.follower.ended.issuperset(self.jobs):
            if time.monotonic() > end:
                return  # the checker says what is wrong
            self.man()
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
