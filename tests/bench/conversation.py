"""Conversations: what those that wait cost, what a turn costs, how soon is seen
what a model says.

    tests/bench/run conversation [--json]

The model is the practice model, which answers as it is told; Redis has no
persistence. quern takes turns with programs that ask the same model without a
queue in between: openai's own client, and an agent of pydantic-ai.

Three things in every round: 10 000 conversations wait for a model that takes
its time; turns of 200 deltas are had one after the other, and the processor's
time of each process is read; deltas tell when they were sent, and a subscriber
looks at its clock. Of the rounds the median is shown.
"""

import collections
import json
import os
import resource
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
from memory import memory_of
from peers import Lines
from queue_peers import BENCH, LANE, LEASES, WORK
from servers import BUILD, binary, wait_until
from stack import Stack

ROUNDS = 5
HELD = 10000  # conversations in one process
HELD_MS = 60000  # until the model answers: all have asked it by then
HELD_PEER_MS = 180000  # the same
LOOK_S = 5  # of the time that all of them wait
TURNS = 300  # one after the other
DELTAS = 200  # of a turn
SPREAD = 100  # turns at once, where a model takes its time between two deltas
DELTA_MS = 10
FOLLOWED = (1, 20)  # turns at once that are looked at
FOLLOWED_TURNS = 5
FILES = 20000  # a connection each

TEXT = "twelve bytes" * DELTAS
STAMPS = "time-of-send" * DELTAS


def cpu_s(pid):
    """What a process has had of the processor, all of its threads."""
    return time.clock_gettime(~pid << 3 | 2)


class Spent:
    """Seconds of the processor that these have had meanwhile."""

    def __init__(self, **pids):
        self.pids, self.s = pids, {}

    def __enter__(self):
        self.begin = {name: cpu_s(pid) for name, pid in self.pids.items()}
        return self

    def __exit__(self, *_):
        self.s = {
            name: cpu_s(pid) - self.begin[name] for name, pid in self.pids.items()
        }


class Asker:
    """One kind of program that asks the model, with a stack of its own."""

    name = ""
    held, held_ms = HELD, HELD_PEER_MS

    def __init__(self):
        self.stack = Stack(executor=False)
        try:
            self.open()
            self.answer_with()
            self.one_by_one(5)
        except BaseException:
            self.stack.__exit__(None)
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        self.lines.child.kill()
        self.stack.__exit__(kind, *rest)

    def answer_with(self, **reply):
        """What the model says: "stream" is answered with the time."""
        slow = {"text": STAMPS, "stamp": True, "chunk_ms": DELTA_MS}
        turn = {"match": "ping", "replies": [{"text": TEXT, **reply}]}
        self.stack.model.script([turn, {"match": "stream", "replies": [slow]}])
        self.stack.model.reset()

    def wait_asked(self, count):
        """False: the first was answered before, this machine is too busy."""
        counts = self.stack.model.counts
        try:
            wait_until(lambda: counts()["open"] >= count, self.held_ms / 1000)
        except TimeoutError:
            return False
        return True

    # -- what differs

    @staticmethod
    def is_there():
        return True

    def open(self):
        """Makes pid, whose memory and time it is, and lines, which drive it."""
        raise NotImplementedError

    def one_by_one(self, count):
        raise NotImplementedError

    def at_once(self, count):
        raise NotImplementedError


class Quern(Asker):
    name, held_ms = "quern", HELD_MS
    spare = 16  # slots for who is looked at while all others wait
    delta_ms = 50

    def open(self):
        slots = HELD + self.spare
        consumer = self.stack.consumer(
            slots=slots, lease="30s", delta=f"{self.delta_ms}ms"
        )
        self.consumer, self.pid = consumer, consumer.pid
        redis = {"REDIS_URL": self.stack.redis.url}
        self.lines = Lines(binary("bench-submit"), "conversation", **redis)
        self.stream = Lines(binary("bench-stream"), **redis)

    def __exit__(self, *rest):
        self.stream.close()
        self.consumer.kill()
        super().__exit__(*rest)

    def one_by_one(self, count):
        self.lines.run(count, "trips")

    def at_once(self, count):
        self.start(count)
        self.wait_over()

    def start(self, count):
        self.lines.run(count, "many")

    def wait_over(self):
        self.wait_left(0)

    def wait_left(self, count):
        def left():
            jobs = self.stack.db.xlen(WORK) + self.stack.db.zcard(LEASES)
            return jobs + self.stack.db.llen(LANE)

        wait_until(lambda: left() <= count, 600, "all have ended")

    def lost(self):
        """Leases that went to somebody else, writes that came too late."""
        said = self.consumer.text()
        return said.count('"job.lost"') + said.count('"job.refused"')

    def delays(self, at_once):
        """ms from a delta to who sees it."""
        return self.stream.run(at_once)


