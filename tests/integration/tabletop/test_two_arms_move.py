"""Two arms, each with the moveit server unchanged: at once where their motions keep apart, else one after the other."""

import asyncio
import json
import math

import mujoco
import numpy as np
import pytest

import quartet_moveit
from quartet_moveit.planner import Planner
from quartet_moveit.shared_space import bounds
from quartet_robot_link import Robot
from quartet_simulation.arm.body_points import BodyPoints
from quartet_simulation.tabletop.world import Tabletop, arms_at
from quartet_site import load_robot
from quartet_tool_server.run import with_heartbeat_timeout

ARMS = {"ur5": "ur5.yaml", "panda": "robot.yaml"}


@pytest.fixture(scope="module")
def tabletop_process(start_studio, tmp_path_factory):
    """The table with both arms."""
    options = ("--world", "tabletop", "--arms", "ur5,panda", "--robots", "2", "--realtime", "--heartbeat-timeout", "20")
    ready = tmp_path_factory.mktemp("tabletop") / "ready.json"
    table = start_studio(ready, *options)
    table.robots = json.loads(ready.read_text())["robots"]
    yield table
    table.end()


@pytest.fixture
async def robots(sim, tabletop_folder):
    files = [with_heartbeat_timeout(load_robot(tabletop_folder / name), 20.0) for name in ARMS.values()]
    made = [await Robot.open(file, url=one["url"], wait_s=60) for file, one in zip(files, sim.robots, strict=True)]
    yield dict(zip(ARMS, made, strict=True))
    for robot in made:
        await robot.close()


@pytest.fixture
async def servers(robots, open_over):
    return {name: await open_over(robot, quartet_moveit) for name, robot in robots.items()}


def above(robot, x, y, height=0.25):
    """Return the flange's pose for finger tips that point down over a point of the table, base frame [m]."""
    return {
        "position": [x, y, 0.752 + height + robot.file.gripper.finger_offset_m],
        "orientation": [1.0, 0.0, 0.0, 0.0],
    }


async def arms_of(sim):
    return [one["arm"] for one in (await asyncio.to_thread(sim.truth))["robots"]]


def moving(before, now):
    """Return which arms have moved."""
    return [math.dist(one, other) > 1e-3 for one, other in zip(before, now, strict=True)]


async def both_moved(sim, work):
    """Return how often both arms have moved between two looks until some work is done."""
    last, both = await arms_of(sim), 0
    while not work.done():
        now = await arms_of(sim)
        both += all(moving(last, now))
        last = now
    return both


async def test_apart_they_move_at_once(sim, robots, servers):
    work = asyncio.gather(
        *(servers[name].call("plan_and_execute", target=above(robot, 0.4, -0.25)) for name, robot in robots.items())
    )
    assert await both_moved(sim, work) > 0
    assert [one["ok"] for one in await work] == [True, True], await work
    assert sim.truth()["contacts"] == []


async def test_an_arm_waits_until_the_other_one_has_crossed_its_way(sim, robots, servers):
    """The UR5 swings over the middle of the table, to which the Panda goes meanwhile."""
    start, end = (above(robots["ur5"], 0.52, y) for y in (0.3, -0.3))
    assert (await servers["ur5"].call("plan_and_execute", target=start))["ok"]
    before = await arms_of(sim)
    swings = asyncio.create_task(servers["ur5"].call("plan_and_execute", target=end))
    while not moving(before, await arms_of(sim))[0]:
        assert not swings.done(), await swings
    middle = above(robots["panda"], 0.48, 0.0)
    comes = asyncio.create_task(servers["panda"].call("plan_and_execute", target=middle))
    assert await both_moved(sim, swings) == 0, "the Panda moved before the UR5 had passed"
    assert not comes.done()
    assert await both_moved(sim, comes) == 0
    assert (await swings)["ok"], await swings
    assert (await comes)["ok"], await comes
    assert sim.truth()["contacts"] == []


async def test_a_path_is_outdated_by_an_arm_that_came_into_its_way_while_it_was_planned(robots, servers, monkeypatch):
    ask, planning = Planner.ask, robots["panda"].file.services.plan_kinematic_path

    async def slowly(self, service, *args, **options):
        answer = await ask(self, service, *args, **options)
        if service == planning:
            moved = await servers["ur5"].call("plan_and_execute", target=above(robots["ur5"], 0.52, 0.0))
            assert moved["ok"], moved
        return answer

    monkeypatch.setattr(Planner, "ask", slowly)
    plan = await servers["panda"].call("plan_to_pose", **above(robots["panda"], 0.48, 0.0))
    assert plan["ok"], plan
    why = await servers["panda"].refused("execute_plan", "PLAN_OUTDATED", operation_id=plan["operation_id"])
    assert "has moved near the path since it was planned" in why


async def test_the_bounds_have_all_of_the_arm_in_them(robots):
    kinds = list(ARMS)
    table, rng = Tabletop.generate("swap-blocks", 0, 0, arms=arms_at(kinds)), np.random.default_rng(0)
    for (kind, robot), arm in zip(robots.items(), table.arms.values(), strict=True):
        own = [geom for geom in range(table.model.ngeom) if int(table.model.geom_bodyid[geom]) in arm.bodies]
        points = BodyPoints(table.model, own)
        for _ in range(8):
            joints = rng.uniform(np.maximum(arm.lower, -3.1), np.minimum(arm.upper, 3.1))
            path = {"joint_names": robot.file.arm.joints, "points": [{"positions": joints.tolist()}]}
            rest = (await bounds(robot, {"joint_trajectory": path}))[-len(robot.file.arm.bounds_m) :]
            table.data.qpos[table.qpos[arm.columns]] = joints
            mujoco.mj_kinematics(table.model, table.data)
            surface = points.at(table.data).reshape(-1, 3)
            low, high = (np.array(ends) for ends in zip(*rest, strict=True))
            inside = ((surface[:, None] >= low) & (surface[:, None] <= high)).all(axis=2).any(axis=1)
            assert inside.all(), (kind, joints.round(2), surface[~inside][:3].round(2))
