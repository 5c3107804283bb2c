"""What the sections of all files have in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Section(BaseModel):
    """A part of a file: unknown fields are errors, so that a typing mistake is seen at start."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
