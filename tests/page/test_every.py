"""Every view of the page, in both themes, both languages, and as wide as a desktop and a
phone.

Alone, each view is seen once, in one way after the other; with QUERN_WHOLE_PAGE set, as
`tests/run page` does, each view is seen in every way.
"""

import contextlib
import itertools
import os

import pytest
from fleet import Fleet
from gateway import closed_gateway
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
    with closed_gateway(fleet.stack) as gateway:
        body = {"tenant": "acme", "scopes": "read", "name": "reports of the night"}
        assert gateway.json("POST", "/v1/keys", body, x_api_key=gateway.key)[0] < 300
        yield gateway


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
                    tab.sign_in(gateway.key)
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
