"""What a consumer counts (--metrics), and what it shows of its executor: the numbers
are compared with what happened to real jobs."""

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter

import pytest
from debian import unpacked
from scraped import Numbers, ask, metrics_port, scrape, scrape_text
from servers import wait_until
from stack import Stack, call_of
from warden import Warden

FORTUNE = {"name": "fortune", "id": "c1", "index": 0, "arguments": "{}"}
USAGE = {"prompt_tokens": 7, "completion_tokens": 3}
SCRIPT = [
    {"match": "limited", "replies": [[{"status": 429}, {"text": "now", "usage": USAGE}]]},
    {"match": "refused", "replies": [{"status": 400, "error": "no"}]},
    {"match": "endless", "replies": [{"tool_calls": [call_of("1", f"c{n}")]} for n in range(9)]},
    {"match": "fortune", "replies": [{"tool_calls": [FORTUNE]}, {"text": "no such tool"}]},
    {"match": "slow", "replies": [{"text": "late", "delay_ms": 60000}]},
]
JOBS = [
    {"prompt": "hello"},
    {"prompt": "limited"},
    {"prompt": "refused"},
    {"prompt": "fortune"},
    {"prompt": "endless", "limits": {"max_turns": 2}},
    {"prompt": "hello", "model": "invented"},
    {"kind": "code", "cells": ["1 + 1", "2"]},
    {"kind": "code", "cells": ["1 / 0"]},
    {"kind": "code", "cells": ["while True: pass"], "limits": {"cell_ms": 100}},
    {"kind": "code", "cells": ["import os; os._exit(1)"]},
    # Stopped while the model is asked, as is one more, which is cancelled.
    {"prompt": "slow", "limits": {"deadline_ms": 1500}},
]
STOPPED = 2
# What comes of their cells: two of "endless" are ok as well.
CELLS = {"ok": 4, "error": 1, "timeout": 1, "crashed": 1}


@pytest.fixture
def stack():
    """With an executor of its own, which has counted nothing yet."""
    with Stack(executor=False, script=SCRIPT) as stack:
        stack.start_executor()
        yield stack


def counted(stack, **settings):
    """A consumer with --metrics, and its port. Its model has a price."""
    entry = {"url": stack.model.url, "model": "practice", "price": {"input": 1, "output": 2}}
    path = os.path.join(stack.folder, "models.json")
    with open(path, "w") as file:
        json.dump({"default": entry}, file)
    process = stack.consumer(metrics="127.0.0.1:0", models=path, **settings)
    process.port = metrics_port(process)
    return process


def positive(numbers, family):
    return {labels: value for labels, value in numbers.of(family).items() if value > 0}


def total(numbers, family):
    return sum(numbers.of(family).values())


# -------------------------------------------------------------- what happened


def run_all(stack, consumer):
    """Jobs of all outcomes, one of which is cancelled: their results."""
    jobs = [stack.submit(**job) for job in JOBS]
    jobs.append(stack.submit(prompt="slow"))
    stack.wait_event(jobs[-1], "turn.started")
    stack.call("cancel", jobs[-1])
    results = [stack.result(job) for job in jobs]
    wait_until(lambda: scrape(consumer.port)["slots", "busy"] == 0, what="free slots")
    return results


def check_jobs(numbers, results):
    ends = Counter()
    for result in results:
        ends[result["status"], "default", result.get("error", {}).get("code", "none")] += 1
    assert len(ends) >= 6, ends
    assert positive(numbers, "jobs_finished_total") == ends
    assert numbers["jobs_started_total", "default"] == len(results)
    assert numbers["job_wait_seconds_count", "default"] == len(results)
    for outcome, count in Counter(result["status"] for result in results).items():
        assert numbers["job_duration_seconds_count", outcome, "default"] == count, outcome


def check_models(numbers, results, counts):
    asked = {outcome: value for (_, outcome), value in numbers.of("model_requests_total").items()}
    assert sum(asked.values()) == counts["total"] - STOPPED
    assert asked["rate_limited"] == asked["error"] == 1 < asked["ok"], asked
    assert numbers["model_request_seconds_count", "default"] == asked["ok"]
    assert numbers["model_first_token_seconds_count", "default"] == asked["ok"]
    usage = Counter()
    for result in results[:-STOPPED]:  # results count what these may have cost
        usage.update({k: v for k, v in result.get("usage", {}).items() if isinstance(v, int)})
    for kind in ("input", "output"):
        assert numbers["model_tokens_total", "default", kind] == usage[f"{kind}_tokens"] > 0
    assert numbers["model_cost_total", "default"] == pytest.approx(usage["cost"] / 1e6)
    assert numbers["model_cost_total", "default"] > 0


