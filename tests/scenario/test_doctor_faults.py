"""quern doctor finds each fault that is planted here, and none in a fleet that is
well.

Each fault is a function that makes it, and yields how doctor is to be called
(variables, or words before it). Its decorator says which check is to find it, in
which words, with which remedy.
"""

import collections
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
import types

import pytest
from authority import openssl
from executor_client import Executor
from gateway import Gateway
from relay import Relay, read, write
from servers import BUILD, PATIENCE_S, SOURCE, RedisCluster, RedisServer
from servers import binary, die_with_parent, free_ports, wait_until
from stack import ROOT, Stack
from test_doctor import FORBIDDEN, NO_LANDLOCK, needs_root

Fault = collections.namedtuple("Fault", "check said remedy plant root")
FAULTS = {}
NOWHERE = "/nowhere"
# A busy machine needs longer to try the walls than a person should wait.
PATIENT = ["--timeout", "2m"]


def fault(check, said, remedy, root=False):
    def note(plant):
        FAULTS[plant.__name__] = Fault(
            check, said, remedy, contextlib.contextmanager(plant), root
        )

    return note


def called(*by, url=None, words=(), **env):
    return types.SimpleNamespace(by=by, url=url, words=words, env=env)


def doctor(url, how):
    """All that it finds."""
    done = subprocess.run(
        [*how.by, binary("quern"), "doctor", "--json", *PATIENT, *how.words],
        env={
            "PATH": os.environ["PATH"],
            "HOME": NOWHERE,
            "REDIS_URL": how.url or url,
            "CONFIGURATION_DIRECTORY": NOWHERE,
            "QUERN_PROFILE": "bare",
            **how.env,
        },
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE_S,
        preexec_fn=die_with_parent,
    )
    assert done.returncode in (0, 69), done
    return [json.loads(line) for line in done.stdout.splitlines()]


class World:
    """What a plant may use: a stack, which begins when it is first asked for."""

    def __init__(self, folder, executor):
        self.folder, self.executor = folder, executor
        self.exit = contextlib.ExitStack()
        self.made = None

    @property
    def stack(self):
        if not self.made:
            aof = {"aof": True}
            self.made = self.exit.enter_context(Stack(executor=False, redis=aof))
        return self.made

    @property
    def db(self):
        return self.stack.db

    def settings(self, **lines):
        """A settings folder with these files."""
        for name, text in lines.items():
            (self.folder / name.replace("_conf", ".conf")).write_text(text)
        return {"CONFIGURATION_DIRECTORY": str(self.folder)}

    def consumer(self, name, **settings):
        """That has reported itself."""
        self.stack.consumer(name=name, **settings)
        wait_until(lambda: self.db.exists(f"{ROOT}worker:{name}"))
        key = f"{ROOT}worker:{name}"
        wait_until(lambda: self.db.hget(key, "executor_away") is not None)

    def report(self, name, **more):
        """What a consumer would say of itself, without one."""
        about = {"host": "h", "slots": 4, "running": 0, "queues": "default"}
        about |= {"mode": "serving", "executor": "none", "version": "0.1.0", **more}
        self.stack.call("report", name, 600000, *[x for pair in about.items() for x in pair])


# --- Redis


@fault("eviction", "maxmemory-policy is allkeys-lru: Redis may drop jobs", "noeviction")
def eviction(world):
    world.db.config_set("maxmemory", "1gb")
    world.db.config_set("maxmemory-policy", "allkeys-lru")
    yield called()


@fault("storage", "no append-only file", "CONFIG SET appendonly yes")
def no_append_only_file(world):
    world.db.config_set("appendonly", "no")
    yield called()


@fault("replay", 'the user "default", as which Redis reads its append-only file, may not write',
       "ACL SETUSER default off ~* &* +@all")
def a_default_user_without_rights(world):
    world.db.execute_command("ACL", "SETUSER", "root", "on", ">pw", "~*", "&*", "+@all")
    world.db.execute_command("ACL", "SETUSER", "default", "on", "nopass", "resetkeys", "+@all")
    yield called(url=world.stack.redis.url.replace("://", "://root:pw@"))
    root = world.stack.redis.client(username="root", password="pw")
    root.execute_command("ACL", "SETUSER", "default", "on", "nopass", "~*", "&*", "+@all")


