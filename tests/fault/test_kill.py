"""kill -9, at every step: nothing is lost, nothing is done twice."""

import random
import time

import pytest
from servers import wait_until
from stack import Stack, call_of

# Says how often it has run in this session.
COUNT = "open('log', 'a').write('x'); len(open('log').read())"
SLOW_COUNT = (
    "open('log', 'a').write('x')\nprint('on')\n"
    "import time; time.sleep(5)\nlen(open('log').read())"
)


@pytest.fixture
def stack():
    with Stack(lease="600ms", redis={"aof": True}) as stack:
        yield stack


def fetch(stack, job, type, count=1):
    wait_until(lambda: stack.types(job).count(type) >= count, what=f"{count} {type}")


def script(stack, code=SLOW_COUNT, last=({"text": "It is 1."},)):
    """Two turns around a cell; last: what is said each time of the second."""
    first = {"text": "Let me see.", "tool_calls": [call_of(code)]}
    stack.model.script([first, list(last)])


def standing(events):
    """What a client is left with that obeys the contract: a second turn.started
    of a turn, or tool.started of a call, makes the events of the first void."""
    stand = []
    for event in events:
        type, data = event["type"], event["data"]
        if type == "turn.started":
            stand = [e for e in stand if e["data"].get("turn") != data["turn"]]
        elif type == "tool.started":
            stand = [e for e in stand if e["data"].get("call") != data["call"]]
        stand.append(event)
    return stand


def check_standing(events, result):
    """Each step once, and all of it: nothing is told twice, nothing lost."""

    def of(type):
        return [e["data"] for e in standing(events) if e["type"] == type]

    def texts(type):
        return "".join(data["text"] for data in of(type))

    assert [data["turn"] for data in of("turn.started")] == [1, 2]
    said = [data["text"] for data in of("message.completed")]
    assert said[-1] == result["answer"] and len(said) == 2
    assert texts("message.delta") == "".join(said)
    [started], [completed] = of("tool.started"), of("tool.completed")
    assert started["call"] == completed["call"]
    assert texts("tool.output") == result["cells"][0].get("stdout", "")


# When a consumer dies between the intent and the call, nobody knows whether the
# first cell has run.
GONE = "the session was gone; this cell may have run before"


