"""deploy/prometheus, deploy/grafana and deploy/RUNBOOK.md: alerts fire when they should,
and ask only for numbers that the programs give."""

import json
import pathlib
import re
import subprocess

import pytest
import yaml
from debian import unpacked
from gateway import Gateway
from scraped import metrics_port, scrape_text
from servers import binary, wait_until
from stack import Stack

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "rules.yml"
RULES_TEST = DEPLOY / "prometheus" / "rules_test.yml"
BOARD = json.loads((DEPLOY / "grafana" / "quern.json").read_text())
ALERTS = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]

# Of consumers, and of executors by them: (type, labels).
OF_CONSUMERS = {
    "quern_build_info": ("gauge", "version role"),
    "quern_jobs_started_total": ("counter", "queue"),
    "quern_jobs_finished_total": ("counter", "queue outcome reason"),
    "quern_job_wait_seconds": ("histogram", "queue"),
    "quern_job_duration_seconds": ("histogram", "queue outcome"),
    "quern_jobs_handed_back_total": ("counter", "reason"),
    "quern_slots": ("gauge", "state"),
    "quern_leases_lost_total": ("counter", ""),
    "quern_writes_fenced_total": ("counter", "function"),
    "quern_jobs_reclaimed_total": ("counter", "reason"),
    "quern_last_take_timestamp_seconds": ("gauge", ""),
    "quern_loop_lag_seconds": ("histogram", ""),
    "quern_redis_call_seconds": ("histogram", "class"),
    "quern_redis_errors_total": ("counter", "class"),
    "quern_model_requests_total": ("counter", "endpoint outcome"),
    "quern_model_request_seconds": ("histogram", "endpoint"),
    "quern_model_first_token_seconds": ("histogram", "endpoint"),
    "quern_model_tokens_total": ("counter", "endpoint kind"),
    "quern_model_cost_total": ("counter", "endpoint"),
    "quern_model_paid_twice_total": ("counter", "endpoint"),
    "quern_model_recovered_total": ("counter", "endpoint"),
    "quern_model_breaker_open": ("gauge", "endpoint"),
    "quern_tool_calls_total": ("counter", "tool outcome"),
    "quern_tool_seconds": ("histogram", "tool"),
    "quern_log_lines_total": ("counter", "level"),
    "quern_spans_total": ("counter", "outcome"),
    "quern_sessions": ("gauge", "state"),
    "quern_session_start_seconds": ("histogram", "source"),
    "quern_cells_total": ("counter", "outcome"),
    "quern_cell_seconds": ("histogram", ""),
    "quern_rollbacks_total": ("counter", "reason"),
    "quern_wall_up": ("gauge", "wall"),
}
# Of gateways; `quern metrics` prints those from quern_queue_jobs on.
OF_GATEWAYS = {
    "quern_build_info": ("gauge", "version role"),
    "quern_http_requests_total": ("counter", "route status"),
    "quern_http_request_seconds": ("histogram", "route"),
    "quern_http_streams": ("gauge", ""),
    "quern_http_connections": ("gauge", ""),
    "quern_queue_jobs": ("gauge", "queue state"),
    "quern_queue_wanted_slots": ("gauge", "queue"),
    "quern_queue_oldest_ready_seconds": ("gauge", "queue"),
    "quern_queue_paused": ("gauge", "queue"),
    "quern_queue_tenants_waiting": ("gauge", "queue"),
    "quern_workers": ("gauge", "state"),
    "quern_worker_slots": ("gauge", "state"),
    "quern_collect_errors_total": ("counter", ""),
}
KNOWN = {**OF_CONSUMERS, **OF_GATEWAYS}
OF_PROMETHEUS = {"instance", "job"}


