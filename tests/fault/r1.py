"""R1: consumers and executors die every second, Redis three times."""

import threading
import time

import redis
from fleet import Fleet, Progress
from jobs import dice_of, jobs, talk
from wire import Loss, Wire

WORKERS = 3
BACKLOG = 400  # jobs that wait or run; more are not submitted yet
DEATHS_OF_REDIS = 3


def submit_all(fleet, way, made):
    """Of one in a hundred the command, or its answer, is lost."""
    for number, job in enumerate(made):
        if number % 100 == 0:
            way.cut_at(("submit", 1), list(Loss)[number // 100 % 2])
        while len(fleet.client.accepted) - len(fleet.follower.ended) > BACKLOG:
            time.sleep(0.02)
        fleet.client.submit(job)


def start_submitting(fleet, asked):
    way = Wire(fleet.redis.socket)
    fleet.client.db = redis.Redis.from_url(way.url)
    made = jobs(asked.jobs, dice_of(asked.seed))
    submitter = threading.Thread(
        target=submit_all, args=(fleet, way, made), daemon=True
    )
    submitter.start()
    return submitter


def run(asked, history, tell):
    settings = {"aof": True, "appendfsync": asked.fsync}
    with Fleet(history, tell, redis=settings, max_crashes=1000, away_ms=30000) as fleet:
        workers = [fleet.hire() for _ in range(WORKERS)]
        submitter = start_submitting(fleet, asked)
        progress = Progress("R1", asked.jobs)
        dice = dice_of(asked.seed)
        due = [asked.jobs * n // (DEATHS_OF_REDIS + 1) for n in (3, 2, 1)]
        ended, since = 0, time.monotonic()
        while submitter.is_alive() or not fleet.is_done():
            strike(fleet, workers, dice)
            if due and len(fleet.follower.ended) >= due[-1]:
                fleet.suffer("redis killed", fleet.restart_redis)
                fleet.client.submit(talk(f"probe-{due.pop()}", dice))
            if len(fleet.follower.ended) > ended:
                ended, since = len(fleet.follower.ended), time.monotonic()
            elif time.monotonic() - since > 60:
                break  # nothing ends any more: the checker says what
            progress(ended, f"{fleet.faults} faults")
            # From when all is up again: on a slow machine nothing would ever
            # end between two deaths.
            time.sleep(asked.period_s)
        progress.end()
        fleet.settle()
        return fleet.verdicts(asked.within_s * 1000)


def strike(fleet, workers, dice):
    """A consumer and the executor."""
    victim = workers.pop(dice.randrange(len(workers)))
    fleet.fault("consumer killed")
    fleet.kill(victim)
    workers.append(fleet.hire())
    fleet.fault("executor killed")
    fleet.kill_executor()
