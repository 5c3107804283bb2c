"""Furniture and scenes from model files: solid, seen, in the map, and with tops on which things stand."""

import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from quartet_simulation.errors import WorldFileError
from quartet_simulation.reachability import top_at
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.sensors.laser import first_hit
from quartet_simulation.simulation import Simulation
from quartet_simulation.world_tool.__main__ import main
from quartet_simulation.world_tool.proof import unsolvable
from quartet_simulation.worlds import FILES, load_world
from quartet_simulation.worlds.fixed_model import FixedModels
from quartet_site import load_site
from support.worlds import with_robot

FLAT = yaml.safe_load((FILES / "flat.yaml").read_text())
SHELF = """<mujoco model="shelf">
  <asset><material name="oak" rgba="0.6 0.4 0.2 1"/><mesh name="foot" file="parts/foot.obj"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 0.1"/>
    <body name="shelf" pos="2 1 0">
      <geom name="top" type="box" pos="0 0 0.7" size="0.5 0.2 0.02" material="oak"/>
      <geom name="board" type="box" pos="0 0 0.35" size="0.5 0.2 0.02" material="oak"/>
      <geom name="back" type="box" pos="0 0.19 0.34" size="0.5 0.01 0.34" rgba="0.2 0.3 0.6 1"/>
      <body pos="-0.48 0 0"><geom name="left end" type="box" pos="0 0 0.34" size="0.02 0.2 0.34"/></body>
      <geom name="right end" type="mesh" mesh="foot" pos="0.46 -0.2 0"/>
      <geom name="knob" type="sphere" pos="0.55 0 0.5" size="0.1" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
</mujoco>
"""
"""1.0 x 0.4 m, 0.72 m high, with its middle at (2, 1) of its frame."""
CORNERS = [(x, y, z) for x in (0, 0.04) for y in (0, 0.4) for z in (0, 0.68)]
FACES = "1 2 4|1 4 3|5 7 8|5 8 6|1 5 6|1 6 2|3 4 8|3 8 7|1 3 7|1 7 5|2 6 8|2 8 4"
FOOT = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS) + "".join(f"f {face}\n" for face in FACES.split("|"))
PIECE = {"name": "oak shelf", "kind": "model", "model": "shelf.xml", "centre": [7.3, 0.5], "yaw": math.pi}
SURFACE = {"aliases": ["bookcase"]}
WALLS = """<mujoco>
  <compiler angle="degree"/>
  <worldbody>
    <geom name="boards" type="box" pos="4.5 2 -0.05" size="4.5 2 0.05" rgba="0.7 0.1 0.1 1"/>
    <geom name="south" type="box" pos="4.5 -0.05 0.8" size="4.6 0.05 0.8"/>
    <geom name="north" type="box" pos="4.5 4.05 0.8" size="4.6 0.05 0.8"/>
    <geom name="west" type="box" pos="-0.05 2 0.8" size="0.05 2 0.8"/>
    <geom name="east" type="box" pos="9.05 2 0.8" size="0.05 2 0.8"/>
    <body name="workbench" pos="7.3 0.4 0">
      <geom type="box" pos="0 0 0.4" size="0.7 0.35 0.4" rgba="0.1 0.5 0.2 1"/></body>
    <body name="pillar" pos="4.5 3.7 0" euler="0 0 45"><geom type="box" pos="0 0 0.8" size="0.1 0.1 0.8"/></body>
  </worldbody>
</mujoco>
"""


