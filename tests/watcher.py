"""One watch of libquern on many jobs: what scenario/watcher.c tells of it.

with Watcher(server.url) as watcher:
    watcher.follow(job)
    watcher.wait_for(lambda: job in watcher.ended)
"""

import os
import subprocess
import threading
from collections import defaultdict

import msgpack
from servers import PATIENCE_S, binary, die_with_parent, wait_until

ENDS = {"job.completed", "job.incomplete", "job.failed", "job.cancelled"}


class Watcher:
    def __init__(self, url):
        self.events = defaultdict(list)  # job: bytes, as they came
        self.gaps = defaultdict(list)  # job: (from, to, after how many events)
        self.broken = {}  # job: code
        self.ended = set()
        self.away = 0
        self.child = subprocess.Popen(
            [binary("watcher")],
            env={**os.environ, "REDIS_URL": url},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=die_with_parent,
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.reader.join()
        self.child.stdout.close()

    def signal(self, number):
        self.child.send_signal(number)

    def say(self, line):
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()

    def follow(self, job):
        self.say(job)

    def drop(self, job):
        self.say(f"drop {job}")

    def end(self, timeout=PATIENCE_S):
        """No more jobs come: the exit code, when all have ended."""
        self.child.stdin.close()
        return self.child.wait(timeout)

    def read(self):
        for line in self.child.stdout:
            job, what, *words = line.split()
            if what == "away":
                self.away += 1
            elif what == "broken":
                self.broken[job] = words[0]
            elif what == "gap":
                gap = (int(words[0]), int(words[1]), len(self.events[job]))
                self.gaps[job].append(gap)
            else:
                self.take(job, int(words[0]), bytes.fromhex(words[1]))

    def take(self, job, seq, data):
        event = msgpack.unpackb(data)
        assert event["seq"] == seq
        self.events[job].append(data)
        if event["type"] in ENDS:
            self.ended.add(job)

    def told(self, job):
        return [msgpack.unpackb(data) for data in self.events[job]]

    def seqs(self, job):
        return [event["seq"] for event in self.told(job)]

    def wait_for(self, true, timeout=PATIENCE_S):
        return wait_until(true, timeout, "what the watcher is to see")
