"""Routes, paths, docking and the life of Nav2 in the simulated studio."""

import asyncio
import math

import pytest

import quartet_nav2
from quartet_robot_link import Robot


@pytest.fixture
async def nav2(open_server):
    return await open_server(quartet_nav2)


def place(sim) -> list[float]:
    return sim.truth()["robot"]["pose"]


# --- follow_waypoints ----------------------------------------------------------------------------------------------


async def test_waypoints_are_driven_to_in_order(nav2, sim):
    route = [{"x": 0.3, "y": -0.6, "yaw": 1.0}, {"x": 0.3, "y": 0.4}]
    result = await nav2.call("follow_waypoints", waypoints=route)
    assert result["ok"], result
    assert (result["waypoints"], result["reached"], result["missed"]) == (2, 2, [])
    x, y, yaw = place(sim)
    assert math.dist((x, y), (0.3, 0.4)) < 0.15
    assert abs(yaw) < 0.2
    assert result["duration_s"] > 2


async def test_the_first_waypoint_that_is_missed_ends_the_route(nav2, sim):
    route = [{"x": 0.3, "y": -0.3}, {"x": 1.55, "y": 0.0}, {"x": 0.0, "y": 0.5}]
    result = await nav2.call("follow_waypoints", waypoints=route)
    assert result["error_code"] == "NAVIGATION_FAILED"
    assert "Failed to process waypoint 1" in result["message"]
    assert "missed says at which waypoint" in result["message"]
    assert result["missed"] == [{"index": 1, "nav2_error_code": 206, "nav2_error": "PLANNER_GOAL_OCCUPIED"}]
    assert result["reached"] == 1
    assert math.dist(place(sim)[:2], (0.3, -0.3)) < 0.15


async def test_invalid_waypoints_move_nothing(nav2, sim):
    before = sim.truth()["time"]
    for waypoints, words in [
        ([], ("0 waypoints", "1 to 100")),
        ([{"x": 0, "y": 0}] * 101, ("101 waypoints", "1 to 100")),
        ([{"x": 0, "y": 0}, {"x": 1}], ("waypoint 1", "y", "required")),
        ([{"x": "NaN", "y": 0}], ("waypoint 0", "x", "finite")),
        ([{"x": 0, "y": 0, "z": 1}], ("waypoint 0", "z", "Extra")),
    ]:
        message = await nav2.refused("follow_waypoints", "INVALID_WAYPOINTS", waypoints=waypoints)
        for word in words:
            assert word in message
        assert sim.truth()["time"] == before


async def test_a_route_can_be_canceled(nav2, realtime, until):
    start = place(realtime)
    route = asyncio.create_task(nav2.call("follow_waypoints", waypoints=[{"x": 0.3, "y": -1.2}, {"x": 0.0, "y": 1.0}]))
    await until(lambda: route.done() or math.dist(place(realtime), start) > 0.03)
    assert not route.done(), route.result()
    assert "follow_waypoints" in await nav2.refused("navigate_to_pose", "BUSY", x=0, y=0)
    canceled = await nav2.call("cancel_navigation")
    assert "follow_waypoints" in canceled["canceled"]
    assert canceled["standstill"] is True
    result = await route
    assert result["error_code"] == "NAVIGATION_CANCELED"
    assert "cancel_navigation" in result["message"]


# --- paths ---------------------------------------------------------------------------------------------------------


async def test_a_path_from_the_robot(nav2, sim):
    before = place(sim)
    result = await nav2.call("get_path_from_robot", goal_x=0.3, goal_y=-1.0, goal_yaw=1.0)
    assert result["ok"], result
    first, last = result["poses"][0], result["poses"][-1]
    assert math.dist((first["x"], first["y"]), before[:2]) < 0.1
    assert (last["x"], last["y"], last["yaw"]) == pytest.approx((0.3, -1.0, 1.0), abs=0.01)
    assert last["frame_id"] == "map"
    assert result["length_m"] >= math.dist((first["x"], first["y"]), (0.3, -1.0)) - 0.01
    assert len(result["poses"]) <= 40
    assert result["num_poses"] >= len(result["poses"])
    assert place(sim) == before, "nothing has moved"


