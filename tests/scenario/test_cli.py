"""The quern command against a real Redis and a stand-in consumer."""

import hashlib
import json
import os
import re
import shutil
import socket
import threading
import time

import msgpack
import pytest
from command import QUERN
from servers import SOURCE, wait_until
from standin import IMAGE, ROOT

UNKNOWN = "019aa5c8-1b2c-7000-8123-0123456789ab"

pytestmark = pytest.mark.usefixtures("ends")


# --- asking ---------------------------------------------------------------------


def test_the_answer_goes_to_stdout_and_nothing_else(quern, consumer):
    child = quern.start("run", "how much?")
    job = consumer.take()
    assert job.job["prompt"] == "how much?"
    job.event("message.delta", turn=1, text="four")
    job.finish(answer="four")
    out, err = child.communicate(timeout=30)
    assert (out, err, child.returncode) == ("four\n", "", 0)


def test_a_failed_job_ends_with_1_and_says_why(quern, consumer):
    child = quern.start("run", "how much?")
    error = {"kind": "reject", "code": "model_refused", "message": "it will not"}
    consumer.take().finish("failed", error=error)
    out, err = child.communicate(timeout=30)
    assert (out, child.returncode) == ("", 1)
    assert err == "failed: it will not (model_refused)\n"


def redis_facts(consumer, id):
    found = consumer.redis.hgetall(f"{ROOT}job:{id}")
    return {name.decode(): value.decode() for name, value in found.items()}


def test_every_option_reaches_the_job(quern, consumer, tmp_path):
    (tmp_path / "sales.csv").write_text("a,b\n1,2\n")
    id = quern(
        *"submit question --file sales.csv --session lab --model big".split(),
        *"--system terse --tool python --priority normal --tenant acme".split(),
        *"--metadata a=b=c --metadata d=e --max-turns 7 --deadline 90s".split(),
        *"--cell-time 500ms --memory 512M --mode codeact --history anew".split(),
        *"--max-total-tokens 9000 --max-cost 0.25 --env A=b=c --env B= --notify".split(),
    ).strip()
    job = consumer.take().job
    sha = hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    assert job.pop("v") == 1
    assert job == {
        "id": id,
        "kind": "conversation",
        "prompt": "question",
        "files": [{"name": "sales.csv", "blob": sha, "bytes": 8}],
        "session": "lab",
        "history": "anew",
        "model": "big",
        "mode": "codeact",
        "system": "terse",
        "tools": ["python"],
        "tenant": "acme",
        "metadata": {"a": "b=c", "d": "e"},
        "env": {"A": "b=c", "B": ""},
        "limits": {
            "max_turns": 7,
            "max_total_tokens": 9000,
            "max_cost": 250_000,
            "deadline_ms": 90000,
            "cell_ms": 500,
            "memory_bytes": 512 << 20,
        },
        "notify": True,
    }
    assert redis_facts(consumer, id)["notify"] == "1"
    assert consumer.redis.get(f"quern:{{000}}:blob:{sha}") == b"a,b\n1,2\n"
    assert consumer.redis.ttl(f"quern:{{000}}:blob:{sha}") == -1  # as the job lives


def test_a_job_as_json(quern, consumer):
    messages = [{"role": "user", "content": "hi"}]
    quern("submit", "--job", "-", stdin=json.dumps({"messages": messages}))
    assert consumer.take().job["messages"] == messages


LINES = """{"prompt": "one"}

{"prompt": }
{"kind": "code"}
{"prompt": "four"}
"""


def test_many_jobs_one_a_line(quern, consumer):
    out, err, code = quern.run("submit", "--jobs", "-", stdin=LINES)
    ids = out.split()
    assert [consumer.take().job["prompt"] for _ in ids] == ["one", "four"]
    assert code == 65 and len(set(ids)) == 2
    first, second = err.splitlines()
    assert "line 3: job: not JSON: line 1, column 12" in first
    assert "line 4: cells is required for kind code" in second


