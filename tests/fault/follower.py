"""Follows every job as clients are told to: subscribe, replay, then live.

What it hears it writes down, each event once; when a job has ended it reads the
result, as a client would. In a Cluster it is a client of before SSUBSCRIBE: it hears
nothing, and reads the streams in the silence. Of a job that a schedule submits nobody tells it: what
it has not heard of such a one it finds by the job's idempotency key, which
stays for a day.
"""

import collections
import threading
import time

import msgpack
import redis
from history import sha_of
from seen import is_end
from state import BATCH, ask

WAIT_S = 0.05
SILENCE_S = 1.0  # then what is open is read: the messages may have been lost
CHANNELS = "*}:events:*"
FIRED = "*}:idem:*:schedule:*"
LOST = (redis.ConnectionError, redis.TimeoutError, redis.ResponseError)


class Follower(threading.Thread):
    def __init__(self, history, connect):
        """connect: gives a client of its own."""
        super().__init__(daemon=True)
        self.history, self.connect = history, connect
        self.open = {}  # id: its root; told of, or heard of, and not ended
        self.last = {}
        self.ended = set()
        self.excused = set()
        self.unread = []
        self.asking = collections.deque()  # ids that wait for approval
        self.stopped = threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def follow(self, root, job):
        """Before it is submitted: its first event may be missed."""
        self.open.setdefault(job, root)

    def forget(self, jobs):
        """They are gone, and may come again from the beginning."""
        for job in jobs:
            self.open.pop(job, None)
            self.last.pop(job, None)
            self.excused.add(job)

    def revive(self, root, job):
        """It is about to be taken back from the dead."""
        self.ended.discard(job)
        self.open[job] = root

    def stop(self):
        """Once more looks for what it has not heard."""
        self.stopped.set()
        self.join()

    def run(self):
        while not self.stopped.is_set():
            try:
                with self.connect() as client:
                    self.listen(client)
            except LOST:
                self.stopped.wait(WAIT_S)
        try:
            with self.connect() as client:
                self.catch_up(client)
                self.read_results(client)
        except LOST:
            pass  # what it has not seen is a breach, which the checker tells

    def listen(self, client):
        with client.pubsub() as pubsub:
            pubsub.psubscribe(CHANNELS)
            heard_at = time.monotonic()
            while not self.stopped.is_set():
                message = pubsub.get_message(timeout=WAIT_S)
                silent = time.monotonic() - heard_at > SILENCE_S
                if message:
                    self.hear(client, message)
                elif silent:
                    self.catch_up(client)
                if message or silent:
                    heard_at = time.monotonic()
                self.read_results(client)

    def hear(self, client, message):
        """Subscribed, also once more: what was said before is read."""
        if message["type"] == "psubscribe":
            self.catch_up(client)
        elif message["type"] == "pmessage":
            root, _, job = message["channel"].decode().rpartition("events:")
            self.hear_event(client, root, job, message["data"])

    def hear_event(self, client, root, job, data):
        seq, last = msgpack.unpackb(data)["seq"], self.last.get(job, 0)
        if job not in self.ended:
            self.open.setdefault(job, root)
        if seq == last + 1:
            self.take(job, data)
        elif seq > last:
            self.replay(client, {job: root})

    def catch_up(self, client):
        """With all that was said while it did not listen."""
        keys = list(client.scan_iter(FIRED, count=BATCH))
        for key, id in ask(client, keys, lambda pipe, key: pipe.get(key)):
            job = (id or b"").decode()
            if job and job not in self.last and job not in self.ended:
                self.open.setdefault(job, key.decode().partition("idem:")[0])
        self.replay(client, dict(self.open))

    def replay(self, client, roots):
        """roots: by job."""
        with client.pipeline(transaction=False) as pipe:
            for job, root in roots.items():
                first = self.last.get(job, 0) + 1
                pipe.xrange(f"{root}events:{job}", f"{first}-0")
            found = pipe.execute()
        for job, rows in zip(roots, found):
            for _, fields in rows:
                self.take(job, fields[b"event"])

    def take(self, job, data):
        event = msgpack.unpackb(data)
        told = event["data"]
        self.history.note(
            "event",
            job=job,
            seq=event["seq"],
            type=event["type"],
            attempt=event["attempt"],
            server_at=event["at"],
            sha=sha_of(data),
            consumer=told.get("consumer"),
            reason=told.get("reason"),
        )
        self.last[job] = event["seq"]
        if event["type"] == "job.waiting" and told.get("reason") == "approval":
            self.asking.append(job)
        if is_end(event["type"]):
            self.ended.add(job)
            root = self.open.pop(job, None)
            if root is not None:  # else it ends again, which the checker tells
                self.unread.append((root, job))

    def read_results(self, client):
        while self.unread:
            root, job = self.unread[0]
            result = client.get(f"{root}result:{job}")
            self.history.note("result", job=job, sha=sha_of(result or b""))
            self.unread.pop(0)
