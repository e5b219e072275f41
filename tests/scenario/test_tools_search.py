"""search_web, called by the code of cells: a real consumer and executor, and a
server here that speaks each provider's form. Tavily's is that of a recorded
exchange; keys are looked at, searches are counted."""

import json
import os
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import pytest
from servers import wait_until
from stack import Stack
from web import Web

TAVILY = {
    "query": "grain",
    "follow_up_questions": None,
    "answer": "Grain is milled.",
    "images": [],
    "results": [
        {
            "title": "Mills",
            "url": "https://mills.example/",
            "content": "All about 磨.",
            "score": 0.99,
            "raw_content": None,
        },
        {
            "title": "Rye",
            "url": "https://rye.example/",
            "content": "x" * 5000,
            "score": 0.9,
            "published_date": "Mon, 02 Mar 2026",
        },
        {"title": "No page", "url": "javascript:x()", "content": ""},
        {"title": "No page", "url": "data:text/html,http://a.example/", "content": ""},
        {"title": "No page", "url": "httpx:run", "content": ""},
        {"title": "No page", "url": "https:relative", "content": ""},
        {"title": None, "url": "HTTPS://third.example/", "content": 7},
    ],
    "response_time": 0.89,
}
BOCHA = {
    "code": 200,
    "log_id": "1",
    "msg": None,
    "data": {
        "webPages": {
            "value": [
                {
                    "name": "磨坊",
                    "url": "https://mo.example/",
                    "snippet": "short",
                    "summary": "long",
                    "datePublished": "2026-01-02T00:00:00Z",
                },
                {"name": "B", "url": "https://b.example/", "snippet": "short"},
            ]
        }
    },
}
BRAVE = {
    "type": "search",
    "query": {"original": "grain"},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "Brave",
                "url": "https://brave.example/",
                "description": "about",
                "page_age": "2026-02-03T00:00:00",
                "age": "1 month ago",
            }
        ],
    },
}
SEARXNG = {
    "query": "grain",
    "number_of_results": 0,
    "answers": [{"answer": "42", "url": "x"}],
    "results": [
        {
            "title": f"S{i}",
            "url": f"https://s{i}.example/",
            "content": "text",
            "publishedDate": None,
        }
        for i in range(30)
    ],
}
DUCK = """<html><body><div id="links">
<div class="result results_links result--ad"><h2 class="result__title">
<a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x">Buy</a></h2>
<a class="result__snippet" href="x">Buy now</a></div>
<div class="result results_links web-result"><h2 class="result__title">
<a rel="nofollow" class="result__a"
 href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fduck.example%2Fa%3Fb%3D1&amp;rut=1"
 >Ducks &amp; <b>grain</b></a></h2><a class="result__snippet" href="y">They
 <b>eat</b> it.</a></div>
<div class="result"><a class="result__a" href="https://plain.example/">Plain</a></div>
</div></body></html>"""
NOTHING = '<div class="no-results">No results found for <b>x</b></div>'

HTML = {"Content-Type": "text/html; charset=UTF-8"}
JSON = {"Content-Type": "application/json"}


