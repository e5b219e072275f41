"""Producers submit many jobs in few calls, where the server takes them so."""

import json

import pytest

from command import Command
from library import LIBRARY
from servers import RedisServer

JOBS = 200
CALLS = 40  # less than that: they went together
PLAIN = "default +@all -fcall +fcall|quern_v1_build +fcall|quern_v1_submit".split()


def today():
    with open(LIBRARY, encoding="utf-8") as source:
        return source.read()


def older():
    """A library that has not heard of batches, and says so by its build."""
    source = today().replace('register("submit_many", submit_many, {})', "")
    source, _, rest = source.partition("local BUILD = ")
    assert rest and "quern_v1_submit_many" not in source
    return f"{source}local BUILD = 17{rest[rest.index(' '):]}"


def load(client, source):
    client.function_load(source, replace=True)


# What stands on the server: jobs go together, and its build afterwards is ours.
SERVERS = {
    "the library of today": (lambda c: load(c, today()), True, True),
    "an older library, which stays": (lambda c: load(c, older()), False, False),
    "no library: ours is loaded": (lambda c: None, True, True),
    "a user who may only submit": (
        lambda c: (load(c, today()), c.execute_command("ACL", "SETUSER", *PLAIN)),
        False,
        True,
    ),
}


@pytest.mark.parametrize("name", SERVERS)
def test_jobs_go_together_where_they_may(name, tmp_path):
    prepare, together, is_ours = SERVERS[name]
    lines = [json.dumps({"prompt": f"job {number}"}) for number in range(JOBS)]
    lines[77] = '{"prompt": 7}'
    with RedisServer() as server:
        client = server.client()
        prepare(client)
        client.config_resetstat()
        quern = Command(server.url, tmp_path)
        out, err, _ = quern.run("submit", "--jobs", "-", stdin="\n".join(lines))
        calls = client.info("commandstats")["cmdstat_fcall"]["calls"]
        assert (calls < CALLS) == together, f"{calls} calls"
        ids = out.split()
        assert len(set(ids)) == JOBS - 1 and "prompt" in err
        bodies = [client.hexists(f"quern:{{000}}:job:{id}", "state") for id in ids]
        assert all(bodies)
        build = client.execute_command("FCALL", "quern_v1_build", 1, "{000}:")
        assert (build > 17) == is_ours
