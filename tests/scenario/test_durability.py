"""A write counts when replicas, or the disk, have it: what is not safe is told,
may be done again, and is then there once."""

import json

import pytest
from command import Command
from held_redis import HeldRedis
from servers import Process, RedisServer, binary, free_ports, wait_until
from stack import ROOT, Stack

JOBS = f"{ROOT}job:*"


def has_waitaof(server):
    with server.client() as client:
        client.response_callbacks.clear()
        return client.execute_command("COMMAND", "INFO", "WAITAOF") != [None]


@pytest.fixture
def pair():
    """A master, and a replica that has it all."""
    first, second = free_ports(2)
    with RedisServer(port=first) as master:
        with RedisServer(port=second) as replica:
            follow(replica, master.port)
            replica.wait_in_step()
            yield master, replica


def follow(replica, port):
    replica.ask("REPLICAOF", "127.0.0.1", port)


def jobs(server):
    with server.client(decode_responses=True) as client:
        return [key.removeprefix(f"{ROOT}job:") for key in client.scan_iter(JOBS)]


def test_a_write_waits_for_replicas(pair, tmp_path):
    """By option and by variable; the replica has it when the command is done."""
    master, replica = pair
    quern = Command(master.url, tmp_path)
    id = quern("submit", "x").split()[0]
    assert waits(master) == 0
    id = quern("submit", "x", "--durability", "replica:1").split()[0]
    assert id in jobs(replica)
    assert waits(master) == 2  # one asks whether the server can
    quern("cancel", id, QUERN_DURABILITY="replica:1")
    assert replica.ask("HGET", f"{ROOT}job:{id}", "state") == "cancelled"
    quern("get", id, QUERN_DURABILITY="replica:1", code=1)  # reads do not wait
    assert waits(master) == 4


def waits(server):
    counts = server.ask("INFO", "COMMANDSTATS")
    return counts.get("cmdstat_wait", {"calls": 0})["calls"]


def test_keys_wait_for_replicas(pair, tmp_path):
    master, replica = pair
    quern = Command(master.url, tmp_path)
    quern.env["QUERN_DURABILITY"] = "replica:1"
    fleet = "quern:{quern:fleet}:keys"
    quern("key", "add")
    [id] = replica.ask("HKEYS", fleet)
    before = waits(master)
    quern("key", "rotate", id)
    assert waits(master) - before == 5  # one asks whether the server can
    assert len(replica.ask("HKEYS", fleet)) == 2
    quern("key", "rm", id, "--yes")
    assert id not in replica.ask("HKEYS", fleet)
    follow(replica, 1)
    assert "0 of 1 replicas" in quern("key", "add", code=75)
    assert len(quern("key", "ls", "--json").splitlines()) == 1


def test_many_ask_together(pair, tmp_path):
    """One question for all that leave together; without an answer to it none
    of them counts, and all may come again."""
    master, replica = pair
    quern = Command(master.url, tmp_path)
    quern("submit", "so that the library is there")
    lines = [{"prompt": "x", "idempotency_key": f"k{n}"} for n in range(600)]
    stdin = "\n".join(json.dumps(line) for line in lines)
    words = ["submit", "--jobs", "-", "--durability", "replica:1"]
    before = waits(master)
    ids = quern(*words, stdin=stdin).split()
    assert len(ids) == 600 and set(ids) <= set(jobs(replica))
    assert waits(master) - before < 20
    follow(replica, 1)
    stdin = stdin.replace('"k', '"l')
    out, err, code = quern.run(*words, stdin=stdin)
    assert code == 75 and "0 of 1 replicas" in err and not out.split()
    follow(replica, master.port)
    replica.wait_in_step()
    again = quern(*words, stdin=stdin).split()
    assert len(set(again)) == 600 and len(jobs(master)) == 1201
    assert set(again) <= set(jobs(replica))


def test_what_is_not_safe_is_told_and_made_sure_again(pair, tmp_path):
    """The replica lags; the master dies; the replica takes over without the
    job: who submits it again has it once."""
    master, replica = pair
    with HeldRedis(master.socket) as way:
        quern = Command(way.url, tmp_path)
        quern("get", "00000000-0000-7000-8000-000000000000", code=65)
        follow(replica, 1)
        words = ["submit", "x", "--key", "k", "--durability", "replica:1"]
        [error] = [quern(*words, code=75)]
        [id] = jobs(master)
        assert f"job {id} may stand" in error and "0 of 1 replicas" in error
        assert jobs(replica) == []
        master.kill()
        follow_nobody(replica)
        way.server = replica.socket
        again = quern("submit", "x", "--key", "k").split()[0]
        assert jobs(replica) == [again]
        assert quern("submit", "x", "--key", "k").split()[0] == again
        assert jobs(replica) == [again]


