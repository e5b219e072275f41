"""Many submits in one step do what they do one by one.

The same jobs go to two partitions, to one of them in batches: answers, and all
that is there afterwards, must be the same, but for times.
"""

import random

import pytest
import redis

from library import Library, Refused, job_id
from partition import Partition
from servers import RedisServer

JOBS = 400
STEPS = 25
BATCH = 24
TIMES = {"submitted_at", "not_before", "deadline_at", "started_at", "finished_at"}
TIMES |= {"epoch", "entry"}
PARTITIONS = (0, 1)


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        yield server


@pytest.fixture
def both(server):
    """The partition that gets its jobs one by one, and the other one."""
    client = server.client()
    client.flushall()
    return [Library(client, partition=partition).load() for partition in PARTITIONS]


def words(queue, job):
    """As submit wants them; id is a number, and a pair may be there twice."""
    number, pairs = job
    partition = PARTITIONS[0] if "{000}" in queue.root else PARTITIONS[1]
    id = job_id(number, partition) if isinstance(number, int) else number
    return ["id", id, *(part for pair in pairs for part in pair)]


def one_by_one(queue, jobs):
    answers = []
    for job in jobs:
        try:
            answers.append(queue.call("submit", *words(queue, job)))
        except Refused as refused:
            answers.append(f"{refused.word} {refused.text}")
    return answers


def together(queue, jobs):
    got = queue.call("submit_many", *(word for j in jobs for word in words(queue, j)))
    return [
        str(answer) if isinstance(answer, redis.ResponseError) else answer
        for answer in got
    ]


def neutral(queue, value):
    """Without what tells the partitions apart: the digits of it in ids and roots."""
    partition = 0 if "{000}" in queue.root else 1
    if isinstance(value, (list, tuple)):
        return [neutral(queue, part) for part in value]
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if isinstance(value, str):
        value = value.replace(queue.root, "ROOT:").replace(f"-7{partition:03x}-", "-")
        value = value.replace(f"partition {partition:03x}", "partition")
    return value


def what_stands(queue, there, key):
    type = there.types[key]
    value = there.read(key, type)
    if type == b"hash":
        found = neutral(queue, [*value.items()])
        return sorted((name, name in TIMES or value) for name, value in found)
    if type == b"stream":
        return [fields[b"id"] for _, fields in value if b"id" in fields]
    if type == b"set" or (type == b"zset" and not key.startswith("line:")):
        return sorted(value)
    return value


def all_of(queue):
    """But what counts and lists by the clock: the two are not at the same time."""
    there = Partition(queue.client, queue.root)
    return {
        neutral(queue, key): neutral(queue, what_stands(queue, there, key))
        for key in there.types
        if not key.startswith(("ended", "figures:"))
    }


def the_same(both, jobs):
    """Submits them both ways; gives the answers."""
    single, batch = both
    want, got = one_by_one(single, jobs), together(batch, jobs)
    assert neutral(batch, got) == neutral(single, want)
    stands, there = all_of(single), all_of(batch)
    assert there.keys() == stands.keys()
    for key, value in stands.items():
        assert there[key] == value, key
    batch.check()
    return neutral(batch, got)


def plain(number, **pairs):
    return number, [("job", f"body {number}"), *pairs.items()]


def settings(both, **given):
    for queue in both:
        queue.queue_set(**given)


# What only a batch could get wrong: a job that meets one of its own batch.

MEETINGS = {
    "an id twice, the same bytes": [plain(1), plain(1)],
    "an id twice, another job": [plain(1), (1, [("job", "another")])],
    "an id twice, in a lane": [*(plain(n) for n in range(50)), plain(45)],
    "an id twice, another job in a lane": [
        *(plain(n) for n in range(50)),
        (45, [("job", "another")]),
    ],
    "an idempotency key twice": [
        plain(1, idempotency_key="k"),
        plain(2, idempotency_key="k"),
        plain(3, idempotency_key="k", tenant="other"),
    ],
    "a unique key twice": [plain(1, unique_key="k"), plain(2, unique_key="k")],
    "one session, three jobs": [plain(n, session="s") for n in range(3)],
    "full after two": [plain(n, max_depth=2) for n in range(4)],
    "full in a lane": [plain(n, max_depth=40) for n in range(50)],
    "full, counted late": [
        *(plain(n) for n in range(50)),
        *(plain(n, max_depth=52) for n in range(50, 55)),
    ],
    "a tenant's fill": [plain(n, tenant_depth=40) for n in range(50)],
    "a tenant's fill, counted late": [
        *(plain(n) for n in range(40)),
        *(plain(n, tenant_depth=42) for n in range(50, 55)),
    ],
    "a tenant's scheduled ones are not among its fill": [
        *(plain(n, delay_ms=60000, tenant_depth=2) for n in range(4)),
        *(plain(n, tenant_depth=2) for n in range(4, 8)),
    ],
    "a full queue, of scheduled ones": [
        plain(n, delay_ms=60000, max_depth=2) for n in range(4)
    ],
    "three lanes of one tenant": [
        plain(n, priority=("high", "normal", "low")[n % 3]) for n in range(60)
    ],
    "lanes of two tenants and two queues": [
        plain(n, tenant=f"t{n % 2}", queue=f"q{n // 2 % 2}") for n in range(200)
    ],
    "a body that is too large for a lane": [
        *(plain(n) for n in range(40)),
        (41, [("job", "x" * 2000)]),
        plain(42),
    ],
    "bad ones between good ones": [
        plain(1),
        ("no id", [("job", "x")]),
        (2, [("queue", "q")]),
        (3, [("job", "x"), ("priority", "urgent")]),
        (4, [("job", "x"), ("tenant", "a/b")]),
        (5, [("job", "x"), ("delay_ms", "soon")]),
        (6, [("job", "x"), ("unique_key", "k" * 257)]),
        (7, [("job", "x" * (256 * 1024 + 1))]),
        (8, [("job", "x"), ("blob", "none")]),
        (9, [("job", "x"), ("blob", "0" * 64)]),
        plain(10),
    ],
    "names of a newer producer": [plain(1, colour="red", err="x", leftovers="y")],
}


