"""What is held in MoveIt's planning scene, and the gripper among things on straight paths, in the simulated studio."""

import asyncio

import pytest

import quartet_moveit
from quartet_contracts.tools import Pose3D
from quartet_moveit.allowed_collisions import OCTOMAP, AllowedCollisions, along_fingers, changed
from quartet_moveit.held_object import DEFAULT_ACROSS_M, DEFAULT_HEIGHT_M
from quartet_moveit.planning_scene import ALLOWED_COLLISION_MATRIX, HELD_ID, apply
from quartet_robot_link import CallTimeoutError

DOWN = [1, 0, 0, 0]
CAN_M = [0.066, 0.066, 0.122]
GRIPPER = ("arm_tool0", "left_finger", "right_finger")
LOW = [0.6, 0.0, 0.20]


@pytest.fixture
async def moveit(open_server):
    return await open_server(quartet_moveit)


async def scene(moveit) -> dict[str, dict]:
    found = (await moveit.call("list_collision_objects"))["objects"]
    return {item["object_id"]: item for item in found}


def without_links(file):
    """The robot file without `gripper.links`."""
    return file.model_copy(update={"gripper": file.gripper.model_copy(update={"links": []})})


async def planned(moveit) -> None:
    """Ask for a plan to where the arm is."""
    joints = (await moveit.call("get_current_joint_state"))["joint_positions"]
    await moveit.call("plan_to_joint_state", joint_positions=joints)


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
    held = (await scene(moveit))[HELD_ID]
    assert held["attached_to"] == "arm_tool0"
    width, across, height = held["dimensions_m"]
    assert (across, height) == pytest.approx((0.066, 0.122))
    assert (await moveit.call("get_grasp_state"))["object_height_m"] == height
    assert width == pytest.approx(0.066, abs=0.003)
    # Its top is as far above the finger tips as a grasp of it is deep.
    tool = (await moveit.call("get_current_pose"))["pose"]["position"]
    away = sum((a - b) ** 2 for a, b in zip(tool, held["pose"]["position"], strict=True)) ** 0.5
    gripper = robot_file.gripper
    assert away == pytest.approx(gripper.finger_offset_m - gripper.grasp_depth(0.122) + 0.061, abs=0.002)


async def test_what_is_held_without_a_size_is_attached_before_the_arm_plans(moveit, sim):
    sim.post("/grasp", object="red coke can")
    assert (await moveit.call("get_grasp_state"))["state"] == "HOLDING"
    # A reading alone changes nothing.
    assert await scene(moveit) == {}
    await planned(moveit)
    held = (await scene(moveit))[HELD_ID]
    assert tuple(held["dimensions_m"][1:]) == pytest.approx((DEFAULT_ACROSS_M, DEFAULT_HEIGHT_M))
    # A size that comes later is taken over, and kept.
    await moveit.call("close_gripper", object_size_m=CAN_M)
    await moveit.call("get_grasp_state")
    await planned(moveit)
    assert (await scene(moveit))[HELD_ID]["dimensions_m"][2] == pytest.approx(0.122)


async def test_the_gripper_is_read_before_the_arm_plans(moveit, sim):
    """Something was put into it, and nobody has asked the server since."""
    sim.post("/grasp", object="red coke can")
    await planned(moveit)
    assert (await scene(moveit))[HELD_ID]["attached_to"] == "arm_tool0"


async def test_what_moveit_has_forgotten_is_attached_again_with_its_size(moveit, sim):
    sim.post("/grasp", object="red coke can")
    await moveit.call("close_gripper", object_size_m=CAN_M)
    # As a move_group does that was started anew.
    gone = {"link_name": "arm_tool0", "object": {"id": HELD_ID, "operation": 1}}
    await apply(moveit.server.robot, attached=[gone])
    await apply(moveit.server.robot, world=[{"id": HELD_ID, "operation": 1}])
    assert await scene(moveit) == {}
    await planned(moveit)
    assert (await scene(moveit))[HELD_ID]["dimensions_m"][2] == pytest.approx(0.122)


