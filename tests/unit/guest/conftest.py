"""The Python files of the guest without the C around them: _quern is a
recorder here, and a session is a process forked for the test."""

import contextlib
import fcntl
import importlib
import io
import os
import pathlib
import pickle
import stat
import sys
import tempfile
import traceback
import types
import warnings

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
GUEST = ROOT / "executor" / "guest" / "python"
KIB, MIB = 1 << 10, 1 << 20


class Cell:
    """What came of a cell."""

    def __init__(self, outcome, displays, out, err):
        fields = ("status", "result", "name", "value", "traceback")
        self.__dict__.update(zip(fields, outcome))
        self.displays, self.out, self.err = displays, out, err

    @property
    def images(self):
        return [d["image/png"] for d in self.displays if "image/png" in d]


class Shown(dict):
    """A bundle, with its display_id."""

    name = ""


class Screen:
    """Shows what comes as a notebook does."""

    def __init__(self, displays):
        self.displays, self.sent = displays, 0
        self.clears, self.first, self.waits = 0, 0, False

    def display(self, bundle, name="", update=False, clears=0):
        self.sent += 1
        if update:
            for shown in self.displays:
                if shown.name == name:
                    shown.clear()
                    shown.update(bundle)
            return
        if self.waits and clears >= self.first:
            self.displays.clear()
            self.waits, self.first = clears < self.clears, clears + 1
        self.displays.append(Shown(bundle))
        self.displays[-1].name = name

    def clear(self, wait):
        self.clears += 1
        self.first = self.first if self.waits else self.clears
        self.waits = wait
        if not wait:
            self.displays.clear()


def fake_quern(displays):
    module = types.ModuleType("_quern")
    module.MAX_OBSERVATION_BYTES = 32 * KIB
    module.MAX_STREAM_BYTES = 16 * KIB
    module.MAX_DISPLAY_BYTES = 16 * MIB
    module.MAX_TOOL_BYTES = MIB
    module.MAX_OPEN_QUESTIONS, module.MAX_CELL_QUESTIONS = 16, 256
    module.QUESTION_BURST, module.QUESTIONS_PER_S = 64, 20
    module.ask = lambda kind, name, data: ("", "", data)
    module.MAX_CLEARS, module.MAX_NAME_BYTES = 20_000, 128
    screen = Screen(displays)
    module.display, module.clear = screen.display, screen.clear
    module.enter = module.release = module.leave = lambda: None
    module.figure = module.drawing = lambda: None
    module.restore = dict.update
    module.session = 0  # its pid
    module.is_session = lambda: os.getpid() == module.session
    module.writable_files = writable_files
    return module


def writable_files():
    """As the one in module.c."""
    found = []
    for fd in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):
            about, flags = os.fstat(fd), fcntl.fcntl(fd, fcntl.F_GETFL)
            writable = flags & os.O_ACCMODE != os.O_RDONLY
            if fd > 3 and writable and stat.S_ISREG(about.st_mode):
                found.append((fd, about.st_dev, about.st_ino))
    return found


def load(profile):
    """Once for all tests: loading the scientific modules takes a second."""
    displays = []
    sys.modules["_quern"] = fake_quern(displays)
    sys.path.insert(0, str(GUEST))
    os.environ["MPLBACKEND"] = "Agg"
    os.environ["HOME"] = "/"
    from quern_guest import ahead

    ahead.load(profile)
    from quern_guest import boot

    boot.zygote(profile, trace=os.dup(2), trace_signal=63)  # before it is captured
    boot.settle()
    return displays


@contextlib.contextmanager
def captured(fd):
    """Descriptor fd into a file, whose bytes are appended to the list."""
    caught, saved = [], os.dup(fd)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), fd)
        try:
            yield caught
        finally:
            os.dup2(saved, fd)
            os.close(saved)
            file.seek(0)
            caught.append(file.read())


def use_main(module):
    """Makes that module the session's __main__, and this process the session."""
    from quern_guest import cell, magics, shell, timing

    sys.modules["_quern"].session = os.getpid()
    sys.modules["__main__"] = module
    for ours in (cell, magics, shell, timing):
        ours.__main__ = module


def run_cells(cells, displays, last=False):
    from quern_guest import boot, cell

    importlib.reload(warnings)  # pytest records them; a session prints them
    use_main(types.ModuleType("__main__"))
    boot.session()
    done = []
    for number, code in enumerate(cells, 1):
        displays.clear()
        with captured(1) as out, captured(2) as err:
            outcome = cell.run(code, number, "", last and number == len(cells))
        texts = [data.decode("utf-8", "backslashreplace") for data in out + err]
        done.append(Cell(outcome, list(displays), *texts))
    return done


def in_child(work):
    """work() in a forked process; gives what it returned."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = os.EX_SOFTWARE
        try:  # whatever happens, it is not a second pytest
            os.close(read)
            with open(write, "wb") as pipe:
                try:
                    answer = (True, work())
                except BaseException:
                    answer = (False, traceback.format_exc())
                pickle.dump(answer, pipe)
            code = os.EX_OK
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(write)
    with open(read, "rb") as pipe:
        data = pipe.read()
    _, ended = os.waitpid(pid, 0)
    assert ended == 0, f"the session died: wait status {ended:#x}"
    fine, answer = pickle.load(io.BytesIO(data))
    assert fine, answer
    return answer


@pytest.fixture(scope="session")
def loaded():
    return load("science")


@pytest.fixture
def run(loaded, tmp_path):
    """run(cell, ...) gives what came of each, in one session of its own. last: it
    ends with the last of them."""

    def run(*cells, before=lambda: None, last=False):
        def work():
            os.chdir(tmp_path)
            before()
            return run_cells(cells, loaded, last)

        return in_child(work)

    return run


@pytest.fixture
def one(run):
    """one(cell): what came of the last of them."""
    return lambda *cells, **options: run(*cells, **options)[-1]
