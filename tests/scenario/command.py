"""The quern command, run as a person or a script would."""

import contextlib
import json
import os
import pty
import select
import signal
import subprocess

from servers import binary, die_with_parent, wait_until

QUERN = binary("quern")


class Command:
    """In a folder of its own, with an environment that holds little else."""

    def __init__(self, url, cwd, program=QUERN):
        self.program = str(program)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(cwd), "REDIS_URL": url}
        # doctor tries the walls where no executor answers, which takes seconds
        # when libraries are loaded for it.
        self.env["QUERN_PROFILE"] = "bare"
        self.cwd = cwd

    def start(self, *args, stdin="", stdout=subprocess.PIPE, **env):
        child = subprocess.Popen(
            [self.program, *args],
            env={**self.env, **env},
            cwd=self.cwd,
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=die_with_parent,
        )
        with contextlib.suppress(BrokenPipeError):  # it has refused already
            child.stdin.write(stdin)
            child.stdin.close()
        child.stdin = None
        return child

    def run(self, *args, **more):
        """Both streams and the exit code."""
        child = self.start(*args, **more)
        out, err = child.communicate(timeout=60)
        return out, err, child.returncode

    def __call__(self, *args, code=0, **more):
        """stdout, or stderr when it should fail."""
        out, err, returned = self.run(*args, **more)
        assert returned == code, (args, returned, out, err)
        return out if code == 0 else err

    def json(self, *args, **more):
        return [json.loads(line) for line in self(*args, "--json", **more).splitlines()]


class Terminal:
    """A quern on a terminal of its own."""

    def __init__(self, command, *args):
        self.said = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(command.cwd)
            env = {**command.env, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
            os.execve(command.program, [command.program, *args], env)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def read(self, timeout=0.05):
        while select.select([self.fd], [], [], timeout)[0]:
            try:
                piece = os.read(self.fd, 65536)
            except OSError:  # the other side is gone
                return self.said
            self.said += piece.decode(errors="replace")
        return self.said

    def wait_for(self, text):
        wait_until(lambda: text in self.read(), what=f"{text!r} on the terminal")

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """The wait status, once it has ended."""

        def ended():
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return (status,) if pid else None

        (status,) = wait_until(ended, what="the end of quern")
        self.pid = 0
        return status
