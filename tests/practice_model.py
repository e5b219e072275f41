"""The practice model: a chat-completions endpoint that follows a script.

    with PracticeModel() as model:
        model.script([{"text": "hello"}])
        ... OPENAI_BASE_URL=model.url ...
        assert model.counts()["total"] == 1
"""

import json
import urllib.request

from servers import Process, binary


class PracticeModel:
    """See tests/fake/model/README.md for scripts and counts."""

    def __init__(self, script=None, key=None, port=0):
        args = [binary("quern-practice-model"), "--port", port]
        if key:
            args += ["--key", key]
        self.process = Process(args)
        self.url = None
        self.start()
        if script is not None:
            self.script(script)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        self.process.start()
        self.url = self.process.wait_for("listening on").split()[-1]
        return self

    def stop(self):
        return self.process.stop()

    def kill(self):
        return self.process.kill()

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.url[: -len("/v1")] + path,
            data=None if body is None else json.dumps(body).encode(),
            method=method,
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as response:
            return json.load(response)

    def script(self, replies):
        """Lays replies down; an empty list goes back to the practice rules."""
        self.call("PUT", "/script", replies)

    def counts(self):
        """{total, different, open, peak, requests: {sha256: times}}"""
        return self.call("GET", "/counts")

    def reset(self):
        self.call("DELETE", "/counts")

    def request(self, number=-1):
        """The body of a request by number, from the end when negative."""
        return self.call("GET", f"/requests/{number}")
