"""The door of browsers: the page's files and their headers, a key in a cookie, and what
the overview counts. What the page shows is for tests/page."""

import gzip
import json

import pytest
from gateway import Gateway, bearer, make_key, record

OWN = {"x_quern_page": "1"}  # as the page's own requests have it


@pytest.fixture(scope="module")
def gateway(stack):
    with Gateway(stack.redis.url, open=None) as gateway:
        yield gateway.ready()
        gateway.drain()


@pytest.fixture(scope="module")
def opened(stack):
    with Gateway(stack.redis.url) as gateway:
        yield gateway.ready()
        gateway.drain()


def sign_in(gateway, key, **headers):
    """(status, the cookie's attributes, the answer)"""
    headers = {"content_type": "application/json", **headers}
    body = json.dumps({"key": key})
    status, told, data = gateway.call("POST", "/v1/sign-in", body, **headers)
    return status, told.get("Set-Cookie", "").split("; "), json.loads(data)


def cookie_of(gateway, key, **headers):
    status, cookie, _ = sign_in(gateway, key, **headers)
    assert status == 200
    return cookie[0]


# --- the files


def test_the_page_may_run_only_its_own_modules(gateway):
    status, headers, body = gateway.call("GET", "/")
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    policy = dict(
        part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; ")
    )
    assert policy["default-src"] == "'none'" and policy["script-src"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["trusted-types"] == "quern-reader" and policy["frame-ancestors"] == "'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert b"<script type=" in body and b" style=" not in body


def test_a_file_is_sent_once(gateway):
    path = "/page/main.js"
    status, headers, plain = gateway.call("GET", path)
    assert status == 200 and headers["Content-Type"].startswith("text/javascript")
    _, packed_headers, packed = gateway.call("GET", path, accept_encoding="br, gzip")
    assert packed_headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed) == plain
    again = gateway.call("GET", path, if_none_match=headers["ETag"], accept_encoding="gzip")
    assert again[0] == 304 and again[2] == b"" and "Content-Encoding" not in again[1]


@pytest.mark.parametrize("name", ["none.js", "..%2fmain.c", "main.js.gz", ""])
def test_there_are_no_other_files(gateway, name):
    assert gateway.call("GET", f"/page/{name}")[0] in (400, 404)


# --- a key in a cookie


def test_a_key_is_kept_where_scripts_do_not_see_it(gateway, stack):
    key = make_key(stack, scopes="read")
    status, cookie, answer = sign_in(gateway, key)
    assert status == 200
    assert answer["tenant"] == "ann" and answer["scopes"] == ["read"]
    assert not answer["open"]
    assert cookie[0] == f"quern_key={key}"
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie)
    assert gateway.json("GET", "/v1/me", cookie=cookie[0]) == (200, answer)


def test_over_https_the_cookie_is_of_this_host_alone(gateway, stack):
    _, cookie, _ = sign_in(gateway, make_key(stack), origin="https://quern.example")
    assert cookie[0].startswith("__Host-quern_key=qk_") and "Secure" in cookie
    assert gateway.json("GET", "/v1/me", cookie=f"a=b; {cookie[0]}; c=d")[0] == 200


def test_of_two_cookies_of_that_name_none_counts(gateway, stack):
    """Another port of this host may have set one of them, for a longer path."""
    mine, theirs = cookie_of(gateway, make_key(stack)), cookie_of(gateway, make_key(stack))
    for cookie in (f"{theirs}; {mine}", f"{mine}; {theirs}"):
        assert gateway.refusal("GET", "/v1/me", cookie=cookie)[:2] == (401, "no_key")


@pytest.mark.parametrize("key", ["", "qk_", "qk_" + "a" * 36, None, 5, "x" * 900])
def test_a_wrong_key_is_refused(gateway, key):
    status, cookie, answer = sign_in(gateway, key)
    assert (status, cookie) == (401, [""])
    assert answer["error"]["code"] == "invalid_api_key"


def test_a_key_that_is_unknown_is_refused(gateway, stack):
    key = make_key(stack)
    stack.db.delete(record(key))
    assert sign_in(gateway, key)[0] == 401


def test_signing_out_ends_the_cookie(gateway, stack):
    cookie = cookie_of(gateway, make_key(stack))
    status, headers, _ = gateway.call("POST", "/v1/sign-out", None, cookie=cookie, **OWN)
    assert status == 200
    assert headers["Set-Cookie"].startswith("quern_key=; ")
    assert "Max-Age=0" in headers["Set-Cookie"]


def test_a_form_of_another_site_signs_nobody_out(gateway, stack):
    cookie = cookie_of(gateway, make_key(stack))
    status, headers, _ = gateway.call("POST", "/v1/sign-out", None, cookie=cookie)
    assert status == 403 and "Set-Cookie" not in headers


