"""SIGTERM in the middle of load, without patience: every job is handed back at
once, no attempt is charged, and another consumer goes on with it.

Leases last far longer than the test: nobody but who has them can give them back.
How long it took is told, by Redis's clock.
"""

import signal

import pytest
from held_redis import HeldRedis
from servers import RedisServer, wait_until
from stack import Stack

SLOW = {"delay_ms": 60000, "text": "too late"}
SCRIPT = [
    {"match": "slowly", "replies": [[SLOW, {"text": "done"}]]},
    {"match": "busy", "replies": [[{"status": 503}, {"text": "done"}]]},
]
CELL = "print('begun', flush=True)\nimport time\ntime.sleep(3)\n'done'"
EACH = 12  # jobs of each kind
WAITING = 40  # behind them, for the slots that are left
PATIENCE_S = 90


@pytest.fixture
def stack():
    given = {"lease": "2m", "drain": 0, "hold": "2m"}
    with Stack(script=SCRIPT, **given) as stack:
        yield stack


def submit_all(stack):
    """Conversations, cells, back-offs, those that wait for the turn of a session,
    and what has no slot yet."""
    jobs = {
        "conversation": [stack.submit(prompt=f"slowly {n}") for n in range(EACH)],
        "cell": [stack.submit(kind="code", cells=[CELL]) for _ in range(EACH)],
        "back-off": [
            stack.submit(prompt=f"busy {n}", retry={"backoff_ms": 60000})
            for n in range(EACH)
        ],
        "turn": [],
    }
    for _ in range(EACH // 2):
        id = stack.submit(kind="code", session="s", cells=[CELL])
        jobs["turn"].append(id)
    return jobs


def begun(stack, jobs):
    """All of them are in the middle of what they do."""
    last = {
        "conversation": "turn.started",
        "cell": "tool.output",
        "back-off": "job.retrying",
    }
    kinds = ((type, job) for kind, type in last.items() for job in jobs[kind])
    return (
        all(type in stack.types(job) for type, job in kinds)
        and stack.state(jobs["turn"][0]) == "in_progress"
        and stack.model.counts()["open"] >= EACH  # their requests have arrived
    )


def now_ms(stack):
    seconds, micros = stack.db.time()
    return seconds * 1000 + micros // 1000


def test_what_runs_is_handed_back_at_once(stack, capsys):
    leaver = stack.consumer(name="leaver", slots=4 * EACH + 8)
    jobs = submit_all(stack)
    wait_until(lambda: begun(stack, jobs), PATIENCE_S, "all of it runs")
    other = stack.consumer(name="other", slots=8 * EACH + WAITING, drain="25s")
    # Some of these are on their way to either of them.
    jobs["on its way"] = [
        stack.submit(kind="code", cells=[str(n)]) for n in range(WAITING)
    ]
    signalled = now_ms(stack)
    leaver.signal(signal.SIGTERM)
    assert leaver.wait(PATIENCE_S) == 0
    gone_ms = now_ms(stack) - signalled
    released, taken_up = [], []
    for kind, ids in jobs.items():
        for job in ids:
            result = stack.result(job, PATIENCE_S)
            assert result["status"] == "completed", (kind, result)
            assert result["attempts"] == 1, (kind, "nobody is charged")
            if kind == "back-off":
                assert "repeated_calls" not in result["usage"], "it was refused"
            facts = stack.facts(job)
            assert "crashes" not in facts, (kind, facts)
            at = holder = None
            for event in stack.check_events(job):
                if event["type"] == "job.started":
                    if holder == "released":
                        taken_up.append(event["at"] - at)
                    holder = event["data"]["consumer"]
                elif event["data"].get("reason") == "released":
                    assert holder == "leaver", (kind, holder)
                    at, holder = event["at"], "released"
                    released.append(at - signalled)
            assert holder in ("other", "leaver") and holder != "released"
    held = sum(len(jobs[kind]) for kind in ("conversation", "cell", "back-off"))
    assert len(released) >= held, "all that ran went back"
    with capsys.disabled():
        print(
            f"\nSIGTERM: {len(released)} jobs handed back within {max(released)} ms,"
            f" taken up by another within {max(taken_up)} ms, gone in {gone_ms} ms"
        )
    assert other.alive()


def is_read(stack):
    """By a consumer that may not know it yet."""
    streams = stack.db.keys("quern:{000}:work:*")
    groups = (group for key in streams for group in stack.db.xinfo_groups(key))
    return any(group["pending"] for group in groups)


def test_an_entry_on_its_way_is_waited_for():
    """Nothing runs, and still it may not leave: Redis has given it a job."""
    with RedisServer() as server, HeldRedis(server.socket) as way, Stack(
        server=server, lease="2m"
    ) as stack:
        leaver = stack.consumer(name="leaver", redis_url=way.url)
        way.hold(b"XREADGROUP")
        assert way.held.wait(PATIENCE_S)
        job = stack.submit(kind="code", cells=["1"])
        wait_until(lambda: is_read(stack), PATIENCE_S, "the entry is on its way")
        leaver.signal(signal.SIGTERM)
        leaver.wait_for('"drain"')
        stack.consumer(name="other")
        way.let_go()
        assert leaver.wait(PATIENCE_S) == 0
        result = stack.result(job, PATIENCE_S)
        assert result["status"] == "completed" and result["attempts"] == 1, result
        holders = [e["data"].get("consumer") for e in stack.check_events(job)]
        assert [name for name in holders if name] == ["leaver", "other"]