class Uncoalesced(Quern):
    name, delta_ms = "quern --delta 0", 0


class OpenAI(Asker):
    """openai's client as it comes: it has 1000 connections at most."""

    name, kind = "openai", "client"
    held = 1000
    folder = f"{BUILD}/peers/openai/bin"

    @classmethod
    def is_there(cls):
        return os.path.exists(f"{cls.folder}/python")

    def open(self):
        self.lines = Lines(
            f"{self.folder}/python",
            f"{BENCH}/openai_peer.py",
            self.kind,
            OPENAI_BASE_URL=self.stack.model.url,
            OPENAI_API_KEY="none",
            no_proxy="*",
        )
        self.pid = self.lines.child.pid

    def one_by_one(self, count):
        self.lines.run(count, "turns")

    def at_once(self, count):
        self.lines.run(count, "hold")

    def start(self, count):
        self.lines.ask(count, "hold")


class AioHttp(OpenAI):
    """With the other transport that it brings: of 10 000 requests at once the
    first one has not sent any after five minutes."""

    name, kind = "openai, aiohttp", "aiohttp"
    held = HELD


class Agent(OpenAI):
    name, kind = "pydantic-ai", "agent"
    held = 0


ALL = (Quern, OpenAI, AioHttp, Agent)


# --- a round of one of them -----------------------------------------------------


def spend(asker, taken):
    """ms of the processor for a turn."""
    ways = {
        "turn": (asker.one_by_one, TURNS, 0),
        "spread": (asker.at_once, SPREAD, DELTA_MS),
    }
    for row, (ask, count, chunk_ms) in ways.items():
        asker.answer_with(**({"chunk_ms": chunk_ms} if chunk_ms else {}))
        with Spent(own=asker.pid, redis=asker.stack.redis.process.pid) as spent:
            ask(count)
        taken[row].append(spent.s["own"] * 1e3 / count)
        if isinstance(asker, Quern):
            taken[f"{row} redis"].append(spent.s["redis"] * 1e3 / count)


def hold(asker, taken):
    """KiB of one that waits; what it takes to begin, and to keep them."""
    count = asker.held
    asker.answer_with(delay_ms=asker.held_ms)
    time.sleep(1)
    idle, begin = memory_of(asker.pid)["Rss"], time.monotonic()
    with Spent(own=asker.pid) as spent:
        asker.start(count)
        if not asker.wait_asked(count):
            print(f"{asker.name}: not all have asked in time", file=sys.stderr)
            return
        taken["begun s"].append(time.monotonic() - begin)
    taken["begin ms"].append(spent.s["own"] * 1e3 / count)
    time.sleep(1)
    taken["KiB"].append((memory_of(asker.pid)["Rss"] - idle) / count)
    with Spent(own=asker.pid) as spent:
        time.sleep(LOOK_S)
    taken["keep %"].append(spent.s["own"] * 100 / LOOK_S)
    if isinstance(asker, Quern):
        tell_delays(asker.delays(1), "held", taken)
        asker.wait_over()
        taken["lost"].append(asker.lost())


def tell_delays(delays, name, taken):
    for share in (50, 99):
        taken[f"{name} p{share}"].append(percentile(delays, share))


def cost(asker, taken):
    spend(asker, taken)
    if asker.held > 0:
        hold(asker, taken)


