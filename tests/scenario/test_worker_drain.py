"""quern worker drain: it holds for a worker's name until it is taken back."""

import json
import signal

import pytest
from command import Command
from servers import wait_until
from stack import DRAINED, ROOT, Stack


@pytest.fixture
def stack():
    with Stack(executor=False, lease="900ms") as stack:
        yield stack


def ask(stack, *words):
    return Command(stack.redis.url, stack.folder)(*words)


def workers(stack):
    listed = ask(stack, "worker", "ls", "--json").splitlines()
    return {line["worker"]: line for line in map(json.loads, listed)}


def test_a_drain_holds_over_restarts(stack):
    """Before: the worker's next start knew nothing of it, and took jobs."""
    stack.consumer(name="w")
    ask(stack, "worker", "drain", "w")
    assert stack.consumers[0].wait() == DRAINED
    again = stack.consumer(name="w")
    assert again.wait() == DRAINED
    job = stack.submit(prompt="hello")
    third = stack.consumer(name="w")
    assert third.wait() == DRAINED and stack.state(job) == "queued"
    assert '"drain.wished"' in third.text() and "quern worker resume" in third.text()
    assert workers(stack)["w"]["draining"] is True
    assert "drained" in ask(stack, "worker", "ls")
    ask(stack, "worker", "resume", "w")
    assert workers(stack) == {}
    stack.consumer(name="w")
    assert stack.result(job)["status"] == "completed"


def test_a_drain_is_heard_at_once(stack):
    """Before: by the next report, a third of the lease later."""
    worker = stack.consumer(name="w", lease="600s")
    stack.consumer(name="ww", lease="600s")
    ask(stack, "worker", "drain", "w")
    assert worker.wait() == DRAINED
    listed = workers(stack)
    assert listed["w"]["draining"] and not listed["ww"]["draining"]


def test_resume_stops_a_drain_that_goes_on(stack):
    stack.model.script([{"text": "late", "delay_ms": 6000}, {"text": "next"}])
    worker = stack.consumer(name="w", drain="1m")
    job = stack.submit(prompt="hello")
    stack.wait_event(job, "job.started")
    ask(stack, "worker", "drain", "w")
    worker.wait_for('"drain.wished"')
    ask(stack, "worker", "resume", "w")
    worker.wait_for('"drain.resumed"')
    assert stack.run(prompt="next")["status"] == "completed"
    assert stack.result(job)["status"] == "completed" and worker.alive()


def test_who_leaves_is_gone_from_the_list(stack):
    """Before: it was listed until its report expired."""
    worker = stack.consumer(name="w", lease="1m")
    wait_until(lambda: "w" in workers(stack))
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0
    assert workers(stack) == {}
    assert not stack.db.exists(f"{ROOT}worker:w")


def test_the_list_says_which_jobs_a_worker_runs(stack):
    stack.model.script([{"text": "late", "delay_ms": 4000}])
    stack.consumer(name="w")
    job = stack.submit(prompt="hello")
    wait_until(lambda: workers(stack)["w"]["jobs"] == [job])
    assert job in ask(stack, "worker", "ls")
    assert stack.result(job)["status"] == "completed"
    wait_until(lambda: workers(stack)["w"]["jobs"] == [])
