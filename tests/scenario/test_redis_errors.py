"""Redis refuses for a while, or has lost what we made there: what runs goes on
afterwards, what waits is taken, and nothing is charged."""

import pytest
from servers import wait_until
from stack import ROOT, Stack

WORK = f"{ROOT}work:default:normal"
STREAMS = [f"{ROOT}work:default:{p}" for p in ("high", "normal", "low")]


@pytest.fixture
def stack():
    with Stack(executor=False) as stack:
        yield stack


# What happens to an idle consumer, what it says, what ends it.
IDLE = [
    ("REPLICAOF 127.0.0.1 1", "UNBLOCKED", "REPLICAOF NO ONE"),
    (f"XGROUP DESTROY {WORK} consumers", "NOGROUP", None),
    ("DEL " + " ".join(STREAMS), "claim.not_now", None),
    ("CLIENT KILL TYPE normal SKIPME yes", "redis.lost", None),
    ("CLIENT KILL TYPE pubsub", None, None),
    ("FLUSHALL", "claim.not_now", None),
    ("FLUSHALL ASYNC", "claim.not_now", None),
    ("SCRIPT FLUSH", None, None),
    ("CLIENT PAUSE 500 ALL", None, None),
]


@pytest.mark.parametrize("hurt, says, heal", IDLE)
def test_it_takes_jobs_again(stack, hurt, says, heal):
    consumer = stack.consumer()
    assert stack.run(prompt="before")["status"] == "completed"
    stack.db.execute_command(*hurt.split())
    if says:
        consumer.wait_for(says, 20)
    if heal:
        stack.db.execute_command(*heal.split())
    result = stack.run(prompt="after")
    assert result["status"] == "completed" and result["attempts"] == 1
    assert consumer.alive()


# Why a write may be refused, for now, to one that runs a job.
RUNNING = [
    (
        "CONFIG SET min-replicas-to-write 1",
        "NOREPLICAS",
        "CONFIG SET min-replicas-to-write 0",
    ),
    ("REPLICAOF 127.0.0.1 1", "READONLY", "REPLICAOF NO ONE"),
]


@pytest.mark.parametrize("hurt, says, heal", RUNNING)
def test_what_runs_is_written_when_it_may_be(stack, hurt, says, heal):
    stack.model.script([{"text": "at last", "delay_ms": 700}])
    consumer = stack.consumer(lease_ms=60000)
    job = stack.submit(prompt="x")
    wait_until(lambda: stack.model.counts()["open"] > 0, what="the model is asked")
    stack.db.execute_command(*hurt.split())
    consumer.wait_for(says, 20)
    stack.db.execute_command(*heal.split())
    result = stack.result(job)
    assert result["answer"] == "at last" and result["attempts"] == 1
    assert stack.model.counts()["total"] == 1
    stack.check_events(job)
