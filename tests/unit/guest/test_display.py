"""display.py and standin.py: values as bundles of media types."""

import io
import json

import PIL.Image
import pytest

DISPLAY = "from IPython.display import *\n"
# One pixel.
PNG = (
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000"
    "000a49444154789c636000000002000148afa4710000000049454e44ae426082"
)

# What is shown, the cell, media types of each display, text of the result.
BUNDLES = [
    ("a plain value is no display", "1", [], "1"),
    (
        "a table",
        "import pandas as pd\npd.DataFrame({'a': [1]})",
        [["text/html", "text/plain"]],
        "   a\n0  1",
    ),
    (
        "a series has text only",
        "import pandas as pd\npd.Series([1])",
        [],
        "0    1\ndtype: int64",
    ),
    (
        "an image",
        "from PIL import Image\nImage.new('RGB', (2, 2))",
        [["image/png", "text/plain"]],
        "<PIL.Image.Image image mode=RGB",
    ),
    (
        "an image's show()",
        "from PIL import Image\nImage.new('RGB', (2, 2)).show()",
        [["image/png", "text/plain"]],
        "",
    ),
    ("display() of a value", "display(5)", [["text/plain"]], ""),
    ("display() of several", "display(5, 'a')", [["text/plain"]] * 2, ""),
    ("IPython's display()", DISPLAY + "display(5)", [["text/plain"]], ""),
    (
        "HTML",
        DISPLAY + "HTML('<b>')",
        [["text/html", "text/plain"]],
        "<IPython.core.display.HTML object>",
    ),
    (
        "Markdown",
        DISPLAY + "display(Markdown('# a'))",
        [["text/markdown", "text/plain"]],
        "",
    ),
    (
        "Image from bytes",
        DISPLAY + f"Image(bytes.fromhex('{PNG}'))",
        [["image/png", "text/plain"]],
        "<IPython.core.display.Image object>",
    ),
    (
        "Image from a file",
        DISPLAY
        + f"open('a.png', 'wb').write(bytes.fromhex('{PNG}'))\nImage('a.png');\nImage(filename='a.png')",
        [["image/png", "text/plain"]],
        "<IPython.core.display.Image object>",
    ),
    (
        "JSON",
        DISPLAY + "display(JSON({'a': 1}))",
        [["application/json", "text/plain"]],
        "",
    ),
    (
        "GIF",
        "import io, PIL.Image\ngif = io.BytesIO()\n"
        "PIL.Image.new('P', (1, 1)).save(gif, 'gif')\n"
        + DISPLAY
        + "Image(gif.getvalue())",
        [["image/gif", "text/plain"]],
        "<IPython.core.display.Image object>",
    ),
    ("Math", DISPLAY + "display(Math('x^2'))", [["text/latex", "text/plain"]], ""),
    (
        "Audio from samples",
        DISPLAY + "import numpy as np\nAudio(np.sin(np.arange(100)), rate=8000)",
        [["text/html", "text/plain"]],
        "<IPython",
    ),
    (
        "IFrame",
        DISPLAY + "display(IFrame('a', 1, 2))",
        [["text/html", "text/plain"]],
        "",
    ),
    (
        "display_html",
        DISPLAY + "display_html('<b>', raw=True)",
        [["text/html", "text/plain"]],
        "",
    ),
    (
        "display_markdown of an object",
        DISPLAY + "display_markdown(Markdown('*a*'))",
        [["text/markdown", "text/plain"]],
        "",
    ),
    (
        "Javascript",
        DISPLAY + "display(Javascript('1'))",
        [["application/javascript", "text/plain"]],
        "",
    ),
    (
        "a handle's update takes its place",
        "h = display(1, display_id=True)\nh.update(2)",
        [["text/plain"]],
        "",
    ),
    ("%%html", "%%html\n<b>a</b>", [["text/html", "text/plain"]], ""),
    ("%%markdown", "%%markdown\n# a", [["text/markdown", "text/plain"]], ""),
    (
        "_ipython_display_",
        "class C:\n    def _ipython_display_(self): display('mine')\nC()",
        [["text/plain"]],
        "",
    ),
    (
        "an _ipython_display_ that fails",
        "class C:\n    def _ipython_display_(self): 1/0\n    def __repr__(self): return 'c'\nC()",
        [],
        "c",
    ),
    (
        "Vega's bundle, as altair gives it",
        "class C:\n    def _repr_mimebundle_(self, **k):\n"
        "        return {'application/vnd.vegalite.v5+json': {'mark': 'bar'}}, {}\n"
        "    def __repr__(self): return 'c'\nC()",
        [["application/vnd.vegalite.v5+json", "text/plain"]],
        "c",
    ),
    ("clear_output()", DISPLAY + "clear_output(wait=True)", [], ""),
    (
        "display(raw=True)",
        "display({'text/html': '<b>', 'text/plain': 'b'}, raw=True)",
        [["text/html", "text/plain"]],
        "",
    ),
    (
        "a class with _repr_html_",
        "class C:\n    def _repr_html_(self): return 1/0\nC",
        [],
        "<class '__main__.C'>",
    ),
    (
        "a _repr_html_ that fails",
        "class C:\n    def _repr_html_(self): return 1/0\n    def __repr__(self): return 'c'\nC()",
        [],
        "c",
    ),
    (
        "a _repr_html_ that gives None",
        "class C:\n    def _repr_html_(self): return None\n    def __repr__(self): return 'c'\nC()",
        [],
        "c",
    ),
    (
        "an object that has every attribute",
        "class C:\n    def __getattr__(self, name): return lambda *a: 'x'\n    def __repr__(self): return 'c'\nC()",
        [],
        "c",
    ),
    (
        "a _repr_mimebundle_ that gives a list",
        "class C:\n    def _repr_mimebundle_(self, **k): return [1]\n"
        "    def __repr__(self): return 'c'\nC()",
        [],
        "c",
    ),
    (
        "a _repr_mimebundle_ that knows its text",
        "class C:\n    def _repr_mimebundle_(self, **k): return {'text/plain': 'd'}\nC()",
        [],
        "d",
    ),
    (
        "a _repr_mimebundle_ of odd things",
        "class C:\n    def _repr_mimebundle_(self, **k): return {1: 'a', 'b/c': 2, 'text/x': 'x'}\n    def __repr__(self): return 'c'\nC()",
        [["text/plain", "text/x"]],
        "c",
    ),
    ("a silenced table", "import pandas as pd\npd.DataFrame({'a': [1]});", [], ""),
]


