"""A one-room world for tests: a wooden table, a counter, a bin and a few objects."""

from __future__ import annotations

import mujoco

from quartet_simulation.worlds.furniture import DARK_GREY, LIGHT_GREY, WHITE, Furniture
from quartet_simulation.worlds.world import AreaInfo, ContainerInfo, SurfaceInfo, World

TABLE = (-0.55, 1.30, 0.55, 1.85)
COUNTER = (1.55, -0.90, 2.15, 0.90)
BIN_CENTRE, BIN_SIZE, BIN_HEIGHT = (-1.75, 1.55), 0.34, 0.34


def build(spec: mujoco.MjSpec) -> None:
    """Add walls and furniture of the studio to a spec."""
    make = Furniture(spec)
    make.ground()
    make.floor("floor", (-2.2, -2.2, 2.2, 2.2), "tiles")
    for name, start, end in (
        ("wall s", (-2.25, -2.2), (2.25, -2.2)),
        ("wall n", (-2.25, 2.2), (2.25, 2.2)),
        ("wall w", (-2.2, -2.15), (-2.2, 2.15)),
        ("wall e", (2.2, -2.15), (2.2, 2.15)),
    ):
        make.wall(name, start, end)
    make.table("wooden table", TABLE, 0.50, "wood")
    make.cabinet("counter", COUNTER, 0.90, WHITE, LIGHT_GREY, doors=("w", 3))
    make.bin("bin", BIN_CENTRE, BIN_SIZE, BIN_HEIGHT, DARK_GREY)


def _around(centre: tuple[float, float], size: float) -> tuple[float, float, float, float]:
    return (centre[0] - size / 2, centre[1] - size / 2, centre[0] + size / 2, centre[1] + size / 2)


STUDIO = World(
    name="studio",
    description="One room with a wooden table, a counter and a bin.",
    bounds=(-2.2, -2.2, 2.2, 2.2),
    build=build,
    areas=(
        AreaInfo(
            "studio",
            (-0.1, -0.15, 0.0),
            ((-2.2, -2.2), (2.2, -2.2), (2.2, 2.2), (-2.2, 2.2)),
            aliases=("room", "workshop", "lab"),
            landmarks=("wooden table", "counter", "bin"),
        ),
    ),
    surfaces=(
        SurfaceInfo(
            "wooden table",
            "studio",
            TABLE,
            0.50,
            ((-0.42, 1.36, 0.42, 1.50),),
            ("wood",),
            ("table", "coffee table", "wooden coffee table"),
            (0.0, 0.05, 1.5708),
        ),
        SurfaceInfo(
            "counter",
            "studio",
            COUNTER,
            0.90,
            ((1.62, -0.60, 1.75, 0.60),),
            ("light grey",),
            ("kitchen counter",),
            (0.3, 0.0, 0.0),
        ),
    ),
    containers=(
        ContainerInfo(
            "bin",
            "studio",
            _around(BIN_CENTRE, BIN_SIZE),
            BIN_HEIGHT,
            ("dark grey",),
            ("trash can", "trash bin", "dustbin", "waste bin"),
            (-1.0, 0.4, 2.1),
        ),
    ),
    floor_zones={"south": ("studio", (-1.2, -1.75, 1.0, -1.35))},
    homes={
        "red coke can": ("counter", "counter", "wooden table", "floor:south"),
        "red cup": ("counter", "wooden table"),
        "green tea box": ("counter", "wooden table", "floor:south"),
        "purple toy block": ("floor:south", "wooden table"),
    },
    start_areas=("studio",),
    fixed={0: {"red coke can": "counter", "red cup": "counter", "purple toy block": "floor:south"}},
    far_spot=("counter", (2.08, 0.0)),
    overhead=(0.0, 0.0, 6.6),
)
