"""quern-gateway: links to files, which open without a key, and what they do not open.

The links here are made by this file, with the secret that Redis has: so another
gateway, in another language, would make the same.
"""

import base64
import hashlib
import hmac
import os
import struct
import time
import uuid

import pytest
from gateway import Gateway, bearer, make_key
from servers import RedisServer, wait_until
from stack import job_id
from test_gateway_files import png

GATEWAY = {"open": None}

SECRET = "quern:{quern:fleet}:link_secret"
LABEL = b"quern link to a file of a job\0"
NAME = 'größe & "x".csv'
CELL = f"""
import base64
from IPython.display import display
open('report.txt', 'w').write('0123456789' * 1000)
open('page.html', 'w').write('<script>alert(1)</script>')
open({NAME!r}, 'w').write('a,b')
class Picture:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {{'image/png': {png()!r}, 'text/html': '<b>x</b>'}}
display(Picture())
"""


@pytest.fixture(scope="module")
def ann(stack):
    return bearer(make_key(stack, tenant="ann"))


@pytest.fixture(scope="module")
def job(gateway, stack, ann):
    body = {"kind": "code", "cells": [CELL]}
    id = gateway.json("POST", "/v1/jobs", body, **ann)[1]["id"]
    result = stack.result(id)
    assert result["status"] == "completed", result
    return result


