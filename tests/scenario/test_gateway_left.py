"""Clients that go away while their job is being made, and answers of Redis that are
lost then: no job is left that nobody waits for, none is made twice."""

import json
import threading

import pytest
from gateway import Gateway
from held_redis import HeldRedis
from servers import PATIENCE_S, wait_until
from stack import ROOT
from test_gateway_conversations import make
from test_gateway_responses import CODE, create, job_of

GATEWAY = {"foreground_grace": "200ms"}
LONG = [{"text": "word " * 600, "chunk_ms": 100}]
KEY = {"content_type": "application/json", "idempotency_key": "k"}


@pytest.fixture(scope="module")
def way(stack):
    with HeldRedis(stack.redis.socket) as way:
        yield way


@pytest.fixture(scope="module")
def far(way):
    """A gateway whose Redis is behind the way."""
    with Gateway(way.url, **GATEWAY) as gateway:
        gateway.ready()
        yield gateway
        gateway.drain()


def jobs(stack):
    return {key.rsplit(b":", 1)[1].decode() for key in stack.db.keys(f"{ROOT}job:*")}


def leave(gateway, body, **headers):
    """A connection on which it was asked, to be closed."""
    connection = gateway.connection()
    names = {"Content-Type": "application/json", **headers}
    connection.request("POST", "/v1/responses", json.dumps(body), names)
    return connection


def begun(gateway, *asked):
    """A thread that asks, and where its answer will be."""
    given = {}
    thread = threading.Thread(target=lambda: given.update(answer=gateway.json(*asked)))
    thread.start()
    return thread, given


def test_a_client_that_goes_while_its_job_is_made(stack, far, way):
    before = jobs(stack)
    stack.model.script(LONG)
    way.hold(b"quern_v1_submit")
    connection = leave(far, {"input": "a"})
    assert way.held.wait(PATIENCE_S)
    connection.close()
    far.call("GET", "/livez")
    way.let_go()
    [job] = wait_until(lambda: jobs(stack) - before, what="the job")
    wait_until(lambda: stack.state(job) == "cancelled", what="its end")


@pytest.mark.parametrize("route", ["responses", "exec"])
def test_a_job_whose_answer_is_lost_is_not_left(stack, far, way, route):
    before = jobs(stack)
    stack.model.script(LONG)
    code = {"lang": "py", "code": "import time\ntime.sleep(60)"}
    asked = {
        "responses": ("POST", "/v1/responses", {"input": "a"}),
        "exec": ("POST", "/v1/librechat/exec", code),
    }
    way.hold(b"quern_v1_submit")
    thread, given = begun(far, *asked[route])
    assert way.held.wait(PATIENCE_S)
    [job] = wait_until(lambda: jobs(stack) - before, what="the job")
    way.drop()
    thread.join()
    status, answer = given["answer"]
    assert status == 503 and "may stand" in json.dumps(answer), answer
    wait_until(lambda: stack.state(job) == "cancelled", what="its end")


def test_who_has_a_key_comes_back_for_the_answer(stack, gateway):
    before = jobs(stack)
    stack.model.script([{"text": "word " * 20, "chunk_ms": 100}])
    connection = leave(gateway, {"input": "a"}, **{"Idempotency-Key": "back"})
    [job] = wait_until(lambda: jobs(stack) - before, what="the job")
    connection.close()
    answer = gateway.json("POST", "/v1/responses", {"input": "a"}, **{**KEY, "idempotency_key": "back"})[1]
    assert answer["status"] == "completed" and job_of(answer) == job


@pytest.mark.parametrize("path, body, other", [
    ("responses", {"input": "a", "store": False}, {"input": "b", "store": False}),
    ("chat/completions", {"messages": [{"role": "user", "content": "a"}]},
     {"messages": [{"role": "user", "content": "b"}]}),
])
def test_a_key_of_another_request_is_refused_also_where_nothing_is_stored(
    stack, gateway, path, body, other
):
    stack.model.script([{"text": "one"}] * 2)
    key = {**KEY, "idempotency_key": f"unstored {path}"}
    path = f"/v1/{path}"
    if "chat" in path:
        body, other = {"model": "default", **body}, {"model": "default", **other}
    first = gateway.json("POST", path, body, **key)[1]
    turned = dict(reversed(list(body.items())))
    assert gateway.json("POST", path, turned, **key)[1]["id"] == first["id"]
    status, answer = gateway.json("POST", path, other, **key)
    assert (status, answer["error"]["code"]) == (409, "idempotency_key_reused"), answer
    if "resp" in path:
        assert gateway.json("GET", f"{path}/{first['id']}")[0] == 404
        on = {"input": "c", "previous_response_id": first["id"]}
        assert gateway.refusal("POST", path, on)[1] == "previous_response_not_found"