def test_many_jobs_for_programs(quern, tmp_path):
    (tmp_path / "jobs.json").write_text(LINES)
    out, err, code = quern.run("submit", "--jobs", "jobs.json", "--json")
    said = [json.loads(line) for line in out.splitlines()]
    assert [one["line"] for one in said] == [1, 3, 4, 5]
    assert [one.get("existed") for one in said] == [False, None, None, False]
    assert [one.get("error", {}).get("code") for one in said[1:3]] == [
        "bad_field",
        "missing_field",
    ]
    assert (err, code) == ("", 65)


def test_many_jobs_up_to_a_line_that_cannot_be_read(quern, redis):
    out, err, code = quern.run("submit", "--jobs", "-", stdin='{"prompt": "1"}\nx\0y\n')
    assert len(out.split()) == 1 and code == 65
    assert "line 2 is not text" in err


def test_more_jobs_than_go_at_once(quern, redis):
    out = quern("submit", "--jobs", "-", stdin='{"prompt": "q"}\n' * 2500)
    assert len(set(out.split())) == 2500
    assert len(redis.keys(f"{ROOT}job:*")) == 2500


def test_many_jobs_without_redis_stop_at_once(quern):
    url = "unix:///nowhere.sock"
    out, err, code = quern.run("submit", "--jobs", "-", stdin=LINES, REDIS_URL=url)
    assert (out, code) == ("", 69)


def test_a_question_from_standard_input(quern, consumer):
    child = quern.start("run", "-", stdin="long\nquestion")
    job = consumer.take()
    assert job.job["prompt"] == "long\nquestion"
    job.finish(answer="short")
    assert child.communicate(timeout=30)[0] == "short\n"


def test_the_same_key_gives_the_same_job(quern, redis):
    first = quern.json("submit", "one", "--key", "k")[0]
    second = quern.json("submit", "two", "--key", "k")[0]
    assert first == {"id": first["id"], "existed": False}
    assert second == {"id": first["id"], "existed": True}
    assert redis.xlen(f"{ROOT}work:default:normal") == 1


def test_the_same_id_gives_the_same_job(quern, redis):
    job = json.dumps({"id": UNKNOWN, "prompt": "once"})
    for _ in range(2):
        assert quern("submit", "--job", "-", stdin=job) == UNKNOWN + "\n"
    assert redis.xlen(f"{ROOT}work:default:normal") == 1


# --- a job that is JSON, and options beside it ---------------------------------------

OWN = {"prompt": "q", "queue": "own", "priority": "low", "idempotency_key": "own"}

# an option of submit beside OWN; with --jobs too; what is then so
HONOURED = [
    ("--queue q2", True, "it is in that queue", ("queue", "q2")),
    ("--priority high", True, "it has that priority", ("priority", "high")),
    ("--priority normal", True, "also the usual one", ("priority", "normal")),
    ("--delay 1h", True, "it comes later", ("state", "scheduled")),
    ("--unique u", False, "it holds the key", ("unique_key", "u")),
    ("--key k", False, "it has that key", ("idempotency_key", "k")),
    ("--file a.csv", True, "it has the file", ("files", "a.csv")),
]


def facts_of(redis, id):
    """What Redis knows of the job, its files, and its keys."""
    facts = {"queue": "default", "priority": "normal", "tenant": "default"}
    job = msgpack.unpackb(redis.get(f"{ROOT}body:{id}"))
    for name in facts:  # in both it is the same
        said = redis.hget(f"{ROOT}job:{id}", name)
        facts[name] = said.decode() if said else facts[name]
        assert job.get(name, facts[name]) == facts[name]
    facts["state"] = redis.hget(f"{ROOT}job:{id}", "state").decode()
    facts["files"] = " ".join(file["name"] for file in job.get("files", []))
    for fact, kind in (("unique_key", "unique"), ("idempotency_key", "idem")):
        for key in redis.keys(f"{ROOT}{kind}:default:*"):
            if redis.get(key).decode() == id:
                facts[fact] = key.decode().rsplit(":", 1)[1]
    return facts


@pytest.mark.parametrize("option, many, so, fact", HONOURED, ids=lambda v: str(v))
def test_what_is_said_beside_a_job_wins(option, many, so, fact, quern, redis, tmp_path):
    (tmp_path / "a.csv").write_text("a\n")
    for flag in ["--job", "--jobs"] if many else ["--job"]:
        own = {**OWN, "idempotency_key": f"own{flag}"}
        id = quern("submit", flag, "-", *option.split(), stdin=json.dumps(own)).strip()
        name, value = fact
        assert facts_of(redis, id)[name] == value, (flag, so)


