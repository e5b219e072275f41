#!/usr/bin/python3
"""Counts how often a session is what it was before the cell that was killed.

tests/escape/rollback.py [TIMES [PROFILE]]    of each way to end; 50 bare
"""

import sys

from executor_client import Executor

MEMORY_BYTES = 256 << 20
# Together the processes take more than the session may: the watchdog ends them.
HUNGRY = """
import os, time
for i in range(3):
    if os.fork() == 0:
        b = bytearray(b'x') * (100 << 20)
        time.sleep(60)
time.sleep(60)
"""
# How it ends, the code, its limit, the status that is told.
ENDS = [
    ("deadline", "sum(range(10**12))", 500, "timeout"),
    ("out of memory", HUNGRY, 0, "memory"),
    ("segmentation fault", "import ctypes; ctypes.string_at(0)", 0, "crashed"),
    ("os._exit", "import os; os._exit(1)", 0, "crashed"),
]
STATE = (
    "import numpy\nx = {round}\na = numpy.arange(1000) + x\nf = lambda: a.sum() + x\n"
)
ASK = "x == {round} and int(f()) == 499500 + 1001 * x"


def try_once(session, round, code, cell_ms, status):
    """None; or what went wrong."""
    done = session.run(STATE.format(round=round))
    if (done.status, done.state) != ("ok", "kept"):
        return f"state: {done}"
    limit = {"cell_ms": cell_ms} if cell_ms else {}
    done = session.run("x = a = f = None\n" + code, **limit)
    if (done.status, done.state) != (status, "rolled_back"):
        return f"end: {done}"
    done = session.run(ASK.format(round=round))
    return None if done.result == "True" else f"afterwards: {done}"


def count(times, profile="bare", report=print):
    """How many kept their state, of how many."""
    kept = 0
    with Executor("--profile", profile) as executor:
        for name, code, cell_ms, status in ENDS:
            session = executor.open(name.replace(" ", "-"), memory_bytes=MEMORY_BYTES)
            failures = [
                failure
                for round in range(times)
                if (failure := try_once(session, round, code, cell_ms, status))
            ]
            session.close()
            kept += times - len(failures)
            report(f"{name}: {times - len(failures)} of {times}", *failures[:3])
    report(f"{kept} of {times * len(ENDS)} kept their state")
    return kept, times * len(ENDS)


if __name__ == "__main__":
    times, profile = [*sys.argv[1:], *["50", "bare"][len(sys.argv) - 1 :]]
    kept, all = count(int(times), profile)
    sys.exit(kept < all)