class Providers(Web):
    """Each under a path of its own; says[name] is what it answers instead."""

    def __init__(self):
        super().__init__()
        self.says = {}

    def answer(self, asked):
        name = asked.path.split("/")[1]
        if name in self.says:
            return self.says[name]
        return getattr(self, name.replace("slow-", ""))(asked)

    @staticmethod
    def tavily(asked):
        if asked.headers.get("Authorization") != "Bearer t-key":
            said = f"no key {asked.headers.get('Authorization')}"
            return 401, json.dumps({"detail": {"error": said}}).encode(), JSON
        assert asked.method == "POST" and asked.path.endswith("/search")
        assert json.loads(asked.body)["query"]
        return 200, json.dumps(TAVILY).encode(), JSON

    @staticmethod
    def bocha(asked):
        if asked.headers.get("Authorization") != "Bearer b-key":
            return 200, b'{"code": 401, "msg": "Invalid API KEY"}', JSON
        assert json.loads(asked.body)["count"] and "/v1/web-search" in asked.path
        return 200, json.dumps(BOCHA).encode(), JSON

    @staticmethod
    def brave(asked):
        if asked.headers.get("X-Subscription-Token") != "v-key":
            return 422, b'{"error": {"code": "SUBSCRIPTION_TOKEN_INVALID"}}', JSON
        assert "/res/v1/web/search?q=" in asked.path
        return 200, json.dumps(BRAVE).encode(), JSON

    @staticmethod
    def searxng(asked):
        query = urllib.parse.parse_qs(asked.path.partition("?")[2])
        if query.get("format") != ["json"]:
            return 403, b"Forbidden", HTML
        return 200, json.dumps(SEARXNG).encode(), JSON

    @staticmethod
    def duckduckgo(asked):
        assert "/html/?q=" in asked.path
        return 200, DUCK.encode(), HTML

    def count(self, name):
        return sum(asked.path.split("/")[1] == name for asked in self.asked)


KEYS = ["TAVILY_API_KEY", "BOCHA_API_KEY", "BRAVE_API_KEY", "SEARXNG_URL"]


@pytest.fixture
def web():
    with Providers() as web:
        yield web


@pytest.fixture(scope="module")
def stack():
    with Stack(tools_builtin="search_web") as stack:
        yield stack


@pytest.fixture
def consumer(stack, web, monkeypatch):
    """Starts the only one, with these keys."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    for name in ("tavily", "bocha", "brave", "duckduckgo"):
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", f"{web.url}/{name}")

    def start(keys=(), **settings):
        for old in stack.consumers:
            stack.dismiss(old)
        stack.consumers.clear()
        for name, value in dict(keys).items():
            monkeypatch.setenv(name, value)
        return stack.consumer(**settings)

    yield start


def search(stack, query, *more):
    """The object, or the sentence of the error."""
    code = f"""import json