async def test_without_links_of_the_gripper_nothing_is_attached(open_server, robot, sim):
    """The fingers could not touch it, and the arm would be in collision wherever it is."""
    robot.file = without_links(robot.file)
    moveit = await open_server(quartet_moveit)
    sim.post("/grasp", object="red coke can")
    await moveit.call("close_gripper", object_size_m=CAN_M)
    assert (await moveit.call("plan_and_execute", target={"state_name": "look_down"}))["ok"]
    assert await scene(moveit) == {}


async def test_only_the_links_that_may_touch_it_may_touch_what_is_attached(moveit):
    here = (await moveit.call("get_current_pose"))["pose"]["position"]
    await moveit.call("add_collision_box", object_id="crate", position=here, dimensions=[0.3, 0.3, 0.3])
    for links, free in (([], False), (["arm_wrist_3_link", "arm_wrist_2_link", "arm_wrist_1_link"], True)):
        touching = [*GRIPPER, "arm_forearm_link", *links]
        await moveit.call("attach_object", object_id="crate", touch_links=touching)
        joints = (await moveit.call("get_current_joint_state"))["joint_positions"]
        found = await moveit.call("check_state_collision", joint_positions=joints)
        met = {name for contact in found["contacts"] for name in (contact["first"], contact["second"])}
        assert ("arm_wrist_1_link" not in met) == free, found
        await moveit.call("detach_object", object_id="crate")


async def test_a_place_lets_nothing_fall_from_where_the_arm_came_clear_of_everything(moveit, sim):
    sim.post("/grasp", object="red coke can")
    await moveit.call("close_gripper", object_size_m=CAN_M)
    above = {"position": [0.6, 0.0, 0.5], "orientation": DOWN}
    assert (await moveit.call("plan_and_execute", target=above))["ok"]
    moveit.grant["sub"] = "place"
    assert "plan_cartesian_path" in await moveit.refused("open_gripper", "WOULD_DROP")
    assert (await moveit.call("get_grasp_state"))["state"] == "HOLDING"
    # Down and up again, as after a descent that was stopped: nothing is below the hand either.
    for height in (0.4, 0.5):
        assert (await moveit.call("plan_cartesian_path", position=[0.6, 0.0, height]))["ok"]
    await moveit.refused("open_gripper", "WOULD_DROP")
    assert (await moveit.call("plan_cartesian_path", position=[0.6, 0.0, 0.4]))["ok"]
    assert (await moveit.call("open_gripper"))["state"] == "EMPTY"
    # An empty hand may open anywhere.
    assert (await moveit.call("plan_and_execute", target=above))["ok"]
    assert (await moveit.call("open_gripper"))["ok"]


async def test_what_somebody_else_attached_is_left_alone(moveit, sim):
    await moveit.call("add_collision_box", object_id="my can", position=[0.6, 0, 0.5], dimensions=CAN_M)
    await moveit.call("attach_object", object_id="my can")
    sim.post("/grasp", object="red coke can")
    await moveit.call("close_gripper", object_size_m=CAN_M)
    assert set(await scene(moveit)) == {"my can"}


async def test_what_is_let_go_stays_an_obstacle_until_the_hand_has_left(moveit, sim):
    sim.post("/grasp", object="red coke can")
    await moveit.call("close_gripper", object_size_m=CAN_M)
    before = (await scene(moveit))[HELD_ID]["pose"]["position"]
    await moveit.call("open_gripper")
    left = (await scene(moveit))[HELD_ID]
    assert left.get("attached_to") is None
    assert left["pose"]["position"] == pytest.approx(before, abs=0.005)
    # The fingers beside it do not keep the hand from leaving straight up.
    x, y, z = (await moveit.call("get_current_pose"))["pose"]["position"]
    aside = {"position": [x + 0.05, y, z], "orientation": DOWN}
    await moveit.refused("plan_and_execute", "GOAL_IN_COLLISION", target=aside)
    up = await moveit.call("plan_cartesian_path", position=[x, y, z + 0.15], min_fraction=0.5)
    assert up["ok"], up
    assert HELD_ID in await scene(moveit)
    assert (await moveit.call("plan_and_execute", target={"state_name": "look_forward"}))["ok"]
    assert await scene(moveit) == {}


