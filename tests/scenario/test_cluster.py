"""Three masters and their replicas: jobs of all partitions are done, wherever
those are, whatever becomes of the node that has them."""

import binascii
import json
import signal
import time

import msgpack
import pytest
from command import Command
from gateway import Gateway, bearer
from servers import (
    Process,
    RedisCluster,
    RedisServer,
    binary,
    free_ports,
    wait_until,
)
from stack import Stack
from watcher import Watcher

PARTITIONS = 8
REMOVED = "quern:{quern:fleet}:keys_removed"
TENANTS = ("default", "acme", "bolt", "core", "dune", "echo", "fern", "gale")


@pytest.fixture(scope="module")
def cluster():
    with RedisCluster(replicas=True) as cluster:
        yield cluster


@pytest.fixture
def stack(cluster):
    """Its consumers are of this test, its Redis of all."""
    stack = Stack(executor=False, server=Lent(cluster), partitions=PARTITIONS)
    with stack:
        yield stack


class Lent:
    """A server that a stack must not end."""

    def __init__(self, server):
        self.server = server

    def __getattr__(self, name):
        return getattr(self.server, name)

    def stop(self):
        pass


@pytest.fixture
def quern(cluster, tmp_path):
    return Command(cluster.url, tmp_path)


def subscriptions(cluster):
    """How often somebody has subscribed at its nodes."""
    told = [node.ask("INFO", "COMMANDSTATS") for node in cluster.nodes]
    return sum(one.get("cmdstat_ssubscribe", {"calls": 0})["calls"] for one in told)


def listeners(cluster, channel):
    return sum(node.ask("PUBSUB", "SHARDNUMSUB", channel)[1] for node in cluster.nodes)


def follow(cluster, watcher, jobs):
    """Until all of them are subscribed to."""
    for job in jobs:
        watcher.follow(job)
    channels = [f"quern:{{{job[15:18]}}}:events:{job}" for job in jobs]
    wait_until(lambda: all(listeners(cluster, channel) for channel in channels))


def key_of(tenant):
    return f"{{{binascii.crc_hqx(tenant.encode(), 0) % PARTITIONS:03x}}}"


def submit(quern, tenant, prompt="hello"):
    return quern("submit", prompt, "--tenant", tenant).split()[0]


def done(quern, job):
    [result] = quern.json("wait", job, "--timeout", "60s")
    assert result["state"] == "completed", result
    *events, last = quern.json("watch", job)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["type"] == "job.completed" and last["type"] == "result"


def test_partitions_are_on_all_masters_and_all_jobs_are_done(cluster, stack, quern):
    assert len({cluster.master(key_of(tenant)).port for tenant in TENANTS}) == 3
    stack.consumer()
    for job in [submit(quern, tenant) for tenant in TENANTS]:
        done(quern, job)


def test_many_jobs_at_once_are_each_where_their_tenant_is(stack, quern):
    stack.consumer()
    tenants = TENANTS * 100
    lines = [json.dumps({"prompt": "x", "tenant": tenant}) for tenant in tenants]
    jobs = quern("submit", "--jobs", "-", stdin="\n".join(lines)).split()
    assert len(set(jobs)) == len(tenants)
    assert [f"{{{job[15:18]}}}" for job in jobs] == [key_of(t) for t in tenants]
    done(quern, jobs[0])
    done(quern, jobs[-1])


def test_one_node_is_enough_to_find_the_others(cluster, stack, tmp_path):
    gone = f"redis+cluster://127.0.0.1:1,127.0.0.1:{cluster.nodes[2].port}"
    stack.consumer(redis_url=gone)
    quern = Command(gone, tmp_path)
    for tenant in TENANTS:
        done(quern, submit(quern, tenant))


def test_a_slot_moves_while_jobs_run(cluster, stack, quern):
    """ASK is waited out, MOVED followed; no job is lost or ends twice."""
    stack.model.script([{"text": "slow", "delay_ms": 300}])
    stack.consumer(lease="1m")
    jobs = [submit(quern, "default") for _ in range(20)]
    source = cluster.master(key_of("default"))
    to = next(
        n for n in cluster.nodes if n.info("role") == "master" and n is not source
    )
    late = []

    def meanwhile():
        late.append(quern.start("submit", "late", "--tenant", "default"))
        time.sleep(1)

    cluster.move(key_of("default"), to, meanwhile)
    assert cluster.master(key_of("default")) is to
    out, err = late[0].communicate(timeout=60)
    assert late[0].returncode == 0, err
    for job in [*jobs, out.split()[0]]:
        done(quern, job)


