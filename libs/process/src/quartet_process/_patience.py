"""QUARTET_PATIENCE: one factor for the times in which a model or a person has to answer."""

from typing import Annotated, Self

from pydantic import BaseModel, Field, model_validator
from pydantic_settings import BaseSettings

_SCALED = "scaled by QUARTET_PATIENCE"

AnswerSeconds = Annotated[float, Field(gt=0, allow_inf_nan=False), _SCALED]
"""Time for a model or a person [s]. Heartbeats, leases, stops and other safety limits are never of this type."""


def scaled_times(model: BaseModel, patience: float) -> dict[str, float]:
    """Return the fields of `model` that are AnswerSeconds, multiplied by `patience`."""
    fields = type(model).model_fields.items()
    return {name: patience * getattr(model, name) for name, field in fields if _SCALED in field.metadata}


class PatientSettings(BaseSettings):
    """Settings whose AnswerSeconds are multiplied by `patience` when they are read, explicit values too."""

    patience: Annotated[float, Field(ge=1, le=20, allow_inf_nan=False)] = 1.0
    """Factor for slow models; the highest value keeps grants below three hours."""

    @model_validator(mode="after")
    def _scale(self) -> Self:
        for name, seconds in scaled_times(self, self.patience).items():
            setattr(self, name, seconds)
        return self
