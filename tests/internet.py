"""A small internet in a network namespace of the test's own.

    names = {"allowed.test": ["93.184.215.14"]}
    with Internet(names, ["93.184.215.14"], [80, 443]) as internet:
        ...

Within, this process and those that it starts have that internet and no other.
Names are resolved by a server that answers as the test wants; every address
has a web server on the ports given, which notes who was asked for what. Needs
root.
"""

import collections
import ctypes
import http.server
import os
import socket
import socketserver
import struct
import subprocess
import tempfile
import threading
from types import SimpleNamespace

from servers import wait_until

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def run(*command):
    subprocess.run(command, check=True)


def replace(path, text):
    """Another file at that place, for this process and its children."""
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    run("mount", "--bind", file.name, os.path.realpath(path))
    os.unlink(file.name)


class Internet:
    def __init__(self, names, addresses, ports):
        self.names = names  # name: list of addresses, or of such lists in turn
        self.addresses = addresses
        self.ports = ports
        self.silent = set()  # names to which the name server does not answer
        self.asked = collections.Counter()  # names that were looked up
        self.seen = []  # requests, as the servers saw them
        self.servers = []

    def __enter__(self):
        self.outside = [
            (os.open(f"/proc/self/ns/{name}", os.O_RDONLY), flag)
            for name, flag in (("mnt", CLONE_NEWNS), ("net", CLONE_NEWNET))
        ]
        self.folder = os.getcwd()
        if libc.unshare(CLONE_NEWNET | CLONE_NEWNS):
            raise OSError(ctypes.get_errno(), "unshare")
        run("mount", "--make-rprivate", "/")
        run("ip", "link", "set", "lo", "up")
        for address in self.addresses:
            run("ip", "addr", "add", f"{address}/32", "dev", "lo")
        replace(
            "/etc/resolv.conf",
            "nameserver 127.0.0.1\nsearch corp.test\noptions timeout:30 attempts:1\n",
        )
        replace("/etc/nsswitch.conf", "hosts: files dns\n")
        replace("/etc/hosts", "127.0.0.1 localhost\n93.184.215.14 filed.test\n")
        self.serve(NameServer(self))
        for port in self.ports:
            self.serve(WebServer(self, port))
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
            server.server_close()
        for fd, flag in self.outside:
            # The kernel lets nobody go who has threads.
            wait_until(lambda: libc.setns(fd, flag) == 0, what="a way back")
            os.close(fd)
        os.chdir(self.folder)

    def serve(self, server):
        self.servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()

    def answer(self, name):
        """The addresses of a name this time; None: there is no such name."""
        self.asked[name] += 1
        answers = self.names.get(name)
        if answers is None and name.endswith(".wild.test"):
            return ["93.184.215.14"]
        if not answers or isinstance(answers[0], str):
            return answers
        return answers[min(self.asked[name], len(answers)) - 1]


class NameServer(socketserver.UDPServer):
    """Answers A; has nothing of any other kind."""

    def __init__(self, internet):
        self.internet = internet
        super().__init__(("127.0.0.1", 53), None)

    def finish_request(self, request, client):
        query, reply_to = request
        name, at = [], 12
        while query[at]:
            name.append(query[at + 1 : at + 1 + query[at]].decode())
            at += 1 + query[at]
        (kind,) = struct.unpack(">H", query[at + 1 : at + 3])
        question = query[12 : at + 5]
        name = ".".join(name).lower()
        found = self.internet.answer(name) if kind == 1 else []
        if name in self.internet.silent:
            return
        flags = 0x8183 if found is None else 0x8180
        head = query[:2] + struct.pack(">5H", flags, 1, len(found or []), 0, 0)
        records = b"".join(
            struct.pack(">3HIH", 0xC00C, 1, 1, 0, 4) + socket.inet_aton(address)
            for address in found or []
        )
        reply_to.sendto(head + question + records, client)

    def shutdown_request(self, request):
        pass


class WebServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, internet, port):
        self.internet = internet
        super().__init__(("0.0.0.0", port), Site)


class Site(http.server.BaseHTTPRequestHandler):
    """/echo gives back head and body, /bytes/N as many, /to/URL a redirect."""

    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        host, port = self.connection.getsockname()
        self.server.internet.seen.append(
            SimpleNamespace(
                address=host,
                port=port,
                line=self.requestline,
                headers=self.headers.items(),
                body=body,
            )
        )
        what, _, rest = self.path.lstrip("/").partition("/")
        self.send_response(302 if what == "to" else 200)
        answer = body or f"{self.command} {self.path}".encode()
        if what == "to":
            self.send_header("Location", rest)
        if what == "bytes":
            answer = b"x" * int(rest)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_PUT = do_HEAD = do_GET
