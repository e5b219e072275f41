"""quern key: keys of the gateway are made, used, listed, replaced, removed."""

import contextlib
import json
import re
import threading
import time

import pytest
from command import Command
from gateway import Gateway, bearer, record
from held_redis import HeldRedis
from servers import PATIENCE_S, wait_until
from stack import Stack

GATEWAY = {"open": None, "key_cache_time": "100ms"}
REMOVED = "quern:{quern:fleet}:keys_removed"
USED = "quern:{quern:fleet}:keys_used"


@pytest.fixture(scope="module")
def stack():
    with Stack(executor=False) as stack:
        stack.consumer()
        yield stack


@pytest.fixture
def quern(stack, tmp_path):
    return Command(stack.redis.url, tmp_path)


def works(gateway, key, path="/v1/jobs"):
    return gateway.call("GET", path, **bearer(key))[0]


def only(quern, tenant):
    [row] = quern.json("key", "ls", "--tenant", tenant)
    return row


def test_a_key_is_made_and_used(quern, gateway, stack):
    key = quern("key", "add", "--tenant", "ann", "--name", "ci").strip()
    assert re.fullmatch("qk_[0-9A-Za-z]{36}", key)
    assert works(gateway, key) == 200
    assert works(gateway, key, "/v1/workers") == 403
    row = only(quern, "ann")
    assert row["scopes"] == "submit read" and row["name"] == "ci"
    assert row["expires_at"] == 0 and abs(row["created_at"] / 1000 - time.time()) < 60
    # Redis has its hash alone.
    dump = b"".join(stack.db.dump(name) for name in stack.db.keys("*"))
    assert key.encode() not in dump
    assert row["key"] in quern("key", "ls")
    status, answer = gateway.json("POST", "/v1/jobs", {"prompt": "a"}, **bearer(key))
    assert status == 201 and stack.facts(answer["id"])["tenant"] == "ann"


def test_a_key_is_replaced(quern, gateway):
    old = quern("key", "add", "--tenant", "bob", "--rate", "600", "--scopes", "read").strip()
    id = only(quern, "bob")["key"]
    new = quern("key", "rotate", id, "--grace", "5s").strip()
    assert new != old and works(gateway, old) == works(gateway, new) == 200
    rows = quern.json("key", "ls", "--tenant", "bob")
    assert [row["rate"] for row in rows] == [600, 600]
    wait_until(lambda: works(gateway, old) == 401)
    assert works(gateway, new) == 200
    assert only(quern, "bob")["key"] != id


def test_a_replaced_key_may_end_at_once(quern, gateway):
    old = quern("key", "add", "--tenant", "now").strip()
    new = quern("key", "rotate", only(quern, "now")["key"], "--grace", "0").strip()
    wait_until(lambda: works(gateway, old) == 401)
    assert works(gateway, new) == 200


def test_older_secrets_of_a_webhook_may_end_at_once(quern, stack):
    hook = quern("hook", "add", "https://a.example", "--tenant", "now").split()[0]
    for given, count in ((["--keep", "0"], 1), ([], 2), (["--at-once"], 1)):
        quern("hook", "rotate", hook, "--tenant", "now", *given)
        secrets = stack.db.hget("quern-secrets:{000}:hooks:now", hook)
        assert len(json.loads(secrets)) == count
    quern("hook", "rm", hook, "--tenant", "now", "-y")


@contextlib.contextmanager
def meanwhile(way, tmp_path, marker, *words):
    """The command waits for the answer to that request, and ends well."""
    way.hold(marker)
    said = []
    quern = Command(way.url, tmp_path)
    thread = threading.Thread(target=lambda: said.append(quern.run(*words)))
    thread.start()
    assert way.held.wait(PATIENCE_S)
    yield said
    way.let_go()
    thread.join()
    assert said[0][2] == 0, said


