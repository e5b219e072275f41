"""What somebody does by keyboard alone, and where the focus is then: no test here has a
mouse. Each act is proved by what the gateway or the job's result says of it.
"""

import json
import re

import pytest
from gateway import closed_gateway
from servers import wait_until
from stack import ROOT, Stack, call_of
from tab import Tab

GUARDED = {"tool_calls": [call_of("print('as it was')")]}
SCRIPT = [
    {"match": "break", "replies": [{"status": 400}]},
    {"match": "slowly", "replies": [{"text": "word " * 3000, "chunk_ms": 200}]},
    {"match": "sum up", "replies": [{"tool_calls": [call_of("print(1 + 1)")]}, {"text": "Two."}]},
    {"match": "otherwise", "replies": [{"text": "Three."}]},
]


@pytest.fixture(scope="module")
def stack():
    with Stack() as stack:
        stack.consumer()
        yield stack


@pytest.fixture(autouse=True)
def script(stack):
    stack.model.script(SCRIPT)


@pytest.fixture(scope="module")
def closed(stack):
    with closed_gateway(stack) as closed:
        body = {"tenant": "acme", "scopes": "read"}
        assert closed.json("POST", "/v1/keys", body, x_api_key=closed.key)[0] < 300
        yield closed


@pytest.fixture(scope="module")
def summed(gateway, stack):
    stack.model.script(SCRIPT)
    job = submit(gateway, "sum up")
    assert stack.result(job)["answer"] == "Two."
    return job


def submit(gateway, prompt="x", **job):
    status, answer = gateway.json("POST", "/v1/jobs", {"prompt": prompt, **job})
    assert status == 201, answer
    return answer["id"]


def state_of(gateway, job):
    return gateway.json("GET", f"/v1/jobs/{job}")[1].get("state")


# --- the keyboard

HAS_FOCUS = "(one) => one === document.activeElement"
IS_SEEN = """(one) => {
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  return outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
}"""
MOST_TABS = 400


def reach(tab, target, key="Tab"):
    """Tabs until it has the focus, and shows that it has."""
    target.wait_for()
    for _ in range(MOST_TABS):
        if target.evaluate(HAS_FOCUS):
            assert target.evaluate(IS_SEEN), "the focus is not seen"
            return target
        tab.page.keyboard.press(key)
    raise AssertionError(f"no way to {target} by keyboard")


def press(tab, name, key="Enter", within="main", role="button"):
    """Returns the locator of what was pressed."""
    target = tab.page.locator(within).get_by_role(role, name=name, exact=True).first
    reach(tab, target)
    tab.page.keyboard.press(key)
    return target


def fill(tab, label, text):
    field = reach(tab, tab.page.get_by_label(label, exact=True))
    tab.page.keyboard.press("Control+A")
    tab.page.keyboard.type(text)
    return field


def answer(tab, key="Enter"):
    """The question that came has the focus, on its no: who presses Enter twice has done nothing. Its yes is the
    button before."""
    no = tab.page.locator(".question button").last
    no.wait_for()
    assert no.evaluate(HAS_FOCUS)
    if key in ("Enter", "Space"):
        tab.page.keyboard.press("Shift+Tab")
        assert tab.page.locator(".question button").first.evaluate(HAS_FOCUS)
    tab.page.keyboard.press("Enter" if key == "No" else key)


def soon(tab, true):
    """As wait_until(), while the page goes on."""
    return wait_until(lambda: tab.page.wait_for_timeout(20) or true())


def has_focus(tab, target):
    soon(tab, lambda: target.evaluate(HAS_FOCUS))


def has_view_focus(tab):
    has_focus(tab, tab.page.locator("#view"))


def refuse_once(tab, method, path):
    """A request of that kind is not answered."""
    tab.expected = ("ERR_", "Failed to load")

    def on_route(route):
        if route.request.method == method and not refused:
            refused.append(route)
            route.abort()
        else:
            route.continue_()

    refused = []
    tab.page.route(re.compile(f"{re.escape(path)}$"), on_route)


AWAY = "The gateway does not answer."


# --- the frame, and the ways


