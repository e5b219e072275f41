"""Subscribers: whoever follows jobs, and however badly, sees the same events.

late       libquern, from some time after the submit on, or after the end
cut        libquern, whose subscription Redis ends ten times a second
slow       libquern, which stops until Redis cuts it off for what it has not read
plain      redis-py alone, which connects anew ten times a second
command    quern watch --json, of one job in a hundred, after its end
"""

import contextlib
import heapq
import itertools
import json
import os
import signal
import subprocess
import threading
import time
from collections import defaultdict

import msgpack
import redis
from fleet import Fleet, Progress
from history import sha_of
from jobs import Made, ask, broken, dice_of, fenced, jobs, late, talk, unwanted
from servers import RedisServer, binary
from stack import ROOT
from watcher import ENDS, Watcher

WORKERS = 3
BACKLOG = 200  # jobs that wait or run; more are not submitted yet
STRIKE_S = 2
CUT_S = 0.1
STOPPED_S = 10
ENOUGH = 20  # jobs that it follows when it is stopped
LATE_S = 8
STUCK_S = 60
LONG = 1000  # jobs, of a run in which each has been cut off
ONE_IN = 100  # jobs that the command follows
# What may stand in Redis for one subscriber: a slow one is soon beyond it.
LIMIT = "pubsub 64kb 16kb 1"
SCRIPT = [
    {
        "match": "at length",
        "replies": [{"text": "blah " * 6000, "chunk": 200, "chunk_ms": 5}],
    }
]
PICTURE = "display({'image/svg+xml': '<svg><!-- %s --></svg>'}, raw=True)"
SHOWN = 5  # sentences of one kind


def chat(token, _):
    """An answer of many pieces."""
    return Made(token, {"prompt": f"say {token} " + "and so on, and so on; " * 30})


def lengthy(token, _):
    """One that takes its time, and has much to say."""
    return Made(token, {"prompt": f"at length: {token}"})


def prints(token, _):
    loop = f"import sys\nfor n in range(20): print('{token}', n, flush=True)"
    cells = [loop, "print('oh', file=sys.stderr); 1"]
    return Made(token, {"kind": "code", "cells": cells}, ("completed",))


def paints(token, _):
    cells = [PICTURE % token, f"open('f.txt', 'w').write('{token}')"]
    return Made(token, {"kind": "code", "cells": cells}, ("completed",))


def works(token, _):
    return Made(token, {"prompt": fenced(PICTURE % token + "\nprint('done')")})


KINDS = {
    talk: 44,
    chat: 18,
    lengthy: 2,
    prints: 8,
    paints: 6,
    works: 6,
    ask: 8,
    unwanted: 3,
    late: 3,
    broken: 2,
}


class Plain(threading.Thread):
    """Subscribe, replay, then live, with a connection that does not last."""

    def __init__(self, connect):
        super().__init__(daemon=True)
        self.connect, self.connections = connect, 0
        self.events = defaultdict(list)
        self.gaps, self.broken, self.ended = defaultdict(list), {}, set()
        self.open = {}  # job: the last seq seen
        self.stopped = threading.Event()

    def follow(self, job):
        self.open[job] = 0

    def run(self):
        while not self.stopped.is_set():
            self.connections += 1
            try:
                with self.connect() as client, client.pubsub() as pubsub:
                    self.listen(client, pubsub, time.monotonic() + CUT_S)
            except redis.ConnectionError:
                pass  # it was too slow as well

    def listen(self, client, pubsub, until):
        jobs = list(self.open)
        if jobs:
            pubsub.subscribe(*[f"{ROOT}events:{job}" for job in jobs])
            self.hear(pubsub, until, len(jobs))
            self.replay(client, jobs)
        while jobs and time.monotonic() < until and not self.stopped.is_set():
            self.hear(pubsub, until, 1)
        if not jobs:
            time.sleep(CUT_S)

    def hear(self, pubsub, until, count):
        """So many answers, or what comes in time."""
        for _ in range(count):
            message = pubsub.get_message(timeout=max(0, until - time.monotonic()))
            if message and message["type"] == "message":
                job = message["channel"].decode().rpartition("events:")[2]
                self.take(job, message["data"])

    def replay(self, client, jobs):
        with client.pipeline(transaction=False) as pipe:
            for job in jobs:
                pipe.xrange(f"{ROOT}events:{job}", f"({self.open.get(job, 0)}-0")
            for job, rows in zip(jobs, pipe.execute()):
                for _, fields in rows:
                    self.take(job, fields[b"event"])

    def take(self, job, data):
        """Not what was seen; nor what comes too early, which is in the stream."""
        event = msgpack.unpackb(data)
        if job not in self.open or event["seq"] != self.open[job] + 1:
            return
        self.open[job] = event["seq"]
        self.events[job].append(data)
        if event["type"] in ENDS:
            self.open.pop(job)
            self.ended.add(job)


