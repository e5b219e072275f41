"""quern exec --json, as programs use it: one object per cell, always whole."""

import base64
import json
import pathlib
import re

import pytest
from clients import free_port
from command import Command
from stack import ROOT, Stack

TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


def documented():
    """{member: types}, as producer/COMMANDS.md tells them."""
    commands = pathlib.Path(__file__).parents[2] / "producer" / "COMMANDS.md"
    section = commands.read_text().partition("## `quern exec --json`")[2]
    rows = re.findall(
        r"^\| (`.*?) \| ([a-z ]+) \|", section.partition("\n## ")[0], re.M
    )
    return {
        name: {TYPES.get(one, type(None)) for one in types.split(" or ")}
        for names, types in rows
        for name in re.findall(r"`(.*?)`", names)
    }


MEMBERS = documented()
ALWAYS = {name for name in MEMBERS if name.isidentifier()}


def listed(page):
    """The same of a page of help: what is indented is of what stands above."""
    found, above = {}, {}
    for indent, name, types in re.findall(
        r"^((?:  ){1,3})(\w+) +((?:string|integer|boolean|array|object)(?: or \w+)?)  ",
        page,
        re.M,
    ):
        above[len(indent)] = above.get(len(indent) - 2, "") + name
        found[above[len(indent)]] = {
            TYPES.get(t, type(None)) for t in types.split(" or ")
        }
        above[len(indent)] += "[]." if types == "array" else "."
    return found


def members(value, path=""):
    """[(path, value)] of all that is in there."""
    if isinstance(value, list):
        for item in value:
            yield from members(item, f"{path}[].")
    if isinstance(value, dict) and "base64" not in value:
        for name, item in value.items():
            yield path + name, item
            yield from members(item, path + name + "." * isinstance(item, dict))


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
    def run(code, *args, exit=0):
        out, err, returned = quern.run("exec", "--json", *args, "-", stdin=code)
        assert returned == exit, (returned, out, err)
        cells = [json.loads(line) for line in out.splitlines()]
        for number, cell in enumerate(cells, 1):
            assert set(cell) == ALWAYS and cell["cell"] == number
            for name, value in members(cell):
                assert type(value) in MEMBERS[name], (name, value)
        return cells

    return run


@pytest.fixture
def one(run):
    def one(code, *args, exit=0):
        [cell] = run(code, *args, exit=exit)
        return cell

    return one


def rows(table):
    return [pytest.param(*row[1:], id=row[0]) for row in table]


def blob(stack, name):
    return stack.db.get(f"{ROOT}blob:{name}")


# --- the members are those that are documented


def test_help_lists_the_members_that_the_readme_has(quern):
    pages = [quern.run("help", "exec"), quern.run("exec", "--help")]
    assert pages[0] == pages[1]
    page, err, returned = pages[0]
    assert (err, returned) == ("", 0)
    assert listed(page) == MEMBERS and len(ALWAYS) > 15


GOES_WELL = """import matplotlib.pyplot as plt
plt.plot([1, 2])
open("a.txt", "w").write("a")
open(b"caf\\xe9", "w").write("a")
# %%
print("out")
2"""

ENDS = [
    ("a value, displays, files", GOES_WELL, [], "ok", "kept"),
    ("the same, saved", GOES_WELL, ["--out", "here"], "ok", "kept"),
    ("an error", "1 / 0", [], "error", "kept"),
    ("a deadline", "while True: pass", ["--cell-time", "300ms"], "timeout", "kept"),
    ("a crash", "x = 1\n# %%\nimport os; os._exit(1)", [], "crashed", "rolled_back"),
]


def test_each_member_is_there_and_has_the_type_that_is_documented(run):
    found = {}
    for what, code, args, status, state in ENDS:
        cells = run(code, *args, exit=int(status != "ok"))
        assert (cells[-1]["status"], cells[-1]["state"]) == (status, state), what
        for name, value in (pair for cell in cells for pair in members(cell)):
            found.setdefault(name, set()).add(type(value))
    assert found == MEMBERS


# --- code goes in as it is

QUOTES = (
    """a = 'it\\'s "fine"'; b = '''x\\ny'''; print(a, b, r"\\n", "$HOME `id` %s")"""
)

