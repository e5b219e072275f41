"""picture.py - what a session has in its names, as bytes, and back.

A picture is taken in one Python and restored in another, on another day, in
another box. What it holds is the session's own; unpickling it runs the
session's own code, in its box. Functions and classes of cells go along
(cloudpickle), modules are imported again. What does not go along, or does not
come back, is named with the reason: a session never claims what is not there.

    quern picture 1, Python 3.11
    ["humanize==4.9.0"]               what was installed, and is again first
    ...                               the names, pickled and packed
"""

import contextlib
import importlib
import importlib.metadata
import io
import json
import os
import pickle
import sys
import types
import zlib

import _quern

import __main__

from . import cell, missing, text, tools

HEADER = f"quern picture 1, Python {sys.version_info[0]}.{sys.version_info[1]}\n".encode()
OURS = {"__builtins__", "__cached__", "__doc__", "__file__", "__loader__"} | {
    "__name__",
    "__package__",
    "__spec__",
}

try:
    import cloudpickle
except ImportError:  # functions and classes of cells stay behind
    cloudpickle = None


def save():
    """As cell.run(), and the picture. The result tells, as JSON, which names
    are saved and which are left, with the reason."""
    picture = b""

    def work():
        nonlocal picture
        picture, saved, left = take()
        return report(saved=sorted(saved), left=left, packages=installed())

    return (*cell.guarded(work), picture)


def restore(picture):
    """As cell.run(). The result tells, as JSON, which names are restored and
    which are left, with the reason."""

    def work():
        restored, left = put_back(picture)
        return report(restored=sorted(restored), left=left)

    return cell.guarded(work)


def report(left, packages=(), **names):
    """JSON that fits; cut: there were more names than are told."""
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
    """Gives (bytes, names that are in them, {name: why it is not})."""
    names = {
        name: value
        for name, value in vars(__main__).items()
        if name not in OURS and not tools.is_given(name, value)
    }
    left = {}
    data = None
    while data is None:
        try:
            data = pack(names)
        except Exception as error:
            broken = {name: why for name in names if (why := refusal(names[name]))}
            if not broken:
                raise RuntimeError("the names cannot be saved together") from error
            left |= broken
            names = {key: value for key, value in names.items() if key not in broken}
    while len(data) > _quern.MAX_PICTURE_BYTES:
        sizes = {name: len(pack({name: value})) for name, value in names.items()}
        largest = max(sizes, key=sizes.get)
        left[largest] = f"it takes {sizes[largest]:,} bytes, which is too much"
        del names[largest]
        data = pack(names)
    return data, list(names), left


def pack(names):
    everything = {"names": names, "folder": os.getcwd(), "lots": lots()}
    dumps = (cloudpickle or pickle).dumps
    packages = json.dumps(installed()).encode() + b"\n"
    return HEADER + packages + zlib.compress(dumps(everything, protocol=5), 1)


def installed():
    """What this session has been given, as requirements."""
    if not os.path.isdir(missing.PACKAGES):
        return []
    found = importlib.metadata.distributions(path=[missing.PACKAGES])
    return sorted(f"{each.name}=={each.version}" for each in found)


def install(packages):
    """{package: why it is not there}, of those that are not."""
    wanted = sorted(set(packages) - set(installed()))
    if not wanted:
        return {}
    why = "this executor installs none"
    if os.path.isdir(missing.PACKAGES):
        code, sentence, _ = _quern.ask("install", "", "\n".join(wanted).encode())
        missing.look_again()
        why = sentence if code else ""
    return dict.fromkeys(wanted, why) if why else {}


def refusal(value):
    """Why the value cannot be saved; None: it can."""
    try:
        pack({"value": value})
    except Exception as error:
        return text.clip(text.describe(error), 300)
    return None


def lots():
    """How random numbers go on."""
    numpy = sys.modules.get("numpy")
    return {
        "random": sys.modules["random"].getstate() if "random" in sys.modules else None,
        "numpy": numpy.random.get_state() if numpy else None,
    }


def put_back(picture):
    """Gives (names, {name: why it is not there})."""
    header, _, packed = picture.partition(b"\n")
    if header + b"\n" != HEADER:
        was = header[:60].decode("utf-8", "backslashreplace")
        here = HEADER.decode().strip()
        raise ValueError(f'this is "{was}", but only "{here}" can be restored here')
    packages, _, packed = packed.partition(b"\n")
    absent = install(json.loads(packages))
    reader = Reader(io.BytesIO(zlib.decompress(packed)))
    everything = reader.load()
    names, left = everything["names"], {}
    if reader.missing:
        left = {name: why for name in names if (why := touches_lost(names[name]))}
    restored = {name: value for name, value in names.items() if name not in left}
    vars(__main__).update(restored)
    go_on(everything)
    return list(restored), left | absent


def go_on(everything):
    with contextlib.suppress(OSError):
        os.chdir(everything["folder"])
    drawn = everything["lots"]
    with contextlib.suppress(Exception):
        if drawn["random"]:
            import random

            random.setstate(drawn["random"])
        if drawn["numpy"] and (numpy := sys.modules.get("numpy")):
            numpy.random.set_state(drawn["numpy"])


class Lost:
    """In the place of something whose module is not here."""

    def __init__(self, *_args, **_kwargs):
        pass

    def __call__(self, *_args, **_kwargs):
        return self

    def __setstate__(self, _state):
        pass

    def __setitem__(self, _key, _value):
        pass

    def append(self, _item):
        pass

    def extend(self, _items):
        pass


class Reader(pickle.Unpickler):
    """Goes on where a module is missing."""

    def __init__(self, file):
        super().__init__(file)
        self.missing = []

    def find_class(self, module, name):
        try:
            found = super().find_class(module, name)
        except (ImportError, AttributeError) as error:
            return self.lost(module, error)
        return self.module if name == "subimport" else found

    def module(self, name):
        """As cloudpickle brings back a module."""
        try:
            return importlib.import_module(name)
        except ImportError as error:
            return self.lost(name, error)

    def lost(self, name, error):
        self.missing.append(name)
        return type(name, (Lost,), {"why": text.describe(error)})


class Searcher(pickle.Pickler):
    """Finds what is lost in a value."""

    def reducer_override(self, value):
        kind = value if isinstance(value, type) else type(value)
        if issubclass(kind, Lost):
            raise LookupError(kind.why)
        if isinstance(value, (types.ModuleType, types.FunctionType, type)):
            return len, ((),)  # nothing to look for: anything that pickles
        return NotImplemented


def touches_lost(value):
    try:
        Searcher(io.BytesIO()).dump(value)
    except LookupError as error:
        return text.clip(str(error), 300)
    except Exception:
        return None  # it came back, and that is all that is asked
    return None