try: print(json.dumps(search_web({query!r}, *{more!r})))
except ToolError as e: print(json.dumps(str(e)))"""
    cell = stack.run(60, kind="code", cells=[code])["cells"][0]
    assert "stdout" in cell, cell
    return json.loads(cell["stdout"])


ALL = {"TAVILY_API_KEY": "t-key", "BOCHA_API_KEY": "b-key", "BRAVE_API_KEY": "v-key"}


def only(name, web):
    """The keys of one provider."""
    if name == "searxng":
        return {"SEARXNG_URL": f"{web.url}/searxng/"}
    variable = f"{name.upper()}_API_KEY"
    return {variable: ALL[variable]} if variable in ALL else {}


# Every row: the provider, its first result, the answer.
FORMS = [
    ("tavily", {"title": "Mills", "url": "https://mills.example/", "text": "All about 磨."}, "Grain is milled."),
    ("bocha", {"title": "磨坊", "url": "https://mo.example/", "text": "long", "published": "2026-01-02T00:00:00Z"}, None),
    ("brave", {"title": "Brave", "url": "https://brave.example/", "text": "about", "published": "2026-02-03T00:00:00"}, None),
    ("searxng", {"title": "S0", "url": "https://s0.example/", "text": "text"}, "42"),
    ("duckduckgo", {"title": "Ducks & grain", "url": "https://duck.example/a?b=1", "text": "They eat it."}, None),
]  # fmt: skip


@pytest.mark.parametrize("name, first, said", FORMS, ids=[f[0] for f in FORMS])
def test_every_provider_gives_one_form(stack, web, consumer, name, first, said):
    consumer(only(name, web))
    found = search(stack, "grain & 麦")
    assert (found["query"], found["provider"]) == ("grain & 麦", name)
    assert found["results"][0] == first
    assert found.get("answer") == said
    assert len(found["results"]) <= 5
    asked = [a for a in web.asked if a.path.split("/")[1] == name]
    assert len(asked) == 1 and len(web.asked) == 1
    if asked[0].method == "GET":
        assert "q=grain%20%26%20%E9%BA%A6" in asked[0].path
    else:
        assert json.loads(asked[0].body)["query"] == "grain & 麦"


def test_what_is_no_text_or_no_page_is_left_out(stack, web, consumer):
    consumer(only("tavily", web))
    _, rye, third = search(stack, "grain")["results"]
    assert len(rye["text"]) == 2000 and rye["published"] == "Mon, 02 Mar 2026"
    assert third == {"title": "", "url": "HTTPS://third.example/", "text": ""}


def test_a_key_that_a_provider_repeats_is_told_to_nobody(stack, web, consumer):
    said = {"title": "for t-key", "url": "https://a.example/?k=t-key", "content": "t-key"}
    body = json.dumps({"answer": "You are t-key.", "results": [said]})
    web.says["tavily"] = (200, body.encode(), JSON)
    consumer(only("tavily", web))
    found = search(stack, "grain")
    assert found["answer"] == "You are *****."
    assert found["results"] == [
        {"title": "for *****", "url": "https://a.example/?k=*****", "text": "*****"}
    ]


# Every row: what it shows, what the provider says, the sentence.
FAILURES = [
    ("too many", (429, b"slow down", {}), "tavily: HTTP 429, too many searches for now"),
    ("a wrong key", (401, b"who is t-key", {}), "tavily: HTTP 401, it does not take the key of TAVILY_API_KEY"),
    ("no credit, with the key told", (432, b"t-key has no plan", {}), "tavily: HTTP 432, ***** has no plan"),
    ("a server that fails", (503, b"closed", {}), "tavily: HTTP 503, closed"),
    ("broken JSON", (200, b'{"results": [', JSON), "tavily: its answer is no JSON"),
    ("another form", (200, b'{"items": []}', JSON), 'tavily: its answer has no list "results"'),
    ("a list", (200, b"[]", JSON), "tavily: its answer is no JSON"),
    ("a redirect", (302, b"", {"Location": "/x"}), "tavily: HTTP 302"),
]  # fmt: skip


def test_who_fails_is_followed_by_the_next(stack, web, consumer):
    web.says["duckduckgo"] = (202, b"anomaly", HTML)
    consumer(only("tavily", web))
    for name, said, sentence in FAILURES:
        web.says["tavily"] = said
        got = search(stack, name)
        assert sentence in got, (name, got)
        assert "duckduckgo: HTTP 202, too many searches for now" in got, (name, got)
        assert "t-key" not in got, name
    del web.says["duckduckgo"]
    assert search(stack, "grain")["provider"] == "duckduckgo"


def test_others_that_fail(stack, web, consumer):
    web.says["searxng"] = (403, b"Forbidden", HTML)
    consumer({"BOCHA_API_KEY": "wrong", **only("searxng", web)}, search="bocha,searxng")
    got = search(stack, "grain")
    assert "bocha: code 401: Invalid API KEY" in got
    assert "searxng: HTTP 403, it needs json among search.formats" in got
    assert web.count("duckduckgo") == 0, "it was not named"


def test_a_page_in_another_layout(stack, web, consumer):
    consumer()
    web.says["duckduckgo"] = (200, b"<p>new layout</p>", HTML)
    assert "duckduckgo: its page has another form" in search(stack, "a")
    web.says["duckduckgo"] = (200, NOTHING.encode(), HTML)
    assert search(stack, "b")["results"] == []


def test_the_same_search_is_made_once(stack, web, consumer):
    consumer(only("tavily", web))
    first = search(stack, "grain")
    assert search(stack, "grain", 5) == first
    assert web.count("tavily") == 1
    search(stack, "grain", 4)
    search(stack, "Grain")
    assert web.count("tavily") == 3


def test_failures_are_not_kept(stack, web, consumer):
    consumer(only("tavily", web), search="tavily")
    web.says["tavily"] = (503, b"", {})
    assert "HTTP 503" in search(stack, "grain")
    del web.says["tavily"]
    assert search(stack, "grain")["results"]


def test_results_are_kept_for_a_while_only(stack, web, consumer):
    consumer(only("tavily", web), search_cache_time=0)
    search(stack, "grain")
    search(stack, "grain")
    assert web.count("tavily") == 2


def test_who_asks_the_same_waits_for_one_request(stack, web, consumer):
    os.environ["TAVILY_BASE_URL"] = f"{web.url}/slow-tavily"
    consumer({"TAVILY_API_KEY": "t-key"}, search="tavily")
    code = """from concurrent.futures import ThreadPoolExecutor as T
