"""Names of objects between agents: an opaque id, or a short term in a person's words.

What a camera or a model has read off the world never goes from one agent to the next as free text: it may carry an
instruction. An id carries nothing, and nobody can guess one.
"""

import re
import secrets
from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from quartet_contracts.messages import Model


def _shaped(pattern: str, words: str) -> Callable[[str], str]:
    """Return a validator of `pattern` whose error is `words`; the schema has the pattern for other languages."""

    def check(text: str) -> str:
        if re.fullmatch(pattern, text) is None:
            raise ValueError(words)
        return text

    return check


_ID = "obj_[0-9a-f]{12}"
_MARKS = r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u109f\u1780-\u17ff"
"""Signs that belong to letters, of the scripts that need them: Hebrew, Arabic, those of India, Thai, Khmer."""
_TERM = rf"(?:\d\.\d|\w)(?:\d\.\d|[\w{_MARKS} '’,&+%-])*"

ObjectId = Annotated[
    str,
    Field(json_schema_extra={"pattern": f"^{_ID}$"}),
    AfterValidator(
        _shaped(_ID, "an object_id is obj_ and 12 hexadecimal digits; take it from a result, or give a name")
    ),
]
"""Id that the perception server gives to an object, valid for the robot and the task that saw it."""

Term = Annotated[
    str,
    Field(min_length=1, max_length=64, json_schema_extra={"pattern": f"^{_TERM}$"}),
    AfterValidator(
        _shaped(
            _TERM, "a name has letters, digits, spaces and ' , & + % _ - alone, and begins with a letter or a digit"
        )
    ),
]
"""Name of an object or a place, as a person or a site file gives it."""


Position = tuple[
    Annotated[float, Field(allow_inf_nan=False)],
    Annotated[float, Field(allow_inf_nan=False)],
    Annotated[float, Field(allow_inf_nan=False)],
]
"""x, y and z of a point [m]."""


class AlikeThing(Model):
    """A thing with the name of one that is to be put down, as it was before that."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    position: Position
    """Map frame."""
    object_id: ObjectId | None = None
    """Of one that is in view near the robot, so that it may lie at the target; None for others."""


MAX_ALIKE = 50
AlikeThings = Annotated[list[AlikeThing], Field(max_length=MAX_ALIKE)]


def new_object_id() -> str:
    """Return a new ObjectId that cannot be guessed (48 random bits; an id is refused outside of its task anyway)."""
    return f"obj_{secrets.token_hex(6)}"
