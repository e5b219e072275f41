"""The command and the plain clients against all of quern: real consumer, real
boxes, real pictures. The practice model runs the code that a question holds."""

import json
import struct
import time

import pytest
from clients import ask, free_port
from command import Command
from servers import wait_until
from stack import Stack

PLOT = """Plot it:
```python
import csv
import matplotlib.pyplot as plt
rows = list(csv.DictReader(open("sales.csv")))
plt.plot([int(row["sold"]) for row in rows])
print("rows:", len(rows))
open("sum.txt", "w").write(str(sum(int(row["sold"]) for row in rows)))
```"""


@pytest.fixture(scope="module")
def stack():
    with Stack(redis={"port": free_port()}, profile="science") as stack:
        stack.consumer()
        yield stack


@pytest.fixture
def quern(stack, tmp_path):
    (tmp_path / "sales.csv").write_text("month,sold\n1,3\n2,5\n")
    return Command(stack.redis.url, tmp_path)


def size_of_png(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND"
    return struct.unpack(">II", data[16:24])


def test_a_question_about_a_file_gives_an_answer_and_a_chart(quern):
    out, err, code = quern.run("run", PLOT, "--file", "sales.csv", "--out", "here")
    assert code == 0, err
    assert "rows: 2" in out and "](figure-1.png)" in out
    assert "image here/figure-1.png" in err and "file here/sum.txt" in err
    assert min(size_of_png(quern.cwd / "here/figure-1.png")) > 100
    assert (quern.cwd / "here/sum.txt").read_text() == "8"


def test_events_and_result_as_json(quern):
    lines = quern.json("run", PLOT, "--file", "sales.csv")
    types = [line["type"] for line in lines]
    assert types[0] == "submitted" and types[-1] == "result"
    for type in ("job.started", "tool.started", "tool.output", "image", "saved"):
        assert type in types
    events = [line for line in lines if "seq" in line]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["type"] == "job.completed"
    result = lines[-1]["result"]
    assert result["status"] == "completed"
    assert result["images"][0]["name"] == "figure-1.png"
    (status,) = quern.json("get", result["id"])
    assert status["result"] == result


def test_code_goes_in_and_its_streams_come_out(quern):
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7\n"
    assert quern.run("exec", "-", stdin=code) == ("out\n42\n", "err\n", 0)


def test_a_session_remembers(quern):
    name = f"lab-{time.time_ns()}"
    assert quern("exec", "--session", name, "-", stdin="x = [1, 2]") == ""
    assert quern("exec", "--session", name, "-", stdin="x + [3]") == "[1, 2, 3]\n"
    said = quern("exec", "-", stdin="x", code=1)
    assert "NameError" in said


def test_an_exception_is_shown_and_ends_with_1(quern):
    out, err, code = quern.run("exec", "-", stdin="print('a')\n1/0")
    assert (out, code) == ("a\n", 1)
    assert "ZeroDivisionError: division by zero" in err
    assert err.endswith("(cell_failed)\n")


def test_a_running_job_can_be_cancelled(quern):
    id = quern("submit", "--job", "-", stdin=json.dumps(ENDLESS)).strip()
    watcher = quern.start("watch", id, "--json")

    def started():
        return "tool.started" in watcher.stdout.readline()

    wait_until(started, what="the cell")
    assert quern.json("cancel", id)[0]["outcome"] == "asked"
    out, err = watcher.communicate(timeout=30)
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[-2]["type"] == "job.cancelled", (out, err)
    assert watcher.returncode == 1
    assert quern("get", id, code=1).startswith("cancelled")


ENDLESS = {"kind": "code", "cells": ["while True: pass"]}


def test_doctor_is_content(stack, quern):
    def doctor(**env):
        child = quern.start("doctor", "--json", "--timeout", "2m", **env)
        out, err = child.communicate(timeout=120)
        assert child.returncode == 0, (out, err)
        return {line["check"]: line for line in map(json.loads, out.splitlines())}

    found = doctor(QUERN_EXECUTOR=stack.socket)
    assert found["executor"]["level"] == "ok"
    assert "seccomp" in found["executor"]["text"]
    assert found["consumers"]["level"] == "ok"
    assert found["consumers"]["text"].startswith("1 ")
    stack.consumer()  # two that have taken jobs, ...
    for _ in range(20):
        quern("exec", "-", stdin="1")
    assert stack.dismiss(stack.consumers.pop()) == 0  # ... and one that left
    assert doctor()["consumers"]["text"].startswith("1 ")
    found = doctor(QUERN_EXECUTOR="/nowhere")
    assert found["executor"]["level"] == "note"
    assert found["executor"]["text"].startswith("none answers at /nowhere")


@pytest.mark.parametrize("language", ["python", "node", "php"])
def test_a_plain_client_gets_the_chart(language, stack, quern):
    child = ask(language, stack.redis.port, quern.cwd, PLOT, "sales.csv")
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert "rows: 2" in out
    assert err.splitlines()[-1].split()[1] == "job.completed"
    assert min(size_of_png(quern.cwd / "figure-1.png")) > 100
