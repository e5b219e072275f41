"""Workers in Python, of a queue of their own: they do with a job what its prompt
says, and what quern-consumer has no use for: wait for another try, and for
somebody's approval.

They die as a process would: in the middle of anything, without a word.
"""

import collections
import itertools
import threading
import time

import msgpack
import redis
from jobs import ROOT

QUEUE = "hands"
AT_ONCE = 4
REST_S = 0.05
RETRY_MS = 100
# Which of them have no answer, and are asked again.
LOST = (redis.ConnectionError, redis.TimeoutError)

Job = collections.namedtuple("Job", "id epoch attempt errors approval body records")


class Died(Exception):
    """Somebody has killed it."""


def job_of(row):
    """One of take's answers."""
    return Job(
        id=row[2].decode(),
        epoch=row[3],
        attempt=row[4],
        errors=row[12],
        approval=row[13].decode(),
        body=msgpack.unpackb(row[10]),
        records=row[11],
    )


def result_of(job):
    return msgpack.packb(
        {
            "v": 1,
            "id": job.id,
            "status": "completed",
            "attempts": job.attempt,
            "answer": job.approval or "done",
            "metadata": job.body["metadata"],
        }
    )


class Hand:
    """One worker. connect: gives it a client of its own."""

    def __init__(self, connect, name, lease_ms, root=ROOT, max_crashes=1000):
        self.db, self.name, self.root = connect(), name, root
        self.lease_ms, self.max_crashes = lease_ms, max_crashes
        self.tickets = itertools.count(1)
        self.dead = threading.Event()

    def call(self, step, *args):
        """Until it is answered; its refusal as it is."""
        while not self.dead.is_set():
            try:
                return self.db.execute_command(
                    "FCALL", f"quern_v1_{step}", 1, self.root, *args
                )
            except LOST:
                time.sleep(REST_S)
            except redis.ResponseError as error:
                if not is_passing(error):
                    return error
                time.sleep(REST_S)
        raise Died

    def take(self, count=AT_ONCE):
        ticket = next(self.tickets)
        about = (self.name, self.lease_ms, self.max_crashes, count)
        rows = self.call("take", *about, "ticket", ticket, "queue", QUEUE)
        return [job_of(row) for row in rows if row[0] == 1]

    def work(self, job):
        """As its prompt says."""
        at = job.id, job.epoch
        if not job.records:
            record = msgpack.packb({"begun": job.epoch})
            self.call("journal", *at, 0, record, "turn.started", msgpack.packb({}))
        asked = job.body["prompt"]
        if asked == "retry" and job.errors == 0:
            return self.call("wait", *at, RETRY_MS, "retry", job.errors + 1, "")
        if asked == "approval" and not job.approval:
            return self.call("wait", *at, 0, "approval", 0, "")
        if asked == "release" and not job.records:
            return self.call("release", *at, "not mine")
        return self.call("finish", *at, "completed", result_of(job), "", "", 0, 0)


def is_passing(error):
    """What a Redis says that is not quite there yet."""
    word = str(error).partition(" ")[0]
    return isinstance(error, (redis.BusyLoadingError, redis.ReadOnlyError)) or (
        word in ("LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "MOVED")
    )


class Hands(threading.Thread):
    """One after the other, each until it dies; some of them only sleep, and then
    write what is not theirs any more."""

    def __init__(self, fleet, connect, dice):
        super().__init__(daemon=True)
        self.fleet, self.connect, self.dice = fleet, connect, dice
        self.stopped = threading.Event()
        self.late = []  # (when, hand, job)
        self.hand = None

    def hire(self):
        lease_ms = self.fleet.lease_ms
        self.hand = Hand(self.connect, self.fleet.new_name(), lease_ms)

    def stop(self):
        self.stopped.set()
        if self.ident is not None:
            self.join()

    def run(self):
        self.hire()
        while not self.stopped.is_set():
            jobs = self.hand.take()
            for job in jobs:
                if not self.live_on(job):
                    break
            self.wake()
            if not jobs:
                time.sleep(REST_S)

    def live_on(self, job):
        """False: it is dead, or asleep; all of what it holds is left lying."""
        chance = self.dice.random()
        if chance > 0.1:
            self.hand.work(job)
            return True
        self.fleet.fault("hand killed" if chance > 0.03 else "hand stopped")
        self.fleet.history.note("gone", consumer=self.hand.name)
        if chance <= 0.03:
            wakes = time.monotonic() + 1.5 * self.hand.lease_ms / 1000
            self.late.append((wakes, self.hand, job))
        self.hire()
        return False

    def wake(self):
        for row in list(self.late):
            wakes, hand, job = row
            if time.monotonic() >= wakes:
                self.late.remove(row)
                hand.work(job)