def test_the_numbers_are_what_happened(stack):
    consumer = counted(stack, slots=7)
    before = time.time()
    results = run_all(stack, consumer)
    numbers = scrape(consumer.port)
    check_jobs(numbers, results)
    check_models(numbers, results, stack.model.counts())

    assert positive(numbers, "tool_calls_total") == {("refused", "other"): 1}
    assert numbers["slots", "free"] == 7
    assert before <= numbers["last_take_timestamp_seconds",] <= time.time()
    for kind in ("take", "write", "read"):
        assert numbers["redis_call_seconds_count", kind] > 0, kind
    for family in ("redis_errors_total", "leases_lost_total", "writes_fenced_total"):
        assert total(numbers, family) == 0, family
    assert numbers["log_lines_total", "info"] > len(results)
    assert [value for _, value in positive(numbers, "build_info").items()] == [1]


def test_the_executors_numbers_are_what_happened(stack):
    consumer = counted(stack, slots=7)
    run_all(stack, consumer)

    def of_cells():
        shown = positive(scrape(consumer.port), "cells_total")
        return {outcome: value for (outcome,), value in shown.items()}

    wait_until(lambda: of_cells() == CELLS, what=f"cells {CELLS}, not {of_cells()}")
    numbers = scrape(consumer.port)
    assert numbers["cell_seconds_count",] == sum(CELLS.values())
    rolled_back = positive(numbers, "rollbacks_total")
    assert rolled_back == {("crashed",): 1}  # the one that was late heeded the interrupt
    assert numbers["session_start_seconds_count", "ready"] > 0
    assert numbers["sessions", "busy"] == 0
    walls = numbers.of("wall_up")
    assert walls["seccomp",] == 1 and set(walls.values()) <= {0, 1} and len(walls) == 10


def test_a_job_lasts_from_when_it_is_due(stack):
    consumer = counted(stack)
    due_at = int(time.time() * 1000) + 1000
    job = stack.submit(prompt="hello", not_before=due_at)
    result, submitted_at = stack.result(job), int(stack.facts(job)["submitted_at"])
    wait_until(lambda: total(scrape(consumer.port), "jobs_finished_total") == 1, what="its end")
    numbers = scrape(consumer.port)
    asleep_ms = due_at - submitted_at
    waited = (result["timings"]["queued"] - asleep_ms) / 1000
    assert numbers["job_wait_seconds_sum", "default"] == pytest.approx(waited)
    lasted = (result["timings"]["total"] - asleep_ms) / 1000
    assert numbers["job_duration_seconds_sum", "completed", "default"] == pytest.approx(lasted)


def test_a_drain_hands_jobs_back_and_they_are_counted_where_they_go_on(stack):
    first = counted(stack, drain="1m")
    job = stack.submit(prompt="slow")
    stack.wait_event(job, "turn.started")
    first.signal(signal.SIGTERM)
    first.wait_for('"drain"')
    first.signal(signal.SIGTERM)  # at once
    first.wait()
    stack.model.script([{"text": "done"}])
    second = counted(stack)
    assert stack.result(job)["status"] == "completed"
    numbers = scrape(second.port)
    assert numbers["jobs_started_total", "default"] == 1
    assert positive(numbers, "jobs_finished_total") == {("completed", "default", "none"): 1}
    assert ("job_wait_seconds_count", "default") not in numbers  # it was begun before


def test_jobs_that_go_back_are_counted_by_reason(stack):
    consumer = counted(stack)
    asking = stack.submit(prompt="endless", approve=["execute_python_code"])
    running = stack.submit(kind="code", cells=["while True: pass"])
    stack.wait_event(running, "tool.started")

    def handed_back():
        return positive(scrape(consumer.port), "jobs_handed_back_total")

    wait_until(lambda: handed_back() == {("approval",): 1}, what="a job that asks")
    stack.executor.kill()
    wait_until(lambda: handed_back().get(("executor",)) == 1, what="a job without its executor")
    for job in asking, running:
        stack.call("cancel", job)
        stack.result(job)


def test_jobs_of_a_dead_consumer_are_reclaimed_and_its_late_writes_refused(stack):
    frozen = counted(stack)
    job = stack.submit(prompt="slow", limits={"deadline_ms": 600_000})
    stack.wait_event(job, "turn.started")
    frozen.signal(signal.SIGSTOP)
    other = counted(stack)
    wait_until(
        lambda: scrape(other.port)["jobs_reclaimed_total", "lapsed"] == 1,
        what="the job is taken over",
    )
    wait_until(lambda: stack.facts(job)["attempts"] == "2", what="its second attempt")
    frozen.signal(signal.SIGCONT)
    wait_until(lambda: scrape(frozen.port)["leases_lost_total",] == 1, what="its lease is lost")
    stack.call("cancel", job)
    stack.result(job)


def test_what_redis_refuses_is_counted_by_class(stack):
    consumer = counted(stack)
    job = stack.submit(kind="code", cells=["1"] * 3)
    stack.result(job)
    stack.db.config_set("maxmemory", 1)
    wait_until(lambda: scrape(consumer.port)["redis_errors_total", "oom"] > 0, what="OOM")
    stack.db.config_set("maxmemory", 0)
    stack.db.function_flush()
    wait_until(
        lambda: scrape(consumer.port)["redis_errors_total", "nofunction"] > 0, what="no function"
    )
    wait_until(stack.db.function_list, what="functions again")
    wait_until(lambda: ask(consumer.port, "/readyz")[0] == 200, what="ready again")
    assert stack.run(kind="code", cells=["1"])["status"] == "completed"
    errors = positive(scrape(consumer.port), "redis_errors_total")
    assert set(errors) == {("oom",), ("nofunction",)}, errors