def test_a_master_dies_and_its_replica_goes_on(cluster, stack, quern):
    """Jobs that waited, one that ran, and new ones."""
    stack.model.script([{"text": "slow", "delay_ms": 1500}])
    stack.consumer(slots=4)
    tenant = TENANTS[1]
    jobs = [submit(quern, tenant) for _ in range(8)]
    master = cluster.master(key_of(tenant))
    wait_until(lambda: stack.model.counts()["open"] > 0, what="one runs")
    wait_until(lambda: in_step(master), what="the replica has it all")
    master.kill()
    jobs.append(submit(quern, tenant))
    for job in jobs:
        done(quern, job)
    assert cluster.master(key_of(tenant)) is not master
    master.start()
    master.wait_in_step()


def in_step(master):
    facts = master.ask("INFO", "REPLICATION")
    return facts["slave0"]["offset"] == facts["master_repl_offset"]


def test_a_command_may_wait_for_the_failover(cluster, stack, quern):
    """Nobody has the slot for a while: the command waits, and says nothing."""
    stack.consumer()
    tenant = TENANTS[2]
    done(quern, submit(quern, tenant))
    master = cluster.master(key_of(tenant))
    wait_until(lambda: in_step(master), what="the replica has it all")
    master.kill()
    done(quern, submit(quern, tenant))
    master.start()
    master.wait_in_step()


def test_durable_is_a_matter_of_each_master(cluster, stack, quern):
    """One has lost its replica: only what is there waits."""
    consumer = stack.consumer(durability="replica:1")
    quern.env["QUERN_DURABILITY"] = "replica:1"
    [tenant, other] = [TENANTS[3], elsewhere(cluster, TENANTS[3])]
    done(quern, submit(quern, tenant))
    master = cluster.master(key_of(tenant))
    replica = next(n for n in cluster.nodes if follows(n, master))
    replica.kill()
    told = quern("submit", "x", "--tenant", tenant, "--key", "k", code=75)
    assert "0 of 1 replicas" in told
    consumer.wait_for('"durability.late"')
    done(quern, submit(quern, other))
    replica.start()
    replica.wait_in_step()
    job = quern("submit", "x", "--tenant", tenant, "--key", "k").split()[0]
    assert f"job {job} may stand" in told
    done(quern, job)


def elsewhere(cluster, tenant):
    """A tenant of another master."""
    here = cluster.master(key_of(tenant))
    return next(t for t in TENANTS if cluster.master(key_of(t)) is not here)


def follows(node, master):
    return node.info("role") == "slave" and node.info("master_port") == master.port


def test_the_doctor_looks_at_all_masters_and_counts_all_partitions(
    cluster, stack, quern
):
    consumer = stack.consumer()
    for tenant in TENANTS:
        done(quern, submit(quern, tenant))
    consumer.signal(signal.SIGTSTP)
    consumer.wait_for('"quiet"')
    jobs = [submit(quern, tenant) for tenant in TENANTS]
    lines = [json.loads(x) for x in quern.run("doctor", "--json")[0].splitlines()]
    for check in ("redis", "role", "eviction", "library"):
        said = {x["text"].split(": ")[0] for x in lines if x["check"] == check}
        assert said == {f"127.0.0.1:{node.port}" for node in used(cluster)}, lines
    [found] = [x["text"] for x in lines if x["check"] == "consumers"]
    assert found.startswith("1 ") and f"{len(jobs)} jobs wait or run" in found
    for job in jobs:
        quern("cancel", job)


def used(cluster):
    """Masters of partitions."""
    keys = [f"{{{number:03x}}}" for number in range(PARTITIONS)]
    return {cluster.master(key) for key in keys}


def refused(url):
    with Process([binary("quern-consumer")], env={"REDIS_URL": url}) as consumer:
        assert consumer.wait() == 69
        return consumer.text()


