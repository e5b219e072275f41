"""hosts: sessions move between hosts, of which one is cut off, drained, restarted, killed.

Four hosts in network namespaces, with a bridge between them: Redis (where this program
runs, too), two workers, each with an executor and two consumers, and a client, whose
gateway all jobs go through. Sessions count: each job of one adds 1 to a variable and
writes a file. Nothing may be lost or done twice; a count that begins anew must be named
in the result that shows it. waits: how long a session waited for the job during which
it happened.
"""

import collections
import contextlib
import itertools
import json
import os
import socket
import statistics
import subprocess
import threading
import time
from http.client import HTTPConnection

import r1
from fleet import SLOW_S, Fleet, server_of
from gateways import SHOWN, HttpClient, wait_for_watches, wrong_watches
from jobs import HIT_TWICE, Made
from servers import Process, binary

NET = "10.77.0"
HOME, CLIENT = 1, 4  # the last numbers of the addresses
WORKERS = {"w2": 2, "w3": 3}
CONSUMERS = 2  # of a host
PORT = 6379
REST_S = 5  # between two faults
AWAY_S = 6  # of a host: longer than a lease
COUNT = """count = globals().get('count', 0) + 1
open('count', 'w').write(str(count))
print(count)"""


def ip(*words):
    subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def network():
    """Namespaces of this process's own (tests/fault/run), which end with it."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    ip("link", "set", "lo", "up")
    ip("link", "add", "bridge", "type", "bridge")
    ip("addr", "add", f"{NET}.{HOME}/24", "dev", "bridge")
    ip("link", "set", "bridge", "up")
    names = {**WORKERS, "client": CLIENT}
    for name, number in names.items():
        ip("netns", "add", name)
        ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", f"to-{name}", "master", "bridge", "up")
        ip("-n", name, "addr", "add", f"{NET}.{number}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            ip("-n", name, "link", "set", device, "up")
    try:
        yield
    finally:
        for name in names:
            ip("netns", "del", name)


class Host:
    """A worker: an executor and its consumers, which are started by names that stay."""

    def __init__(self, fleet, name):
        self.fleet, self.name = fleet, name
        self.folder = os.path.join(fleet.folder, name)
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o755)
        self.socket = os.path.join(self.folder, "run", "executor.sock")
        self.program = os.path.join(self.folder, "consumer")
        with open(self.program, "w") as file:
            file.write(f'#!/bin/sh\nexec ip netns exec {name} {binary("quern-consumer")} "$@"\n')
        os.chmod(self.program, 0o755)
        self.executor = None
        self.consumers = []

    def start_executor(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)
        args = [binary("quern-executor"), "--executor", self.socket, "--profile", "bare"]
        self.executor = Process(["ip", "netns", "exec", self.name, *args]).start()
        self.executor.wait_for('"executor.ready"')

    def start_consumer(self, number):
        worker = self.fleet.hire(
            name=f"{self.name}.{number}-{next(self.fleet.numbers)}",
            program=self.program,
            executor=self.socket,
        )
        self.consumers.append(worker)

    def start(self):
        self.start_executor()
        self.start_consumers()

    def cut(self):
        ip("link", "set", f"to-{self.name}", "down")

    def heal(self):
        ip("link", "set", f"to-{self.name}", "up")

    def start_consumers(self):
        for number in range(CONSUMERS):
            self.start_consumer(number)

    def kill_executor(self):
        self.executor.kill()

    def kill(self):
        """The whole host at once."""
        for worker in self.consumers:
            worker.kill()
        self.executor.kill()
        for worker in self.consumers:
            self.fleet.consumers.remove(worker)
            self.fleet.history.note("gone", consumer=worker.name)
        self.consumers = []

    def drain(self):
        """As systemctl stop does; what runs may end, or goes back."""
        for worker in self.consumers:
            worker.signal(15)
        for worker in self.consumers:
            worker.wait(SLOW_S)
            self.fleet.consumers.remove(worker)
            self.fleet.history.note("gone", consumer=worker.name)
        self.consumers = []

    def end(self):
        if self.executor:
            self.executor.stop()


class HostFleet(Fleet):
    """Consumers find Redis by its address; each has the executor of its host."""

    def __init__(self, history, tell, server, **settings):
        super().__init__(history, tell, server=server, **settings)
        self.settings["redis_url"] = f"redis://{NET}.{HOME}:{server.port}"
        self.hosts = {}

    def start_bare(self):
        return None

    def __enter__(self):
        super().__enter__()
        for name in WORKERS:
            self.hosts[name] = Host(self, name)
            self.hosts[name].start()
        return self

    def __exit__(self, kind, *rest):
        for host in self.hosts.values():
            host.heal()
        super().__exit__(kind, *rest)
        for host in self.hosts.values():
            host.end()

    def settle(self, stuck_s=r1.STUCK_S):
        self.executor = self.hosts["w2"].executor  # whose log is looked at, too
        super().settle(stuck_s)
        self.executor = None


class Door:
    """The client's gateway, by which jobs come and are followed. This program reaches
    it by a unix socket; it reaches Redis over the network."""

    def __init__(self, fleet):
        self.path = os.path.join(fleet.folder, "gateway.sock")
        args = ["ip", "netns", "exec", "client", binary("quern-gateway")]
        args += ["--listen", f"unix:{self.path}", "--open", "default"]
        self.process = Process(args, env={"REDIS_URL": fleet.settings["redis_url"]}).start()
        self.process.wait_for('"ready"')

    def connect(self):
        return UnixConnection(self.path)


class UnixConnection(HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Session(threading.Thread):
    """One conversation: its next job is submitted when the last one has ended."""

    def __init__(self, number, client):
        super().__init__(daemon=True)
        self.name, self.client = f"moving-{number}", client
        self.goes_on = True
        self.count = 0  # that the last job has shown
        self.waits = []  # (since, to) of each job, in seconds
        self.wrong, self.told = [], collections.Counter()

    def run(self):
        for number in itertools.count():
            if not self.goes_on:
                break
            began = time.monotonic()
            result = self.ask(f"{self.name}-{number}")
            self.waits.append((began, time.monotonic()))
            if result is not None:
                self.judge(result)

    def ask(self, token):
        members = {"kind": "code", "cells": [COUNT]}
        made = Made(token, members, ("completed", HIT_TWICE), session=self.name)
        id = self.client.submit_one(made)
        if id is None:
            self.wrong.append(f"{token} was not accepted")
            return None
        return self.client.until_answered(lambda: self.look(id))

    def look(self, id):
        connection = self.client.doors.connect()
        try:
            connection.request("GET", f"/v1/jobs/{id}?wait=30s")
            answer = connection.getresponse()
            return json.loads(answer.read()).get("result")
        finally:
            connection.close()

    def judge(self, result):
        """A count that goes on, or a result that says that it does not."""
        cell = result["cells"][0] if result.get("cells") else {}
        state = cell.get("state", result["status"])
        self.told[state] += 1
        count = int(cell["stdout"]) if cell.get("stdout", "").strip().isdigit() else 0
        if count != self.count + 1:
            told = f"{state}: {cell.get('reason', '')}"
            self.told["begun anew"] += 1
            if state == "kept":
                self.wrong.append(f"{result['id']}: {count} came behind {self.count}, {told}")
        self.count = count


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] if values else 0.0


# Of one host, while the other goes on.
ACTS = {
    "cut off": (Host.cut, Host.heal),
    "drained": (Host.drain, Host.start_consumers),
    "executor restarted": (Host.kill_executor, Host.start_executor),
    "killed": (Host.kill, Host.start),
}


def suffer(fleet, name, host):
    """When it began, and when it was over."""
    begin, end = ACTS[name]
    fleet.fault(f"{host.name} {name}")
    began = time.monotonic()
    begin(host)
    time.sleep(AWAY_S)
    end(host)
    return began, time.monotonic()


def without_service(sessions, began, ended):
    """How long each session waited for a job that overlaps that time, in seconds."""
    for session in sessions:
        waits = [to - since for since, to in session.waits if since < ended and to > began]
        if waits:
            yield max(waits)


def figures(sessions, times):
    """{act: {p50_s, p99_s}}, and the same of quiet times."""
    told = {}
    for name, spans in times.items():
        waits = [wait for span in spans for wait in without_service(sessions, *span)]
        told[name] = {
            "p50_s": round(statistics.median(waits), 3),
            "p99_s": round(percentile(waits, 0.99), 3),
            "sessions": len(waits),
        }
    return told


def run(asked, history, tell):
    with network():
        server = server_of(
            "single", port=PORT, aof=True, bind=f"127.0.0.1 {NET}.{HOME}", protected_mode="no"
        )
        with HostFleet(history, tell, server, max_crashes=1000) as fleet:
            return run_in(fleet, asked, tell)


def run_in(fleet, asked, tell):
    fleet.client = HttpClient(fleet, Door(fleet))
    sessions = [Session(number, fleet.client) for number in range(asked.jobs)]
    for session in sessions:
        session.start()
    times = {"quiet": [rest()]}
    for name in ACTS:
        for host in fleet.hosts.values():
            times.setdefault(name, []).append(suffer(fleet, name, host))
            rest()
    for session in sessions:
        session.goes_on = False
    for session in sessions:
        session.join(SLOW_S)
    fleet.wait_done()
    wait_for_watches(fleet)
    fleet.settle()
    told, breaches = fleet.verdicts(asked.within_s * 1000)
    breaches["followed over HTTP"] = list(wrong_watches(fleet))
    breaches["a session's count"] = [text for one in sessions for text in one.wrong]
    breaches["a session that still waits"] = [one.name for one in sessions if one.is_alive()]
    for name in ("followed over HTTP", "a session's count", "a session that still waits"):
        for sentence in breaches[name][:SHOWN]:
            tell(f"{name}: {sentence}")
    states = collections.Counter({"begun anew": 0})
    for session in sessions:
        states.update(session.told)
    return {**told, "states": dict(states), "waits": figures(sessions, times)}, breaches


def rest():
    began = time.monotonic()
    time.sleep(REST_S)
    return began, time.monotonic()
