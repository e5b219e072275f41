"""Packages from a folder of wheels: what a cell lacks is there, and it runs again."""

import json

import pytest
from conftest import QUIET, installing
from executor_client import Executor, wait_until
from wheels import native, wheel


@pytest.fixture(scope="module")
def executor(scratch):
    folder = scratch / "wheels"
    wheel(
        folder,
        "quern_pure",
        {"quern_pure/__init__.py": "import quern_needed\nn = 1\n"},
        needs=["quern-needed>=1"],
    )
    wheel(folder, "quern_needed", {"quern_needed.py": "n = 2\n"})
    wheel(folder, "PyYAML", {"quern_yaml.py": "n = 3\n"}, version="99.0")
    wheel(folder, "python_barcode", {"barcode.py": "n = 4\n"})
    wheel(folder, "quern_parts", {"quern_space/a.py": "n = 5\n"})
    wheel(folder, "quern_more", {"quern_space/b.py": "n = 6\n"})
    wheel(folder, "quern_other", {"not_quern_other.py": "n = 7\n"})
    wheel(
        folder,
        "quern_data",
        {
            "quern_data-1.0.data/purelib/quern_data.py": "n = 8\n",
            "quern_data-1.0.data/scripts/quern-data": "#!python\n",
            "quern_data-1.0-1.data/purelib/quern_built.py": "n = 9\n",
            "quern_numbers.data": "a file, and no folder of what a wheel brings\n",
            "quern_data-1.0.dist-info/entry_points.txt": "[console_scripts]\nquern-data=quern_data:n\n",
        },
    )
    wheel(folder, "quern_fragile", {"quern_fragile.py": "import quern_absent_part\n"})
    wheel(
        folder,
        "quern_optional",
        {
            "quern_optional.py": "try:\n    import quern_needed\n"
            "except ImportError:\n    raise ImportError('install it')\n"
        },
    )
    native(folder, "quern_native", scratch)
    with installing(scratch, folder) as executor:
        yield executor


def test_a_missing_module_is_installed_and_the_cell_runs_again(session):
    session.run("x = [1]\ny = 1")
    done = session.run("x.append(2); y += 1; print('once')\nimport quern_pure\n(x, y)")
    assert (done.status, done.state, done.restarts) == ("ok", "kept", 1)
    assert done.result == "([1, 2], 2)", "what it did to variables is undone"
    assert done.stdout == "once\n"
    assert "installed quern_pure 1.0 (sha256 " in done.reason
    assert "quern_needed 1.0" in done.reason, "what it needs came along"
    assert session.run("quern_pure.n, quern_pure.quern_needed.n").result == "(1, 2)"


def test_in_the_first_cell_of_a_session(session):
    done = session.run("x = 1\nimport quern_needed\nx")
    assert (done.status, done.state, done.result) == ("ok", "kept", "1")


def test_files_that_it_wrote_before_stay_and_that_is_said(session):
    done = session.run("n = open('f', 'a').write('q')\nimport quern_needed")
    assert done.files == {"f": "new"}
    assert "files that it had written before stay" in done.reason
    assert session.get("f") == b"qq"


def test_nothing_is_said_of_it_in_the_next_cell(session):
    session.run("import quern_needed")
    done = session.run("import quern_needed")
    assert (done.status, done.reason, done.restarts) == ("ok", "", 0)


def test_several_one_after_the_other(session):
    done = session.run("import quern_needed, barcode, quern_native\nbarcode.n")
    assert (done.status, done.result, done.restarts) == ("ok", "4", 3)
    assert "python_barcode" in done.reason, "the package has another name"


def test_a_compiled_module(session):
    assert session.run("import quern_native\nquern_native.answer()").result == "42"


def test_packages_that_share_a_folder(session):
    assert session.run("import quern_more\n").status == "error"
    done = session.run("import quern_parts")
    assert "is installed now and brings no module quern_parts" in done.reason
    done = session.run("from quern_space import a, b\na.n + b.n")
    assert done.result == "11"


def test_what_is_not_code_stays_away(session):
    assert session.run("import quern_data\nquern_data.n").result == "8"
    found = session.run("import os; sorted(os.listdir('/packages'))").result
    assert found == (
        "['quern_built.py', 'quern_data-1.0.dist-info', 'quern_data.py', "
        "'quern_numbers.data']"
    )


def test_a_library_that_hides_what_it_lacks(session):
    assert session.run("import quern_optional").status == "ok"


def test_what_even_a_package_lacks(session):
    done = session.run("import quern_fragile")
    assert done.status == "error"
    assert "quern_absent_part" in done.error["value"]
    assert "the module quern_absent_part is not there" in done.reason


def test_a_module_that_nobody_has(session):
    session.run("x = 1")
    done = session.run("x = 2\nimport quern_nothing")
    assert (done.status, done.restarts) == ("error", 0)
    assert "quern_nothing is not installed here" in done.error["traceback"]
    assert "the module quern_nothing is not there" in done.reason
    assert session.run("x").result == "2", "the cell is not undone for nothing"


LOOK = {"name": "look", "parameters": {"additionalProperties": True}}
LATE = """
import threading
try:
    import quern_needed
    print(look(n=2))
except ImportError:
    threading.Thread(target=look, kwargs={"n": 1}, daemon=True).start()
    look(n=0)
import quern_needed
"""


