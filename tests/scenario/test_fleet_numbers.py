"""The numbers of the whole fleet: `quern metrics` and quern-gateway --metrics give the
same ones, of real queues and consumers; and `quern probe`."""

import contextlib
import os
import signal
import socket
import subprocess

import pytest
from command import Command
from debian import unpacked
from executor_client import Executor
from gateway import Gateway, bearer, make_key
from scraped import Numbers, ask, metrics_port, scrape, scrape_text
from servers import binary, wait_until
from stack import DRAINED, Stack

QUEUES = 64  # FLEET_QUEUES
MOST_CONNECTIONS = 8  # of a listener


@pytest.fixture
def stack():
    with Stack(executor=False, lease="900ms") as stack:
        stack.quern = Command(stack.redis.url, stack.folder)
        yield stack


@contextlib.contextmanager
def watched(stack, **settings):
    with Gateway(stack.redis.url, metrics="127.0.0.1:0", **settings) as gateway:
        gateway.ready()
        gateway.watched = metrics_port(gateway)
        yield gateway
        gateway.drain()


@pytest.fixture
def gateway(stack):
    with watched(stack, redis_timeout="1s") as gateway:
        yield gateway


def fleet(stack):
    return Numbers(stack.quern("metrics"))


def states(numbers, queue="default"):
    return {key[1]: value for key, value in numbers.of("queue_jobs").items() if key[0] == queue}


def shown(gateway, family, *labels):
    """As the gateway has gathered it last; None: it is left out."""
    return scrape(gateway.watched).get((family, *labels))


def until_shown(gateway, value, *key):
    wait_until(lambda: shown(gateway, *key) == value, what=f"{key} is {value}")


# ------------------------------------------------------------ what is counted


def test_jobs_that_wait_are_ready_or_in_a_lane(stack):
    for _ in range(40):  # of a tenant 32 may be in the stream
        stack.submit(prompt="x")
    numbers = fleet(stack)
    waiting = {"ready": 32, "lane": 8, "running": 0, "scheduled": 0, "dead": 0}
    assert states(numbers) == waiting
    assert numbers["queue_wanted_slots", "default"] == 40
    assert numbers["queue_tenants_waiting", "default"] == 1
    assert numbers["queue_paused", "default"] == 0
    first = numbers["queue_oldest_ready_seconds", "default"]
    assert fleet(stack)["queue_oldest_ready_seconds", "default"] >= first
    assert numbers["workers", "up"] == numbers["workers", "silent"] == 0
    assert numbers["collect_errors_total",] == 0


def test_a_paused_queue_wants_no_slots(stack):
    for _ in range(3):
        stack.submit(prompt="x")
    stack.quern("queue", "pause", "default")
    numbers = fleet(stack)
    assert states(numbers) == {"ready": 0, "lane": 3, "running": 0, "scheduled": 0, "dead": 0}
    assert numbers["queue_paused", "default"] == 1
    assert numbers["queue_wanted_slots", "default"] == 0
    assert numbers["queue_oldest_ready_seconds", "default"] == 0
    stack.quern("queue", "resume", "default")
    assert fleet(stack)["queue_wanted_slots", "default"] == 3


def test_what_runs_comes_later_and_is_dead(stack):
    stack.consumer(slots=3)
    stack.model.script([{"status": 400, "body": {"error": {"message": "no"}}}])
    assert stack.run(prompt="fails")["status"] == "failed"
    stack.model.script([{"text": "late", "delay_ms": 60000}])
    job = stack.submit(prompt="runs")
    stack.quern("submit", "later", "--delay", "1h")
    stack.wait_event(job, "job.started")
    wait_until(lambda: fleet(stack)["worker_slots", "busy"] == 1, what="a report of the job")
    numbers = fleet(stack)
    assert states(numbers) == {"ready": 0, "lane": 0, "running": 1, "scheduled": 1, "dead": 1}
    assert numbers["queue_wanted_slots", "default"] == 1  # not what is to come
    assert numbers["worker_slots", "free"] == 2
    assert numbers["workers", "up"] == 1