@fault("memory", " of ", "raise maxmemory")
def memory_nearly_full(world):
    """Of much, so that what connections take and give back hardly counts."""
    world.db.setrange("much", 64 << 20, "x")
    used = world.db.info("memory")["used_memory"]
    world.db.config_set("maxmemory", used + used // 10)
    yield called()


@fault("clients", " connections of 60; what comes above is refused", "raise maxclients")
def clients_nearly_all(world):
    world.db.config_set("maxclients", 60)
    with contextlib.ExitStack() as idle:
        for _ in range(52 - world.db.info("clients")["connected_clients"]):
            end = idle.enter_context(socket.socket(socket.AF_UNIX))
            end.connect(world.stack.redis.socket)
        yield called()


class Off(Relay):
    """Redis's clock, some seconds back."""

    seconds = 3

    def requests(self, client, server, _):
        while (data := read(client)) and write(server, data):
            pass

    def answers(self, client, server, _):
        def earlier(found):
            return found[1] + str(int(found[2]) - self.seconds).encode()

        while data := read(server):
            data = re.sub(rb"(\*2\r\n\$10\r\n)(\d{10})(?=\r\n\$)", earlier, data)
            if not write(client, data):
                break


@fault("clock", "ahead of Redis's", "run an NTP client on both hosts")
def clock_three_seconds_off(world):
    with Off(world.stack.redis.socket, shared=lambda: None) as way:
        yield called(url=way.url)


@fault("clock", "60 min 0 s ahead of Redis's", "local time for UTC")
def clock_an_hour_off(world):
    way = Off(world.stack.redis.socket, shared=lambda: None)
    way.seconds = 3600
    with way:
        yield called(url=way.url)


@fault("library", "function library quern_v1 is build", "quern-consumer of this version")
def an_older_library(world):
    with open(os.path.join(BUILD, "schemas", "redis", "library.lua")) as file:
        text = file.read()
    older = re.sub(r"local BUILD = (\d+)", lambda m: f"local BUILD = {int(m[1]) - 1}", text)
    world.db.function_load(older, replace=True)
    yield called()


@fault("durability", "replica:1; 0 of 0 connected replicas are in sync", "connect more")
def no_replica_for_durability(world):
    yield called(url=world.stack.redis.url, words=["--durability", "replica:1"])


@fault("durability", "0 of 1 connected replica is in sync", "connect more")
def a_replica_that_lags(world):
    [port] = free_ports(1)
    with RedisServer(port=port) as master, RedisServer() as replica:
        replica.ask("REPLICAOF", "127.0.0.1", port)
        wait_until(lambda: master.ask("INFO", "REPLICATION").get("slave0"))
        replica.wait_in_step()
        replica.process.signal(signal.SIGSTOP)
        try:
            wait_until(lambda: master.ask("INFO", "REPLICATION")["slave0"]["lag"] > 10)
            yield called(url=master.url, words=["--durability", "replica:1"])
        finally:
            replica.process.signal(signal.SIGCONT)


@fault("disk", "of Redis", "make room", root=True)
def the_disk_of_redis_is_full(world):
    data = world.folder / "data"
    data.mkdir()
    with RedisServer(dir=str(data)) as redis:
        how = full_at(data)
        how.url = redis.url
        yield how


def full_at(folder, **env):
    """On a file system of 8 MiB with hardly anything left."""
    place = f"""mount -t tmpfs -o size=8m none {folder}
        head -c 8192000 /dev/zero >{folder}/full
        exec "$@" """
    return called("unshare", "-m", "sh", "-ec", place, "sh", **env)


@fault("prefixes", "no fleet has the prefix quern: here, but one has acme:", "QUERN_PREFIX")
def keys_of_another_prefix(world):
    with RedisServer() as redis:
        redis.client().hset("acme:fleet", "partitions", 1)
        yield called(url=redis.url)


@fault("partitions", "1 partition is at one of 3 masters", "begin a new fleet")
def partitions_on_one_master(world):
    with RedisCluster() as cluster:
        yield called(url=cluster.url)


# --- logins


def user_with(world, *commands, channels=("*",)):
    world.db.acl_setuser(
        "weak", enabled=True, passwords=["+pw"], keys=["*"], channels=list(channels),
        commands=list(commands),
    )
    return f"unix://weak:pw@{world.stack.redis.socket}"


def lacks_a_command(world):
    yield called(url=user_with(world, "+@all", "-info"))


@fault("channels", "this login may not use them", "ACL SETUSER weak '&quern:*'")
def a_channel_that_is_not_allowed(world):
    yield called(url=user_with(world, "+@all", channels=["other:*"]))


# --- consumers


@fault("consumers", "none at queue default", "start one: quern-consumer")
def no_consumers(world):
    yield called(url=world.stack.redis.url)


@fault("workers", "none of 1 takes jobs: 1 shall drain", "quern worker resume")
def all_are_drained(world):
    world.consumer("w")
    world.stack.call("drain", "w", 1)
    [worker] = world.stack.consumers
    assert worker.wait() == 3
    yield called()


@fault("workers", "version differs: 0.1.0 (new), 0.0.9 (old)", "finish the upgrade")
def workers_of_two_versions(world):
    world.report("new")
    world.report("old", version="0.0.9")
    yield called()


def models_of(world, name, *names):
    """A consumer with endpoints of these names."""
    path = world.folder / f"{name}.json"
    path.write_text(json.dumps({n: {"url": world.stack.model.url} for n in names}))
    env = {"QUERN_MODELS": str(path), "OPENAI_BASE_URL": "", "OPENAI_MODEL": ""}
    world.consumer(name, env=env)


@fault("workers", "lease differs: 30s (one), 1m (two)", "the same --lease")
def workers_of_different_settings(world):
    world.consumer("one", lease="30s")
    world.consumer("two", lease="1m")
    yield called()


@fault("clocks", "that of host h, of worker far, is 60 min ", "local time for UTC")
def a_worker_whose_clock_is_off(world):
    world.report("far", clock=int(time.time() * 1000) - 3630000)
    yield called()


@fault("grace", " is killed 30.0 s after TERM, drains for 25.0 s and then needs 6.0 s", "TimeoutStopSec")
def a_worker_that_is_killed_while_it_drains(world):
    world.consumer("w", grace="30s", drain="25s")
    yield called()


@fault("workers", "the models of one and two differ", "the same settings")
def workers_of_different_models(world):
    models_of(world, "one", "small", "large")
    models_of(world, "two", "small")
    yield called()


@fault("workers", "have no model in common: two fleets on the prefix quern:", "another prefix")
def two_fleets_on_one_prefix(world):
    models_of(world, "one", "small")
    models_of(world, "two", "large")
    yield called()


@fault("workers", "bare is set up without an executor", "QUERN_EXECUTOR")
def one_worker_without_an_executor(world):
    world.report("bare")
    world.report("full", executor="/run/quern/executor.sock")
    yield called()


@fault("queues", "queue default is paused, and 1 job waits", "quern queue resume default")
def a_paused_queue(world):
    world.stack.call("queue_set", "default", "paused", "1")
    world.stack.submit(prompt="x")
    yield called()


@fault("queues", "1 job waits at queue default, and no consumer takes it", "--queues default")
def a_queue_that_nobody_serves(world):
    world.report("w", queues="night")
    world.stack.submit(prompt="x")
    yield called()


@fault("queues", "has waited for 5 min while its consumers have room for 4", "logs")
def a_job_that_waits_though_there_is_room(world):
    """A consumer that reports itself, and claims nothing: a job's entry, as it was
    five minutes ago."""
    world.report("w")
    world.stack.submit(prompt="x")
    stream = f"{ROOT}work:default:normal"
    [(_, fields)] = world.db.xrange(stream)
    world.db.delete(stream)
    world.db.xgroup_create(stream, "consumers", "0", mkstream=True)
    world.db.xadd(stream, fields, id=f"{int(time.time() * 1000) - 301000}-0")
    yield called()


@fault("leases", "1 job has lost its consumer more than 2 min ago", "start a consumer")
def a_lease_that_is_left(world):
    world.stack.model.script([{"text": "late", "delay_ms": 600000}])
    consumer = world.stack.consumer()
    job = world.stack.submit(prompt="x")
    wait_until(lambda: world.db.zscore(f"{ROOT}leases:default", job))
    consumer.kill()
    ago = int(time.time() * 1000) - 300000
    world.db.zadd(f"{ROOT}leases:default", {job: ago}, xx=True)
    yield called()


@fault("dead", "3 jobs of queue default died in the last hour, 0 in the hour before; "
       "the last one of model_rejected", "quern dead ls --queue default")
def more_jobs_die(world):
    world.stack.model.script([{"status": 400}] * 3)
    world.stack.consumer()
    for _ in range(3):
        assert world.stack.run(prompt="x")["status"] == "failed"
    yield called()


# --- endpoints


@fault("endpoints", "all 1 are left alone", "quern endpoint ls")
def every_endpoint_is_left_alone(world):
    world.stack.model.script([{"status": 429, "headers": {"Retry-After": "300"}}])
    world.stack.consumer()
    world.stack.submit(prompt="x")
    wait_until(lambda: world.db.zcard("quern:{quern:fleet}:waits"))
    yield called()


@fault("endpoints", "HTTP 401", "OPENAI_API_KEY_FILE")
def an_endpoint_without_its_key(world):
    world.stack.model.script([{"status": 401}])
    world.stack.consumer()
    assert world.stack.run(prompt="x")["error"]["code"] == "model_rejected"
    counts = "quern:{quern:fleet}:counts"
    wait_until(lambda: any(b"failed_at" in f for f in world.db.hkeys(counts)))
    yield called()


@fault("model", "where nobody answers: Connection refused", "OPENAI_BASE_URL")
def a_model_where_nobody_listens(world):
    [port] = free_ports(1)
    yield called(OPENAI_BASE_URL=f"http://127.0.0.1:{port}/v1")


# --- the executor


@fault("executors", "/nowhere/e.sock: absent", "systemctl start quern-executor")
def an_executor_that_is_missing(world):
    world.consumer("w", executor=f"{NOWHERE}/e.sock")
    wait_until(lambda: world.db.hget(f"{ROOT}worker:w", "executor_away") == b"absent")
    yield called()


@fault("executors", "e.sock: refused", "systemctl restart quern-executor")
def an_executor_that_refuses(world):
    path = str(world.folder / "e.sock")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(path)
    world.consumer("w", executor=path)
    wait_until(lambda: world.db.hget(f"{ROOT}worker:w", "executor_away") == b"refused")
    yield called()


LESS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


@fault("executor", "this user may not ask it", "--group", root=True)
def a_socket_of_another_group(world):
    world.folder.chmod(0o755)
    path = world.folder / "e.sock"
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))
        os.chown(path, 61184, 61185)
        path.chmod(0o660)
        yield called(*LESS, QUERN_EXECUTOR=str(path))


