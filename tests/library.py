"""The Redis functions of schemas/redis/library, as a plain client calls
them, and what must hold in Redis between any two calls."""

import hashlib
import os
import time

import msgpack
import redis

from servers import BUILD

LIBRARY = os.path.join(BUILD, "schemas", "redis", "library.lua")
TERMINAL = ("completed", "incomplete", "failed", "cancelled")
GROUP = "consumers"
ONGOING = ("queued", "in_progress")
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


class Library:
    """One partition of a server that has the functions."""

    def __init__(self, client, prefix="quern:", partition=0):
        self.client = client
        self.root = f"{prefix}{{{partition:03x}}}:"
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
        args = ["id", id, "job", job]
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
        return Started(
            self.call(
                "start", stream or self.work(), entry, consumer, lease_ms, max_crashes
            )
        )

    def begin(self, consumer="c", **options):
        """Takes one entry and starts it."""
        (entry,) = self.take(consumer, stream=options.get("stream"))
        return self.start(entry, consumer, **options)

    def beat(self, consumer, *holdings):
        args = [part for holding in holdings for part in holding]
        got = self.call("beat", consumer, *args)
        return list(zip(got[::2], got[1::2]))

    def journal(self, id, epoch, index, record, *events):
        return self.call("journal", id, epoch, index, record, *events)

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
            "finish", id, epoch, state, result, data, error_code,
            result_ttl_ms, dead_ttl_ms,
        ).decode()

    def release(self, id, epoch, reason=""):
        return self.call("release", id, epoch, reason).decode()

    def reclaim(self, lease_ms=0, max_crashes=2, count=100, cursor="-", stream=None):
        cursor, jobs = self.call(
            "reclaim", stream or self.work(), lease_ms, max_crashes, count, cursor
        )
        return cursor.decode(), jobs

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
            "session_save", id, epoch, session, generation, listed, ttl_ms,
            kept_ms, record, picture, *files,
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

    # ------------------------------------------------------------- invariants

    def check(self):
        """Raises when the partition is in a state that no job may be in."""
        entries = self.check_streams()
        for key in self.keys("job"):
            self.check_job(key.rpartition("job:")[2], entries)
        for key in self.keys("idem") + self.keys("dead") + self.keys("result"):
            assert self.client.pttl(key) > 0, f"{key} lives for ever"
        self.check_blobs()
        self.check_sessions()

    def check_streams(self):
        """XLEN is waiting and running; each entry is the entry of its job."""
        entries = {}
        for stream in self.keys("work"):
            group = self.client.xinfo_groups(stream)[0]
            pending = {
                row["message_id"].decode()
                for row in self.client.xpending_range(stream, GROUP, "-", "+", 100000)
            }
            assert len(pending) == group["pending"]
            for entry, fields in self.client.xrange(stream):
                entry, id = entry.decode(), fields[b"id"].decode()
                facts = self.facts(id)
                assert facts, f"{entry} is for {id}, which is unknown"
                assert facts["state"] in ONGOING, f"{id}: {facts['state']}"
                assert facts["stream"] == stream and facts["entry"] == entry
                if facts["state"] == "in_progress":
                    assert entry in pending, f"{id} runs without a lease"
                pending.discard(entry)
                entries[id] = entry
            assert not pending, f"pending but not in {stream}: {pending}"
        return entries

    def check_job(self, id, entries):
        facts, key = self.facts(id), f"{self.root}job:{id}"
        if id.startswith("entry-"):
            assert self.client.pttl(key) > 0
            return
        if facts["state"] in ONGOING:
            assert id in entries, f"{id} is {facts['state']} and in no stream"
            assert self.client.pttl(key) == -1
        else:
            for kind in ("job", "body", "events", "journal"):
                assert self.client.pttl(f"{self.root}{kind}:{id}") != -1
        self.check_events(id, facts)

    def check_blobs(self):
        """They live for ever as long as a job needs them, and no longer."""
        wanted = {}
        for key in self.keys("job"):
            id = key.rpartition("job:")[2]
            facts = self.facts(id)
            if facts["state"] in ONGOING:
                for sha256 in facts.get("blobs", "").split():
                    wanted.setdefault(sha256, set()).add(id)
        for key in self.keys("blob") + self.keys("refs"):
            needs = wanted.get(key.rpartition(":")[2])
            assert (self.client.pttl(key) == -1) == bool(needs), (key, needs)
        for key in self.keys("refs"):
            who = {id.decode() for id in self.client.zrange(key, 0, -1)} - {"ended"}
            jobs = {name for name in who if "session:" not in name}
            assert jobs == wanted.get(key.rpartition(":")[2], set()), key

    def check_sessions(self):
        """What a record names is there as long as the record is, and nothing
        else is kept for it."""
        kept = set()
        for key in self.keys("line"):
            assert self.client.pttl(key) > 0, f"{key} lives for ever"
        for key in self.keys("session"):
            ttl = self.client.pttl(key)
            assert ttl > 0, f"{key} lives for ever"
            facts = self.session(key.rpartition("session:")[2])
            for who, blobs in ((key, "files"), (f"{key}#picture", "picture")):
                for sha256 in facts.get(blobs, "").split():
                    kept.add((sha256, who))
                    lives = self.client.pttl(f"{self.root}blob:{sha256}")
                    assert lives == -1 or lives >= ttl - 100, (key, sha256)
        for key in self.keys("refs"):
            for who in self.client.zrange(key, 0, -1):
                if b"session:" in who:
                    assert (key.rpartition(":")[2], who.decode()) in kept, (key, who)

    def check_events(self, id, facts):
        """Contiguous; the terminal one is there when the job is, and last."""
        events = self.events(id)
        seqs = [event["seq"] for event in events]
        last = int(facts["seq"])
        assert seqs == list(range(last - len(seqs) + 1, last + 1)), f"{id}: {seqs}"
        ends = [
            event["seq"]
            for event in events
            if event["type"].partition(".")[2] in TERMINAL
            and event["type"].startswith("job.")
        ]
        if facts["state"] in TERMINAL:
            assert ends == [last], f"{id}: terminal events {ends}, last is {last}"
            assert events[-1]["type"] == f"job.{facts['state']}"
        else:
            assert ends == [], f"{id} is {facts['state']}, ended at {ends}"


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
            self.body, self.journal = reply[10], reply[11]