def world(folder: Path, *, shelf: str = SHELF, **fields) -> Path:
    """The flat with the shelf in place of its round table, or with other fields."""
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    (folder / "shelf.xml").write_text(shelf)
    (folder / "parts" / "foot.obj").write_text(FOOT)
    (folder / "flat.xml").write_text(WALLS)
    things = [{"name": "yellow cup", "places": ["oak shelf"]}]
    furniture = [piece for piece in FLAT["furniture"] if piece["name"] not in ("round table", "plant")]
    content = {**FLAT, "furniture": [*furniture, {**PIECE, "surface": SURFACE}], "things": things, **fields}
    (folder / "world.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    return folder


def scene_world(folder: Path, **fields) -> Path:
    """A flat of one room in the walls of a scene file."""
    content = {
        "walls": [],
        "doors": [],
        "rooms": [{"name": "hall", "outline": [[0, 0], [9, 0], [9, 4], [0, 4]]}],
        "scene": "flat.xml",
        "furniture": [
            {"name": "bench", "kind": "top", "rect": [6.6, 0.05, 8.0, 0.75], "height": 0.8, "colour": "green"},
            *(piece for piece in FLAT["furniture"] if piece["name"] == "kitchen bin"),
        ],
        "things": [{"name": "yellow cup", "places": ["bench"]}],
        **fields,
    }
    return world(folder, **content)


@pytest.fixture(scope="module")
def sim(tmp_path_factory):
    sim = Simulation(str(world(tmp_path_factory.mktemp("shelf"))), 0, sensors="clean")
    yield sim
    sim.close()


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    sim = Simulation(str(scene_world(tmp_path_factory.mktemp("scene"))), 0, sensors="clean")
    yield sim
    sim.close()


def faults(folder: Path) -> str:
    with pytest.raises(WorldFileError) as caught:
        load_world(folder)
    return str(caught.value)


def occupied(sim: Simulation, x: float, y: float) -> bool:
    grid = sim.occupancy_grid()
    size, (ox, oy) = grid["resolution"], grid["origin"]
    return grid["data"][int((y - oy) / size), int((x - ox) / size)] == 100


def seen_at(sim: Simulation, x: float, y: float, z: float) -> tuple[int, ...]:
    """Return the colour of a point of map in the picture from above."""
    colour, _ = sim.render("overhead")
    physics = sim._physics
    camera = physics.model.camera("overhead").id
    away = physics.data.cam_xmat[camera].reshape(3, 3).T @ (np.array([x, y, z]) - physics.data.cam_xpos[camera])
    high, wide = colour.shape[:2]
    focal = high / 2 / math.tan(math.radians(float(physics.model.cam_fovy[camera])) / 2)
    return tuple(
        int(c) for c in colour[int(high / 2 + focal * away[1] / away[2]), int(wide / 2 - focal * away[0] / away[2])]
    )


# --- a piece of furniture -----------------------------------------------------------------------------
def test_a_piece_stands_with_the_middle_of_its_outline_at_its_centre(sim):
    top = sim.world.surface("oak shelf")
    assert top.rect == pytest.approx((6.8, 0.3, 7.8, 0.7))
    assert top.height == pytest.approx(0.72)
    assert top.area == "living room"
    # Turned by half a turn, its back of the north is in the south, and its mesh of the east in the west.
    model, data = sim._physics.model, sim._physics.data
    assert data.geom_xpos[model.geom("oak shelf:2").id] == pytest.approx((7.3, 0.31, 0.34))
    assert data.geom_xpos[model.geom("oak shelf:3").id] == pytest.approx((6.82, 0.5, 0.34), abs=1e-6)
    assert model.geom("oak shelf:0").rgba == pytest.approx((0.6, 0.4, 0.2, 1))
    with pytest.raises(KeyError):
        model.geom("oak shelf:6")


def test_a_piece_bars_the_way_and_a_laser_meets_it(sim):
    assert occupied(sim, 7.3, 0.5)
    assert not occupied(sim, 7.3, 0.9)
    assert sim.compute_path((7.3, 0.5, 0.0))[0] != 0
    sim.put_robot(7.3, 2.0, -math.pi / 2)
    away, _ = first_hit(sim._physics, 7.3, 0.5)
    assert away < 2.0 - 0.3 + 0.02
    assert top_at(sim._physics, 7.3, 0.5, 1.0) == pytest.approx(0.72)
    red, green, blue = seen_at(sim, 7.3, 0.5, 0.72)
    assert red > green > blue


def test_a_robot_cannot_drive_through_a_piece(sim):
    sim._base_checks.load(sim._physics.data.qpos)
    sim._base_checks.attach(None)
    sim._base_checks.set_base(7.3, 0.7, 0.0)
    assert sim._base_checks.colliding()
    sim._base_checks.set_base(7.3, 2.0, 0.0)
    assert not sim._base_checks.colliding()


def test_a_thing_stands_on_a_piece(sim):
    sim.place_object("yellow cup", 7.3, 0.55, 0.75)
    for _ in range(40):
        sim.step(0.05)
    x, y, z = sim.truth()["objects"]["yellow cup"]["position"]
    assert (x, y) == pytest.approx((7.3, 0.55), abs=0.02)
    assert z == pytest.approx(0.72 + sim.world.kinds["yellow cup"].half_height, abs=0.005)


def test_a_robot_fetches_a_thing_from_a_piece(tmp_path, hands):
    sim = Simulation(str(world(tmp_path)), 0, sensors="clean")
    hand, top = hands(sim), sim.world.surface("oak shelf")
    x, y = sim.truth()["objects"]["yellow cup"]["position"][:2]
    assert sim.truth()["objects"]["yellow cup"]["on"] == "oak shelf"
    assert hand.drive_to(*top.approach).status == "SUCCEEDED"
    assert hand.approach(x, y, dim.PICK_STANDOFF).status == "SUCCEEDED"
    assert [goal.status for goal in hand.pick("yellow cup")] == ["SUCCEEDED"] * 3
    assert sim.truth()["held"] == "yellow cup"
    assert sim.truth()["robot_in_collision"] == []
    sim.close()


def test_a_world_with_a_model_is_solvable_and_has_a_site(tmp_path, capsys):
    folder = world(tmp_path / "mine")
    assert unsolvable(str(folder)) == []
    assert main(["site", str(folder)]) == 0
    site = load_site(folder / "site.yaml")
    (place,) = (one for one in site.surfaces if one.name == "oak shelf")
    assert place.aliases == ["bookcase"]
    assert tuple(place.appearance.size_m) == pytest.approx((1.0, 0.4, 0.72))
    assert main(["check", str(with_robot(folder))]) == 0, capsys.readouterr().err
    picture = tmp_path / "world.png"
    assert main(["show", str(folder), "--out", str(picture)]) == 0
    with Image.open(picture) as image:
        assert image.size == (960, 720)


def test_the_example_of_the_documentation_works(tmp_path, capsys):
    text = (Path(__file__).resolve().parents[3] / "docs" / "worlds.md").read_text().split("## Models of your own")[1]
    assert main(["new", str(tmp_path / "mine")]) == 0
    (tmp_path / "mine" / "workbench.xml").write_text(text.split("```xml\n")[1].split("```")[0])
    content = yaml.safe_load((tmp_path / "mine" / "world.yaml").read_text().replace("round table]", "workbench]"))
    furniture = [piece for piece in content["furniture"] if piece["name"] != "round table"]
    content["furniture"] = [*furniture, *yaml.safe_load(text.split("```yaml\n")[1].split("```")[0])]
    (tmp_path / "mine" / "world.yaml").write_text(yaml.safe_dump(content))
    assert main(["site", str(tmp_path / "mine")]) == 0
    assert main(["check", str(with_robot(tmp_path / "mine"))]) == 0, capsys.readouterr().err
    scene = yaml.safe_load(text.split("```yaml\n")[2].split("```")[0])
    scene_world(tmp_path / "scene", **scene)
    assert unsolvable(str(tmp_path / "scene")) == []


def test_a_new_world_takes_the_models_of_another_along(tmp_path):
    world(tmp_path / "one", scene=None)
    assert main(["new", str(tmp_path / "two"), "--like", str(tmp_path / "one")]) == 0
    assert (tmp_path / "two" / "parts" / "foot.obj").read_text() == FOOT
    assert load_world(tmp_path / "two").surface("oak shelf") is not None


def test_an_edited_model_is_read_again(tmp_path):
    folder = world(tmp_path)
    assert load_world(folder).surface("oak shelf").height == pytest.approx(0.72)
    (folder / "shelf.xml").write_text(SHELF.replace("0 0 0.7", "0 0 0.8"))
    assert load_world(folder).surface("oak shelf").height == pytest.approx(0.82)


def test_a_piece_may_be_turned_and_raised(tmp_path):
    """Its shapes count, not the boxes around them: turned by an eighth, it fits into a corner."""
    surface = {"rect": [7.2, 0.9, 7.5, 1.1], "colour": "oak"}
    folder = world(tmp_path, furniture=[{**PIECE, "centre": [7.35, 1.0], "yaw": 0.7854, "z": 0.05, "surface": surface}])
    top = load_world(folder).surface("oak shelf")
    assert top.rect == (7.2, 0.9, 7.5, 1.1)
    assert top.height == pytest.approx(0.77)
    beside = {"name": "box", "kind": "box", "rect": [6.6, 1.3, 6.9, 1.5], "z": [0, 0.4], "colour": "red"}
    piece = {**PIECE, "centre": [7.35, 1.0], "yaw": 0.7854}
    load_world(world(tmp_path, furniture=[piece, beside], things=[]))
    inside = {**beside, "rect": [7.2, 0.9, 7.5, 1.1]}
    assert "'box' overlaps 'oak shelf'" in faults(world(tmp_path, furniture=[piece, inside], things=[]))


def test_a_board_below_the_top_is_a_place_too(tmp_path):
    board = {"name": "lower board", "kind": "top", "rect": [6.9, 0.33, 7.7, 0.7], "height": 0.37, "colour": "oak"}
    folder = world(tmp_path, furniture=[{**PIECE, "surface": {}}, board])
    assert load_world(folder).surface("lower board").height == 0.37


@pytest.mark.parametrize(
    ("geom", "extent"),
    [
        ('type="sphere" size="0.2"', (0.2, 0.2, 0.2)),
        ('type="capsule" size="0.1 0.3" euler="90 0 0"', (0.1, 0.4, 0.1)),
        ('type="cylinder" size="0.1 0.3" euler="0 90 0"', (0.3, 0.1, 0.1)),
        ('type="ellipsoid" size="0.1 0.2 0.3" euler="0 0 90"', (0.2, 0.1, 0.3)),
        ('type="box" size="0.1 0.2 0.3" euler="0 0 90"', (0.2, 0.1, 0.3)),
    ],
)
def test_the_outline_of_a_primitive_is_that_of_its_shape(tmp_path, geom, extent):
    (tmp_path / "one.xml").write_text(f"<mujoco><worldbody><geom {geom}/></worldbody></mujoco>")
    (shape,) = FixedModels(tmp_path).find("one.xml").shapes
    low, high = shape.extent(np.eye(4))
    assert high == pytest.approx(extent)
    assert low == pytest.approx([-one for one in extent])


# --- a scene ------------------------------------------------------------------------------------------
def test_a_scene_stands_as_its_file_has_it(scene):
    assert occupied(scene, 7.3, 0.4)
    assert occupied(scene, 4.5, 3.7)
    assert not occupied(scene, 4.5, 2.0)
    assert seen_at(scene, 7.3, 0.4, 0.8)[1] > 1.5 * max(seen_at(scene, 7.3, 0.4, 0.8)[::2])
    red, green, _ = seen_at(scene, 6.0, 2.0, 0.0)
    assert red > 2 * green, "its floor is seen, not that of the room"
    scene.put_robot(2.0, 2.0, 0.0)
    away, _ = first_hit(scene._physics, -1.0, 2.0)
    assert away == pytest.approx(2.0, abs=0.3)


def test_a_thing_stands_on_a_top_of_a_scene(scene, tmp_path):
    scene.place_object("yellow cup", 7.3, 0.6, 0.83)
    for _ in range(40):
        scene.step(0.05)
    z = scene.truth()["objects"]["yellow cup"]["position"][2]
    assert z == pytest.approx(0.80 + scene.world.kinds["yellow cup"].half_height, abs=0.005)
    assert unsolvable(str(scene_world(tmp_path))) == []


# --- faults -------------------------------------------------------------------------------------------
JOINT = '<joint name="hinge" type="hinge"/>'
BODY = '<body name="shelf" pos="2 1 0">'


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        (BODY, BODY + JOINT, ["has the joints hinge; valid: bodies without any"]),
        (
            "</worldbody>",
            '<site name="tip"/></worldbody><actuator><general name="push" site="tip"/></actuator>',
            ["has the actuators push"],
        ),
        ("<mujoco", "<sdf", ["is not XML: mismatched tag"]),
        (SHELF, "<sdf/>", ["shelf.xml holds <sdf>; valid: <mujoco> (MJCF) or <robot> (URDF)"]),
        ("parts/foot.obj", "parts/leg.obj", ["'parts/leg.obj' of", "cannot be read: No such file"]),
        ("parts/foot.obj", "../foot.obj", ["names '../foot.obj', which is outside of"]),
        ("parts/foot.obj", "parts/foot.png", ["valid: .stl, .obj, .msh"]),
        (
            "<worldbody>",
            '<default><geom contype="0" conaffinity="0"/></default><worldbody>',
            ["no geom of", "shelf.xml collides"],
        ),
        ('type="plane"', 'pos="0 0 1" type="plane"', ["the plane 'floor' of", "is not the floor at z 0"]),
        ("<worldbody>", '<worldbody><geom size="0.1" pos="nan 0 0"/>', ["farther than 1000 m from its origin"]),
        ("<worldbody>", '<worldbody><replicate count="9"><geom size="1"/></replicate>', ["<replicate> makes parts"]),
    ],
)
def test_a_fault_of_a_model_is_told_with_its_place(tmp_path, before, after, wanted):
    shelf = SHELF.replace(before, after)
    folder = world(tmp_path, shelf=shelf, things=[])
    lines = (folder / "world.yaml").read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "model: shelf.xml" in line)
    (told,) = faults(folder).splitlines()[1:]
    assert f"world.yaml:{number}: furniture.3.model" in told
    assert told.endswith("; the file has 'shelf.xml'")
    for part in wanted:
        assert part in told


