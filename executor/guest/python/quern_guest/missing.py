"""missing.py - modules that are not installed: which one, and what is.

The warden may install the package that has it, and run the cell again (see
executor/packages). If it does not, the model has the advice that is given here.
"""

import importlib
import importlib.util
import os
import sys

PACKAGES = "/packages"  # read-only; the warden fills it

# What does nearly the same, and is often there: a module, and how it is used.
INSTEAD = {
    "xlsxwriter": {"openpyxl": "DataFrame.to_excel(engine='openpyxl') writes .xlsx"},
    "xlrd": {"openpyxl": "pandas.read_excel(engine='openpyxl') reads .xlsx"},
    "plotly": {"matplotlib": "charts as pictures"},
    "bokeh": {"matplotlib": "charts as pictures"},
    "altair": {"matplotlib": "charts as pictures"},
    "seaborn": {"matplotlib": "charts as pictures"},
    "pygal": {"matplotlib": "charts as pictures"},
    "cv2": {"PIL": "Image, ImageFilter", "scipy": "scipy.ndimage"},
    "skimage": {"PIL": "Image, ImageFilter", "scipy": "scipy.ndimage"},
    "imageio": {"PIL": "Image.open(), Image.save()"},
    "sklearn": {"scipy": "scipy.cluster, scipy.optimize, scipy.stats"},
    "statsmodels": {"scipy": "scipy.stats", "numpy": "numpy.polyfit()"},
    "torch": {"numpy": "arrays, without gradients"},
    "tensorflow": {"numpy": "arrays, without gradients"},
    "jax": {"numpy": "arrays, without gradients"},
    "polars": {"pandas": "tables"},
    "dask": {"pandas": "tables"},
    "duckdb": {"sqlite3": "SQL, in a file or in memory", "pandas": "tables"},
    "nest_asyncio": {"asyncio": "await, and asyncio.run(), work in cells as they are"},
    "networkx": {"scipy": "scipy.sparse.csgraph"},
    "cvxpy": {"scipy": "scipy.optimize.linprog(), minimize()"},
    "pulp": {"scipy": "scipy.optimize.milp()"},
    "bs4": {"lxml": "lxml.html", "html.parser": "HTMLParser"},
    "orjson": {"json": "the same calls"},
    "ujson": {"json": "the same calls"},
    "yaml": {"json": "another format", "tomllib": "another format, reading only"},
    "regex": {"re": "without its extensions"},
    "arrow": {"datetime": "dates", "dateutil": "reading dates"},
    "pendulum": {"datetime": "dates", "dateutil": "reading dates"},
    "pytz": {"zoneinfo": "ZoneInfo('Europe/Berlin')"},
    "tabulate": {"pandas": "DataFrame.to_string()"},
    "tqdm": {"builtins": "print() now and then"},
    "gmpy2": {"sympy": "numbers", "math": "isqrt(), gcd(), comb()"},
    "fitz": {"pypdf": "reading PDF", "PyPDF2": "reading PDF"},
    "reportlab": {"matplotlib": "savefig() writes PDF"},
    "docx": {"zipfile": "a .docx is XML in a zip file"},
}
NETWORK = frozenset("requests httpx aiohttp urllib3 yfinance websocket".split())


def module_of(error):
    """Gives the top-level module for want of which code failed, or "". For an optional
    one, libraries raise an ImportError of their own, after the real one."""
    for _ in range(3):
        if isinstance(error, ModuleNotFoundError):
            return absent(error.name)
        if not isinstance(error, ImportError):
            break
        error = error.__cause__ or error.__context__
    return ""


def absent(name):
    if not isinstance(name, str):
        return ""
    top = name.partition(".")[0]
    return "" if not top.isidentifier() or is_there(top) else top


def is_there(module):
    try:
        return module in sys.modules or importlib.util.find_spec(module) is not None
    except Exception:
        return True  # a cell has changed how modules are found


def advice(module):
    told = [f"{module} is not installed here."]
    if not os.path.isdir(PACKAGES):
        told = [f"{module} is not installed here, and packages cannot be installed."]
    if module in NETWORK:
        told.append("It would be of little use: there is no network.")
    there = [f"{m} ({u})" for m, u in INSTEAD.get(module, {}).items() if is_there(m)]
    if there:
        told.append(f"What is there: {'; '.join(there)}.")
    return " ".join(told)


def look_there():
    """Lets Python look for modules where the warden installs them, after all others."""
    if os.path.isdir(PACKAGES):
        sys.path.append(PACKAGES)
        os.environ["PYTHONPATH"] = PACKAGES  # of programs that cells start


def look_again():
    """Makes Python look again: something may have been installed."""
    importlib.invalidate_caches()