# an option that a job says itself, and its name there
REFUSED = [
    ("--tenant acme", "tenant"),
    ("--session lab", "session"),
    ("--model big", "model"),
    ("--mode codeact", "mode"),
    ("--history off", "history"),
    ("--system terse", "system"),
    ("--tool python", "tools"),
    ("--metadata a=b", "metadata"),
    ("--env A=b", "env"),
    ("--max-turns 3", "limits.max_turns"),
    ("--max-total-tokens 3", "limits.max_total_tokens"),
    ("--max-cost 3", "limits.max_cost"),
    ("--deadline 5s", "limits.deadline_ms"),
    ("--cell-time 5s", "limits.cell_ms"),
    ("--memory 1G", "limits.memory_bytes"),
    ("--approve pay", "approve"),
    ("--output-schema FILE", "output_schema"),
    ("--set temperature=0", "parameters"),
    ("--notify", "notify"),
]


@pytest.mark.parametrize("option, member", REFUSED)
@pytest.mark.parametrize(
    "verb", ["submit --job", "submit --jobs", "schedule add n @daily --job"]
)
def test_what_a_job_says_itself_is_refused_beside_it(
    verb, option, member, quern, redis
):
    said = quern(*verb.split(), "-", *option.split(), stdin='{"prompt": "q"}', code=64)
    name, flag = option.split()[0], verb.split()[-1]
    assert f"{name} does not go with {flag}: set {member} in the JSON\n" in said
    assert redis.keys(f"{ROOT}job:*") + redis.keys(f"{ROOT}schedule*") == []


@pytest.mark.parametrize("option", ["--key k", "--unique u"])
def test_one_key_is_not_for_many_jobs(option, quern, redis):
    said = quern("submit", "--jobs", "-", *option.split(), stdin=LINES, code=64)
    assert f"{option.split()[0]} does not go with --jobs" in said
    assert redis.keys(f"{ROOT}job:*") == []


def test_every_option_is_one_or_the_other(quern):
    """One that comes later must say what it is beside a job."""
    about_calls = {"--out", "--job", "--jobs"}
    listed = re.findall(r"^  .{4}(--[a-z-]+)", quern("help", "submit"), re.M)
    known = {row[0].split()[0] for row in HONOURED + REFUSED} | about_calls
    assert set(listed) - known == set()


def test_settings_leave_a_job_alone_that_is_json(quern, redis):
    settings = {
        "QUERN_QUEUE": "theirs",
        "QUERN_PRIORITY": "high",
        "QUERN_TENANT": "acme",
    }
    for flag in ("--job", "--jobs"):
        job = json.dumps({**OWN, "idempotency_key": flag})
        id = quern("submit", flag, "-", stdin=job, **settings).strip()
        facts = facts_of(redis, id)
        assert (facts["queue"], facts["priority"]) == ("own", "low")
        assert facts["tenant"] == "default"


class LossyProxy(threading.Thread):
    """Passes bytes on, but not the first reply to a submit: hangs up there."""

    def __init__(self, socket_path, folder):
        super().__init__(daemon=True)
        self.server = socket_path
        self.path = str(folder / "proxy.sock")
        self.lost = 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.start()

    def run(self):
        while True:
            client, _ = self.listener.accept()
            with client, socket.socket(socket.AF_UNIX) as server:
                server.connect(self.server)
                self.serve(client, server)

    def serve(self, client, server):
        while request := client.recv(65536):
            server.sendall(request)
            reply = server.recv(65536)
            if b"quern_v1_submit" in request and b"not found" not in reply:
                self.lost += 1
                if self.lost == 1:
                    return
            client.sendall(reply)


def test_a_lost_reply_does_not_submit_twice(quern, redis, server, tmp_path):
    proxy = LossyProxy(server.socket, tmp_path)
    (said,) = quern.json("submit", "q", REDIS_URL=f"unix://{proxy.path}")
    assert proxy.lost == 2
    assert said == {"id": said["id"], "existed": False}
    assert redis.xlen(f"{ROOT}work:default:normal") == 1


