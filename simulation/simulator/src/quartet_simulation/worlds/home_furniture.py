"""Walls and furniture of the home; what stands where, in metres of the map."""

from __future__ import annotations

import mujoco

from quartet_simulation.worlds.furniture import CREAM, DARK_GREY, GREY, LIGHT_GREY, STEEL, WHITE, Furniture
from quartet_simulation.worlds.world import Rect

WALLS = (
    ("wall south", (-0.05, 0.0), (12.05, 0.0), ()),
    ("wall west", (0.0, 0.05), (0.0, 10.15), ()),
    ("wall kitchen east", (12.0, 0.05), (12.0, 4.15), ()),
    ("wall hallway east", (10.0, 4.25), (10.0, 10.15), ()),
    ("wall north", (-0.05, 10.2), (10.05, 10.2), ()),
    ("wall hallway south", (-0.05, 4.2), (12.05, 4.2), ((3.75, 4.88), (5.45, 6.60))),
    ("wall hallway north", (0.05, 6.2), (9.95, 6.2), ((2.75, 3.90), (7.35, 8.50))),
    ("wall living dining", (5.0, 0.05), (5.0, 4.15), ((1.30, 3.20),)),
    ("wall dining kitchen", (8.4, 0.05), (8.4, 4.15), ((1.50, 3.50),)),
    ("wall bedrooms", (5.0, 6.25), (5.0, 10.15), ()),
)
COFFEE_TABLE: Rect = (1.35, 1.55, 1.95, 2.75)
TV_STAND: Rect = (2.60, 0.06, 4.00, 0.46)
BOOKSHELF: Rect = (2.35, 3.82, 3.45, 4.14)
DINING_TABLE: Rect = (5.95, 0.55, 7.45, 1.45)
COUNTER: Rect = (11.35, 0.10, 11.95, 3.30)
SINK_COUNTER: Rect = (10.20, 0.06, 11.35, 0.66)
CONSOLE: Rect = (4.20, 5.80, 5.30, 6.14)
NIGHTSTAND: Rect = (0.06, 6.85, 0.51, 7.30)
DRESSER: Rect = (3.70, 9.72, 4.90, 10.14)
PARENTS_BED: Rect = (0.06, 7.62, 2.06, 9.32)
DESK: Rect = (6.90, 9.55, 8.10, 10.14)
TOY_SHELF: Rect = (9.58, 7.60, 9.94, 9.00)
KIDS_BED: Rect = (5.06, 8.30, 6.01, 10.14)
KIDS_NIGHTSTAND: Rect = (5.06, 7.55, 5.51, 8.00)


def square(x: float, y: float, size: float) -> Rect:
    """Return a square around a point [m]."""
    return (x - size / 2, y - size / 2, x + size / 2, y + size / 2)


BIN = (9.00, 0.55, 0.34, 0.36)
WASTE_BASKET = (4.62, 0.42, 0.34, 0.34)
LAUNDRY_BASKET = (2.65, 9.80, 0.36, 0.40)
TOY_BASKET = (9.45, 6.80, 0.36, 0.32)
"""Containers: x, y, size, rim."""


def build(spec: mujoco.MjSpec) -> None:
    """Add walls and furniture of the home to a spec."""
    make = Furniture(spec)
    make.ground()
    make.floor("living floor", (0, 0, 5, 4.2), "parquet")
    make.floor("dining floor", (5, 0, 8.4, 4.2), "parquet")
    make.floor("kitchen floor", (8.4, 0, 12, 4.2), "tiles")
    make.floor("hallway floor", (0, 4.2, 10, 6.2), "tiles")
    make.floor("bedroom floors", (0, 6.2, 10, 10.2), "parquet")
    for name, start, end, gaps in WALLS:
        make.wall(name, start, end, gaps)
    _living_room(make)
    _dining_and_kitchen(make)
    _hallway_and_bedrooms(make)


