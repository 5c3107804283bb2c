"""Pixels that the cameras of robots see of things, by rays."""

import math
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from quartet_simulation.bodies.load import find_body
from quartet_simulation.buildings import Call, Household, Stand, Thing, detected, load_building, pixels
from quartet_simulation.buildings.building import furnished
from quartet_simulation.buildings.cameras import PIXELS, cameras_of, in_view, placed

ROOT = Path(__file__).resolve().parents[3]
START = Stand("ground floor", 2.9, 1.7)
ARM = """name: turned
model: turned.xml
arm: {hand: {body: hand}, bearing_deg: -90}
cameras:
  head: {link: trunk, position_m: [0.1, 0, 1.0], tilt_rad: 0.5235988, hfov_deg: 90}
  wrist: {link: hand, hfov_deg: 60}
mobility: {footprint_radius_m: 0.3, speed_m_s: 1}
"""
ARM_MODEL = """<mujoco><compiler angle="radian"/><worldbody><body name="trunk">
<geom type="box" pos="0 0 .5" size=".1 .1 .4" mass="1"/>
<body name="hand" pos="0 -.2 .8"><joint name="turn" axis="0 0 1" range="-1 1"/><geom size=".02" mass="1"/></body>
</body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def townhouse():
    return load_building(ROOT / "deploy" / "buildings" / "townhouse")


@pytest.fixture(scope="module")
def rover():
    return find_body("rover", ROOT / "deploy" / "robots")


def scene(building, body, *, start=START, **things):
    return Household(building, {"rover": body}, things, {"rover": start})


def looking(body, point, away):
    """Return a pose `away` [m] west of a point, facing it."""
    return Stand("ground floor", point[0] - away, point[1], 0.0)


def test_cameras_look_ahead_and_those_of_the_arm_along_its_bearing(tmp_path):
    (tmp_path / "turned").mkdir()
    (tmp_path / "turned" / "turned.xml").write_text(ARM_MODEL)
    (tmp_path / "turned" / "body.yaml").write_text(ARM)
    body = find_body("turned", tmp_path)
    head, wrist = cameras_of(body)["head"], cameras_of(body)["wrist"]
    np.testing.assert_allclose(head.pose[:3, 2], (math.cos(math.pi / 6), 0, -0.5), atol=1e-6)
    np.testing.assert_allclose(head.pose[:3, 3], (0.1, 0, 1.0), atol=1e-6)
    assert head.focal == pytest.approx(PIXELS / 2)
    np.testing.assert_allclose(wrist.pose[:3, 2], (0, -1, 0), atol=1e-6)
    np.testing.assert_allclose(wrist.pose[:3, 3], (0, -0.2, 0.8), atol=1e-6)
    for point, seen in (((1.1, 0, 0.42), True), ((-1, 0, 0.5), False), ((0, -2, 0.8), True), ((0, 2, 0.8), False)):
        assert in_view(body, Stand("ground floor", 0, 0), point) is seen, point


@pytest.mark.slow
@pytest.mark.parametrize("size", [(0.07, 0.07, 0.12), (0.3, 0.02, 0.2)])
def test_pixels_are_those_of_a_rendered_picture(townhouse, rover, size):
    # Its lower part is in the table, which hides it.
    position = (3.8, 2.8, 0.70 + size[2] / 2)
    stand = looking(rover, position, 1.4)
    household = scene(townhouse, rover, start=stand, cup=Thing("ground floor", position, size=size))
    spec = furnished(townhouse.storey("ground floor").world)
    spec.worldbody.add_geom(
        name="cup", type=mujoco.mjtGeom.mjGEOM_BOX, pos=position, size=[one / 2 for one in size], rgba=(1, 0, 0, 1)
    )
    for name, camera in cameras_of(rover).items():
        # MuJoCo's cameras look along -z with y up.
        turned, turn = placed(camera, stand) @ np.diag([1.0, -1.0, -1.0, 1.0]), np.zeros(4)
        mujoco.mju_mat2Quat(turn, turned[:3, :3].flatten())
        fovy = 2 * math.degrees(math.atan(PIXELS / 2 / camera.focal))
        spec.worldbody.add_camera(name=name, pos=turned[:3, 3], quat=turn, fovy=fovy)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    counted = pixels(household, "rover", "cup")
    assert max(counted.values()) > 50
    with mujoco.Renderer(model, PIXELS, PIXELS) as renderer:
        renderer.enable_segmentation_rendering()
        for name in cameras_of(rover):
            renderer.update_scene(data, name)
            rendered = int((renderer.render()[:, :, 0] == model.geom("cup").id).sum())
            assert counted[name] == pytest.approx(rendered, abs=4), name


def test_thing_is_detected_from_where_it_is_in_the_picture(townhouse, rover):
    position = (3.8, 2.8, 0.81)
    stand = looking(rover, position, 1.4)
    household = scene(townhouse, rover, start=stand, cup=Thing("ground floor", position))
    assert detected(household, "rover", "cup")
    for other in (replace(stand, yaw=math.pi), Stand("ground floor", 5.0, 6.0, -math.pi / 2)):
        # It looks away, or a wall is between the two.
        assert pixels(scene(townhouse, rover, start=other, cup=household.things["cup"]), "rover", "cup") == {
            "front": 0,
            "arm": 0,
        }
    upstairs = Thing("upper floor", position)
    assert not detected(scene(townhouse, rover, start=stand, cup=upstairs), "rover", "cup")
    spot = Thing("ground floor", position, "spot")
    assert not detected(scene(townhouse, rover, start=stand, cup=spot), "rover", "cup")


def test_ten_pixels_are_not_enough(townhouse, rover):
    position = (3.8, 2.8, 0.77)
    for side, seen in ((0.03, True), (0.006, False)):
        household = scene(
            townhouse,
            rover,
            start=looking(rover, position, 1.4),
            dot=Thing("ground floor", position, size=(side, side, side)),
        )
        count = max(pixels(household, "rover", "dot").values())
        assert count > 0
        assert detected(household, "rover", "dot") is seen is (count > 10)


def test_objects_hide_each_other(townhouse, rover):
    position = (3.9, 2.8, 0.81)
    start = looking(rover, position, 1.4)
    things = {"cup": Thing("ground floor", position)}
    alone = pixels(scene(townhouse, rover, start=start, **things), "rover", "cup")["front"]
    screen = Thing("ground floor", (3.8, 2.8, 1.0), size=(0.02, 0.6, 0.5))
    behind = pixels(scene(townhouse, rover, start=start, **things, screen=screen), "rover", "cup")["front"]
    assert alone > 10
    assert behind == 0
    farther = replace(screen, position=(4.1, 2.8, 1.0))
    assert pixels(scene(townhouse, rover, start=start, **things, screen=farther), "rover", "cup")["front"] == alone


def test_held_thing_is_where_the_hand_is(townhouse, rover):
    household = scene(townhouse, rover, cup=Thing("ground floor", (3.85, 2.6, 0.81)))
    for call in ("nav_to_obj", "pick"):
        household.begin("rover", Call(call, "cup"))
        assert household.advance()[0].ok
    # The camera on its wrist has it before it.
    assert pixels(household, "rover", "cup")["arm"] > 1000


def test_camera_inside_of_a_thing_sees_it_everywhere(townhouse, rover):
    x, y, z = (float(value) for value in placed(cameras_of(rover)["front"], START)[:3, 3])
    household = scene(townhouse, rover, room=Thing("ground floor", (x, y, z), size=(0.4, 0.4, 0.4)))
    assert pixels(household, "rover", "room")["front"] == PIXELS * PIXELS
