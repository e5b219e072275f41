"""The views of the page against a real stack: what they show, live and after a gateway
was killed; in both languages, for screen readers."""

import base64
import json
import os
import re
import signal
import subprocess
from datetime import datetime, timedelta, timezone

import pytest
from gateway import Gateway, make_key, record
from pypi import python_with
from servers import free_ports, wait_until
from stack import Stack, call_of
from tab import Tab

NBFORMAT = "nbformat==5.10.4"
DRAW = """import matplotlib.pyplot as plt
print("drawn")
plt.plot([1, 3, 2]); plt.show()
open("/mnt/data/kept.csv", "w").write("a,b")"""
COUNT = """import time
for i in range(100):
    print("line", i, flush=True); time.sleep(0.1)"""
HOSTILE = (
    "<img src=x onerror=alert(1)><script>alert(2)</script>"
    "<style>body{display:none}</style>\u202egpj.exe"
)
SCRIPT = [
    {
        "match": "draw",
        "replies": [
            {"reasoning": "It should be drawn.", "tool_calls": [call_of(DRAW)]},
            {"text": "It is drawn."},
        ],
    },
    {"match": "hostile", "replies": [{"text": HOSTILE}]},
    {"match": "count", "replies": [{"tool_calls": [call_of(COUNT)]}, {"text": "Done."}]},
]


@pytest.fixture(scope="module")
def stack():
    with Stack() as stack:
        stack.consumer()
        stack.model.script(SCRIPT)
        yield stack


def short(id):
    """As the list of jobs shows it."""
    return f"{id[:13]}…{id[-6:]}"


def submit(gateway, prompt):
    return gateway.json("POST", "/v1/jobs", {"prompt": prompt})[1]["id"]


@pytest.fixture(scope="module")
def drawn(gateway, stack):
    job = submit(gateway, "draw it")
    assert stack.result(job)["status"] == "completed"
    return job


# --- what the views show


def test_the_overview_leads_to_the_jobs_behind_a_number(tab, drawn):
    tab.open()
    tab.see("Jobs that ended")
    tab.page.get_by_role("link", name=re.compile(r"^\d+ completed$")).click()
    tab.see(short(drawn))
    assert "state=completed" in tab.page.url


def test_a_job_is_found_by_its_filters(tab, gateway, drawn):
    waits = gateway.json("POST", "/v1/jobs", {"prompt": "x", "queue": "nobody"})[1]["id"]
    tab.open("jobs")
    tab.see(short(drawn))
    tab.page.get_by_label("Queue", exact=True).fill("nobody")
    tab.page.keyboard.press("Enter")
    tab.see(short(waits))
    tab.page.get_by_text(short(drawn)).wait_for(state="detached")
    tab.page.reload()  # the filters are in the address
    tab.see(short(waits))
    tab.page.get_by_label("Id, or a part of it").fill(drawn)
    tab.page.keyboard.press("Enter")
    tab.see("It is drawn.")


def test_a_job_is_found_by_its_time(browser, gateway):
    """In minutes of the reader's zone."""
    zone = timezone(timedelta(hours=5, minutes=45))
    job = gateway.json("POST", "/v1/jobs", {"prompt": "x", "queue": "nobody"})[1]["id"]
    now = datetime.now(zone).replace(second=0, microsecond=0)
    base = f"http://127.0.0.1:{gateway.port}"
    with Tab(browser, base, timezone_id="Asia/Kathmandu") as tab:
        tab.open("jobs?queue=nobody")
        tab.see(short(job))
        for label, minutes, is_seen in (("Since", 5, False), ("Since", -5, True), ("Until", -4, False), ("Until", 5, True)):
            at = now + timedelta(minutes=minutes)
            field = tab.page.get_by_label(label, exact=True)
            field.fill(at.strftime("%Y-%m-%dT%H:%M"))
            tab.page.keyboard.press("Enter")
            tab.see(short(job) if is_seen else "No jobs.")
            assert f"{label.lower()}={int(at.timestamp()) * 1000}" in tab.page.url
            assert field.input_value() == at.strftime("%Y-%m-%dT%H:%M")


def test_a_job_is_found_by_its_model_and_its_metadata(tab, gateway, stack):
    tab.expected = ("400",)
    said = {"model": "m7", "metadata": {"order": "7"}}
    ended = {"kind": "code", "cells": ["1"], "metadata": {"team": "é & ü"}}
    ended = gateway.json("POST", "/v1/jobs", ended)[1]["id"]
    stack.result(ended)
    tab.open(f"job/{ended}")
    tab.page.get_by_role("link", name="é & ü", exact=True).click()
    tab.see(short(ended))
    assert tab.page.locator("tbody tr").count() == 1
    job = gateway.json("POST", "/v1/jobs", {"prompt": "x", "queue": "nobody", **said})[1]["id"]
    tab.open("jobs?model=m7")
    tab.see(short(job))
    metadata = tab.page.get_by_label("Metadata (key=value)")
    metadata.fill("order=8")
    tab.page.keyboard.press("Enter")
    tab.see("No jobs.")
    metadata.fill("order")
    tab.page.keyboard.press("Enter")
    tab.see("Metadata is found as key=value, as in order=A-1042.")
    metadata.fill("order=7")
    tab.page.keyboard.press("Enter")
    tab.see(short(job))


