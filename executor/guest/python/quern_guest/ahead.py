"""ahead.py - the libraries that sessions find loaded.

They are loaded before our own files. So what every cell uses of ours lies side by
side in memory, behind all of theirs, and a session copies few pages of it.
"""

import importlib
import os
import shutil
import tempfile
import traceback
import warnings

# scikit-learn imports psutil where it is installed, and that complains at
# length when it is first imported where /proc shows processes only.
SCIENCE = "numpy pandas matplotlib.pyplot PIL.Image psutil".split()
# What our own files import and the libraries do not.
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
