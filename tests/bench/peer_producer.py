"""What the producers of the peers in Python do alike: they read "N VERB" a line
and print what came of it as JSON.

    trips  N calls of trip(), a job and its result: the milliseconds of each
    one    one(N), jobs one after the other: the seconds of all
    many   many(N), jobs in one go: the seconds of all
    weigh  the same of jobs that carry a text of 200 bytes
"""

import inspect
import json
import sys
import time

TEXT = "x" * 200


async def _done(value):
    return await value if inspect.isawaitable(value) else value


async def _trips(trip, count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        await _done(trip())
        times.append((time.perf_counter() - start) * 1e3)
    return times


async def _seconds(verb, *args):
    start = time.perf_counter()
    await _done(verb(*args))
    return time.perf_counter() - start


async def answer_lines(trip, one, many):
    verbs = {
        "trips": lambda count: _trips(trip, count),
        "one": lambda count: _seconds(one, count),
        "many": lambda count: _seconds(many, count),
        "weigh": lambda count: _seconds(many, count, TEXT),
    }
    print("ready", flush=True)
    for line in sys.stdin:
        count, verb = line.split()
        print(json.dumps(await verbs[verb](int(count))), flush=True)


def serve(trip, one, many):
    """For functions that wait by themselves."""
    try:
        answer_lines(trip, one, many).send(None)
    except StopIteration:
        pass
