"""The HTTP client, seen from servers that are written here."""

import contextlib
import email.utils
import http.server
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time

import pytest

from servers import binary

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def attempt(url, env=None, **options):
    """What the client reports, one dictionary a request."""
    clean = {k: v for k, v in os.environ.items() if k.lower() not in PROXIES}
    clean.pop("SSL_CERT_FILE", None)
    clean.pop("CURL_CA_BUNDLE", None)
    done = subprocess.run(
        [binary("http_try"), url] + [f"{k}={v}" for k, v in options.items()],
        env={**clean, **(env or {})},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by the name of the page."""

    protocol_version = "HTTP/1.1"

    def answer(self, status=200, body=b"hello", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.server.seen.append((self.path, dict(self.headers)))
        page = self.path.split("/")[-1]
        if page == "redirect":
            self.answer(302, Location="/plain")
        elif page == "later":
            then = email.utils.formatdate(time.time() + 100, usegmt=True)
            self.answer(503, Retry_After=then)
        elif page == "never_again":
            self.answer(503, x_should_retry="false", Retry_After="1.5")
        elif page == "large":
            self.answer(body=b"x" * 100000)
        elif page == "short":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"hello")
            self.close_connection = True
        elif page == "flood":
            self.answer(body=b"x" * (64 << 20))
        elif page == "tire":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                for _ in range(30):
                    self.wfile.write(b".")
                    time.sleep(0.02)
            time.sleep(6)
            self.close_connection = True
        elif page == "drip":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                for _ in range(1000):
                    self.wfile.write(b".")
                    time.sleep(0.02)
            self.close_connection = True
        else:
            self.answer()

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        assert len(self.rfile.read(size)) == size
        self.do_GET()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, context=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen = []
        self.connections = 0
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        scheme = "https" if context else "http"
        self.url = f"{scheme}://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def process_request(self, request, address):
        self.connections += 1
        super().process_request(request, address)

    def handle_error(self, *_):
        pass

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


@pytest.fixture
def server():
    with Server() as server:
        yield server


def test_an_answer(server):
    (result,) = attempt(server.url + "/plain")
    assert (result["end"], result["status"], result["bytes"]) == ("answered", 200, 5)
    assert result["text"] == ""
    ((_, headers),) = server.seen
    assert headers["User-Agent"].startswith("quern/")


def test_a_long_body_goes_without_asking(server):
    (result,) = attempt(server.url + "/plain", post=3 << 20)
    assert result["end"] == "answered"
    ((_, headers),) = server.seen
    assert "Expect" not in headers
    assert headers["X-Test"] == "yes"


def test_redirects_are_not_followed(server):
    (result,) = attempt(server.url + "/redirect")
    assert (result["end"], result["status"]) == ("answered", 302)
    assert [path for path, _ in server.seen] == ["/redirect"]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/", "http://"])
def test_only_http(url):
    (result,) = attempt(url)
    assert (result["end"], result["bytes"]) == ("not_sent", 0)
    assert result["text"] != ""


def test_when_to_come_again(server):
    (result,) = attempt(server.url + "/later")
    assert 90_000 < result["retry_after_ms"] <= 100_000
    (result,) = attempt(server.url + "/never_again")
    assert (result["retry_after_ms"], result["should_retry"]) == (1500, -1)


def test_bounds(server):
    (result,) = attempt(server.url + "/large", max=99999)
    assert result["end"] == "too_large" and "99999" in result["text"]
    (result,) = attempt(server.url + "/large", max=100000)
    assert result["end"] == "answered"
    (result,) = attempt(server.url + "/short")
    assert result["end"] == "broken"
    (result,) = attempt(server.url + "/drip", total=300)
    assert result["end"] == "timeout"
    (result,) = attempt(server.url + "/drip", idle=150, first=5000, total=700)
    assert "nothing new" not in result["text"]
    (result,) = attempt(server.url + "/drip", first=150, noise=1)
    assert (result["end"], result["text"]) == (
        "timeout",
        "nothing new came within 150 ms",
    )
    (result,) = attempt(server.url + "/tire", first=200, idle=400, total=5000)
    assert (result["end"], result["text"]) == (
        "timeout",
        "nothing new came within 400 ms",
    )
    (result,) = attempt(server.url + "/drip", stop=3)
    assert (result["end"], result["status"]) == ("stopped", 200)


def test_a_server_that_is_faster_than_we_are(server):
    """It gets its share of the loop and no more: others wait for theirs."""
    (result,) = attempt(server.url + "/flood", max=64 << 20)
    assert (result["end"], result["bytes"]) == ("answered", 64 << 20)
    assert result["most"] <= 300_000


def test_a_connection_is_used_again(server):
    results = attempt(server.url + "/plain", times=3)
    assert [r["end"] for r in results] == ["answered"] * 3
    assert server.connections == 1


def test_a_stopped_answer_that_ends_keeps_its_connection(server):
    results = attempt(server.url + "/plain", times=3, stop=1)
    assert [r["end"] for r in results] == ["answered"] * 3
    assert server.connections == 1


@contextlib.contextmanager
def raw_server(*answers):
    """Each connection gets one of the answers, then it is closed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


def test_a_connection_that_was_closed_meanwhile():
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    with raw_server(whole, whole) as url:
        results = attempt(url, times=2, pause=300)
    assert [r["end"] for r in results] == ["answered"] * 2


def read_request(connection):
    stream = connection.makefile("rb")
    head = b"".join(iter(stream.readline, b"\r\n"))
    (size,) = re.findall(rb"Content-Length: (\d+)", head)
    return head + stream.read(int(size))


def test_a_post_is_never_sent_again_unasked():
    """The kept connection takes the second request and is closed without an
    answer: whether it was carried out is not for curl to guess."""
    requests = []
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    def serve(listener):
        for answers in ([whole, b""], [whole]):
            connection, _ = listener.accept()
            with connection:
                for answer in answers:
                    requests.append(read_request(connection))
                    connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=[listener], daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        results = attempt(url, times=2, post=100)
    assert [r["end"] for r in results] == ["answered", "broken"]
    assert len(requests) == 2


def test_nonsense():
    with raw_server(b"SSH-2.0-OpenSSH_9.2\r\n") as url:
        (result,) = attempt(url)
    assert result["end"] == "broken"
    with raw_server(b"") as url:
        (result,) = attempt(url)
    assert (result["end"], result["status"]) == ("broken", 0)


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    (result,) = attempt(f"http://127.0.0.1:{port}/")
    assert result["end"] == "not_sent" and str(port) in result["text"]


def test_proxy_of_the_environment(server):
    env = {"http_proxy": server.url}
    (result,) = attempt("http://elsewhere.invalid/plain", env)
    assert result["end"] == "answered"
    assert [path for path, _ in server.seen] == ["http://elsewhere.invalid/plain"]
    (result,) = attempt("http://127.0.0.1:1/", {**env, "no_proxy": "127.0.0.1"})
    assert result["end"] == "not_sent"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    key, path = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        + ["-subj", "/CN=quern test", "-addext", "subjectAltName=IP:127.0.0.1"]
        + ["-keyout", key, "-out", path],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, key)
    return context, str(path), str(key)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "CURL_CA_BUNDLE"])
