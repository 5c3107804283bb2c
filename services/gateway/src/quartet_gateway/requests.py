"""The chat completion request that the gateway accepts."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

from quartet_gateway.errors import InvalidRequestError

MAX_BODY = 32 * 1024 * 1024
"""Longest request [bytes]: a long conversation with the images of several turns."""


_IMAGE = re.compile(r"data:image/(?:jpeg|png|webp|gif);base64,")


def _image_inside(url: str) -> str:
    """Refuse every address: a URL would make the gateway or the provider fetch what a process without network chose."""
    if not _IMAGE.match(url):
        raise ValueError(
            f"{url[:60]!r} is no image inside the request; valid: data:image/jpeg;base64,... (or png, webp, gif)"
        )
    return url


class _Image(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, AfterValidator(_image_inside)]
    detail: Literal["auto", "low", "high"] | None = None


class _TextPart(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: Literal["text"]
    text: str


class _ImagePart(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: Literal["image_url"]
    image_url: _Image


def _kind_of_part(part: Any) -> str | None:
    kind = part.get("type") if isinstance(part, dict) else getattr(part, "type", None)
    return {"text": "~text", "image_url": "~image"}.get(kind) if isinstance(kind, str) else None


_Part = Annotated[
    Annotated[_TextPart, Tag("~text")] | Annotated[_ImagePart, Tag("~image")],
    Discriminator(
        _kind_of_part, custom_error_type="part", custom_error_message="a part of a message is of type text or image_url"
    ),
]
_Content = Annotated[
    Annotated[str, Tag("~words")] | Annotated[list[_Part], Tag("~parts")],
    Discriminator(lambda content: "~parts" if isinstance(content, list) else "~words"),
]


class _Function(BaseModel):
    name: str
    arguments: str = "{}"


class _Call(BaseModel):
    id: str = ""
    type: Literal["function"] = "function"
    function: _Function


class Message(BaseModel):
    """A message of the conversation. Other fields are left out, since some of them name what a provider fetches."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: _Content | None = None
    name: str | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    refusal: str | None = None
    reasoning: dict[str, Any] | None = None
    """What the gateway gave with this answer of a model, unchanged."""


class Tool(BaseModel):
    """A function tool; tools of a provider, such as a web search, are not offered."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["function"]
    function: dict[str, Any]


class ChatRequest(BaseModel):
    """OpenAI chat completion request with the fields that are passed on; endpoint and key are never the caller's."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(min_length=1)
    """The agent's name."""
    messages: list[Message] = Field(min_length=1)
    tools: list[Tool] | None = None
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
        """Return the parameters for the model, beside its name and the messages."""
        return self.model_dump(exclude={"model", "messages", "stream", "n"}, exclude_unset=True, exclude_none=True)

    def conversation(self) -> list[dict[str, Any]]:
        """Return the messages as the caller sent them."""
        return [message.model_dump(exclude_unset=True) for message in self.messages]


def read_request(raw: bytes) -> ChatRequest:
    """Parse a request body; InvalidRequestError names the field, its value and what is valid."""
    try:
        request = ChatRequest.model_validate_json(raw)
    except ValidationError as error:
        raise InvalidRequestError("; ".join(_fault(e) for e in error.errors(include_url=False))) from error
    if request.stream:
        raise InvalidRequestError(
            "'stream': true is not supported: agents act on whole answers; send it without 'stream'"
        )
    return request


def _fault(error: Any) -> str:
    # Tags of unions are no part of the path that the caller knows.
    path = [str(part) for part in error["loc"] if not str(part).startswith("~")]
    field = ".".join(path) or "request"
    if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
        return f"'{field}' is not a supported field; valid: {', '.join(ChatRequest.model_fields)}"
    return f"'{field}': {error['msg'].removeprefix('Value error, ')}"
