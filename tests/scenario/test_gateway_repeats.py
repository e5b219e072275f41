"""What OpenAI's clients do when a connection breaks: they send the same request once
more, without a key, with a header that counts. It must be the same job."""

import hashlib
import json
import socket

import pytest
from gateway import Gateway
from held_redis import HeldRedis
from servers import PATIENCE_S, wait_until
from stack import call_of, job_id

CODE = {"type": "code_interpreter", "container": {"type": "auto"}}
SLOW = {"text": "word " * 8, "chunk_ms": 200}


@pytest.fixture
def gateways(stack):
    settings = {"foreground_grace": "1s"}
    with Gateway(stack.redis.url, **settings) as one:
        with Gateway(stack.redis.url, **settings) as other:
            yield one.ready(), other.ready()
            other.drain()


def post(gateway, count, **request):
    status, headers, body = gateway.call(
        *("POST", "/v1/responses", json.dumps(request)),
        **{"content_type": "application/json", "x_stainless_retry_count": str(count)},
    )
    assert status == 200, body
    return json.loads(body)


def leave(gateway, count, **request):
    """The client goes away before the answer; the connection that did it."""
    body = json.dumps(request).encode()
    connection = socket.create_connection(("127.0.0.1", gateway.port))
    connection.sendall(
        b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nX-Stainless-Retry-Count: %d\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (count, len(body), body)
    )
    return connection


def jobs(stack):
    return set(stack.db.keys("quern:{000}:job:*"))


def begun(stack, before):
    """The job that has come, when it runs."""
    [key] = wait_until(lambda: jobs(stack) - before, what="a job")
    id = key.decode().rpartition(":")[2]
    stack.wait_event(id, "message.delta")
    return id


def noted(stack):
    """Ids of jobs whose requests were not answered."""
    keys = stack.db.keys("quern:{000}:repeats:*")
    return [id for key in keys for id in stack.db.lrange(key, 0, -1)]


def response_of(job):
    return "resp_" + job.replace("-", "")


def test_equal_requests_that_are_answered_are_two_jobs(stack, gateways):
    before = jobs(stack)
    ids = {post(gateways[0], 0, input="a")["id"] for _ in range(2)}
    ids.add(post(gateways[1], 1, input="a")["id"])
    assert len(ids) == 3 and len(jobs(stack) - before) == 3
    wait_until(lambda: not stack.db.keys("quern:{000}:repeats:*"))


def test_a_repeat_after_the_gateway_was_killed(stack, gateways):
    stack.model.script([SLOW])
    before = jobs(stack)
    with leave(gateways[0], 0, input="b"):
        job = begun(stack, before)
        gateways[0].kill()
    answer = post(gateways[1], 1, input="b")
    assert answer["id"] == response_of(job) and answer["status"] == "completed"
    assert len(jobs(stack) - before) == 1


def test_a_repeat_that_died_before_it_knew_the_job(stack, gateways):
    """Redis has given it the job, and the next repeat finds it, too."""
    stack.model.script([SLOW])
    before = jobs(stack)
    with leave(gateways[0], 0, input="i"):
        job = begun(stack, before)
        gateways[0].kill()
    with HeldRedis(stack.redis.socket) as way, Gateway(way.url) as other:
        other.ready()
        way.hold(b"quern_v1_repeat_take")
        with leave(other, 1, input="i"):
            assert way.held.wait(PATIENCE_S)
            wait_until(lambda: noted(stack) != [f"{job}/0".encode()], what="the repeat")
            other.kill()
    answer = post(gateways[1], 2, input="i")
    assert answer["id"] == response_of(job) and answer["status"] == "completed"
    assert len(jobs(stack) - before) == 1


def test_a_repeat_after_the_connection_broke(stack, gateways):
    """Within the grace; a second one finds it, too."""
    stack.model.script([{"text": "word " * 20, "chunk_ms": 200}])
    before = jobs(stack)
    with leave(gateways[0], 0, input="c"):
        job = begun(stack, before)
    with leave(gateways[1], 1, input="c"):
        wait_until(lambda: noted(stack) == [f"{job}/1".encode()], what="the repeat")
    answer = post(gateways[0], 2, input="c")
    assert answer["id"] == response_of(job) and answer["status"] == "completed"
    assert len(jobs(stack) - before) == 1


