"""No job waits for a collector, whatever that does; what is lost is counted."""

import json
import os
import signal
import socket
import threading

import pytest
from otlp_sink import Sink
from processes import memory_of
from scraped import metrics_port, scrape
from servers import Process, binary, wait_until
from stack import Stack

JOBS = 10000
EARLY = 3000  # of these: by then the ring is full
GROWTH_KIB = 6 << 10


@pytest.fixture
def stack():
    with Stack(executor=False) as stack:
        yield stack


def lost(consumer):
    lines = [json.loads(s) for s in consumer.text().splitlines() if '"traces.lost"' in s]
    totals = {kind: sum(l[kind] for l in lines) for kind in ("sent", "dropped", "refused")}
    return totals, [line["why"] for line in lines]


def run(stack, count):
    jobs = [stack.submit(kind="code", cells=[""]) for _ in range(count)]
    for job in jobs:
        assert stack.result(job)["status"] == "completed"


def drained(consumer):
    consumer.signal(signal.SIGTERM)
    assert consumer.wait() == 0


class Deaf:
    """Listens, takes connections and what they say, and does what serve says."""

    def __init__(self, serve):
        self.serve, self.held = serve, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()
        for connection in self.held:
            connection.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.held.append(connection)
            threading.Thread(target=self.talk, args=[connection], daemon=True).start()

    def talk(self, connection):
        try:
            self.serve(connection)
        except OSError:
            pass


def hang(connection):
    while connection.recv(1 << 16):
        pass


def close(connection):
    connection.recv(100)
    connection.close()


def babble(connection):
    connection.recv(100)
    connection.sendall(b"\x00\xff" * 1000)
    connection.close()


def flood(connection):
    """Headers without end."""
    connection.recv(100)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    for i in range(100000):
        connection.sendall(b"x-%d: %s\r\n" % (i, b"y" * 1000))


@pytest.mark.parametrize("serve", [hang, close, babble, flood], ids=lambda serve: serve.__name__)
def test_jobs_go_on_beside_a_bad_collector(stack, serve):
    with Deaf(serve) as deaf:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": deaf.url}
        consumer = stack.consumer(env={**env, "OTEL_EXPORTER_OTLP_TIMEOUT": "1000"})
        run(stack, 600)
        drained(consumer)
    totals, whys = lost(consumer)
    assert totals == {"sent": 0, "dropped": 600, "refused": 0}
    assert any("the collector cannot be reached" in why or "left before" in why for why in whys)


def test_nobody_listens(stack):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    consumer = stack.consumer(env={"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"})
    run(stack, 10)
    drained(consumer)
    totals, whys = lost(consumer)
    assert totals["dropped"] == 10 and "the collector cannot be reached" in whys[0]


HUGE = b'{"partialSuccess":{"errorMessage":"' + b"x" * (5 << 20) + b'"}}'

# What the sink answers; spans counted as sent and refused; a part of the sentence.
ANSWERS = [
    ((200, b"<html>welcome</html>", {}), (10, 0), None),
    ((200, HUGE, {}), (10, 0), None),
    ((307, b"", {"Location": "http://127.0.0.1:1/steal"}), (0, 10), "not followed"),
    ((400, b'{"message":"no"}', {}), (0, 10), "answered 400: no"),
    ((401, b'{"message":"not header-secret"}', {}), (0, 10), "answered 401: not *************"),
    ((500, b"oh", {}), (0, 10), "answered 500"),
    ((200, b'{"partialSuccess":{"rejectedSpans":"4","errorMessage":"old"}}', {}), (6, 4), "old"),
]


@pytest.mark.parametrize("reply, counts, why", ANSWERS, ids=[0, "huge", 307, 400, 401, 500, "part"])
def test_an_answer_is_final(stack, reply, counts, why):
    with Sink() as sink:
        sink.reply = reply
        headers = {"OTEL_EXPORTER_OTLP_HEADERS": "x-key=header-secret"}
        consumer = stack.consumer(env={**sink.env, **headers})
        run(stack, 10)
        drained(consumer)
        sink.check()
        assert len(sink.requests) == 1
    totals, whys = lost(consumer)
    assert "header-secret" not in consumer.text()
    if why is None:
        assert not whys
        return
    assert (totals["sent"], totals["refused"], totals["dropped"]) == (*counts, 0)
    assert why in whys[0]


