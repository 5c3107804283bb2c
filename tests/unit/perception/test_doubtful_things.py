"""Objects that fit their description badly: a person may say what they are, and is believed."""

import numpy as np
import pytest

from quartet_perception.errors import UnknownObjectIdError
from quartet_perception.estimate import estimate
from quartet_perception.object_tracker import ObjectTracker, Observation
from quartet_perception.segmenters.chain import SegmenterChain
from quartet_perception.segmenters.colour_shape import ColourShapeSegmenter

TABLE = 0.45


@pytest.fixture(scope="module")
def segmenter(catalogue):
    return ColourShapeSegmenter(catalogue)


@pytest.fixture
def odd_box(new_scene, colours):
    """A yellow box a quarter smaller than the cereal box of the catalogue, on a table."""
    scene = new_scene().table(0.6, TABLE)
    return scene.box((0.9, 0.0, TABLE + 0.075), (0.112, 0.045, 0.15), colours["yellow"], 0.3)


def test_a_thing_of_another_size_is_doubtful_and_not_found(segmenter, odd_box):
    view = odd_box.view()
    assert segmenter.segment(view, ["yellow cereal box"]) == []
    (found,) = SegmenterChain([segmenter]).segment_with_doubts(view, ["yellow cereal box"])
    assert found.doubtful
    assert np.allclose(found.solid.centre[:2], (0.9, 0.0), atol=0.04)


def test_what_fits_is_in_no_doubt_and_what_has_another_colour_is_not_it(segmenter, new_scene, colours):
    scene = new_scene().table(0.6, TABLE).box((0.9, 0.0, TABLE + 0.1), (0.15, 0.06, 0.2), colours["yellow"], 0.3)
    (found,) = segmenter.segment_with_doubts(scene.view(), ["yellow cereal box"])
    assert not found.doubtful
    scene = new_scene().table(0.6, TABLE).box((0.9, 0.0, TABLE + 0.075), (0.112, 0.045, 0.15), colours["blue"], 0.3)
    assert segmenter.segment_with_doubts(scene.view(), ["yellow cereal box"]) == []


def test_a_person_settles_what_an_object_is():
    tracker = ObjectTracker()
    seen = [Observation("cereal box", (1.0, 0.0, 0.5)), Observation("cereal box", (2.0, 0.0, 0.5))]
    one, other = tracker.update("t", seen)
    tracker.settle("t", one, is_it=True)
    tracker.settle("t", other, is_it=False)
    assert tracker.confirmed("t") == {one}
    assert [thing.object_id for thing in tracker.mistaken("t")] == [other]
    assert tracker.confirmed("another task") == set()
    with pytest.raises(UnknownObjectIdError):
        tracker.settle("t", other, is_it=True)


@pytest.mark.parametrize("scale", [0.75, 0.85])
@pytest.mark.parametrize("distance", [0.85, 1.2])
def test_a_size_that_was_written_down_wrongly_leaves_a_doubt(segmenter, new_scene, colours, scale, distance):
    """The box is smaller than it is described."""
    size = [scale * one for one in (0.15, 0.06, 0.2)]
    scene = new_scene().table(0.6, TABLE).box((distance, 0.0, TABLE + size[2] / 2), size, colours["yellow"], 0.3)
    view = scene.view()
    assert segmenter.segment(view, ["yellow cereal box"]) == []
    (found,) = segmenter.segment_with_doubts(view, ["yellow cereal box"])
    assert found.doubtful


@pytest.mark.parametrize("scale", [0.75, 0.85])
def test_doubtful_object_has_the_size_that_is_seen(segmenter, new_scene, colours, scale):
    """A grasp at the catalogue's height would close over the top of the real box."""
    size = [scale * one for one in (0.15, 0.06, 0.2)]
    scene = new_scene().table(0.6, TABLE).box((0.85, 0.0, TABLE + size[2] / 2), size, colours["yellow"], 0.3)
    view = scene.view()
    (found,) = segmenter.segment_with_doubts(view, ["yellow cereal box"])
    seen = estimate(view, found)
    assert seen.top == pytest.approx(TABLE + size[2], abs=0.01)
    assert np.allclose(sorted(seen.solid.solid.size), sorted(size), atol=0.015)


def test_prompts_that_match_one_entry_report_it_once(segmenter, new_scene):
    view = new_scene().table(0.6, TABLE).view()
    found = segmenter.segment_with_doubts(view, ["table", "table"])
    assert found
    assert [one.label for one in found] == [one.label for one in segmenter.segment(view, ["table"])]
