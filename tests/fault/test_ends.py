"""Jobs that end together: in few steps, each once, whatever becomes of the step."""

import pytest
from fleet import SLOW_S, Fleet
from history import History
from jobs import ROOT, Made
from wire import Loss, Wire

JOBS = 200
EMPTY = {"kind": "code", "cells": [""]}


@pytest.fixture
def history(tmp_path):
    with History(tmp_path / "history") as history:
        yield history


@pytest.fixture
def fleet(history):
    with Fleet(history, lease_ms=3000, max_crashes=1000) as fleet:
        yield fleet


@pytest.fixture
def way(fleet, history):
    with Wire(fleet.redis.socket, history) as way:
        yield way


def submit(fleet, count=JOBS):
    return [fleet.client.submit_one(Made(f"t{n}", EMPTY)) for n in range(count)]


def check_all_ended_once(fleet, jobs):
    fleet.wait_for(jobs, SLOW_S)
    fleet.settle(SLOW_S)
    _, breaches = fleet.verdicts(within_ms=SLOW_S * 1000)
    assert not {name: found for name, found in breaches.items() if found}
    assert {fleet.facts(job)["state"] for job in jobs} == {"completed"}


def told(history, word=None):
    """Jobs whose end was answered so; None: taken."""
    return {
        line["job"]
        for line in history.lines()
        if line["what"] == "write"
        and line["name"] == "finish_many"
        and line.get("word") == word
    }


def test_many_that_end_together_take_few_steps(fleet, way):
    jobs = submit(fleet)
    fleet.hire(way)
    check_all_ended_once(fleet, jobs)
    assert way.counts["finish"] == 0
    assert JOBS / 512 < way.counts["finish_many"] <= JOBS / 10


@pytest.mark.parametrize("loss", Loss)
def test_a_step_that_is_lost_is_sent_again(fleet, way, history, loss):
    jobs = submit(fleet)
    way.cut_at(("finish_many", 2), loss)
    fleet.hire(way)
    check_all_ended_once(fleet, jobs)
    assert way.cut.is_set()
    assert told(history) == set(jobs)


def test_one_that_has_moved_on_meanwhile_holds_up_no_other(fleet, way, history):
    moved = []

    def on_cut():
        """Somebody else has given back one of those that were about to end."""
        running = [job for job in jobs if fleet.state(job) == "in_progress"]
        moved.append(running[len(running) // 2])
        epoch = fleet.facts(moved[0])["epoch"]
        fleet.client.call("release", moved[0], epoch, "", root=ROOT)

    jobs = submit(fleet)
    way.cut_at(("finish_many", 2), Loss.COMMAND, on_cut)
    worker = fleet.hire(way)
    worker.wait_for('"stale"', SLOW_S)
    check_all_ended_once(fleet, jobs)
    assert set(moved) <= told(history, "STALE")
    assert told(history) == set(jobs)