def test_workers_are_up_or_drain_or_have_fallen_silent(stack):
    stack.model.script([{"text": "late", "delay_ms": 60000}])
    stack.consumer(name="up", queues="a", slots=2)
    leaves = stack.consumer(name="leaves", slots=4, drain="1m")
    dies = stack.consumer(name="dies", queues="b", slots=8)
    job = stack.submit(prompt="x")
    stack.wait_event(job, "job.started")
    stack.quern("worker", "drain", "leaves")
    dies.kill()

    def counts():
        numbers = fleet(stack)
        return [numbers["workers", state] for state in ("up", "draining", "silent")]

    wait_until(lambda: counts() == [1, 1, 1], what="one of each")
    wait_until(lambda: fleet(stack)["worker_slots", "busy"] == 1, what="a report of the job")
    assert fleet(stack)["worker_slots", "free"] == 2  # what drains takes nothing
    assert "dies" not in stack.quern("worker", "ls")
    stack.quern("cancel", job)
    assert leaves.wait() == DRAINED
    assert counts() == [1, 0, 1]  # it has left
    # One that is there again is not silent.
    stack.consumer(name="dies", queues="b")
    assert counts() == [2, 0, 0]


def test_a_worker_without_its_executor_is_not_up(stack):
    stack.consumer(name="waits", slots=4, executor="/nowhere/socket")
    found = [("up", 0), ("no_executor", 1), ("draining", 0), ("silent", 0)]

    def counts():
        numbers = fleet(stack)
        return [(state, numbers["workers", state]) for state, _ in found]

    wait_until(lambda: counts() == found, what="its report")
    assert fleet(stack)["worker_slots", "free"] == 0


def test_partitions_are_added_up():
    with Stack(executor=False, lease="900ms", partitions=4) as stack:
        quern = Command(stack.redis.url, stack.folder)
        stack.consumer(name="w", slots=2)
        gone = stack.consumer(name="gone")
        quern("queue", "pause", "default")
        for tenant in "abcdefgh":
            quern("submit", "x", "--tenant", tenant)
        gone.kill()
        wait_until(
            lambda: Numbers(quern("metrics"))["workers", "silent"] == 1, what="it is missed"
        )
        numbers = Numbers(quern("metrics"))
        assert numbers["workers", "up"] == 1 and numbers["worker_slots", "free"] == 2
        assert numbers["queue_jobs", "default", "lane"] == 8


def test_the_gateway_shows_what_the_command_prints(stack, gateway):
    stack.submit(prompt="x")
    until_shown(gateway, 1, "queue_jobs", "default", "ready")
    seen, printed = scrape(gateway.watched), fleet(stack)
    for key, value in printed.items():
        assert key in seen and (key[0] == "queue_oldest_ready_seconds" or seen[key] == value), key
    assert seen["build_info", "gateway", stack.quern("--version").split()[1]] == 1
    assert stack.quern("metrics", f"127.0.0.1:{gateway.watched}").startswith("# HELP quern_")


# ---------------------------------------------------------- how much, and how


def test_promtool_has_nothing_to_say(stack, gateway):
    stack.submit(prompt="x")
    until_shown(gateway, 1, "queue_jobs", "default", "ready")
    promtool = unpacked("prometheus") / "usr/bin/promtool"
    for text in (stack.quern("metrics"), scrape_text(gateway.watched)):
        done = subprocess.run(
            [promtool, "check", "metrics"], input=text, capture_output=True, text=True
        )
        assert done.returncode == 0 and done.stdout + done.stderr == "", done


def test_a_thousand_queues_make_no_more_series_than_64(stack, gateway):
    stack.consumer(queues="zz-served")
    stack.quern("queue", "set", "zz-limited", "max_depth=5", "--create")
    stack.quern("queue", "pause", "default")
    names = [f"q{n:04}" for n in range(997)]
    for queue in names + ["other"]:  # an attacker may call one so
        stack.submit(prompt="x", queue=queue)
    numbers = fleet(stack)
    series = numbers.of("queue_wanted_slots")
    assert len(series) == QUEUES + 1
    # Those that operators have set up, then by name.
    named = {"default", "zz-served", "zz-limited", *names[: QUEUES - 3]}
    assert {name for name, in series} == named | {"other"}
    assert series["other",] == len(names) + 1 - (QUEUES - 3)
    assert sum(series.values()) == len(names) + 1
    assert len(numbers.of("queue_jobs")) == 5 * (QUEUES + 1)
    until_shown(gateway, series["other",], "queue_wanted_slots", "other")


def hang(port, count):
    """Scrapers that never say all that they ask."""
    hanging = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    for each in hanging:
        each.sendall(b"GET /metrics HTTP/1.1\r\nHost:")
    return hanging


