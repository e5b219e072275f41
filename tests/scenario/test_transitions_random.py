"""Consumers that do anything at any time, in an order that nobody thought of.

Every call is also sent again later, as a lost reply or a zombie would. After
each step the partition must be sound, and what has ended must stay as it is.
"""

import random

import pytest

from library import TERMINAL, Library, Refused, job_id, pack
from servers import RedisServer

STEPS = 300
JOBS = 8
CONSUMERS = ("c1", "c2", "c3")
ALLOWED = {"STALE", "GONE", "QUEUEFULL", "MISPLACED"}


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        yield server


class Walk:
    def __init__(self, queue, seed):
        self.queue = queue
        self.random = random.Random(seed)
        self.entries = []  # (consumer, entry) as read
        self.holdings = []  # (consumer, id, epoch) as started
        self.sent = []  # calls, to be sent again
        self.ended = {}  # id: (state, result, number of events)
        self.refusals = 0

    def some_job(self):
        return job_id(self.random.randrange(JOBS))

    def some_holding(self):
        """One of the last is likely to be true still."""
        if not self.holdings:
            return "c1", self.some_job(), 1
        return self.random.choice(self.holdings[-6:])

    def send(self, name, *args):
        self.sent.append((name, args))
        before = self.fenced(name, args)
        try:
            return self.queue.call(name, *args)
        except Refused as refused:
            assert refused.word in ALLOWED, refused
            self.refusals += 1
            return None
        finally:
            assert before is None or before == self.fenced(name, args), name

    def fenced(self, name, args):
        """What a call may not change, its epoch being over; None: it may."""
        if name not in ("journal", "event", "finish", "release"):
            return None
        facts = self.queue.facts(args[0])
        if facts.get("state") == "in_progress" and facts["epoch"] == str(args[1]):
            return None
        return facts, self.queue.records(args[0])

    # Each is one thing that somebody might do.

    def submit(self):
        id = self.some_job()
        blobs = [self.queue.put(b"%d" % (int(id[-1]) % 3))] if int(id[-1]) % 2 else []
        args = [part for sha256 in blobs for part in ("blob", sha256)]
        self.send("submit", "id", id, "job", "x", "max_depth", 9, *args)

    def take(self):
        consumer = self.random.choice(CONSUMERS)
        try:
            for entry in self.queue.take(consumer, self.random.randint(1, 3)):
                self.entries.append((consumer, entry))
        except Exception as error:  # no stream yet
            assert "NOGROUP" in str(error)

    def start(self):
        if not self.entries:
            return
        consumer, entry = self.random.choice(self.entries[-6:])
        args = (self.queue.work(), entry, consumer, 0, self.random.randint(1, 3))
        got = self.send("start", *args)
        if got and got[0]:
            self.holdings.append((consumer, got[2].decode(), got[3]))

    def steal(self):
        if self.entries:
            _, entry = self.random.choice(self.entries)
            thief = self.random.choice(CONSUMERS)
            self.queue.client.xclaim(self.queue.work(), "consumers", thief, 0, [entry])
            self.entries.append((thief, entry))

    def beat(self):
        consumer, id, epoch = self.some_holding()
        self.send("beat", consumer, id, epoch)

    def journal(self):
        _, id, epoch = self.some_holding()
        index = len(self.queue.records(id))
        self.send("journal", id, epoch, index, b"r%d" % index, "turn.started", b"")

    def event(self):
        _, id, epoch = self.some_holding()
        self.send("event", id, epoch, "message.delta", pack(text="x"))

    def finish(self):
        _, id, epoch = self.some_holding()
        state = self.random.choice(TERMINAL)
        result = pack(n=self.random.random())
        self.send("finish", id, epoch, state, result, b"", "code", 0, 0)

    def release(self):
        _, id, epoch = self.some_holding()
        self.send("release", id, epoch, "drain")

    def reclaim(self):
        self.send("reclaim", self.queue.work(), 0, 2, self.random.randint(1, 9), "-")

    def cancel(self):
        self.send("cancel", self.some_job(), "enough")

    def again(self):
        if self.sent:
            name, args = self.random.choice(self.sent)
            self.send(name, *args)

    def step(self):
        weights = {
            self.submit: 4,
            self.take: 6,
            self.start: 8,
            self.steal: 1,
            self.beat: 3,
            self.journal: 4,
            self.event: 3,
            self.finish: 4,
            self.release: 2,
            self.reclaim: 1,
            self.cancel: 1,
            self.again: 6,
        }
        (what,) = self.random.choices(list(weights), list(weights.values()))
        what()
        return what.__name__

    def check(self):
        self.queue.check()
        for key in self.queue.keys("job"):
            id = key.rpartition("job:")[2]
            state = self.queue.state(id)
            end = (state, self.queue.result(id), len(self.queue.events(id)))
            if id in self.ended:
                assert self.ended[id] == end, f"{id} ended as {self.ended[id]}"
            elif state in TERMINAL:
                self.ended[id] = end
            else:
                assert end[1] is None, f"{id} is {state} and has a result"


@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_calls_leaves_a_sound_partition(server, seed):
    client = server.client()
    client.flushall()
    walk = Walk(Library(client).load(), seed)
    for number in range(STEPS):
        step = walk.step()
        try:
            walk.check()
        except AssertionError as error:
            error.args = (f"seed {seed}, step {number}, {step}: {error}",)
            raise
    # The walk must have been somewhere.
    assert len(walk.ended) >= JOBS // 2 and walk.refusals > 10
    assert {state for state, _, _ in walk.ended.values()} != {"cancelled"}
