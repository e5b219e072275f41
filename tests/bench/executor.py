"""What a Python session costs, against a Jupyter kernel and against the limit.

Two executors of each build, alike but for `--ready`: one has interpreters ready,
the other forks each session when it is asked for. The peers are a Jupyter
kernel, a bare fork of an interpreter with the same modules, and the same plot in
a plain interpreter. After the rounds come throughput, memory and growth.
"""

import collections
import contextlib
import functools
import gc
import os
import platform
import re
import secrets
import sys
import time

from executor_client import Executor
from harness import (
    Row,
    Turn,
    alternate,
    delay_rows,
    percentile,
    timed_turn,
)
from peers import (
    ENDER,
    FORKER,
    PLOT,
    PLOTTER,
    SCIENCE,
    Kernel,
    Lines,
    jupyter_versions,
    kernel_starts,
    timed,
)
from processes import descendants, memory_of

PAUSE_S = 0.1  # a model thinks longer
PAUSE_MS = PAUSE_S * 1e3
LOOP = "sum(range(10**12))"
MANY = 200
MOST, FEWER = 1000, 300  # sessions that are opened: at full size, by default
SLOT = 100
IDLE = 100  # sessions whose memory is looked at
DRIVERS = 8
SHARE = 0.75  # of the time: the rounds of all
JUPYTER, LIMIT = "Jupyter kernel", "limit"


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


def idle_sessions(executor):
    """MiB of one, from the growth of the whole: what only its own processes
    share (runner and snapshot) is counted as its own."""
    time.sleep(1)  # the pool is full
    before = memory_of_all(executor)
    sessions = [executor.open(new_name()) for _ in range(IDLE)]
    for session in sessions:
        session.run("x=1+1")
    time.sleep(2)
    after = memory_of_all(executor)
    one = descendants_of_one(executor)
    for session in sessions:
        session.close()
    return {
        "own": (after["Pss"] - before["Pss"]) / IDLE / 1024,
        "private": one["Private"] / 1024,
        "pss": one["Pss"] / 1024,
    }


def idle_kernel():
    """MiB of one that has the modules."""
    with Kernel() as kernel:
        kernel.run(SCIENCE)
        memory = memory_of(kernel.pid)
    return {"own": memory["Private"] / 1024, "pss": memory["Pss"] / 1024}


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
    return {"jobs": len(drivers) * count / (time.perf_counter() - start)}


def job_drivers(build, kept):
    """Who submits one-shot code jobs: submit, new session, cell, result."""
    redis = {"aof": True, "appendfsync": "everysec"}
    stack = kept.enter_context(build.stack(redis=redis, lease="30s"))
    build.consumer(stack)
    program, env = build.binary("bench-submit"), {"REDIS_URL": stack.redis.url}
    return [kept.enter_context(Lines(program, "code", **env)) for _ in range(DRIVERS)]


def fork_drivers(kept):
    """The limit: a bare fork that ends, and nothing else, on every core."""
    cores = os.sched_getaffinity(0)
    command = ("/usr/bin/python3", "-c", ENDER)
    return [kept.enter_context(Lines(*command)) for _ in cores]


def throughput(run):
    with contextlib.ExitStack() as kept:
        turns = []

        def add(column, drivers, count):
            jobs_per_second(drivers, 5)  # warm
            ask = functools.partial(jobs_per_second, drivers, count)
            turns.append(Turn(column, "jobs", ask))

        for build in run.builds:
            add(build.column, job_drivers(build, kept), 25)
        if run.peers:
            add(LIMIT, fork_drivers(kept), 100)
        run.take_turns(turns, rounds=run.wanted or 5)


def growth(executor, most):
    """p50 ms of a new one, and of a warm cell, with so many sessions open."""
    found, sessions = {}, []
    while len(sessions) < most:
        fresh, warm = [], []
        for _ in range(SLOT):
            start = time.perf_counter()
            sessions.append(executor.open(new_name()))
            checked(sessions[-1], "1+1", "2")
            fresh.append((time.perf_counter() - start) * 1e3)
        time.sleep(PAUSE_S)
        for session in sessions[-SLOT:]:
            warm.append(timed(lambda: session.run("x=1+1")))
        found[f"{len(sessions)} open, new"] = percentile(fresh, 50)
        found[f"{len(sessions)} open, warm"] = percentile(warm, 50)
        print(f"{len(sessions)} sessions", file=sys.stderr)
    for session in sessions:
        session.close()
    return found


def most_of(run):
    return MOST if run.full else FEWER


def memory_and_growth(run):
    def of(build):
        with build.chosen(), Executor("--sessions", str(MOST + 100)) as executor:
            return {**idle_sessions(executor), **growth(executor, most_of(run))}

    name = "memory and growth"
    turns = [Turn(b.column, name, functools.partial(of, b)) for b in run.builds]
    if run.peers:
        turns.append(Turn(JUPYTER, name, idle_kernel))
    run.take_turns(turns, rounds=1)


