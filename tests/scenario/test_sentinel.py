"""A master, its replica and three sentinels: the master is found, and found
again when it is another one."""

import concurrent.futures
import json
import signal
import time

import pytest
from command import Command
from gateway import Gateway
from servers import Process, RedisSentinels, binary, wait_until
from stack import Stack


@pytest.fixture(scope="module")
def sentinels():
    with RedisSentinels(requirepass="s3cret", sentinel_password="guard") as all:
        yield all


@pytest.fixture
def stack(sentinels):
    given = {"sentinel_password": "guard", "lease": "1500ms"}
    stack = Stack(executor=False, server=sentinels, **given)
    sentinels.client().flushall()
    stop, sentinels.stop = sentinels.stop, lambda: None  # it is not of this test
    with stack:
        yield stack
    sentinels.stop = stop


@pytest.fixture
def quern(sentinels, tmp_path):
    command = Command(sentinels.url, tmp_path)
    command.env["QUERN_SENTINEL_PASSWORD"] = "guard"
    return command


def submit(quern, prompt="hello"):
    return quern("submit", prompt).split()[0]


def done(quern, job):
    [result] = quern.json("wait", job, "--timeout", "60s")
    assert result["state"] == "completed", result
    *events, last = quern.json("watch", job)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["type"] == "job.completed" and last["type"] == "result"


def test_the_master_is_found(stack, quern):
    stack.consumer()
    done(quern, submit(quern))


def test_a_master_dies_and_another_takes_over(sentinels, stack, quern):
    """Jobs that waited, one that ran, and new ones."""
    stack.model.script([{"text": "slow", "delay_ms": 1500}])
    stack.consumer(slots=2)
    jobs = [submit(quern) for _ in range(4)]
    wait_until(lambda: stack.model.counts()["open"] > 0, what="one runs")
    master = sentinels.master()
    wait_until(lambda: in_step(master), what="the replica has it all")
    sentinels.kill()
    jobs.append(submit(quern))
    for job in jobs:
        done(quern, job)
    assert sentinels.master() is not master
    sentinels.start()
    master.wait_in_step()
    wait_until(sentinels.is_whole, what="the sentinels see all")


def ask_until_answered(gateway, prompt):
    """As OpenAI's clients do: the same request once more, with a number."""
    for tries in range(200):
        given = {"content_type": "application/json", "x_stainless_retry_count": str(tries)}
        try:
            body = json.dumps({"input": prompt})
            status, _, answer = gateway.call("POST", "/v1/responses", body, **given)
        except OSError:
            status = 0
        if status == 200:
            return json.loads(answer)
        time.sleep(0.3)
    raise AssertionError(f"{prompt}: never answered, {answer}")


def test_a_failover_in_the_middle_of_requests(sentinels, stack):
    """Each is answered, and is one job."""
    stack.model.script([{"text": "said", "delay_ms": 300}])
    stack.consumer()
    with Gateway(sentinels.url, sentinel_password="guard") as gateway:
        gateway.ready()
        prompts = [f"request {n}" for n in range(24)]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            asked = [pool.submit(ask_until_answered, gateway, prompt) for prompt in prompts]
            wait_until(lambda: sum(one.done() for one in asked) >= 6, what="some answers")
            master = sentinels.master()
            sentinels.kill()
            answers = [one.result() for one in asked]
        assert {answer["status"] for answer in answers} == {"completed"}
        assert len({answer["id"] for answer in answers}) == len(prompts)
        jobs = sentinels.client().keys("quern:{000}:job:*")
        assert len(jobs) == len(prompts), "a request is two jobs"
        gateway.drain()
    sentinels.start()
    master.wait_in_step()
    wait_until(sentinels.is_whole, what="the sentinels see all")


def test_a_master_that_hangs_is_left(sentinels, stack, quern):
    """No connection breaks: the sentinels' news is what tells."""
    consumer = stack.consumer()
    done(quern, submit(quern))
    master = sentinels.master()
    master.process.signal(signal.SIGSTOP)
    try:
        consumer.wait_for('"redis.switched"')
        for what in ("redis.lost", "claim.lost"):
            consumer.wait_for(what)
        assert "the master is another one now" in consumer.text()
        done(quern, submit(quern))
    finally:
        master.process.signal(signal.SIGCONT)
    master.wait_in_step()
    wait_until(sentinels.is_whole, what="the sentinels see all")


def test_a_failover_loses_nothing_that_was_called_durable(sentinels, stack, quern):
    """There is no replica any more: what runs and what comes waits for one."""
    stack.model.script([{"text": "slow", "delay_ms": 1500}])
    consumer = stack.consumer(durability="replica:1")
    quern.env["QUERN_DURABILITY"] = "replica:1"
    job = submit(quern)
    wait_until(lambda: stack.model.counts()["open"] > 0, what="it runs")
    sentinels.kill()
    consumer.wait_for('"durability.late"')
    told = quern("submit", "more", "--key", "k", code=75)
    assert "0 of 1 replicas" in told
    assert "job.finished" not in consumer.text()
    sentinels.start()
    consumer.wait_for('"job.finished"')
    wait_until(sentinels.is_whole, what="the sentinels see all")
    more = quern("submit", "more", "--key", "k").split()[0]
    assert f"job {more} may stand" in told
    for each in (job, more):
        done(quern, each)
    assert stack.model.counts()["total"] == 2


def in_step(master):
    facts = master.ask("INFO", "REPLICATION")
    replica = facts.get("slave0")
    return replica and replica["offset"] == facts["master_repl_offset"]


def test_a_sentinel_that_is_away_is_passed_over(sentinels, stack, tmp_path):
    url = sentinels.url.replace("@127.0.0.1", "@127.0.0.1:1,127.0.0.1", 1)
    stack.consumer(redis_url=url)
    quern = Command(url, tmp_path)
    quern.env["QUERN_SENTINEL_PASSWORD"] = "guard"
    done(quern, submit(quern))


def test_what_is_wrong_is_told(sentinels, stack, quern):
    url = sentinels.url
    rows = [
        ({"REDIS_URL": url.removesuffix("jobs") + "hobs"}, 'called "hobs"'),
        ({"QUERN_SENTINEL_PASSWORD": "wrong"}, "WRONGPASS"),
        ({"QUERN_SENTINEL_PASSWORD": ""}, "NOAUTH"),
        ({"REDIS_URL": url.replace("s3cret", "wrong")}, "WRONGPASS"),
    ]
    for env, says in rows:
        said = quern("submit", "x", code=69, **env)
        assert says in said, (env, said)
        assert "s3cret" not in said and "guard" not in said
        given = {"REDIS_URL": url, "QUERN_SENTINEL_PASSWORD": "guard", **env}
        with Process([binary("quern-consumer")], env=given) as consumer:
            assert consumer.wait() == 69
            assert says in consumer.text()
