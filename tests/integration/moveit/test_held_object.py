"""What is held in MoveIt's planning scene, and the gripper among things on straight paths, in the simulated studio."""

import pytest

import quartet_moveit
from quartet_moveit.allowed_collisions import ALLOWED_COLLISION_MATRIX, OCTOMAP, changed
from quartet_moveit.held_object import OBJECT_ID, UNTOLD_M

DOWN = [1, 0, 0, 0]
CAN_M = [0.066, 0.066, 0.122]
LOW = [0.6, 0.0, 0.23]


@pytest.fixture
async def moveit(open_server):
    return await open_server(quartet_moveit)


async def scene(moveit) -> dict[str, dict]:
    found = (await moveit.call("list_collision_objects"))["objects"]
    return {item["object_id"]: item for item in found}


async def allowed(moveit) -> set[frozenset[str]]:
    """Pairs that MoveIt lets touch each other."""
    request = {"components": {"components": ALLOWED_COLLISION_MATRIX}}
    answer = await moveit.server.robot.link.call_service("/get_planning_scene", request)
    matrix = answer["scene"]["allowed_collision_matrix"]
    names = matrix["entry_names"]
    return {
        frozenset((name, other))
        for name, row in zip(names, matrix["entry_values"], strict=True)
        for other, enabled in zip(names, row["enabled"], strict=True)
        if enabled
    }


async def test_what_is_grasped_is_attached_with_its_size(moveit, sim, robot_file):
    sim.post("/grasp", object="red coke can")
    assert (await moveit.call("close_gripper", object_size_m=CAN_M))["state"] == "HOLDING"
    held = (await scene(moveit))[OBJECT_ID]
    assert held["attached_to"] == "arm_tool0"
    width, across, height = held["dimensions_m"]
    assert (across, height) == pytest.approx((0.066, 0.122))
    assert width == pytest.approx(0.066, abs=0.003)
    # Its top is as far above the finger tips as a grasp of it is deep.
    tool = (await moveit.call("get_current_pose"))["pose"]["position"]
    away = sum((a - b) ** 2 for a, b in zip(tool, held["pose"]["position"], strict=True)) ** 0.5
    gripper = robot_file.gripper
    assert away == pytest.approx(gripper.finger_offset_m - gripper.grasp_depth(0.122) + 0.061, abs=0.002)


async def test_what_is_held_without_a_size_is_attached_all_the_same(moveit, sim):
    sim.post("/grasp", object="red coke can")
    assert (await moveit.call("get_grasp_state"))["state"] == "HOLDING"
    held = (await scene(moveit))[OBJECT_ID]
    assert tuple(held["dimensions_m"][1:]) == pytest.approx(UNTOLD_M)
    # A size that comes later is taken over; one that is known is kept.
    await moveit.call("close_gripper", object_size_m=CAN_M)
    await moveit.call("get_grasp_state")
    assert (await scene(moveit))[OBJECT_ID]["dimensions_m"][2] == pytest.approx(0.122)


async def test_what_somebody_else_attached_is_left_alone(moveit, sim):
    await moveit.call("add_collision_box", object_id="my can", position=[0.6, 0, 0.5], dimensions=CAN_M)
    await moveit.call("attach_object", object_id="my can")
    sim.post("/grasp", object="red coke can")
    await moveit.call("close_gripper", object_size_m=CAN_M)
    assert set(await scene(moveit)) == {"my can"}


async def test_what_is_let_go_stays_an_obstacle_until_the_hand_has_left(moveit, sim):
    sim.post("/grasp", object="red coke can")
    await moveit.call("close_gripper", object_size_m=CAN_M)
    before = (await scene(moveit))[OBJECT_ID]["pose"]["position"]
    await moveit.call("open_gripper")
    left = (await scene(moveit))[OBJECT_ID]
    assert left.get("attached_to") is None
    assert left["pose"]["position"] == pytest.approx(before, abs=0.005)
    # The fingers beside it do not keep the hand from leaving straight up.
    x, y, z = (await moveit.call("get_current_pose"))["pose"]["position"]
    aside = {"position": [x + 0.05, y, z], "orientation": DOWN}
    await moveit.refused("plan_and_execute", "GOAL_IN_COLLISION", target=aside)
    up = await moveit.call("plan_cartesian_path", position=[x, y, z + 0.15], min_fraction=0.5)
    assert up["ok"], up
    assert OBJECT_ID in await scene(moveit)
    assert (await moveit.call("plan_and_execute", target={"state_name": "look_forward"}))["ok"]
    assert await scene(moveit) == {}


