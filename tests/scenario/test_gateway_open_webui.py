"""Open WebUI with quern-gateway as its model endpoint: its requests, in its order, with
its headers. A browser, which has no key, shows what code has drawn.

Open WebUI asks for the models, then for each message of a user streams a chat, and asks
for a title and follow-ups behind the first one. It forwards who its user is, when an
operator has switched that on. Links in an answer are opened by the user's browser, from
the page of Open WebUI.
"""

import base64
import json
import re

from gateway import bearer, make_key
from servers import wait_until
from stack import call_of
from test_gateway_files import png

GATEWAY = {"open": None, "public_url": "https://ai.example"}

USER = {
    "x_openwebui_user_name": "Ann%20B",
    "x_openwebui_user_id": "4f7c4a2e-6d0b-4b6e-9a55-0f4f7a2d6c11",
    "x_openwebui_user_email": "ann@example.org",
    "x_openwebui_user_role": "user",
}
CHAT = {
    "x_openwebui_chat_id": "b1c0a9d4-3b62-4f0c-8f33-2f4d2f1d3a10",
    "x_openwebui_message_id": "e5a1f3b8-7f7b-47dd-bd0b-5a8d0b6c7f42",
}
CLIENT = {"accept": "*/*", "accept_encoding": "gzip, deflate", "user_agent": "Python/3.11 aiohttp/3.12"}
BROWSER = {
    "accept": "image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5",
    "referer": "https://chat.example/",
    "sec_fetch_dest": "image",
    "sec_fetch_mode": "no-cors",
    "sec_fetch_site": "cross-site",
    "user_agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
}
DRAW = f"""
import base64
from IPython.display import display, Image
display(Image(base64.b64decode({png()!r})))
open('table.csv', 'w').write('a,b')
"""
LINK = r"https://ai\.example/v1/links/[\w-]+"


class OpenWebui:
    """The requests of its server."""

    def __init__(self, gateway, stack):
        self.gateway = gateway
        self.headers = {**CLIENT, **USER, **bearer(make_key(stack, tenant="webui"))}

    def models(self):
        status, answer = self.gateway.json("GET", "/v1/models", **self.headers)
        assert status == 200 and answer["object"] == "list", answer
        return [model["id"] for model in answer["data"]]

    def post(self, body):
        headers = {**self.headers, **CHAT, "content_type": "application/json"}
        return self.gateway.call("POST", "/v1/chat/completions", json.dumps(body), **headers)

    def chat(self, model, messages):
        """The text that a user sees at its end, and the usage."""
        usage = {"include_usage": True}
        body = {"stream": True, "model": model, "messages": messages, "stream_options": usage}
        status, headers, data = self.post(body)
        assert status == 200 and headers["Content-Type"].startswith("text/event-stream"), data
        lines = [line for line in data.decode().split("\n") if line.startswith("data: ")]
        assert lines[-1] == "data: [DONE]"
        chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
        assert not [c for c in chunks if "error" in c], chunks
        deltas = [c["choices"][0]["delta"] for c in chunks if c["choices"]]
        return "".join(d.get("content") or "" for d in deltas), chunks[-1]["usage"]

    def task(self, model, prompt):
        """A title, tags, or questions to go on with: not streamed."""
        messages = [{"role": "user", "content": prompt}]
        body = {"model": model, "messages": messages, "stream": False}
        status, _, data = self.post({**body, "max_completion_tokens": 1000})
        assert status == 200, data
        return json.loads(data)["choices"][0]["message"]["content"]


def see(gateway, url):
    """What the browser of the user gets: (headers, bytes)."""
    status, headers, data = gateway.call("GET", url.removeprefix("https://ai.example"), **BROWSER)
    assert status == 200, data
    return headers, data


def test_a_chat_of_open_webui(gateway, stack):
    webui = OpenWebui(gateway, stack)
    model = wait_until(webui.models)[-1]
    draw = {"tool_calls": [call_of(DRAW)]}
    stack.model.script([draw, {"text": "Here is the chart."}])
    messages = [{"role": "user", "content": "Draw a chart."}]
    shown, usage = webui.chat(model, messages)
    pattern = (
        rf"!\[figure-1\.png\]\(({LINK})\)\n\nHere is the chart\.\n\n\[table\.csv\]\(({LINK})\)"
    )
    assert re.fullmatch(pattern, shown), shown
    assert usage["total_tokens"] > 0
    image, table = re.findall(LINK, shown)
    headers, data = see(gateway, image)
    assert (headers["Content-Type"], data) == ("image/png", base64.b64decode(png()))
    assert headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    headers, data = see(gateway, table)
    assert headers["Content-Disposition"] == "attachment; filename*=UTF-8''table.csv"
    assert data == b"a,b"

    stack.model.script([{"text": '{"title": "A chart"}'}])
    assert webui.task(model, "Write a title as JSON.") == '{"title": "A chart"}'

    # The next message: the history has the text as it was shown.
    stack.model.script([{"text": "Blue."}])
    messages += [
        {"role": "assistant", "content": shown},
        {"role": "user", "content": "Which colour has it?"},
    ]
    assert webui.chat(model, messages)[0] == "Blue."
    said = [m["content"] for m in stack.model.request()["messages"] if m["role"] == "assistant"]
    assert "Here is the chart." in json.dumps(said)


def test_without_a_key_there_is_no_chat(gateway):
    body = {"model": "x", "messages": [{"role": "user", "content": "hi"}]}
    refused = gateway.refusal("POST", "/v1/chat/completions", body, **CLIENT, **USER)
    assert refused[:2] == (401, "no_key")
