"""quern-gateway: what a key opens, and what it does not."""

import base64
import json
import time

import pytest
from gateway import bearer, checked, Gateway, make_key, record
from servers import Process, binary, wait_until
from stack import Stack

GATEWAY = {"open": None, "key_cache_time": "1s"}
PASS = {"prompt": "x", "queue": "nobody"}


def basic(text):
    return base64.b64encode(text.encode()).decode()


@pytest.fixture(scope="module")
def stack():
    with Stack(executor=False) as stack:
        yield stack


def test_a_key_opens_what_its_scopes_name(gateway, stack):
    both = make_key(stack)
    status, answer = gateway.json("POST", "/v1/jobs", PASS, **bearer(both))
    assert status == 201
    path = f"/v1/jobs/{answer['id']}"
    shown = gateway.json("GET", path, x_api_key=both)
    assert shown[0] == 200 and shown[1]["tenant"] == "ann"
    read, send = make_key(stack, scopes="read"), make_key(stack, scopes="submit,odd")
    assert gateway.json("GET", path, **bearer(read))[0] == 200
    status, answer = gateway.json("POST", "/v1/jobs", PASS, **bearer(read))
    assert (status, answer["error"]["code"]) == (403, "missing_scope")
    assert '"submit"' in answer["error"]["message"]
    assert gateway.json("POST", "/v1/jobs", PASS, **bearer(send))[0] == 201
    assert gateway.refusal("GET", path, **bearer(send)) == (403, "missing_scope", None)


def test_the_tenant_is_the_key_s(gateway, stack):
    ann, bob = make_key(stack), make_key(stack, tenant="bob")
    job = gateway.json("POST", "/v1/jobs", PASS, **bearer(ann))[1]["id"]
    refused = gateway.refusal("POST", "/v1/jobs", {**PASS, "tenant": "ann"}, **bearer(bob))
    assert refused == (400, "bad_field", "tenant")
    unknown = job[:-4] + "0000"
    for method, more in [
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/events"),
        ("GET", "/explain"),
        ("GET", "/files/x"),
        ("GET", "/images/x"),
        ("POST", "/cancel"),
        ("POST", "/approve"),
        ("POST", "/retry"),
    ]:
        texts = []
        for id in (job, unknown):
            status, answer = gateway.json(method, f"/v1/jobs/{id}{more}", **bearer(bob))
            assert status == 404
            texts.append(str(answer).replace(id, "ID"))
        assert texts[0] == texts[1]
    assert stack.state(job) == "queued"
    mine = gateway.json("GET", "/v1/jobs", **bearer(bob))[1]["jobs"]
    assert job not in [row["id"] for row in mine]
    theirs = gateway.refusal("GET", "/v1/jobs?tenant=ann", **bearer(bob))
    assert theirs == (403, "missing_scope", None)
    boss = make_key(stack, tenant="boss", scopes="read operate")
    rows = gateway.json("GET", "/v1/jobs?tenant=ann", **bearer(boss))[1]["jobs"]
    assert job in [row["id"] for row in rows]
    assert gateway.json("GET", f"/v1/jobs/{job}", **bearer(boss))[0] == 200


