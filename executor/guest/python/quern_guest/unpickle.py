"""unpickle.py - the names of a picture, as far as they can be had here.

Where a module is missing, or something was made by the code of another Python,
there is something Lost in its place; the names that hold it are left."""

import importlib
import io
import pickle
import sys
import types

from . import text

HERE = "%d.%d" % sys.version_info[:2]


def load(data, made_by):
    """Gives what was pickled by that version of Python, and {name: why it is
    not there} of its names."""
    reader = (Reader if made_by == HERE else Stranger)(io.BytesIO(data))
    reader.made_by = made_by
    everything = reader.load()
    names = everything["names"]
    if not reader.lost:
        return everything, {}
    why = {name: reader.why_lost(value) for name, value in names.items()}
    left = {name: text.clip(each, 300) for name, each in why.items() if each}
    return everything, dict(sorted(left.items(), key=lambda pair: pair[1]))


class Lost:
    """In the place of something that cannot be had here."""

    def __init__(self, *_args, **_kwargs):
        pass

    def __call__(self, *_args, **_kwargs):
        return self

    def __repr__(self):
        return f"what is lost ({self.why})"

    def __setstate__(self, _state):
        pass

    def __setitem__(self, _key, _value):
        pass

    def append(self, _item):
        pass

    def extend(self, _items):
        pass


def renamed(module, name):
    """What pandas calls today what an older one has pickled, as it knows itself."""
    if module.partition(".")[0] != "pandas":
        return module, name
    try:
        compat = importlib.import_module("pandas.compat.pickle_compat")
        return compat._class_locations_map.get((module, name), (module, name))
    except (ImportError, AttributeError):
        return module, name


class Reading:
    """Goes on where a module is missing."""

    def __init__(self, file):
        super().__init__(file)
        self.lost = False  # whether anything is
        self.half = {}  # by id: objects that did not take their state

    def find_class(self, module, name):
        try:
            found = super().find_class(*renamed(module, name))
        except (ImportError, AttributeError) as error:
            return self.lose(text.describe(error))
        return self.module if name == "subimport" else found

    def module(self, name):
        """As cloudpickle brings back a module."""
        try:
            return importlib.import_module(name)
        except ImportError as error:
            return self.lose(text.describe(error))

    def lose(self, why):
        self.lost = True
        return type("Lost", (Lost,), {"why": why})

    def why_lost(self, value):
        try:
            Searcher(self.half).dump(value)
        except LookupError as error:
            return str(error)
        except Exception:
            return None  # it came back, and that is all that is asked
        return None


class Reader(Reading, pickle.Unpickler):
    """Of what this Python made."""


def spared(load, count):
    """Of so many operands: what fails to be made of them is lost, and no more."""

    def attempt(self):
        operands = self.stack[-count:]
        height = len(self.stack) - count
        try:
            load(self)
        except Exception as error:
            why = self.why_lost(operands) or text.describe(error)
            del self.stack[height:]
            self.append(self.lose(why)())
            if load is pickle._Unpickler.load_build:
                self.half[id(operands[0])] = operands[0]

    return attempt


class Stranger(Reading, pickle._Unpickler):
    """Of what another version of Python made: data, but no code. Its libraries
    were others, too."""

    dispatch = {
        **pickle._Unpickler.dispatch,
        pickle.REDUCE[0]: spared(pickle._Unpickler.load_reduce, 2),
        pickle.NEWOBJ[0]: spared(pickle._Unpickler.load_newobj, 2),
        pickle.NEWOBJ_EX[0]: spared(pickle._Unpickler.load_newobj_ex, 3),
        pickle.BUILD[0]: spared(pickle._Unpickler.load_build, 2),
    }

    def find_class(self, module, name):
        """What cloudpickle makes but for modules is made of code."""
        if module.partition(".")[0] != "cloudpickle" or name == "subimport":
            return super().find_class(module, name)
        why = f"code of Python {self.made_by}, which Python {HERE} cannot run"
        return self.lose(why)


class Searcher(pickle.Pickler):
    """Finds what is lost in a value."""

    def __init__(self, half):
        super().__init__(io.BytesIO())
        self.half = half

    def reducer_override(self, value):
        kind = value if isinstance(value, type) else type(value)
        if issubclass(kind, Lost):
            raise LookupError(kind.why)
        if id(value) in self.half:
            raise LookupError("it did not take its state")
        if isinstance(value, (types.ModuleType, types.FunctionType, type)):
            return len, ((),)  # nothing to look for: anything that pickles
        return NotImplemented
