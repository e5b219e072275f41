"""Two delays that everything else stands on, against their peers.

- a new Python session: from asking for it to the result of its first cell,
  1+1, against starting a Jupyter kernel and asking it the same; the limit is a
  bare fork of an interpreter that has the same modules loaded.
- a job: from submit to its result on an idle queue, one after the other,
  against BullMQ with an empty processor. Client and worker are processes of
  their own on both sides, on the same Redis. quern's conversation row holds a
  model's answer over HTTP (the practice model), its code rows a cell that runs
  in a Python session, one that lives or one made for it: BullMQ does neither.
"""

import contextlib
import functools
import platform
import secrets
import sys
import time

from executor_client import Connection
from harness import alternate, delay_rows, first_line, redis_version, timed_turn
from peers import (
    BULLMQ,
    FORKER,
    SCIENCE,
    Lines,
    bullmq_version,
    jupyter_versions,
    kernel_starts,
    timed,
)
from servers import Process


def quern_sessions(socket, pause_s, count):
    """Over one connection; every session is a new one. The executor keeps a few
    boxes ready: with a pause there is one, without they are soon used up."""
    times = []
    connection = Connection(socket)
    for _ in range(count):

        def first_cell():
            nonlocal session
            session = connection.open(f"bench-{secrets.token_hex(8)}")
            done = session.run("1+1")
            assert session.fresh and done.result == "2", done

        session = None
        time.sleep(pause_s)
        times.append(timed(first_cell))
        session.close()
    connection.close()
    return times


def quern_turns(build, stack, kept):
    def submit(job):
        env = {"REDIS_URL": stack.redis.url}
        return kept.enter_context(Lines(build.binary("bench-submit"), job, **env)).run

    sessions = functools.partial(quern_sessions, stack.socket)
    ways = (
        ("session", functools.partial(sessions, 0.1), 50),
        ("sessions", functools.partial(sessions, 0), 50),
        ("conversation", submit("conversation"), 200),
        ("warm", submit("warm"), 200),
        ("code", submit("code"), 100),
    )
    return [timed_turn(build.column, *way) for way in ways]


def peers_turns(redis, kept):
    science = functools.partial(kernel_starts, f"{SCIENCE}\n1+1")
    jupyter = functools.partial(kernel_starts, "1+1")
    fork = kept.enter_context(Lines("/usr/bin/python3", "-c", FORKER))
    yield timed_turn("bare fork (limit)", "start", fork.run, 100)
    # Five a round: its p99 is its slowest start.
    yield timed_turn("Jupyter kernel", "start", jupyter, 5)
    yield timed_turn("Jupyter, modules", "start", science, 5)
    if bullmq_version() is None:
        print("left out, not installed: BullMQ", file=sys.stderr)
        return
    kept.enter_context(Process(["node", BULLMQ, "worker", redis.socket]))
    producer = kept.enter_context(Lines("node", BULLMQ, "producer", redis.socket))
    yield timed_turn("BullMQ", "trip", producer.run, 200)


def measure(run):
    settings = {"redis": {"aof": True, "appendfsync": "everysec"}, "lease": "30s"}
    with contextlib.ExitStack() as kept:
        turns = []
        for build in run.builds:
            stack = kept.enter_context(build.stack(**settings))
            build.consumer(stack)
            turns.append(quern_turns(build, stack, kept))
        turns = alternate(turns)
        if run.peers:
            turns += peers_turns(stack.redis, kept)
        run.take_turns(turns)


def rows(_):
    return [
        *delay_rows("new session, 1+1", "session", "start"),
        *delay_rows("new sessions without a pause", "sessions", "start"),
        *delay_rows("submit, model's answer, result", "conversation", "trip"),
        *delay_rows("submit, cell in a session that lives, result", "warm", "trip"),
        *delay_rows("submit, new session, cell, result", "code", "trip"),
    ]


def bars(_):
    return []


def versions(run):
    of = {"redis": redis_version(), "python": platform.python_version()}
    if run.peers:
        of.update(jupyter_versions())
    if run.peers and bullmq_version() is not None:
        of.update(bullmq=bullmq_version(), node=first_line("node", "--version"))
    return of