@fault("executor", "fewer walls than demanded", "landlock")
def an_executor_below_its_level(world):
    settings = world.settings(executor_conf="QUERN_LEVEL=watched\nQUERN_PROFILE=bare\n")
    yield called(*NO_LANDLOCK, QUERN_EXECUTOR=f"{NOWHERE}/e.sock", **settings)


@fault("walls", "not limited by a cgroup: memory, pids, cpu", "Delegate=yes")
def no_cgroups(world):
    with Executor("--profile", "bare", "--cgroup", "off") as executor:
        yield called(QUERN_EXECUTOR=executor.path)


def without_namespaces(switch, value):
    place = ["unshare", "-m", "sh", "-ec", FORBIDDEN, "sh", switch, str(value)]
    return called(*place, url=f"unix://{NOWHERE}/r.sock", QUERN_EXECUTOR=f"{NOWHERE}/e.sock")


@fault("executor", "cannot be boxed here", "sysctl kernel.unprivileged_userns_clone=1", root=True)
def no_user_namespaces(world):
    yield without_namespaces("unprivileged_userns_clone", 0)


@fault("executor", "cannot be boxed here", "deploy/apparmor/quern-box", root=True)
def apparmor_forbids_namespaces(world):
    yield without_namespaces("apparmor_restrict_unprivileged_userns", 1)


