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
ONGOING = ("scheduled", "queued", "in_progress", "waiting")
WINDOW = 32
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


def queue_of(facts):
    """Queue, priority and tenant; absent is the default."""
    return (
        facts.get("queue", "default"),
        facts.get("priority", "normal"),
        facts.get("tenant", "default"),
    )


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
        return [Started(one) for one in got]

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

    def wait(self, id, epoch, delay_ms=1, reason="retry", charge=1, data=b""):
        return self.call("wait", id, epoch, delay_ms, reason, charge, data).decode()

    def approve(self, id, verdict="yes", note=""):
        return self.call("approve", id, verdict, note).decode()

    def promote(self, count=100):
        """(moved, ms until the next, schedules that are due)"""
        moved, next_ms, due = self.call("promote", count)
        due = [due[i : i + 4] for i in range(0, len(due), 4)]
        return moved, next_ms, [(n.decode(), s.decode(), z.decode(), at) for n, s, z, at in due]

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

    def requeue(self, id):
        return self.call("requeue", id).decode()

    def forget(self, id, queue="default"):
        return self.call("forget", queue, id).decode()

    def ids(self, name):
        """Members of that sorted set."""
        return [id.decode() for id in self.client.zrange(f"{self.root}{name}", 0, -1)]

    def lane(self, tenant="default", priority="normal", queue="default"):
        """The ids that stand in it, head first."""
        key = f"{self.root}lane:{queue}/{tenant}:{priority}"
        return [e.split(b":")[1].decode() for e in self.client.lrange(key, 0, -1)]

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

    def run_to_the_end(self, queues=("default",)):
        """As consumers would, until nothing is left; times come at once."""
        for _ in range(100):
            for name in ["leases", *(f"scheduled:{queue}" for queue in queues)]:
                for member in self.ids(name):
                    self.client.zadd(f"{self.root}{name}", {member: 1}, xx=True)
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
            if not jobs and not self.ids("leases"):
                return

    # ------------------------------------------------------------- invariants

    def check(self):
        """Raises when the partition is in a state that no job may be in."""
        jobs = {}
        for key in self.keys("job"):
            id = key.rpartition("job:")[2]
            facts = self.facts(id)
            if id.startswith("entry-") or facts["state"] in TERMINAL:
                self.check_ended(id, facts)
            else:
                jobs[id] = facts
                assert facts["state"] in ONGOING, (id, facts)
                assert self.client.pttl(key) == -1, f"{id} will expire"
            if not id.startswith("entry-"):
                self.check_events(id, facts)
        for key in self.keys("idem") + self.keys("dead") + self.keys("result"):
            assert self.client.pttl(key) > 0, f"{key} lives for ever"
        self.check_streams(jobs)
        self.check_lanes(jobs)
        self.check_sets(jobs)
        self.check_lines(jobs)
        self.check_blobs()
        self.check_sessions()

    def check_ended(self, id, facts):
        for kind in ("job", "body", "events", "journal"):
            assert self.client.pttl(f"{self.root}{kind}:{id}") != -1, (id, kind)
        assert not facts.get("entry") and not facts.get("place"), (id, facts)

    def check_streams(self, jobs):
        """XLEN is waiting and running; each entry is the entry of its job."""
        entries = set()
        for stream in self.keys("work"):
            group = self.client.xinfo_groups(stream)[0]
            pending = {
                row["message_id"].decode()
                for row in self.client.xpending_range(stream, GROUP, "-", "+", 100000)
            }
            assert len(pending) == group["pending"]
            for entry, fields in self.client.xrange(stream):
                entry, id = entry.decode(), fields[b"id"].decode()
                facts = jobs.get(id)
                assert facts, f"{entry} is for {id}, which has not to run"
                assert facts["state"] in ("queued", "in_progress"), (id, facts)
                assert facts["entry"] == entry, f"{id} has two entries"
                assert stream == self.work(*queue_of(facts)[:2]), (id, stream)
                if facts["state"] == "in_progress":
                    assert entry in pending, f"{id} runs and was never read"
                pending.discard(entry)
                entries.add(id)
            assert not pending, f"pending but not in {stream}: {pending}"
        for id, facts in jobs.items():
            if facts.get("entry") or facts["state"] == "in_progress":
                assert id in entries, f"{id} is in no stream: {facts}"

    def check_lanes(self, jobs):
        """Each place is the job's own; whoever waits outside will be let in."""
        standing, lengths = {}, {}
        for key in self.keys("lane"):
            who = key.rpartition("lane:")[2].rpartition(":")[0]
            elements = [e.split(b":", 2) for e in self.client.lrange(key, 0, -1)]
            places = [int(place) for place, _, _ in elements]
            assert places == list(range(places[0], places[0] + len(places))), key
            lengths[who] = lengths.get(who, 0) + len(places)
            for place, id, body in elements:
                id = id.decode()
                if id in jobs and jobs[id].get("place") == place.decode():
                    assert id not in standing, f"{id} stands in two lanes"
                    assert body or self.body(id), f"{id} has no body"
                    standing[id] = key
        counted = {}
        for key in self.keys("lanes"):
            queue = key.rpartition(":")[2]
            for tenant, count in self.client.hgetall(key).items():
                counted[f"{queue}/{tenant.decode()}"] = int(count)
        assert counted == lengths, (counted, lengths)
        for id, facts in jobs.items():
            if facts.get("place"):
                assert facts["state"] == "queued" and not facts.get("entry"), facts
                queue, priority, tenant = queue_of(facts)
                lane = f"{self.root}lane:{queue}/{tenant}:{priority}"
                assert standing.get(id) == lane, f"{id} is in no lane: {facts}"
        for who in {
            f"{queue_of(facts)[0]}/{queue_of(facts)[2]}"
            for facts in jobs.values()
            if facts.get("place")
        }:
            self.check_let_in(who)

    def check_let_in(self, who):
        """Something will make room for the lane: a start, an end, a time."""
        queue, _, tenant = who.partition("/")
        assert queue in {q.decode() for q in self.client.smembers(f"{self.root}queues")}
        if self.client.hget(f"{self.root}queue:{queue}", "paused") == b"1":
            return
        assert (
            self.client.zcard(f"{self.root}ready:{who}")
            or self.client.scard(f"{self.root}running:{who}")
            or self.client.zscore(f"{self.root}scheduled:{queue}", f"lane {tenant}")
        ), f"nothing will let in who waits in the lanes of {who}"

    def check_sets(self, jobs):
        """What is in one of the sets is so, and all of it is in them."""
        wanted = {"leases": set(), "deadlines": set()}
        for id, facts in jobs.items():
            queue, _, tenant = queue_of(facts)
            state = facts["state"]
            if state == "in_progress":
                wanted["leases"].add(id)
                if facts.get("limited") == "1":
                    wanted.setdefault(f"running:{queue}/{tenant}", set()).add(id)
            elif state in ("scheduled", "waiting"):
                wanted.setdefault(f"scheduled:{queue}", set()).add(id)
            elif facts.get("entry"):
                wanted.setdefault(f"ready:{queue}/{tenant}", set()).add(id)
            if facts.get("deadline_at") and state != "in_progress":
                wanted["deadlines"].add(id)
            if facts.get("unique"):
                key = f"{self.root}unique:{tenant}:{facts['unique']}"
                assert self.client.get(key) == id.encode(), (id, key)
        for kind in ("ready", "running", "scheduled"):
            for key in self.keys(kind):
                wanted.setdefault(key[len(self.root) :], set())
        for name, ids in wanted.items():
            key = f"{self.root}{name}"
            if name.startswith("running"):
                there = {id.decode() for id in self.client.smembers(key)}
            else:
                there = {m for m in self.ids(name) if not m.startswith("lane ")}
            if name == "deadlines":
                there -= {id for id, f in jobs.items() if f["state"] == "in_progress"}
            assert there == ids, (name, there, ids)
        for key in self.keys("ready"):
            assert self.client.zcard(key) <= 2 * WINDOW, key
        for key in self.keys("unique"):
            assert self.client.get(key).decode() in jobs, key

    def check_lines(self, jobs):
        """Who stands nowhere else waits behind another of its session."""
        lines = {key[len(self.root) + 5 :]: None for key in self.keys("line")}
        for session in lines:
            lines[session] = self.ids(f"line:{session}")
            gone = set(lines[session]) - set(jobs)
            assert not gone, f"{gone} stand in line {session}"
        for id, facts in jobs.items():
            session = facts.get("session")
            line = lines.get(f"{queue_of(facts)[2]}/{session}") or []
            if session and facts["state"] != "scheduled":
                assert id in line, f"{id} is not in line {session}: {facts}"
            if facts["state"] != "queued" or facts.get("entry") or facts.get("place"):
                continue
            assert session and line[0] != id, f"{id} stands nowhere: {facts}"

    def check_blobs(self):
        """They live for ever as long as a job, or a schedule, needs them, and no
        longer."""
        wanted = {}
        for key in self.keys("schedule"):
            for sha256 in (self.client.hget(key, "blobs") or b"").decode().split():
                name = key.rpartition("schedule:")[2]
                wanted.setdefault(sha256, set()).add(f"schedule:{name}")
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
        last = int(facts.get("seq", 0))  # 0: job.queued will be told with the next
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
            self.body, self.journal, self.errors = reply[10:13]
            self.approval, self.approval_note = (part.decode() for part in reply[13:15])