CHARTS = """
from IPython.display import display
line = {"data": [{"y": [1, 3, 2], "name": "<b>one</b>"}, {"y": [2, 2, 5], "name": "two"}],
        "layout": {"title": {"text": "Rain"}, "yaxis": {"title": "mm"}}}
display({"application/vnd.plotly.v1+json": line, "text/html": "<p>loads a library</p>",
         "text/plain": "<plotly>"}, raw=True)
rows = [{"city": "Ulm", "n": 3}, {"city": "Bonn", "n": 5}]
bars = {"mark": "bar", "data": {"values": rows},
        "encoding": {"x": {"field": "city", "type": "nominal"}, "y": {"field": "n"}}}
display({"application/vnd.vegalite.v5+json": bars, "text/plain": "<vega>"}, raw=True)
display({"application/vnd.vegalite.v5+json": 7, "text/plain": "<seven>"}, raw=True)
display({"application/vnd.vegalite.v5+json": "8", "text/plain": "<eight>"}, raw=True)
surface = {"data": [{"type": "surface", "z": [[1]]}]}
display({"application/vnd.plotly.v1+json": surface, "text/plain": "<surface>"}, raw=True)
"""


def test_charts_are_drawn_from_their_data(tab, gateway, stack):
    job = gateway.json("POST", "/v1/jobs", {"kind": "code", "cells": [CHARTS]})[1]["id"]
    assert stack.result(job)["status"] == "completed"
    tab.open(f"job/{job}")
    tab.see("Rain")
    tab.see("<seven>")
    tab.see("<eight>")
    tab.see("<surface>")  # what cannot be drawn is its text
    charts = tab.page.locator("figure.data")
    charts.nth(1).wait_for()
    assert charts.count() == 2
    assert charts.nth(0).locator("polyline").count() == 2
    assert charts.nth(0).locator(".legend").inner_text().split("\n") == ["<b>one</b>", "two"]
    heights = [float(r.get_attribute("height")) for r in charts.nth(1).locator("rect").all()]
    assert heights[0] / heights[1] == pytest.approx(3 / 5)
    charts.nth(1).get_by_text("The data").click()
    assert charts.nth(1).locator("tbody").inner_text().split() == ["Ulm", "3", "Bonn", "5"]
    tab.check_access()
    if where := os.environ.get("QUERN_PICTURES"):
        tab.page.screenshot(path=f"{where}/charts.png", full_page=True)


def test_a_job_shows_its_conversation(tab, drawn):
    tab.open(f"job/{drawn}")
    tab.see("It is drawn.")
    tab.see("tokens read,")
    tab.see("completed", exact=True)
    assert tab.page.locator(".output").inner_text().strip() == "drawn"
    image = tab.page.locator(".call img")
    assert image.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 100
    with tab.page.expect_download() as download:
        tab.page.get_by_role("link", name="kept.csv").click()
    with open(download.value.path()) as file:
        assert file.read() == "a,b"
    tab.page.get_by_text("Reasoning").click()
    tab.see("It should be drawn.")


def test_a_job_that_has_ended_is_asked_for_once(tab, drawn):
    asked = []
    tab.page.on("request", lambda request: asked.append(request.url))
    tab.page.clock.install()
    tab.open(f"job/{drawn}")
    tab.see("It is drawn.")
    tab.see("Attempts")
    tab.page.clock.run_for(6000)
    paths = [url.partition(f"/v1/jobs/{drawn}")[2] for url in asked if drawn in url]
    assert sorted(paths)[:3] == ["", "/body", "/events"], paths
    assert all(path.startswith("/images/") for path in paths[3:]), paths


def test_metadata_is_never_taken_for_a_fact(tab, gateway, stack):
    metadata = {"State": "failed", "Cost": "$0", "order": "A-1042"}
    body = {"prompt": "draw it", "metadata": metadata}
    job = gateway.json("POST", "/v1/jobs", body)[1]["id"]
    assert stack.result(job)["status"] == "completed"
    tab.open(f"job/{job}")
    tab.see("A-1042")
    facts = tab.page.locator(".facts > div").all_inner_texts()
    facts = [fact.split("\n") for fact in facts]
    assert ["State", "completed"] in facts and ["metadata State", "failed"] in facts
    assert ["metadata Cost", "$0"] in facts and ["order", "A-1042"] in facts
    assert len([fact for fact in facts if fact[0] == "State"]) == 1


def test_hostile_text_is_text(tab, gateway, stack):
    job = submit(gateway, "hostile")
    stack.result(job)
    tab.open(f"job/{job}")
    tab.see("<script>alert(2)</script>")
    tab.see("U+202E")
    assert tab.page.locator("main img, main script, main style").count() == 0
    assert tab.page.locator("header").is_visible()


def say(gateway, stack, text):
    """A job whose model says that."""
    stack.model.script([*SCRIPT, {"match": "say it", "replies": [{"text": text}]}])
    job = submit(gateway, "say it")
    assert stack.result(job)["status"] == "completed"
    return job


RICH = """# Sales
They **rose** by *12 %*, see `total`:

| month | sold |
|---|--:|
| Jan | 30 |

- [x] read
- <b>bold</b> & done

```python
def total(rows):  # all
    return sum(rows)
```

[more](https://example.org/a?b=1&c=2) and ![a chart](https://evil.example/x.png)"""


def test_markdown_becomes_elements(tab, gateway, stack):
    tab.open(f"job/{say(gateway, stack, RICH)}")
    said = tab.page.locator(".markdown")
    said.wait_for()
    assert said.locator("h3").inner_text() == "Sales"
    assert said.locator("strong").inner_text() == "rose"
    assert said.locator("td.number").inner_text() == "30"
    assert said.locator("code").first.inner_text() == "total"
    assert "<b>bold</b> & done" in said.locator("li").nth(1).inner_text()
    assert said.locator(".token.keyword").first.inner_text() == "def"
    links = said.locator("a").evaluate_all("(all) => all.map((one) => one.href)")
    assert links == ["https://example.org/a?b=1&c=2", "https://evil.example/x.png"]
    assert said.locator("img").count() == 0


