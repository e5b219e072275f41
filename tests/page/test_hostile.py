"""A hundred hostile texts in every place of the page that shows text of others: none
runs, none loads anything, none breaks the layout."""

import re
import unicodedata

import pytest
from gateway import Gateway, make_key
from hostile import TEXTS
from servers import free_ports
from stack import Stack, call_of
from tab import Tab

LOOK = """() => ({
  hit: window.hit,
  made: document.querySelectorAll("main script, main style, main iframe, main object, "
    + "main embed, main form:not(.filters):not(.ask), main link, main meta, main base, main svg:not(figure svg)").length,
  pictures: [...document.querySelectorAll("main img")].map((one) => one.src),
  links: [...new Set([...document.querySelectorAll("main a")].map((one) => one.protocol))],
  handlers: [...document.querySelectorAll("main *")].filter((one) =>
    [...one.attributes].some((attribute) => attribute.name.startsWith("on"))).length,
  wide: document.documentElement.scrollWidth,
  // What sticks out, but for what scrolls by itself.
  out: [...document.querySelectorAll("main *")].filter((one) =>
    one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll")).slice(0, 3)
    .map((one) => one.outerHTML.slice(0, 200)),
  text: document.body.textContent,
  attributes: [...document.querySelectorAll("*")].flatMap((one) => ["aria-label", "title", "alt"]
    .map((name) => one.getAttribute(name) ?? "").filter((text) => /[\u202A-\u202E\u2066-\u2069\u200B]/.test(text))),
  header: document.querySelector("header nav").getBoundingClientRect().height,
})"""


UNSEEN = ("Cc", "Cf", "Zl", "Zp")
BLANK = "\u034f\u17b4\u180b\ufe00\u2065\U000e0080\U000e0100\U0001d159\u3164\u115f\uffa0\ufffc"
JOINED = re.compile("(?<=[👩👧👦])\u200d(?=[👩👧👦])")  # a family, as it is written


def label(text):
    """As a session or a tenant may be called."""
    kept = "".join(c for c in text if c >= " " and not "\x7f" <= c <= "\x9f")
    while len(kept.encode()) > 128:
        kept = kept[:-1]
    return kept or "x"


@pytest.fixture(scope="module")
def stack():
    with Stack() as stack:
        stack.consumer(max_turns=200)
        yield stack


@pytest.fixture
def tab(tab):
    tab.page.on("dialog", lambda dialog: tab.faults.append(dialog.message))
    return tab


def check(tab):
    seen = tab.page.evaluate(LOOK)
    assert seen["hit"] is None and seen["made"] == 0 and seen["handlers"] == 0, seen
    assert all(src.startswith(tab.base) for src in seen["pictures"]), seen["pictures"]
    assert set(seen["links"]) <= {"http:", "https:", "mailto:"}, seen["links"]
    assert seen["wide"] <= 1200, seen["out"]
    assert 0 < seen["header"] < 200, seen
    text = [c for c in JOINED.sub("", seen["text"]) if c not in "\t\n\r"]
    unseen = [c for c in text if unicodedata.category(c) in UNSEEN or c in BLANK]
    assert unseen == [], ascii(unseen)
    assert seen["attributes"] == []


def test_what_models_say_and_cells_print(tab, gateway, stack):
    """One job with a turn and a cell for each text."""
    replies = [
        {"text": text, "tool_calls": [call_of(f"#{number}\nprint({text!r}) #{text!r}")]}
        for number, text in enumerate(TEXTS)
    ]
    stack.model.script([*replies, {"text": "That was all."}])
    body = {"prompt": "\n".join(TEXTS)[:60_000], "limits": {"max_turns": len(TEXTS) + 5}}
    job = gateway.json("POST", "/v1/jobs", body)[1]["id"]
    result = stack.result(job)
    assert result["status"] == "completed", result.get("error")
    tab.open(f"job/{job}")
    tab.see("That was all.")
    assert tab.page.locator("article.turn").count() > 90
    check(tab)
    tab.page.get_by_text("Events (").click()
    check(tab)


def test_names_and_metadata(tab, gateway, stack):
    """Each text names a session, a tenant, and a member of metadata."""
    stack.model.script([{"text": "said"}])
    jobs = []
    for text in TEXTS:
        name = label(text)
        metadata = {name[:60]: text[:500]}
        jobs.append(stack.submit(prompt=text[:2000], session=name, metadata=metadata))
        stack.submit(prompt="x", queue="nobody", tenant=name)
    for job in jobs:
        stack.result(job)
    for place in ("jobs", "jobs?tenant=*", "sessions", "tenants"):
        tab.open(place)
        tab.page.reload()  # else rows of the place before are seen for a moment
        tab.page.locator("tbody tr").nth(50).wait_for(state="attached")
        tab.page.locator("tbody .hidden-mark").nth(5).wait_for(state="attached")
        check(tab)
    tab.open("sessions")
    row = tab.page.locator("tr", has=tab.page.locator(".hidden-mark")).first
    row.get_by_role("button", name="Close").click()
    tab.page.locator(".question .hidden-mark").first.wait_for()
    check(tab)
    for job in jobs[:: len(jobs) // 20]:
        tab.open(f"job/{job}")
        tab.see("completed", exact=True)
        check(tab)


def test_who_has_signed_in(browser, stack):
    with Gateway(stack.redis.url, open=None, port=free_ports(1)[0]) as closed:
        closed.ready()
        with Tab(browser, f"http://127.0.0.1:{closed.port}") as tab:
            tab.expected = ("401",)
            tab.open()
            field = tab.page.get_by_label("Key", exact=True)
            field.fill(make_key(stack, tenant="ann\u202e", scopes="read"))
            tab.page.keyboard.press("Enter")
            tab.page.locator("header .hidden-mark").wait_for()
        closed.drain()


def test_errors(tab, gateway, stack):
    for text in TEXTS[:: len(TEXTS) // 10]:
        message = {"status": 400, "body": {"error": {"message": text[:2000]}}}
        stack.model.script([message])
        job = gateway.json("POST", "/v1/jobs", {"prompt": text[:100]})[1]["id"]
        assert stack.result(job)["status"] == "failed"
        tab.open(f"job/{job}")
        tab.see("failed", exact=True)
        check(tab)
    tab.open("dead")
    tab.see("Run again")
    check(tab)
