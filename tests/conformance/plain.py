"""plain.py - the same code in a plain interpreter, to compare with."""

import ast
import contextlib
import inspect
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import types
import warnings

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def run(program, *arguments, stdin="", timeout_s=180):
    """[JSON of each line that a Python program prints], in a folder of its own;
    what it said until it had to be stopped."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**ENVIRONMENT, "HOME": folder}
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
        try:
            said = subprocess.run(
                ["/usr/bin/python3", program, *arguments],
                cwd=folder,
                env=environment,
                input=stdin.encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=timeout_s,
            ).stdout
        except subprocess.TimeoutExpired as error:
            said = (error.stdout or b"").rpartition(b"\n")[0]
            print(f"{arguments}: stopped after {timeout_s} s", file=sys.stderr)
    return [json.loads(line) for line in said.splitlines()]


def cells(sources):
    """[(what a cell shows, name of its exception)], each in at most 5 s."""
    return run(__file__, stdin=json.dumps(sources), timeout_s=60)


# In the plain interpreter.


def start():
    """A fresh __main__ to run in, and a stream for answers: print() goes nowhere,
    neither does what is written past sys.stdout."""

    def on_alarm(*_):
        raise TimeoutError("it took too long")

    signal.signal(signal.SIGALRM, on_alarm)
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    vars(main)["__builtins__"] = __builtins__
    return vars(main), answers


def show(codes, names, limit_ms=5000):
    """What running them shows, and the exception."""
    out, ended = io.StringIO(), None
    signal.setitimer(signal.ITIMER_REAL, limit_ms / 1000)
    try:
        with contextlib.redirect_stdout(out):
            for code in codes():
                exec(code, names)
    except BaseException as error:
        ended = error
    signal.setitimer(signal.ITIMER_REAL, 0)
    return out.getvalue(), ended


def statements(source):
    """As a cell runs: its value is that of its last expression."""
    try:
        body = ast.parse(source).body
    except IndentationError:
        body = ast.parse(inspect.cleandoc(source)).body
    shown = []
    if body and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        shown = [body.pop()]
    yield compile(ast.Module(body, []), "<cell>", "exec")
    yield compile(ast.Interactive(shown), "<cell>", "single")


def main():
    names, answers = start()
    for source in json.load(sys.stdin):
        text, error = show(lambda: statements(source), names)  # noqa: B023
        row = text, type(error).__name__ if error else ""
        print(json.dumps(row), file=answers, flush=True)


if __name__ == "__main__":
    main()
