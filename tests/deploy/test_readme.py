"""What the READMEs say works, and where they point there is something."""

import collections
import os
import pathlib
import re
import subprocess
import sys

import pytest
from gateway import Gateway, make_key
from pypi import python_with
from servers import BUILD as BUILD_DIR
from stack import Stack

BUILD = pathlib.Path(BUILD_DIR)
TREE = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "*/*.md", "*/*/*.md")
    for path in TREE.glob(pattern)
    if "build" not in path.parts and "node_modules" not in path.parts
)


def test_python_of_the_front_page_works():
    code = (TREE / "producer" / "examples" / "ask.py").read_text()
    with Stack() as stack:
        stack.consumer()
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"REDIS_URL": stack.redis.url},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("job.queued") for line in lines)
    assert any(line.startswith("job.completed") for line in lines)
    assert "primes" in lines[-1]


def test_the_clients_of_the_front_page_work(tmp_path):
    """OpenAI's, with a key."""
    python = python_with("openai==3.57.0")
    with Stack() as stack, Gateway(stack.redis.url, open=None) as gateway:
        stack.consumer()
        gateway.ready()
        env = {
            "PATH": os.environ["PATH"],
            "QUERN_URL": f"http://127.0.0.1:{gateway.port}",
            "QUERN_KEY": make_key(stack),
        }
        done = subprocess.run(
            [python, TREE / "producer" / "examples" / "responses.py"],
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0 and "primes" in done.stdout, done
        assert "sum" in done.stdout, done


def sanitizers():
    found = re.search(
        r"^QUERN_SANITIZE:\w+=(.+)$", (BUILD / "CMakeCache.txt").read_text(), re.M
    )
    return [f"-fsanitize={found[1]}"] if found else []


def test_c_of_the_front_page_works(tmp_path):
    """By the line beside it, with the environment that quickstart leaves."""
    readme = (TREE / "README.md").read_text()
    (line, code) = re.findall(
        r"`(cc ask\.c [^`]+)`[^`]*`[^`]*`[^`]*\n\n```c\n(.*?)^```", readme, re.M | re.S
    )[0]
    (tmp_path / "ask.c").write_text(code)
    flags = " ".join(["-std=c17 -Wall -Wextra -Werror", *sanitizers()])
    env = {
        "PATH": os.environ["PATH"],
        "PKG_CONFIG_PATH": str(BUILD / "producer/client"),
    }
    with Stack() as stack:
        stack.consumer()

        def ask(line, **more):
            return subprocess.run(
                ["sh", "-c", line],
                cwd=tmp_path,
                env={**env, "REDIS_URL": stack.redis.url, **more},
                capture_output=True,
                text=True,
                timeout=60,
            )

        done = ask(line.replace("ask.c", f"ask.c {flags}", 1))
        assert (done.returncode, done.stderr) == (0, ""), done
        assert "primes" in done.stdout
        stack.model.script([{"status": 400, "error": "no such luck"}])
        done = ask("./ask")
        assert done.returncode == 1 and "no such luck" in done.stderr, done
        done = ask("./ask", REDIS_URL="unix:///nowhere")
        assert done.returncode == 1 and "/nowhere" in done.stderr, done


@pytest.mark.parametrize(
    "readme, fence, example",
    [
        ("README.md", "c", "ask.c"),
        ("README.md", "python", "ask.py"),
        ("README.md", "python", "responses.py"),
        ("README.md", "js", "responses.mjs"),
        ("producer/CLIENTS.md", "js", "ask.mjs"),
        ("producer/CLIENTS.md", "php", "ask.php"),
    ],
)
def test_what_is_quoted_is_what_is_tested(readme, fence, example):
    text = (TREE / readme).read_text()
    quoted = re.findall(rf"^```{fence}\n(.*?)^```", text, re.M | re.S)
    code = (TREE / "producer" / "examples" / example).read_text()
    assert code in quoted
    assert len(code.splitlines()) <= (17 if fence != "c" else 25)


def prose(page):
    """The page without its blocks of code, in which # begins a comment.

    A block ends with as many marks as it begins with: it may show a block."""
    return re.sub(r"^(`{3,})[^`].*?^\1$", "", page.read_text(), flags=re.M | re.S)


def links(page):
    text = re.sub(r"`[^`\n]+`", "", prose(page))  # code is no link
    for path, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
        yield page.parent / path if path else page, anchor


def anchors(page):
    """The anchor of each heading, by the rules of GitHub."""
    seen = collections.Counter()
    for heading in re.findall(r"^#{1,6} +(.+?) *$", prose(page), re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        yield f"{name}-{seen[name]}" if seen[name] else name
        seen[name] += 1


every_page = pytest.mark.parametrize(
    "page", PAGES, ids=[str(path.relative_to(TREE)) for path in PAGES]
)


@every_page
def test_links_lead_somewhere(page):
    assert [str(path) for path, _ in links(page) if not path.exists()] == []


@every_page
def test_anchors_lead_to_headings(page):
    assert [
        f"{path.resolve().relative_to(TREE)}#{anchor}"
        for path, anchor in links(page)
        if anchor and path.suffix == ".md" and anchor not in anchors(path)
    ] == []


@every_page
def test_rows_of_tables_fit_on_a_screen(page):
    """A program prints the tables of settings below this mark: not their width, but their text is tested."""
    written = page.read_text().split("<!-- generated -->")[0]
    assert [
        f"{len(row)} columns: {row[:60]}..."
        for row in written.splitlines()
        if row.startswith("|") and len(row) > 160
    ] == []
