"""quern session against all of quern: real boxes, what a person does with it."""

import json

import pytest
from command import Command
from servers import wait_until
from stack import ROOT


@pytest.fixture
def quern(stack, tmp_path):
    return Command(stack.redis.url, tmp_path)


@pytest.fixture
def lab(request, quern):
    """A session of the test's own, with a variable and two files."""
    name = f"lab-{request.node.name.replace('_', '-')[5:]}"[:120]
    (quern.cwd / "sales.csv").write_text("sold\n3\n5\n")
    assert quern("session", "put", name, "sales.csv") == ""
    code = """
import os
x = sum(int(line) for line in open('sales.csv').readlines()[1:])
os.makedirs('out')
open('out/sum.txt', 'w').write(str(x))
counts = (n for n in range(3))
"""
    assert quern("exec", "--session", name, "-", stdin=code) == ""
    return name


def run(quern, session, code):
    out, err, exit = quern.run("exec", "--session", session, "-", stdin=code)
    assert exit == 0, (out, err)
    return out, err


def names(quern, session):
    return {line["name"]: line for line in quern.json("session", "files", session)}


def test_files_go_in_and_come_out(quern, lab):
    assert set(names(quern, lab)) == {"sales.csv", "out/sum.txt"}
    assert names(quern, lab)["sales.csv"]["bytes"] == 9
    said = quern("session", "get", lab, "out/sum.txt", "sales.csv", "--out", "here")
    assert said == "here/out_sum.txt\nhere/sales.csv\n"
    assert (quern.cwd / "here/out_sum.txt").read_text() == "8"


def test_put_writes_over_what_is_there(quern, lab):
    (quern.cwd / "sales.csv").write_text("sold\n1\n")
    assert quern("session", "put", lab, "sales.csv") == ""
    assert run(quern, lab, "open('sales.csv').read(), x")[0] == "('sold\\n1\\n', 8)\n"
    assert names(quern, lab)["sales.csv"]["bytes"] == 7


def test_show_and_ls_tell_where_it_is_and_what_it_lacks(quern, lab):
    said = quern("session", "show", lab)
    assert "not saved  counts: " in said and "generator" in said
    assert "sales.csv\n" in said and "out/sum.txt\n" in said
    (record,) = quern.json("session", "show", lab)
    assert record["cells"] == 1 and record["holder"]
    rows = [line.split() for line in quern("session", "ls").splitlines()]
    (row,) = [row for row in rows if row[0] == lab]
    assert row[1:4] == ["default", "1", "2"] and row[-1] == record["holder"]
    assert record in quern.json("session", "ls", "--tenant", "default")
    assert quern("session", "ls", "--tenant", "nobody") == ""


def test_a_fork_goes_its_own_way(quern, lab):
    out, err, code = quern.run("session", "fork", lab, lab + "-2")
    assert (out, code) == ("", 0) and err.startswith("not saved  counts: ")
    assert run(quern, lab + "-2", "x += 1\nx")[0] == "9\n"
    assert run(quern, lab + "-2", "open('out/sum.txt').read()")[0] == "'8'\n"
    assert run(quern, lab, "x")[0] == "8\n"
    said = quern("session", "fork", lab, lab + "-2", code=65)
    assert "already" in said and lab in said


def test_what_is_closed_is_gone(quern, lab):
    assert quern.json("session", "close", lab) == [{"type": "closed", "session": lab}]
    for verb in (["show"], ["files"], ["get", "x"], ["fork", "y"], ["close"]):
        said = quern("session", verb[0], lab, *verb[1:], code=65)
        assert f"session {verb[0]}: there is no session " in said and lab in said
    assert lab not in quern("session", "ls")
    out, err, code = quern.run("exec", "--session", lab, "-", stdin="x")
    assert code == 1 and "NameError" in err


def test_a_session_of_another_tenant_is_another(quern, lab):
    assert "there is no session" in quern(
        "session", "files", lab, "--tenant", "acme", code=65
    )


def test_a_file_that_is_not_there(quern, lab):
    words = ["get", lab, "sales.csv", "nothing", "--out", "here"]
    said = quern("session", *words, code=65)
    assert said == 'quern session get: the session has no file "nothing"\n'
    error = json.loads(quern("session", "get", lab, "../x", "--json", code=65))
    assert error["error"]["code"] == "unknown_file"
    assert not (quern.cwd / "here").exists()


def test_names_of_any_bytes_come_out_made_safe(quern, lab):
    code = """
import os
open(b'caf\\xe9.txt', 'w').write('1')
open('a\\x1b[2Jb.txt', 'w').write('2')
os.makedirs('d')
open('d/sales.csv', 'w').write('3')
"""
    run(quern, lab, code)
    wanted = [b"caf\xe9.txt", "a\x1b[2Jb.txt", "sales.csv", "d/sales.csv"]
    lines = quern.json("session", "get", lab, *wanted, "--out", "here")
    saved = [quern.cwd / line["path"] for line in lines]
    assert [path.read_text() for path in saved] == ["1", "2", "sold\n3\n5\n", "3"]
    assert all(path.parent == quern.cwd / "here" for path in saved)
    assert all(path.name.isprintable() for path in saved)
    assert len({path.name for path in saved}) == 4


def test_exec_says_when_a_session_was_restored(stack, quern, lab):
    assert run(quern, lab, "x") == ("8\n", "")
    stack.start_executor()
    out, err = run(quern, lab, "x, open('out/sum.txt').read()")
    assert out == "(8, '8')\n"
    assert err.startswith("variables and files: restored: ")
    assert "counts" in err, "what is not there any more"
    assert run(quern, lab, "x") == ("8\n", "")


def test_it_waits_for_its_turn(stack, quern, lab):
    code = "import time\nx = 0\ntime.sleep(60)"
    busy = quern.start("exec", "--session", lab, "-", stdin=code)
    wait_until(lambda: stack.db.exists(f"{ROOT}leases:default"), what="it runs")
    said = quern("session", "files", lab, "--deadline", "1s", code=75)
    assert "has not answered in 1.0 s: it may be busy" in said
    busy.terminate()
    err = busy.communicate(timeout=30)[1]
    id = err.split("quern cancel ")[1].split()[0]
    assert "asked" in quern("cancel", id)
    assert run(quern, lab, "x")[0] == "0\n"


def test_run_leaves_a_session_too(quern):
    question = "Count:\n```python\ntotal = 6 * 7\n```"
    assert quern.run("run", question, "--session", "asked")[2] == 0
    assert run(quern, "asked", "total")[0] == "42\n"
    (record,) = quern.json("session", "show", "asked")
    assert record["cells"] == 2
