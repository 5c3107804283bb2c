"""Worlds by file: what a file leaves out is worked out, and every fault of a bad one is named at once."""

import math
import shutil
from pathlib import Path

import pytest
import yaml
from PIL import Image

from quartet_simulation.errors import WorldFileError
from quartet_simulation.simulation import Simulation
from quartet_simulation.world_tool.__main__ import main
from quartet_simulation.world_tool.generate import generate
from quartet_simulation.world_tool.proof import unsolvable
from quartet_simulation.world_tool.reach import abilities_of, reach_report
from quartet_simulation.worlds import FILES, find_world, load_world
from quartet_site import CatalogueObject, load_site
from support.worlds import with_robot

FLAT = (FILES / "flat.yaml").read_text()
ROBOTS = Path(__file__).resolve().parents[3] / "deploy" / "robots"


def written(folder, text=FLAT):
    folder.mkdir(exist_ok=True)
    (folder / "world.yaml").write_text(text)
    return folder


def changed(folder, **fields):
    """The flat with other lists."""
    return written(folder, yaml.safe_dump({**yaml.safe_load(FLAT), **fields}))


def faults(folder) -> str:
    with pytest.raises(WorldFileError) as caught:
        load_world(folder)
    return str(caught.value)


def test_all_faults_of_a_bad_world_are_found_at_once(tmp_path):
    text = FLAT.replace("doors:\n", "doors:\n- {name: cellar door, wall: west wall, at: 2.0, width: 0.9}\n")
    text = text.replace("colour: blue", "colour: bluish").replace("centre: [7.3, 1.0]", "centre: [6.6, 3.4]")
    text = text.replace("size: [0.06, 0.06, 0.08]", "size: [0.16, 0.17, 0.08]")
    text = text.replace("{name: plant, kind: plant, centre", "{name: plant, kind: palm, centre")
    lines = text.splitlines()
    found = faults(written(tmp_path / "bad", text))
    for wanted, where in (
        ("the door leads nowhere: no room is at (-0.15, 2.00)", "cellar door"),
        ("'bluish' is no colour and no material; valid: beech, beige", "bluish"),
        ("'sofa' overlaps 'round table'", "kind: sofa"),
        (
            "the gripper cannot hold 'purple brick': it is 0.160 m wide where it is narrowest; valid up to 0.12 m",
            "brick",
        ),
        ("there is no 'kind' 'palm'; valid: 'table', 'round table'", "palm"),
    ):
        (line,) = (one for one in found.splitlines() if wanted in one)
        number = next(n for n, content in enumerate(lines, 1) if where in content)
        assert f"world.yaml:{number}: " in line, (line, number)


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"doors": [{"name": "d", "wall": "wall", "at": 1, "width": 1}]}, "there is no wall 'wall'; valid: south wall"),
        ({"doors": [{"name": "d", "wall": "middle wall", "at": 2, "width": 0.6}]}, "too narrow for the robot"),
        ({"doors": [{"name": "d", "wall": "middle wall", "at": 3.8, "width": 0.9}]}, "not in the wall 'middle wall'"),
        (
            {"doors": [{"name": n, "wall": "middle wall", "at": a, "width": 1} for n, a in (("d", 2), ("e", 2.5))]},
            "'e' overlaps the door 'd'",
        ),
        (
            {"furniture": [{"name": "b", "kind": "plant", "centre": [4.2, 2], "height": 1}]},
            "in the door 'kitchen door'",
        ),
        (
            {"furniture": [{"name": "b", "kind": "plant", "centre": [2, 9], "height": 1}]},
            "'b' stands at (2.00, 9.00), in none of",
        ),
        (
            {
                "furniture": [
                    {"name": name, "kind": "table", "rect": rect, "height": 0.7, "colour": "wood"}
                    for name, rect in (("a", [1, 1, 2, 2]), ("b", [1.8, 1.5, 2.8, 2.5]))
                ]
            },
            "'b' overlaps 'a' by 0.20 x 0.50 m at (1.90, 1.75); move one of them",
        ),
        (
            {"layouts": {"0": {"yellow cup": "sofa"}}},
            "layouts.0.yellow cup: 'sofa' is no place; valid: kitchen",
        ),
        ({"layouts": {"0": {"orb": "counter"}}}, "layouts.0.orb: there is no thing 'orb'; valid: "),
        (
            {
                "furniture": [{"name": "t", "kind": "table", "rect": [1, 1, 3.5, 3], "height": 0.7, "colour": "wood"}],
                "things": [],
            },
            "the robot finds no room before 't'",
        ),
        ({"things": [{"name": "orb", "places": ["sofa"]}]}, "'orb' is not in the catalogue"),
        ({"things": [{"name": "red cup", "places": ["sofa"]}]}, "'sofa' is neither a surface nor a floor zone; valid:"),
        ({"start_rooms": ["attic"]}, "there is no room 'attic'; valid: kitchen, living room"),
        (
            {
                "rooms": [
                    {"name": "kitchen", "outline": [[0, 0], [4.2, 0], [4.2, 4], [0, 4]]},
                    {"name": "living room", "outline": [[4, 0], [9, 0], [9, 4], [4, 4]]},
                ]
            },
            "'living room' overlaps the room 'kitchen', at (4.05, 0.05)",
        ),
        ({"walls": [{"name": "w", "from": [0, 0], "to": [1, 1]}]}, "a wall runs along x or along y"),
        ({"walls": [{"name": "w", "from": [1, 0], "to": [0, 0]}]}, "a wall runs towards larger x or y"),
        ({"colour": "red"}, "colour: there is no such field; valid fields here: description, doors"),
    ],
)
def test_a_fault_says_what_is_valid(tmp_path, fields, wanted):
    assert wanted in faults(changed(tmp_path / "bad", **fields))