def test_a_scraper_that_hangs_stops_nobody(stack, gateway):
    hanging = hang(gateway.watched, MOST_CONNECTIONS - 1)
    assert scrape(gateway.watched)["http_connections",] == 0
    for each in hanging:
        each.close()


def test_scrapers_that_hang_stop_others_but_not_for_good(stack, gateway):
    """Before: nobody could scrape any more when the last of them had gone."""
    hanging = hang(gateway.watched, MOST_CONNECTIONS)
    assert gateway.json("GET", "/livez") == (200, {"status": "live"})
    gateway.signal(signal.SIGSTOP)  # it is to see all their ends at once
    for each in hanging:
        each.close()
    gateway.signal(signal.SIGCONT)
    scrape(gateway.watched)


def test_the_gateway_counts_its_own_requests(stack):
    with watched(stack, open=None) as gateway:
        key = make_key(stack)
        status, job = gateway.json("POST", "/v1/jobs", {"prompt": "x"}, **bearer(key))
        assert status == 201, job
        gateway.call("GET", "/v1/jobs")
        gateway.call("GET", "/no/such/path")
        follower = gateway.follow(job["id"], **bearer(key))
        follower.open()
        numbers = scrape(gateway.watched)
        assert numbers["http_requests_total", "jobs", "2xx"] == 2
        assert numbers["http_requests_total", "jobs", "4xx"] == 1
        assert numbers["http_requests_total", "none", "4xx"] == 1
        assert numbers["http_request_seconds_count", "jobs"] == 3
        assert numbers["http_streams",] == 1 and numbers["http_connections",] >= 1
        follower.answer.close()
        follower.close()
        wait_until(lambda: scrape(gateway.watched)["http_streams",] == 0, what="its end")
        # A client that leaves before the answer.
        waits = socket.create_connection(("127.0.0.1", gateway.port))
        head = f"GET /v1/jobs/{job['id']}?wait=50s HTTP/1.1\r\nHost: x\r\n"
        waits.sendall(f"{head}Authorization: Bearer {key}\r\n\r\n".encode())
        wait_until(lambda: scrape(gateway.watched)["http_connections",] == 1, what="it is there")
        waits.close()
        until_shown(gateway, 1, "http_requests_total", "jobs", "gone")


# -------------------------------------------------------------- Redis is away


def test_while_redis_is_away_its_numbers_are_left_out(stack, gateway):
    stack.submit(prompt="x")
    until_shown(gateway, 1, "queue_jobs", "default", "ready")
    stack.redis.kill()
    wait_until(lambda: shown(gateway, "collect_errors_total") > 0, what="an error")
    numbers = scrape(gateway.watched)
    assert not numbers.of("queue_jobs") and not numbers.of("workers")
    assert numbers["http_requests_total", "jobs", "2xx"] == 0
    assert ask(gateway.watched, "/livez") == (200, "live\n")
    assert ask(gateway.watched, "/readyz")[0] == 503
    assert "redis" in stack.quern("metrics", code=69).lower()
    stack.redis.start()
    wait_until(lambda: shown(gateway, "workers", "up") is not None, what="numbers again")
    stack.quern("metrics")


def test_a_scrape_never_waits_for_redis(stack, gateway):
    until_shown(gateway, 0, "workers", "up")
    stack.redis.process.signal(signal.SIGSTOP)
    try:
        wait_until(lambda: shown(gateway, "collect_errors_total") > 0, what="an error")
        assert shown(gateway, "workers", "up") is None
    finally:
        stack.redis.process.signal(signal.SIGCONT)
    until_shown(gateway, 0, "workers", "up")


def test_numbers_that_are_old_are_left_out(stack):
    """Redis hangs, and the gateway would wait for it for minutes."""
    with watched(stack, redis_timeout="5m") as gateway:
        until_shown(gateway, 0, "workers", "up")
        stack.redis.process.signal(signal.SIGSTOP)
        until_shown(gateway, None, "workers", "up")
        assert shown(gateway, "collect_errors_total") == 0
        stack.redis.process.signal(signal.SIGCONT)
        until_shown(gateway, 0, "workers", "up")


# -------------------------------------------------------------------- probes


