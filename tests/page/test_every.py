"""Every view of the page, in both themes, both languages, and as wide as a desktop and a
phone; what somebody does by keyboard alone, and where the focus is then.

Alone, each view is seen once, in one way after the other; with QUERN_WHOLE_PAGE set, as
`tests/run page` does, each view is seen in every way.
"""

import contextlib
import itertools
import os

import pytest
from fleet import Fleet
from gateway import Gateway, make_key
from servers import free_ports, wait_until
from stack import ROOT
from tab import Tab

SIZES = {"desktop": (1200, 900), "phone": (390, 844)}
WAYS = list(itertools.product(("light", "dark"), ("en-US", "zh-CN"), SIZES))

# The name of each view: its place, its heading, and what it must show.
VIEWS = {
    "overview": ("?span=day", "Overview", ".chart a"),
    "jobs": ("jobs", "Jobs", ".jobs tbody tr"),
    "job-queued": ("job/{queued}", None, ".why"),
    "job-running": ("job/{slow}", None, "article.turn"),
    "job-asked": ("job/{asked}", None, ".approval pre"),
    "job-completed": ("job/{shown}", None, ".call img"),
    "job-failed": ("job/{failed}", None, ".fault"),
    "ask": ("ask", "Ask", "form.ask textarea"),
    "sessions": ("sessions", "Sessions", "tbody tr"),
    "workers": ("workers", "Workers", "tbody tr"),
    "endpoints": ("endpoints", "Endpoints", "tbody tr"),
    "queues": ("queues", "Queues", "tbody tr"),
    "schedules": ("schedules", "Schedules", "tbody tr"),
    "dead": ("dead", "Failed for good", "tbody tr"),
    "tenants": ("tenants", "Tenants", "tbody tr"),
    "keys": ("keys", "Keys", "tbody tr"),
    "sign-in": ("", "Sign in", "form.sign-in input"),
}
WHOLE = [(view, way) for way in WAYS for view in VIEWS]
ONCE = [(view, WAYS[number % len(WAYS)]) for number, view in enumerate(VIEWS)]
CASES = WHOLE if os.environ.get("QUERN_WHOLE_PAGE") else ONCE

LOOK = """async (heading) => {
  const words = await import("/page/words.js");
  return {
    heading: heading && words.t(heading),
    missed: [...words.missed],
    language: document.documentElement.lang,
    isDark: parseInt(getComputedStyle(document.body).backgroundColor.slice(4)) < 128,
    wide: document.documentElement.scrollWidth - innerWidth,
    // What sticks out, but for what scrolls by itself.
    out: [...document.querySelectorAll("main *")].filter((one) =>
      one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll, pre, .output"))
      .slice(0, 3).map((one) => one.outerHTML.slice(0, 200)),
  };
}"""


@pytest.fixture(scope="module")
def fleet():
    with Fleet(jobs=3000) as fleet:
        fleet.stack.model.script([{"match": "break", "replies": [{"status": 400}]}])
        fleet.failed = fleet.submit(prompt="break")
        assert fleet.stack.result(fleet.failed)["status"] == "failed"
        fleet.queued = fleet.submit(prompt="x", queue="nightly-import")
        yield fleet


@pytest.fixture(scope="module")
def gateway(fleet):
    """One that asks for a key."""
    with Gateway(fleet.stack.redis.url, open=None, port=free_ports(1)[0]) as gateway:
        gateway.ready()
        scopes = "submit read operate admin"
        gateway.key = make_key(fleet.stack, tenant="default", scopes=scopes)
        body = {"tenant": "acme", "scopes": "read", "name": "reports of the night"}
        assert gateway.json("POST", "/v1/keys", body, x_api_key=gateway.key)[0] < 300
        yield gateway
        gateway.drain()


def sign_in(tab, gateway):
    tab.expected = ("401",)
    tab.open()
    tab.page.locator("#key").fill(gateway.key)
    tab.page.keyboard.press("Enter")
    tab.page.locator("nav").wait_for()


@pytest.fixture(scope="module")
def tabs(browser, gateway):
    """A tab for each way, which stays signed in."""
    with contextlib.ExitStack() as open_tabs:
        made = {}

        def tab_of(way, signed_in):
            if (way, signed_in) not in made:
                scheme, locale, size = way
                width, height = SIZES[size]
                given = {"color_scheme": scheme, "locale": locale}
                given["viewport"] = {"width": width, "height": height}
                base = f"http://127.0.0.1:{gateway.port}"
                tab = open_tabs.enter_context(Tab(browser, base, **given))
                tab.expected = ("401",)
                if signed_in:
                    sign_in(tab, gateway)
                made[way, signed_in] = tab
            return made[way, signed_in]

        yield tab_of


@pytest.mark.parametrize("view, way", CASES)
def test_every_view(tabs, fleet, view, way):
    place, heading, shown = VIEWS[view]
    scheme, locale, _ = way
    tab = tabs(way, view != "sign-in")
    tab.open(place.format(**vars(fleet)))
    tab.page.locator(shown).first.wait_for()
    seen = tab.page.evaluate(LOOK, heading)
    if heading:
        tab.page.locator("h1").get_by_text(seen["heading"], exact=True).wait_for()
    assert seen["missed"] == []
    assert seen["language"] == ("zh-CN" if locale == "zh-CN" else "en")
    assert seen["isDark"] == (scheme == "dark")
    assert seen["wide"] <= 0 and seen["out"] == [], seen
    tab.check_access()
    faults, tab.faults = tab.faults, []
    assert faults == []


# --- by keyboard alone


HAS_FOCUS = "(one) => one === document.activeElement"
IS_SEEN = """(one) => {
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  return outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
}"""


