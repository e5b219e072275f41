"""R1: consumers and executors die every second, Redis three times.

Jobs of every kind, of tenants with limits and without, by conversation, by cell
and by hand; a schedule goes off; people approve, cancel and requeue.
"""

import threading
import time

import msgpack
import redis
from client import Client
from fleet import Fleet, Progress, server_of
from hand import Hands
from jobs import FLAKY, KINDS, LIMITS, NO_ID, dice_of, jobs, talk
from staff import Staff
from upgrade import Upgrade
from wire import Loss, Wire

WORKERS = 3
BACKLOG = 400  # jobs that wait or run; more are not submitted yet
PER_STRIKE = 100  # jobs between two deaths, however fast the machine is
DEATHS_OF_REDIS = 3
STUCK_S = 60
CANCEL_AFTER_S = 0.5
SCHEDULE = "tick"


def run(asked, history, tell):
    server = server_of(asked.redis, aof=True, appendfsync=asked.fsync)
    upgrade = Upgrade(asked.upgrade)
    settings = {
        "server": server,
        "library": upgrade.library(),
        "script": [FLAKY],
        "max_crashes": 1000,
        "away_time": "30s",
    }
    with Fleet(history, tell, **settings) as fleet:
        fleet.allowed = PER_STRIKE
        staff = Staff(client_of(fleet, None), dice_of(asked.seed))
        hands = Hands(fleet, by_wire(fleet, asked), dice_of(asked.seed))
        if not upgrade.older:
            begin_all_that_is_new(fleet, hands)
        staff.start()
        submitter = start_submitting(fleet, staff, asked)
        strike_until_done(fleet, [submitter, staff], upgrade, asked)
        fleet.client.until_told("schedule", SCHEDULE, remove_schedule(fleet))
        staff.stop()
        fleet.wait_done()
        hands.stop()
        fleet.settle()
        return fleet.verdicts(asked.within_s * 1000)


def begin_all_that_is_new(fleet, hands):
    """What a library without lanes has not."""
    for name, tenant, value, more in LIMITS:
        fleet.limit(name, tenant, value, **more)
    set_schedule(fleet)
    hands.start()


def by_wire(fleet, asked):
    single = asked.redis == "single"
    return connect_by(
        fleet, Wire(fleet.redis.socket, fleet.history) if single else None
    )


def connect_by(fleet, way):
    """What connects to Redis, by way of a wire if there is one."""
    return (lambda: redis.Redis.from_url(way.url)) if way else fleet.redis.client


def client_of(fleet, way):
    return Client(fleet.history, fleet.follower, connect_by(fleet, way))


def set_schedule(fleet):
    """A job a second, which nobody submits."""
    fleet.history.note("schedule", name=SCHEDULE)
    job = {"v": 1, "id": NO_ID, "tenant": "ant", "kind": "code", "cells": ["1"]}
    body = msgpack.packb(job)
    about = (SCHEDULE, "every 1s", "", int(time.time() * 1000))
    fleet.client.call("schedule_set", *about, "job", body)


def remove_schedule(fleet):
    return lambda: fleet.client.call("schedule_rm", SCHEDULE)


def start_submitting(fleet, staff, asked):
    way = None
    if asked.redis == "single":
        way = Wire(fleet.redis.socket)
        fleet.client.db = redis.Redis.from_url(way.url)
    made = jobs(asked.jobs, dice_of(asked.seed), KINDS)
    submitter = threading.Thread(
        target=submit_all, args=(fleet, staff, way, made), daemon=True
    )
    submitter.is_done = lambda: not submitter.is_alive()
    submitter.start()
    return submitter


def submit_all(fleet, staff, way, made):
    """Of one in a hundred the command, or its answer, is lost."""
    for number, job in enumerate(made):
        if way and number % 100 == 0:
            way.cut_at(("submit", 1), list(Loss)[number // 100 % 2])
        while number >= fleet.allowed or backlog(fleet) > BACKLOG:
            time.sleep(0.02)
        stands = fleet.client.submit(job)[0]
        if job.cancel_late:
            staff.cancel_later(stands, CANCEL_AFTER_S)
        if job.requeue:
            staff.requeue(stands)


def backlog(fleet):
    return len(fleet.client.accepted - fleet.follower.ended)


def strike_until_done(fleet, people, upgrade, asked, also=None):
    """also: called with the number of each strike."""
    dice = dice_of(asked.seed)
    workers = [fleet.hire(**upgrade.hiring()) for _ in range(WORKERS)]
    strikes = max(DEATHS_OF_REDIS + 1, asked.jobs // PER_STRIKE)
    quarter = strikes // (DEATHS_OF_REDIS + 1)
    deaths = [quarter * n for n in range(1, DEATHS_OF_REDIS + 1)]
    progress, number = Progress("R1", asked.jobs), 0
    ended, since = 0, time.monotonic()
    while not (all(who.is_done() for who in people) and fleet.is_done()):
        number += 1
        if asked.upgrade is not None and number == 2 * quarter:
            upgrade.now(fleet)
        strike(fleet, workers, dice, upgrade)
        if also:
            also(number)
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


def strike(fleet, workers, dice, upgrade):
    """A consumer and the executor."""
    victim = workers.pop(dice.randrange(len(workers)))
    fleet.fault("consumer killed")
    fleet.kill(victim)
    workers.append(fleet.hire(**upgrade.hiring()))
    fleet.fault("executor killed")
    fleet.kill_executor()