@pytest.mark.parametrize(
    "text",
    [
        "[press](javascript:alert(1))",
        "[press](data:text/html;base64,PHNjcmlwdD4=)",
        "<a href='https://evil.example'>press</a>",
        "<svg onload=alert(1)><script>alert(1)</script></svg>",
        "![x](javascript:alert(1)) ![y](//evil.example/y.png)",
        "[x]: javascript:alert(1)\n\n[x]",
        "<https://evil.example/\u202ehttps://good.example>",
        ">" * 5000 + " deep",
        "*" * 20_000,
        "[" * 5000,
        "&lt;script&gt;alert(1)&lt;/script&gt; &amp;lt;",
        "a" * 100_000,
        "\u0000\u0007\u200b\u2066x",
    ],
    ids=range(13),
)
def test_hostile_markdown_runs_nothing(tab, gateway, stack, text):
    job = say(gateway, stack, text)
    tab.open(f"job/{job}")
    tab.see("completed", exact=True)
    tab.page.locator("article.turn").wait_for()
    seen = tab.page.evaluate(
        """() => ({
          elements: document.querySelectorAll("main script, main svg:not(figure svg), main img, main iframe, main style").length,
          links: [...document.querySelectorAll(".turn a")].map((one) => one.protocol),
          wide: document.documentElement.scrollWidth,
        })"""
    )
    assert seen["elements"] == 0
    assert set(seen["links"]) <= {"https:", "http:", "mailto:"}
    assert seen["wide"] <= 1200


def test_a_job_that_is_unknown(tab):
    tab.expected = ("404",)
    tab.open("job/01a2207c-0573-7000-b3a0-506bb6c6dd82")
    tab.see("there is no job", exact=False)


# --- live


def test_each_event_is_seen_once_though_the_gateway_is_killed(tab, gateway, stack):
    tab.expected = ("ERR_", "Failed to load")
    tab.open("ask")
    tab.page.get_by_label("Question").fill("count slowly")
    tab.page.keyboard.press("Control+Enter")
    tab.see("line 3")
    job = tab.page.url.rpartition("/")[2]
    assert gateway.json("GET", f"/v1/jobs/{job}")[1]["state"] == "in_progress"
    gateway.signal(signal.SIGKILL)
    gateway.wait()
    tab.see("The connection is lost")
    gateway.begin().ready()
    tab.see("Done.")
    lines = tab.page.locator(".output").inner_text().split("\n")
    assert [line for line in lines if line] == [f"line {i}" for i in range(100)]
    assert not tab.page.get_by_text("The connection is lost").is_visible()


# --- when a request fails

AWAY = "The gateway does not answer."


def fail(tab, path, status=None, times=None):
    """Requests whose path ends so are refused with that status, or not answered."""
    tab.expected = ("ERR_", "Failed to load")

    def refuse(route):
        if status is None:
            route.abort()
        else:
            body = {"error": {"message": "Not today."}}
            route.fulfill(status=status, json=body)

    tab.page.route(re.compile(f"{re.escape(path)}$"), refuse, times=times)


def test_a_job_is_asked_for_again_after_a_failed_request(tab, gateway):
    tab.page.clock.install()
    job = gateway.json("POST", "/v1/jobs", {"prompt": "x", "queue": "nobody"})[1]["id"]
    fail(tab, f"/v1/jobs/{job}", times=1)
    tab.open(f"job/{job}")
    tab.see(AWAY)
    tab.page.clock.fast_forward(6000)
    tab.see("Why it is where it is")
    assert tab.page.get_by_text(AWAY).count() == 0


def test_the_page_starts_when_the_gateway_answers(tab):
    fail(tab, "/v1/me", times=1)
    tab.open("jobs")
    tab.see(AWAY)
    tab.see("Live.")
    assert tab.page.get_by_text(AWAY).count() == 0
    fail(tab, "/page/ask.js", times=1)
    tab.open("ask")
    tab.see(AWAY)


def test_a_refused_act_is_told_until_the_next_act(tab, gateway):
    tab.page.clock.install()
    job = gateway.json("POST", "/v1/jobs", {"prompt": "x", "queue": "refusing"})[1]["id"]
    for place, asked, act, press in (
        (f"job/{job}", f"/v1/jobs/{job}", f"/v1/jobs/{job}/cancel", "Cancel"),
        ("queues", "/v1/queues", "/v1/queues/refusing/pause", "Pause: refusing"),
    ):
        tab.open(place)
        fail(tab, act, status=409, times=1)
        tab.page.get_by_role("button", name=press).click()
        tab.see("Not today.")
        for _ in range(2):  # the second one is sent when the first one has been shown
            with tab.page.expect_response(re.compile(f"{asked}$")):
                tab.page.clock.fast_forward(6000)
        tab.see("Not today.")
        tab.page.get_by_role("button", name=press).click()
        tab.page.get_by_text("Not today.").wait_for(state="detached")


def test_a_verdict_that_is_refused_keeps_its_words(tab, gateway, stack):
    job = guarded(gateway, stack)
    tab.open(f"job/{job}")
    tab.page.get_by_role("button", name="Reject", exact=True).click()
    field = tab.page.get_by_label("Why, for the model")
    field.fill("not on Sundays")
    fail(tab, f"/v1/jobs/{job}/approve", status=409, times=1)
    send = tab.page.locator(".approval form").get_by_role("button", name="Reject")
    send.click()
    tab.see("Not today.")
    assert field.input_value() == "not on Sundays"
    send.click()
    tab.see("Over.")


