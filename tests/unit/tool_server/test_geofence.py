"""Where the base may be sent: points, straight ways, discs."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from quartet_site import Area, Geofence, Pose2D, SiteFile, Zone
from quartet_tool_server._geofence import GeofenceCheck
from quartet_tool_server.errors import OutsideGeofenceError

ENTRY = Pose2D(x=0, y=0)
HALL = Area(name="hall", entry=ENTRY, outline=[(0, 0), (4, 0), (4, 4), (0, 4)])
ROOM = Area(name="room", entry=ENTRY, outline=[(4, 0), (8, 0), (8, 4), (4, 4)])
SITE = SiteFile(name="lab", areas=[HALL, ROOM])
PIT = Zone(name="pit", outline=[(1, 1), (2, 1), (2, 2), (1, 2)])
numbers = st.floats(-2, 10, allow_nan=False)


def bounds(**rules):
    return GeofenceCheck(Geofence(**rules), SITE)


@given(numbers, numbers)
def test_a_point_is_allowed_in_the_areas_and_out_of_the_forbidden_zones(x, y):
    fence = bounds(forbidden=[PIT])
    edges = [abs(value - edge) for value in (x, y) for edge in (0, 1, 2, 4, 8)]
    assume(min(edges) > 1e-6)
    allowed = 0 < x < 8 and 0 < y < 4 and not (1 < x < 2 and 1 < y < 2)
    assert (fence.problem(x, y) is None) == allowed


def test_the_refusal_names_rule_value_and_what_is_allowed():
    with pytest.raises(OutsideGeofenceError, match=r"goal \(9\.00, 1\.00\).*geofence\.areas; allowed: hall, room"):
        bounds().check(9, 1, "goal")
    with pytest.raises(OutsideGeofenceError, match=r"forbidden zone 'pit' \(policy rule geofence\.forbidden"):
        bounds(forbidden=[PIT]).check(1.5, 1.5, "goal")
    with pytest.raises(OutsideGeofenceError, match="no point"):
        bounds().check(math.nan, 0, "goal")


def test_areas_can_be_chosen_and_zones_added():
    one = bounds(areas=["hall"])
    assert one.problem(1, 1) is None
    assert "allowed: hall)" in (one.problem(5, 1) or "")
    assert bounds(areas=["hall"], zones=[Zone(name="ramp", outline=[(4, 0), (6, 0), (6, 2)])]).problem(5, 0.5) is None
    everywhere = bounds(areas="any place", forbidden=[PIT])
    assert (everywhere.problem(50, 50), everywhere.bounded) == (None, True)
    assert everywhere.problem(1.5, 1.5)
    assert not bounds(areas="any place").bounded


def test_a_margin_keeps_away_from_forbidden_zones():
    assert bounds(forbidden=[PIT]).problem(2.2, 1.5) is None
    near = bounds(forbidden=[PIT], margin_m=0.3)
    assert "0.3 m around it" in (near.problem(2.2, 1.5) or "")
    assert near.problem(2.31, 1.5) is None


@given(numbers, numbers, numbers, numbers)
def test_an_allowed_way_ends_inside_and_does_not_leave(x1, y1, x2, y2):
    fence = bounds(forbidden=[PIT])
    try:
        fence.check_way((x1, y1), (x2, y2), "way")
    except OutsideGeofenceError:
        return
    assert fence.problem(x2, y2) is None
    inside = [fence.problem(x1 + t / 97 * (x2 - x1), y1 + t / 97 * (y2 - y1)) is None for t in range(98)]
    # Between two points that are checked, 5 cm apart, a corner can be cut.
    clear = [t for t, good in enumerate(inside) if good]
    gaps = sum(not good for good in inside[clear[0] :])
    assert gaps * math.dist((x1, y1), (x2, y2)) / 97 < 0.2


def test_a_way_through_a_forbidden_zone_is_refused_and_one_back_in_is_allowed():
    fence = bounds(forbidden=[PIT])
    with pytest.raises(OutsideGeofenceError, match="the way there passes"):
        fence.check_way((0.5, 1.5), (3, 1.5), "way")
    fence.check_way((-1, 3), (1, 3), "way")
    fence.check_way((1.5, 1.5), (3, 3), "way")
    with pytest.raises(OutsideGeofenceError):
        fence.check_way((1, 3), (-1, 3), "way")


@pytest.mark.parametrize(
    ("x", "y", "reach", "refused"),
    [
        (2, 3, 0.9, None),
        (2, 3, 1.1, "geofence.areas"),
        (4, 2, 1.9, None),  # across the border of two areas
        (4, 2, 2.1, "geofence.areas"),
        (3, 1.5, 0.9, None),
        (3, 1.5, 1.1, "'pit'"),
        (9, 2, 0.1, "geofence.areas"),
        (2, 3, 1e6, "geofence.areas"),
    ],
)
def test_whatever_is_in_reach_must_be_allowed(x, y, reach, refused):
    forbidden = [PIT] if refused == "'pit'" or x == 3 else []
    fence = bounds(forbidden=forbidden)
    if refused is None:
        fence.check_around(x, y, reach, "a velocity")
    else:
        with pytest.raises(OutsideGeofenceError, match=refused):
            fence.check_around(x, y, reach, "a velocity")
