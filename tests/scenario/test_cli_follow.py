"""The quern command while a job runs: followed, saved, on a terminal, ended."""

import json
import os
import re
import resource
import signal
import time

import msgpack
import pytest
from command import Terminal
from library import Library, job_id
from servers import wait_until
from standin import IMAGE, PNG, ROOT, SHA

pytestmark = pytest.mark.usefixtures("ends")


# --- following --------------------------------------------------------------------


def types(lines):
    return [line["type"] for line in lines]


def watching(redis):
    def subscribed():
        return redis.pubsub_numsub(*redis.pubsub_channels())[:1]

    wait_until(lambda: subscribed() and subscribed()[0][1], what="a watcher")


def read_line(child):
    return json.loads(child.stdout.readline())


def test_a_late_watcher_misses_nothing(quern, consumer):
    id = quern("submit", "q").strip()
    job = consumer.take()
    for n in range(200):  # more than one page
        job.event("message.delta", turn=1, text=f"{n} ")
    job.finish(answer="all")
    lines = quern.json("watch", id)
    assert [line["seq"] for line in lines[:-1]] == list(range(1, 204))
    assert types(lines)[0] == "job.queued"
    assert types(lines)[-2:] == ["job.completed", "result"]
    assert [line["seq"] for line in quern.json("watch", id, "--from", "201")[:-1]] == [
        202,
        203,
    ]
    assert types(quern.json("watch", id, "--from", "203")) == ["result"]


@pytest.fixture
def watched(quern, consumer, redis):
    """A started job, and who watches it; two events have been seen."""
    id = quern("submit", "q").strip()
    job = consumer.take()
    child = quern.start("watch", id, "--json")
    assert [read_line(child)["seq"] for _ in range(2)] == [1, 2]
    watching(redis)
    time.sleep(0.2)  # it has read the stream to its end, and lives
    return job, child


def rest(child):
    """What it says from now on, without the result; it must end well."""
    out, err = child.communicate(timeout=30)
    assert child.returncode == 0, err
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines.pop()["type"] == "result"
    return lines


def append_silently(redis, id, seq):
    """An event that is published to nobody."""
    event = {"v": 1, "seq": seq, "at": 1, "attempt": 1, "type": "turn.started"}
    bytes = msgpack.packb({**event, "data": {}})
    redis.xadd(f"{ROOT}events:{id}", {"event": bytes}, id=f"{seq}-0")
    redis.hincrby(f"{ROOT}job:{id}", "seq", 1)


def test_a_watcher_fills_gaps(watched, redis):
    job, child = watched
    append_silently(redis, job.id, 3)
    job.event("message.delta", turn=1, text="x")
    assert [read_line(child)["seq"] for _ in range(2)] == [3, 4]
    job.finish(answer="x")
    assert [line["seq"] for line in rest(child)] == [5]


def test_a_watcher_does_not_trust_silence(watched, redis):
    job, child = watched
    append_silently(redis, job.id, 3)
    assert read_line(child)["seq"] == 3
    job.finish(answer="x")
    assert [line["seq"] for line in rest(child)] == [4]


def test_a_watcher_drops_what_it_has_seen(watched, redis):
    job, child = watched
    key = f"{ROOT}events:{job.id}"
    for n in range(3):
        redis.publish(key, redis.xrange(key)[n][1][b"event"])
        job.event("message.delta", turn=1, text="x")
    job.finish(answer="x")
    assert [line["seq"] for line in rest(child)] == [3, 4, 5, 6]


def test_a_watcher_passes_over_what_is_no_event(watched, redis):
    job, child = watched
    redis.publish(f"{ROOT}events:{job.id}", b"\xc1 not a message")
    redis.publish(f"{ROOT}events:{job.id}", b"")
    job.finish(answer="x")
    assert [line["seq"] for line in rest(child)] == [3]


@pytest.mark.parametrize("how", ["its connection is killed", "redis dies and returns"])
def test_a_watcher_goes_on_when(how, watched, redis, server):
    job, child = watched
    for n in range(3):
        if how.startswith("redis"):
            server.restart()
        else:
            redis.client_kill_filter(_type="pubsub")
        job.event("message.delta", turn=1, text=f"{n}")
        assert read_line(child)["seq"] == 3 + n
    job.finish(answer="x")
    assert types(rest(child)) == ["job.completed"]


