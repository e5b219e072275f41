"""The lists as they are read: on a phone, with names in the scripts of the world, from
gateways that send less; and the limits of tenants."""

import copy
import json
import unicodedata

import pytest
from gateway import closed_gateway, make_key
from servers import wait_until
from stack import Stack
from tab import Tab
from worker import TakenJob

PHONE = {"viewport": {"width": 390, "height": 844}}
SCRIPT = [
    {"match": "break", "replies": [{"status": 400}]},
    {"match": "slowly", "replies": [{"text": "word " * 3000, "chunk_ms": 200}]},
    {"text": "said"},
]


@pytest.fixture(scope="module")
def stack():
    """Each list has a row."""
    with Stack(executor=False) as stack:
        stack.consumer()
        stack.model.script(SCRIPT)
        stack.result(stack.submit(prompt="x", session="chat"))
        stack.result(stack.submit(prompt="break"))
        stack.submit(prompt="x", queue="nobody")
        yield stack


@pytest.fixture(scope="module")
def closed(stack):
    with closed_gateway(stack) as closed:
        nightly = {"spec": "0 3 * * *", "job": {"prompt": "x", "queue": "nobody"}}
        body = {"tenant": "a tenant whose name is " + "long " * 20, "scopes": "read"}
        status, made = closed.json("POST", "/v1/keys", body, x_api_key=closed.key)
        assert status < 300, made
        closed.long = made["secret"]
        path = "/v1/schedules/nightly"
        assert closed.json("PUT", path, nightly, x_api_key=closed.key)[0] < 300
        names = {"tenant_rate": 5, "tenant_rate_ms": 90_000, "tenant_tokens": 9, "tenant_budget_ms": 7_200_000}
        limits = {f"{name}:zoe": value for name, value in names.items()}
        assert closed.json("PATCH", "/v1/queues/nobody", limits, x_api_key=closed.key)[0] < 300
        yield closed


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
        tab.sign_in(closed.key)
        for place in ("", "ask", *LISTS):
            tab.open(place)
            tab.page.locator(f'nav a[aria-current][href="#/{place}"]').wait_for()
            seen = tab.page.evaluate(HEADER)
            assert seen["lines"] == 1 and 40 < seen["height"] < 90, (place, seen)
            assert seen["isCurrentSeen"] and seen["wide"] <= 0, (place, seen)


def test_a_long_name_leaves_the_header_as_it_is(browser, closed):
    with Tab(browser, f"http://127.0.0.1:{closed.port}", **PHONE) as tab:
        tab.sign_in(closed.long)
        tab.page.locator("nav a[aria-current]").wait_for()
        seen = tab.page.evaluate(HEADER)
        assert seen["height"] < 90 and seen["wide"] <= 0, seen
        tab.page.get_by_role("button", name="Sign out").click()
        tab.page.get_by_label("Key", exact=True).wait_for()