def test_a_cluster_called_a_server_is_told(cluster, tmp_path):
    says = "the URL of a cluster begins with redis+cluster://"
    key = "quern:fleet"
    other = next(n for n in cluster.nodes[:3] if n is not cluster.master(key))
    url = f"redis://127.0.0.1:{other.port}"
    assert says in refused(url)
    stray = next(t for t in TENANTS if cluster.master(key_of(t)) is not other)
    assert says in Command(url, tmp_path)("submit", "x", "--tenant", stray, code=69)


def test_a_server_called_a_cluster_is_told(tmp_path):
    [port] = free_ports(1)
    with RedisServer(port=port) as server:
        url = f"redis+cluster://127.0.0.1:{server.port}"
        assert "cluster support disabled" in refused(url)
        said = Command(url, tmp_path)("submit", "x", code=69)
        assert "cluster support disabled" in said


def test_a_password_is_that_of_all_nodes(tmp_path):
    with RedisCluster(requirepass="s3cret") as cluster:
        with Stack(executor=False, server=cluster, partitions=3) as stack:
            stack.consumer()
            quern = Command(cluster.url, tmp_path)
            for tenant in TENANTS:
                done(quern, submit(quern, tenant))


def is_told(watcher, cluster, jobs):
    """Each job's events as its stream has them, and no gap."""
    for job in jobs:
        root = f"quern:{{{job[15:18]}}}:"
        with cluster.master(root).client() as client:
            kept = client.xrange(f"{root}events:{job}")
        assert watcher.events[job] == [fields[b"event"] for _, fields in kept]
        assert job in watcher.ended and not watcher.gaps[job]


def calls(node, command):
    with node.client() as client:
        stats = client.info("commandstats")
    return stats.get(f"cmdstat_{command}", {"calls": 0})["calls"]


def test_one_watch_follows_jobs_of_all_nodes(cluster, stack, quern):
    """Each event is published at one node, so the watch listens at all."""
    before = {n.port: calls(n, "publish") for n in cluster.nodes}
    sharded = sum(calls(node, "spublish") for node in cluster.nodes)
    with Watcher(cluster.url) as watcher:
        jobs = [submit(quern, tenant) for tenant in TENANTS]
        for job in jobs:
            watcher.follow(job)
        stack.consumer()
        assert watcher.end(60) == 0
    is_told(watcher, cluster, jobs)
    assert {n.port: calls(n, "publish") for n in cluster.nodes} == before
    events = sum(len(watcher.events[job]) for job in jobs)
    # A replica repeats what its master publishes.
    assert sum(calls(n, "spublish") for n in cluster.nodes) - sharded >= events


def test_an_event_comes_at_once(cluster, stack, quern):
    """Not by the stream, which is read after five seconds without an event."""
    with Watcher(cluster.url) as watcher:
        jobs = [submit(quern, tenant) for tenant in TENANTS]
        follow(cluster, watcher, jobs)
        began = time.monotonic()
        for job in jobs:
            quern("cancel", job)
        assert watcher.end(60) == 0
        assert time.monotonic() - began < 4
    is_told(watcher, cluster, jobs)


def test_a_function_of_an_older_build_is_heard(cluster, stack, quern):
    """It publishes to every node."""
    jobs = [submit(quern, tenant) for tenant in TENANTS]
    with Watcher(cluster.url) as watcher:
        follow(cluster, watcher, jobs)
        began = time.monotonic()
        for job in jobs:
            root = f"quern:{{{job[15:18]}}}:"
            event = {"v": 1, "seq": 1, "at": 1, "attempt": 0, "type": "x", "data": {}}
            with cluster.nodes[0].client() as client:
                client.publish(f"{root}events:{job}", msgpack.packb(event))
        watcher.wait_for(lambda: all(watcher.events[job] for job in jobs), 4)
        assert time.monotonic() - began < 4
    for job in jobs:
        quern("cancel", job)


def test_a_cancel_reaches_the_consumer_at_once(cluster, stack, quern):
    """Not by the next beat, a third of a lease later."""
    stack.model.script([{"text": "slow", "delay_ms": 20000}])
    stack.consumer(lease="1m")
    jobs = [submit(quern, tenant) for tenant in TENANTS[:4]]
    wait_until(lambda: stack.model.counts()["open"] == 4, what="they run")
    began = time.monotonic()
    for job in jobs:
        quern("cancel", job)
    for job in jobs:
        out, _, _ = quern.run("wait", job, "--json")
        assert json.loads(out)["state"] == "cancelled"
    assert time.monotonic() - began < 8


