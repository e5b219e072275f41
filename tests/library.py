"""The Redis functions of schemas/redis/library, as a plain client calls them."""

import hashlib
import os
import time

import msgpack
import redis

from invariants import GROUP, Invariants, read_element
from servers import BUILD

LIBRARY = os.path.join(BUILD, "schemas", "redis", "library.lua")
WEEK_MS = 7 * 24 * 3600 * 1000


class Refused(Exception):
    """A refusal; its first word is what tells them apart."""

    def __init__(self, error):
        text = str(error)
        # redis-py 5 takes the first word from errors that it has a class for.
        if text.startswith("command not allowed when used memory"):
            text = "OOM " + text
        self.word, _, self.text = text.partition(" ")
        super().__init__(text)


def refused(word, call, *args, **pairs):
    """Asserts that the call is refused so; gives the sentence."""
    try:
        call(*args, **pairs)
    except Refused as error:
        assert error.word == word, error
        return error.text
    raise AssertionError(f"{word} was expected")


def job_id(number, partition=0):
    """The UUIDv7 of that number."""
    ms = 1_700_000_000_000 + number
    return f"{ms >> 16:08x}-{ms & 0xFFFF:04x}-7{partition:03x}-8000-{number:012x}"


def pack(**members):
    return msgpack.packb(members)