def test_the_keyboard_is_enough(tab, summed):
    tab.open()
    tab.see("Jobs that ended")
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("Enter")  # skip to the content
    assert tab.page.evaluate("document.activeElement.id") == "view"
    reach(tab, tab.page.get_by_role("link", name=re.compile(r"^\d+ completed$")))
    tab.page.keyboard.press("Enter")
    reach(tab, tab.page.locator(f"a[title='{summed}']"))
    tab.page.keyboard.press("Enter")
    tab.see("Two.")
    has_view_focus(tab)


def test_the_views_by_keyboard(tab):
    tab.open("queues")
    tab.page.get_by_role("heading", name="Queues").wait_for()
    press(tab, "Tenants", within="nav", role="link")
    tab.page.get_by_role("heading", name="Tenants").wait_for()
    has_view_focus(tab)
    reach(tab, tab.page.get_by_role("link", name="Ask", exact=True), "Shift+Tab")
    tab.page.keyboard.press("Enter")
    has_focus(tab, tab.page.get_by_label("Question"))


def test_themes_and_languages_by_keyboard(tab):
    tab.open("ask")
    reach(tab, tab.page.get_by_label("Colours"))
    tab.page.keyboard.press("ArrowDown")
    tab.page.locator("html[data-theme=light]").wait_for()
    reach(tab, tab.page.get_by_label("Language"))
    tab.page.keyboard.press("ArrowDown")
    tab.page.locator("html[lang=zh-CN]").wait_for()


# --- where the focus stays


def test_the_focus_stays_when_rows_before_it_go(tab, gateway):
    first, second = (submit(gateway, queue="nobody") for _ in range(2))
    tab.open("jobs?queue=nobody&state=queued")
    link = reach(tab, tab.page.locator(f"a[title='{first}']"))
    gateway.json("POST", f"/v1/jobs/{second}/cancel", {})
    tab.page.locator(f"a[title='{second}']").wait_for(state="detached")
    assert link.evaluate(HAS_FOCUS)


def test_the_focus_stays_on_a_filter(tab, gateway, stack, summed):
    """What the view shows is new; the control that asked for it is not."""
    waits = submit(gateway, queue="filtered")
    tab.open("jobs")
    done = tab.page.locator(f"a[title='{summed}']")
    row = tab.page.locator(f"a[title='{waits}']")
    done.wait_for()
    queue = fill(tab, "Queue", "filtered")
    tab.page.keyboard.press("Enter")
    done.wait_for(state="detached")
    row.wait_for()
    assert queue.evaluate(HAS_FOCUS)
    reach(tab, tab.page.get_by_label("State", exact=True), "Shift+Tab")
    tab.page.keyboard.press("ArrowDown")  # queued
    tab.page.keyboard.press("ArrowDown")
    find = press(tab, "Find", "Space")
    row.wait_for(state="detached")
    tab.see("No jobs.")
    assert find.evaluate(HAS_FOCUS)
    assert tab.page.url.endswith("#/jobs?queue=filtered&state=in_progress")
    tab.page.go_back()  # each filter is a step of the way back
    row.wait_for()
    assert tab.page.url.endswith("#/jobs?queue=filtered")
    press(tab, "Without filters", role="link")
    done.wait_for()
    has_view_focus(tab)


def test_the_focus_stays_on_the_span_of_time(tab):
    tab.open()
    day = press(tab, "day")
    with tab.page.expect_response(re.compile("span=week$")):
        reach(tab, tab.page.get_by_role("button", name="week"))
        tab.page.keyboard.press("Space")
    week = tab.page.locator("button[aria-pressed=true]", has_text="week")
    week.wait_for()
    assert week.evaluate(HAS_FOCUS)
    assert day.get_attribute("aria-pressed") == "false"


def test_the_focus_stays_on_a_list_that_lost_a_row(tab, gateway):
    for name in ("left", "removed"):
        given = {"spec": "0 7 * * *", "job": {"prompt": "x", "queue": "nobody"}}
        gateway.json("PUT", f"/v1/schedules/{name}", given)
    tab.open("schedules")
    press(tab, "Remove: removed")
    answer(tab)
    tab.page.get_by_role("row").filter(has_text="removed").wait_for(state="detached")
    assert tab.page.get_by_role("region", name="Schedules").evaluate(HAS_FOCUS)
    press(tab, "Remove: left")
    answer(tab)
    tab.see("There are none.")
    assert tab.page.locator("#view").evaluate(HAS_FOCUS)


