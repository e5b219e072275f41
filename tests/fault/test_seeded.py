"""The checker sees each of the bugs that are sown for it."""

import pytest
from seeded import SEEDS, try_seed

WITHIN_MS = 60000


@pytest.mark.parametrize("seed", SEEDS, ids=[seed.bug for seed in SEEDS])
def test_a_bug_is_seen(seed):
    assert seed.seen_by in try_seed(seed, True, WITHIN_MS)


@pytest.mark.parametrize("seed", SEEDS, ids=[seed.bug for seed in SEEDS])
def test_without_it_nothing_is(seed):
    assert try_seed(seed, False, WITHIN_MS) == {}