def test_numbers_say_what_became_of_spans(stack):
    """Of the first batch two are refused, of the second all."""
    with Sink() as sink:
        replies = [(200, b'{"partialSuccess":{"rejectedSpans":"2"}}', {}), (400, b"", {})]
        sink.reply = lambda: replies.pop(0)
        consumer = stack.consumer(env=sink.env, metrics="127.0.0.1:0")
        port = metrics_port(consumer)
        for count, outcome, expected in ((5, "sent", 3), (4, "refused", 6)):
            run(stack, count)
            what = f"{expected} spans {outcome}"
            wait_until(lambda: scrape(port)["spans_total", outcome] == expected, what=what)
        numbers = scrape(port).of("spans_total")
        assert numbers == {("sent",): 3, ("refused",): 6, ("dropped",): 0}
        drained(consumer)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_pass_is_tried_again(stack, status):
    """After the time that the collector names: a second, which is the least."""
    with Sink() as sink:
        replies = [(status, b"", {"Retry-After": "1"}), None]
        sink.reply = lambda: replies.pop(0) if replies else None
        consumer = stack.consumer(env=sink.env)
        jobs = [stack.submit(kind="code", cells=[""]) for _ in range(3)]
        for job in jobs:
            sink.wait_for(job)
        drained(consumer)
        first, second = sink.requests
        assert first.body == second.body
    assert lost(consumer)[1] == []


def test_memory_is_flat_beside_a_collector_that_hangs(stack):
    """ASan keeps what was freed, so it must be told to keep little."""
    options = os.environ.get("ASAN_OPTIONS", "")
    asan = {"ASAN_OPTIONS": f"{options}:quarantine_size_mb=1:thread_local_quarantine_size_kb=64"}
    with Deaf(hang) as deaf:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": deaf.url, **asan}
        consumer = stack.consumer(env=env, slots=64)
        run(stack, EARLY)
        early = memory_of(consumer.pid)["Rss"]
        run(stack, JOBS - EARLY)
        late = memory_of(consumer.pid)["Rss"]
        drained(consumer)
    totals, _ = lost(consumer)
    assert totals == {"sent": 0, "dropped": JOBS, "refused": 0}
    assert late - early <= GROWTH_KIB, (early, late)


BAD = [
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:4317"}, "begins with http://"),
    ({"OTEL_EXPORTER_OTLP_HEADERS": "planted"}, "OTEL_EXPORTER_OTLP_HEADERS"),
    ({"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, "OTEL_EXPORTER_OTLP_TIMEOUT"),
    ({"OTEL_RESOURCE_ATTRIBUTES": "a"}, "NAME=VALUE"),
    ({"QUERN_TRACE_SAMPLE": "2"}, "from 0 to 1"),
]


@pytest.mark.parametrize("env, part", BAD, ids=[next(iter(env)) for env, _ in BAD])
def test_a_wrong_setting_is_refused(stack, env, part):
    given = {"REDIS_URL": stack.redis.url, "QUERN_EXECUTOR": "none", **env}
    process = Process([binary("quern-consumer")], env=given).start()
    assert process.wait() == 64
    assert part in process.text() and "planted" not in process.text()


def test_the_resource_says_who_it_is(stack):
    with Sink() as sink:
        env = {
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.url + "/v1/traces",
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
            "OTEL_SERVICE_NAME": "mill",
            "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,team=caf%C3%A9",
        }
        consumer = stack.consumer(env=env, name="worker-1")
        run(stack, 1)
        drained(consumer)
        sink.check()
        [resource] = sink.resources
    assert resource["service.name"] == "mill" and resource["team"] == "café"
    assert resource["service.instance.id"] == "worker-1"
    assert json.loads(next(s for s in consumer.text().splitlines() if "traces.on" in s))["to"]
