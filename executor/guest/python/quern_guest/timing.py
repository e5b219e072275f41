"""timing.py - %time, %timeit and %prun, with the words of IPython."""

import cProfile
import os
import pstats
import statistics
import sys
import time
import timeit
from dataclasses import dataclass

import __main__

REPEAT = 7


class Timer:
    """with Timer(): prints how long that took, also when it raises."""

    def __enter__(self):
        self.wall, self.cpu = time.perf_counter(), os.times()

    def __exit__(self, *_error):
        wall = time.perf_counter() - self.wall
        user, system = (b - a for a, b in zip(self.cpu[:2], os.times()))
        print(
            f"CPU times: user {show_time(user)}, sys: {show_time(system)}, "
            f"total: {show_time(user + system)}\nWall time: {show_time(wall)}"
        )


@dataclass
class Timed:
    """What %timeit -o gives."""

    loops: int
    all_runs: list
    repr = __repr__ = lambda self: f"<TimeitResult : {self}>"

    @property
    def timings(self):
        return [run / self.loops for run in self.all_runs]

    @property
    def best(self):
        return min(self.timings)

    @property
    def worst(self):
        return max(self.timings)

    @property
    def average(self):
        return statistics.fmean(self.timings)

    @property
    def stdev(self):
        return statistics.pstdev(self.timings)

    def __str__(self):
        runs, loops = len(self.all_runs), self.loops
        return (
            f"{show_time(self.average)} ± {show_time(self.stdev)} per loop "
            f"(mean ± std. dev. of {runs} run{'s'[: runs > 1]}, "
            f"{loops:,} loop{'s'[: loops > 1]} each)"
        )


def show_time(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def read_options(line, letters):
    """Gives ({letter: value} of -n 5 -r3 -o ..., the rest); letters as for getopt."""
    options = {}
    while line.startswith("-") and line[1:2] in set(letters) - {":"}:
        letter, line = line[1], line[2:].lstrip()
        options[letter] = ""
        if letter + ":" in letters:
            options[letter], _, line = line.partition(" ")
        line = line.lstrip()
    return options, line


def timeit_of(line, body=""):
    """Does %timeit statement, or %%timeit setup and then the body."""
    options, line = read_options(line, "n:r:oqtcp:")
    statement, setup = (body, line or "pass") if body else (line, "pass")
    timer = timeit.Timer(statement, setup, globals=vars(__main__))
    loops = int(options.get("n", 0)) or timer.autorange()[0]
    runs = timer.repeat(int(options.get("r", REPEAT)), loops)
    timed = Timed(loops, runs)
    if "q" not in options:
        print(timed)
    return timed if "o" in options else None


def time_of(line):
    """Does %time; gives the value of an expression."""
    with Timer():
        try:
            code = compile(line, "<magic>", "eval")
        except SyntaxError:  # a statement: it has no value
            code = compile(line, "<magic>", "exec")
        return eval(code, vars(__main__))


def profile_of(code):
    profile = cProfile.Profile()
    try:
        profile.runctx(code, vars(__main__), vars(__main__))
    finally:
        pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(20)
