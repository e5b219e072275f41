"""Whatever ends a cell, the session is what it was before."""

import rollback


def test_the_state_is_kept(capsys):
    with capsys.disabled():
        kept, all = rollback.count(5)
    assert kept == all == 20
