"""What a cell shows and takes back: display_id and clear_output(), from the box
to the result, to those who follow, and to a terminal."""

import json

import pytest
from clients import free_port
from command import Command
from stack import Stack

MORE = "from IPython.display import clear_output, display, update_display\n"
LOOP = "for i in range(1000):\n    clear_output(wait=True)\n    print(i)"
PICTURE = "import base64\npng = lambda n: {'image/svg+xml': f'<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{n}\"/>'}\n"


@pytest.fixture(scope="module")
def stack():
    with Stack(redis={"port": free_port()}, profile="science") as stack:
        stack.consumer()
        yield stack


@pytest.fixture
def quern(stack, tmp_path):
    return Command(stack.redis.url, tmp_path)


@pytest.fixture
def run(quern):
    def run(*cells):
        code = "\n# %%\n".join((MORE + cells[0], *cells[1:]))
        out, err, status = quern.run("exec", "--json", "-", stdin=code)
        assert status == 0, (out, err)
        return [json.loads(line) for line in out.splitlines()]

    return run


# What is replaced, the cells, and of each: (stdout, texts of displays)
STANDS = [
    ("text that is cleared a thousand times", [LOOP], [("999\n", [])]),
    ("of both streams", ["import sys\nprint(1)\nprint(2, file=sys.stderr)\nclear_output()\nprint(3)"], [("3\n", [])]),
    ("text of a program", ["!echo 1\nclear_output()\n!echo 2"], [("2\n", [])]),
    ("text and displays", ["print(1)\ndisplay(2)\nclear_output()\ndisplay(3)"], [("", ["3"])]),
    ("nothing comes after", ["print(1)\nclear_output(wait=True)"], [("1\n", [])]),
    ("text comes after displays", ["for i in range(999):\n    clear_output(wait=True)\n    display(i)\nclear_output(wait=True)\nprint('done')"], [("done\n", [])]),
    ("a thousand displays", ["for i in range(1000):\n    clear_output(wait=True)\n    display(i)"], [("", ["999"])]),
    ("a thousand updates", ["h = display(0, display_id=True)\nfor i in range(1000): h.update(i)"], [("", ["999"])]),
    ("a display of an earlier cell", ["h = display(0, display_id=True)", "print(1)", "h.update(2)"], [("", ["2"]), ("1\n", []), ("", [])]),
    ("of an earlier cell and this one", ["h = display(0, display_id=True)", "h.display(1)\nh.update(2)"], [("", ["2"]), ("", ["2"])]),
]  # fmt: skip


@pytest.mark.parametrize(
    "cells, stands", [r[1:] for r in STANDS], ids=[r[0] for r in STANDS]
)
def test_what_stands_is_in_the_result(run, cells, stands):
    done = run(*cells)
    shown = [(c["stdout"], [d["text"] for d in c["displays"]]) for c in done]
    assert shown == stands
    assert [cell["notes"] for cell in done] == [""] * len(done)
    counted = [cell["stdout_bytes"] for cell in done]
    assert counted == [len(cell["stdout"]) for cell in done]


def test_an_update_of_an_earlier_jobs_display_is_shown_anew(quern):
    def run(code):
        out, err, status = quern.run("exec", "--json", "--session", "s", "-", stdin=code)
        assert status == 0, (out, err)
        return [shown["text"] for shown in json.loads(out)["displays"]]

    assert run("h = display(1, display_id=True)") == ["1"]
    assert run("h.update(2)") == ["2"]


def test_pictures_that_were_replaced_are_not_in_the_result(stack, quern):
    code = PICTURE + MORE + "h = display(png(1), raw=True, display_id=True)\n# %%\n"
    code += "for i in range(100):\n    clear_output(wait=True)\n    display(png(i), raw=True)\n"
    code += "h.update(png(7), raw=True)"
    out, err, status = quern.run("exec", "--json", "-", stdin=code)
    first, second = [json.loads(line) for line in out.splitlines()]
    assert [len(cell["displays"]) for cell in (first, second)] == [1, 1]
    names = [cell["displays"][0]["parts"][0]["name"] for cell in (first, second)]
    assert len(set(names)) == 2
    job = json.loads(quern.run("get", "--json", first["job"])[0])
    assert sorted(image["name"] for image in job["result"]["images"]) == sorted(names)
    blob = first["displays"][0]["parts"][0]["blob"]
    assert b'width="7"' in stack.db.get(f"quern:{{000}}:blob:{blob}")


def events(quern, job):
    out, _, _ = quern.run("watch", "--json", "--from", "0", job)
    return [json.loads(line) for line in out.splitlines()]


def test_who_follows_is_told_what_stands_and_not_a_thousand_times(run, quern):
    code = LOOP + "\nh = display('x', display_id=True)\nfor i in range(1000): h.update(i)"
    [cell] = run(code)
    told, texts = {"stdout": ""}, {}
    heard = [event for event in events(quern, cell["job"]) if "data" in event]
    for event in heard:
        data = event["data"]
        if event["type"] == "tool.cleared":
            told, texts = {"stdout": ""}, {}
        elif event["type"] == "tool.output":
            told[data["stream"]] += data["text"]
        elif event["type"] in ("display", "display.updated"):
            assert data["display"]["id"]
            texts[data["display"]["id"]] = data["display"]["text"]
    assert told["stdout"] == "999\n" and list(texts.values()) == ["999"]
    assert len(heard) < 300


def test_a_pipe_gets_what_stands(quern):
    code = MORE + LOOP + "\nh = display('x', display_id=True)\nh.update('y')"
    assert quern.run("exec", "-", stdin=code)[0] == "999\n'y'\n"
