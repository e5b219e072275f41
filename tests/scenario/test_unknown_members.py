"""Members of a job that no version knows: let pass, and said."""

import json

import msgpack
import pytest
from command import Command
from stack import ROOT, job_id


REFUSED = [
    ({"promt": "hello"}, "missing_field", '"promt" was'),
    ({"prompt": "x", "model": "none", "sesion": "s"}, "unknown_model", '"sesion" was'),
]


@pytest.fixture
def cli(stack, tmp_path):
    return Command(stack.redis.url, tmp_path)


@pytest.mark.parametrize("job, code, named", REFUSED, ids=["job", "model"])
def test_the_result_of_a_refused_job_names_them(stack, job, code, named):
    """They may be why it is refused."""
    result = stack.run(**job)
    assert result["error"]["code"] == code
    assert f"The unknown member {named} ignored." in result["notes"]


def test_the_result_names_them(stack):
    result = stack.run(prompt="hello", sesion="s", limits={"cell_msec": 5})
    assert result["status"] == "completed"
    said = 'The unknown members "sesion", "limits.cell_msec" were ignored.'
    assert said in result["notes"]


def test_one_is_named_alone(stack):
    result = stack.run(kind="code", cells=["1"], colour="red")
    assert 'The unknown member "colour" was ignored.' in result["notes"]


def test_a_job_without_any_has_no_note(stack):
    assert "unknown" not in stack.run(prompt="hello").get("notes", "")


def test_a_replay_tells_of_them_too(stack, cli):
    result = stack.run(prompt="hello", sesion="s", limits={"cell_msec": 5})
    assert SAID[:18] in result["notes"]
    out, err, code = cli.run("replay", result["id"])
    assert (code, err) == (0, ""), out


def test_ten_thousand_are_counted(stack):
    id = job_id()
    many = {f"x{number}": 1 for number in range(10_000)}
    body = msgpack.packb({"v": 1, "id": id, "prompt": "hello", **many})
    stack.submit(body=body, id=id)
    notes = stack.result(id)["notes"]
    assert '"x4" and 9995 more were ignored.' in notes and len(notes) < 500


def test_hostile_names_do_no_harm(stack):
    names = {"\x1b[2J" + "y" * 1000: 1, "\u00e9" * 100: 2}
    notes = stack.run(prompt="hello", **names)["notes"]
    assert '"?[2Jyyy' in notes and "\x1b" not in notes and len(notes) < 400


JOB = {"prompt": "hello", "sesion": "s"}
SAID = 'The unknown member "sesion" was ignored.'


def test_submit_says_so(cli):
    (cli.cwd / "job.json").write_text(json.dumps(JOB))
    out, err, code = cli.run("submit", "--job", "job.json")
    assert code == 0 and len(out.strip()) == 36
    assert err == f"note: {SAID}\n"
    out, err, code = cli.run("submit", "--job", "job.json", "--json")
    assert code == 0 and set(json.loads(out)) == {"id", "existed"}
    assert json.loads(err) == {"type": "note", "message": SAID}


def test_submit_says_so_of_many(cli):
    lines = [json.dumps({"prompt": "hello"}), json.dumps(JOB)]
    (cli.cwd / "jobs").write_text("\n".join(lines) + "\n")
    out, err, code = cli.run("submit", "--jobs", "jobs")
    assert code == 0 and len(out.splitlines()) == 2
    assert err == f"note: line 2: {SAID}\n"
    first, second = cli.json("submit", "--jobs", "jobs")
    assert "note" not in first and second["note"] == SAID


WRONG = {"promt": "hello"}
WHY = 'The unknown member "promt" was ignored.'


def test_who_is_refused_is_told_of_them(cli):
    (cli.cwd / "job.json").write_text(json.dumps(WRONG))
    err = cli("submit", "--job", "job.json", code=65)
    assert err.startswith(f"note: {WHY}\n") and "prompt, messages or files" in err
    (cli.cwd / "jobs").write_text(json.dumps(WRONG) + "\n")
    assert f"note: line 1: {WHY}\n" in cli("submit", "--jobs", "jobs", code=65)
    out, _, code = cli.run("submit", "--jobs", "jobs", "--json")
    assert code == 65 and json.loads(out)["note"] == WHY


def test_a_schedule_says_so(cli):
    (cli.cwd / "job.json").write_text(json.dumps(JOB))
    _, err, code = cli.run("schedule", "add", "n", "@daily", "--job", "job.json")
    assert code == 0 and f"note: {SAID}\n" in err
    cli("schedule", "rm", "n", "--yes")


def test_the_result_of_a_job_of_the_command_names_them_too(stack, cli):
    """Those inside of others, too; what it does not name is as it was."""
    (cli.cwd / "more.csv").write_text("n\n7\n")
    given = {
        "kind": "code",
        "cells": ["import os; print(sorted(os.listdir()))"],
        "files": [{**stack.file("a.csv", b"1"), "colour": "red"}],
        "limits": {"cell_msec": 5},
        "sesion": "s",
    }
    (cli.cwd / "job.json").write_text(json.dumps(given))
    id = cli("submit", "--job", "job.json", "--file", "more.csv").strip()
    result = stack.result(id)
    said = result["notes"].split("The unknown members ")[1].split(" were ignored.")[0]
    assert sorted(said.split(", ")) == [
        '"files[0].colour"',
        '"limits.cell_msec"',
        '"sesion"',
    ]
    assert result["cells"][0]["stdout"] == "['a.csv', 'more.csv']\n"


def test_they_go_along_as_they_were_given(stack, cli):
    """A newer consumer may know them."""
    given = {
        "kind": "conversation",
        "prompt": "hello",
        "sesion": {"deep": [1, None, -2, 0.5, "\u00e9"]},
    }
    limits = {"max_turns": 3, "cell_msec": True}
    (cli.cwd / "job.json").write_text(json.dumps({**given, "limits": limits}))
    id = cli("submit", "--job", "job.json", "--delay", "1h").strip()
    body = msgpack.unpackb(stack.db.get(f"{ROOT}body:{id}"))
    assert body == {**given, "v": 1, "id": id, "limits": limits}
    cli("cancel", id)


def test_too_many_bytes_of_them_are_refused(stack, cli):
    given = json.dumps({**JOB, "sesion": [1e0] * 60_000}, separators=(",", ":"))
    (cli.cwd / "job.json").write_text(given)  # a byte becomes two
    _, err, code = cli.run("submit", "--job", "job.json")
    assert code == 65 and "does not fit into" in err