def text_of(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def secret_of(gateway, stack):
    """A gateway makes it when it is first asked for a link."""
    gateway.call("GET", "/v1/links/x")
    return stack.db.get(SECRET)


class Maker:
    """Makes links as a gateway does; the members can be changed."""

    def __init__(self, gateway, stack):
        self.secret = secret_of(gateway, stack)
        assert len(self.secret) == 32

    def link(self, job, name, kind="f", seconds=600, version=1, label=LABEL, secret=None):
        name = name if isinstance(name, bytes) else name.encode()
        plain = bytes([version]) + kind.encode()
        plain += struct.pack(">Q", int(time.time()) + seconds) + uuid.UUID(job).bytes + name
        seal = hmac.new(secret or self.secret, label + plain, hashlib.sha256).digest()
        return "/v1/links/" + text_of(plain + seal[:16])


@pytest.fixture(scope="module")
def maker(gateway, stack):
    return Maker(gateway, stack)


def test_whoever_has_it_reads_the_file(gateway, maker, job):
    status, headers, data = gateway.call("GET", maker.link(job["id"], "report.txt"))
    assert (status, data) == (200, b"0123456789" * 1000)
    assert headers["Content-Type"] == "text/plain"
    assert headers["Content-Disposition"] == "attachment; filename*=UTF-8''report.txt"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    private, age = headers["Cache-Control"].split(", max-age=")
    assert private == "private" and 590 <= int(age) <= 600
    status, _, data = gateway.call("GET", maker.link(job["id"], NAME))
    assert (status, data) == (200, b"a,b")


def test_it_is_served_as_the_file_is(gateway, maker, job, ann):
    link = maker.link(job["id"], "report.txt")
    path = f"/v1/jobs/{job['id']}/files/report.txt"
    varies = {"date", "x-request-id", "cache-control", "referrer-policy"}
    varies.add("cross-origin-resource-policy")
    for more in ({}, {"range": "bytes=5-7"}, {"range": "bytes=10000-"}):
        for method in ("GET", "HEAD"):
            answers = [
                gateway.call(method, link, **more),
                gateway.call(method, path, **more, **ann),
            ]
            seen = [
                (s, {k: v for k, v in h.items() if k.lower() not in varies}, data)
                for s, h, data in answers
            ]
            assert seen[0] == seen[1]
    tag = gateway.call("GET", link)[1]["ETag"]
    assert gateway.call("GET", link, if_none_match=tag)[0] == 304
    assert gateway.refusal("POST", link)[:2] == (405, "unknown_method")


def test_a_page_of_another_site_may_show_an_image(gateway, maker, job):
    [image] = job["images"]
    page = {"origin": "https://chat.example", "sec_fetch_site": "cross-site"}
    status, headers, data = gateway.call("GET", maker.link(job["id"], image["name"], "i"), **page)
    assert (status, headers["Content-Type"]) == (200, "image/png")
    assert headers["Content-Disposition"].startswith("inline")
    assert headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert data == base64.b64decode(png())


def test_what_could_run_is_a_download_without_rights(gateway, maker, job):
    parts = [p for d in job["cells"][0]["displays"] for p in d["parts"]]
    html = next(p["name"] for p in parts if p["mime"] == "text/html")
    for link in (maker.link(job["id"], "page.html"), maker.link(job["id"], html, "i")):
        status, headers, _ = gateway.call("GET", link)
        assert (status, headers["Content-Type"]) == (200, "text/html")
        assert headers["Content-Disposition"].startswith("attachment")
        assert headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
        assert headers["X-Content-Type-Options"] == "nosniff"


def words(answer):
    status, headers, data = answer
    kept = {k: v for k, v in headers.items() if k.lower() not in ("date", "x-request-id")}
    return status, kept, data


def test_what_was_not_made_by_a_gateway_opens_nothing(gateway, maker, job):
    """Nothing of the answer says why."""
    id, name = job["id"], "report.txt"
    good = maker.link(id, name)
    seal = base64.urlsafe_b64decode(good.split("/")[3] + "=" * (-len(good.split("/")[3]) % 4))
    changed = bytes([seal[0], seal[1], *seal[2:10], *seal[10:-1], seal[-1] ^ 1])
    later = seal[:5] + b"\xff" + seal[6:]
    bad = [
        "/v1/links/x",
        "/v1/links/" + "A" * 60,
        "/v1/links/" + "A" * 2000,
        good[:-1],
        good + "A",
        "/v1/links/" + text_of(changed),
        "/v1/links/" + text_of(later),
        "/v1/links/" + text_of(seal[:1] + b"i" + seal[2:]),
        "/v1/links/" + text_of(seal[:-16] + bytes(16)),
        maker.link(id, name, secret=bytes(32)),
        maker.link(id, name, secret=os.urandom(32)),
        maker.link(id, name, label=b""),
        maker.link(id, name, version=2),
        maker.link(id, name, kind="x"),
        maker.link(id, name, seconds=0),
        maker.link(id, name, seconds=-600),
        # Well made, but of what is not there.
        maker.link(id, "nothing"),
        maker.link(id, "../report.txt"),
        maker.link(id, b"report.txt\0"),
        maker.link(id, b"\xff\xfe"),
        maker.link(id, ""),
        maker.link(id, "x" * 256),
        maker.link(id, name, kind="i"),
        maker.link(id, job["images"][0]["name"], kind="f"),
        maker.link(job_id(), name),
        maker.link("00000000-0000-0000-0000-000000000000", name),
        maker.link(id[:15] + "fff" + id[18:], name),
    ]
    answers = [words(gateway.call("GET", link)) for link in bad]
    for link, answer in zip(bad, answers):
        assert answer == answers[0], link
    assert answers[0][0] == 404 and b"unknown_link" in answers[0][2]
    assert gateway.call("GET", good)[0] == 200


def test_it_opens_the_file_of_its_job_alone(gateway, stack, maker, ann):
    """Two tenants have a file of one name; no key makes another one's link open more."""
    body = {"kind": "code", "cells": ["open('report.txt', 'w').write('bobs')"]}
    bob = bearer(make_key(stack, tenant="bob"))
    theirs = gateway.json("POST", "/v1/jobs", body, **bob)[1]["id"]
    assert stack.result(theirs)["status"] == "completed"
    link = maker.link(theirs, "report.txt")
    assert gateway.call("GET", link)[2] == b"bobs"
    assert gateway.call("GET", link, **ann)[2] == b"bobs"
    assert gateway.refusal("GET", f"/v1/jobs/{theirs}/files/report.txt", **ann)[0] == 404


def test_it_ends_with_its_job(gateway, stack, maker, ann):
    body = {"kind": "code", "cells": ["open('a', 'w').write('a')"]}
    id = gateway.json("POST", "/v1/jobs", body, **ann)[1]["id"]
    [file] = stack.result(id)["files"]
    link = maker.link(id, "a")
    assert gateway.call("GET", link)[0] == 200
    blob = f"quern:{{000}}:blob:{file['blob']}"
    stack.db.delete(blob)
    gone = words(gateway.call("GET", link))
    assert gone[0] == 404 and b"unknown_link" in gone[2]
    stack.db.set(blob, b"a", ex=3600)
    assert gateway.call("GET", link)[0] == 200
    assert gateway.call("DELETE", f"/v1/jobs/{id}", **ann)[0] == 204
    assert words(gateway.call("GET", link)) == gone


def test_what_a_running_job_has_made_is_there(gateway, stack, maker, ann):
    """Its image comes long before its end; many events stand between."""
    cell = f"""
import base64
from IPython.display import display, Image
display(Image(base64.b64decode({png()!r})))
open('early.txt', 'w').write('early')
"""
    wait = "import time\nwhile True: time.sleep(0.1)"
    cells = [cell, *["1"] * 110, wait]
    id = gateway.json("POST", "/v1/jobs", {"kind": "code", "cells": cells}, **ann)[1]["id"]
    image = maker.link(id, "figure-1.png", "i")
    wait_until(lambda: gateway.call("GET", image)[0] == 200)
    wait_until(lambda: stack.db.xlen(f"quern:{{000}}:events:{id}") > 210)
    assert gateway.call("GET", image)[2] == base64.b64decode(png())
    assert gateway.call("GET", maker.link(id, "early.txt"))[2] == b"early"
    assert gateway.call("GET", maker.link(id, "later.txt"))[0] == 404
    assert stack.db.hget(f"quern:{{000}}:job:{id}", "state") == b"in_progress"
    gateway.json("POST", f"/v1/jobs/{id}/cancel", {}, **ann)
    stack.result(id)
    assert gateway.call("GET", image)[0] == 200


def test_gateways_share_one_secret(gateway, stack, maker, job):
    link = maker.link(job["id"], "report.txt")
    with Gateway(stack.redis.url, open=None) as other:
        other.ready()
        assert other.call("GET", link)[0] == 200
        assert stack.db.get(SECRET) == maker.secret
        other.drain()


def test_a_gateway_that_began_without_redis_gets_it():
    with RedisServer() as redis:
        redis.kill()
        with Gateway(redis.url, open=None) as late:
            assert late.refusal("GET", "/v1/links/x")[:2] == (503, "redis_unavailable")
            redis.start()
            wait_until(lambda: late.call("GET", "/v1/links/x")[0] == 404)
            assert len(redis.client().get(SECRET)) == 32
            late.drain()


def test_deleting_the_secret_makes_links_void(stack, maker, job):
    """The next gateway that needs one makes another."""
    link = maker.link(job["id"], "report.txt")
    stack.db.delete(SECRET)
    try:
        with Gateway(stack.redis.url, open=None) as other:
            other.ready()
            assert other.refusal("GET", link)[:2] == (404, "unknown_link")
            fresh = Maker(other, stack)
            assert fresh.secret != maker.secret
            assert other.call("GET", fresh.link(job["id"], "report.txt"))[0] == 200
            stack.db.set(SECRET, "short")
            with Gateway(stack.redis.url, open=None) as third:
                third.ready()
                assert third.refusal("GET", link)[:2] == (500, "internal")
    finally:
        stack.db.set(SECRET, maker.secret)
