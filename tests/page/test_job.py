"""The view of one job: what it keeps from those who look, whatever models and code have written, and what it shows
when less is kept than was made."""

import json
import time

import pytest
from servers import wait_until
from stack import ROOT, Stack, call_of
from tab import Tab
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
    tab.see("in progress", exact=True)
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
onclick=parent.hit=1>a link</a><svg><a><set attributeName=href to=http://nine.example /><animate
attributeName=href values=http://ten.example /></a></svg><script>parent.hit = 1</script><img src=data:, onerror=parent.hit=1>"""


def test_html_is_shown_without_what_reaches_other_hosts(tab, gateway, stack):
    tab.expected = ("404", "Content Security Policy", "sandboxed")
    code = f"from IPython.display import HTML\nHTML({REACHES!r})"
    job = gateway.json("POST", "/v1/jobs", {"kind": "code", "cells": [code]})[1]["id"]
    assert stack.result(job)["status"] == "completed"
    tab.open(f"job/{job}")
    tab.see("Its scripts can send what they see to other hosts", exact=False)
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
    assert seen["names"] == "html head body h1 p style svg a svg a img"
    assert not {"ping", "href", "onclick", "onerror"} & set(seen["attributes"])
    assert seen["colours"] == ["rgb(4, 5, 6)", "rgb(1, 2, 3)"]


GREEDY = """<input id=i><script>setInterval(() => i.focus(), 50)
setInterval(() => document.body.scrollIntoView({ block: "end" }), 100)</script>"""


def test_scripts_take_nothing_that_is_typed_elsewhere(tab, gateway, stack):
    tab.expected = ("404", "Content Security Policy", "sandboxed")
    code = f"from IPython.display import HTML\nprint('line\\n' * 15)\nHTML({GREEDY!r})"
    job = gateway.json("POST", "/v1/jobs", {"kind": "code", "cells": [code]})[1]["id"]
    assert stack.result(job)["status"] == "completed"
    tab.open(f"job/{job}")
    tab.page.set_viewport_size({"width": 1200, "height": 400})  # the page is longer
    button = tab.page.get_by_role("button", name="Show it with scripts")
    button.click()
    dialog = tab.page.locator("dialog[open]")
    tab.page.frame_locator("dialog iframe").locator("#i:focus").wait_for()
    tab.page.evaluate("scrollTo(0, 0)")
    tab.page.evaluate("document.querySelector('nav a').focus()")
    assert tab.page.evaluate("document.activeElement.closest('dialog') !== null")
    tab.check_access()
    tab.page.keyboard.type("a" * 40, delay=10)
    assert tab.page.evaluate("scrollY") == 0
    dialog.get_by_role("button", name="Close").click()
    tab.page.locator("iframe").wait_for(state="detached")
    assert button.evaluate("(one) => one === document.activeElement")


def test_a_frame_with_scripts_is_closed_by_keyboard(tab, gateway, stack):
    code = "from IPython.display import HTML\nHTML('<p id=seen>seen</p>')"
    job = gateway.json("POST", "/v1/jobs", {"kind": "code", "cells": [code]})[1]["id"]
    assert stack.result(job)["status"] == "completed"
    tab.open(f"job/{job}")
    for key in ("Enter", "Escape"):  # on the button, which has the focus
        tab.page.get_by_role("button", name="Show it with scripts").press("Enter")
        tab.page.frame_locator("dialog iframe").locator("#seen").wait_for()
        tab.page.keyboard.press(key)
        tab.page.locator("dialog").wait_for(state="detached")


# --- what looks like something else


def test_a_view_that_cannot_be_drawn_leaves_the_page(tab, stack):
    tab.expected = ("it broke",)
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


# --- when less is kept than was made

DRAW = """import matplotlib.pyplot as plt
print("drawn")
plt.plot([1, 3, 2]); plt.show()
open("/mnt/data/kept.csv", "w").write("a,b")
'the value'"""


@pytest.fixture(scope="module")
def drawn(gateway, stack):
    calls = [{"reasoning": "hm", "text": "I draw it.", "tool_calls": [call_of(DRAW)]}]
    calls += [{"tool_calls": [call_of("1/0")]}, {"text": "It is **drawn**."}]
    stack.model.script([{"match": "draw it", "replies": calls}])
    job = gateway.json("POST", "/v1/jobs", {"prompt": "draw it"})[1]["id"]
    assert stack.result(job)["status"] == "completed"
    return job


def forget(stack, *keys):
    assert stack.db.delete(*(f"{ROOT}{key}" for key in keys)) == len(keys)


