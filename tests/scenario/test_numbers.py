"""What a consumer counts: /metrics, /livez and /readyz at the place of its --metrics."""

import contextlib
import os
import re
import signal
import socket
import time

import pytest
from scraped import ask, metrics_port, scrape, scrape_text
from servers import Process, binary, wait_until
from stack import Stack, call_of

SCRIPT = [
    {"match": "look", "replies": [{"tool_calls": [call_of("1 + 1")]}, {"text": "two"}]},
    {"match": "hostile", "replies": [{"tool_calls": [call_of("{}", name="invented")]}, {"text": "no"}]},
    {"match": "wrong", "replies": [{"status": 400, "error": "wrong"}]},
]


@pytest.fixture(scope="module")
def stack():
    with Stack(script=SCRIPT, metrics="127.0.0.1:0") as stack:
        stack.port = metrics_port(stack.consumer(queues="default,other"))
        yield stack


def grown(stack, act):
    """By how much each number has grown; what is new counts from 0."""
    before = scrape(stack.port)
    act()
    after = scrape(stack.port)
    return {k: v - before.get(k, 0) for k, v in after.items() if v != before.get(k, 0)}


def test_a_conversation_with_a_cell_is_counted(stack):
    def act():
        assert stack.run(prompt="look")["status"] == "completed"
        assert stack.run(kind="code", cells=["1/0"], queue="other")["status"] == "failed"

    more = grown(stack, act)
    assert more["jobs_started_total", "default"] == 1
    assert more["jobs_finished_total", "completed", "default", "none"] == 1
    assert more["jobs_finished_total", "failed", "other", "cell_failed"] == 1
    assert more["job_wait_seconds_count", "default"] == 1
    assert more["job_duration_seconds_count", "completed", "default"] == 1
    assert more["model_requests_total", "default", "ok"] == 2
    assert more["model_request_seconds_count", "default"] == 2
    assert more["model_first_token_seconds_count", "default"] >= 1
    assert more["model_tokens_total", "default", "input"] > 0
    assert more["cells_total", "ok"] == 1 and more["cells_total", "error"] == 1
    assert more["cell_states_total", "kept"] == 2
    assert more["cell_seconds_count",] == 2
    assert more["redis_call_seconds_count", "write"] > 5
    assert more["redis_call_seconds_count", "take"] >= 1


def test_a_request_that_is_refused_is_counted(stack):
    more = grown(stack, lambda: stack.run(prompt="wrong"))
    assert more["model_requests_total", "default", "model_rejected"] == 1
    assert more["jobs_finished_total", "failed", "default", "model_rejected"] == 1


def test_what_is_now_is_told(stack):
    now = scrape(stack.port)
    assert now["slots", "busy"] == 0 and now["slots", "free"] == 64
    assert now["executor_up",] == 1 and now["redis_connections", "up"] == 1
    assert now["model_breaker_open", "default"] == 0
    assert abs(now["last_take_timestamp_seconds",] - time.time()) < 3600
    assert now["build_info", "consumer", "0.1.0"] == 1
    assert now["loop_lag_seconds_count",] >= 0
    assert now["log_lines_total", "info"] > 0


def test_words_of_jobs_and_models_make_no_series(stack):
    """Nor tenants, sessions, names of tools that a model has made up."""
    stack.run(prompt="hostile 0", tenant="t", session="s", model="default")
    before = {key for key in scrape(stack.port)}
    for n in range(30):
        stack.run(prompt=f"hostile {n}", tenant=f"tenant-{n}", session=f"session-{n}", metadata={f"k{n}": "v"})
        stack.run(prompt="x", model=f"model-{n}")
    text = scrape_text(stack.port)
    new = {key[0] for key in set(scrape(stack.port)) - before}
    assert new <= {"jobs_finished_total", "job_duration_seconds_count", "job_duration_seconds_sum",
                   "job_duration_seconds_bucket"}, new
    assert not re.search("tenant-|session-|invented|model-[0-9]", text)


def test_alive_and_ready(stack):
    assert ask(stack.port, "/livez") == (200, "live\n")
    assert ask(stack.port, "/readyz") == (200, "ready\n")
    assert ask(stack.port, "/else")[0] == 404


def test_scrapers_that_hang_stop_nobody(stack):
    hanging = [socket.create_connection(("127.0.0.1", stack.port)) for _ in range(30)]
    for number, one in enumerate(hanging):
        one.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n"[: number + 1])
    assert stack.run(prompt="look")["status"] == "completed"
    for one in hanging:
        one.close()
    wait_until(lambda: ask(stack.port, "/livez")[0] == 200)


@contextlib.contextmanager
def another(stack, place="127.0.0.1:0", executor="none"):
    env = {"REDIS_URL": stack.redis.url, "OPENAI_BASE_URL": stack.model.url}
    args = ["--metrics", place, "--executor", executor, "--queues", "third"]
    with Process([binary("quern-consumer"), *args], env=env) as process:
        yield process
        process.kill()


def test_without_an_executor_it_is_not_ready(stack, tmp_path):
    with another(stack, executor=str(tmp_path / "none.sock")) as process:
        port = metrics_port(process)
        status, why = wait_until(lambda: (got := ask(port, "/readyz"))[1].startswith("the exec") and got)
        assert status == 503 and ask(port, "/livez")[0] == 200
        assert scrape(port)["executor_up",] == 0


def test_while_redis_is_away_it_lives_and_is_not_ready():
    with Stack(executor=False) as stack:
        with another(stack) as process:
            port = metrics_port(process)
            wait_until(lambda: ask(port, "/readyz")[0] == 200)
            stack.redis.kill()
            status, why = wait_until(lambda: (got := ask(port, "/readyz"))[0] == 503 and got)
            assert why == "Redis cannot be reached\n"
            assert ask(port, "/livez")[0] == 200
            now = scrape(port)
            assert now["redis_connections", "down"] == 1 and now["redis_errors_total", "lost"] >= 1
            stack.redis.start()
            wait_until(lambda: ask(port, "/readyz")[0] == 200)


def test_while_it_drains_it_is_not_ready(stack):
    with another(stack) as process:
        port = metrics_port(process)
        wait_until(lambda: ask(port, "/readyz")[0] == 200)
        process.signal(signal.SIGTSTP)
        status, why = wait_until(lambda: (got := ask(port, "/readyz"))[0] == 503 and got)
        assert "takes no more jobs" in why


def test_a_socket_that_a_dead_one_has_left_is_taken(stack, tmp_path):
    path = tmp_path / "numbers.sock"
    for _ in range(2):
        with another(stack, f"unix:{path}") as process:
            process.wait_for('"metrics"')
            assert os.path.exists(path)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
                client.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
                assert b"200" in client.recv(100)


def test_a_place_that_is_taken_is_refused(stack):
    with another(stack, f"127.0.0.1:{stack.port}") as process:
        assert process.wait() == 64
        assert f"cannot listen at 127.0.0.1:{stack.port}: Address already in use" in process.text()


@pytest.mark.parametrize("place", ["9464", "localhost:9464", "127.0.0.1:1,127.0.0.1:2", "unix:"])
def test_a_place_that_is_none_is_refused(stack, place):
    with another(stack, place) as process:
        assert process.wait() == 64
        assert "--metrics" in process.text()