class Library(Invariants):
    """One partition of a server that has the functions."""

    def __init__(self, client, prefix="quern:", partition=0):
        self.client = client
        self.root = f"{prefix}{{{partition:03x}}}:"
        self.epochs = {}
        with open(LIBRARY, encoding="utf-8") as source:
            self.source = source.read()

    def load(self):
        self.client.execute_command("FUNCTION", "LOAD", "REPLACE", self.source)
        return self

    def call(self, name, *args):
        return self.call_with(name, [self.root], *args)

    def call_with(self, name, keys, *args):
        try:
            return self.client.execute_command(
                "FCALL", f"quern_v1_{name}", len(keys), *keys, *args
            )
        except redis.ResponseError as error:
            raise Refused(error) from error

    # ------------------------------------------------------------- the calls

    def submit(self, id, job=b"\x80", blobs=(), **pairs):
        """pairs: "all", as from who has read the job; "": Redis reads it."""
        args = ["id", id, "job", job, "pairs", pairs.pop("pairs", "all")]
        for sha256 in blobs:
            args += ["blob", sha256]
        for name, value in pairs.items():
            args += [name, value]
        got, verdict = self.call("submit", *args)
        return got.decode(), verdict.decode()

    def work(self, queue="default", priority="normal"):
        return f"{self.root}work:{queue}:{priority}"

    def take(self, consumer="c", count=1, stream=None):
        """Entries, as a consumer reads them."""
        stream = stream or self.work()
        got = self.client.xreadgroup(GROUP, consumer, {stream: ">"}, count=count)
        return [entry for entry, _ in got[0][1]] if got else []

    def start(self, entry, consumer="c", lease_ms=60000, max_crashes=2, stream=None):
        claim = ["entry", stream or self.work(), entry]
        got = self.call("take", consumer, lease_ms, max_crashes, 1, *claim)
        return self.started(got[0])

    def started(self, answer):
        started = Started(answer)
        if started.run:
            self.epochs.setdefault(started.id, []).append(started.epoch)
        return started

    def epoch(self, id, start=1):
        """That its first start has given it, or a later one."""
        return self.epochs[id][start - 1]

    def begin(self, consumer="c", **options):
        """Takes one entry and starts it."""
        (entry,) = self.take(consumer, stream=options.get("stream"))
        return self.start(entry, consumer, **options)

    def take_jobs(
        self,
        consumer="c",
        count=1,
        lease_ms=60000,
        max_crashes=2,
        ticket=None,
        entries=(),
        queues=("default",),
        streams=None,
    ):
        """What the step take answers: started, or why not."""
        words = ["ticket", ticket] if ticket else []
        for number, entry in enumerate(entries):
            words += ["entry", streams[number] if streams else self.work(), entry]
        for queue in queues:
            words += ["queue", queue]
        got = self.call("take", consumer, lease_ms, max_crashes, count, *words)
        return [self.started(one) for one in got]

    def beat(self, consumer, *holdings):
        args = [part for holding in holdings for part in holding]
        got = self.call("beat", consumer, *args)
        return list(zip(got[::2], got[1::2]))

    def journal(self, id, epoch, index, record, *events):
        return self.call("journal", id, epoch, index, record, *events)

    def reserve(self, id, epoch, index, record, tokens, cost=0, *events):
        """True, or why not: setting, unpriced, limit, spent, period, wait."""
        args = (id, epoch, index, record, "reserve", tokens, cost, *events)
        got = self.call("spend", *args)
        return (got[0].decode(), *got[1:]) if isinstance(got, list) else True

    def settle(self, id, epoch, index, record, tokens, cost=0, *events):
        args = (id, epoch, index, record, "settle", tokens, cost, *events)
        return self.call("spend", *args)

    def spent(self, tenant="default", queue="default"):
        """Tokens and cost: spent, and held; None: of no period."""
        key = f"{self.root}spent:{queue}/{tenant}"
        names = ("tokens", "cost", "held_tokens", "held_cost")
        found = self.client.hmget(key, "period", *names)
        return found[0] and tuple(int(value or 0) for value in found[1:])

    def event(self, id, epoch, *events):
        return self.call("event", id, epoch, *events)

    def finish(
        self,
        id,
        epoch,
        state="completed",
        result=b"\x80",
        data=b"",
        error_code="",
        result_ttl_ms=0,
        dead_ttl_ms=0,
    ):
        return self.call(
            "finish",
            id,
            epoch,
            state,
            result,
            data,
            error_code,
            result_ttl_ms,
            dead_ttl_ms,
        ).decode()

    def release(self, id, epoch, reason=""):
        return self.call("release", id, epoch, reason).decode()

    def reclaim(self, lease_ms=0, count=100, cursor="-", stream=None):
        cursor, jobs = self.call(
            "reclaim", stream or self.work(), lease_ms, count, cursor
        )
        return cursor.decode(), jobs

    def wait(self, id, epoch, delay_ms=1, reason="retry", errors=1, data=b"", *more):
        args = (id, epoch, delay_ms, reason, errors, data, *more)
        return self.call("wait", *args).decode()

    def approve(self, id, verdict="approve", note="", *more):
        return self.call("approve", id, verdict, note, *more).decode()

    def promote(self, count=100):
        """(moved, ms until the next, schedules that are due)"""
        moved, next_ms, due, self.wants_mend = self.call("promote", count)
        due = [due[i : i + 4] for i in range(0, len(due), 4)]
        return (
            moved,
            next_ms,
            [(n.decode(), s.decode(), z.decode(), at) for n, s, z, at in due],
        )

    def lapse(self, max_crashes=2, count=100):
        jobs, more = self.call("lapse", max_crashes, count)
        return jobs, bool(more)

    def mend(self, count=100):
        """A whole walk; how many were mended."""
        cursor, sum = b"0", 0
        while True:
            cursor, mended = self.call("mend", count, cursor)
            sum += mended
            if cursor == b"0":
                return sum

    def queue_set(self, queue="default", **settings):
        args = [part for pair in settings.items() for part in pair]
        return self.call("queue_set", queue, *args)

    def tenant_set(self, tenant, queue="default", **settings):
        args = []
        for name, value in settings.items():
            args += [f"{name}:{tenant}", value]
        return self.call("queue_set", queue, *args)

    def stats(self, queue="default"):
        got = self.call("stats", queue)
        return dict(zip((name.decode() for name in got[::2]), got[1::2]))

    def purge(self, queue="default", count=512, dry=0):
        jobs, more = self.call("purge", queue, count, dry)
        return jobs, bool(more)

    def requeue(self, id, *how):
        return self.call("requeue", id, *how).decode()

    def forget(self, id, queue="default"):
        return self.call("forget", queue, id).decode()

    def ids(self, name):
        """Members of that sorted set."""
        return [id.decode() for id in self.client.zrange(f"{self.root}{name}", 0, -1)]

    def lane(self, tenant="default", priority="normal", queue="default"):
        """The ids that stand in it, head first."""
        key = f"{self.root}lane:{queue}/{tenant}:{priority}"
        return [read_element(e)[1].decode() for e in self.client.lrange(key, 0, -1)]

    def put(self, data, seconds=86400):
        """A blob, as producers write it; gives its name."""
        sha256 = hashlib.sha256(data).hexdigest()
        self.client.set(f"{self.root}blob:{sha256}", data, ex=seconds, nx=True)
        return sha256

    def blob_ttl(self, sha256):
        """Seconds; -1: for ever, -2: there is none."""
        return self.client.ttl(f"{self.root}blob:{sha256}")

    def claim(self, id, epoch, session="t/s", ttl_ms=WEEK_MS):
        """(True, the record), or (False, the job that it waits for)."""
        mine, what, *_ = self.call("session_claim", id, epoch, session, ttl_ms)
        return bool(mine), what if mine else what.decode()

    def save(
        self,
        id,
        epoch,
        generation,
        record=b"\x80",
        session="t/s",
        picture="",
        files=(),
        listed=1,
        ttl_ms=WEEK_MS,
        kept_ms=0,
    ):
        return self.call(
            "session_save",
            id,
            epoch,
            session,
            generation,
            listed,
            ttl_ms,
            kept_ms,
            record,
            picture,
            *files,
        )

    def session(self, session="t/s"):
        found = self.client.hgetall(f"{self.root}session:{session}")
        return {name.decode(): value.decode("latin-1") for name, value in found.items()}

    def cancel(self, id, reason=""):
        return self.call("cancel", id, reason).decode()

    # ---------------------------------------------------------- what is there

    def facts(self, id):
        found = self.client.hgetall(f"{self.root}job:{id}")
        return {name.decode(): value.decode() for name, value in found.items()}

    def body(self, id):
        return self.client.get(f"{self.root}body:{id}")

    def state(self, id):
        return self.facts(id).get("state")

    def events(self, id):
        return [
            msgpack.unpackb(fields[b"event"])
            for _, fields in self.client.xrange(f"{self.root}events:{id}")
        ]

    def types(self, id):
        return [event["type"] for event in self.events(id)]

    def result(self, id):
        found = self.client.get(f"{self.root}result:{id}")
        return found and msgpack.unpackb(found)

    def records(self, id):
        return self.client.lrange(f"{self.root}journal:{id}", 0, -1)

    def keys(self, kind):
        found = self.client.scan_iter(f"{self.root}{kind}:*")
        return sorted(key.decode() for key in found)

    def dead(self, queue="default"):
        found = self.client.zrange(f"{self.root}dead:{queue}", 0, -1)
        return [id.decode() for id in found]

    def wait_idle(self, ms):
        """Lets pending entries grow idle."""
        time.sleep(ms / 1000)

    def come_due(self, queues=("default",)):
        """Time passes: whatever waits for one, and every lease, is due."""
        kinds = ("scheduled", "wakes", "leases")
        for name in [f"{kind}:{queue}" for kind in kinds for queue in queues]:
            for member in self.ids(name):
                self.client.zadd(f"{self.root}{name}", {member: 1}, xx=True)

    def overdue(self, id):
        """Its deadline passes."""
        self.client.hset(f"{self.root}job:{id}", "deadline_at", 1)
        self.client.zadd(f"{self.root}deadlines", {id: 1})

    def run_to_the_end(self, queues=("default",)):
        """As consumers would, until nothing is left; times come at once."""
        for _ in range(100):
            self.come_due(queues)
            for key in self.keys("job"):
                if self.client.type(key) == b"hash":
                    id = key.rpartition("job:")[2]
                    if self.facts(id).get("reason") == "approval":
                        self.approve(id)
            self.lapse(max_crashes=99)
            self.promote()
            for stream in self.keys("work"):
                self.reclaim(stream=stream)
            jobs = self.take_jobs(count=50, max_crashes=99, queues=queues)
            for job in jobs:
                self.finish(job.id, job.epoch)
            if not jobs and not self.keys("leases"):
                return


class Started:
    """What start answered."""

    def __init__(self, reply):
        self.run = bool(reply[0])
        self.reason = reply[1].decode()
        self.id = reply[2].decode()
        if self.run:
            self.epoch, self.attempt, self.crashes = reply[3:6]
            self.cancel = bool(reply[6])
            self.now, self.deadline_at, self.submitted_at = reply[7:10]
            self.body, self.journal, self.errors = reply[10:13]
            self.approval, self.approval_note = (part.decode() for part in reply[13:15])
