"""quern-deliverer: a real Redis, a real receiver over HTTPS, which checks the
signatures as Standard Webhooks has them; and what goes wrong on the way."""

import base64
import contextlib
import hashlib
import hmac
import json
import socket
import ssl
import time

import pytest
import servers
from command import Command
from gateway import Gateway
from library import Library, job_id, pack
from tls_peer import Certificate, certificate_of_all
from web import Web

A, B = job_id(1), job_id(2)
ONE, OTHER = "hook_" + "1" * 16, "hook_" + "2" * 16


def new_secret(letter):
    return "whsec_" + base64.b64encode(letter * 32).decode()


FIRST, SECOND = new_secret(b"a"), new_secret(b"b")


class Receiver(Web):
    """Answers statuses in their order, the last one for ever."""

    def __init__(self, *statuses, tls=True, headers=None, body=b""):
        self.statuses, self.headers, self.body = list(statuses), headers or {}, body
        self.times = []
        super().__init__()
        if tls:
            certificate = certificate_of_all()
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate.path, certificate.key)
            self.socket = context.wrap_socket(self.socket, server_side=True)
            self.url = self.url.replace("http:", "https:")

    def answer(self, asked):
        self.times.append(time.monotonic())
        if self.statuses[0] == "wait":
            self.let_go.wait(30)
        status = self.statuses[0] if self.statuses[0] != "wait" else 200
        if len(self.statuses) > 1:
            self.statuses.pop(0)
        return status, self.body, self.headers

    def wait(self, count=1):
        servers.wait_until(lambda: len(self.asked) >= count, what=f"{count} requests")
        return self.asked


def is_signed(asked, secret, tolerance=300):
    """As the receivers' libraries check it."""
    headers = {name.lower(): value for name, value in asked.headers.items()}
    stamp = headers["webhook-timestamp"]
    assert abs(time.time() - int(stamp)) <= tolerance
    content = f"{headers['webhook-id']}.{stamp}.".encode() + asked.body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, content, hashlib.sha256).digest()
    wanted = "v1," + base64.b64encode(mac).decode()
    return wanted in headers["webhook-signature"].split(" ")


def id_of(asked):
    return {name.lower(): value for name, value in asked.headers.items()}["webhook-id"]


def hook(queue, url, id=ONE, secret=FIRST, **given):
    pairs = {"url": url, "secret": secret, **given}
    words = [word for pair in pairs.items() for word in pair]
    queue.call("hook_set", "t", id, *words)


def said_of(queue, id=ONE):
    got = queue.call("hook_list", "t")
    return json.loads(dict(zip(got[::3], got[1::3]))[id.encode()])


def ended(queue, id=A, state="completed"):
    queue.submit(id, tenant="t", notify=1)
    (job,) = queue.take_jobs()
    queue.finish(id, job.epoch, state)


def left(queue):
    """In the order of their way: none is overlooked."""
    ends = queue.client.xlen(f"{queue.root}deliveries")
    return ends + queue.client.zcard(f"{queue.root}deliver")


def wait_settled(queue):
    servers.wait_until(lambda: left(queue) == 0, what="all deliveries to be settled")


class Deliverer(servers.Process):
    def __init__(self, redis_url, more=None, **settings):
        given = {
            "poll": "20ms",
            "hook_private": "on",
            "hook_retries": "50ms,50ms,50ms",
            **settings,
        }
        env = {f"QUERN_{k.upper()}": str(v) for k, v in given.items() if v is not None}
        env["CURL_CA_BUNDLE"] = str(certificate_of_all().path)
        env["REDIS_URL"] = redis_url
        super().__init__([servers.binary("quern-deliverer")], env={**env, **(more or {})})
        self.start()

    def ready(self):
        self.wait_for('"ready"')
        return self

    def drain(self):
        """It must end by itself, and ASan must have nothing to say."""
        self.signal(servers.signal.SIGTERM)
        assert self.child.wait(servers.PATIENCE_S) == 0, self.end()


