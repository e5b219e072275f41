"""updates.py - replaces what a cell has shown: display_id, clear_output().

As in a notebook, an update replaces what has its id, in this cell and in those before
it; if nothing has that id, it shows nothing. What clear_output(wait=True) clears stays
until the cell puts out more.

A program may show a thousand times how far it is, and nobody can see that. Bundles
that take the place of others are sent at once while they are few, then as often as
people can follow, and the last ones when the code has ended. A clear is always sent,
because what is printed next comes by a pipe, not with the displays.
"""

import sys
import time

import _quern

MAX_IDS = 64  # of one cell, at once
MAX_EARLIER = 1024  # ids of earlier cells that are remembered
FREE = 32  # bundles that take the place of others, sent at once
LEAST_S = 0.05  # then, from one to the next
SHARE = 100  # what is seen may be as old as this part of the cell's time
MAX_REPLACING_BYTES = 16 << 20  # beyond it only the last ones are sent

_here = set()  # ids of displays of this cell
_earlier = {}  # ids of cells before it; the oldest first
_clears = 0
_clear_waits = False  # for the cell to put out more
_waiting = []  # Waiting
_sent = _sent_bytes = 0  # of bundles that take the place of others
_started = _next = 0.0


class Waiting:
    def __init__(self, bundle, name, update):
        self.bundle, self.name, self.update = bundle, name, update
        self.clears = _clears  # that came before it


def start():
    """A cell starts."""
    global _clears, _clear_waits, _sent, _sent_bytes, _started, _next
    _earlier.update(dict.fromkeys(sorted(_here)))
    while len(_earlier) > MAX_EARLIER:
        del _earlier[next(iter(_earlier))]
    _here.clear()
    _waiting.clear()
    _clears = _sent = _sent_bytes = 0
    _clear_waits = False
    _started = _next = time.monotonic()


def checked(name):
    """The id as text."""
    name = str(name).encode("utf-8", "backslashreplace")
    if len(name) > _quern.MAX_NAME_BYTES:
        raise ValueError(
            f"display_id has {len(name)} bytes, "
            f"it may have {_quern.MAX_NAME_BYTES}: {name[:40].decode(errors='ignore')!r}..."
        )
    return name.decode()


def is_known(name):
    return name in _here or name in _earlier


def is_cleared():
    """Whether what is shown next clears all that is before it."""
    return _clear_waits


def clear(wait):
    """Clears the output of the cell. False: there were too many clears."""
    global _clears, _clear_waits
    if _clears >= _quern.MAX_CLEARS:
        if _clears == _quern.MAX_CLEARS:
            _clears += 1
            most = f"{_quern.MAX_CLEARS:,}"
            print(f"[a cell clears its output {most} times, not more]", file=sys.stderr)
        return False
    _clears += 1
    if not wait:
        _forget()
    _clear_waits = wait
    _quern.clear(wait)
    return True


def _forget():
    """Forgets what the cell has shown; updates may still go to earlier cells."""
    global _clear_waits
    _here.clear()
    _waiting[:] = [one for one in _waiting if one.update and one.name in _earlier]
    _clear_waits = False


def show(bundle, name=""):
    if _clear_waits:
        _forget()
    if name:
        if name not in _here and len(_here) >= MAX_IDS:
            raise ValueError(
                f"a cell may have {MAX_IDS} display_ids at once, {name!r} is one more"
            )
        if is_known(name):
            update(bundle, name)  # as notebooks do
        _here.add(name)
    if _clears:
        _wait(Waiting(bundle, name, False))
    else:
        _send_waiting()
        _quern.display(bundle, name)


def update(bundle, name):
    if is_known(name):
        _wait(Waiting(bundle, name, True))


def _wait(new):
    """Keeps a bundle for later, in place of one that waits for the same place."""
    if new.update:
        places = [one for one in _waiting if one.name == new.name]
        for one in places:
            one.bundle = new.bundle
        if any(one.update for one in places):
            new = None  # else there may be others of its id, which are shown
    if new:
        _waiting.append(new)
    if _is_due():
        _send_waiting()


def _is_due():
    if _sent < FREE:
        return True
    return _sent_bytes < MAX_REPLACING_BYTES and time.monotonic() >= _next


def _send_waiting():
    global _sent, _sent_bytes, _next
    due, _waiting[:] = _waiting[:], ()
    for one in due:
        _quern.display(one.bundle, one.name, one.update, one.clears)
        _sent += 1
        _sent_bytes += sum(map(len, one.bundle.values()))
    if due:
        now = time.monotonic()
        _next = now + len(due) * max(LEAST_S, (now - _started) / SHARE)


def finish():
    """The code has ended: sends what still waits."""
    _send_waiting()
