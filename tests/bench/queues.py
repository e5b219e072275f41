"""The queue: how many jobs a second, how soon, at which price in memory.

Jobs do nothing, so what is measured is the queue. On one Redis, without
persistence, quern takes turns with the queues that it is compared with, and
with the limit: the very calls that quern makes, made by a program that does
nothing else. In every round of each: many jobs are submitted in one go, then a
worker that is started on the full queue drains it; then jobs go one by one from
submit to result.

After the rounds quern drains as many jobs with ever more finished ones beside
them, and with more consumers: the price of a job should stay what it is.
"""

import contextlib
import functools
import json
import os
import socket
import tempfile
import time

from harness import (
    Row,
    Turn,
    alternate,
    delay_rows,
    percentiles,
    redis_version,
)
from peers import those_installed
from processes import descendants, memory_of
from queue_peers import PEERS, Limit, Quern
from servers import RedisServer

IDLE_S = 1.0
SHARE = 0.75  # of the time: the rounds of all
GROWTH = (10**3, 10**4, 10**5, 10**6)  # the last one at full size only
CONSUMERS = (1, 2, 4)
GROWTH_JOBS = 5000
GROWTH_ROUNDS = 3  # at full size
GROWTH_BATCH = 10000
ENDPOINTS, TOOLS = 64, 20  # of the consumer whose numbers are read
SCRAPES = 100
SHARE_OF_SCRAPES = 0.05


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


def weigh(queue):
    """Bytes of a waiting job that asks 200."""
    queue.clean()
    empty = used_memory(queue.db)
    queue.ask(queue.jobs, "weigh")
    return {"bytes": (used_memory(queue.db) - empty) / queue.jobs}


def fill_and_drain(queue):
    queue.clean()
    with Cost(queue.db, queue.jobs) as submit:
        submitted = queue.fill(queue.jobs)
    with Cost(queue.db, queue.jobs) as drain:
        drained = queue.drain(queue.jobs)
    return {
        "submit": submitted,
        "submit us": submit.us,
        "drain": drained,
        "drain us": drain.us,
    }


def idle_and_trips(queue):
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
        found = {"idle": sum(one[kind] for one in held) / 1024}
        if queue.round_trips > 0:
            found.update(percentiles("trip", queue.trips(queue.round_trips)))
    finally:
        queue.stop(worker)
    return found


def one_queue(queue):
    found = fill_and_drain(queue)
    if queue.has_worker:
        found.update(weigh(queue))
        found.update(idle_and_trips(queue))
    queue.clean()
    return found


def compare(run, server):
    queues = [Quern(server, build) for build in run.builds]
    if run.peers:
        queues.append(Limit(server, run.builds[-1]))
        queues += [kind(server) for kind in those_installed(PEERS)]
    turns = [
        Turn(queue.column, "queue", functools.partial(one_queue, queue))
        for queue in queues
    ]
    run.take_turns(turns, SHARE)
    run.take_turns(
        [
            Turn(build.column, "scrape", functools.partial(scrapes, server, build))
            for build in run.builds
        ],
        SHARE_OF_SCRAPES,
    )


# --- a scrape -----------------------------------------------------------------


class Watched(Quern):
    """A worker that shows its numbers, with many endpoints and tools."""

    def __init__(self, folder, server, build):
        super().__init__(server, build)
        self.folder, self.place = folder, os.path.join(folder, "numbers.sock")

    def write(self, name, entries):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(entries, file)
        return path

    def worker(self):
        url = "http://127.0.0.1:9"
        endpoints = {f"endpoint-{n}": {"url": url, "model": "m"} for n in range(ENDPOINTS)}
        tool = {"description": "x", "url": url, "parameters": {"type": "object"}}
        tools = {f"tool_{n}": tool for n in range(TOOLS)}
        return [
            *super().worker(),
            *("--models", self.write("models.json", endpoints)),
            *("--tools", self.write("tools.json", tools)),
            *("--metrics", f"unix:{self.place}"),
        ]

    def scrape(self):
        """ms"""
        begin = time.perf_counter()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.place)
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            while client.recv(1 << 16):
                pass
        return 1000 * (time.perf_counter() - begin)