@pytest.mark.slow
def test_a_world_of_ones_own_is_made_checked_and_drawn(tmp_path, capsys):
    folder = tmp_path / "mine"
    assert main(["new", str(folder)]) == 0
    with_robot(folder)
    assert main(["check", str(folder)]) == 0, capsys.readouterr().err
    assert "2 rooms, 2 surfaces, 1 containers, 4 things" in capsys.readouterr().out
    assert main(["show", str(folder), "--out", str(tmp_path / "mine.png")]) == 0
    with Image.open(tmp_path / "mine.png") as picture:
        assert picture.size == (960, 720)
    assert main(["new", str(folder)]) == 1
    site = load_site(folder / "site.yaml")
    assert {one.name for one in site.surfaces} == {"kitchen counter", "round table"}
    (folder / "site.yaml").write_text((folder / "site.yaml").read_text().replace("kitchen bin", "green bin"))
    capsys.readouterr()
    assert main(["check", str(folder)]) == 1
    error = capsys.readouterr().err
    assert "'green bin' is not in world.yaml" in error
    assert "'kitchen bin' is missing" in error


def test_a_room_behind_a_closed_door_is_not_reached(tmp_path):
    folder = written(tmp_path / "closed", FLAT.replace("leaf: open", "leaf: closed"))
    assert any("the entry of 'living room'" in fault for fault in unsolvable(str(folder), (0,)))


@pytest.mark.parametrize(("at", "barred"), [((3.6, 2.0), True), ((2.0, 0.9), False)])
def test_what_lies_in_a_floor_zone_must_not_bar_the_way_to_a_room(tmp_path, at, barred):
    rooms = yaml.safe_load(FLAT)["rooms"]
    x, y = at
    rooms[0]["floor_zone"] = {"name": "kitchen", "rect": [x - 0.12, y - 0.12, x + 0.12, y + 0.12]}
    folder = changed(tmp_path / "zone", rooms=rooms)
    told = [fault for fault in unsolvable(str(folder), (0,)) if fault.startswith("with something in the floor zone")]
    assert bool(told) == barred, told
    assert all("the entry of 'living room'" in fault for fault in told)


def test_a_world_is_proved_with_the_robot_that_is_to_work_in_it(tmp_path, capsys):
    """Another robot than the home's passes or does not pass its doors by its own width."""
    folder, robots = written(tmp_path / "flat"), ROBOTS
    assert main(["site", str(folder)]) == 0
    assert main(["check", str(folder), "--robot-file", str(robots / "lifter" / "robot.yaml")]) == 0
    wide = tmp_path / "robot.yaml"
    text = (robots / "rover" / "robot.yaml").read_text()
    for before, after in (("width_m: 0.50", "width_m: 0.95"), ("footprint_radius_m: 0.45", "footprint_radius_m: 0.60")):
        assert before in text
        text = text.replace(before, after)
    wide.write_text(text)
    capsys.readouterr()
    assert main(["check", str(folder), "--robot-file", str(wide)]) == 1
    assert "is not reached from" in capsys.readouterr().err
    wide.write_text(text.replace("model: panda", "model: paw"))
    assert main(["check", str(folder), "--robot-file", str(wide)]) == 1
    assert "there is no model 'paw'" in capsys.readouterr().err


