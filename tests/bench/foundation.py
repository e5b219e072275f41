"""Two delays that everything else stands on, against their peers.

    tests/bench/run foundation [--json]

- a new Python session: from asking for it to the result of its first cell,
  1+1, against starting a Jupyter kernel and asking it the same; the limit is a
  bare fork of an interpreter that has the same modules loaded.
- a job: from submit to its result on an idle queue, one after the other,
  against BullMQ with an empty processor. Client and worker are processes of
  their own on both sides, on the same Redis. quern's conversation row holds a
  model's answer over HTTP (the practice model), its code rows a cell that runs
  in a Python session, one that lives or one made for it: BullMQ does neither.
"""

import functools
import json
import os
import secrets
import sys
import time

from executor_client import Connection
from harness import Runner, first_line, measure, report
from peers import FORKER, SCIENCE, Lines, kernel_starts, timed
from servers import BUILD, Process, binary
from stack import Stack

# --- a new session -----------------------------------------------------------


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


# --- the whole ---------------------------------------------------------------


def versions():
    import ipykernel
    import jupyter_client

    with open(os.path.join(BUILD, "node_modules/bullmq/package.json")) as file:
        bullmq = json.load(file)["version"]
    return {
        "quern": first_line(binary("quern"), "--version").split()[-1],
        "redis": first_line("redis-server", "--version").split()[2][2:],
        "python": sys.version.split()[0],
        "ipykernel": ipykernel.__version__,
        "jupyter_client": jupyter_client.__version__,
        "bullmq": bullmq,
        "node": first_line("node", "--version"),
    }


def main(as_json):
    with Stack(redis={"aof": True, "appendfsync": "everysec"}, lease="30s") as stack:
        stack.consumer()
        env = {"REDIS_URL": stack.redis.url}
        submit, bullmq = binary("bench-submit"), f"{BUILD}/bullmq.mjs"
        with Process(["node", bullmq, "worker", stack.redis.socket]):
            drivers = {
                "conversation": Lines(submit, "conversation", **env),
                "code": Lines(submit, "code", **env),
                "warm": Lines(submit, "warm", **env),
                "bullmq": Lines("node", bullmq, "producer", stack.redis.socket),
                "fork": Lines("/usr/bin/python3", "-c", FORKER),
            }
            compare(stack.socket, drivers, as_json)
            for driver in drivers.values():
                driver.close()


def compare(socket, drivers, as_json):
    jupyter = functools.partial(kernel_starts, "1+1")
    science = functools.partial(kernel_starts, f"{SCIENCE}\n1+1")
    runners = [
        Runner("sessions", functools.partial(quern_sessions, socket, 0), 50),
        Runner("session", functools.partial(quern_sessions, socket, 0.1), 50),
        Runner("Jupyter kernel", jupyter, 5),
        Runner("Jupyter kernel, modules", science, 5),
        Runner("bare fork (limit)", drivers["fork"].run, 100),
        Runner("conversation", drivers["conversation"].run, 200),
        Runner("BullMQ", drivers["bullmq"].run, 200),
        Runner("code", drivers["code"].run, 100),
        Runner("code, warm", drivers["warm"].run, 200),
    ]
    for runner in runners:  # warm: caches, connections, compiled code
        runner.run(2)
    kernel, modules = "Jupyter kernel", "Jupyter kernel, modules"
    fork, bullmq = "bare fork (limit)", "BullMQ"
    compared = [
        ("new session, 1+1", "session", kernel),
        ("the same, modules loaded on both sides", "session", modules),
        ("the same, to the limit", "session", fork),
        ("new sessions without a pause", "sessions", kernel),
        ("submit, model's answer, result", "conversation", bullmq),
        ("submit, cell in a session that lives, result", "code, warm", bullmq),
        ("submit, new session, cell, result", "code", bullmq),
    ]
    report("foundation", compared, measure(runners), versions(), as_json)


if __name__ == "__main__":
    main("--json" in sys.argv[1:])