def test_without_a_repeat_it_is_cancelled(stack, gateways):
    stack.model.script([{"text": "word " * 100, "chunk_ms": 200}])
    before = jobs(stack)
    with leave(gateways[0], 0, input="d"):
        job = begun(stack, before)
    assert stack.state(job) == "in_progress"
    assert stack.result(job)["status"] == "cancelled"


def test_the_same_container(stack, gateways):
    """Its name is made by chance: the job of the first time has it."""
    stack.model.script([{"tool_calls": [call_of("x = 1")]}, SLOW])
    before = jobs(stack)
    with leave(gateways[0], 0, input="e", tools=[CODE]):
        job = begun(stack, before)
        gateways[0].kill()
    answer = post(gateways[1], 1, input="e", tools=[CODE])
    assert answer["id"] == response_of(job)
    [code] = [i for i in answer["output"] if i["type"] == "code_interpreter_call"]
    assert code["container_id"] == stack.facts(job)["session"]


def test_a_gateway_that_died_before_it_submitted(stack, gateways):
    """It has noted an id: the job gets it."""
    job = job_id()
    body = json.dumps({"input": "f"})
    name = hashlib.sha256(b"default\0\0" + body.encode()).hexdigest()
    stack.db.rpush(f"quern:{{000}}:repeats:{name}", f"{job}/0")
    answers = [post(gateway, 1, input="f")["id"] for gateway in gateways]
    # For the other one no first time was left.
    assert answers[0] == response_of(job) != answers[1]


def test_a_later_try_of_somebody_else_is_not_taken(stack, gateways):
    """Nor the try of another key: their requests are equal by chance."""
    job, body = job_id(), json.dumps({"input": "g"})
    name = hashlib.sha256(b"default\0\0" + body.encode()).hexdigest()
    stack.db.rpush(f"quern:{{000}}:repeats:{name}", f"{job}/2")
    assert post(gateways[0], 1, input="g")["id"] != response_of(job)
    assert post(gateways[1], 2, input="g")["id"] != response_of(job)
    assert post(gateways[0], 3, input="g")["id"] == response_of(job)
    other = hashlib.sha256(b"default\0x\0" + body.encode()).hexdigest()
    theirs, key = job_id(), f"quern:{{000}}:repeats:{other}"
    stack.db.rpush(key, f"{theirs}/0")
    assert post(gateways[0], 1, input="g")["id"] != response_of(theirs)
    stack.db.delete(key)


def test_a_list_of_one_try_keeps_its_expiry(stack):
    name = "0" * 64
    key = f"quern:{{000}}:repeats:{name}"
    stack.db.rpush(key, "a/0")
    stack.db.expire(key, 600)
    assert stack.call("repeat_take", name, 1) == b"a"
    assert stack.db.lrange(key, 0, -1) == [b"a/1"] and 0 < stack.db.ttl(key) <= 600
    stack.db.delete(key)


def test_a_key_counts_more(stack, gateways):
    given = {"content_type": "application/json", "idempotency_key": "one"}
    answers = [
        gateway.json("POST", "/v1/responses", {"input": "h", "background": True}, **given)
        for gateway in gateways
    ]
    assert answers[0][1]["id"] == answers[1][1]["id"]
    wait_until(lambda: not stack.db.keys("quern:{000}:repeats:*"))


def test_an_answer_that_redis_lost_is_asked_for_once_more(stack):
    """The job has ended, and its result could not be read: the next try gets it."""
    stack.model.script([{"text": "Once."}])
    before = jobs(stack)
    with HeldRedis(stack.redis.socket) as way, Gateway(way.url) as gateway:
        gateway.ready()
        way.lose(b":result:")
        headers = {"content_type": "application/json", "x_stainless_retry_count": "0"}
        body = json.dumps({"input": "read me once"})
        status, _, answer = gateway.call("POST", "/v1/responses", body, **headers)
        assert way.lost.is_set() and status == 503, answer
        wait_until(lambda: gateway.call("GET", "/readyz")[0] == 200)
        again = post(gateway, 1, input="read me once")
        assert again["status"] == "completed"
        gateway.drain()
    assert len(jobs(stack) - before) == 1
