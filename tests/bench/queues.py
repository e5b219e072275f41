"""The queue: how many jobs a second, how soon, at which price in memory.

    tests/bench/run queue [--json]

Jobs do nothing, so what is measured is the queue. On one Redis, without
persistence, quern takes turns with the queues that it is compared with, and
with the limit: the very calls that quern makes, made by a program that does
nothing else. In every round of each: many jobs are submitted in one go, then a
worker that is started on the full queue drains it; then jobs go one by one from
submit to result. Of the rounds the median is shown.

After the rounds quern drains as many jobs with ever more finished ones beside
them, and with more consumers: the price of a job should stay what it is.
"""

import collections
import json
import statistics
import sys
import time

from harness import (
    first_line,
    machine,
    percentile,
    print_columns,
    print_where,
    take_turns,
)
from memory import descendants, memory_of
from queue_peers import ALL, Limit, Quern
from servers import RedisServer

ROUNDS = 5
IDLE_S = 1.0
GROWTH = (10**3, 10**4, 10**5, 10**6)
CONSUMERS = (1, 2, 4)
GROWTH_JOBS = 5000
GROWTH_ROUNDS = 3
GROWTH_BATCH = 10000


class Cost:
    """What the server spends meanwhile: its processor's us a job."""

    def __init__(self, db, jobs):
        self.db, self.jobs, self.us = db, jobs, 0.0

    def spent(self):
        info = self.db.info("cpu")
        return info["used_cpu_user"] + info["used_cpu_sys"]

    def __enter__(self):
        self.begin = self.spent()
        return self

    def __exit__(self, *_):
        self.us = (self.spent() - self.begin) * 1e6 / self.jobs


def used_memory(db):
    """Without the buffers of connections, which come and go."""
    info = db.info("memory")
    return info["used_memory"] - info["mem_clients_normal"]


# --- a round of one queue ------------------------------------------------------


def weigh(queue, taken):
    """Bytes of a waiting job that asks 200."""
    queue.clean()
    empty = used_memory(queue.db)
    queue.ask(queue.jobs, "weigh")
    taken["bytes"].append((used_memory(queue.db) - empty) / queue.jobs)


def fill_and_drain(queue, taken):
    queue.clean()
    with Cost(queue.db, queue.jobs) as cost:
        taken["submit"].append(queue.fill(queue.jobs))
    taken["submit us"].append(cost.us)
    with Cost(queue.db, queue.jobs) as cost:
        taken["drain"].append(queue.drain(queue.jobs))
    taken["drain us"].append(cost.us)


def idle_and_trips(queue, taken):
    """MiB: resident, shared pages by halves when there are several processes."""
    queue.clean()
    worker = queue.start()
    try:
        queue.wait_ready(worker)
        if queue.round_trips > 0:
            queue.trips(5)
        time.sleep(IDLE_S)
        held = [memory_of(pid) for pid in descendants(worker.pid)]
        kind = "Rss" if len(held) == 1 else "Pss"
        taken["idle"].append(sum(one[kind] for one in held) / 1024)
        if queue.round_trips > 0:
            times = queue.trips(queue.round_trips)
            taken["p50"].append(percentile(times, 50))
            taken["p99"].append(percentile(times, 99))
    finally:
        queue.stop(worker)


def compare(server, names):
    """{queue: {row: median}}"""
    queues = [kind(server) for kind in ALL if kind.name in names]
    taken = {queue.name: collections.defaultdict(list) for queue in queues}
    for queue in take_turns(queues, ROUNDS):
        fill_and_drain(queue, taken[queue.name])
        if queue.has_worker:
            weigh(queue, taken[queue.name])
            idle_and_trips(queue, taken[queue.name])
        queue.clean()
    found = {
        name: {row: statistics.median(values) for row, values in rows.items()}
        for name, rows in taken.items()
    }
    print(json.dumps(found), file=sys.stderr)
    return found


# --- growth --------------------------------------------------------------------


# What a finished job leaves, again under other ids: its keys, as they are.
COPIES = """
for number = tonumber(ARGV[1]), tonumber(ARGV[2]) do
    for _, key in ipairs(KEYS) do
        redis.call("COPY", key, key:sub(1, -13) .. string.format("%012d", number))
    end
end
"""


class Finished:
    """Jobs that have ended: one that was run, and its copies."""

    def __init__(self, server):
        limit = Limit(server)
        limit.fill(1)
        limit.drain(1)
        limit.close()
        self.db, self.count = server.client(), 1
        [job] = self.db.keys("quern:{000}:job:*")
        self.keys = self.db.keys(b"*:" + job.rsplit(b":", 1)[1])
        assert len(self.keys) == 3, self.keys  # facts, events, result

    def grow(self, count):
        while self.count < count:
            last = min(self.count + GROWTH_BATCH, count)
            args = (len(self.keys), *self.keys, self.count, last - 1)
            self.db.eval(COPIES, *args)
            self.count = last


