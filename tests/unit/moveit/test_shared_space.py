"""Motions of two arms at one place: which may begin, which waits, which has to be planned again."""

import asyncio
import itertools
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from quartet_moveit import shared_space
from quartet_moveit.shared_space import APART_M, Box, Motion, SharedSpace
from quartet_robot_link import BridgeUnavailableError
from quartet_tool_server import ToolError


def box(x: float, size: float = 0.2) -> Box:
    return (x - size / 2, -0.1, 0.9), (x + size / 2, 0.1, 1.1)


def motion(robot: str, *x: float, place: str = "table") -> Motion:
    return Motion(robot, place, [box(one) for one in x], [box(x[-1])])


def test_motions_apart_begin_at_once():
    space = SharedSpace()
    assert space.begin(motion("ur5", 0.0, 0.1), space.now)
    assert space.begin(motion("panda", 1.0, 0.5), space.now)


def test_a_motion_that_would_cross_another_one_waits_for_its_end():
    space = SharedSpace()
    first, second = motion("ur5", 0.0, 0.3, 0.0), motion("panda", 0.6, 0.4, 0.6)
    since = space.now
    assert space.begin(first, since)
    assert not space.begin(second, since)
    space.end(first, completed=True)
    assert space.begin(second, since), "the other one has gone back"


def test_a_plan_is_outdated_when_the_other_arm_has_stopped_in_its_way():
    space = SharedSpace()
    since = space.now
    first = motion("ur5", 0.0, 0.4)
    space.begin(first, since)
    space.end(first, completed=True)
    with pytest.raises(ToolError, match="ur5 has moved near the path since it was planned; plan again"):
        space.begin(motion("panda", 0.6, 0.4), since)
    assert space.begin(motion("panda", 0.6, 0.4), space.now), "planned since, around where the other one is"


def test_only_where_the_other_arm_is_now_counts():
    space = SharedSpace()
    since = space.now
    for there in (motion("ur5", 0.0, 0.4), motion("ur5", 0.4, 0.0)):
        space.begin(there, space.now)
        space.end(there, completed=True)
    assert space.begin(motion("panda", 0.6, 0.4), since)


def test_an_arm_that_was_stopped_may_be_anywhere_on_its_way():
    space = SharedSpace()
    since = space.now
    first = motion("ur5", 0.0, 0.4, 0.0)
    space.begin(first, since)
    space.end(first, completed=False)
    with pytest.raises(ToolError):
        space.begin(motion("panda", 0.6, 0.4), since)


@pytest.mark.parametrize(("gap", "at_once"), [(APART_M - 0.001, False), (APART_M + 0.001, True)])
def test_motions_keep_a_distance(gap, at_once):
    space = SharedSpace()
    space.begin(motion("ur5", 0.0), space.now)
    assert space.begin(motion("panda", 0.2 + gap), space.now) is at_once


def test_plans_of_the_other_arm_that_wait_are_outdated_by_a_motion():
    space, why = SharedSpace(), dict[str, list[str]](ur5=[], panda=[])
    for robot, told in why.items():
        space.arms["table", robot] = told.append
    assert space.is_shared("ur5", "table")
    assert not space.is_shared("ur5", "kitchen")
    space.begin(motion("ur5", 0.0), space.now)
    assert why == {"ur5": [], "panda": ["ur5 has moved"]}


def test_another_place_and_the_arm_itself_are_in_nobodys_way():
    space = SharedSpace()
    assert space.begin(motion("ur5", 0.0), space.now)
    assert space.begin(motion("ur5", 0.0), space.now)
    assert space.begin(motion("panda", 0.0, place="kitchen"), space.now)


@pytest.mark.parametrize("repeats", [1, 2])
def test_links_on_a_way_with_bends_are_nearer_to_their_boxes_than_arms_to_each_other(repeats):
    """An arm of three joints in a plane reaches 1.2 m; a point of a trajectory may be given twice."""
    rng = np.random.default_rng(0)

    def links(joints: Any) -> Any:
        angles = np.cumsum(joints)
        return np.cumsum(0.4 * np.column_stack([np.cos(angles), np.sin(angles)]), axis=0)

    for _ in range(30):
        corners = np.cumsum([rng.uniform(-1, 1, 3), *rng.uniform(-0.3, 0.3, (6, 3))], axis=0)
        ways = [np.linspace(a, b, 10, endpoint=False) for a, b in itertools.pairwise(corners)]
        path = np.repeat(np.vstack([*ways, corners[-1]]), repeats, axis=0).tolist()
        placed = np.array([links(joints) for joints in shared_space._sampled(path)])
        low, high = np.minimum(placed[:-1], placed[1:]), np.maximum(placed[:-1], placed[1:])
        for joints in path:
            outside = np.maximum(np.maximum(low - links(joints), links(joints) - high), 0.0).max(axis=2).min(axis=0)
            assert outside.max() < 0.02 < APART_M


async def test_an_arm_whose_outcome_is_lost_counts_as_moving_until_the_guard_has_stopped_it(monkeypatch):
    async def bounds(*_: Any) -> list[Box]:
        return [box(0.0)]

    async def run(*_: Any, **__: Any) -> None:
        raise BridgeUnavailableError("the connection was lost")

    async def unless_canceled(work: Any) -> Any:
        return await work

    told = asyncio.Event()
    space = SharedSpace(arms={("table", "ur5"): print, ("table", "panda"): lambda _: told.set()})
    for name, value in {"SPACE": space, "bounds": bounds, "run": run}.items():
        monkeypatch.setattr(shared_space, name, value)
    heartbeat = SimpleNamespace(guard_timeout_s=0.1, every_s=0.02)
    arm = SimpleNamespace(motion_timeout_s=1.0, bounds_m={"flange": 0.1})
    file = SimpleNamespace(name="ur5", arm=arm, heartbeat=heartbeat, actions=SimpleNamespace(execute_trajectory="/go"))
    server: Any = SimpleNamespace(robot=SimpleNamespace(file=file), site=SimpleNamespace(name="table"))
    lease: Any = SimpleNamespace(unless_canceled=unless_canceled)
    begun, since = time.monotonic(), space.now
    with pytest.raises(BridgeUnavailableError):
        await shared_space.execute(server, lease, {"trajectory": {}}, since)
    assert not space.begin(motion("panda", 0.2), space.now)
    told.clear()
    await asyncio.wait_for(told.wait(), 5.0)
    assert time.monotonic() - begun >= heartbeat.guard_timeout_s
    with pytest.raises(ToolError, match="ur5 has moved near the path"):
        space.begin(motion("panda", 0.2), since)