ODD_CODE = [
    ("quotes", QUOTES, 'it\'s "fine" x\ny \\n $HOME `id` %s\n'),
    ("all planes", "print('🙂 中文 é')", "🙂 中文 é\n"),
    ("lines of Windows", "x = 1\r\nif x:\r\n    print('yes')\r\n", "yes\n"),
    ("no final newline", "print(1)\nprint(2)", "1\n2\n"),
    ("only a comment", "# nothing", ""),
    ("a byte order mark", "\ufeffprint(3)", "3\n"),
    ("dashes", "x = 1\n--x\nprint(4)", "4\n"),
    ("close to the bound", f"s = '{'x' * (127 << 10)}'\nprint(len(s))", "130048\n"),
]


@pytest.mark.parametrize("code, out", rows(ODD_CODE))
def test_code_arrives_byte_for_byte(one, code, out):
    cell = one(code)
    assert (cell["status"], cell["stdout"]) == ("ok", out)
    assert cell["stdout_blob"] == ""


REFUSED = [
    ("nothing", "", "no code"),
    ("nothing between marks", "# %%\n \n# %%", "cells"),
    ("a cell of more than 128 KiB", "#" * (128 << 10) + "\n1", "131072"),
    ("more than 256 cells", "# %%\n1\n" * 257, "256"),
]


@pytest.mark.parametrize("code, why", rows(REFUSED))
def test_what_is_refused_says_why(quern, code, why):
    out, err, returned = quern.run("exec", "--json", "-", stdin=code)
    assert (out, returned) == ("", 65)
    said = json.loads(err)
    assert said["type"] == "error" and why in said["error"]["message"], said


def test_bytes_that_are_not_text_are_refused(quern):
    (quern.cwd / "x.py").write_bytes(b"print('\xff')")
    out, err, returned = quern.run("exec", "--json", "x.py")
    assert (out, returned) == ("", 65) and json.loads(err)["type"] == "error"


# --- cells

CELLS = [
    ("a text without marks is one cell", "x = 1\n\n\nx", ["1"]),
    ("a mark parts two", "x = 1\n# %%\nx + 1", ["", "2"]),
    ("its title is no code", "1\n# %% [title] (\n2\n#%%\n3", ["1", "2", "3"]),
    ("a mark in front makes no cell", "# %%\n1\n# %%\n2\n# %%", ["1", "2"]),
    ("blank cells are none", "1\n# %%\n \n\t\r\n# %%\n2", ["1", "2"]),
    ("a mark of Windows", "1\r\n# %%\r\n2\r\n", ["1", "2"]),
    ("not at a line's beginning", "x = 1 # %%\n  # %%\nx", ["1"]),
    ("a mark, and no newline", "1\n# %%", ["1"]),
]


@pytest.mark.parametrize("code, results", rows(CELLS))
def test_cells_are_parted_by_marks(run, code, results):
    assert [cell["result"] for cell in run(code)] == results


def test_cells_run_until_one_fails(run):
    cells = run("x = 1\n# %%\n1 / 0\n# %%\nx", exit=1)
    assert [cell["status"] for cell in cells] == ["ok", "error"]
    error = cells[1]["error"]
    assert (error["name"], error["value"]) == ("ZeroDivisionError", "division by zero")
    assert "line 1" in error["traceback"] and cells[0]["error"] is None


def test_a_session_remembers(one):
    assert one("x = 20", "--session", "one")["state"] == "kept"
    assert one("x + 2", "--session", "one")["result"] == "22"
    assert one("x", "--session", "other", exit=1)["error"]["name"] == "NameError"


def test_a_deadline_in_milliseconds(one):
    code = "print('a', flush=True)\nsum(range(10**11))"
    cell = one(code, "--cell-time", "400ms", exit=1)
    assert cell["status"] == "timeout" and cell["stdout"] == "a\n"
    assert cell["reason"] and 400 <= cell["ms"] < 2000


# --- streams

RAW = "import os; os.write(1, b'a\\xff\\0')"

STREAMS = [
    ("a bar's last state", "for i in range(100): print(f'\\r{i}%', end='')", "99%"),
    ("no colours", "print('\\x1b[31mred\\x1b[0m')", "red\n"),
    ("bytes that are no text", RAW, "a\ufffd\u2400"),
]


