"""What the vendors' clients make of recordings of the other dialects.

Runs in an environment of its own, which has the clients and nothing of ours.
Reads {dialect, status, type, stream, body} and writes {message, error, other},
one JSON object a line: the message or the response as the client holds it.
"""

import http.server
import json
import sys
import threading
import warnings

import anthropic
import openai


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one piece: none waits for an acknowledgement

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        recording = self.server.recordings[int(self.headers["X-Recording"])]
        body = recording["body"].encode()
        self.send_response(recording["status"])
        self.send_header("Content-Type", recording["type"])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def ask_anthropic(client, stream, headers):
    request = {
        "model": "m",
        "max_tokens": 99,
        "messages": [{"role": "user", "content": "hi"}],
        "extra_headers": headers,
    }
    if not stream:
        return client.messages.create(**request)
    with client.messages.stream(**request) as events:
        for _ in events:
            pass
        return events.current_message_snapshot


def ask_openai(client, stream, headers):
    request = {"model": "m", "input": "hi", "extra_headers": headers}
    if not stream:
        return client.responses.create(**request)
    with client.responses.stream(**request) as events:
        for _ in events:
            pass
        return events.get_final_response()


def failure(error):
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else body
    told = inner.get("message") if isinstance(inner, dict) else inner
    return {
        "type": type(error).__name__,
        "told": isinstance(error, (openai.APIError, anthropic.APIError)),
        "status": getattr(error, "status_code", None),
        "text": told if isinstance(told, str) else str(error),
    }


def ask(clients, number, recording):
    client, how = clients[recording["dialect"]]
    try:
        seen = how(client, recording["stream"], {"X-Recording": str(number)})
        return {"message": seen.to_dict(mode="json")}
    except Exception as error:
        return {"error": failure(error)}


def main():
    warnings.simplefilter("ignore")
    recordings = [json.loads(line) for line in sys.stdin]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.recordings = True, recordings
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    clients = {
        "anthropic": (
            anthropic.Anthropic(api_key="none", base_url=url, max_retries=0),
            ask_anthropic,
        ),
        "responses": (
            openai.OpenAI(api_key="none", base_url=url + "/v1", max_retries=0),
            ask_openai,
        ),
    }
    for number, recording in enumerate(recordings):
        print(json.dumps(ask(clients, number, recording)), flush=True)
    server.shutdown()


if __name__ == "__main__":
    main()
