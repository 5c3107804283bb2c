"""White balance and which pixels belong to a colour."""

import numpy as np
import pytest

from quartet_perception.scene.colour import (
    COLOUR_WORDS,
    FULL,
    balance_by,
    membership_table,
    parse_colours,
    quantised,
    rather_than_table,
    white_balance,
    words_of_sample,
)


def belongs(rgb, *colours, gains=(1.0, 1.0, 1.0)) -> float:
    picture = np.full((2, 2, 3), rgb, dtype=np.uint8)
    return float(membership_table(colours)[quantised(picture, np.array(gains))][0, 0]) / FULL


@pytest.mark.parametrize(
    ("rgb", "word"),
    [
        ((200, 10, 15), "red"), ((60, 4, 6), "red"), ((240, 190, 15), "yellow"), ((245, 115, 10), "orange"),
        ((20, 60, 160), "blue"), ((40, 130, 50), "green"), ((190, 225, 40), "lime"), ((110, 40, 150), "purple"),
        ((235, 130, 165), "pink"), ((140, 90, 45), "wood"), ((12, 12, 14), "black"), ((230, 230, 228), "white"),
        ((60, 62, 64), "dark grey"), ((180, 182, 185), "light grey"),
    ],
)  # fmt: skip
def test_a_colour_word_knows_its_pixels(rgb, word):
    assert belongs(rgb, word) > 0.5


@pytest.mark.parametrize(
    ("rgb", "word"),
    [((245, 115, 10), "red"), ((200, 10, 15), "orange"), ((240, 190, 15), "orange"), ((230, 230, 228), "yellow"),
     ((40, 130, 50), "blue"), ((140, 90, 45), "red"), ((60, 62, 64), "black"), ((235, 130, 165), "red")],
)  # fmt: skip
def test_a_colour_word_refuses_its_neighbours(rgb, word):
    assert belongs(rgb, word) < 0.4


def test_a_sample_is_known_in_the_shade_but_not_in_another_hue():
    assert belongs((110, 70, 36), "#8f5a2e") > 0.5
    assert belongs((70, 110, 36), "#8f5a2e") < 0.1


def test_any_of_several_colours_counts():
    assert belongs((12, 12, 14), "red", "black") > 0.5


def test_warm_and_dim_light_is_taken_out():
    rng = np.random.default_rng(0)
    grey = rng.uniform(0.5, 0.8, (60, 80, 1)) * np.ones(3)
    for light in ((1.0, 1.0, 1.0), (0.5, 0.42, 0.33), (0.42, 0.46, 0.52)):
        picture = (grey * np.array(light) * 255).astype(np.uint8)
        balanced = picture.reshape(-1, 3).mean(axis=0) * white_balance(picture)
        assert balanced.max() / balanced.min() < 1.08
        assert balanced.mean() > 120


def test_a_coloured_thing_is_no_coloured_light():
    picture = np.full((60, 80, 3), 190, dtype=np.uint8)
    picture[10:40, 10:60] = (200, 10, 15)
    gains = white_balance(picture)
    assert gains.max() / gains.min() < 1.02


WOOD, LIGHTS = "#bfa88c", ((1.0, 1.0, 1.0), (1.06, 0.95, 0.98), (0.6, 0.62, 0.68))


@pytest.mark.parametrize("light", LIGHTS)
def test_a_table_of_known_colour_tells_the_light(light):
    """A wooden table that fills the picture is no coloured light: a gray thing on it is gray, a silver one silver."""
    wood, gray = (np.array(colour) * light for colour in ((191, 168, 140), (128, 128, 128)))
    table = np.clip(np.tile(wood, (4000, 1)), 0, 255).astype(np.uint8)
    gains = balance_by(table, WOOD)
    assert gains is not None
    assert np.ptp(gray * gains) < 0.04 * gray.mean()
    for sample, colour in (("#808080", gray), ("#bfbfbf", np.array((191, 191, 191)) * light)):
        pixels = np.stack([colour, wood])[None].astype(np.uint8)
        own, table_of_it = rather_than_table((sample,), WOOD)[quantised(pixels, gains)][0]
        assert own > 0.6 * FULL
        assert table_of_it < 0.1 * FULL


def test_a_few_pixels_or_another_surface_tell_no_light():
    assert balance_by(np.full((100, 3), (191, 168, 140), dtype=np.uint8), WOOD) is None
    assert balance_by(np.full((4000, 3), (40, 140, 60), dtype=np.uint8), WOOD) is None


def test_an_unknown_colour_is_named_with_the_valid_ones():
    with pytest.raises(ValueError, match=r"colour 'reddish' is not known; valid: '#rrggbb' or beige"):
        parse_colours(["reddish"])
    assert parse_colours(["Dark Grey", "#A0b1c2"]) == ["dark grey", "#a0b1c2"]


def test_samples_have_words():
    assert "red" in words_of_sample("#c8141e")
    assert words_of_sample("#c8141e") <= COLOUR_WORDS
