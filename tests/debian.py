"""Debian's packages, unpacked beside the build and not installed, since an installed
server would be started: made once, by whoever comes first."""

import fcntl
import pathlib
import shutil
import subprocess

import pytest
from servers import BUILD


def unpacked(package):
    """The folder with the package's files."""
    place = pathlib.Path(BUILD).resolve().parent / f"deb-{package}"
    with open(f"{place}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            if not shutil.which("apt-get"):
                pytest.skip("no apt-get here")
            fresh = place.with_suffix(".new")
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            got = subprocess.run(
                ["apt-get", "download", package], cwd=fresh, capture_output=True, text=True
            )
            if got.returncode != 0:
                pytest.skip(f"{package} cannot be had: {got.stderr[-200:]}")
            [deb] = fresh.glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", deb, fresh], check=True)
            fresh.rename(place)
    return place
