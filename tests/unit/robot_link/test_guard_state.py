"""What the guard says is believed only when it can be read."""

import time
from typing import Any

import pytest

from quartet_robot_link._guard import GuardState
from quartet_safety.guard import MAX_REASON


class Link:
    """Keeps the reader of the guard's state, so that a test can say what the guard says."""

    connected = True

    def subscribe(self, topic, msg_type, *, on_message, **_):
        self.says = on_message

        class Quiet:
            def close(self):
                pass

        return Quiet()

    async def advertise(self, topic, msg_type):
        pass


def state(latched, reason=""):
    return {"message": reason, "values": [{"key": "latched", "value": latched}]}


@pytest.fixture
async def guard():
    link = Link()
    state: Any = GuardState(link, "/robot_guard/state", "/robot_guard/heartbeat")
    state.link = link
    yield state
    state.close()


@pytest.mark.parametrize(
    "message",
    [{}, {"values": []}, {"values": [{"key": "latched"}]}, {"values": 3}, state("perhaps"), state(None), state([])],
    ids=["empty", "no values", "no value", "number", "word", "none", "list"],
)
async def test_what_cannot_be_read_releases_nothing(guard, message):
    guard.link.says(state("True", "a person pressed stop"))
    with pytest.raises((LookupError, TypeError, ValueError)):
        guard.link.says(message)
    assert (guard.latched, guard.reason) == (True, "a person pressed stop")


async def test_the_guard_stops_and_releases(guard):
    assert guard.latched is False
    guard.link.says(state("True", "x" * 10_000))
    assert (guard.latched, len(guard.reason)) == (True, MAX_REASON)
    guard.link.says(state("false"))
    assert guard.latched is False


async def test_a_lapse_is_remembered_when_the_guard_runs_again(guard):
    before = time.monotonic()
    assert guard.lapse_since(before) is None
    guard.link.says(state("false", "heartbeat lapsed: moveit:1"))
    guard.link.says(state("false", "running"))
    assert guard.lapse_since(before) == "heartbeat lapsed: moveit:1"
    assert guard.lapse_since(time.monotonic() + 1.0) is None, "of an earlier motion"


async def test_a_lapse_that_holds_the_robot_counts_for_every_motion(guard):
    guard.link.says(state("false", "heartbeat lapsed: moveit:1"))
    assert guard.lapse_since(time.monotonic() + 1.0) == "heartbeat lapsed: moveit:1"
