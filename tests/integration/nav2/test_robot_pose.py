"""What /metrics tells of the robot itself."""

from typing import Any

import pytest

import quartet_nav2
from quartet_tool_server import metrics as names


def sample(hands: Any, name: str) -> float | None:
    hands.server.measure()
    return hands.server.metrics.registry.get_sample_value(name, {"server": "nav2", "robot": "summit"})


async def test_pose_and_battery_are_those_of_the_robot(open_server, sim, until):
    hands = await open_server(quartet_nav2)
    assert sample(hands, names.BATTERY) is None, "nothing is told before it is known"
    # The world of the fast simulation moves on while something is done in it.
    before = (await hands.call("get_robot_pose"))["pose"]
    moved = await hands.call("drive_on_heading", distance=0.3)
    assert moved["ok"], moved
    x, y, yaw = sim.truth()["robot"]["pose"]
    await until(lambda: sample(hands, names.POSE_X) == pytest.approx(x, abs=0.1))
    assert sample(hands, names.POSE_Y) == pytest.approx(y, abs=0.1)
    assert sample(hands, names.POSE_YAW) == pytest.approx(yaw, abs=0.1)
    assert sample(hands, names.POSE_X) != before["x"] or sample(hands, names.POSE_Y) != before["y"]
    await until(lambda: (sample(hands, names.BATTERY) or 0) > 0.5)


async def test_what_the_gate_and_the_bridge_do_is_told_from_the_start(open_server):
    hands = await open_server(quartet_nav2)
    assert sample(hands, names.BRIDGE) == 1
    assert sample(hands, names.GUARD_LATCHED) == 0
    assert sample(hands, names.LAPSES) == 0
    known = {"server": "nav2", "robot": "summit", "tool": "spin_robot", "code": "NONE"}
    assert hands.server.metrics.registry.get_sample_value("quartet_tool_calls_total", known) == 0
    for sender in ("caller", "server"):
        labels = {"server": "nav2", "robot": "summit", "sender": sender}
        assert hands.server.metrics.registry.get_sample_value(names.HEARTBEAT_AGE, labels) == 0
