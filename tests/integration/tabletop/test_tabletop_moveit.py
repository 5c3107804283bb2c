"""The moveit server, unchanged, moves the Panda at its table over rosbridge."""

import math

import pytest

import quartet_moveit

FOOT_X = -0.30
"""The map's x of the arm's foot, where the base frame stands [m]."""


@pytest.fixture
async def moveit(open_server):
    return await open_server(quartet_moveit)


def flange(robot_file, position, yaw):
    """The flange for finger tips at a point of the map that point down and close along `yaw`."""
    x, y, z = position
    return {
        "position": [x - FOOT_X, y, z + robot_file.gripper.finger_offset_m],
        "orientation": [math.cos(yaw / 2), math.sin(yaw / 2), 0.0, 0.0],
    }


async def test_it_tells_the_pose_and_the_joints_of_the_arm(moveit, sim, robot_file):
    told = await moveit.call("get_current_pose")
    arm = sim.truth()["robot"]
    assert [told["joint_positions"][name] for name in robot_file.arm.joints] == pytest.approx(arm["arm"], abs=0.002)
    # The flange is a hand's length over the point between the fingers.
    x, y, z = arm["tool"]
    assert told["pose"]["position"] == pytest.approx([x - FOOT_X, y, z + 0.1034], abs=0.002)


async def test_the_arm_goes_to_named_states_joints_and_poses(moveit, sim, robot_file):
    there = flange(robot_file, (0.3, -0.3, 0.9), 0.5)
    result = await moveit.call("plan_and_execute", group="panda_arm", target_type="pose", target=there)
    assert result["ok"], result
    assert math.dist(result["pose"]["position"], there["position"]) < 0.005
    assert sim.truth()["robot"]["tool"] == pytest.approx([0.3, -0.3, 0.904], abs=0.005)
    assert (await moveit.call("plan_and_execute", target={"state_name": "ready"}))["ok"]
    assert sim.truth()["robot"]["arm"] == pytest.approx(robot_file.arm.named_states["ready"], abs=0.01)


async def test_a_hand_that_leans_is_reached_as_well(moveit, sim, robot_file):
    turn = math.pi - 0.4  # about y: the hand leans outward
    target = {"position": [0.5, 0.0, 1.1], "orientation": [0.0, math.sin(turn / 2), 0.0, math.cos(turn / 2)]}
    result = await moveit.call("plan_and_execute", target=target)
    assert result["ok"], result
    assert math.dist(result["pose"]["position"], target["position"]) < 0.005


async def test_a_block_is_grasped_lifted_and_put_down(moveit, sim, robot_file):
    block = sim.post("/reset", seed=1, scenario="put-block")["objects"]["block"]
    (x, y, z), yaw = block["position"], block["turns"][2]
    above = flange(robot_file, (x, y, z + 0.15), yaw)
    assert (await moveit.call("open_gripper"))["state"] == "EMPTY"
    assert (await moveit.call("plan_and_execute", target=above))["ok"]
    down = await moveit.call("plan_cartesian_path", **flange(robot_file, (x, y, z), yaw))
    assert down["ok"], down
    assert (await moveit.call("close_gripper"))["state"] == "HOLDING"
    assert sim.truth()["held"] == "block"
    assert (await moveit.call("plan_cartesian_path", **above))["ok"]
    assert sim.truth()["objects"]["block"]["position"][2] > z + 0.1
    target = sim.truth()["objects"]["target area"]["position"]
    place = flange(robot_file, (target[0], target[1], z + 0.12), 0.0)
    carried = await moveit.call("plan_and_execute", target=place)
    assert carried["ok"], carried
    lower = await moveit.call("plan_cartesian_path", **flange(robot_file, (target[0], target[1], z + 0.005), 0.0))
    assert lower["ok"], lower
    assert (await moveit.call("open_gripper"))["state"] == "EMPTY"
    assert sim.truth()["task"]["succeeded"]


async def test_what_the_arm_cannot_do_is_told_with_moveits_codes(moveit, robot_file):
    far = flange(robot_file, (0.9, 0.0, 0.9), 0.0)
    assert "no joint positions" in await moveit.refused("plan_and_execute", "OUT_OF_REACH", target=far)
    under = flange(robot_file, (0.25, 0.0, 0.70), 0.0)
    await moveit.refused("plan_and_execute", "GOAL_IN_COLLISION", target=under)