def test_without_a_good_key_nothing_opens(gateway, stack):
    def refused(**headers):
        status, headers, data = gateway.call("GET", "/v1/jobs", **headers)
        assert headers["WWW-Authenticate"] == 'Bearer realm="quern"'
        return status, data

    good = make_key(stack)
    never = checked("qk_" + "a" * 30)
    past = make_key(stack, expires_at=int(time.time() * 1000) - 1)
    off = make_key(stack, disabled=1)
    none = make_key(stack, scopes="")
    nobody = make_key(stack, tenant="")
    texts = {refused(**bearer(key)) for key in (never, past, off, none, nobody)}
    assert len(texts) == 1 and texts.pop()[0] == 401
    for headers in (
        {},
        {"authorization": good},
        {"authorization": f"Basic {good}"},
        {"authorization": f"Basic {basic(good)}"},
        {"authorization": f"Basic {basic(good + ':')}"},
        {"authorization": f"Basic {basic('x:' + good)[:-4]}"},
        {"authorization": f"Basic {basic('x' * 200 + ':' + good)}"},
        {"authorization": "Basic "},
        {"authorization": "Basic ===="},
        {"authorization": "Bearer"},
        {"authorization": "Bearer sk-other"},
        {"authorization": f"Bearer {good}x"},
        {"authorization": f"Bearer {good} x"},
        {"authorization": f"Bearer {good}", "x_api_key": good},
        {"x_api_key": f"Bearer {good}"},
    ):
        assert refused(**headers)[0] == 401, headers
    assert gateway.json("GET", "/v1/jobs", authorization=f"bEARER  {good}")[0] == 200
    for name in ("", "x", "quern"):
        told = f"basic {basic(name + ':' + good)}"
        assert gateway.json("GET", "/v1/jobs", authorization=told)[0] == 200
    assert gateway.call("GET", "/livez")[0] == 200
    assert gateway.call("GET", "/readyz")[0] == 200


def test_a_key_that_was_removed_works_for_seconds_at_most(gateway, stack):
    key = make_key(stack)
    assert gateway.call("GET", "/v1/jobs", **bearer(key))[0] == 200
    stack.db.delete(record(key))
    wait_until(lambda: gateway.call("GET", "/v1/jobs", **bearer(key))[0] == 401, 10)
    soon = make_key(stack, expires_at=int(time.time() * 1000) + 5000)
    assert gateway.call("GET", "/v1/jobs", **bearer(soon))[0] == 200
    time.sleep(5.05)  # the cache knows when it ends
    assert gateway.call("GET", "/v1/jobs", **bearer(soon))[0] == 401


def test_keys_are_remembered(gateway, stack):
    """Neither a good one nor a bad one costs a look-up each time."""
    key, bad = make_key(stack), checked("qk_" + "b" * 30)

    def looks():
        stats = stack.db.info("commandstats")
        return stats.get("cmdstat_hmget", {}).get("calls", 0)

    before = looks()
    for _ in range(30):
        wrong = "/v1/jobs?limit=x"  # for which nothing else is looked up
        assert gateway.call("GET", wrong, **bearer(key))[0] == 400
        assert gateway.call("GET", wrong, **bearer(bad))[0] == 401
    assert looks() - before < 12


def test_who_is_let_in_without_a_key_may_still_bring_one(stack):
    key = make_key(stack, tenant="kate")
    with Gateway(stack.redis.url, open="default") as gateway:
        gateway.ready()
        submit = ("POST", "/v1/jobs", PASS)
        job = gateway.json(*submit, authorization="Bearer anything")[1]["id"]
        assert stack.facts(job).get("tenant", "default") == "default"
        job = gateway.json(*submit, **bearer(key))[1]["id"]
        assert stack.facts(job)["tenant"] == "kate"
        bad = gateway.call("GET", "/v1/jobs", **bearer(checked("qk_" + "c" * 30)))
        assert bad[0] == 401
        gateway.drain()


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"listen": "0.0.0.0:0"}, "--plain-http"),
        ({"listen": "0.0.0.0:0", "plain_http": "on", "open": "t"}, "--open"),
        ({"listen": "[::]:0"}, "--plain-http"),
        ({"listen": "localhost:80"}, "numeric address"),
        ({"listen": "127.0.0.1"}, "numeric address"),
        ({"listen": "127.0.0.1:99999"}, "numeric address"),
        ({"listen": "unix:"}, "path of unix:"),
        ({"listen": "unix:" + "x" * 200}, "path of unix:"),
        ({"open": "a\tb"}, "control characters"),
    ],
)
def test_a_wrong_setting_ends_it(stack, settings, said):
    given = {f"QUERN_{k.upper()}": v for k, v in settings.items()}
    process = Process([binary("quern-gateway")], {"REDIS_URL": stack.redis.url, **given})
    process.start()
    assert process.wait() == 64
    assert said in process.text(), process.text()