with T(8) as t: got = list(t.map(search_web, ['grain'] * 8))
len(got), len(set(map(str, got)))"""
    with ThreadPoolExecutor() as pool:
        jobs = [pool.submit(stack.run, 60, kind="code", cells=[code]) for _ in "ab"]
        wait_until(lambda: web.count("slow-tavily"), what="it is asked")
        web.let_go.set()
        for job in jobs:
            cell = job.result()["cells"][0]
            assert cell.get("result") == "(8, 1)", cell
    assert web.count("slow-tavily") == 1


def test_a_page_is_asked_for_one_at_a_time(stack, web, consumer):
    os.environ["DUCKDUCKGO_BASE_URL"] = f"{web.url}/slow-duckduckgo"
    consumer()
    code = """from concurrent.futures import ThreadPoolExecutor as T
with T(4) as t: got = list(t.map(search_web, 'abcd'))
[g['query'] for g in got]"""
    job = stack.submit(kind="code", cells=[code])
    wait_until(lambda: web.count("slow-duckduckgo"), what="it is asked")
    stack.run(kind="code", cells=["import time; time.sleep(1)"])
    assert web.count("slow-duckduckgo") == 1
    web.let_go.set()
    cell = stack.result(job)["cells"][0]
    assert cell.get("result") == "['a', 'b', 'c', 'd']", cell
    assert web.count("slow-duckduckgo") == 4


def test_a_job_that_is_cancelled_waits_no_more(stack, web, consumer):
    os.environ["TAVILY_BASE_URL"] = f"{web.url}/slow-tavily"
    consumer({"TAVILY_API_KEY": "t-key"}, search="tavily", lease="600ms")
    job = stack.submit(kind="code", cells=["search_web('grain')"])
    wait_until(lambda: web.count("slow-tavily"), what="it is asked")
    stack.call("cancel", job, "no longer wanted")
    assert stack.result(job)["status"] == "cancelled"
    web.let_go.set()
    assert search(stack, "grain")["provider"] == "tavily"


BAD = [
    ("an empty one", ("  ",), "query is empty"),
    ("a long one", ("x" * 1001,), "query has 1001 bytes, may have 1000"),
    ("none", ("a", 0), "max_results is 0, must be 1 to 20"),
    ("too many", ("a", 21), "max_results is 21, must be"),
]


def test_bad_arguments(stack, web, consumer):
    consumer()
    for name, arguments, sentence in BAD:
        assert sentence in search(stack, *arguments), name
    assert web.asked == []


@pytest.mark.parametrize(
    "search_, sentence",
    [
        ("google", 'there is no "google"; there are: tavily'),
        ("tavily", "tavily needs TAVILY_API_KEY"),
        ("searxng", "searxng needs SEARXNG_URL"),
    ],
)
def test_bad_settings(stack, consumer, search_, sentence):
    with pytest.raises((AssertionError, TimeoutError)):
        consumer(search=search_)
    said = stack.consumers.pop().text()
    assert "QUERN_SEARCH: " + sentence in said


def test_it_can_be_switched_off(stack, consumer):
    consumer(search="off")
    code = "'search_web' in globals()"
    assert stack.run(kind="code", cells=[code])["cells"][0]["result"] == "False"
