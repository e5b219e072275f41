"""R1: consumers and executors die every second, Redis three times."""

import threading
import time

import redis
from fleet import Fleet, Progress, server_of
from jobs import dice_of, jobs, talk
from wire import Loss, Wire

WORKERS = 3
BACKLOG = 400  # jobs that wait or run; more are not submitted yet
PER_STRIKE = 100  # jobs between two deaths, however fast the machine is
DEATHS_OF_REDIS = 3
STUCK_S = 60


def run(asked, history, tell):
    server = server_of(asked.redis, aof=True, appendfsync=asked.fsync)
    settings = {"max_crashes": 1000, "away_ms": 30000}
    with Fleet(history, tell, server=server, **settings) as fleet:
        fleet.allowed = PER_STRIKE
        submitter = start_submitting(fleet, asked)
        strike_until_done(fleet, submitter, asked)
        fleet.settle()
        return fleet.verdicts(asked.within_s * 1000)


def start_submitting(fleet, asked):
    way = None
    if asked.redis == "single":
        way = Wire(fleet.redis.socket)
        fleet.client.db = redis.Redis.from_url(way.url)
    made = jobs(asked.jobs, dice_of(asked.seed))
    submitter = threading.Thread(
        target=submit_all, args=(fleet, way, made), daemon=True
    )
    submitter.start()
    return submitter


def submit_all(fleet, way, made):
    """Of one in a hundred the command, or its answer, is lost."""
    for number, job in enumerate(made):
        if way and number % 100 == 0:
            way.cut_at(("submit", 1), list(Loss)[number // 100 % 2])
        while number >= fleet.allowed or backlog(fleet) > BACKLOG:
            time.sleep(0.02)
        fleet.client.submit(job)


def backlog(fleet):
    return len(fleet.client.accepted) - len(fleet.follower.ended)


def strike_until_done(fleet, submitter, asked):
    dice, workers = dice_of(asked.seed), [fleet.hire() for _ in range(WORKERS)]
    strikes = max(DEATHS_OF_REDIS + 1, asked.jobs // PER_STRIKE)
    quarter = strikes // (DEATHS_OF_REDIS + 1)
    deaths = [quarter * n for n in range(1, DEATHS_OF_REDIS + 1)]
    progress, number = Progress("R1", asked.jobs), 0
    ended, since = 0, time.monotonic()
    while submitter.is_alive() or not fleet.is_done():
        number += 1
        strike(fleet, workers, dice)
        if number in deaths:
            fleet.suffer("redis killed", fleet.replace_redis)
            fleet.client.submit(talk(f"probe-{number}", number))
            fleet.bring_back()
        fleet.allowed += PER_STRIKE
        if len(fleet.follower.ended) > ended:
            ended, since = len(fleet.follower.ended), time.monotonic()
        elif time.monotonic() - since > STUCK_S:
            break  # nothing ends any more: the checker says what
        progress(ended, f"{fleet.faults} faults")
        # From when all is up again: on a slow machine nothing would ever end
        # between two deaths.
        time.sleep(asked.period_s)
    progress.end()


def strike(fleet, workers, dice):
    """A consumer and the executor."""
    victim = workers.pop(dice.randrange(len(workers)))
    fleet.fault("consumer killed")
    fleet.kill(victim)
    workers.append(fleet.hire())
    fleet.fault("executor killed")
    fleet.kill_executor()
