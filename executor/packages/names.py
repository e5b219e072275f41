"""names.py - what may be asked for: packages by name, and in no other way.

A requirement is a name, extras, and versions ("pandas[excel]>=2,<3"): never an
address, a path, an option or a condition, which pip would follow.
"""

import pathlib
import re

MAX_REQUIREMENTS = 32
MAX_BYTES = 200

NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+"
REQUIREMENT = re.compile(
    rf"({NAME})\s*(?:\[\s*{NAME}(?:\s*,\s*{NAME})*\s*\])?\s*"
    rf"(?:{VERSION}(?:\s*,\s*{VERSION})*)?"
)
MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Refused(Exception):
    """Raised when nothing is installed; the sentence is for the model and the log."""


def normal(name):
    """Gives a name in the form in which indexes compare names (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(requirement):
    """Gives the package that a requirement names."""
    if len(requirement) > MAX_BYTES or not requirement.isascii():
        raise Refused("a requirement is at most 200 characters of ASCII")
    match = REQUIREMENT.fullmatch(requirement.strip())
    if not match:
        raise Refused(
            f'"{printable(requirement)}" is not a package: only a name, with or '
            "without versions, can be installed"
        )
    return match[1]


def package_of(module, file):
    """Gives the package that has a module."""
    if not MODULE.fullmatch(module) or len(module) > MAX_BYTES:
        raise Refused("that is not the name of a module")
    for line in pathlib.Path(file).read_text("utf-8").splitlines():
        names = line.split()
        if names[:1] == [module]:
            return names[1]
    return module.replace("_", "-").strip("-")


class Allowed:
    """The operator's list: names by comma, or a file with one a line, or "*"
    for every package. What an allowed package needs comes along."""

    def __init__(self, text):
        if text and pathlib.Path(text).is_file():
            lines = pathlib.Path(text).read_text("utf-8").splitlines()
            names = [line.partition("#")[0].strip() for line in lines]
        else:
            names = [name.strip() for name in (text or "").split(",")]
        self.names = {name if name == "*" else normal(name) for name in names if name}

    def check(self, name):
        if "*" not in self.names and normal(name) not in self.names:
            raise Refused(f"{name} is not on this executor's list of packages")


def printable(text, limit=80):
    kept = "".join(c if c.isprintable() else "?" for c in text)
    return kept if len(kept) <= limit else kept[: limit - 3] + "..."