def follow_nobody(replica):
    replica.ask("REPLICAOF", "NO", "ONE")


def test_a_job_that_stands_is_not_made_twice(pair, tmp_path):
    """Told that it is not safe, though the replica gets it a little later."""
    master, replica = pair
    quern = Command(master.url, tmp_path)
    quern.env["QUERN_DURABILITY"] = "replica:2"
    error = quern("submit", "x", "--key", "k", code=75)
    assert "1 of 2 replicas" in error
    [id] = jobs(master)
    again = quern("submit", "x", "--key", "k", QUERN_DURABILITY="replica:1")
    assert again.split()[0] == id and jobs(replica) == [id]


def test_what_was_sent_and_not_answered_is_unknown(tmp_path):
    with RedisServer() as server, HeldRedis(server.socket) as way:
        quern = Command(way.url, tmp_path)
        quern("submit", "so that the library is there")
        server.ask("DEL", *[f"{ROOT}job:{id}" for id in jobs(server)])
        way.hold(b"quern_v1_submit")
        error = quern("submit", "x", "--key", "k", code=69)
        way.let_go()
        [id] = jobs(server)
        assert f"job {id} may stand" in error and "not answered" in error
        assert quern("submit", "x", "--key", "k").split()[0] == id


REFUSED = [
    ("CONFIG SET min-replicas-to-write 1", "NOREPLICAS"),
    ("REPLICAOF 127.0.0.1 1", "READONLY"),
]


@pytest.mark.parametrize("hurt, word", REFUSED)
def test_what_a_server_refuses_does_not_stand(tmp_path, hurt, word):
    """Before: "sent, but not answered", and the job may stand."""
    with RedisServer() as server:
        quern = Command(server.url, tmp_path)
        quern("queue", "ls")  # so that the library is there
        server.ask(*hurt.split())
        told = quern("submit", "x", "--json", code=69)
        error = json.loads(told)["error"]
        assert word in error["message"] and "may stand" not in error["message"]
        assert error["code"] == "redis_unavailable" and error["retryable"]
        assert jobs(server) == []


WRONG = ["replica", "replica:0", "replica:101", "replica:1x", "fsync:1", "sync"]


@pytest.mark.parametrize("word", WRONG)
def test_a_word_that_is_none_is_told(tmp_path, word):
    quern = Command("unix:///nowhere", tmp_path)
    error = quern("submit", "x", "--durability", word, code=64)
    assert f'"{word}", must be async, replica:N (1 to 100) or fsync' in error


def test_a_server_that_cannot_is_refused_before_it_has_a_job(tmp_path):
    with RedisServer() as server:
        quern = Command(server.url, tmp_path)
        error = quern("submit", "x", "--durability", "fsync", code=64)
        says = "appendonly yes" if has_waitaof(server) else "Redis 7.2 or later"
        assert says in error
        assert jobs(server) == []


def test_the_disk_has_it(tmp_path):
    """With appendfsync no nobody knows when."""
    with RedisServer(aof=True, appendfsync="always") as server:
        quern = Command(server.url, tmp_path)
        words = ["submit", "x", "--key", "k", "--durability", "fsync"]
        if not has_waitaof(server):
            assert "Redis 7.2 or later" in quern(*words, code=64)
            return
        id = quern(*words).split()[0]
        server.ask("CONFIG", "SET", "appendfsync", "no")
        error = quern("cancel", id, "--durability", "fsync", code=75)
        assert f"job {id} may stand" in error and "not yet on its disk" in error
        server.restart()
        assert jobs(server) == [id]


# ------------------------------------------------------------- the consumer


@pytest.fixture
def stack(pair):
    """Its Redis is the master of the pair."""
    with Stack(executor=False, server=pair[0], durability="replica:1") as stack:
        yield stack


def run_one(stack, consumer):
    assert stack.run(prompt="before")["status"] == "completed"
    consumer.wait_for('"job.finished"')  # and that is safe


def test_no_step_is_taken_before_the_last_one_is_safe(pair, stack):
    """The model is not asked while the replica lacks what says that it will
    be; leases are kept meanwhile."""
    master, replica = pair
    consumer = stack.consumer(lease="1500ms")
    run_one(stack, consumer)
    assert sorted(jobs(master)) == sorted(jobs(replica))
    follow(replica, 1)
    job = stack.submit(prompt="x")
    consumer.wait_for('"durability.late"')
    lease = stack.db.zscore(f"{ROOT}leases:default", job)
    wait_until(lambda: stack.db.zscore(f"{ROOT}leases:default", job) > lease + 3000)
    assert stack.model.counts()["total"] == 1
    assert stack.db.llen(f"{ROOT}journal:{job}") == 1
    follow(replica, master.port)
    result = stack.result(job)
    assert result["status"] == "completed" and result["attempts"] == 1
    assert stack.model.counts()["total"] == 2
    consumer.wait_for('"durability.reached"')


