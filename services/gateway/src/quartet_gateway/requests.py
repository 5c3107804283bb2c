"""The chat request that the gateway takes."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from quartet_gateway.errors import BadRequest

MAX_BODY = 32 * 1024 * 1024
"""Bytes of a request: a long conversation with the images of several turns."""


class ChatRequest(BaseModel):
    """OpenAI chat completion request: what may be passed on to a model. Endpoint and key are never the caller's."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(min_length=1)
    """The agent's name."""
    messages: list[dict[str, Any]] = Field(min_length=1)
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    stop: str | list[str] | None = None
    seed: int | None = None
    response_format: dict[str, Any] | None = None
    reasoning_effort: str | None = None
    user: str | None = None
    n: int | None = Field(default=None, ge=1, le=1)
    stream: bool | None = None

    def passed_on(self) -> dict[str, Any]:
        """What goes to the model beside its name and the messages."""
        return self.model_dump(exclude={"model", "messages", "stream", "n"}, exclude_none=True, exclude_defaults=True)


def read_request(raw: bytes) -> ChatRequest:
    """Raises BadRequest naming the field, what it holds and what is valid."""
    try:
        request = ChatRequest.model_validate_json(raw)
    except ValidationError as error:
        raise BadRequest("; ".join(_fault(e) for e in error.errors(include_url=False))) from error
    if request.stream:
        raise BadRequest("'stream': true is not supported: agents act on whole answers; send it without 'stream'")
    return request


def _fault(error: Any) -> str:
    field = ".".join(str(part) for part in error["loc"]) or "request"
    if error["type"] == "extra_forbidden":
        return f"'{field}' is not a field that is passed on; valid: {', '.join(ChatRequest.model_fields)}"
    return f"'{field}': {error['msg']}"
