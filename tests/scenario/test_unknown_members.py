"""Members of a job that no version knows: let pass, and said."""

import json

import msgpack
import pytest
from command import Command
from stack import job_id


@pytest.fixture
def cli(stack, tmp_path):
    return Command(stack.redis.url, tmp_path)


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
