"""server.py - the real model, as a process, and how it is talked to.

A model of 135 million parameters does what it has just seen done. So every job
brings a conversation in which the assistant has used Python three times, and
asks in the same words: the model then writes the fourth call, and the answer
from what came of it, by itself.
"""

import json
import os
import urllib.request

from servers import Process, free_ports, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = os.environ.get("QUERN_REAL_MODEL", "")
START_S = 120
EXAMPLES = [("17 * 23", "391"), ("1024 + 4096", "5120"), ("600 / 25", "24.0")]


class RealModel:
    """llama.cpp's server. window: tokens of a request and its reply."""

    def __init__(self, window=2048):
        (self.port,) = free_ports(1)
        python = os.path.join(PLACE, "bin", "python")
        serve = os.path.join(HERE, "serve.py")
        self.process = Process([python, serve, self.port, window])
        self.starts = 0
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()

    def start(self):
        self.starts += 1
        self.process.start()
        wait_until(self.is_up, START_S, "the model's server is up")

    def is_up(self):
        assert self.process.alive(), self.process.end()
        return self.process.text().count("xllamacpp ") == self.starts

    def kill(self):
        self.process.kill()

    @property
    def version(self):
        return self.process.wait_for("xllamacpp ").split(" at ")[0]

    def busy(self):
        """How many requests it works on."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.port}/slots", timeout=30) as answer:
            return sum(slot["is_processing"] for slot in json.load(answer))


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def question(expression):
    return user(f"Use Python: what is {expression}?")


def by_call(number, code, output):
    function = {"name": "execute_python_code", "arguments": json.dumps({"code": code})}
    id = f"call_{number}"
    call = {"id": id, "type": "function", "function": function}
    return [
        assistant(None, tool_calls=[call]),
        {"role": "tool", "tool_call_id": id, "content": f"stdout:\n{output}\n"},
        assistant(f"Python says: {output}"),
    ]


def by_code(number, code, output):
    return [
        assistant(f"I compute it.\n```python\n{code}\n```"),
        user(f"Observation:\nstdout:\n{output}\n"),
        assistant(f"FINAL ANSWER: Python says: {output}"),
    ]


MODES = {"tools": by_call, "codeact": by_code}


def asked(mode, expression):
    """The messages of a job."""
    messages = []
    for number, (example, output) in enumerate(EXAMPLES):
        messages.append(question(example))
        messages += MODES[mode](number, f"print({example})", output)
    return [*messages, question(expression)]
