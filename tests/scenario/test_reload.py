"""Settings that change while programs run: upon HUP, and when a file has changed."""

import json
import os
import pathlib
import signal
import tempfile

import pytest
from gateway import Gateway
from practice_model import PracticeModel
from servers import Process, RedisServer, binary, wait_until
from stack import ROOT, Stack

EVERY = "200ms"


def told(process, what):
    """The lines of that event."""
    lines = [line for line in process.text().splitlines() if line.startswith("{")]
    return [line for line in map(json.loads, lines) if line["what"] == what]


def next_line(process, what, before):
    return wait_until(lambda: told(process, what)[before:], what=f"one more {what}")[0]


def write(path, text):
    """As who does it well: nobody sees half of it."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").rename(path)


@pytest.fixture(scope="module")
def stack():
    with Stack(executor=False) as stack:
        yield stack


@pytest.fixture
def consumer(stack, tmp_path):
    """With settings in a file, and a key in another one; the environment says little."""
    (tmp_path / "key").write_text("sk-first\n")
    settings = tmp_path / "settings"
    settings.write_text(lines(max_turns=7))
    process = Process(
        [binary("quern-consumer"), "--config", str(settings), "--executor", "none"],
        env={
            "QUERN_NAME": "reloaded",
            "REDIS_URL": stack.redis.url,
            "OPENAI_BASE_URL": stack.model.url,
            "OPENAI_API_KEY_FILE": str(tmp_path / "key"),
        },
    )
    with process:
        process.settings, process.key = settings, tmp_path / "key"
        process.wait_for('"ready"')
        yield process
        process.kill()


def lines(**settings):
    given = {"reload_time": EVERY, **settings}
    return "".join(f"QUERN_{k.upper()}={v}\n" for k, v in given.items())


def test_a_file_that_changes_is_read_anew(consumer):
    write(consumer.settings, lines(max_turns=8, drain="3s"))
    line = next_line(consumer, "settings.reloaded", 0)
    assert line["changed"] == "drain, max-turns"
    assert line["text"] == "The settings were read anew; changed: drain, max-turns."


def test_a_key_that_changes_is_sent_from_then_on(stack, tmp_path):
    with PracticeModel(key="sk-second") as model:
        key = tmp_path / "key"
        key.write_text("sk-first\n")
        env = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY_FILE": str(key)}
        consumer = stack.consumer(queues="keys", reload_time=EVERY, env=env)
        first = stack.run(prompt="before", queue="keys")
        assert first["status"] == "failed" and "401" in first["error"]["message"], first
        write(key, "sk-second\n")
        assert next_line(consumer, "settings.reloaded", 0)["changed"] == "key"
        wait_until(lambda: told(consumer, "models.loaded"))
        assert stack.run(prompt="after", queue="keys")["status"] == "completed"
        assert "sk-" not in consumer.text()


def test_a_link_that_leads_elsewhere_is_a_change(consumer, tmp_path):
    """What Kubernetes does with a secret."""
    for name, text in (("one", "sk-one"), ("two", "sk-two")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "key").write_text(text)
    (tmp_path / "data").symlink_to("one")
    consumer.key.unlink()
    consumer.key.symlink_to(tmp_path / "data" / "key")
    assert next_line(consumer, "settings.reloaded", 0)["changed"] == "key"
    before = len(told(consumer, "settings.reloaded"))
    (tmp_path / "swap").symlink_to("two")
    (tmp_path / "swap").rename(tmp_path / "data")
    assert next_line(consumer, "settings.reloaded", before)["changed"] == "key"


@pytest.mark.parametrize(
    "text, why",
    [
        ("QUERN_MAX_TURNS=0\n", "QUERN_MAX_TURNS"),
        ("QUERN_MAX_TURNS=9\nQUERN_MAX_TURN", "is not a line of the form VARIABLE=value"),
        ("QUERN_MAX_TURMS=9\n", "did you mean QUERN_MAX_TURNS?"),
        ("", "is empty, as if it were being written"),
        ("QUERN_MAX_TURNS=9\0", "a NUL byte"),
    ],
)
def test_a_wrong_file_changes_nothing(consumer, text, why):
    write(consumer.settings, text)
    line = next_line(consumer, "settings.refused", 0)
    assert why in line["why"] and line["level"] == "error", line
    assert not told(consumer, "settings.reloaded")
    write(consumer.settings, lines(max_turns=9))
    assert next_line(consumer, "settings.reloaded", 0)["changed"] == "max-turns"


def test_what_needs_a_restart_is_named_and_stays(consumer, stack):
    write(consumer.settings, lines(slots=3, queues="other", max_turns=8))
    line = next_line(consumer, "settings.reloaded", 0)
    assert line["changed"] == "max-turns" and line["restart"] == "queues, slots"
    assert "a restart is needed for: queues, slots" in line["text"]
    assert stack.result(stack.submit(prompt="still of the old queue"))["status"] == "completed"


def test_a_limit_holds_for_the_next_step(consumer, stack):
    write(consumer.settings, lines(max_total_tokens=1))
    next_line(consumer, "settings.reloaded", 0)
    result = stack.result(stack.submit(prompt="hello"))
    assert result["status"] != "completed" and "tokens" in result["error"]["message"], result


def test_the_level_of_the_log_changes(consumer, stack):
    write(consumer.settings, lines(max_turns=7, log_level="error"))
    assert next_line(consumer, "settings.reloaded", 0)["changed"] == "log-level"
    quiet = stack.submit(prompt="hello")
    stack.result(quiet)
    write(consumer.settings, lines(max_turns=7, log_level="info"))
    wait_until(lambda: consumer.signal(signal.SIGHUP) or len(told(consumer, "models.loaded")) > 0)
    loud = stack.submit(prompt="hello")
    consumer.wait_for(loud)
    assert quiet not in consumer.text()


def test_the_fleet_is_told_the_settings_that_count(stack, consumer):
    def settings():
        told = stack.db.hget(f"{ROOT}worker:reloaded", "settings").decode()
        return dict(line.split("=", 1) for line in told.splitlines())

    assert settings()["max-turns"] == "7" and settings()["lease"] == "30s"
    assert not {"key", "slots", "redis-url"} & set(settings())
    write(consumer.settings, lines(max_turns=8))
    wait_until(lambda: settings()["max-turns"] == "8")


def test_a_grace_that_is_too_short_is_told(consumer):
    write(consumer.settings, lines(max_turns=7, grace="20s", drain="25s"))
    assert next_line(consumer, "grace.short", 0)["needed_ms"] == 31000


def test_a_start_with_too_short_a_grace_is_told(stack):
    env = {"REDIS_URL": stack.redis.url, "QUERN_GRACE": "20s"}
    with Process([binary("quern-consumer"), "--executor", "none"], env=env) as consumer:
        assert "may take 31000 ms, but this consumer is killed after 20000" in consumer.wait_for('"grace.short"')
        consumer.kill()


def test_without_polling_hup_reads_them(stack, tmp_path):
    settings = tmp_path / "settings"
    settings.write_text("QUERN_RELOAD_TIME=0\nQUERN_DRAIN=3s\n")
    args = ["--config", str(settings), "--executor", "none"]
    with Process([binary("quern-consumer"), *args], env={"REDIS_URL": stack.redis.url}) as consumer:
        consumer.wait_for('"ready"')
        write(settings, "QUERN_RELOAD_TIME=0\nQUERN_DRAIN=4s\n")
        consumer.signal(signal.SIGHUP)
        assert next_line(consumer, "settings.reloaded", 0)["changed"] == "drain"
        consumer.kill()


def test_a_secret_of_two_lines_is_refused(stack, tmp_path):
    (tmp_path / "key").write_text("sk-one\nsk-two\n")
    env = {"REDIS_URL": stack.redis.url, "OPENAI_API_KEY_FILE": str(tmp_path / "key")}
    with Process([binary("quern-consumer")], env=env) as consumer:
        assert consumer.wait() == 64
        assert "more than one line, and a secret has one" in consumer.text()
        assert "sk-one" not in consumer.text() and "sk-two" not in consumer.text()


def test_the_gateway_reads_its_file_anew(tmp_path):
    settings = tmp_path / "settings"
    settings.write_text("QUERN_LINK_TTL=1h\n")
    with RedisServer() as redis, Gateway(redis.url, reload_time=EVERY) as gateway:
        gateway.stop()
        gateway.args += ["--config", str(settings)]
        gateway.begin().ready()
        write(settings, "QUERN_LINK_TTL=2h\n")
        assert next_line(gateway, "settings.reloaded", 0)["changed"] == "link-ttl"
        write(settings, "QUERN_LINK_TTL=2h\nQUERN_CORS_ORIGINS=*\n")
        assert "--open with --cors-origins *" in next_line(gateway, "settings.refused", 0)["why"]


@pytest.fixture
def open_folder():
    """That the user whom the executor becomes may enter, unlike tmp_path."""
    with tempfile.TemporaryDirectory(prefix="quern-", dir="/tmp") as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


@pytest.mark.parametrize("program", ["quern-deliverer", "quern-executor"])
def test_hup_reads_the_others_anew(stack, program, open_folder):
    settings = open_folder / "settings"
    settings.write_text("QUERN_LOG_LEVEL=info\n")
    args = [binary(program), "--config", str(settings)]
    if program == "quern-executor":
        args += ["--executor", f"{open_folder}/run/socket", "--profile", "bare"]
    with Process(args, env={"REDIS_URL": stack.redis.url}) as process:
        process.wait_for("ready")
        settings.write_text("QUERN_LOG_LEVEL=debug\n")
        process.signal(signal.SIGHUP)
        assert "log-level" in json.dumps(next_line(process, "settings.reloaded", 0))
        settings.write_text("QUERN_LOG_LEVEL=loud\n")
        process.signal(signal.SIGHUP)
        assert "loud" in json.dumps(next_line(process, "settings.refused", 0))
