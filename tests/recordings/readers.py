"""Both readers of recordings, as processes: ours, and the openai client."""

import json
import os
import subprocess

from recordings import pack
from servers import BUILD, binary

CLIENT = "openai==3.51.0"
PLACE = os.path.join(os.path.dirname(os.path.abspath(BUILD)), CLIENT.replace("==", "-"))
PYTHON = os.path.join(PLACE, "bin", "python")
MADE = os.path.join(PLACE, "made")
READ_S = 600


class Frame:
    """Bytes to be read, in how many ways; what they are is the caller's."""

    def __init__(
        self, body, status=200, max_tokens=0, whole=True, splits=0, about=None
    ):
        self.body = body if isinstance(body, bytes) else body.encode()
        self.status, self.max_tokens, self.whole = status, max_tokens, whole
        self.splits, self.about = splits, about

    def encode(self, seed):
        head = f"{self.status} {self.max_tokens} {int(self.whole)} {self.splits}"
        return f"{head} {seed} {len(self.body)}\n".encode() + self.body


def read_ours(frames, seed, dialect="chat"):
    """What we make of each; how often bytes were read."""
    done = subprocess.run(
        [binary("reply_replay"), dialect],
        input=b"".join(frame.encode(seed) for frame in frames),
        capture_output=True,
        timeout=READ_S,
    )
    assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode()
    made = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(made) == len(frames)
    return made


def has_ours():
    return os.path.exists(binary("reply_replay"))


def has_client():
    return os.path.exists(MADE)


def fetch_client():
    """Raises CalledProcessError where it cannot be had."""
    subprocess.run(
        ["/usr/bin/python3", "-m", "venv", "--clear", PLACE], check=True, stdout=2
    )
    subprocess.run(
        [PYTHON, "-m", "pip", "install", "--quiet", "--retries", "1", CLIENT],
        check=True,
        stdout=2,
    )
    with open(MADE, "w"):
        pass


def read_client(recordings):
    """What the openai client makes of each."""
    lines = [
        json.dumps(
            {
                "status": recording["status"],
                "type": recording.get("headers", {}).get("content-type", "text/plain"),
                "stream": pack.is_stream(recording),
                "body": recording["body"],
            }
        )
        for recording in recordings
    ]
    done = subprocess.run(
        [PYTHON, os.path.join(os.path.dirname(__file__), "client.py")],
        input="\n".join(lines),
        stdout=subprocess.PIPE,
        text=True,
        timeout=READ_S,
        check=True,
    )
    made = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(made) == len(recordings)
    return made
