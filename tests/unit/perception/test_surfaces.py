"""Which of two named surfaces a plane is, when both are as high and almost of one colour."""

from dataclasses import replace

import numpy as np
import pytest

from quartet_perception.catalogue import Catalogue, CatalogueEntry
from quartet_perception.segmenters.colour_shape import ColourShapeSegmenter
from quartet_site import Pose2D
from quartet_site.site import Appearance

GREY = (0.71, 0.72, 0.73)
TOP = 0.45


def surface(name, colour, size, approach):
    appearance = Appearance(colours=[colour], shape="surface", size_m=(*size, TOP))
    return CatalogueEntry(name, "surface", appearance, approach=approach)


BEFORE_DESK, BESIDE_DESK = Pose2D(x=0.0, y=0.0, yaw=0.0), Pose2D(x=0.0, y=-1.3, yaw=0.0)
DESK = surface("desk", "#b5b7ba", (0.6, 1.2), BEFORE_DESK)
SHELF = surface("shelf", "#d8d3c6", (0.31, 0.91), BESIDE_DESK)


@pytest.fixture
def desk(new_scene):
    """The front part of the desk, seen by a robot that is localised at the origin of the map."""
    scene = new_scene().box((0.9, 0.0, TOP - 0.02), (0.4, 0.9, 0.04), GREY)
    return replace(scene.view(), map_from_base=np.eye(4))


def found(view, name, *entries):
    return [one.label for one in ColourShapeSegmenter(Catalogue(list(entries))).segment(view, [name])]


def test_a_desk_is_not_the_shelf_beside_it_which_is_hidden(desk):
    assert found(desk, "desk", DESK, SHELF) == ["desk"]
    assert found(desk, "shelf", DESK, SHELF) == []


def test_what_no_other_surface_explains_is_the_one_that_was_asked_for(desk):
    """Furniture may have been moved."""
    assert found(desk, "shelf", SHELF) == ["shelf"]
    wide = surface("chest", "#b5b7ba", (0.6, 0.3), BEFORE_DESK)
    dark = surface("trunk", "#202020", (0.6, 1.2), BEFORE_DESK)
    assert found(desk, "shelf", SHELF, wide, dark) == ["shelf"]


def test_without_a_place_to_look_from_or_a_pose_in_the_map_nothing_is_left_out(desk):
    unknown = replace(SHELF, approach=None)
    assert found(desk, "shelf", DESK, unknown) == ["shelf"]
    assert found(replace(desk, map_from_base=None), "shelf", DESK, SHELF) == ["shelf"]