def test_more_jobs_are_asked_for_again(tab, stack):
    for _ in range(250):
        stack.submit(prompt="x", queue="nobody", tenant="busy")
    tab.open("jobs?tenant=busy")
    rows = tab.page.locator("tbody tr")
    more = tab.page.get_by_role("button", name="More")
    more.wait_for()
    shown = rows.count()
    tab.page.get_by_role("button", name="Pause").click()
    fail(tab, "", status=409, times=1)
    more.click()
    tab.see("Not today.")
    assert rows.count() == shown
    more.click()
    wait_until(lambda: rows.count() > shown)
    assert tab.page.get_by_text("Not today.").count() == 0


@pytest.mark.parametrize(
    "place, shown",
    [
        ("job/%", "There is no job “%”"),
        ("jobs?since=yesterday", "since"),
        ("constructor", "There is no view “constructor”"),
        ("?span=constructor", "Jobs that ended"),
    ],
)
def test_an_address_that_no_link_has(tab, place, shown):
    tab.expected = ("404", "400")
    tab.open(place)
    tab.page.get_by_text(re.compile(shown)).first.wait_for()


def test_a_view_that_was_left_asks_no_more(tab, gateway):
    """Also when the reader leaves it while an answer is on its way."""
    tab.page.clock.install()
    job = gateway.json("POST", "/v1/jobs", {"prompt": "x", "queue": "nobody"})[1]["id"]
    held, asked = [], []
    tab.page.route(f"**/v1/jobs/{job}", lambda route: held.append(route))
    tab.open(f"job/{job}")
    wait_until(lambda: tab.page.wait_for_timeout(20) or held)
    tab.open("ask")
    tab.page.get_by_label("Question").wait_for()
    tab.page.on("request", lambda request: asked.append(request.url))
    with tab.page.expect_response(f"**/v1/jobs/{job}/explain"):
        held[0].continue_()
    asked.clear()
    tab.page.clock.run_for(6000)
    assert asked == []


def test_a_question_can_be_sent_again_when_its_file_could_not(tab, tmp_path):
    (tmp_path / "given.txt").write_text("seven")
    tab.open("ask")
    tab.page.get_by_label("Question").fill("draw it again")
    tab.page.get_by_label("Files").set_input_files(tmp_path / "given.txt")
    fail(tab, "/v1/blobs", times=1)
    tab.page.get_by_role("button", name="Ask").click()
    tab.see(AWAY)
    tab.page.get_by_role("button", name="Ask").click()
    tab.see("It is drawn.")


def test_who_has_gone_elsewhere_stays_there(tab):
    held = []
    tab.page.route("**/v1/jobs", lambda route: held.append(route))
    tab.open("ask")
    tab.page.get_by_label("Question").fill("draw it again")
    tab.page.get_by_role("button", name="Ask").click()
    wait_until(lambda: tab.page.wait_for_timeout(20) or held)
    tab.open("sessions")
    tab.page.get_by_role("heading", name="Sessions").wait_for()
    with tab.page.expect_response("**/v1/jobs"):
        held[0].continue_()
    with tab.page.expect_response("**/v1/sessions"):
        pass  # the view goes on
    assert tab.page.url.endswith("#/sessions")


# --- for everybody


