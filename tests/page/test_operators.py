"""What operators look for, and do to many jobs: numbers and the jobs behind them, what holds jobs back,
acts that go on, filters and places that stay as somebody left them."""

import re
import time

import pytest
from fleet import id_at
from servers import wait_until
from stack import ROOT, Stack
from tab import Tab

SCRIPT = [{"match": "break", "replies": [{"status": 400}]}, {"text": "said"}]
DEAD = 60
QUEUE = "broken"


@pytest.fixture(scope="module")
def stack():
    with Stack(executor=False) as stack:
        stack.model.script(SCRIPT)
        stack.consumer()
        now = int(time.time() * 1000)
        for number in range(DEAD):  # as KEYS.md has them
            ended = now - 60_000 - number
            facts = {"state": "failed", "queue": QUEUE, "tenant": "acme", "attempts": 1, "error_code": "deadline"}
            times = {"submitted_at": ended - 10, "started_at": ended - 5, "finished_at": ended}
            id = id_at(ended - 10, number)
            stack.db.hset(f"{ROOT}job:{id}", mapping={**facts, **times})
            stack.db.zadd(f"{ROOT}dead:{QUEUE}", {id: ended})
        stack.db.sadd(f"{ROOT}queues", QUEUE)
        yield stack


def soon(tab, true):
    """As wait_until(), while the page goes on."""
    return wait_until(lambda: tab.page.wait_for_timeout(20) or true())


def short(id):
    return f"{id[:13]}…{id[-6:]}"


def submit(gateway, **job):
    status, made = gateway.json("POST", "/v1/jobs", {"prompt": "x", **job})
    assert status == 201, made
    return made["id"]


def refuse(tab, path, message):
    """Requests whose path matches are refused so; {}: the path's id."""
    tab.expected = ("409",)

    def on_route(route):
        id = re.search(r"[0-9a-f-]{36}", route.request.url)[0]
        route.fulfill(status=409, json={"error": {"message": message.format(id)}})

    tab.page.route(re.compile(path), on_route)


# --- forms

def test_a_queue_that_was_chosen_stays_chosen(tab, gateway):
    submit(gateway, queue="nightly")
    tab.open("queues")
    tab.page.get_by_role("link", name="nightly").wait_for()
    chosen = tab.page.get_by_label("Queue", exact=True)
    assert chosen.input_value() == "", "no queue is chosen before somebody chooses"
    chosen.select_option("nightly")
    submit(gateway, queue="aaa-new")  # it stands before all others
    tab.page.get_by_role("link", name="aaa-new").wait_for()
    assert chosen.input_value() == "nightly"
    assert chosen.locator("option").nth(1).inner_text() == "aaa-new"


def test_a_limit_is_a_whole_number(tab, gateway):
    submit(gateway, queue="nightly")
    tab.open("queues")
    tab.page.get_by_label("Queue", exact=True).select_option("nightly")
    tab.page.get_by_label("At most", exact=False).fill("2.5")
    tab.page.get_by_role("button", name="Set the limit").click()
    tab.see("Jobs at once: must be a whole number")
    assert gateway.json("GET", "/v1/queues/nightly")[1]["limits"] == {}


def test_the_filters_are_those_of_the_address(tab, gateway):
    job = submit(gateway, queue="nightly")
    tab.open("jobs?queue=nightly&state=queued")
    state = tab.page.get_by_label("State", exact=True)
    tab.see(short(job))
    state.select_option("failed")
    tab.page.get_by_role("button", name="Find").click()
    tab.see("No jobs.")
    tab.page.get_by_label("Session", exact=True).fill("typed, and not sent")
    state.select_option("cancelled")
    tab.page.go_back()
    tab.see(short(job))
    assert state.input_value() == "queued"
    assert tab.page.get_by_label("Session", exact=True).input_value() == ""


