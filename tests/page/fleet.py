"""A fleet as operators know it: a hundred thousand jobs of a week, in the records that
Redis keeps of them, and a real stack that works on some more.

    with Fleet() as fleet:
        fleet.gateway.port, fleet.shown    # a job with a chart

What has ended long ago cannot be made by running it: its facts, its line of the
index and its counts are written as schemas/KEYS.md has them.
"""

import json
import math
import random
import time

from gateway import Gateway
from servers import free_ports, wait_until
from stack import ROOT, Stack, call_of

DAY_MS = 24 * 3600 * 1000
HALF_BYTES = 5 << 20  # of the index, as index.lua has it
BOUNDS_MS = [10, 30, 100, 300, 1000, 3000, 10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6]
QUEUES = {"default": 50, "reports": 20, "support": 20, "nightly": 10}
TENANTS = ["acme", "bakery-müller", "default", "harbour", "library", "nordlicht", "北京店"]
ERRORS = ["model_rejected", "deadline", "cell_limit", "budget_exhausted", "crashed"]
MODELS = ["gpt-5", "qwen3-coder", "claude-opus-4.1"]
WORKERS = [f"host{n}/{n}17{n}.5a3c" for n in range(1, 5)]
STATES = {"c": 93, "f": 4, "x": 2, "i": 1}
NAMES = {"c": "completed", "f": "failed", "x": "cancelled", "i": "incomplete"}

PLOT = '''import pandas as pd
import matplotlib.pyplot as plt

sales = pd.DataFrame({"bread": [120, 132, 101, 134, 190, 230, 210],
                      "cake": [62, 58, 91, 84, 110, 160, 172]},
                     index="Mon Tue Wed Thu Fri Sat Sun".split())
print(sales.sum())
sales.plot(kind="bar", title="Sold last week")
plt.tight_layout()
plt.show()
sales.to_csv("/mnt/data/sales.csv")'''
SAID = """**Bread sells best**: 1,117 loaves in the week, against 737 cakes.

| | bread | cake |
|---|--:|--:|
| Monday to Friday | 677 | 405 |
| weekend | 440 | 332 |

On Saturdays and Sundays you sell `1.6` times as much of both. The table is in *sales.csv*."""
SCRIPT = [
    {
        "match": "sells best",
        "replies": [
            {"text": "I look at the sales of each day.", "tool_calls": [call_of(PLOT)]},
            {"text": SAID},
        ],
    },
    {
        "match": "clean up",
        "replies": [
            {"tool_calls": [call_of("import shutil\nshutil.rmtree('/mnt/data/old')")]},
            {"text": "It is clean."},
        ],
    },
    {"match": "slowly", "replies": [{"text": "word " * 3000, "chunk_ms": 200}]},
]


def bucket(ms):
    """The number of the bucket of times, from 1."""
    return 1 + next((i for i, most in enumerate(BOUNDS_MS) if ms <= most), len(BOUNDS_MS))


def moments(chance, count, now):
    """When jobs end: seven days, busier by day and on weekdays."""
    times = []
    while len(times) < count:
        at = now - int(chance.random() ** 1.1 * 7 * DAY_MS) - 1000
        hour = at / 3600000 % 24
        day = int(at / DAY_MS) % 7
        if chance.random() < (0.25 + 0.75 * math.sin(math.pi * hour / 24) ** 2) * (
            0.4 if day in (2, 3) else 1
        ):
            times.append(at)
    return sorted(times)


def id_at(ms, number):
    return f"{ms >> 16:08x}-{ms & 0xFFFF:04x}-7000-8000-{number:012x}"


