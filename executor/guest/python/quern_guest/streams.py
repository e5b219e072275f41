"""streams.py - sys.stdin, stdout and stderr over descriptors 0, 1 and 2.

A line is written as soon as it is whole, so that the output of a cell that never
ends is known. The rest is written at the end of a cell, before a display (to keep
the order), and before a fork (or it would be written twice).
"""

import os
import sys

_streams = {}  # name in sys: ours


def _open(fd, mode):
    return open(
        fd,
        mode,
        encoding="utf-8",
        errors="replace" if mode == "r" else "backslashreplace",
        buffering=-1 if mode == "r" else 1,
        newline=None if mode == "r" else "",
        closefd=False,
    )


def _usable(stream):
    try:
        return not stream.closed and stream.encoding == "utf-8"
    except Exception:  # detached
        return False


def is_ours(stream):
    return any(stream is ours for ours in _streams.values())


def repair():
    """Puts our streams in place, new ones where a cell broke them."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        if not _usable(_streams.get(name)):
            _streams[name] = _open(fd, "w" if fd else "r")
        setattr(sys, name, _streams[name])
        setattr(sys, f"__{name}__", _streams[name])


def flush():
    replaced = getattr(sys, "stdout", None), getattr(sys, "stderr", None)
    for stream in (*_streams.values(), *replaced):
        try:
            stream.flush()
        except Exception:  # closed, or not a stream at all
            pass


os.register_at_fork(before=flush)
