"""Jobs that are far larger than a screen: the page shows them, keeps few elements, and
loses nothing of them. How long the page is stuck is measured by tests/page/speed."""

import contextlib
import json
import os
import signal
import struct
import time
import zlib

import pytest
from gateway import Gateway
from servers import free_ports, wait_until
from stack import Stack
from tab import Tab
from worker import TakenJob, calls, printed

CALLS = 3330
MOST_ELEMENTS = 20_000
TABS = int(os.environ.get("QUERN_TABS", 8))  # 50, for those who have the time


@pytest.fixture(scope="module")
def stack():
    with Stack(executor=False) as stack:
        yield stack


@pytest.fixture
def tab(tab):
    tab.expected = ("404",)  # what was asked is not kept without a journal
    return tab


def check(tab):
    elements, width = tab.page.evaluate(
        "() => [document.querySelectorAll('*').length, document.documentElement.scrollWidth]"
    )
    assert elements < MOST_ELEMENTS and width <= 1200, (elements, width)


def scrolls(tab, over, moves):
    before = moves.evaluate("(one) => one.scrollTop")

    def has_moved():  # a turn of the wheel is lost while the browser draws anew
        over.hover()
        tab.page.mouse.wheel(0, 600)
        return moves.evaluate("(one) => one.scrollTop") > before

    wait_until(has_moved)


def saved(tab, name):
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name=name, exact=True).click()
    with open(download.value.path(), newline="") as file:
        return file.read()


def test_ten_thousand_events(tab, stack):
    job = TakenJob(stack, prompt="x")
    job.tell(*calls(CALLS))
    job.finish()
    tab.open(f"job/{job.id}")
    tab.see("completed", exact=True)
    tab.see(f"printed {CALLS - 1}")
    check(tab)
    scrolls(tab, tab.page.locator(".facts"), tab.page.locator("html"))
    tab.page.get_by_role("button", name="Show earlier steps").click()
    tab.page.get_by_text(f"printed {CALLS - 500}", exact=True).wait_for(state="attached")
    events = json.loads(saved(tab, "JSON"))["events"]
    assert [event["seq"] for event in events] == list(range(1, len(stack.events(job.id)) + 1))


def test_ten_thousand_events_while_somebody_looks(tab, stack):
    job = TakenJob(stack, prompt="x")
    tab.open(f"job/{job.id}")
    tab.see("in progress", exact=True)
    job.tell(*calls(CALLS))
    job.finish()
    tab.see("completed", exact=True)
    tab.see(f"printed {CALLS - 1}")
    check(tab)