def without_ipython():
    """Also where IPython is installed."""
    from quern_guest import standin

    standin.install_modules()


@pytest.mark.parametrize(
    "code, types, shown", [r[1:] for r in BUNDLES], ids=[r[0] for r in BUNDLES]
)
@pytest.mark.parametrize("ipython", ["stand-in", "real"])
def test_bundle(one, code, types, shown, ipython):
    if ipython == "real":
        pytest.importorskip("IPython")
    before = {"real": lambda: None, "stand-in": without_ipython}[ipython]
    cell = one(code, before=before)
    assert cell.status == "ok", cell.traceback
    assert [sorted(bundle) for bundle in cell.displays] == types
    assert all(image.startswith(b"\x89PNG\r\n") for image in cell.images)
    assert cell.result.startswith(shown) and bool(cell.result) == bool(shown)


def test_bytes_reach_the_other_side_as_they_are(one):
    cell = one(
        "display({'image/png': b'\\x89\\xff', 'text/html': 'é\\udcff'}, raw=True)"
    )
    assert cell.displays == [
        {"image/png": b"\x89\xff", "text/html": "é\\udcff".encode(), "text/plain": b""}
    ]


def test_a_long_text_of_a_bundle_is_cut(one):
    cell = one("display({'text/plain': 'x' * 10**6}, raw=True)")
    assert len(cell.displays[0]["text/plain"]) <= 32 << 10


def test_json_is_json(one):
    cell = one(DISPLAY + "display(JSON({'a': [1, None]}))")
    assert json.loads(cell.displays[0]["application/json"]) == {"a": [1, None]}