async def test_a_path_between_two_poses_has_the_length_of_its_way(nav2, sim):
    there = await nav2.call("get_path", start_x=0.3, start_y=-1.0, goal_x=0.3, goal_y=0.4)
    back = await nav2.call("get_path", start_x=0.3, start_y=0.4, goal_x=0.3, goal_y=-1.0, planner_id="GridBased")
    assert there["length_m"] == pytest.approx(1.4, abs=0.3)
    assert back["length_m"] == pytest.approx(there["length_m"], abs=0.1)
    assert (there["poses"][0]["x"], there["poses"][0]["y"]) == pytest.approx((0.3, -1.0))


async def test_a_wait_lets_the_robots_time_go_by_and_nothing_else(nav2, sim):
    before, began = place(sim), sim.truth()["time"]
    result = await nav2.call("wait", seconds=3.0)
    assert result["ok"], result
    assert result["waited_s"] == pytest.approx(3.0, abs=0.2)
    assert sim.truth()["time"] - began >= 2.9
    assert place(sim) == pytest.approx(before, abs=1e-3)
    for wrong in (0.0, -1.0, 61.0):
        assert f"{wrong:g}" in await nav2.refused("wait", "INVALID_PARAMETERS", seconds=wrong)


async def test_a_path_that_cannot_be_has_nav2s_code(nav2):
    for tool, arguments, name in [
        ("get_path_from_robot", {"goal_x": 1.55, "goal_y": 0.0}, "PLANNER_GOAL_OCCUPIED"),
        ("get_path_from_robot", {"goal_x": 40.0, "goal_y": 0.0}, "PLANNER_GOAL_OUTSIDE_MAP"),
        ("get_path_from_robot", {"goal_x": 0.0, "goal_y": 0.0, "planner_id": "Magic"}, "PLANNER_INVALID_PLANNER"),
        ("get_path", {"start_x": 90, "start_y": 0, "goal_x": 0, "goal_y": 0}, "PLANNER_START_OUTSIDE_MAP"),
        ("get_path", {"start_x": 1.55, "start_y": 0, "goal_x": 0, "goal_y": 0}, "PLANNER_START_OCCUPIED"),
    ]:
        result = await nav2.call(tool, **arguments)
        assert result["error_code"] == "NAVIGATION_FAILED"
        assert result["nav2_error"] == name
        assert name in result["message"]
        assert result["poses"] == []


async def test_a_path_is_found_while_the_robot_drives_and_while_it_is_stopped(nav2, realtime, until):
    start = place(realtime)
    motion = asyncio.create_task(nav2.call("drive_on_heading", distance=1.0, speed=0.1))
    await until(lambda: math.dist(place(realtime), start) > 0.03)
    assert (await nav2.call("get_path_from_robot", goal_x=0.3, goal_y=-1.0))["ok"]
    link, services = nav2.server.robot.link, nav2.server.robot.file.services
    try:
        await link.call_service(services.guard_stop)
        assert (await motion)["error_code"] == "STOPPED"
        assert (await nav2.call("get_path_from_robot", goal_x=0.3, goal_y=-1.0))["ok"]
        await nav2.refused("follow_waypoints", "STOPPED", waypoints=[{"x": 0, "y": 0}])
    finally:
        await realtime.reset_guard(nav2.server.robot)


# --- docking -------------------------------------------------------------------------------------------------------


async def test_docking_at_a_pose_and_undocking(nav2, sim):
    result = await nav2.call("dock_robot", x=0.3, y=-1.0, yaw=-1.5708)
    assert result["ok"], result
    x, y, yaw = place(sim)
    assert math.dist((x, y), (0.3, -1.0)) < 0.12
    assert abs(yaw + 1.5708) < 0.2
    again = await nav2.call("undock_robot")
    assert again["ok"], again
    assert math.dist(place(sim)[:2], (0.3, -0.3)) < 0.15


async def test_docking_at_the_known_dock(nav2, sim, site_file):
    result = await nav2.call("dock_robot", dock_id="home_dock", dock_type="simple_non_charging_dock")
    assert result["ok"], result
    entry = site_file.areas[0].entry
    assert math.dist(place(sim)[:2], (entry.x, entry.y)) < 0.12