# --- the whole ------------------------------------------------------------------------


def crowded(pool, run, count):
    """With so many other sessions open."""
    crowd = [pool.open(new_name()) for _ in range(MANY)]
    for session in crowd:
        session.run("x=1+1")
    times = run(count)
    for session in crowd:
        session.close()
    return times


def paused(driver):
    return lambda count: driver.run(count, PAUSE_MS)


def quern_turns(build, kept):
    with build.chosen():
        pool = kept.enter_context(Executor("--sessions", str(MOST + 100)))
        cold = kept.enter_context(Executor("--ready", "0"))

    def cells(kind, executor):
        command = build.binary("bench-cells"), kind, executor.path
        return kept.enter_context(Lines(*command))

    fresh, forked = cells("new", pool), cells("new", cold)
    warm = cells("warm", pool)
    ways = (
        ("pool", paused(fresh), 30),
        ("cold", paused(forked), 30),
        ("burst", fresh.run, 30),
        ("pool, many", functools.partial(crowded, pool, paused(fresh)), 30),
        ("warm", paused(warm), 50),
        ("in a row", warm.run, 50),
        ("warm, many", functools.partial(crowded, pool, paused(warm)), 50),
        ("plot", functools.partial(first_plots, pool), 8),
        ("killed", functools.partial(answers_after_kill, pool), 8),
    )
    return [timed_turn(build.column, *way) for way in ways]


def peers_turns(run, kept):
    def python(code):
        return kept.enter_context(Lines("/usr/bin/python3", "-c", code)).run

    hops = kept.enter_context(Lines(run.builds[-1].binary("bench-hops")))
    kernel = kept.enter_context(Kernel())
    starts = functools.partial(kernel_starts, f"{SCIENCE}\n1+1")
    cells = functools.partial(kernel_cells, kernel, "x=1+1")
    ways = (
        (LIMIT, "start", python(FORKER), 50),
        (LIMIT, "cell", paused(hops), 50),
        (LIMIT, "plot", python(PLOTTER), 8),
        (JUPYTER, "start", starts, 3),
        (JUPYTER, "cell", cells, 50),
        (JUPYTER, "plot", kernel_plots, 2),
    )
    return [timed_turn(*way) for way in ways]


def measure(run):
    with contextlib.ExitStack() as kept:
        turns = alternate(quern_turns(build, kept) for build in run.builds)
        if run.peers:
            turns += peers_turns(run, kept)
        gc.collect()
        run.take_turns(turns, SHARE)
    throughput(run)
    memory_and_growth(run)


def rows(run):
    many = f"the same, {MANY} others open"
    found = [
        *delay_rows("new session from the pool, 1+1", "pool", "start"),
        *delay_rows(many, "pool, many", "start"),
        *delay_rows("new session, none ready, 1+1", "cold", "start"),
        *delay_rows("new sessions without a pause", "burst", "start"),
        *delay_rows("x=1+1, snapshot made between", "warm", "cell"),
        *delay_rows(many, "warm, many", "cell"),
        *delay_rows("x=1+1 in a row", "in a row", "cell"),
        *delay_rows("first plot of a session", "plot", "plot"),
        *delay_rows("killed, then the answer", "killed", "start"),
        Row("one-shot code jobs a second", "jobs", "{:.0f}"),
        Row("idle session, MiB of its own", "own"),
        Row("   MiB private of its processes", "private"),
        Row("   MiB PSS", "pss"),
    ]
    scale = run.scale(f"to {MOST}")
    for count in range(SLOT, most_of(run) + 1, SLOT):
        what = f"{count} sessions open{scale}: a new one, ms"
        found.append(Row(what, f"{count} open, new"))
        found.append(Row("   x=1+1, ms", f"{count} open, warm"))
    return found


def bars(run):
    return [
        ("new session from the pool, p50", run.median("pool p50"), "<=", 1),
        ("new session, none ready, p50", run.median("cold p50"), "<=", 5),
        ("x=1+1, snapshot made between, p50", run.median("warm p50"), "<=", 0.5),
        ("first plot, p50 of a plain one's", run.ratio("plot p50", LIMIT), "<=", 1.5),
        ("killed, then the answer, p50", run.median("killed p50"), "<=", 10),
        ("idle session, MiB of its own", run.median("own"), "<=", 2),
        ("idle session, MiB PSS", run.median("pss"), "<=", 12),
        ("one-shot code jobs a second", run.median("jobs"), ">=", 100),
    ]


def versions(run):
    of = jupyter_versions() if run.peers else {}
    return {"python": platform.python_version(), **of}
