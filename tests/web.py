"""A web server of a test's own, on loopback, which notes what it is asked.

    with Web() as web:
        ...
        assert web.seen["/orders"] == 1

It gives back the body, or the path as JSON where there is none; who asks for
something slow waits until web.let_go is set. A subclass may answer otherwise.
"""

import json
import threading
from collections import Counter, namedtuple
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Asked = namedtuple("Asked", "method path headers body")

# What an MCP server of one tool, forecast, answers to each method.
FORECASTS = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "x", "version": "1"},
    },
    "tools/list": {
        "tools": [{"name": "forecast", "inputSchema": {"type": "object"}}],
    },
    "tools/call": {"content": [{"type": "text", "text": "rain"}]},
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(b"")

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, body):
        asked = Asked(self.command, self.path, dict(self.headers), body)
        status, data, headers = self.server.take(asked)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": len(data)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Web(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked, self.seen = [], Counter()  # by path
        self.let_go = threading.Event()

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.let_go.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        """Who asked has gone away meanwhile."""

    def take(self, asked):
        self.asked.append(asked)
        self.seen[asked.path] += 1
        if "slow" in asked.path:
            self.let_go.wait(60)
        return self.answer(asked)

    def answer(self, asked):
        """Status, data, headers."""
        return 200, asked.body or json.dumps({"path": asked.path}).encode(), {}