async def test_a_dock_that_cannot_be_is_named_and_nothing_moves(nav2, sim):
    before = place(sim)
    for arguments, code, word in [
        ({"dock_id": "mars"}, "NAVIGATION_FAILED", "DOCKING_DOCK_NOT_IN_DB"),
        ({"dock_id": "home_dock", "dock_type": "tower"}, "NAVIGATION_FAILED", "DOCKING_DOCK_NOT_VALID"),
        ({"x": 40.0, "y": 0.0}, "NAVIGATION_FAILED", "DOCKING_FAILED_TO_STAGE"),
        ({}, "INVALID_PARAMETERS", "dock_id"),
        ({"x": 1.0}, "INVALID_PARAMETERS", "x and y"),
        ({"x": 1.0, "y": 0.0, "dock_id": "home_dock"}, "INVALID_PARAMETERS", "not both"),
    ]:
        assert word in await nav2.refused("dock_robot", code, **arguments)
        assert place(sim) == pytest.approx(before, abs=0.01)


async def test_docking_from_beside_the_dock_is_not_called_done(nav2, sim):
    x, y, yaw = place(sim)
    aside = {"x": x + 0.2 * math.sin(yaw), "y": y - 0.2 * math.cos(yaw)}
    result = await nav2.call("dock_robot", nav_to_dock=False, yaw=yaw, **aside)
    assert result["nav2_error"] == "DOCKING_FAILED_TO_CONTROL"


# --- nav2_lifecycle ------------------------------------------------------------------------------------------------


async def test_after_a_shutdown_nothing_moves_until_the_next_startup(nav2, sim):
    before = place(sim)
    result = await nav2.call("nav2_lifecycle", operation="shutdown")
    assert (result["operation"], result["done"]) == ("shutdown", True)
    for tool, arguments in (
        ("navigate_to_pose", {"x": 0.3, "y": 0}),
        ("spin_robot", {"angle": 0.5}),
        ("follow_waypoints", {"waypoints": [{"x": 0, "y": 0}]}),
        ("dock_robot", {"dock_id": "home_dock"}),
        ("get_path_from_robot", {"goal_x": 0.3, "goal_y": 0}),
        ("wait", {"seconds": 1.0}),
    ):
        assert "not active" in await nav2.refused(tool, "NAV2_NOT_ACTIVE", **arguments)
    assert place(sim) == pytest.approx(before, abs=0.001)
    assert (await nav2.call("nav2_lifecycle", operation="startup"))["done"]
    assert (await nav2.call("spin_robot", angle=0.3))["ok"]


async def test_lifecycle_is_refused_while_the_robot_drives(nav2, realtime, until):
    start = place(realtime)
    motion = asyncio.create_task(nav2.call("drive_on_heading", distance=1.0, speed=0.1))
    await until(lambda: math.dist(place(realtime), start) > 0.03)
    assert "drive_on_heading" in await nav2.refused("nav2_lifecycle", "BUSY", operation="shutdown")
    await nav2.call("cancel_navigation")
    await motion


async def test_lifecycle_of_a_robot_without_a_manager(open_server, open_over, sim, robot_file):
    services = robot_file.services.model_copy(update={"manage_navigation": "/not_there/manage_nodes"})
    robot = await Robot.open(robot_file.model_copy(update={"services": services}), url=sim.url, wait_s=60)
    try:
        nav2 = await open_over(robot, quartet_nav2)
        assert "/not_there" in await nav2.refused("nav2_lifecycle", "NAV2_NOT_ACTIVE", operation="startup")
    finally:
        await robot.close()
    nav2 = await open_server(quartet_nav2)
    assert "restart" in await nav2.refused("nav2_lifecycle", "INVALID_PARAMETERS", operation="restart")


async def test_annotations_tell_what_moves(nav2):
    tools = {tool.name: tool.annotations for tool in await nav2.client.list_tools()}
    reading = {name for name, hints in tools.items() if hints.read_only_hint}
    assert reading == {"get_robot_pose", "get_path", "get_path_from_robot", "wait"}
    assert {name for name, hints in tools.items() if not hints.destructive_hint} == {*reading, "cancel_navigation"}