@pytest.mark.parametrize("place", ["", "jobs", "job"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_stands_in_the_way_of_assistive_programs(
    browser, gateway, drawn, place, scheme
):
    with Tab(
        browser, f"http://127.0.0.1:{gateway.port}", color_scheme=scheme
    ) as tab:
        tab.open(f"job/{drawn}" if place == "job" else place)
        tab.see("completed")
        tab.check_access()


def test_a_phone_shows_all_without_scrolling_sideways(browser, gateway, drawn):
    phone = {"viewport": {"width": 360, "height": 740}}
    with Tab(browser, f"http://127.0.0.1:{gateway.port}", **phone) as tab:
        for place in ("", "jobs", f"job/{drawn}"):
            tab.open(place)
            tab.see("completed")
            wide = tab.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 360, place


def test_chinese(browser, gateway, drawn):
    with Tab(browser, f"http://127.0.0.1:{gateway.port}", locale="zh-CN") as tab:
        tab.open()
        tab.see("已结束的任务")
        wait_until(lambda: tab.page.title() == "总览 · quern")
        tab.page.get_by_label("语言").select_option("en")
        tab.see("Jobs that ended")
        wait_until(lambda: tab.page.title() == "Overview · quern")
        tab.page.reload()
        tab.see("Jobs that ended")


def test_all_words_are_in_chinese(tab):
    """Each t("...") of a module has a Chinese word."""
    tab.open()
    missing = tab.page.evaluate(
        """async () => {
          const { chinese } = await import("/page/chinese.js");
          const names = "main overview health jobs job facts steps long timeline approval bulk question sign_in format list_view lists ask page_frame kept".split(" ");
          const missing = [];
          for (const name of names) {
            const text = await (await fetch(`/page/${name}.js`)).text();
            const words = [/\\bt\\("([^"]+)"/g, /\\b(?:title|name): "([A-Z][^"]*)"/g,
              /\\["([^"]+)", \\(/g, /"([A-Z][^"]*)"\\]/g,
              /\\["(\\{\\}[^"]+)", "/g, /", "(\\{\\}[^"]+)"\\]/g, /counted\\([^"]+, "([^"]+)", "([^"]+)"/g];
            for (const pattern of words)
              for (const [, ...words] of text.matchAll(pattern))
                missing.push(...words.filter((word) => !(word in chinese)));
          }
          return missing;
        }"""
    )
    assert missing == []


MISSED = 'async () => [...(await import("/page/words.js")).missed]'


def test_no_view_misses_a_word(browser, gateway, stack, drawn):
    cells = {"kind": "code", "cells": ["print(1)", "1/0"], "session": "kept"}
    broken = gateway.json("POST", "/v1/jobs", cells)[1]["id"]
    waits = gateway.json("POST", "/v1/jobs", {"prompt": "x", "queue": "nobody"})[1]["id"]
    stack.model.script([{"status": 400}])
    failed = submit(gateway, "x")
    for job in (broken, failed):
        stack.result(job)
    asks = guarded(gateway, stack)
    wait_until(lambda: gateway.json("GET", f"/v1/jobs/{asks}")[1].get("reason") == "approval")
    rows = "jobs jobs?tenant=* sessions queues workers endpoints dead tenants".split()
    places = {
        **{"": ".tiles", "ask": "form.ask", "schedules": "h1", "keys": ".fault", "sign-in": ".sign-in"},
        **{place: "tbody tr" for place in rows},
        **{f"job/{drawn}": ".facts", f"job/{broken}": ".call .failed", f"job/{failed}": ".fault"},
        **{f"job/{waits}": ".why", f"job/{asks}": ".approval"},
        **{f"ask?from={drawn}&back=0": ".told", f"ask?again={drawn}": ".told"},
    }
    with Tab(browser, f"http://127.0.0.1:{gateway.port}", locale="zh-CN") as tab:
        for place, shown in places.items():
            tab.open(place)
            tab.page.reload()
            tab.page.locator(shown).first.wait_for()
            for button in tab.page.locator(".bar button[aria-expanded]").all():
                button.click()
                tab.page.evaluate("() => new Promise(requestAnimationFrame)")  # it is drawn
            assert tab.page.evaluate(MISSED) == [], place
    gateway.json("POST", f"/v1/jobs/{asks}/cancel", {})


STATUSES = "error exit timeout memory crashed interrupted unknown refused"
REASONS = "queue schedule released lost retry backoff budget endpoint requeued approval"
VERDICTS = "approve reject edit skip regenerate ask abort"


def test_no_word_of_the_fleet_is_missed(browser, gateway):
    """How a call ended, and why a job waits: words of MESSAGES.md."""
    words = f"{STATUSES} {REASONS} {VERDICTS}".split()
    with Tab(browser, f"http://127.0.0.1:{gateway.port}", locale="zh-CN") as tab:
        tab.open("ask")
        tab.page.locator("form").wait_for()
        tab.page.evaluate('async (all) => all.map((await import("/page/words.js")).t)', words)
        assert tab.page.evaluate(MISSED) == []


# --- what somebody can do


def test_a_question_is_asked(tab, drawn):
    tab.open("ask")
    tab.page.get_by_label("Question").fill("draw it again")
    tab.page.keyboard.press("Control+Enter")
    tab.see("It is drawn.")
    tab.see("draw it again")


def test_code_runs_with_a_file_in_a_session(tab, tmp_path):
    (tmp_path / "given.txt").write_text("seven")
    tab.open("ask")
    tab.page.get_by_role("button", name="Python").click()
    tab.page.get_by_label("Code").fill("x = open('/mnt/data/given.txt').read(); print(x)")
    tab.page.get_by_label("Session").fill("mine")
    tab.page.get_by_label("Files").set_input_files(tmp_path / "given.txt")
    tab.page.get_by_role("button", name="Run").click()
    tab.see("seven")
    tab.see("completed", exact=True)
    tab.open("sessions")
    row = tab.page.get_by_role("row").filter(has_text="mine")
    row.get_by_role("link", name="Continue").click()
    session = tab.page.get_by_role("textbox", name="Session")
    assert session.input_value() == "mine"
    tab.page.get_by_role("button", name="Python").click()
    tab.page.get_by_label("Code").fill("print(x * 2)")
    tab.page.get_by_role("button", name="Run").click()
    tab.see("sevenseven")
    tab.open("sessions")
    tab.page.get_by_role("button", name="Close: mine").click()
    tab.page.get_by_role("button", name="Close", exact=True).click()
    row.wait_for(state="detached")


def test_a_job_is_cancelled(tab, gateway):
    waits = gateway.json("POST", "/v1/jobs", {"prompt": "x", "queue": "nobody"})[1]["id"]
    tab.open(f"job/{waits}")
    tab.see("Why it is where it is")
    tab.check_access()
    tab.page.get_by_role("button", name="Cancel").click()
    tab.see("cancelled", exact=True)


def test_what_was_asked_is_shown_while_the_job_waits(tab, gateway):
    body = {"prompt": "who is there?", "queue": "nobody"}
    waits = gateway.json("POST", "/v1/jobs", body)[1]["id"]
    tab.open(f"job/{waits}")
    tab.see("who is there?")


def guarded(gateway, stack, code="print('as it was')"):
    """A job whose call waits for somebody's approval."""
    stack.model.script(
        [
            *SCRIPT,
            {"match": "guard", "replies": [{"tool_calls": [call_of(code)]}, {"text": "Over."}]},
        ]
    )
    body = {"prompt": "guard it", "approve": ["execute_python_code"]}
    return gateway.json("POST", "/v1/jobs", body)[1]["id"]


def test_a_call_is_approved(tab, gateway, stack):
    job = guarded(gateway, stack, "print('as it was') # \u202egpj")
    tab.open(f"job/{job}")
    tab.see("May this run?")
    assert "U+202E" in tab.page.locator(".approval pre").inner_text()
    tab.check_access()
    tab.page.get_by_role("button", name="Approve").click()
    tab.see("Over.")
    assert tab.page.locator(".output").inner_text().strip() == "as it was"


def test_a_key_that_is_pressed_twice_approves_one_call(tab, gateway, stack):
    calls = [call_of("print(1)"), call_of("print(2)", id="c2", index=1)]
    script = {"match": "two calls", "replies": [{"tool_calls": calls}, {"text": "Over."}]}
    stack.model.script([*SCRIPT, script])
    body = {"prompt": "two calls", "approve": ["execute_python_code"]}
    job = gateway.json("POST", "/v1/jobs", body)[1]["id"]
    tab.open(f"job/{job}")
    question = tab.page.locator(".approval pre")
    question.get_by_text("print(1)").wait_for()
    tab.page.get_by_role("button", name="Approve").focus()
    tab.page.keyboard.press("Enter")
    question.get_by_text("print(2)").wait_for()
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_timeout(1000)
    assert question.inner_text() == "print(2)"
    tab.page.get_by_role("button", name="Approve").click()
    tab.see("Over.")


def test_what_ends_a_line_for_python_ends_it_on_the_page(tab, gateway, stack):
    """Else what runs would stand in a comment."""
    guarded_job = guarded(gateway, stack, "x = 1 # harmless\rprint(x)\r\nprint(2)")
    tab.open(f"job/{guarded_job}")
    code = tab.page.locator(".approval pre")
    code.wait_for()
    assert code.text_content() == "x = 1 # harmless\nprint(x)\nprint(2)"
    tab.page.get_by_role("button", name="Reject", exact=True).click()
    tab.page.locator(".approval form").get_by_role("button", name="Reject").click()
    tab.see("Over.")


def test_no_code_of_an_approval_looks_like_a_comment(tab, gateway, stack):
    """Prism takes the half of this line for one that Python runs."""
    job = guarded(gateway, stack, 'x = f"{d["#"]}"; print("kept \u845b\U000e0100")')
    tab.open(f"job/{job}")
    code = tab.page.locator(".approval pre")
    comment = code.locator(".token.comment")
    comment.wait_for()
    colours = "(one) => [getComputedStyle(one).color, getComputedStyle(one).fontStyle]"
    assert comment.evaluate(colours) == code.evaluate(colours)
    assert code.locator(".hidden-mark").inner_text() == "U+E0100"
    tab.page.get_by_role("button", name="Approve").click()
    tab.see("Over.")


def test_a_time_that_no_field_can_show_leaves_the_view_whole(browser, gateway):
    base = f"http://127.0.0.1:{gateway.port}"
    with Tab(browser, base, timezone_id="Europe/Berlin") as tab:
        tab.expected = ("400",)
        for time in ("8640000000000000", "-8640000000000000", "Infinity", "x"):
            tab.open(f"jobs?since={time}")
            tab.page.reload()
            tab.page.get_by_role("button", name="Find").wait_for()
            assert tab.page.get_by_label("Since").input_value() == ""


def test_what_is_nested_deeply_leaves_the_view_whole(tab, gateway, stack):
    """marked reads it, but it has more elements in each other than can be drawn."""
    for text in ("> - " * 600 + "x", "> " * 1500 + "x", "1. " * 700 + "x"):
        stack.model.script([*SCRIPT, {"match": "nested", "replies": [{"text": text}]}])
        job = gateway.json("POST", "/v1/jobs", {"prompt": "nested"})[1]["id"]
        assert stack.result(job)["status"] == "completed"
        tab.open(f"job/{job}")
        # While a text grows, what was read of it and its end are two.
        tab.page.locator("article.turn:not(:has(.grown)) .text").wait_for()
        tab.see("completed", exact=True)


def test_a_call_is_edited_first(tab, gateway, stack):
    tab.open(f"job/{guarded(gateway, stack)}")
    tab.see("May this run?")
    tab.page.get_by_role("button", name="Edit", exact=True).click()
    field = tab.page.get_by_label("What runs in its place")
    assert field.input_value() == "print('as it was')"
    field.fill("print('as I want it')")
    tab.page.locator(".approval form").get_by_role("button", name="Edit").click()
    tab.see("Over.")
    assert tab.page.locator(".output").inner_text().strip() == "as I want it"


def test_a_call_is_rejected_with_a_reason(tab, gateway, stack):
    job = guarded(gateway, stack)
    tab.open(f"job/{job}")
    tab.see("May this run?")
    tab.page.get_by_role("button", name="Reject", exact=True).click()
    tab.page.get_by_label("Why, for the model").fill("not on Sundays")
    tab.page.locator(".approval form").get_by_role("button", name="Reject").click()
    tab.see("Over.")
    assert "not on Sundays" in str(stack.result(job)["messages"])


def test_a_failed_job_runs_again_and_is_removed(tab, gateway, stack):
    tab.expected = ("404",)  # its facts were asked for once more, and it was gone
    stack.model.script([*SCRIPT, {"match": "mend", "replies": [{"status": 400}]}])
    job = submit(gateway, "mend it")
    assert stack.result(job)["status"] == "failed"
    tab.open(f"job/{job}")
    tab.see("failed", exact=True)
    stack.model.script([*SCRIPT, {"match": "mend", "replies": [{"text": "Mended."}]}])
    tab.page.get_by_role("button", name="Run again").click()
    tab.see("Mended.")
    tab.page.get_by_role("button", name="Remove").click()
    tab.see(f"Remove all that is kept of “{job}”?")
    tab.page.locator(".question").get_by_role("button", name="Remove").click()
    tab.page.wait_for_url("**/#/jobs")
    assert gateway.refusal("GET", f"/v1/jobs/{job}")[0] == 404


def test_all_jobs_that_are_found_are_cancelled_and_removed(tab, gateway):
    body = {"prompt": "x", "queue": "many"}
    ids = [gateway.json("POST", "/v1/jobs", body)[1]["id"] for _ in range(12)]
    tab.open("jobs?queue=many")
    tab.see(short(ids[0]))
    acts = tab.page.locator(".bar")
    acts.get_by_role("button", name="Cancel all").click()
    tab.see("Cancel 12 jobs?")
    tab.check_access()
    tab.page.get_by_role("button", name="No", exact=True).click()
    assert gateway.json("GET", "/v1/queues/many")[1]["waiting"] == 12
    acts.get_by_role("button", name="Cancel all").click()
    tab.page.locator(".question").get_by_role("button", name="Cancel all").click()
    tab.see("Done: 12 of 12.")
    states = {gateway.json("GET", f"/v1/jobs/{id}")[1]["state"] for id in ids}
    assert states == {"cancelled"}
    acts.get_by_role("button", name="Cancel all").click()
    tab.see("There are none.")
    acts.get_by_role("button", name="Remove all").click()
    tab.page.locator(".question").get_by_role("button", name="Remove all").click()
    tab.see("Done: 12 of 12.")
    tab.see("No jobs.")


def test_an_operator_finds_the_jobs_of_all_tenants(tab, stack):
    job = stack.submit(prompt="x", tenant="somebody", queue="nobody")
    tab.open("jobs")
    tab.page.get_by_label("Tenant (* for all)").fill("*")
    tab.page.get_by_label("Id, or a part of it").fill(job[9:])
    tab.page.keyboard.press("Enter")
    tab.see(short(job))
    row = tab.page.get_by_role("row").filter(has_text=short(job))
    assert "somebody" in row.inner_text()


def kept(tab, name):
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name=name, exact=True).click()
    with open(download.value.path()) as file:
        return download.value.suggested_filename, file.read()


def test_a_job_is_kept_as_a_file(tab, drawn):
    tab.open(f"job/{drawn}")
    tab.see("It is drawn.")
    name, text = kept(tab, "Notebook")
    assert name == f"job-{drawn[:13]}.ipynb"
    check = "import nbformat, sys; nbformat.validate(nbformat.reads(sys.stdin.read(), 4))"
    subprocess.run([python_with(NBFORMAT), "-c", check], input=text, text=True, check=True)
    cells = json.loads(text)["cells"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "code", "markdown"]
    assert cells[1]["source"] == DRAW and cells[2]["source"] == "It is drawn."
    printed, picture, value = cells[1]["outputs"]
    assert value["data"] == {"text/plain": "3"}
    assert printed["text"] == "drawn\n"
    assert base64.b64decode(picture["data"]["image/png"]).startswith(b"\x89PNG")
    _, text = kept(tab, "Markdown")
    assert text.startswith("> draw it\n\n```python\nimport matplotlib")
    assert "![figure-1.png](data:image/png;base64,iVBOR" in text
    assert text.endswith("It is drawn.\n")
    _, text = kept(tab, "JSON")
    whole = json.loads(text)
    assert whole["job"]["prompt"] == "draw it"
    assert whole["events"][-1]["type"] == "job.completed"
    tab.page.get_by_text("Events (").click()
    tab.see('"type":"job.completed"')


MARKUP = """<h1 id=seen>a page</h1><script>
const seen = document.getElementById("seen");
seen.textContent = "it ran";
document.addEventListener("securitypolicyviolation", (event) => {
  seen.textContent += `, without ${event.effectiveDirective}`;
});
try { top.document.title = "taken" } catch (error) {}
fetch("/v1/jobs").then(
  () => (seen.textContent = "it asked"),
  () => {},
);
</script>"""
PAGE = f"from IPython.display import HTML\nHTML({MARKUP!r})"


def test_a_page_that_code_made_is_shown_in_a_frame(tab, gateway, stack):
    tab.expected = ("sandboxed", "Content Security Policy", "Failed to fetch")
    job = gateway.json("POST", "/v1/jobs", {"kind": "code", "cells": [PAGE]})[1]["id"]
    assert stack.result(job)["status"] == "completed"
    tab.open(f"job/{job}")
    tab.see("completed", exact=True)
    assert tab.page.locator("iframe").count() == 0
    tab.page.get_by_role("button", name="Show the page").click()
    shown = tab.page.frame_locator("iframe").locator("#seen")
    shown.wait_for()
    assert shown.inner_text() == "a page"
    tab.page.get_by_role("button", name="Show it with scripts").click()
    shown = tab.page.frame_locator("iframe").get_by_text("it ran, without connect-src", exact=True)
    shown.wait_for()
    assert tab.page.title() != "taken"


def test_a_job_is_replayed(tab, drawn):
    tab.open(f"job/{drawn}")
    tab.page.get_by_role("button", name="Replay").click()
    tab.see(re.compile("Replayed: equal. Steps: [0-9]+; requests to a model among them: 2."))


def test_a_conversation_branches_at_a_step(tab, gateway, stack):
    replies = [{"tool_calls": [call_of("1 + 1")]}, {"text": "Two."}]
    stack.model.script(
        [
            *SCRIPT,
            {"match": "otherwise", "replies": [{"text": "Three."}]},
            {"match": "sum up", "replies": replies},
        ]
    )
    job = submit(gateway, "sum up")
    stack.result(job)
    tab.open(f"job/{job}")
    tab.see("Two.")
    tab.page.get_by_role("link", name="Branch from here").last.click()
    tab.see("It goes on from a step of this job")
    tab.page.get_by_label("Question").fill("otherwise")
    tab.page.keyboard.press("Control+Enter")
    tab.see("Three.")
    said = [m.get("content") for m in stack.model.request()["messages"]]
    assert said[-1] == "otherwise" and "Two." in said and "sum up" in said
    tab.page.get_by_role("link", name="Jobs").click()
    tab.open(f"job/{job}")
    tab.page.get_by_role("link", name="Ask it again").click()
    question = tab.page.get_by_label("Question")
    wait_until(lambda: question.input_value() == "sum up")


def test_a_queue_is_paused_and_emptied(tab, gateway, stack):
    for _ in range(3):
        gateway.json("POST", "/v1/jobs", {"prompt": "x", "queue": "full"})
    tab.open("queues")
    tab.page.get_by_role("button", name="Pause: full").click()
    tab.see("paused", exact=True)
    wait_until(lambda: gateway.json("GET", "/v1/queues/full")[1]["paused"])
    tab.page.get_by_role("button", name="Resume: full").click()
    tab.page.get_by_role("button", name="Cancel what waits: full").click()
    tab.see("Cancel the 3 jobs of full that wait?")
    tab.page.get_by_role("button", name="No", exact=True).click()
    assert gateway.json("GET", "/v1/queues/full")[1]["waiting"] == 3
    tab.page.get_by_role("button", name="Cancel what waits: full").click()
    tab.page.get_by_role("button", name="Cancel what waits", exact=True).click()
    tab.see("3 jobs are cancelled.")
    assert gateway.json("GET", "/v1/queues/full")[1]["waiting"] == 0


def test_what_is_lost_with_a_queue_is_told_before(tab, gateway, stack):
    """A job that waits for an approval has done something already."""
    job = guarded(gateway, stack)
    wait_until(lambda: gateway.json("GET", f"/v1/jobs/{job}")[1].get("reason") == "approval")
    tab.open("queues")
    tab.page.get_by_role("button", name="Cancel what waits: default").click()
    tab.see("Cancel the 1 job of default that waits? 1 has begun, and waits for an approval", exact=False)
    tab.page.locator(".question button").first.click()
    tab.see("1 job is cancelled.")
    assert stack.result(job)["status"] == "cancelled"


@pytest.mark.parametrize(
    "place, text",
    [
        ("workers", "works"),
        ("endpoints", "answers"),
        ("schedules", "nightly"),
        ("dead", "Run again"),
        ("tenants", "default"),
    ],
)
def test_the_lists_of_operators(tab, gateway, stack, place, text):
    nightly = {"spec": "0 3 * * *", "job": {"prompt": "x", "queue": "nobody"}}
    assert gateway.json("PUT", "/v1/schedules/nightly", nightly)[0] < 300
    if place == "dead":
        stack.model.script([*SCRIPT, {"match": "die", "replies": [{"status": 400}]}])
        stack.result(submit(gateway, "die"))
    tab.open(place)
    tab.page.locator("tbody").get_by_text(text).first.wait_for()
    tab.check_access()


# --- keys


def test_a_key_opens_the_page(browser, stack):
    with Gateway(stack.redis.url, open=None, port=free_ports(1)[0]) as closed:
        closed.ready()
        key = make_key(stack, scopes="read")
        with Tab(browser, f"http://127.0.0.1:{closed.port}") as tab:
            tab.expected = ("401",)
            tab.open()
            tab.page.get_by_label("Key", exact=True).fill("qk_wrong")
            tab.page.keyboard.press("Enter")
            tab.see("The gateway knows no such key", exact=False)
            tab.page.get_by_label("Key", exact=True).fill(key)
            tab.page.keyboard.press("Enter")
            tab.see("No jobs.")  # of this tenant; the overview is for operators
            for name in ("Overview", "Ask", "Queues", "Keys"):
                assert tab.page.get_by_role("link", name=name).count() == 0
            tab.open("queues")
            tab.see("This view needs a key of the scope operate.")
            assert key not in tab.page.evaluate("document.cookie")
            tab.page.get_by_role("button", name="Sign out").click()
            tab.page.get_by_label("Key", exact=True).wait_for()
            tab.page.reload()
            tab.page.get_by_label("Key", exact=True).wait_for()
        closed.drain()


def test_a_key_that_is_removed_leads_to_the_sign_in_form(browser, stack):
    with Gateway(stack.redis.url, open=None, port=free_ports(1)[0]) as closed:
        closed.ready()
        first, second, other = (make_key(stack, tenant=name) for name in ("ann", "ann", "bob"))
        job = stack.submit(prompt="x", queue="nobody", tenant="ann")
        with Tab(browser, f"http://127.0.0.1:{closed.port}") as tab:
            tab.sign_in(first)
            tab.open("jobs?queue=nobody")
            for removed, next in ((first, second), (second, other)):
                tab.see(short(job))
                tab.see("Live.")
                stack.db.delete(record(removed))
                tab.see("Your key was removed, or has ended.", exact=False)
                assert tab.page.get_by_text("Live.").count() == 0
                tab.page.locator("#key").fill(next)
                tab.page.keyboard.press("Enter")
            tab.see("No jobs.")  # of the other tenant
            assert tab.page.get_by_text("Your key was removed").count() == 0
            assert tab.page.url.endswith("#/jobs?queue=nobody")
        closed.drain()


def test_an_administrator_makes_and_removes_keys(browser, stack):
    with Gateway(stack.redis.url, open=None, port=free_ports(1)[0]) as closed:
        closed.ready()
        key = make_key(stack, scopes="read admin")
        with Tab(browser, f"http://127.0.0.1:{closed.port}") as tab:
            tab.expected = ("401",)
            tab.open()
            tab.page.get_by_label("Key", exact=True).fill(key)
            tab.page.keyboard.press("Enter")
            tab.page.get_by_role("link", name="Keys").click()
            tab.page.get_by_label("Tenant").fill("bob")
            tab.page.get_by_label("Scopes").fill("read")
            tab.page.get_by_role("button", name="Make a key").click()
            made = tab.page.locator(".told code").inner_text()
            wait_until(lambda: tab.page.get_by_label("Tenant").input_value() == "")
            assert closed.json("GET", "/v1/me", x_api_key=made)[1]["tenant"] == "bob"
            row = tab.page.get_by_role("row").filter(has_text="bob")
            row.get_by_role("button", name="Remove").click()
            tab.page.get_by_role("button", name="Remove", exact=True).click()
            row.wait_for(state="detached")
            assert closed.json("GET", "/v1/me", x_api_key=made)[0] == 401
        closed.drain()
