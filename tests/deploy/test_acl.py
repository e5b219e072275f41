"""The shipped Redis users can do their part, and no other's."""

import pathlib
import secrets
import signal
import subprocess
import time

import pytest
import redis
from servers import BUILD, RedisServer, binary
from stack import Stack

TREE = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = pathlib.Path(BUILD, "schemas/redis/library.lua").read_text()
ROOT = "quern:{000}:"
WORK = ROOT + "work:default:normal"
BLOB = "quern:{000}:blob:" + "0" * 64


def new_id():
    ms, tail = f"{time.time_ns() // 10**6:012x}", secrets.token_hex(6)
    return f"{ms[:8]}-{ms[8:]}-7000-8000-{tail}"


class As:
    """Redis as one user sees it."""

    def __init__(self, server, user):
        client = server.client(username=user, password="secret")
        self.call = client.execute_command

    def transition(self, name, *args):
        return self.call("FCALL", f"quern_v1_{name}", 1, ROOT, *args)

    def submit(self, *pairs):
        """Gives the id that the job was given and the answer."""
        job = new_id()
        return job, self.transition("submit", "id", job, "job", "x", *pairs)

    def state(self, job):
        return self.call("HGET", f"{ROOT}job:{job}", "state")


def add_users(admin):
    for line in (TREE / "deploy/redis/users.acl").read_text().splitlines():
        _, user, *rules = line.split()
        rules = [">secret" if r.startswith(">@") else r for r in rules]
        if user != "default":
            admin.execute_command("ACL", "SETUSER", user, *rules)


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        admin = server.client()
        add_users(admin)
        admin.execute_command("ACL", "SETUSER", "default", "off")
        yield server


@pytest.fixture
def producer(server, consumer):
    return As(server, "producer")


@pytest.fixture
def consumer(server):
    consumer = As(server, "consumer")
    consumer.call("FUNCTION", "LOAD", "REPLACE", LIBRARY)
    return consumer


def claim(consumer, job):
    """Reads what waits and starts the job."""
    consumer.call(
        *("XREADGROUP", "GROUP", "consumers", "c1", "STREAMS", WORK, ">")
    )
    entry = consumer.call("HGET", f"{ROOT}job:{job}", "entry")
    assert consumer.transition("start", WORK, entry, "c1", 30000, 3)[0] == 1


def test_producer_submits_and_cancels(producer):
    job, answer = producer.submit("idempotency_key", "k1", "max_depth", 100)
    assert answer == [job.encode(), b"created"]
    _, answer = producer.submit("idempotency_key", "k1")
    assert answer == [job.encode(), b"exists"]
    assert producer.transition("cancel", job) == b"cancelled"
    assert producer.state(job) == b"cancelled"
    assert producer.call("GET", f"{ROOT}result:{job}")
    assert len(producer.call("XRANGE", f"{ROOT}events:{job}", "-", "+")) == 2


def test_producer_submits_into_a_session(producer):
    """Where jobs stand in line from then on."""
    for _ in range(2):
        job, answer = producer.submit("tenant", "t", "session", "s")
        assert answer == [job.encode(), b"created"]
        assert producer.call("ZRANGE", f"{ROOT}line:t/s", -1, -1) == [job.encode()]
        assert producer.transition("cancel", job) == b"cancelled"


def test_producer_brings_and_fetches_files(producer):
    assert producer.call("SET", BLOB, "bytes", "EX", 60)
    assert producer.call("GET", BLOB) == b"bytes"
    job, _ = producer.submit("blob", BLOB[-64:])
    assert producer.call("HGET", f"{ROOT}job:{job}", "blobs") == BLOB[-64:].encode()
    assert producer.transition("cancel", job) == b"cancelled"


def test_producer_reads_what_is_known_of_sessions_and_cannot_write_it(
    producer, consumer
):
    job, _ = producer.submit()
    claim(consumer, job)
    assert consumer.transition("session_claim", job, 1, "t/s", 60000) == [1, b""]
    saved = consumer.transition(
        *("session_save", job, 1, "t/s", 0, 1, 60000, 0, "record", "")
    )
    assert saved == 1
    assert producer.call("HGET", f"{ROOT}session:t/s", "record") == b"record"
    assert producer.call("ZRANGE", f"{ROOT}sessions", 0, -1) == [b"t/s"]
    for name in ("session_claim", "session_save"):
        with pytest.raises(redis.exceptions.RedisError, match="NOPERM|permissions"):
            producer.transition(name, job, 1, "t/s", 60000)
    consumer.transition(
        *("finish", job, 1, "failed", "result", "", "x", 1000, 1000)
    )


def test_consumer_takes_a_job_to_its_end(producer, consumer):
    job, _ = producer.submit()
    claim(consumer, job)
    assert producer.transition("cancel", job) == b"asked"
    consumer.transition("beat", 30000, job, 1)
    consumer.transition("journal", job, 1, 0, "record")
    consumer.transition("event", job, 1, "turn.started", b"\x80")
    consumer.transition(
        *("finish", job, 1, "failed", "result", "", "x", 1000, 1000)
    )
    assert producer.state(job) == b"failed"


def test_consumer_hands_back_and_sweeps(producer, consumer):
    job, _ = producer.submit()
    claim(consumer, job)
    consumer.transition("release", job, 1, "drain")
    assert producer.state(job) == b"queued"
    consumer.transition("reclaim", WORK, 30000, 3, 10, "-")


def test_the_real_consumer_is_denied_nothing():
    """Files in and out, a failure, a session, a cancel, a sweep, a drain."""
    with Stack(lease_ms=300) as stack:
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


def test_dashboard_follows(server, producer):
    job, _ = producer.submit()
    client = server.client(username="dashboard", password="secret")
    assert client.xrange(f"{ROOT}events:{job}")
    subscription = client.pubsub()
    subscription.subscribe(f"{ROOT}events:{job}")
    assert subscription.get_message(timeout=5)["type"] == "subscribe"
    producer.transition("cancel", job)
    assert subscription.get_message(timeout=5)["type"] == "message"


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


# (who, what they try)
REFUSED = [
    ("producer", "XREADGROUP GROUP consumers p STREAMS {work} >"),
    ("producer", "FCALL quern_v1_start 1 {root} {work} 1-0 p 30000 3"),
    ("producer", "FCALL quern_v1_finish 1 {root} x 1 completed r d e 1 1"),
    ("producer", "FUNCTION FLUSH"),
    ("producer", "KEYS *"),
    ("producer", "FLUSHALL"),
    ("producer", "GET other"),
    ("consumer", "CONFIG SET maxmemory 1"),
    ("consumer", "FUNCTION FLUSH"),
    ("consumer", "FLUSHALL"),
    ("consumer", "ACL LIST"),
    ("consumer", "GET other"),
    ("dashboard", "GET {root}result:x"),
    ("dashboard", "HGETALL {root}job:x"),
    ("dashboard", "GET {blob}"),
    ("dashboard", "SET {root}events:x y"),
    ("dashboard", "XADD {root}events:x * event y"),
    ("dashboard", "PUBLISH {root}events:x y"),
    ("dashboard", "SUBSCRIBE {root}control"),
    ("dashboard", "FCALL quern_v1_submit 1 {root} id x job y"),
    ("default", "PING"),
]


@pytest.mark.parametrize("user, command", REFUSED, ids=map(" ".join, REFUSED))
def test_refused(server, consumer, user, command):
    words = command.format(root=ROOT, work=WORK, blob=BLOB).split()
    with pytest.raises(
        redis.exceptions.RedisError, match="permissions|NOPERM|invalid username"
    ):
        As(server, user).call(*words)
