"""A host whose executor is away takes no jobs, and hands back those it has."""

import json
import os
import signal
import time

import pytest
from executor_client import Executor
from held_redis import HeldRedis
from servers import PATIENCE_S, binary, wait_until
from stack import ROOT, Stack, call_of

SLOW = "import time; time.sleep({}); 6 * 7"


@pytest.fixture
def stack():
    with Stack(executor=False, lease="3s", away_time="1s") as stack:
        yield stack


def submit_many(stack, count, code="6 * 7"):
    return [stack.submit(kind="code", cells=[code]) for _ in range(count)]


def charged(stack, job):
    return int(stack.db.hget(f"{ROOT}job:{job}", "attempts"))


def check_all(stack, jobs):
    for job in jobs:
        result = stack.result(job)
        assert result["status"] == "completed", result
        assert result["attempts"] == 1 and charged(stack, job) == 1, result


def starters(stack, job):
    return [
        e["data"]["consumer"]
        for e in stack.events(job)
        if e["type"] == "job.started"
    ]


def test_the_host_that_has_one_does_all(stack, executor):
    """Before: the other went on claiming, and its jobs failed."""
    stack.consumer(name="without", executor=stack.folder + "/none.sock")
    stack.consumer(name="with", executor=executor.path)
    jobs = submit_many(stack, 12)
    check_all(stack, jobs)
    assert {name for job in jobs for name in starters(stack, job)} == {"with"}


def test_it_goes_away_in_the_middle_of_jobs(stack, executor):
    with Executor("--profile", "bare") as other:
        stack.consumer(name="a", executor=other.path, slots=4)
        first = submit_many(stack, 4, SLOW.format(4))
        wait_until(lambda: all(stack.state(job) == "in_progress" for job in first))
        b = stack.consumer(name="b", executor=executor.path)
        time.sleep(0.5)
        other.process.kill()
        check_all(stack, first + submit_many(stack, 8))
        assert starters(stack, first[0]) == ["a", "b"]
        assert b.alive()


def test_it_comes_back(stack):
    consumer = stack.consumer(executor=stack.folder + "/run/executor.sock")
    job = stack.submit(kind="code", cells=["6 * 7"])
    time.sleep(1.5)
    assert stack.state(job) == "queued"
    stack.start_executor()
    begun = time.monotonic()
    wait_until(lambda: stack.state(job) != "queued", what="a job that starts")
    assert time.monotonic() - begun < 1
    check_all(stack, [job])
    stack.executor.kill()
    wait_until(lambda: consumer.text().count("claim.held") > 1)
    job = stack.submit(kind="code", cells=["6 * 7"])
    time.sleep(1.5)
    assert stack.state(job) == "queued"
    stack.start_executor()
    check_all(stack, [job])


def test_a_drain_ends_without_it(stack):
    consumer = stack.consumer(executor=stack.folder + "/none.sock")
    consumer.signal(signal.SIGTERM)
    assert consumer.wait() == 0


def reported(stack, name):
    hash = stack.db.hgetall(f"{ROOT}worker:{name}")
    return {k.decode(): v.decode() for k, v in hash.items()}


def test_what_is_wrong_is_told_apart(stack):
    """Absent, refused, not permitted: each asks for another remedy."""
    stack.consumer(name="absent", executor=stack.folder + "/none.sock")
    socket = stack.folder + "/dead.sock"
    with Executor("--profile", "bare") as gone:
        gone.process.kill()
        os.path.exists(gone.path) and os.rename(gone.path, socket)
        stack.consumer(name="refused", executor=socket)

    def word(name, wish):
        return wait_until(
            lambda: reported(stack, name).get("executor_away") == wish
            and reported(stack, name)
        )

    absent = word("absent", "absent")
    assert absent["executor"] == stack.folder + "/none.sock"
    assert abs(int(absent["executor_away_since"]) / 1000 - time.time()) < 30
    assert "no such socket" in absent["executor_reason"]
    assert "nobody listens" in word("refused", "refused")["executor_reason"]


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder away")
def test_not_permitted(stack, executor):
    folder, program = stack.folder + "/closed", stack.folder + "/program"
    os.mkdir(folder, 0o700)
    os.chown(folder, 61184, 61184)
    with open(program, "w") as script:
        script.write(
            "#!/bin/sh\nexec setpriv --bounding-set=-dac_override,-dac_read_search "
            + f"{binary('quern-consumer')}\n"
        )
    os.chmod(program, 0o755)
    stack.consumer(name="barred", program=program, executor=folder + "/s")
    told = wait_until(
        lambda: reported(stack, "barred").get("executor_away") == "not permitted"
        and reported(stack, "barred")
    )
    assert "may not open the socket" in told["executor_reason"]