def test_a_repeat_by_key_is_not_locked_out_by_its_own_turn(stack, gateway):
    id = make(gateway)["id"]
    stack.model.script([{"text": "word " * 20, "chunk_ms": 100}])
    body = {"input": "a", "conversation": id, "background": True}
    ask = ("POST", "/v1/responses", body)
    own, other = ({**KEY, "idempotency_key": key} for key in ("own", "other"))
    first = gateway.json(*ask, **own)[1]
    assert gateway.json(*ask, **own)[1]["id"] == first["id"]
    assert gateway.refusal(*ask, **other)[1] == "conversation_locked"
    stack.result(job_of(first))


def test_a_full_queue_gives_the_turn_back(stack, gateway):
    id = make(gateway)["id"]
    stack.call("queue_set", "default", "paused", 1, "max_depth", 1)
    waits = create(gateway, input="a", background=True)
    ask = {"input": "b", "conversation": id}
    assert gateway.refusal("POST", "/v1/responses", ask)[:2] == (429, "queue_full")
    stack.call("queue_set", "default", "paused", "", "max_depth", "")
    stack.model.script([{"text": "one"}] * 2)
    stack.result(job_of(waits))
    assert create(gateway, **ask)["status"] == "completed"


def test_what_waits_for_the_library_may_be_lost(stack):
    """Also what nobody waits for: that a container is used."""
    with HeldRedis(stack.redis.socket) as way, Gateway(way.url) as gateway:
        gateway.ready()
        way.hold(b"quern_v1_build")
        stack.db.function_flush()
        gateway.json("POST", "/v1/responses", {"input": "a"})
        assert way.held.wait(PATIENCE_S)
        waits = leave(gateway, {"input": "b", "tools": [CODE], "background": True})
        for _ in range(2):  # then it has read what was sent before
            gateway.call("GET", "/livez")
        way.drop()
        assert waits.getresponse().status == 503
        wait_until(lambda: gateway.call("GET", "/readyz")[0] == 200)
        gateway.drain()


def turn_free(gateway, id):
    ask = {"input": "b", "conversation": id, "background": True}
    return lambda: gateway.json("POST", "/v1/responses", ask)[0] == 200


@pytest.mark.parametrize("step", [b"PEXPIRE", b"HEXISTS"])
def test_a_turn_is_given_back_when_its_client_goes_before_the_submit(stack, gateway, far, way, step):
    id = make(gateway)["id"]
    stack.model.script([{"text": "one"}])
    way.hold(step)
    connection = leave(far, {"input": "a", "conversation": id})
    assert way.held.wait(PATIENCE_S)
    connection.close()
    far.call("GET", "/livez")
    way.let_go()
    wait_until(turn_free(gateway, id), timeout=PATIENCE_S / 2, what="the turn")


def test_a_repeat_whose_client_goes_leaves_no_job(stack, far, way):
    before = jobs(stack)
    stack.model.script(LONG)
    first = leave(far, {"input": "r"}, **{"X-Stainless-Retry-Count": "0"})
    [job] = wait_until(lambda: jobs(stack) - before, what="the job")
    first.close()
    way.hold(b":asked:")
    again = leave(far, {"input": "r"}, **{"X-Stainless-Retry-Count": "1"})
    assert way.held.wait(PATIENCE_S)
    again.close()
    far.call("GET", "/livez")
    way.let_go()
    wait_until(lambda: stack.state(job) == "cancelled", what="its end")


def test_a_key_of_a_native_job_is_no_response(stack, gateway):
    key = {**KEY, "idempotency_key": "native"}
    job = {"kind": "code", "cells": ["1"], "queue": "nobody"}
    assert gateway.json("POST", "/v1/jobs", job, **key)[0] == 201
    body = {"input": "a", "background": True}
    status, answer = gateway.json("POST", "/v1/responses", body, **key)
    assert (status, answer["error"]["code"]) == (409, "idempotency_key_reused"), answer


def test_a_purged_response_left_nothing(stack, gateway):
    """Its result lives for an hour, and its conversation goes on after that."""
    given = [{"role": "user", "content": "a"}]
    id = make(gateway, items=given)["id"]
    stack.call("queue_set", "default", "paused", 1)
    waits = create(gateway, input="b", conversation=id, background=True)
    gateway.json("POST", "/v1/queues/default/purge")
    stack.call("queue_set", "default", "paused", "")
    wait_until(lambda: stack.state(job_of(waits)) == "cancelled", what="its end")
    stack.db.delete(f"{ROOT}result:{job_of(waits)}")
    stack.model.script([{"text": "one"}])
    assert create(gateway, input="c", conversation=id)["status"] == "completed"


@pytest.mark.parametrize("path, body", [
    ("/v1/responses", {"input": "a"}), ("/v1/librechat/exec", {"lang": "py", "code": "1"}),
])
def test_a_gateway_ends_while_a_submit_is_on_its_way(stack, path, body):
    with HeldRedis(stack.redis.socket) as way, Gateway(way.url, **GATEWAY) as gateway:
        gateway.ready()
        way.hold(b"quern_v1_submit")
        connection = gateway.connection()
        headers = {"Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(body), headers)
        assert way.held.wait(PATIENCE_S)
        connection.close()
        gateway.call("GET", "/livez")
        gateway.drain()
