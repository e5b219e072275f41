"""The shipped Redis users can do their part, and no other's.

What a user's part is stands in ACTS: every call that the programs of that role
make, and every function of the library that they call. A user must be able to
do all of them, and each of its rules must be missed when it is taken away: so
none of them is too much.
"""

import json
import pathlib
import secrets
import shutil
import signal
import subprocess
import time

import pytest
import redis
from gateway import Gateway, bearer, make_key
from servers import BUILD, Process, RedisServer, binary, wait_until
from stack import Stack

TREE = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = pathlib.Path(BUILD, "schemas/redis/library.lua").read_text()
ROOT = "quern:{000}:"
WORK = ROOT + "work:default:normal"
BLOB = "quern:{000}:blob:" + "0" * 64
QUERN = binary("quern")
DENIED = "permissions|NOPERM|invalid username"


def new_id():
    ms, tail = f"{time.time_ns() // 10**6:012x}", secrets.token_hex(6)
    return f"{ms[:8]}-{ms[8:]}-7000-8000-{tail}"


class As:
    """Redis as one user sees it."""

    def __init__(self, server, user):
        client = server.client(username=user, password="secret")
        self.client = client
        self.call = client.execute_command

    def transition(self, name, *args):
        return self.call("FCALL", f"quern_v1_{name}", 1, ROOT, *args)

    def may(self, *words):
        """The call passes the rules, whatever comes of it."""
        try:
            self.call(*words)
        except redis.exceptions.NoPermissionError:
            raise
        except redis.exceptions.ResponseError as error:
            assert "permission" not in str(error), error

    def submit(self, *pairs):
        """Gives the id that the job was given and the answer."""
        job = new_id()
        return job, self.transition("submit", "id", job, "job", "x", *pairs)

    def state(self, job):
        return self.call("HGET", f"{ROOT}job:{job}", "state")


def shipped():
    """The rules of each user."""
    users = {}
    for line in (TREE / "deploy/redis/users.acl").read_text().splitlines():
        _, user, *rules = line.split()
        users[user] = [">secret" if r.startswith(">@") else r for r in rules]
    return users


def add_users(admin):
    for user, rules in shipped().items():
        if user != "default":
            admin.execute_command("ACL", "SETUSER", user, *rules)


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        add_users(server.client())
        server.client().execute_command("ACL", "SETUSER", "default", "off")
        yield server


def test_jobs_outlive_a_restart(tmp_path):
    """Redis reads its append-only file as the user default."""
    lines = [" ".join(["user", user, *rules]) for user, rules in shipped().items()]
    (tmp_path / "users.acl").write_text("\n".join(lines) + "\n")
    with RedisServer(aof=True, aclfile=str(tmp_path / "users.acl")) as server:
        As(server, "admin").call("FUNCTION", "LOAD", LIBRARY)
        jobs = [As(server, "producer").submit()[0] for _ in range(3)]
        server.restart()
        admin = As(server, "admin")
        wait_until(lambda: admin.call("INFO")["loading"] == 0, what="the file is read")
        assert [admin.state(job) for job in jobs] == [b"queued"] * 3
        with pytest.raises(redis.AuthenticationError):
            server.client().ping()


@pytest.fixture
def clean(server):
    """An admin, and nothing but the library."""
    admin = As(server, "admin")
    admin.call("FLUSHALL")
    admin.call("FUNCTION", "LOAD", "REPLACE", LIBRARY)
    return admin


# ------------------------------------------------------------ what each one does


def connect(me):
    """As every program begins."""
    me.call("CLIENT", "SETNAME", "quern-test")
    me.call("SELECT", 0)
    me.call("PING")
    me.may("ROLE")
    me.may("CLUSTER", "SLOTS")


def follow(me, job):
    """As quern watch does."""
    me.call("XRANGE", f"{ROOT}events:{job}", "-", "+")
    with me.client.pubsub() as ears:
        ears.subscribe(f"{ROOT}events:{job}")
        assert ears.get_message(timeout=5)["type"] == "subscribe"
        ears.unsubscribe()
        assert ears.get_message(timeout=5)["type"] == "unsubscribe"
        hear_sharded(ears, f"{ROOT}events:{job}", "SSUBSCRIBE", "SUNSUBSCRIBE")


def hear_sharded(ears, channel, *commands):
    """As in a Cluster. redis-py of Debian 12 has no method for it."""
    for command in commands:
        ears.execute_command(command, channel)
        assert ears.parse_response()[0] == command.lower().encode()


def publish_sharded(me):
    """As functions do in a Cluster, to those who hear nothing."""
    me.may("CLUSTER", "SLOTS")
    me.call("SPUBLISH", f"{ROOT}control", "")


def epoch_of(user, job):
    return int(user.call("HGET", f"{ROOT}job:{job}", "epoch"))


def begin(admin):
    """A job that runs; its id and epoch."""
    job, _ = admin.submit("queue", "other")
    assert admin.transition("take", "c", 60000, 3, 9, "queue", "other")
    return job, epoch_of(admin, job)


def bury(admin):
    """A job that failed for good."""
    job, epoch = begin(admin)
    admin.transition("finish", job, epoch, "failed", "r", "", "x", 1000, 60000)
    return job