@pytest.fixture
def deliver(queue_server, queue):
    """Starts one, with these settings; all of them must end well."""
    with contextlib.ExitStack() as stack:

        def start(**settings):
            return stack.enter_context(Deliverer(queue_server.url, **settings))

        yield start


@pytest.mark.parametrize("state", ["completed", "incomplete", "failed", "cancelled"])
def test_an_end_is_delivered_and_signed(queue, deliver, state):
    with Receiver(200) as receiver:
        hook(queue, receiver.url + "/hook?a=1")
        ended(queue, state=state)
        one = deliver()
        (asked,) = receiver.wait()
        wait_settled(queue)
        one.drain()
        assert len(receiver.asked) == 1
    assert (asked.method, asked.path) == ("POST", "/hook?a=1")
    assert asked.headers["content-type"] == "application/json"
    assert is_signed(asked, FIRST) and not is_signed(asked, SECOND)
    body = json.loads(asked.body)
    digits = A.replace("-", "")
    at = int(queue.facts(A)["finished_at"])
    assert body == {
        "id": f"evt_{digits}_{at:x}_{'1' * 16}",
        "object": "event",
        "created_at": at // 1000,
        "type": f"response.{state}",
        "data": {"id": f"resp_{digits}"},
    }
    assert id_of(asked) == body["id"] and "." not in body["id"]
    said = said_of(queue)
    assert (said["last_status"], said["failures"]) == (200, 0)


def test_what_fails_comes_again_under_the_same_id(queue, deliver):
    with Receiver(500, 302, 404, 204, headers={"Location": "/elsewhere"}) as receiver:
        hook(queue, receiver.url)
        ended(queue)
        one = deliver()
        asked = receiver.wait(4)
        wait_settled(queue)
        one.drain()
        assert len(receiver.asked) == 4  # the redirect was not followed
        assert set(receiver.seen) <= {"", "/"}
    assert len({id_of(each) for each in asked}) == 1
    assert all(is_signed(each, FIRST) for each in asked)
    log = one.text()
    assert "it answers 500" in log and "redirects are not followed" in log
    assert said_of(queue)["failures"] == 0


def test_it_gives_up_after_the_last_try(queue, deliver):
    with Receiver(500) as receiver:
        hook(queue, receiver.url)
        ended(queue)
        one = deliver(hook_retries="30ms,30ms")
        receiver.wait(3)
        wait_settled(queue)
        time.sleep(0.3)
        one.drain()
        assert len(receiver.asked) == 3
    said = said_of(queue)
    assert (said["last_status"], said["failures"]) == (500, 3)
    assert "disabled" not in said


def test_who_answers_410_is_told_no_more(queue, deliver):
    with Receiver(410) as receiver:
        hook(queue, receiver.url)
        ended(queue)
        one = deliver()
        receiver.wait()
        wait_settled(queue)
        ended(queue, B)
        wait_settled(queue)
        one.drain()
        assert len(receiver.asked) == 1
    said = said_of(queue)
    assert said["disabled"] and "410" in said["reason"]


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_receiver_says_when(queue, deliver, status):
    with Receiver(status, 200, headers={"Retry-After": "1"}) as receiver:
        hook(queue, receiver.url)
        ended(queue)
        one = deliver()
        receiver.wait(2)
        wait_settled(queue)
        one.drain()
        first, second = receiver.times
    assert second - first >= 1


def test_two_secrets_sign_while_one_is_replaced(queue, deliver):
    with Receiver(200) as receiver:
        hook(queue, receiver.url)
        queue.call("hook_set", "t", ONE, "secret", SECOND, "keep_ms", 60000)
        ended(queue)
        one = deliver()
        (asked,) = receiver.wait()
        wait_settled(queue)
        one.drain()
    assert is_signed(asked, FIRST) and is_signed(asked, SECOND)


def test_a_test_is_sent(queue, deliver):
    with Receiver(200) as receiver:
        hook(queue, receiver.url)
        queue.call("hook_test", "t", ONE, B)
        one = deliver()
        (asked,) = receiver.wait()
        wait_settled(queue)
        one.drain()
    assert json.loads(asked.body)["type"] == "quern.test"
    assert is_signed(asked, FIRST)


