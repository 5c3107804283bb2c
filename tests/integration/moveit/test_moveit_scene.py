"""Collision objects: the arm's planner keeps clear of what it was told, in the simulated studio."""

import math

import pytest

import quartet_moveit
import quartet_nav2
from quartet_robot_link import Robot

DOWN = [1, 0, 0, 0]
LEFT, RIGHT = [0.6, 0.35, 0.8], [0.6, -0.35, 0.8]
WALL = {"object_id": "wall", "position": [0.7, 0.0, 0.75], "dimensions": [0.2, 0.04, 0.5]}


@pytest.fixture
async def moveit(open_server):
    return await open_server(quartet_moveit)


async def names(moveit) -> list[str]:
    return [item["object_id"] for item in (await moveit.call("list_collision_objects"))["objects"]]


async def test_objects_are_added_listed_replaced_and_removed(moveit, sim):
    assert await names(moveit) == []
    added = await moveit.call("add_collision_box", **WALL)
    assert added["object"]["dimensions_m"] == WALL["dimensions"]
    turned = (await moveit.server.robot.transform("map", "base_footprint")).apply((0.5, 0.5, 1.0))
    await moveit.call("add_collision_sphere", object_id="lamp", position=turned, radius=0.1, frame_id="map")
    lamp, wall = (await moveit.call("list_collision_objects"))["objects"]
    assert (lamp["object_id"], lamp["shape"], lamp["dimensions_m"]) == ("lamp", "sphere", [0.1])
    assert lamp["pose"]["frame_id"] == "base_footprint"
    assert math.dist(lamp["pose"]["position"], (0.5, 0.5, 1.0)) < 0.05
    assert math.dist(wall["pose"]["position"], WALL["position"]) < 0.01
    await moveit.call("add_collision_box", **WALL | {"dimensions": [0.1, 0.1, 0.1]})
    assert (await moveit.call("list_collision_objects"))["objects"][1]["dimensions_m"] == [0.1, 0.1, 0.1]
    assert (await moveit.call("remove_collision_object", object_id="lamp"))["object"]["object_id"] == "lamp"
    assert await names(moveit) == ["wall"]
    assert (await moveit.call("clear_planning_scene"))["removed_objects"] == ["wall"]
    assert await names(moveit) == []


async def test_the_arm_goes_around_a_wall(moveit, sim, robot_file):
    """The straight way is through it: half of that way is in collision with the wall, and the arm gets there still."""
    assert (await moveit.call("plan_and_execute", target={"position": LEFT, "orientation": DOWN}))["ok"]
    direct = await moveit.call("plan_to_pose", position=RIGHT, orientation=DOWN)
    assert direct["ok"], direct
    here = (await moveit.call("get_current_joint_state"))["joint_positions"]
    halfway = [(a + b) / 2 for a, b in zip(here, direct["final_positions"], strict=True)]
    assert (await moveit.call("check_state_collision", joint_positions=halfway))["in_collision"] is False
    await moveit.call("add_collision_box", **WALL)
    touched = await moveit.call("check_state_collision", joint_positions=halfway)
    assert touched["in_collision"] is True
    assert any("wall" in (contact["first"], contact["second"]) for contact in touched["contacts"])
    assert (await moveit.refused("execute_plan", "PLAN_OUTDATED", operation_id=direct["operation_id"])).count("'wall'")
    around = await moveit.call("plan_to_joint_state", joint_positions=direct["final_positions"], timeout=15)
    assert around["ok"], around
    # As long only where a joint that the detour does not need is the slowest.
    assert around["planned_duration_s"] >= direct["planned_duration_s"]
    trajectory = await planned(moveit, robot_file, direct["final_positions"])
    for point in trajectory:
        assert not (await moveit.call("check_state_collision", joint_positions=point))["in_collision"]
    assert (await moveit.call("execute_plan"))["ok"]
    assert math.dist((await moveit.call("get_current_pose"))["pose"]["position"], RIGHT) < 0.01


