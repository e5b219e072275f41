"""What the programs log: lines of JSON, or entries of the journal, and never a secret."""

import json
import os
import subprocess
import sys

import pytest
from gateway import Gateway, bearer, make_key
from servers import Process, RedisServer, binary, wait_until
from stack import Stack, call_of
from web import Web

MEMBERS = ["ts", "level", "what"]
SECRETS = {
    name: f"planted-{name}-0123456789abcdef"
    for name in ("redis", "model", "tool", "env", "prompt", "printed", "answer", "file", "note")
}
TOOL = {"method": "POST", "headers": {"Authorization": "Bearer ${TOOL_SECRET}"}}


class Echo(Web):
    """A model and a tool that repeat what they were sent, with an error or without."""

    def answer(self, asked):
        head = {"Content-Type": "application/json"}
        if "chat" not in asked.path:
            return 500, f"wrong: {asked.headers['Authorization']}".encode(), head
        if b"refused" in asked.body:
            told = f"wrong key: {asked.headers['Authorization']}"
            return 401, json.dumps({"error": {"message": told}}).encode(), head
        code = f"print({SECRETS['printed']!r})\nlook()\nopen('a', 'w').write({SECRETS['file']!r})"
        message = {"role": "assistant", "content": SECRETS["answer"]}
        if b"tool_call_id" not in asked.body:
            message["tool_calls"] = [call_of(code)]
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"id": "r", "object": "chat.completion", "choices": [choice]}
        return 200, json.dumps(answer).encode(), head


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """All that was logged, at every level, while jobs went well and badly."""
    tools = tmp_path_factory.mktemp("tools") / "tools.json"
    with Echo() as web, Stack(
        executor=False, server=RedisServer(requirepass=SECRETS["redis"]), log_level="debug"
    ) as stack:
        tools.write_text(json.dumps({"look": {**TOOL, "url": web.url + "/look"}}))
        url = f"unix://:{SECRETS['redis']}@{stack.redis.socket}"
        stack.start_executor("--log-level", "debug")
        more = {
            "OPENAI_BASE_URL": web.url + "/v1",
            "OPENAI_API_KEY": SECRETS["model"],
            "TOOL_SECRET": SECRETS["tool"],
            "QUERN_EXECUTOR": stack.socket,
        }
        stack.consumer(redis_url=url, tools=tools, max_retries=1, env=more)
        with Gateway(url, open=None, log_level="debug") as gateway:
            gateway.ready()
            key = make_key(stack, scopes="submit read operate")
            SECRETS["key"] = key
            gateway.json("GET", "/v1/jobs", **bearer(key))
            gateway.json("GET", "/v1/jobs", **bearer(key[:-1] + "x"))
            gateway.json("PATCH", "/v1/queues/default", {"max_depth": 1000}, **bearer(key))
            env = {"NOTE": SECRETS["env"]}
            jobs = [
                stack.submit(prompt=SECRETS["prompt"], session="s", tenant="acme", env=env),
                stack.submit(prompt=f"refused {SECRETS['note']}"),
                stack.submit(kind="code", cells=["1/0"]),
            ]
            states = [stack.result(job)["status"] for job in jobs]
            stack.redis.kill()
            stack.consumers[0].wait_for('"redis.lost"')
            gateway.wait_for('"redis.lost"')
            stack.redis.start()
            stack.executor.kill()
            stack.consumers[0].wait_for('"executor.lost"')
            SECRETS["wrong"] = "planted-wrong-0123456789abcdef"
            bad = url.replace(SECRETS["redis"], SECRETS["wrong"])
            wrong = Process([binary("quern-consumer")], env={"REDIS_URL": bad})
            wrong.start()
            wrong.wait()
            texts = [p.text() for p in (stack.consumers[0], gateway, stack.executor, wrong)]
        assert states == ["completed", "failed", "failed"], states
    return jobs, "".join(texts).splitlines()


def test_no_line_has_a_secret(lines):
    for name, secret in SECRETS.items():
        found = [line for line in lines[1] if secret in line]
        assert not found, (name, found)


def test_what_repeats_a_secret_is_logged_without_it(lines):
    assert any("wrong key: Bearer ***" in line for line in lines[1])


def test_each_line_is_an_object_with_a_sentence(lines):
    for line in lines[1]:
        if not line.startswith("{"):
            # Why one could not start, or what an interpreter saw of its executor's end.
            assert line.startswith(("quern-consumer: ", "quern-guest: ")), line
            continue
        members = json.loads(line)
        assert list(members)[:3] == MEMBERS and list(members)[-1] == "text", line
        assert members["level"] in ("error", "warning", "info", "debug"), line
        assert members["text"][0].isalpha() and "{" not in members["text"], line
        assert members["ts"][10] == "T" and members["ts"].endswith("Z"), line


