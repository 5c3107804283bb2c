"""Doors that are closed in an episode: seen by the laser, told as no way, and pushed by nobody."""

import math

import pytest

from quartet_simulation.codes import NavCode
from quartet_simulation.errors import UnknownNameError
from quartet_simulation.simulation import Simulation
from quartet_simulation.worlds import FILES

FLAT = (FILES / "flat.yaml").read_text()
DOOR = "{name: kitchen door, wall: middle wall, at: 2.0, width: 0.9, leaf: open, hinge: high, opens: high}"


def test_a_closed_door_is_seen_and_told_as_no_way(flat, hands):
    flat.reset("flat", 0, "closed:kitchen door")
    flat.put_robot(*flat.world.area("living room").entry)
    goal = hands(flat).drive_to(*flat.world.area("kitchen").entry)
    assert (goal.status, goal.error_code) == ("ABORTED", NavCode.NO_VALID_PATH)
    assert flat.truth()["fixed_contacts"] == []
    flat.reset("flat", 0)
    flat.put_robot(*flat.world.area("living room").entry)
    assert hands(flat).drive_to(*flat.world.area("kitchen").entry).status == "SUCCEEDED", "it is open again"


@pytest.mark.parametrize("hinge", ["low", "high"])
@pytest.mark.parametrize("opens", ["low", "high"])
def test_a_closed_leaf_fills_the_gap(hinge, opens, tmp_path):
    assert DOOR in FLAT
    turned = DOOR.replace("hinge: high, opens: high", f"hinge: {hinge}, opens: {opens}")
    (tmp_path / "world.yaml").write_text(FLAT.replace(DOOR, turned))
    sim = Simulation(str(tmp_path), 0, scenario="closed:kitchen door")
    (ax, ay), (bx, by) = sim._physics.leaf_ends("kitchen door")
    assert sorted((ay, by)) == pytest.approx([1.55, 2.45])
    assert (ax, bx) == pytest.approx((4.0 + (0.07 if opens == "high" else -0.07),) * 2)
    sim.close()


def test_a_push_does_not_open_it(flat):
    flat.reset("flat", 0, "closed:kitchen door")
    before = flat._physics.leaf_ends("kitchen door")
    flat.put_robot(4.6, 2.0, math.pi)
    for _ in range(10):
        # Velocities go past Nav2 and its checks.
        flat.command_velocity(0.3, 0.0, 0.0)
        flat.step(0.1)
    assert {contact["parts"][1] for contact in flat.truth()["fixed_contacts"]} == {"kitchen door leaf"}
    for end, was in zip(flat._physics.leaf_ends("kitchen door"), before, strict=True):
        assert end == pytest.approx(was, abs=0.01)


def test_ground_truth_has_a_closed_leaf_across_its_doorway(flat):
    def blocked(scenario: str) -> bool:
        flat.reset("flat", 0, scenario)
        x, y = flat.world.doors["kitchen door"]
        return any(
            abs(c * (x - cx) + s * (y - cy)) < a + 0.1 and abs(c * (y - cy) - s * (x - cx)) < b + 0.1
            for cx, cy, yaw, a, b, low, high, _ in flat.truth()["layout"]["solids"]
            for c, s in [(math.cos(yaw), math.sin(yaw))]
            if low < 0.5 < high
        )

    assert blocked("closed:kitchen door")
    assert blocked("closed")
    assert not blocked("")


def test_only_a_door_with_a_leaf_is_closed(flat):
    with pytest.raises(UnknownNameError, match="'attic door'; valid: kitchen door"):
        flat.reset("flat", 0, "closed:attic door")
