"""The checker as a program: a history and a Redis in, a verdict out."""

import json
import os
import subprocess

import pytest
from history import History
from servers import RedisServer

CHECKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "checker")


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        yield server


def check(server, path):
    """Its exit code, its lines, and the last one of them."""
    args = [CHECKER, str(path), "--redis", server.url]
    done = subprocess.run(args, capture_output=True, text=True, timeout=60)
    assert not done.stderr, done.stderr
    lines = done.stdout.splitlines()
    return done.returncode, lines[:-1], json.loads(lines[-1])


def test_nothing_was_promised_and_nothing_is_there(server, tmp_path):
    path = tmp_path / "history"
    with History(path) as history:
        history.note("fault", kind="boredom")
    code, lines, told = check(server, path)
    assert code == 0 and all(" holds " in line for line in lines), lines
    assert told["faults"] == {"boredom": 1} and told["lost"] == 0


def test_a_promise_that_was_not_kept(server, tmp_path):
    path = tmp_path / "history"
    with History(path) as history:
        history.note("submit", job="x")
        history.note("answer", job="x", verdict="created", stands="x")
    code, lines, told = check(server, path)
    assert code == 1 and told["lost"] == 1
    assert "    x was accepted and is not known any more" in lines