def approve_held_back(me, admin):
    """One that goes before the others of its lane."""
    waits, epoch = begin(admin)
    admin.transition("wait", waits, epoch, 0, "approval", 0, "")
    admin.transition("queue_set", "other", "paused", 1)
    assert me.transition("approve", waits, "approve") == b"queued"
    admin.transition("queue_set", "other", "paused", 0)
    admin.transition("promote", 100)
    admin.transition("take", "c", 60000, 3, 9, "queue", "other")


def keep_files(me):
    """As the gateway does with files that were uploaded."""
    ids = [f"file-{number:024x}" for number in (1, 2)]
    for id, life_ms in zip(ids, (1, 60000)):
        me.transition("file_set", "t", id, life_ms, BLOB[-64:], 5, "a", "user_data")
    time.sleep(0.01)
    assert me.transition("file_list", "t", "desc", 9)[1][0] == ids[1].encode()
    assert me.transition("file_rm", "t", ids[1]) == 1


def serve(me):
    """As the gateway does for clients of OpenAI's APIs: requests that come once
    more, turns of conversations, lists of containers, the secret of links, rates
    of keys."""
    notes = ROOT + "repeats:" + "0" * 64
    me.call("RPUSH", notes, "a/0", "b/0")
    me.call("EXPIRE", notes, 600)
    assert me.call("FCALL", "quern_v1_repeat_take", 1, ROOT, "0" * 64, 1) == b"a"
    assert me.call("LREM", notes, 1, "a/1") == 1
    me.call("DEL", notes)
    talk = ROOT + "conversation:x"
    assert me.call("HSETNX", talk, 1, "a") == 1
    me.call("DEL", talk)
    containers = ROOT + "containers:t"
    me.call("ZADD", containers, 1, "cntr_a")
    assert me.call("ZREMRANGEBYSCORE", containers, "-inf", 1) == 1
    secret = "quern:{quern:fleet}:link_secret"
    me.call("SET", secret, "s" * 32, "NX")
    assert me.call("GET", secret) == b"s" * 32
    me.call("DEL", secret)
    serve_keys(me)


def serve_keys(me):
    """As the gateway does with its keys."""
    fleet = "quern:{quern:fleet}:"
    me.call("HMGET", fleet + "key:x", "tenant", "scopes")
    assert me.call("INCR", fleet + "rate:x") == 1
    me.call("EXPIRE", fleet + "rate:x", 120)
    assert me.call("HSET", fleet + "keys_used", "x", 1) == 1
    jobs, cost = fleet + "key_jobs:x", fleet + "key_cost:x:1"
    assert me.call("ZADD", jobs, 1, "a") == 1
    assert me.call("ZADD", jobs, "XX", 2, "a") == 0
    assert me.call("ZCARD", jobs) == 1
    me.call("ZRANGE", jobs, 0, 99, "WITHSCORES")
    assert me.call("ZREM", jobs, "a") == 1
    assert me.call("HINCRBY", cost, "cost", 5) == 5
    me.call("EXPIRE", cost, 60)
    assert me.call("HGET", cost, "cost") == b"5"
    with me.client.pubsub() as ears:
        ears.subscribe(fleet + "keys_removed")
        assert ears.get_message(timeout=5)["type"] == "subscribe"


def produce(me, admin):
    connect(me)
    serve(me)
    publish_sharded(me)
    me.call("HGET", "quern:fleet", "partitions")
    me.call("SET", BLOB, "bytes", "EX", 60, "NX")
    me.call("EXPIRE", BLOB, 120)
    assert me.call("GET", BLOB) == b"bytes"
    me.call("WAIT", 0, 1)
    me.transition("build")
    keep_files(me)
    pairs = ("tenant", "t", "session", "s", "idempotency_key", "k", "unique_key", "u")
    job, _ = me.submit("blob", BLOB[-64:], "max_depth", 9, "deadline_ms", 9000, *pairs)
    _, again = me.submit("tenant", "t", "idempotency_key", "k")
    assert again == [job.encode(), b"exists"]
    _, again = me.submit("tenant", "t", "unique_key", "u")
    assert again == [job.encode(), b"exists"]
    behind, _ = me.submit("tenant", "t", "session", "s")
    later, _ = me.submit("delay_ms", 60000)
    # more than a tenant's share of the stream
    full = [me.submit("tenant", "full", "tenant_depth", 100)[0] for _ in range(40)]
    assert me.transition("submit_many") == []
    me.call("XREAD", "STREAMS", f"{ROOT}events:{job}", "0")
    follow(me, job)
    me.call("HMGET", f"{ROOT}job:{job}", "state", "attempts")
    for each in (job, behind, later, *full):
        assert me.transition("cancel", each) == b"cancelled"
    assert me.call("GET", f"{ROOT}result:{job}")
    me.call("ZRANGE", f"{ROOT}sessions", 0, -1, "REV")
    waits, epoch = begin(admin)
    admin.transition("wait", waits, epoch, 0, "approval", 0, "")
    assert me.transition("approve", waits, "approve") == b"queued"
    approve_held_back(me, admin)
    late, _ = admin.submit("queue", "other", "deadline_ms", 1)
    approval = ("state", "waiting", "reason", "approval")
    admin.call("HSET", f"{ROOT}job:{late}", *approval)
    time.sleep(0.01)
    assert me.transition("approve", late, "approve") == b"late"
    limit = ("tenant_rate:lim", 1, "tenant_running:lim", 1)
    admin.transition("queue_set", "default", *limit)
    for _ in range(3):
        last, _ = me.submit("tenant", "lim")
    me.transition("cancel", last)
    # the index of ended jobs is full; why a job is where it is
    admin.call("SETRANGE", f"{ROOT}ended", 5 << 20, "x")
    last, _ = me.submit("tenant", "t", "session", "s9")
    me.submit("tenant", "t", "session", "s9")
    for each in (last, *explained(admin)):
        assert me.transition("explain", each)
        assert me.transition("body", each)
    me.transition("cancel", last)


