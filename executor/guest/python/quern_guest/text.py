"""text.py - values as text, whatever they are and however long."""

import io

import _quern

MAX_TEXT_BYTES = _quern.MAX_OBSERVATION_BYTES
MAX_ITEMS = MAX_TEXT_BYTES  # an item takes more than one byte: more are never shown
TEXTS = {str: "characters", bytes: "bytes", bytearray: "bytes"}
BRACKETS = {
    dict: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    list: ("[", "]"),
    set: ("{", "}"),
    tuple: ("(", ")"),
}


def plain(text):
    """Gives the text as UTF-8 can hold it: lone surrogates become escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def clip(text, limit=MAX_TEXT_BYTES, tail=0):
    """Gives the head of a text, and its last `tail` bytes, in at most limit bytes."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= limit:
        return data.decode("utf-8")
    note = f"\n[... {len(data):,} bytes in all ...]\n".encode()
    head = limit - tail - len(note)
    pieces = (data[:head], note, data[len(data) - tail :])
    return b"".join(pieces).decode("utf-8", "ignore")


def show(value):
    """Gives repr(), bounded; when __repr__ raises, a text that says so."""
    try:
        if not _is_large(value):
            return clip(repr(value))
        what = TEXTS.get(type(value), "items")
        return _head(value, f"\n[... {len(value):,} {what} in all]")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        kind = type(value).__qualname__
        return f"<{kind} object; repr() raised {describe(error)}>"


def _is_large(value):
    """Whether built-in containers hold more than can be shown of them: their
    repr() alone might take all memory."""
    count, waiting = 0, [value]
    while waiting and count <= MAX_ITEMS:
        value = waiting.pop()
        kind = type(value)
        if kind in TEXTS:
            count += len(value)
        elif kind in BRACKETS:
            count += len(value)
            if count <= MAX_ITEMS:
                waiting.extend(value.items() if kind is dict else value)
    return count > MAX_ITEMS


def _head(value, note):
    """Gives the beginning of repr(value), without making the rest of it."""
    text, size = io.StringIO(), 0
    for piece in _pieces(value, ()):
        text.write(piece)
        size += len(piece)
        if size > MAX_TEXT_BYTES:
            data = text.getvalue().encode("utf-8", "backslashreplace")
            return data[: MAX_TEXT_BYTES - len(note)].decode("utf-8", "ignore") + note
    return text.getvalue()  # it contains itself, which is shown as ...


def _pieces(value, around):
    """Yields repr() in pieces; around: the containers that the value is in."""
    kind = type(value)
    if kind in TEXTS:
        yield repr(value[:MAX_ITEMS])
        return
    if kind not in BRACKETS or not value:
        yield repr(value)
        return
    start, end = BRACKETS[kind]
    if any(value is outer for outer in around):
        yield f"{start}...{end}"
        return
    around = (*around, value)
    for number, item in enumerate(value):
        yield ", " if number else start
        yield from _pieces(item, around)
        if kind is dict:
            yield ": "
            yield from _pieces(value[item], around)
    yield ",)" if kind is tuple and len(value) == 1 else end


def describe(error):
    """Gives 'KeyError: 3', as the last line of a traceback has it."""
    value = message(error)
    return type(error).__name__ + (f": {value}" if value else "")


def message(error):
    """Gives str() of an exception; when that raises, a text that says so."""
    try:
        return plain(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "<its str() failed>"
