"""Who has lost its job while it waited for something lets go of it."""

import signal

from fleet import SLOW_S, Fleet
from history import History
from jobs import Made
from servers import wait_until
from wire import Wire

SESSION = {"kind": "code", "session": "s", "limits": {"cell_ms": 60000}}


def owner(fleet, job):
    return fleet.facts(job).get("owner")


def knows(process, job):
    lines = [line for line in process.text().splitlines() if job in line]
    return any('"job.lost"' in line or '"stale"' in line for line in lines)


def test_who_waits_for_its_turn_and_loses_the_job_writes_no_end(tmp_path):
    with (
        History(tmp_path / "history") as history,
        Fleet(history, max_crashes=1000) as fleet,
        Wire(fleet.redis.socket, history) as way,
    ):
        submit = fleet.client.submit_one
        busy = fleet.hire(slots=1)
        first = submit(
            Made("a", {**SESSION, "cells": ["while True: pass"]}, session="s")
        )
        wait_until(lambda: owner(fleet, first) == busy.name, SLOW_S, "it runs")
        zombie = fleet.hire(way)
        # Redis is not told of the session: it holds a slot while it waits.
        untold = {"session": None}
        second = submit(
            Made("b", {**SESSION, "cells": ["1"]}, session="s", pairs=untold)
        )
        wait_until(lambda: way.counts["session_claim"] > 0, SLOW_S, "it waits")
        zombie.signal(signal.SIGSTOP)
        other = fleet.hire()
        wait_until(lambda: owner(fleet, second) == other.name, SLOW_S, "it is lost")
        zombie.signal(signal.SIGCONT)
        # By a write that is refused, or by its beat: who answers first.
        wait_until(lambda: knows(zombie, second), SLOW_S, "it knows")
        for job in (second, first):
            fleet.client.cancel(job)
        fleet.wait_for([first, second], SLOW_S)
        zombie.stop()
        writes = [line for line in history.lines() if line["what"] == "write"]
        ends = {line["name"] for line in writes} & {"finish", "finish_many"}
        assert not ends, "not even tried"