def test_certificates_are_checked(certificate, variable):
    context, path, _ = certificate
    with Server(context) as server:
        (result,) = attempt(server.url + "/plain")
        assert (result["end"], server.seen) == ("not_sent", [])
        assert "certificate" in result["text"].lower()

        (result,) = attempt(server.url + "/plain", {variable: path})
        assert (result["end"], result["status"]) == ("answered", 200)

        named = server.url.replace("127.0.0.1", "localhost")
        (result,) = attempt(named, {variable: path})
        assert result["end"] == "not_sent"


HTTP_2 = """
const [path, key] = process.argv.slice(1), fs = require("fs");
const options = { cert: fs.readFileSync(path), key: fs.readFileSync(key) };
const server = require("http2").createSecureServer(options);
let connections = 0;
server.on("session", () => connections++);
server.on("stream", (stream) => {
  stream.respond({ ":status": 200 });
  setTimeout(() => stream.end("x".repeat(connections)), 50);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""


@pytest.mark.skipif(not shutil.which("node"), reason="no HTTP/2 server here")
@pytest.mark.parametrize("options", [{"at_once": 80}, {"at_once": 300, "warm": 1}])
def test_many_requests_share_one_connection(certificate, options):
    """Until a server says how many streams it takes, curl assumes a hundred."""
    _, path, key = certificate
    server = subprocess.Popen(
        ["node", "-e", HTTP_2, path, key], stdout=subprocess.PIPE, text=True
    )
    try:
        url = f"https://127.0.0.1:{server.stdout.readline().strip()}/"
        results = attempt(url, {"SSL_CERT_FILE": path}, **options)
    finally:
        server.kill()
        server.wait()
    assert {r["end"] for r in results} == {"answered"}
    assert results[-1]["bytes"] == options["at_once"]  # a byte for each connection