async def test_what_is_let_go_is_forgotten_also_after_a_plan_that_was_executed_later(moveit, sim):
    sim.post("/grasp", object="red coke can")
    await moveit.call("close_gripper", object_size_m=CAN_M)
    await moveit.call("open_gripper")
    x, y, z = (await moveit.call("get_current_pose"))["pose"]["position"]
    assert (await moveit.call("plan_cartesian_path", position=[x, y, z + 0.15], min_fraction=0.5))["ok"]
    assert (await moveit.call("plan_to_named_state", state_name="look_down"))["ok"]
    assert HELD_ID in await scene(moveit)
    assert (await moveit.call("execute_plan"))["ok"]
    assert await scene(moveit) == {}


async def test_plans_from_before_a_grasp_are_outdated(moveit, sim):
    assert (await moveit.call("plan_to_named_state", state_name="look_down"))["ok"]
    sim.post("/grasp", object="red coke can")
    await moveit.call("close_gripper", object_size_m=CAN_M)
    assert "holds something" in await moveit.refused("execute_plan", "PLAN_OUTDATED")


async def test_what_slipped_out_is_forgotten(moveit, sim):
    sim.post("/grasp", object="red coke can")
    await moveit.call("close_gripper", object_size_m=CAN_M)
    sim.post("/place", object="red coke can", x=-1.0, y=-1.0, z=0.0)
    # Nothing was between the fingers that could have been let go here.
    await moveit.call("open_gripper")
    assert await scene(moveit) == {}


async def test_the_name_of_what_is_held_is_no_other_objects(moveit):
    box = {"object_id": HELD_ID, "position": [0.6, 0, 0.5], "dimensions": CAN_M}
    assert "what the gripper holds" in await moveit.refused("add_collision_box", "INVALID_PARAMETERS", **box)


async def test_a_gripper_works_without_a_planning_scene(open_server, robot, sim):
    services = robot.file.services.model_copy(update={"get_planning_scene": "/not_there"})
    robot.file = robot.file.model_copy(update={"services": services})
    moveit = await open_server(quartet_moveit)
    sim.post("/grasp", object="red coke can")
    assert (await moveit.call("close_gripper", object_size_m=CAN_M))["state"] == "HOLDING"
    assert (await moveit.call("open_gripper"))["state"] == "EMPTY"


async def test_a_size_that_makes_no_sense_is_refused(moveit):
    for size in [[0.06, 0.06], [0.06, 0.06, 0.0], [0.06, -1, 0.1], [0.06, 0.06, 1.5], "large"]:
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
    assert not {pair for pair in pairs if OCTOMAP in pair or HELD_ID in pair}


async def test_without_links_in_the_robot_file_straight_paths_are_checked_whole(open_server, robot, sim):
    robot.file = without_links(robot.file)
    moveit = await open_server(quartet_moveit)
    assert (await moveit.call("plan_and_execute", target={"position": [0.6, 0, 0.7], "orientation": DOWN}))["ok"]
    x, y, _ = (await robot.transform("map", "base_footprint")).apply((0.67, 0.0, 0.0))
    sim.post("/place", object="green tea box", x=x, y=y, z=0.0)
    message = await moveit.refused("plan_cartesian_path", "PATH_INCOMPLETE", position=LOW, min_fraction=1.0)
    assert "nothing moved" in message


async def test_a_straight_path_to_the_side_is_checked_whole(moveit, sim):
    robot = moveit.server.robot
    above = {"position": [0.45, 0, 0.6], "orientation": DOWN}
    assert (await moveit.call("plan_and_execute", target=above))["ok"]
    x, y, _ = (await robot.transform("map", "base_footprint")).apply((0.67, 0.0, 0.0))
    sim.post("/place", object="green tea box", x=x, y=y, z=0.0)
    assert (await moveit.call("plan_cartesian_path", position=[0.45, 0, 0.20]))["ok"]
    await moveit.refused("plan_cartesian_path", "PATH_INCOMPLETE", position=[0.67, 0, 0.20], min_fraction=1.0)


