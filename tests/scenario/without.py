"""Runs a program on a kernel that seems to lack system calls:

without.py NUMBER:ERROR[,NUMBER:ERROR...] PROGRAM [ARGUMENT...]
"""

import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("steps", ctypes.c_char_p)]


def refuse(calls):
    """calls: pairs of a call's number and the error that it is to give."""
    steps = [(LOAD, 0, 0, 0)]
    for number, error in calls:
        steps += [(JUMP_EQUAL, 0, 1, number), (RETURN, 0, 0, ERRNO | error)]
    steps.append((RETURN, 0, 0, ALLOW))
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(steps), code)
    for words in [
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0),
    ]:
        if libc.prctl(*words):
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    refuse([map(int, call.split(":")) for call in sys.argv[1].split(",")])
    os.execv(sys.argv[2], sys.argv[2:])
