"""The lists as they are read on a phone."""

import pytest
from gateway import Gateway, make_key
from servers import free_ports
from stack import Stack
from tab import Tab

PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def stack():
    """Each list has a row."""
    with Stack(executor=False) as stack:
        stack.consumer()
        stack.model.script([{"match": "break", "replies": [{"status": 400}]}, {"text": "said"}])
        stack.result(stack.submit(prompt="x", session="chat"))
        stack.result(stack.submit(prompt="break"))
        stack.submit(prompt="x", queue="nobody")
        yield stack


@pytest.fixture(scope="module")
def closed(stack):
    """A gateway that asks for a key, and one that may do everything."""
    with Gateway(stack.redis.url, open=None, port=free_ports(1)[0]) as closed:
        closed.ready()
        scopes = "submit read operate admin"
        closed.key = make_key(stack, tenant="default", scopes=scopes)
        nightly = {"spec": "0 3 * * *", "job": {"prompt": "x", "queue": "nobody"}}
        body = {"tenant": "a tenant whose name is " + "long " * 20, "scopes": "read"}
        status, made = closed.json("POST", "/v1/keys", body, x_api_key=closed.key)
        assert status < 300, made
        closed.long = made["secret"]
        path = "/v1/schedules/nightly"
        assert closed.json("PUT", path, nightly, x_api_key=closed.key)[0] < 300
        yield closed
        closed.drain()


def sign_in(tab, key):
    tab.expected = ("401",)
    tab.open()
    tab.page.get_by_label(tab.page.evaluate(KEY), exact=True).fill(key)
    tab.page.keyboard.press("Enter")
    tab.page.locator("nav a").first.wait_for()


KEY = 'async () => (await import("/page/words.js")).t("Key")'

# --- on a phone

HEADER = """() => {
  const box = (one) => one.getBoundingClientRect();
  const nav = document.querySelector("nav");
  const current = box(nav.querySelector("[aria-current]"));
  return {
    height: box(document.querySelector("header")).height,
    lines: new Set([...nav.children].map((one) => box(one).top)).size,
    isCurrentSeen: current.left >= box(nav).left - 1 && current.right <= box(nav).right + 1,
    wide: document.documentElement.scrollWidth - innerWidth,
  };
}"""
LISTS = "jobs sessions queues workers endpoints schedules dead tenants keys".split()


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_the_header_has_two_lines_on_a_phone(browser, closed, locale):
    base = f"http://127.0.0.1:{closed.port}"
    with Tab(browser, base, locale=locale, **PHONE) as tab:
        sign_in(tab, closed.key)
        for place in ("", "ask", *LISTS):
            tab.open(place)
            tab.page.locator(f'nav a[aria-current][href="#/{place}"]').wait_for()
            seen = tab.page.evaluate(HEADER)
            assert seen["lines"] == 1 and 40 < seen["height"] < 90, (place, seen)
            assert seen["isCurrentSeen"] and seen["wide"] <= 0, (place, seen)


def test_a_long_name_leaves_the_header_as_it_is(browser, closed):
    with Tab(browser, f"http://127.0.0.1:{closed.port}", **PHONE) as tab:
        sign_in(tab, closed.long)
        tab.page.locator("nav a[aria-current]").wait_for()
        seen = tab.page.evaluate(HEADER)
        assert seen["height"] < 90 and seen["wide"] <= 0, seen
        tab.page.get_by_role("button", name="Sign out").click()
        tab.page.get_by_label("Key", exact=True).wait_for()


HELD = """(scroll) => {
  scroll.scrollLeft = scroll.scrollWidth;
  const left = scroll.getBoundingClientRect().left;
  const held = [...scroll.querySelectorAll('thead .held, tbody th[scope="row"]')];
  return {
    scrolled: scroll.scrollLeft,
    more: scroll.scrollWidth - scroll.clientWidth,
    lefts: [...new Set(held.map((one) => Math.round(one.getBoundingClientRect().left - left)))],
    count: held.length,
    rows: scroll.querySelectorAll("tr").length,
  };
}"""


def test_a_wide_table_keeps_what_its_rows_are_of(browser, closed):
    with Tab(browser, f"http://127.0.0.1:{closed.port}", **PHONE) as tab:
        sign_in(tab, closed.key)
        for place in LISTS:
            tab.open(place)
            tab.page.locator(f'nav a[aria-current][href="#/{place}"]').wait_for()
            tab.page.locator("main tbody tr").first.wait_for()
            seen = tab.page.locator(".scroll").evaluate(HELD)
            assert seen["more"] > 0 and seen["scrolled"] > 0, (place, seen)
            assert seen["lefts"] == [0] and seen["count"] == seen["rows"], (place, seen)