# --- this host


@fault("disk", "of quern-executor", "make room", root=True)
def the_disk_of_the_executor_is_full(world):
    data = world.folder / "data"
    data.mkdir()
    yield full_at(data, TMPDIR=str(data))


@fault("limits", "quern-consumer (process ", "LimitNOFILE=65536")
def too_few_open_files(world):
    program = world.folder / "few"
    run = f'exec prlimit --nofile=512:512 {binary("quern-consumer")} "$@"'
    program.write_text(f"#!/bin/sh\n{run}\n")
    program.chmod(0o755)
    world.stack.consumer(program=str(program))
    yield called()


@fault("units", "systemd kills a consumer 40.0 s after TERM, and it drains for 2 min 0 s",
       "TimeoutStopSec=")
def less_grace_than_drain(world):
    """systemd itself does not run here: what systemctl would print."""
    said = world.folder / "systemctl"
    said.write_text("#!/bin/sh\necho LoadState=loaded\necho TimeoutStopUSec=40s\n")
    said.chmod(0o755)
    path = f"{world.folder}:{os.environ['PATH']}"
    yield called(PATH=path, **world.settings(consumer_conf="QUERN_DRAIN=2m\n"))


@fault("services", "quern-gateway.service has failed", "systemctl status quern-gateway.service")
def a_service_that_has_failed(world):
    """As in less_grace_than_drain()."""
    said = world.folder / "systemctl"
    said.write_text("#!/bin/sh\n[ $1 != list-units ] || echo 'quern-gateway.service loaded failed"
                    " failed quern gateway'\n")
    said.chmod(0o755)
    yield called(PATH=f"{world.folder}:{os.environ['PATH']}")