def test_what_was_not_told_is_sent_again(pair, stack):
    """The connection breaks while a write waits to be safe."""
    master, replica = pair
    consumer = stack.consumer()
    run_one(stack, consumer)
    follow(replica, 1)
    job = stack.submit(prompt="x")
    consumer.wait_for('"durability.late"')
    for client in stack.db.client_list():
        if client["name"] == "quern-consumer-ledger":
            stack.db.client_kill_filter(_id=client["id"])
    consumer.wait_for('"durability.lost"')
    follow(replica, master.port)
    result = stack.result(job)
    assert result["status"] == "completed" and result["attempts"] == 1
    stack.check_events(job)
    assert stack.model.counts()["total"] == 2


def test_one_question_is_about_many_writes(pair, stack):
    master, replica = pair
    consumer = stack.consumer(slots=30)
    run_one(stack, consumer)
    follow(replica, 1)
    before = waits(master)
    ids = [stack.submit(prompt="x") for _ in range(30)]
    keys = [f"{ROOT}journal:{id}" for id in ids]
    consumer.wait_for('"durability.late"')
    wait_until(lambda: stack.db.exists(*keys) == 30, what="all are written")
    assert waits(master) - before < 30
    follow(replica, master.port)
    for id in ids:
        assert stack.result(id)["status"] == "completed"


def test_a_consumer_of_a_server_that_cannot_does_not_start():
    with RedisServer() as server:
        env = {"REDIS_URL": server.url, "QUERN_DURABILITY": "fsync"}
        says = "appendonly yes" if has_waitaof(server) else "Redis 7.2 or later"
        with Process([binary("quern-consumer")], env=env) as consumer:
            assert consumer.wait() == 69
            assert says in consumer.text()


def test_jobs_run_where_the_disk_is_waited_for():
    with RedisServer(aof=True, appendfsync="always") as server:
        if not has_waitaof(server):
            return  # told above
        with Stack(executor=False, server=server, durability="fsync") as stack:
            stack.consumer()
            assert stack.run(prompt="x")["status"] == "completed"
            counts = server.ask("INFO", "COMMANDSTATS")
            assert counts["cmdstat_waitaof"]["calls"] >= 3


# --- quern doctor: whether the server can give what is asked for -----------------


def doctor(server, folder, asked):
    """(level, text) of what it says of durability."""
    words = ["doctor", "--json", "--durability", asked]
    out, err, _ = Command(server.url, folder).run(*words)
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines, err
    return [(x["level"], x["text"]) for x in lines if x["check"] == "durability"]


def replication(server):
    return server.ask("INFO", "REPLICATION")


def test_doctor_counts_the_replicas_that_follow(pair, tmp_path):
    master, replica = pair
    fine = ("ok", "replica:1; 1 of 1 connected replica is in sync")
    wait_until(lambda: replication(master)["slave0"]["state"] == "online")
    assert doctor(master, tmp_path, "replica:1") == [fine]
    ((level, text),) = doctor(master, tmp_path, "replica:2")
    assert level == "fault" and "1 of 1 connected" in text
    replica.ask("REPLICAOF", "NO", "ONE")
    wait_until(lambda: replication(master)["connected_slaves"] == 0)
    ((level, text),) = doctor(master, tmp_path, "replica:1")
    assert level == "fault" and "0 of 0 connected replicas are in sync" in text
    assert "fail with not_durable" in text
    assert doctor(master, tmp_path, "async") == []


def test_doctor_looks_whether_the_disk_can_be_waited_for(tmp_path):
    with RedisServer(aof=True) as server:
        if not has_waitaof(server):
            ((level, text),) = doctor(server, tmp_path, "fsync")
            assert (level, "WAITAOF" in text) == ("fault", True)
            return
        for name, value, level, said in [
            ("appendfsync", "everysec", "ok", "appendfsync everysec"),
            ("appendfsync", "no", "fault", "appendfsync no"),
            ("appendonly", "no", "fault", "needs an append-only file"),
        ]:
            server.ask("CONFIG", "SET", name, value)
            ((found, text),) = doctor(server, tmp_path, "fsync")
            assert (found, said in text) == (level, True), text
