"""What clients and workers saw, in the order in which they saw it.

A history is a file of JSON objects, one a line, only ever appended to. Every
line has at (ms since 1970, of the onlooker), and what:

    submit    job, tenant, session, key, expect, token, failures (of the model,
              before it answers): a client is about to
    answer    job, verdict (created, exists, refused, unknown), stands
    cancel    job, verdict (cancelled, asked, late, refused, unknown)
    requeue   job: a client is about to take it back from the dead
    schedule  name: makes jobs of its own
    checked   text: what quern check had to say, when all was quiet
    event     job, seq, type, attempt, server_at, sha, consumer, reason: as one
              saw it who follows live
    result    job, sha: as a client read it when it was told of the end
    grant     job, epoch: Redis let a worker start it
    write     job, epoch, name, since, ok, word: a worker's write under that
              epoch was answered; since: the number of the last line before it
              was sent
    called    token, times: of a tool, by the code of a job
    asked     total, different: requests that the model had
    gone      consumer: it was killed, or stopped for long
    fault     kind, from here on; healed: kind, from here on not any more
    away      Redis does not answer; back: it does
    loss      what was accepted before may be gone, and that is known
    limit     name, value, and tenant, ms: what the fleet was told to keep to
    sample    process, rss_kib, fds
    secret    value: must be nowhere

A line may have more; what is empty is left out.
"""

import hashlib
import json
import threading
import time


def sha_of(data):
    """Short: what it tells apart is not hostile."""
    return hashlib.sha256(data).hexdigest()[:16]


def now_ms():
    return int(time.time() * 1000)


class History:
    """Written by many threads; numbers lines from 1."""

    def __init__(self, path):
        self.path = path
        self.file = open(path, "a", encoding="utf-8")
        self.lock = threading.Lock()
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def note(self, what, **members):
        """Gives the number of the line."""
        given = {name: value for name, value in members.items() if value is not None}
        line = json.dumps({"at": now_ms(), "what": what, **given})
        with self.lock:
            self.file.write(line + "\n")
            self.count += 1
            return self.count

    def lines(self):
        self.file.flush()
        return read_history(self.path)


def read_history(path):
    """A killed writer may have left half a line, which says nothing."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]
