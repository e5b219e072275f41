"""The configurations for nginx and Caddy in front of the gateway: requests over
HTTP/2, streams that are not held back, uploads. Both programs come from Debian's
packages, unpacked beside the build, since an installed one would be started."""

import contextlib
import json
import pathlib
import re
import subprocess
import time

import pytest
import tls_peer
from debian import unpacked
from gateway import Gateway
from servers import SOURCE, Process, free_ports, wait_until
from stack import Stack

PROXIES = pathlib.Path(SOURCE, "deploy", "proxy")


def nginx(folder, port, behind, certificate):
    """As the file says, but for names, ports and the certificate."""
    text = (PROXIES / "nginx.conf").read_text()
    text = text.replace("127.0.0.1:8088", f"127.0.0.1:{behind}")
    text = text.replace("listen 443", f"listen 127.0.0.1:{port}")
    text = text.replace("quern.example;", "127.0.0.1;", 1)
    text = re.sub("ssl_certificate .*", f"ssl_certificate {certificate.path};", text)
    text = re.sub("ssl_certificate_key .*", f"ssl_certificate_key {certificate.key};", text)
    paths = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    conf = folder / "nginx.conf"
    conf.write_text(
        f"daemon off; pid {folder}/pid; error_log stderr; user root;\n"
        f"events {{}}\nhttp {{ access_log off;\n{paths}{text}\n}}\n"
    )
    return Process([unpacked("nginx") / "usr/sbin/nginx", "-p", folder, "-c", conf])


def caddy(folder, port, behind, certificate):
    text = (PROXIES / "Caddyfile").read_text()
    text = text.replace("127.0.0.1:8088", f"127.0.0.1:{behind}")
    text = text.replace(
        "quern.example {",
        "{\n admin off\n auto_https disable_redirects\n}\n"
        f"https://127.0.0.1:{port} {{\n tls {certificate.path} {certificate.key}\n",
    )
    conf = folder / "Caddyfile"
    conf.write_text(text)
    return Process(
        [unpacked("caddy") / "usr/bin/caddy", "run", "--config", conf, "--adapter", "caddyfile"],
        env={"HOME": str(folder), "XDG_DATA_HOME": str(folder)},
    )


@pytest.fixture(scope="module")
def stack():
    with Stack() as stack:
        stack.consumer()
        yield stack


@pytest.fixture(scope="module")
def gateway(stack):
    # A busy machine takes seconds to write 64 MiB.
    settings = {"foreground_grace": "200ms", "redis_timeout": "60s"}
    with Gateway(stack.redis.url, **settings) as gateway:
        gateway.ready()
        yield gateway
        gateway.drain()


@pytest.fixture(scope="module", params=[nginx, caddy], ids=["nginx", "caddy"])
def proxy(request, gateway, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param.__name__)
    certificate = tls_peer.Certificate(folder)
    [port] = free_ports(1)
    with request.param(folder, port, gateway.port, certificate) as process:
        proxy = Proxy(port, certificate)
        wait_until(
            lambda: process.alive() and proxy("/livez")[0] == 200,
            what=f"the proxy: {process.text()}",
        )
        yield proxy


class Proxy:
    """As curl sees it."""

    def __init__(self, port, certificate):
        self.url = f"https://127.0.0.1:{port}"
        self.curl = ["curl", "--silent", "--no-buffer", "--http2", "--max-time", "300"]
        self.curl += ["--cacert", certificate.path]

    def __call__(self, path, *more):
        """(status, version of HTTP, body)."""
        more = ["--write-out", "\n%{http_code} %{http_version}", *more]
        said = subprocess.run([*self.curl, *more, self.url + path], capture_output=True)
        body, _, end = said.stdout.rpartition(b"\n")
        status, version = end.decode().split()
        return int(status), version, body

    @contextlib.contextmanager
    def stream(self, path, *more):
        """The body, line by line; at the end the client goes away."""
        command = [*self.curl, *more, self.url + path]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            try:
                yield process.stdout
            finally:
                process.kill()


def test_a_response(proxy, stack):
    stack.model.script([{"text": "one"}])
    status, version, body = proxy("/v1/responses", "--json", '{"input": "a"}')
    assert (status, version) == (200, "2")
    assert json.loads(body)["status"] == "completed"


def test_an_upload_of_the_largest_file(proxy, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(bytes(64 << 20))
    status, _, body = proxy(
        *("/v1/blobs", "--data-binary", f"@{file}"),
        *("--header", "Content-Type: application/octet-stream"),
    )
    assert status == 201, body
    assert json.loads(body)["bytes"] == 64 << 20


def test_a_stream_is_not_held_back(proxy, stack):
    """Each piece is there before the next one is written."""
    stack.model.script([{"text": "word " * 10, "chunk_ms": 300}])
    with proxy.stream("/v1/responses", "--json", '{"input": "a", "stream": true}') as out:
        times = [
            time.monotonic()
            for line in out
            if line.startswith(b"event: response.output_text.delta")
        ]
    assert len(times) > 3 and times[-1] - times[0] > 1


def test_a_client_that_goes_away_is_seen(proxy, stack):
    stack.model.script([{"text": "word " * 400, "chunk_ms": 100}])
    with proxy.stream("/v1/responses", "--json", '{"input": "a", "stream": true}') as out:
        created = next(line for line in out if line.startswith(b"data: "))
    id = json.loads(created.removeprefix(b"data: "))["response"]["id"]
    wait_until(
        lambda: json.loads(proxy(f"/v1/responses/{id}")[2])["status"] == "cancelled",
        what="the end of a job that nobody waits for",
    )
