"""openfiles.py - files that a cell leaves open are written out at its end.

Python keeps what is written to a file in memory until the file is flushed or
closed. The workspace is looked at when the cell ends: a file that was left open
would look empty.
"""

import gc
import os
import sys
import weakref
from _io import _IOBase

import _quern

from . import text

_seen = {}  # descriptor: (device, inode, weak references to its file objects)


def flush():
    """Called at the end of each cell. It looks for file objects, which takes long where
    there are many objects, only when there is a descriptor that was not there
    before."""
    files = _quern.writable_files()
    if files is None or not (files or _seen):
        return
    here = {fd: (device, inode) for fd, device, inode in files}
    for fd in [fd for fd, seen in _seen.items() if here.get(fd) != seen[:2]]:
        del _seen[fd]
    if any(_is_new(fd) for fd in here):
        _find_objects(here)
    for *_, references in list(_seen.values()):
        for reference in references:
            _flush_one(reference())


def _is_new(fd):
    """Whether it was not seen before, or all its file objects are closed or gone."""
    if fd not in _seen:
        return True
    references = _seen[fd][2]
    return bool(references) and not any(_is_open(each()) for each in references)


def _is_open(file):
    return file is not None and _descriptor_of(file) is not None


def _descriptor_of(file):
    """Gives the descriptor of a file; None: it is closed, or has none."""
    try:
        return file.fileno()
    except Exception:
        return None


def _find_objects(here):
    """Finds the file objects of descriptors; gc.freeze() hides those of libraries."""
    found = {fd: [] for fd in here}
    for value in gc.get_objects():
        if issubclass(type(value), _IOBase):
            fd = _descriptor_of(value)
            if fd in found:
                found[fd].append(weakref.ref(value))
    for fd, references in found.items():
        _seen[fd] = (*here[fd], references)


def _flush_one(file):
    """Flushes one, the text file before the buffer that it writes to."""
    if file is None:
        return
    try:
        if not file.closed:
            file.flush()
    except Exception as error:  # no space is left, or a class of the cell's own
        name = getattr(file, "name", type(file).__name__)
        what = text.describe(error)
        print(f"{name} could not be written: {what}", file=sys.stderr)


def flush_before_fork():
    """Before a fork: or parent and child would both write what waits."""
    if _quern.is_session():
        flush()


os.register_at_fork(before=flush_before_fork)