def promtool(*words):
    program = unpacked("prometheus") / "usr/bin/promtool"
    done = subprocess.run([program, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def queries_of_the_board():
    """(title, query) of each, with values for the board's variables."""
    for panel in BOARD["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"].replace("$__rate_interval", "5m").replace("$queue", ".*")
            yield panel["title"], query


ASKED = [(rule["alert"], rule["expr"]) for rule in ALERTS] + list(queries_of_the_board())


def test_there_are_not_too_many_families():
    """An operator has to read them all."""
    assert len(KNOWN) <= 45


def test_the_runbook_names_what_exists():
    named = set(re.findall(r"`(quern_\w+)", (DEPLOY / "RUNBOOK.md").read_text()))
    assert len(named) >= 5 and named <= set(KNOWN)


# ------------------------------------------------------------------ the alerts


def test_promtool_takes_rules_and_sample():
    promtool("check", "rules", RULES)
    promtool("check", "config", DEPLOY / "prometheus" / "prometheus.yml")


def test_alerts_fire_and_do_not_fire():
    promtool("test", "rules", RULES_TEST)
    fires, rests = set(), set()
    for test in yaml.safe_load(RULES_TEST.read_text())["tests"]:
        for expected in test["alert_rule_test"]:
            (fires if expected.get("exp_alerts") else rests).add(expected["alertname"])
    names = {rule["alert"] for rule in ALERTS}
    assert fires == names and rests >= names


@pytest.mark.parametrize("rule", ALERTS, ids=[rule["alert"] for rule in ALERTS])
def test_the_tests_of_an_alert_can_fail(rule, tmp_path):
    """One that always fires, and one that never does."""
    for expr in ("vector(1)", "vector(1) > 1"):
        groups = yaml.safe_load(RULES.read_text())
        for group in groups["groups"]:
            for each in group["rules"]:
                if each["alert"] == rule["alert"]:
                    each["expr"] = expr
        (tmp_path / "rules.yml").write_text(yaml.safe_dump(groups))
        (tmp_path / "rules_test.yml").write_text(RULES_TEST.read_text())
        with pytest.raises(AssertionError, match="FAILED"):
            promtool("test", "rules", tmp_path / "rules_test.yml")


def test_each_alert_has_a_paragraph_of_the_runbook():
    heads = re.findall(r"^## (\w+)$", (DEPLOY / "RUNBOOK.md").read_text(), re.M)
    assert heads == [rule["alert"] for rule in ALERTS]
    for rule in ALERTS:
        assert rule["labels"]["severity"] in ("page", "warn"), rule
        assert rule["annotations"]["summary"].endswith("."), rule
        assert rule["annotations"]["runbook"] == f"deploy/RUNBOOK.md#{rule['alert'].lower()}"


# ------------------------------------------------------------------- the names


def families_asked(query):
    """{family: labels that its selector names}, and whether they exist."""
    asked = {}
    for name, selector in re.findall(r"\b(quern_\w+)(?:\{([^}]*)\})?", query):
        family = re.sub("_bucket$", "", name)
        assert family in KNOWN, f"nobody gives {family}: {query}"
        assert (name != family) == (KNOWN[family][0] == "histogram"), query
        asked.setdefault(family, set()).update(re.findall(r"(\w+)\s*!?=", selector))
    return asked


@pytest.mark.parametrize("title, query", ASKED, ids=[title for title, _ in ASKED])
def test_what_is_asked_for_exists(title, query):
    asked, known = families_asked(query), set(OF_PROMETHEUS)
    assert asked or query.startswith("up{")  # which Prometheus itself gives
    for family, labels in asked.items():
        own = set(KNOWN[family][1].split())
        assert labels <= own | OF_PROMETHEUS, f"{family} has {own}: {query}"
        known |= own | ({"le"} if KNOWN[family][0] == "histogram" else set())
    for labels in re.findall(r"\b(?:by|on) \(([^)]*)\)", query):
        assert set(labels.replace(" ", "").split(",")) - {""} <= known, query


def test_counters_are_never_read_as_they_are():
    """They begin anew with their process."""
    for title, query in ASKED:
        for family in families_asked(query):
            if KNOWN[family][0] != "gauge":
                assert not re.search(rf"(?<!rate\()(?<!increase\()\b{family}", query), title


def test_the_queries_of_the_board_are_sound(tmp_path):
    rules = [{"record": f"board:q{n}", "expr": query} for n, (_, query) in enumerate(ASKED)]
    (tmp_path / "board.yml").write_text(yaml.safe_dump({"groups": [{"name": "b", "rules": rules}]}))
    promtool("check", "rules", tmp_path / "board.yml")
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(ids)) == len(ids) and len(list(queries_of_the_board())) > 30


def families_given(text):
    """{family: type}"""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))


def labels_given(text):
    """{family: its labels}, of those that have samples"""
    given = {}
    for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", text, re.M):
        family = re.sub("_(bucket|sum|count)$", "", name)
        given[family] = set(re.findall(r'(\w+)="', labels)) - {"le"}
    return given


def check_given(text, expected):
    assert families_given(text) == {name: type for name, (type, _) in expected.items()}
    for family, labels in labels_given(text).items():
        assert labels == set(expected[family][1].split()), family


def test_the_programs_give_what_is_listed():
    with (
        Stack(executor=False) as stack,
        Gateway(stack.redis.url, metrics="127.0.0.1:0") as gateway,
    ):
        stack.submit(prompt="x")
        port = metrics_port(gateway)
        wait_until(lambda: 'state="ready"' in scrape_text(port), what="numbers of the fleet")
        check_given(scrape_text(port), OF_GATEWAYS)
        fleet = list(OF_GATEWAYS)[list(OF_GATEWAYS).index("quern_queue_jobs") :]
        quern = [binary("quern"), "metrics", "--redis-url", stack.redis.url]
        printed = subprocess.run(quern, check=True, capture_output=True, text=True).stdout
        check_given(printed, {name: OF_GATEWAYS[name] for name in fleet})
        gateway.drain()


def test_consumers_give_what_is_listed():
    with Stack() as stack:
        port = metrics_port(stack.consumer(metrics="127.0.0.1:0"))
        wait_until(lambda: "quern_wall_up" in scrape_text(port), what="numbers of the executor")
        check_given(scrape_text(port), OF_CONSUMERS)
