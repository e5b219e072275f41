"""What must hold in a partition between any two steps."""

from urllib.parse import quote

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
        assert not self.client.exists(f"{self.root}copy"), "left of a start"
        self.check_streams(jobs)
        self.check_lanes(jobs)
        self.check_sets(jobs)
        self.check_lines(jobs)
        self.check_blobs()
        self.check_sessions()
        self.check_budgets()

    def check_ended(self, id, facts):
        for kind in ("job", "body", "events", "journal"):
            assert self.client.pttl(f"{self.root}{kind}:{id}") != -1, (id, kind)
        assert not facts.get("entry") and not facts.get("place"), (id, facts)

    def check_streams(self, jobs):
        """XLEN is who waits there; each entry is the entry of its job."""
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
                assert facts["state"] == "queued", (id, facts)
                assert facts["entry"] == entry, f"{id} has two entries"
                assert stream == self.work(*queue_of(facts)[:2]), (id, stream)
                pending.discard(entry)
                entries.add(id)
            assert not pending, f"pending but not in {stream}: {pending}"
        for id, facts in jobs.items():
            if facts.get("entry"):
                assert id in entries, f"{id} is in no stream: {facts}"

    def check_lanes(self, jobs):
        """Each place is the job's own; whoever waits outside will be let in."""
        standing, lengths = {}, {}
        for key in self.keys("lane"):
            who = key.rpartition("lane:")[2].rpartition(":")[0]
            elements = [read_element(e) for e in self.client.lrange(key, 0, -1)]
            places = [int(place) for place, _, _ in elements]
            assert places == list(range(places[0], places[0] + len(places))), key
            lengths.setdefault(who, 0)
            for place, id, body in elements:
                id = id.decode()
                if id in jobs and jobs[id].get("place") == place.decode():
                    assert id not in standing, f"{id} stands in two lanes"
                    assert body or self.body(id), f"{id} has no body"
                    standing[id] = key
                    lengths[who] += 1
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
            or self.client.zscore(f"{self.root}wakes:{queue}", tenant)
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
                key = f"{self.root}unique:{tenant}:{facts['unique']}"
                assert self.client.get(key) == id.encode(), (id, key)
        for kind in ("ready", "running", "scheduled", "resting", "leases"):
            for key in self.keys(kind):
                wanted.setdefault(key[len(self.root) :], set())
        for name, ids in wanted.items():
            key = f"{self.root}{name}"
            if name.startswith("running"):
                there = {id.decode() for id in self.client.smembers(key)}
            else:
                there = set(self.ids(name))
            if name == "deadlines":
                there -= {id for id, f in jobs.items() if f["state"] == "in_progress"}
            assert there == ids, (name, there, ids)
        for key in self.keys("ready"):
            assert self.client.zcard(key) <= WINDOW, key
        for key in self.keys("unique"):
            assert self.client.get(key).decode() in jobs, key

    def check_lines(self, jobs):
        """Who stands nowhere else waits behind another of its session."""
        names = [key[len(self.root) + 5 :] for key in self.keys("line")]
        lines = {name: self.ids(f"line:{name}") for name in names}
        for key in self.keys("behind"):
            for id in self.client.smembers(key):
                assert id.decode() in jobs, f"{key}: {id}"
        for name, line in lines.items():
            assert not set(line) - set(jobs), f"{name}: {set(line) - set(jobs)}"
        for id, facts in jobs.items():
            session = facts.get("session") and encoded(facts["session"])
            line = lines.get(f"{queue_of(facts)[2]}/{session}") or []
            queue = queue_of(facts)[0]
            stands = facts.get("entry") or facts.get("place")
            assert self.client.sismember(f"{self.root}behind:{queue}", id) == (
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

    def check_budgets(self):
        """What is held of a budget is held by jobs that go on, and by nobody
        twice; it lives as long as its period."""
        held = {}
        for key in self.keys("job"):
            facts = self.facts(key.rpartition("job:")[2])
            if facts.get("reserved"):
                assert facts["state"] in ONGOING, (key, facts)
                period, tokens, cost = facts["reserved"].split(":")
                queue, _, tenant = queue_of(facts)
                who = f"{queue}/{tenant}", period
                before = held.get(who, (0, 0))
                held[who] = before[0] + int(tokens), before[1] + int(cost)
        for key in self.keys("spent"):
            assert self.client.pttl(key) != -1, f"{key} lives for ever"
            row = {k.decode(): int(v) for k, v in self.client.hgetall(key).items()}
            who = key.rpartition("spent:")[2], str(row.get("period"))
            there = row.get("held_tokens", 0), row.get("held_cost", 0)
            assert not row or there == held.get(who, (0, 0)), (key, row, held)

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