@pytest.mark.parametrize(
    "setting",
    [
        "",
        "pd.set_option('display.max_rows', None)\npd.set_option('display.max_columns', None)\n",
    ],
)
def test_large_tables_are_cut(one, setting):
    cell = one(
        f"import pandas as pd, numpy as np\n{setting}pd.DataFrame(np.zeros((100_000, 300)))"
    )
    assert "100000 rows x 300 columns" in cell.result or "bytes in all" in cell.result
    assert b"100000 rows" in cell.displays[0]["text/html"]
    assert len(cell.displays[0]["text/html"]) < 8 << 20


def test_rows_that_were_asked_for_are_shown(one):
    cell = one(
        "import pandas as pd\npd.set_option('display.max_rows', 200)\npd.DataFrame({'a': range(150)})"
    )
    assert "\n99 " in cell.result


def test_all_rows_are_shown_as_far_as_the_bound_goes(one):
    """pandas alone would show ten of a table that exceeds the bound."""
    cell = one(
        "import pandas as pd\npd.set_option('display.max_rows', None)\n"
        "pd.DataFrame({'a': range(1500)})"
    )
    html = cell.displays[0]["text/html"].decode()
    assert html.count("<tr>") == 1001 and "<th>499</th>" in html
    assert "1500 rows" in html


def test_few_rows_that_were_asked_for_are_few(one):
    few = "pd.set_option('display.max_rows', 4)\npd.set_option('display.min_rows', 4)\n"
    cell = one(f"import pandas as pd\n{few}pd.DataFrame({{'a': range(1500)}})")
    assert cell.displays[0]["text/html"].count(b"<tr>") == 5  # and one of dots


def test_numbers_that_were_asked_for_are_shown_within_bounds(one):
    everything = "import numpy as np, sys\nnp.set_printoptions(threshold=sys.maxsize)\n"
    assert "..." not in one(everything + "np.arange(2000)").result
    assert one(everything + "np.zeros((3000, 3000))").result.count("...") == 7


def test_a_huge_picture_is_shown_smaller_and_that_is_said(one):
    cell = one("from PIL import Image\nImage.new('L', (9000, 9000))")
    width, height = PIL.Image.open(io.BytesIO(cell.images[0])).size
    assert width == height and 4000 < width <= 4096
    assert cell.result.endswith(f" [shown with {width} x {height} pixels]")


@pytest.mark.parametrize("mode", ["1", "F", "CMYK", "YCbCr", "I", "P", "RGBA"])
def test_pictures_of_every_mode_are_shown(one, mode):
    cell = one(f"from PIL import Image\nImage.new('{mode}', (2, 2))")
    assert len(cell.images) == 1 and cell.err == ""


# What is in a file, the name of the file, the code, media type, what is shown.
NAMED = [
    ("a page", "a.html", "<b>", "HTML('a.html')", "text/html", b"<b>"),
    ("a path", "a.html", "<b>", "HTML(Path('a.html'))", "text/html", b"<b>"),
    ("JSON", "a.json", "[1]", "JSON('a.json')", "application/json", b"[1]"),
    ("code", "a.py", "1", "Code('a.py')", "text/markdown", b"```python\n1\n```"),
    ("a name that is none", "a", "1", "HTML('b.html')", "text/html", b"b.html"),
    ("a long text", "a", "1", "HTML('b' * 5000)", "text/html", b"b" * 5000),
    ("a link", "a", "1", "FileLink('a')", "text/html", b'<a href="a">a</a>'),
    (
        "a film elsewhere",
        "a",
        "1",
        "Video('https://host/a.mp4')",
        "text/html",
        b'<video controls src="https://host/a.mp4"></video>',
    ),
    (
        "a picture elsewhere",
        "a",
        "1",
        "Image('https://host/a.png')",
        "text/html",
        b'<img src="https://host/a.png"/>',
    ),
]


@pytest.mark.parametrize(
    "name, content, code, mime, shown",
    [r[1:] for r in NAMED],
    ids=[r[0] for r in NAMED],
)
def test_what_a_name_stands_for_is_shown(one, name, content, code, mime, shown):
    write = f"from pathlib import Path\nPath({name!r}).write_text({content!r})\n"
    cell = one(DISPLAY + write + code, before=without_ipython)
    assert cell.status == "ok", cell.traceback
    assert cell.displays[0][mime] == shown