def test_a_probe_says_whether_a_process_is_live_and_ready(stack, gateway):
    place = f"127.0.0.1:{gateway.watched}"
    for what in ("live", "ready"):
        assert stack.quern.run("probe", what, place) == ("", "", 0)
        assert stack.quern.run("probe", what, QUERN_METRICS=place) == ("", "", 0)
    stack.redis.kill()
    wait_until(lambda: ask(gateway.watched, "/readyz")[0] == 503, what="it is not ready")
    assert stack.quern("probe", "live", place) == ""
    said = stack.quern("probe", "ready", place, code=1)
    assert said == "quern probe: the gateway has no connection to Redis\n"
    told = stack.quern("probe", "ready", place, "--json", code=1)
    assert '"not_ready"' in told
    stack.redis.start()


def test_a_probe_of_nobody(stack, tmp_path):
    quern = Command("redis://127.0.0.1:1", tmp_path)  # Redis is not asked
    assert "No such file" in quern("probe", "live", f"unix:{tmp_path}/none", code=69)
    assert "must be a numeric address" in quern("probe", "live", "localhost:1", code=64)
    assert "live, ready or executor" in quern("probe", "lives", code=64)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{mute.getsockname()[1]}"
        assert "refused" in quern("probe", "live", place, code=69)
        mute.listen()
        said = quern("probe", "ready", place, "--timeout", "50ms", code=69)
        assert said == f"quern probe: {place}: no answer within 50 ms\n"
        assert "no answer within" in quern("metrics", place, "--timeout", "50ms", code=69)


def test_an_executor_is_probed_where_consumers_look_for_it(stack, tmp_path):
    with Executor("--profile", "bare") as executor:
        assert stack.quern("probe", "executor", QUERN_EXECUTOR=executor.path) == ""
        assert stack.quern("probe", "executor", executor.path) == ""
        os.kill(executor.process.pid, signal.SIGSTOP)
        said = stack.quern("probe", "executor", executor.path, "--timeout", "50ms", code=69)
        assert said == f"quern probe: {executor.path}: no answer within 50 ms\n"
        os.kill(executor.process.pid, signal.SIGCONT)
    said = stack.quern("probe", "executor", f"{tmp_path}/none", code=69)
    assert said == f"quern probe: {tmp_path}/none: No such file or directory\n"


def test_a_probe_at_a_unix_socket(stack):
    place = f"unix:{stack.folder}/m.sock"
    with Gateway(stack.redis.url, metrics=place) as gateway:
        gateway.ready()
        assert stack.quern("probe", "ready", place) == ""
        assert "quern_build_info" in stack.quern("metrics", place)
        gateway.drain()
    assert "No such file" in stack.quern("probe", "live", place, code=69)


def test_a_place_that_is_taken_stops_the_start(stack, gateway):
    taken = {"metrics": f"127.0.0.1:{gateway.watched}"}
    other = Gateway(stack.redis.url, **taken)
    with pytest.raises(AssertionError, match="cannot listen at .*: Address already in use"):
        other.wait_for('"metrics"')
    assert other.wait() == 69


# ------------------------------------------------------------ for autoscalers


def test_a_key_that_reads_may_ask_how_many_slots_are_wanted(stack):
    with watched(stack, open=None) as gateway:
        reads, submits = make_key(stack, scopes="read"), make_key(stack, scopes="submit")
        stack.submit(prompt="x")
        wanted = {"queue": "default", "wanted": 1, "ready": 1, "lanes": 0, "running": 0}
        path = "/v1/scale?queue=default"
        assert gateway.json("GET", path, **bearer(reads)) == (200, wanted)
        assert gateway.json("GET", path, **bearer(submits))[0] == 403
        code = gateway.refusal("GET", "/v1/scale?queue=defualt", **bearer(reads))[1]
        assert code == "unknown_queue"  # not 0, by which all consumers would go


@pytest.mark.parametrize(
    "place, why",
    [
        ("127.0.0.1:1,127.0.0.1:2", "must be one place"),
        ("localhost:9465", "must be a numeric address"),
        ("unix:", "has 0 bytes"),
    ],
)
def test_a_place_that_is_none_is_refused(place, why):
    gateway = [binary("quern-gateway"), "--metrics", place]
    done = subprocess.run(gateway, capture_output=True, text=True)
    assert done.returncode == 64 and why in done.stderr, done


def test_a_shell_offers_probes(stack):
    offered = stack.quern("completion", "words", "--", "probe", "")
    assert offered == "live\nready\nexecutor\n"
    assert stack.quern("completion", "words", "--", "probe", "r") == "ready\n"
