"""picture.py - the variables of a session as bytes, and back.

A picture is taken in one Python and restored in another, on another day, in
another box. What it holds is the session's own; unpickling it runs the
session's own code, in its box. Functions and classes of cells go along
(cloudpickle) to where Python is of the same version, modules are imported again.
What does not go along, or does not come back, is named with the reason: a
session never claims what is not there.

    quern picture 1, Python 3.11
    ["humanize==4.9.0"]               what was installed, and is again first
    ...                               the names, pickled and packed
"""

import contextlib
import importlib
import importlib.metadata
import json
import os
import pickle
import sys
import time
import zlib

import _quern

import __main__

from . import cell, missing, text, tools, unpickle

FORM = b"quern picture 1, Python "
HEADER = FORM + unpickle.HERE.encode() + b"\n"
OURS = {"__builtins__", "__cached__", "__doc__", "__file__", "__loader__"} | {
    "__name__",
    "__package__",
    "__spec__",
}

ROOM = _quern.MAX_PICTURE_BYTES - (256 << 10)  # of names; the rest beside them
PATIENCE_S = 4  # four times that is within the time of a save
PIECE_BYTES = 1 << 20

try:
    import cloudpickle
except ImportError:  # functions and classes of cells stay behind
    cloudpickle = None


def save():
    """Gives the same as cell.run(), and the picture. The result tells, as JSON, which
    names are saved and which are left, with the reason."""
    picture = b""

    def work():
        nonlocal picture
        picture, saved, left = take()
        return report(saved=sorted(saved), left=left, packages=installed())

    return (*cell.guarded(work), picture)


def restore(picture):
    """Gives the same as cell.run(). The result tells, as JSON, which names are restored
    and which are left, with the reason."""

    def work():
        restored, left = put_back(picture)
        return report(restored=sorted(restored), left=left)

    return cell.guarded(work)


def report(left, packages=(), **names):
    """Gives JSON that fits into a result; cut: there were more names."""
    (word, listed), *_ = names.items()
    for most in (500, 100, 20, 0):
        told = {word: listed[:most], "left": dict(list(left.items())[:most])}
        if packages:
            told["packages"] = packages[:most]
        if len(listed) > most or len(left) > most:
            told["cut"] = True
        said = json.dumps(told, ensure_ascii=False)
        if len(said.encode("utf-8", "backslashreplace")) <= text.MAX_TEXT_BYTES:
            break
    return said


def take():
    """Takes a picture: gives (bytes, names that are in it, {name: why it is not})."""
    names = {
        name: value
        for name, value in vars(__main__).items()
        if name not in OURS and not tools.is_given(name, value)
    }
    try:
        return pack(names, PATIENCE_S), list(names), {}
    except Exception:
        names, left = choose(names)
    try:
        return pack(names, 2 * PATIENCE_S), list(names), left
    except Exception as error:
        raise RuntimeError("the names cannot be saved together") from error


def choose(names):
    """Gives the names that can be saved, as many as there is room and time for, and
    {name: why it is not saved}."""
    sizes, left = {}, {}
    for name, value in names.items():
        try:
            dump(value, size := Size())
            sizes[name] = size.bytes
        except Exception as error:
            left[name] = text.clip(text.describe(error), 300)
    chosen, room, end = {}, ROOM, time.monotonic() + PATIENCE_S
    for name in sorted(sizes, key=sizes.get):
        packer = Packer(room, end)
        try:
            dump(names[name], packer)
            room -= len(packer.finish())
            chosen[name] = names[name]
        except Full as full:
            left[name] = f"{full}: {sizes[name]:,} bytes"
    return chosen, left


def pack(names, patience_s):
    everything = {"names": names, "folder": os.getcwd(), "random": random_states()}
    packages = json.dumps(installed()).encode() + b"\n"
    room = _quern.MAX_PICTURE_BYTES - len(HEADER) - len(packages)
    packer = Packer(room, time.monotonic() + patience_s)
    dump(everything, packer)
    return HEADER + packages + packer.finish()


def dump(value, file):
    (cloudpickle or pickle).dump(value, file, protocol=5)


def raw(data):
    """Gives the very bytes that a pickler hands out, not a copy."""
    if isinstance(data, pickle.PickleBuffer):
        return data.raw()
    return memoryview(data).cast("B")


class Size:
    """A file that only counts."""

    bytes = 0

    def write(self, data):
        self.bytes += len(raw(data))


class Full(Exception):
    """Raised when there is more than a picture holds."""


class Packer:
    """A file that packs what it is given, piece by piece: large values take no
    memory a second time. At most room bytes, and not after the time end."""

    def __init__(self, room, end):
        self.room, self.end = room, end
        self.packed = zlib.compressobj(1)
        self.pieces = []

    def write(self, data):
        data = raw(data)
        for at in range(0, len(data), PIECE_BYTES):
            self.keep(self.packed.compress(data[at : at + PIECE_BYTES]))

    def keep(self, piece):
        self.room -= len(piece)
        if self.room < 0:
            raise Full("too much for a picture")
        if time.monotonic() > self.end:
            raise Full("too slow for a picture")
        self.pieces.append(piece)

    def finish(self):
        self.keep(self.packed.flush())
        return b"".join(self.pieces)


def installed():
    """Gives the packages that this session has been given, as requirements."""
    if not os.path.isdir(missing.PACKAGES):
        return []
    found = importlib.metadata.distributions(path=[missing.PACKAGES])
    return sorted(f"{each.name}=={each.version}" for each in found)


def install(packages):
    """Installs packages again; gives {package: why it is not there}."""
    wanted = sorted(set(packages) - set(installed()))
    if not wanted:
        return {}
    why = "this executor installs no packages"
    if os.path.isdir(missing.PACKAGES):
        code, sentence, _ = _quern.ask("install", "", "\n".join(wanted).encode())
        missing.look_again()
        why = sentence if code else ""
    return dict.fromkeys(wanted, why) if why else {}


def random_states():
    """Gives the states from which random numbers go on."""
    numpy = sys.modules.get("numpy")
    return {
        "random": sys.modules["random"].getstate() if "random" in sys.modules else None,
        "numpy": numpy.random.get_state() if numpy else None,
    }


def put_back(picture):
    """Puts names into __main__; gives (names, {name: why it is not there})."""
    header, _, packed = picture.partition(b"\n")
    if not header.startswith(FORM):
        was = header[:60].decode("utf-8", "backslashreplace")
        raise ValueError(f'"{was}" begins no picture that can be restored here')
    packages, _, packed = packed.partition(b"\n")
    absent = install(json.loads(packages))
    made_by = header[len(FORM) :].decode()
    everything, left = unpickle.load(zlib.decompress(packed), made_by)
    names = everything["names"]
    restored = {name: value for name, value in names.items() if name not in left}
    vars(__main__).update(restored)
    go_on(everything)
    return list(restored), left | absent


def go_on(everything):
    with contextlib.suppress(OSError):
        os.chdir(everything["folder"])
    states = everything["random"]
    with contextlib.suppress(Exception):
        if states["random"]:
            import random

            random.setstate(states["random"])
        if states["numpy"] and (numpy := sys.modules.get("numpy")):
            numpy.random.set_state(states["numpy"])
