"""Clients without a line of quern: redis and MessagePack libraries alone.

They prove that the published contract is enough. Their work is done by the
stand-in consumer, which goes through the real transitions.
"""

import hashlib
import os

import pytest
from clients import ask, free_port
from servers import BUILD, RedisServer
from standin import StandIn

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
SHA = hashlib.sha256(PNG).hexdigest()


@pytest.fixture(scope="module")
def server():
    with RedisServer(port=free_port()) as server:
        yield server


@pytest.fixture
def consumer(server):
    with server.client() as client:
        client.flushall()
        client.function_load(library(), replace=True)
        client.set(f"quern:{{000}}:blob:{SHA}", PNG)
        yield StandIn(client)


def library():
    with open(os.path.join(BUILD, "schemas", "redis", "library.lua")) as file:
        return file.read()


def languages(*names):
    return pytest.mark.parametrize("language", names)


@languages("python", "node", "php")
def test_asks_follows_and_reads(language, server, consumer, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/sales.csv").write_text("a,b\n1,2\n")
    child = ask(language, server.port, tmp_path, "what sells?", "in/sales.csv")
    job = consumer.take()
    assert job.job["prompt"] == "what sells?"
    (file,) = job.job["files"]
    assert (file["name"], file["bytes"]) == ("sales.csv", 8)
    blob = f"quern:{{000}}:blob:{file['blob']}"
    assert consumer.redis.get(blob) == b"a,b\n1,2\n"
    assert consumer.redis.ttl(blob) == -1  # as long as the job
    for n in range(300):
        job.event("message.delta", turn=1, text=f"w{n}")
    image = {"name": "figure-1.png", "mime": "image/png", "blob": SHA, "bytes": 264}
    job.finish(answer="b: 2", images=[image])
    out, err = child.communicate(timeout=30)
    assert (out, child.returncode) == ("b: 2\n", 0), err
    seen = [line.split(" ") for line in err.splitlines()]
    assert [int(seq) for seq, *_ in seen] == list(range(1, 304))
    assert [type for _, type, *_ in seen[:3]] == [
        "job.queued",
        "job.started",
        "message.delta",
    ]
    assert seen[3][2] == "w1"
    assert seen[-1][1] == "job.completed"
    assert (tmp_path / "figure-1.png").read_bytes() == PNG


@languages("python", "node")  # PHP's has no subscription to lose
def test_goes_on_when_its_connection_is_killed(language, server, consumer, tmp_path):
    child = ask(language, server.port, tmp_path, "q")
    job = consumer.take()
    assert child.stderr.readline().startswith("1 job.queued")
    assert child.stderr.readline().startswith("2 job.started")
    for n in range(3):
        job.event("message.delta", turn=1, text="before")
        assert child.stderr.readline().startswith(f"{3 + 2 * n} ")
        consumer.redis.client_kill_filter(_type="pubsub")
        job.event("message.delta", turn=1, text="meanwhile")
        assert child.stderr.readline().startswith(f"{4 + 2 * n} ")
    job.finish(answer="x")
    out, err = child.communicate(timeout=30)
    assert (out, child.returncode) == ("x\n", 0), err


@languages("python", "node", "php")
def test_says_why_a_job_failed(language, server, consumer, tmp_path):
    child = ask(language, server.port, tmp_path, "q")
    error = {"kind": "reject", "code": "unknown_model", "message": "no such model"}
    consumer.take().finish("failed", error=error)
    out, err = child.communicate(timeout=30)
    assert (out, child.returncode) == ("no such model\n", 0), err


@languages("python", "node", "php")
@pytest.mark.parametrize("program", ["ask", "plain"])
def test_a_cancelled_job_has_neither_answer_nor_error(
    program, language, server, consumer, tmp_path
):
    child = ask(language, server.port, tmp_path, "q", program=program)
    consumer.take().finish("cancelled")
    out, err = child.communicate(timeout=30)
    assert (out.splitlines()[-1], child.returncode) == ("cancelled", 0), err


@languages("python", "node", "php")
@pytest.mark.parametrize("state", [None, "completed"])
def test_a_job_that_is_not_kept_ends_it(language, state, server, consumer, tmp_path):
    """Unknown, or expired: nothing more will come."""
    child = ask(language, server.port, tmp_path, "q")
    job = consumer.take()
    assert child.stderr.readline().startswith("1 job.queued")
    assert child.stderr.readline().startswith("2 job.started")
    forget(consumer.redis, job.id, state)
    consumer.redis.client_kill_filter(_type="pubsub")
    out, err = child.communicate(timeout=30)
    why = f"job {job.id} is {state or 'unknown'}, its events are not kept\n"
    assert (out, err, child.returncode) == ("", why, 1)


def forget(redis, id, state):
    """In one step: a client that blocks on the stream wakes when it is gone."""
    with redis.pipeline(transaction=True) as step:
        step.delete(f"quern:{{000}}:job:{id}", f"quern:{{000}}:events:{id}")
        if state:
            step.hset(f"quern:{{000}}:job:{id}", "state", state)
        step.execute()


@languages("python", "node", "php")
def test_what_is_sent_replaces_false_bytes(language, server, consumer, tmp_path):
    (tmp_path / "sales.csv").write_text("a,b\n1,2\n")
    blob = hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    consumer.redis.set(f"quern:{{000}}:blob:{blob}", b"something else", ex=60)
    child = ask(language, server.port, tmp_path, "what sells?", "sales.csv")
    job = consumer.take()
    assert job.job["files"][0]["blob"] == blob
    assert consumer.redis.get(f"quern:{{000}}:blob:{blob}") == b"a,b\n1,2\n"
    job.finish(answer="b")
    assert child.communicate(timeout=30)[0] == "b\n"


@languages("python", "node", "php")
def test_a_false_picture_is_not_saved(language, server, consumer, tmp_path):
    child = ask(language, server.port, tmp_path, "q")
    job = consumer.take()
    consumer.redis.set(f"quern:{{000}}:blob:{SHA}", b"something else")
    image = {"name": "figure-1.png", "mime": "image/png", "blob": SHA, "bytes": 264}
    job.finish(answer="b: 2", images=[image])
    _, err = child.communicate(timeout=30)
    assert child.returncode == 1
    assert err.endswith("figure-1.png: its bytes are gone, or are not what was drawn\n")
    assert not (tmp_path / "figure-1.png").exists()


@languages("python", "node", "php")
def test_fifteen_lines_say_why_a_job_failed(language, server, consumer, tmp_path):
    child = ask(language, server.port, tmp_path, program="ask")
    error = {"kind": "reject", "code": "unknown_model", "message": "no such model"}
    consumer.take().finish("failed", error=error)
    out, err = child.communicate(timeout=30)
    assert (out.splitlines()[-1], child.returncode) == ("no such model", 0), err


@languages("python", "node", "php")
def test_fifteen_lines_end_without_a_job(language, server, consumer, tmp_path):
    child = ask(language, server.port, tmp_path, program="ask")
    job = consumer.take()
    forget(consumer.redis, job.id, None)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 0, err
    assert out.splitlines()[-1] == f"no result of job {job.id}"


@languages("python", "node", "php")
def test_fifteen_lines_ask_and_answer(language, server, consumer, tmp_path):
    child = ask(language, server.port, tmp_path, program="ask")
    job = consumer.take()
    job.event("message.delta", turn=1, text="counting")
    job.finish(answer="168")
    out, err = child.communicate(timeout=30)
    assert child.returncode == 0, err
    *events, answer = [line.split(" ")[0] for line in out.splitlines()]
    assert answer == "168"
    assert events == ["job.queued", "job.started", "message.delta", "job.completed"]
