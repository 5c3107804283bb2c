"""What robots can hold, reach, see and enter, by their robot files and resumes."""

import json
from pathlib import Path

import pytest

from quartet_site import (
    Abilities,
    Area,
    CatalogueObject,
    Container,
    Resume,
    RobotFiles,
    RobotSetup,
    SiteFileError,
    Surface,
    capabilities,
    load_resume,
    load_robots,
    summarised,
)

DEPLOY = Path(__file__).parents[3] / "deploy"
SITE = DEPLOY / "sites" / "home" / "site.yaml"


def setup(name: str) -> RobotSetup:
    return load_robots([name], {}, DEPLOY / "robots" / name / "robot.yaml", SITE)[name]


ROVER, LIFTER = setup("rover").abilities, setup("lifter").abilities


def thing(*size: float, shape: str = "box") -> CatalogueObject:
    look = {"colours": ["red"], "shape": shape, "size_m": size or None}
    return CatalogueObject.model_validate({"name": "parcel", "appearance": look})


def surface(top: float, **more: object) -> Surface:
    look = {"colours": ["wood"], "shape": "surface", "size_m": [1.0, 0.4, top]}
    return Surface.model_validate({"name": "shelf", "area": "kitchen", "appearance": look, **more})


def bin_of(rim: float) -> Container:
    look = {"colours": ["grey"], "shape": "container", "size_m": [0.3, 0.3, rim]}
    return Container.model_validate({"name": "bin", "area": "kitchen", "appearance": look})


def test_fingers_go_around_the_narrower_side():
    assert not ROVER.no_hold(thing(0.2, 0.07, 0.1))
    assert ROVER.no_hold(thing(0.2, 0.08, 0.1)) == "the parcel is 0.080 m wide, and rover grasps up to 0.072 m"
    assert not LIFTER.no_hold(thing(0.2, 0.08, 0.1))
    assert not ROVER.no_hold(thing()), "nobody knows how wide it is"
    assert not ROVER.no_hold(thing(0.2, 0.2, 0.1, shape="irregular")), "the box around it says little"


def test_the_numbers_of_a_refusal_are_those_that_a_group_is_shown():
    resume = setup("rover").resume
    assert resume is not None
    shelf, box = surface(1.2), thing(0.05, 0.05, 0.2)
    shown = json.loads(capabilities(summarised(resume), numbers=True, from_above=True))["manipulation"]["reach"]
    away = ROVER.put_distance(shelf)
    highest = max(one["height"][1] for one in shown if one["distance"][0] <= away <= one["distance"][1])
    assert f"needs the finger tips at {ROVER.put_height(shelf, box):.2f} m, and rover gets them to {highest:.2f} m" in (
        ROVER.no_put(shelf, box)
    )
    assert ROVER.put_distance(bin_of(0.4)) == ROVER.robot.approach.standoff_m.container_place
    assert f"grasps up to {ROVER.widest_m:.3f} m" in ROVER.no_hold(thing(0.2, 0.08, 0.1))


def test_every_place_of_the_home_is_reached_by_both_and_they_differ_in_what_they_hold():
    site = setup("rover").site
    for robot in (ROVER, LIFTER):
        for place in (*site.surfaces, *site.containers):
            assert not robot.no_pick(place), place.name
            assert not robot.no_put(place, site.object("green bottle")), place.name
    assert len([one for one in site.objects if ROVER.no_hold(one)]) == 9
    assert not [one for one in site.objects if LIFTER.no_hold(one)]


def test_a_high_shelf_is_for_the_one_that_gets_its_fingers_up_there():
    can, shelf = thing(0.066, 0.066, 0.122), surface(1.05)
    told = (
        "the top of the shelf is at 1.05 m: what is picked up from it needs the finger tips at 1.19 m, and rover gets "
    )
    assert ROVER.no_pick(shelf, can) == f"{told}them to 1.10 m"
    assert not LIFTER.no_pick(shelf, can)
    assert not ROVER.no_pick(surface(0.9), can)
    assert "put on it needs" in ROVER.no_put(shelf, can)
    assert ROVER.no_handle(shelf, can)
    assert not ROVER.no_handle(surface(1.05), thing(0.05, 0.05, 0.03))


def test_a_high_rim_needs_room_above_it():
    assert not ROVER.no_put(bin_of(0.4), thing(0.05, 0.05, 0.1))
    assert "what is put into it needs" in ROVER.no_put(bin_of(1.0), thing(0.05, 0.05, 0.1))
    assert not ROVER.no_pick(bin_of(1.0)), "how deep things lie in it is not known"


def test_the_fingers_leave_upwards_what_they_put_down():
    """The rover lets go 0.05 m above a top, its clearance above a rim is 0.35 m, and tips pass 0.02 m above things."""
    can = thing(0.066, 0.066, 0.1)
    assert ROVER.no_put(surface(1.0), can).endswith("needs the finger tips at 1.17 m, and rover gets them to 1.15 m")
    assert not ROVER.no_put(surface(0.97), can)
    assert ROVER.no_put(bin_of(0.9), can).endswith("needs the finger tips at 1.20 m, and rover gets them to 1.15 m")
    assert not ROVER.no_put(bin_of(0.84), can)
    long = thing(0.05, 0.05, 0.3)
    assert ROVER.no_put(bin_of(0.8), long).endswith("needs the finger tips at 1.17 m, and rover gets them to 1.15 m")
    assert ROVER.robot.release_m(0.3, into=True) == ROVER.robot.release_m(0.3, into=False) > 0.35


