"""quern-gateway: blobs in, files and images out."""

import base64
import hashlib
import http.client
import os
import socket
import struct
import zlib

import pytest
from servers import wait_until

GATEWAY = {"blob_memory": "128M"}

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
CELL = f"""
open('report.txt', 'w').write('0123456789' * 1000)
open('empty', 'w').close()
open('größe & "x".csv', 'w').write('a,b')
open('large.bin', 'wb').write(bytes(range(256)) * 65536)
import base64
from IPython.display import display
class Picture:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {{'image/png': {{png!r}}, 'text/html': '<b>x</b>'}}
class Drawing:
    def _repr_svg_(self):
        return {SVG!r}
display(Picture(), Drawing())
"""


def png():
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" + b"\xff\0\0" * 2 + b"\0" + b"\0\xff\0" * 2)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows)
    return base64.b64encode(data + chunk(b"IEND", b"")).decode()


@pytest.fixture(scope="module")
def job(gateway, stack):
    cell = CELL.replace("{png!r}", repr(png()))
    body = {"kind": "code", "cells": [cell]}
    id = gateway.json("POST", "/v1/jobs", body)[1]["id"]
    result = stack.result(id)
    assert result["status"] == "completed", result
    result["path"] = f"/v1/jobs/{id}"
    return result


def test_bytes_come_in_and_go_to_a_job(gateway, stack):
    data = os.urandom(3 << 20)
    status, answer = gateway.json("GET", "/livez")
    status, _, text = gateway.call("POST", "/v1/blobs", data)
    name = hashlib.sha256(data).hexdigest()
    assert (status, text) == (201, f'{{"blob":"{name}","bytes":{len(data)}}}'.encode())
    key = f"quern:{{000}}:blob:{name}"
    assert stack.db.get(key) == data
    assert 86000 < stack.db.ttl(key) <= 86400
    cell = "import hashlib; print(hashlib.sha256(open('in', 'rb').read()).hexdigest())"
    file = {"name": "in", "blob": name, "bytes": len(data)}
    body = {"kind": "code", "cells": [cell], "files": [file]}
    job = gateway.json("POST", "/v1/jobs", body)[1]["id"]
    assert stack.result(job)["cells"][0]["stdout"].strip() == name


def test_bytes_that_are_there_are_written_over_and_live_on(gateway, stack):
    data = b"some bytes"
    name = hashlib.sha256(data).hexdigest()
    key = f"quern:{{000}}:blob:{name}"
    stack.db.set(key, "others", ex=200000)
    assert gateway.call("POST", "/v1/blobs", data)[0] == 201
    assert stack.db.get(key) == data and stack.db.ttl(key) > 190000
    stack.db.set(key, "others", ex=100)
    assert gateway.call("POST", "/v1/blobs", data)[0] == 201
    assert stack.db.get(key) == data and stack.db.ttl(key) > 86000


def test_no_bytes_are_a_blob_too(gateway, stack):
    status, answer = gateway.json("POST", "/v1/blobs")
    assert (status, answer["bytes"]) == (201, 0)
    assert answer["blob"] == hashlib.sha256(b"").hexdigest()
    assert stack.db.get(f"quern:{{000}}:blob:{answer['blob']}") == b""