# ------------------------------------------------------------- the whole of it


def test_promtool_and_a_strict_parser_take_it(stack):
    consumer = counted(stack)
    run_all(stack, consumer)
    wait_until(lambda: "quern_cells_total" in scrape_text(consumer.port), what="the executor")
    text = scrape_text(consumer.port)
    Numbers(text)  # no name twice, a help for each
    program = unpacked("prometheus") / "usr/bin/promtool"
    done = subprocess.run(
        [program, "check", "metrics"], input=text, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_jobs_and_models_invent_adds_no_series(stack):
    consumer = counted(stack)

    def names():
        """The series, without those of the executor."""
        text = scrape_text(consumer.port).split("# HELP quern_sessions ")[0]
        return set(re.findall(r"^(quern_\w+(?:\{.*\})?) ", text, re.M))

    calls = [{**FORTUNE, "id": f"c{n}", "index": n, "name": f"invented_{n}"} for n in range(50)]
    replies = [{"tool_calls": calls}, {"status": 400, "error": "invented_error_text"}]
    stack.model.script([{"match": "tools", "replies": replies}])
    assert stack.run(prompt="tools")["status"] == "failed"
    stack.run(prompt="hello", model="invented")
    before = names()

    for n in range(20):
        calls[:] = [{**call, "name": f"invented_{n}_{i}"} for i, call in enumerate(calls)]
        replies[1] = {"status": 400, "error": f"invented_error_{n}"}
        stack.model.script([{"match": "tools", "replies": replies}])
        assert stack.run(prompt="tools", tenant=f"invented_tenant_{n}")["status"] == "failed"
    jobs = [
        stack.submit(
            prompt="x",
            model=f"invented_model_{n}",
            tenant=f"invented_tenant_{n}",
            session=f"invented_session_{n}",
        )
        for n in range(1000)
    ]
    for job in jobs:
        stack.result(job)
    assert names() == before
    assert "invented" not in scrape_text(consumer.port)
    assert len(before) < 400
    calls = scrape(consumer.port)["tool_calls_total", "refused", "other"]
    assert calls == 21 * 50


# ---------------------------------------------------------------- the executor


def test_of_two_consumers_one_shows_the_executors_numbers(stack):
    first, second = counted(stack), counted(stack)

    def shows(consumer):
        return "quern_cells_total" in scrape_text(consumer.port)

    wait_until(lambda: shows(first), what="the first shows them")
    stack.run(kind="code", cells=["1"])
    assert not shows(second)
    first.signal(signal.SIGSTOP)  # one that asks no more
    wait_until(lambda: shows(second), what="the second shows them")
    first.kill()


def test_walls_that_are_missing_are_shown():
    with Stack(executor=False) as stack:
        stack.start_executor("--insecure")
        consumer = counted(stack)
        wait_until(lambda: "quern_wall_up" in scrape_text(consumer.port), what="its numbers")
        walls = scrape(consumer.port).of("wall_up")
        assert {wall for (wall,), up in walls.items() if up} <= {"seccomp", "landlock"}
        assert walls["seccomp",] == 1 and walls["box",] == 0


def test_an_executor_that_does_not_count_is_not_asked(stack):
    with Warden() as old:
        consumer = counted(stack, executor=old.path)
        old.wait_for("hello")
        stack.run(prompt="hello")
        assert "quern_cells_total" not in scrape_text(consumer.port)
        assert old.heard.count("numbers") == 0 and old.connections == 1


@pytest.mark.parametrize(
    "text",
    [
        "# HELP quern_slots Twice.\n# TYPE quern_slots gauge\nquern_slots 1\n",
        "no numbers\n",
        "# HELP quern_x X.\n# TYPE quern_x gauge\nquern_x 1",
        "x" * (65 << 10),
    ],
)
def test_an_executors_bad_numbers_are_not_shown(stack, text):
    with Warden(numbers=text) as wrong:
        consumer = counted(stack, executor=wrong.path)
        wrong.wait_for("numbers")
        consumer.wait_for('"metrics.refused"')
        Numbers(scrape_text(consumer.port))
        assert "quern_x" not in scrape_text(consumer.port)
        assert stack.run(prompt="hello")["status"] == "completed"


def test_an_executor_that_goes_takes_its_numbers_along(stack):
    consumer = counted(stack)
    wait_until(lambda: "quern_cells_total" in scrape_text(consumer.port), what="its numbers")
    stack.executor.kill()
    consumer.wait_for('"executor.lost"')
    assert "quern_cells_total" not in scrape_text(consumer.port)
    stack.start_executor()
    wait_until(lambda: "quern_cells_total" in scrape_text(consumer.port), what="its numbers")
