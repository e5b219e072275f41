"""Two versions of the function library in one fleet, while it is upgraded."""

import os
import re

import pytest
from command import Command
from servers import BUILD, wait_until
from stack import Stack


def library(build):
    """This library, as if it were of that build."""
    with open(os.path.join(BUILD, "schemas", "redis", "library.lua")) as file:
        text = file.read()
    changed, count = re.subn(r"local BUILD = \d+", f"local BUILD = {build}", text)
    assert count == 1
    return changed


def build_of(db):
    return db.execute_command("FCALL", "quern_v1_build", 0)


@pytest.fixture
def stack():
    with Stack(executor=False, lease="900ms") as stack:
        yield stack


@pytest.fixture
def ours(stack):
    """The build of the binaries."""
    return build_of(stack.db)


@pytest.mark.parametrize("there", [1, "none"])
def test_a_consumer_replaces_what_is_older(stack, ours, there):
    stack.db.function_flush()
    if there != "none":
        stack.db.function_load(library(there), replace=True)
    stack.consumer()
    assert build_of(stack.db) == ours
    assert stack.run(prompt="x")["status"] == "completed"


def test_nobody_replaces_what_is_newer(stack, ours, tmp_path):
    """Its callers work with it: a build only adds."""
    stack.db.function_load(library(ours + 1), replace=True)
    stack.consumer()
    quern = Command(stack.redis.url, tmp_path)
    job = quern("submit", "x").strip()
    assert quern.json("wait", job)[0]["state"] == "completed"
    wait_until(lambda: len(stack.db.client_list()) > 3, what="all links are there")
    assert build_of(stack.db) == ours + 1


def test_what_an_older_one_loaded_too_late_is_replaced(stack, ours):
    """Both had looked before either loaded its own."""
    stack.consumer()
    stack.db.function_load(library(1), replace=True)
    wait_until(lambda: build_of(stack.db) == ours, what="ours is back")
    assert stack.run(prompt="x")["status"] == "completed"


def test_a_library_that_somebody_deleted_comes_back(stack, ours):
    stack.model.script([{"text": "slow", "delay_ms": 500}])
    stack.consumer()
    job = stack.submit(prompt="x")
    stack.wait_event(job, "turn.started")
    stack.db.function_flush()
    assert stack.result(job)["attempts"] == 1
    assert build_of(stack.db) == ours
