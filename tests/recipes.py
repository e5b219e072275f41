"""The recipes of a RECIPES.md, run as a reader pastes them and held to what they
say that he sees.

A recipe is what stands below a heading of the second order. Of its blocks

    python, js, c ...   is a file; its first line begins with the file's name
    sh                  is pasted into a shell, one for the whole recipe
    text                is what the block before it prints on standard output;
                        "..." stands for anything in a line, and where it is
                        the whole line, for any lines; columns may be wider

Recipes run in a folder of their own, several at a time. Ports that they name
are replaced by free ones, as others may be at work on this machine.
"""

import contextlib
import difflib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass

from servers import BUILD, SOURCE, die_with_parent

FENCE = re.compile(r"^(```+)(\w*)\n(.*?)^\1$\n", re.M | re.S)
NAME = re.compile(r"(?:#|//|/\*) ([\w.]+\.\w+)\b")
PORT = re.compile(r"(?:127\.0\.0\.1[:\",) ]+|port[ =\"]+)(\d{4,5})\b")
END = "\x1e"  # between what two blocks have printed
MAX_S = 60


@dataclass
class Block:
    language: str
    text: str

    @property
    def file(self):
        """The name of the file that it is."""
        if self.language in ("sh", "text"):
            return None
        found = NAME.match(self.text)
        return found and found[1]


@dataclass
class Recipe:
    title: str
    blocks: list

    def __str__(self):
        return self.title

    def of(self, *languages):
        return [block for block in self.blocks if block.language in languages]

    def files(self):
        return {block.file: block.text for block in self.blocks if block.file}

    def shell(self):
        """All that is pasted."""
        return "".join(block.text for block in self.of("sh"))

    def faults(self):
        """Why nobody would notice that something in it is wrong: sentences."""
        for before, block in zip([None, *self.blocks], self.blocks):
            first = block.text.partition("\n")[0]
            if block.language == "text":
                if before is None or before.language != "sh":
                    yield f"no shell block stands before what is seen: {first}"
            elif block.language != "sh" and not block.file:
                yield f"nothing runs this block, which names no file: {first}"
        for name in self.files():
            if name not in self.shell():
                yield f"nothing runs {name}"
        if not self.of("sh"):
            yield "nothing is run"
        if not self.blocks or self.blocks[-1].language != "text":
            yield "it does not end with what is seen"


def read(path):
    """All of a page: its head, and its recipes."""
    with open(os.path.join(SOURCE, path)) as page:
        head, *parts = re.split(r"^## (?=[^\n]+\n)", page.read(), flags=re.M)
    recipes = []
    for part in parts:
        title, _, text = part.partition("\n")
        blocks = [Block(language, text) for _, language, text in FENCE.findall(text)]
        recipes.append(Recipe(title, blocks))
    return head, recipes


def prose(path):
    """The lines of a page that are no example."""
    with open(os.path.join(SOURCE, path)) as page:
        return FENCE.sub("", page.read()).splitlines()