def test_each_robot_is_checked_at_each_place(tmp_path, capsys):
    """The flat with a counter onto which the lifter's arm reaches and the rover's does not."""
    furniture = yaml.safe_load(FLAT)["furniture"]
    furniture[0]["height"] = 1.17
    folder = changed(tmp_path / "flat", furniture=furniture)
    assert main(["site", str(folder)]) == 0
    site = folder / "site.yaml"
    site.write_text(site.read_text().replace("- name: living room", "- name: living room\n  step_m: 0.05"))
    robots = [abilities_of(ROBOTS / name / "robot.yaml")[0] for name in ("lifter", "rover")]
    files = [f"--robot-file={ROBOTS / name / 'robot.yaml'}" for name in ("lifter", "rover")]
    capsys.readouterr()
    assert main(["check", str(folder), *files]) == 1
    said = [line.strip() for line in capsys.readouterr().err.splitlines()]
    assert said[0].startswith("no robot can use the 'round table': the way into the living room has a step of 0.05 m")
    assert said[1].endswith(": 1 fault"), "the counter is used by the lifter"
    at_counter = said[said.index("kitchen counter") + 1 : said.index("round table")]
    counter, (can, *_) = load_site(site).surfaces[0], load_site(site).objects
    lifter, rover = robots
    assert not lifter.no_put(counter)
    assert f"lifter puts down all but {can.name}: {lifter.no_put(counter, can)}" in at_counter
    assert at_counter[2:] == [
        f"rover picks up nothing: {rover.no_pick(counter)}",
        f"rover puts down nothing: {rover.no_put(counter)}",
    ]
    assert "kitchen bin: lifter, rover can do everything" in said
    assert said[-1] == "the yellow cup is 0.078 m wide, and rover grasps up to 0.072 m"


def test_a_report_is_of_things_that_a_robot_holds_and_not_of_what_lies_in_containers():
    lifter, rover = (abilities_of(ROBOTS / name / "robot.yaml")[0] for name in ("lifter", "rover"))
    home = load_site(ROBOTS.parent / "sites" / "home" / "site.yaml")
    look = {"colours": ["red"], "shape": "box", "size_m": [0.2, 0.2, 0.5]}
    crate = CatalogueObject.model_validate({"name": "crate", "appearance": look})
    high = home.containers[0].model_copy(
        update={"appearance": home.containers[0].appearance.model_copy(update={"size_m": (0.3, 0.3, 1.0)})}
    )
    changed = {"objects": [home.object("red coke can"), crate], "surfaces": home.surfaces[:1], "containers": [high]}
    assert reach_report(home.model_copy(update=changed), [lifter, rover])[1:] == [
        f"  {home.surfaces[0].name}: lifter, rover can do everything",
        f"  {high.name}",
        "    lifter puts down everything",
        f"    rover puts down nothing: {rover.no_put(high)}",
        "Things that a robot cannot hold:",
        f"  {lifter.no_hold(crate)}; {rover.no_hold(crate)}",
    ]


@pytest.mark.long
def test_a_resume_that_is_missing_or_of_another_robot_is_computed(tmp_path):
    home = ROBOTS.parent / "sites" / "home"
    file = Path(shutil.copy(home / "robot.yaml", tmp_path))
    computed, said = abilities_of(file)
    assert said == (
        f"summit has no resume.json; write it with: quartet resume {tmp_path} --format json > {tmp_path}/resume.json"
    )
    shutil.copy(home / "resume.json", tmp_path)
    shipped, said = abilities_of(file)
    assert said == ""
    assert shipped.resume.reach == computed.resume.reach
    shutil.copy(ROBOTS / "rover" / "resume.json", tmp_path)
    other, said = abilities_of(file)
    assert said.startswith(f"{tmp_path / 'resume.json'} is of 'rover', not of 'summit'; write it with: quartet resume")
    assert other.resume == computed.resume


def test_a_thing_like_another_has_its_shape_under_its_own_name():
    kinds = find_world(str(FILES / "flat.yaml")).kinds
    assert kinds["green tin"].size == (0.068, 0.068, 0.10)
    assert kinds["green tin"].colours == ("#2f8f3f",)
    assert kinds["purple brick"].shape == "box"


def test_an_edited_world_is_read_again(tmp_path):
    folder = written(tmp_path / "edited")
    assert "kitchen bin" in [one.name for one in load_world(folder).containers]
    written(folder, FLAT.replace("kitchen bin", "waste bin"))
    assert "waste bin" in [one.name for one in load_world(folder).containers]


