"""Parts of the bus that need no Redis."""

import pytest

import quartet_bus
from quartet_bus import BusOptions, new_replica
from quartet_bus._keys import Keys
from quartet_bus._store import without_password


@pytest.mark.parametrize(
    "wrong", [{"block_ms": 0}, {"block_ms": 4001}, {"lease_s": 0}, {"delivery_cap": 0}, {"connections": 0}]
)
def test_options_that_cannot_work_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        BusOptions(**wrong)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://h:1/0", "redis://h:1/0"),
        ("redis://:pw@h:1/0", "redis://:***@h:1/0"),
        ("rediss://me:pw@h:1/0", "rediss://me:***@h:1/0"),
        ("unix:///tmp/r.sock", "unix:///tmp/r.sock"),
    ],
)
def test_a_password_is_never_shown(url, shown):
    assert without_password(url) == shown


def test_names_of_processes_differ():
    assert new_replica() != new_replica()
    assert len(new_replica()) <= 64


def test_every_key_begins_with_the_prefix():
    keys = Keys("lab")
    assert keys.journal("t1") == "lab:journal:t1"
    assert keys.done("task", "x") != keys.done("skill", "x")
    assert keys.index.startswith("lab:")


def test_the_package_exports_what_it_says():
    for name in quartet_bus.__all__:
        assert hasattr(quartet_bus, name), name


def test_what_a_dead_process_had_is_taken_up_within_five_seconds():
    """The lease has to run out, and whoever takes over looks every third of it."""
    options = BusOptions()
    assert options.lease_s + options.lease_s / 3 < 5
