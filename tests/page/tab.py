"""A tab that shows the page, and fails when the page does what it should never do: an
error in the console, a request to another origin."""

import json
import os
import subprocess

import npm
from servers import PATIENCE_S

HERE = os.path.dirname(os.path.abspath(__file__))


class Tab:
    def __init__(self, browser, base, **context):
        given = {"viewport": {"width": 1200, "height": 900}, "locale": "en-US", **context}
        self.context = browser.new_context(**given)
        self.context.set_default_timeout(PATIENCE_S * 1000)
        self.base = base
        self.faults = []
        self.expected = ()  # parts of messages of the console that may come
        self.page = self.context.new_page()
        self.page.on("console", self.on_console)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", self.on_request)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.context.close()
        assert kind is not None or self.faults == [], self.faults

    def on_console(self, message):
        known = any(part in message.text for part in self.expected)
        if message.type in ("error", "warning") and not known:
            self.faults.append(message.text)

    def on_request(self, request):
        if not request.url.startswith((self.base, "blob:", "data:")):
            self.faults.append(f"a request to {request.url}")

    def open(self, place=""):
        self.page.goto(f"{self.base}/#/{place}")

    def sign_in(self, key):
        self.expected = ("401",)
        self.open()
        self.page.locator("#key").fill(key)
        self.page.keyboard.press("Enter")
        self.page.locator("nav a").first.wait_for()

    def see(self, text, **given):
        """Waits until it is there, and can be seen."""
        found = self.page.get_by_text(text, **given).filter(visible=True).first
        found.wait_for(state="visible")
        return found

    def check_access(self):
        """What axe finds wrong for those who cannot see or use a mouse."""
        source = npm.program_with(HERE, "axe_source.mjs")
        text = subprocess.run(
            ["node", source], check=True, capture_output=True, text=True
        ).stdout
        self.page.evaluate(text)
        found = self.page.evaluate("axe.run().then((seen) => seen.violations)")
        faults = [
            (one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found
        ]
        assert faults == [], json.dumps(faults, indent=1)
