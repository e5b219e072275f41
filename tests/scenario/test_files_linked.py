"""Files of a job: named to the model, confirmed to the user, linked from the
answer."""

import pytest
from pictures import show
from servers import Process, binary
from stack import Stack, call_of

URL = "https://files.example/{blob}/{name}?job={job}"
DRAW = show(1) + "\nopen('out.csv', 'w').write('1')"


@pytest.fixture(scope="module")
def stack():
    with Stack() as stack:
        stack.consumer(blob_url=URL)
        yield stack


def say(stack, *replies):
    stack.model.reset()
    stack.model.script([{"match": "", "in_order": True, "replies": list(replies)}])


def url(ref, job):
    return f"https://files.example/{ref['blob']}/{ref['name']}?job={job}"


# -------------------------------------------------------------------- links


@pytest.mark.parametrize("mode", ["tools", "codeact"])
def test_an_answer_leads_to_what_the_job_has_left(stack, mode):
    answer = (
        "![plot](figure-1.png) [csv](sandbox:/mnt/data/out.csv) [in](a.csv)\n"
        "`[no](out.csv)` [other](https://h/out.csv)"
    )
    acts = {"tool_calls": [call_of(DRAW)]}
    if mode == "codeact":
        acts = {"text": f"```python\n{DRAW}\n```"}
    say(stack, acts, {"text": answer})
    job = stack.submit(prompt="Draw.", mode=mode, files=[stack.file("a.csv", b"1,2")])
    result = stack.result(job)
    figure, out = result["images"][0], result["files"][0]
    assert (figure["name"], out["name"]) == ("figure-1.png", "out.csv"), result
    file = stack.file("a.csv", b"1,2")
    wanted = (
        f"![plot]({url(figure, job)}) [csv]({url(out, job)}) [in]({url(file, job)})\n"
        "`[no](out.csv)` [other](https://h/out.csv)"
    )
    assert result["answer"] == wanted
    assert stack.events(job)[-1]["data"]["answer"] == wanted
    assert result["messages"][-1]["content"] == answer, "as it was said"


def test_the_last_that_was_written_counts(stack):
    write = "open('out.csv', 'w').write('{}');"
    calls = [{"tool_calls": [call_of(write.format(n), f"c{n}")]} for n in range(2)]
    say(stack, *calls, {"text": "[o](out.csv)"})
    job = stack.submit(prompt="Write.")
    result = stack.result(job)
    [out] = result["files"]
    assert stack.bytes_of(out) == b"1"
    assert result["answer"] == f"[o]({url(out, job)})"


def test_without_a_template_it_stays_as_it_was_said():
    with Stack() as stack:
        stack.consumer()
        say(stack, {"tool_calls": [call_of(DRAW)]}, {"text": "![p](figure-1.png)"})
        assert stack.run(prompt="Draw.")["answer"] == "![p](figure-1.png)"


@pytest.mark.parametrize("bad", ["https://h/{name}", "https://h/{blob} x"])
def test_a_template_that_makes_no_links_is_refused(bad):
    process = Process([binary("quern-consumer"), "--blob-url", bad]).start()
    assert process.wait() == 64
    assert "--blob-url" in process.text()


# ------------------------------------------------------------------ uploads


@pytest.mark.parametrize(
    "prompt, notice",
    [
        ("What is in it?", "The user uploaded these files"),
        ("里面有什么？", "用户上传了以下文件"),
    ],
)
def test_the_model_is_told_of_files(stack, prompt, notice):
    say(stack, {"text": "done"})
    stack.run(prompt=prompt, files=[stack.file("a.csv", b"1,2")])
    system = stack.model.request(-1)["messages"][0]["content"]
    assert notice in system and "\n- a.csv (3 bytes, text/csv)" in system
    stack.run(prompt=prompt)
    system = stack.model.request(-1)["messages"][0]["content"]
    assert notice not in system


@pytest.mark.parametrize(
    "name, asked", [("a.csv", "Just confirm"), ("销售数据.csv", "请简短确认")]
)
def test_an_upload_without_a_word_is_confirmed(stack, name, asked):
    say(stack, {"text": f"I have {name}."})
    result = stack.run(files=[stack.file(name, b"1,2")])
    assert result["answer"] == f"I have {name}."
    system, user = stack.model.request(-1)["messages"]
    assert user["role"] == "user" and asked in user["content"]
    assert f"- {name} (" in system["content"]


def test_nothing_at_all_is_refused(stack):
    error = stack.run(prompt="")["error"]
    assert error["code"] == "missing_field" and "files" in error["message"]


def test_the_words_are_the_operators(tmp_path):
    (tmp_path / "files.en.md").write_text("FILES, HERE:\n")
    (tmp_path / "upload.en.md").write_text("SAY SO.\n")
    with Stack(executor=False) as stack:
        stack.consumer(prompts=tmp_path)
        say(stack, {"text": "so"})
        stack.run(files=[stack.file("a.csv", b"1,2")])
        system, user = stack.model.request(-1)["messages"]
        assert user["content"] == "SAY SO."
        assert "\nFILES, HERE:\n- a.csv" in system["content"]


def test_a_session_remembers_what_was_uploaded(stack):
    say(stack, {"text": "I have it."}, {"text": "1,2"})
    stack.run(session="uploads", files=[stack.file("a.csv", b"1,2")])
    stack.run(session="uploads", prompt="What is in it?")
    _, asked, answer, question = stack.model.request(-1)["messages"]
    assert "Uploaded: a.csv]" in asked["content"]
    assert answer["content"] == "I have it."