def test_a_background_response_is_told_of(queue, deliver, queue_server):
    """The event names what the client can read at the gateway; a response that its
    client waits for is not told of."""
    asked = {"input": "hello", "model": "m"}
    with Receiver(200) as receiver, Gateway(queue_server.url, open="t") as gateway:
        gateway.ready()
        hook(queue, receiver.url)
        status, response = gateway.json("POST", "/v1/responses", {**asked, "background": True})
        assert status == 200
        with contextlib.closing(gateway.connection()) as waits:
            waits.request("POST", "/v1/responses", json.dumps(asked), {"content-type": "application/json"})
            servers.wait_until(lambda: queue.client.xlen(queue.work()) == 2, what="two jobs")
        jobs = queue.take_jobs(count=2)
        for job in jobs:
            queue.finish(job.id, job.epoch, result=pack(v=1, id=job.id, status="completed"))
        one = deliver()
        (told,) = receiver.wait()
        wait_settled(queue)
        one.drain()
        body = json.loads(told.body)
        assert body["data"] == {"id": response["id"]}
        status, now = gateway.json("GET", f"/v1/responses/{response['id']}")
        assert (status, now["status"]) == (200, "completed")
        assert body["type"] == "response.completed"


# ----------------------------------------------------------- where it may connect


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"])
def test_no_request_goes_to_this_network(queue, deliver, host):
    """The address that is connected to is looked at, whatever it is called."""
    with Receiver(200) as receiver:
        hook(queue, receiver.url.replace("127.0.0.1", host))
        ended(queue)
        one = deliver(hook_private="off", hook_retries="30ms")
        wait_settled(queue)
        one.drain()
        assert receiver.asked == []
    assert "not of the public internet" in said_of(queue)["last_why"]


def test_no_request_goes_in_the_clear(queue, deliver):
    with Receiver(200, tls=False) as receiver:
        hook(queue, receiver.url)
        ended(queue)
        one = deliver(hook_retries="30ms")
        wait_settled(queue)
        one.drain()
        assert receiver.asked == []
        assert "does not begin with https" in said_of(queue)["last_why"]
        ended(queue, B)
        one = deliver(hook_plain_http="on")
        receiver.wait()
        wait_settled(queue)
        one.drain()


def test_a_stranger_with_another_certificate_gets_nothing(queue, deliver, tmp_path):
    with Receiver(200) as receiver:
        hook(queue, receiver.url)
        ended(queue)
        other = Certificate(tmp_path, "other")
        more = {"CURL_CA_BUNDLE": str(other.path)}
        one = deliver(hook_retries="30ms", more=more)
        wait_settled(queue)
        one.drain()
        assert receiver.asked == []
    assert "certificate" in said_of(queue)["last_why"].lower()


def test_a_receiver_that_writes_much_or_nothing(queue, deliver):
    """The answer's body is neither read to its end nor shown."""
    with Receiver(200, body=b"secret " * 100000) as much:
        hook(queue, much.url)
        ended(queue)
        one = deliver(hook_timeout="500ms")
        much.wait()
        wait_settled(queue)
        assert len(much.asked) == 1
    with Receiver("wait", 200) as slow:
        hook(queue, slow.url)
        ended(queue, B)
        slow.wait(2)
        wait_settled(queue)
        slow.let_go.set()
        one.drain()
    assert "secret" not in one.text() and "secret" not in json.dumps(said_of(queue))


def test_a_good_status_is_enough(queue, deliver):
    """The rest of the answer is nonsense: what was delivered does not come again."""
    nonsense = {"Transfer-Encoding": "chunked"}
    with Receiver(200, headers=nonsense, body=b"no chunk\r\n") as receiver:
        hook(queue, receiver.url)
        ended(queue)
        one = deliver()
        wait_settled(queue)
        one.drain()
        assert len(receiver.asked) == 1
    said = said_of(queue)
    assert (said["last_status"], said["failures"]) == (200, 0)