def kept(tab, name):
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name=name, exact=True).click()
    with open(download.value.path()) as file:
        return file.read()


def test_a_job_shows_what_its_cells_gave_and_raised(tab, drawn):
    tab.open(f"job/{drawn}")
    tab.see("the value", exact=False)
    tab.see("ZeroDivisionError: division by zero", exact=False)


def test_a_job_whose_events_are_gone_is_shown_by_its_result(tab, gateway, stack, drawn):
    body = {"prompt": "draw it", "session": "s", "files": [stack.file("given.txt", b"seven")]}
    job = gateway.json("POST", "/v1/jobs", body)[1]["id"]
    assert stack.result(job)["status"] == "completed"
    forget(stack, f"events:{job}")
    tab.open(f"job/{job}")
    tab.see("Events of this job are not kept any more")
    question = tab.page.locator("article.asked")
    question.get_by_text("draw it", exact=True).wait_for()
    question.get_by_text("given.txt").wait_for()
    assert question.count() == 1
    assert tab.page.get_by_role("link", name="Branch from here").count() == 3  # also from a reply without text
    tab.page.locator("article.turn strong").get_by_text("drawn").wait_for()
    call = tab.page.locator("article.call").first
    assert call.locator(".output").inner_text().strip() == "drawn"
    assert call.locator("pre.code").inner_text() == DRAW
    assert call.locator("img").evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 100
    assert call.get_by_role("link", name="kept.csv").count() == 1
    assert tab.page.locator("article.call .state.failed").inner_text() == "error"
    tab.see("completed", exact=True)
    assert tab.page.get_by_text("The connection is lost").count() == 0
    assert tab.page.get_by_role("button", name="Cancel").count() == 0
    tab.check_access()
    cells = json.loads(kept(tab, "Notebook"))["cells"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "markdown", "code", "code", "markdown"]
    assert "image/png" in cells[2]["outputs"][1]["data"]
    assert kept(tab, "Markdown").startswith("> draw it\n\nI draw it.\n\n```python\nimport matplotlib")
    tab.page.get_by_role("link", name="Branch from here").last.click()
    tab.see("It goes on from a step of this job")


@pytest.mark.parametrize("code", ["5", "null", '{"a": 1}', '["x"]'])
def test_a_call_whose_code_is_no_text_is_shown_by_the_result(tab, stack, code):
    called = {"name": "execute_python_code", "arguments": f'{{"code": {code}}}'}
    calls = [{"id": "a", "type": "function", "function": called}]
    messages = [{"role": "assistant", "content": "", "tool_calls": calls}]
    job = told(stack, messages=[*messages, {"role": "assistant", "content": "It is over."}])
    forget(stack, f"events:{job}")
    tab.open(f"job/{job}")
    tab.see("It is over.")
    tab.see(called["arguments"])


def test_a_picture_that_is_gone_is_told(tab, gateway, stack):
    tab.expected = ("404", "ERR_")
    code = DRAW.replace("[1, 3, 2]", "[7, 1, 7]")
    job = gateway.json("POST", "/v1/jobs", {"kind": "code", "cells": [code]})[1]["id"]
    for image in stack.result(job)["images"]:
        forget(stack, f"blob:{image['blob']}")
    tab.open(f"job/{job}")
    tab.see("It is not kept any more.")
    assert tab.page.locator(".call img").count() == 0
    outputs = json.loads(kept(tab, "Notebook"))["cells"][0]["outputs"]
    assert {"text/plain": "figure-1.png: It is not kept any more."} in [one.get("data") for one in outputs]


def test_a_job_whose_result_is_gone_says_so(tab, gateway, stack):
    job = gateway.json("POST", "/v1/jobs", {"kind": "code", "cells": ["1/0"]})[1]["id"]
    stack.result(job)
    forget(stack, f"events:{job}", f"result:{job}")
    tab.open(f"job/{job}")
    tab.see("The result of this job is not kept any more.")
    tab.see("failed", exact=True)
    tab.page.get_by_role("button", name="Remove").wait_for()
    for name in ("Run again", "Cancel"):
        assert tab.page.get_by_role("button", name=name).count() == 0
    assert tab.page.get_by_text("The connection is lost").count() == 0


