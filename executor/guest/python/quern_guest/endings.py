"""endings.py - how a program ends, for cells and for processes that they fork.

A cell that calls sys.exit() ends as a program would, but its session goes on. A
forked process that comes to the end of the cell ends for good.
"""

import atexit
import os
import sys

from . import openfiles, streams

_at_start = 0  # functions registered by the libraries that are loaded ahead


def remember_functions():
    global _at_start
    _at_start = atexit._ncallbacks()


def run_exit_functions():
    """Runs the functions of atexit, if a cell has registered any."""
    if atexit._ncallbacks() > _at_start:
        atexit._run_exitfuncs()


def tell_exit(error):
    """sys.exit(3) is a status, sys.exit("no data") is for people to read."""
    if isinstance(error.code, int) or error.code is None:
        return int(error.code or 0)
    print(error.code, file=sys.stderr)
    return 1


def end_child(error, told):
    """error: what it raised; told: its traceback."""
    status = 1
    if isinstance(error, SystemExit):
        status = tell_exit(error) & 0xFF
    else:
        sys.stderr.write(told)
    openfiles.flush()
    streams.flush()
    os._exit(status)