def test_code_prints_as_if_it_ran_here(quern, consumer):
    child = quern.start("exec", "-", stdin="print(1)")
    job = consumer.take()
    assert job.job["cells"] == ["print(1)"]
    job.event("tool.output", call="c", stream="stdout", text="1\n")
    job.event("tool.output", call="c", stream="stderr", text="oh\n")
    cell = {"code": "print(1)", "stdout": "1\n", "stderr": "oh\n", "result": "'v'"}
    job.finish(cells=[cell])
    out, err = child.communicate(timeout=30)
    assert (out, err, child.returncode) == ("1\n'v'\n", "oh\n", 0)


def test_code_in_a_pipe_prints_byte_for_byte(quern, consumer):
    child = quern.start("exec", "-", stdin="...")
    job = consumer.take()
    job.event("tool.output", call="c", stream="stdout", text="one\x08\x1b[0m ")
    job.event("image", image=IMAGE)
    job.event("tool.output", call="c", stream="stdout", text="line")
    job.finish(cells=[{"code": "...", "stdout": "one\x08\x1b[0m line"}])
    assert child.communicate(timeout=30)[0] == "one\x08\x1b[0m line"


def test_code_that_was_not_followed_prints_from_the_result(quern, consumer):
    id = quern("submit", "--job", "-", stdin='{"kind":"code","cells":["x"]}').strip()
    error = {"name": "E", "value": "v", "traceback": "Traceback: E: v"}
    cell = {"code": "x", "stdout": "1\n", "stdout_bytes": 2, "error": error}
    why = {"kind": "reject", "code": "cell_failed", "message": "cell 1: E"}
    consumer.take().finish("failed", error=why, cells=[cell])
    child = quern.start("get", id)
    out, err = child.communicate(timeout=30)
    assert (out, child.returncode) == ("1\n", 1)
    assert err == "Traceback: E: v\nfailed: cell 1: E (cell_failed)\n"


# --- where a job stands -----------------------------------------------------------


def test_get_before_during_and_after(quern, consumer):
    id = quern("submit", "q").strip()
    child = quern.start("get", id)
    assert child.communicate(timeout=30)[0] == "queued\n"
    assert child.returncode == 75
    job = consumer.take()
    child = quern.start("get", id)
    assert child.communicate(timeout=30)[0] == "in_progress\n"
    job.finish(answer="**yes**")
    assert quern("get", id) == "**yes**\n"
    (status,) = quern.json("get", id)
    assert (status["state"], status["attempts"]) == ("completed", 1)
    assert status["result"]["answer"] == "**yes**"


def test_wait_returns_at_the_end_and_not_before(quern, consumer):
    id = quern("submit", "q").strip()
    child = quern.start("wait", id)
    job = consumer.take()
    time.sleep(0.2)
    assert child.poll() is None
    job.finish(answer="now")
    # Sooner than it would have looked again by itself.
    assert child.communicate(timeout=30)[0] == "now\n"


def test_wait_gives_up_in_time(quern, redis):
    id = quern("submit", "q").strip()
    said = quern("wait", id, "--timeout", "100ms", code=75)
    assert said == f"quern wait: job {id} has not ended in time: it is queued\n"


def test_wait_outlasts_redis(quern, consumer, redis, server):
    id = quern("submit", "q").strip()
    job = consumer.take()
    child = quern.start("wait", id)
    wait_until(lambda: blocked(redis), what="somebody who waits")
    server.restart()
    job.event("message.delta", turn=1, text="half")
    wait_until(lambda: blocked(redis), what="who waited before")
    assert child.poll() is None
    redis.client_kill_filter(_type="normal", skipme=True)
    job.finish(answer="whole")
    assert child.communicate(timeout=30)[0] == "whole\n"


def blocked(redis):
    return redis.info("clients")["blocked_clients"]


def test_an_expired_job_is_not_an_unknown_one(quern, consumer, redis):
    id = quern("submit", "q").strip()
    consumer.take().finish(answer="gone soon")
    redis.delete(f"{ROOT}result:{id}")
    assert "no longer kept" in quern("get", id, code=1)
    redis.delete(f"{ROOT}events:{id}")
    assert "no longer kept" in quern("watch", id, code=1)
    assert f"no job {UNKNOWN}" in quern("get", UNKNOWN, code=65)
    assert f"no job {UNKNOWN}" in quern("watch", UNKNOWN, code=65)
    assert f"no job {UNKNOWN}" in quern("wait", UNKNOWN, code=65)


