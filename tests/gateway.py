"""quern-gateway as a process, and a client that speaks plain HTTP to it.

    with Gateway(stack.redis.url, open="default") as gateway:
        status, body = gateway.json("POST", "/v1/jobs", {"prompt": "hello"})
"""

import contextlib
import hashlib
import http.client
import json
import os
import re
import secrets
import socket
import string
import zlib

import servers

PATIENCE_S = servers.PATIENCE_S
LETTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase


def frees_at_once():
    """Variables for a gateway whose memory is measured: ASan keeps what was
    freed, which would look like memory that is used."""
    return {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"}


def record(key):
    """The name of what Redis has of a key."""
    return f"quern:{{quern:fleet}}:key:{hashlib.sha256(key.encode()).hexdigest()}"


def checked(key):
    """With the CRC-32 of it, in base 62."""
    rest, check = zlib.crc32(key.encode()), ""
    for _ in range(6):
        rest, digit = divmod(rest, 62)
        check = LETTERS[digit] + check
    return key + check


def make_key(stack, **fields):
    """A key, of which Redis has the hash alone."""
    key = checked("qk_" + "".join(secrets.choice(LETTERS) for _ in range(30)))
    given = {"tenant": "ann", "scopes": "submit read", **fields}
    stack.db.hset(record(key), mapping=given)
    return key


def bearer(key):
    return {"authorization": f"Bearer {key}"}


def part(name, data, file=None, type=None, quoted=None):
    """One part of a form; quoted: the filename as it is to stand in quotes."""
    head = f'Content-Disposition: form-data; name="{name}"'
    if file is not None:
        head += f'; filename="{quoted or file}"'
    if type:
        head += f"\r\nContent-Type: {type}"
    return head.encode() + b"\r\n\r\n" + data


def form(*parts, boundary="XX"):
    line = b"--" + boundary.encode()
    return b"".join(line + b"\r\n" + each + b"\r\n" for each in parts) + line + b"--\r\n"


FORM = {"content_type": "multipart/form-data; boundary=XX"}


class Gateway(servers.Process):
    """Listens on a port of 127.0.0.1; settings as in QUERN_..., lower case; more:
    other variables."""

    def __init__(self, redis_url, port=0, more=None, **settings):
        given = {"listen": f"127.0.0.1:{port}", "open": "default", **settings}
        env = {f"QUERN_{k.upper()}": str(v) for k, v in given.items() if v is not None}
        super().__init__(
            [servers.binary("quern-gateway")], env={"REDIS_URL": redis_url, **env, **(more or {})}
        )
        self.port = None
        self.begin()

    def begin(self):
        """Starts it, also once more, on the port that it had."""
        if self.port:
            self.env["QUERN_LISTEN"] = f"127.0.0.1:{self.port}"
            open(self.log, "w").close()
        self.start()
        line = self.wait_for('"listening"')
        self.port = int(re.search(r'"port": ?(\d+)', line).group(1))
        return self

    def ready(self):
        self.wait_for('"ready"')
        return self

    def connection(self, timeout=PATIENCE_S):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def call(self, method, path, body=None, **headers):
        """(status, headers, bytes); headers: content_type="text/plain"."""
        connection = self.connection()
        try:
            names = {k.replace("_", "-"): v for k, v in headers.items()}
            connection.request(method, path, body, names)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, **headers):
        """(status, JSON of the answer); body: a value."""
        if body is not None:
            headers = {"content_type": "application/json", **headers}
            body = json.dumps(body)
        status, _, data = self.call(method, path, body, **headers)
        return status, json.loads(data)

    def refusal(self, method, path, body=None, **headers):
        """(status, code, param) of an error, whose form is checked."""
        status, answer = self.json(method, path, body, **headers)
        assert status >= 400, answer
        assert list(answer) == ["error"], answer
        error = answer["error"]
        assert list(error) == ["message", "type", "param", "code"], error
        assert error["message"] and error["type"] and error["code"]
        return status, error["code"], error["param"]

    def follow(self, job, **given):
        return Follower(self, job, **given)

    def drain(self):
        """It must end by itself, and ASan must have nothing to say."""
        self.signal(servers.signal.SIGTERM)
        assert self.child.wait(PATIENCE_S) == 0, self.end()


class Follower:
    """The events of a job over a raw socket, as server-sent events."""

    def __init__(self, gateway, job, query="", buffer=None, **headers):
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(("127.0.0.1", gateway.port))
        lines = [f"GET /v1/jobs/{job}/events{query} HTTP/1.1", "Host: localhost"]
        lines += [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self.answer = None
        self.comments = 0

    def open(self):
        self.answer = http.client.HTTPResponse(self.socket)
        self.answer.begin()
        return self.answer

    def events(self):
        """Yields (id, type, data) until the stream ends."""
        if not self.answer:
            self.open()
        assert self.answer.status == 200, self.answer.read()
        assert self.answer.headers["Content-Type"] == "text/event-stream"
        fields = {}
        for line in self.answer:
            line = line.decode().rstrip("\n")
            if line.startswith(":"):
                self.comments += 1
            elif line:
                name, _, value = line.partition(": ")
                assert name not in fields, line
                fields[name] = value
            elif fields:
                yield int(fields["id"]), fields["event"], json.loads(fields["data"])
                fields = {}
        assert not fields, fields

    def close(self):
        self.socket.close()


@contextlib.contextmanager
def closed_gateway(stack):
    """It asks for a key; the one that it has as .key may do everything."""
    with Gateway(stack.redis.url, open=None) as gateway:
        gateway.ready()
        gateway.key = make_key(stack, tenant="default", scopes="submit read operate admin")
        yield gateway
        gateway.drain()
