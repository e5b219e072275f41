"""Two versions in one fleet, one after the other: of the function library alone, or
of consumers too when there is an older build to be had.
"""

import os
import re

from library import LIBRARY

PATH_OF_LIBRARY = os.path.join("schemas", "redis", "library.lua")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Upgrade:
    """older: the folder of an older build; empty: there is none."""

    def __init__(self, older):
        self.older, self.done = older, False

    def library(self):
        """What is there when the fleet begins; None: the consumers' own."""
        return read(os.path.join(self.older, PATH_OF_LIBRARY)) if self.older else None

    def hiring(self):
        """Settings of who is hired now."""
        if self.done or not self.older:
            return {}
        return {"program": os.path.join(self.older, "bin", "quern-consumer")}

    def now(self, fleet):
        """From here on who is hired is new; or the library is."""
        self.done = True
        fleet.fault("upgrade")
        if not self.older:
            fleet.db.function_load(raised(read(LIBRARY)), replace=True)


def raised(source):
    """The same library, of a build of tomorrow."""
    source, count = re.subn(
        r"local BUILD = (\d+)", lambda m: f"local BUILD = {int(m[1]) + 1}", source
    )
    assert count == 1
    return source