def check(stack, job, repeated=0):
    result = stack.result(job)
    assert result["status"] == "completed", result
    assert result["answer"] == "It is 1."
    [cell] = result["cells"]
    assert cell["result"] == "1", "the cell has run once"
    assert cell["state"] == "kept" or cell["reason"] == GONE
    assert result["usage"].get("repeated_calls", 0) == repeated
    counts = stack.model.counts()
    assert counts["different"] == 2, "the second consumer asks the same"
    assert counts["total"] == 2 + repeated
    assert [m["role"] for m in result["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    check_standing(stack.check_events(job), result)
    assert stack.is_quiet()
    return result


def test_while_the_model_thinks(stack):
    stack.model.script(
        [
            [
                {"delay_ms": 60000},
                {"text": "Let me see.", "tool_calls": [call_of(COUNT)]},
            ],
            {"text": "It is 1."},
        ]
    )
    consumer = stack.consumer()
    job = stack.submit(prompt="go")
    wait_until(lambda: stack.model.counts()["total"] == 1, what="it is asked")
    consumer.kill()
    stack.consumer()
    check(stack, job, repeated=1)


def test_while_the_cell_runs(stack):
    script(stack)
    consumer = stack.consumer()
    job = stack.submit(prompt="go")
    fetch(stack, job, "tool.started")
    time.sleep(0.2)
    consumer.kill()
    stack.consumer()
    result = check(stack, job)
    assert result["attempts"] == 2


def test_when_the_cell_has_run_and_nobody_knows(stack):
    script(stack)
    consumer = stack.consumer()
    job = stack.submit(prompt="go")
    fetch(stack, job, "tool.output")  # started is said before it is sent
    consumer.kill()
    stack.executor.wait_for('"job-' + job)  # the cell is done
    time.sleep(6)
    stack.consumer()
    check(stack, job)


def test_while_the_model_reads_the_result(stack):
    script(stack, COUNT, [{"delay_ms": 60000}, {"text": "It is 1."}])
    consumer = stack.consumer()
    job = stack.submit(prompt="go")
    fetch(stack, job, "turn.started", 2)
    wait_until(lambda: stack.model.counts()["total"] == 2, what="it is asked")
    consumer.kill()
    stack.consumer()
    check(stack, job, repeated=1)


def test_again_and_again(stack):
    """Random moments, several consumers and jobs; the cells count themselves."""
    stack.model.script(
        [
            {"tool_calls": [call_of(COUNT)], "delay_ms": 100},
            {"tool_calls": [call_of(COUNT)], "delay_ms": 100},
            {"text": "done", "delay_ms": 100},
        ]
    )
    dice = random.Random(7)
    consumers = [stack.consumer(max_crashes=100) for _ in range(2)]
    jobs = [stack.submit(prompt=f"job {n}") for n in range(40)]
    for _ in range(12):
        time.sleep(dice.random() * 0.4)
        consumers.pop(dice.randrange(2)).kill()
        consumers.append(stack.consumer(max_crashes=100))
    repeated = 0
    for job in jobs:
        result = stack.result(job)
        assert result["status"] == "completed", result
        assert [c["result"] for c in result["cells"]] == ["1", "2"], job
        first, second = result["cells"]
        assert first["state"] == "kept" or first["reason"] == GONE
        assert second["state"] == "kept"
        repeated += result["usage"].get("repeated_calls", 0)
        stack.check_events(job)
    counts = stack.model.counts()
    assert counts["different"] == 3 * len(jobs)
    assert counts["total"] <= counts["different"] + repeated
    assert stack.is_quiet()


CELLS = ["x = 41\nprint('unseen')", "import time; time.sleep(5)\nx + 1"]


def test_the_executor_in_a_cell(stack):
    stack.consumer(lease="5s")
    file = stack.file("a.csv", b"a,b\n")
    cells = [CELLS[0], CELLS[1] + ", open('a.csv').read()"]
    job = stack.submit(kind="code", cells=cells, files=[file])
    fetch(stack, job, "tool.started", 2)
    time.sleep(0.3)
    stack.executor.kill()
    stack.start_executor()
    result = stack.result(job)
    assert result["status"] == "completed", result
    first, second = result["cells"]
    assert second["result"] == "(42, 'a,b\\n')" and second["state"] == "restored"
    assert "1 earlier cell was run again" in second["reason"]
    assert "this cell may have run before" in second["reason"]
    assert "stdout" not in second, "what earlier cells print is not shown again"
    assert first["stdout"] == "unseen\n"
    stack.check_events(job)


@pytest.mark.parametrize("away_time", ["60s", "200ms"], ids=["waits", "hands back"])
def test_the_executor_twice_in_the_same_cell(stack, away_time):
    """Also where the job goes back to its queue while the executor is away."""
    stack.consumer(lease="5s", away_time=away_time)
    job = stack.submit(kind="code", cells=["import time; print('on'); time.sleep(60)"])
    for count in (1, 2):
        fetch(stack, job, "tool.output", count)
        stack.executor.kill()
        if away_time == "200ms":
            time.sleep(1)
        stack.start_executor()
    result = stack.result(job)
    assert result["status"] == "failed" and result["error"]["code"] == "cell_failed"
    [cell] = result["cells"]
    assert cell["status"] == "unknown" and cell["state"] == "lost"
    assert "twice" in cell["reason"]


def test_the_executor_between_cells(stack):
    stack.model.script(
        [
            {"tool_calls": [call_of("x = 41")]},
            {"tool_calls": [call_of("x + 1")], "delay_ms": 10000},
            {"text": "done"},
        ]
    )
    stack.consumer(lease="5s")
    job = stack.submit(prompt="go")
    fetch(stack, job, "tool.completed")
    stack.executor.kill()
    stack.start_executor()
    result = stack.result(job)
    second = result["cells"][1]
    assert second["result"] == "42" and second["state"] == "restored"
    assert "may have run before" not in second["reason"]
    told = stack.model.request()["messages"][-1]["content"]
    assert "restored" in told and "42" in told


STUCK = "open('left.txt', 'a').write('1')\nx = 99\nsum(range(10**12))"


def test_a_killed_cell_does_not_run_again(stack):
    """Its variables are gone, its files are kept; until the executor is lost."""
    look = "x, __import__('os').path.exists('left.txt')"
    stack.model.script(
        [
            {"tool_calls": [call_of("x = 41")]},
            {"tool_calls": [call_of(STUCK)]},
            {"tool_calls": [call_of(look)]},
            {"tool_calls": [call_of(look)], "delay_ms": 5000},
            {"text": "done"},
        ]
    )
    stack.consumer(lease="5s")
    job = stack.submit(prompt="go", limits={"cell_ms": 5000})
    fetch(stack, job, "tool.completed", 3)
    stack.executor.kill()
    stack.start_executor()
    result = stack.result(job)
    assert result["status"] == "completed", result
    first, stuck, after, restored = result["cells"]
    assert (stuck["status"], stuck["state"]) == ("timeout", "rolled_back")
    assert stuck["line"] == 3 and stuck["reason"]
    assert [file["name"] for file in stuck["files"]] == ["left.txt"]
    assert (after["state"], after["result"]) == ("kept", "(41, True)")
    assert (restored["state"], restored["result"]) == ("restored", "(41, False)")
    assert "killed cells" in restored["reason"]
    told = [m["content"] for m in result["messages"] if m["role"] == "tool"]
    assert "line 3" in told[1] and "as they were before" in told[1]


def test_consumer_and_executor_in_a_cell(stack):
    consumer = stack.consumer()
    job = stack.submit(kind="code", cells=CELLS)
    fetch(stack, job, "tool.started", 2)
    consumer.kill()
    stack.executor.kill()
    stack.start_executor()
    stack.consumer()
    result = stack.result(job)
    assert result["status"] == "completed", result
    assert result["cells"][1]["result"] == "42"
    assert result["cells"][1]["state"] == "restored"


def test_consumer_and_executor_in_the_first_cell(stack):
    """No earlier cell tells that the session is a fresh one."""
    script(stack)
    consumer = stack.consumer()
    job = stack.submit(prompt="go")
    fetch(stack, job, "tool.output")
    consumer.kill()
    stack.executor.kill()
    stack.start_executor()
    stack.consumer()
    result = stack.result(job)
    assert result["status"] == "completed", result
    [cell] = result["cells"]
    assert (cell["result"], cell["state"]) == ("1", "restored")
    assert cell["reason"] == GONE
    [told] = [m["content"] for m in result["messages"] if m["role"] == "tool"]
    assert f"The session was restored: {cell['reason']}." in told
    check_standing(stack.check_events(job), result)


def test_an_executor_that_comes_late(stack):
    stack.executor.kill()
    stack.consumer()
    job = stack.submit(kind="code", cells=["6 * 7"])
    time.sleep(1)
    assert stack.state(job) == "queued"
    stack.start_executor()
    result = stack.result(job)
    assert result["answer"] == "42" and result["cells"][0]["state"] == "kept"


def test_an_executor_that_never_comes(stack):
    stack.executor.kill()
    consumer = stack.consumer(away_time="300ms", max_attempts=2)
    job = stack.submit(kind="code", cells=["6 * 7"], limits={"deadline_ms": 4000})
    result = stack.result(job)
    assert result["status"] == "failed"
    assert result["error"]["code"] == "deadline_exceeded"
    assert '"claim.held"' in consumer.text() and "attempts" not in stack.facts(job)


def test_redis_while_a_cell_runs(stack):
    consumer = stack.consumer(lease="10s")
    job = stack.submit(
        kind="code",
        cells=[
            "import time\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
            "print('before')\ntime.sleep(1.5)\nprint('after')\nplt.show()\n7"
        ],
    )
    stack.wait_event(job, "tool.output")
    stack.redis.kill()
    time.sleep(2)
    stack.redis.start()
    result = stack.result(job)
    assert result["status"] == "completed" and result["attempts"] == 1
    [cell] = result["cells"]
    assert cell["stdout"] == "before\nafter\n" and cell["result"] == "7"
    assert len(stack.bytes_of(result["images"][0])) > 1000
    assert consumer.alive()
    stack.check_events(job)


def test_redis_is_full_for_a_while(stack):
    """Blobs are refused, leases are kept, nothing is given up."""
    consumer = stack.consumer(lease="5s")
    job = stack.submit(
        kind="code",
        cells=["import time; time.sleep(5)\nopen('out', 'w').write('x' * 1000)"],
    )
    stack.wait_event(job, "tool.started")
    stack.db.config_set("maxmemory", "1")
    consumer.wait_for('"redis.not_now"')
    time.sleep(11)  # two leases
    assert stack.state(job) == "in_progress"
    stack.db.config_set("maxmemory", "0")
    result = stack.result(job)
    assert result["status"] == "completed" and result["attempts"] == 1
    assert stack.bytes_of(result["files"][0]) == b"x" * 1000
    stack.check_events(job)