def follow(asker, taken):
    for at_once in FOLLOWED:
        delays = []
        for _ in range(max(1, FOLLOWED_TURNS // at_once)):
            delays.append(asker.delays(at_once))
        tell_delays(sum(delays, []), f"{at_once} at once", taken)
        if at_once == 1:
            taken["first"].append(statistics.median(turn[0] for turn in delays))


def measure(kinds, look):
    """{name: {row: median}}"""
    taken = {kind.name: collections.defaultdict(list) for kind in kinds}
    for kind in take_turns(kinds, ROUNDS):
        with kind() as asker:
            look(asker, taken[kind.name])
    found = {
        name: {row: statistics.median(values) for row, values in rows.items()}
        for name, rows in taken.items()
    }
    print(json.dumps(found), file=sys.stderr)
    return found


# --- what it comes to ----------------------------------------------------------

ROWS = (
    ("held", "P4 conversations that wait for their model", "{:.0f}"),
    ("KiB", "   memory of each, KiB", "{:.1f}"),
    ("begun s", "   until all have asked, s", "{:.1f}"),
    ("begin ms", "   processor to begin one, ms", "{:.2f}"),
    ("keep %", "   processor while all wait, %", "{:.1f}"),
    ("lost", "   leases lost", "{:.0f}"),
    ("held p50", "   a delta is seen meanwhile, ms: p50", "{:.2f}"),
    ("held p99", "   p99", "{:.2f}"),
    ("turn", "P5 turn of 200 deltas, processor, ms", "{:.2f}"),
    ("turn redis", "   Redis's", "{:.2f}"),
    ("spread", "   the same, a delta every 10 ms, 100 turns at once", "{:.2f}"),
    ("spread redis", "   Redis's", "{:.2f}"),
)
DELAY_ROWS = (("first", "P12 first delta of a turn is seen, ms", "{:.2f}"),) + tuple(
    row
    for at_once in FOLLOWED
    for row in (
        (
            f"{at_once} at once p50",
            f"   of all, {at_once} turns at once: p50",
            "{:.2f}",
        ),
        (f"{at_once} at once p99", "      p99", "{:.2f}"),
    )
)


def bars(found, delays):
    """(what, figure, its bound, whether it is met)"""
    quern, rows = found["quern"], []

    def at_most(what, figure, bound):
        rows.append((what, round(figure, 3), f"<= {bound}", figure <= bound))

    if "KiB" in quern:
        at_most("P4 KiB of a conversation", quern["KiB"], 32)
        at_most("P4 leases lost", quern["lost"], 0)
    for name in ("openai", "pydantic-ai"):
        if name in found:
            ratio = found[name]["turn"] / quern["turn"]
            rows.append((f"P5 of {name}", round(ratio, 1), ">= 10", ratio >= 10))
    plain = delays[Uncoalesced.name]["1 at once p99"]
    at_most("P12 ms, p99, --delta 0", plain, 5)
    return rows


def table_of(found, rows):
    table = [("", *found)]
    for key, what, form in rows:
        cells = (form.format(one[key]) if key in one else "-" for one in found.values())
        table.append((what, *cells))
    return table


def show(found, delays, rows, versions):
    print("conversation")
    print_columns(table_of(found, ROWS))
    print()
    print_columns(table_of(delays, DELAY_ROWS))
    print()
    table = [("bar", "is", "", "")]
    for what, figure, bound, met in rows:
        table.append((what, f"{figure:g}", bound, "met" if met else "NOT MET"))
    print_columns(table, (0, 2, 3))
    print_where(versions)


def versions_of(kinds):
    versions = {
        "quern": first_line(binary("quern"), "--version").split()[-1],
        "redis": first_line("redis-server", "--version").split()[2][2:],
    }
    if OpenAI in kinds:
        ask = "import importlib.metadata as m; print(m.version('{}'))"
        for package in ("openai", "aiohttp", "pydantic-ai-slim"):
            of = first_line(f"{OpenAI.folder}/python", "-c", ask.format(package))
            versions[package] = of
    return versions


def main(as_json):
    most = max(FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    kinds = [kind for kind in ALL if kind.is_there()]
    for kind in set(ALL) - set(kinds):
        print(f"left out, not installed: {kind.name}", file=sys.stderr)
    found = measure(kinds, cost)
    for kind in filter(lambda kind: kind.held > 0, kinds):
        found[kind.name]["held"] = kind.held
    delays = measure((Quern, Uncoalesced), follow)
    rows = bars(found, delays)
    versions = versions_of(kinds)
    if as_json:
        of = {"bench": "conversation", "machine": machine(), "versions": versions}
        names = ("what", "figure", "bound", "met")
        met = [dict(zip(names, row)) for row in rows]
        print(json.dumps({**of, "found": found, "delays": delays, "bars": met}))
    else:
        show(found, delays, rows, versions)


if __name__ == "__main__":
    main("--json" in sys.argv[1:])
