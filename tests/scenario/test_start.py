"""A consumer looks at its Redis before it serves: what may lose jobs keeps it
from starting, of what is only unwise it says so; each with what to do."""

import json

import pytest
from servers import Process, RedisServer, binary, wait_until
from stack import Stack

SAFE = {"appendonly": "yes", "maxmemory": "1gb"}


def findings(consumer):
    lines = map(json.loads, consumer.text().splitlines())
    return {line["check"]: line for line in lines if line["what"] == "redis.unsafe"}


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-lfu", "allkeys-random"])
def test_a_redis_that_may_drop_jobs_is_refused(policy):
    with RedisServer(**SAFE, maxmemory_policy=policy) as server:
        with Process([binary("quern-consumer")], env={"REDIS_URL": server.url}) as one:
            assert one.wait() == 69
            assert f"maxmemory-policy is {policy}" in one.text()
            assert "CONFIG SET maxmemory-policy noeviction" in one.text()
            assert '"ready"' not in one.text()


UNWISE = [
    ({**SAFE, "maxmemory_policy": "volatile-lru"}, "eviction", "results and files"),
    (
        {"appendonly": "yes", "maxmemory_policy": "allkeys-lru"},
        "eviction",
        "once it has a limit",
    ),
    ({"appendonly": "no"}, "storage", "no append-only file"),
]


@pytest.mark.parametrize("settings, check, says", UNWISE)
def test_what_is_unwise_is_said(settings, check, says):
    with RedisServer(**settings) as server:
        with Stack(executor=False, server=server) as stack:
            consumer = stack.consumer()
            found = findings(consumer)
            assert list(found) == [check] and says in found[check]["why"]
            assert "CONFIG SET" in found[check]["remedy"]
            assert stack.run(prompt="x")["status"] == "completed"


def test_of_a_safe_one_nothing_is_said():
    with RedisServer(**SAFE) as server:
        with Stack(executor=False, server=server) as stack:
            consumer = stack.consumer()
            assert findings(consumer) == {}


def test_a_fault_that_comes_later_stops_nothing():
    """It is looked at again with each new connection, and only told."""
    with RedisServer(**SAFE) as server:
        with Stack(executor=False, server=server) as stack:
            consumer = stack.consumer()
            stack.db.config_set("maxmemory-policy", "allkeys-lru")
            stack.db.execute_command("CLIENT KILL TYPE normal SKIPME yes")
            wait_until(lambda: "eviction" in findings(consumer), what="it is said")
            assert stack.run(prompt="x")["status"] == "completed"


# What the consumer's login may not do, and what it says.
LOGINS = [
    ("-info", "redis.unseen", 0),
    ("-function|load -fcall", "NOPERM", 69),
]


@pytest.mark.parametrize("rules, says, code", LOGINS)
def test_a_login_that_lacks_something(rules, says, code):
    with RedisServer(**SAFE) as server:
        words = ["on", ">pw", "~*", "&*", "+@all", *rules.split()]
        server.ask("ACL", "SETUSER", "poor", *words)
        url = server.url.replace("unix://", "unix://poor:pw@")
        with Process([binary("quern-consumer")], env={"REDIS_URL": url}) as one:
            if code:
                assert one.wait() == code and says in one.text()
            else:
                one.wait_for('"ready"')
                one.wait_for(says)
