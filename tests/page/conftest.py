"""The page in a real browser: Debian's Chromium, driven by Playwright of PyPI, which is
installed beside the build."""

import subprocess
import sys

import pytest
from gateway import Gateway
from pypi import python_with
from servers import free_ports
from tab import Tab

PLAYWRIGHT = "playwright==1.65.2"
WHERE = "import sysconfig; print(sysconfig.get_path('purelib'))"


def import_playwright():
    python = python_with(PLAYWRIGHT)
    place = subprocess.run(
        [python, "-c", WHERE], check=True, capture_output=True, text=True
    ).stdout.strip()
    if place not in sys.path:
        sys.path.append(place)
    from playwright.sync_api import sync_playwright

    return sync_playwright


def launch(playwright):
    # It does not run as root with a sandbox.
    return playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])


@pytest.fixture(scope="session")
def browser():
    with import_playwright()() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def gateway(stack):
    """On a port that it has again when it begins again."""
    with Gateway(stack.redis.url, port=free_ports(1)[0]) as gateway:
        yield gateway.ready()
        gateway.drain()


@pytest.fixture
def tab(browser, gateway):
    with Tab(browser, f"http://127.0.0.1:{gateway.port}") as tab:
        yield tab
