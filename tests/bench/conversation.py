"""Conversations: what those that wait cost, what a turn costs, how soon is seen
what a model says.

The model is the practice model, which answers as it is told; Redis has no
persistence. quern takes turns with programs that ask the same model without a
queue in between: openai's own client, and an agent of pydantic-ai.

In every round turns of 200 deltas are had one after the other, and the
processor's time of each process is read; deltas tell when they were sent, and a
subscriber looks at its clock. After the rounds very many conversations wait for
a model that takes its time.
"""

import functools
import os
import resource
import statistics
import sys
import time

from harness import (
    BENCH,
    OWN,
    Row,
    Turn,
    delay_rows,
    first_line,
    percentiles,
    redis_version,
)
from peers import Lines, those_installed
from processes import cpu_s, memory_of
from queue_peers import LANE, LEASES, WORK
from servers import wait_until

SHARE = 0.7  # of the time: the rounds of turns
LOOK_S = 5  # of the time that all of them wait
DELTAS = 200  # of a turn
DELTA_MS = 10
FOLLOWED = (1, 20)  # turns at once that are looked at
FOLLOWED_TURNS = 5
FILES = 20000  # a connection each


class Size:
    """What is done less of, unless the run is at its full size."""

    def __init__(self, full):
        self.held = 10000 if full else 1000  # conversations in one process
        # Until the model answers: all have asked it by then.
        self.held_ms = 60000 if full else 15000
        self.held_peer_ms = 180000 if full else 60000
        self.turns = 300 if full else 100  # one after the other
        self.spread = 100  # at once, where a model takes its time between deltas


TEXT = "twelve bytes" * DELTAS
STAMPS = "time-of-send" * DELTAS


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

    column = ""  # of quern: its build's

    def __init__(self, build, size):
        self.build, self.size = build, size
        self.column = self.column or build.column
        self.stack = build.stack(executor=False)
        try:
            self.open()
            self.answer_with()
            self.one_by_one(5)
        except BaseException:
            self.stack.__exit__(None)
            raise

    @classmethod
    def held_of(cls, size):
        """How many of its conversations wait at once."""
        return size.held

    @property
    def held_ms(self):
        return self.size.held_peer_ms

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        self.lines.kill()
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

    def open(self):
        """Makes pid, whose memory and time it is, and lines, which drive it."""
        raise NotImplementedError

    def one_by_one(self, count):
        raise NotImplementedError

    def at_once(self, count):
        raise NotImplementedError


class Quern(Asker):
    spare = 16  # slots for who is looked at while all others wait
    delta_ms = 50

    @property
    def held_ms(self):
        return self.size.held_ms

    def open(self):
        settings = {"lease": "30s", "delta": f"{self.delta_ms}ms"}
        slots = self.size.held + self.spare
        self.consumer = self.build.consumer(self.stack, slots=slots, **settings)
        self.pid = self.consumer.pid
        redis = {"REDIS_URL": self.stack.redis.url}
        submit, stream = map(self.build.binary, ("bench-submit", "bench-stream"))
        self.lines = Lines(submit, "conversation", **redis)
        self.stream = Lines(stream, **redis)

    def __exit__(self, *rest):
        self.stream.kill()
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
    delta_ms = 0


class OpenAI(Asker):
    """openai's client as it comes: it has 1000 connections at most."""

    column, kind = "openai", "client"
    folder = f"{OWN}/peers/openai/bin"

    @classmethod
    def held_of(cls, size):
        return min(size.held, 1000)

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

    column, kind = "openai, aiohttp", "aiohttp"

    @classmethod
    def held_of(cls, size):
        return size.held


class Agent(OpenAI):
    column, kind = "pydantic-ai", "agent"

    @classmethod
    def held_of(cls, size):
        return 0


PEERS = (OpenAI, AioHttp, Agent)


# --- a round of one of them -----------------------------------------------------


def spend(asker):
    """ms of the processor for a turn."""
    found = {}
    ways = {
        "turn": (asker.one_by_one, asker.size.turns, {}),
        "spread": (asker.at_once, asker.size.spread, {"chunk_ms": DELTA_MS}),
    }
    for row, (ask, count, reply) in ways.items():
        asker.answer_with(**reply)
        with Spent(own=asker.pid, redis=asker.stack.redis.process.pid) as spent:
            ask(count)
        found[row] = spent.s["own"] * 1e3 / count
        if isinstance(asker, Quern):
            found[f"{row} redis"] = spent.s["redis"] * 1e3 / count
    return found


