"""What quern is measured against, and how."""

import json
import os
import subprocess
import sys
import time

from harness import OWN
from servers import die_with_parent


def those_installed(kinds):
    """Those of the kinds of peers that could be installed; names the others."""
    for kind in kinds:
        if kind.is_there():
            yield kind
        else:
            print(f"left out, not installed: {kind.column}", file=sys.stderr)


BULLMQ = os.path.join(OWN, "bullmq.mjs")
SCIENCE = "import numpy, pandas, matplotlib.pyplot"


def bullmq_version():
    """None: it is not installed."""
    path = os.path.join(OWN, "node_modules", "bullmq", "package.json")
    if not os.path.exists(path):
        return None
    with open(path) as file:
        return json.load(file)["version"]


def jupyter_versions():
    import ipykernel
    import jupyter_client

    return {
        "ipykernel": ipykernel.__version__,
        "jupyter_client": jupyter_client.__version__,
    }


def timed(action):
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1e3


class Kernel:
    """A Jupyter kernel, once it is ready."""

    def __init__(self):
        from jupyter_client.manager import KernelManager

        self.manager = KernelManager(kernel_name="python3")
        self.client = None
        try:
            self.manager.start_kernel()
            self.client = self.manager.client()
            self.client.start_channels()
            self.client.wait_for_ready(timeout=60)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.client:
            self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, code):
        reply = self.client.execute_interactive(
            code, store_history=False, output_hook=lambda _: None
        )
        assert reply["content"]["status"] == "ok", reply

    @property
    def pid(self):
        return self.manager.provisioner.process.pid


def kernel_starts(code, count):
    """From nothing to the result of a cell."""
    times = []
    for _ in range(count):
        kernel = None

        def first_cell():
            nonlocal kernel
            kernel = Kernel()
            kernel.run(code)

        try:
            times.append(timed(first_cell))
        finally:
            if kernel:
                kernel.close()
    return times


class Lines:
    """A driver that is asked for N times in ms, a line each way; some take a
    pause in ms before each."""

    def __init__(self, *command, **env):
        self.child = subprocess.Popen(
            [str(part) for part in command],
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,  # SIGINT from a terminal is not for it
            preexec_fn=die_with_parent,
        )
        if self.child.stdout.readline() != "ready\n":
            raise RuntimeError(f"{command[0]} did not start")

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        if failed:
            self.kill()
        else:
            self.close()

    def ask(self, *numbers):
        print(*numbers, file=self.child.stdin)
        self.child.stdin.flush()

    def answer(self):
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.child.args} ended")
        return json.loads(line)

    def run(self, count, *pause_ms):
        self.ask(count, *pause_ms)
        return self.answer()

    def close(self):
        self.child.stdin.close()
        self.child.wait(10)

    def kill(self):
        self.child.kill()
        self.child.wait(10)


_FORK = f"""
import gc, json, os, sys, time
{SCIENCE}
gc.collect(); gc.freeze()
print("ready", flush=True)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
"""

FORKER = f"""{_FORK}
        r, w = os.pipe()
        start = time.perf_counter()
        pid = os.fork()
        if not pid:
            os.write(w, b"%d" % (1 + 1))
            os._exit(0)
        os.read(r, 1)
        times.append((time.perf_counter() - start) * 1e3)
        os.waitpid(pid, 0)
        os.close(r), os.close(w)
    print(json.dumps(times), flush=True)
"""

ENDER = f"""{_FORK}
        start = time.perf_counter()
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps(times), flush=True)
"""

PLOT = "import matplotlib.pyplot as plt; plt.plot([1, 3, 2]); plt.show()"

PLOTTER = """
import io, json, sys, time
import matplotlib; matplotlib.use("Agg")
from matplotlib import pyplot
print("ready", flush=True)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        start = time.perf_counter()
        pyplot.plot([1, 3, 2])
        pyplot.savefig(io.BytesIO(), format="png", bbox_inches="tight")
        pyplot.close("all")
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps(times), flush=True)
"""