def test_a_filter_without_a_field_is_seen(tab, gateway):
    later = submit(gateway, queue="nightly", not_before=int(time.time() * 1000) + 3_600_000)
    tab.open("jobs?place=later")
    tab.see(short(later))
    tab.page.get_by_label("State", exact=True).select_option("completed")
    tab.page.get_by_role("button", name="Find").click()
    tab.see("No jobs.")
    place = tab.page.get_by_label("“place”", exact=True)
    assert place.input_value() == "later"
    place.fill("")
    tab.page.get_by_label("State", exact=True).select_option("scheduled or waiting")
    tab.page.get_by_role("button", name="Find").click()
    tab.see(short(later))
    assert "place" not in tab.page.url


def test_a_time_of_the_address_stays_exact(tab):
    tab.open("jobs?since=1700000012345&until=1700000099999")
    tab.page.get_by_label("Queue", exact=True).fill("nightly")
    tab.page.get_by_role("button", name="Find").click()
    tab.page.wait_for_url("**queue=nightly**")
    assert "since=1700000012345" in tab.page.url and "until=1700000099999" in tab.page.url


@pytest.mark.parametrize("width", [360, 1280])
def test_a_field_of_a_time_has_room_for_it(browser, gateway, width):
    """Also where a time ends in AM or PM."""
    size = {"width": width, "height": 740}
    with Tab(browser, f"http://127.0.0.1:{gateway.port}", viewport=size) as tab:
        tab.open("jobs?since=1700000000000")
        if width < 640:
            tab.page.get_by_role("button", name="Filters").click()
        field = tab.page.get_by_label("Since", exact=True)
        field.wait_for()
        seen = field.evaluate(
            """(field) => {
              const wide = field.cloneNode();
              wide.style.cssText = "width: max-content; max-width: none";  // as wide as it would be alone
              document.body.append(wide);
              const widths = [field.getBoundingClientRect().width, wide.getBoundingClientRect().width];
              wide.remove();
              return widths;
            }"""
        )
        assert seen[0] >= seen[1] - 1, seen


def test_the_last_hour_is_a_press_away(tab, gateway):
    job = submit(gateway, queue="nightly")
    tab.open("jobs?queue=nightly&until=1700000000000")
    tab.see("No jobs.")
    tab.page.get_by_role("button", name="Last hour").click()
    tab.see(short(job))
    since = int(re.search("since=([0-9]+)", tab.page.url)[1])
    assert abs(time.time() * 1000 - 3_600_000 - since) < 600_000 and "until" not in tab.page.url


def test_what_is_typed_stays_with_a_time_and_until_it_is_sent(tab, gateway):
    job = submit(gateway, queue="typed")
    submit(gateway, queue="another")
    queue = tab.page.get_by_label("Queue", exact=True)
    tab.open("jobs")
    tab.see(short(job))
    queue.fill("typed")
    tab.page.locator("tbody a.id").first.click()
    tab.see("Why it is where it is")
    tab.page.go_back()
    tab.see(short(job))
    assert queue.input_value() == "typed", "the draft is there again"
    tab.page.get_by_role("button", name="Last hour").click()
    tab.page.wait_for_url("**queue=typed**")
    tab.page.locator("tbody tr").nth(1).wait_for(state="detached")
    assert "since=" in tab.page.url
    tab.page.get_by_role("link", name="Without filters").click()
    tab.page.locator("tbody tr").nth(1).wait_for()
    assert queue.input_value() == "", "what was sent is no draft"


def test_what_finds_nothing_says_how_to_write_it(tab, gateway):
    job = submit(gateway, queue="listed")
    tab.open("jobs?metadata=A-1042")
    tab.see("Metadata is found as key=value, as in order=A-1042.")
    tab.page.get_by_label("Metadata", exact=False).fill("")
    tab.page.get_by_label("Id, or a part of it").fill(short(job))  # as a list shows it
    tab.page.get_by_role("button", name="Find").click()
    tab.see(short(job))
    assert tab.page.locator("tbody tr").count() == 1


def test_there_is_no_such_view(tab):
    tab.open("nonsense")
    tab.see("There is no view “nonsense”.")
    tab.page.get_by_role("link", name="Queues").click()
    tab.page.get_by_text("There is no view").wait_for(state="detached")