async def test_what_slipped_out_is_forgotten(moveit, sim):
    sim.post("/grasp", object="red coke can")
    await moveit.call("close_gripper", object_size_m=CAN_M)
    sim.post("/place", object="red coke can", x=-1.0, y=-1.0, z=0.0)
    await moveit.call("close_gripper")
    assert (await moveit.call("get_grasp_state"))["state"] == "EMPTY"
    assert await scene(moveit) == {}


async def test_a_gripper_works_without_a_planning_scene(open_server, robot, sim):
    services = robot.file.services.model_copy(update={"get_planning_scene": "/not_there"})
    robot.file = robot.file.model_copy(update={"services": services})
    moveit = await open_server(quartet_moveit)
    sim.post("/grasp", object="red coke can")
    assert (await moveit.call("close_gripper", object_size_m=CAN_M))["state"] == "HOLDING"
    assert (await moveit.call("open_gripper"))["state"] == "EMPTY"


@pytest.mark.parametrize("size", [[0.06, 0.06], [0.06, 0.06, 0.0], [0.06, -1, 0.1], [0.06, 0.06, 1.5], "large"])
async def test_a_size_that_makes_no_sense_is_refused(moveit, size):
    message = await moveit.refused("close_gripper", "INVALID_PARAMETERS", object_size_m=size)
    assert "object_size_m" in message


async def test_the_gripper_may_be_among_things_on_a_straight_path_alone(moveit, sim, robot_file):
    """A box in the way of the left finger bars the planned way; the straight one is for the fingers to go beside it."""
    robot = moveit.server.robot
    assert (await moveit.call("plan_and_execute", target={"position": [0.6, 0, 0.7], "orientation": DOWN}))["ok"]
    # With the fingers along x, one of them would come down on the box.
    x, y, _ = (await robot.transform("map", "base_footprint")).apply((0.67, 0.0, 0.0))
    sim.post("/place", object="green tea box", x=x, y=y, z=0.0)
    await moveit.refused("plan_and_execute", "GOAL_IN_COLLISION", target={"position": LOW, "orientation": DOWN})
    planned = await moveit.call("plan_cartesian_path", position=LOW)
    assert planned["error_code"] in {"NONE", "EXECUTION_FAILED"}, planned
    assert planned["fraction"] == pytest.approx(1.0)
    pairs = await allowed(moveit)
    assert not {pair for pair in pairs if OCTOMAP in pair or OBJECT_ID in pair}


async def test_without_links_in_the_robot_file_straight_paths_are_checked_whole(open_server, robot, sim):
    bare = robot.file.gripper.model_copy(update={"links": []})
    robot.file = robot.file.model_copy(update={"gripper": bare})
    moveit = await open_server(quartet_moveit)
    assert (await moveit.call("plan_and_execute", target={"position": [0.6, 0, 0.7], "orientation": DOWN}))["ok"]
    x, y, _ = (await robot.transform("map", "base_footprint")).apply((0.67, 0.0, 0.0))
    sim.post("/place", object="green tea box", x=x, y=y, z=0.0)
    message = await moveit.refused("plan_cartesian_path", "PATH_INCOMPLETE", position=LOW, min_fraction=1.0)
    assert "nothing moved" in message


def test_the_matrix_keeps_what_it_had_and_gets_the_new_names():
    matrix = {
        "entry_names": ["base", "left_finger"],
        "entry_values": [{"enabled": [False, True]}, {"enabled": [True, False]}],
        "default_entry_names": [],
    }
    opened = changed(matrix, ["left_finger", "palm"], allowed=True)
    names, rows = opened["entry_names"], [row["enabled"] for row in opened["entry_values"]]
    assert set(names) == {"base", "left_finger", "palm", OCTOMAP, OBJECT_ID}
    assert all(len(row) == len(names) for row in rows)
    assert rows == [list(column) for column in zip(*rows, strict=True)]
    on = {frozenset((names[i], names[j])) for i, row in enumerate(rows) for j, enabled in enumerate(row) if enabled}
    expected = {("base", "left_finger"), ("left_finger", OCTOMAP), ("palm", OCTOMAP), (OBJECT_ID, OCTOMAP)}
    expected |= {("left_finger", OBJECT_ID), ("palm", OBJECT_ID)}
    assert on == {frozenset(pair) for pair in expected}
    closed = changed(opened, ["left_finger", "palm"], allowed=False)
    rows = [row["enabled"] for row in closed["entry_values"]]
    assert sum(map(sum, rows)) == 2
    assert rows[0][1]
    assert matrix["entry_values"] == [{"enabled": [False, True]}, {"enabled": [True, False]}]
