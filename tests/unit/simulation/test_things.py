"""Things that the robot carries: they stand as they are put, and show what is printed on them."""

import math

import mujoco
import numpy as np
import pytest
import yaml

from quartet_simulation.errors import WorldFileError
from quartet_simulation.names import body_name
from quartet_simulation.sensors.levels import LEVELS, STEREO
from quartet_simulation.sensors.stereo import StereoDepth
from quartet_simulation.worlds import FILES, load_world
from quartet_simulation.worlds.compile import make_spec
from quartet_simulation.worlds.objects import CATALOGUE, ObjectKind, add_object
from quartet_simulation.worlds.paint import COLOURS
from quartet_simulation.worlds.prints import PATTERNS, Print, draw

HALF = {"cylinder": (0.04, 0.04, 0.06), "box": (0.05, 0.03, 0.08), "sphere": (0.04, 0.04, 0.04)}
GREY = (0.5, 0.5, 0.5)
FLAT = yaml.safe_load((FILES / "flat.yaml").read_text())


def with_thing(folder, **fields):
    """The flat with one thing more."""
    thing = {"name": "grey thing", "places": ["kitchen counter"], **fields}
    (folder / "world.yaml").write_text(yaml.safe_dump({**FLAT, "things": [*FLAT["things"], thing]}))
    return folder


def on_the_floor(names):
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[9, 9, 0.1])
    for number, name in enumerate(names):
        add_object(spec, CATALOGUE[name], (0.4 * number, 0.0))
    model = spec.compile()
    return model, mujoco.MjData(model)


def test_every_thing_stands_still_as_it_usually_stands():
    model, data = on_the_floor(CATALOGUE)
    mujoco.mj_step(model, data, 1500)
    for number, (name, kind) in enumerate(CATALOGUE.items()):
        body = data.body(body_name(name))
        assert body.xpos == pytest.approx((0.4 * number, 0.0, kind.half_height), abs=0.004), name
        assert body.xmat[8] > 0.998, name
        assert model.body(body_name(name)).mass[0] == pytest.approx(kind.mass), name


def test_parts_lie_within_the_radius_that_others_keep_away():
    model, data = on_the_floor(["blue mug", "yellow banana"])
    mujoco.mj_forward(model, data)
    for number, name in enumerate(("blue mug", "yellow banana")):
        for geom in range(model.ngeom):
            if model.geom_bodyid[geom] != model.body(body_name(name)).id or not model.geom_contype[geom]:
                continue
            # Half sizes of the box around the geom, in its own frame.
            half = model.geom_aabb[geom, 3:]
            corners = np.array(np.meshgrid(*[(-h, h) for h in half])).reshape(3, -1)
            placed = data.geom_xmat[geom].reshape(3, 3) @ corners + data.geom_xpos[geom][:, None]
            reach = np.hypot(placed[0] - 0.4 * number, placed[1]).max()
            assert reach < CATALOGUE[name].radius + 0.004, name


def test_a_bowl_is_open():
    bowl, cube = CATALOGUE["green bowl"], CATALOGUE["small wooden cube"]
    model, data = on_the_floor(["green bowl", "small wooden cube"])
    start = model.jnt_qposadr[model.joint(body_name(cube.name)).id]
    data.qpos[start : start + 3] = (0.02, 0.0, 0.10)
    mujoco.mj_step(model, data, 1500)
    x, y, z = data.body(body_name(cube.name)).xpos
    assert math.hypot(x, y) < bowl.radius
    assert z + cube.half_height < bowl.size[2]