def test_a_list_that_cannot_be_asked_for_is_not_live(tab, gateway):
    job = submit(gateway, queue="listed")
    tab.open("jobs?queue=listed")
    tab.see("Live.", exact=True)
    tab.expected = ("ERR_", "Failed to load")
    tab.page.route("**/v1/jobs?**", lambda route: route.abort())
    tab.see("The gateway does not answer.")
    tab.see("Not live.")
    tab.page.locator(".bar").get_by_role("button", name="Remove all").click()
    told = tab.page.locator(".told").get_by_text("The gateway does not answer.")
    told.wait_for()
    tab.page.unroute("**/v1/jobs?**")
    tab.see("Live.", exact=True)
    tab.page.locator(".told").get_by_role("button", name="Hide").click()
    told.wait_for(state="detached")
    tab.see(short(job))


def test_a_list_on_paper_is_whole(tab, gateway):
    """740 px are a page of A4."""
    submit(gateway, queue="listed", session="a session with a name of many words")
    tab.open("jobs?queue=listed")
    tab.page.locator("tbody tr").first.wait_for()
    tab.page.set_viewport_size({"width": 740, "height": 1000})
    tab.page.emulate_media(media="print")
    scroll = tab.page.locator(".scroll")
    wide, style = scroll.evaluate("(one) => [one.scrollWidth - innerWidth, getComputedStyle(one).backgroundImage]")
    assert wide <= 0 and style == "none", (wide, style)
    assert not tab.page.locator("form.filters").is_visible()


# --- numbers, and the jobs behind them


def test_the_overview_leads_to_the_jobs_of_all_tenants(tab, stack):
    job = stack.submit(prompt="break", tenant="somebody")
    assert stack.result(job)["status"] == "failed"
    for place in (
        lambda: tab.page.get_by_role("link", name=re.compile(r"^\d+ failed$")),
        lambda: tab.page.locator(".chart a").last,
        lambda: tab.page.locator("tbody").get_by_role("link", name="default", exact=True),
    ):
        tab.open()
        tab.see("Jobs that ended")
        place().click()
        tab.see(short(job))
        tab.page.locator("tbody tr").filter(has_text="somebody").first.wait_for()


def test_who_finds_nothing_may_look_in_all_tenants(tab, stack):
    job = stack.submit(prompt="x", tenant="somebody", queue="theirs")
    tab.open("jobs?queue=theirs")
    tab.see("These would be of the tenant default.")
    tab.page.get_by_role("link", name="Look in all tenants").click()
    tab.see(short(job))


def test_tenants_have_a_sum_and_a_time(tab, stack):
    for tenant in ("ann", "bob"):
        stack.submit(prompt="x", tenant=tenant, queue="counted")
    tab.open("tenants?queue=counted")
    tab.page.locator("tbody tr").nth(1).wait_for()
    heads = tab.page.locator("thead th").all_text_contents()
    sums = tab.page.locator("tfoot tr").locator("th, td").all_text_contents()
    assert sums[heads.index("Queued")] == "2"
    assert sums[heads.index("Spent in")] == "today, in UTC"
    costs = tab.page.locator("tbody tr").first.locator("th, td").all_text_contents()
    assert costs[heads.index("Cost")] == sums[heads.index("Cost")] == "–", "nothing is priced"


def test_a_list_says_what_it_does_not_have(tab, gateway, stack):
    """The index of ended jobs is bounded (KEYS.md)."""
    stack.result(stack.submit(prompt="x", session="bounded"))
    oldest = int(time.time() * 1000) - 3 * 86_400_000
    line = "\t".join([id_at(oldest, 1), "f", "q", "t", "", "w", "deadline", str(oldest), "9", "9", "1", "0", "0"])
    stack.db.set(f"{ROOT}ended:before", f"{line}\n")
    answer = gateway.json("GET", "/v1/jobs?session=bounded")[1]
    assert answer["ended_since"] == oldest and len(answer["jobs"]) == 1, answer
    tab.open("jobs?session=bounded")
    goes_back = re.compile("The list goes back to .*: jobs that ended before are not listed.")
    tab.see(goes_back)
    tab.page.locator(".bar").get_by_role("button", name="Remove all").click()
    tab.page.locator(".question").get_by_text(goes_back).wait_for()
    tab.open(f"jobs?session=bounded&since={oldest}")
    soon(tab, lambda: tab.page.get_by_text(goes_back).count() == 0)
    tab.page.locator("tbody tr").wait_for()
    stack.db.delete(f"{ROOT}ended:before")