def test_a_round_table_is_an_obstacle_for_the_planner(tmp_path, hands):
    sim = Simulation(str(written(tmp_path / "round")), 0, sensors="clean")
    grid = sim.occupancy_grid()
    table = sim.world.surface("round table")
    x0, y0, x1, y1 = table.rect
    size, (ox, oy) = grid["resolution"], grid["origin"]

    def occupied(x, y):
        return grid["data"][int((y - oy) / size), int((x - ox) / size)] == 100

    assert occupied((x0 + x1) / 2, (y0 + y1) / 2)
    assert occupied(x0 + 0.04, (y0 + y1) / 2)
    assert not occupied(x0 + 0.04, y0 + 0.04), "its corners are free"
    sim.put_robot(7.3, 2.35, -math.pi / 2)
    assert sim.compute_path((7.3, 0.9, 0.0))[0] != 0
    sim.close()


@pytest.mark.long
def test_a_home_of_a_seed_is_the_same_each_time_and_solvable(tmp_path):
    text = generate(3)
    assert text == generate(3)
    assert text != generate(4)
    folder = written(tmp_path / "three", text)
    assert unsolvable(str(folder), (5,)) == []
    fields = yaml.safe_load(text)
    assert all(0.80 <= door["width"] <= 1.0 for door in fields["doors"])
    assert len(fields["rooms"]) >= 2
    assert main(["new", str(tmp_path / "again"), "--like", "generated:3"]) == 0
    assert (tmp_path / "again" / "world.yaml").read_text() == text


def test_faults_of_all_files_of_a_folder_are_told_at_once(tmp_path, capsys):
    folder = tmp_path / "mine"
    assert main(["new", str(folder)]) == 0
    (folder / "world.yaml").write_text(FLAT.replace("colour: blue", "colour: bluish"))
    (folder / "site.yaml").write_text((folder / "site.yaml").read_text().replace("shape: cylinder", "shape: tube", 1))
    (folder / "robot.yaml").write_text("name: [nobody]\n")
    capsys.readouterr()
    assert main(["check", str(folder)]) == 1
    said = capsys.readouterr().err
    for wanted in (
        "world.yaml:",
        "'bluish' is no colour",
        "site.yaml:",
        "the file has 'tube'",
        "robot.yaml:",
        ": 5 faults",
    ):
        assert wanted in said
    assert "What a robot reaches in it is proved once world.yaml has none" in said


def test_a_world_whose_site_and_reach_are_wrong_is_told_both(tmp_path, capsys):
    folder = tmp_path / "mine"
    assert main(["new", str(folder)]) == 0
    with_robot(folder)
    (folder / "site.yaml").write_text((folder / "site.yaml").read_text().replace("kitchen bin", "green bin"))
    (folder / "world.yaml").write_text(FLAT.replace("leaf: open", "leaf: closed"))
    capsys.readouterr()
    assert main(["check", str(folder)]) == 1
    said = capsys.readouterr().err
    assert "'green bin' is not in world.yaml" in said
    assert "the entry of 'living room'" in said


def test_the_robot_of_a_folder_is_the_one_that_works_there(tmp_path, capsys):
    """The lifter's arm is a file beside its robot.yaml, which must be there too."""
    robots = Path(__file__).parents[3] / "deploy" / "robots"
    folder = tmp_path / "mine"
    assert main(["new", str(folder)]) == 0
    (folder / "robot.yaml").write_text((robots / "lifter" / "robot.yaml").read_text())
    capsys.readouterr()
    assert main(["check", str(folder)]) == 1
    said = capsys.readouterr().err
    assert "robot.yaml:" in said
    assert "arm.xml" in said
    (folder / "arm.xml").write_text((robots / "lifter" / "arm.xml").read_text())
    assert main(["check", str(folder)]) == 0, capsys.readouterr().err


def test_files_and_things_that_are_missing_are_faults(tmp_path, capsys):
    folder = tmp_path / "mine"
    assert main(["new", str(folder)]) == 0
    site = yaml.safe_load((folder / "site.yaml").read_text())
    site["objects"] = [one for one in site["objects"] if one["name"] not in ("yellow cup", "green tin")]
    (folder / "site.yaml").write_text(yaml.safe_dump(site))
    capsys.readouterr()
    assert main(["check", str(folder)]) == 1
    said = capsys.readouterr().err
    for wanted in (
        f"{folder / 'robot.yaml'} is missing, which describes the robot; copy that of deploy/sites/home",
        f"objects: 'yellow cup' is missing, which world.yaml has; add it, or write the file anew: quartet "
        f"world site {folder}",
        "objects: 'green tin' is missing",
        f"{folder}: 3 faults",
    ):
        assert wanted in said
    (folder / "site.yaml").unlink()
    assert main(["check", str(folder)]) == 1
    assert f"{folder / 'site.yaml'} is missing, which tells the robot its places" in capsys.readouterr().err


