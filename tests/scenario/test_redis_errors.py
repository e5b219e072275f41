"""Redis refuses for a while, or has lost what we made there: what runs goes on
afterwards, what waits is taken, and nothing is charged."""

import signal

import pytest
from servers import answers, wait_until
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
        consumer.wait_for(says)
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
    ("CONFIG SET maxmemory 1", "OOM", "CONFIG SET maxmemory 0"),
]


# A login whose password is another one for a while.
LOGIN = "ACL SETUSER worker on resetpass >{} ~* &* +@all"


def test_a_password_that_changes_is_told_and_waited_for(stack):
    """It has served: what it holds is worth more than an exit."""
    stack.db.execute_command(*LOGIN.format("old").split())
    url = stack.redis.url.replace("unix://", "unix://worker:old@")
    consumer = stack.consumer(redis_url=url)
    assert stack.run(prompt="before")["status"] == "completed"
    stack.db.execute_command(*LOGIN.format("new").split())
    stack.db.execute_command("CLIENT KILL USER worker")
    consumer.wait_for("WRONGPASS")
    stack.db.execute_command(*LOGIN.format("old").split())
    assert stack.run(prompt="after")["status"] == "completed"
    assert consumer.alive()


def test_a_server_that_hangs_is_left_in_the_time_given(stack):
    """No connection breaks; whatever was sent is sent again."""
    stack.model.script([{"text": "at last", "delay_ms": 4000}])
    consumer = stack.consumer(redis_timeout="1s")
    job = stack.submit(prompt="x")
    wait_until(lambda: stack.model.counts()["open"] > 0, what="the model is asked")
    stack.redis.process.signal(signal.SIGSTOP)
    try:
        line = consumer.wait_for('"redis.lost"')  # 30 s when nothing is set
        assert "not answered within its time" in line
    finally:
        stack.redis.process.signal(signal.SIGCONT)
    assert stack.result(job)["answer"] == "at last"
    assert stack.model.counts()["total"] == 1
    stack.check_events(job)


def test_no_room_for_connections_is_waited_out(stack):
    consumer = stack.consumer()
    assert stack.run(prompt="before")["status"] == "completed"
    before = stack.db.config_get("maxclients")["maxclients"]
    stack.db.config_set("maxclients", 1)
    stack.db.execute_command("CLIENT KILL TYPE normal SKIPME yes")
    consumer.wait_for("max number of clients")
    stack.db.config_set("maxclients", before)
    assert stack.run(prompt="after")["status"] == "completed"


def test_a_script_that_does_not_end_holds_up_and_loses_nothing(stack):
    """BUSY: whoever asks meanwhile asks again."""
    stack.model.script([{"text": "at last", "delay_ms": 4000}])
    consumer = stack.consumer(lease="1m")
    job = stack.submit(prompt="x")
    wait_until(lambda: stack.model.counts()["open"] > 0, what="the model is asked")
    stack.db.config_set("busy-reply-threshold", 100)
    with stack.redis.client() as other:
        connection = other.connection_pool.get_connection("EVAL")
        connection.send_command("EVAL", "while true do end", 0)
        consumer.wait_for("BUSY")
        stack.db.execute_command("SCRIPT KILL")
        connection.disconnect()
    wait_until(lambda: answers(stack.db), what="the script has ended")
    result = stack.result(job)
    assert result["answer"] == "at last" and result["attempts"] == 1
    assert stack.model.counts()["total"] == 1
    stack.check_events(job)


@pytest.mark.parametrize("hurt, says, heal", RUNNING)
def test_what_runs_is_written_when_it_may_be(stack, hurt, says, heal):
    stack.model.script([{"text": "at last", "delay_ms": 4000}])
    consumer = stack.consumer(lease="1m")
    job = stack.submit(prompt="x")
    wait_until(lambda: stack.model.counts()["open"] > 0, what="the model is asked")
    stack.db.execute_command(*hurt.split())
    consumer.wait_for(says)
    stack.db.execute_command(*heal.split())
    result = stack.result(job)
    assert result["answer"] == "at last" and result["attempts"] == 1
    assert stack.model.counts()["total"] == 1
    stack.check_events(job)