# --- what holds jobs back


def test_the_overview_says_what_holds_jobs_back(tab, gateway, stack):
    tab.open()
    tab.page.locator(".tile", has_text="Workers").get_by_text("1", exact=True).wait_for()
    waits = [submit(gateway, queue="unserved") for _ in range(2)]
    submit(gateway, queue="stopped")
    gateway.json("PATCH", "/v1/queues/stopped", {"paused": True})
    tab.see("2 jobs wait in unserved: no worker serves it.")
    tab.see(re.compile("1 job waits in stopped, which is paused, the oldest for .*s."))
    tab.check_access()
    tab.open("queues")
    row = tab.page.get_by_role("row").filter(has_text="unserved")
    row.get_by_text("no worker serves it").wait_for()
    [worker] = gateway.json("GET", "/v1/workers")[1]["workers"]
    name = worker["worker"].replace("/", "%2F")
    gateway.json("POST", f"/v1/workers/{name}/drain", {"drain": True})
    tab.open()
    tab.see("No worker is there: no job starts.")  # it had no job, so it has left
    tab.open("workers")
    tab.see("has left")
    tab.page.get_by_role("button", name="Let it come back").click()
    tab.see("There are none.")
    stack.consumer()
    tab.open()
    tab.see("2 jobs wait in unserved: no worker serves it.")
    tab.page.get_by_text("No worker is there").wait_for(state="detached")
    for id in waits:
        gateway.json("POST", f"/v1/jobs/{id}/cancel", {})
    tab.page.get_by_text("in unserved").wait_for(state="detached")


# --- jobs that failed for good


def test_the_dead_are_shown_in_part_and_it_says_so(tab):
    tab.open(f"dead?queue={QUEUE}")
    tab.see(f"50 of {DEAD}")
    tab.page.get_by_role("button", name="More").click()
    tab.see(f"{DEAD} of {DEAD}")
    assert tab.page.locator("tbody tr").count() == DEAD
    assert tab.page.get_by_role("button", name="More").count() == 0
    row = tab.page.locator("tbody tr").first
    assert row.get_by_role("link", name="acme").get_attribute("href") == "#/jobs?tenant=acme&state=failed"
    assert "error_code=deadline" in row.get_by_role("link", name="deadline").get_attribute("href")


def test_what_runs_again_is_told(tab, gateway, stack):
    tab.open("dead?queue=no-such-queue")
    tab.see("There are none.")
    assert tab.page.get_by_text("0 of 0").count() == 0
    assert tab.page.get_by_role("button", name="Run all again").count() == 0
    job = stack.submit(prompt="break")
    assert stack.result(job)["status"] == "failed"
    tab.open("dead?queue=default")
    tab.page.get_by_role("row").filter(has_text=job).get_by_role("button", name="Run again").click()
    tab.see("It is queued again:", exact=False)
    tab.page.locator(".told").get_by_role("link", name=job).wait_for()
    tab.page.locator(".said").get_by_role("button", name="Hide").click()
    tab.page.locator(".told").wait_for(state="detached")


def test_a_refusal_is_in_sight(tab):
    tab.open(f"dead?queue={QUEUE}")
    refuse(tab, "/requeue$", "job {} has a fault")
    tab.page.locator("tbody tr").nth(49).get_by_role("button", name="Run again").click()
    told = tab.see("has a fault", exact=False)
    box = told.bounding_box()
    assert tab.page.evaluate("scrollY") > 300
    assert 0 <= box["y"] and box["y"] + box["height"] <= 900, box
    tab.page.locator(".said").get_by_role("button", name="Hide").click()
    told.wait_for(state="detached")


