"""The lists as they are read: on a phone, and with names in the scripts of the world."""

import unicodedata

import pytest
from gateway import Gateway, make_key
from servers import free_ports
from stack import Stack
from tab import Tab
from worker import TakenJob

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
