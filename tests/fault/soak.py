#!/usr/bin/python3
"""Sessions come, are killed in every way, and go: the executor stays as it was.

    tests/fault/soak.py [SESSIONS]      1000

Prints memory, descriptors and processes of the executor on the way; the last
line says what was left over. Exit status 1 when anything was.
"""

import itertools
import os
import sys

from executor_client import Executor
from servers import wait_until

ROUND = 8  # sessions at once
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
# its end, code, what it is told, its state
KILLS = [
    ("nothing", "1", "ok", "kept"),
    ("crash", "import ctypes; ctypes.string_at(0)", "crashed", "rolled_back"),
    ("exit", "import os; os._exit(1)", "crashed", "rolled_back"),
    ("obeys its limit", "while True: pass", "timeout", "kept"),
    ("killed at its limit", "sum(range(10**12))", "timeout", "rolled_back"),
    ("memory", HUNGRY, "memory", "rolled_back"),
    ("strays", LEAVES, "ok", "kept"),
    ("closed while it runs", "", "", ""),
]


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(s.split()[1]) for s in status if s.startswith("VmRSS"))


def family(pid):
    """How many processes have come of it; zombies as well."""
    parents = {}
    for task in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{task}/stat") as stat:
                parents[int(task)] = int(stat.read().rsplit(")")[1].split()[1])
        except OSError:
            continue
    young, count = {pid}, 0
    while young:
        young = {p for p, parent in parents.items() if parent in young}
        count += len(young)
    return count


def look(executor):
    pid = executor.process.pid
    return resident_kib(pid), len(os.listdir(f"/proc/{pid}/fd")), family(pid)


def settle(executor):
    """What it has when nothing moves any more."""
    seen = []

    def still():
        seen.append(look(executor)[1:])
        return len(seen) > 30 and len({*seen[-30:]}) == 1

    wait_until(still, timeout=60, what="boxes and interpreters stand ready")
    return look(executor)


def live(executor, names, kills):
    """A few sessions from beginning to end; gives what was not as it should."""
    wrong = []
    sessions = [executor.open(name, memory_bytes=MEMORY_BYTES) for name in names]
    for session in sessions:
        session.run("kept = 7")
    asked = [
        session.start(
            code or "while True: pass", cell_ms=200 if code != HUNGRY else 9999
        )
        for session, (_, code, _, _) in zip(sessions, kills)
    ]
    for session, (ref, _), (name, _, status, state) in zip(sessions, asked, kills):
        if status:
            done = session.finish(ref)
            after = session.run("kept").result
            if (done.status, done.state, after) != (status, state, "7"):
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
        report("resident %d KiB, %d descriptors, %d processes" % before)
        for first in range(0, count, ROUND):
            numbers = range(first, min(first + ROUND, count))
            kills = [next(ways) for _ in numbers]
            wrong += live(executor, [f"soak-{i}" for i in numbers], kills)
            if first % 400 == 0:
                report(f"{first + len(numbers)}: %d KiB, %d, %d" % look(executor))
        after = settle(executor)
        report("resident %d KiB, %d descriptors, %d processes" % after)
        if after[0] > before[0] + 4096 + before[0] // 4:
            wrong.append(f"{after[0] - before[0]} KiB more")
        if after[1] > before[1] + 2 or after[2] > before[2]:
            wrong.append(f"before {before}, after {after}")
        if executor.process.stop() != 0:
            wrong.append(executor.process.text()[-2000:])
    return wrong


if __name__ == "__main__":
    wrong = soak(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
    print(*wrong, f"{len(wrong)} things were wrong", sep="\n")
    sys.exit(bool(wrong))
