"""What every MCP tool returns."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Metres = Annotated[float, Field(allow_inf_nan=False)]
Radians = Annotated[float, Field(allow_inf_nan=False)]


class ToolResult(BaseModel):
    """Structured result of a tool: `ok` is true exactly when `error_code` is NONE."""

    model_config = ConfigDict(extra="ignore")

    ok: bool = True
    error_code: str = "NONE"
    message: str = ""

    @model_validator(mode="after")
    def _ok_is_code_none(self) -> Self:
        if self.ok != (self.error_code == "NONE"):
            raise ValueError(f"ok={self.ok} does not go with error_code={self.error_code}: ok is true exactly at NONE")
        return self


class Pose2D(BaseModel):
    """Pose on the floor: x, y [m], yaw [rad], in `frame_id`."""

    x: Metres
    y: Metres
    yaw: Radians
    frame_id: str = "map"


class Pose3D(BaseModel):
    """Position [m] and orientation (quaternion x, y, z, w) in `frame_id`."""

    frame_id: str
    position: tuple[Metres, Metres, Metres]
    orientation: tuple[float, float, float, float]
