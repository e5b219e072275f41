"""What a process answers at the place of its --metrics, as Prometheus reads it."""

import http.client
import re

from prometheus_client.parser import text_string_to_metric_families
from servers import PATIENCE_S

TYPE = "text/plain; version=0.0.4"


class Numbers(dict):
    """{(family, label values in the order of their names): value}; of histograms the
    families ..._count, ..._sum and ..._bucket.

    numbers["workers", "up"], numbers["queue_jobs", "default", "ready"]"""

    def __init__(self, text):
        self.types = {}
        for family in text_string_to_metric_families(text):
            assert family.documentation, family
            self.types[family.name] = family.type
            for sample in family.samples:
                labels = [value for _, value in sorted(sample.labels.items())]
                key = (sample.name.removeprefix("quern_"), *labels)
                assert key not in self, f"{key} twice"
                self[key] = sample.value

    def of(self, family):
        return {key[1:]: value for key, value in self.items() if key[0] == family}


def metrics_port(process):
    """Of a process that was started with metrics=127.0.0.1:0."""
    return int(re.search(r'"port": ?(\d+)', process.wait_for('"metrics"')).group(1))


def ask(port, path, timeout=PATIENCE_S):
    """(status, text)"""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        if path == "/metrics":
            assert answer.headers["Content-Type"] == TYPE, answer.headers
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def scrape_text(port):
    status, text = ask(port, "/metrics")
    assert status == 200, text
    return text


def scrape(port):
    return Numbers(scrape_text(port))
