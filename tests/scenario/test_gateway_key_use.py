"""quern-gateway: how many jobs a key may have at once, and what they may cost a day."""

import concurrent.futures
import json
import time

import pytest
from gateway import Gateway, bearer, make_key, record
from servers import wait_until
from stack import Stack, job_id
from test_gateway_openai_files import FORM, form, part

WAITS = {"prompt": "x", "queue": "nobody"}  # which no consumer serves
USAGE = {"prompt_tokens": 50_000, "completion_tokens": 0}  # of a job: 0.1 dollars
TEN_CENTS = 100_000
DAY_S = 24 * 3600


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    with Stack(executor=False) as stack:
        price = {"input": 2, "cached": 2, "output": 8}
        model = {"url": stack.model.url, "model": "a", "price": price}
        path = tmp_path_factory.mktemp("key_use") / "models.json"
        path.write_text(json.dumps({"default": model}))
        stack.consumer(models=path, repeats=0)
        reply = {"text": "Hello.", "usage": USAGE}
        stack.model.script([{"match": "", "replies": [reply] * 99}])
        yield stack


@pytest.fixture(scope="module")
def gateways(stack):
    with Gateway(stack.redis.url, open=None) as one, Gateway(stack.redis.url, open=None) as two:
        yield one.ready(), two.ready()
        one.drain()
        two.drain()


def submit(gateway, key, job=None, **headers):
    return gateway.json("POST", "/v1/jobs", job or WAITS, **bearer(key), **headers)


def submitted(gateway, key, job=None, **headers):
    status, answer = submit(gateway, key, job, **headers)
    assert status == 201, answer
    return answer["id"]


def refused(gateway, key, job=None):
    """The code and the sentence."""
    status, answer = submit(gateway, key, job)
    assert status == 429, answer
    return answer["error"]["code"], answer["error"]["message"]


def place(kind, key):
    return f"quern:{{quern:fleet}}:{kind}:{record(key).rpartition(':')[2]}"


def spent(stack, key):
    """Micro-dollars, and the name of what has them."""
    [name] = stack.db.keys(place("key_cost", key).replace("{", "?").replace("}", "?") + ":*")
    return int(stack.db.hget(name, "cost")), name


def early_in_a_day():
    if time.time() % DAY_S > DAY_S - 30:
        time.sleep(31)


# --------------------------------------------------------------------- jobs


def test_a_key_has_so_many_jobs_at_all_gateways(gateways, stack):
    one, two = gateways
    key = make_key(stack, jobs=3)
    jobs = [submitted(gateway, key) for gateway in (one, two, one)]
    for gateway in gateways:
        assert refused(gateway, key) == (
            "too_many_jobs",
            "3 jobs of this key have not ended, it may have 3",
        )
    headers = gateways[0].call(
        "POST", "/v1/jobs", json.dumps(WAITS), content_type="application/json", **bearer(key)
    )[1]
    assert headers["Retry-After"] == "1" and "x-should-retry" not in headers
    stack.call("cancel", jobs[1])
    submitted(two, key)
    assert refused(one, key)[0] == "too_many_jobs"
    assert 0 < stack.db.ttl(place("key_jobs", key)) <= 31 * DAY_S
    assert not stack.db.exists(place("key_cost", key))


def test_other_keys_are_not_counted(gateways, stack):
    full, other, free = make_key(stack, jobs=1), make_key(stack, jobs=1), make_key(stack)
    submitted(gateways[0], full)
    refused(gateways[0], full)
    submitted(gateways[0], other)
    for _ in range(3):
        submitted(gateways[0], free)
    assert not stack.db.exists(place("key_jobs", free))


@pytest.fixture(scope="module")
def full(gateways, stack):
    """A key that has all its jobs; things of its tenant."""
    free, key = make_key(stack), make_key(stack, jobs=1)
    status, answer = gateways[0].json("POST", "/v1/containers", {"name": "a"}, **bearer(free))
    assert status == 200, answer
    dead = submitted(gateways[0], free, {"kind": "code", "cells": ["1"]})  # without an executor
    wait_until(lambda: stack.state(dead) == "failed")
    submitted(gateways[0], key)
    return key, answer["id"], dead


def upload(gateway, path, key):
    body = form(part("file", b"a", "a.txt", "text/plain"))
    status, _, data = gateway.call("POST", path, body, **FORM, **bearer(key))
    return status, json.loads(data)["error"]["code"]


