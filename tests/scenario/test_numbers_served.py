"""Who watches a consumer (--metrics): probes that tell whether it lives and works, and
scrapers that misbehave."""

import http.client
import os
import signal
import socket
import subprocess

import pytest
from scraped import ask, metrics_port, scrape
from servers import binary, wait_until
from stack import Stack

SLOW = [{"match": "slow", "replies": [{"text": "late", "delay_ms": 60000}]}]
CROWD = 100
MOST = 8  # that a listener serves at once


@pytest.fixture
def stack():
    with Stack(executor=False, script=SLOW) as stack:
        yield stack


def watched(stack, **settings):
    process = stack.consumer(metrics="127.0.0.1:0", **settings)
    process.port = metrics_port(process)
    return process


def until_ready(consumer):
    wait_until(lambda: ask(consumer.port, "/readyz") == (200, "ready\n"), what="ready")


def until_not_ready(consumer, why):
    """Alive all the same."""
    wait_until(lambda: why in ask(consumer.port, "/readyz")[1], what=f"not ready: {why}")
    assert ask(consumer.port, "/readyz")[0] == 503
    assert ask(consumer.port, "/livez") == (200, "live\n")


# --------------------------------------------------------------------- probes


def test_a_consumer_is_ready_and_busy_all_the_same(stack):
    consumer = watched(stack, slots=1)
    until_ready(consumer)
    stack.wait_event(stack.submit(prompt="slow"), "turn.started")
    until_ready(consumer)  # it could take more if it had a slot
    assert scrape(consumer.port)["slots", "free"] == 0


def test_without_redis_it_lives_and_is_not_ready(stack):
    consumer = watched(stack)
    until_ready(consumer)
    stack.redis.kill()
    until_not_ready(consumer, "Redis")
    assert scrape(consumer.port)["redis_errors_total", "lost"] > 0
    wait_until(lambda: scrape(consumer.port)["redis_errors_total", "connect"] > 0, what="tries")
    stack.redis.start()
    until_ready(consumer)


def test_while_it_drains_it_lives_and_is_not_ready(stack):
    consumer = watched(stack, drain="1m")
    job = stack.submit(prompt="slow")
    stack.wait_event(job, "turn.started")
    consumer.signal(signal.SIGTERM)
    until_not_ready(consumer, "drains")
    stack.call("cancel", job)
    assert consumer.wait() == 0


def test_told_to_be_quiet_it_is_not_ready(stack):
    consumer = watched(stack)
    consumer.signal(signal.SIGTSTP)
    until_not_ready(consumer, "TSTP")


def test_without_its_executor_it_lives_and_is_not_ready(stack):
    stack.start_executor()
    consumer = watched(stack)
    until_ready(consumer)
    stack.executor.kill()
    until_not_ready(consumer, f"the executor at {stack.socket} is away")
    stack.start_executor()
    until_ready(consumer)


def test_only_its_pages_are_answered(stack):
    consumer = watched(stack)
    status, text = ask(consumer.port, "/")
    assert (status, "/metrics, /livez and /readyz" in text) == (404, True)
    connection = http.client.HTTPConnection("127.0.0.1", consumer.port)
    connection.request("POST", "/metrics", b"x" * 100_000)
    assert connection.getresponse().status == 405
    connection.close()


# ------------------------------------------------------- scrapers that misbehave


def crowd(port, bytes):
    """Some connect at once, others when there is room for them."""
    clients = [socket.socket() for _ in range(CROWD)]
    for client in clients:
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", port))
    for client in clients[:MOST]:
        client.setblocking(True)
        client.sendall(bytes)
    return clients


@pytest.mark.parametrize("bytes", [b"", b"GET /met", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_scrapers_that_hang_hold_up_no_job(stack, bytes):
    """They send nothing, half a request, or read no answer."""
    consumer = watched(stack)
    clients = crowd(consumer.port, bytes)
    for _ in range(20):
        assert stack.run(prompt="hello")["status"] == "completed"
    for client in clients:
        client.close()
    assert scrape(consumer.port)["jobs_finished_total", "completed", "default", "none"] == 20


def test_scrapers_that_hang_are_sent_away(stack):
    """Nobody closes them: the next one is answered when their time is over."""
    consumer = watched(stack)
    clients = crowd(consumer.port, b"GET /met")
    until_ready(consumer)
    assert all(client.recv(1) == b"" for client in clients[:MOST])
    for client in clients:
        client.close()


# --------------------------------------------------------------------- places


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def status_of(path):
    connection = UnixConnection(path)
    connection.request("GET", "/livez")
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_socket_that_a_killed_consumer_left_is_taken_over(stack):
    path = os.path.join(stack.folder, "consumer.sock")
    first = stack.consumer(metrics=f"unix:{path}")
    assert status_of(path) == 200
    first.kill()
    assert os.path.exists(path)
    second = stack.consumer(metrics=f"unix:{path}")
    assert status_of(path) == 200
    second.signal(signal.SIGTERM)
    assert second.wait() == 0
    assert not os.path.exists(path)


def refusal(stack, place):
    done = subprocess.run(
        [binary("quern-consumer"), "--redis-url", stack.redis.url, "--metrics", place],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 64, done
    return done.stderr


def test_a_place_that_is_taken_or_none_is_refused(stack):
    consumer = watched(stack)
    assert "Address already in use" in refusal(stack, f"127.0.0.1:{consumer.port}")
    path = os.path.join(stack.folder, "live.sock")
    stack.consumer(metrics=f"unix:{path}")
    assert f"cannot listen at unix:{path}" in refusal(stack, f"unix:{path}")
    assert status_of(path) == 200  # the one that is there
    assert "must be one place" in refusal(stack, "127.0.0.1:0,127.0.0.1:1")
    assert "--metrics" in refusal(stack, "9464")