def test_a_policy_that_does_not_fit_is_a_fault(tmp_path, capsys):
    folder = tmp_path / "mine"
    assert main(["new", str(folder)]) == 0
    with_robot(folder)
    (folder / "policy.yaml").write_text("geofence: {areas: [attic]}\n")
    assert main(["check", str(folder)]) == 1
    assert "policy.yaml:1: geofence.areas.0: 'attic' is no area" in capsys.readouterr().err


def test_things_that_the_robot_cannot_tell_apart_are_a_fault(tmp_path, capsys):
    mug = {
        "shape": "cylinder",
        "size": [0.08, 0.08, 0.09],
        "colour": "green",
        "places": ["kitchen counter", "round table"],
    }
    things = [{**mug, "name": "mug"}, {**mug, "name": "milk mug", "print": "stripes"}]
    things += [{**mug, "name": "tall mug", "size": [0.08, 0.08, 0.12]}, {**mug, "name": "pink mug", "colour": "pink"}]
    folder = changed(tmp_path / "mugs", things=things)
    assert main(["site", str(folder)]) == 0
    assert main(["check", str(with_robot(folder))]) == 1
    said = capsys.readouterr().err
    line = next(n for n, text in enumerate((folder / "site.yaml").read_text().splitlines(), 1) if "milk mug" in text)
    assert f"site.yaml:{line}: objects.1: 'milk mug' has the colours, shape and size of 'mug'" in said
    assert f"{folder}: 1 fault\n" in said


def test_a_thing_like_another_keeps_its_parts_in_another_size(tmp_path):
    like = {"like": "blue mug", "places": ["kitchen counter"]}
    things = [{**like, "name": "cup"}, {**like, "name": "half cup", "size": [0.041, 0.041, 0.0475], "colour": "green"}]
    kinds = load_world(changed(tmp_path / "cups", things=things)).kinds
    whole, half = kinds["cup"], kinds["half cup"]
    assert len(whole.parts) == len(half.parts) > 3
    for one, other in zip(whole.parts, half.parts, strict=True):
        assert other.offset == pytest.approx([value / 2 for value in one.offset])
        assert other.half == pytest.approx([value / 2 for value in one.half])
    said = faults(changed(tmp_path / "cups", things=[{**things[0], "shape": "box"}]))
    assert "'blue mug' consists of several parts, so shape cannot be box; leave shape out, or leave out like" in said


def test_names_are_those_of_any_script(tmp_path):
    """All of the file refers to them in the spelling of a person."""
    text = (
        FLAT.replace("living room", "Küche d'été")
        .replace("name: round table", "name: Круглый стол")
        .replace("yellow cup", "黄色いコップ")
    )
    text = text.replace("places: [round table]", "places: [круглый  Стол]").replace(", round table]", ", Круглый стол]")
    text = text.replace("黄色いコップ, places", "黄色いコップ, like: Yellow Cup, places").replace(
        "kitchen bin", "M&M's Eimer 2"
    )
    world = load_world(written(tmp_path / "names", text))
    assert world.area("küche d'été") is not None
    assert world.surface("круглый стол").area == "küche d'été"
    assert world.homes["黄色いコップ"] == ("kitchen counter", "круглый стол")
    assert [one.name for one in world.containers] == ["m&m's eimer 2"]
    site = tmp_path / "names" / "site.yaml"
    assert main(["site", str(tmp_path / "names")]) == 0
    assert {one.name for one in load_site(site).objects} >= {"黄色いコップ"}
    said = faults(written(tmp_path / "names", text.replace("M&M's Eimer 2", "bin!")))
    assert "name: 'bin!' is not a name; valid: letters of any script, digits, spaces and ' & + % -" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["new", "{tmp}/file/mine"], "{tmp}/file/mine cannot be used: Not a directory; name another file or folder"),
        (["new", "{tmp}/file"], "{tmp}/file cannot be used: File exists; name another file or folder"),
        (["show", "flat", "--out", "{tmp}/none/x.png"], "{tmp}/none/x.png cannot be used: No such file or directory"),
        (
            ["show", "generated:x"],
            "unknown world 'generated:x'; valid: a folder with world.yaml, flat, generated:SEED, ",
        ),
        (["new", "{tmp}/a", "--like", "generated:-1"], "unknown world 'generated:-1'; valid: "),
    ],
)
def test_what_cannot_be_read_or_written_is_told_in_one_line(tmp_path, capsys, arguments, said):
    (tmp_path / "file").write_text("")
    assert main([one.format(tmp=tmp_path) for one in arguments]) == 1
    err = capsys.readouterr().err
    assert err.startswith(said.format(tmp=tmp_path))
    assert err.count("\n") == 1
