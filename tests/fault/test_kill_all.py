"""Everything dies at random moments; every job comes to one true end."""

import random
import time

from stack import Stack, call_of

JOBS = 40
KILLS = 10

ADD = "total = globals().get('total', 0) + 1\nprint('step', total)\ntotal"


def test_every_job_ends_once_and_right():
    dice = random.Random(11)
    turns = [{"tool_calls": [call_of(ADD)], "delay_ms": 60} for _ in range(3)]
    with Stack(
        lease="800ms", max_crashes=100, away_time="30s", redis={"aof": True}
    ) as stack:
        stack.model.script([*turns, {"text": "done"}])
        alive = [stack.consumer(), stack.consumer()]
        jobs = [stack.submit(prompt=f"job {n}") for n in range(JOBS)]
        for _ in range(KILLS):
            time.sleep(dice.random() * 0.6)
            victim = dice.choice(["consumer", "executor", "redis"])
            if victim == "consumer":
                alive.pop(dice.randrange(2)).kill()
                alive.append(stack.consumer())
            elif victim == "executor":
                stack.executor.kill()
                stack.start_executor()
            else:
                stack.redis.restart()
        unknown = 0
        for job in jobs:
            result = stack.result(job, 90)
            assert result["status"] == "completed", result
            unknown += check_cells(result)
            stack.check_events(job)
        assert unknown < JOBS, "a cell is rarely hit twice"
        repeated = sum(
            stack.result(job)["usage"].get("repeated_calls", 0) for job in jobs
        )
        counts = stack.model.counts()
        assert counts["total"] <= 4 * JOBS + repeated, "no reply is asked for twice"
        assert stack.is_quiet()


def check_cells(result):
    """Either the total is right, or the cell says that the state was lost."""
    total = 0
    lost = 0
    for cell in result["cells"]:
        if cell["status"] == "unknown":
            assert cell["state"] == "lost" and cell["reason"]
            total = 0
            lost += 1
            continue
        assert cell["status"] == "ok", cell
        total = 1 if cell["state"] == "lost" else total + 1
        assert cell["result"] == str(total), result["cells"]
        assert cell["stdout"] == f"step {total}\n", "earlier cells are not shown"
    assert len(result["cells"]) == 3
    return lost
