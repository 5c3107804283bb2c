"""Dustpan and broom with the sizes of RoCo's sweep task, to be bolted to hands that point down.

A cube of 5 cm goes over the pan's edge because a thin ramp leads to it. The ramp's front is 0.5 mm below the pan, which
then stands on it. The cube stays on the pan while the hand is level.
"""

from __future__ import annotations

import math

from quartet_simulation.table_arms.things import BoltedTool, Colour, Shape

PAN_HALF = (0.125, 0.11)
"""Half of the pan's floor along x and y of its hand [m]; it is open on the side away from its handle, -y."""
PAN_RIM = 0.04
PAN_BELOW, BROOM_BELOW = 0.30, 0.50
"""From the flange to the undersides, which are the tips [m]."""
BROOM_HALF = (0.07, 0.032, 0.08)
"""Half of the broom's head [m]."""
BRISTLES = 0.2
"""Friction of the broom; with that of a stiff board, it presses a cube down where the cube has to rise."""
_LIP = 0.0001
"""Half of the thickness of the ramp before the pan's floor [m]. A cube that lies along an edge of 1 mm stops at it."""
_THIN, _WALL, _SLOPE = 0.001, 0.003, 0.0575
_BLUE: Colour = (0.3, 0.6, 0.9, 1.0)
_YELLOW: Colour = (0.9, 0.7, 0.2, 1.0)
_GREY: Colour = (0.4, 0.4, 0.42, 1.0)


def dustpan() -> BoltedTool:
    """Return a pan with a rim on three sides; with `HandPose.down(..., yaw=0)` it is open towards the world's y."""
    (x, y), z = PAN_HALF, PAN_BELOW
    return BoltedTool(
        (
            Shape("box", (0.012, 0.012, z / 2), (0, y, z / 2), colour=_GREY),
            Shape("box", (x, y, _THIN), (0, 0, z - _THIN), colour=_BLUE),
            Shape(
                "box",
                (x, 0.02, _LIP),
                (0, 0.002 - y - 0.02, z - 2 * _THIN + _LIP + 0.02 * _SLOPE),
                (math.cos(_SLOPE / 2), -math.sin(_SLOPE / 2), 0, 0),
                colour=_BLUE,
            ),
            *(
                Shape("box", half, position, colour=_BLUE)
                for half, position in (
                    ((x, _WALL, PAN_RIM / 2), (0, y, z - PAN_RIM / 2)),
                    ((_WALL, y, PAN_RIM / 2), (x, 0, z - PAN_RIM / 2)),
                    ((_WALL, y, PAN_RIM / 2), (-x, 0, z - PAN_RIM / 2)),
                )
            ),
        ),
        (0, 0, z),
        mass=0.4,
    )


def broom() -> BoltedTool:
    """Return a broom whose broad sides face along y of its hand."""
    height = BROOM_HALF[2]
    stick = BROOM_BELOW - 2 * height
    return BoltedTool(
        (
            Shape("box", (0.01, 0.01, stick / 2), (0, 0, stick / 2), colour=_GREY),
            Shape("box", BROOM_HALF, (0, 0, BROOM_BELOW - height), colour=_YELLOW),
        ),
        (0, 0, BROOM_BELOW),
        friction=BRISTLES,
    )