def test_the_focus_stays_on_a_button_whose_request_failed(tab, gateway, stack):
    refuse_once(tab, "POST", "/v1/jobs")
    tab.open("ask")
    fill(tab, "Question", "otherwise")
    ask = press(tab, "Ask")
    tab.see(AWAY)
    assert ask.evaluate(HAS_FOCUS)
    tab.page.keyboard.press("Enter")
    tab.see("Three.")


def test_a_question_is_sent_once(tab, gateway):
    """However often somebody presses while it is sent."""
    held = []
    tab.page.route("**/v1/jobs", lambda route: held.append(route))
    tab.open("ask")
    fill(tab, "Question", "otherwise")
    tab.page.keyboard.press("Control+Enter")
    tab.page.keyboard.press("Control+Enter")
    ask = press(tab, "Ask")
    soon(tab, lambda: held and ask.get_attribute("aria-disabled") == "true")
    assert ask.evaluate(HAS_FOCUS)
    held[0].continue_()
    tab.see("Three.")
    assert len(held) == 1


def test_the_focus_stays_on_replay(tab, summed):
    tab.open(f"job/{summed}")
    replay = press(tab, "Replay")
    tab.see("Replayed: equal", exact=False)
    assert replay.evaluate(HAS_FOCUS)


# --- one job


def test_a_job_is_cancelled_by_keyboard(tab, gateway):
    job = submit(gateway, queue="nobody")
    tab.open(f"job/{job}")
    press(tab, "Cancel")
    tab.see("cancelled", exact=True)
    assert state_of(gateway, job) == "cancelled"
    has_view_focus(tab)


def test_a_job_runs_again_and_is_removed_by_keyboard(tab, gateway, stack):
    tab.expected = ("404",)  # its facts were asked for once more, and it was gone
    job = submit(gateway, "break it")
    assert stack.result(job)["status"] == "failed"
    stack.model.script([{"match": "break", "replies": [{"text": "Mended."}]}])
    tab.open(f"job/{job}")
    press(tab, "Run again")
    tab.see("Mended.")
    button = press(tab, "Remove")
    answer(tab, "Escape")
    tab.page.locator(".question").wait_for(state="detached")
    assert button.evaluate(HAS_FOCUS)
    tab.page.keyboard.press("Enter")
    answer(tab, "No")
    tab.page.locator(".question").wait_for(state="detached")
    assert button.evaluate(HAS_FOCUS)
    assert state_of(gateway, job) == "completed"
    tab.page.keyboard.press("Enter")
    answer(tab, "Space")
    tab.page.get_by_role("heading", name="Jobs", exact=True).wait_for()
    has_view_focus(tab)
    assert gateway.refusal("GET", f"/v1/jobs/{job}")[0] == 404


def kept(tab, name):
    with tab.page.expect_download() as download:
        press(tab, name)
    with open(download.value.path()) as file:
        return file.read()


def test_a_job_is_kept_as_files_by_keyboard(tab, summed):
    tab.open(f"job/{summed}")
    tab.see("Two.")
    cells = json.loads(kept(tab, "Notebook"))["cells"]
    assert [cell["source"] for cell in cells] == ["sum up", "print(1 + 1)", "Two."]
    assert kept(tab, "Markdown").endswith("Two.\n")
    assert json.loads(kept(tab, "JSON"))["job"]["prompt"] == "sum up"
    reach(tab, tab.page.locator(".events summary"))
    tab.page.keyboard.press("Enter")
    tab.see('"type":"job.completed"')


# --- a call that waits for a verdict


def guarded(gateway, stack):
    """The job, when it waits for a verdict on its call."""
    replies = [GUARDED, {"text": "Over."}]
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])
    job = submit(gateway, "guard it", approve=["execute_python_code"])
    wait_until(lambda: stack.facts(job).get("reason") == "approval")
    return job


