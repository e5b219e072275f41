"""Web pages of other origins that use the gateway from a browser, by the rules of the
Fetch standard (CORS)."""

import subprocess

import pytest
from gateway import Gateway
from servers import binary
from stack import Stack

PAGE = "https://app.example"
OTHER = "https://evil.example"


@pytest.fixture(scope="module")
def stack():
    with Stack() as stack:
        yield stack


@pytest.fixture(scope="module")
def gateway(stack):
    with Gateway(stack.redis.url, cors_origins=f"{PAGE},http://localhost:5173") as gateway:
        gateway.ready()
        yield gateway
        gateway.drain()


def ask(gateway, method, path, **headers):
    """Status, and the headers of CORS without their prefix."""
    status, headers, _ = gateway.call(method, path, None, **headers)
    start = "access-control-"
    return status, {
        name.lower().removeprefix(start): value
        for name, value in headers.items()
        if name.lower().startswith(start)
    }


@pytest.mark.parametrize("origin", [PAGE, "http://localhost:5173"])
def test_a_page_on_the_list_reads_answers(gateway, origin):
    status, told = ask(gateway, "GET", "/v1/models", origin=origin)
    assert (status, told) == (200, {"allow-origin": origin, "expose-headers": "*"})


def test_errors_can_be_read_too(gateway):
    status, told = ask(gateway, "GET", "/v1/jobs/none", origin=PAGE)
    assert (status, told["allow-origin"]) == (404, PAGE)


def test_a_browser_asks_first(gateway):
    asked = {"origin": PAGE, "access_control_request_method": "POST"}
    status, told = ask(gateway, "OPTIONS", "/v1/responses", **asked)
    assert status == 204
    assert told == {
        "allow-origin": PAGE,
        "allow-methods": "POST",
        "allow-headers": "Authorization, *",
        "max-age": "7200",
    }


@pytest.mark.parametrize("origin", [OTHER, f"{PAGE}.evil.example", "null", PAGE.upper()])
def test_no_other_page(gateway, origin):
    """With --open it is not even answered."""
    assert ask(gateway, "GET", "/v1/models", origin=origin) == (403, {})
    asked = {"origin": origin, "access_control_request_method": "POST"}
    assert ask(gateway, "OPTIONS", "/v1/responses", **asked) == (405, {})


def test_without_a_list_there_is_none(stack):
    with Gateway(stack.redis.url) as gateway:
        gateway.ready()
        assert ask(gateway, "GET", "/v1/models", origin=PAGE) == (403, {})
        gateway.drain()


@pytest.mark.parametrize(
    "origins, why",
    [
        ("app.example", "is no origin"),
        ("https://app.example/", "without a path"),
        ("*", "lets every web page"),
    ],
)
def test_a_list_that_is_wrong(origins, why):
    given = ["--open", "acme", "--cors-origins", origins]
    done = subprocess.run([binary("quern-gateway"), *given], capture_output=True, text=True)
    assert done.returncode == 64 and why in done.stderr, done.stderr