def free_port():
    """Below those that the kernel gives to others; a cluster adds 10,000."""
    while True:
        port = random.randrange(12000, 22000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def pattern(seen):
    """A regular expression of what a text block says."""
    lines = []
    for line in seen.strip("\n").split("\n"):
        if line.strip() == "...":
            lines.append(r"(?:[^\n]*\n)*?")
        else:
            words = map(re.escape, line.rstrip().split("..."))
            line = r"[^\n]*?".join(words) + r" *\n"
            lines.append(re.sub(r"(\\ ){2,}", " +", line))
    return re.compile("".join(lines))


def is_seen(said, printed):
    return pattern(said).fullmatch(printed.strip("\n") + "\n") is not None


class Run:
    """One recipe on its way."""

    def __init__(self, recipe, env, node_modules=None):
        self.recipe = recipe
        # Not pytest's own: the executor's user has to get into it.
        self.folder = tempfile.mkdtemp(prefix="quern-recipe-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.here = os.path.join(self.folder, "try")
        os.mkdir(self.here)
        if node_modules:
            os.symlink(node_modules, os.path.join(self.folder, "node_modules"))
        self.ports = {}
        self.streams = [os.path.join(self.folder, name) for name in ("out", "err")]
        for name, text in recipe.files().items():
            self.write(os.path.join("try", name), text)
        script = "trap 'kill 0' EXIT\n"
        for number, block in enumerate(recipe.of("sh")):
            self.write(f"{number}.sh", block.text)
            script += f". '{self.folder}/{number}.sh'\nprintf '{END}'\n"
        self.write("all.sh", script)
        self.began = time.monotonic()
        with contextlib.ExitStack() as open_files:
            out, err = (open_files.enter_context(open(x, "w")) for x in self.streams)
            self.child = subprocess.Popen(
                ["bash", os.path.join(self.folder, "all.sh")],
                cwd=self.here,
                env={**env, "HOME": self.here},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    def write(self, name, text):
        """With ports that are free here."""
        for port in PORT.findall(text):
            if port not in self.ports:
                self.ports[port] = str(free_port())
        for port, free in self.ports.items():
            text = re.sub(rf"\b{port}\b", free, text)
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def is_over(self):
        late = time.monotonic() - self.began > MAX_S
        if self.child.poll() is None and not late:
            return False
        self.seconds = time.monotonic() - self.began
        self.late = late
        self.end()
        return True

    def end(self):
        """And what it has left running."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGTERM)
            time.sleep(0.2)
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        self.out, self.err = map(self.read, self.streams)
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, path):
        """With the ports that the page names."""
        with open(path, errors="replace") as stream:
            text = stream.read()
        for port, free in self.ports.items():
            text = text.replace(free, port)
        return text

    def differences(self):
        """Where it has printed something else than it says: diffs."""
        printed = self.out.split(END)
        number = -1
        for block in self.recipe.of("sh", "text"):
            if block.language == "sh":
                number += 1
            elif not is_seen(block.text, printed[number] if number < len(printed) else ""):
                yield "\n".join(
                    difflib.unified_diff(
                        block.text.strip("\n").splitlines(),
                        "".join(printed[number : number + 1]).strip("\n").splitlines(),
                        "what the recipe says",
                        "what was printed",
                        n=99,
                        lineterm="",
                    )
                )

    def check(self):
        assert not self.late, f"not over after {MAX_S} s:\n{self.out}\n{self.err}"
        for difference in self.differences():
            raise AssertionError(f"{self.recipe.title}\n{difference}\n\n{self.err[-4000:]}")


def wanted(request):
    """The recipes of the tests that will be run."""
    tests = [item for item in request.session.items if item.module == request.module]
    given = [test.callspec.params for test in tests if hasattr(test, "callspec")]
    return [params["recipe"] for params in given if "recipe" in params]


def run_all(recipes, env, node_modules=None, at_once=4):
    """What became of each, by title."""
    # An executor takes its time to start: those that wait for one come first.
    waiting = sorted(recipes, key=lambda one: "quern-executor " not in one.shell())
    running, over = [], {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(Run(waiting.pop(0), env, node_modules))
            for run in [run for run in running if run.is_over()]:
                running.remove(run)
                over[run.recipe.title] = run
            time.sleep(0.02)
    finally:
        for run in running:
            run.end()
    return over


def sanitizers():
    with open(os.path.join(BUILD, "CMakeCache.txt")) as cache:
        found = re.search(r"^QUERN_SANITIZE:\w+=(.+)$", cache.read(), re.M)
    return [f"-fsanitize={found[1]}"] if found else []


@contextlib.contextmanager
def environment(stack):
    """What `. quern-out/env` sets where quickstart has left a stack running."""
    with tempfile.TemporaryDirectory(prefix="quern-path-", dir="/tmp") as folder:
        # Where libquern is built with sanitizers its users have to be, too.
        with open(os.path.join(folder, "cc"), "w") as cc:
            cc.write(f'#!/bin/sh\nexec /usr/bin/cc {" ".join(sanitizers())} "$@"\n')
        os.chmod(os.path.join(folder, "cc"), 0o755)
        path = [folder, os.path.join(BUILD, "bin"), "/usr/bin", "/bin", "/usr/sbin"]
        yield {
            "PATH": ":".join(path),
            "REDIS_URL": stack.redis.url,
            "QUERN_EXECUTOR": stack.socket,
            "OPENAI_BASE_URL": stack.model.url,
            "OPENAI_API_KEY": "practice",
            "OPENAI_MODEL": "practice",
            "no_proxy": "127.0.0.1",
            "PKG_CONFIG_PATH": os.path.join(BUILD, "producer", "client"),
            "TREE": SOURCE,
            "LC_ALL": "C.UTF-8",
        }