def test_lines_of_a_job_say_whose_it_is(lines):
    jobs, all = lines
    about = [json.loads(line) for line in all if jobs[0] in line and '"worker"' in line]
    assert {line["what"] for line in about} >= {"job.started", "job.finished"}
    for line in about:
        assert (line["queue"], line["tenant"], line["session"]) == ("default", "acme", "s"), line


def test_a_level_leaves_lesser_lines_out(tmp_path):
    with Stack(executor=False) as stack:
        stack.settings["log_level"] = "warning"
        consumer = Process(
            [binary("quern-consumer"), "--log-level", "warning", "--executor", "none"],
            env={"REDIS_URL": stack.redis.url, "OPENAI_BASE_URL": stack.model.url},
        )
        with consumer:
            job = stack.submit(prompt="hello")
            assert stack.result(job)["status"] == "completed"
            stack.redis.kill()
            consumer.wait_for('"redis.lost"')
            levels = {json.loads(line)["level"] for line in consumer.text().splitlines()}
            assert levels <= {"warning", "error"}, consumer.text()
            consumer.kill()


def test_an_unknown_level_is_refused():
    for program in ("quern-consumer", "quern-gateway", "quern-deliverer", "quern-executor"):
        done = subprocess.run([binary(program), "--log-level", "loud"], capture_output=True, text=True)
        assert done.returncode == 64, done
        assert "error, warning, info or debug" in done.stderr, done.stderr


# -------- the journal, in a mount namespace of its own, where the test is journald

JOURNAL = """
import os, socket, subprocess, sys
subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
os.makedirs("/run/systemd/journal")
entries = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
entries.bind("/run/systemd/journal/socket")
os.chmod("/run/systemd/journal/socket", 0o666)
entries.settimeout(60)
read, write = os.pipe()
of = os.fstat(write)
env = {**os.environ, "JOURNAL_STREAM": f"{of.st_dev}:{of.st_ino}"}
child = subprocess.Popen(sys.argv[1:], stderr=write, env=env)
os.close(write)
try:
    sys.stdout.write(repr([entries.recv(1 << 20) for _ in range(2)]))
finally:
    child.kill()
    child.wait()
    sys.stdout.write("\\n" + repr(os.read(read, 65536)))
"""


# As root without a user namespace, in which an executor could not be somebody else.
UNSHARED = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-rm")


def fields(entry):
    """A datagram of the journal's protocol, of values without line ends."""
    pairs = [line.split(b"=", 1) for line in entry.split(b"\n") if line]
    return {name.decode(): value.decode() for name, value in pairs}


def journal_of(*command, **env):
    done = subprocess.run(
        [*UNSHARED, sys.executable, "-c", JOURNAL, *command],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    entries, stderr = done.stdout.split("\n")
    return [fields(entry) for entry in eval(entries)], eval(stderr)


def test_under_systemd_lines_are_entries_of_the_journal():
    with RedisServer() as redis:
        entries, stderr = journal_of(
            binary("quern-gateway"), "--listen", "127.0.0.1:0", "--open", "a", REDIS_URL=redis.url
        )
    first = entries[0]
    assert first["SYSLOG_IDENTIFIER"] == "quern-gateway"
    assert first["QUERN_WHAT"] == "listening" and first["PRIORITY"] == "6"
    assert first["MESSAGE"] == f"The gateway listens at 127.0.0.1, port {first['QUERN_PORT']}."
    assert stderr == b""


def test_the_executor_writes_entries_too():
    entries, stderr = journal_of(
        *(binary("quern-executor"), "--executor", "/run/quern/socket", "--profile", "bare")
    )
    assert entries[0]["SYSLOG_IDENTIFIER"] == "quern-executor", entries
    assert "QUERN_WHAT" in entries[0] and entries[0]["MESSAGE"].endswith(".")


def test_where_no_journal_listens_lines_are_written(tmp_path):
    """JOURNAL_STREAM is inherited by what a service starts elsewhere, too."""
    with RedisServer() as redis, open(tmp_path / "log", "wb") as log:
        of = os.fstat(log.fileno())
        env = {**os.environ, "REDIS_URL": redis.url, "JOURNAL_STREAM": f"{of.st_dev}:{of.st_ino}"}
        gateway = subprocess.Popen(
            [
                *(*UNSHARED, "sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh"),
                *(binary("quern-gateway"), "--listen", "127.0.0.1:0", "--open", "a"),
            ],
            stderr=log,
            env=env,
        )
        try:
            wait_until(lambda: '"listening"' in (tmp_path / "log").read_text())
        finally:
            gateway.kill()
            gateway.wait()