def test_a_job_runs_again_where_it_can(tab, gateway, stack):
    tab.expected = ("404", "409")
    stack.model.script([{"match": "no way", "replies": [{"status": 400}]}])
    job = gateway.json("POST", "/v1/jobs", {"prompt": "no way", "session": "again"})[1]["id"]
    cell = gateway.json("POST", "/v1/jobs", {"kind": "code", "cells": ["1/0"], "session": "again"})[1]["id"]
    assert [stack.result(id)["status"] for id in (job, cell)] == ["failed", "failed"]
    forget(stack, f"body:{job}")
    tab.open(f"job/{job}")
    tab.page.get_by_role("button", name="Run again").click()
    tab.see("it is not among the dead jobs, or what was asked is not kept any more")
    tab.open("jobs?session=again")
    tab.see("cell_failed")
    tab.page.get_by_role("button", name="Run all again").click()
    tab.see("Run 1 job again?")


def test_code_that_events_have_cut_is_whole_when_the_job_has_ended(tab, gateway, stack):
    code = f"# {'x' * 40_000}\nprint('it ran')"
    job = gateway.json("POST", "/v1/jobs", {"kind": "code", "cells": [code]})[1]["id"]
    stack.result(job)
    tab.open(f"job/{job}")
    tab.page.locator(".call pre.code").get_by_text("print('it ran')").wait_for()
    assert tab.page.locator(".cut").count() == 0
    begins = ("tool.started", {"call": "1.0", "tool": "python", "code": code[: 32 << 10]})
    tab.open(f"job/{told(stack, begins)}")
    tab.see("This may be only its beginning")


def test_an_address_with_a_sentence_in_it(tab):
    tab.expected = ("400",)
    for place in ("jobs?state=Your%20session%20has%20ended", "queues?Your%20session%20has%20ended=1"):
        tab.open(place)
        alert = tab.page.locator(".fault").first
        alert.get_by_text("The address is not understood: “").wait_for()
        tab.open("ask")
        alert.wait_for(state="detached")


@pytest.mark.parametrize("name", ["Your key has ended", ".", "../me"])
def test_a_question_as_a_job_that_is_none(tab, name):
    tab.open(f"ask?again={name}")
    tab.page.locator(".fault").get_by_text(f"There is no job “{name}”.").wait_for()
    assert tab.page.locator("textarea").count() == 0


@pytest.mark.parametrize("name", ["constructor", "__proto__", "Type your key here"])
def test_a_filter_that_an_address_has_named(tab, name):
    tab.expected = ("400",)
    tab.open(f"jobs?{name}=1")
    tab.page.locator("form label").get_by_text(f"“{name}”", exact=True).wait_for()


# --- facts


def test_the_facts_of_a_job_of_another_tenant(tab, gateway, stack):
    job = stack.submit(prompt="x", queue="nobody", tenant="acme", session="s", metadata={"a": "b"})
    tab.open(f"job/{job}")
    facts = tab.page.locator(".facts")
    facts.get_by_role("link", name="acme").wait_for()
    links = facts.locator("a").evaluate_all("(all) => all.map((one) => one.hash)")
    assert links == ["#/jobs?tenant=acme", "#/jobs?queue=nobody&tenant=acme", "#/jobs?session=s&tenant=acme"]
    tab.page.get_by_role("link", name="Ask it again").click()
    tab.see("That job is of the tenant “acme”, this one will be of “default”", exact=False)
    assert tab.page.get_by_label("Session").input_value() == ""


def test_a_job_that_is_scheduled_says_so(tab, stack):
    job = stack.submit(prompt="x", not_before=int(time.time() * 1000) + 3_600_000)
    tab.open(f"job/{job}")
    tab.page.locator(".facts .state").get_by_text("scheduled", exact=True).wait_for()


def test_tokens_that_nobody_has_counted_are_told(tab, stack):
    usage = {"uncounted_tokens": 4457, "models": [{"name": "m", "uncounted_tokens": 4457}]}
    tab.open(f"job/{told(stack, usage=usage)}")
    tab.see("about 4,457")
    tab.page.get_by_text("Tokens and cost").click()
    row = tab.page.locator(".usage tbody tr").inner_text()
    assert "4,457" in row


def test_times_stay_true_on_a_page_that_stands_still(browser, gateway, stack):
    job = told(stack)
    with Tab(browser, f"http://127.0.0.1:{gateway.port}", timezone_id="Asia/Kathmandu") as tab:
        tab.expected = ("404",)
        tab.open(f"job/{job}")
        tab.see("completed", exact=True)
        facts = tab.page.locator(".facts").inner_text()
        assert facts.count("GMT+5:45") == 2 and "now" not in facts


def test_a_job_that_is_not_there_offers_nothing(tab):
    tab.open("job/01a2207c-0573-7000-b3a0-506bb6c6dd82")
    tab.see("there is no job", exact=False)
    assert tab.page.locator("main button").count() == 0
    tab.open("job/Your%20session%20has%20ended")
    tab.see("There is no job “Your session has ended”.")
    assert tab.page.locator("h1").inner_text() == "Job"


