"""resolve.py - asks pip which wheels a request needs, and fetches them.

pip knows indexes, proxies, certificates, tags and conflicts. What the distribution has
installed is given to it as fixed, so that no wheel needs another numpy than the one
that is loaded. pip only decides; it installs nothing.
"""

import hashlib
import importlib.metadata
import json
import os
import re
import sys
import urllib.parse
import urllib.request

from names import NAME, Refused, normal, printable

CHUNK = 1 << 20
ALWAYS = (
    "--only-binary=:all:",
    "--no-input",
    "--disable-pip-version-check",
    "--progress-bar=off",
    "--quiet",
)


def pip_version():
    try:
        from pip import __version__
    except ImportError as error:
        raise Refused("there is no pip here (Debian's python3-pip)") from error
    if int(__version__.partition(".")[0]) < 23:
        raise Refused(f"pip {__version__} is too old, at least 23 is needed")
    return f"pip {__version__}"


class Wheel:
    def __init__(self, name, version, url, sha256):
        self.name, self.version, self.url, self.sha256 = name, version, url, sha256
        self.file = None  # where it is on this machine


def pip(work, *args):
    """Runs pip; gives what it complained about, or "" when all is well."""
    from pip._internal.cli.main import main

    log = os.path.join(work, "pip.log")
    saved = [os.dup(1), os.dup(2)]
    with open(log, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        code = main(list(args))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for fd, copy in enumerate(saved, 1):
            os.dup2(copy, fd)
            os.close(copy)
    if code == 0:
        return ""
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = file.read(64 << 10).splitlines()
    errors = [line[7:] for line in lines if line.startswith("ERROR: ")]
    return printable(" ".join(errors[-2:]) or f"pip ended with {code}", 300)


def options(source, work):
    chosen = [*ALWAYS, f"--cache-dir={work}/cache"]
    if source != "index":
        chosen += ["--no-index", f"--find-links={source}"]
    return chosen


def write_constraints(path, session):
    """Writes down what is installed, for pip to keep as it is. Some packages of Debian
    do not know their version: these are left out."""
    given = {
        normal(found.metadata["Name"] or ""): found.version
        for found in importlib.metadata.distributions()
        if found.version not in (None, "0.0.0")
    }
    given.update({normal(name): version for name, version in session})
    with open(path, "w", encoding="utf-8") as file:
        for name, version in given.items():
            if re.fullmatch(r"[A-Za-z0-9.+!]+", version) and name:
                file.write(f"{name}=={version}\n")


def resolve(requirements, source, session, work):
    """Gives the wheels that are missing, as [Wheel]. session: [(name, version)] of what
    was installed into it before."""
    report = os.path.join(work, "report.json")
    constraints = os.path.join(work, "constraints.txt")
    write_constraints(constraints, session)
    complaint = pip(
        work,
        "install",
        "--dry-run",
        f"--report={report}",
        f"--constraint={constraints}",
        *options(source, work),
        "--",
        *requirements,
    )
    if complaint:
        raise Refused(f"pip finds no wheels for it: {complaint}")
    with open(report, encoding="utf-8") as file:
        installs = json.load(file)["install"]
    return [read_wheel(install) for install in installs]


def read_wheel(install):
    name = install["metadata"]["name"]
    version = install["metadata"]["version"]
    info = install["download_info"]
    url = info["url"]
    path = urllib.parse.urlsplit(url).path
    if not re.fullmatch(NAME, name) or not re.fullmatch(r"[A-Za-z0-9.+!_-]+", version):
        raise Refused(f"{printable(name)} {printable(version)} is no package")
    if install.get("is_direct") or not path.endswith(".whl"):
        raise Refused(f"{printable(name)} is not a wheel of an index or folder")
    sha256 = info.get("archive_info", {}).get("hashes", {}).get("sha256")
    wheel = Wheel(name, version, url, sha256)
    if url.startswith("file:"):
        wheel.file = urllib.request.url2pathname(path)
        wheel.sha256 = hash_of(wheel.file)
    if not re.fullmatch(r"[0-9a-f]{64}", wheel.sha256 or ""):
        raise Refused(f"the index tells no hash of {printable(name)}")
    return wheel


def fetch(wheels, source, work):
    """Fetches the wheels that are not here yet; refuses a file with another hash."""
    wanted = [wheel for wheel in wheels if not wheel.file]
    if not wanted:
        return
    folder = os.path.join(work, "wheels")
    listing = os.path.join(work, "wheels.txt")
    with open(listing, "w", encoding="utf-8") as file:
        for wheel in wanted:
            file.write(f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    complaint = pip(
        work,
        "download",
        "--no-deps",
        "--require-hashes",
        f"--dest={folder}",
        f"--requirement={listing}",
        *options(source, work),
    )
    if complaint:
        raise Refused(f"it could not be downloaded: {complaint}")
    files = {}
    for name in os.listdir(folder):
        files[hash_of(os.path.join(folder, name))] = os.path.join(folder, name)
    for wheel in wanted:
        if wheel.sha256 not in files:
            raise Refused(f"{wheel.name} came with another hash than it should")
        wheel.file = files[wheel.sha256]


def hash_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