@pytest.mark.parametrize("answers", [0, 1, 2, 3])
async def test_a_call_that_is_canceled_leaves_the_matrix_closed(moveit, monkeypatch, answers):
    """Canceled while the matrix is opened (two calls of MoveIt), while the path is planned, and while it is closed."""
    robot, count, waiting = moveit.server.robot, 0, asyncio.Event()
    asked = robot.link.call_service

    async def slow(service: str, args=None, **more):
        nonlocal count
        result = await asked(service, args, **more)
        if "planning_scene" in service or "cartesian" in service:
            count += 1
            if count == answers + 1:
                waiting.set()
                await asyncio.sleep(0.05)
        return result

    collisions = AllowedCollisions(robot)

    async def plan() -> None:
        async with collisions.gripper_among_things():
            await slow("/compute_cartesian_path", {})

    monkeypatch.setattr(robot.link, "call_service", slow)
    task = asyncio.create_task(plan())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with collisions.gripper_apart():
        pass
    assert not {pair for pair in await allowed(moveit) if OCTOMAP in pair or HELD_ID in pair}


async def test_a_matrix_that_cannot_be_closed_spoils_no_plan_and_is_closed_before_the_next(moveit, monkeypatch):
    robot = moveit.server.robot
    asked, broken = robot.link.call_service, True

    async def unreliable(service: str, args=None, **more):
        if broken and service == "/apply_planning_scene" and opened:
            raise CallTimeoutError("no answer")
        result = await asked(service, args, **more)
        if service == "/apply_planning_scene":
            opened.append(True)
        return result

    opened: list[bool] = []
    collisions = AllowedCollisions(robot)
    monkeypatch.setattr(robot.link, "call_service", unreliable)
    async with collisions.gripper_among_things():
        pass
    assert frozenset(("left_finger", OCTOMAP)) in await allowed(moveit)
    broken = False
    async with collisions.gripper_apart():
        assert not {pair for pair in await allowed(moveit) if OCTOMAP in pair}


def test_which_ways_lead_along_the_fingers():
    def at(x: float, y: float, z: float) -> Pose3D:
        return Pose3D(frame_id="base", position=(x, y, z), orientation=(1, 0, 0, 0))

    start = at(0.6, 0.0, 0.5)
    assert along_fingers(start, at(0.6, 0.0, 0.3))
    assert along_fingers(start, at(0.6, 0.0, 0.7))
    assert along_fingers(start, at(0.62, 0.03, 0.3))
    assert not along_fingers(start, at(0.7, 0.0, 0.4))
    assert not along_fingers(start, at(0.6, 0.3, 0.5))


def test_the_matrix_keeps_what_it_had_and_gets_the_new_names():
    matrix = {
        "entry_names": ["base", "left_finger"],
        "entry_values": [{"enabled": [False, True]}, {"enabled": [True, False]}],
        "default_entry_names": [],
    }
    opened = changed(matrix, ["left_finger", "palm"], allowed=True)
    names, rows = opened["entry_names"], [row["enabled"] for row in opened["entry_values"]]
    assert set(names) == {"base", "left_finger", "palm", OCTOMAP, HELD_ID}
    assert all(len(row) == len(names) for row in rows)
    assert rows == [list(column) for column in zip(*rows, strict=True)]
    on = {frozenset((names[i], names[j])) for i, row in enumerate(rows) for j, enabled in enumerate(row) if enabled}
    expected = {("base", "left_finger"), ("left_finger", OCTOMAP), ("palm", OCTOMAP), (HELD_ID, OCTOMAP)}
    expected |= {("left_finger", HELD_ID), ("palm", HELD_ID)}
    assert on == {frozenset(pair) for pair in expected}
    closed = changed(opened, ["left_finger", "palm"], allowed=False)
    rows = [row["enabled"] for row in closed["entry_values"]]
    assert sum(map(sum, rows)) == 2
    assert rows[0][1]
    assert matrix["entry_values"] == [{"enabled": [False, True]}, {"enabled": [True, False]}]
