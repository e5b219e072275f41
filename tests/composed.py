"""Runs the services of a compose file without Docker: each in a container by crun,
with the user, files, networks and security that the file says.

    with Compose("deploy/compose.yaml") as project:
        project.up()
        print(project.run("quern", "doctor").stdout)

What the file says and this does not know is an error: nothing in the file goes
untried. Images are not asked for: the files of a container are the test machine's,
and programs are those of the build under test.
"""

import atexit
import contextlib
import itertools
import os
import re
import subprocess
import time

import yaml
from container import Image, bind, docker_profile, tmpfs
from servers import BUILD, SERVER, Process, wait_until

UNITS = {"ms": 0.001, "s": 1, "m": 60}
# Only an engine does these.
ENGINE = {"image", "restart", "ports", "profiles", "stop_grace_period", "pids_limit"}
CALLED = {"valkey-server": SERVER, "valkey-cli": "redis-cli"}


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m)", text).groups()
    return int(number) * UNITS[unit]


def fill(value, env):
    """${NAME:-otherwise}, as the file's author means it."""
    if isinstance(value, dict):
        return {key: fill(inner, env) for key, inner in value.items()}
    if isinstance(value, list):
        return [fill(inner, env) for inner in value]
    if isinstance(value, str):
        return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda m: env.get(m[1]) or m[2], value)
    return value


def ip(*words, netns=None):
    where = ["-n", netns] if netns else []
    subprocess.run(["ip", *where, *words], check=True, capture_output=True)


class Networks:
    """A bridge for each network, in a namespace of their own, and a namespace for
    each container. The machine's own network is not touched."""

    def __init__(self, names):
        self.mark = f"quern-{os.getpid()}"
        self.made = []
        self.numbers = {name: number for number, name in enumerate(names)}
        self.hosts = itertools.count(2)
        atexit.register(self.close)
        self.hub = self.add("hub")
        for name, number in self.numbers.items():
            ip("link", "add", f"br{number}", "type", "bridge", netns=self.hub)
            ip("addr", "add", f"10.88.{number}.1/24", "dev", f"br{number}", netns=self.hub)
            ip("link", "set", f"br{number}", "up", netns=self.hub)

    def add(self, name):
        name = f"{self.mark}-{name}"
        ip("netns", "add", name)
        self.made.append(name)
        ip("link", "set", "lo", "up", netns=name)
        return name

    def join(self, name, networks):
        """A namespace in these networks: its path, and its address in each."""
        netns, host = self.add(name), next(self.hosts)
        addresses = {}
        for network in networks:
            number = self.numbers[network]
            outer, inner = f"v{number}-{host}", f"eth{number}"
            pair = ["link", "add", outer, "type", "veth", "peer", "name", inner]
            ip(*pair, "netns", netns, netns=self.hub)
            ip("link", "set", outer, "master", f"br{number}", "up", netns=self.hub)
            addresses[network] = f"10.88.{number}.{host}"
            ip("addr", "add", f"{addresses[network]}/24", "dev", inner, netns=netns)
            ip("link", "set", inner, "up", netns=netns)
        return f"/run/netns/{netns}", addresses

    def close(self):
        while self.made:
            ip("netns", "delete", self.made.pop())


class Service:
    """One container of a service."""

    def __init__(self, project, name, number, said):
        self.project, self.said = project, dict(said)
        self.name = f"{name}-{number}"
        joined = [] if said.get("network_mode") == "none" else said["networks"]
        self.netns, self.addresses = project.networks.join(self.name, joined)
        self.process = None

    def config(self, args):
        """What Image.config() is to be told, by the file alone."""
        said = {k: v for k, v in self.said.items() if k not in ENGINE}
        options = {"seccomp": docker_profile(), "network": self.netns, "mounts": []}
        for option in said.pop("security_opt", []):
            kind, _, value = option.replace(":", "=", 1).partition("=")
            if kind == "seccomp":
                options["seccomp"] = self.project.read(value)
            elif option == "systempaths=unconfined":
                options["masked"] = False
            else:
                assert (kind, value) in [("no-new-privileges", "true"), ("apparmor", "unconfined")]
        if said.pop("cap_drop", None) == ["ALL"]:
            options["caps"] = []
        options["user"] = int(said.pop("user", "0:0").split(":")[0])
        options["readonly"] = said.pop("read_only", False)
        for entry in said.pop("tmpfs", []):
            path, _, flags = entry.partition(":")
            options["mounts"].append(tmpfs(path, *flags.split(",")))
        for entry in said.pop("volumes", []):
            options["mounts"].append(self.project.volume(*entry.split(":")))
        env = {"PATH": f"{BUILD}/bin:/usr/bin:/bin", "ASAN_OPTIONS": "detect_leaks=0"}
        options["env"] = {**env, **said.pop("environment", {})}
        command = [*said.pop("entrypoint", []), *(args or said.pop("command"))]
        for known in ("command", "healthcheck", "depends_on", "deploy", "networks", "network_mode"):
            said.pop(known, None)
        assert not said, f"{self.name}: nobody runs {said}"
        options["mounts"].append(self.project.names_for(self))
        return [CALLED.get(command[0], command[0]), *command[1:]], options

    def words(self, args=None):
        command, options = self.config(args)
        words = self.project.root.words(*command, **options)
        self.id = words[-1]
        return words

    def start(self):
        self.process = Process(self.words()).start()
        return self

    def is_healthy(self):
        """What its own health check says."""
        assert self.process.alive(), self.process.end()
        kind, *command = self.said["healthcheck"]["test"]
        assert kind == "CMD"
        command[0] = CALLED.get(command[0], command[0])
        user = ["--user", self.said.get("user", "0:0")]
        words = [*self.project.root.command("exec"), *user, self.id, *command]
        done = subprocess.run(words, capture_output=True)
        return done.returncode == 0

    def stop(self):
        """Its exit code, as long as the file allows it to take."""
        grace = seconds(self.said.get("stop_grace_period", "10s"))
        self.process.child.terminate()
        return self.process.wait(grace)


