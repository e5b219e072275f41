"""A fleet of several partitions: where jobs go, who takes them, who agrees."""

import binascii
import json

import msgpack
import pytest
from command import Command
from gateway import Gateway
from servers import Process, binary, wait_until
from stack import Stack, job_id

PARTITIONS = 4
TENANTS = ("default", "acme", "bolt", "core", "dune", "echo", "fern", "gale", "iris")


def partition_of(tenant):
    return binascii.crc_hqx(tenant.encode(), 0) % PARTITIONS


def elsewhere(tenant):
    """A tenant of another partition."""
    return next(t for t in TENANTS if partition_of(t) != partition_of(tenant))


@pytest.fixture
def stack():
    with Stack(executor=False, partitions=PARTITIONS, lease="1s") as stack:
        yield stack


@pytest.fixture
def quern(stack, tmp_path):
    return Command(stack.redis.url, tmp_path)


def test_the_gateway_lists_the_jobs_of_all_partitions(stack, quern):
    ids = {submit(quern, tenant=tenant) for tenant in TENANTS}
    found, cursor = set(), ""
    with Gateway(stack.redis.url) as gateway:
        gateway.ready()
        for _ in range(100):
            page = gateway.json("GET", f"/v1/jobs?tenant=*&limit=1&cursor={cursor}")[1]
            found |= {row["id"] for row in page["jobs"]}
            if not (cursor := page.get("next")):
                break
        gateway.drain()
    assert found == ids


def submit(quern, prompt="hello", **options):
    words = [x for name, value in options.items() for x in (f"--{name}", value)]
    return quern("submit", prompt, *words).split()[0]


def submit_bytes(stack, tenant):
    """As any service does it: the tenant's partition, an id of it, FCALL."""
    partition = f"{partition_of(tenant):03x}"
    id = job_id()
    id = f"{id[:15]}{partition}{id[18:]}"
    body = msgpack.packb({"v": 1, "id": id, "prompt": "x", "tenant": tenant})
    words = ["id", id, "job", body, "tenant", tenant]
    root = f"quern:{{{partition}}}:"
    stack.db.execute_command("FCALL", "quern_v1_submit", 1, root, *words)
    return id


def ended(stack, jobs):
    """How many of them."""
    return sum(stack.db.exists(f"quern:{{{job[15:18]}}}:result:{job}") for job in jobs)


def test_the_tenants_of_the_tests_are_in_all_of_them():
    assert {partition_of(tenant) for tenant in TENANTS} == set(range(PARTITIONS))


def test_jobs_are_where_their_tenant_is_and_all_are_done(stack, quern):
    stack.consumer()
    jobs = {submit(quern, tenant=tenant): tenant for tenant in TENANTS * 3}
    for job, tenant in jobs.items():
        assert int(job[15:18], 16) == partition_of(tenant)
        [result] = quern.json("wait", job)
        assert result["state"] == "completed"
        assert quern.json("get", job)[0]["state"] == "completed"
    assert stack.db.dbsize() > 0
    roots = {key.split(b"}")[0] for key in stack.db.scan_iter("quern:{*")}
    assert len(roots - {b"quern:{quern:fleet"}) == PARTITIONS


def test_jobs_from_before_the_first_consumer_are_done(stack, quern):
    """They are in the first partition: there was no other yet."""
    job = submit(quern, tenant="acme")
    assert job[15:18] == "000"
    stack.consumer()
    assert quern.json("wait", job)[0]["state"] == "completed"


def test_what_a_job_names_is_beside_it(stack, quern, tmp_path):
    tenant = next(t for t in TENANTS if partition_of(t) == 2)
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    stack.consumer()
    job = submit(quern, tenant=tenant, file="data.csv")
    [blob] = stack.db.scan_iter("quern:{*}:blob:*")
    assert blob.startswith(b"quern:{002}:")
    assert quern.json("wait", job)[0]["state"] == "completed"


def test_a_consumer_of_another_mind_does_not_start(stack):
    stack.consumer()
    env = {"REDIS_URL": stack.redis.url, "QUERN_PARTITIONS": "8"}
    with Process([binary("quern-consumer")], env=env) as other:
        assert other.wait() == 69
        said = other.text()
    assert "QUERN_PARTITIONS is 8 here, but the fleet has 4" in said
    assert stack.db.hget("quern:fleet", "partitions") == b"4"


@pytest.mark.parametrize("number", ["0", "257", "x", ""])
def test_a_number_that_is_none_is_refused(stack, number):
    stack.db.hset("quern:fleet", "partitions", number)
    env = {"REDIS_URL": stack.redis.url}
    with Process([binary("quern-consumer")], env=env) as consumer:
        assert consumer.wait() == 69
        assert f'there are "{number}" partitions' in consumer.text()


def test_one_who_does_not_say_takes_what_is_there(stack, quern):
    stack.consumer()
    other = stack.consumer(partitions=0)
    assert json.loads(other.wait_for('"ready"'))["partitions"] == PARTITIONS


def test_one_partition_is_what_a_new_fleet_has():
    with Stack(executor=False) as stack:
        stack.consumer()
        assert stack.db.hget("quern:fleet", "partitions") == b"1"


def test_what_somebody_deleted_is_said_again(stack, quern):
    stack.consumer()
    stack.db.delete("quern:fleet")
    key = "quern:fleet"
    wait_until(lambda: stack.db.hget(key, "partitions") == b"4", what="it is back")


def test_an_id_of_another_partition_is_refused(stack, quern):
    stack.consumer()
    job = submit(quern, tenant="acme")
    body = {"v": 1, "id": job, "prompt": "x", "tenant": elsewhere("acme")}
    text = quern("submit", "--job", "-", stdin=json.dumps(body), code=65)
    assert "take an id of quern_id_new()" in text


def test_a_flood_of_one_tenant_leaves_room_for_the_others(stack, quern):
    """Two slots, forty slow jobs of one partition; others do not wait for all of
    them, although theirs are younger."""
    stack.model.script([{"text": "slow", "delay_ms": 150}])
    flood = [submit_bytes(stack, "acme") for _ in range(40)]
    stack.consumer(slots=2)
    wait_until(lambda: ended(stack, flood) >= 2, what="the flood runs")
    others = [t for t in TENANTS if partition_of(t) != partition_of("acme")]
    for tenant in others:
        quern("wait", submit(quern, tenant=tenant))
    assert ended(stack, flood) < len(flood)
    wait_until(lambda: ended(stack, flood) == len(flood), 60, "all are done")