def test_a_key_that_was_copied_wrong_is_refused_at_once(stack, gateway):
    key = make_key(stack)
    wrong = key[:10] + ("a" if key[10] != "a" else "b") + key[11:]
    stack.db.config_resetstat()
    status, answer = gateway.json("GET", "/v1/jobs", **bearer(wrong))
    assert status == 401 and "check the others" in answer["error"]["message"]
    assert "cmdstat_hmget" not in stack.db.info("commandstats")


def test_a_key_has_a_rate(stack, gateway):
    """Counted in Redis, for all gateways together."""
    key = make_key(stack, rate=5)
    with Gateway(stack.redis.url, open=None) as other:
        other.ready()
        seen = [
            one.call("GET", "/v1/jobs", **bearer(key))
            for one in (gateway, other) * 4
        ]
        statuses = [status for status, _, _ in seen]
        assert statuses.count(200) in (5, 8)  # 8: a minute has ended meanwhile
        for status, headers, body in seen:
            if status != 200:
                assert status == 429 and 0 < int(headers["Retry-After"]) <= 60
                assert b"rate_limit_exceeded" in body
        other.drain()


def rate_of(headers):
    """(limit, remaining, seconds to the reset) as the headers say it."""
    limit, left, reset = (
        headers[f"x-ratelimit-{name}-requests"] for name in ("limit", "remaining", "reset")
    )
    assert reset.endswith("s"), reset
    return int(limit), int(left), int(reset[:-1])


def early_in_a_minute():
    """Requests are counted by minutes: not across the end of one."""
    second = time.time() % 60
    if second > 50:
        time.sleep(60.5 - second)


def test_answers_say_what_is_left_of_a_rate(stack, gateway):
    """Of every kind: an answer, a refusal, a stream's head, the 429."""
    early_in_a_minute()
    key = make_key(stack, rate=4)
    status, headers, body = gateway.call(
        "POST", "/v1/jobs", b'{"prompt": "x", "queue": "nobody"}',
        content_type="application/json", **bearer(key),
    )
    assert status == 201 and rate_of(headers)[:2] == (4, 3)
    job = json.loads(body)["id"]
    assert 0 < rate_of(headers)[2] <= 60
    status, headers, _ = gateway.call("GET", "/v1/workers", **bearer(key))
    assert status == 403 and rate_of(headers)[:2] == (4, 2)
    follower = gateway.follow(job, **bearer(key))
    assert rate_of(follower.open().headers)[:2] == (4, 1)
    follower.close()
    status, headers, _ = gateway.call("GET", "/v1/jobs/x", **bearer(key))
    assert status == 404 and rate_of(headers)[:2] == (4, 0)
    status, headers, _ = gateway.call("GET", "/v1/jobs", **bearer(key))
    assert status == 429 and rate_of(headers)[:2] == (4, 0)
    assert abs(rate_of(headers)[2] - int(headers["Retry-After"])) <= 1
    headers = gateway.call("GET", "/v1/jobs", **bearer(make_key(stack)))[1]
    assert "x-ratelimit-limit-requests" not in headers


def test_a_stream_ends_with_its_key(gateway, stack):
    """Within the time between two comments."""
    gone, stays = make_key(stack), make_key(stack)
    job = gateway.json("POST", "/v1/jobs", PASS, **bearer(stays))[1]["id"]
    followers = [gateway.follow(job, **bearer(key)) for key in (gone, stays)]
    for follower in followers:
        assert follower.open().status == 200
    stack.db.delete(record(gone))
    assert list(followers[0].events()) == []
    assert gateway.follow(job, **bearer(gone)).open().status == 401
    gateway.json("POST", f"/v1/jobs/{job}/cancel", {}, **bearer(stays))
    assert [event for _, event, _ in followers[1].events()][-1] == "job.cancelled"
