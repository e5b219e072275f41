"""unpickle.py - reads the names of a picture, as far as they can be had here.

Where a module is missing, or something was made by code of another Python, an object
of class Lost takes its place. Names whose values contain one are not restored."""

import importlib
import io
import pickle
import sys
import types

from . import text

HERE = "%d.%d" % sys.version_info[:2]


def load(data, made_by):
    """Gives what that version of Python has pickled, and {name: why it is not there} of
    its names."""
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
    """Takes the place of something that cannot be had here."""

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
    """Gives the present name of a class that an older pandas has pickled; pandas itself
    knows these."""
    if module.partition(".")[0] != "pandas":
        return module, name
    try:
        compat = importlib.import_module("pandas.compat.pickle_compat")
        return compat._class_locations_map.get((module, name), (module, name))
    except (ImportError, AttributeError):
        return module, name


class Reading:
    """An unpickler that goes on where a module is missing."""

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
        """Gives a module, in place of the function by which cloudpickle does."""
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
            return None  # it came back, and nothing else matters
        return None


class Reader(Reading, pickle.Unpickler):
    """Reads what this version of Python has made."""


def spared(load, count):
    """Wraps an operation of so many operands: if it fails, only its result is lost."""

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
    """Reads what another version of Python has made: data, but no code. Its libraries
    were others, too."""

    dispatch = {
        **pickle._Unpickler.dispatch,
        pickle.REDUCE[0]: spared(pickle._Unpickler.load_reduce, 2),
        pickle.NEWOBJ[0]: spared(pickle._Unpickler.load_newobj, 2),
        pickle.NEWOBJ_EX[0]: spared(pickle._Unpickler.load_newobj_ex, 3),
        pickle.BUILD[0]: spared(pickle._Unpickler.load_build, 2),
    }

    def find_class(self, module, name):
        """Refuses what cloudpickle makes, but for modules: it is made of code."""
        if module.partition(".")[0] != "cloudpickle" or name == "subimport":
            return super().find_class(module, name)
        why = f"code of Python {self.made_by}, which Python {HERE} cannot run"
        return self.lose(why)


class Searcher(pickle.Pickler):
    """A pickler that finds out whether a value contains something Lost."""

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
