"""absent.py - network and keyboard: errors say that there is none.

A socket is refused with "Permission denied", a name is "not known", input() meets
the end of a file. A model that reads that tries again, or asks for other rights. So
the sentence of each error says what is the case; its class and number stay.
"""

import builtins
import errno
import functools
import os
import socket
import sys

from . import hooks, streams

NO_NETWORK = "this code has no network, not even to its own machine"
PROXY_ONLY = (
    "this code reaches some hosts by HTTP and HTTPS, through the proxy that "
    "HTTPS_PROXY names, and nothing else"
)
NO_INPUT = (
    "input() has nothing to read: nobody can type while this code runs. "
    "Write the value into the code."
)
NO_PASSWORD = (
    "getpass() has nothing to read: nobody can type while this code runs. "
    "Look for the value in os.environ: a job may bring variables."
)
REFUSED = (errno.EACCES,)
UNREACHABLE = (errno.ENETUNREACH, errno.EADDRNOTAVAIL)
UNKNOWN = (socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_NODATA, socket.EAI_NONAME)

_ask = builtins.input


def explained(function, numbers):
    """Wraps the function: its errors of these numbers give the reason."""

    @functools.wraps(function)
    def call(*arguments, **options):
        try:
            return function(*arguments, **options)
        except OSError as error:
            if error.errno not in numbers:
                raise
            told = error
        why = PROXY_ONLY if "HTTPS_PROXY" in os.environ else NO_NETWORK
        raise type(told)(told.errno, f"{told.strerror}: {why}") from None

    return call


def read_line(prompt="", /):
    """Read a line from standard input, which cells have only if they set sys.stdin."""
    try:
        return _ask(prompt)
    except EOFError:
        if not streams.is_ours(sys.stdin):
            raise
    raise EOFError(NO_INPUT)


read_line.__name__ = read_line.__qualname__ = "input"


def ask_nobody(getpass):
    """Replaces getpass(), which would warn that there is no terminal, then meet the
    end of a file."""
    ask = getpass.getpass

    @functools.wraps(ask)
    def read_password(*arguments, **options):
        if streams.is_ours(sys.stdin):
            raise EOFError(NO_PASSWORD)
        return ask(*arguments, **options)

    getpass.getpass = read_password


def install():
    builtins.input = read_line
    hooks.after_import("getpass", ask_nobody)
    explain(socket.socket, "__init__", REFUSED)
    for name in ("bind", "connect", "sendto"):
        explain(socket.socket, name, UNREACHABLE)
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        explain(socket, name, UNKNOWN)


def explain(owner, name, numbers):
    setattr(owner, name, explained(getattr(owner, name), numbers))