@fault("settings", 'there is no setting "QUERN_LEESE"; did you mean QUERN_LEASE?', "correct")
def a_setting_that_nobody_knows(world):
    text = "# of all consumers\nQUERN_QUEUES=default\nQUERN_LEESE=30s\n"
    yield called(**world.settings(consumer_conf=text))


@fault("settings", 'QUERN_LEVEL is "wached"', "correct")
def a_value_that_is_wrong(world):
    yield called(**world.settings(executor_conf="QUERN_LEVEL=wached\n"))


def secret(world, text, mode):
    path = world.folder / "redis_url"
    path.write_text(text)
    path.chmod(mode)
    return called(CONFIGURATION_DIRECTORY=str(world.folder))


@fault("secrets", "its group may read it (mode 0640)", "chmod 600")
def a_secret_that_its_group_may_read(world):
    yield secret(world, "redis://:pw@redis.example\n", 0o640)


@fault("secrets", "a newline inside", "in one line")
def a_secret_with_a_newline_inside(world):
    yield secret(world, "redis://:pw@\nredis.example\n", 0o600)


@fault("certificates", "tls.pem: the certificate ends in ", "renew it")
def a_certificate_that_ends_soon(world):
    path, key = world.folder / "tls.pem", world.folder / "tls.key"
    words = "-x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj /CN=x"
    openssl("req", *words.split(), "-days", 10, "-keyout", key, "-out", path)
    yield called(**world.settings(gateway_conf=f"QUERN_TLS_CERTIFICATE={path}\n"))


# --- the tests


@pytest.fixture
def world(tmp_path, executor):
    """Root's folders are closed to others; what is made here need not be."""
    made = World(tmp_path, executor)
    with made.exit:
        yield made


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name, world):
    planted = FAULTS[name]
    if planted.root and os.geteuid() != 0:
        pytest.skip("needs root")
    with planted.plant(world) as how:
        how.env.setdefault("QUERN_EXECUTOR", world.executor.path)
        url = how.url or (world.stack.redis.url)
        found = doctor(url, how)
    wrong = [f for f in found if f["level"] in ("warning", "fault")]
    [*named] = [f for f in wrong if f["check"] == planted.check and planted.said in f["text"]]
    assert named and planted.remedy in named[0]["remedy"], json.dumps(wrong, indent=1)


def test_each_worker_is_told_with_what_differs(world):
    """--fleet, with two real consumers: nothing of this host."""
    world.consumer("one", lease="30s", grace="40s")
    world.consumer("two", lease="1m", max_turns=5, grace="10s", drain="20s")
    found = doctor(world.stack.redis.url, called(words=["--fleet"]))
    said = {f"{f['check']} {f['level']} {f['text']}" for f in found}
    host = socket.gethostname()
    assert "workers warning lease differs: 30s (one), 1m (two)" in said
    assert "workers warning max-turns differs: 12 (one), 5 (two)" in said
    assert (f"grace warning worker two on {host} is killed 10.0 s after TERM, drains for "
            "20.0 s and then needs 6.0 s to hand back its jobs") in said
    assert "clocks ok of 2 workers, as Redis's" in said
    for name, ends in (("one", "25.0 s, is killed after 40.0 s"),
                       ("two", "20.0 s, is killed after 10.0 s")):
        line = rf"workers ok {name} on {host}: version \S+, queues default, " \
            rf"clock [+-]\d+ ms, drains for {ends}"
        assert [s for s in said if re.fullmatch(line, s)], said
    assert not {f["check"] for f in found} & {"executor", "model", "limits", "units"}


