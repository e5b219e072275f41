"""Scripts that need a build say how it is made, in a sentence."""

import os
import subprocess

import pytest
from servers import BUILD, SOURCE


def run(script, *args, **env):
    return subprocess.run(
        [os.path.join(SOURCE, script), *args],
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    "script, args",
    [
        ("tests/fault/run", ["R1"]),
        ("tests/replay", [__file__]),
        ("tests/transcripts", [__file__]),
    ],
)
def test_a_build_that_lacks_what_it_needs(script, args, tmp_path):
    """Before: a traceback."""
    done = run(script, *args, QUERN_BUILD=str(tmp_path))
    assert done.returncode == 69, done
    [line] = done.stderr.splitlines()
    assert f"QUERN_BUILD is {tmp_path}, which has no bin/" in line
    assert "cmake --build --preset" in line


@pytest.mark.parametrize("script", ["tests/replay", "tests/transcripts"])
def test_a_pack_that_is_not_there(script):
    done = run(script, "/nowhere/pack.jsonl")
    assert done.returncode == 66
    assert done.stderr == f"{script}: /nowhere/pack.jsonl cannot be read\n"


def test_what_is_built_is_the_program(tmp_path):
    """Before: "quern" built the library of that name, and bin/quern was not there."""
    asked = tmp_path / "asked"
    cmake = tmp_path / "cmake"
    cmake.write_text(f'#!/bin/sh\necho "$@" >>{asked}\n')
    cmake.chmod(0o755)
    done = run("tests/built", "dev", "quern", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 0, done
    target = asked.read_text().split()[-1]
    rule = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "query", target], capture_output=True, text=True
    ).stdout
    assert "EXECUTABLE_LINKER" in rule, (target, rule)
