#!/usr/bin/python3
"""What a page of jobs, one job, and a rare job cost among very many.

    QUERN_BUILD=build/release PYTHONPATH=tests tests/bench/listing.py [JOBS]

Submits so many jobs (100,000), of which one in 10,000 has a session that is
looked for; then ends all of them, one in 10,000 with an error. Prints for each
question the time of the command, the calls of Redis, and the longest of them.
Wanted: a page and job show within 50 ms, the rare job within 500 ms, no call of
more than 5 ms.
"""

import subprocess
import sys
import time

from library import Library, job_id, pack
from servers import RedisServer, binary

JOBS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
BATCH = 250
ROUNDS = 5


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


def measure(client, url, *words):
    """Milliseconds of the command; of Redis: calls, mean and longest."""
    took = []
    client.config_resetstat()
    client.slowlog_reset()
    for _ in range(ROUNDS):
        since = time.monotonic()
        done = subprocess.run(
            [binary("quern"), *words, "--json", "--redis-url", url],
            capture_output=True,
            check=True,
        )
        took.append((time.monotonic() - since) * 1000)
    fcall = client.info("commandstats").get("cmdstat_fcall", {"calls": 0, "usec": 0})
    longest = max((line["duration"] for line in client.slowlog_get(1000)), default=0)
    rows = done.stdout.count(b"\n")
    calls = fcall["calls"] / ROUNDS
    mean = fcall["usec"] / max(fcall["calls"], 1) / 1000
    print(
        f"{' '.join(words):55} {sorted(took)[ROUNDS // 2]:8.1f} ms  {rows:4} rows  "
        f"{calls:6.0f} calls  mean {mean:.2f} ms  longest {longest / 1000:.1f} ms",
        flush=True,
    )


def main():
    with RedisServer() as server:
        client = server.client()
        client.config_set("slowlog-log-slower-than", 1000)
        client.config_set("slowlog-max-len", 1000)
        jobs = Library(client).load()
        fill(jobs)
        print(f"{JOBS} jobs wait")
        measure(client, server.url, "job", "ls")
        measure(client, server.url, "job", "show", job_id(JOBS - 1))
        measure(client, server.url, "job", "ls", "--session", "rare")
        measure(client, server.url, "job", "ls", "--sort", "age")
        drain(jobs)
        print(f"{JOBS} jobs have ended")
        measure(client, server.url, "job", "ls")
        measure(client, server.url, "job", "show", job_id(JOBS - 1))
        measure(client, server.url, "job", "ls", "--session", "rare")
        measure(client, server.url, "job", "ls", "--error", "oops")


main()
