"""The oracle of the home suite, in scenes made by hand and in the world of the simulation."""

import copy
import math
from pathlib import Path
from typing import Any

import pytest

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.home.feasible import RIGHT_CODES, load_arm
from quartet_benchmarks.home.homes import furnished
from quartet_benchmarks.home.oracle import Arm, Oracle, Verdict
from quartet_deployment import project_root

from .conftest import World

ARM = Arm([{"height": [0.0, 1.2], "from_above": [[0.4, 0.9]], "any_angle": [[0.4, 1.1]]}], 0.14, 0.018)
CAN = (0.066, 0.066, 0.118)
BOX = (0.20, 0.30, 0.16)


def thing(x: float, y: float, bottom: float, size: tuple[float, float, float] = CAN) -> dict[str, Any]:
    position = [x, y, bottom + size[2] / 2]
    return {"position": position, "quaternion": [0, 0, 0, 1], "bottom_z": bottom, "size": size, "held": False}


def box(x0: float, y0: float, x1: float, y1: float, low: float, high: float) -> list[Any]:
    return [(x0 + x1) / 2, (y0 + y1) / 2, 0.0, (x1 - x0) / 2, (y1 - y0) / 2, low, high, False]


def scene(*solids: list[Any], **objects: dict[str, Any]) -> dict[str, Any]:
    """Return a room of 4 x 4 m with a chest 0.7 m high and 1.0 m deep at its north wall; the robot is at its middle."""
    walls = [box(-0.1, -0.1, 0, 4.1, 0, 2), box(4, -0.1, 4.1, 4.1, 0, 2)]
    walls += [box(0, -0.1, 4, 0, 0, 2), box(0, 4, 4, 4.1, 0, 2)]
    layout = {
        "solids": [*walls, box(1, 3, 3, 4, 0, 0.7), *solids],
        "surfaces": {"table": {"rect": [1, 3, 3, 4], "height": 0.7}},
        "containers": {"bin": {"rect": [0.1, 0.1, 0.4, 0.4], "height": 0.34}},
        "areas": {"room": [[0, 0], [4, 0], [4, 4], [0, 4]]},
        "footprint": [0.72, 0.6],
        "body_height": 0.45,
    }
    return {"layout": layout, "objects": objects, "robot": {"pose": [2, 2, 0]}}


def judge(truth: dict[str, Any], kind: str = "floor", target: str = "room", arm: Arm = ARM) -> Verdict | None:
    return Oracle(truth, arm, {"can"}).judge("can", kind, target)


@pytest.mark.parametrize(
    ("at", "why"),
    [
        # From y = 2.73 at most, where half of the base's width is free before the table.
        (thing(2, 3.4, 0.7), None),
        (thing(2, 3.70, 0.7), None),
        (thing(2, 3.90, 0.7), "reach"),
        (thing(2, 3.4, 1.3), "reach"),
        (thing(2, 1, 0.0), None),
    ],
    ids=["near the edge", "farther in", "planted at the back", "too high", "on the floor"],
)
def test_reach_decides(at: dict[str, Any], why: str | None) -> None:
    assert judge(scene(can=at)) == (Verdict("pick", why) if why else None)


def test_a_planted_object_out_of_reach_is_possible_for_a_longer_arm() -> None:
    longer = Arm([{"height": [0.0, 1.2], "from_above": [[0.4, 1.4]], "any_angle": [[0.4, 1.4]]}], 0.14, 0.018)
    assert judge(scene(can=thing(2, 3.90, 0.7)), arm=longer) is None


def test_a_base_may_stand_sideways_and_between_the_cells() -> None:
    # The can is 1.06 m from a base that stands sideways and touches the chest, 1.12 m from one that faces it.
    assert judge(scene(can=thing(2, 3.76, 0.7))) is None
    # 0.63 m between a wall and boxes, for a base that is 0.6 m wide; no column of cells is in its middle.
    aisle = [box(0.63, 0, 4, 1.6, 0, 2)]
    truth = scene(*aisle, can=thing(0.3, 0.2, 0.0))
    truth["layout"]["containers"] = {}
    assert judge(truth, "on", "table") is None


def test_what_is_above_the_body_bars_no_base() -> None:
    wall_board = box(1, 2.4, 3, 3, 1.0, 1.03)
    assert judge(scene(wall_board, can=thing(2, 3.7, 0.7))) is None
    assert judge(scene(box(1, 2.4, 3, 3, 0.4, 0.43), can=thing(2, 3.7, 0.7))) == Verdict("pick", "reach")


