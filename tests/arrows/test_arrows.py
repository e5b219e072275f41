"""The tree and the binaries obey the arrows, and a breach would be seen."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from arrows import check_binaries, check_functions, files_of, violations

TREE = pathlib.Path(__file__).resolve().parents[2]

# (what is done wrong, file, text added to it)
BREACHES = [
    ("a producer includes the consumer", "producer/x.c", '"consumer/model/model.h"'),
    ("a consumer includes the producer", "consumer/x.c", '"producer/quern.h"'),
    ("a consumer embeds Python", "consumer/x.h", "<Python.h>"),
    ("schemas points at a room", "schemas/redis/x.c", '"executor/box/walls.h"'),
    ("schemas/message asks the clock", "schemas/message/x.c", "<time.h>"),
    ("schemas/message uses libuv", "schemas/message/x.h", "<uv.h>"),
    ("schemas/message needs Redis", "schemas/message/x.c", '"../redis/link.h"'),
    ("the warden embeds Python", "executor/warden/x.c", "<Python.h>"),
    ("the box embeds Python", "executor/box/x.c", "<Python.h>"),
    ("the executor speaks Redis", "executor/warden/x.c", "<hiredis/hiredis.h>"),
    ("the executor uses our Redis", "executor/x.c", '"schemas/redis/link.h"'),
    ("the guest speaks HTTP", "executor/guest/x.c", "<curl/curl.h>"),
    ("the warden speaks to the network", "executor/warden/x.c", "<netdb.h>"),
    ("the queue knows attempts", "consumer/queue/x.c", '"consumer/job/attempt.h"'),
    ("the queue knows cells", "consumer/queue/x.c", '"consumer/activity/activity.h"'),
    ("outputs know cells", "consumer/output/x.h", '"../activity/activity.h"'),
    ("sessions know attempts", "consumer/python/x.c", '"consumer/job/attempt.h"'),
    ("a decision writes", "consumer/conversation/x.c", '"consumer/job/journal.h"'),
    ("models know turns", "consumer/model/x.c", '"../activity/model_turn.h"'),
    ("tools know who calls", "consumer/tools/x.c", '"../activity/tool_calls.h"'),
    ("the queue drains", "consumer/queue/x.c", '"consumer/service.h"'),
    ("an include is indented", "executor/box/x.c", "   <curl/curl.h>"),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A copy of the tree, which git knows."""
    tree = tmp_path_factory.mktemp("tree")
    for path in files_of(TREE):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TREE / path, tree / path)
    git(tree, "init", "-q")
    git(tree, "add", "--all")
    return tree


@pytest.fixture
def copy(whole):
    """The copy, to which a test may add files: they are gone after it."""
    yield whole
    git(whole, "clean", "-qfd")


@pytest.fixture(scope="module")
def known():
    """What is wrong with the tree itself."""
    return violations(TREE)


def git(tree, *words):
    subprocess.run(["git", "-C", tree, *words], check=True)


def seeded(copy, known):
    """What is wrong with the copy and not with the tree."""
    return [line for line in violations(copy) if line not in known]


def test_tree_obeys(known):
    assert not "\n".join(known)


def test_functions_obey():
    build = pathlib.Path(os.environ["QUERN_BUILD"])
    assert not "\n".join(check_functions(TREE, files_of(TREE), build))


def test_binaries_obey():
    bin_dir = pathlib.Path(os.environ["QUERN_BUILD"], "bin")
    assert not "\n".join(check_binaries(bin_dir))


@pytest.mark.parametrize(
    "path, include", [b[1:] for b in BREACHES], ids=[b[0] for b in BREACHES]
)
def test_include_is_seen(copy, known, path, include):
    (copy / path).parent.mkdir(parents=True, exist_ok=True)
    (copy / path).write_text(f"#include {include}\n")
    found = seeded(copy, known)
    assert found
    assert all(line.startswith(f"{path}:1: includes ") for line in found)


@pytest.mark.parametrize("call", ["command_init", "command_add_text"])
def test_call_is_seen(copy, known, call):
    text = f'/* {call}( */\nvoid f(void)\n{{\n    {call}(&command, "GET");\n}}\n'
    (copy / "consumer" / "x.c").write_text(text)
    said = f"consumer/x.c:4: calls {call}(): schemas/redis builds the commands"
    assert seeded(copy, known) == [said]


def test_unknown_top_level_is_seen(copy, known):
    (copy / "lib").mkdir()
    (copy / "lib" / "util.c").write_text("int x;\n")
    assert seeded(copy, known) == ["lib: the top level does not know it"]


CALL = "void one(void); void two(void) { one(); }"
NOT_TOLD = "consumer/a.c: defines one(), which {} does not tell"

