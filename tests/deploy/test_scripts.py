"""Scripts that need a build say how it is made, in a sentence."""

import os
import subprocess

import pytest
from servers import SOURCE


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