def test_the_stated_reach_is_no_limit_but_for_the_farthest_distance() -> None:
    gaps = [{"height": [0.0, 0.2], "from_above": [[0.4, 0.9]], "any_angle": []}]
    gaps += [{"height": [0.75, 0.8], "from_above": [], "any_angle": [[0.35, 0.36], [0.9, 1.1]]}]
    assert judge(scene(can=thing(2, 3.4, 0.7)), arm=Arm(gaps, 0.14, 0.018)) is None
    low = (0.066, 0.066, 0.03)
    assert judge(scene(can=thing(2, 3.4, 0.7, low)), arm=Arm(gaps, 0.14, 0.018)) is None, "of the adjacent band"
    assert judge(scene(can=thing(2, 3.4, 0.6, low)), arm=Arm(gaps, 0.14, 0.018)) == Verdict("pick", "reach")


def test_fingers_need_room_on_two_sides_only() -> None:
    truth = scene(can=thing(2, 1, 0.0))
    truth["layout"]["surfaces"]["table"]["rect"] = [1.9, 3.0, 2.1, 3.2]
    for name, x in (("left", 1.915), ("right", 2.085)):
        truth["objects"][name] = thing(x, 3.1, 0.7, (0.10, 0.2, 0.16))
    assert judge(truth, "on", "table") is None
    truth["objects"]["front"] = thing(2, 3.01, 0.7, (0.06, 0.10, 0.16))
    truth["objects"]["back"] = thing(2, 3.19, 0.7, (0.06, 0.10, 0.16))
    assert judge(truth, "on", "table") == Verdict("put", "room")


def test_an_inclined_hand_gets_over_a_rim_below_a_board() -> None:
    rim = [box(1, 3, 3, 3.02, 0.7, 0.80), box(1, 3, 1.02, 4, 0.7, 0.80), box(2.98, 3, 3, 4, 0.7, 0.80)]
    board = box(1, 3.18, 3, 4, 0.95, 0.97)
    assert judge(scene(board, *rim, can=thing(2, 3.2, 0.7))) is None
    closed = [box(1, 3, 3, 3.02, 0.7, 0.95), box(1, 3, 1.02, 4, 0.7, 0.95), box(2.98, 3, 3, 4, 0.7, 0.95)]
    assert judge(scene(box(1, 3, 3, 4, 0.95, 0.97), *closed, can=thing(2, 3.2, 0.7))) == Verdict("pick", "clearance")


def test_a_board_above_leaves_the_way_from_the_front_and_a_plate_before_it_none() -> None:
    can, board = thing(2, 3.2, 0.7), box(1, 3, 3, 4, 0.9, 0.93)
    only_above = Arm([{**ARM.bands[0], "any_angle": []}], ARM.hand_m, ARM.finger_m)
    assert judge(scene(can=can), arm=only_above) is None
    assert judge(scene(board, can=can), arm=only_above) == Verdict("pick", "reach")
    assert judge(scene(board, can=can)) is None
    sides = [box(1, 3, 3, 3.02, 0.7, 0.9), box(1, 3, 1.02, 4, 0.7, 0.9), box(2.98, 3, 3, 4, 0.7, 0.9)]
    assert judge(scene(board, *sides, can=can)) == Verdict("pick", "clearance")
    assert judge(scene(*sides, can=can)) is None, "without the board the hand comes from above"


def test_floor_that_no_way_leads_to_is_no_place_to_stand() -> None:
    wall = box(0, 2.2, 4, 2.25, 0, 2)
    truth = scene(wall, can=thing(2, 1, 0.0))
    assert judge(truth) is None
    assert judge(truth, "on", "table") == Verdict("put", "way")
    wall = box(0, 1.5, 4, 1.55, 0, 2)
    assert judge(scene(wall, can=thing(2, 0.3, 0.0)), "on", "table") == Verdict("pick", "way")
    for wide, why in ((0.5, Verdict("put", "way")), (0.8, None)):
        halves = [box(0, 1.5, 2 - wide / 2, 1.55, 0, 2), box(2 + wide / 2, 1.5, 4, 1.55, 0, 2)]
        south = scene(*halves, can=thing(1, 0.3, 0.0))
        south["robot"]["pose"] = [1, 0.8, 0]
        assert judge(south, "on", "table") == why, "a gap must let the base through"


def test_things_on_the_floor_bar_the_way_but_not_those_of_the_job() -> None:
    halves = [box(0, 1.5, 1.6, 1.55, 0, 2), box(2.4, 1.5, 4, 1.55, 0, 2)]
    parcel = thing(2, 1.5, 0.0, (0.5, 0.3, 0.3))
    truth = scene(*halves, can=thing(1, 0.3, 0.0), parcel=parcel)
    truth["robot"]["pose"] = [1, 0.8, 0]
    assert judge(truth, "on", "table") == Verdict("put", "way")
    assert Oracle(truth, ARM, {"can", "parcel"}).judge("can", "on", "table") is None