@pytest.mark.parametrize("name", MEETINGS)
def test_jobs_of_one_batch(both, name):
    the_same(both, MEETINGS[name])


# Settings and what stood before.

LIMITS = {
    "none": {},
    "a depth": {"max_depth": 45},
    "a tenant's depth": {"tenant_depth": 40},
    "so many that run": {"tenant_running": 3},
    "a rate": {"tenant_rate": 2, "tenant_rate_ms": 3600 * 1000},
    "paused": {"paused": 1},
}


@pytest.mark.parametrize("name", LIMITS)
def test_batches_under_a_limit(both, name):
    if LIMITS[name]:
        settings(both, **LIMITS[name])
    for first in (0, 20, 60):
        the_same(both, [plain(n) for n in range(first, first + 20 + first)])


def test_what_somebody_left_of_a_job_is_taken_away(both):
    for queue, partition in zip(both, PARTITIONS):
        queue.client.set(f"{queue.root}result:{job_id(2, partition)}", "old")
    answers = the_same(both, [plain(1), plain(2), plain(3)])
    assert [verdict for _, verdict in answers] == ["created"] * 3
    for queue in both:
        assert queue.keys("result") == []


def test_keys_that_somebody_else_has_made(both):
    for queue in both:
        queue.client.set(f"{queue.root}lane:default/default:normal", "x")
        queue.client.set(f"{queue.root}lanes:default", "x")
    the_same(both, [plain(n) for n in range(50)])


@pytest.mark.parametrize("args", [["job", "x"], ["id", "x", "job"], ["id"]])
def test_a_call_that_is_no_list_of_jobs_is_refused(both, args):
    with pytest.raises(Refused, match="submit_many"):
        both[1].call("submit_many", *args)


def test_so_many_and_no_more(both):
    jobs = [plain(n) for n in range(513)]
    with pytest.raises(Refused, match="513 jobs, at most 512"):
        together(both[1], jobs)
    assert both[1].keys("job") == []
    assert len(together(both[1], jobs[:512])) == 512
    both[1].check()


def test_none_is_no_job(both):
    assert both[1].call("submit_many") == []


# ------------------------------------------------------------------- any jobs


def some_job(chance):
    number = chance.randrange(JOBS)
    pairs = {"job": f"body of {number}", "tenant": f"t{chance.randrange(3)}"}
    given = {
        "queue": f"q{chance.randrange(2)}",
        "priority": chance.choice(("high", "low", "urgent")),
        "session": f"s{chance.randrange(3)}",
        "idempotency_key": f"i{chance.randrange(20)}",
        "unique_key": f"u{chance.randrange(20)}",
        "delay_ms": 3600 * 1000,
        "deadline_ms": 3600 * 1000,
        "max_depth": chance.randint(1, 200),
        "tenant_depth": chance.randint(1, 60),
        "job": "x" * chance.choice((100, 2000)),
    }
    for name, value in given.items():
        if chance.random() < 0.12:
            pairs[name] = value
    listed = list(pairs.items())
    if chance.random() < 0.1:
        listed.append(("blob", chance.choice(BLOBS)))
    return number, listed


BLOBS = ["0" * 64, "short"]


def meanwhile(both, chance):
    """What consumers and clients do, in both the same: of one queue, for which of
    two has the older job is told by the clock."""
    number, count = chance.randrange(JOBS), chance.randrange(30)
    one = chance.choice(("default", "q0", "q1"))
    what = chance.choice(("take", "cancel", "pause", "nothing"))
    paused = chance.choice((0, 0, 1))
    for queue, partition in zip(both, PARTITIONS):
        if what == "cancel":
            try:
                queue.cancel(job_id(number, partition))
            except Refused as refused:
                assert refused.word == "GONE"
        elif what == "pause":
            queue.queue_set("q1", paused=paused)
        elif what == "take":
            for job in queue.take_jobs(count=count + 1, queues=(one,)):
                if job.run:
                    queue.finish(job.id, job.epoch)


@pytest.mark.parametrize("seed", range(4))
def test_any_jobs_in_any_batches(both, seed):
    chance = random.Random(seed)
    BLOBS[1:] = [both[0].put(b"a"), "short"]
    both[1].put(b"a")
    settings(both, tenant_depth=50)
    for queue in both:
        queue.tenant_set("t1", "q0", tenant_running=3)
    verdicts = set()
    for _ in range(STEPS):
        jobs = [some_job(chance) for _ in range(chance.randint(1, BATCH))]
        try:
            answers = the_same(both, jobs)
        except AssertionError as error:
            error.args = (f"seed {seed}: {error}",)
            raise
        verdicts |= {a.split()[0] if isinstance(a, str) else a[1] for a in answers}
        meanwhile(both, chance)
    assert verdicts == {"created", "exists", "QUEUEFULL", "BADARG", "NOBLOB"}
