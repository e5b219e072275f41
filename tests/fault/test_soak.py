"""A short one; tests/fault/soak.py takes a number for a longer one."""

from soak import soak


def test_nothing_is_left_of_sessions_that_were_killed():
    assert soak(240) == []