def test_cancel_tells_what_it_could_do(quern, consumer):
    waiting = quern("submit", "q").strip()
    assert quern("cancel", waiting) == "cancelled\n"
    running = quern("submit", "q").strip()
    job = consumer.take()
    assert job.id == running
    (answer,) = quern.json("cancel", running, "--reason", "changed my mind")
    assert answer == {"id": running, "outcome": "asked"}
    job.finish(answer="too late")
    assert quern("cancel", running) == "it had already ended\n"
    assert "no job" in quern("cancel", UNKNOWN, code=65)


# --- when something is wrong ----------------------------------------------------------

SESSION = "ls show files put get close fork".split()

OPERATORS = {
    "queue": "ls stats pause resume set purge".split(),
    "dead": "ls show requeue rm".split(),
    "worker": "ls drain resume".split(),
    "endpoint": "ls".split(),
    "schedule": "ls add show rm".split(),
    "hook": "ls add rotate test enable rm".split(),
    "key": "ls add rotate rm".split(),
}

USAGE = [
    ("run", "QUESTION is missing (or --job FILE)"),
    ("run a b", 'unexpected word "b": put the question in quotes'),
    ("run a --job b", "give a question or --job, not both"),
    ("submit a --jobs b", "give a question or --jobs, not both"),
    ("submit --job a --jobs b", "give --job or --jobs, not both"),
    ("run --jobs a", "there is no option --jobs"),
    (
        "run --job a --tenant b",
        "--tenant does not go with --job: set tenant in the JSON",
    ),
    ("get", "ID is missing"),
    ("get --nonsense", "there is no option --nonsense"),
    ("get -z", "there is no option -z"),
    ("get x --json=1", "--json takes no value"),
    ("wait x --timeout", "--timeout needs a value: TIME"),
    ("wait x --timeout 5x", '"5x", must be a time'),
    ("run q --deadline 8d", '"8d", must be a time from 0 to 7d'),
    ("run q --max-turns -1", '"-1", must be a number'),
    ("run q --memory lots", '"lots", must be a size'),
    ("run q --priority top", '"top", must be normal, high or low'),
    ("session get lab", "FILE is missing"),
    ("session fork lab", "NEW is missing"),
    ("session show", "NAME is missing"),
    ("session ls lab", 'unexpected word "lab"'),
    ("session put lab" + " x" * 65, '"x" is one word too many: at most 64 at once'),
    ("session list", 'quern session: there is no verb "list"'),
    ("sumbit q", "did you mean submit?"),
    ("wokrer ls", "did you mean worker?"),
    ("session frok a b", "did you mean fork?"),
    ("run q --sesion x", "did you mean --session?"),
    ("run q --dead 5s", "did you mean --deadline?"),
    ("help session list", 'there is no verb "session list"'),
    ("session get lab x --file y", "there is no option --file"),
    ("get x --deadline 5s", "there is no option --deadline"),
    ("run q --metadata x", '"x" is not KEY=VALUE'),
    ("run q --env =x", 'there is no name before "="'),
    ("run q --env QUERN_NOT_SET", '"QUERN_NOT_SET" is not NAME=VALUE'),
    ("run q --prefix a{b}", "prefix"),
    ("run q --redis-url gopher://x", "must begin with redis://"),
    ("run q --config /none", "--config: /none: No such file"),
]


@pytest.mark.parametrize("words, said", USAGE)
def test_usage(words, said, quern, redis):
    assert said in quern(*words.split(), code=64)
    assert redis.keys(f"{ROOT}job:*") == []


INPUT = [
    ("get 12", '"12" is not a job id'),
    ("run q --file /none", "file /none: No such file"),
    ("run q --file /", 'file /: "" is not a file name'),
    ("exec /none", "/none: No such file"),
    ("run q --session a\x01b", "session"),
    ("submit --job /none", "/none: No such file"),
]


@pytest.mark.parametrize("words, said", INPUT)
def test_bad_input(words, said, quern, redis):
    assert said in quern(*words.split(), code=65)
    assert redis.keys(f"{ROOT}job:*") == []


