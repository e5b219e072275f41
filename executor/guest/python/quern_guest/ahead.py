"""ahead.py - the libraries that sessions find loaded.

They come before our own files: what every cell uses of ours then lies side by
side, behind all of theirs, and a session copies few pages for it.
"""

import importlib
import os
import shutil
import tempfile
import traceback
import warnings

# scikit-learn brings psutil along where it is installed, which complains at
# length when it is first imported where /proc shows processes only.
SCIENCE = "numpy pandas matplotlib.pyplot PIL.Image psutil".split()
# What our own files import that these have not.
OURS = (
    "asyncio cloudpickle cProfile faulthandler mimetypes pstats pydoc runpy "
    "statistics timeit"
).split()


def load(profile):
    if profile != "science":
        return
    folder = tempfile.mkdtemp(prefix="quern-guest-")
    os.environ["MPLCONFIGDIR"] = folder  # sessions make their own of that name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in SCIENCE + OURS:
            load_one(name)
    shutil.rmtree(folder, ignore_errors=True)


def load_one(name):
    try:
        importlib.import_module(name)
    except ImportError:
        pass  # not installed
    except Exception:  # a cell that imports it will see the same
        traceback.print_exc()
