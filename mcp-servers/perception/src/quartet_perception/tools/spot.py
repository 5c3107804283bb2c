"""The tool measure_spot: what stands where something without a name was put down."""

import math
import time
from collections import deque
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from quartet_contracts.tools.perception import CameraName, SpotResult
from quartet_perception.detection import to_point
from quartet_perception.errors import TooFewPointsError
from quartet_perception.object_query import id_scope
from quartet_perception.perceiver import Perceiver
from quartet_perception.scene.spot import Spot, spot_in
from quartet_perception.scene.view import View
from quartet_tool_server import ToolServer, numbers

MOST_SPOTS = 200
"""Measurements that are remembered, of all tasks."""
SAME_SPOT_M = 0.05
"""Spots of the map that are nearer to each other than this are one."""

Place = tuple[float, float, float]


@dataclass(frozen=True)
class _Measured:
    """A measurement of an earlier call: whose it is, where on the map, what and when, on this process's clock [s]."""

    scope: str
    place: Place
    spot: Spot
    at: float


def add_spot_tool(server: ToolServer, perceiver: Perceiver) -> None:
    """Add measure_spot."""
    earlier: deque[_Measured] = deque(maxlen=MOST_SPOTS)

    @server.tool(read_only=True)
    async def measure_spot(
        position_base: Annotated[
            tuple[
                Annotated[float, Field(ge=-3, le=3, allow_inf_nan=False)],
                Annotated[float, Field(ge=-3, le=3, allow_inf_nan=False)],
                Annotated[float, Field(ge=-0.1, le=2, allow_inf_nan=False)],
            ],
            numbers(3, minimum=-3, maximum=3),
            Field(description="Spot: x, y, and the height of what carries things there, within 5 cm [m, base frame]."),
        ],
        most_m: Annotated[
            float,
            Field(gt=0, le=1, allow_inf_nan=False, description="What is higher than this over it does not count."),
        ] = 0.4,
        camera: Annotated[CameraName, Field(description="'front' (mast) or 'arm' (wrist).")] = "front",
    ) -> SpotResult:
        """Measure how high something stands at a spot of a surface or of the floor, whatever it is.

        For what has no name that a camera could look for. standing_m is 0 where nothing higher than 1.5 cm stands
        within 5 cm; the robot's hand does not count. Where the spot is out of view, the newest earlier measurement of
        it in this task is returned, and age_s says how old it is. TOO_FEW_POINTS: it is out of view and was not
        measured before.
        """
        x, y, surface = position_base
        view = await perceiver.view(camera)
        spot, age_s = await perceiver.compute(spot_in, view, x, y, surface, most_m), 0.0
        place = _on_map(view, position_base)
        if spot is not None and place is not None:
            earlier.append(_Measured(id_scope(), place, spot, time.monotonic()))
        elif spot is None:
            before = _newest(earlier, id_scope(), place)
            if before is None:
                raise TooFewPointsError(
                    f"the {camera} camera does not show the surface around ({x:.2f}, {y:.2f}, {surface:.2f}), and it "
                    "was not measured before; look with the other camera, or from another place"
                )
            spot, age_s = before.spot, time.monotonic() - before.at
        stands = f"something of {spot.rise:.2f} m stands" if spot.rise else "nothing stands"
        return SpotResult(
            message=f"{stands} at ({x:.2f}, {y:.2f})",
            surface_height_m=spot.surface,
            standing_m=spot.rise,
            age_s=round(age_s, 3),
        )


def _on_map(view: View, position: Place) -> Place | None:
    return None if view.map_from_base is None else to_point(view.map_from_base @ [*position, 1.0])


def _newest(earlier: deque[_Measured], scope: str, place: Place | None) -> _Measured | None:
    """Return the newest measurement of a spot of the map in `scope`, None without one."""
    if place is None:
        return None
    return next(
        (one for one in reversed(earlier) if one.scope == scope and math.dist(one.place, place) < SAME_SPOT_M), None
    )