def growth():
    """(finished jobs, consumers, jobs a second, us of Redis a job)"""
    rows = []
    with RedisServer() as server:
        quern = Quern(server)
        quern.clean()
        finished = Finished(server)
        for count in GROWTH:
            finished.grow(count)
            taken = {consumers: ([], []) for consumers in CONSUMERS}
            for consumers in CONSUMERS * GROWTH_ROUNDS:
                quern.fill(GROWTH_JOBS)
                with Cost(quern.db, GROWTH_JOBS) as cost:
                    taken[consumers][0].append(quern.drain(GROWTH_JOBS, consumers))
                taken[consumers][1].append(cost.us)
            for consumers, figures in taken.items():
                rows.append((count, consumers, *map(statistics.median, figures)))
            print(f"{count} finished jobs: {rows[-3:]}", file=sys.stderr)
        quern.close()
    return rows


# --- what it comes to ----------------------------------------------------------

ROWS = (
    ("submit", "P1 submit, jobs a second", "{:.0f}"),
    ("submit us", "   Redis, us a job", "{:.1f}"),
    ("drain", "P2 drain, jobs a second", "{:.0f}"),
    ("drain us", "   Redis, us a job", "{:.1f}"),
    ("p50", "P3 submit to result, ms: p50", "{:.2f}"),
    ("p99", "   p99", "{:.2f}"),
    ("idle", "P13 worker that waits, MiB", "{:.1f}"),
    ("bytes", "P14 question of 200 bytes that waits, bytes", "{:.0f}"),
)


def bars(found, grown):
    """(what, figure, its bound, whether it is met)"""
    quern, limit, bull = (found.get(x, {}) for x in ("quern", "limit", "BullMQ"))
    rows = []

    def at_least(what, row, other, bound):
        if row in other:
            ratio = quern[row] / other[row]
            rows.append((what, round(ratio, 3), f">= {bound}", ratio >= bound))

    def at_most(what, row, other, bound):
        if row in other:
            ratio = quern[row] / other[row]
            rows.append((what, round(ratio, 3), f"<= {bound}", ratio <= bound))

    at_least("P1 of BullMQ", "submit", bull, 4)
    at_least("P1 of the limit", "submit", limit, 0.75)
    at_least("P2 of BullMQ", "drain", bull, 2.5)
    at_least("P2 of the limit", "drain", limit, 0.75)
    at_most("P3 p50 of BullMQ", "p50", bull, 0.4)
    at_most("P3 p99 of BullMQ", "p99", bull, 0.5)
    at_most("P13 MiB", "idle", {"idle": 1}, 12)
    at_most("P14 bytes of BullMQ", "bytes", bull, 0.6)
    prices = [us for _, consumers, _, us in grown if consumers == 1]
    if prices:
        worst = max(prices) / prices[0]
        rows.append(
            ("P14 price with 10^6, of 10^3", round(worst, 3), "<= 1.1", worst <= 1.1)
        )
    return rows


def show(found, grown, rows, versions):
    print("queue")
    table = [("", *found)]
    for key, what, form in ROWS:
        cells = (form.format(one[key]) if key in one else "-" for one in found.values())
        table.append((what, *cells))
    print_columns(table)
    print()
    table = [("P14 finished jobs", "consumers", "jobs a second", "Redis, us a job")]
    for finished, consumers, rate, us in grown:
        table.append((str(finished), str(consumers), f"{rate:.0f}", f"{us:.1f}"))
    print_columns(table)
    print()
    table = [("bar", "is", "", "")]
    for what, figure, bound, met in rows:
        table.append((what, f"{figure:g}", bound, "met" if met else "NOT MET"))
    print_columns(table, (0, 2, 3))
    print_where(versions)


def main(as_json):
    there = []
    with RedisServer() as server:
        for kind in ALL:
            if kind(server).is_there():
                there.append(kind.name)
            else:
                print(f"left out, not installed: {kind.name}", file=sys.stderr)
        versions = {k.name: k(server).version() for k in ALL if k.name in there}
        versions["redis"] = first_line("redis-server", "--version").split()[2][2:]
        found = compare(server, there)
    grown = growth()
    rows = bars(found, grown)
    if as_json:
        of = {"bench": "queue", "machine": machine(), "versions": versions}
        names = ("what", "figure", "bound", "met")
        print(
            json.dumps(
                {
                    **of,
                    "found": found,
                    "growth": grown,
                    "bars": [dict(zip(names, row)) for row in rows],
                }
            )
        )
    else:
        show(found, grown, rows, versions)


if __name__ == "__main__":
    main("--json" in sys.argv[1:])
