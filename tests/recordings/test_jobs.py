"""Recorded jobs, done again by the consumer of today: each is equal, or what
differs first is shown. See "The same jobs again" in tests/README.md."""

import pathlib
import subprocess

import pytest
from servers import binary

PACK = sorted((pathlib.Path(__file__).parent / "jobs").glob("*.jsonl"))


@pytest.mark.parametrize("path", PACK, ids=lambda path: path.stem)
def test_a_recorded_job_is_done_again(path):
    args = [binary("quern-replay"), "--prompts", "", path]  # whatever is set here
    done = subprocess.run(args, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "equal in" in done.stdout


def test_there_are_some():
    assert len(PACK) >= 20