@pytest.mark.parametrize(
    "button, field, words, told",
    [
        ("Approve", None, None, "as it was"),
        ("Edit", "What runs in its place", "print('as I want it')", "as I want it"),
        ("Reject", "Why, for the model", "not on Sundays", "not on Sundays"),
        ("Reject", "Why, for the model", "", "does not allow this call"),
        ("Skip", None, None, "has skipped this call"),
        ("Tell the model", "What the model is told", "which one?", "The user says: which one?"),
    ],
    ids="approve edit reject reject-wordless skip ask".split(),
)
def test_a_verdict_by_keyboard(tab, gateway, stack, button, field, words, told):
    job = guarded(gateway, stack)
    tab.open(f"job/{job}")
    press(tab, button)
    if field:
        has_focus(tab, tab.page.get_by_label(field))
        tab.page.keyboard.press("Control+A")
        tab.page.keyboard.type(words)
        press(tab, button, "Space", within=".approval form")
    tab.see("Over.")
    has_view_focus(tab)
    result = stack.result(job)
    assert result["status"] == "completed" and result["answer"] == "Over."
    [said] = [one["content"] for one in result["messages"] if one["role"] == "tool"]
    assert told in said
    assert ("as it was\n" in said) == (button == "Approve"), "the call was made"


def test_another_reply_by_keyboard(tab, gateway, stack):
    job = guarded(gateway, stack)
    tab.open(f"job/{job}")
    press(tab, "Try another reply")
    tab.see("Over.")
    has_view_focus(tab)
    result = stack.result(job)
    assert result["status"] == "completed" and result["answer"] == "Over."
    assert result["usage"]["model_calls"] == 2
    history = stack.model.request()["messages"]
    assert "thrown your last reply away" in history[-1]["content"]
    assert all(one["role"] in ("system", "user") for one in history)


def test_the_end_of_a_job_by_keyboard(tab, gateway, stack):
    job = guarded(gateway, stack)
    tab.open(f"job/{job}")
    press(tab, "End the job")
    tab.see("cancelled", exact=True)
    has_view_focus(tab)
    result = stack.result(job)
    assert result["status"] == "cancelled" and result["error"]["code"] == "aborted"


# --- many jobs


def test_all_jobs_that_are_found_by_keyboard(tab, gateway, stack):
    waiting = [submit(gateway, queue="many") for _ in range(3)]
    tab.open("jobs?queue=many")
    tab.page.locator(f"a[title='{waiting[0]}']").wait_for()
    button = press(tab, "Cancel all")
    tab.see("Cancel 3 jobs?")
    answer(tab, "Escape")
    tab.page.locator(".question").wait_for(state="detached")
    assert button.evaluate(HAS_FOCUS)
    assert {state_of(gateway, one) for one in waiting} == {"queued"}
    tab.page.keyboard.press("Enter")
    answer(tab)
    tab.see("Done: 3 of 3.")
    assert {state_of(gateway, one) for one in waiting} == {"cancelled"}
    press(tab, "Remove all", "Space")
    answer(tab)
    tab.see("No jobs.")
    assert all(gateway.refusal("GET", f"/v1/jobs/{one}")[0] == 404 for one in waiting)


def test_all_jobs_that_failed_by_keyboard(tab, gateway, stack):
    failed = [submit(gateway, "break it", session="broken") for _ in range(2)]
    for one in failed:
        assert stack.result(one)["status"] == "failed"
    stack.model.script([{"match": "break", "replies": [{"text": "Mended."}]}])
    tab.open("jobs?session=broken")
    button = press(tab, "Run all again")
    answer(tab)
    tab.see("Done: 2 of 2.")
    assert button.evaluate(HAS_FOCUS)
    for one in failed:
        wait_until(lambda: stack.state(one) == "completed")


def test_more_jobs_and_a_list_that_stands_still_by_keyboard(tab, stack):
    for _ in range(250):
        stack.submit(prompt="x", queue="nobody", tenant="busy")
    tab.open("jobs?tenant=busy")
    more = tab.page.get_by_role("button", name="More")
    more.wait_for()
    press(tab, "Pause")
    tab.see("The list stands still.")
    assert tab.page.locator("button[aria-pressed=true]").evaluate(HAS_FOCUS)
    rows = tab.page.locator("tbody tr")
    while more.count() > 0:
        shown = rows.count()
        press(tab, "More")
        soon(tab, lambda: rows.count() > shown)
        assert more.count() == 0 or more.evaluate(HAS_FOCUS)
    assert rows.count() == 250
    assert tab.page.locator("#view").evaluate(HAS_FOCUS)
    press(tab, "Go on", "Space")
    tab.see("Live.")
    assert tab.page.locator("button[aria-pressed=false]").evaluate(HAS_FOCUS)


# --- to ask


