"""quern-gateway for administrators: keys, and webhooks of a tenant."""

import json
import re
import threading
import time

import pytest
from command import Command
from gateway import Gateway, bearer, make_key, record
from held_redis import HeldRedis
from servers import PATIENCE_S, wait_until
from stack import Stack

URL = "https://example.com/quern"
SECRETS = "quern-secrets:{000}:hooks:ann"


@pytest.fixture(scope="module")
def stack():
    with Stack(executor=False) as stack:
        yield stack


@pytest.fixture(scope="module")
def gateways(stack):
    settings = {"open": None, "key_cache_time": "10m"}
    with Gateway(stack.redis.url, **settings) as one, Gateway(stack.redis.url, **settings) as two:
        yield one.ready(), two.ready()
        one.drain()
        two.drain()


@pytest.fixture(scope="module")
def gateway(gateways):
    return gateways[0]


@pytest.fixture(scope="module")
def admin(stack):
    return make_key(stack, scopes="submit read admin")


@pytest.fixture
def quern(stack, tmp_path):
    return Command(stack.redis.url, tmp_path)


def act(gateway, key, method, path, body=None, status=200):
    got, answer = gateway.json(method, path, body, **bearer(key))
    assert got == status, answer
    return answer


def refused(gateway, key, method, path, body=None):
    """(status, code) and the sentence."""
    status, answer = gateway.json(method, path, body, **bearer(key))
    return (status, answer["error"]["code"]), answer["error"]["message"]


def works(gateway, key):
    return gateway.call("GET", "/v1/jobs", **bearer(key))[0]


# --------------------------------------------------------------------- keys


def test_a_key_is_made_listed_replaced_and_removed(gateways, admin, quern):
    one, two = gateways
    wanted = {"tenant": "bob", "name": "ci", "rate": 60, "jobs": 5, "cost": 250_000}
    made = act(one, admin, "POST", "/v1/keys", {**wanted, "life_ms": 60_000}, 201)
    old = made.pop("secret")
    assert re.fullmatch("qk_[0-9A-Za-z]{36}", old) and works(two, old) == 200
    assert {name: made[name] for name in wanted} == wanted
    assert made["scopes"] == "submit read"
    assert made["expires_at"] == made["created_at"] + 60_000
    [listed] = act(two, admin, "GET", "/v1/keys?tenant=bob")["keys"]
    assert listed.pop("last_used_at") >= made.pop("last_used_at") and listed == made
    assert [row["key"] for row in quern.json("key", "ls", "--tenant", "bob")] == [made["key"]]
    path = f"/v1/keys/{made['key']}"
    changed = act(one, admin, "POST", f"{path}/rotate", {"grace_ms": 0}, 201)
    new = changed["secret"]
    assert works(two, new) == 200 and changed["rate"] == 60
    wait_until(lambda: works(two, old) == 401, 2)
    act(one, admin, "DELETE", f"/v1/keys/{changed['key']}")
    wait_until(lambda: works(two, new) == 401, 2)
    assert refused(one, admin, "DELETE", f"/v1/keys/{changed['key']}") == (
        (404, "unknown_key"),
        f'there is no key "{changed["key"]}"',
    )


def test_a_replaced_key_works_for_a_day_unless_told(gateway, admin):
    made = act(gateway, admin, "POST", "/v1/keys", {"tenant": "cat"}, 201)
    act(gateway, admin, "POST", f"/v1/keys/{made['key']}/rotate", status=201)
    rows = act(gateway, admin, "GET", "/v1/keys?tenant=cat")["keys"]
    [old] = [row for row in rows if row["key"] == made["key"]]
    assert abs(old["expires_at"] / 1000 - time.time() - 24 * 3600) < 60
    assert works(gateway, made["secret"]) == 200


def test_a_key_is_replaced_once(gateway, admin, stack):
    made = act(gateway, admin, "POST", "/v1/keys", {"tenant": "dan"}, 201)
    path = f"/v1/keys/{made['key']}/rotate"
    assert act(gateway, admin, "POST", path, {}, 201)["expires_at"] == 0
    assert refused(gateway, admin, "POST", path, {})[0] == (400, "already_rotated")
    ended = act(gateway, admin, "POST", "/v1/keys", {"tenant": "dan", "life_ms": 1}, 201)
    wait_until(lambda: not stack.db.exists(record(ended["secret"])))
    path = f"/v1/keys/{ended['key']}/rotate"
    assert refused(gateway, admin, "POST", path, {})[0] == (404, "unknown_key")


def test_a_key_that_is_removed_while_it_is_replaced_stays_removed(stack, admin):
    """The replacing one has read its record, and writes only its end."""
    with HeldRedis(stack.redis.socket) as way, Gateway(way.url, open=None) as slow:
        slow.ready()
        with Gateway(stack.redis.url, open=None) as quick:
            quick.ready()
            made = act(quick, admin, "POST", "/v1/keys", {"tenant": "eve"}, 201)
            way.hold(b"HEXISTS")
            path = f"/v1/keys/{made['key']}"
            rotate = threading.Thread(
                target=lambda: slow.json("POST", f"{path}/rotate", {}, **bearer(admin))
            )
            rotate.start()
            assert way.held.wait(PATIENCE_S)
            act(quick, admin, "DELETE", path)
            way.let_go()
            rotate.join()
            assert works(quick, made["secret"]) == 401
            assert 0 < stack.db.ttl(record(made["secret"])) <= 24 * 3600
            quick.drain()
        slow.drain()