@pytest.mark.parametrize("body", HALF)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_print_leaves_most_of_a_thing_its_colour(pattern, body):
    ink = Print(pattern, ((1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (0.9, 0.9, 0.9)))
    one, again, other = (draw(seed, GREY, body, HALF[body], ink) for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()
    own = (np.abs(one.astype(int) - 128) < 60).all(axis=-1).mean()
    assert 0.5 < own <= 1.0
    assert (one != 128).any(), "something is printed"


@pytest.mark.parametrize("body", ["cylinder", "box"])
def test_stripes_run_round_a_thing(body):
    """A texture that MuJoCo lays on the body in another way than it was drawn would break them at each edge."""
    spec = mujoco.MjSpec()
    size = tuple(2 * half for half in HALF[body])
    spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [1.0] * 3, [0.0] * 3
    drawn = Print("stripes", ((0.0, 0.0, 1.0),))
    thing = ObjectKind("thing", body, size, (1.0, 0.0, 0.0), 0.1, ("red",), print=drawn)
    add_object(spec, thing, (0.0, 0.0))
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    seen = []
    with mujoco.Renderer(model, 240, 240) as renderer:
        for azimuth in (0, 90, 180, 270):
            camera = mujoco.MjvCamera()
            camera.distance, camera.azimuth, camera.elevation, camera.lookat = (
                0.6,
                azimuth,
                0,
                [0, 0, thing.half_height],
            )
            renderer.update_scene(data, camera)
            picture = renderer.render().astype(int)
            blue = (picture[..., 2] > picture[..., 0] + 40).sum(axis=1)
            all_of_it = (picture.max(axis=2) > 100).sum(axis=1)
            rows = np.flatnonzero(all_of_it)
            share = blue[rows] / all_of_it[rows]
            assert ((share < 0.15) | (share > 0.85)).mean() > 0.9, "a row of it is of one colour"
            seen.append(int((np.diff((share > 0.5).astype(int)) == 1).sum()))
    assert seen[0] >= 2
    assert len(set(seen)) == 1


def test_a_thing_of_ones_own_has_a_print(tmp_path):
    fields = {"shape": "box", "size": [0.06, 0.06, 0.1], "colour": "grey", "print": "label", "inks": ["red"]}
    kind = load_world(with_thing(tmp_path, **fields)).kinds["grey thing"]
    assert kind.print == Print("label", (pytest.approx(COLOURS["red"]),))


def test_a_thing_in_another_colour_has_all_parts_in_it(tmp_path):
    kind = load_world(with_thing(tmp_path, like="blue mug", colour=[0.5, 0.5, 0.5])).kinds["grey thing"]
    mug = CATALOGUE["blue mug"]
    assert [part.shape for part in kind.parts] == [part.shape for part in mug.parts]
    assert [part.rgb for part in kind.parts if part.solid] == [GREY] * 3
    assert kind.parts[-1].rgb == mug.parts[-1].rgb, "its inside has a colour of its own"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"print": "paisley"}, "print: valid: 'label', 'carton', 'stripes', 'grain' or 'mottled'"),
        ({"print": "label", "inks": ["reddish"]}, "'reddish' is no colour and no material; valid: beech, beige"),
        ({"inks": ["red"]}, "inks are the colours of a print, and 'grey thing' has none; valid prints: label, carton"),
        ({"finish": "wet"}, "finish: valid: 'matt', 'glossy' or 'clear'"),
        ({"shape": "bowl", "print": "label"}, "'grey thing' is a bowl, which nothing can be printed on"),
        ({"shape": "bowl", "size": [0.1, 0.08, 0.05]}, "'grey thing' is a bowl, so its two widths must be the same"),
    ],
)
def test_a_print_that_cannot_be_is_told(tmp_path, fields, said):
    with pytest.raises(WorldFileError) as caught:
        load_world(with_thing(tmp_path, **{"shape": "box", "size": [0.06, 0.06, 0.1], "colour": "grey", **fields}))
    assert said in str(caught.value)


def test_a_thing_of_ones_own_may_be_of_glass(tmp_path):
    fields = {"shape": "cylinder", "size": [0.07, 0.07, 0.12], "colour": "grey"}
    lost = {}
    for finish in ("matt", "clear"):
        world = load_world(with_thing(tmp_path, **fields, finish=finish))
        model = make_spec(world, textures=False).compile()
        stereo = StereoDepth(model, LEVELS["harsh"].depth, world.finishes)
        data = mujoco.MjData(model)
        camera = model.camera("front").id
        start = model.jnt_qposadr[model.joint(body_name("grey thing")).id]
        mujoco.mj_forward(model, data)
        ahead = -data.cam_xmat[camera].reshape(3, 3)[:, 2]
        data.qpos[start : start + 3] = data.cam_xpos[camera] + 0.8 * ahead
        mujoco.mj_forward(model, data)
        depth = np.full((480, 640), 0.8, dtype=np.float32)
        picture = np.full((480, 640, 3), 120, dtype=np.uint8)
        measured = stereo.measure(depth, picture, STEREO["front"], camera, data, (0, "front depth", 0.0))
        lost[finish] = float((measured[225:255, 305:335] == 0).mean())
    assert lost["matt"] == 0.0
    assert lost["clear"] > 0.4