def test_a_question_with_a_file_by_keyboard(tab, gateway, stack, tmp_path):
    (tmp_path / "given.txt").write_text("seven")
    tab.open("ask")
    press(tab, "Python", "Space")
    fill(tab, "Code", "print(open('/mnt/data/given.txt').read() * 2)")
    with tab.page.expect_file_chooser() as chooser:
        reach(tab, tab.page.get_by_label("Files", exact=True))
        tab.page.keyboard.press("Enter")
    chooser.value.set_files(tmp_path / "given.txt")
    tab.see("given.txt", exact=True)
    press(tab, "Run")
    tab.see("sevenseven")


def test_a_branch_by_keyboard(tab, gateway, stack, summed):
    tab.open(f"job/{summed}")
    tab.see("Two.")
    reach(tab, tab.page.get_by_role("link", name="Branch from here").last)
    tab.page.keyboard.press("Enter")
    tab.see("It goes on from a step of this job")
    fill(tab, "Question", "otherwise")
    press(tab, "Ask")
    tab.see("Three.")
    said = [one.get("content") for one in stack.model.request()["messages"]]
    assert said[-1] == "otherwise" and "Two." in said and "sum up" in said


def test_a_branch_that_is_asked_before_its_conversation_came(tab, gateway, stack, summed):
    held, path = [], f"**/v1/jobs/{summed}"
    tab.page.route(path, lambda route: held.append(route))
    tab.open(f"ask?from={summed}&back=0")
    fill(tab, "Question", "otherwise")
    tab.page.keyboard.press("Control+Enter")
    soon(tab, lambda: len(held) == 2)
    tab.expected = ("ERR_", "Failed to load")
    held[1].abort()
    tab.see(AWAY)  # and nothing was asked
    held[0].continue_()
    tab.see("It goes on from a step of this job")
    tab.page.keyboard.press("Control+Enter")
    tab.see("Three.")
    said = [one.get("content") for one in stack.model.request()["messages"]]
    assert said[-1] == "otherwise" and "Two." in said


def test_what_somebody_types_stays_when_the_old_question_comes(tab, summed):
    held = []
    tab.page.route("**/body", lambda route: held.append(route))
    tab.open(f"ask?again={summed}")
    text = tab.page.locator("#text")
    text.focus()
    tab.page.keyboard.type("another")
    soon(tab, lambda: held)
    with tab.page.expect_response("**/body"):
        held[0].continue_()
    tab.page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 100)))")
    assert text.input_value() == "another"


def test_a_job_is_asked_again_by_keyboard(tab, gateway, stack, summed):
    tab.open(f"job/{summed}")
    press(tab, "Ask it again", role="link")
    question = tab.page.get_by_label("Question")
    soon(tab, lambda: question.input_value() == "sum up")
    press(tab, "Ask", "Space")
    tab.see("Two.")
    again = tab.page.url.rpartition("/")[2]
    assert again != summed
    assert gateway.json("GET", f"/v1/jobs/{again}/body")[1]["prompt"] == "sum up"


# --- what operators look after


def test_a_queue_by_keyboard(tab, gateway):
    waiting = [submit(gateway, queue="full") for _ in range(2)]

    def one():
        return gateway.json("GET", "/v1/queues/full")[1]

    tab.open("queues")
    press(tab, "Pause: full")
    soon(tab, lambda: one()["paused"])
    press(tab, "Resume: full", "Space")
    soon(tab, lambda: not one()["paused"])
    button = press(tab, "Cancel what waits: full")
    tab.see("Cancel the 2 jobs of full that wait?")
    answer(tab, "Escape")
    tab.page.locator(".question").wait_for(state="detached")
    assert button.evaluate(HAS_FOCUS) and one()["waiting"] == 2
    tab.page.keyboard.press("Enter")
    answer(tab)
    tab.see("2 jobs are cancelled.")
    assert one()["waiting"] == 0
    assert {state_of(gateway, job) for job in waiting} == {"cancelled"}


def test_a_session_by_keyboard(tab, gateway, stack):
    cells = {"kind": "code", "cells": ["x = 'kept'"], "session": "mine"}
    status, made = gateway.json("POST", "/v1/jobs", cells)
    assert status == 201 and stack.result(made["id"])["status"] == "completed"
    tab.open("sessions")
    row = tab.page.get_by_role("row").filter(has_text="mine")
    reach(tab, row.get_by_role("link", name="Continue"))
    tab.page.keyboard.press("Enter")
    press(tab, "Python")
    fill(tab, "Code", "print(x * 2)")
    press(tab, "Run")
    tab.see("keptkept")
    tab.open("sessions")
    press(tab, "Close: mine")
    answer(tab)
    row.wait_for(state="detached")
    assert tab.page.evaluate("document.activeElement !== document.body")