def test_a_cookie_alone_changes_nothing(gateway, stack):
    """A form of another site could send it, were SameSite not there."""
    cookie = cookie_of(gateway, make_key(stack))
    job = {"prompt": "x", "queue": "nobody"}
    assert gateway.refusal("POST", "/v1/jobs", job, cookie=cookie)[:2] == (401, "no_key")
    assert gateway.json("POST", "/v1/jobs", job, cookie=cookie, **OWN)[0] == 201


@pytest.mark.parametrize("site", ["cross-site", "same-site", "odd"])
def test_a_request_that_comes_from_elsewhere_has_no_key(gateway, stack, site):
    cookie = cookie_of(gateway, make_key(stack))
    given = {"cookie": cookie, "sec_fetch_site": site, **OWN}
    assert gateway.refusal("GET", "/v1/me", **given)[0] == 401
    for own in ("same-origin", "none"):
        assert gateway.json("GET", "/v1/me", **{**given, "sec_fetch_site": own})[0] == 200


def test_a_key_in_a_header_comes_first(gateway, stack):
    ann = cookie_of(gateway, make_key(stack))
    bob = bearer(make_key(stack, tenant="bob"))
    assert gateway.json("GET", "/v1/me", cookie=ann, **bob)[1]["tenant"] == "bob"
    wrong = bearer("qk_wrong")
    assert gateway.refusal("GET", "/v1/me", cookie=ann, **wrong)[0] == 401


# --- without keys


def test_an_open_gateway_serves_its_own_page(opened):
    own = {"origin": f"http://127.0.0.1:{opened.port}", "host": f"127.0.0.1:{opened.port}"}
    status, answer = opened.json("GET", "/v1/me", **own)
    assert status == 200 and answer["open"]
    job = {"prompt": "x", "queue": "nobody"}
    assert opened.json("POST", "/v1/jobs", job, **own, **OWN)[0] == 201


def test_an_open_gateway_heeds_no_cookie(opened):
    """It may be of a gateway at another port of the host."""
    cookie = "quern_key=qk_" + "a" * 36
    assert opened.json("GET", "/v1/me", cookie=cookie)[0] == 200


@pytest.mark.parametrize(
    "origin, host",
    [
        ("http://evil.example", "127.0.0.1"),
        ("http://evil.example", "evil.example"),  # its name leads here
        ("http://1a.ee", "1a.ee"),  # a name of digits, too
        ("http://1234.de:8088", "1234.de:8088"),
        ("http://127.0.0.1.ee", "127.0.0.1.ee"),
        ("http://127.0.0.1:1", "127.0.0.1"),  # another port, another program
        ("null", "127.0.0.1"),
    ],
)
def test_an_open_gateway_serves_no_page_of_others(opened, origin, host):
    given = {"origin": origin, "host": host, **OWN}
    assert opened.refusal("GET", "/v1/me", **given)[:2] == (403, "foreign_origin")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "[::1]:8088", "127.0.0.2:9"])
def test_an_open_gateway_knows_its_own_names(opened, host):
    assert opened.json("GET", "/v1/me", host=host)[0] == 200


# --- the overview


def test_the_overview_counts_what_ended(opened, stack):
    before = opened.json("GET", "/v1/overview")[1]
    stack.model.script([{"match": "count me", "replies": [{"text": "Yes."}]}])
    job = opened.json("POST", "/v1/jobs", {"prompt": "count me"})[1]["id"]
    stack.result(job)
    for span, steps in (("hour", 60), ("day", 144), ("week", 168)):
        status, seen = opened.json("GET", f"/v1/overview?span={span}")
        assert status == 200 and (seen["span"], seen["steps"]) == (span, steps)
        points = [point["completed"] for point in seen["points"]]
        assert sum(points) == seen["total"]["completed"] >= 1
        assert seen["total"]["run_p50"] >= 10 and seen["total"]["wait_p95"] >= 10
        assert "default" in [queue["queue"] for queue in seen["queues"]]
        last = seen["points"][-1]["at"]
        assert (last - seen["from"]) % seen["step_ms"] == 0
    after = opened.json("GET", "/v1/overview")[1]
    assert after["total"]["completed"] == before["total"]["completed"] + 1
    assert after["total"]["tokens"] > before["total"]["tokens"]


def test_there_are_three_spans(opened):
    assert opened.refusal("GET", "/v1/overview?span=year")[:2] == (400, "bad_field")


def test_the_overview_is_for_operators(gateway, stack):
    key = make_key(stack)
    assert gateway.refusal("GET", "/v1/overview", **bearer(key))[0] == 403
