"""What a page of jobs, one job, and a rare job cost among very many.

Submits 100,000 jobs, of which one in 10,000 has a session that is looked for;
then ends all of them, one in 10,000 with an error. Measures for each question
the time of the command, the calls of Redis, and the longest of them.
"""

import contextlib
import functools
import subprocess
import time

from harness import Row, Turn, redis_version
from library import Library, job_id, pack
from servers import RedisServer

JOBS = 100_000
BATCH = 250
ROUNDS = 5
PAGE, ONE, RARE = ("ls",), ("show", job_id(JOBS - 1)), ("ls", "--session", "rare")
QUESTIONS = {
    "jobs wait": (PAGE, ONE, RARE, ("ls", "--sort", "age")),
    "jobs have ended": (PAGE, ONE, RARE, ("ls", "--error", "oops")),
}
PAGE_MS, RARE_MS, CALL_MS = 50, 500, 5  # at most: commands, and a call of Redis
SLOW_US = 100  # shorter calls are not looked at


def fill(jobs):
    for first in range(0, JOBS, BATCH):
        words = []
        for number in range(first, first + BATCH):
            id = job_id(number)
            names = {"tenant": f"t{number % 100}"}
            if number % 10_000 == 77:
                names["session"] = f"rare{number}" if number > 77 else "rare"
            body = pack(v=1, id=id, prompt="x" * 200, **names)
            words += ["id", id, "job", body]
            for pair in names.items():
                words += pair
        for answer in jobs.call("submit_many", *words):
            assert answer[1] == b"created", answer


def drain(jobs):
    number = 0
    while True:
        taken = [job for job in jobs.take_jobs(count=100) if job.run]
        if not taken:
            return
        words = []
        for job in taken:
            number += 1
            failed = number % 10_000 == 5
            end = ("failed", "oops") if failed else ("completed", "")
            words += [job.id, job.epoch, end[0], b"\x80", b"", end[1], 0, 0, 9, 1]
        jobs.call("finish_many", *words)


def name_of(state, words):
    return f"{state}: job {' '.join(words)}".replace(ONE[-1], "ID")


def ask(build, server, name, words):
    """One command: its ms, calls of Redis, ms of the longest."""
    with server.client() as client:
        client.config_resetstat()
        client.slowlog_reset()
        command = [build.binary("quern"), "job", *words, "--json"]
        since = time.monotonic()
        subprocess.run(
            [*command, "--redis-url", server.url], capture_output=True, check=True
        )
        took_ms = (time.monotonic() - since) * 1000
        calls = client.info("commandstats").get("cmdstat_fcall", {"calls": 0})
        slow = (
            x for x in client.slowlog_get(1000) if x["command"].startswith(b"FCALL")
        )
        longest_ms = max((x["duration"] for x in slow), default=0) / 1000
    return {
        name: took_ms,
        f"{name} calls": calls["calls"],
        f"{name} longest": longest_ms,
    }


class Many:
    """A build's queue with very many jobs."""

    def __init__(self, kept, build):
        self.build = build
        self.server = kept.enter_context(RedisServer())
        client = self.server.client()
        client.config_set("slowlog-log-slower-than", SLOW_US)
        client.config_set("slowlog-max-len", 1000)
        self.jobs = Library(client)
        self.jobs.source = build.library()
        self.jobs.load()

    def turns(self, state):
        for words in QUESTIONS[state]:
            name = name_of(state, words)
            give = functools.partial(ask, self.build, self.server, name, words)
            yield Turn(self.build.column, name, give)


def measure(run):
    with contextlib.ExitStack() as kept:
        all_of_them = [Many(kept, build) for build in run.builds]
        for state, change in zip(QUESTIONS, (fill, drain)):
            for many in all_of_them:
                change(many.jobs)
            turns = [turn for many in all_of_them for turn in many.turns(state)]
            run.take_turns(turns, rounds=run.wanted or ROUNDS)


def names():
    for state, questions in QUESTIONS.items():
        for words in questions:
            yield words, name_of(state, words)


def rows(_):
    found = []
    for _, name in names():
        found.append(Row(f"{JOBS} {name}, ms", name, "{:.1f}"))
        found.append(Row("   calls of Redis", f"{name} calls", "{:.0f}"))
        found.append(Row("   the longest of them, ms", f"{name} longest"))
    return found


def bars(run):
    found = []
    for words, name in names():
        bound = RARE_MS if "--session" in words or "--error" in words else PAGE_MS
        found.append((f"{name}, ms", run.median(name), "<=", bound))
        longest = run.median(f"{name} longest")
        found.append((f"{name}, longest call, ms", longest, "<=", CALL_MS))
    return found


def versions(_):
    return {"redis": redis_version()}
