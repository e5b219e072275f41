#!/usr/bin/python3
"""Sessions come, are killed in every way, and go: the executor stays as it was.

    tests/fault/soak.py [SESSIONS]      1000

Prints what the executor has on the way, and the median time of a session that
does next to nothing; the last line says how much was wrong or left over. Exit
status 1 when anything was.
"""

import itertools
import os
import statistics
import sys
import time

from cgroups import own_folders
from executor_client import Executor
from processes import resident
from servers import wait_until

ROUND = 8  # sessions at once
TOLD = 25  # rounds between two lines of the report
MEMORY_BYTES = 96 << 20
# A sanitizer keeps what was freed, to see who uses it: else 256 MiB of it.
LITTLE_KEPT = {"ASAN_OPTIONS": "quarantine_size_mb=1"}
HUNGRY = """
import os, time
for i in range(3):
    if os.fork() == 0:
        b = bytearray(b'x') * (60 << 20)
        time.sleep(60)
time.sleep(60)
"""
LEAVES = "import os\nif os.fork() == 0:\n    os.setsid()\n    while True: pass\n1"
LATE_MS, NEVER_MS = 200, 60000  # what is to end otherwise may take its time
KEPT, BACK = {"kept"}, {"rolled_back"}
EITHER = KEPT | BACK  # a limit may come before the code is where it would not obey
# its end, code, its limit, what it is told, its state
KILLS = [
    ("nothing", "1", NEVER_MS, "ok", KEPT),
    ("crash", "import ctypes; ctypes.string_at(0)", NEVER_MS, "crashed", BACK),
    ("exit", "import os; os._exit(1)", NEVER_MS, "crashed", BACK),
    ("obeys its limit", "while True: pass", LATE_MS, "timeout", EITHER),
    ("killed at it", "sum(range(10**12))", LATE_MS, "timeout", EITHER),
    ("memory", HUNGRY, NEVER_MS, "memory", BACK),
    ("strays", LEAVES, NEVER_MS, "ok", KEPT),
    ("closed while it runs", "while True: pass", NEVER_MS, "", set()),
]


def family(pid):
    """How many processes have come of it; zombies as well."""
    parents = {}
    for task in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{task}/stat") as stat:
                parents[int(task)] = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
    young, count = {pid}, 0
    while young:
        young = {p for p, parent in parents.items() if parent in young}
        count += len(young)
    return count


def cgroups_of(pid):
    """How many of its boxes have one, in all hierarchies together."""
    folders = [os.path.join(folder, str(pid)) for folder in own_folders()]
    return sum(e.is_dir() for f in folders if os.path.isdir(f) for e in os.scandir(f))


def mounts_of(pid):
    """What a box is made of, where the executor would see it."""
    with open(f"/proc/{pid}/mountinfo") as mounts:
        return sum(s.split(" - ")[1].split()[1] in ("space", "root") for s in mounts)


def look(executor):
    """What it has."""
    pid = executor.process.pid
    return {
        "KiB resident": resident(pid) >> 10,
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "processes": family(pid),
        "cgroups": cgroups_of(pid),
        "mounts": mounts_of(pid),
    }


def settle(executor):
    """What it has when nothing moves any more."""
    seen = []

    def still():
        there = look(executor)
        seen.append((there["descriptors"], there["processes"]))
        return len(seen) > 30 and len({*seen[-30:]}) == 1

    wait_until(still, timeout=60, what="boxes and interpreters stand ready")
    return look(executor)


def tell(there):
    return ", ".join(f"{count} {what}" for what, count in there.items())


def compare(before, after):
    """What there is more of, a line each."""
    grown = {what: after[what] - before[what] for what in before}
    slack = {"KiB resident": 4096 + before["KiB resident"] // 4, "descriptors": 2}
    return [f"{n} {what} more" for what, n in grown.items() if n > slack.get(what, 0)]


def time_one(executor, name):
    """Milliseconds that a session takes which does next to nothing."""
    started = time.monotonic()
    session = executor.open(name)
    session.run("1 + 1")
    session.close()
    return 1000 * (time.monotonic() - started)


def live(executor, names, kills):
    """A few sessions from beginning to end; gives what was not as it should."""
    wrong = []
    sessions = [executor.open(name, memory_bytes=MEMORY_BYTES) for name in names]
    for session in sessions:
        session.run("kept = 7")
    asked = [
        session.start(code, cell_ms=limit_ms)
        for session, (_, code, limit_ms, _, _) in zip(sessions, kills)
    ]
    for session, (ref, _), kill in zip(sessions, asked, kills):
        name, _, _, status, states = kill
        if status:
            done = session.finish(ref)
            after = session.run("kept").result
            if (done.status, after) != (status, "7") or done.state not in states:
                wrong.append(f"{name}: {done}, then {after}")
        session.close()
    return wrong


def soak(count, report=print):
    """Gives what was wrong, a line each."""
    wrong, ways = [], itertools.cycle(KILLS)
    with Executor("--profile", "bare", env=LITTLE_KEPT) as executor:
        warm = [next(ways) for _ in KILLS]
        wrong += live(executor, [f"warm-{i}" for i in range(len(warm))], warm)
        before = settle(executor)
        report(f"before: {tell(before)}")
        times_ms = []
        for first in range(0, count, ROUND):
            numbers = range(first, min(first + ROUND, count))
            kills = [next(ways) for _ in numbers]
            wrong += live(executor, [f"soak-{i}" for i in numbers], kills)
            times_ms.append(time_one(executor, "timed"))
            if len(times_ms) == TOLD or numbers[-1] + 1 == count:
                median_ms = statistics.median(times_ms)
                there = tell(look(executor))
                report(f"{numbers[-1] + 1}: {median_ms:.1f} ms a session, {there}")
                times_ms.clear()
        after = settle(executor)
        report(f"after: {tell(after)}")
        wrong += compare(before, after)
        if executor.process.stop() != 0:
            wrong.append(executor.process.text()[-2000:])
    return wrong


if __name__ == "__main__":
    wrong = soak(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
    print(*wrong, f"{len(wrong)} things were wrong", sep="\n")
    sys.exit(bool(wrong))