JOBS = [
    ("{", "not JSON: line 1"),
    ("[]", "map"),
    ('{"prompt": ""}', "prompt"),
    ('{"prompt": 7}', "prompt"),
    ('{"prompt": "a", "messages": [{"role": "user", "content": "a"}]}', "prompt"),
    ('{"kind": "code"}', "cells"),
    ('{"prompt": "a", "id": "1"}', "id"),
]


@pytest.mark.parametrize("job, said", JOBS)
def test_bad_jobs(job, said, quern, redis):
    assert said in quern("submit", "--job", "-", stdin=job, code=65)
    assert redis.keys(f"{ROOT}job:*") == []


@pytest.mark.parametrize("verb", ["run", "get", "wait", "watch", "cancel"])
def test_no_redis_is_69_and_named(verb, quern):
    said = quern(verb, UNKNOWN, code=69, REDIS_URL="unix:///nowhere/r.sock")
    assert "/nowhere/r.sock" in said


def test_an_answer_that_cannot_be_written_is_no_success(quern, consumer):
    id = quern("submit", "q").strip()
    consumer.take().finish(answer="lost")
    with open("/dev/full", "w") as full:
        said = quern("get", id, code=74, stdout=full)
    assert said.startswith("quern get: cannot write to standard output: No space")
    assert "submitted" not in said


def test_a_job_whose_id_cannot_be_written_is_told_all_the_same(quern, redis):
    with open("/dev/full", "w") as full:
        said = quern("submit", "q", code=74, stdout=full)
        error = json.loads(quern("submit", "q", "--json", code=74, stdout=full))
    (_, first), (_, second) = redis.xrange(f"{ROOT}work:default:normal")
    assert f"; job {first[b'id'].decode()} was submitted\n" in said
    assert second[b"id"].decode() in error["error"]["message"]
    assert error["error"]["retryable"] is False


def test_errors_as_json(quern):
    said = json.loads(quern("get", "12", "--json", code=65))
    assert said["error"]["code"] == "bad_field"
    assert said["error"]["retryable"] is False


def test_a_login_that_may_not_load_the_library_is_told_what_to_do(quern, redis, server):
    redis.function_flush()
    redis.acl_setuser(
        "app",
        enabled=True,
        passwords=["+pw"],
        keys="*",
        channels="*",
        commands=["+@all", "-function"],
    )
    url = f"unix://app:pw@{server.socket}"
    said = quern("submit", "q", code=69, REDIS_URL=url)
    assert "start a quern-consumer" in said
    assert quern("submit", "q")  # one that may, does
    assert quern("submit", "q", REDIS_URL=url)


# --- settings ---------------------------------------------------------------------


def test_flags_win_over_the_environment_and_that_over_the_file(quern, consumer):
    folder = quern.cwd / ".config/quern"
    folder.mkdir(parents=True)
    lines = "# mine\nQUERN_TENANT = file\nQUERN_QUEUE=default"
    (folder / "quern.conf").write_text(lines)
    quern("submit", "q", "--tenant", "flag", QUERN_TENANT="env")
    quern("submit", "q", QUERN_TENANT="env")
    quern("submit", "q")
    tenants = [consumer.take().job["tenant"] for _ in range(3)]
    assert tenants == ["flag", "env", "file"]
    (folder / "quern.conf").write_text("QUERN_TENENT = x\n")
    assert ':1: there is no setting "QUERN_TENENT"' in quern("submit", "q", code=64)


def test_help_comes_with_every_verb(quern):
    overview = quern("help")
    assert overview == quern("--help") == quern()
    session = [f"session {verb}" for verb in SESSION]
    operators = [f"{group} {verb}" for group in OPERATORS for verb in OPERATORS[group]]
    single = "run exec submit get wait watch cancel retry approve check doctor".split()
    for verb in single + session + operators:
        assert f"\n  {verb} " in overview
        page = quern("help", *verb.split())
        assert page == quern(*verb.split(), "--help")
        assert page.startswith(f"quern {verb} ")
    group = quern("help", "session")
    assert group == quern("session") == quern("session", "--help")
    assert all(f"\n  {verb} " in group for verb in session)
    assert quern("--version").startswith("quern 0.")