@pytest.mark.parametrize("code, text", rows(STREAMS))
def test_what_is_shown_is_fit_to_be_read(stack, one, code, text):
    cell = one(code)
    assert cell["stdout"] == text
    whole = blob(stack, cell["stdout_blob"])
    assert len(whole) == cell["stdout_bytes"] > 0 and whole.decode("latin1") != text


def test_long_output_is_head_and_tail_and_a_blob(stack, one):
    cell = one("import sys\nfor i in range(100000): print(i, file=sys.stderr)")
    text = cell["stderr"]
    assert text.startswith("0\n1\n") and text.endswith("\n99999\n")
    assert "bytes left out" in text and len(text) <= 16 << 10
    whole = "".join(f"{i}\n" for i in range(100000)).encode()
    assert cell["stderr_bytes"] == len(whole)
    assert blob(stack, cell["stderr_blob"]) == whole
    assert cell["stdout"] == cell["stdout_blob"] == ""


def test_more_than_is_passed_on_is_counted_and_said(stack, one):
    code = "import os\nfor _ in range(20): os.write(1, b'x' * (1 << 20))\nprint('end')"
    cell = one(code)
    assert cell["stdout_bytes"] == (20 << 20) + 4
    assert (
        cell["notes"] == "[stdout: of its 20971524 bytes the first 8388608 are kept]\n"
    )
    assert blob(stack, cell["stdout_blob"]) == b"x" * (8 << 20)
    assert cell["stdout"].endswith("xxend\n"), "what was said last is seen"
    left_out = int(re.search(r"(\d+) bytes left out", cell["stdout"])[1])
    assert cell["stdout"].count("x") + 4 + left_out == cell["stdout_bytes"]


FLOOD = """
import resource
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
# %%
line = 'x' * 8191
for _ in range(1 << 16): print(line)
# %%
peak() - before
"""


def peak_kib(process):
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(s.split()[1]) for s in status if s.startswith("VmHWM"))


def test_half_a_gigabyte_of_output_costs_nobody_memory(stack, run):
    ours = [stack.executor, *stack.consumers]
    before = [peak_kib(process) for process in ours]
    _, flood, last = run(FLOOD)
    assert flood["stdout_bytes"] == 1 << 29
    assert len(flood["stdout"]) <= 16 << 10
    assert int(last["result"]) < 64 << 10, "KiB of the code's own process"
    for process, kib in zip(ours, before):
        assert peak_kib(process) - kib < 200 << 10, process.args[0]


# --- displays and files


def test_every_form_of_a_display_is_a_blob(stack, quern, one):
    code = """from IPython.display import HTML, display
class Rich:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "rich", "text/html": "<b>rich</b>",
                "application/json": {"a": 1}, "text/latex": "$x$",
                "application/x-odd": "odd", "image/svg+xml": "<svg/>"}
display(Rich())
"""
    cell = one(code, "--out", "here")
    [display] = cell["displays"]
    assert display["text"] == "rich"
    parts = {part["mime"]: part for part in display["parts"]}
    assert parts["text/html"]["name"].endswith(".html")
    assert blob(stack, parts["text/html"]["blob"]) == b"<b>rich</b>"
    assert json.loads(blob(stack, parts["application/json"]["blob"])) == {"a": 1}
    assert blob(stack, parts["text/latex"]["blob"]) == b"$x$"
    assert blob(stack, parts["application/x-odd"]["blob"]) == b"odd"
    assert parts["image/svg+xml"]["name"] == "figure-1.svg"
    active = {mime for mime, part in parts.items() if part["active"]}
    assert active == {"text/html", "application/x-odd"}
    for part in parts.values():
        saved = (quern.cwd / part["saved"]).read_bytes()
        assert saved == blob(stack, part["blob"]) and len(saved) == part["bytes"]
    assert len({part["name"] for part in parts.values()}) == len(parts) == 5


