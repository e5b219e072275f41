"""The gateway: what it adds to a call of Redis, creates a second, ten thousand
followers, uploads.

Creates are made by wrk on 32 connections that are kept alive. The peers do as
much of the same as they can: a service of FastAPI and redis-py adds the request
to a stream; bull-board's API adds a job of BullMQ. Each is one process.
"""

import contextlib
import functools
import hashlib
import http.client
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

from gateway import Gateway
from harness import BENCH, OWN, Row, Turn, first_line, percentiles, redis_version
from harness import delay_rows
from library import Library, job_id, pack
from processes import cpu_s, memory_of
from servers import Process, RedisServer, free_ports

CONNECTIONS, SECONDS = 32, 3
REQUESTS = 2000
FOLLOWERS, FULL_FOLLOWERS = 2000, 10_000
EVENTS_PER_S, EVENT_SECONDS = 1000, 5
UPLOADS = 16  # of 64 MiB
FILE_BYTES = 64 << 20
PLAIN = {"input": "How many primes are there below 1000?", "background": True}
ADD = {"name": "empty", "data": PLAIN, "options": {}}


# --- creates ------------------------------------------------------------------------


def wrk(port, path, body):
    """Requests a second. All must succeed."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(
            f"wrk.method = 'POST'\nwrk.body = [[{json.dumps(body)}]]\n"
            "wrk.headers['Content-Type'] = 'application/json'\n"
        )
        script.flush()
        said = subprocess.run(
            ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", script.name]
            + [f"http://127.0.0.1:{port}{path}"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    assert "Non-2xx" not in said and "Socket errors" not in said, said
    return float(re.search(r"Requests/sec: +([\d.]+)", said)[1])


class Creates:
    """One program that makes jobs of requests, and a Redis of its own."""

    def __init__(self, kept, column):
        self.column = column
        self.server = kept.enter_context(RedisServer())
        self.db = self.server.client()
        self.process, self.port = self.start(kept)

    def turn(self):
        return Turn(self.column, "creates", self.create)

    def create(self):
        self.empty()
        pid = self.process.pid
        before, redis_before = cpu_s(pid), cpu_s(self.server.process.pid)
        a_second = wrk(self.port, *self.request)
        done = a_second * SECONDS
        return {
            "creates": a_second,
            "creates us": (cpu_s(pid) - before) / done * 1e6,
            "creates redis us": (cpu_s(self.server.process.pid) - redis_before) / done * 1e6,
        }

    def empty(self):
        self.db.flushall()


class OwnCreates(Creates):
    request = "/v1/responses", PLAIN

    def __init__(self, kept, build):
        self.build = build
        super().__init__(kept, build.column)

    def start(self, kept):
        with self.build.chosen():
            gateway = kept.enter_context(Gateway(self.server.url))
        gateway.ready()
        return gateway, gateway.port


class FastApi(Creates):
    request = "/v1/responses", PLAIN

    @staticmethod
    def python():
        return f"{OWN}/peers/fastapi/bin/python"

    def start(self, kept):
        [port] = free_ports(1)
        process = Process(
            [self.python(), "-m", "uvicorn", "fastapi_peer:app", "--port", port]
            + ["--no-access-log", "--host", "127.0.0.1"],
            env={"SOCKET": self.server.socket, "PYTHONPATH": BENCH},
        )
        kept.enter_context(process)
        process.wait_for("Application startup complete")
        return process, port


class BullBoard(Creates):
    request = "/api/queues/bench/add", ADD

    def start(self, kept):
        [port] = free_ports(1)
        process = Process(
            ["node", f"{OWN}/bull_board.mjs", self.server.socket, port], cwd=OWN
        )
        kept.enter_context(process)
        process.wait_for("ready")
        return process, port


# --- what a request adds ------------------------------------------------------------


def ask_times(count, ask):
    times = []
    for _ in range(count):
        since = time.perf_counter()
        ask()
        times.append((time.perf_counter() - since) * 1e3)
    return times


class Latency:
    """The facts of a job, asked of the gateway, and of Redis itself."""

    def __init__(self, own):
        self.own = own
        own.empty()
        jobs = library_of(own)
        self.id = job_id(1)
        jobs.submit(self.id, pack(v=1, id=self.id, prompt="hi"))
        self.connection = http.client.HTTPConnection("127.0.0.1", own.port)

    def of_gateway(self):
        self.connection.request("GET", f"/v1/jobs/{self.id}")
        answer = self.connection.getresponse()
        answer.read()
        assert answer.status == 200

    def of_redis(self):
        self.own.db.hgetall(f"quern:{{000}}:job:{self.id}")

    def give(self):
        self.__init__(self.own)
        ours = percentiles("request", ask_times(REQUESTS, self.of_gateway))
        bare = percentiles("redis", ask_times(REQUESTS, self.of_redis))
        added = ours["request p99"] - bare["redis p99"]
        return {**ours, **bare, "added p99": added}


def library_of(own):
    jobs = Library(own.db)
    jobs.source = own.build.library()
    jobs.load()
    return jobs


# --- followers ----------------------------------------------------------------------


def started_jobs(jobs, count):
    """They run, and their consumer says nothing yet: [(id, epoch)]."""
    for number in range(count):
        id = job_id(number + 10)
        jobs.submit(id, pack(v=1, id=id, prompt="hi"))
    found = []
    while len(found) < count:
        found += [(job.id, job.epoch) for job in jobs.take_jobs(count=100) if job.run]
    return found


def tell_events(own, started):
    """So many a second, each of another job."""
    pipe = own.db.pipeline(transaction=False)
    step_s, end = 0.01, time.monotonic() + EVENT_SECONDS
    data = pack(text="word " * 4, turn=1)
    due = time.monotonic()
    while due < end:
        for id, epoch in random.sample(started, round(EVENTS_PER_S * step_s)):
            pipe.execute_command(
                *("FCALL", "quern_v1_event", 1, "quern:{000}:", id, epoch),
                *("message.delta", data),
            )
        pipe.execute()
        due += step_s
        time.sleep(max(0, due - time.monotonic()))


def follow(own, count):
    own.empty()
    jobs = library_of(own)
    with contextlib.ExitStack() as kept, own.build.chosen():
        gateway = kept.enter_context(Gateway(own.server.url, connections_per_address=20_000))
        gateway.ready()
        idle = memory_of(gateway.pid)
        started = started_jobs(jobs, count)
        client = subprocess.Popen(
            [own.build.binary("bench-followers"), str(gateway.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        kept.callback(client.kill)
        client.stdin.write("".join(f"/v1/jobs/{id}/events\n" for id, _ in started) + "\n")
        client.stdin.flush()
        assert client.stdout.readline() == "ready\n"
        held = memory_of(gateway.pid)
        before = cpu_s(gateway.pid)
        tell_events(own, started)
        time.sleep(0.5)
        client.stdin.write("report\n")
        client.stdin.flush()
        seen = json.loads(client.stdout.readline())
        told = EVENTS_PER_S * EVENT_SECONDS
        assert seen["events"] >= told * 0.99, seen
        return {
            "idle MiB": idle["Rss"] / 1024,
            "follower KiB": (held["Private"] - idle["Private"]) / count,
            "event p50": seen["p50"],
            "event p99": seen["p99"],
            "event us": (cpu_s(gateway.pid) - before) / told * 1e6,
        }


# --- uploads ------------------------------------------------------------------------


def peak_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) / 1024


def upload(own):
    """So many files, one after the other; each is deleted again."""
    own.empty()
    with own.build.chosen(), Gateway(own.server.url) as gateway:
        gateway.ready()
        taken = 0.0
        for number in range(UPLOADS + 1):
            if number == 1:
                before = peak_mib(gateway.pid)
            data = number.to_bytes(8, "big") + bytes(FILE_BYTES - 8)
            since = time.monotonic()
            status, _, body = gateway.call(
                "POST", "/v1/blobs", data, content_type="application/octet-stream"
            )
            taken += time.monotonic() - since
            name = hashlib.sha256(data).hexdigest()
            assert status == 201 and name in body.decode(), body
            own.db.delete(f"quern:{{000}}:blob:{name}")
        return {
            "upload MB/s": (UPLOADS + 1) * FILE_BYTES / 1e6 / taken,
            "upload first MiB": before,
            "upload peak MiB": peak_mib(gateway.pid) - before,
        }


# --- the run ------------------------------------------------------------------------


def peers(kept, run):
    found = []
    if run.peers and os.path.exists(FastApi.python()):
        found.append(FastApi(kept, "FastAPI"))
    if run.peers and os.path.exists(f"{OWN}/node_modules/@bull-board/api"):
        found.append(BullBoard(kept, "bull-board"))
    return found


def measure(run):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    followers = FULL_FOLLOWERS if run.full else FOLLOWERS
    if hard < 2 * followers:
        sys.exit(f"{hard} descriptors are too few for {followers} followers")
    with contextlib.ExitStack() as kept:
        owns = [OwnCreates(kept, build) for build in run.builds]
        turns = [own.turn() for own in owns]
        turns += [peer.turn() for peer in peers(kept, run)]
        turns += [Turn(own.column, "requests", Latency(own).give) for own in owns]
        run.take_turns(turns, share=0.5)
        after = [
            Turn(own.column, f"{followers} followers", functools.partial(follow, own, followers))
            for own in owns
        ]
        after += [Turn(own.column, "uploads", functools.partial(upload, own)) for own in owns]
        run.take_turns(after)


def rows(run):
    scale = run.scale("10 000")
    followers = FULL_FOLLOWERS if run.full else FOLLOWERS
    return [
        Row("G1 creates in the background, a second", "creates", "{:.0f}"),
        Row("   processor of the program, us", "creates us", "{:.0f}"),
        Row("   processor of Redis, us", "creates redis us", "{:.0f}"),
        *delay_rows("G2 facts of a job", "request"),
        *delay_rows("   the same, asked of Redis", "redis"),
        Row("   added, p99, ms", "added p99"),
        Row("G3 waiting gateway, resident, MiB", "idle MiB", "{:.1f}"),
        Row(f"G4 each of {followers} followers, KiB{scale}", "follower KiB", "{:.1f}"),
        *delay_rows("   event to follower", "event"),
        Row("   processor of the gateway an event, us", "event us", "{:.0f}"),
        Row("G5 upload, MB a second", "upload MB/s", "{:.0f}"),
        Row("   the gateway's peak after the first, MiB", "upload first MiB", "{:.0f}"),
        Row("   its growth by the others", "upload peak MiB", "{:.1f}"),
    ]


def bars(run):
    return [
        ("G1 creates a second", run.median("creates"), ">=", 10_000),
        ("G1 of FastAPI's", run.ratio("creates", "FastAPI"), ">=", 4),
        ("G1 of bull-board's", run.ratio("creates", "bull-board"), ">=", 4),
        ("G2 added p99, ms", run.median("added p99"), "<=", 3),
        ("G3 resident, MiB", run.median("idle MiB"), "<=", 16),
        ("G4 a follower, KiB", run.median("follower KiB"), "<=", 6),
        ("G4 event p99, ms", run.median("event p99"), "<=", 20),
    ]


def versions(run):
    found = {"redis": redis_version(), "wrk": first_line_of_wrk()}
    if run.peers and os.path.exists(FastApi.python()):
        for name in ("fastapi", "uvicorn", "redis"):
            code = f"from importlib.metadata import version; print(version({name!r}))"
            found[f"PyPI {name}"] = first_line(FastApi.python(), "-c", code)
    return found


def first_line_of_wrk():
    said = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False)
    return said.stdout.split()[1]
