"""R4: zombies. A consumer is stopped for longer than its leases, another one
takes its jobs over, and then it goes on where it stood."""

import signal
import time

from fleet import SLOW_S, Fleet, Progress, jobs_in
from jobs import Made
from servers import wait_until
from wire import Wire

SLOTS = 16
# Long enough to be stopped in, short enough to be answered meanwhile.
SLOWLY = [{"match": "slowly", "replies": [{"text": "done", "delay_ms": 2000}]}]


def slow(number):
    return Made(f"t{number}", {"prompt": f"slowly {number}"})


def holds_all(fleet, worker):
    held = jobs_in(fleet, b"in_progress", worker.name.encode())
    return len(list(held)) == SLOTS


def answered(fleet):
    counts = fleet.model.counts()
    return counts["total"] - counts["open"]


def round_of(fleet, number, after_the_end):
    """after_the_end: it wakes when the other one has ended all of it."""
    asked_before = fleet.model.counts()["total"]
    with Wire(fleet.redis.socket, fleet.history) as way:
        with Wire(fleet.redis.socket, fleet.history) as other_way:
            zombie = fleet.hire(way, slots=SLOTS)
            jobs = [
                fleet.client.submit(slow(number * SLOTS + n))[0] for n in range(SLOTS)
            ]
            wait_until(
                lambda: holds_all(fleet, zombie)
                and fleet.model.counts()["open"] == SLOTS,
                SLOW_S,
                "all of it runs",
            )
            fleet.fault("consumer stopped")
            zombie.signal(signal.SIGSTOP)
            fleet.history.note("gone", consumer=zombie.name)
            other = fleet.hire(other_way, slots=SLOTS)
            wait_until(
                lambda: holds_all(fleet, other)
                or fleet.follower.ended.issuperset(jobs),
                SLOW_S,
                "the other one takes it over",
            )
            if after_the_end:
                wait_until(
                    lambda: fleet.follower.ended.issuperset(jobs), SLOW_S, "it ends"
                )
            # What it is to write lies before it: it was the first to ask.
            wait_until(
                lambda: answered(fleet) >= asked_before + SLOTS, SLOW_S, "answers"
            )
            zombie.signal(signal.SIGCONT)
            wait_until(lambda: fleet.follower.ended.issuperset(jobs), SLOW_S, "it ends")
            time.sleep(fleet.lease_ms / 1000)  # for what comes late
            for worker in (zombie, other):
                fleet.sample(worker.name, worker)
                fleet.let_go(worker)


def run(asked, history, tell):
    rounds = max(2, asked.jobs // SLOTS)
    progress = Progress("R4", rounds)
    with Fleet(history, tell, script=SLOWLY, max_crashes=1000) as fleet:
        for number in range(rounds):
            round_of(fleet, number, after_the_end=number % 2 == 1)
            progress(number + 1)
        progress.end()
        fleet.hire()
        fleet.settle()
        told, breaches = fleet.verdicts(asked.within_s * 1000)
        if told["late_writes_refused"] == 0:
            breaches["fenced"].append("no zombie has tried to write: nothing is shown")
        return told, breaches
