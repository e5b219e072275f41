"""A Redis that asks its clients for a certificate, and every program at it.

hiredis has TLS since 1.0. Where this build has an older one (Debian 12), every
program says so, and what to do; tests/debian/tls runs this file on Debian 13.
"""

import atexit
import functools
import json
import os
import shutil
import signal
import subprocess
import tempfile

import pytest
from authority import Authority
from gateway import Gateway, bearer, make_key
from servers import PATIENCE_S, Process, RedisServer, binary, die_with_parent, free_ports
from servers import wait_until
from stack import Stack


@functools.cache
def lonely():
    """quern, without an executor beside it, whose walls doctor would try."""
    folder = tempfile.mkdtemp(prefix="quern-alone-")
    atexit.register(shutil.rmtree, folder)
    return shutil.copy(binary("quern"), folder)


def quern(url, *words, **env):
    """Its exit status, and all that it has printed."""
    done = subprocess.run(
        [lonely(), *words],
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nowhere",
            "REDIS_URL": url,
            **env,
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        preexec_fn=die_with_parent,
    )
    return done.returncode, done.stdout + done.stderr


HAS_TLS = "this build lacks" not in quern("rediss://127.0.0.1:1", "queue", "ls")[1]


def only(where):
    """Elsewhere it is no test: none that is skipped, which counts as a failed one."""
    return lambda test: test if where else None


with_tls = only(HAS_TLS)


