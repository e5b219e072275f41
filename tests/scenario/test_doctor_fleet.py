"""quern doctor: what keeps jobs from being done, and the remedy of that cause."""

import json
import os
import shutil
import socket
import subprocess
import time

import pytest
from executor_client import Executor
from library import Library, job_id
from relay import Relay, read, write
from servers import BUILD, RedisServer, binary, die_with_parent, wait_until
from stack import ROOT, Stack

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
LESS = "--bounding-set=-dac_override,-dac_read_search"
HERE = {}  # of the host of all these


@pytest.fixture(scope="module", autouse=True)
def answered(executor):
    """An executor answers here: else each doctor would try the walls itself."""
    HERE["QUERN_EXECUTOR"] = executor.path


def doctor(url, *by, code=None, **env):
    """Its findings by check: a list of each."""
    child = subprocess.run(
        [*by, binary("quern"), "doctor", "--json"],
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nowhere",
            "REDIS_URL": url,
            **HERE,
            **env,
        },
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=die_with_parent,
    )
    found = {}
    for line in map(json.loads, child.stdout.splitlines()):
        found.setdefault(line["check"], []).append(line)
    assert code is None or child.returncode == code, (child, found)
    return found


@pytest.fixture
def stack():
    with Stack(executor=False, lease="900ms") as stack:
        yield stack


def reported(stack, name, field, value):
    return stack.db.hget(f"{ROOT}worker:{name}", field) == value.encode()


# -- queues


def test_jobs_that_nobody_serves_are_a_fault(stack):
    """Before: "1 connected", and all was well."""
    stack.consumer(name="other", queues="night")
    wait_until(lambda: reported(stack, "other", "queues", "night"))
    stack.submit(prompt="x")
    [found] = doctor(stack.redis.url, code=69)["queues"]
    assert found["level"] == "fault"
    assert found["text"] == "1 job waits at queue default, and no consumer takes it"
    assert found["remedy"] == "start one: quern-consumer --queues default"


def test_a_paused_queue_with_jobs_is_told(stack):
    stack.consumer(name="w")
    stack.call("queue_set", "default", "paused", "1")
    wait_until(lambda: reported(stack, "w", "queues", "default"))
    assert doctor(stack.redis.url, code=0)["queues"][0]["level"] == "ok"
    for _ in range(2):
        stack.submit(prompt="x")
    [found] = doctor(stack.redis.url, code=0)["queues"]
    assert found["level"] == "warning"
    assert "queue default is paused, and 2 jobs wait" in found["text"]
    assert found["remedy"] == "quern queue resume default"
    stack.call("queue_set", "default", "paused", "0")


def test_jobs_that_wait_for_a_budget_are_told(stack):
    stack.call("queue_set", "default", "tenant_tokens", "1600")
    stack.call("queue_set", "default", "tenant_budget_ms", str(7 * 24 * 3600 * 1000))
    usage = {"prompt_tokens": 700, "completion_tokens": 300}
    stack.model.script([{"text": "ok", "usage": usage}])
    stack.consumer()
    limits = {"max_tokens": 600}
    stack.run(prompt="go", limits=limits)
    waits = stack.submit(prompt="go", limits=limits)
    assert stack.wait_event(waits, "job.waiting")["data"]["reason"] == "budget"
    [found] = doctor(stack.redis.url, code=0)["budgets"]
    assert found["level"] == "note"
    assert "1 job of queue default waits for the tenant's next budget" in found["text"]
    stack.call("cancel", waits)


def test_jobs_that_wait_for_an_endpoint_are_told(stack):
    jobs = Library(stack.db)
    for number in range(2):
        jobs.submit(job_id(number))
        jobs.begin()
        epoch = jobs.epoch(job_id(number))
        jobs.wait(job_id(number), epoch, 3600000, "endpoint")
    [found] = doctor(stack.redis.url)["endpoints"]
    assert (found["level"], found["remedy"]) == ("note", "wait, or see quern endpoint ls")
    assert found["text"].startswith("2 jobs of queue default wait for a model endpoint")
    for number in range(2):
        jobs.cancel(job_id(number))


# -- consumers


class Numbered(Relay):
    """What says it is Redis names a member of XINFO by a number."""

    changed = False

    def requests(self, client, server, _):
        while (data := read(client)) and write(server, data):
            pass

    def answers(self, client, server, _):
        while data := read(server):
            strange = data.replace(b"$4\r\nname\r\n", b":4\r\n")
            self.changed |= strange != data
            if not write(client, strange):
                break


def test_a_member_of_xinfo_without_a_name_is_passed_over(stack):
    """Before: quern doctor crashed."""
    stack.consumer(name="w")
    stack.run(prompt="x")
    with Numbered(stack.redis.socket, shared=lambda: None) as way:
        [found] = doctor(way.url, code=0)["consumers"]
    assert way.changed
    assert (found["level"], found["text"][:2]) == ("ok", "1 ")


