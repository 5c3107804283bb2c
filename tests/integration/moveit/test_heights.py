"""How high the arm gets over a thing: near the end of its reach and under a board, in the simulated studio."""

import pytest

import quartet_moveit

DOWN = [1, 0, 0, 0]
FINGERS = 0.14
BAR = {"object_id": "bar", "position": [0.98, 0.0, 0.525], "dimensions": [0.5, 0.8, 1.05]}
"""A counter of 1.05 m whose near edge is 0.73 m before the robot's centre."""
BOARD = 1.10
"""Height of the underside of a board above a table [m]."""


@pytest.fixture
async def moveit(open_server):
    return await open_server(quartet_moveit)


async def height(moveit) -> float:
    return (await moveit.call("get_current_pose"))["pose"]["position"][2]


async def test_a_thing_on_a_bar_counter_is_grasped_and_lifted(moveit, sim):
    """The hand cannot be 0.20 m above the grasp there, which itself is well within reach."""
    await moveit.call("add_collision_box", **BAR)
    x, grasp = 0.84, 1.05 + 0.06 + FINGERS
    above = {"position": [x, 0.0, grasp + 0.20], "orientation": DOWN}
    assert "drive nearer" in await moveit.refused("plan_and_execute", "OUT_OF_REACH", target=above)
    over = await moveit.call("plan_and_execute", target=above, lower_by_m=0.115)
    assert over["ok"], over
    assert grasp + 0.085 < await height(moveit) < grasp + 0.20
    assert over["lowered_m"] == pytest.approx(grasp + 0.20 - await height(moveit), abs=0.01)
    down = await moveit.call("plan_cartesian_path", position=[x, 0.0, grasp])
    assert down["ok"], down
    assert "wanted 95%" in await moveit.refused("plan_cartesian_path", "PATH_INCOMPLETE", position=above["position"])
    up = await moveit.call("plan_cartesian_path", position=above["position"], min_fraction=0.425)
    assert up["ok"], up
    assert await height(moveit) >= grasp + 0.085 - 0.005
    assert (await moveit.call("plan_and_execute", target={"state_name": "look_forward"}))["ok"]


async def test_the_hand_stays_clear_of_a_board_above(moveit, sim):
    """With a board above the table the hand comes in lower, and neither it nor the way up ends at the board."""
    board = {"object_id": "board", "position": [0.75, 0.0, BOARD + 0.01], "dimensions": [0.4, 0.8, 0.02]}
    await moveit.call("add_collision_box", **board)
    wanted = {"position": [0.75, 0.0, 0.98], "orientation": DOWN}
    assert "touch" in await moveit.refused("plan_and_execute", "GOAL_IN_COLLISION", target=wanted)
    under = await moveit.call("plan_and_execute", target=wanted, lower_by_m=0.3)
    assert under["ok"], under
    assert 0.02 <= under["lowered_m"] <= 0.3
    free = await height(moveit)
    await moveit.call("plan_cartesian_path", position=[0.75, 0.0, free - 0.15])
    up = await moveit.call("plan_cartesian_path", position=wanted["position"], min_fraction=0.3)
    assert up["ok"], up
    assert up["fraction"] < 0.95
    here = (await moveit.call("get_current_joint_state"))["joint_positions"]
    assert not (await moveit.call("check_state_collision", joint_positions=here))["in_collision"]
    x, y, z = up["pose"]["position"]
    room = await moveit.call("compute_ik", position=[x, y, z + 0.01], orientation=DOWN)
    assert room["ok"], "a centimetre higher is free still"


async def test_what_is_no_pose_is_not_lowered(moveit, sim):
    named = {"state_name": "look_down"}
    text = await moveit.refused("plan_and_execute", "INVALID_PARAMETERS", target=named, lower_by_m=0.1)
    assert "lower_by_m 0.1" in text
    assert "named_state" in text


async def test_what_is_out_of_reach_at_every_height_is_told_so(moveit, sim):
    far, before = {"position": [2.0, 0.0, 0.5], "orientation": DOWN}, await height(moveit)
    text = await moveit.refused("plan_and_execute", "OUT_OF_REACH", target=far, lower_by_m=0.1)
    assert "(2.000, 0.000, 0.500)" in text
    assert "0.10 m lower" in text
    assert await height(moveit) == pytest.approx(before, abs=0.001), "nothing moved"
