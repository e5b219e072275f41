"""Redis as services rent it out: every row of the table in deploy/REDIS.md.

A real redis-server plays each service: its users may call everything but what the
service refuses, commands that a service does not have are renamed away, and where
the service is a Cluster, so is the server. What cannot be played so (a proxy, a
lock), the table says.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from gateway import Gateway
from servers import BUILD, PATIENCE_S, Process, RedisServer
from servers import binary, die_with_parent, free_ports, wait_until
from stack import ROOT, Stack

PAGE = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "REDIS.md"

# Of a server that somebody else runs: its settings, users and processes.
OTHERS = "-config -acl|setuser -acl|deluser -acl|load -acl|save -acl|list -acl|getuser"
OTHERS += " -debug -bgsave -save -bgrewriteaof -shutdown -replicaof -slaveof -sync -psync"
OTHERS += " -migrate -module -failover -cluster|addslots -cluster|setslot -cluster|meet"
NO_ACL = "-acl -config"


class Service:
    """What a service refuses (rules of an ACL), has not at all, and is."""

    def __init__(self, *refuses, cluster=False, lacks=(), preloaded=False):
        self.rules = " ".join(refuses).split()
        self.cluster, self.lacks, self.preloaded = cluster, lacks, preloaded


SERVICES = {
    "Amazon ElastiCache": Service(OTHERS, cluster=True),
    "Amazon ElastiCache Serverless": Service(
        OTHERS, "-acl -client|list -client|kill -client|id -client|unblock -wait -latency",
        "-memory -slowlog -monitor", cluster=True
    ),
    "Amazon MemoryDB": Service(OTHERS, "-wait", cluster=True),
    "Google Memorystore for Valkey": Service(
        "-@admin -@dangerous +info +client|setname +client|id +client|unblock +cluster|slots +role",
        cluster=True,
    ),
    "Redis Cloud": Service(OTHERS, "-wait"),
    "Azure Managed Redis": Service(OTHERS, "-wait"),
    "Azure Cache for Redis": Service(OTHERS, lacks=["FUNCTION", "FCALL", "FCALL_RO"]),
    "OCI Cache": Service(NO_ACL, "-cluster"),
    "OCI Cache, sharded": Service(
        NO_ACL, lacks=["FUNCTION", "FCALL", "FCALL_RO", "EVAL"], cluster=True
    ),
    "Dragonfly": Service("-config", lacks=["FUNCTION", "FCALL", "FCALL_RO"]),
    "Garnet": Service("-config", lacks=["FUNCTION", "FCALL", "FCALL_RO"]),
    "a strict administrator": Service(
        OTHERS, "-acl -info -client -wait -role -scan -function +fcall", preloaded=True
    ),
}


def rows():
    """(service, functions, played) of the table."""
    table = re.search(r"\| service \|.*?\n\n", PAGE.read_text(), re.S)[0]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in table.split("\n")]
    return [row for row in cells[2:] if len(row) > 1]


def test_each_row_of_the_table_is_played_or_says_that_it_is_not():
    named = {row[0] for row in rows()}
    unplayed = {row[0] for row in rows() if "not played" in row[-1]}
    assert named - unplayed == set(SERVICES) and unplayed


class Rented:
    """A server that plays the service; user "guest" is its customer."""

    def __init__(self, service, folder):
        port, bus = free_ports(2)
        renamed = folder / "renamed.conf"
        renamed.write_text("".join(f'rename-command {w} ""\n' for w in service.lacks))
        given = {"include": renamed}
        if service.cluster:
            given |= {"cluster_enabled": "yes", "cluster_port": bus}
        self.server = RedisServer(port=port, aof=True, **given)
        self.service, self.port = service, port
        owner = self.server.client()
        if service.cluster:
            owner.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            wait_until(lambda: "cluster_state:ok" in self.server.ask("CLUSTER", "INFO"))
        if service.preloaded:
            library = pathlib.Path(BUILD, "schemas/redis/library.lua").read_text()
            owner.function_load(library)
        rules = ["on", ">pw", "~*", "&*", "+@all", *service.rules]
        owner.execute_command("ACL", "SETUSER", "guest", *rules)
        kind = "redis+cluster" if service.cluster else "redis"
        self.url = f"{kind}://guest:pw@127.0.0.1:{port}"
        self.db = owner
        # Beside it is no executor, whose walls doctor would try.
        self.program = shutil.copy(binary("quern"), folder / "quern")

    def quern(self, *words):
        return subprocess.run(
            [self.program, *words],
            env={
                "PATH": os.environ["PATH"],
                "HOME": "/nowhere",
                "REDIS_URL": self.url,
                "CONFIGURATION_DIRECTORY": "/nowhere",
                "QUERN_EXECUTOR": "/nowhere/executor.sock",
            },
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            preexec_fn=die_with_parent,
        )

    def doctor(self):
        done = self.quern("doctor", "--json")
        found = [json.loads(line) for line in done.stdout.splitlines()]
        # What is found on this host is no matter of Redis.
        host = ("executor", "model", "disk", "limits")
        return [one for one in found if one["check"] not in host]


@pytest.fixture
def rented(request, tmp_path):
    made = Rented(SERVICES[request.param], tmp_path)
    yield made
    made.server.stop()


def of(has_functions):
    names = [n for n, s in SERVICES.items() if ("FCALL" not in s.lacks) == has_functions]
    return pytest.mark.parametrize("rented", names, indirect=True, ids=names)


def without_loading(stack):
    """What a Stack does for others: as if nobody had loaded the functions."""
    stack.db.function_flush()


def answer_of(gateway, *asked):
    """Once it has connected."""
    status, answer = gateway.json(*asked)
    while status == 503 and answer["error"]["code"] == "redis_unavailable":
        status, answer = gateway.json(*asked)
    assert status < 300, answer
    return answer


@of(has_functions=True)
def test_jobs_run_and_what_cannot_be_seen_is_no_fault(rented):
    with Stack(executor=False, server=rented.server) as stack:
        if not rented.service.preloaded:
            without_loading(stack)
        consumer = stack.consumer(name="w", redis_url=rented.url)
        ran = rented.quern("run", "hello", "--json")
        assert ran.returncode == 0 and '"completed"' in ran.stdout, ran
        wait_until(lambda: stack.db.exists(f"{ROOT}worker:w"))
        assert rented.quern("queue", "ls").returncode == 0
        assert "w" in rented.quern("worker", "ls").stdout
        # A job is cancelled while the consumer waits for its model.
        stack.model.script([{"text": "late", "delay_ms": 600000}])
        job = stack.submit(prompt="x")
        wait_until(lambda: stack.state(job) == "in_progress")
        assert rented.quern("cancel", job).returncode == 0
        assert stack.result(job)["status"] == "cancelled"
        stack.model.script([])
        with Gateway(rented.url) as gateway:
            assert answer_of(gateway, "POST", "/v1/jobs", {"prompt": "x"})["id"]
            assert answer_of(gateway, "GET", "/v1/jobs")["jobs"]
        found = rented.doctor()
        assert [one for one in found if one["level"] == "fault"] == [], found
        assert {"redis", "library", "queues"} <= {one["check"] for one in found}
        for one in found:
            if one["level"] == "warning":
                assert one["check"] in ("login",), one
            assert one["level"] == "unseen" or "permission" not in one["text"], one
        assert '"internal"' not in consumer.text()


@of(has_functions=False)
def test_a_service_without_functions_is_named_in_one_sentence(rented):
    said = "this Redis has no functions (FUNCTION LOAD, FCALL), which quern needs"
    ran = rented.quern("submit", "x")
    assert ran.returncode == 69 and said in ran.stderr, ran
    assert "Azure Cache for Redis, OCI Cache with shards, Dragonfly and Garnet" in ran.stderr
    [library] = [one for one in rented.doctor() if one["check"] == "library"]
    assert library["level"] == "fault" and said in library["text"]
    assert "deploy/REDIS.md" in library["remedy"]
    env = {"REDIS_URL": rented.url}
    consumer = Process([binary("quern-consumer")], env=env).start()
    try:
        assert consumer.wait() == 69
        assert said in consumer.text()
    finally:
        consumer.kill()


@pytest.mark.parametrize("rented", ["a strict administrator"], indirect=True)
def test_functions_that_are_older_and_may_not_be_loaded(rented):
    """The sentence names the right, and what an administrator does."""
    library = pathlib.Path(BUILD, "schemas/redis/library.lua").read_text()
    older = re.sub(r"local BUILD = (\d+)", lambda m: f"local BUILD = {int(m[1]) - 1}", library)
    rented.db.function_load(older, replace=True)
    consumer = Process([binary("quern-consumer")], env={"REDIS_URL": rented.url}).start()
    try:
        assert consumer.wait() == 69
        assert "function|load" in consumer.text() and "deploy/REDIS.md" in consumer.text()
    finally:
        consumer.kill()


@pytest.mark.parametrize("rented", ["Redis Cloud"], indirect=True)
def test_durability_replica_where_there_is_no_wait(rented):
    with Stack(executor=False, server=rented.server):
        ran = rented.quern("submit", "x", "--durability", "replica:1")
    assert ran.returncode != 0
    assert "durability replica needs WAIT" in ran.stderr and "async or fsync" in ran.stderr