class Compose:
    def __init__(self, path, without=(), **env):
        with open(path) as file:
            self.said = fill(yaml.safe_load(file), env)
        self.folder = os.path.dirname(os.path.abspath(path))
        self.without = without
        self.containers = {}
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        self.root = self.stack.enter_context(Image())
        self.networks = Networks(self.said["networks"])
        self.stack.callback(self.networks.close)
        self.stack.callback(self.down)
        return self

    def __exit__(self, failed, *_):
        if failed:
            for one in itertools.chain(*self.containers.values()):
                if one.process:
                    print(f"--- {one.name}\n{one.process.text()[-3000:]}")
        self.stack.close()

    def read(self, path):
        with open(os.path.join(self.folder, path)) as file:
            return yaml.safe_load(file)  # JSON is YAML

    def volume(self, source, to, *flags):
        if source.startswith("."):
            return bind(os.path.join(self.folder, source), to, *flags)
        path = os.path.join(self.root.folder, f"volume-{source}")
        said = self.said["volumes"][source].get("driver_opts", {})
        if not os.path.isdir(path):
            os.mkdir(path)
            os.chmod(path, 0o777)
            for option in said.get("o", "").split(","):
                key, _, value = option.partition("=")
                if key == "uid":
                    os.chown(path, int(value), int(value))
                if key == "mode":
                    os.chmod(path, int(value, 8))
        return bind(path, to, "rw")

    def names_for(self, service):
        """A file of hosts, with those that share a network with it."""
        path = os.path.join(self.root.folder, f"{service.name}.hosts")
        with open(path, "w") as file:
            file.write("127.0.0.1 localhost\n")
            for name, containers in self.containers.items():
                for one in containers:
                    for network, address in one.addresses.items():
                        if network in service.addresses:
                            file.write(f"{address} {name}\n")
        return bind(path, "/etc/hosts")

    def services(self):
        """Those that are started by themselves, each after what it depends on."""
        said = {
            name: one
            for name, one in self.said["services"].items()
            if "profiles" not in one and name not in self.without
        }
        while said:
            ready = [n for n, one in said.items() if not set(one.get("depends_on", [])) & set(said)]
            assert ready, f"these wait for each other: {list(said)}"
            for name in ready:
                yield name, said.pop(name)

    def up(self):
        order = list(self.services())
        for name, said in order:  # all have their addresses before one starts
            count = said.get("deploy", {}).get("replicas", 1)
            self.containers[name] = [Service(self, name, i, said) for i in range(1, count + 1)]
        for name, said in order:
            for needed, how in said.get("depends_on", {}).items():
                assert how == {"condition": "service_healthy"}
                self.wait(needed)
            for one in self.containers[name]:
                one.start()
        for name, said in order:
            if "healthcheck" in said:
                self.wait(name)

    def wait(self, name):
        for one in self.containers[name]:
            wait_until(one.is_healthy, what=f"{one.name} is healthy")

    def run(self, name, *args, env=None):
        """As docker compose run: one more container, to its end."""
        said = dict(self.said["services"][name])
        said["environment"] = {**said["environment"], **(env or {})}
        one = Service(self, name, f"run{time.monotonic_ns()}"[-9:], said)
        return subprocess.run(one.words(list(args)), capture_output=True, text=True, timeout=120)

    def fetch(self, url, *words):
        """curl, from where all networks are reached; names are of services."""
        within = ["ip", "netns", "exec", self.networks.hub]
        for name, containers in self.containers.items():
            for address in containers[0].addresses.values():
                url = url.replace(f"//{name}:", f"//{address}:")
        args = ["curl", "-sS", "--noproxy", "*", "-w", "\n%{http_code}", *words, url]
        done = subprocess.run([*within, *args], capture_output=True, text=True, check=True)
        body, _, status = done.stdout.rpartition("\n")
        return int(status), body

    def down(self):
        for one in itertools.chain(*self.containers.values()):
            if one.process and one.process.alive():
                one.process.stop()