@pytest.mark.parametrize(
    "text",
    ["0123456789 abcdefg\n" * 3300, "x" * 62_000, "\x1b[31m0%\x1b[0m\r" * 4500],
    ids=["lines", "one line", "a progress bar"],
)
def test_five_megabytes_of_output(tab, stack, text):
    job = TakenJob(stack, prompt="x")
    texts = [*[text] * (5_000_000 // len(text) + 1), "last line"]
    job.tell(*printed(*texts))
    job.finish()
    tab.open(f"job/{job.id}")
    tab.see("completed", exact=True)
    tab.see("last line", exact=False)
    check(tab)
    output = tab.page.locator(".output")
    scrolls(tab, output, output)
    assert saved(tab, "Save all of it") == "".join(texts)
    tab.page.get_by_text("Events (").click()
    tab.page.locator(".events pre").wait_for()
    check(tab)


SAID = "word and no more " * 2500


def test_more_text_than_is_kept_is_all_read(tab, stack):
    job = TakenJob(stack, prompt="x")
    for n in range(60):  # 2,400,000 characters
        job.tell(("message.completed", {"turn": n + 1, "text": f"**{n}** {SAID}"}))
    job.finish()
    tab.open(f"job/{job.id}")
    # On a busy machine some take longer than is waited for, and stay plain.
    tab.page.locator(".turn :is(.markdown, .text:not(.unread))").nth(59).wait_for(state="attached")


def test_replies_of_code_alone(tab, stack):
    """Each within the bounds of one text; those that are seen first, at the end, are coloured."""
    job = TakenJob(stack, prompt="x")
    for n in range(12):
        code = f"{n}\n```python\n{'f(1)+' * 1500}\n```"
        job.tell(("message.completed", {"turn": n + 1, "text": code}))
    job.finish()
    tab.open(f"job/{job.id}")
    turns = tab.page.locator("article.turn")
    turns.nth(11).locator(".token").first.wait_for(state="attached")
    wait_until(lambda: tab.page.wait_for_timeout(20) or tab.page.locator(".unread").count() == 0)
    tab.page.wait_for_timeout(1000)  # what should not come has time to
    elements = tab.page.evaluate("document.querySelectorAll('*').length")
    assert elements < 60_000, elements
    assert turns.first.locator(".token").count() == 0
    assert turns.first.inner_text().count("f(1)+") == 1500


WATCH = """const Real = Worker;
window.Worker = class extends Real {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => (window.most = JSON.stringify(data).length));
  }
}"""


def test_quotes_in_quotes_are_not_told_many_times(tab, stack):
    tab.page.add_init_script(WATCH)
    job = TakenJob(stack, prompt="x")
    job.tell(("message.completed", {"turn": 1, "text": "> " * 150 + "y" * 40_000}))
    job.finish()
    tab.open(f"job/{job.id}")
    tab.page.locator(".markdown").wait_for()
    assert tab.page.evaluate("most") < 200_000


def picture(n):
    def part(type, data):
        return struct.pack(">I", len(data)) + type + data + struct.pack(">I", zlib.crc32(type + data))

    head = struct.pack(">IIBBBBB", 800, 600, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes([n % 256, 99, 9]) * 800) * 600
    return b"".join(
        [b"\x89PNG\r\n\x1a\n", part(b"IHDR", head), part(b"IDAT", zlib.compress(rows)), part(b"IEND", b"")]
    )


def test_three_hundred_figures_some_of_them_broken(tab, stack):
    job = TakenJob(stack, prompt="x")
    job.tell(*printed("drawn\n"))
    for n in range(300):
        data = b"no picture" if n == 1 else picture(n)
        name = "gone\u202e.png" if n == 0 else f"figure-{n}.png"
        blob = "0" * 64 if n == 0 else stack.blob(data)
        image = {"name": name, "mime": "image/png", "blob": blob, "bytes": len(data)}
        job.tell(("image", {"call": "c", "image": {**image, "width": 800, "height": 600}}))
    asked = []
    tab.page.on("request", lambda request: asked.append(request.url))
    tab.open(f"job/{job.id}")
    tab.page.locator("img").last.wait_for(state="attached")
    tab.page.locator("img").nth(2).evaluate("(image) => image.decode()")
    check(tab)
    assert len([url for url in asked if "/images/" in url]) < 30
    tab.see("It is not kept any more.", exact=False)
    assert tab.page.locator(".call .note").inner_text() == "goneU+202E.png: It is not kept any more."
    assert tab.page.locator("img").first.get_attribute("alt") == "figure-1.png"  # it is no picture
    last = tab.page.locator("img").last
    last.scroll_into_view_if_needed()
    last.evaluate("(image) => image.decode()")
    check(tab)


def watch(context, base, job):
    page = context.new_page()
    page.goto(f"{base}/#/job/{job}")
    page.get_by_text("printed 0").first.wait_for()
    return page


def test_more_tabs_than_a_browser_has_connections(tab, stack):
    """All are seen at once, as windows are that stand side by side."""
    job = TakenJob(stack, prompt="x")
    job.tell(*calls(1))
    pages = [watch(tab.context, tab.base, job.id) for _ in range(7)]
    lines = [f"line {n}\n" for n in range(300)]
    for n in range(0, 300, 10):
        job.tell(*list(printed(*lines[n : n + 10]))[1:])
        time.sleep(0.1)
    job.finish()
    for page in pages:
        page.get_by_text("completed", exact=True).first.wait_for()
        page.get_by_text("line 299").first.wait_for()
        text = page.locator(".output").last.inner_text()
        assert text.split("\n")[:300] == [line.strip() for line in lines]


HIDE = """(isHidden) => {
  Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_many_tabs_of_which_one_is_seen(tab, stack):
    job = TakenJob(stack, prompt="x")
    job.tell(*calls(1))
    pages = []
    for _ in range(TABS):
        pages.append(watch(tab.context, tab.base, job.id))
        pages[-1].evaluate(HIDE, True)
    job.tell(*list(printed("while hidden\n"))[1:])
    pages[2].evaluate(HIDE, False)
    pages[2].get_by_text("while hidden").first.wait_for()
    job.finish()
    pages[2].get_by_text("completed", exact=True).first.wait_for()
    assert pages[2].locator(".output").all_inner_texts()[-1].count("while hidden") == 1


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_clock_that_is_wrong(tab, stack, hours):
    tab.page.add_init_script(
        f"const right = Date.now; Date.now = () => right() + {hours * 3_600_000};"
    )
    job = TakenJob(stack, prompt="x")
    job.tell(*list(calls(1))[:2])
    later = int(time.time() * 1000) + 30 * 60_000
    call = {"turn": 1, "call": "c1", "tool": "python", "code": "1", "until": later}
    job.tell(("job.waiting", {"reason": "approval", **call}))
    tab.open(f"job/{job.id}")
    left = tab.see("are left to decide", exact=False).inner_text()
    assert "29 min" in left or "30 min" in left, left
    caption = tab.page.locator(".timeline figcaption").inner_text()
    ago = tab.page.locator(".facts time").inner_text()
    tab.open("jobs")
    row = tab.page.locator("tbody tr", has=tab.page.locator(f'a[href="#/job/{job.id}"]'))
    row.wait_for()
    for text in (caption, ago, row.inner_text()):
        assert " h" not in text and " min" not in text, text


@pytest.mark.parametrize("path", ["explain", "body"])
def test_a_gateway_that_does_not_have_a_route(tab, stack, gateway, path):
    job = gateway.json("POST", "/v1/jobs", {"prompt": "x", "queue": "nobody"})[1]["id"]
    answer = {"error": {"message": "there is no such route"}}
    tab.page.route(f"**/v1/jobs/*/{path}", lambda route: route.fulfill(status=404, json=answer))
    tab.open(f"job/{job}")
    tab.page.locator(".facts").get_by_text("queued", exact=True).wait_for()
    assert tab.page.get_by_text("no such route").count() == 0
    gateway.json("POST", f"/v1/jobs/{job}/cancel", {})
    tab.see("cancelled", exact=True)


def test_redis_goes_away_and_comes_back(tab, stack):
    tab.expected = ("404", "503", "504", "ERR_", "Failed to load")
    job = TakenJob(stack, prompt="x")
    job.tell(*calls(3))
    tab.open(f"job/{job.id}")
    tab.see("printed 2")
    stack.redis.process.signal(signal.SIGSTOP)
    try:
        tab.page.locator(".fault").first.wait_for()
        assert tab.page.get_by_text("printed 2").count() == 1
    finally:
        stack.redis.process.signal(signal.SIGCONT)
    job.tell(*list(calls(6))[9:])
    job.finish()
    tab.see("completed", exact=True)
    tab.see("printed 5")
    tab.page.locator(".fault").first.wait_for(state="detached")
    shown = [text.strip() for text in tab.page.locator(".output").all_inner_texts()]
    assert shown == [f"printed {n}" for n in range(6)]


def test_redis_is_killed_and_begins_again(browser):
    """While a job is looked at, and while somebody writes a question."""
    with contextlib.ExitStack() as opened:
        stack = opened.enter_context(Stack(executor=False, redis={"aof": True}))
        gateway = opened.enter_context(Gateway(stack.redis.url, port=free_ports(1)[0]))
        base = f"http://127.0.0.1:{gateway.ready().port}"
        tab, desk = [opened.enter_context(Tab(browser, base)) for _ in range(2)]
        for one in (tab, desk):
            one.expected = ("404", "503", "504", "ERR_", "Failed to load")
        job = TakenJob(stack, prompt="x")
        job.tell(*calls(2))
        tab.open(f"job/{job.id}")
        tab.see("printed 1")
        desk.open("ask")
        text, asked = desk.page.locator("#text"), ""
        text.focus()
        for turn in range(1, 3):
            more = f"typed before {turn}, "
            desk.page.keyboard.type(more)
            stack.redis.kill()
            tab.page.locator(".fault").first.wait_for()
            desk.page.keyboard.type(f"while it is away {turn}, ")
            with desk.page.expect_response("**/v1/jobs") as answer:
                desk.page.keyboard.press("Control+Enter")
            assert answer.value.status == 503
            desk.page.locator(".fault").wait_for()
            desk.page.keyboard.type(f"after a refusal {turn}, ")
            stack.redis.start()
            wait_until(lambda: gateway.call("GET", "/readyz")[0] == 200)
            asked += f"{more}while it is away {turn}, after a refusal {turn}, "
            assert text.input_value() == asked
            assert desk.page.evaluate("document.activeElement.id") == "text"
            job.tell(*list(calls(2 * turn + 2))[6 * turn :])
            tab.see(f"printed {2 * turn + 1}")
            tab.page.locator(".fault").first.wait_for(state="detached")
        job.finish()
        tab.see("completed", exact=True)
        shown = [one.strip() for one in tab.page.locator(".output").all_inner_texts()]
        assert shown == [f"printed {n}" for n in range(6)]
        count = len(stack.events(job.id))
        tab.page.get_by_text(f"Events ({count})", exact=True).wait_for()
        desk.page.keyboard.type("and sent.")
        desk.page.keyboard.press("Control+Enter")
        desk.page.locator(".asked").get_by_text(asked + "and sent.", exact=True).wait_for()
        for one in (tab, desk):  # a gateway waits for who follows a job
            one.page.close()
        gateway.drain()
