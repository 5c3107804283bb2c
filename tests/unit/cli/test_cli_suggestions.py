"""What `quartet up` and `quartet demo` suggest is something to do in that world."""

from pathlib import Path

import pytest
import yaml

from quartet_cli.commands.up import EXAMPLES, SENTENCE, TABLETOP
from quartet_site import load_site

SITES = Path(__file__).parents[3] / "deploy" / "sites"


@pytest.mark.parametrize(
    ("world", "sentence"), [*((name, text) for name, text in EXAMPLES.items() if name != TABLETOP), ("home", SENTENCE)]
)
def test_what_is_suggested_names_a_thing_that_is_there_and_a_place_where_it_is_not(world: str, sentence: str) -> None:
    site = load_site(SITES / world / "site.yaml")
    stands = yaml.safe_load((SITES / world / "world.yaml").read_text())["layouts"][0]
    (thing,) = (one.name for one in site.objects if one.name in sentence)
    (place,) = (one.name for one in (*site.surfaces, *site.containers) if one.name in sentence)
    assert thing in stands
    assert place not in stands[thing]
    assert sentence.index(thing) < sentence.index(place)