def test_an_answer_to_the_first_run_is_none_to_the_second(session):
    """A thread's call is open when the cell starts anew, and answered late."""
    ref, _ = session.start(LATE, tools=json.dumps([LOOK]))
    calls = {}
    for _ in range(2):
        call = session.connection.answer(ref)
        calls[json.loads(call["data"])["n"]] = call
    session.reply(calls[0], "go on")
    # What the thread has to say of its call may come before: it is void.
    while (frame := session.connection.answer(ref))["type"] == "output":
        pass
    assert frame["type"] == "restart"
    second = session.connection.answer(ref)
    assert json.loads(second["data"]) == {"n": 2}
    session.reply(calls[1], "late")
    session.reply(second, "in time")
    assert session.finish(ref).stdout == "in time\n"


def test_a_submodule_that_is_not_there_is_not_a_package(session):
    done = session.run("import os.nothing")
    assert (done.status, done.reason) == ("error", "")


def test_an_import_that_the_cell_catches_is_its_own_business(session):
    done = session.run(
        "try:\n    import quern_needed\nexcept ImportError:\n    x = 1\nx"
    )
    assert (done.result, done.restarts) == ("1", 0)


def test_it_survives_a_cell_that_is_killed(session):
    session.run("import quern_needed")
    assert session.run("import os; os._exit(1)").state == "rolled_back"
    assert session.run("quern_needed.n").result == "2"
    assert session.run("import os; os.kill(os.getpid(), 9)").state == "rolled_back"
    done = session.run("import importlib; importlib.reload(quern_needed).n")
    assert done.result == "2"


def test_it_is_there_for_programs_that_a_cell_starts(session):
    session.run("import quern_needed")
    done = session.run("!python3 -c 'import quern_needed; print(quern_needed.n)'")
    assert done.stdout == "2\n"


def test_nobody_else_has_it_and_it_goes_with_the_session(executor, session):
    other = executor.open("other")
    session.run("import quern_needed")
    assert other.run("import os; os.listdir('/packages')").result == "[]"
    assert len(list(executor.store.glob("run-*/box-*/quern_needed.py"))) == 1
    session.close()
    wait_until(lambda: not list(executor.store.glob("run-*/box-*/quern_needed.py")))
    again = executor.open(session.name)
    assert again.run("import os; os.listdir('/packages')").result == "[]"
    again.close()
    other.close()


def test_a_wheel_is_unpacked_once_for_all(executor):
    one, two = executor.open("one"), executor.open("two")
    for session in (one, two):
        assert session.run("import quern_needed").status == "ok"
    files = list(executor.store.glob("run-*/box-*/quern_needed.py"))
    assert len({file.stat().st_ino for file in files}) == 1 < len(files)
    one.close()
    assert two.run("open(quern_needed.__file__).read()").result == "'n = 2\\n'"
    two.close()


def test_without_a_snapshot_the_cell_is_not_run_again(scratch):
    with installing(scratch, scratch / "wheels", "--snapshot", "0") as executor:
        session = executor.open("s")
        assert session.run("x = 1").status == "ok"
        done = session.run("x += 1\nimport quern_needed")
        assert (done.status, done.restarts) == ("error", 0)
        assert "it was not run again" in done.reason
        assert (
            session.run("import quern_needed\n(x, quern_needed.n)").result == "(2, 2)"
        )
        session.close()


def test_more_than_a_session_may_have(scratch):
    folder = scratch / "large"
    wheel(folder, "quern_large", {"quern_large.py": "#" * (2 << 20)})
    wheel(folder, "quern_half", {"quern_half.py": "#" * (700 << 10)})
    wheel(folder, "quern_rest", {"quern_rest.py": "#" * (700 << 10)})
    with installing(scratch, folder, "--packages-size", "1M") as executor:
        session = executor.open("s")
        for module, works in (("large", 0), ("half", 1), ("rest", 0)):
            done = session.run(f"import quern_{module}")
            assert (done.status == "ok") == works, module
            told = "more than a session may have of packages, 1 MiB"
            assert works or told in done.reason
        session.close()


def test_what_a_killed_executor_left_is_removed(scratch):
    folder = scratch / "wheels"
    with installing(scratch, folder) as executor:
        stale = executor.store / "run-stale"
        stale.mkdir()
        (stale / "box-1").mkdir()
        (stale / "box-1" / "f").write_text("x")
        stale.chmod(0o777)
        (stale / "box-1").chmod(0o777)
        mine = [p for p in executor.store.glob("run-*") if p != stale]
        with Executor(
            "--profile",
            "bare",
            "--packages",
            str(folder),
            "--packages-store",
            str(executor.store),
            env=QUIET,
        ):
            assert not stale.exists()
            assert all(p.exists() for p in mine), "not those of one that lives"


def test_a_saved_session_has_its_packages_again(executor, session):
    session.run("import quern_data\ndef f(): return quern_data.n")
    saved = session.run("", task="save")
    assert json.loads(saved.result)["packages"] == ["quern_data==1.0"]
    there = executor.open("elsewhere")
    restored = there.run("", task="restore", picture=saved.picture)
    assert json.loads(restored.result)["left"] == {}
    assert there.run("f(), quern_data.n").result == "(8, 8)"
    there.close()


def test_where_none_are_installed_they_are_named(session):
    session.run("import quern_data\nc = [quern_data]\nd = 1")
    saved = session.run("", task="save")
    with Executor("--profile", "bare") as other:
        there = other.open("elsewhere")
        restored = there.run("", task="restore", picture=saved.picture)
        left = json.loads(restored.result)["left"]
        assert "installs no packages" in left["quern_data==1.0"]
        assert "No module named 'quern_data'" in left["c"]
        assert there.run("d").result == "1"