def scrapes(server, build):
    """It has run jobs before."""
    with tempfile.TemporaryDirectory() as folder:
        queue = Watched(folder, server, build)
        queue.clean()
        worker = queue.start()
        try:
            queue.wait_ready(worker)
            queue.trips(queue.round_trips)
            return percentiles("scrape", [queue.scrape() for _ in range(SCRAPES)])
        finally:
            queue.stop(worker)
            queue.close()


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

    def __init__(self, server, build):
        limit = Limit(server, build)
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


class Growing:
    """A build's queue with ever more finished jobs beside it."""

    def __init__(self, kept, build):
        server = kept.enter_context(RedisServer())
        self.quern = Quern(server, build)
        kept.callback(self.quern.close)
        self.quern.clean()
        self.finished = Finished(server, build)

    def drain(self, name, consumers):
        self.quern.fill(GROWTH_JOBS)
        with Cost(self.quern.db, GROWTH_JOBS) as cost:
            rate = self.quern.drain(GROWTH_JOBS, consumers)
        return {name: rate, f"{name} us": cost.us}

    def turns(self, count):
        """With so many finished jobs."""
        self.finished.grow(count)
        names = {consumers: growth_name(count, consumers) for consumers in CONSUMERS}
        return [
            Turn(
                self.quern.column, name, functools.partial(self.drain, name, consumers)
            )
            for consumers, name in names.items()
        ]


def growth_name(count, consumers):
    return f"{count} finished jobs, {consumers} consumer{'s' * (consumers > 1)}"


def growth_counts(run):
    return GROWTH if run.full else GROWTH[:-1]


def grow(run):
    with contextlib.ExitStack() as kept:
        all_of_them = [Growing(kept, build) for build in run.builds]
        counts = growth_counts(run)
        for at, count in enumerate(counts):
            turns = alternate(growing.turns(count) for growing in all_of_them)
            rounds = GROWTH_ROUNDS if run.full else None
            run.take_turns(turns, 1 / (len(counts) - at), rounds)


# --- the whole -----------------------------------------------------------------


def measure(run):
    with RedisServer() as server:
        compare(run, server)
    grow(run)


def rows(run):
    found = [
        Row("P1 submit, jobs a second", "submit", "{:.0f}"),
        Row("   Redis, us a job", "submit us", "{:.1f}"),
        Row("P2 drain, jobs a second", "drain", "{:.0f}"),
        Row("   Redis, us a job", "drain us", "{:.1f}"),
        *delay_rows("P3 submit to result", "trip"),
        Row("P13 worker that waits, MiB", "idle", "{:.1f}"),
        Row("P14 question of 200 bytes that waits, bytes", "bytes", "{:.0f}"),
        *delay_rows(f"scrape, {ENDPOINTS} endpoints, {TOOLS} tools", "scrape"),
    ]
    scale = run.scale(f"to {GROWTH[-1]}")
    for count in growth_counts(run):
        for consumers in CONSUMERS:
            name = growth_name(count, consumers)
            what = f"P14 drain beside {name}{scale}, jobs a second"
            found.append(Row(what, name, "{:.0f}"))
            found.append(Row("   Redis, us a job", f"{name} us", "{:.1f}"))
    return found


def bars(run):
    counts = growth_counts(run)
    prices = [run.median(f"{growth_name(count, 1)} us") for count in counts]
    prices = [price for price in prices if price is not None]
    worst = max(prices) / prices[0] if len(prices) > 1 else None
    return [
        ("P1 of BullMQ", run.ratio("submit", "BullMQ"), ">=", 4),
        ("P1 of the limit", run.ratio("submit", "limit"), ">=", 0.75),
        ("P2 of BullMQ", run.ratio("drain", "BullMQ"), ">=", 2.5),
        ("P2 of the limit", run.ratio("drain", "limit"), ">=", 0.75),
        ("P3 p50 of BullMQ", run.ratio("trip p50", "BullMQ"), "<=", 0.4),
        ("P3 p99 of BullMQ", run.ratio("trip p99", "BullMQ"), "<=", 0.5),
        ("P13 MiB", run.median("idle"), "<=", 12),
        ("scrape p50, ms", run.median("scrape p50"), "<=", 5),
        ("P14 bytes of BullMQ", run.ratio("bytes", "BullMQ"), "<=", 0.6),
        (f"P14 price with up to {counts[-1]}, of {counts[0]}", worst, "<=", 1.1),
    ]


def versions(run):
    peers = [kind for kind in PEERS if run.peers and kind.is_there()]
    of = {kind.column: kind.version() for kind in peers}
    return {**of, "redis": redis_version()}
