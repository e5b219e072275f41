"""What is in Redis, read when all is quiet.

Nothing here but what schemas/KEYS.md says of keys, read by plain commands.
"""

import re
from dataclasses import dataclass, field

import msgpack
from invariants import read_element

GROUP = "consumers"
TERMINAL = ("completed", "incomplete", "failed", "cancelled")
WAITING = ("scheduled", "waiting")
ONGOING = ("queued", "in_progress", *WAITING)
KEY = re.compile(r"^(.*\{[0-9a-f]{3}\}:)([a-z]+)(?::(.*))?$", re.DOTALL)
BATCH = 1000
OF_JOBS = ("job", "body", "journal", "events", "result")
# What holds ids of jobs, one key or many.
SETS = ("ready", "running", "leases", "scheduled", "deadlines", "line")


@dataclass
class Job:
    id: str = ""
    root: str = ""
    facts: dict = field(default_factory=dict)
    result: bytes | None = None
    events: list = field(default_factory=list)  # (entry, bytes)
    records: list = field(default_factory=list)  # of its journal, bytes
    kinds: set = field(default_factory=set)  # the keys that it has

    @property
    def state(self):
        return self.facts.get("state")

    @property
    def is_entry(self):
        """What stands for an entry of a stream that names no job."""
        return self.id.startswith("entry-")

    def number(self, fact):
        """What is absent is 0."""
        return int(self.facts.get(fact, 0))

    def told(self):
        """Its events, decoded."""
        return [msgpack.unpackb(event) for _, event in self.events]

    def journal(self):
        """Its records, decoded: those that consumers have written."""
        written = [record for record in self.records if record[:1] >= b"\x80"]
        return [msgpack.unpackb(record) for record in written]

    def starts(self):
        """When, by Redis's clock."""
        return [e["at"] for e in self.told() if e["type"] == "job.started"]


@dataclass
class Stream:
    entries: dict = field(default_factory=dict)  # entry: id
    pending: dict = field(default_factory=dict)  # entry: consumer
    has_group: bool = False


@dataclass
class State:
    ttl_ms: dict = field(default_factory=dict)  # of every key; -1: none
    jobs: dict = field(default_factory=dict)
    streams: dict = field(default_factory=dict)
    members: dict = field(default_factory=dict)  # key: (kind, ids)
    unique: dict = field(default_factory=dict)  # key: id
    idem: dict = field(default_factory=dict)  # key: id
    needs: dict = field(default_factory=dict)  # (root, sha256): who
    spilled: list = field(default_factory=list)  # (key, secret)

    def is_ongoing(self, id):
        return id in self.jobs and self.jobs[id].state in ONGOING

    def fired(self, schedule):
        """Ids of the jobs that it has made."""
        of_it = f":schedule:{schedule}:"
        return {id for key, id in self.idem.items() if of_it in key}


def batches(items):
    for first in range(0, len(items), BATCH):
        yield items[first : first + BATCH]


def ask(client, items, command):
    """Pairs of an item and the answer to command(pipe, item)."""
    for batch in batches(items):
        with client.pipeline(transaction=False) as pipe:
            for item in batch:
                command(pipe, item)
            yield from zip(batch, pipe.execute())


def text_of(hash):
    return {k.decode(): v.decode("latin-1") for k, v in hash.items()}


def read_jobs(client, state, found):
    of = {kind: [] for kind in OF_JOBS}
    for key, root, kind, name in found:
        if kind in of:
            job = state.jobs.setdefault(name, Job(name, root))
            job.kinds.add(kind)
            of[kind].append((key, job))
    for (_, job), hash in ask(client, of["job"], lambda p, i: p.hgetall(i[0])):
        job.facts = text_of(hash)
    for (_, job), result in ask(client, of["result"], lambda p, i: p.get(i[0])):
        job.result = result
    for (_, job), rows in ask(client, of["events"], lambda p, i: p.xrange(i[0])):
        job.events = [(entry.decode(), row.get(b"event", b"")) for entry, row in rows]
    for (_, job), rows in ask(
        client, of["journal"], lambda p, i: p.lrange(i[0], 0, -1)
    ):
        job.records = rows


def read_stream(client, key):
    stream = Stream()
    for entry, fields in client.xrange(key):
        stream.entries[entry.decode()] = fields.get(b"id", b"").decode("latin-1")
    groups = [group["name"] for group in client.xinfo_groups(key)]
    stream.has_group = GROUP.encode() in groups
    if stream.has_group:
        for row in client.xpending_range(key, GROUP, "-", "+", 1_000_000):
            stream.pending[row["message_id"].decode()] = row["consumer"].decode()
    return stream


def read_members(client, key):
    read = {
        b"list": lambda: client.lrange(key, 0, -1),
        b"set": lambda: client.smembers(key),
        b"zset": lambda: client.zrange(key, 0, -1),
    }[client.type(key)]
    return [member.decode("latin-1") for member in read()]


def read_rest(client, state, found):
    for key, root, kind, name in found:
        if kind == "work":
            state.streams[key] = read_stream(client, key)
        elif kind == "lane":
            rows = [row.encode("latin-1") for row in read_members(client, key)]
            ids = [read_element(row)[1].decode("latin-1") for row in rows]
            state.members[key] = kind, ids
        elif kind in SETS:
            state.members[key] = kind, read_members(client, key)
        elif kind == "unique":
            state.unique[key] = (client.get(key) or b"").decode("latin-1")
        elif kind == "idem":
            state.idem[key] = (client.get(key) or b"").decode("latin-1")
        elif kind == "refs":
            found = client.zrange(key, 0, -1)
            state.needs[root, name] = [who.decode("latin-1") for who in found]


def look_for(client, state, found, secrets):
    """In every value: nobody may find there what is told to nobody."""
    client.config_set("rdbcompression", "no")
    for (key, *_), bytes in ask(client, found, lambda p, i: p.dump(i[0])):
        for secret in secrets:
            if bytes and secret.encode() in bytes:
                state.spilled.append((key, secret))


def read_state(clients, secrets=()):
    """Of all servers that hold a part of it; clients: encoding="latin-1", as
    keys may be any bytes."""
    state = State()
    for client in clients:
        found = dict.fromkeys(client.scan_iter(count=BATCH))
        keys = [key.decode("latin-1") for key in found]
        for key, ttl_ms in ask(client, keys, lambda p, key: p.pttl(key)):
            state.ttl_ms[key] = ttl_ms
        named = [(key, *found.groups()) for key in keys if (found := KEY.match(key))]
        read_jobs(client, state, named)
        read_rest(client, state, named)
        if secrets:
            look_for(client, state, named, secrets)
    return state