@pytest.mark.parametrize(
    ("piece", "wanted"),
    [
        ({"model": "none.xml"}, "'none.xml' of"),
        ({"model": "../shelf.xml"}, "names 'shelf.xml', which is outside of"),
        ({"model": "shelf.stl"}, "this is no model file; valid: a file .xml, .mjcf, .urdf below"),
        ({"model": 7}, "this is no model file"),
        ({"z": -0.1}, "furniture.3.z: 'oak shelf' reaches 0.10 m below the floor; raise it by 0.10 m (z)"),
        ({"centre": [7.0, 3.0]}, "'oak shelf' overlaps 'sofa' by"),
        ({"centre": [7.3, 0.2]}, "'oak shelf' overlaps the wall 'south wall' by"),
        ({"centre": [4.3, 2.0], "yaw": 1.5}, "'oak shelf' stands in the door 'kitchen door'"),
        ({"centre": [7.0, 9.0]}, "'oak shelf' stands at (7.00, 9.00), in none of the rooms"),
        (
            {"surface": {"top": 0.6}},
            "furniture.3.surface.top: no solid shape of 'oak shelf' ends 0.600 m high; valid: 0.370, 0.680, 0.720",
        ),
        ({"yaw": 0.4, "surface": {}}, "is turned by 0.4 rad, so the rectangle of its top is not worked out"),
        ({"surface": {"rect": [6.0, 0.3, 7.0, 0.6]}}, "surface.rect: [6.0, 0.3, 7.0, 0.6] is not within 'oak shelf'"),
        (
            {"surface": {"top": 0.6, "rect": [6.9, 0.4, 7.7, 0.6]}},
            "things do not stand 0.600 m high on 'oak shelf'",
        ),
        ({"surface": {"colour": "bluish"}}, "furniture.3.surface.colour: 'bluish' is no colour"),
        (
            {"surface": {"height": 1}},
            "furniture.3.surface.height: there is no such field; valid fields here: aliases, approach",
        ),
    ],
)
def test_a_fault_of_where_a_model_stands_says_what_is_valid(tmp_path, piece, wanted):
    furniture = [one for one in FLAT["furniture"] if one["name"] not in ("round table", "plant")]
    (tmp_path.parent / "shelf.xml").write_text(SHELF)
    found = faults(world(tmp_path / "bad", furniture=[*furniture, {**PIECE, **piece}], things=[]))
    assert wanted in found


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"scene": "none.xml"}, "scene: 'none.xml' of"),
        (
            {"furniture": [{"name": "box", "kind": "box", "rect": [6, 0, 7, 1], "z": [0, 1], "colour": "red"}]},
            "'box' overlaps the scene's 'workbench' by",
        ),
        (
            {"furniture": [{"name": "t", "kind": "top", "rect": [1, 1, 2, 2], "height": 0.8, "colour": "red"}]},
            "things do not stand 0.800 m high on 't' at (1.",
        ),
        (
            {
                "walls": [{"name": "middle", "from": [4.5, 0.05], "to": [4.5, 3.95]}],
                "doors": [{"name": "gate", "wall": "middle", "at": 3.4, "width": 0.9}],
            },
            "scene: the scene's 'pillar' stands in the door 'gate'",
        ),
    ],
)
def test_a_fault_of_a_scene_says_what_is_wrong(tmp_path, fields, wanted):
    assert wanted in faults(scene_world(tmp_path, **{"things": [], **fields}))