def test_why_many_were_refused(tab):
    tab.open(f"dead?queue={QUEUE}")
    refuse(tab, "/requeue$", "job {} has a fault")
    tab.page.locator(".bar").get_by_role("button", name="Run all again").click()
    tab.see(f"Run {DEAD} jobs again?")
    tab.page.locator(".question").get_by_role("button", name="Run all again").click()
    tab.see(f"Done: 0 of {DEAD}.")
    told = tab.page.locator(".acts .fault")
    assert told.locator("li").all_text_contents() == [f"{DEAD} × job … has a fault"]
    tab.check_access()
    tab.page.get_by_role("button", name="Hide").click()
    told.wait_for(state="detached")


def test_all_that_failed_are_removed_when_their_number_is_typed(tab, gateway):
    tab.open("dead")
    asked = []
    total = gateway.json("GET", "/v1/dead")[1]["total"]
    tab.page.route("**/v1/dead/*", lambda route: asked.append(route) or route.fulfill(json={}))
    tab.page.locator(".bar").get_by_role("button", name="Remove all").click()
    field = tab.page.get_by_label(f"Type {total} to do it:")
    field.wait_for()
    tab.check_access()
    field.fill("1")
    tab.page.keyboard.press("Enter")
    assert field.evaluate("(field) => !field.validity.valid") and asked == []
    field.fill(str(total))
    tab.page.keyboard.press("Enter")
    tab.see(f"Done: {total} of {total}.")
    assert len(asked) == total


# --- acts on many jobs


class Held:
    """Requests to cancel, which wait."""

    def __init__(self, tab):
        self.tab, self.routes, self.is_open = tab, [], False
        tab.page.route("**/cancel", self.hold)

    def hold(self, route):
        if self.is_open:
            route.continue_()
        else:
            self.routes.append(route)

    def let_go(self):
        self.is_open = True
        for route in self.routes:
            route.continue_()


def cancel_all(tab, gateway, queue, count=20):
    ids = [submit(gateway, queue=queue) for _ in range(count)]
    held = Held(tab)
    tab.open(f"jobs?queue={queue}")
    tab.see(short(ids[0]))
    tab.page.locator(".bar").get_by_role("button", name="Cancel all").click()
    tab.page.locator(".question").get_by_role("button", name="Cancel all").click()
    soon(tab, lambda: len(held.routes) == 6)
    tab.page.get_by_role("link", name="Sessions").click()
    tab.page.get_by_role("heading", name="Sessions").wait_for()
    tab.see(f"Cancel all: 0 of {count}")
    return ids, held


def test_an_act_goes_on_when_its_view_is_left(tab, gateway):
    ids, held = cancel_all(tab, gateway, "left")
    tab.check_access()
    held.let_go()
    tab.see("Done: 20 of 20.")
    assert {gateway.json("GET", f"/v1/jobs/{id}")[1]["state"] for id in ids} == {"cancelled"}


def test_an_act_is_stopped(tab, gateway):
    ids, held = cancel_all(tab, gateway, "halted")
    tab.page.get_by_role("button", name="Stop").click()
    held.let_go()
    tab.see("Stopped at 6 of 20.")
    tab.see("Done: 6 of 20.", exact=False)
    assert gateway.json("GET", "/v1/queues/halted")[1]["waiting"] == 14


def test_an_act_waits_for_the_gateway(tab, gateway):
    ids = [submit(gateway, queue="patient") for _ in range(20)]
    tab.open("jobs?queue=patient")
    tab.see(short(ids[0]))
    tab.expected = ("ERR_", "Failed to load")
    tab.page.route("**/cancel", lambda route: route.abort())
    tab.page.locator(".bar").get_by_role("button", name="Cancel all").click()
    tab.page.locator(".question").get_by_role("button", name="Cancel all").click()
    tab.see("Cancel all: 0 of 20")
    tab.see("The gateway does not answer: the act waits for it.")
    tab.page.unroute("**/cancel")
    tab.see("Done: 20 of 20.")
    assert {gateway.json("GET", f"/v1/jobs/{id}")[1]["state"] for id in ids} == {"cancelled"}