def test_a_job_is_dropped_and_followed_again(cluster, quern):
    """The end of its first subscription is not taken for a slot that moves."""
    jobs = [submit(quern, tenant) for tenant in TENANTS]
    with Watcher(cluster.url) as watcher:
        follow(cluster, watcher, jobs)
        before = subscriptions(cluster)
        for job in jobs:
            watcher.say(f"drop {job}\n{job}")
        wait_until(lambda: subscriptions(cluster) >= before + len(jobs))
        for job in jobs:
            quern("cancel", job)
        assert watcher.end(60) == 0
        assert watcher.ended == set(jobs)
        assert watcher.away == 0


def test_a_slot_moves_while_jobs_are_followed(cluster, stack, quern):
    """The node ends the subscriptions; those of other slots go on."""
    stack.model.script([{"text": "one two three four", "delay_ms": 300}])
    with Watcher(cluster.url) as watcher:
        jobs = [submit(quern, t) for t in ("default", "acme") for _ in range(20)]
        for job in jobs:
            watcher.follow(job)
        stack.consumer(lease="1m", slots=4)
        source = cluster.master(key_of("default"))
        to = next(
            n for n in cluster.nodes if n.info("role") == "master" and n is not source
        )
        cluster.move(key_of("default"), to, lambda: time.sleep(1))
        assert watcher.end(60) == 0
    is_told(watcher, cluster, jobs)


def test_a_master_dies_while_its_jobs_are_followed(cluster, stack, quern):
    stack.model.script([{"text": "slow", "delay_ms": 500}])
    tenant = TENANTS[3]
    with Watcher(cluster.url) as watcher:
        jobs = [submit(quern, t) for t in (tenant, "acme") for _ in range(8)]
        for job in jobs:
            watcher.follow(job)
        stack.consumer(slots=4)
        master = cluster.master(key_of(tenant))
        wait_until(lambda: stack.model.counts()["open"] > 0, what="one runs")
        wait_until(lambda: in_step(master), what="the replica has it all")
        master.kill()
        assert watcher.end(90) == 0
    others = lambda: [n for n in cluster.masters(key_of(tenant)) if n is not master]
    wait_until(others, what="another master")
    master.start()
    master.wait_in_step()
    assert set(jobs) == watcher.ended
    for job in jobs:
        lost = {n for first, last, _ in watcher.gaps[job] for n in range(first, last + 1)}
        seqs = watcher.seqs(job)
        # What the failover has lost is a gap, and comes anew.
        assert lost or seqs == list(range(1, len(seqs) + 1)), (seqs, lost)


def test_all_gateways_hear_of_a_removed_key(cluster, stack, quern):
    """It is published in the slot of the fleet's keys alone."""
    settings = {"open": None, "key_cache_time": "10m"}
    with Gateway(cluster.url, **settings) as one, Gateway(cluster.url, **settings) as two:
        gateways = [one.ready(), two.ready()]
        key = quern("key", "add", "--tenant", "ann").strip()

        def seen():
            return {gateway.call("GET", "/v1/jobs", **bearer(key))[0] for gateway in gateways}

        wait_until(lambda: seen() == {200})
        wait_until(lambda: listeners(cluster, REMOVED) == 2)
        assert seen() == {200}
        [row] = quern.json("key", "ls", "--tenant", "ann")
        quern("key", "rm", row["key"], "-y")
        wait_until(lambda: seen() == {401}, 5)
        one.drain()
        two.drain()


def test_limits_of_keys_hold_for_tenants_of_all_partitions(cluster, stack, quern):
    """What a key uses is in the fleet's slot, its jobs are in their tenant's."""
    with Gateway(cluster.url, open=None) as gateway:
        gateway.ready()
        for tenant in TENANTS:
            words = ("--tenant", tenant, "--jobs", "1", "--cost", "1")
            key = quern("key", "add", *words).strip()
            job = ("POST", "/v1/jobs", {"prompt": "x", "queue": "nobody"})
            status, answer = gateway.json(*job, **bearer(key))
            assert status == 201, answer
            assert gateway.json(*job, **bearer(key))[0] == 429
            quern("cancel", answer["id"])
            assert gateway.json(*job, **bearer(key))[0] == 201
        gateway.drain()
