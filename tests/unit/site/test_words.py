"""Messages about a file are in plain words: no text of pydantic or of a YAML reader."""

import re
from typing import Annotated, Literal

import pytest
from pydantic import Field

from quartet_site import SiteFileError, load_file
from quartet_site._section import Section

RAW = re.compile(r"Input should|Extra inputs|Field required|Value error|String should|valid (string|number)|<unicode")


class Box(Section):
    kind: Literal["box"]
    width: Annotated[float, Field(gt=0)]
    colour: str | tuple[float, float, float] = "red"


class Ball(Section):
    kind: Literal["ball"]
    radius: float


class Room(Section):
    name: str
    side: Literal["n", "s"] = "n"
    shown: bool = True
    floors: int = 1
    things: list[Annotated[Box | Ball, Field(discriminator="kind")]] = []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("name: 5", ":1: name: text is needed; write a number or true/false between quotes; the file has 5"),
        ("side: s", ":1: name: it is missing; valid fields here: floors, name, shown, side, things"),
        ("name: a\nside: x", ":2: side: valid: 'n' or 's'; the file has 'x'"),
        ("name: a\nshown: perhaps", ":2: shown: true or false is needed; the file has 'perhaps'"),
        ("name: a\nfloors: 1.5", ":2: floors: a whole number is needed; the file has 1.5"),
        ("name: a\nthings: box", ":2: things: a list is needed, as [a, b]; the file has 'box'"),
        ("name: a\nthings:\n- 7", ":3: things.0: fields are needed here, each as `name: value`; the file has 7"),
        ("name: a\nthings:\n- {kind: bax}", ":3: things.0: there is no 'kind' 'bax'; valid: 'box', 'ball'"),
        ("name: a\nthings:\n- {width: 1}", ":3: things.0: the field 'kind' is missing, which says what it is"),
        (
            "name: a\nthings:\n- kind: box\n  width: -1",
            ":4: things.0.width: it must be greater than 0; the file has -1",
        ),
        (
            "name: a\nthings:\n- kind: box\n  width: 1\n  lid: 2",
            ":5: things.0.lid: there is no such field; valid fields here: colour, kind, width",
        ),
        ("name: a\nthings:\n- kind: ball", ":3: things.0.radius: it is missing; valid fields here: kind, radius"),
        (
            "name: a\nthings:\n- kind: box\n  width: 1\n  colour: 5",
            ":5: things.0.colour: text is needed; write a number or true/false between quotes; or a list is needed, as "
            "[a, b]; the file has 5",
        ),
        ("name: a\n\tside: s", "line 2, at 'side: s': a tab stands where spaces are needed"),
        ("name: a: b", "line 1, at 'name: a: b': a ':' stands where none is allowed"),
        ("name: [a, b\nside: s", "line 2, at 'side: s': a ',' or a closing bracket is missing"),
        ("name: a\n  side: s", "line 2, at 'side: s': a ':' stands where none is allowed"),
        ("name: 'a", "line 1, at 'name: 'a': a closing quote or bracket is missing"),
        ("name: *a", "line 1, at 'name: *a': an alias (*) has no anchor (&) before it"),
        ("name: !x a", "line 1, at 'name: !x a': a tag (!) is not known; write the plain value"),
        ('name: "\\q"', "line 1, at 'name: \"\\q\"': a backslash between double quotes begins nothing known"),
        ("things:\n  - 1\n - 2", "line 3, at '- 2': its indentation does not fit the"),
        ("name: ? a", "line 1, at 'name: ? a': a '?' stands where none is allowed"),
        ("name: a\x07", "it has a character that no text file may have; remove it"),
        ("- a", "must hold fields, each as `name: value`; it holds a list"),
    ],
)
def test_a_fault_is_in_words(tmp_path, text, wanted):
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(SiteFileError) as caught:
        load_file(path, Room, "room file")
    assert wanted in str(caught.value)
    assert not RAW.search(str(caught.value))


def test_faults_are_counted(tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text("side: x\nfloors: two\nthings:\n- {kind: box, width: 0, colour: 5}\n")
    with pytest.raises(SiteFileError) as caught:
        load_file(path, Room, "room file")
    assert caught.value.count == 5
    assert str(caught.value).count("\n") == 5
