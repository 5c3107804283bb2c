"""What the sections of all files have in common."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


def form(pattern: str, valid: str) -> AfterValidator:
    """Return the validator of a text that fits `pattern` as a whole; its error says in words what is `valid`."""
    known = re.compile(pattern)

    def check(text: str) -> str:
        if known.fullmatch(text) is None:
            raise PydanticCustomError("form", "{text}", {"text": f"valid: {valid}"})
        return text

    return AfterValidator(check)


class Section(BaseModel):
    """A part of a file: unknown fields are errors, so that a typing mistake is seen at start."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