def test_a_filter_that_finds_many_is_confirmed_as_all_are(tab, gateway):
    for _ in range(101):
        submit(gateway, queue="crowd")
    tab.open("jobs?queue=crowd&since=1")
    tab.page.locator("tbody tr").first.wait_for()
    tab.page.locator(".bar").get_by_role("button", name="Cancel all").click()
    tab.page.get_by_label("Type 101 to do it:").wait_for()


def test_a_name_that_no_address_has(tab, gateway):
    """Browsers take "." out of an address, also as %2E. No queue of a gateway has such a name."""
    submit(gateway, queue="listed")
    answer = gateway.json("GET", "/v1/queues")[1]
    answer["queues"][0]["queue"] = ".."
    tab.page.route("**/v1/queues", lambda route: route.fulfill(json=answer))
    tab.open("queues")
    asked = []
    tab.page.on("request", lambda request: asked.append(request.method))
    tab.page.get_by_role("button", name="Pause: ..", exact=True).click()
    tab.see("A browser cannot ask for the name “..”: use the command quern.")
    assert "POST" not in asked


# --- places that somebody comes back to


def test_a_view_comes_when_the_gateway_is_there_again(tab):
    tab.open("ask")
    tab.page.get_by_label("Question").wait_for()
    tab.expected = ("ERR_", "Failed to load")
    tab.page.route("**/page/lists.js", lambda route: route.abort(), times=1)
    tab.page.get_by_role("link", name="Queues").click()
    tab.see("The gateway does not answer.")
    assert tab.page.locator("nav [aria-current]").inner_text() == "Queues"
    tab.page.get_by_role("heading", name="Queues").wait_for()
    tab.page.get_by_text("The gateway does not answer.").wait_for(state="detached")


def test_a_list_is_where_it_was_left(browser, gateway, stack):
    for _ in range(150):
        stack.submit(prompt="x", queue="long")
    small = {"width": 1200, "height": 400}
    with Tab(browser, f"http://127.0.0.1:{gateway.port}", viewport=small) as tab:
        tab.open("jobs?queue=long")
        rows = tab.page.locator("tbody tr")
        rows.nth(99).wait_for()
        tab.page.get_by_role("button", name="More").click()
        rows.nth(149).wait_for()
        rows.nth(140).get_by_role("link").first.scroll_into_view_if_needed()
        top = tab.page.evaluate("scrollY")
        assert top > 1000
        tab.page.locator("tbody a.id").nth(140).click()
        tab.see("Why it is where it is")
        soon(tab, lambda: tab.page.evaluate("scrollY") == 0)
        assert tab.page.locator("nav").evaluate("(nav) => nav.getBoundingClientRect().top >= 0")
        tab.page.go_back()
        rows.nth(149).wait_for()
        soon(tab, lambda: abs(tab.page.evaluate("scrollY") - top) < 50)


def test_pages_stay_when_the_list_goes_on(tab, gateway, stack):
    for _ in range(150):
        stack.submit(prompt="x", queue="pages")
    tab.open("jobs?queue=pages")
    rows = tab.page.locator("tbody tr")
    rows.nth(99).wait_for()
    tab.page.get_by_role("button", name="More").click()
    rows.nth(149).wait_for()
    stack.submit(prompt="x", queue="pages")
    tab.page.get_by_role("button", name="Go on").click()
    rows.nth(150).wait_for()


# --- on a phone


def test_a_phone_shows_jobs_before_filters(browser, gateway):
    job = submit(gateway, queue="nightly")
    phone = {"viewport": {"width": 390, "height": 844}}
    with Tab(browser, f"http://127.0.0.1:{gateway.port}", **phone) as tab:
        tab.open("jobs?queue=nightly")
        row = tab.see(short(job))
        assert row.bounding_box()["y"] < 500
        assert row.bounding_box()["height"] >= 24
        assert tab.page.get_by_label("Queue", exact=True).count() == 0
        tab.page.get_by_role("button", name="Filters").click()
        assert tab.page.get_by_label("Queue", exact=True).input_value() == "nightly"
