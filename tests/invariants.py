"""What must hold in a partition between any two steps."""

from urllib.parse import quote

import msgpack
from partition import Partition

TERMINAL = ("completed", "incomplete", "failed", "cancelled")
GROUP = "consumers"
ONGOING = ("scheduled", "queued", "in_progress", "waiting")
RESTS = ("budget", "endpoint")  # what a job waits for that waits for others
WINDOW = 32


def encoded(label):
    """A tenant or session as it stands in keys."""
    return quote(label, safe="").replace("~", "%7E")


def queue_of(facts):
    """Queue, priority and encoded tenant; absent is the default."""
    return (
        facts.get("queue", "default"),
        facts.get("priority", "normal"),
        encoded(facts.get("tenant", "default")),
    )


def read_element(element):
    """Of a lane: place, id, body. Bytes."""
    place, id, body = element.split(b":", 2)
    if len(id) < 36:  # a number: at which byte of the body it stands
        id = body[int(id) - 1 :][:36]
    return place, id, body


class Invariants:
    """Of a Library: raises when the partition is in a state that no job may be in."""

    def check(self):
        """Raises when the partition is in a state that no job may be in."""
        self.there = there = Partition(self.client, self.root)
        self.all_facts = {key[4:]: there.hash(key) for key in there.names("job")}
        jobs = {}
        for id, facts in self.all_facts.items():
            if id.startswith("entry-") or facts["state"] in TERMINAL:
                self.check_ended(id, facts)
            else:
                jobs[id] = facts
                assert facts["state"] in ONGOING, (id, facts)
                assert there.ttl(f"job:{id}") == -1, f"{id} will expire"
            if not id.startswith("entry-"):
                self.check_events(id, facts)
        for key in there.names("idem") + there.names("dead") + there.names("result"):
            assert there.ttl(key) > 0, f"{key} lives for ever"
        assert "copy" not in there.types, "left of a start"
        self.check_streams(jobs)
        self.check_lanes(jobs)
        self.check_sets(jobs)
        self.check_lines(jobs)
        self.check_blobs()
        self.check_sessions()
        self.check_files()
        self.check_budgets()

    def check_ended(self, id, facts):
        for kind in ("job", "body", "events", "journal"):
            assert self.there.ttl(f"{kind}:{id}") != -1, (id, kind)
        assert not facts.get("entry") and not facts.get("place"), (id, facts)

    def check_streams(self, jobs):
        """XLEN is who waits there; each entry is the entry of its job."""
        entries = set()
        streams = self.there.names("work")
        pipe = self.client.pipeline(transaction=False)
        for stream in streams:
            pipe.xinfo_groups(self.root + stream)
            pipe.xpending_range(self.root + stream, GROUP, "-", "+", 100000)
        told = pipe.execute()
        for stream, (group,), rows in zip(streams, told[::2], told[1::2]):
            pending = {row["message_id"].decode() for row in rows}
            assert len(pending) == group["pending"]
            for entry, fields in self.there.read(stream, b"stream"):
                entry, id = entry.decode(), fields[b"id"].decode()
                facts = jobs.get(id)
                assert facts, f"{entry} is for {id}, which has not to run"
                assert facts["state"] == "queued", (id, facts)
                assert facts["entry"] == entry, f"{id} has two entries"
                assert self.root + stream == self.work(*queue_of(facts)[:2]), (id, stream)
                pending.discard(entry)
                entries.add(id)
            assert not pending, f"pending but not in {stream}: {pending}"
        for id, facts in jobs.items():
            if facts.get("entry"):
                assert id in entries, f"{id} is in no stream: {facts}"

    def check_lanes(self, jobs):
        """Each place is the job's own; whoever waits outside will be let in."""
        standing, lengths = {}, {}
        for key in self.there.names("lane"):
            who = key.partition(":")[2].rpartition(":")[0]
            elements = [read_element(e) for e in self.there.read(key, b"list")]
            places = [int(place) for place, _, _ in elements]
            assert places == list(range(places[0], places[0] + len(places))), key
            lengths.setdefault(who, 0)
            for place, id, body in elements:
                id = id.decode()
                if id in jobs and jobs[id].get("place") == place.decode():
                    assert id not in standing, f"{id} stands in two lanes"
                    assert body or self.there.read(f"body:{id}"), f"{id} has no body"
                    standing[id] = key
                    lengths[who] += 1
        counted = {}
        for key in self.there.names("lanes"):
            queue = key.rpartition(":")[2]
            for tenant, count in self.there.hash(key).items():
                counted[f"{queue}/{tenant}"] = int(count)
        assert counted == lengths, (counted, lengths)
        for id, facts in jobs.items():
            if facts.get("place"):
                assert facts["state"] == "queued" and not facts.get("entry"), facts
                queue, priority, tenant = queue_of(facts)
                lane = f"lane:{queue}/{tenant}:{priority}"
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
        there = self.there
        assert queue in there.texts("queues", b"set")
        if there.hash(f"queue:{queue}").get("paused") == "1":
            return
        assert (
            there.read(f"ready:{who}", b"zset")
            or there.read(f"running:{who}", b"set")
            or tenant in there.texts(f"wakes:{queue}")
        ), f"nothing will let in who waits in the lanes of {who}"

    def check_sets(self, jobs):
        """What is in one of the sets is so, and all of it is in them."""
        wanted = {"deadlines": set()}
        for id, facts in jobs.items():
            queue, _, tenant = queue_of(facts)
            state = facts["state"]
            if state == "in_progress":
                wanted.setdefault(f"leases:{queue}", set()).add(id)
                if facts.get("limited") == "1":
                    wanted.setdefault(f"running:{queue}/{tenant}", set()).add(id)
            elif state in ("scheduled", "waiting"):
                wanted.setdefault(f"scheduled:{queue}", set()).add(id)
                if state == "waiting" and facts.get("reason") in RESTS:
                    key = f"resting:{facts['reason']}:{queue}"
                    wanted.setdefault(key, set()).add(id)
            elif facts.get("entry"):
                wanted.setdefault(f"ready:{queue}/{tenant}", set()).add(id)
            if facts.get("deadline_at") and state != "in_progress":
                wanted["deadlines"].add(id)
            if facts.get("unique"):
                key = f"unique:{tenant}:{facts['unique']}"
                assert self.there.read(key) == id.encode(), (id, key)
        for kind in ("ready", "running", "scheduled", "resting", "leases"):
            for key in self.there.names(kind):
                wanted.setdefault(key, set())
        for name, ids in wanted.items():
            type = b"set" if name.startswith("running") else b"zset"
            there = set(self.there.texts(name, type))
            if name == "deadlines":
                there -= {id for id, f in jobs.items() if f["state"] == "in_progress"}
            assert there == ids, (name, there, ids)
        for key in self.there.names("ready"):
            assert len(self.there.read(key, b"zset")) <= WINDOW, key
        for key in self.there.names("unique"):
            assert self.there.read(key).decode() in jobs, key

    def check_lines(self, jobs):
        """Who stands nowhere else waits behind another of its session."""
        there = self.there
        lines = {key[5:]: there.texts(key) for key in there.names("line")}
        for key in there.names("behind"):
            for id in there.texts(key, b"set"):
                assert id in jobs, f"{key}: {id}"
        for name, line in lines.items():
            assert not set(line) - set(jobs), f"{name}: {set(line) - set(jobs)}"
        for id, facts in jobs.items():
            session = facts.get("session") and encoded(facts["session"])
            line = lines.get(f"{queue_of(facts)[2]}/{session}") or []
            queue = queue_of(facts)[0]
            stands = facts.get("entry") or facts.get("place")
            assert (id.encode() in there.read(f"behind:{queue}", b"set")) == (
                facts["state"] == "queued" and not stands
            ), f"{id}: among those that wait for a session"
            if session and facts["state"] != "scheduled":
                assert id in line, f"{id} is not in line {session}: {facts}"
            if facts["state"] != "queued" or facts.get("entry") or facts.get("place"):
                continue
            assert session and line[0] != id, f"{id} stands nowhere: {facts}"

    def check_blobs(self):
        """They live for ever as long as a job, or a schedule, needs them, and no
        longer."""
        there, wanted = self.there, {}
        for key in there.names("schedule"):
            for sha256 in there.hash(key, "latin-1").get("blobs", "").split():
                wanted.setdefault(sha256, set()).add(key)
        for id, facts in self.all_facts.items():
            if facts["state"] in ONGOING:
                for sha256 in facts.get("blobs", "").split():
                    wanted.setdefault(sha256, set()).add(id)
        for key in there.names("blob") + there.names("refs"):
            needs = wanted.get(key.rpartition(":")[2])
            assert (there.ttl(key) == -1) == bool(needs), (key, needs)
        for key in there.names("refs"):
            who = set(there.texts(key)) - {"ended"}
            files = {name for name in who if name.startswith("file:")}
            jobs = {name for name in who - files if "session:" not in name}
            assert jobs == wanted.get(key.rpartition(":")[2], set()), key

    def check_files(self):
        """The lists have each record, and live as long; so does its blob."""
        there = self.there
        for key in there.names("file"):
            facts, ttl = there.hash(key), there.ttl(key)
            assert ttl > 0, f"{key} lives for ever"
            tenant, refs = encoded(facts["tenant"]), f"refs:{facts['blob']}"
            assert key in there.texts(refs), key
            member = f"{key[5:]}:{facts['purpose']}"
            for name in (f"files:{tenant}", f"file_ends:{tenant}"):
                assert member in there.texts(name), (key, name)
                assert there.ttl(name) >= ttl - 100, (key, name)
            lives = there.ttl(f"blob:{facts['blob']}")
            assert lives == -1 or lives >= ttl - 100, key

    def check_sessions(self):
        """What a record names is there as long as the record is, and nothing
        else is kept for it."""
        there, kept = self.there, set()
        for key in there.names("session"):
            ttl = there.ttl(key)
            assert ttl > 0, f"{key} lives for ever"
            facts = there.hash(key, "latin-1")
            who = self.root + key
            for who, blobs in ((who, "files"), (f"{who}#picture", "picture")):
                for sha256 in facts.get(blobs, "").split():
                    kept.add((sha256, who))
                    lives = there.ttl(f"blob:{sha256}")
                    assert lives == -1 or lives >= ttl - 100, (key, sha256)
        for key in there.names("refs"):
            for who in there.texts(key):
                if "session:" in who:
                    assert (key.rpartition(":")[2], who) in kept, (key, who)

    def check_budgets(self):
        """What is held of a budget is held by jobs that go on, and by nobody
        twice; it lives as long as its period."""
        held = {}
        for id, facts in self.all_facts.items():
            if facts.get("reserved"):
                assert facts["state"] in ONGOING, (id, facts)
                period, tokens, cost = facts["reserved"].split(":")
                queue, _, tenant = queue_of(facts)
                who = f"{queue}/{tenant}", period
                before = held.get(who, (0, 0))
                held[who] = before[0] + int(tokens), before[1] + int(cost)
        for key in self.there.names("spent"):
            assert self.there.ttl(key) != -1, f"{key} lives for ever"
            row = {name: int(value) for name, value in self.there.hash(key).items()}
            who = key.rpartition("spent:")[2], str(row.get("period"))
            there = row.get("held_tokens", 0), row.get("held_cost", 0)
            assert not row or there == held.get(who, (0, 0)), (key, row, held)

    def check_events(self, id, facts):
        """Contiguous; the terminal one is there when the job is, and last."""
        entries = self.there.read(f"events:{id}", b"stream")
        events = [msgpack.unpackb(fields[b"event"]) for _, fields in entries]
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
