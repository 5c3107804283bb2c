"""Argument types of tools: finite numbers, unit quaternions."""

import math
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

Finite = Annotated[float, Field(allow_inf_nan=False)]
"""A number; NaN and infinity are refused."""
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

QUATERNION_TOLERANCE = 0.01
"""A quaternion that a model rounded to two decimals still passes; it is normalised."""


def _unit(q: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    norm = math.sqrt(sum(value * value for value in q))
    if abs(norm - 1.0) > QUATERNION_TOLERANCE:
        raise ValueError(
            f"not a unit quaternion: its norm is {norm:.4f}, valid is 1 +- {QUATERNION_TOLERANCE}; the order is "
            "x, y, z, w, and (1, 0, 0, 0) points the tool straight down"
        )
    return (q[0] / norm, q[1] / norm, q[2] / norm, q[3] / norm)


def _numbers(count: int) -> WithJsonSchema:
    """Plain array schema: several model providers do not take `prefixItems`."""
    return WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": count, "maxItems": count})


Position = Annotated[tuple[Finite, Finite, Finite], _numbers(3)]
"""x, y, z [m]."""
Orientation = Annotated[tuple[Finite, Finite, Finite, Finite], AfterValidator(_unit), _numbers(4)]
"""Quaternion x, y, z, w; its norm must be 1."""