async def planned(moveit, robot_file, joints) -> list[list[float]]:
    """A few points of a path to `joints` as MoveIt plans it now."""
    constraints = {
        "joint_constraints": [
            {"joint_name": name, "position": value, "tolerance_above": 0.001, "tolerance_below": 0.001, "weight": 1.0}
            for name, value in zip(robot_file.arm.joints, joints, strict=True)
        ]
    }
    request = {"group_name": "manipulator", "goal_constraints": [constraints], "allowed_planning_time": 15.0}
    answer = await moveit.server.robot.link.call_service(
        "/plan_kinematic_path", {"motion_plan_request": request}, timeout_s=30
    )
    points = answer["motion_plan_response"]["trajectory"]["joint_trajectory"]["points"]
    assert len(points) > 5
    return [point["positions"] for point in points[:: max(1, len(points) // 12)]]


async def test_a_goal_inside_an_obstacle_is_refused(moveit, sim):
    await moveit.call("add_collision_sphere", object_id="ball", position=LEFT, radius=0.2)
    before = sim.truth()["robot"]["arm"]
    await moveit.refused("plan_and_execute", "GOAL_IN_COLLISION", target={"position": LEFT, "orientation": DOWN})
    await moveit.refused("plan_to_pose", "GOAL_IN_COLLISION", position=LEFT, orientation=DOWN)
    ik = await moveit.refused("compute_ik", "OUT_OF_REACH", position=LEFT, orientation=DOWN, attempts=2)
    assert "NO_IK_SOLUTION" in ik
    assert sim.truth()["robot"]["arm"] == pytest.approx(before, abs=0.002)
    await moveit.call("remove_collision_object", object_id="ball")
    assert (await moveit.call("plan_and_execute", target={"position": LEFT, "orientation": DOWN}))["ok"]


async def test_what_is_attached_moves_with_the_hand_and_is_kept_clear(moveit, sim):
    """A stick half a metre long in the hand: the descent that is free without it would push it through the floor."""
    above, low = [0.6, 0.0, 0.8], [0.6, 0.0, 0.5]
    assert (await moveit.call("plan_and_execute", target={"position": above, "orientation": DOWN}))["ok"]
    stick = {"object_id": "stick", "position": [0.6, 0.0, 0.48], "dimensions": [0.03, 0.03, 0.5]}
    await moveit.call("add_collision_box", **stick)
    plan = await moveit.call("attach_object", object_id="stick")
    assert plan["object"]["attached_to"] == "arm_tool0"
    assert "detach_object" in await moveit.refused("remove_collision_object", "UNKNOWN_OBJECT", object_id="stick")
    assert "detach_object" in await moveit.refused("add_collision_box", "INVALID_PARAMETERS", **stick)
    blocked = await moveit.call("plan_cartesian_path", position=low)
    assert blocked["error_code"] == "PATH_INCOMPLETE", blocked
    aside = [0.6, 0.2, 0.8]
    assert (await moveit.call("plan_cartesian_path", position=aside))["ok"]
    (item,) = (await moveit.call("list_collision_objects"))["objects"]
    assert math.dist(item["pose"]["position"], (0.6, 0.2, 0.48)) < 0.02, "it has moved with the hand"
    left = await moveit.call("detach_object", object_id="stick")
    assert left["object"].get("attached_to") is None
    assert math.dist(left["object"]["pose"]["position"], (0.6, 0.2, 0.48)) < 0.02
    await moveit.refused("plan_cartesian_path", "PATH_INCOMPLETE", position=low)
    await moveit.call("remove_collision_object", object_id="stick")
    assert (await moveit.call("plan_cartesian_path", position=[0.6, 0.2, 0.5]))["ok"]


async def test_an_incomplete_path_without_links_of_the_gripper_names_them(robot, sim, robot_file, open_over):
    """The file of a robot that lacks gripper.links is the likely cause of an obstacle below the fingers."""
    above, box = [0.6, 0.0, 0.8], {"object_id": "box", "position": [0.6, 0.0, 0.5], "dimensions": [0.2, 0.2, 0.1]}
    moveit = await open_over(robot, quartet_moveit)
    assert (await moveit.call("plan_and_execute", target={"position": above, "orientation": DOWN}))["ok"]
    await moveit.call("add_collision_box", **box)
    down = {"position": [0.6, 0.0, 0.5]}
    assert "gripper.links" not in await moveit.refused("plan_cartesian_path", "PATH_INCOMPLETE", **down)
    gripper = robot_file.gripper.model_copy(update={"links": []})
    bare = await Robot.open(robot_file.model_copy(update={"gripper": gripper}), url=sim.url, wait_s=60)
    moveit = await open_over(bare, quartet_moveit, fence=2)
    assert "gripper.links" in await moveit.refused("plan_cartesian_path", "PATH_INCOMPLETE", **down)
    await bare.close()


async def test_an_arm_whose_wrist_is_in_the_way_takes_other_joint_positions_before_it_goes_down(moveit, sim):
    """A tall neighbour stands where the wrist would come; the hand itself has room."""
    above, low = [0.6, 0.0, 0.8], [0.6, 0.0, 0.55]
    assert (await moveit.call("plan_and_execute", target={"position": above, "orientation": DOWN}))["ok"]
    before = sim.truth()["robot"]["arm"]
    await block_wrist(moveit, -0.25)
    result = await moveit.call("plan_cartesian_path", position=low)
    assert result["ok"], result
    assert math.dist(result["pose"]["position"], low) < 0.01
    after = sim.truth()["robot"]["arm"]
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) > 1.0, "the same joints only further on"
    # On the way up nothing is tried: the hand is among things there.
    await moveit.call("clear_planning_scene")
    await block_wrist(moveit, 0.25)
    message = await moveit.refused("plan_cartesian_path", "PATH_INCOMPLETE", position=above)
    assert "nothing moved" in message
    assert sim.truth()["robot"]["arm"] == pytest.approx(after, abs=0.005)


async def block_wrist(moveit, higher_m: float) -> None:
    """Put a box so much above (or below) the arm's first wrist link, beside the way of the hand."""
    x, y, z = (await moveit.server.robot.transform("base_footprint", "arm_wrist_1_link")).translation
    box = {"object_id": "carton", "position": [x, y, z + higher_m], "dimensions": [0.05, 0.05, 0.2]}
    await moveit.call("add_collision_box", **box)


@pytest.mark.parametrize("why", ["holds", "halfway", "up"])
async def test_an_arm_takes_other_joint_positions_with_a_free_and_empty_hand_on_its_way_down_only(moveit, sim, why):
    """What is held would swing, and a hand that has stopped halfway may be among things that no camera shows."""
    if why == "holds":
        sim.post("/grasp", object="red coke can")
    above, low = [0.6, 0.0, 0.85], [0.6, 0.0, 0.6]
    assert (await moveit.call("plan_and_execute", target={"position": above, "orientation": DOWN}))["ok"]
    if why == "halfway":
        assert (await moveit.call("plan_cartesian_path", position=[0.6, 0.0, 0.84]))["ok"]
    before = sim.truth()["robot"]["arm"]
    await block_wrist(moveit, 0.25 if why == "up" else -0.25)
    goal = [0.6, 0.0, 1.05] if why == "up" else low
    assert "nothing moved" in await moveit.refused("plan_cartesian_path", "PATH_INCOMPLETE", position=goal)
    assert sim.truth()["robot"]["arm"] == pytest.approx(before, abs=0.005)


async def test_a_stop_on_the_way_to_other_joint_positions_is_told_as_an_incomplete_path(moveit, sim, monkeypatch):
    """From there no straight way leads back to where the hand came from."""
    from quartet_moveit import cartesian

    async def stopped(*_):
        return {"ok": False, "error_code": "EXECUTION_FAILED", "message": "protective stop", "executed": False}

    above, low = [0.6, 0.0, 0.8], [0.6, 0.0, 0.55]
    assert (await moveit.call("plan_and_execute", target={"position": above, "orientation": DOWN}))["ok"]
    await block_wrist(moveit, -0.25)
    monkeypatch.setattr(cartesian, "move", stopped)
    message = await moveit.refused("plan_cartesian_path", "PATH_INCOMPLETE", position=low)
    assert "stopped on its way to other joint positions: protective stop" in message


async def test_a_wrist_that_is_in_the_way_however_the_arm_bends_moves_nothing(moveit, sim):
    above, low = [0.6, 0.0, 0.8], [0.6, 0.0, 0.55]
    assert (await moveit.call("plan_and_execute", target={"position": above, "orientation": DOWN}))["ok"]
    before = sim.truth()["robot"]["arm"]
    for number, (x, y) in enumerate([(0.45, 0.0), (0.75, 0.0), (0.6, 0.16), (0.6, -0.16)]):
        beside = {"object_id": f"wall {number}", "position": [x, y, 0.6], "dimensions": [0.04, 0.04, 0.16]}
        beside["dimensions"] = [0.04, 0.4, 0.16] if y == 0 else [0.4, 0.04, 0.16]
        await moveit.call("add_collision_box", **beside)
    assert "nothing moved" in await moveit.refused("plan_cartesian_path", "PATH_INCOMPLETE", position=low)
    assert sim.truth()["robot"]["arm"] == pytest.approx(before, abs=0.005)


async def test_an_obstacle_stays_where_it_is_when_the_robot_drives(moveit, open_server, sim):
    nav2 = await open_server(quartet_nav2)
    await moveit.call("add_collision_box", object_id="box", position=[1.5, 0.0, 0.5], dimensions=[0.1, 0.1, 0.1])
    assert (await nav2.call("drive_on_heading", distance=0.3))["ok"]
    (item,) = (await moveit.call("list_collision_objects"))["objects"]
    assert math.dist(item["pose"]["position"], (1.2, 0.0, 0.5)) < 0.05


async def test_what_cannot_be_is_named(moveit):
    for tool, arguments, code, words in [
        ("add_collision_box", WALL | {"dimensions": [1, 1]}, "INVALID_PARAMETERS", ("dimensions", "at least 3")),
        ("add_collision_box", WALL | {"dimensions": [1, 1, 0]}, "INVALID_PARAMETERS", ("dimensions", "greater than 0")),
        ("add_collision_box", WALL | {"object_id": ""}, "INVALID_PARAMETERS", ("object_id",)),
        ("add_collision_box", WALL | {"position": [99, 0, 0]}, "INVALID_PARAMETERS", ("99.0 m", "at most 10")),
        ("add_collision_box", WALL | {"frame_id": "moon"}, "TRANSFORM_UNAVAILABLE", ("'moon'",)),
        ("add_collision_box", WALL | {"orientation": [0, 0, 0, 2]}, "INVALID_PARAMETERS", ("norm is 2.0000",)),
        (
            "add_collision_sphere",
            {"object_id": "a", "position": [1, 0, 0], "radius": -1},
            "INVALID_PARAMETERS",
            ("radius", "greater than 0"),
        ),
        ("remove_collision_object", {"object_id": "cat"}, "UNKNOWN_OBJECT", ("'cat'", "valid: none")),
        ("attach_object", {"object_id": "cat"}, "UNKNOWN_OBJECT", ("'cat'",)),
        ("detach_object", {"object_id": "cat"}, "UNKNOWN_OBJECT", ("'cat'", "attached")),
    ]:
        message = await moveit.refused(tool, code, **arguments)
        for word in words:
            assert word in message
        assert await names(moveit) == []


async def test_nothing_is_attached_to_an_unknown_link(moveit, sim):
    await moveit.call("add_collision_box", **WALL)
    message = await moveit.refused("attach_object", "ROS_ERROR", object_id="wall", link_name="tail")
    assert "wall" in message
    (item,) = (await moveit.call("list_collision_objects"))["objects"]
    assert item.get("attached_to") is None