def test_no_key_makes_a_wider_one(gateway, admin, stack, quern):
    quern("key", "add", "--tenant", "wide", "--scopes", "read,operate")
    [wide] = quern.json("key", "ls", "--tenant", "wide")
    for method, path, body in (
        ("POST", "/v1/keys", {"scopes": "read operate"}),
        ("POST", f"/v1/keys/{wide['key']}/rotate", {}),
        ("DELETE", f"/v1/keys/{wide['key']}", None),
    ):
        code, message = refused(gateway, admin, method, path, body)
        assert code == (403, "missing_scope") and '"operate"' in message
    assert len(quern.json("key", "ls", "--tenant", "wide")) == 1
    every = make_key(stack, scopes="submit read operate admin")
    act(gateway, every, "POST", "/v1/keys", {"scopes": "read,operate"}, 201)
    act(gateway, every, "DELETE", f"/v1/keys/{wide['key']}")


@pytest.mark.parametrize(
    "body, said",
    [
        ({"jobs": 1001}, "jobs: must be a whole number, 0 to 1000"),
        ({"rate": -1}, "rate: must be a whole number"),
        ({"cost": 0.5}, "cost: must be a whole number"),
        ({"life_ms": "1"}, "life_ms: must be a whole number"),
        ({"scopes": "read root"}, "must be submit, read, operate or admin"),
        ({"tenant": "a\tb"}, "tenant"),
        ({"name": 5}, "name: must be a text"),
        ({"expires_at": 5}, '"expires_at"'),
    ],
)
def test_what_is_wrong_of_a_key(gateway, admin, body, said):
    code, message = refused(gateway, admin, "POST", "/v1/keys", body)
    assert code[0] == 400 and said in message


def test_only_an_administrator_makes_keys(gateway, stack):
    others = make_key(stack, scopes="submit read operate")
    for method, path, body in (
        ("GET", "/v1/keys", None),
        ("POST", "/v1/keys", {}),
        ("DELETE", "/v1/keys/key_0", None),
        ("GET", "/v1/hooks", None),
        ("POST", "/v1/hooks", {"url": URL}),
    ):
        assert refused(gateway, others, method, path, body)[0] == (403, "missing_scope")


def test_who_made_a_key_stands_in_the_log(gateway, admin):
    made = act(gateway, admin, "POST", "/v1/keys", {"tenant": "eve"}, 201)
    said = json.loads(gateway.wait_for(made["key"]))  # behind the answer
    assert (said["act"], said["tenant"], said["outcome"]) == ("key.add", "ann", "done")
    assert made["secret"] not in gateway.text()


# ----------------------------------------------------------------- webhooks


def test_a_webhook_is_added_changed_and_removed(gateway, admin, stack, quern):
    wanted = {"url": URL, "name": "mine", "events": "completed failed"}
    made = act(gateway, admin, "POST", "/v1/hooks", wanted, 201)
    assert made["secret"].startswith("whsec_")
    [row] = act(gateway, admin, "GET", "/v1/hooks")["hooks"]
    assert {name: row[name] for name in wanted} == wanted
    assert row["hook"] == made["hook"] and "secrets" not in row
    path = f"/v1/hooks/{made['hook']}"
    kept = json.loads(stack.db.hget(SECRETS, made["hook"]))
    assert [one["secret"] for one in kept] == [made["secret"]]
    other = act(gateway, admin, "POST", f"{path}/rotate")["secret"]
    kept = json.loads(stack.db.hget(SECRETS, made["hook"]))
    assert [one["secret"] for one in kept] == [other] != [made["secret"]]
    stack.call("hook_set", "ann", made["hook"], "disabled", 1)
    assert act(gateway, admin, "GET", "/v1/hooks")["hooks"][0]["disabled"]
    act(gateway, admin, "POST", f"{path}/enable")
    assert not act(gateway, admin, "GET", "/v1/hooks")["hooks"][0]["disabled"]
    before = stack.db.zcard("quern:{000}:deliver")
    act(gateway, admin, "POST", f"{path}/test")
    assert stack.db.zcard("quern:{000}:deliver") == before + 1
    act(gateway, admin, "DELETE", path)
    assert act(gateway, admin, "GET", "/v1/hooks")["hooks"] == []
    assert not stack.db.exists(SECRETS)


def test_webhooks_are_of_the_key_s_tenant(gateway, admin, stack):
    made = act(gateway, admin, "POST", "/v1/hooks", {"url": URL}, 201)
    other = make_key(stack, tenant="zoe", scopes="admin")
    assert act(gateway, other, "GET", "/v1/hooks")["hooks"] == []
    for verb in ("/rotate", "/enable", "/test"):
        path = f"/v1/hooks/{made['hook']}{verb}"
        assert refused(gateway, other, "POST", path)[0] == (404, "unknown_hook")
    path = f"/v1/hooks/{made['hook']}"
    assert refused(gateway, other, "DELETE", path)[0] == (404, "unknown_hook")
    act(gateway, admin, "DELETE", path)


@pytest.mark.parametrize(
    "body, said",
    [
        ({}, "url"),
        ({"url": "ftp://a"}, "https://"),
        ({"url": URL, "events": "maybe"}, "events"),
        ({"url": URL, "secret": "x"}, '"secret"'),
    ],
)
def test_what_is_wrong_of_a_webhook(gateway, admin, body, said):
    code, message = refused(gateway, admin, "POST", "/v1/hooks", body)
    assert code[0] == 400 and said in message
