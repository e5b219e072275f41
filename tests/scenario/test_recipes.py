"""Each recipe is run as it is pasted, on one stack, and prints what it says.
Nothing in the pages is left untried, and what tries it would notice."""

import os
import pathlib
import re
import sys
import tempfile

import pytest
import recipes
from clients import node_folder
from recipes import Block, Recipe, is_seen
from servers import SOURCE

sys.path.append(os.path.join(SOURCE, "tests", "packages"))
from wheels import wheel  # noqa: E402

PAGES = ["producer/RECIPES.md", "deploy/RECIPES.md"]
ALL = [recipe for page in PAGES for recipe in recipes.read(page)[1]]
pages = pytest.mark.parametrize("page", PAGES)
MOST_LINES = 40  # of a file, or of all that is pasted into the shell
COMMA = 'def intcomma(number):\n    return f"{number:,}"\n'


@pytest.fixture(scope="module")
def env(stack):
    with recipes.environment(stack) as env:
        yield env


@pytest.fixture(scope="module")
def index():
    """What pip takes in place of PyPI, which may be out of reach."""
    with tempfile.TemporaryDirectory(prefix="quern-index-") as folder:
        wheel(pathlib.Path(folder), "humanize", {"humanize.py": COMMA})
        yield {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folder}


@pytest.fixture(scope="module")
def runs(request, env, index):
    """All that are to be looked at, several at a time."""
    modules = os.path.join(node_folder().name, "node_modules")
    return recipes.run_all(recipes.wanted(request), {**env, **index}, modules)


@pytest.mark.parametrize("recipe", ALL, ids=str)
def test_it_prints_what_it_says(recipe, runs):
    runs[recipe.title].check()


# --- the pages


@pages
def test_every_block_of_every_recipe_is_run(page):
    _, found = recipes.read(page)
    assert len(found) > 9
    faults = [f"{one.title}: {fault}" for one in found for fault in one.faults()]
    assert faults == []


def test_there_are_no_others():
    there = [
        os.path.relpath(os.path.join(folder, "RECIPES.md"), SOURCE)
        for folder, folders, files in os.walk(SOURCE)
        if not folders.sort() and "RECIPES.md" in files
    ]
    assert sorted(there) == sorted(PAGES)


@pages
def test_a_recipe_is_short(page):
    for one in recipes.read(page)[1]:
        for text in [one.shell(), *one.files().values()]:
            assert len(text.splitlines()) <= MOST_LINES, one.title


@pages
def test_prose_is_not_wide(page):
    assert [line for line in recipes.prose(page) if len(line) > 120] == []


def test_titles_differ():
    assert len({recipe.title for recipe in ALL}) == len(ALL)


@pages
def test_what_is_set_is_what_quickstart_sets(page, env):
    """A recipe may count on no other variable than a reader has."""
    with open(os.path.join(SOURCE, "deploy/quickstart")) as quickstart:
        exported = set(re.findall(r"^export (\w+)=", quickstart.read(), re.M))
    given = {*env} - {"TREE", "LC_ALL"}
    assert given <= exported
    head, _ = recipes.read(page)
    assert given | {"TREE"} <= {*re.findall(r"\w+", head)}


# --- would a mistake be noticed?

HELLO = Block("sh", "python3 hello.py\n")
FILE = Block("python", '# hello.py - says hello\nprint("hello")\n')
SEEN = Block("text", "hello\n")


@pytest.mark.parametrize(
    "blocks, fault",
    [
        ([FILE, HELLO, SEEN], None),
        ([FILE, HELLO], "it does not end with what is seen"),
        ([FILE, SEEN], "no shell block stands before what is seen: hello"),
        ([FILE, Block("sh", "true\n"), SEEN], "nothing runs hello.py"),
        ([Block("python", "print()\n"), HELLO, SEEN],
         "nothing runs this block, which names no file: print()"),
        ([], "nothing is run"),
    ],
)  # fmt: skip
def test_what_is_not_run_is_told(blocks, fault):
    told = list(Recipe("x", blocks).faults())
    assert told == [] if fault is None else fault in told


@pytest.mark.parametrize(
    "said, printed, seen",
    [
        ("hello", "hello\n", True),
        ("hello", "hallo\n", False),
        ("hello", "hello\nthere\n", False),
        ("hello", "", False),
        ("in ... ms", "in 12 ms\n", True),
        ("in ... ms", "in 12\n ms\n", False),
        ("a\n...\nb", "a\nb\n", True),
        ("a\n...\nb", "a\n1\n2\nb\n", True),
        ("a\n...\nb", "a\n1\n2\n", False),
        ("a.b", "axb\n", False),
        ("NAME  SIZE", "NAME    SIZE\n", True),
        ("a name", "a  name\n", False),
    ],
)
def test_what_is_seen(said, printed, seen):
    assert is_seen(said, printed) == seen


def run(*blocks):
    recipe = Recipe("x", list(blocks))
    return recipes.run_all([recipe], {"PATH": os.environ["PATH"]})["x"]


def test_a_recipe_that_prints_something_else_fails():
    run(FILE, HELLO, SEEN).check()
    with pytest.raises(AssertionError, match=r"(?s)-hello\n\+hallo.*went wrong"):
        hallo = Block("sh", "echo hallo; echo went wrong >&2\n")
        run(hallo, SEEN).check()
    with pytest.raises(AssertionError, match="-hello"):
        run(Block("sh", "exit 1\n"), SEEN).check()


def test_what_a_recipe_leaves_running_ends():
    over = run(Block("sh", "sleep 1000 & echo $!\n"), Block("text", "...\n"))
    pid = int(over.out.split()[0])
    assert is_gone(pid)


def is_gone(pid):
    """Or nobody has asked yet how it ended."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().split()[2] == "Z"
    except FileNotFoundError:
        return True


def test_ports_are_others_and_not_told():
    echo = Block("sh", "echo 127.0.0.1:8000 --port 8001; echo 8000 18000 >&2\n")
    over = run(echo, Block("text", "127.0.0.1:8000 --port 8001\n"))
    over.check()
    assert over.ports.keys() == {"8000", "8001"} and "8000" not in over.ports.values()
    assert over.err == "8000 18000\n"
