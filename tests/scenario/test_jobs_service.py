"""What an operator says to a consumer, and is told by it."""

import json
import os
import signal
import socket
import subprocess

import pytest
from held_redis import HeldRedis
from servers import BUILD, PATIENCE_S, Process, RedisServer, binary, wait_until
from stack import Stack


def run(*flags, **env):
    return subprocess.run(
        [binary("quern-consumer"), *flags],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize(
    "flags,says",
    [
        (["--slots", "0"], '--slots is "0", must be a number from 1 to 100000'),
        (["--sluts", "1"], "no flag --sluts; did you mean --slots?"),
        (["--lease-ms", "1"], "no flag --lease-ms; did you mean --lease?"),
        (["--lease", "30"], '--lease is "30", must have a unit: 30ms, 30s or 30m'),
        (["--redis-url", "http://x"], "--redis-url: Redis URL: it must begin with"),
        (["--queues", "a b/c"], '"b/c"'),
        (["--queues", ","], "must have a name before and after each comma"),
        (["--prefix", "a{b}"], "--prefix is"),
        (["--models", "/nowhere.json"], "/nowhere.json"),
        (["--name", "me and you"], '--name is "me and you", must be'),
        (["--approval-default", "ask"], "must be abort or skip"),
    ],
)
def test_a_wrong_setting_is_named(flags, says):
    end = run(*flags)
    assert end.returncode == 64
    assert says in end.stderr and end.stderr.count("\n") == 1


def test_help_lists_every_setting():
    end = run("--help")
    assert end.returncode == 0
    for word in ("--slots", "--lease TIME", "[default 30s; 300ms", "$REDIS_URL_FILE"):
        assert word in end.stdout


def test_a_wrong_password_is_not_waited_for():
    with RedisServer(requirepass="secret") as redis:
        end = run(REDIS_URL=f"unix://:wrong@{redis.socket}")
        assert end.returncode == 69
        assert "WRONGPASS" in end.stderr and "wrong@" not in end.stderr


def test_too_few_descriptors_for_the_slots_are_told_at_the_start(tmp_path):
    """Before: the model was said not to answer, when they were used up."""
    program = tmp_path / "program"
    program.write_text(
        f"#!/bin/sh\nulimit -n 128\nexec {binary('quern-consumer')} --slots 1000\n"
    )
    program.chmod(0o755)
    with Stack(executor=False) as stack:
        consumer = stack.consumer(program=str(program), name="few")
        lines = [json.loads(x) for x in consumer.text().splitlines() if x[:1] == "{"]
        [told] = [line for line in lines if "open_files" in line]
        assert (told["wanted"], told["slots"], told["open_files"]) == (1000, 32, 128)
        assert "LimitNOFILE" in told["text"]
        jobs = [stack.submit(prompt="x") for _ in range(100)]
        assert {stack.result(job)["status"] for job in jobs} == {"completed"}


def test_redis_may_come_later():
    with RedisServer() as redis:
        redis.kill()
        with Process([binary("quern-consumer")], env={"REDIS_URL": redis.url}) as late:
            late.wait_for('"redis.lost"')
            redis.start()
            late.wait_for('"ready"')


def test_systemd_is_told(tmp_path):
    path = str(tmp_path / "notify")
    with socket.socket(
        socket.AF_UNIX, socket.SOCK_DGRAM
    ) as ear, RedisServer() as redis:
        ear.bind(path)
        ear.settimeout(PATIENCE_S)
        env = {
            "REDIS_URL": redis.url,
            "NOTIFY_SOCKET": path,
            "WATCHDOG_USEC": "9000000",
        }
        with Process([binary("quern-consumer")], env=env) as consumer:
            assert ear.recv(100) == b"READY=1"
            assert ear.recv(100) == b"WATCHDOG=1"
            consumer.signal(signal.SIGTERM)
            said = ear.recv(100)
            while said == b"WATCHDOG=1":
                said = ear.recv(100)
            assert said == b"STOPPING=1"
            assert consumer.wait() == 0


def test_the_watchdog_hears_of_claiming_alone(tmp_path):
    """Beats and writes get through, a job runs; no entry comes any more."""
    path = str(tmp_path / "notify")
    with socket.socket(
        socket.AF_UNIX, socket.SOCK_DGRAM
    ) as ear, RedisServer() as server, Stack(
        executor=False, server=server
    ) as stack, HeldRedis(
        server.socket
    ) as way:
        ear.bind(path)
        os.environ["NOTIFY_SOCKET"], os.environ["WATCHDOG_USEC"] = path, "7500000"
        try:
            consumer = stack.consumer(redis_url=way.url)
        finally:
            del os.environ["NOTIFY_SOCKET"], os.environ["WATCHDOG_USEC"]
        stack.model.script([{"text": "slow", "delay_ms": 30000}])
        stack.wait_event(stack.submit(prompt="x"), "turn.started")
        way.hold(b"XREADGROUP")
        assert way.held.wait(PATIENCE_S)
        consumer.wait_for('"claim.stuck"')
        ear.setblocking(False)
        # Whose read has had no answer for long reconnects: that is a turn, and fed.
        for _ in range(5):
            while hears(ear):
                pass
            seen = consumer.text().count("claim.stuck")
            wait_until(
                lambda: consumer.text().count("claim.stuck") > seen, what="again"
            )
            if hears(ear) is None:
                break
        else:
            pytest.fail("it is fed")
        way.let_go()
        wait_until(lambda: hears(ear) == b"WATCHDOG=1", what="it is fed again")


def may_not_read(server):
    """It turns, and takes nothing."""
    server.ask("ACL", "SETUSER", "poor", "-xreadgroup")


def is_locked_out(server):
    """It cannot even greet."""
    server.ask("ACL", "SETUSER", "poor", "resetpass", ">other")
    for client in server.client().client_list():
        if client["user"] == "poor":
            server.ask("CLIENT", "KILL", "ID", client["id"])


@pytest.mark.parametrize(
    "refuse, told",
    [(may_not_read, "claim.stuck"), (is_locked_out, "claim.lost")],
)
def test_the_watchdog_is_not_fed_by_who_is_refused(refuse, told, tmp_path):
    path = str(tmp_path / "notify")
    with socket.socket(
        socket.AF_UNIX, socket.SOCK_DGRAM
    ) as ear, RedisServer() as server, Stack(executor=False, server=server) as stack:
        ear.bind(path)
        ear.setblocking(False)
        allowed = ["on", ">pw", "~*", "&*", "+@all"]
        server.ask("ACL", "SETUSER", "poor", *allowed)
        url = server.url.replace("unix://", "unix://poor:pw@")
        os.environ["NOTIFY_SOCKET"], os.environ["WATCHDOG_USEC"] = path, "1500000"
        try:
            consumer = stack.consumer(redis_url=url)
        finally:
            del os.environ["NOTIFY_SOCKET"], os.environ["WATCHDOG_USEC"]
        wait_until(lambda: hears(ear) == b"WATCHDOG=1", what="it is fed")
        refuse(server)
        consumer.wait_for(f'"{told}"')
        wait_until(lambda: consumer.text().count(told) > 2, what="again")
        while hears(ear):
            pass
        before = consumer.text().count(told)
        wait_until(lambda: consumer.text().count(told) > before + 2, what="again")
        assert hears(ear) is None
        server.ask("ACL", "SETUSER", "poor", "reset", *allowed)
        wait_until(lambda: hears(ear) == b"WATCHDOG=1", what="it is fed again")
        assert stack.run(prompt="x")["status"] == "completed"


def hears(ear):
    try:
        return ear.recv(100)
    except BlockingIOError:
        return None


def test_models_are_loaded_anew(tmp_path):
    models = tmp_path / "models.json"
    with Stack(executor=False) as stack:
        entry = {"url": stack.model.url, "model": "m"}
        models.write_text(json.dumps({"default": entry}))
        consumer = stack.consumer(models=models)
        assert stack.run(prompt="x", model="new")["error"]["code"] == "unknown_model"
        models.write_text(json.dumps({"default": entry, "new": entry}))
        consumer.signal(signal.SIGHUP)
        consumer.wait_for('"models.loaded"')
        assert stack.run(prompt="x", model="new")["model"] == "new"
        models.write_text("{")
        consumer.signal(signal.SIGHUP)
        consumer.wait_for('"models.refused"')
        assert stack.run(prompt="x", model="new")["status"] == "completed"


def test_keys_are_in_no_line_and_no_result(tmp_path):
    with Stack(executor=False) as stack:
        key = tmp_path / "key"
        key.write_text("sk-very-secret\n")
        process = Process(
            [binary("quern-consumer")],
            env={
                "REDIS_URL": stack.redis.url,
                "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
                "OPENAI_API_KEY_FILE": str(key),
                "OPENAI_MODEL": "m",
                "QUERN_EXECUTOR": "none",
                "QUERN_MAX_ATTEMPTS": "1",
            },
        ).start()
        result = stack.run(prompt="x")
        process.signal(signal.SIGUSR1)
        process.wait_for('"state"')
        process.stop()
        assert result["error"]["code"] == "model_unavailable"
        assert "secret" not in process.text() + str(result)


def test_an_error_of_the_library_itself_is_not_waited_out():
    """It will not go away: the job fails at once, with its sentence."""
    with open(os.path.join(BUILD, "schemas", "redis", "library.lua")) as library:
        text = library.read()
    broken = 'register("journal", function(_, args) return args.none.such end'
    with Stack() as stack:
        stack.consumer()
        text = text.replace('register("journal", journal', broken)
        assert broken in text
        stack.db.function_load(text, replace=True)
        result = stack.run(kind="code", cells=["1"])
        assert result["status"] == "failed"
        assert result["error"]["code"] == "internal"
        assert "user_function:" in result["error"]["message"]