def test_a_rotation_whose_claim_is_not_answered(quern, stack, tmp_path):
    quern("key", "add", "--tenant", "lost")
    id = only(quern, "lost")["key"]
    with HeldRedis(stack.redis.socket) as way:
        with meanwhile(way, tmp_path, b"key_rotated", "key", "rotate", id):
            way.drop()
    assert len(quern.json("key", "ls", "--tenant", "lost")) == 2
    assert "the key was replaced" in quern("key", "rotate", id, code=65)
    stack.db.delete(*stack.db.keys("*:key_rotated:*"))
    assert "replaced before" in quern("key", "rotate", id, code=65)


def test_a_rotation_that_failed_may_be_tried_again(quern, stack, tmp_path):
    key = quern("key", "add", "--tenant", "again").strip()
    id = only(quern, "again")["key"]
    claim = record(key).replace(":key:", ":key_rotated:")
    with HeldRedis(stack.redis.socket) as way:
        way.lose(b"created_at", for_good=True)
        Command(way.url, tmp_path)("key", "rotate", id, code=69)
    assert 0 < stack.db.pttl(claim) <= 60_000
    assert "may be replaced again" in quern("key", "rotate", id, code=65)
    stack.db.delete(claim)  # as time does
    assert quern("key", "rotate", id).startswith("qk_")
    # What older clients have written refuses, too.
    [new] = [row["key"] for row in quern.json("key", "ls", "--tenant", "again") if row["key"] != id]
    for name in stack.db.hvals("quern:{quern:fleet}:keys"):
        stack.db.set("quern:{quern:fleet}:key_rotated:" + name.decode(), "1")
    assert "the key was replaced" in quern("key", "rotate", new, code=65)
    stack.db.delete(*stack.db.keys("*:key_rotated:*"))


def test_keys_are_listed_while_one_is_made(quern, gateway, stack, tmp_path):
    words = ("key", "add", "--tenant", "mid", "--expires", "1h")
    with HeldRedis(stack.redis.socket) as way:
        with meanwhile(way, tmp_path, b":keys\r\n", *words) as said:
            quern("key", "ls")
    assert works(gateway, said[0][0].strip()) == 200
    assert only(quern, "mid")["expires_at"] > 0


def test_a_key_is_removed(quern, gateway):
    key = quern("key", "add", "--tenant", "eve", "--scopes", "operate").strip()
    id = only(quern, "eve")["key"]
    assert works(gateway, key, "/v1/workers") == 200
    assert "would be" in quern("key", "rm", id, "--dry-run")
    assert quern("key", "rm", id, "-y") == f"{id} removed\n"
    wait_until(lambda: works(gateway, key) == 401)
    assert quern.json("key", "ls", "--tenant", "eve") == []


def test_a_key_expires(quern, gateway):
    key = quern("key", "add", "--tenant", "kim", "--expires", "5s").strip()
    assert works(gateway, key) == 200
    wait_until(lambda: works(gateway, key) == 401)
    assert quern.json("key", "ls", "--tenant", "kim") == []


@pytest.fixture
def patient(stack):
    """Two gateways that ask for a key once in ten minutes."""
    settings = {"open": None, "key_cache_time": "10m"}
    with Gateway(stack.redis.url, **settings) as one, Gateway(stack.redis.url, **settings) as two:
        for gateway in (one, two):
            gateway.ready()
        yield one, two
        one.drain()
        two.drain()


def wait_refused(gateways, key):
    """Long before they would ask for it again."""
    wait_until(lambda: {works(gateway, key) for gateway in gateways} == {401})


def test_all_gateways_forget_a_removed_key_at_once(quern, patient, stack):
    wait_until(lambda: stack.db.pubsub_numsub(REMOVED)[0][1] >= 2)
    key = quern("key", "add", "--tenant", "liv").strip()
    id = only(quern, "liv")["key"]
    assert [works(gateway, key) for gateway in patient] == [200, 200]
    quern("key", "rm", id, "-y")
    wait_refused(patient, key)


