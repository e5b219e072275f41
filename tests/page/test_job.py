"""The view of one job: what it keeps from those who look, whatever models and code have written, and what it shows
when less is kept than was made."""

import json

import pytest
from servers import wait_until
from stack import Stack, call_of
from worker import TakenJob


@pytest.fixture(scope="module")
def stack():
    with Stack() as stack:
        stack.consumer()
        yield stack


def told(stack, *events, **result):
    """A job that has ended, with these events."""
    job = TakenJob(stack, prompt="x")
    job.tell(*events)
    job.finish(**result)
    return job.id


@pytest.fixture
def tab(tab):
    tab.expected = ("404",)  # what was asked is not kept without a journal
    return tab


# --- texts that take minutes to read

SLOW_CODE = "f\"{f'{" * 8000  # as bash: minutes
SLOW_TEXT = f"```bash\n{SLOW_CODE}\n```"


def test_a_text_that_takes_minutes_to_read_stays_plain(tab, stack):
    said = ("message.completed", {"turn": 1, "text": "__a " * 12_000})
    coloured = ("message.completed", {"turn": 2, "text": SLOW_TEXT})
    plain = ("message.completed", {"turn": 3, "text": "It is **over**."})
    tab.open(f"job/{told(stack, said, coloured, plain)}")
    tab.see("completed", exact=True)
    turns = tab.page.locator("article.turn")
    turns.nth(0).locator(".text:not(.unread)").wait_for()
    turns.nth(1).locator(".markdown pre").wait_for()
    assert turns.nth(1).locator(".token").count() == 0
    turns.nth(2).locator("strong").wait_for()


def test_a_text_that_takes_minutes_is_shown_as_it_comes(tab, stack):
    job = TakenJob(stack, prompt="x")
    tab.open(f"job/{job.id}")
    tab.see("in_progress", exact=True)
    for number in range(20):
        job.tell(("message.delta", {"turn": 1, "text": f"{'__a ' * 1000} part-{number} "}))
        tab.see(f"part-{number}", exact=False)
    job.tell(("message.delta", {"turn": 1, "text": "\n\nIt is **over**."}))
    tab.page.locator("article.turn strong").wait_for()
    job.finish()
    tab.see("completed", exact=True)


def test_a_text_that_grows_is_read_block_by_block(tab, stack):
    job = TakenJob(stack, prompt="x")
    tab.open(f"job/{job.id}")
    turn = tab.page.locator("article.turn")
    job.tell(("message.delta", {"turn": 1, "text": "# One\n\n```python\nx = 1\n\n"}))
    turn.locator("h3").wait_for()
    turn.locator("pre").get_by_text("x = 1").wait_for()
    job.tell(("message.delta", {"turn": 1, "text": "y = 2\n```\n\n- a\n\n- *b"}))
    turn.locator("pre").get_by_text("y = 2").wait_for()
    turn.locator(".token.number").nth(1).wait_for()
    assert turn.locator("pre").count() == 1
    turn.locator("li").nth(1).get_by_text("*b").wait_for()
    text = "# One\n\n```python\nx = 1\n\ny = 2\n```\n\n- a\n\n- *b*"
    job.tell(("message.delta", {"turn": 1, "text": "*"}), ("message.completed", {"turn": 1, "text": text}))
    job.finish()
    turn.locator("em").wait_for()
    turn.locator(".grown").wait_for(state="detached")


def test_a_call_can_be_approved_whatever_its_code_is(tab, gateway, stack):
    code = "'''\n" + "f'''{\"\"\"" * 3000 + "\n'''\nprint('it ran')"
    stack.model.script([{"tool_calls": [call_of(code)]}, {"text": "Over."}])
    body = {"prompt": "x", "approve": ["execute_python_code"]}
    job = gateway.json("POST", "/v1/jobs", body)[1]["id"]
    tab.open(f"job/{job}")
    tab.page.locator(".approval pre").get_by_text("it ran").wait_for()
    tab.page.get_by_role("button", name="Approve").click()
    tab.see("Over.")


# --- HTML that code shows

REACHES = """<h1 id=seen>a page</h1><p style="color: rgb(1, 2, 3)">styled</p><style>h1 { color: rgb(4, 5, 6) }</style>
<link rel=preconnect href=http://one.example><link rel=dns-prefetch href=//two.example><meta http-equiv=refresh
content='0;url=http://three.example'><base href=http://four.example><iframe src=//five.example></iframe>
<svg><link rel=preconnect href=http://six.example></svg><a href=http://seven.example ping=http://eight.example
onclick=parent.hit=1>a link</a><script>parent.hit = 1</script><img src=data:, onerror=parent.hit=1>"""


def test_html_is_shown_without_what_reaches_other_hosts(tab, gateway, stack):
    tab.expected = ("404", "Content Security Policy", "sandboxed")
    code = f"from IPython.display import HTML\nHTML({REACHES!r})"
    job = gateway.json("POST", "/v1/jobs", {"kind": "code", "cells": [code]})[1]["id"]
    assert stack.result(job)["status"] == "completed"
    tab.open(f"job/{job}")
    tab.see("Its scripts can send what they see to other hosts.")
    tab.page.get_by_role("button", name="Show the page").click()
    frame = tab.page.frame_locator("iframe")
    frame.locator("#seen").wait_for()
    frame.get_by_text("a link").click()
    seen = tab.page.evaluate(
        """() => {
          const shown = document.querySelector("iframe").contentDocument;
          const colour = (name) => getComputedStyle(shown.querySelector(name)).color;
          return {
            hit: window.hit,
            names: [...shown.querySelectorAll("*")].map((one) => one.localName).join(" "),
            attributes: [...shown.querySelectorAll("*")].flatMap((one) => one.getAttributeNames()),
            colours: [colour("h1"), colour("p")],
          };
        }"""
    )
    assert seen["hit"] is None
    assert seen["names"] == "html head body h1 p style svg a img"
    assert not {"ping", "href", "onclick", "onerror"} & set(seen["attributes"])
    assert seen["colours"] == ["rgb(4, 5, 6)", "rgb(1, 2, 3)"]


# --- what looks like something else


def test_a_view_that_cannot_be_drawn_leaves_the_page(tab, stack):
    tab.open("jobs")
    tab.page.locator("h1").wait_for()
    tab.page.route("**/page/job.js", lambda route: route.fulfill(content_type="text/javascript", body=BROKEN))
    tab.open("job/x")
    tab.see("This view cannot be shown: it broke", exact=False)
    tab.page.evaluate("window.mend()")
    tab.see("It is well.")
    tab.page.evaluate("window.spoil()")
    tab.see("This view cannot be shown: it broke", exact=False)
    tab.page.get_by_role("link", name="Jobs", exact=True).click()
    tab.page.locator("h1").get_by_text("Jobs").wait_for()


BROKEN = """import { h } from "./dom.js";
export function open(place) {
  let isWell = false;
  window.mend = () => { isWell = true; place.changed(); };
  window.spoil = () => { isWell = false; place.changed(); };
  return {
    title: () => "x",
    draw() {
      if (!isWell) throw new Error("it broke");
      return h("p", {}, "It is well.");
    },
    close() {},
  };
}"""