class Late(threading.Thread):
    """Tells a watcher of jobs when it is time."""

    def __init__(self, watcher, ended, dice):
        """ended: jobs that have."""
        super().__init__(daemon=True)
        self.watcher, self.ended, self.dice = watcher, ended, dice
        self.later, self.after, self.lock = [], set(), threading.Lock()

    def follow(self, job):
        with self.lock:
            if self.dice.random() < 0.5:
                self.after.add(job)
            else:
                at = time.monotonic() + self.dice.uniform(0, LATE_S)
                heapq.heappush(self.later, (at, job))

    def run(self):
        while True:
            for job in self.due():
                self.watcher.follow(job)
            time.sleep(0.05)

    def due(self):
        with self.lock:
            now = list(self.after & self.ended)
            self.after -= set(now)
            while self.later and self.later[0][0] <= time.monotonic():
                now.append(heapq.heappop(self.later)[1])
        return now


class Cutter(threading.Thread):
    """Ends the subscription of a user, over and over."""

    def __init__(self, client, user):
        super().__init__(daemon=True)
        self.client, self.user, self.cuts = client, user, 0
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.wait(CUT_S):
            self.cuts += self.client.execute_command(
                "CLIENT", "KILL", "USER", self.user, "TYPE", "pubsub"
            )


class Stopper(threading.Thread):
    """Stops the watcher of a user until Redis has cut it off, over and over.
    What its jobs have to say must be more than the socket takes."""

    def __init__(self, client, user, watcher):
        super().__init__(daemon=True)
        self.client, self.user, self.watcher = client, user, watcher
        self.cuts = 0
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.wait(CUT_S):
            if self.channels() < ENOUGH:
                continue
            self.watcher.signal(signal.SIGSTOP)
            until = time.monotonic() + STOPPED_S
            while self.channels() and time.monotonic() < until:
                self.stopped.wait(CUT_S)
            self.cuts += not self.channels()
            self.watcher.signal(signal.SIGCONT)

    def channels(self):
        """How many it is subscribed to."""
        clients = self.client.client_list(_type="pubsub")
        return sum(int(one["sub"]) for one in clients if one["user"] == self.user)


def run(asked, history, tell):
    server = RedisServer(client_output_buffer_limit=LIMIT)
    settings = {"max_crashes": 1000, "server": server, "script": SCRIPT}
    with Fleet(history, tell, **settings) as fleet:
        with contextlib.ExitStack() as stack:
            crowd = {
                name: stack.enter_context(Watcher(url_of(fleet, name)))
                for name in ("late", "cut", "slow")
            }
            crowd["plain"] = Plain(server.client)
            figures = follow_all(fleet, asked, **crowd)
        told, breaches = fleet.verdicts(asked.within_s * 1000)
        told["followed"], more = judge(fleet, crowd)
        for name, figure in figures.items():
            told["followed"][name].update(figure)
        if asked.jobs >= LONG and not figures["slow"]["cut_off"]:
            more["slow"].append("Redis has never cut it off: nothing is shown")
        for name, sentences in more.items():
            for sentence in sentences[:SHOWN]:
                tell(f"{name}: {sentence}")
        return told, breaches | more


def url_of(fleet, user):
    """Of a user of its own, by whom its connections are known."""
    grants = f"ACL SETUSER {user} on nopass allkeys allchannels +@all"
    fleet.db.execute_command(*grants.split())
    return fleet.redis.url.replace("unix://", f"unix://{user}:x@")


def follow_all(fleet, asked, late, cut, slow, plain):
    """Until all has been seen that will be; figures by name."""
    feeder = Late(late, fleet.follower.ended, dice_of(asked.seed))
    cutter = Cutter(fleet.redis.client(), "cut")
    stopper = Stopper(fleet.redis.client(), "slow", slow)
    for thread in (plain, feeder, cutter, stopper):
        thread.start()
    submit_and_strike(fleet, asked, [feeder, cut, slow, plain])
    for thread in (cutter, stopper):
        thread.stopped.set()
        thread.join()
    wait_for_all(fleet, [late, cut, slow, plain])
    plain.stopped.set()
    plain.join()
    fleet.settle()
    return {
        "cut": {"cut_off": cutter.cuts},
        "slow": {"cut_off": stopper.cuts},
        "plain": {"connections": plain.connections},
    }


# -- the load


