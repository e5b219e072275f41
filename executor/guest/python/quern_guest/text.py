"""text.py - values as text, whatever they are and however long."""

from itertools import islice

import _quern

MAX_TEXT_BYTES = _quern.MAX_OBSERVATION_BYTES
MAX_ITEMS = MAX_TEXT_BYTES  # an item takes more than one byte: never all shown
CONTAINERS = (str, bytes, bytearray, list, tuple, set, frozenset, dict)


def plain(text):
    """The text as UTF-8 can carry it: lone surrogates become escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def clip(text, limit=MAX_TEXT_BYTES, tail=0):
    """The head of a text, and its last `tail` bytes, in at most limit bytes."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= limit:
        return data.decode("utf-8")
    note = f"\n[... {len(data):,} bytes in all ...]\n".encode()
    head = limit - tail - len(note)
    pieces = (data[:head], note, data[len(data) - tail :])
    return b"".join(pieces).decode("utf-8", "ignore")


def abridged(value):
    """A large built-in container cut to what can be shown of it; else itself."""
    kind = type(value)
    if kind not in CONTAINERS or len(value) <= MAX_ITEMS:
        return value
    if kind is dict:
        return dict(islice(value.items(), MAX_ITEMS))
    if kind in (set, frozenset):
        return kind(islice(value, MAX_ITEMS))
    return value[:MAX_ITEMS]


def show(value):
    """repr(), bounded; a broken __repr__ is told about, not raised."""
    try:
        part = abridged(value)
        if part is value:
            return clip(repr(value))
        note = f"\n[... {len(value):,} items in all]"
        return clip(repr(part), MAX_TEXT_BYTES - len(note)) + note
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        kind = type(value).__qualname__
        return f"<{kind} object; repr() raised {describe(error)}>"


def describe(error):
    """'KeyError: 3', as the last line of a traceback has it."""
    value = message(error)
    return type(error).__name__ + (f": {value}" if value else "")


def message(error):
    """str() of an exception, also when that fails."""
    try:
        return plain(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "<its str() failed>"
