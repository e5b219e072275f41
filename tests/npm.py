"""Packages of npm that are no part of quern, in a folder of their own beside the
build: made once for each package-lock.json, by whoever comes first."""

import fcntl
import hashlib
import os
import shutil
import subprocess

import pytest
from servers import BUILD

INSTALL = "npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1"
OUT_OF_REACH = (
    "ENOTFOUND EAI_AGAIN ECONNREFUSED ECONNRESET ETIMEDOUT ENETUNREACH EHOSTUNREACH "
    "ERR_SOCKET_TIMEOUT"
).split()


def program_with(locked, program):
    """The path of a copy of the program, a file in the folder `locked`, from which
    it finds the packages that package.json and package-lock.json there name: Node.js
    looks for them beside the program alone."""
    with open(os.path.join(locked, "package-lock.json"), "rb") as lock:
        digest = hashlib.sha256(lock.read()).hexdigest()[:12]
    beside = os.path.dirname(os.path.abspath(BUILD))
    place = os.path.join(beside, f"npm-{digest}")
    copy = os.path.join(place, program)
    with open(f"{place}.lock", "w") as one_at_a_time:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        install(locked, place)
        shutil.copy(os.path.join(locked, program), f"{copy}.new")
        os.replace(f"{copy}.new", copy)
    return copy


def install(locked, place):
    made = os.path.join(place, "made")
    if os.path.exists(made):
        return
    os.makedirs(place, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(locked, name), place)
    done = subprocess.run(
        INSTALL.split(),
        cwd=place,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode != 0 and any(
        f"code {why}" in done.stderr for why in OUT_OF_REACH
    ):
        pytest.skip(f"the registry of npm is out of reach: {done.stderr[-200:]}")
    assert done.returncode == 0, f"{INSTALL}: {done.stderr[-2000:]}"
    with open(made, "w"):
        pass