class Past:
    """Jobs that have ended, as records."""

    def __init__(self, db, seed):
        self.db = db
        self.chance = random.Random(seed)
        self.pipe = db.pipeline(transaction=False)
        self.lines = bytearray()

    def pick(self, weights):
        return self.chance.choices(list(weights), weights.values())[0]

    def write(self, count, now):
        for number, ended in enumerate(moments(self.chance, count, now)):
            self.write_job(number, ended)
            if number % 2000 == 1999:
                self.pipe.execute()
        self.db.append(f"{ROOT}ended", bytes(self.lines))
        self.pipe.sadd(f"{ROOT}queues", *QUEUES)
        self.pipe.execute()

    def write_job(self, number, ended):
        queue, letter = self.pick(QUEUES), self.pick(STATES)
        tenant = self.chance.choice(TENANTS)
        session = f"chat-{self.chance.randrange(4000)}" if self.chance.random() < 0.3 else ""
        waited = int(self.chance.lognormvariate(4.5, 1.6))
        ran = int(self.chance.lognormvariate(8.5, 1.1))
        tokens = int(self.chance.lognormvariate(7.5, 0.9))
        facts = {
            **{"state": NAMES[letter], "queue": queue, "tenant": tenant},
            **{"submitted_at": ended - ran - waited, "started_at": ended - ran},
            **{"finished_at": ended, "attempts": 1, "owner": self.chance.choice(WORKERS)},
        }
        if session:
            facts["session"] = session
        if letter == "f":
            facts["error_code"] = self.chance.choice(ERRORS)
        if self.chance.random() < 0.2:
            facts["found_by"] = f"{self.chance.choice(MODELS)}\torder={number}"
        id = id_at(facts["submitted_at"], number)
        self.pipe.hset(f"{ROOT}job:{id}", mapping=facts)
        if letter == "f":
            self.pipe.zadd(f"{ROOT}dead:{queue}", {id: ended})
        self.write_line(id, letter, facts, ended, waited + ran, ran, tokens)
        self.count(queue, letter, ended, waited, ran, tokens)

    def write_line(self, id, letter, facts, ended, age, ran, tokens):
        names = [facts["queue"], facts["tenant"], facts.get("session", ""), facts["owner"]]
        names = ["" if name == "default" else name for name in names]
        columns = [id, letter, *names, facts.get("error_code", ""), ended, age, ran, 1]
        columns += [tokens, tokens * 3]
        if "found_by" in facts:
            columns += [facts["found_by"], ""]
        line = "\t".join(map(str, columns)) + "\n"
        self.lines += line.encode()
        if len(self.lines) >= HALF_BYTES:
            self.db.set(f"{ROOT}ended:before", bytes(self.lines))
            self.lines.clear()

    def count(self, queue, letter, ended, waited, ran, tokens):
        key, minute = f"{ROOT}figures:{queue}:{ended // 600000}", ended % 600000 // 60000
        for field, amount in (
            *(("s", 1), (letter, 1), ("t", tokens), ("m", tokens * 3)),
            *((f"w{bucket(waited)}", 1), (f"r{bucket(ran)}", 1)),
        ):
            self.pipe.hincrby(key, f"{minute}{field}", amount)


class Fleet:
    """Ends what it starts."""

    def __init__(self, jobs=100_000, seed=1):
        self.stack = Stack(profile="science", script=SCRIPT)
        try:
            Past(self.stack.db, seed).write(jobs, int(time.time() * 1000))
            self.stack.consumer()
            self.gateway = Gateway(self.stack.redis.url, port=free_ports(1)[0])
            self.gateway.ready()
            self.work()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise

    def submit(self, **job):
        status, answer = self.gateway.json("POST", "/v1/jobs", job)
        assert status == 201, answer
        return answer["id"]

    def work(self):
        """Some of each kind that a view shows."""
        self.shown = self.submit(
            prompt="What sells best? Plot the week.", session="bakery", metadata={"order": "A-1042"}
        )
        result = self.stack.result(self.shown)
        assert result["status"] == "completed" and result["images"], result
        self.asked = self.submit(prompt="Please clean up.", approve=["execute_python_code"])
        self.slow = self.submit(prompt="Tell it slowly.")
        for _ in range(7):
            self.submit(prompt="x", queue="nightly-import")
        later = int(time.time() * 1000) + 3600000
        self.submit(prompt="x", queue="reports", not_before=later)
        nightly = {"spec": "0 3 * * *", "zone": "Europe/Berlin", "job": {"prompt": "x"}}
        assert self.gateway.json("PUT", "/v1/schedules/nightly-report", nightly)[0] < 300
        self.gateway.json("PATCH", "/v1/queues/nightly-import", {"paused": True})
        state = f"/v1/jobs/{self.asked}"
        wait_until(lambda: self.gateway.json("GET", state)[1].get("reason") == "approval")

    def __enter__(self):
        return self

    def __exit__(self, kind, *more):
        if hasattr(self, "gateway"):
            for id in (self.slow, self.asked) if kind is None else ():
                self.gateway.json("POST", f"/v1/jobs/{id}/cancel", {})
            self.gateway.kill()
        self.stack.__exit__(kind, *more)


if __name__ == "__main__":
    with Fleet() as fleet:
        print(json.dumps({"url": f"http://127.0.0.1:{fleet.gateway.port}/"}), flush=True)
        input()