def test_a_figure_is_a_part_and_an_image(stack, one):
    cell = one("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
    [display] = cell["displays"]
    part = display["parts"][0]
    assert part["mime"] == "image/png" and part["width"] > part["height"] > 100
    assert blob(stack, part["blob"])[:8] == b"\x89PNG\r\n\x1a\n"
    assert part["saved"] is None  # nobody asked


def test_an_image_that_may_act_is_marked_wherever_it_is_told(stack, quern, one):
    """The mark is the consumer's: a cell cannot set it."""
    code = """from IPython.display import SVG, display
display(SVG('<svg><rect width="1"/></svg>'))
display(SVG('<svg onload="alert(1)"/>'))
display({"image/svg+xml": '<svg><script/></svg>', "active": "false"}, raw=True)
import io, matplotlib.pyplot as plt
plt.plot([1, 3, 2], label="a & b"); plt.legend(); plt.title("3 > 2")
file = io.StringIO(); plt.savefig(file, format="svg"); plt.close()
display(SVG(file.getvalue()))
"""
    cell = one(code)
    parts = [part for shown in cell["displays"] for part in shown["parts"]]
    marks = [p["active"] for p in parts if p["mime"] == "image/svg+xml"]
    assert marks == [False, True, True, False]
    job = cell["job"]
    [result] = quern.json("get", job)
    images = result["result"]["images"]
    assert [image.get("active", False) for image in images] == marks
    events = quern.json("watch", job)
    told = [e["data"]["image"] for e in events if e["type"] == "image"]
    assert [image.get("active", False) for image in told] == marks


def test_more_than_a_job_may_display_is_noted(one):
    code = """class Rich:
    def _repr_mimebundle_(self, **_):
        return {"text/plain": "x", **{f"text/x-{i}": "y" for i in range(15)}}
for _ in range(20): display(Rich())
"""
    cell = one(code)
    assert len(cell["displays"]) == 20
    assert sum(len(display["parts"]) for display in cell["displays"]) == 256
    assert "256" in cell["notes"]


def named(files):
    """By path, decoded where it is no text."""

    def path(file):
        path = file["path"]
        return base64.b64decode(path["base64"]) if isinstance(path, dict) else path

    return {path(file): file for file in files}


def test_files_are_what_changed_in_the_workspace(stack, quern, run):
    code = """import os
os.mkdir("dir")
open("dir/a.csv", "w").write("1")
open("dir_a.csv", "w").write("22")
open(b"caf\\xe9 \\n", "w").write("333")
# %%
open("dir/a.csv", "a").write("1")
os.remove("dir_a.csv")
open("empty", "w")
# %%
open("dir/a.csv").read()
"""
    first, second, third = run(code, "--out", "here")
    files = named(first["files"])
    assert set(files) == {"dir/a.csv", "dir_a.csv", b"caf\xe9 \n"}
    assert {file["change"] for file in files.values()} == {"new"}
    assert len({file["name"] for file in files.values()}) == 3
    wrote = {"dir/a.csv": b"1", "dir_a.csv": b"22", b"caf\xe9 \n": b"333"}
    for path, data in wrote.items():
        assert blob(stack, files[path]["blob"]) == data
        assert (quern.cwd / files[path]["saved"]).read_bytes() == data
    later = named(second["files"])
    assert {path: file["change"] for path, file in later.items()} == {
        "dir/a.csv": "changed",
        "dir_a.csv": "deleted",
        "empty": "new",
    }
    assert later["dir/a.csv"]["name"] == files["dir/a.csv"]["name"]
    assert blob(stack, later["dir/a.csv"]["blob"]) == b"11"
    assert later["dir_a.csv"]["blob"] == "" and later["empty"]["bytes"] == 0
    assert third["files"] == []


WROTE = "open('a', 'w').write('1' * 99); import os; from pathlib import Path"

OTHER_BYTES = """was = os.stat('a'); open('a', 'r+').write('2')
os.utime('a', ns=(was.st_atime_ns, was.st_mtime_ns))"""

# After WROTE.
AGAIN = [
    ("written again with the same bytes", "open('a', 'w').write('1' * 99)", {}),
    ("touched", "Path('a').touch()", {}),
    ("of another mode", "os.chmod('a', 0o600)", {}),
    (
        "another file with the same bytes took its name",
        "Path('b').write_text('1' * 99); os.replace('b', 'a')",
        {},
    ),
    ("deleted and written anew", "os.remove('a'); Path('a').write_text('1' * 99)", {}),
    (
        "changed and changed back",
        "Path('a').write_text('2'); Path('a').write_text('1' * 99)",
        {},
    ),
    (
        "other bytes, its length and times put back",
        OTHER_BYTES,
        {"a": "changed"},
    ),
    ("longer", "open('a', 'a').write('1')", {"a": "changed"}),
    (
        "a second one with its bytes",
        "import shutil; shutil.copy2('a', 'b'); Path('a').touch()",
        {"b": "new"},
    ),
    (
        "the same, and then killed",
        "Path('a').write_text('1' * 99); os._exit(1)",
        {},
    ),
    (
        "other bytes, and then killed",
        "Path('a').write_text('2' * 99); os._exit(1)",
        {"a": "changed"},
    ),
]


@pytest.mark.parametrize("code, changes", rows(AGAIN))
def test_what_has_the_same_bytes_is_no_change(stack, run, code, changes):
    killed = "_exit" in code
    _, cell = run(f"{WROTE}\n# %%\n{code}", exit=int(killed))
    assert cell["state"] == ("rolled_back" if killed else "kept")
    assert {file["name"]: file["change"] for file in cell["files"]} == changes
    told = [event for event in stack.events(cell["job"]) if event["type"] == "file"]
    assert [event["data"]["file"]["name"] for event in told] == ["a", *changes]


def test_the_same_bytes_are_those_of_the_last_version(run):
    """Not of any; nor of one that was deleted since."""
    cells = ["write_text('1')", "write_text('2')", "write_text('1')"]
    cells += ["write_text('1')", "unlink()", "write_text('1')"]
    code = "\n# %%\n".join(f"a.{cell}" for cell in cells)
    found = run(f"from pathlib import Path\na = Path('a')\n{code}")
    changes = [[file["change"] for file in cell["files"]] for cell in found]
    assert changes == [["new"], ["changed"], ["changed"], [], ["deleted"], ["new"]]


def test_what_is_there_anew_is_new_though_nobody_was_told_that_it_was_deleted(run):
    """Of so many that were deleted not all are listed."""
    *_, deleted, again = run("""from pathlib import Path
Path("z").write_text("1")
# %%
for i in range(140): Path(f"a{i}").touch()
# %%
for path in Path().iterdir(): path.unlink()
# %%
Path("z").write_text("1")
""")
    assert "z" not in named(deleted["files"])
    assert [file["change"] for file in again["files"]] == ["new"]


def test_files_that_are_no_change_take_nothing_of_a_jobs_share(quern, run):
    """A job may leave 64 files: here 64 that it was given, and 64 of its own."""
    args = []
    for i in range(64):
        (quern.cwd / f"in{i}").write_text(str(i))
        args += ["--file", f"in{i}"]
    code = """from pathlib import Path
for i in range(64): Path(f"in{i}").write_text(str(i))
# %%
for i in range(64): Path(f"out{i}").touch()
"""
    first, second = run(code, *args)
    assert first["files"] == []
    assert len(second["files"]) == 64 and all(file["blob"] for file in second["files"])


def test_more_files_than_a_job_may_leave_are_told(stack, one):
    cell = one("for i in range(200): open(f'{i:03}.txt', 'w').write(str(i))")
    files = cell["files"]
    assert len(files) == 128 and "72 more" in cell["notes"]
    kept = [file for file in files if file["blob"]]
    assert len(kept) == 64
    assert all("64 files" in file["note"] for file in files if not file["blob"])
    result = stack.result(cell["job"])
    assert [f["name"] for f in result["files"]] == [f["name"] for f in kept]


def test_the_second_of_two_jobs_sees_its_own_changes_only(one):
    one("open('a.txt', 'w').write('1')", "--session", "files")
    cell = one("open('b.txt', 'w').write('1')", "--session", "files")
    assert [file["name"] for file in cell["files"]] == ["b.txt"]


# --- when it is not the code's fault


def test_a_job_that_ends_without_its_cells_says_why(quern):
    out, err, returned = quern.run(
        "exec", "--json", "--deadline", "300ms", "-", stdin="while True: pass"
    )
    assert (out, returned) == ("", 1)
    assert json.loads(err)["error"]["code"] == "deadline_exceeded"