def _living_room(make: Furniture) -> None:
    make.rug("living rug", (0.95, 1.15, 2.75, 3.15), (0.66, 0.66, 0.63, 1))
    make.sofa("sofa", (0.06, 1.05, 0.86, 3.25), "w", (0.46, 0.50, 0.53, 1))
    make.table("coffee table", COFFEE_TABLE, 0.45, "wood", leg=0.06)
    make.cabinet("tv stand", TV_STAND, 0.50, DARK_GREY, GREY, doors=("n", 3))
    make.box("television", (2.75, 0.07, 3.85, 0.11), (0.62, 1.25), (0.03, 0.03, 0.035, 1))
    make.box("television foot", (3.15, 0.06, 3.45, 0.16), (0.50, 0.62), DARK_GREY)
    make.shelf("bookshelf", BOOKSHELF, 0.80, WHITE, "s")
    make.bin("waste basket", WASTE_BASKET[:2], WASTE_BASKET[2], WASTE_BASKET[3], (0.62, 0.55, 0.42, 1))
    make.plant("living plant", (0.35, 0.45), 1.1)


def _dining_and_kitchen(make: Furniture) -> None:
    make.table("dining table", DINING_TABLE, 0.74, "beech", leg=0.06)
    make.chair("chair 1", (5.48, 0.78, 5.88, 1.20), "w", "walnut")
    make.chair("chair 2", (7.52, 0.78, 7.92, 1.20), "e", "walnut")
    make.chair("chair 3", (6.45, 0.10, 6.87, 0.50), "s", "walnut")
    make.cabinet("kitchen counter", COUNTER, 0.90, WHITE, LIGHT_GREY, doors=("w", 5))
    make.cabinet("sink counter", SINK_COUNTER, 0.90, WHITE, LIGHT_GREY, doors=("n", 2))
    make.box("sink", (10.45, 0.16, 10.95, 0.52), (0.88, 0.902), STEEL, solid=False)
    make.box("tap", (10.66, 0.08, 10.72, 0.14), (0.90, 1.15), STEEL)
    make.box("hob", (11.45, 2.55, 11.88, 3.15), (0.88, 0.903), (0.06, 0.06, 0.07, 1), solid=False)
    make.box("fridge", (11.30, 3.40, 11.95, 4.14), (0.0, 1.60), STEEL)
    make.box("fridge handle", (11.27, 3.50, 11.30, 3.53), (0.6, 1.3), DARK_GREY)
    make.bin("kitchen bin", BIN[:2], BIN[2], BIN[3], DARK_GREY)


def _hallway_and_bedrooms(make: Furniture) -> None:
    make.table("console table", CONSOLE, 0.75, "walnut", leg=0.04)
    make.plant("hallway plant", (9.60, 5.80), 1.2)
    make.bed("double bed", PARENTS_BED, 0.50, "w", (0.55, 0.60, 0.68, 1))
    make.cabinet("nightstand", NIGHTSTAND, 0.55, "walnut", "walnut")
    make.cabinet("dresser", DRESSER, 0.82, CREAM, "beech", doors=("s", 3))
    make.box("mirror", (3.95, 10.10, 4.65, 10.14), (0.95, 1.5), (0.60, 0.66, 0.70, 1))
    make.bin("laundry basket", LAUNDRY_BASKET[:2], LAUNDRY_BASKET[2], LAUNDRY_BASKET[3], (0.83, 0.80, 0.72, 1))
    make.box("wardrobe", (0.06, 9.45, 1.60, 10.14), (0, 1.55), "beech")
    make.rug("kids rug", (6.4, 7.2, 8.6, 8.9), (0.68, 0.70, 0.74, 1))
    make.bed("single bed", KIDS_BED, 0.45, "n", (0.72, 0.74, 0.80, 1))
    make.cabinet("kids nightstand", KIDS_NIGHTSTAND, 0.50, WHITE, WHITE)
    make.table("desk", DESK, 0.72, "beech", leg=0.05)
    make.shelf("toy shelf", TOY_SHELF, 0.60, WHITE, "w")
    make.bin("toy basket", TOY_BASKET[:2], TOY_BASKET[2], TOY_BASKET[3], (0.66, 0.67, 0.70, 1))