@pytest.mark.parametrize(
    "path, body, code",
    [
        ("/v1/responses", {"input": "hi"}, "rate_limit_exceeded"),
        ("/v1/responses", {"input": "hi", "stream": True}, "rate_limit_exceeded"),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}]}, None),
        ("/v1/exec", {"code": "1"}, "too_many_jobs"),
        ("/v1/jobs/{dead}/retry", {}, "too_many_jobs"),
    ],
)
def test_every_route_that_makes_a_job_counts(gateways, full, path, body, code):
    key, _, dead = full
    if "messages" in body:
        body = {"model": "default", **body}
    status, answer = gateways[0].json("POST", path.format(dead=dead), body, **bearer(key))
    assert (status, answer["error"]["code"]) == (429, code or "rate_limit_exceeded"), answer


def test_files_of_containers_and_dify_s_code_count(gateways, full, stack):
    key, container, dead = full
    path = f"/v1/containers/{container}/files"
    assert upload(gateways[0], path, key) == (429, "too_many_jobs")
    body = {"language": "python3", "code": "1", "preload": ""}
    status, answer = gateways[0].json("POST", "/v1/sandbox/run", body, x_api_key=key)
    assert status == 429, answer
    assert stack.db.zcard(place("key_jobs", key)) == 1
    assert stack.state(dead) == "failed"


def test_a_retried_job_is_one_of_the_key(gateways, stack):
    key = make_key(stack, jobs=1)
    job = submitted(gateways[0], key, {"kind": "code", "cells": ["1"]})
    wait_until(lambda: stack.state(job) == "failed")
    status, answer = gateways[0].json("POST", f"/v1/jobs/{job}/retry", {}, **bearer(key))
    assert status == 200, answer
    assert stack.db.zrange(place("key_jobs", key), 0, -1) == [job.encode()]


def test_a_retry_of_a_job_that_lives_leaves_it_counted(gateways, stack):
    key = make_key(stack, jobs=1)
    job = submitted(gateways[0], key)
    status, answer = gateways[1].json("POST", f"/v1/jobs/{job}/retry", {}, **bearer(key))
    assert (status, answer["error"]["code"]) == (409, "not_dead")
    assert refused(gateways[0], key)[0] == "too_many_jobs"
    assert stack.db.zrange(place("key_jobs", key), 0, -1) == [job.encode()]


def test_a_refused_retry_leaves_the_job_counted(gateways, stack):
    early_in_a_day()
    key = make_key(stack, jobs=2, cost=50_000)
    run(stack, gateways[0], key)
    job = submitted_anyway(gateways[0], stack, key)
    status, answer = gateways[1].json("POST", f"/v1/jobs/{job}/retry", {}, **bearer(key))
    assert (status, answer["error"]["code"]) == (429, "insufficient_quota")
    assert stack.db.zscore(place("key_jobs", key), job) is not None


def submitted_anyway(gateway, stack, key):
    """A job of the key that waits, though its budget is spent."""
    with_room = make_key(stack, jobs=5)
    job = submitted(gateway, with_room)
    stack.db.zadd(place("key_jobs", key), {job: time.time() * 1000})
    return job


def test_a_repeat_is_no_new_job(gateways, stack):
    """The job that its Idempotency-Key names fills the key, or has spent its budget."""
    key = make_key(stack, jobs=1)
    first = submitted(gateways[0], key, idempotency_key="full")
    for gateway in gateways:
        status, answer = submit(gateway, key, idempotency_key="full")
        assert (status, answer.get("id")) == (200, first), answer
    assert stack.db.zrange(place("key_jobs", key), 0, -1) == [first.encode()]
    assert submit(gateways[0], key, idempotency_key="other")[0] == 429


def test_what_was_not_submitted_is_not_counted(gateways, stack):
    key = make_key(stack, jobs=2)
    missing = {**WAITS, "files": [{"name": "a", "blob": "0" * 64, "bytes": 1}]}
    for _ in range(3):
        status, answer = submit(gateways[0], key, missing)
        assert (status, answer["error"]["code"]) == (400, "missing_blob")
    first = submitted(gateways[0], key, idempotency_key="k")
    for _ in range(3):  # the same job
        status, answer = submit(gateways[1], key, idempotency_key="k")
        assert (status, answer["id"]) == (200, first)
    submitted(gateways[0], key)
    refused(gateways[0], key)


