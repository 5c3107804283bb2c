"""Rules of the nav2 server that need no robot."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartet_nav2.approach import drive_distance
from quartet_nav2.codes import NAMES, advice, name_of
from quartet_nav2.navigate import area_at
from quartet_site import inside, load_robot, load_site

SITES = Path(__file__).parents[3] / "deploy" / "sites"
ROBOT = load_robot(SITES / "studio" / "robot.yaml")


@pytest.mark.parametrize(
    ("distance", "drive"),
    [(0.5, 0.0), (0.86, 0.0), (0.90, 0.16), (0.95, 0.20), (1.0, 0.20), (1.5, 0.70)],
)
def test_drive_in_with_a_standoff_of_80_centimetres(distance, drive):
    """tolerance 0.06 and minimum drive 0.20: a short way is stretched, but not beyond standoff - tolerance."""
    assert drive_distance(distance, 0.80, ROBOT) == pytest.approx(drive)


@given(st.floats(0.05, 5.0), st.floats(0.1, 2.0))
def test_the_robot_never_plans_to_end_nearer_than_standoff_less_tolerance(distance, standoff):
    drive = drive_distance(distance, standoff, ROBOT)
    tolerance = ROBOT.approach.tolerance_m
    assert drive >= 0
    if drive > 0:
        assert standoff - tolerance - 1e-9 <= distance - drive <= standoff + 1e-9


def test_codes_have_names_and_advice():
    assert name_of(0) == "NONE"
    assert name_of(208) == "PLANNER_NO_VALID_PATH"
    assert name_of(714) == "BACKUP_COLLISION_AHEAD"
    assert name_of(12345) == "CODE_12345"
    assert all(advice(name) for name in NAMES.values())
    assert "clear_costmaps" in advice("PLANNER_START_OCCUPIED")


def test_inside_an_outline():
    corner = [(0.0, 0.0), (4.0, 0.0), (4.0, 2.0), (2.0, 2.0), (2.0, 4.0), (0.0, 4.0)]
    assert inside(corner, 1, 1)
    assert inside(corner, 1, 3)
    assert inside(corner, 3, 1)
    assert not inside(corner, 3, 3)
    assert not inside(corner, -1, 1)


def test_every_area_holds_its_own_entry():
    for world in ("home", "studio"):
        site = load_site(SITES / world / "site.yaml")
        for area in site.areas:
            found = area_at(site, area.entry.x, area.entry.y)
            assert found is not None
            assert found.name == area.name
        assert area_at(site, 1000.0, 0.0) is None
