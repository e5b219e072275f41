"""Packages of PyPI that are no part of quern, each in an environment of its own,
beside the build: made once, by whoever comes first."""

import fcntl
import os
import subprocess

import pytest
from servers import BUILD


def python_with(package):
    """The Python that has it; package: "name==version"."""
    beside = os.path.dirname(os.path.abspath(BUILD))
    place = os.path.join(beside, package.replace("==", "-"))
    python, made = os.path.join(place, "bin", "python"), os.path.join(place, "made")
    with open(f"{place}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(made):
            run("/usr/bin/python3", "-m", "venv", "--clear", place)
            run(python, "-m", "pip", "install", "--quiet", "--retries", "1", package)
            with open(made, "w"):
                pass
    return python


def run(*command):
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=300
    )
    if done.returncode != 0 and "after connection broken by" in done.stderr:
        pytest.skip(f"PyPI is out of reach: {done.stderr[:200]}")
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr[-2000:]}"