def test_a_slow_receiver_keeps_none_from_the_others(queue, deliver):
    with Receiver("wait") as slow, Receiver(200) as quick:
        hook(queue, slow.url)
        hook(queue, quick.url, OTHER)
        for number in range(1, 9):
            ended(queue, job_id(number))
        one = deliver(hook_requests_each=4, hook_requests=8, hook_timeout="20s")
        quick.wait(8)
        assert len(slow.asked) == 4
        slow.let_go.set()
        slow.statuses[:] = [200]
        wait_settled(queue)
        one.drain()
        assert len(slow.asked) == len(quick.asked) == 8


# --------------------------------------------------------------- what may break


def test_a_deliverer_killed_during_a_request_loses_nothing(queue, deliver):
    """Its lease ends, and another makes the delivery again."""
    with Receiver("wait", 200) as receiver:
        hook(queue, receiver.url)
        ended(queue)
        one = deliver(hook_timeout="500ms")
        receiver.wait()
        one.kill()
        other = deliver(hook_timeout="500ms")
        asked = receiver.wait(2)
        wait_settled(queue)
        receiver.let_go.set()
        other.drain()
    assert id_of(asked[0]) == id_of(asked[1])


def test_a_deliverer_killed_after_a_request_loses_nothing(queue, deliver, queue_server):
    """The receiver has it, Redis was not told: it comes once more."""
    with Receiver(200) as receiver:
        hook(queue, receiver.url)
        ended(queue)
        # As one that takes it, and dies before it can say how it went.
        (taken,) = queue.call("deliver_take", 300, 10)
        other = deliver()
        (asked,) = receiver.wait()
        wait_settled(queue)
        other.drain()
    assert json.loads(asked.body)["data"]["id"].endswith(A.replace("-", ""))
    assert taken[0].decode().startswith(A)


def test_a_deliverer_killed_before_redis_hears_loses_nothing(queue, deliver):
    """The receiver has answered; Redis takes no writes until the deliverer is dead."""
    with Receiver(200) as receiver:
        hook(queue, receiver.url)
        ended(queue)
        one = deliver(hook_timeout="500ms")
        answer = receiver.answer

        def stop_writes(asked):
            queue.client.execute_command("CLIENT", "PAUSE", 60000, "WRITE")
            return answer(asked)

        receiver.answer = stop_writes
        receiver.wait()
        one.wait_for('"hook.delivered"')
        one.kill()
        receiver.answer = answer
        queue.client.execute_command("CLIENT", "UNPAUSE")
        other = deliver(hook_timeout="500ms")
        asked = receiver.wait(2)
        wait_settled(queue)
        other.drain()
    assert id_of(asked[0]) == id_of(asked[1])


def test_two_deliverers_do_not_make_one_delivery_twice(queue, deliver):
    with Receiver(200) as receiver:
        hook(queue, receiver.url)
        for number in range(1, 41):
            ended(queue, job_id(number))
        some = [deliver(), deliver()]
        receiver.wait(40)
        wait_settled(queue)
        for one in some:
            one.drain()
        ids = [id_of(asked) for asked in receiver.asked]
    assert len(ids) == len(set(ids)) == 40


def test_redis_goes_away_while_a_request_is_made():
    with servers.RedisServer(aof=True) as server, Receiver("wait", 200) as receiver:
        queue = Library(server.client()).load()
        hook(queue, receiver.url)
        ended(queue)
        with Deliverer(server.url, hook_timeout="20s") as one:
            receiver.wait()
            server.kill()
            receiver.let_go.set()
            time.sleep(0.5)
            server.restart()
            queue = Library(server.client())
            wait_settled(queue)
            assert said_of(queue)["last_status"] == 200
            assert len(receiver.asked) == 1
            one.drain()


