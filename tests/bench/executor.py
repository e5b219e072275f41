"""What a Python session costs, against a Jupyter kernel and against the limit.

    tests/bench/run executor [--json]

Two executors, alike but for `--ready`: one has interpreters ready, the other
forks each session when it is asked for. The peers are a Jupyter kernel, a bare
fork of an interpreter with the same modules, and the same plot in a plain
interpreter. After the times come memory, throughput and growth, which have
units of their own.
"""

import collections
import functools
import gc
import os
import re
import secrets
import statistics
import sys
import time

from executor_client import Executor
from harness import Runner, first_line, measure, percentile, report
from memory import descendants, memory_of
from peers import (
    ENDER,
    FORKER,
    PLOT,
    PLOTTER,
    SCIENCE,
    Kernel,
    Lines,
    kernel_starts,
    timed,
)
from servers import binary
from stack import Stack

PAUSE_S = 0.1  # a model thinks longer
PAUSE_MS = PAUSE_S * 1e3
LOOP = "sum(range(10**12))"
MANY = 200
MOST = 1000
SLOT = 100
DRIVERS = 8


def new_name():
    return f"bench-{secrets.token_hex(8)}"


def checked(session, code, result):
    done = session.run(code)
    assert done.result == result, done
    return done


# --- times: each gives a list of ms --------------------------------------------


def first_plots(executor, count):
    times = []
    for _ in range(count):
        session = executor.open(new_name())
        time.sleep(PAUSE_S)

        def plot():
            assert session.run(PLOT).displays

        times.append(timed(plot))
        session.close()
    return times


def answers_after_kill(executor, count):
    """From the word that the cell was killed to the answer of the next one."""
    session = executor.open(new_name())
    times = []
    for i in range(count):
        session.run(f"x = {i}")
        time.sleep(PAUSE_S)
        killed = session.run(LOOP, cell_ms=100)
        assert (killed.status, killed.state) == ("timeout", "rolled_back"), killed
        times.append(timed(lambda: checked(session, "x", str(i))))
    session.close()
    return times


def kernel_cells(kernel, code, count):
    return [timed(lambda: kernel.run(code)) for _ in range(count)]


def kernel_plots(count):
    times = []
    for _ in range(count):
        with Kernel() as kernel:
            kernel.run("%matplotlib inline")
            times.append(timed(lambda: kernel.run(PLOT)))
    return times


# --- memory ----------------------------------------------------------------------


def memory_of_all(executor):
    total = collections.Counter()
    for pid in descendants(executor.process.pid)[1:]:
        total += memory_of(pid)
    return total


def idle_sessions(executor, count):
    """MiB of one, from the growth of the whole: what only its own processes
    share (runner and snapshot) is counted as its own."""
    time.sleep(1)  # the pool is full
    before = memory_of_all(executor)
    sessions = [executor.open(new_name()) for _ in range(count)]
    for session in sessions:
        session.run("x=1+1")
    time.sleep(2)
    after = memory_of_all(executor)
    one = descendants_of_one(executor)
    for session in sessions:
        session.close()
    return {
        "own": (after["Pss"] - before["Pss"]) / count / 1024,
        "Pss": one["Pss"] / 1024,
        "Private": one["Private"] / 1024,
    }