def test_a_job_that_is_removed_elsewhere_is_told(tab, gateway, stack):
    job = told(stack)
    tab.open(f"job/{job}")
    tab.page.get_by_role("button", name="Remove").wait_for()
    remove = "(path) => fetch(path, { method: 'DELETE', headers: { 'X-Quern-Page': '1' } }).then((it) => it.ok)"
    assert tab.page.evaluate(remove, f"/v1/jobs/{job}")
    tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # as when its tab is shown again
    tab.see("there is no job", exact=False)
    tab.page.get_by_role("button", name="Remove").wait_for(state="detached")


def test_a_replay_is_of_the_attempt_that_is_shown(tab, gateway, stack):
    stack.model.script([{"match": "mend", "replies": [{"status": 400}]}])
    job = gateway.json("POST", "/v1/jobs", {"prompt": "mend it"})[1]["id"]
    stack.result(job)
    tab.open(f"job/{job}")
    tab.page.get_by_role("button", name="Replay").click()
    tab.see("Replayed:", exact=False)
    stack.model.script([{"match": "mend", "replies": [{"text": "Mended."}]}])
    tab.page.get_by_role("button", name="Run again").click()
    tab.see("Mended.")
    tab.see("completed", exact=True)
    assert tab.page.get_by_text("Replayed:").count() == 0
    tab.page.reload()
    tab.see("It was run again: events of its earlier attempts are not kept.")
    tab.see("Mended.")
    tab.page.locator("p.bar").get_by_role("link", name="Ask it again").wait_for()
    assert tab.page.get_by_text("Events of this job are not kept").count() == 0
    assert tab.page.locator("article.turn .note").count() > 0  # what the reply took: only events tell


def test_a_job_is_printed_dark_on_light(browser, gateway, drawn):
    with Tab(browser, f"http://127.0.0.1:{gateway.port}", color_scheme="dark") as tab:
        tab.open(f"job/{drawn}")
        tab.page.get_by_label("Colours").select_option("dark")
        tab.page.locator("article.turn strong").wait_for()
        tab.page.emulate_media(media="print")
        colour = tab.page.evaluate("getComputedStyle(document.body).color.match(/[0-9]+/g).map(Number)")
        assert max(colour[:3]) < 90, colour
        assert not tab.page.get_by_role("button", name="Remove").is_visible()


# --- verdicts


@pytest.fixture
def guarded(gateway, stack):
    stack.model.script([{"match": "guard", "replies": [{"tool_calls": [call_of("print(1)")]}, {"text": "Over."}]}])
    body = {"prompt": "guard it", "approve": ["execute_python_code"]}
    return gateway.json("POST", "/v1/jobs", body)[1]["id"]


def test_words_for_a_verdict_stay(tab, gateway, guarded):
    tab.open(f"job/{guarded}")
    tab.page.get_by_role("button", name="Reject", exact=True).click()
    tab.page.get_by_label("Why, for the model").fill("not today")
    tab.page.get_by_role("button", name="Edit", exact=True).click()
    tab.page.get_by_label("What runs in its place").fill("print(2)")
    tab.page.reload()
    tab.page.get_by_role("button", name="Edit", exact=True).click()
    assert tab.page.get_by_label("What runs in its place").input_value() == "print(2)"
    tab.page.get_by_role("button", name="Reject", exact=True).first.click()
    field = tab.page.get_by_label("Why, for the model")
    assert field.input_value() == "not today"
    assert gateway.json("POST", f"/v1/jobs/{guarded}/approve", {"verdict": "skip"})[0] < 300
    tab.see("Somebody else has decided on this call: skip.")
    tab.see("not today", exact=True)
    tab.see("Over.")


def test_the_verdict_that_ends_the_job_stands_apart(tab, gateway, guarded):
    tab.open(f"job/{guarded}")
    tab.see("May this run?")
    names = tab.page.locator(".approval .bar button").all_inner_texts()
    assert names[0] == "Approve" and names[-1] == "End the job"
    tab.page.get_by_role("button", name="Approve").click()
    tab.see("Over.")
    assert tab.page.get_by_text("Somebody else").count() == 0


# --- a question


def fields(tab):
    return {name: tab.page.get_by_label(name, exact=True).input_value() for name in ("Session", "Queue", "Model")}