def test_a_schedule_by_keyboard(tab, gateway):
    path = "/v1/schedules/mornings"
    gateway.json("PUT", path, {"spec": "0 7 * * *", "job": {"prompt": "x", "queue": "nobody"}})

    def one():
        all = gateway.json("GET", "/v1/schedules")[1]["schedules"]
        return next((each for each in all if each["schedule"] == "mornings"), None)

    tab.open("schedules")
    press(tab, "Pause: mornings")
    soon(tab, lambda: one().get("paused"))
    press(tab, "Resume: mornings", "Space")
    soon(tab, lambda: not one().get("paused"))
    press(tab, "Run now: mornings")
    soon(tab, lambda: one().get("last_id"))
    press(tab, "Remove: mornings")
    answer(tab)
    tab.page.get_by_role("row").filter(has_text="mornings").wait_for(state="detached")
    assert one() is None


def test_a_worker_by_keyboard(tab, gateway, stack):
    """It has a job that runs on, so it stays."""
    job = submit(gateway, "slowly")
    wait_until(lambda: state_of(gateway, job) == "in_progress")

    def drains():
        return any(one["draining"] for one in gateway.json("GET", "/v1/workers")[1]["workers"])

    tab.open("workers")
    button = reach(tab, tab.page.locator("td.actions button"))
    tab.page.keyboard.press("Enter")
    answer(tab)
    soon(tab, drains)
    button.get_by_text("Keep").wait_for()
    reach(tab, button)
    tab.page.keyboard.press("Space")
    soon(tab, lambda: not drains())
    gateway.json("POST", f"/v1/jobs/{job}/cancel", {})
    stack.result(job)


def test_jobs_that_failed_by_keyboard(tab, gateway, stack):
    id = submit(gateway, "break it")
    stack.result(id)
    ended = stack.facts(id)["finished_at"]
    tab.open("dead")
    press(tab, f"Run again: {id}")
    wait_until(lambda: stack.facts(id).get("finished_at", ended) != ended)
    tab.page.reload()  # the list may have been asked for while the job was none of it
    press(tab, f"Remove: {id}")
    answer(tab)
    tab.page.get_by_role("link", name=id).wait_for(state="detached")
    assert stack.db.zscore(f"{ROOT}dead:default", id) is None


def test_a_key_by_keyboard(browser, closed):
    with Tab(browser, f"http://127.0.0.1:{closed.port}") as tab:
        tab.expected = ("401",)
        tab.open()
        fill(tab, "Key", "qk_wrong")
        sign_in = press(tab, "Sign in")
        tab.see("The gateway knows no such key", exact=False)
        assert sign_in.evaluate(HAS_FOCUS)
        fill(tab, "Key", closed.key)
        tab.page.keyboard.press("Enter")
        reach(tab, tab.page.get_by_role("link", name="Keys", exact=True))
        tab.page.keyboard.press("Enter")
        fill(tab, "Tenant", "bob")
        tab.page.keyboard.press("Enter")
        made = tab.page.locator(".told code").inner_text()
        row = tab.page.get_by_role("row").filter(has_text="bob")
        reach(tab, row.get_by_role("button", name="Replace"))
        tab.page.keyboard.press("Enter")
        answer(tab)
        tab.page.locator(".told code").get_by_text(made).wait_for(state="detached")
        second = tab.page.locator(".told code").inner_text()
        assert closed.json("GET", "/v1/me", x_api_key=second)[1]["tenant"] == "bob"
        while row.count() > 0:  # the one that was replaced, too
            gone = row.first.get_by_role("button", name="Remove")
            name = gone.get_attribute("aria-label")
            press(tab, name)
            answer(tab)
            tab.page.get_by_role("button", name=name).wait_for(state="detached")
            assert tab.page.get_by_role("region", name="Keys").evaluate(HAS_FOCUS)
        assert closed.json("GET", "/v1/me", x_api_key=second)[0] == 401
        press(tab, "Sign out", within="header")
        tab.page.locator("#key").wait_for()
