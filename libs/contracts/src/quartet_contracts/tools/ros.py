"""Results of the ros server's tools."""

from typing import Any

from pydantic import BaseModel

from quartet_contracts.tools.base import ToolResult


class TopicInfo(BaseModel):
    name: str
    type: str


class TopicsResult(ToolResult):
    topics: list[TopicInfo] = []
    total: int = 0
    """All topics of the robot, also those left out by the filter or the limit."""


class MessageResult(ToolResult):
    """subscribe_once."""

    topic: str = ""
    msg_type: str = ""
    msg: dict[str, Any] | None = None
