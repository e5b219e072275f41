"""A way to Redis on which every command and every answer is seen, and may be
lost.

    with Wire(server.socket, history) as way:
        ... REDIS_URL=way.url ...
        way.cut_at(("finish_many", 1), Loss.ANSWER)

What it sees of grants and fenced writes goes into the history. Unlike
held_redis.py it knows where commands begin and end.
"""

import collections
import enum
import threading

from relay import Relay, read, write

PREFIX = b"quern_v1_"
# id and epoch are their first arguments.
FENCED = {
    "journal",
    "spend",
    "event",
    "finish",
    "finish_many",
    "release",
    "wait",
    "session_claim",
    "session_save",
}
FINISH_ARGS = 10  # of one job among many
# Not steps of a job: what a connection says of itself.
GREETINGS = {
    "CLIENT",
    "AUTH",
    "SELECT",
    "HELLO",
    "PING",
    "SUBSCRIBE",
    "ROLE",
    "INFO",
}


class Loss(enum.Enum):
    COMMAND = "command"  # it is not sent
    ANSWER = "answer"  # it is carried out, and nobody hears of it


class More(Exception):
    """The value is not whole."""


class Refusal(str):
    """An error as an answer."""


def parse(data, at):
    """The RESP 2 value at that place, and where the next one begins."""
    end = data.find(b"\r\n", at)
    if end < 0:
        raise More
    kind, rest, at = data[at : at + 1], bytes(data[at + 1 : end]), end + 2
    if kind == b"+":
        return rest, at
    if kind == b"-":
        return Refusal(rest.decode("latin-1")), at
    if kind == b":":
        return int(rest), at
    size = int(rest)
    if size < 0:
        return None, at
    if kind == b"$":
        if len(data) < at + size + 2:
            raise More
        return bytes(data[at : at + size]), at + size + 2
    assert kind == b"*", kind
    values = []
    for _ in range(size):
        value, at = parse(data, at)
        values.append(value)
    return values, at


def values_of(end):
    """Whole values as they come, each with its bytes."""
    data = bytearray()
    while True:
        try:
            value, size = parse(data, 0)
        except More:
            piece = read(end)
            if not piece:
                return
            data += piece
            continue
        yield value, bytes(data[:size])
        del data[:size]


def pack(words):
    parts = [b"$%d\r\n%s\r\n" % (len(word), word) for word in words]
    return b"*%d\r\n" % len(words) + b"".join(parts)


def step_of(command):
    """The function's short name, or the command's."""
    if command[0].upper() == b"FCALL":
        return command[1].removeprefix(PREFIX).decode()
    return command[0].upper().decode()


class Wire(Relay):
    def __init__(self, socket_path, history=None):
        self.history = history
        self.lock = threading.Lock()
        self.steps = []  # since watch(), each with its ordinal
        self.counts = collections.Counter()
        self.place = self.loss = None
        self.on_cut = lambda: None
        self.cut = threading.Event()
        self.rewrite = lambda command: command
        super().__init__(socket_path, shared=collections.deque)

    def watch(self):
        """Steps are counted from here on."""
        with self.lock:
            self.steps.clear()
            self.counts.clear()

    def cut_at(self, place, loss, on_cut=lambda: None):
        """place: (step, which one of its kind from here on). Once."""
        self.watch()
        self.cut.clear()
        self.on_cut, self.loss, self.place = on_cut, loss, place

    def requests(self, client, server, sent):
        for command, _ in values_of(client):
            command = self.rewrite(command)
            loss = self.loss_at(step_of(command))
            if loss is Loss.COMMAND:
                self.has_cut()
                break
            since = self.history.count if self.history else 0
            sent.append((command, since, loss))
            if not write(server, pack(command)):
                break

    def answers(self, client, server, sent):
        pushes = False
        for value, data in values_of(server):
            if not pushes:
                command, since, loss = sent.popleft()
                pushes = step_of(command) == "SUBSCRIBE"
                self.tell(command, since, value)
                if loss is Loss.ANSWER:
                    self.has_cut()
                    break
            if not write(client, data):
                break

    def loss_at(self, step):
        """Counts it; what is to be lost of it, or None."""
        if step in GREETINGS:
            return None
        with self.lock:
            self.counts[step] += 1
            place = step, self.counts[step]
            self.steps.append(place)
            if place != self.place or self.cut.is_set():
                return None
            return self.loss

    def has_cut(self):
        self.on_cut()
        self.cut.set()

    def tell(self, command, since, value):
        """Grants and fenced writes, to the history."""
        step = step_of(command)
        if self.history is None:
            return
        if step == "take" and isinstance(value, list):
            for job, epoch in grants_in(value):
                self.history.note("grant", job=job, epoch=epoch)
        if step in FENCED:
            for job, epoch, answer in writes_in(step, command[4:], value):
                refused = isinstance(answer, Refusal)
                self.history.note(
                    "write",
                    job=job.decode(),
                    epoch=int(epoch),
                    name=step,
                    since=since,
                    ok=not refused,
                    word=answer.partition(" ")[0] if refused else None,
                )


def writes_in(step, args, value):
    """Id, epoch and answer, of every job that it is about."""
    if step == "finish_many" and isinstance(value, list):
        yield from zip(args[::FINISH_ARGS], args[1::FINISH_ARGS], value)
    else:
        yield args[0], args[1], value


def grants_in(value):
    """Pairs of id and epoch; start's answer is such a row, take's has many."""
    if len(value) >= 12 and value[0] == 1 and isinstance(value[3], int):
        yield value[2].decode(), value[3]
        return
    for row in value:
        if isinstance(row, list):
            yield from grants_in(row)