def test_what_was_typed_and_chosen_is_sent_or_gone(tab, gateway, stack, tmp_path):
    (tmp_path / "given.txt").write_text("seven")
    tab.open("ask?session=mine")
    tab.page.get_by_role("button", name="Python").click()
    tab.page.get_by_label("Files").set_input_files(tmp_path / "given.txt")
    tab.see("given.txt")
    tab.page.get_by_label("Code").fill("print(open('/mnt/data/given.txt').read())")
    tab.page.get_by_role("link", name="Ask", exact=True).click()
    wait_until(lambda: fields(tab)["Session"] == "")
    assert tab.page.get_by_label("Question").input_value() == ""
    assert tab.page.get_by_text("given.txt").count() == 0
    tab.page.go_back()
    tab.see("given.txt")
    assert fields(tab)["Session"] == "mine"
    tab.page.reload()
    tab.see("To be chosen again: given.txt")
    assert tab.page.get_by_label("Code").input_value().startswith("print(open")
    tab.page.get_by_label("Files").set_input_files(tmp_path / "given.txt")
    tab.page.get_by_role("button", name="Run").click()
    tab.see("seven")
    tab.open("ask?session=mine")
    tab.page.locator("form.ask").wait_for()
    assert tab.page.locator("#text").input_value() == ""


def test_it_is_asked_again_as_it_was(tab, gateway, stack):
    stack.model.script([{"match": "again", "replies": [{"text": "So."}]}])
    file = stack.file("given.txt", b"seven")
    body = {
        **{"prompt": "say it again", "session": "talk", "queue": "default", "metadata": {"order": "7"}},
        **{"files": [file], "limits": {"max_turns": 3}},
    }
    first = gateway.json("POST", "/v1/jobs", body)[1]["id"]
    assert stack.result(first)["status"] == "completed"
    tab.open(f"job/{first}")
    tab.see("given.txt", exact=False)
    tab.page.get_by_role("link", name="Ask it again").click()
    wait_until(lambda: fields(tab) == {"Session": "talk", "Queue": "default", "Model": ""})
    assert tab.page.locator("#metadata").input_value() == "order=7"
    tab.see("given.txt", exact=False)
    tab.see("Taken as well: “limits”.", exact=False)
    tab.page.locator(".told summary").get_by_text("limits").click()
    tab.see('"max_turns": 3', exact=False)
    tab.check_access()
    tab.page.get_by_role("button", name="Ask", exact=True).click()
    tab.see("Asked from this job:")
    second = tab.page.url.rpartition("/")[2]
    sent = gateway.json("GET", f"/v1/jobs/{second}/body")[1]
    for name in ("prompt", "session", "metadata", "files", "limits"):
        assert sent[name] == body[name], name
    tab.see("So.")
    tab.page.get_by_role("link", name="Continue its session").click()
    wait_until(lambda: fields(tab)["Session"] == "talk")
    tab.page.go_back()
    tab.page.get_by_role("link", name=first).click()
    tab.page.locator("h1").get_by_text(first).wait_for()


def test_a_branch_says_what_is_not_there_or_copies_the_session(tab, gateway, stack):
    file = stack.file("given.txt", b"given")
    write = "kept = 41; open('/mnt/data/given.txt', 'w').write('changed')"
    read = "print(kept + 1, open('/mnt/data/given.txt').read())"
    replies = [{"tool_calls": [call_of(write)]}, {"text": "It is kept."}]
    stack.model.script(
        [
            {"match": "otherwise", "replies": [{"tool_calls": [call_of(read)]}, {"text": "Otherwise."}]},
            {"match": "keep it", "replies": replies},
        ]
    )
    job = gateway.json("POST", "/v1/jobs", {"prompt": "keep it", "session": "root", "files": [file]})[1]["id"]
    stack.result(job)
    tab.open(f"job/{job}")
    tab.page.get_by_role("link", name="Branch from here").last.click()
    tab.see("Variables and files of the cells before are not there.")
    tab.page.get_by_label("In a copy of the session “root” as it is now").check()
    tab.page.get_by_text("Variables and files of the cells").wait_for(state="detached")
    tab.see("Its files are not taken: the copy has files of its own.")
    assert tab.page.get_by_text("given.txt").count() == 0
    tab.page.get_by_label("Question").fill("otherwise")
    tab.page.keyboard.press("Control+Enter")
    tab.see("Otherwise.")
    assert tab.page.locator(".output").inner_text().strip() == "42 changed"
    sent = gateway.json("GET", f"/v1/jobs/{tab.page.url.rpartition('/')[2]}/body")[1]
    assert sent["session"].startswith("root-") and sent["history"] == "off"
    tab.page.get_by_role("link", name="Ask it again").wait_for()