def explained(admin):
    """Jobs: behind one of its session, in a lane, waiting, running."""
    admin.submit("tenant", "e", "session", "e")
    behind, _ = admin.submit("tenant", "e", "session", "e")
    for _ in range(40):
        in_lane, _ = admin.submit("tenant", "lane")
    waits, epoch = begin(admin)
    admin.transition("wait", waits, epoch, 9000, "retry", 1, "")
    runs, _ = begin(admin)
    return behind, in_lane, waits, runs


def follow_only(me, admin):
    job, _ = admin.submit()
    admin.transition("cancel", job)
    connect(me)
    follow(me, job)
    me.call("XREAD", "STREAMS", f"{ROOT}events:{job}", "0")


def consume(me, admin):
    connect(me)
    publish_sharded(me)
    me.call("HSETNX", "quern:fleet", "partitions", 1)
    me.call("HGET", "quern:fleet", "partitions")
    counts = "quern:{quern:fleet}:counts"
    me.call("MULTI")
    me.call("HINCRBY", counts, "e calls", 1)
    me.call("HSET", counts, "e model", "m")
    me.call("PEXPIRE", counts, 60000)
    me.call("EXEC")
    waits = "quern:{quern:fleet}:waits"
    me.call("ZADD", waits, "GT", 5, "e")
    me.call("ZRANGE", waits, 0, 255, "REV", "WITHSCORES")
    me.call("ZREMRANGEBYSCORE", waits, "-inf", 4)
    me.call("ZREM", waits, "e")
    me.call("TIME")
    me.call("FUNCTION", "LOAD", "REPLACE", LIBRARY)
    me.transition("build")
    me.call("INFO")
    me.call("WAIT", 0, 1)
    me.call("CLIENT", "ID")
    me.may("CLIENT", "UNBLOCK", 1)
    me.may("XGROUP", "CREATE", WORK, "consumers", 0, "MKSTREAM")
    me.call("SET", BLOB, "bytes", "EX", 60, "NX")
    me.call("PEXPIRE", BLOB, 60000, "GT")
    me.call("STRLEN", BLOB)
    me.call("GET", BLOB)
    with me.client.pubsub() as ears:
        ears.subscribe(f"{ROOT}control")
        assert ears.get_message(timeout=5)["type"] == "subscribe"
        hear_sharded(ears, f"{ROOT}control", "SSUBSCRIBE")
    settings = ("tenant_running", 50, "tenant_rate", 90, "tenant_rate_ms", 1000)
    admin.transition("queue_set", "default", *settings, "tenant_tokens", 900)
    take = ("take", "c", 60000, 3, 9)

    # a job's whole life, in a session, with a file
    pairs = ("tenant", "t", "session", "s", "blob", BLOB[-64:], "deadline_ms", 9000)
    job, _ = admin.submit("unique_key", "u", *pairs)
    other, _ = admin.submit("tenant", "t", "session", "s")
    me.call("XREADGROUP", "GROUP", "consumers", "c", "COUNT", 1, "STREAMS", WORK, ">")
    entry = me.call("HGET", f"{ROOT}job:{job}", "entry")
    assert me.transition(*take, "ticket", 1, "entry", WORK, entry)[0][0] == 1
    epoch = epoch_of(me, job)
    me.transition("beat", "c", job, epoch)
    for _ in range(2):  # its reply was lost
        me.transition("journal", job, epoch, 0, "record", "turn.started", b"\x80")
        me.transition("spend", job, epoch, 1, "intent", "reserve", 9, 9)
    me.transition("event", job, epoch, 1, "turn.started", b"\x80")
    assert me.call("XREVRANGE", f"{ROOT}events:{job}", "+", "-", "COUNT", 9)
    me.transition("session_claim", job, epoch, "t/s", 60000)
    save = ("session_save", job, epoch, "t/s")
    me.transition(*save, 0, 1, 60000, 0, "r1", "", BLOB[-64:])
    me.transition(*save, 1, 1, 60000, 0, "r2", "")
    me.transition("finish", job, epoch, "completed", "r", "", "", 60000, 60000)
    me.transition(*take, "ticket", 2, "queue", "default")
    me.transition(
        "finish", other, epoch_of(me, other), "failed", "r", "", "x", 60000, 60000
    )

    # many at once
    job, _ = admin.submit()
    me.transition(*take, "ticket", 7, "queue", "default")
    many = ("finish_many", job, epoch_of(me, job), "completed", "r", "", "", 1, 1, 0, 0)
    assert me.transition(*many) == [b"completed"]
    for _ in range(80):  # the last of them straight from their lane
        admin.submit("tenant", "many")
    for ticket in (8, 9):
        me.transition("take", "c", 60000, 3, 50, "ticket", ticket, "queue", "default")

    # the index of ended jobs is full, or its first line is old
    job, _ = admin.submit()
    admin.call("SETRANGE", f"{ROOT}ended", 5 << 20, "x")
    me.transition(*take, "ticket", 17, "queue", "default")
    me.transition("finish", job, epoch_of(me, job), "completed", "r", "", "", 1, 1)
    me.transition("promote", 100)

    # of two priorities; one that is read while its queue is paused
    admin.submit("priority", "high")
    admin.submit("queue", "default")
    me.transition("take", "c", 60000, 3, 2, "ticket", 10, "queue", "default")
    admin.submit()
    me.call("XREADGROUP", "GROUP", "consumers", "c", "COUNT", 1, "STREAMS", WORK, ">")
    (read,) = me.client.xpending_range(WORK, "consumers", "-", "+", 1)
    admin.transition("queue_set", "default", "paused", 1)
    paused = me.transition(*take, "ticket", 11, "entry", WORK, read["message_id"])
    assert paused[0][1] == b"paused"
    admin.transition("queue_set", "default", "paused", 0)
    me.transition("promote", 100)
    me.transition("take", "c", 60000, 3, 2, "ticket", 12, "queue", "default")

    # handed back, waiting, lost, overdue, taken by its entry
    job, _ = admin.submit()
    me.transition(*take, "ticket", 3, "queue", "default")
    me.transition("release", job, epoch_of(me, job), "drain")
    me.transition(*take, "ticket", 4, "queue", "default")
    me.transition("wait", job, epoch_of(me, job), 1, "retry", 1, "")
    time.sleep(0.01)
    me.transition("promote", 100)
    me.transition("take", "c", 1, 3, 9, "ticket", 5, "queue", "default")
    time.sleep(0.01)
    me.transition("lapse", 3, 100)
    me.call("XREADGROUP", "GROUP", "consumers", "c", "COUNT", 1, "STREAMS", WORK, ">")
    me.transition("reclaim", WORK, 0, 100, "-")
    admin.submit("deadline_ms", 1)
    for number in range(40):
        admin.submit("tenant", f"t{number % 2}")
    time.sleep(0.01)
    me.transition("promote", 100)
    me.call("XREADGROUP", "GROUP", "consumers", "c", "COUNT", 9, "STREAMS", WORK, ">")
    (read,) = me.client.xpending_range(WORK, "consumers", "-", "+", 1)
    me.transition(
        "take", "c", 60000, 3, 1, "ticket", 13, "entry", WORK, read["message_id"]
    )
    admin.call("XADD", WORK, "*", "no", "job")
    me.transition(*take, "ticket", 6, "queue", "default")
    me.transition("report", "c", 60000, "host", "h", "queues", "default")

    # what the clock brings; what other hands have destroyed
    at = int(time.time() * 1000)
    admin.transition("schedule_set", "n", "every 1s", "UTC", at, "job", "x")
    admin.transition("queue_set", "default", "max_depth", 1000)
    time.sleep(0.01)
    due = me.transition("promote", 100)[2]
    me.transition("fire", "n", due[3], at + 60000, new_id())
    for _ in range(40):
        admin.submit("tenant", "many")
    admin.call("DEL", WORK, f"{ROOT}leases:default", f"{ROOT}schedules")
    cursor = b"0"
    while True:
        cursor, _ = me.transition("mend", 500, cursor)
        if cursor == b"0":
            break


