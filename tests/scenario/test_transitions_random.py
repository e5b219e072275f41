"""Consumers that do anything at any time, in an order that nobody thought of.

Every call is also sent again later, as a lost reply or a zombie would. After
each step the partition must be sound, and what has ended must stay as it is.
"""

import random

import pytest

from invariants import TERMINAL
from library import Library, Refused, job_id, pack
from servers import RedisServer

STEPS = 300
JOBS = 16
CONSUMERS = ("c1", "c2", "c3")
ALLOWED = {"STALE", "GONE", "QUEUEFULL", "MISPLACED", "BADARG"}
RUNNING = 2  # jobs of a tenant at once


def pairs_of(id):
    """What a job is, by its number: the same whenever it is submitted."""
    number = int(id[-4:], 16)
    pairs = {"job": f"body of {number}", "tenant": f"t{number % 3}"}
    pairs["priority"] = ("normal", "high", "low", "normal")[number % 4]
    if number % 4 == 1:
        pairs["session"] = "s"
    if number % 5 == 2:
        pairs["unique_key"] = "u"
    if number % 5 == 3:
        pairs["delay_ms"] = 3
    if number % 7 == 4:
        pairs["deadline_ms"] = 40
    if number % 6 == 5:
        pairs["idempotency_key"] = f"i{number % 2}"
    return pairs


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
        self.ends = 0
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
        if name not in ("journal", "spend", "event", "finish", "release", "wait"):
            return None
        facts = self.queue.facts(args[0])
        if facts.get("state") == "in_progress" and facts["epoch"] == str(args[1]):
            return None
        return facts, self.queue.records(args[0])

    # Each is one thing that somebody might do.

    def submit(self):
        id = self.some_job()
        number = int(id[-4:], 16)
        blobs = [self.queue.put(b"%d" % (number % 3))] if number % 2 else []
        args = [part for sha256 in blobs for part in ("blob", sha256)]
        args += [part for pair in pairs_of(id).items() for part in pair]
        self.send("submit", "id", id, "max_depth", 12, *args)

    def read(self):
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
        about = (consumer, 0, self.random.randint(1, 3), 1)
        got = self.send("take", *about, "entry", self.queue.work(), entry)
        if got and got[0][0]:
            self.holdings.append((consumer, got[0][2].decode(), got[0][3]))

    def take(self):
        """With what was read, sometimes; and a ticket that was had, sometimes."""
        consumer = self.random.choice(CONSUMERS)
        args = [consumer, self.random.choice((0, 60000)), 2, self.random.randint(2, 5)]
        args += ["ticket", self.random.randint(1, 30)]
        if self.entries and self.random.random() < 0.4:
            _, entry = self.random.choice(self.entries[-3:])
            args += ["entry", self.queue.work(), entry]
        for one in self.send("take", *args, "queue", "default") or []:
            if one[0]:
                id = one[2].decode()
                assert one[10].decode() == pairs_of(id)["job"], f"{id}: {one[10]}"
                self.holdings.append((consumer, id, one[3]))

    def wait(self):
        _, id, epoch = self.some_holding()
        how = self.random.choice(
            [(2, "retry", 1), (2, "backoff", 0), (0, "approval", 0)]
        )
        self.send("wait", id, epoch, *how, b"")

    def approve(self):
        self.send("approve", self.some_job(), self.random.choice(("approve", "reject")), "")

    def promote(self):
        self.send("promote", self.random.randint(1, 9))

    def lapse(self):
        self.send("lapse", 2, self.random.randint(1, 9))

    def pause(self):
        self.send("queue_set", "default", "paused", self.random.choice((0, 0, 1)))

    def claim(self):
        _, id, epoch = self.some_holding()
        self.send("session_claim", id, epoch, "t1/s", 60000)

    def requeue(self):
        """A life of its own begins: its end may be another."""
        id = self.some_job()
        if (
            self.send("requeue", id) == b"queued"
            and self.queue.state(id) not in TERMINAL
        ):
            self.ended.pop(id, None)

    def forget(self):
        id = self.some_job()
        if self.send("forget", "default", id) == b"forgotten":
            self.ended.pop(id, None)

    def purge(self):
        self.send("purge", "default", self.random.randint(1, 3), 0)

    def mend(self):
        """There is nothing to mend: all steps leave a sound partition."""
        assert self.queue.mend() == 0

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

    def spend(self):
        _, id, epoch = self.some_holding()
        index, tokens = len(self.queue.records(id)), self.random.randint(0, 60)
        verb = self.random.choice(("reserve", "settle"))
        record = b"s%d" % index
        self.send("spend", id, epoch, index, record, verb, tokens, tokens // 2)

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
        self.send("reclaim", self.queue.work(), 0, self.random.randint(1, 9), "-")

    def cancel(self):
        self.send("cancel", self.some_job(), "enough")

    def again(self):
        if self.sent:
            name, args = self.random.choice(self.sent)
            self.send(name, *args)

    def step(self):
        weights = {
            self.submit: 4,
            self.read: 4,
            self.start: 4,
            self.take: 8,
            self.wait: 3,
            self.approve: 2,
            self.promote: 4,
            self.lapse: 2,
            self.pause: 1,
            self.claim: 1,
            self.requeue: 1,
            self.forget: 0.5,
            self.purge: 0.3,
            self.mend: 0.5,
            self.steal: 1,
            self.beat: 3,
            self.journal: 4,
            self.spend: 6,
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
        self.check_isolation()
        there = self.queue.there
        for id, facts in self.queue.all_facts.items():
            state, events = facts["state"], there.read(f"events:{id}", b"stream")
            end = (state, there.read(f"result:{id}"), len(events))
            if id in self.ended:
                assert self.ended[id] == end, f"{id} ended as {self.ended[id]}"
            elif state in TERMINAL:
                self.ended[id] = end
                self.ends += 1
            else:
                assert end[1] is None, f"{id} is {state} and has a result"

    def check_isolation(self):
        """No more of a tenant run than may; of a session, one that said so."""
        tenants, sessions = {}, set()
        for facts in self.queue.all_facts.values():
            if facts["state"] != "in_progress":
                continue
            tenant = facts["tenant"]
            tenants[tenant] = tenants.get(tenant, 0) + 1
            if facts.get("session"):
                assert (tenant, facts["session"]) not in sessions, "two run in one"
                sessions.add((tenant, facts["session"]))
        assert max(tenants.values(), default=0) <= RUNNING, tenants


@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_calls_leaves_a_sound_partition(server, seed):
    client = server.client()
    client.flushall()
    walk = Walk(Library(client).load(), seed)
    walk.queue.queue_set(tenant_running=RUNNING, tenant_rate=100, tenant_rate_ms=20)
    walk.queue.queue_set(tenant_tokens=100, tenant_cost=60, tenant_budget_ms=2000)
    for number in range(STEPS):
        step = walk.step()
        try:
            walk.check()
        except AssertionError as error:
            error.args = (f"seed {seed}, step {number}, {step}: {error}",)
            raise
    # The walk must have been somewhere, and leave nothing that does not end.
    assert walk.ends > 1 and walk.refusals > 10 and len(walk.holdings) > 3
    walk.queue.queue_set(paused=0, tenant_rate="")
    walk.queue.run_to_the_end()
    walk.check()
    jobs = walk.queue.keys("job")
    states = {walk.queue.state(key.rpartition("job:")[2]) for key in jobs}
    assert states <= set(TERMINAL), states