def submit_and_strike(fleet, asked, followers):
    dice, numbers = dice_of(asked.seed), itertools.count(1)
    workers = [fleet.hire() for _ in range(WORKERS)]
    made = jobs(asked.jobs, dice_of(asked.seed), KINDS)
    submitter = threading.Thread(
        target=submit_all, args=(fleet, made, followers), daemon=True
    )
    submitter.start()
    progress = Progress("subscribers", asked.jobs)
    ended, since = 0, time.monotonic()
    while submitter.is_alive() or not fleet.is_done():
        strike(fleet, workers, dice, next(numbers))
        time.sleep(STRIKE_S)
        if len(fleet.follower.ended) > ended:
            ended, since = len(fleet.follower.ended), time.monotonic()
        elif time.monotonic() - since > STUCK_S:
            break  # nothing ends any more: the checker says what
        progress(ended, f"{fleet.faults} faults")
    progress.end()


def submit_all(fleet, made, followers):
    for job in made:
        while len(fleet.client.accepted) - len(fleet.follower.ended) > BACKLOG:
            time.sleep(0.02)
        for stands in filter(None, fleet.client.submit(job)):
            for follower in followers:
                follower.follow(stands)


def strike(fleet, workers, dice, number):
    """A consumer goes: it dies, or hands back what it has."""
    victim = workers.pop(dice.randrange(len(workers)))
    if number % 3:
        fleet.fault("consumer killed")
        fleet.kill(victim)
    else:
        fleet.fault("consumer sent away")
        victim.signal(signal.SIGTERM)
        victim.wait_for('"drain"')
        victim.signal(signal.SIGTERM)
        victim.wait(60)
        fleet.consumers.remove(victim)
    workers.append(fleet.hire())


# -- what was seen


def wait_for_all(fleet, crowd):
    """Until every one has seen every end, or sees no more of anything."""

    def seen():
        return sum(len(one.ended) for one in crowd)

    count, since = -1, time.monotonic()
    while any(fleet.client.accepted - one.ended for one in crowd):
        if seen() > count:
            count, since = seen(), time.monotonic()
        if time.monotonic() - since > STUCK_S:
            return
        time.sleep(0.1)


def judge(fleet, crowd):
    """What they saw held against what is there: figures, and breaches."""
    told, breaches = {}, {}
    kept = {job: read_stream(fleet, job) for job in sorted(fleet.client.accepted)}
    breaches["stream"] = [
        sentence for job, rows in kept.items() for sentence in faults_of(job, rows)
    ]
    for name, one in crowd.items():
        breaches[name] = list(differences(kept, one))
        told[name] = {
            "jobs": len(one.ended & set(kept)),
            "events": sum(len(one.events[job]) for job in kept),
            "differences": len(breaches[name]),
        }
    told["command"], breaches["command"] = judge_command(fleet, kept)
    told["stream"] = {"jobs": len(kept), "events": sum(map(len, kept.values()))}
    return told, breaches


def read_stream(fleet, job):
    rows = fleet.db.xrange(f"{ROOT}events:{job}")
    return [fields[b"event"] for _, fields in rows]


def faults_of(job, rows):
    events = [msgpack.unpackb(row) for row in rows]
    if [event["seq"] for event in events] != list(range(1, len(events) + 1)):
        yield f"{job}: its stream is not contiguous"
    if [event["type"] in ENDS for event in events] != [False] * (len(rows) - 1) + [True]:
        yield f"{job}: its stream has not one end, and last"


def differences(kept, one):
    for job, rows in kept.items():
        seen = one.events[job]
        if job in one.broken:
            yield f"{job}: was told {one.broken[job]}"
        if one.gaps[job]:
            yield f"{job}: was told of gaps {one.gaps[job]}"
        if seen != rows:
            yield f"{job}: {shas(seen)} were seen, {shas(rows)} are there"


def shas(rows):
    return [sha_of(row)[:4] for row in rows]


def judge_command(fleet, kept):
    sample = list(kept)[::ONE_IN]
    breaches = []
    for job in sample:
        done = subprocess.run(
            [binary("quern"), "watch", "--json", job],
            env={**os.environ, "REDIS_URL": fleet.redis.url},
            cwd=fleet.folder,
            capture_output=True,
            timeout=60,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        told = [(line["seq"], line["type"], line["at"]) for line in lines if "seq" in line]
        events = map(msgpack.unpackb, kept[job])
        if told != [(event["seq"], event["type"], event["at"]) for event in events]:
            breaches.append(f"{job}: quern watch has seen {told}")
    return {"jobs": len(sample), "differences": len(breaches)}, breaches