@pytest.fixture(scope="module", autouse=True)
def alone(tmp_path_factory):
    """A quern beside which there is no executor for doctor to try."""
    global QUERN
    QUERN = shutil.copy(binary("quern"), tmp_path_factory.mktemp("bin"))


def run(me, *words, code=0):
    """The quern command as this user. Of the one that lacks a rule nobody asks whether
    it leaks: the search is a third of the command's time."""
    socket = me.client.connection_pool.connection_kwargs["path"]
    user = me.client.connection_pool.connection_kwargs["username"]
    done = subprocess.run(
        [QUERN, *words],
        env={
            "REDIS_URL": f"unix://{user}:secret@{socket}",
            "HOME": "/nowhere",
            "ASAN_OPTIONS": f"detect_leaks={int(user != 'less')}",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if "NOPERM" in done.stderr + done.stdout or "permission" in done.stderr:
        raise redis.exceptions.NoPermissionError(done.stderr + done.stdout)
    assert done.returncode == code, done
    return done.stdout


def operate(me, admin):
    publish_sharded(me)
    admin.call("FUNCTION", "FLUSH")
    assert "default" in run(me, "queue", "stats")  # loads it
    admin.call("SET", BLOB, "bytes", "EX", 60)
    dead = [bury(admin) for _ in range(4)]
    waits, epoch = begin(admin)
    admin.transition("wait", waits, epoch, 0, "approval", 0, "")
    run(me, "approve", waits)
    approve_held_back(me, admin)
    for each in explained(admin):
        assert "why" in run(me, "job", "show", each)
        admin.transition("cancel", each)
    admin.transition("purge", "default", 512, 0)
    admin.call("XADD", WORK, "*", "no", "job")
    admin.transition("take", "c", 60000, 3, 9, "queue", "default")
    admin.transition("report", "c", 60000, "host", "h", "queues", "default")
    assert "other" in run(me, "queue", "ls")
    run(me, "queue", "pause", "default")
    run(me, "queue", "set", "default", "tenant_running=3", "max_depth=")
    run(me, "queue", "set", "other", "tenant_running=3")
    admin.call("DEL", f"{ROOT}work:other:normal")
    run(me, "retry", dead[1])
    run(me, "queue", "pause", "other")
    run(me, "dead", "requeue", dead[0])
    for number in range(40):
        admin.submit("tenant", "t", "unique_key", number)
    admin.submit("tenant", "t", "delay_ms", 60000, "blob", BLOB[-64:])
    for _ in range(2):
        admin.submit("session", "s")
    run(me, "check")
    assert run(me, "job", "ls", "--limit", "500").count("\n") > 40
    run(me, "job", "rm", "--older", "1ms", "--state", "cancelled", "--yes")
    gone, _ = admin.submit()
    admin.transition("cancel", gone)
    assert me.transition("remove", gone) == b"removed"
    run(me, "queue", "history")
    assert "default" in run(me, "tenant", "ls")
    admin.call("SETRANGE", f"{ROOT}ended", 5 << 20, "x")
    assert run(me, "dead", "ls").count("\n") == 4
    assert '"job"' in run(me, "dead", "show", dead[2], "--json")
    run(me, "dead", "rm", dead[2], "--yes")
    run(me, "dead", "rm", "--all", "--yes")
    run(me, "queue", "resume", "default")
    said = run(me, "queue", "purge", "default", "--yes")
    assert "43 jobs cancelled" in said, said
    run(me, "worker", "ls")
    run(me, "worker", "drain", "c")
    counted = "e#0123456789abcdef calls"
    admin.call("HSET", "quern:{quern:fleet}:counts", counted, 3)
    assert '"calls":3' in run(me, "endpoint", "ls", "--json").replace(" ", "")
    run(me, "schedule", "add", "n", "@daily", "hello")
    run(me, "schedule", "show", "n")
    run(me, "schedule", "ls")
    run(me, "schedule", "pause", "n")
    run(me, "schedule", "resume", "n")
    run(me, "schedule", "run", "n")
    run(me, "schedule", "rm", "n", "--yes")
    run(me, "key", "add", "--expires", "1h")
    key = json.loads(run(me, "key", "ls", "--json"))["key"]
    run(me, "key", "rotate", key)
    run(me, "key", "rm", key, "--yes")
    hook, _ = run(me, "hook", "add", "https://r.example/").split()
    for verb in ("rotate", "test", "enable"):
        run(me, "hook", verb, hook)
    assert hook in run(me, "hook", "ls")
    run(me, "hook", "rm", hook, "--yes")
    job, _ = admin.submit()
    run(me, "get", job, code=75)
    run(me, "cancel", job, "--durability", "replica:1", code=75)
    run(me, "get", job, "--json", code=1)
    said = run(me, "doctor", "--json", code=69)  # no consumer is connected
    assert "may not" not in said, said


def measure(me, admin):
    """An exporter's calls, KEDA's, and what a person looks at."""
    admin.transition("report", "c", 60000, "mode", "serving", "queues", "default")
    admin.submit()
    connect(me)
    assert "default" in run(me, "queue", "ls", "--json")
    assert '"c"' in run(me, "worker", "ls", "--json")
    run(me, "queue", "history")
    assert 'quern_workers{state="up"} 1' in run(me, "metrics")
    me.call("INFO")
    me.call("XLEN", WORK)
    me.call("XINFO", "GROUPS", WORK)
    me.call("XPENDING", WORK, "consumers")


def deliver(me, admin):
    """An end that is told, one that is told later, a receiver that has gone."""
    connect(me)
    me.call("HGET", "quern:fleet", "partitions")
    me.transition("build")
    hook = ("hook_set", "t", "hook_" + "0" * 16)
    admin.transition(*hook, "url", "https://r.example/", "secret", "whsec_AAAA")
    for outcome in ("again", "done", "gone"):
        job, _ = admin.submit("tenant", "t", "notify", 1)
        admin.transition("cancel", job)
        (row,) = me.transition("deliver_take", 60000, 9)
        done = ("deliver_done", row[0], row[1], outcome, 60000, 500, "why")
        assert me.transition(*done) == 1


ACTS = {
    "producer": produce,
    "dashboard": follow_only,
    "consumer": consume,
    "operator": operate,
    "metrics": measure,
    "deliverer": deliver,
}


@pytest.mark.parametrize("user", ACTS)
def test_a_user_may_do_its_part(server, clean, user):
    clean.call("ACL", "LOG", "RESET")
    ACTS[user](As(server, user), clean)
    # redis-py says who it is from 5 on, and goes on where it may not.
    refused = {entry["object"] for entry in clean.client.acl_log()}
    assert refused <= {b"client|setinfo", "client|setinfo"}


def rules_of(user):
    """Those that grant something."""
    return [rule for rule in shipped()[user] if rule[0] in "+~%&"]


@pytest.mark.parametrize(
    "user, rule",
    [(user, rule) for user in ACTS for rule in rules_of(user)],
    ids=lambda part: part,
)
def test_each_rule_is_needed(server, clean, user, rule):
    rest = [other for other in shipped()[user] if other != rule]
    clean.call("ACL", "SETUSER", "less", "reset", *rest)
    clean.call("ACL", "LOG", "RESET")
    try:
        ACTS[user](As(server, "less"), clean)
    except (redis.exceptions.RedisError, AssertionError):
        pass  # who was refused what is in the log
    finally:
        refused = clean.client.acl_log()
        clean.call("ACL", "DELUSER", "less")
    assert {entry["username"] for entry in refused} == {"less"}


def test_another_prefix_is_one_word_of_sed():
    """As deploy/USERS.md has it."""
    users = (TREE / "deploy/USERS.md").read_text()
    (line,) = [
        x for x in users.splitlines() if x.strip().startswith("sed -e 's/quern:")
    ]
    other = subprocess.run(
        line,
        shell=True,
        cwd=TREE / "deploy",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    with RedisServer() as server:
        admin = server.client()
        for rules in other.splitlines():
            words = [">secret" if r.startswith(">@") else r for r in rules.split()]
            if words[1].startswith("acme-"):
                admin.execute_command("ACL", "SETUSER", *words[1:])
        admin.function_load(LIBRARY)
        me = As(server, "acme-producer")
        root = ROOT.replace("quern:", "acme:")
        submit = ("FCALL", "quern_v1_submit", 1)
        me.call(*submit, root, "id", new_id(), "job", "x")
        with pytest.raises(redis.exceptions.RedisError, match=DENIED):
            me.call(*submit, ROOT, "id", new_id(), "job", "x")


# --------------------------------------------------- the programs as their users


def test_the_real_consumer_is_denied_nothing():
    """Files in and out, a failure, a session, a cancel, a sweep, a drain."""
    with Stack(lease="300ms") as stack:
        add_users(stack.db)
        url = stack.redis.url.replace("unix://", "unix://consumer:secret@")
        consumer = stack.consumer(redis_url=url)
        code = "open('b', 'w').write(open('a').read())"
        job = {"kind": "code", "files": [stack.file("a", b"x")]}
        assert stack.run(cells=[code], **job)["status"] == "completed"
        assert stack.run(cells=["1 / 0"], **job)["status"] == "failed"
        job = {"session": "s", "kind": "code", "cells": ["x = 1"]}
        assert stack.run(**job)["status"] == "completed"
        for action in ({"do": "fork", "to": "t"}, {"do": "close"}):
            job = {"session": "s", "kind": "session", "action": action}
            assert stack.run(**job)["status"] == "completed"
        job = stack.submit(kind="code", cells=["import time; time.sleep(60)"])
        stack.wait_event(job, "tool.started")
        stack.call("cancel", job)
        assert stack.result(job)["status"] == "cancelled"
        consumer.signal(signal.SIGTERM)
        assert consumer.wait() == 0
        assert stack.db.acl_log() == []


def test_the_real_deliverer_is_denied_nothing():
    """What it delivers fails, and comes again."""
    with RedisServer() as server:
        admin = As(server, "default")
        admin.call("FUNCTION", "LOAD", LIBRARY)
        add_users(server.client())
        url = server.url.replace("unix://", "unix://deliverer:secret@")
        hook = ("hook_set", "t", "hook_" + "0" * 16)
        admin.transition(*hook, "url", "https://127.0.0.1/", "secret", "whsec_AAAA")
        job, _ = admin.submit("tenant", "t", "notify", 1)
        env = {"REDIS_URL": url, "QUERN_HOOK_RETRIES": "10ms", "QUERN_POLL": "10ms"}
        with Process([binary("quern-deliverer")], env=env) as deliverer:
            admin.transition("cancel", job)
            deliverer.wait_for('"hook.ended"')
            wait_until(lambda: not admin.call("EXISTS", f"{ROOT}deliver"))
            deliverer.signal(signal.SIGTERM)
            assert deliverer.wait() == 0
        assert server.client().acl_log() == []


def test_quern_watch_needs_no_more_than_a_dashboard_may():
    """Of a job that has ended, and of one that runs."""
    with Stack() as stack:
        add_users(stack.db)
        url = stack.redis.url.replace("unix://", "unix://dashboard:secret@")
        stack.consumer()
        done = stack.submit(kind="code", cells=["6 * 7"])
        assert stack.result(done)["status"] == "completed"
        failed = stack.submit(kind="code", cells=["print('hi')", "1 / 0"])
        runs = stack.submit(kind="code", cells=["import time; time.sleep(1.5); 43"])
        for job, code, told in ((runs, 0, "43"), (done, 0, "42"), (failed, 1, "")):
            watch = subprocess.run(
                [binary("quern"), "watch", job],
                env={"REDIS_URL": url},
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert (watch.returncode, told in watch.stdout) == (code, True), watch
        assert {entry["username"] for entry in stack.db.acl_log()} == {"dashboard"}


QUESTION = """Plot it:
```python
import matplotlib.pyplot as plt
print(open("sales.csv").read())
plt.plot([1, 3, 2])
```"""


def test_the_programs_need_no_more_than_their_users_may(tmp_path):
    (tmp_path / "sales.csv").write_text("month,sold\n1,3\n")
    with Stack() as stack:
        socket = stack.redis.socket
        add_users(stack.db)
        stack.db.function_flush()  # the consumer's user loads it
        stack.redis.url = f"unix://consumer:secret@{socket}"
        stack.consumer()
        done = subprocess.run(
            [binary("quern"), "run", QUESTION, "--file", "sales.csv"],
            env={"REDIS_URL": f"unix://producer:secret@{socket}"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert "month,sold" in done.stdout
        assert (tmp_path / "quern-out" / "figure-1.png").exists()


SECRETS_OF_HOOKS = "quern-secrets:{???}:hooks:*"


def test_a_gateway_may_what_producers_and_operators_may():
    """Of which each rule is needed; but it reads no secrets of webhooks."""
    both = {*shipped()["producer"], *shipped()["operator"]} - {f"~{SECRETS_OF_HOOKS}"}
    assert set(shipped()["gateway"]) == both | {f"%W~{SECRETS_OF_HOOKS}"}


def ask(gateway, key, method, path, body=None):
    status, answer = gateway.json(method, path, body, **bearer(key))
    return status, answer.get("error", answer)


def administer_keys(gateway, admin):
    """Keys that are made, used up to their limits, and removed."""
    made = ask(gateway, admin, "POST", "/v1/keys", {"jobs": 1, "cost": 1, "rate": 99})[1]
    job = {"prompt": "x", "queue": "nobody"}
    statuses = [ask(gateway, made["secret"], "POST", "/v1/jobs", job)[0] for _ in range(2)]
    assert statuses == [201, 429]
    path = f"/v1/keys/{made['key']}"
    assert ask(gateway, admin, "POST", f"{path}/rotate", {"grace_ms": 5000})[0] == 201
    assert ask(gateway, admin, "GET", "/v1/keys")[0] == 200
    assert ask(gateway, admin, "DELETE", path)[0] == 200


def test_a_gateway_writes_secrets_that_it_cannot_read():
    with Stack(executor=False) as stack:
        rules = shipped()["gateway"]
        stack.db.execute_command("ACL", "SETUSER", "gateway", *rules)
        key = make_key(stack, scopes="submit read admin")
        url = stack.redis.url.replace("unix://", "unix://gateway:secret@")
        with Gateway(url, open=None) as gateway:
            gateway.ready()
            status, made = ask(gateway, key, "POST", "/v1/hooks", {"url": "https://a.example"})
            assert status == 201, made
            path = f"/v1/hooks/{made['hook']}"
            for verb in ("rotate", "enable", "test"):
                assert ask(gateway, key, "POST", f"{path}/{verb}")[0] == 200
            assert len(ask(gateway, key, "GET", "/v1/hooks")[1]["hooks"]) == 1
            assert stack.db.hexists("quern-secrets:{000}:hooks:ann", made["hook"])
            assert ask(gateway, key, "DELETE", path)[0] == 200
            administer_keys(gateway, key)
            assert stack.db.acl_log() == []
            with pytest.raises(redis.exceptions.RedisError, match=DENIED):
                As(stack.redis, "gateway").call("HGETALL", "quern-secrets:{000}:hooks:ann")
            rules.remove(f"%W~{SECRETS_OF_HOOKS}")
            stack.db.execute_command("ACL", "SETUSER", "gateway", "reset", *rules)
            status, error = ask(gateway, key, "POST", "/v1/hooks", {"url": "https://a.example"})
            assert (status, error["code"]) == (501, "not_offered"), error
            gateway.drain()


OTHER_KEYS = ["GET other", "SET other x", "COPY other {root}x", "EXISTS other"]
LIFE = [
    "FCALL quern_v1_take 1 {root} c 30000 3 1 queue default",
    "FCALL quern_v1_start 1 {root} {work} 1-1 c 30000 3",
    "FCALL quern_v1_finish 1 {root} x 1 completed r d e 1 1",
    "FCALL quern_v1_session_save 1 {root} x 1 t/s 0 1 1 0 r p",
    "XREADGROUP GROUP consumers c STREAMS {work} >",
]
ORDER = [
    "FCALL quern_v1_queue_set 1 {root} default paused 1",
    "FCALL quern_v1_purge 1 {root} default 1 0",
    "FCALL quern_v1_requeue 1 {root} x",
    "FCALL quern_v1_forget 1 {root} default x",
    "FCALL quern_v1_drain 1 {root} c 1",
    "FCALL quern_v1_tidy 1 {root} 0 0 1",
    "FCALL quern_v1_remove 1 {root} x",
    "FCALL quern_v1_schedule_set 1 {root} x spec zone 1",
    "FCALL quern_v1_schedule_pause 1 {root} x 1",
    "FCALL quern_v1_schedule_run 1 {root} x",
    "FCALL quern_v1_schedule_rm 1 {root} x",
]
SETTINGS = [
    "CONFIG GET *",
    "CONFIG GET masterauth",
    "CONFIG GET requirepass",
    "CONFIG GET tls-key-file-pass",
    "CONFIG GET appendfsync",
    "CONFIG SET maxmemory 1",
    "CONFIG REWRITE",
    "ACL GETUSER admin",
    "ACL LIST",
    "ACL USERS",
    "ACL LOG",
    "ACL SETUSER x",
    "ACL DELUSER producer",
    "ACL LOAD",
    "FUNCTION FLUSH",
    "FLUSHALL",
    "FLUSHDB",
    "SHUTDOWN",
    "REPLICAOF 127.0.0.1 1",
    "DEBUG SLEEP 0",
    "MONITOR",
    "EVAL x 0",
]
READ = {
    "jobs": [
        *("HGETALL {root}job:x", "GET {root}body:x", "LRANGE {root}journal:x 0 1"),
        *("LRANGE {root}lane:default/t:normal 0 1", "GETRANGE {root}ended 0 1"),
        *("FCALL quern_v1_jobs 1 {root}", "FCALL quern_v1_explain 1 {root} x"),
        *("FCALL quern_v1_body 1 {root} x",),
    ],
    "sessions": ["HGETALL {root}session:t/s", "ZRANGE {root}sessions 0 1"],
    "results": ["GET {root}result:x"],
    "files": ["GET {blob}", "SMEMBERS {root}refs:x"],
    "events": ["SUBSCRIBE {root}events:x", "XRANGE {root}events:x - +"],
}
HOOK_SECRETS = ["HGETALL quern-secrets:{{000}}:hooks:t"]
CHANGE = [
    "XADD {work} * id x",
    "DEL {work}",
    "SET {root}result:x y",
    "HSET {root}queue:default paused 1",
    "XADD {root}events:x * event y",
    "PUBLISH {root}events:x y",
    "PUBLISH {root}control x",
    "FCALL quern_v1_submit 1 {root} id x job y",
    "FCALL quern_v1_cancel 1 {root} x",
    "FUNCTION LOAD x",
    *ORDER,
    *SETTINGS,
]

# What a user cannot do, as deploy/USERS.md says it: what is tried.
CANNOT = {
    "producer": {
        "run jobs": LIFE,
        "load functions": ["FUNCTION LOAD x", "FUNCTION DELETE quern"],
        "manage queues": ORDER,
        "see other keys": [*OTHER_KEYS, "SCAN 0", "KEYS *", "RANDOMKEY", "DBSIZE"],
        "read webhooks' secrets": HOOK_SECRETS,
    },
    "consumer": {
        "submit, cancel or approve jobs": [
            "FCALL quern_v1_submit 1 {root} id x job y",
            "FCALL quern_v1_submit_many 1 {root}",
            "FCALL quern_v1_cancel 1 {root} x",
            "FCALL quern_v1_approve 1 {root} x yes",
        ],
        "manage queues": ORDER,
        "manage Redis": SETTINGS,
        "see other keys": OTHER_KEYS,
        "read the secrets of webhooks": HOOK_SECRETS,
    },
    "operator": {
        "run jobs": LIFE,
        "manage Redis": SETTINGS,
        "see other keys": OTHER_KEYS,
    },
    "gateway": {
        "run jobs": LIFE,
        "manage Redis": SETTINGS,
        "see other keys": OTHER_KEYS,
        "read the secrets of webhooks": HOOK_SECRETS,
    },
    "dashboard": {
        "read jobs, sessions, results or files": [
            *READ["jobs"],
            *READ["sessions"],
            *READ["results"],
            *READ["files"],
            "SUBSCRIBE {root}control",
        ],
        "change anything": CHANGE,
    },
    "deliverer": {
        "read jobs, sessions, results, files or events": sum(READ.values(), []),
        "change other keys": CHANGE,
    },
    "metrics": {
        "read jobs, sessions, results, files or events": sum(READ.values(), []),
        "change anything": CHANGE,
    },
}


def test_the_table_of_users_says_what_is_tried():
    said = {}
    for line in (TREE / "deploy/USERS.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 5 and cells[1].strip("`") in shipped() and cells[3]:
            said[cells[1].strip("`")] = set(cells[3].split("; "))
    assert said == {user: set(sentences) for user, sentences in CANNOT.items()}


# "`admin` alone may ask": what holds passwords or hashes of them.
SECRETS = ["CONFIG GET masterauth", "CONFIG GET requirepass", "ACL GETUSER admin"]
# "Other keys are not read nor written", by what the others may call at all.
OTHERS = [("dashboard", "XRANGE other - +"), ("dashboard", "SUBSCRIBE other")]
OTHERS += [("metrics", one) for one in ("HGETALL other", "XLEN other", "ZCARD other")]
REFUSED = [("default", "PING"), *(("producer", one) for one in SECRETS), *OTHERS] + [
    (user, command)
    for user, sentences in CANNOT.items()
    for commands in sentences.values()
    for command in commands
]


def test_doctor_does_not_try_what_its_login_may_not(server, clean):
    """A refusal stands in ACL LOG, where an attack would."""
    clean.call("ACL", "LOG", "RESET")
    clean.call("CONFIG", "SET", "appendonly", "yes")
    said = run(As(server, "operator"), "doctor", code=69)
    admin_is_told = run(clean, "doctor", code=69)
    clean.call("CONFIG", "SET", "appendonly", "no")
    assert "appendfsync is a setting, which this login cannot read" in said
    assert "append-only file is on, appendfsync everysec" in admin_is_told
    assert "without a password" not in said + admin_is_told
    clean.call("ACL", "SETUSER", "default", "on", "nopass", "+ping")
    said = run(As(server, "operator"), "doctor", code=69)
    clean.call("ACL", "SETUSER", "default", "off", "resetpass", "-@all")
    assert "operator; this Redis lets everybody in" in said
    refused = {entry["object"] for entry in clean.client.acl_log()}
    assert refused <= {b"client|setinfo", "client|setinfo", "client|setname"}


@pytest.mark.parametrize("user, command", REFUSED, ids=map(" ".join, REFUSED))
def test_refused(server, clean, user, command):
    words = command.format(root=ROOT, work=WORK, blob=BLOB).split()
    with pytest.raises(redis.exceptions.RedisError, match=DENIED):
        As(server, user).call(*words)
