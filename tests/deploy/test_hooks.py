"""What is staged badly is no commit: .githooks/pre-commit.

With tools of the tests' own, which find one fault each, and with clang-format 14
and shellcheck where they are there: tests/run does not install them."""

import os
import pathlib
import shutil
import subprocess

import pytest
from servers import SOURCE

NEEDED = "git sh cat cmp grep head mktemp rm sed".split()
FORMATTED, UNFORMATTED = "int f(void);\n", "int  f(void);\n"
SOUND, UNSOUND = '#!/bin/sh\necho "$1"\n', "#!/bin/sh\necho $1\n"

FORMATTER = """#!/bin/sh
case $1 in
--version) echo "clang-format version {version}" ;;
*) sed 's/  */ /g' ;;
esac
"""
LINTER = """#!/bin/sh
! grep 'echo \\$1' "$1"
"""


def is_14(path):
    done = subprocess.run([path, "--version"], capture_output=True, text=True)
    return "version 14." in done.stdout


def real(*names, fits=lambda path: True):
    """The first of these that is installed and fits; [] or one path."""
    paths = filter(None, map(shutil.which, names))
    return [path for path in paths if fits(path)][:1]


class Clone:
    """A repository with our hook, and the tools that stand in a folder."""

    def __init__(self, folder):
        self.tree, self.tools = folder / "tree", folder / "tools"
        self.tools.mkdir()
        for name in NEEDED:
            self.add_tool(name, shutil.which(name))
        self.env = {
            "PATH": str(self.tools),
            "HOME": str(folder),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_NAME": "test" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "test@test" for who in ("AUTHOR", "COMMITTER")},
        }
        self.tree.mkdir()
        self.git("init", "-q")
        shutil.copytree(f"{SOURCE}/.githooks", self.tree / ".githooks")
        shutil.copy(f"{SOURCE}/.clang-format", self.tree)
        self.git("config", "core.hooksPath", ".githooks")

    def add_tool(self, name, path):
        (self.tools / name).symlink_to(path)

    def write_tool(self, name, text):
        (self.tools / name).write_text(text)
        (self.tools / name).chmod(0o755)

    def git(self, *words, code=0):
        done = subprocess.run(
            ["git", *words],
            cwd=self.tree,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == code, done
        return done.stdout + done.stderr

    def write(self, name, text):
        (self.tree / name).parent.mkdir(exist_ok=True)
        (self.tree / name).write_text(text)

    def stage(self, name, text):
        self.write(name, text)
        self.git("add", name)

    def commit(self, code=0):
        return self.git("commit", "-q", "-m", "a change", code=code)

    def commits(self):
        return len(self.git("rev-list", "--all").split())


FORMATTERS = ["of the tests", *real("clang-format-14", "clang-format", fits=is_14)]
LINTERS = ["of the tests", *real("shellcheck")]


@pytest.fixture
def bare(tmp_path):
    """With neither tool."""
    return Clone(tmp_path)


@pytest.fixture(params=FORMATTERS)
def formats(bare, request):
    if request.param == "of the tests":
        bare.write_tool("clang-format", FORMATTER.format(version="14.0.6"))
    else:
        bare.add_tool("clang-format", request.param)
    return bare


@pytest.fixture(params=LINTERS)
def lints(bare, request):
    if request.param == "of the tests":
        bare.write_tool("shellcheck", LINTER)
    else:
        bare.add_tool("shellcheck", request.param)
    return bare


def test_the_hook_can_be_run():
    assert os.access(pathlib.Path(SOURCE, ".githooks", "pre-commit"), os.X_OK)


@pytest.mark.parametrize("name", ["a.c", "a.h", "room/a b.c", "room/ä.c"])
def test_a_file_that_is_not_formatted_is_refused(formats, name):
    formats.stage(name, UNFORMATTED)
    said = formats.commit(code=1)
    assert f"pre-commit: {name} is not formatted; run: " in said
    assert formats.commits() == 0
    formats.stage(name, FORMATTED)
    assert formats.commit() == ""
    assert formats.commits() == 1


def test_all_that_is_refused_is_named_at_once(formats):
    for name in ("a.c", "b.c"):
        formats.stage(name, UNFORMATTED)
    formats.stage("c.c", FORMATTED)
    said = formats.commit(code=1)
    assert "a.c is not" in said and "b.c is not" in said
    assert "c.c is not" not in said


def test_what_is_staged_counts_and_not_what_lies_there(formats):
    formats.stage("a.c", UNFORMATTED)
    formats.write("a.c", FORMATTED)
    formats.commit(code=1)
    formats.stage("a.c", FORMATTED)
    formats.write("a.c", UNFORMATTED)
    formats.commit()


def test_what_was_there_before_is_let_be(formats):
    formats.stage("old.c", UNFORMATTED)
    formats.git("commit", "-q", "--no-verify", "-m", "before the hook")
    formats.stage("new.c", FORMATTED)
    formats.commit()


def test_a_file_that_is_removed_is_not_looked_at(formats):
    formats.stage("old.c", UNFORMATTED)
    formats.git("commit", "-q", "--no-verify", "-m", "before the hook")
    formats.git("rm", "-q", "old.c")
    formats.commit()


def test_a_script_that_is_not_sound_is_refused(lints):
    lints.stage("run", UNSOUND)
    said = lints.commit(code=1)
    assert "pre-commit: run has what shellcheck finds above" in said
    assert "echo $1" in said
    lints.stage("run", SOUND)
    lints.stage("notes.md", "    echo $1\n")
    lints.commit()


def test_another_release_of_the_formatter_has_no_say(bare):
    bare.write_tool("clang-format", FORMATTER.format(version="19.1.7"))
    bare.stage("a.c", UNFORMATTED)
    bare.commit()


def test_without_tools_nobody_is_held_up(bare):
    bare.stage("a.c", UNFORMATTED)
    bare.stage("run", UNSOUND)
    bare.commit()