def test_a_top_above_the_cameras_is_not_seen():
    data = LIFTER.resume.model_dump()
    data["perception"]["cameras_info"] = {"front": {"height": 0.9, "hfov": 70, "type": "fixed"}}
    low = Abilities(LIFTER.robot, Resume.model_validate(data))
    assert low.no_pick(surface(1.0)) == "the top of the shelf is at 1.00 m, and lifter sees from 0.90 m"
    assert low.no_pick(surface(0.9)), "a camera as high as a top sees its edge only"
    assert not low.no_pick(surface(0.8))


def test_a_step_keeps_out_who_does_not_climb_it():
    area = {"name": "loft", "entry": {"x": 0, "y": 0}, "outline": [[0, 0], [1, 0], [1, 1]]}
    assert not ROVER.no_entry(Area.model_validate(area))
    told = ROVER.no_entry(Area.model_validate({**area, "step_m": 0.12}))
    assert told == "the way into the loft has a step of 0.12 m, and rover climbs 0.00 m"
    data = ROVER.resume.model_dump()
    data["body"]["mobility"]["kind"] = "rotors"
    flies = Abilities(ROVER.robot, Resume.model_validate(data))
    assert not flies.no_entry(Area.model_validate({**area, "step_m": 0.12}))


def test_without_a_resume_only_the_hand_is_known(tmp_path):
    (tmp_path / "robot.yaml").write_bytes((DEPLOY / "robots" / "rover" / "robot.yaml").read_bytes())
    known = load_robots(["rover"], {}, tmp_path / "robot.yaml", SITE)["rover"]
    assert known.resume is None
    assert known.abilities.no_hold(thing(0.2, 0.08, 0.1))
    assert not known.abilities.no_pick(surface(2.0))


@pytest.mark.parametrize("text", ["", "{", '{"robot_id": "rover"}', "[1]"])
def test_a_resume_that_cannot_be_read_says_how_to_write_it(tmp_path, text):
    (tmp_path / "robot.yaml").write_bytes((DEPLOY / "robots" / "rover" / "robot.yaml").read_bytes())
    (tmp_path / "resume.json").write_text(text)
    with pytest.raises(SiteFileError, match=r"resume\.json is not the resume of a robot.*quartet resume"):
        load_robots(["rover"], {}, tmp_path / "robot.yaml", SITE)


def test_a_resume_that_is_not_there_says_how_to_write_it(tmp_path):
    with pytest.raises(SiteFileError, match=r"resume\.json is not the resume of a robot.*No such file.*quartet resume"):
        load_resume(tmp_path / "resume.json")


def changed(tmp_path, change) -> None:
    data = LIFTER.resume.model_dump(mode="json")
    change(data)
    (tmp_path / "resume.json").write_text(json.dumps(data))


@pytest.mark.parametrize("height", [float("nan"), float("inf"), -1e300])
def test_a_resume_with_lengths_that_cannot_be_is_refused(tmp_path, height):
    (tmp_path / "robot.yaml").write_bytes((DEPLOY / "robots" / "lifter" / "robot.yaml").read_bytes())
    changed(tmp_path, lambda data: data["reach"]["bands"][0].update(height=[0.0, height]))
    with pytest.raises(SiteFileError, match=r"reach\.bands\.0\.height"):
        load_robots(["lifter"], {}, tmp_path / "robot.yaml", SITE)
    changed(tmp_path, lambda data: data["reach"].update(bands=data["reach"]["bands"][:1] * 1001))
    with pytest.raises(SiteFileError, match=r"reach\.bands"):
        load_robots(["lifter"], {}, tmp_path / "robot.yaml", SITE)


@pytest.mark.parametrize(
    ("name", "resume_of", "wrong"),
    [("lifter", "rover", True), ("lifter2", "lifter", False), ("ur5_2", "ur5", False), ("ur5", "ur5", False)],
)
def test_the_resume_of_another_robot_is_refused(tmp_path, name, resume_of, wrong):
    text = (DEPLOY / "robots" / "lifter" / "robot.yaml").read_text()
    (tmp_path / "robot.yaml").write_text(text.replace("name: lifter", f"name: {name}", 1))
    changed(tmp_path, lambda data: data.update(robot_id=resume_of))
    if not wrong:
        assert load_robots([name], {}, tmp_path / "robot.yaml", SITE)[name].resume
        return
    with pytest.raises(SiteFileError, match=r"is the resume of 'rover', not of 'lifter' .*quartet resume"):
        load_robots([name], {}, tmp_path / "robot.yaml", SITE)
    own = {name: RobotFiles(robot_file=tmp_path / "robot.yaml", site_file=SITE)}
    with pytest.raises(SiteFileError, match=r"name a resume_file in QUARTET_ROBOTS"):
        load_robots([name], own, None, None)


def test_the_resume_of_another_robot_is_used_with_a_warning_where_it_is_named(tmp_path, caplog):
    (tmp_path / "robot.yaml").write_bytes((DEPLOY / "robots" / "lifter" / "robot.yaml").read_bytes())
    rover = DEPLOY / "robots" / "rover" / "resume.json"
    files = {"lifter": RobotFiles(robot_file=tmp_path / "robot.yaml", site_file=SITE, resume_file=rover)}
    assert load_robots(["lifter"], files, None, None)["lifter"].resume == ROVER.resume
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "is the resume of 'rover', not of 'lifter'" in record.message