# -- executors


def test_every_executor_of_the_fleet_that_is_away_is_shown(stack):
    with Executor("--profile", "bare") as executor:
        stack.consumer(name="with", executor=executor.path)
        stack.consumer(name="without", executor="/nowhere/e.sock")
        wait_until(lambda: reported(stack, "without", "executor_away", "absent"))
        wait_until(lambda: reported(stack, "with", "executor_away", ""))
        [found] = doctor(stack.redis.url, code=0)["executors"]
    assert found["level"] == "warning" and "/nowhere/e.sock: absent" in found["text"]
    assert "of worker without on" in found["text"]
    assert "systemctl start quern-executor" in found["remedy"]
    wait_until(lambda: not reported(stack, "with", "executor_away", ""))
    stack.submit(prompt="x")
    found = doctor(stack.redis.url, code=69)
    assert [f["level"] for f in found["executors"]] == ["fault", "fault"]
    assert "2 of its consumers cannot reach their executor" in found["queues"][0]["text"]
    listed = quern_json(stack, "worker", "ls")
    executors = {line["worker"]: line["executor"] for line in listed}
    assert executors["without"]["socket"] == "/nowhere/e.sock"
    assert executors["without"]["away"] and executors["without"]["reason"] == "absent"
    assert executors["without"]["away_since"] > 0


REMEDIES = [
    ("absent", "systemctl start quern-executor"),
    ("refused", "systemctl restart quern-executor"),
    ("not permitted", "socket's group"),
    ("unreachable", "look at the log of quern-executor"),
]


def test_what_keeps_an_executor_away_has_its_own_remedy(stack):
    about = "host h slots 4 queues default mode serving executor /run/e.sock".split()
    for word, _ in REMEDIES:
        why = ["executor_away", word, "executor_reason", "so it is"]
        stack.call("report", word.split()[0], "60000", *about, *why)
    found = doctor(stack.redis.url, code=69)["executors"]
    assert len(found) == len(REMEDIES) and {f["level"] for f in found} == {"fault"}
    for word, remedy in REMEDIES:
        named = f"of worker {word.split()[0]} on h, /run/e.sock: {word} for "
        [one] = [f for f in found if f["text"].startswith(named)]
        assert one["text"].endswith(" (so it is); it takes no jobs")
        assert remedy in one["remedy"]


def test_a_worker_that_is_meant_to_have_no_executor_has_none(stack):
    """Before: "1 worker has its own"."""
    about = "host h slots 4 queues default mode serving executor none".split()
    stack.call("report", "w", "60000", *about)
    found = doctor(stack.redis.url)
    assert "executors" not in found and found["queues"][0]["level"] == "ok"


@needs_root
def test_programs_that_the_executors_user_cannot_reach(tmp_path):
    """Before: "in a container, allow it clone and unshare"."""
    closed = tmp_path / "closed"
    (closed / "bin").mkdir(parents=True)
    for name in ("quern", "quern-executor", "quern-box", "quern-guest"):
        shutil.copy(binary(name), closed / "bin" / name)
    shutil.copytree(os.path.join(BUILD, "share"), closed / "share")
    closed.chmod(0o700)
    done = subprocess.run(
        [closed / "bin" / "quern-executor", "--check"], capture_output=True, text=True
    )
    said = done.stderr + done.stdout
    assert done.returncode == 69 and "container" not in said
    assert f"{closed} is closed to it" in said or f"{tmp_path}" in said
    assert "may not start" in said and "deploy/visible" in said


# -- Redis that refuses


def test_a_full_redis_is_a_fault():
    """Before: a warning, and the exit status of a healthy fleet."""
    with RedisServer() as redis:
        redis.client().config_set("maxmemory", "1")
        [found] = doctor(redis.url, code=69)["writes"]
    assert found["level"] == "fault" and "OOM" in found["text"]
    assert "raise maxmemory" in found["remedy"]


def test_a_redis_that_cannot_write_its_disk(tmp_path):
    """Before: "start Redis"."""
    folder = tmp_path / "data"
    folder.mkdir()
    with RedisServer(dir=str(folder)) as redis:
        db = redis.client()
        db.config_set("save", "3600 1")
        db.config_set("stop-writes-on-bgsave-error", "yes")
        shutil.rmtree(folder)
        db.set("x", 1)
        db.execute_command("BGSAVE")
        wait_until(lambda: db.info("persistence")["rdb_last_bgsave_status"] == "err")
        found = doctor(redis.url, code=69)
    faults = [f for f in sum(found.values(), []) if "MISCONF" in f["text"]]
    assert faults and all(f["level"] == "fault" for f in faults[:1])
    assert "cannot write its disk" in faults[0]["remedy"]
    assert "start Redis" not in faults[0]["remedy"]