# --- doctor -----------------------------------------------------------------------


def findings(quern, code=0, **env):
    """By check; without the executor, which quern looks for beside itself."""
    quern.program = shutil.copy(QUERN, quern.cwd / "quern")
    child = quern.start("doctor", "--json", **env)
    out, err = child.communicate(timeout=30)
    assert child.returncode == code, (out, err)
    return {line["check"]: line for line in map(json.loads, out.splitlines())}


def test_doctor_finds_what_is_wrong(quern, consumer, redis):
    said = findings(quern, code=69)
    assert said["executor"]["text"] == "none on this host"
    assert said["consumers"]["level"] == "fault"
    assert "quern-consumer" in said["consumers"]["remedy"]
    quern("submit", "q")
    consumer.take()
    redis.config_set("maxmemory-policy", "allkeys-lru")
    said = findings(quern)
    assert said["consumers"]["level"] == "ok"
    assert said["eviction"]["level"] == "warning"
    redis.config_set("maxmemory", "1gb")
    assert findings(quern, code=69)["eviction"]["level"] == "fault"
    redis.config_set("maxmemory", 0)
    redis.config_set("maxmemory-policy", "noeviction")
    redis.config_set("appendonly", "no")
    said = findings(quern)
    assert said["storage"]["level"] == "warning"
    redis.config_set("appendonly", "yes")
    assert findings(quern)["library"]["level"] == "ok"
    said = findings(quern, code=69, REDIS_URL="unix:///nowhere/r.sock")
    assert said["redis"]["level"] == "fault"


def test_doctor_looks_at_the_server(quern, redis):
    said = findings(quern, code=69)
    assert said["role"]["level"] == said["clock"]["level"] == "ok"
    assert "of 20" in said["redis"]["text"]
    assert said["login"]["level"] == "warning"
    assert "users.acl" in said["login"]["remedy"]
    assert "without a limit" in said["memory"]["text"]
    redis.config_set("maxmemory", "1gb")
    assert findings(quern, code=69)["memory"]["level"] == "ok"
    used = redis.info("memory")["used_memory"]
    redis.config_set("maxmemory", used + used // 10)
    assert findings(quern, code=69)["memory"]["level"] == "warning"
    redis.config_set("maxmemory", 0)
    redis.config_set("appendfsync", "no")
    assert "half a minute" in findings(quern, code=69)["storage"]["text"]
    redis.config_set("appendfsync", "everysec")
    redis.replicaof("127.0.0.1", 1)
    try:
        assert "this is a replica" in findings(quern, code=69)["role"]["text"]
    finally:
        redis.replicaof("NO", "ONE")


# --- logins -----------------------------------------------------------------------


@pytest.fixture
def producer_login(redis, server):
    """The shipped ACL for producers, and the URL to use it."""
    with open(os.path.join(SOURCE, "deploy", "redis", "users.acl")) as file:
        (line,) = [line for line in file if line.startswith("user producer ")]
    rules = line.replace("@PRODUCER_PASSWORD@", "pw").split()[2:]
    redis.execute_command("ACL", "SETUSER", "producer", "reset", *rules)
    return f"unix://producer:pw@{server.socket}"


def test_the_producers_login_is_enough(quern, consumer, redis, producer_login):
    quern.env["REDIS_URL"] = producer_login
    (quern.cwd / "a.txt").write_text("a")
    child = quern.start("run", "q", "--file", "a.txt")
    job = consumer.take()
    job.event("image", image=IMAGE)
    job.finish(answer="yes", images=[IMAGE])
    assert child.communicate(timeout=30)[0] == "yes\n"
    for verb in ("get", "wait", "watch"):
        assert quern(verb, job.id) == "yes\n"
    assert quern("cancel", job.id) == "it had already ended\n"
    redis.zadd(f"{ROOT}sessions", {"default/lab": 1})
    assert quern.run("session", "ls") == ("", "no sessions are kept\n", 0)
    assert "there is no session" in quern("session", "show", "lab", code=65)
    said = findings(quern)
    assert [said[name]["level"] for name in ("redis", "library")] == ["ok", "ok"]
    assert [said[name]["level"] for name in ("server", "consumers")] == ["unseen"] * 2