def descendants_of_one(executor):
    """The median session's processes, together: those of one box."""
    boxes = collections.defaultdict(collections.Counter)
    for pid in descendants(executor.process.pid)[1:]:
        with open(f"/proc/{pid}/status") as status:
            levels = re.search(r"NSpid:(.*)", status.read())[1].split()
        if len(levels) > 1:
            boxes[os.readlink(f"/proc/{pid}/ns/pid")] += memory_of(pid)
    there = sorted(boxes.values(), key=lambda box: box["Pss"])
    return there[len(there) // 2]


# --- throughput, growth -------------------------------------------------------------


def jobs_per_second(drivers, count):
    start = time.perf_counter()
    for driver in drivers:
        driver.ask(count)
    for driver in drivers:
        driver.answer()
    return len(drivers) * count / (time.perf_counter() - start)


def ends_per_second():
    """The limit: a bare fork that ends, and nothing else, on every core."""
    drivers = [
        Lines("/usr/bin/python3", "-c", ENDER) for _ in os.sched_getaffinity(0)
    ]
    rates = [jobs_per_second(drivers, 100) for _ in range(5)]
    for driver in drivers:
        driver.close()
    return statistics.median(rates)


def growth(executor):
    """(sessions that are open, p50 ms of a new one, of a warm cell) a slot."""
    rows, sessions = [], []
    while len(sessions) < MOST:
        fresh, warm = [], []
        for _ in range(SLOT):
            start = time.perf_counter()
            sessions.append(executor.open(new_name()))
            checked(sessions[-1], "1+1", "2")
            fresh.append((time.perf_counter() - start) * 1e3)
        time.sleep(PAUSE_S)
        for session in sessions[-SLOT:]:
            warm.append(timed(lambda: session.run("x=1+1")))
        rows.append((len(sessions), percentile(fresh, 50), percentile(warm, 50)))
        print(f"{len(sessions)} sessions", file=sys.stderr)
    for session in sessions:
        session.close()
    return rows


# --- the whole ------------------------------------------------------------------------


def versions():
    import ipykernel
    import jupyter_client

    return {
        "quern": first_line(binary("quern-executor"), "--version").split()[-1],
        "python": sys.version.split()[0],
        "ipykernel": ipykernel.__version__,
        "jupyter_client": jupyter_client.__version__,
    }


def compare(pool, cold, kernel, drivers):
    crowd = []

    def crowded(run, count):
        """With so many other sessions open."""
        crowd.extend(pool.open(new_name()) for _ in range(MANY))
        for session in crowd:
            session.run("x=1+1")
        times = run(count)
        while crowd:
            crowd.pop().close()
        return times

    def paused(driver):
        return lambda count: drivers[driver].run(count, PAUSE_MS)

    starts = functools.partial(kernel_starts, f"{SCIENCE}\n1+1")
    runners = [
        Runner("pool", paused("pool"), 30),
        Runner("cold", paused("cold"), 30),
        Runner("burst", drivers["pool"].run, 30),
        Runner("pool, many", functools.partial(crowded, paused("pool")), 30),
        Runner("bare fork (limit)", drivers["fork"].run, 50),
        Runner("Jupyter kernel", starts, 3),
        Runner("warm", paused("warm"), 50),
        Runner("hops (limit)", paused("hops"), 50),
        Runner("in a row", drivers["warm"].run, 50),
        Runner("warm, many", functools.partial(crowded, paused("warm")), 50),
        Runner(
            "Jupyter cell", functools.partial(kernel_cells, kernel, "x=1+1"), 50
        ),
        Runner("plot", functools.partial(first_plots, pool), 8),
        Runner("plain plot (limit)", drivers["plot"].run, 8),
        Runner("Jupyter plot", kernel_plots, 2),
        Runner("killed", functools.partial(answers_after_kill, pool), 8),
    ]
    for runner in runners:  # warm: caches, connections, compiled code
        runner.run(2)
    gc.collect()
    fork, start = "bare fork (limit)", "Jupyter kernel"
    compared = [
        ("new session from the pool, 1+1 (bar 1 ms)", "pool", start),
        ("the same, to the limit", "pool", fork),
        (f"the same, {MANY} others open", "pool, many", fork),
        ("new session, none ready, 1+1 (bar 5 ms)", "cold", start),
        ("the same, to the limit", "cold", fork),
        ("new sessions without a pause", "burst", start),
        ("x=1+1, snapshot made between (bar 0.5 ms)", "warm", "Jupyter cell"),
        ("the same, to the limit", "warm", "hops (limit)"),
        (f"the same, {MANY} others open", "warm, many", "Jupyter cell"),
        ("x=1+1 in a row", "in a row", "Jupyter cell"),
        ("first plot of a session (bar 1.5 x)", "plot", "plain plot (limit)"),
        ("the same", "plot", "Jupyter plot"),
        ("killed, then the answer (bar 10 ms)", "killed", start),
    ]
    return compared, measure(runners)


def throughput():
    """One-shot code jobs a second: submit, new session, cell, result."""
    with Stack(redis={"aof": True, "appendfsync": "everysec"}, lease="30s") as stack:
        stack.consumer()
        env = {"REDIS_URL": stack.redis.url}
        drivers = [Lines(binary("bench-submit"), "code", **env) for _ in range(DRIVERS)]
        jobs_per_second(drivers, 5)
        rates = [jobs_per_second(drivers, 25) for _ in range(5)]
        for driver in drivers:
            driver.close()
    return statistics.median(rates)


def main(as_json):
    limit = ("--sessions", str(MOST + 100))
    with Executor(*limit) as pool, Executor("--ready", "0") as cold, Kernel() as kernel:
        cells, hops = binary("bench-cells"), binary("bench-hops")
        drivers = {
            "fork": Lines("/usr/bin/python3", "-c", FORKER),
            "plot": Lines("/usr/bin/python3", "-c", PLOTTER),
            "pool": Lines(cells, "new", pool.path),
            "cold": Lines(cells, "new", cold.path),
            "warm": Lines(cells, "warm", pool.path),
            "hops": Lines(hops),
        }
        compared, times = compare(pool, cold, kernel, drivers)
        kernel.run(SCIENCE)
        peer = memory_of(kernel.pid)
        for driver in drivers.values():
            driver.close()
    with Executor(*limit) as executor:
        idle = idle_sessions(executor, 100)
        grown = growth(executor)
    facts = [
        ("idle session, MiB of its own (bar 2)", idle["own"], peer["Private"] / 1024),
        ("idle session, MiB private of its processes", idle["Private"], None),
        ("idle session, MiB PSS (bar 12)", idle["Pss"], peer["Pss"] / 1024),
        ("one-shot code jobs a second (bar 100; limit: fork, exit, wait)", throughput(), ends_per_second()),
    ]
    for count, fresh, warm in grown:
        facts.append((f"{count} sessions open: a new one, ms", fresh, None))
        facts.append((f"{count} sessions open: x=1+1, ms", warm, None))
    report("executor", compared, times, versions(), as_json, facts)


if __name__ == "__main__":
    main("--json" in sys.argv[1:])
