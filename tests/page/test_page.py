"""The views of the page against a real stack: what they show, live and after a gateway
was killed; by keyboard, in both languages, for screen readers."""

import re
import signal

import pytest
from gateway import Gateway, make_key
from servers import free_ports
from stack import Stack, call_of
from tab import Tab

DRAW = """import matplotlib.pyplot as plt
print("drawn")
plt.plot([1, 3, 2]); plt.show()
open("/mnt/data/kept.csv", "w").write("a,b")"""
COUNT = """import time
for i in range(40):
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


@pytest.fixture(scope="module")
def gateway(stack):
    with Gateway(stack.redis.url, port=free_ports(1)[0]) as gateway:
        yield gateway.ready()
        gateway.drain()


@pytest.fixture
def tab(browser, gateway):
    with Tab(browser, f"http://127.0.0.1:{gateway.port}") as tab:
        yield tab


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
    tab.see(drawn)
    assert "state=completed" in tab.page.url


def test_a_job_is_found_by_its_filters(tab, gateway, drawn):
    waits = gateway.json("POST", "/v1/jobs", {"prompt": "x", "queue": "nobody"})[1]["id"]
    tab.open("jobs")
    tab.see(drawn)
    tab.page.get_by_label("Queue", exact=True).fill("nobody")
    tab.page.keyboard.press("Enter")
    tab.see(waits)
    assert not tab.page.get_by_text(drawn).is_visible()
    tab.page.reload()  # the filters are in the address
    tab.see(waits)
    tab.page.get_by_label("Id", exact=True).fill(drawn)
    tab.page.keyboard.press("Enter")
    tab.see("It is drawn.")


def test_a_job_shows_its_conversation(tab, drawn):
    tab.open(f"job/{drawn}")
    tab.see("It is drawn.")
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
    job = submit(gateway, "count slowly")
    tab.open(f"job/{job}")
    tab.see("line 3")
    gateway.signal(signal.SIGKILL)
    gateway.wait()
    tab.see("The connection is lost")
    gateway.start()
    gateway.ready()
    tab.see("Done.")
    lines = tab.page.locator(".output").inner_text().split("\n")
    assert [line for line in lines if line] == [f"line {i}" for i in range(40)]
    assert not tab.page.get_by_text("The connection is lost").is_visible()


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
        tab.page.get_by_label("语言").select_option("en")
        tab.see("Jobs that ended")
        tab.page.reload()
        tab.see("Jobs that ended")


def test_all_words_are_in_chinese(tab):
    """Each t("...") of a module has a Chinese word."""
    tab.open()
    missing = tab.page.evaluate(
        """async () => {
          const { chinese } = await import("/page/chinese.js");
          const names = "main overview jobs job sign_in format list_view lists ask".split(" ");
          const missing = [];
          for (const name of names) {
            const text = await (await fetch(`/page/${name}.js`)).text();
            const words = [/\\bt\\("([^"]+)"/g, /\\b(?:title|name): "([A-Z][^"]*)"/g,
              /\\["([^"]+)", \\(/g, /"([A-Z][^"]*)"\\]/g];
            for (const pattern of words)
              for (const [, word] of text.matchAll(pattern))
                if (!(word in chinese)) missing.push(word);
          }
          return missing;
        }"""
    )
    assert missing == []


def test_the_keyboard_is_enough(tab, drawn):
    tab.open()
    tab.see("Jobs that ended")
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("Enter")  # skip to the content
    assert tab.page.evaluate("document.activeElement.id") == "view"
    for _ in range(60):
        tab.page.keyboard.press("Tab")
        if "completed" in tab.page.evaluate("document.activeElement.textContent"):
            break
    tab.page.keyboard.press("Enter")
    tab.see(drawn)


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
    tab.page.get_by_role("link", name="Continue").click()
    session = tab.page.get_by_role("textbox", name="Session")
    assert session.input_value() == "mine"
    tab.page.get_by_role("button", name="Python").click()
    tab.page.get_by_label("Code").fill("print(x * 2)")
    tab.page.get_by_role("button", name="Run").click()
    tab.see("sevenseven")
    tab.open("sessions")
    tab.page.get_by_role("button", name="Close: mine").click()
    tab.page.get_by_role("button", name="Close", exact=True).click()
    row = tab.page.get_by_role("row").filter(has_text="mine")
    row.wait_for(state="detached")


def test_a_job_is_cancelled(tab, gateway):
    waits = gateway.json("POST", "/v1/jobs", {"prompt": "x", "queue": "nobody"})[1]["id"]
    tab.open(f"job/{waits}")
    tab.see("Why it is where it is")
    tab.page.get_by_role("button", name="Cancel").click()
    tab.see("cancelled", exact=True)


def test_a_queue_is_paused_and_emptied(tab, gateway, stack):
    for _ in range(3):
        gateway.json("POST", "/v1/jobs", {"prompt": "x", "queue": "full"})
    tab.open("queues")
    tab.page.get_by_role("button", name="Pause: full").click()
    tab.see("paused", exact=True)
    assert gateway.json("GET", "/v1/queues/full")[1]["paused"]
    tab.page.get_by_role("button", name="Resume: full").click()
    tab.page.get_by_role("button", name="Cancel what waits: full").click()
    tab.see("Cancel the 3 jobs of full that wait?")
    tab.page.get_by_role("button", name="No", exact=True).click()
    assert gateway.json("GET", "/v1/queues/full")[1]["waiting"] == 3
    tab.page.get_by_role("button", name="Cancel what waits: full").click()
    tab.page.get_by_role("button", name="Cancel what waits", exact=True).click()
    tab.see("3 jobs are cancelled.")
    assert gateway.json("GET", "/v1/queues/full")[1]["waiting"] == 0


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
    tab.see(text)
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
            tab.see("with a key of quern")
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
            assert closed.json("GET", "/v1/me", x_api_key=made)[1]["tenant"] == "bob"
            row = tab.page.get_by_role("row").filter(has_text="bob")
            row.get_by_role("button", name="Remove").click()
            tab.page.get_by_role("button", name="Remove", exact=True).click()
            row.wait_for(state="detached")
            assert closed.json("GET", "/v1/me", x_api_key=made)[0] == 401
        closed.drain()