def test_run_as_json(quern, consumer, tmp_path):
    child = quern.start("run", "q", "--json", "--out", "here")
    job = consumer.take()
    job.event("image", image=IMAGE)
    job.finish(answer="see", images=[IMAGE])
    lines = [json.loads(line) for line in child.communicate(timeout=30)[0].splitlines()]
    assert lines[0] == {"type": "submitted", "id": job.id, "existed": False}
    assert types(lines[1:]) == [
        "job.queued",
        "job.started",
        "image",
        "saved",
        "job.completed",
        "result",
    ]
    assert lines[4] == {
        "type": "saved",
        "name": "figure-1.png",
        "path": "here/figure-1.png",
    }
    assert lines[-1]["result"]["images"] == [IMAGE]
    assert (tmp_path / "here/figure-1.png").read_bytes() == PNG


def test_who_may_only_listen_is_told_that_there_may_be_no_job(quern, redis, server):
    """As a dashboard: it cannot ask whether the job is there."""
    redis.acl_setuser(
        "ear",
        enabled=True,
        passwords=["+x"],
        keys=["quern:{*}:events:*"],
        channels=["quern:{*}:events:*"],
        categories=["+@read", "+@pubsub", "+@connection"],
    )
    url = server.url.replace("unix://", "unix://ear:x@")
    child = quern.start("watch", job_id(77), REDIS_URL=url)
    said = f"no event of job {job_id(77)} has come yet, and this login may not ask"
    assert said in child.stderr.readline()
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)


# --- saving -----------------------------------------------------------------------


def test_images_are_saved_beside_what_is_there(quern, consumer, tmp_path):
    (tmp_path / "quern-out").mkdir()
    (tmp_path / "quern-out/figure-1.png").write_text("mine")
    (tmp_path / "target").write_text("untouched")
    (tmp_path / "quern-out/figure-1~2.png").symlink_to(tmp_path / "target")
    for _ in range(2):
        child = quern.start("run", "q")
        consumer.take().finish(answer="see", images=[IMAGE])
        _, err = child.communicate(timeout=30)
        assert child.returncode == 0
        told = "image quern-out/figure-1~3.png, called figure-1.png in the answer"
        assert told in (err if isinstance(err, str) else err.decode())
    assert (tmp_path / "quern-out/figure-1.png").read_text() == "mine"
    assert (tmp_path / "target").read_text() == "untouched"
    assert (tmp_path / "quern-out/figure-1~3.png").read_bytes() == PNG
    assert len(os.listdir(tmp_path / "quern-out")) == 3


def test_bytes_that_are_not_what_their_name_says_are_not_saved(quern, consumer, redis):
    redis.set(f"quern:{{000}}:blob:{SHA}", b"something else")
    child = quern.start("run", "q")
    consumer.take().finish(answer="see", images=[IMAGE])
    err = child.communicate(timeout=30)[1]
    assert child.returncode == 65, err
    assert "not saved: figure-1.png: blob" in err
    assert "holds other bytes than its name says" in err
    assert not os.path.exists(os.path.join(quern.cwd, "quern-out/figure-1.png"))


@pytest.mark.parametrize("name", ["../up.png", "/etc/x", "..", "a\nb"])
def test_names_that_leave_the_folder_are_not_taken(name, quern, consumer):
    child = quern.start("run", "q")
    consumer.take().finish(answer="see", images=[{**IMAGE, "name": name}])
    child.communicate(timeout=30)
    assert child.returncode == 65
    saved = [files for _, _, files in os.walk(quern.cwd) if files]
    assert saved == []


@pytest.mark.parametrize("json_", [[], ["--json"]])
def test_half_a_picture_is_none_and_no_success(json_, quern, consumer, redis):
    """The disk is full, or as good as: files may have 5 bytes."""
    program = quern.cwd / "quern"
    program.write_text(f"#!/bin/sh\ntrap '' XFSZ\nexec {quern.program} \"$@\"\n")
    program.chmod(0o755)
    quern.program = str(program)
    child = quern.start("run", "q", *json_)
    job = consumer.take()
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (5, 5))
    job.finish(answer="see", images=[IMAGE])
    out, err = child.communicate(timeout=30)
    assert child.returncode == 74, (out, err)
    assert "not saved: figure-1.png: cannot write figure-1.png: File too large" in err
    for line in [*err.splitlines(), *out.splitlines()] if json_ else []:
        json.loads(line)
    assert os.listdir(quern.cwd / "quern-out") == []


# --- on a terminal ------------------------------------------------------------------


