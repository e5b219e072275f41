"""The shipped Redis users find their server by Sentinel, and in a Cluster."""

import pathlib

import pytest
from command import Command
from servers import RedisCluster, RedisSentinels
from stack import Stack

TREE = pathlib.Path(__file__).resolve().parents[2]


def add_users(node):
    for line in (TREE / "deploy/redis/users.acl").read_text().splitlines():
        _, user, *rules = line.split()
        rules = [">secret" if r.startswith(">@") else r for r in rules]
        if user != "default":
            node.ask("ACL", "SETUSER", user, *rules)


@pytest.fixture(params=[RedisCluster, RedisSentinels])
def stack(request):
    with request.param() as server:
        for node in server.nodes:
            add_users(node)
        with Stack(executor=False, server=server, partitions=4) as stack:
            stack.db.function_flush()  # the consumer's user loads it
            yield stack


def test_they_may_ask_the_way(stack, tmp_path):
    def url_of(user):
        return stack.redis.url.replace("://", f"://{user}:secret@")

    stack.consumer(redis_url=url_of("consumer"))
    quern = Command(url_of("producer"), tmp_path)
    job = quern("submit", "x", "--tenant", "acme").strip()
    assert quern.json("wait", job)[0]["state"] == "completed"
    *_, last = Command(url_of("dashboard"), tmp_path).json("watch", job)
    assert last["type"] == "job.completed"
    for node in stack.redis.nodes:
        denied = [dict(zip(e[::2], e[1::2])) for e in node.ask("ACL", "LOG")]
        assert {entry["username"] for entry in denied} <= {"dashboard"}, denied
