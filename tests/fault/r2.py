"""R2: a crash at every point between two Redis commands of every transition.

A step of the library is one command, and atomic. So the points are those
between two commands on the way of a consumer, or a producer, to Redis: before
the n-th is sent, and after it was carried out but before its answer. At each
the connection breaks; and once more, its process is killed as well.

Every scenario runs once undisturbed, which gives its points; then once for each
of them, under a prefix of its own.
"""

import collections
import itertools
import time
from concurrent.futures import ThreadPoolExecutor

from fleet import Fleet, Progress
from jobs import dice_of
from scenarios import LEASE_MS, SCENARIOS, SLOWLY, World, nothing
from wire import Loss, Wire

AT_ONCE = 4
TRIES = 3
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
    "HINCRBY",
}
OF_TIMED = 3
# When a worker begins: the same in every scenario.
FIRST = {"build", "FUNCTION", "XGROUP"}

Point = collections.namedtuple("Point", "scenario place loss kill")


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


def points_of(scenario, steps, first):
    for step, ordinal in steps:
        if step in TIMED and ordinal > OF_TIMED:
            continue
        if step in FIRST and scenario is not first:
            continue
        for loss in Loss:
            for kill in (False, True):
                yield Point(scenario, (step, ordinal), loss, kill)


def find_points(fleet, pool, scenarios):
    """All there are, of every scenario."""
    seen = pool.map(lambda n: play(fleet, n, scenarios[n]), range(len(scenarios)))
    return [
        point
        for scenario, (steps, _) in zip(scenarios, seen)
        for point in points_of(scenario, steps, scenarios[0])
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


def run(
    asked,
    history,
    tell,
    name="R2",
    scenarios=SCENARIOS,
    script=SLOWLY,
    wanted=lambda point: True,
):
    """wanted: of the points."""
    settings = {"lease_ms": LEASE_MS, "max_crashes": 50}
    with Fleet(history, tell, script=script, **settings) as fleet:
        # Threads outlive what they start: the kernel ends it with them.
        with ThreadPoolExecutor(AT_ONCE) as pool:
            points = [*filter(wanted, find_points(fleet, pool, scenarios))]
            some = min(asked.jobs or len(points), len(points))
            chosen = dice_of(asked.seed).sample(points, some)
            tell(f"{len(points)} points, {len(chosen)} are tried")
            progress = Progress(name, len(chosen))
            numbers = itertools.count(len(scenarios))
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