def test_a_replica_refuses():
    with RedisServer() as redis:
        redis.client().execute_command("REPLICAOF", "127.0.0.1", "1")
        [found] = doctor(redis.url, code=69)["writes"]
    assert "READONLY" in found["text"] and "name the master" in found["remedy"]


def test_a_login_without_the_right_is_told_which_it_needs():
    with RedisServer() as redis:
        db = redis.client()
        db.acl_setuser(
            "weak", enabled=True, passwords=["+pw"], keys=["*"], commands=["+@connection"]
        )
        url = f"unix://weak:pw@{redis.socket}"
        [found] = doctor(url)["writes"]
    assert found["level"] == "unseen" and "ACL SETUSER weak +set" in found["remedy"]
    assert 'user "operator"' in found["remedy"]


@needs_root
def test_a_socket_that_may_not_be_opened_is_not_to_be_started():
    with RedisServer() as redis:
        os.chown(redis.socket, 61184, 61184)
        os.chmod(redis.socket, 0o600)
        [found] = doctor(f"unix://{redis.socket}", "setpriv", LESS, code=69)["redis"]
    assert "ermission denied" in found["text"]
    assert "may not open the socket" in found["remedy"]
    assert "start Redis" not in found["remedy"]


# -- webhooks


def test_ends_that_nobody_tells_are_told():
    with RedisServer() as redis:
        library = Library(redis.client()).load()
        now = int(time.time() * 1000)
        assert "webhooks" not in doctor(redis.url)
        library.client.xadd(f"{library.root}deliveries", {"x": "y"}, id=f"{now - 90000}-0")
        [found] = doctor(redis.url)["webhooks"]
    assert found["level"] == "warning" and "has waited for 1 min" in found["text"]
    assert "start quern-deliverer" in found["remedy"]


# -- the model


def test_an_endpoint_that_does_not_answer_is_told(stack):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/v1"
    [found] = doctor(stack.redis.url, OPENAI_BASE_URL=url)["model"]
    assert found["level"] == "warning" and "onnection refused" in found["text"]
    [found] = doctor(
        stack.redis.url, OPENAI_BASE_URL=stack.model.url, OPENAI_API_KEY="k"
    )["model"]
    assert found["level"] == "ok"


def test_an_endpoint_of_a_file_that_does_not_answer_is_told(stack, tmp_path):
    """Before: OPENAI_BASE_URL alone was tried."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/v1"
    path = tmp_path / "models.json"
    endpoints = {"there": {"url": stack.model.url}, "gone": {"url": url + "?key=s3"}}
    path.write_text(json.dumps(endpoints))
    [found] = doctor(stack.redis.url, QUERN_MODELS=str(path))["model"]
    assert found["level"] == "warning" and "onnection refused" in found["text"]
    assert found["text"].startswith(f"gone of QUERN_MODELS is at {url}, where nobody")
    path.write_text(json.dumps({"there": endpoints["there"]}))
    [found] = doctor(stack.redis.url, QUERN_MODELS=str(path))["model"]
    assert found["level"] == "ok"
    path.write_text("[]")
    [found] = doctor(stack.redis.url, QUERN_MODELS=str(path))["model"]
    assert found["level"] == "warning" and "JSON object of endpoints" in found["text"]


def test_an_endpoint_that_fails_is_told_with_its_last_error(stack):
    """Before: calls were counted, and nothing else."""
    stack.model.script([{"status": 401}])
    stack.consumer()
    assert stack.run(prompt="x")["error"]["code"] == "model_rejected"

    def listed():
        lines = quern_json(stack, "endpoint", "ls")
        return [line for line in lines if line["failures"] == 1]

    [line] = wait_until(listed)
    assert line["host"] == stack.model.url.split("/")[2]
    assert (line["model"], line["error_code"]) == ("practice", "model_rejected")
    assert "HTTP 401" in line["error"]
    assert abs(line["failed_at"] / 1000 - time.time()) < 60 and line["answered_at"] == 0
    [found] = doctor(stack.redis.url, code=0)["endpoints"]
    assert found["level"] == "warning" and "HTTP 401" in found["text"]
    assert "key" in found["remedy"]
    stack.model.script([])
    assert stack.run(prompt="x")["status"] == "completed"
    wait_until(lambda: quern_json(stack, "endpoint", "ls")[0]["answered_at"])
    [found] = doctor(stack.redis.url, code=0)["endpoints"]
    assert found["level"] == "ok"


def quern_json(stack, *words):
    done = subprocess.run(
        [binary("quern"), *words, "--json"],
        env={"REDIS_URL": stack.redis.url},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