@only(not HAS_TLS)
@pytest.mark.parametrize("name", ["quern", "consumer", "gateway", "deliverer"])
def test_a_build_without_tls_says_what_to_do(name):
    program = binary(name if name == "quern" else f"quern-{name}")
    done = subprocess.run(
        [program] + (["queue", "ls"] if name == "quern" else []),
        env={"REDIS_URL": "rediss://redis.example"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        preexec_fn=die_with_parent,
    )
    assert done.returncode not in (0, None)
    said = done.stderr + done.stdout
    assert "hiredis 1.0 or later" in said and "Debian 13" in said and "stunnel" in said


def test_settings_of_tls_without_tls_are_refused():
    """Before there were any; now nobody believes that a line is encrypted."""
    given = {"QUERN_REDIS_TLS_CA": "/nowhere/ca.pem"}
    code, said = quern("unix:///nowhere/redis.sock", "queue", "ls", **given)
    assert code != 0 and "nothing would be encrypted; write rediss:" in said


# -- with TLS


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def of_server(authority):
    return authority.sign("server")


class TlsRedis(RedisServer):
    """Clients show a certificate that the authority has signed."""

    def __init__(self, authority, pair, **settings):
        [port] = free_ports(1)
        super().__init__(
            tls_port=port,
            tls_cert_file=pair.path,
            tls_key_file=pair.key,
            tls_ca_cert_file=authority.path,
            tls_auth_clients="yes",
            **settings,
        )
        self.tls_url = f"rediss://127.0.0.1:{port}"


def settings_of(authority, pair):
    return {
        "redis_tls_ca": authority.path,
        "redis_tls_certificate": pair.path,
        "redis_tls_key": pair.key,
    }


def as_env(settings):
    return {f"QUERN_{name.upper()}": str(value) for name, value in settings.items()}


@pytest.fixture
def redis(authority, of_server):
    with TlsRedis(authority, of_server) as redis:
        yield redis


@with_tls
def test_every_program_shows_its_certificate(authority, of_server, tmp_path):
    files = settings_of(authority, authority.sign("client"))
    redis = TlsRedis(authority, of_server)
    with Stack(executor=False, server=redis) as stack:
        stack.consumer(redis_url=redis.tls_url, **files)
        code, said = quern(redis.tls_url, "run", "hello", "--json", **as_env(files))
        assert code == 0 and "completed" in said
        with Gateway(redis.tls_url, **files) as gateway:
            ask = ("POST", "/v1/jobs", {"prompt": "hello"})
            status, answer = gateway.json(*ask)
            while status == 503:  # it has not connected yet
                status, answer = gateway.json(*ask)
            assert status in (200, 201, 202), answer
            stack.result(answer["id"])
            # Its own threads ask by libquern.
            key = make_key(stack, scopes="operate")
            status, listed = gateway.json("GET", "/v1/queues", **bearer(key))
            assert status == 200, listed
        env = {"REDIS_URL": redis.tls_url, **as_env(files)}
        deliverer = Process([binary("quern-deliverer")], env=env).start()
        try:
            deliverer.wait_for('"ready"')
        finally:
            deliverer.signal(signal.SIGTERM)
            deliverer.wait()
        names = {client["name"] for client in stack.db.client_list()}
        assert any(name.startswith("quern-consumer") for name in names), names


@with_tls
def test_a_cluster_that_speaks_tls_alone(authority, of_server):
    """As a serverless service is: one address, TLS, CLUSTER SLOTS."""
    files = settings_of(authority, authority.sign("client"))
    [bus] = free_ports(1)
    redis = TlsRedis(
        authority,
        of_server,
        cluster_enabled="yes",
        cluster_port=bus,
        tls_cluster="yes",
        tls_replication="yes",
    )
    redis.ask("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    wait_until(lambda: "cluster_state:ok" in redis.ask("CLUSTER", "INFO"))
    url = redis.tls_url.replace("rediss:", "rediss+cluster:")
    with Stack(executor=False, server=redis) as stack:
        stack.consumer(redis_url=url, partitions=4, **files)
        code, said = quern(url, "run", "hello", "--json", **as_env(files))
        assert code == 0 and "completed" in said
        code, said = quern(url, "doctor", "--json", **as_env(files))
        assert not [x for x in map(json.loads, said.splitlines()) if x["level"] == "fault"
                    and x["check"] not in ("executor",)], said


def cut(path, to):
    """Half of a file, as one who is writing it leaves it for a moment."""
    data = path.read_bytes()
    to.write_bytes(data[: len(data) - 40])
    return to


# name, what is set otherwise, what is said
FAULTS = [
    ("no certificate", lambda f: {"redis_tls_certificate": "", "redis_tls_key": ""},
     "redis-tls-certificate"),
    ("no key", lambda f: {"redis_tls_key": ""}, "a certificate without its key"),
    ("no file", lambda f: {"redis_tls_certificate": f / "gone.pem"},
     "gone.pem: it cannot be read: No such file"),
    ("half a certificate",
     lambda f: {"redis_tls_certificate": cut(f / "authority-client.pem", f / "half.pem")},
     "half.pem: "),
    ("half a key", lambda f: {"redis_tls_key": cut(f / "authority-client.key", f / "half.key")},
     "half.key: "),
    ("an empty file", lambda f: {"redis_tls_certificate": (f / "empty.pem").touch() or f / "empty.pem"},
     "empty.pem: it holds no certificate"),
    ("the key of another", lambda f: {"redis_tls_key": f / "authority-server.key"},
     "does not fit the certificate in"),
    ("expired", lambda f: {"redis_tls_certificate": f / "authority-old.pem",
                           "redis_tls_key": f / "authority-old.key"},
     "authority-old.pem: a certificate expired on 2020-01-02"),
    ("not yet", lambda f: {"redis_tls_certificate": f / "authority-new.pem",
                           "redis_tls_key": f / "authority-new.key"},
     "authority-new.pem: a certificate is not valid before 2090-01-01"),
    ("of a stranger", lambda f: {"redis_tls_certificate": f / "stranger-client.pem",
                                 "redis_tls_key": f / "stranger-client.key"},
     ("unknown ca", "does not accept the certificate of this client")),
    ("a stranger is trusted", lambda f: {"redis_tls_ca": f / "stranger.pem"},
     "certificate"),
    ("no authority", lambda f: {"redis_tls_ca": f / "gone.pem"}, "gone.pem: it cannot"),
    ("another name", lambda f: {"redis_tls_server_name": "elsewhere.example"},
     "hostname mismatch"),
]


@pytest.fixture(scope="module")
def folder(authority, of_server):
    authority.sign("client")
    authority.sign("old", "-not_before", "20200101000000Z", "-not_after", "20200102000000Z")
    authority.sign("new", "-not_before", "20900101000000Z", "-not_after", "20900102000000Z")
    Authority(authority.folder, "stranger").sign("client")
    return authority.folder


@with_tls
@pytest.mark.parametrize("name, other, said", FAULTS, ids=[f[0] for f in FAULTS])
def test_what_is_wrong_is_said_of_the_file(redis, folder, authority, name, other, said):
    files = {
        "redis_tls_ca": folder / "authority.pem",
        "redis_tls_certificate": folder / "authority-client.pem",
        "redis_tls_key": folder / "authority-client.key",
    }
    assert quern(redis.tls_url, "queue", "ls", **as_env(files))[0] == 0
    code, text = quern(redis.tls_url, "queue", "ls", **as_env({**files, **other(folder)}))
    words = (said,) if isinstance(said, str) else said
    assert code != 0 and any(word in text for word in words), text


@with_tls
def test_the_name_may_be_another_than_the_host(authority, tmp_path):
    named = authority.sign("named", host="DNS:redis.internal.example")
    files = settings_of(authority, authority.sign("client"))
    with TlsRedis(authority, named) as redis:
        code, said = quern(redis.tls_url, "queue", "ls", **as_env(files))
        assert code != 0 and "IP address mismatch" in said, said
        files["redis_tls_server_name"] = "redis.internal.example"
        assert quern(redis.tls_url, "queue", "ls", **as_env(files))[0] == 0


@with_tls
def test_doctor_tells_when_the_certificate_of_redis_ends(authority):
    files = as_env(settings_of(authority, authority.sign("client")))
    for days, found in [(30, False), (10, True)]:
        pair = authority.sign(f"server-{days}", "-days", days)
        with TlsRedis(authority, pair) as redis:
            said = quern(redis.tls_url, "doctor", "--json", **files)[1]
        assert ("Redis's own: the certificate ends in " in said) == found, said


def drop(stack):
    """Redis closes all connections over TLS."""
    for client in stack.db.client_list():
        if client["addr"].startswith("127.0.0.1"):
            stack.db.client_kill_filter(_id=client["id"])


def replace(path, by):
    """As one does who renews: the new one is there whole, at once."""
    fresh = path.with_suffix(".fresh")
    shutil.copy(by, fresh)
    fresh.rename(path)


@with_tls
def test_a_renewed_certificate_is_used_without_a_restart(authority, of_server, tmp_path):
    first, second = authority.sign("first"), authority.sign("second")
    path, key = tmp_path / "client.pem", tmp_path / "client.key"
    shutil.copy(first.path, path)
    shutil.copy(first.key, key)
    files = {
        "redis_tls_ca": authority.path,
        "redis_tls_certificate": path,
        "redis_tls_key": key,
    }
    redis = TlsRedis(authority, of_server)
    with Stack(executor=False, server=redis) as stack:
        consumer = stack.consumer(redis_url=redis.tls_url, **files)
        # Half of a file: what is connected stays so.
        replace(path, cut(second.path, tmp_path / "half"))
        assert stack.run(prompt="hello")["status"] == "completed"
        assert '"redis.lost"' not in consumer.text()
        # A new connection is not made, and the line names the file.
        drop(stack)
        consumer.wait_for(f"TLS: {path}: ")
        replace(path, second.path)
        consumer.wait_for(f"{key}: the key does not fit the certificate in {path}")
        replace(key, second.key)
        assert stack.run(prompt="hello")["status"] == "completed"