def test_all_gateways_hear_of_a_replaced_key(quern, patient, stack):
    wait_until(lambda: stack.db.pubsub_numsub(REMOVED)[0][1] >= 2)
    key = quern("key", "add", "--tenant", "ida").strip()
    assert [works(gateway, key) for gateway in patient] == [200, 200]
    quern("key", "rotate", only(quern, "ida")["key"], "--grace", "5s")
    assert [works(gateway, key) for gateway in patient] == [200, 200]
    wait_refused(patient, key)


def test_a_gateway_that_could_not_hear_forgets_all(quern, patient, stack):
    """Its subscription was cut when the message came."""
    wait_until(lambda: stack.db.pubsub_numsub(REMOVED)[0][1] >= 2)
    key = quern("key", "add", "--tenant", "noa").strip()
    assert [works(gateway, key) for gateway in patient] == [200, 200]
    stack.db.delete(record(key))  # which nobody publishes
    assert [works(gateway, key) for gateway in patient] == [200, 200]
    ears = [one for one in stack.db.client_list() if "gateway-keys" in one["name"]]
    for ear in ears:
        stack.db.client_kill_filter(_id=ear["id"])
    wait_refused(patient, key)


def test_the_last_use_of_a_key_is_shown(quern, gateway, stack):
    key = quern("key", "add", "--tenant", "una").strip()
    assert only(quern, "una")["last_used_at"] == 0
    assert works(gateway, key) == 200
    wait_until(lambda: only(quern, "una")["last_used_at"] > 0, 5)
    first = only(quern, "una")["last_used_at"]
    assert abs(first / 1000 - time.time()) < 30
    for _ in range(3):  # beyond the time that the gateway remembers the key
        time.sleep(0.15)
        assert works(gateway, key) == 200
    assert only(quern, "una")["last_used_at"] == first
    assert re.search(r"\d+ s ago +never", quern("key", "ls", "--tenant", "una"))
    quern("key", "add", "--tenant", "unused", "--expires", "2h")
    assert re.search(r"never +in 1 hour", quern("key", "ls", "--tenant", "unused"))
    hash = record(key).rpartition(":")[2]
    assert stack.db.hexists(USED, hash)
    quern("key", "rm", only(quern, "una")["key"], "-y")
    assert not stack.db.hexists(USED, hash)


def test_a_key_has_limits(quern, stack):
    key = quern("key", "add", "--tenant", "max", "--jobs", "2", "--cost", "0.5").strip()
    row = only(quern, "max")
    assert (row["jobs"], row["cost"], row["rate"]) == (2, 500_000, 0)
    line = quern("key", "ls", "--tenant", "max").splitlines()[-1]
    assert re.search(r" -  +2  +0\.5  +never", line), line
    new = quern("key", "rotate", row["key"]).strip()
    assert [(r["jobs"], r["cost"]) for r in quern.json("key", "ls", "--tenant", "max")] == [
        (2, 500_000)
    ] * 2
    assert stack.db.hmget(record(new), "jobs", "cost") == [b"2", b"500000"]
    jobs = record(key).replace(":key:", ":key_jobs:")
    stack.db.zadd(jobs, {"a": 1})
    quern("key", "rm", row["key"], "-y")
    assert not stack.db.exists(jobs)


def test_what_is_wrong(quern):
    assert "1000" in quern("key", "add", "--jobs", "1001", code=64)
    assert "--cost" in quern("key", "add", "--cost", "2000000", code=64)
    assert "--grace" in quern("key", "rotate", "key_0", "--grace", "91d", code=64)
    assert "must be submit, read" in quern("key", "add", "--scopes", "root", code=65)
    assert "there is no key key_0" in quern("key", "rotate", "key_0", code=65)
    assert "there is no key key_0" in quern("key", "rm", "key_0", "-y", code=65)