def follow(asker, name):
    """ms from a delta to who sees it."""
    found = {}
    for at_once in FOLLOWED:
        delays = []
        for _ in range(max(1, FOLLOWED_TURNS // at_once)):
            delays.append(asker.delays(at_once))
        found.update(percentiles(f"{name} {at_once}", sum(delays, [])))
        if at_once == 1:
            found[f"{name} first"] = statistics.median(turn[0] for turn in delays)
    return found


def hold(asker):
    """KiB of one that waits; what it takes to begin, and to keep them."""
    count = asker.held_of(asker.size)
    asker.answer_with(delay_ms=asker.held_ms)
    time.sleep(1)
    idle, begin = memory_of(asker.pid)["Rss"], time.monotonic()
    with Spent(own=asker.pid) as spent:
        asker.start(count)
        if not asker.wait_asked(count):
            print(f"{asker.column}: not all have asked in time", file=sys.stderr)
            return {}
        found = {"held": count, "begun s": time.monotonic() - begin}
    found["begin ms"] = spent.s["own"] * 1e3 / count
    time.sleep(1)
    found["KiB"] = (memory_of(asker.pid)["Rss"] - idle) / count
    with Spent(own=asker.pid) as spent:
        time.sleep(LOOK_S)
    found["keep %"] = spent.s["own"] * 100 / LOOK_S
    if isinstance(asker, Quern):
        found.update(percentiles("held", asker.delays(1)))
        asker.wait_over()
        found["lost"] = asker.lost()
    return found


def spend_and_follow(asker):
    return {**spend(asker), **follow(asker, "delta 50")}


def follow_uncoalesced(asker):
    return follow(asker, "delta 0")


# --- the whole -----------------------------------------------------------------


def measure(run):
    most = max(FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    size, peers = Size(run.full), []
    if run.peers:
        peers = list(those_installed(PEERS))

    def give(kind, build, look):
        with kind(build, size) as asker:
            return look(asker)

    def turns(name, kind, look):
        """Of all builds, or of a peer, which asks the last one's model."""
        builds = run.builds if issubclass(kind, Quern) else run.builds[-1:]
        return [
            Turn(
                kind.column or build.column,
                name,
                functools.partial(give, kind, build, look),
            )
            for build in builds
        ]

    looked_at = turns("turns", Quern, spend_and_follow)
    looked_at += turns("turns, --delta 0", Uncoalesced, follow_uncoalesced)
    waiting = turns("conversations wait", Quern, hold)
    for kind in peers:
        looked_at += turns("turns", kind, spend)
        if kind.held_of(size) > 0:
            waiting += turns("conversations wait", kind, hold)
    run.take_turns(looked_at, SHARE)
    run.take_turns(waiting)


def rows(run):
    size = Size(run.full)
    held, turns = run.scale(Size(True).held), run.scale(f"{Size(True).turns} turns")
    turn = f"P5 turn of {DELTAS} deltas, processor, ms, {size.turns} turns{turns}"
    at_once = f"the same, a delta every {DELTA_MS} ms, {size.spread} turns at once"
    found = [
        Row(f"P4 conversations that wait for their model{held}", "held", "{:.0f}"),
        Row("   memory of each, KiB", "KiB", "{:.1f}"),
        Row("   until all have asked, s", "begun s", "{:.1f}"),
        Row("   processor to begin one, ms", "begin ms"),
        Row("   processor while all wait, %", "keep %", "{:.1f}"),
        Row("   leases lost", "lost", "{:.0f}"),
        *delay_rows("   a delta is seen meanwhile", "held"),
        Row(turn, "turn"),
        Row("   Redis's", "turn redis"),
        Row(f"   {at_once}", "spread"),
        Row("   Redis's", "spread redis"),
    ]
    for name, said in {"delta 50": "", "delta 0": ", --delta 0"}.items():
        first = f"P12 first delta of a turn is seen{said}, ms"
        found.append(Row(first, f"{name} first"))
        for count in FOLLOWED:
            what = f"   of all, {count} at once"
            found += delay_rows(what, f"{name} {count}")
    return found


def bars(run):
    def times_less(column):
        ratio = run.ratio("turn", column)
        return ratio and 1 / ratio

    return [
        ("P4 KiB of a conversation", run.median("KiB"), "<=", 32),
        ("P4 leases lost", run.median("lost"), "<=", 0),
        ("P5 of openai", times_less("openai"), ">=", 10),
        ("P5 of pydantic-ai", times_less("pydantic-ai"), ">=", 10),
        ("P12 ms, p99, --delta 0", run.median("delta 0 1 p99"), "<=", 5),
    ]


def versions(run):
    of = {"redis": redis_version()}
    if run.peers and OpenAI.is_there():
        ask = "import importlib.metadata as m; print(m.version('{}'))"
        for package in ("openai", "aiohttp", "pydantic-ai-slim"):
            python = f"{OpenAI.folder}/python"
            of[package] = first_line(python, "-c", ask.format(package))
    return of