def test_a_terminal_shows_the_work(quern, consumer):
    with Terminal(quern, "run", "q") as terminal:
        job = consumer.take()
        terminal.wait_for(f"job {job.id}")
        job.event("turn.started", turn=1)
        job.event("message.delta", turn=1, text="Let me ")
        terminal.wait_for("Let me ")
        job.event("message.delta", turn=1, text="look.")
        job.event("tool.started", turn=1, call="c", tool="python", code="x = 1\nx")
        job.event("tool.output", call="c", stream="stdout", text="one\ntwo\n")
        job.event("tool.completed", call="c", status="timeout", state="rolled_back")
        job.event("image", image=IMAGE)
        job.event("turn.started", turn=2)
        job.event("message.delta", turn=2, text="It is 1.")
        usage = {"model_calls": 2, "input_tokens": 10, "output_tokens": 5}
        job.finish(answer="It is 1.", usage=usage, timings={"total": 1500})
        assert terminal.end() == 0
        plain = terminal.said.replace("\r\n", "\n")
        for code in ("[0m", "[1m", "[2m", "[31m", "[33m", "[36m"):
            plain = plain.replace("\x1b" + code, "")
        assert plain == (
            f"job {job.id}\n"
            "Let me look.\n"
            "> python\n"
            "│ x = 1\n"
            "│ x\n"
            "  one\n"
            "  two\n"
            "  timeout after 0 ms, variables and files: rolled_back\n"
            "image quern-out/figure-1.png  640x480, 29 B\n"
            "It is 1.\n"
            "completed in 1.5 s, 2 model calls, 15 tokens\n"
        )


def test_nothing_that_a_model_says_drives_the_terminal(quern, consumer):
    evil = "a\x1b]0;owned\x07b\x1b[2Jc\u009b31md\rE\x08F\u202eG\u200bH\U000e0041"
    with Terminal(quern, "run", "q") as terminal:
        job = consumer.take()
        job.event("tool.started", turn=1, call="c", tool=evil, code=evil)
        job.event("tool.output", call="c", stream="stdout", text=evil)
        job.event("message.delta", turn=1, text=evil)
        error = {"kind": "reject", "code": "x", "message": evil}
        job.finish("failed", answer=evil + "!", error=error, notes=evil)
        assert os.WEXITSTATUS(terminal.end()) == 1
        said = terminal.said
    hidden = "\u202e\u200b\U000e0041"
    for bad in ("\x1b]", "\x1b[2J", "\u009b", "\x07", "\x08", *hidden):
        assert bad not in said
    said = re.sub(r"\x1b\[\d*m", "", said)  # numbers stand out
    prose = "a<U+001B>]0;owned<U+0007>b<U+001B>[2Jc<U+009B>31mdE<U+0008>F<U+202E>G"
    prose += "<U+200B>H<U+E0041>"
    code = prose.replace("dE", "d<U+000D>E")
    assert said.count(prose) >= 2, "output and answer"
    assert said.count(code) >= 3, "name, code and error"


def test_json_on_a_terminal_is_harmless_and_the_same(quern, consumer):
    evil = "a\x7fb\u009bc\u202ed\U000e0041"
    with Terminal(quern, "run", "q", "--json") as terminal:
        consumer.take().finish(answer=evil)
        assert terminal.end() == 0
        said = terminal.said
    assert r"a\u007fb\u009bc\u202ed\udb40\udc41" in said
    result = json.loads(said.splitlines()[-1])["result"]
    assert result["answer"] == evil


def test_prose_keeps_what_its_language_needs(quern, consumer):
    with Terminal(quern, "run", "q") as terminal:
        job = consumer.take()
        for piece in ("\u0645\u06cc", "\u200c\u062e ", "\u2764", "\ufe0f"):
            job.event("message.delta", turn=1, text=piece)
        job.finish(answer="\u0645\u06cc\u200c\u062e \u2764\ufe0f")
        assert terminal.end() == 0
        assert "\u0645\u06cc\u200c\u062e \u2764\ufe0f" in terminal.said


@pytest.mark.parametrize(
    "name, saved",
    [
        ("-rf.png", "_rf.png"),
        ("gnp.\u202eexe", "gnp._exe"),
        ("a\u009b2J.png", "a_2J.png"),
        ("a\u200b\U000e0041.png", "a__.png"),
    ],
)
def test_a_saved_name_is_what_it_looks_like(name, saved, quern, consumer):
    child = quern.start("run", "q")
    consumer.take().finish(answer="a", images=[{**IMAGE, "name": name}])
    child.communicate(timeout=30)
    assert os.listdir(quern.cwd / "quern-out") == [saved]


def test_of_an_output_schema_a_pipe_gets_the_value_alone(quern, consumer):
    """The model may have said more; it stands in the result, as its answer."""
    (quern.cwd / "s.json").write_text('{"type": "object"}')
    said = {"answer": 'Here it is: {"n": 3}', "output": {"n": 3, "é": None}}
    child = quern.start("run", "q", "--output-schema", "s.json")
    job = consumer.take()
    job.event("message.delta", turn=1, text=said["answer"])
    job.finish(**said)
    out, _ = child.communicate(timeout=30)
    assert out == quern("get", job.id) == '{"n":3,"é":null}\n'
    assert quern.json("get", job.id)[0]["result"]["answer"] == said["answer"]


