"""The perception server, unchanged, sees what stands on the table through the cameras of its world."""

import math

import pytest

import quartet_moveit
from quartet_perception import server as quartet_perception

FOOT_X = -0.30
"""The map's x of the arm's foot, where the base frame stands [m]."""


@pytest.fixture
async def perception(open_server):
    return await open_server(quartet_perception)


def in_base(sim, name):
    x, y, z = sim.truth()["objects"][name]["position"]
    return x - FOOT_X, y, z


def found(result, name):
    """The positions of the detections of a name that have one: depth may show too little between the fingers."""
    return [one["position_base"] for one in result["detections"] if one["label"] == name and "position_base" in one]


async def test_what_stands_on_the_table_is_seen_where_it_stands(perception, sim):
    seen = await perception.call("detect_objects", camera="front")
    assert {one["label"] for one in seen["detections"]} == {"table top", "bin", "rubbish", "tomato"}
    (rubbish,), (bin_,) = found(seen, "rubbish"), found(seen, "bin")
    assert math.dist(rubbish, in_base(sim, "rubbish")) < 0.01
    assert math.dist(bin_, in_base(sim, "bin")) < 0.02
    for place in found(seen, "tomato"):
        assert min(math.dist(place, in_base(sim, f"tomato {number}")) for number in (1, 2)) < 0.01


async def test_a_grasp_pose_and_a_place_are_worked_out(perception, sim):
    grasp = await perception.call("get_topdown_grasp_pose", object_name="rubbish", camera="front")
    assert grasp["ok"], grasp
    assert grasp["reachable"]
    assert math.dist(grasp["grasp_pose"]["position"][:2], in_base(sim, "rubbish")[:2]) < 0.01
    assert grasp["grasp_width_m"] == pytest.approx(0.05, abs=0.005)
    place = await perception.call("get_topdown_placing_pose", object_name="bin", camera="front")
    assert place["mode"] == "container", place
    assert place["surface_height_m"] == pytest.approx(0.942, abs=0.01)


@pytest.mark.parametrize("seed", [0, 1, 2])
async def test_a_thing_between_open_fingers_is_still_seen_where_it_stands(perception, open_server, sim, seed):
    sim.post("/reset", seed=seed)
    moveit = await open_server(quartet_moveit)
    grasp = await perception.call("get_topdown_grasp_pose", object_name="rubbish", camera="front")
    parts = ("position", "orientation")
    above, at = ({part: grasp[pose][part] for part in parts} for pose in ("pre_grasp_pose", "grasp_pose"))
    at["position"][2] = in_base(sim, "rubbish")[2] + 0.1074
    for call, arguments in (("plan_and_execute", {"target": above}), ("plan_cartesian_path", at)):
        result = await moveit.call(call, **arguments)
        assert result["ok"], result
    seen = await perception.call("detect_objects", camera="both")
    for place in found(seen, "rubbish"):
        # A finger may hide a part of it.
        assert math.dist(place, in_base(sim, "rubbish")) < 0.035, seen
