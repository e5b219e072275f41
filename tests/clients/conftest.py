"""A failed assert of the modules that the tests share shows its values, too."""

import pytest

pytest.register_assert_rewrite("expectations", "golden")