def test_submits_at_the_same_time_do_not_pass_the_limit(gateways, stack):
    key = make_key(stack, jobs=5)
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(lambda n: submit(gateways[n % 2], key)[0], range(60)))
    assert set(statuses) <= {201, 429} and statuses.count(201) <= 5
    for _ in range(5 - statuses.count(201)):
        submitted(gateways[0], key)
    refused(gateways[1], key)


def test_one_end_among_many_jobs_is_found(gateways, stack):
    """Beyond those that are looked at first."""
    key = make_key(stack, jobs=250)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        jobs = list(pool.map(lambda n: submitted(gateways[0], key), range(250)))
    refused(gateways[0], key)
    last = stack.db.zrange(place("key_jobs", key), -1, -1)[0].decode()
    assert last in jobs
    stack.call("cancel", last)
    submitted(gateways[0], key)
    refused(gateways[0], key)


def test_a_job_that_never_came_is_forgotten_after_a_minute(gateways, stack):
    """Its gateway was killed between."""
    key = make_key(stack, jobs=1)
    now = time.time() * 1000
    stack.db.zadd(place("key_jobs", key), {job_id(): now})
    refused(gateways[0], key)
    stack.db.zadd(place("key_jobs", key), {job_id(): now - 61_000})
    refused(gateways[0], key)
    assert stack.db.zcard(place("key_jobs", key)) == 1
    stack.db.delete(place("key_jobs", key))
    submitted(gateways[0], key)


# --------------------------------------------------------------------- cost


def run(stack, gateway, key):
    job = submitted(gateway, key, {"prompt": "x"})
    assert stack.result(job)["usage"]["cost"] == TEN_CENTS
    return job


def test_a_key_may_spend_so_much_a_day(gateways, stack):
    early_in_a_day()
    one, two = gateways
    key = make_key(stack, cost=250_000)
    for gateway in (one, two, one):
        run(stack, gateway, key)
    sentence = (
        "the jobs of this key have cost 0.3 dollars today, it may spend 0.25 dollars a day (UTC)"
    )
    for gateway in gateways:
        assert refused(gateway, key) == ("insufficient_quota", sentence)
    body = json.dumps({"input": "hi"})
    status, headers, data = one.call(
        "POST", "/v1/responses", body, content_type="application/json", **bearer(key)
    )
    assert status == 429 and json.loads(data)["error"]["code"] == "insufficient_quota"
    assert headers["x-should-retry"] == "false" and "Retry-After" not in headers
    cost, name = spent(stack, key)
    assert cost == 3 * TEN_CENTS and 0 < stack.db.ttl(name) <= 2 * DAY_S
    assert stack.db.zcard(place("key_jobs", key)) == 0
    assert name.decode().endswith(f":{int(time.time()) // DAY_S}")


def test_an_end_is_counted_once_by_all_gateways(gateways, stack):
    early_in_a_day()
    key = make_key(stack, cost=900_000)
    for _ in range(3):
        run(stack, gateways[0], key)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: submitted(gateways[n % 2], key), range(16)))
    assert spent(stack, key)[0] == 3 * TEN_CENTS


def test_a_new_day_begins_at_nothing(gateways, stack):
    early_in_a_day()
    key = make_key(stack, cost=50_000)
    run(stack, gateways[0], key)
    refused(gateways[0], key)
    name = spent(stack, key)[1]
    stack.db.rename(name, name.decode().rpartition(":")[0] + ":1")  # long ago
    submitted(gateways[0], key)


@pytest.mark.parametrize("path", ["/v1/jobs/{id}", "/v1/responses/resp_{digits}"])
def test_a_job_that_is_removed_was_counted(gateways, stack, path):
    early_in_a_day()
    key = make_key(stack, cost=50_000)
    if "responses" in path:
        body = {"input": "hi"}
        status, answer = gateways[0].json("POST", "/v1/responses", body, **bearer(key))
        assert status == 200, answer
        path = "/v1/responses/" + answer["id"]
    else:
        path = path.format(id=run(stack, gateways[0], key))
    assert gateways[1].call("DELETE", path, **bearer(key))[0] in (200, 204)
    assert gateways[1].call("GET", path, **bearer(key))[0] == 404
    assert spent(stack, key)[0] == TEN_CENTS
    assert refused(gateways[0], key)[0] == "insufficient_quota"


def test_a_job_that_runs_stays_one_of_the_key(gateways, stack):
    """Where it cannot be removed."""
    key = make_key(stack, cost=50_000, jobs=1)
    job = submitted(gateways[0], key)
    assert gateways[0].call("DELETE", f"/v1/jobs/{job}", **bearer(key))[0] == 409
    refused(gateways[0], key)