def test_there_are_thirty_of_them():
    assert len(FAULTS) >= 30


def test_what_a_login_may_not_see_is_unseen_and_names_the_rule(world):
    how = next(lacks_a_command(world))
    how.env["QUERN_EXECUTOR"] = world.executor.path
    [found] = [f for f in doctor(None, how) if f["check"] == "server"]
    assert found["level"] == "unseen"
    assert "ACL SETUSER weak +info gives it" in found["remedy"]


@needs_root
def test_a_fleet_that_is_well_has_no_fault(world, tmp_path):
    """Two consumers and a gateway, a login, a disk that is written, a job that has
    run. In a process namespace of its own: other tests' programs are not seen."""
    db = world.db
    db.config_set("maxmemory", "1gb")
    db.acl_setuser("ops", enabled=True, passwords=["+pw"], keys=["*"], channels=["*"],
                   commands=["+@all"])
    db.acl_setuser("default", enabled=False)
    url = f"unix://ops:pw@{world.stack.redis.socket}"
    names = {"redis_url": url, "executor": world.executor.path}
    world.stack.db = world.stack.redis.client(username="ops", password="pw")
    for name in ("one", "two"):
        world.consumer(name, **names)
    assert world.stack.run(prompt="```python\n1 + 1\n```")["status"] == "completed"
    (tmp_path / "redis_url").write_text(url + "\n")
    (tmp_path / "redis_url").chmod(0o600)
    settings = world.settings(consumer_conf="QUERN_DRAIN=20s\nOPENAI_MODEL=practice\n")
    # In a namespace of one process nobody has a number of this host's.
    place = ["unshare", "--pid", "--fork", "--mount-proc"]
    how = called(
        *place,
        url=url,
        QUERN_EXECUTOR=world.executor.path,
        OPENAI_BASE_URL=world.stack.model.url,
        OPENAI_API_KEY="key",
        **settings,
    )
    with Gateway(url):
        found = doctor(None, how)
    # This host's kernel may lack a wall.
    others = [f for f in found if f["check"] != "walls"]
    assert {f["level"] for f in others} <= {"ok", "note"}, json.dumps(others, indent=1)
    notes = [f["text"] for f in others if f["level"] == "note"]
    assert notes == []
    world.stack.db.acl_setuser("default", enabled=True, nopass=True)


def test_it_ends_whatever_hangs(world, tmp_path):
    """A Redis that takes the connection and never answers, an executor that does the
    same, a check that never ends."""
    silent = {}
    with contextlib.ExitStack() as ends:
        for name in ("redis", "executor"):
            end = ends.enter_context(socket.socket(socket.AF_UNIX))
            end.bind(str(tmp_path / name))
            end.listen()
            silent[name] = str(tmp_path / name)
        program = tmp_path / "bin" / "quern-executor"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\nexec sleep 600\n")
        program.chmod(0o755)
        quern = tmp_path / "bin" / "quern"
        quern.write_bytes(open(binary("quern"), "rb").read())
        quern.chmod(0o755)
        done = subprocess.run(
            [quern, "doctor", "--json", "--timeout", "10s"],
            env={
                "REDIS_URL": f"unix://{silent['redis']}",
                "QUERN_EXECUTOR": silent["executor"],
                "CONFIGURATION_DIRECTORY": NOWHERE,
            },
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            preexec_fn=die_with_parent,
        )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    said = {f["check"]: f for f in found}
    assert done.returncode == 69 and said["redis"]["level"] == "fault"
    assert "was not done within 10.0 s, and was ended" in said["executor"]["text"]
    left = subprocess.run(["pgrep", "-f", str(program)], capture_output=True, text=True)
    assert left.stdout == ""


def test_every_check_is_in_the_help():
    """quern help doctor lists what the table has, in its words."""
    with open(os.path.join(SOURCE, "producer", "cli", "doctor_table.c")) as file:
        rows = re.findall(r'\{ "(\w+)", PART_\w+, \w+,\s+"([^}]+)" \}', file.read())
    help = subprocess.run([binary("quern"), "help", "doctor"], capture_output=True, text=True)
    lines = re.findall(r"^  (\w+) +(.+)$", help.stdout, re.M)
    wanted = [(name, re.sub(r'"\s*"', "", asks)) for name, asks in rows]
    assert len(wanted) > 25 and [row for row in wanted if row not in lines] == []