def test_a_blob_has_a_largest_size_and_no_path(gateway):
    connection = gateway.connection()
    connection.putrequest("POST", "/v1/blobs")
    connection.putheader("Content-Length", str((64 << 20) + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    assert gateway.refusal("GET", f"/v1/blobs/{'0' * 64}")[:2] == (404, "unknown_path")


def test_uploads_share_a_bounded_memory(gateway):
    """Two that are half done take it all; when one leaves, another may come."""
    size = 60 << 20

    def begin(part):
        other = socket.create_connection(("127.0.0.1", gateway.port))
        head = f"POST /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n"
        other.sendall(head.encode() + bytes(part))
        return other

    first = begin(40 << 20)
    second = begin(16 << 20)
    small = bytes(10 << 20)
    wait_until(lambda: gateway.call("POST", "/v1/blobs", small)[0] == 503)
    first.close()
    wait_until(lambda: gateway.call("POST", "/v1/blobs", small)[0] == 201)
    second.close()


def test_a_file_is_a_download(gateway, job):
    status, headers, data = gateway.call("GET", f"{job['path']}/files/report.txt")
    assert (status, data) == (200, b"0123456789" * 1000)
    assert headers["Content-Type"] == "text/plain"
    assert headers["Content-Disposition"] == "attachment; filename*=UTF-8''report.txt"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert headers["Content-Length"] == "10000"
    name = "gr%C3%B6%C3%9Fe%20%26%20%22x%22.csv"
    status, headers, data = gateway.call("GET", f"{job['path']}/files/{name}")
    assert (status, data) == (200, b"a,b")
    assert headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{name}"
    assert gateway.call("GET", f"{job['path']}/files/empty")[2] == b""
    large = gateway.call("GET", f"{job['path']}/files/large.bin")
    assert (large[0], large[2]) == (200, bytes(range(256)) * 65536)
    head = gateway.call("HEAD", f"{job['path']}/files/large.bin")
    assert (head[0], head[1]["Content-Length"], head[2]) == (200, str(16 << 20), b"")


RANGES = [
    ("bytes=0-9", 206, b"0123456789", "bytes 0-9/10000"),
    ("bytes=5-7", 206, b"567", "bytes 5-7/10000"),
    ("bytes=9995-", 206, b"56789", "bytes 9995-9999/10000"),
    ("bytes=9995-99999", 206, b"56789", "bytes 9995-9999/10000"),
    ("bytes=-3", 206, b"789", "bytes 9997-9999/10000"),
    ("bytes=-99999", 206, None, "bytes 0-9999/10000"),
    ("bytes=10000-", 416, b"", "bytes */10000"),
    ("bytes=-0", 416, b"", "bytes */10000"),
    ("bytes=7-5", 200, None, None),
    ("bytes=0-1,3-4", 200, None, None),
    ("lines=0-1", 200, None, None),
    ("bytes=x-", 200, None, None),
    ("bytes=99999999999999999999-", 200, None, None),
]


@pytest.mark.parametrize("range, status, part, said", RANGES)
def test_a_part_of_a_file(gateway, job, range, status, part, said):
    answer = gateway.call("GET", f"{job['path']}/files/report.txt", range=range)
    assert (answer[0], answer[1]["Content-Range"]) == (status, said)
    assert answer[2] == (b"0123456789" * 1000 if part is None else part)


def test_a_client_that_has_the_bytes_is_not_sent_them(gateway, job):
    path = f"{job['path']}/files/report.txt"
    tag = gateway.call("GET", path)[1]["ETag"]
    status, headers, data = gateway.call("GET", path, if_none_match=tag)
    assert (status, data, headers["ETag"]) == (304, b"", tag)
    assert gateway.call("GET", path, if_none_match='"other"')[0] == 200
    some = {"range": "bytes=0-1", "if_range": '"other"'}
    assert gateway.call("GET", path, **some)[0] == 200
    assert gateway.call("GET", path, **{**some, "if_range": tag})[0] == 206


def test_only_an_image_that_runs_nothing_is_shown_in_place(gateway, job):
    kinds = {}
    for image in job["images"]:
        status, headers, data = gateway.call(
            "GET", f"{job['path']}/images/{image['name']}"
        )
        assert status == 200 and hashlib.sha256(data).hexdigest() == image["blob"]
        assert headers["Content-Type"] == image["mime"]
        kinds[image["mime"]] = headers["Content-Disposition"].split(";")[0]
    assert kinds == {"image/png": "inline", "image/svg+xml": "attachment"}
    parts = [p for d in job["cells"][0]["displays"] for p in d["parts"]]
    html = next(p for p in parts if p["mime"] == "text/html")
    answer = gateway.call("GET", f"{job['path']}/images/{html['name']}")
    assert answer[1]["Content-Disposition"].startswith("attachment")
    assert answer[2] == b"<b>x</b>"


FRAMED = {"sec_fetch_dest": "iframe", "sec_fetch_site": "same-origin"}


def test_what_may_run_is_shown_in_a_frame_of_the_page_alone(gateway, job):
    """The frame is an origin of its own."""
    parts = [p for d in job["cells"][0]["displays"] for p in d["parts"]]
    html = next(p for p in parts if p["mime"] == "text/html")
    path = f"{job['path']}/images/{html['name']}?frame=scripts"
    _, headers, data = gateway.call("GET", path, **FRAMED)
    assert data == b"<b>x</b>"
    assert headers["Content-Disposition"].startswith("inline")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    policy = headers["Content-Security-Policy"].split("; ")
    assert {"sandbox allow-scripts", "default-src 'none'", "frame-ancestors 'self'"} <= set(policy)
    others = [{}, {**FRAMED, "sec_fetch_dest": "document"}]
    others += [{**FRAMED, "sec_fetch_site": site} for site in ("same-site", "none")]
    for given in others:
        headers = gateway.call("GET", path, **given)[1]
        assert headers["Content-Disposition"].startswith("attachment"), given
        assert "script-src" not in headers["Content-Security-Policy"]
    plain = gateway.call("GET", path.split("?")[0], **FRAMED)[1]
    assert plain["Content-Disposition"].startswith("attachment")
    wrong = gateway.refusal("GET", path + "s")
    assert wrong == (400, "bad_field", "frame"), wrong


def test_what_a_job_has_not_made_is_not_found(gateway, job, stack):
    for name in ("nothing", "..%5Cx", "report.txt%20", "0" * 64):
        answer = gateway.call("GET", f"{job['path']}/files/{name}")
        assert answer[0] in (400, 404), answer
    assert gateway.refusal("GET", f"{job['path']}/images/report.txt")[0] == 404
    running = stack.submit(kind="code", cells=["1"], queue="nobody")
    refused = gateway.refusal("GET", f"/v1/jobs/{running}/files/report.txt")
    assert refused[:2] == (404, "unknown_file")


def test_wrong_bytes_are_not_given_out(gateway, job, stack):
    file = next(f for f in job["files"] if f["name"] == "report.txt")
    key = f"quern:{{000}}:blob:{file['blob']}"
    data = stack.db.get(key)
    stack.db.set(key, b"X" * len(data), keepttl=True)
    try:
        refused = gateway.refusal("GET", f"{job['path']}/files/report.txt")
        assert refused[:2] == (500, "internal")
        stack.db.delete(key)
        refused = gateway.refusal("GET", f"{job['path']}/files/report.txt")
        assert refused[:2] == (404, "unknown_file")
    finally:
        stack.db.set(key, data, ex=3600)


def test_a_client_that_leaves_gives_the_memory_back(gateway, job):
    for _ in range(20):
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port)
        connection.request("GET", f"{job['path']}/files/large.bin")
        connection.getresponse().read(10)
        connection.close()
    wait_until(
        lambda: gateway.call("GET", f"{job['path']}/files/large.bin")[0] == 200
    )