@pytest.mark.parametrize("how", ["a pipe", "a terminal"])
def test_a_pause_that_holds_the_job_is_said_once(how, quern, consumer):
    id = quern("submit", "q").strip()
    quern("queue", "pause", "default")
    if how == "a terminal":
        with Terminal(quern, "watch", id) as terminal:
            terminal.wait_for("queue default is paused")
            quern("cancel", id)
            terminal.end()
            said = terminal.said
    else:
        child = quern.start("watch", id)
        said = child.stderr.readline()
        time.sleep(6)  # it has looked again
        quern("cancel", id)
        out, err = child.communicate(timeout=30)
        said += err
    assert said.count("it waits: ") == 1 and "queue default is paused" in said


def test_a_pause_is_a_line_of_json(quern, consumer):
    id = quern("submit", "q").strip()
    quern("queue", "pause", "default")
    child = quern.start("watch", id, "--json")
    held = read_line(child)
    if held["type"] == "job.queued":
        held = read_line(child)
    assert held["type"] == "held" and held["why"].startswith("queue default is paused")
    quern("cancel", id)
    lines = [json.loads(line) for line in child.communicate(timeout=30)[0].splitlines()]
    assert types(lines)[-2:] == ["job.cancelled", "result"]


@pytest.mark.parametrize(
    "reason,sentence",
    [
        ("budget", "the budget of tenant default is used up"),
        ("endpoint", "its model endpoint is left alone until"),
    ],
)
def test_a_budget_or_an_endpoint_that_holds_the_job_is_said(
    reason, sentence, quern, consumer, redis
):
    """Whoever comes late, and has no terminal, too."""
    id = quern("submit", "q").strip()
    jobs = Library(redis)
    consumer.take()
    jobs.wait(id, jobs.facts(id)["epoch"], 3600000, reason)
    child = quern.start("watch", id)
    said = child.stderr.readline()
    assert said.startswith("it waits: ") and sentence in said
    quern("cancel", id)
    assert child.communicate(timeout=30)[1].count("it waits: ") == 0


def test_no_color_is_obeyed(quern, consumer):
    quern.env["NO_COLOR"] = "1"
    with Terminal(quern, "run", "q") as terminal:
        consumer.take().finish(answer="plain")
        terminal.end()
        assert "plain" in terminal.said
        assert "\x1b" not in terminal.said


def test_ctrl_c_tells_how_to_go_on_and_again_leaves(quern, consumer):
    with Terminal(quern, "run", "q") as terminal:
        job = consumer.take()
        terminal.wait_for(job.id)
        terminal.type("\x03")
        terminal.wait_for(f"quern watch {job.id}")
        job.event("message.delta", turn=1, text="still here")
        terminal.wait_for("still here")
        terminal.type("\x03")
        assert os.WTERMSIG(terminal.end()) == signal.SIGINT
    job.finish(answer="done anyway")
    assert quern("get", job.id) == "done anyway\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("verb", ["run", "exec"])
def test_a_script_that_is_ended_is_told_which_job_goes_on(
    verb, number, quern, consumer, redis
):
    (quern.cwd / "q").write_text("q")
    child = quern.start(verb, "q")
    job = consumer.take()
    watching(redis)
    child.send_signal(number)
    out, err = child.communicate(timeout=30)
    assert (out, child.returncode) == ("", -number)
    assert err == (
        f"The job goes on. Then:\n  quern watch {job.id}\n  quern cancel {job.id}\n"
    )
    job.finish(answer="done anyway")
    assert quern("get", job.id) == "done anyway\n"


def test_what_is_ended_as_json_says_nothing_else(quern, consumer, redis):
    child = quern.start("run", "q", "--json")
    job = consumer.take()
    assert json.loads(child.stdout.readline())["id"] == job.id
    watching(redis)
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=30)
    assert (err, child.returncode) == ("", -signal.SIGTERM)
    assert all(json.loads(line)["seq"] for line in out.splitlines())


def test_who_is_told_to_ignore_an_interrupt_does(quern, consumer, redis):
    """As a shell tells what it runs in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = quern.start("run", "q")
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    job = consumer.take()
    watching(redis)
    child.send_signal(signal.SIGINT)
    job.finish(answer="all the same")
    assert child.communicate(timeout=30) == ("all the same\n", "")