def test_room_on_a_target_is_what_others_leave() -> None:
    columns = [1.1 + 0.26 * number for number in range(8)]
    boxes = {
        f"box {n}": thing(x, y, 0.7, BOX) for n, (x, y) in enumerate((x, y) for x in columns for y in (3.2, 3.55, 3.83))
    }
    full = scene(can=thing(2, 1, 0.0), **boxes)
    assert judge(full, "on", "table") == Verdict("put", "room")
    del full["objects"]["box 9"]
    assert judge(full, "on", "table") is None, "where one is left out there is room"
    full["objects"]["can"]["held"] = True
    assert judge(full, "on", "table") is None


def test_a_thing_that_is_not_there_is_gone_and_containers_take_things() -> None:
    assert judge(scene()) == Verdict("pick", "gone")
    assert judge(scene(can=thing(2, 1, 0.0)), "in", "bin") is None
    lid = box(0.05, 0.05, 0.45, 0.45, 0.36, 0.38)
    assert judge(scene(lid, can=thing(2, 1, 0.0)), "in", "bin") == Verdict("put", "clearance")


def test_each_verdict_has_codes() -> None:
    reasons = {("put", "room"), ("pick", "gone")}
    reasons |= {(step, reason) for step in ("pick", "put") for reason in ("way", "reach", "clearance")}
    assert set(RIGHT_CODES) == reasons
    assert all(RIGHT_CODES.values())


def test_a_robot_without_a_resume_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "robot.yaml").write_text((project_root() / "deploy" / "sites" / "home" / "robot.yaml").read_text())
    with pytest.raises(OptionError, match=r"resume\.json states no reach of an arm.*quartet resume"):
        load_arm(tmp_path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return furnished("generated:657957190", tmp_path_factory.mktemp("worlds") / "drawn", 5)


def test_the_oracle_reads_the_world_of_the_simulation(world: World) -> None:
    arm = load_arm(Path(world.folder))
    short = Arm([{**band, "from_above": [[0.0, 0.03]], "any_angle": [[0.0, 0.03]]} for band in arm.bands], 0.14, 0.018)
    truth = world.reset(1, "anywhere,at:red cup@desk")
    assert Oracle(truth, arm, {"red cup"}).judge("red cup", "on", "kitchen counter") is None
    # The back of a desk 0.71 m deep, which stands at a wall.
    world.sim.place_object("red cup", 0.14, 2.3, truth["objects"]["red cup"]["bottom_z"])
    planted = {**truth, "objects": world.truth()["objects"]}
    assert Oracle(planted, arm, {"red cup"}).judge("red cup", "on", "kitchen counter") is None
    assert Oracle(planted, short, {"red cup"}).judge("red cup", "on", "kitchen counter") == Verdict("pick", "reach")


def test_a_closed_door_bars_a_target_and_where_a_thing_is(world: World) -> None:
    arm = load_arm(Path(world.folder))
    truth = world.reset(1, "closed:kitchen door,at:red cup@desk")
    assert truth["robot"]["pose"][0] < 6, "the robot is in the study"
    oracle = Oracle(truth, arm, {"red cup"})
    assert oracle.judge("red cup", "on", "kitchen counter") == Verdict("put", "way")
    assert oracle.judge("red cup", "on", "bookshelf") is None
    beyond = copy.deepcopy(truth)
    beyond["robot"]["pose"] = [*world.sim.world.area("kitchen").entry]
    assert Oracle(beyond, arm, {"red cup"}).judge("red cup", "on", "kitchen counter") == Verdict("pick", "way")
    assert Oracle(world.reset(1), arm, {"red cup"}).judge("red cup", "on", "kitchen counter") is None


def test_things_stand_all_over_the_tops_and_none_hangs_over(world: World) -> None:
    depths: list[float] = []
    for seed in range(8):
        truth = world.reset(seed, "anywhere,packed")
        things = {name: one for name, one in truth["objects"].items() if one["on"] in truth["layout"]["surfaces"]}
        for name, one in things.items():
            x0, y0, x1, y1 = truth["layout"]["surfaces"][one["on"]]["rect"]
            (x, y, _), radius = one["position"], world.sim.world.kinds[name].radius
            assert x0 + radius <= x + 1e-3 <= x1 - radius + 2e-3, name
            assert y0 + radius <= y + 1e-3 <= y1 - radius + 2e-3, name
            if one["on"] == "desk":
                depths.append((x - x0 - radius) / (x1 - x0 - 2 * radius))
            for other, there in things.items():
                apart = math.dist(one["position"][:2], there["position"][:2])
                assert other == name or there["on"] != one["on"] or apart > radius + world.sim.world.kinds[other].radius
    thirds = [sum(number / 3 <= depth < (number + 1) / 3 for depth in depths) for number in range(3)]
    assert min(thirds) >= len(depths) / 8, thirds