HELD = """(scroll) => {
  scroll.scrollLeft = scroll.scrollWidth;
  const left = scroll.getBoundingClientRect().left;
  const held = [...scroll.querySelectorAll('thead .held, th[scope="row"]')];
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
        tab.sign_in(closed.key)
        for place in LISTS:
            tab.open(place)
            tab.page.locator(f'nav a[aria-current][href="#/{place}"]').wait_for()
            tab.page.locator("main tbody tr").first.wait_for()
            seen = tab.page.locator(".scroll").evaluate(HELD)
            assert seen["more"] > 0 and seen["scrolled"] > 0, (place, seen)
            assert seen["lefts"] == [0] and seen["count"] == seen["rows"], (place, seen)


def test_a_time_ahead_is_told_whole(browser, closed):
    with Tab(browser, f"http://127.0.0.1:{closed.port}") as tab:
        tab.sign_in(closed.key)
        tab.open("schedules")
        whole = tab.page.locator("tbody time").first.get_attribute("title")
        assert "3:00:00" in whole, whole


# --- names

NAMES = {
    "Persian": "می‌خواهم نامه‌ها",
    "Urdu": "بے‌حد",
    "Kurdish": "ده‌توانم",
    "Arabic": "تقرير الليل",
    "Syriac": "ܫܠܡܐ ܥܠܡܐ",
    "N'Ko": "ߒߞߏ ߞߊ߲",
    "Hebrew": "דוח לילי",
    "Hindi": "क्‍ष क्‌ष रिपोर्ट",
    "Marathi": "दर्‍याखोऱ्यातील",
    "Nepali": "गर्‍यो",
    "Bengali": "র‍্যাব উদ্‌যাপন",
    "Punjabi": "ਰਿਪੋਰਟ",
    "Gujarati": "ક્‍ષ અહેવાલ",
    "Odia": "ରିପୋର୍ଟ",
    "Tamil": "க்‌ஷ அறிக்கை",
    "Telugu": "సాఫ్ట్‌వేర్",
    "Kannada": "ರ‍್ಯಾಂಕ್ ಸಾಫ್ಟ್‌ವೇರ್",
    "Malayalam": "അവന്‍ വന്നു",
    "Malayalam at the end": "അവന്‍",
    "Sinhala": "ශ්‍රී ලංකා",
    "Thai": "รายงานประจำคืน",
    "Lao": "ລາຍງານ",
    "Khmer": "ប៊‌ី របាយការណ៍",
    "Burmese": "အစီရင်ခံစာ",
    "Tibetan": "བོད་ཡིག",
    "Georgian": "ანგარიში",
    "Armenian": "Զեկույց",
    "Greek": "Αναφορά νύχτας",
    "Russian": "Отчёт за ночь",
    "Amharic": "ሪፖርት",
    "Cherokee": "ᏣᎳᎩ",
    "Korean": "야간 보고서",
    "Japanese": "夜間レポート",
    "Chinese": "夜间报告",
    "Vietnamese": "Báo cáo đêm",
    "emoji": "👩‍👩‍👧 🏳️‍🌈 🧑🏽‍🤝‍🧑🏻 🧑‍⚕️",
}
# Each with the marks that must be seen in it.
HOSTILE = {
    "between Latin": ("ad\u200cmin", 1),
    "joined Latin": ("ad\u200dmin", 1),
    "between digits": ("1\u200c2", 1),
    "between digits of Persian": ("\u06f1\u200c\u06f2", 1),
    "at the end": ("\u0645\u06cc\u200c", 1),
    "at the start": ("\u200c\u0645\u06cc", 1),
    "two": ("\u0645\u06cc\u200c\u200c\u062e", 2),
    "one of each": ("\u0645\u06cc\u200d\u200c\u062e", 2),
    "before a space": ("\u0645\u06cc\u200c \u062e", 1),
    "before Latin": ("\u0645\u200cx", 1),
    "after Latin": ("x\u200d\u0915", 1),
    "apart, of emoji": ("\U0001f469\u200c\U0001f467", 1),
    "an emoji's end": ("\U0001f469\u200d", 1),
    "an emoji and Latin": ("\U0001f469\u200da", 1),
    "of Cyrillic": ("\u0430\u200d\u0431", 1),
    "of Chinese": ("\u591c\u200c\u95f4", 1),
    "of a chillu, two": ("\u0d28\u0d4d\u200d\u200d", 2),
    "turned around": ("\u202egpj.exe", 1),
    "isolated": ("\u0645\u2067x\u2069", 2),
    "no space": ("\u0645\u200b\u06cc", 1),
    "a mark of direction": ("\u0645\u200f\u200e\u06cc", 2),
}


def marked(text):
    return sum(unicodedata.category(c) == "Cf" for c in text)


def test_names_in_the_scripts_of_the_world(tab, gateway, stack):
    tab.expected = ("404",)  # what was asked is not kept without a journal
    assert len(NAMES) >= 25 and sum(marked(name) > 0 for name in NAMES.values()) >= 12
    for name in NAMES.values():
        stack.submit(prompt="x", queue="names", session=name)
    job = TakenJob(stack, prompt="x", metadata={f"name {n}": v for n, v in enumerate(NAMES.values())})
    files = [{"name": f"{name}.csv", "mime": "text/csv", "blob": "0" * 64, "bytes": 1} for name in NAMES.values()]
    job.tell(
        ("tool.started", {"call": "c", "tool": "python", "code": "1"}),
        *(("file", {"call": "c", "file": file}) for file in files),
    )
    job.finish(metadata={f"name {n}": v for n, v in enumerate(NAMES.values())})
    tab.open("jobs?queue=names")
    tab.page.locator("tbody tr").nth(len(NAMES) - 1).wait_for()
    shown = tab.page.locator("tbody td:nth-child(7)").all_text_contents()
    assert sorted(shown) == sorted(NAMES.values())
    tab.open(f"job/{job.id}")
    tab.see("completed", exact=True)
    tab.page.locator(".files li").nth(len(NAMES) - 1).wait_for()
    assert tab.page.locator(".files li").all_text_contents() == [file["name"] for file in files]
    facts = tab.page.locator(".facts dd").all_text_contents()
    assert [name for name in NAMES.values() if name not in facts] == []
    assert tab.page.locator(".hidden-mark").count() == 0


def test_marks_that_no_script_needs_are_shown(tab, gateway, stack):
    for name, _ in HOSTILE.values():
        stack.submit(prompt="x", queue="hostile-names", session=name)
    tab.open("jobs?queue=hostile-names")
    tab.page.locator("tbody tr").nth(len(HOSTILE) - 1).wait_for()
    cells = tab.page.locator("tbody td:nth-child(7)").all()
    shown = sorted(cell.text_content() for cell in cells)
    assert shown == sorted(written(name) for name, _ in HOSTILE.values())
    count = sum(count for _, count in HOSTILE.values())
    assert tab.page.locator("tbody .hidden-mark").count() == count


def written(name):
    """With a number in place of each mark."""
    return "".join(f"U+{ord(c):04X}" if unicodedata.category(c) == "Cf" else c for c in name)


# --- limits of tenants

MISSED = 'async () => [...(await import("/page/words.js")).missed]'


def fill(tab, values):
    """By keyboard, from the first field of the form on."""
    tab.page.locator("form.filters select").first.focus()
    for value in values:
        tab.page.keyboard.press("Control+A")
        tab.page.keyboard.press("Delete")
        tab.page.keyboard.type(value)
        tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.tagName") == "BUTTON"
    tab.page.keyboard.press("Enter")


def test_a_limit_of_a_tenant_holds(browser, closed, stack):
    def state(id):
        return stack.facts(id)["state"]

    def why(id):
        return closed.json("GET", f"/v1/jobs/{id}/explain", x_api_key=bob)[1]["why"]

    bob = make_key(stack, tenant="bob", scopes="submit read")
    with Tab(browser, f"http://127.0.0.1:{closed.port}") as tab:
        tab.sign_in(closed.key)
        tab.open("queues")
        tab.page.locator("form.filters").wait_for()
        tab.check_access()
        fill(tab, ["default", "bob", "Jobs at once", "1"])
        tab.see("Jobs at once of bob in default: 1")
        queue = closed.json("GET", "/v1/queues/default", x_api_key=closed.key)[1]
        assert queue["limits"] == {"bob": {"tenant_running": 1}}, queue
        jobs = [stack.submit(prompt="slowly", tenant="bob") for _ in range(3)]
        wait_until(lambda: state(jobs[0]) == "in_progress")
        assert [state(id) for id in jobs[1:]] == ["queued"] * 2
        assert all("tenant bob runs 1 of 1 jobs at once" in why(id) for id in jobs[1:])
        tab.open("tenants")
        row = tab.page.get_by_role("row").filter(has_text="bob")
        tab.page.get_by_role("columnheader", name="Jobs at once").wait_for()
        heads = tab.page.locator("thead th").all_text_contents()
        assert row.locator("th, td").nth(heads.index("Jobs at once")).inner_text() == "1"
        tab.open("queues")
        tab.page.locator("form.filters").wait_for()
        fill(tab, ["default", "bob", "Jobs at once", ""])
        tab.see("Jobs at once of bob in default: not set")
        wait_until(lambda: [state(id) for id in jobs] == ["in_progress"] * 3)
        for id in jobs:
            closed.json("POST", f"/v1/jobs/{id}/cancel", {}, x_api_key=bob)
            stack.result(id)


def test_limits_have_the_units_that_are_asked_for(browser, closed):
    asked = [
        ("Jobs that wait", "7", "tenant_depth", 7),
        ("Starts in a time", "60", "tenant_rate", 60),
        ("The time of starts", "90", "tenant_rate_ms", 90_000),
        ("Tokens", "1000", "tenant_tokens", 1000),
        ("Cost", "0.07", "tenant_cost", 70_000),
        ("The time of a budget", "12", "tenant_budget_ms", 12 * 3_600_000),
    ]
    with Tab(browser, f"http://127.0.0.1:{closed.port}") as tab:
        tab.sign_in(closed.key)
        tab.open("queues")
        tab.page.locator("form.filters").wait_for()
        for name, value, _, _ in asked:
            fill(tab, ["nobody", "eve", name, value])
            tab.see(f" of eve in nobody: {int(value):,}" if "." not in value else "nobody: 0.07", exact=False)
        tab.page.get_by_text("The time of a budget, in hours of eve in nobody: 12").wait_for()
        queue = closed.json("GET", "/v1/queues/nobody", x_api_key=closed.key)[1]
        assert queue["limits"]["eve"] == {setting: value for _, _, setting, value in asked}
        tab.open("tenants")
        row = tab.page.get_by_role("row").filter(has_text="eve")
        row.get_by_text("60 / 1 min").wait_for()
        row.get_by_text("1,000 / $0.07 / 12 h").wait_for()
        tab.open("queues")
        tab.page.locator("form.filters").wait_for()
        fill(tab, ["nobody", "", "Jobs at once", "3"])
        tab.see("Jobs at once of each tenant in nobody: 3")
        row = tab.page.get_by_role("row").filter(has_text="nobody")
        row.get_by_role("cell", name="3", exact=True).wait_for()


def test_a_limit_that_is_refused(browser, closed):
    with Tab(browser, f"http://127.0.0.1:{closed.port}", locale="zh-CN") as tab:
        tab.sign_in(closed.key)
        tab.expected = ("400",)
        tab.open("queues")
        tab.page.locator("#new-queue").select_option("default")
        tab.page.get_by_label("租户", exact=False).fill("bob")
        tab.page.get_by_label("上限", exact=False).fill("1e20")
        tab.page.get_by_role("button", name="设置限制").click()
        tab.page.get_by_role("alert").wait_for()
        assert tab.page.get_by_label("上限", exact=False).input_value() == "1e20"
        tab.page.get_by_label("上限", exact=False).fill("0")
        tab.page.get_by_role("button", name="设置限制").click()
        tab.see("（bob，队列", exact=False)
        tab.page.get_by_role("alert").wait_for(state="detached")
        assert tab.page.evaluate(MISSED) == []


def test_who_may_only_read_sees_no_form(browser, closed, stack):
    with Tab(browser, f"http://127.0.0.1:{closed.port}") as tab:
        tab.sign_in(make_key(stack, tenant="default", scopes="read"))
        tab.open("queues")
        tab.see("This view needs a key of the scope operate.")
        assert tab.page.locator("form").count() == 0
        assert tab.page.get_by_role("link", name="Queues").count() == 0


# --- gateways that send less

# The place of each view, its route, and the member that has its rows.
SENT = {
    "overview": ("?span=hour", "/v1/overview", "queues"),
    "jobs": ("jobs?state=completed", "/v1/jobs", "jobs"),
    "jobs-all": ("jobs?tenant=*&state=failed", "/v1/jobs", "jobs"),
    **{place: (place, f"/v1/{place}", place) for place in LISTS if place != "jobs"},
    "tenants": ("tenants", "/v1/tenants", "tenants"),
}
# What a gateway leaves out when there is nothing to say: then it is not unknown.
LEFT_OUT = {"holder", "finished_at", "started_at", "reason", "place"}
SHOWN = """async () => {
  const whole = document.querySelector("main").cloneNode(true);
  for (const time of whole.querySelectorAll("time")) time.textContent = "then";
  const text = (one) => one.textContent.trim();
  return {
    rows: [...whole.querySelectorAll("tbody tr")].map((row) =>
      [...row.children].filter((one) => !one.matches(".actions")).map(text)),
    tiles: [...whole.querySelectorAll(".tile, .legend li")].map(text),
    labels: [...whole.querySelectorAll("svg a")].map((one) => one.getAttribute("aria-label")),
    links: [...whole.querySelectorAll("a, button, time")].map((one) =>
      ["href", "aria-label", "title", "datetime"].map((name) => one.getAttribute(name) ?? "").join(" ")),
    whole: text(whole),
  };
}"""
WRONG = ("undefined", "NaN", "Invalid", "[object", "null", "TypeError", "not iterable")


class Less:
    """Shows a view as if the gateway had sent that answer."""

    def __init__(self, tab, view):
        self.tab, (self.place, self.path, self.member) = tab, SENT[view]
        self.answer = None
        self.workers = None  # which other views ask for, too
        tab.page.route("**/v1/workers", self.fulfill_workers)
        tab.page.route(lambda url: url.split("?")[0].endswith(self.path), self.fulfill)

    def fulfill_workers(self, route):
        if self.workers is None:
            self.workers = route.fetch().json()
        route.fulfill(json=self.workers)

    def fulfill(self, route):
        if self.answer is None:
            self.answer = route.fetch().json()
        route.fulfill(json=self.answer)

    def show(self, answer=None):
        page = self.tab.page
        self.answer = answer
        self.tab.open("ask")
        page.locator("form.ask").wait_for()
        with page.expect_response(lambda one: one.url.split("?")[0].endswith(self.path)):
            self.tab.open(self.place)
        page.locator("h1").wait_for()
        page.get_by_text("Loading…").wait_for(state="detached")
        page.locator("main table, main .fault, main .note, main .tiles").first.wait_for()
        seen = page.evaluate(SHOWN)
        assert self.tab.faults == [], self.tab.faults
        text = json.dumps([seen["whole"], seen["labels"], seen["links"]])
        assert [word for word in WRONG if word in text] == [], text
        return seen


def is_less(shown, before):
    """It says what it said before, or that something is not known."""
    return set(shown.split()) <= {*before.split(), "–", "≤", ">"}


@pytest.mark.parametrize("view", SENT)
def test_a_gateway_that_sends_less(browser, closed, view):
    with Tab(browser, f"http://127.0.0.1:{closed.port}") as tab:
        tab.sign_in(closed.key)
        less = Less(tab, view)
        whole = less.show()
        answer = copy.deepcopy(less.answer)
        rows = answer[less.member]
        assert whole["rows"] and rows
        for name in sorted({name for row in rows for name in row}):
            given = copy.deepcopy(answer)
            for row in given[less.member]:
                row.pop(name, None)
            seen = less.show(given)
            assert len(seen["rows"]) == len(whole["rows"]), name
            for now, before in zip(seen["rows"], whole["rows"]):
                pairs = list(zip(now, before))
                if name not in LEFT_OUT:
                    assert all(is_less(one, other) for one, other in pairs), (name, pairs)
                same = sum(one == other for one, other in pairs)
                assert same >= len(pairs) - 3, (name, pairs)
        for name in answer:
            given = copy.deepcopy(answer)
            del given[name]
            seen = less.show(given)
            assert "There are none." not in seen["whole"] and "No jobs." not in seen["whole"], name
        if view == "overview":
            check_figures(less, answer, whole)


def check_figures(less, answer, whole):
    """What is counted, of all and of each time."""
    assert answer["points"] and whole["labels"]
    for name in answer["total"]:
        given = copy.deepcopy(answer)
        del given["total"][name]
        seen = less.show(given)
        pairs = list(zip(seen["tiles"], whole["tiles"], strict=True))
        changed = [one for one, other in pairs if one != other]
        assert all("–" in one for one in changed), (name, changed)
    for name in answer["points"][0]:
        given = copy.deepcopy(answer)
        for point in given["points"]:
            del point[name]
        seen = less.show(given)
        assert all(is_less(*pair) for pair in zip(seen["labels"], whole["labels"])), name


@pytest.mark.parametrize("view", SENT)
def test_a_gateway_that_has_no_such_list(browser, closed, view):
    """It says so, and nothing of what there is."""
    place, path, _ = SENT[view]
    answer = {"error": {"message": "there is no such route"}}
    with Tab(browser, f"http://127.0.0.1:{closed.port}") as tab:
        tab.sign_in(closed.key)
        tab.expected = ("404",)
        tab.page.route(
            lambda url: url.split("?")[0].endswith(path),
            lambda route: route.fulfill(status=404, json=answer),
        )
        tab.open(place)
        tab.see("there is no such route", exact=False)
        text = tab.page.locator("main").inner_text()
        assert "There are none." not in text and "No jobs." not in text
        assert tab.page.locator("main table, .tiles").count() == 0