# What fails, the class, what is said.
FAILING = [
    ("_repr_html_", "_repr_html_(self): 1/0", "C._repr_html_() failed: ZeroDivision"),
    ("one that is not made", "_repr_html_(self): raise NotImplementedError", ""),
    (
        "_ipython_display_",
        "_ipython_display_(self): 1/0",
        "C._ipython_display_() failed: ZeroDivision",
    ),
]


@pytest.mark.parametrize(
    "method, said", [r[1:] for r in FAILING], ids=[r[0] for r in FAILING]
)
def test_a_form_that_fails_is_told(one, method, said):
    cell = one(f"class C:\n    def {method}\n    def __repr__(self): return 'c'\nC()")
    assert (cell.status, cell.result) == ("ok", "c")
    assert cell.err.startswith(said) and bool(cell.err) == bool(said)


def test_the_backend_of_notebooks_is_told_in_vain(one):
    code = (
        "from matplotlib_inline import backend_inline\n"
        "backend_inline.set_matplotlib_formats('svg')\n"
    )
    plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2])"
    cell = one(code + plot, before=without_ipython)
    assert (cell.status, len(cell.images), cell.err) == ("ok", 1, "")


PLOTLY = "import plotly.graph_objects as go\nfig = go.Figure(go.Bar(x=['a'], y=[1]), {'title': 'T'})\n"


@pytest.mark.parametrize(
    "code",
    ["fig", "fig.show()", "display(fig)", "import plotly.io\nplotly.io.show(fig)"],
)
def test_plotly(one, code):
    pytest.importorskip("plotly")
    cell = one(PLOTLY + code)
    assert (cell.status, cell.traceback) == ("ok", "")
    (bundle,) = cell.displays
    assert bundle["text/plain"] == b"<plotly Figure: T; traces: bar>"
    assert b"plotly" in bundle["text/html"] and len(bundle["text/html"]) < 1 << 20
    data = json.loads(bundle["application/vnd.plotly.v1+json"])
    assert data["data"][0]["type"] == "bar"


def test_a_bundle_beyond_the_limit_is_dropped_and_said_so(one):
    cell = one("display({'image/png': bytes(17 << 20), 'text/plain': 'big'}, raw=True)")
    note = (
        "image/png is not shown: it has 17,825,792 bytes, a display may have 16,777,216"
    )
    assert cell.displays == [{"text/plain": f"big\n[{note}]".encode()}]


def test_a_form_that_is_too_large_leaves_the_others(one):
    code = "display({'image/png': b'p', 'image/gif': bytes(17 << 20)}, raw=True)"
    (bundle,) = one(code).displays
    assert bundle["image/png"] == b"p" and "image/gif" not in bundle
    assert b"image/gif is not shown: it has 17,825,792 bytes" in bundle["text/plain"]


def test_many_displays_are_cut_and_said_so(one):
    cell = one("for i in range(10**4): display(i)")
    assert len(cell.displays) == 65
    assert b"a cell shows 64 displays" in cell.displays[-1]["text/plain"]


def test_the_next_cell_counts_anew(one):
    assert len(one("for i in range(100): display(i)", "display(1)").displays) == 1


def test_a_cell_gets_the_shell_and_a_library_does_not(one):
    asks = "import IPython\nshell = IPython.get_ipython()\n"
    cell = one(
        f"{asks}open('library.py', 'w').write({asks!r})\n"
        "import library\nshell is get_ipython(), library.shell",
        before=without_ipython,
    )
    assert cell.result == "(True, None)"


def test_display_of_ipython_core(one):
    code = "from IPython.core.display import HTML\nHTML('<b>')"
    assert "text/html" in one(code, before=without_ipython).displays[0]


def test_code_is_shown_as_code(one):
    code = DISPLAY + "display(Code('x = 1', language='python'))"
    (bundle,) = one(code, before=without_ipython).displays
    assert bundle["text/markdown"] == b"```python\nx = 1\n```"