def reach(tab, target):
    """Tabs until it has the focus, and shows that it has."""
    target.wait_for()
    for _ in range(400):
        if target.evaluate(HAS_FOCUS):
            assert target.evaluate(IS_SEEN), "the focus is not seen"
            return target
        tab.page.keyboard.press("Tab")
    raise AssertionError(f"no way to {target} by keyboard")


def press(tab, name, key="Enter", within="main"):
    button = tab.page.locator(within).get_by_role("button", name=name, exact=True)
    reach(tab, button.first)
    tab.page.keyboard.press(key)


@pytest.fixture
def desk(browser, fleet):
    with Tab(browser, f"http://127.0.0.1:{fleet.gateway.port}") as tab:
        yield tab


def test_the_focus_stays_when_rows_before_it_go(desk, fleet):
    first, second = (fleet.submit(prompt="x", queue="nobody") for _ in range(2))
    desk.open("jobs?queue=nobody&state=queued")
    reach(desk, desk.page.locator(f"a[title='{first}']"))
    fleet.gateway.json("POST", f"/v1/jobs/{second}/cancel", {})
    desk.page.locator(f"a[title='{second}']").wait_for(state="detached")
    assert desk.page.locator(f"a[title='{first}']").evaluate(HAS_FOCUS)


def test_a_question_gives_the_focus_back(desk, fleet):
    desk.open(f"job/{fleet.failed}")
    press(desk, "Remove")
    desk.page.locator(".question").wait_for()
    assert desk.page.locator(".question button").first.evaluate(HAS_FOCUS)
    desk.page.keyboard.press("Escape")
    desk.page.locator(".question").wait_for(state="detached")
    assert desk.page.locator(".bar").get_by_role("button", name="Remove").evaluate(HAS_FOCUS)


def test_a_schedule_by_keyboard(desk, fleet):
    path = "/v1/schedules/mornings"
    fleet.gateway.json("PUT", path, {"spec": "0 7 * * *", "job": {"prompt": "x", "queue": "nobody"}})

    def one():
        all = fleet.gateway.json("GET", "/v1/schedules")[1]["schedules"]
        return next((each for each in all if each["schedule"] == "mornings"), None)

    desk.open("schedules")
    press(desk, "Pause: mornings")
    wait_until(lambda: desk.page.wait_for_timeout(20) or one().get("paused"))
    press(desk, "Resume: mornings", "Space")
    wait_until(lambda: desk.page.wait_for_timeout(20) or not one().get("paused"))
    press(desk, "Run now: mornings")
    wait_until(lambda: desk.page.wait_for_timeout(20) or one().get("last_id"))
    press(desk, "Remove: mornings")
    desk.page.locator(".question").wait_for()
    desk.page.keyboard.press("Enter")
    desk.page.get_by_role("row").filter(has_text="mornings").wait_for(state="detached")
    assert one() is None


def test_a_worker_by_keyboard(desk, fleet):
    """It has a job that runs on, so it stays."""

    def drains():
        desk.page.wait_for_timeout(20)
        return any(one["draining"] for one in fleet.gateway.json("GET", "/v1/workers")[1]["workers"])

    desk.open("workers")
    button = desk.page.locator("td.actions button")
    reach(desk, button)
    desk.page.keyboard.press("Enter")
    desk.page.locator(".question").wait_for()
    desk.page.keyboard.press("Enter")
    wait_until(drains)
    button.get_by_text("Keep").wait_for()
    reach(desk, button)
    desk.page.keyboard.press("Space")
    wait_until(lambda: not drains())


def test_jobs_that_failed_by_keyboard(desk, fleet):
    id = fleet.submit(prompt="break")
    fleet.stack.result(id)
    ended = fleet.stack.facts(id)["finished_at"]
    desk.open("dead")
    press(desk, f"Run again: {id}")
    wait_until(lambda: fleet.stack.facts(id).get("finished_at", ended) != ended)
    press(desk, f"Remove: {id}")
    desk.page.locator(".question").wait_for()
    desk.page.keyboard.press("Enter")
    desk.page.get_by_role("link", name=id).wait_for(state="detached")
    assert fleet.stack.db.zscore(f"{ROOT}dead:default", id) is None


def test_themes_and_languages_by_keyboard(desk):
    desk.open("ask")
    reach(desk, desk.page.get_by_label("Colours"))
    desk.page.keyboard.press("ArrowDown")
    desk.page.locator("html[data-theme=light]").wait_for()
    reach(desk, desk.page.get_by_label("Language"))
    desk.page.keyboard.press("ArrowDown")
    desk.page.locator("html[lang=zh-CN]").wait_for()


def test_a_key_by_keyboard(browser, gateway):
    with Tab(browser, f"http://127.0.0.1:{gateway.port}") as tab:
        sign_in(tab, gateway)
        tab.open("keys")
        reach(tab, tab.page.get_by_label("Tenant", exact=True))
        tab.page.keyboard.type("bob")
        tab.page.keyboard.press("Enter")
        made = tab.page.locator(".told code").inner_text()
        row = tab.page.get_by_role("row").filter(has_text="bob")
        reach(tab, row.get_by_role("button", name="Replace"))
        tab.page.keyboard.press("Enter")
        tab.page.locator(".question").wait_for()
        tab.page.keyboard.press("Enter")
        tab.page.locator(".told code").get_by_text(made).wait_for(state="detached")
        second = tab.page.locator(".told code").inner_text()
        assert gateway.json("GET", "/v1/me", x_api_key=second)[1]["tenant"] == "bob"
        press(tab, "Sign out", within="header")
        tab.page.locator("#key").wait_for()
