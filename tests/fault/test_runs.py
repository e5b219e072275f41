"""A short form of each fault run; tests/fault/run has the long ones."""

from types import SimpleNamespace

import pytest
import r1
import r2
import r3
import r4
import r5
import subscribers
from history import History

# A slow machine is not a broken one: how soon is asked of the long runs.
NORMAL = {
    "jobs": 0,
    "seed": 1,
    "redis": "single",
    "upgrade": None,
    "fsync": "everysec",
    "faults": None,
    "within_s": 60,
    "period_s": 1,
}
RUNS = [
    # With everysec a write may be put off while the disk is busy: a kill loses it.
    ("everything is killed", r1, {"jobs": 400, "fsync": "always"}),
    ("cut between two commands", r2, {"jobs": 24}),
    ("killed in a conversation", r3, {"jobs": 12}),
    ("stopped, and going on", r4, {"jobs": 32}),
    ("flushed", r5, {"faults": ["FLUSHALL", "FUNCTION FLUSH"]}),
    ("without groups", r5, {"faults": ["XGROUP DESTROY"]}),
    ("no writes", r5, {"faults": ["READONLY", "OOM", "MISCONF"]}),
    (
        "cut off",
        r5,
        {"faults": ["CLIENT KILL", "stopped", "killed"], "fsync": "always"},
    ),
    ("followed badly", subscribers, {"jobs": 100}),
    ("a cluster", r5, {"redis": "cluster"}),
    ("sentinels", r5, {"redis": "sentinel"}),
]


@pytest.mark.parametrize("name, run, asked", RUNS, ids=[name for name, *_ in RUNS])
def test_run(name, run, asked, tmp_path):
    with History(tmp_path / "history") as history:
        told, breaches = run.run(SimpleNamespace(**NORMAL | asked), history, print)
    assert not any(breaches.values()), breaches
    assert told["jobs"] > 0 and told["lost"] == told["second_terminals"] == 0
    assert sum(told["faults"].values()) > 0