# (what there is, files, what is said of one())
FUNCTIONS = [
    (
        "nobody calls it",
        {"consumer/one.h": "void one(void);", "consumer/one.c": "void one(void) {}"},
        ["consumer/one.c: no other file calls one()"],
    ),
    (
        "only its own file calls it",
        {"consumer/one.c": "void one(void) {} int main(void) { one(); }"},
        ["consumer/one.c: no other file calls one()"],
    ),
    (
        "only a test calls it",
        {"consumer/one.c": "void one(void) {}", "tests/unit/two.c": CALL},
        ["consumer/one.c: no other file calls one()"],
    ),
    (
        "only another program calls one of that name",
        {"consumer/one.c": "void one(void) {}", "executor/two.c": CALL},
        ["consumer/one.c: no other file calls one()"],
    ),
    (
        "programs of another room call it",
        {"schemas/one.c": "void one(void) {}", "executor/two.c": CALL},
        [],
    ),
    (
        "it is in no header",
        {"consumer/a.c": "void one(void) {}", "consumer/two.c": CALL},
        [NOT_TOLD.format("no header beside it")],
    ),
    (
        "it is in the header of another file",
        {
            "consumer/b.h": "/* of a.c */\nvoid one(void);",
            "consumer/a.c": "void one(void) {}",
            "consumer/two.c": CALL,
        },
        [NOT_TOLD.format("consumer/b.h")],
    ),
    (
        "it is in the header of its file",
        {
            "consumer/a.h": "/* a */\nvoid one(void);",
            "consumer/a.c": "void one(void) {}",
            "consumer/two.c": CALL,
        },
        [],
    ),
    (
        "its header is in another folder",
        {
            "schemas/a.h": "/* a */\nvoid one(void);",
            "consumer/a.c": "void one(void) {}",
            "consumer/two.c": CALL,
        },
        [NOT_TOLD.format("no header beside it")],
    ),
    (
        "its header names the file above it",
        {
            "consumer/b.h": "/* b */\n/* a.c: ... */\nint x(void);\nvoid one(void);",
            "consumer/a.c": "void one(void) {}",
            "consumer/two.c": CALL,
        },
        [],
    ),
    (
        "its header names the file, and then another",
        {
            "consumer/b.h": "/* b */\n/* a.c */\n/* c.c */\nvoid one(void);",
            "consumer/a.c": "void one(void) {}",
            "consumer/two.c": CALL,
        },
        [NOT_TOLD.format("consumer/b.h")],
    ),
    (
        "its header names the file behind it",
        {
            "consumer/b.h": "/* b */\ntypedef void f(void);\nf one, x; /* a.c */",
            "consumer/a.c": "void one(void) {}",
            "consumer/two.c": CALL,
        },
        [],
    ),
    (
        "its header names the file behind another one",
        {
            "consumer/b.h": "/* b */\nint x(void); /* a.c */\nvoid one(void);",
            "consumer/a.c": "void one(void) {}",
            "consumer/two.c": CALL,
        },
        [NOT_TOLD.format("consumer/b.h")],
    ),
    (
        "clients call it",
        {
            "producer/client/quern.h": "void one(void);",
            "producer/client/a.c": "void one(void) {}",
        },
        [],
    ),
]


@pytest.mark.parametrize(
    "files, said", [row[1:] for row in FUNCTIONS], ids=[row[0] for row in FUNCTIONS]
)
def test_function_is_seen(tmp_path, files, said):
    units = []
    for path, text in files.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if file.suffix == ".c":
            command = f"cc -c -o {file}.o {file}"
            subprocess.run(command.split(), check=True)
            units.append({"directory": "/", "file": str(file), "command": command})
    (tmp_path / "compile_commands.json").write_text(json.dumps(units))
    paths = [pathlib.PurePosixPath(path) for path in files]
    found = check_functions(tmp_path, paths, tmp_path)
    assert [line for line in found if "one()" in line] == said


# (binary, source, flags, what is said of it)
BINARIES = [
    (
        "quern-executor",
        "int Py_IsInitialized(void); int main(void){return Py_IsInitialized();}"
        "int Py_IsInitialized(void) { return 1; }",
        [],
        "quern-executor: uses Py_IsInitialized: the trusted side has no Python",
    ),
    (
        "quern-box",
        "int connect(int, void *, int); int main(void) { return connect(1, 0, 0); }",
        [],
        "quern-box: uses connect: it opens a door, and goes nowhere",
    ),
    (
        "quern-executor",
        "int getaddrinfo(void); int main(void) { return getaddrinfo(); }",
        [],
        "quern-executor: uses getaddrinfo: it knows no names",
    ),
    (
        "quern-consumer",
        "int main(void) { return 0; }",
        ["python3-embed"],
        "quern-consumer: loads libpython",
    ),
    (
        "quern-consumer",
        "int main(void) { return 0; }",
        ["gumbo"],
        "quern-consumer: loads libgumbo",
    ),
    (
        "quern-executor",
        "int main(void) { return 0; }",
        ["hiredis"],
        "quern-executor: loads libhiredis",
    ),
]


@pytest.mark.parametrize(
    "binary, source, library, said", BINARIES, ids=[b[3] for b in BINARIES]
)
def test_binary_is_seen(tmp_path, binary, source, library, said):
    (tmp_path / "x.c").write_text(source)
    flags = (
        subprocess.check_output(["pkg-config", "--libs", *library], text=True)
        if library
        else ""
    )
    subprocess.run(
        ["cc", "-o", tmp_path / binary, tmp_path / "x.c"]
        + ["-Wl,--no-as-needed", *flags.split()],
        check=True,
    )
    found = [x for x in check_binaries(tmp_path) if "not in" not in x]
    assert found and all(line.startswith(said) for line in found)