MORE = "from IPython.display import clear_output, display, update_display, DisplayHandle\n"
# What is replaced, the cells, the texts of the displays of the last one.
REPLACED = [
    ("update() of a handle", ["h = display(1, display_id=True)\nh.update(2)"], ["2"]),
    ("update_display()", ["display(1, display_id='a')\nupdate_display(2, display_id='a')"], ["2"]),
    ("display(update=True)", ["display(1, display_id='a')\ndisplay(2, display_id='a', update=True)"], ["2"]),
    ("all of an id", ["display(1, 2, display_id='a')\nupdate_display(3, display_id='a')"], ["3", "3"]),
    ("one more of an id", ["display(1, display_id='a')\ndisplay(2, display_id='a')"], ["2", "2"]),
    ("only those of the id", ["display(1)\ndisplay(2, display_id=7)\nupdate_display(3, display_id=7)"], ["1", "3"]),
    ("an id that nothing has", ["update_display(1, display_id='b')"], []),
    ("an id that was cleared", ["display(1, display_id='a')\nclear_output()\nupdate_display(2, display_id='a')"], []),
    ("a handle of its own", ["h = DisplayHandle()\nh.display(1)\nh.update(2)"], ["2"]),
    ("raw data", ["h = display({'text/plain': 'a'}, raw=True, display_id='a')\nh.update({'text/plain': 'b'}, raw=True)"], ["b"]),
    ("clear_output()", ["display(1)\nclear_output()\ndisplay(2)"], ["2"]),
    ("clear_output() and no more", ["display(1)\nclear_output()"], []),
    ("clear_output(wait=True)", ["display(1)\nclear_output(wait=True)\ndisplay(2)"], ["2"]),
    ("clear_output(wait=True) and no more", ["display(1)\nclear_output(wait=True)"], ["1"]),
    ("display(clear=True)", ["display(1)\ndisplay(2, clear=True)"], ["2"]),
    ("a thousand updates", ["h = display(0, display_id=True)\nfor i in range(1000): h.update(i)"], ["999"]),
    ("a thousand displays, cleared", ["for i in range(1000):\n    clear_output(wait=True)\n    display(i)"], ["999"]),
    ("a thousand clears", ["for i in range(1000):\n    display(i)\n    clear_output(wait=True)"], ["999"]),
    ("after a clear there is room again", ["for i in range(64): display(i)\nclear_output()\ndisplay(64)"], ["64"]),
    ("what waits when an exception comes", ["for i in range(99):\n    clear_output(True)\n    display(i)\n1/0"], ["98"]),
]  # fmt: skip


@pytest.mark.parametrize(
    "cells, texts", [r[1:] for r in REPLACED], ids=[r[0] for r in REPLACED]
)
def test_what_was_shown_is_replaced(run, cells, texts):
    *_, cell = run(MORE, *cells)
    assert [shown["text/plain"].decode() for shown in cell.displays] == texts


def test_what_takes_the_place_of_others_is_sent_as_often_as_it_is_seen(run):
    code = "import _quern\nscreen = _quern.display.__self__\nbefore = screen.sent\n"
    loop = "for i in range(5000):\n    clear_output(wait=True)\n    display(i)\n"
    sent = run(MORE, code + loop + "screen.sent - before")[-1]
    assert 32 <= int(sent.result) < 100


IDS_REFUSED = [
    ("too long", "display(1, display_id='é' * 100)", "display_id has 200 bytes, it may have 128"),
    ("too many", "for i in range(1, 66): display(i, display_id=i)", "a cell may have 64 display_ids at once, '65' is one more"),
    ("none, for an update", "display(1, update=True)", "display_id required for update=True"),
]  # fmt: skip


@pytest.mark.parametrize(
    "code, why", [r[1:] for r in IDS_REFUSED], ids=[r[0] for r in IDS_REFUSED]
)
def test_an_id_that_is_refused_says_why(one, code, why):
    assert why in one(code).value


def test_a_cell_clears_so_often_and_says_so_once(run):
    loop = "for i in range(300):\n    clear_output()\n    print(i)"
    cell = run(MORE + "import _quern\n_quern.MAX_CLEARS = 100", loop)[-1]
    assert cell.err == "[a cell clears its output 100 times, not more]\n"


def test_ids_of_earlier_cells_are_known(run):
    code = "import _quern\nshown = []\n_quern.display = lambda bundle, name, update=False, clears=0: shown.append((name, update))"
    update = "display(2, display_id='a', update=True)"
    *_, cell = run(code, "h = display(1, display_id='a')", update, "shown")
    assert cell.result == "[('a', False), ('a', True)]"
