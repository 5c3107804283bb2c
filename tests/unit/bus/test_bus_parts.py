"""Parts of the bus that need no Redis."""

import hashlib
import json

import pytest

import quartet_bus
from quartet_bus import BusOptions, functions, new_replica
from quartet_bus._keys import Keys
from quartet_bus.functions.queues import Admit, Finish


@pytest.mark.parametrize(
    "wrong", [{"block_ms": 0}, {"block_ms": 4001}, {"lease_s": 0}, {"delivery_cap": 0}, {"connections": 0}]
)
def test_options_that_cannot_work_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        BusOptions(**wrong)


def test_names_of_processes_differ():
    assert new_replica() != new_replica()
    assert len(new_replica()) <= 64


def test_every_key_begins_with_the_prefix():
    keys = Keys("lab")
    assert keys.journal("t1") == "lab:journal:t1"
    assert keys.done("task", "x") != keys.done("skill", "x")
    assert keys.index.startswith("lab:")


def test_a_function_takes_keys_and_arguments_by_name():
    keys = Keys("lab")
    call = Finish(
        stream=keys.skill_stream("pick"),
        done=keys.done("skill:pick", "r1"),
        reply_to=None,
        group="pick",
        entry_id="1-1",
        result=b"{}",
        expiry_ms=9,
        channel="c",
    )
    name = f"{functions.LIBRARY}_finish"
    assert call.command() == (
        "FCALL",
        name,
        2,
        "lab:skill:pick",
        "lab:done:skill:pick:r1",
        "pick",
        "1-1",
        b"{}",
        9,
        "c",
    )
    sent = [str(part).encode() if not isinstance(part, bytes) else part for part in call.command()]
    fields = Finish.from_command(sent)
    assert fields is not None
    assert (fields["result"], fields["entry_id"], "reply_to" in fields) == (b"{}", b"1-1", False)
    assert Admit.from_command(sent) is None


def test_every_function_is_in_the_library():
    made = {
        one
        for module in (functions.queues, functions.records, functions.requests, functions.tasks, functions)
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, functions.Function) and "body" in dir(one)
    }
    assert made == set(functions.FUNCTIONS)


def test_a_changed_library_has_a_new_version():
    """Old and new processes stand beside each other in an update: raise VERSION with keys, arguments or answers."""
    fields = [(one.name(), *one.signature()[:2]) for one in functions.FUNCTIONS]
    digest = hashlib.sha256(json.dumps(sorted(fields)).encode()).hexdigest()[:12]
    assert {functions.VERSION: digest} == {6: "92119e9ba748"}


def test_the_package_exports_what_it_says():
    for name in quartet_bus.__all__:
        assert hasattr(quartet_bus, name), name


def test_what_a_dead_process_had_is_taken_up_within_five_seconds():
    """The lease has to run out, and whoever takes over looks every third of it."""
    options = BusOptions()
    assert options.lease_s + options.lease_s / 3 < 5