# -- jobs whose cells have all run


def all_but_its_end(stack, executor, **job):
    """A job whose consumer has died when all was done but to write the result."""
    with HeldRedis(stack.redis.socket) as way:
        first = stack.consumer(redis_url=way.url, executor=executor.path, lease="1s")
        way.lose(b"quern_v1_finish", for_good=True)
        job = stack.submit(**(job or {"kind": "code", "cells": ["6 * 7"]}))
        assert way.lost.wait(PATIENCE_S), "its end is to be written"
        first.kill()
    return job


def is_done(stack, job):
    result = stack.result(job)
    assert result["status"] == "completed", result
    assert [cell["result"] for cell in result["cells"]] == ["42"]


def test_a_job_whose_cells_have_run_needs_no_executor(stack, executor):
    job = all_but_its_end(stack, executor)
    stack.consumer(executor="none")
    is_done(stack, job)


def test_a_conversation_that_has_ended_needs_no_executor(stack, executor):
    """Though its session cannot be saved, which the result says."""
    python = "execute_python_code"
    stack.model.script([{"tool_calls": [call_of("6 * 7")]}, {"text": "It is 42."}])
    job = all_but_its_end(
        stack, executor, prompt="6 * 7?", tools=[python], session="lab"
    )
    stack.consumer(executor="none")
    result = stack.result(job)
    assert (result["status"], result["answer"]) == ("completed", "It is 42."), result
    assert "The session was not saved" in result["notes"]


def test_a_job_whose_cells_have_run_goes_on_when_the_executor_goes(stack, executor):
    """It goes away while the take that brings the job is on its way."""
    job = all_but_its_end(stack, executor)
    stack.consumer(name="upkeep", executor=stack.folder + "/none.sock", lease="1s")
    wait_until(lambda: stack.state(job) == "queued", what="its lease is over")
    with Executor() as other, HeldRedis(stack.redis.socket) as way:
        way.hold(b"quern_v1_take")
        b = stack.consumer(name="b", redis_url=way.url, executor=other.path)
        assert way.held.wait(PATIENCE_S), "it takes the job"
        other.process.kill()
        assert b.wait_for('"claim.held"')
        way.let_go()
        is_done(stack, job)
        assert starters(stack, job)[-1] == "b"


# -- consumers that are meant to have none


def test_code_that_has_nothing_to_run_needs_no_executor(stack):
    stack.consumer(executor="none")
    done = stack.run(kind="code", cells=[""])
    assert done["status"] == "completed", done


def test_none_is_a_setting(stack):
    stack.consumer(executor="none")
    answer = stack.run(prompt="hello")
    assert answer["status"] == "completed"
    assert "ython" not in json.dumps(stack.model.request())
    for job in (
        {"kind": "code", "cells": ["1"]},
        {"prompt": "hello", "mode": "codeact"},
        {"prompt": "x", "tools": ["execute_python_code"]},
    ):
        result = stack.run(**job)
        assert result["error"]["code"] == "executor_unavailable", result
        assert "QUERN_EXECUTOR is none" in result["error"]["message"]
        assert result["attempts"] == 1


CHINESE = "\u4f60\u597d"
OWN = "Say please."


@pytest.mark.parametrize("prompt, said", [("hello", "in the language"), (CHINESE, "Markdown")])
def test_instructions_speak_of_python_where_it_is_offered(stack, prompt, said):
    def told():
        return stack.model.request()["messages"][0]["content"]

    stack.consumer(executor="none")
    stack.run(prompt=prompt)
    assert said in told() and "ython" not in told()


def test_who_names_tools_without_python_is_not_told_of_it(stack, executor):
    tool = "calculate_math_expression"
    stack.consumer(executor=executor.path, tools_builtin=tool)
    stack.run(prompt="hello", tools=[tool])
    assert "ython" not in json.dumps(stack.model.request())
    stack.run(prompt="hello")
    assert "ython" in stack.model.request()["messages"][0]["content"]


def test_instructions_of_an_operator_hold_without_python_too(stack, tmp_path):
    (tmp_path / "tools.en.md").write_text(OWN)
    stack.consumer(executor="none", prompts=tmp_path)
    stack.run(prompt="hello")
    assert stack.model.request()["messages"][0]["content"] == OWN
    (tmp_path / "plain.en.md").write_text("No tools.")
    stack.dismiss(stack.consumers[0])
    stack.consumer(executor="none", prompts=tmp_path)
    stack.run(prompt="hello")
    assert stack.model.request()["messages"][0]["content"] == "No tools."
