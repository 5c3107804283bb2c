"""What stands fast, as ground truth describes it."""

from types import SimpleNamespace

import mujoco
import numpy as np

from quartet_simulation.layout import layout_of

MODEL = """
<mujoco>
  <worldbody>
    <geom name="ground" type="plane" size="5 5 0.1"/>
    <geom name="box" type="box" size="0.3 0.2 0.1" pos="1 0 0.1" euler="0 0 90"/>
    <geom name="post" type="cylinder" size="0.05 0.5" pos="2 0 0.5"/>
    <geom name="ramp" type="box" size="1.0 0.2 0.01" pos="3 0 1.0" euler="0 45 0"/>
    <geom name="lamp" type="sphere" size="0.3" pos="0 3 0.3"/>
    <geom name="rail" type="capsule" size="0.02 1.0" pos="0 2 1.0" euler="0 90 0"/>
  </worldbody>
</mujoco>
"""


def test_solids_are_upright_boxes_and_cylinders_alone() -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    base = SimpleNamespace(length=0.7, width=0.6, height=0.45)
    world = SimpleNamespace(surfaces=[], containers=[], areas=[])
    physics = SimpleNamespace(model=model, data=data, world=world, build=SimpleNamespace(base=base))
    layout = layout_of(physics)  # type: ignore[arg-type]
    assert layout["solids"] == [
        [1.0, 0.0, round(np.pi / 2, 4), 0.3, 0.2, 0.0, 0.2, False],
        [2.0, 0.0, 0.0, 0.05, 0.05, 0.0, 1.0, True],
    ], "no box around a ramp, a lamp or a rail fills the free space beside it"
    assert (layout["footprint"], layout["body_height"]) == ([0.7, 0.6], 0.45)
