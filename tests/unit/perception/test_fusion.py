"""Looks at one object are combined by what is not known of each, and one that contradicts replaces the others."""

from dataclasses import replace

import numpy as np
import pytest

from quartet_perception.estimate import Estimate
from quartet_perception.fusion import Fused, Look, LookMemory
from quartet_perception.scene.solids import Solid
from quartet_perception.uncertainty import PoseUncertainty

HERE = (1.0, 2.0, 0.0)
CAN = Solid("cylinder", (0.066, 0.066, 0.12))
BOX = Solid("box", (0.12, 0.06, 0.05))


def look(
    x=0.8,
    y=0.0,
    *,
    yaw=0.0,
    sd=0.004,
    mounting=0.0,
    camera="front",
    base=HERE,
    eye=(0.2, 0.0, 1.2),
    stamp=100.0,
    solid=CAN,
    range_m=1.0,
):
    """Return a look with white noise of `sd` [m], and a shift of the camera of `mounting` [m] along x and y."""
    shifts = np.zeros((4, 6))
    shifts[0, 0] = shifts[1, 1] = mounting
    noise = np.diag([sd**2, sd**2, 1e-6, 0.02**2])
    sure = PoseUncertainty(noise, shifts, np.eye(2) * 1e-6)
    posed = solid.place(x, y, 0.7, yaw)
    seen = Estimate(posed, posed.top, posed.z, np.zeros((20, 3), np.float32), camera, range_m, sure)
    return Look(seen, base, eye, stamp)


def fused(*looks: Look, tool_error_m: float = 0.0) -> Fused:
    memory = LookMemory(tool_error_m)
    for one in looks[:-1]:
        memory.add("can", one)
    return memory.add("can", looks[-1])


def test_a_single_look_is_told_as_it_is():
    one = look()
    assert fused(one) == Fused(one.seen, 1, 1)


def test_two_cameras_count_by_their_variance_and_are_surer_together():
    both = fused(look(0.800, sd=0.006), look(0.810, sd=0.003, camera="arm"))
    assert (both.looks, both.stops) == (2, 1)
    assert both.seen.solid.x == pytest.approx(0.808)
    assert both.seen.uncertainty.along(0.0) == pytest.approx((1 / 0.006**2 + 1 / 0.003**2) ** -0.5)


def test_what_a_camera_s_mounting_shifts_is_not_averaged_over_its_own_looks():
    elsewhere = (0.3, 0.5, 1.2)
    own = fused(look(mounting=0.005), look(mounting=0.005, eye=elsewhere))
    assert own.looks == 2
    assert own.seen.uncertainty.along(0.0) == pytest.approx(np.hypot(0.005, 0.004 / np.sqrt(2)))
    other = fused(look(mounting=0.005), look(mounting=0.005, camera="arm"))
    assert other.seen.uncertainty.along(0.0) == pytest.approx(np.hypot(0.005, 0.004) / np.sqrt(2))


def test_the_arm_s_own_error_is_not_averaged_but_a_look_from_above_has_none():
    far = fused(look(), look(camera="arm"), tool_error_m=0.02)
    assert far.seen.uncertainty.along(0.0) > 0.014
    above = fused(look(), look(camera="arm", range_m=0.3), tool_error_m=0.02)
    assert above.seen.uncertainty.along(0.0) < 0.004
    assert above.seen.uncertainty.of_hand


def test_looks_from_several_stops_are_combined_where_the_base_stands_now():
    """The base went 1 m along x and turned left by a quarter: what was 1.8 m ahead is 0.8 m to the right."""
    before, after = look(1.8), look(0.0, -0.8, base=(2.0, 2.0, np.pi / 2))
    both = fused(before, after)
    assert (both.looks, both.stops) == (2, 2)
    assert (both.seen.solid.x, both.seen.solid.y) == pytest.approx((0.0, -0.8), abs=1e-9)
    # Odometry has drifted: the look from before counts less than the new one.
    assert 0.004 / np.sqrt(2) + 1e-4 < both.seen.uncertainty.along(0.0) < 0.004


def test_the_farther_the_base_has_driven_the_less_a_look_counts():
    def pulled(way: float) -> float:
        both = fused(look(0.8 + way + 0.004), look(0.8, base=(1.0 + way, 2.0, 0.0)))
        return both.seen.solid.x - 0.8

    assert 0.0 < pulled(0.5) < pulled(0.1) < 0.002


@pytest.mark.parametrize(("moved", "looks"), [(0.012, 2), (0.05, 1)])
def test_an_object_that_was_moved_is_where_the_newest_look_has_it(moved, looks):
    told = fused(look(sd=0.004), look(0.8 + moved, sd=0.004, camera="arm"))
    assert told.looks == looks
    if looks == 1:
        assert told.seen.solid.x == pytest.approx(0.85)


def test_an_object_that_was_turned_where_it_stands_is_as_the_newest_look_has_it():
    still = fused(look(solid=BOX, yaw=0.1), look(solid=BOX, yaw=np.pi + 0.12, camera="arm"))
    assert still.looks == 2, "half a turn is the same box"
    turned = fused(look(solid=BOX, yaw=0.1), look(solid=BOX, yaw=0.9, camera="arm"))
    assert (turned.looks, turned.seen.solid.yaw) == (1, 0.9)


def test_size_and_yaw_are_those_of_the_look_that_knows_them_best():
    sure = look(solid=BOX, yaw=0.10, camera="arm")
    rough = look(solid=replace(BOX, size=(0.11, 0.05, 0.05)), yaw=0.13)
    unsure = replace(rough.seen.uncertainty, size=np.eye(2) * 1e-4)
    both = fused(sure, replace(rough, seen=replace(rough.seen, uncertainty=unsure)))
    assert both.seen.solid.solid.size == BOX.size
    assert both.seen.solid.yaw == pytest.approx(0.10)


def test_the_same_view_again_changes_nothing():
    """A pose does not wander while nothing happens, and does not become surer by being looked at."""
    memory = LookMemory(0.0)
    first = memory.add("can", look(0.800))
    again = memory.add("can", look(0.806, stamp=110.0))
    assert (again.looks, again.seen) == (1, first.seen)
    other = memory.add("can", look(0.812, stamp=111.0))
    assert (other.looks, other.seen.solid.x) == (1, pytest.approx(0.812)), "it has moved"


@pytest.mark.parametrize("second", [{"base": None}, {"stamp": 300.0}, {"stamp": 99.0}])
def test_looks_that_cannot_be_compared_are_forgotten(second):
    """Without odometry, after minutes, and when the robot's clock was set back."""
    assert fused(look(), look(camera="arm", **second)).looks == 1


def test_an_object_is_recalled_while_the_base_stands_and_for_half_a_minute():
    memory = LookMemory(0.0)
    memory.add("can", look())
    known = memory.recall("can", HERE, 129.0)
    assert known is not None
    assert known.seen.solid.x == 0.8
    assert memory.recall("can", HERE, 131.0) is None
    assert memory.recall("can", (1.02, 2.0, 0.0), 101.0) is None
    assert memory.recall("can", None, 101.0) is None
    assert memory.recall("cup", HERE, 101.0) is None
    memory.add("can", look(0.802, stamp=120.0))
    assert memory.recall("can", HERE, 149.0) is not None, "seen again where it was"
    memory.forget("can")
    assert memory.recall("can", HERE, 149.0) is None
