"""What every benchmark here does alike: rounds, medians, one table.

A runner is a function of a count that gives that many times in ms. All runners
take turns within a round, so that what else the machine does hits each alike,
and every other round they go in the opposite order. Of each round p50 and p99
are taken; what is printed is the median of the rounds.
"""

import dataclasses
import json
import os
import platform
import statistics
import subprocess
import sys


@dataclasses.dataclass
class Runner:
    name: str
    run: callable  # count -> [ms]
    count: int  # samples a round


def percentile(times, share):
    """The smallest of the times that share of them do not exceed."""
    times = sorted(times)
    return times[max(0, -(-len(times) * share // 100) - 1)]


def take_turns(things, rounds=5):
    """Gives each of things, which have a name, once a round."""
    for number in range(rounds):
        for thing in things[:: -1 if number % 2 else 1]:
            print(f"round {number + 1}: {thing.name}", file=sys.stderr)
            yield thing


def measure(runners, rounds=5):
    """Gives {name: {p50, p99, samples}} in ms."""
    taken = {runner.name: [] for runner in runners}
    for runner in take_turns(runners, rounds):
        taken[runner.name].append(runner.run(runner.count))
    return {
        name: {
            "p50": statistics.median(percentile(t, 50) for t in times),
            "p99": statistics.median(percentile(t, 99) for t in times),
            "samples": sum(len(t) for t in times),
        }
        for name, times in taken.items()
    }


def first_line(*command):
    return subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.splitlines()[0]


def machine():
    with open("/proc/cpuinfo") as file:
        model = next((x for x in file if x.startswith("model name")), ": ?")
    with open("/proc/meminfo") as file:
        memory_kib = int(file.readline().split()[1])
    with open("/etc/os-release") as file:
        system = next(x for x in file if x.startswith("PRETTY_NAME="))
    return {
        "cpu": model.split(":", 1)[1].strip(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory_kib / 2**20, 1),
        "kernel": platform.release(),
        "system": system.split("=", 1)[1].strip().strip('"'),
    }


def print_table(title, rows, facts, versions):
    """rows: dicts of what, ours, peer (names), times, peer_times."""
    head = ("", "p50 ms", "p99 ms", "peer", "p50 ms", "p99 ms", "p50 ×", "p99 ×")
    table = [head]
    for row in rows:
        ours, peer = row["quern"], row["peer"]
        table.append(
            (row["what"], f"{ours['p50']:.2f}", f"{ours['p99']:.2f}")
            + (row["peer_name"], f"{peer['p50']:.2f}", f"{peer['p99']:.2f}")
            + (f"{row['ratio']['p50']:.3f}", f"{row['ratio']['p99']:.3f}")
        )
    print(title)
    width = print_columns(table, (0, 3))
    for fact in facts:
        peer = f"  (peer {fact['peer']:.2f})" if fact["peer"] is not None else ""
        print(f"{fact['what'].ljust(width)}  {fact['quern']:.2f}{peer}")
    print_where(versions)


def print_columns(table, left=(0,)):
    """left: the columns of words. Gives the width of the first."""
    widths = [max(map(len, column)) for column in zip(*table)]
    for line in table:
        cells = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        ]
        print("  ".join(cells).rstrip())
    return widths[0]


def print_where(versions):
    print("machine: " + ", ".join(f"{k} {v}" for k, v in machine().items()))
    print("versions: " + ", ".join(f"{k} {v}" for k, v in versions.items()))


def report(title, compared, times, versions, as_json, facts=()):
    """compared: (what, our runner, peer's runner) a row; facts: (what, our figure,
    the peer's or None), where the unit is not ms or there is no p99."""
    facts = [dict(zip(("what", "quern", "peer"), fact)) for fact in facts]
    rows = [
        {
            "what": what,
            "quern": times[ours],
            "peer_name": peer,
            "peer": times[peer],
            "ratio": {
                p: round(times[ours][p] / times[peer][p], 4)
                for p in ("p50", "p99")
            },
        }
        for what, ours, peer in compared
    ]
    if as_json:
        of = {"machine": machine(), "versions": versions}
        print(json.dumps({"bench": title, **of, "rows": rows, "facts": facts}))
    else:
        print_table(title, rows, facts, versions)