def test_every_partition_of_a_cluster_is_told_of(tmp_path):
    """Whatever server a tenant's partition is on, and its secrets beside it."""
    tenants = ("default", "acme", "bolt", "core", "dune", "echo", "fern", "gale")
    with servers.RedisCluster() as cluster, Receiver(200) as receiver:
        cluster.client("quern:fleet").hset("quern:fleet", "partitions", 8)
        quern = Command(cluster.url, tmp_path)
        secrets, jobs = {}, {}
        for tenant in tenants:
            name = ("--tenant", tenant)
            (added,) = quern.json("hook", "add", receiver.url, *name)
            secrets[tenant] = added["secret"]
            jobs[tenant] = quern("submit", "hello", "--notify", *name).split()[0]
            quern("cancel", jobs[tenant])
        with Deliverer(cluster.url) as one:
            receiver.wait(len(tenants))
            one.drain()
        for tenant in tenants:
            digits = jobs[tenant].replace("-", "")
            (asked,) = [each for each in receiver.asked if digits in id_of(each)]
            assert is_signed(asked, secrets[tenant])
            assert json.loads(asked.body)["type"] == "response.cancelled"
            (row,) = quern.json("hook", "ls", "--tenant", tenant)
            assert (row["last_status"], row["failures"]) == (200, 0)
    assert len({job[15:18] for job in jobs.values()}) > 3  # partitions


def test_term_waits_for_the_request(queue, deliver):
    with Receiver("wait") as receiver:
        hook(queue, receiver.url)
        ended(queue)
        one = deliver(hook_timeout="20s")
        receiver.wait()
        one.signal(servers.signal.SIGTERM)
        one.wait_for('"drain"')
        ended(queue, B)  # which is for the next one
        assert one.alive()
        receiver.let_go.set()
        assert one.child.wait(servers.PATIENCE_S) == 0, one.end()
        assert said_of(queue)["last_status"] == 200
        assert left(queue) == 1 and len(receiver.asked) == 1


def test_term_does_not_wait_for_ever(queue, deliver):
    with Receiver("wait") as receiver:
        hook(queue, receiver.url)
        ended(queue)
        one = deliver(hook_timeout="20s", drain="100ms")
        receiver.wait()
        one.drain()
        receiver.let_go.set()
        assert left(queue) == 1


def test_an_idle_one_ends_at_once(deliver):
    one = deliver(poll="1h").ready()
    one.drain()


def test_a_login_that_redis_refuses_ends_it(queue_server):
    """Waiting does not help: systemd says so, and starts it again."""
    url = queue_server.url.replace("unix://", "unix://nobody:wrong@")
    one = Deliverer(url)
    assert one.child.wait(servers.PATIENCE_S) == 69, one.text()
    assert "quern-deliverer: Redis: " in one.text()


def test_redis_may_come_later(tmp_path):
    """As in a start of a whole host."""
    with servers.RedisServer(aof=True) as server, Receiver(200) as receiver:
        queue = Library(server.client()).load()
        hook(queue, receiver.url)
        ended(queue)
        server.kill()
        with Deliverer(server.url) as one:
            one.wait_for('"redis.lost"')
            server.start()
            receiver.wait()
            one.drain()


@pytest.mark.parametrize(
    "setting, value, said",
    [
        ("HOOK_RETRIES", "5x", '5x: must be a time'),
        ("HOOK_RETRIES", ",".join(["1s"] * 17), "must be at most 16 times"),
        ("HOOK_RETRIES", "1d,1d,1d,1d,1d,1d,1d", "must be at most 6d together"),
        ("HOOK_REQUESTS", "0", "must be"),
    ],
)
def test_wrong_settings_are_refused(queue_server, setting, value, said):
    one = servers.Process(
        [servers.binary("quern-deliverer")],
        env={"REDIS_URL": queue_server.url, f"QUERN_{setting}": value},
    ).start()
    assert one.child.wait(servers.PATIENCE_S) == 64
    assert said in one.text()


def test_a_receiver_that_is_not_there(queue, deliver):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        hook(queue, f"https://127.0.0.1:{nobody.getsockname()[1]}/")
        ended(queue)
        one = deliver(hook_retries="30ms")
        wait_settled(queue)
        one.drain()
    said = said_of(queue)
    assert said["last_status"] == 0 and said["last_why"]
