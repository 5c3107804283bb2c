"""Encoding of messages: schema version, size cap, compatibility rule."""

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from quartet_contracts.errors import MalformedMessageError, MessageTooLargeError, UnsupportedVersionError

SCHEMA_VERSION = "1.0"
MAX_MESSAGE_BYTES = 64 * 1024

MAX_SECONDS = 1e11
"""The year 5138: a time beyond it is a mistake, and one far beyond it is more than Redis takes as an expiry."""
Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)]
"""Wall-clock time, seconds since the epoch, unless a name says otherwise."""
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]


class Model(BaseModel):
    """Base of all models here: what validates one is built when it is first used, since a process uses few of them."""

    model_config = ConfigDict(defer_build=True)


class Message(Model):
    """Base of messages between processes.

    Readers ignore fields they do not know, so that a newer minor version can add some; a message of another
    major version is refused.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, ser_json_inf_nan="null")

    schema_version: str = SCHEMA_VERSION


class Arguments(Model):
    """Arguments that a model wrote: an unknown field is an error that goes back to the model."""

    # Built at once: FastAPI takes one that is not for one that cannot be, and warns at each request.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=False)


M = TypeVar("M", bound=Message)
_JSON: TypeAdapter[Any] = TypeAdapter(Any)
"""Unlike the json module it refuses deep nesting, and halves of surrogate pairs, which could never be sent on."""


def encode(message: Message) -> bytes:
    """Return the message as UTF-8 JSON. Raises MessageTooLargeError over 64 KB."""
    data = message.model_dump_json().encode()
    if len(data) > MAX_MESSAGE_BYTES:
        raise MessageTooLargeError(
            f"{type(message).__name__} is {len(data)} bytes, the cap is {MAX_MESSAGE_BYTES}; "
            "shorten its texts or send a reference instead of the data"
        )
    return data


def decode(model: type[M], data: bytes | str) -> M:
    """Decode `data` as a `model`. Raises MessageTooLargeError, UnsupportedVersionError or MalformedMessageError."""
    raw_bytes = data if isinstance(data, bytes) else data.encode(errors="surrogatepass")
    if len(raw_bytes) > MAX_MESSAGE_BYTES:
        raise MessageTooLargeError(
            f"{model.__name__} of {len(raw_bytes)} bytes received, the cap is {MAX_MESSAGE_BYTES}"
        )
    raw = read_json(raw_bytes, model.__name__)
    if not isinstance(raw, dict):
        raise MalformedMessageError(f"{model.__name__} must be a JSON object, got {type(raw).__name__}")
    version = str(raw.get("schema_version", SCHEMA_VERSION))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    if version.split(".")[0] != SCHEMA_VERSION.split(".")[0]:
        raise UnsupportedVersionError(
            f"{model.__name__} has schema_version '{version}', this process reads {SCHEMA_VERSION.split('.')[0]}.x; "
            "run the same major version everywhere"
        )
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise MalformedMessageError(f"{model.__name__}: {describe(error)}") from error


def read_json(data: bytes, what: str) -> Any:
    """Decode JSON. Raises MalformedMessageError, whose text names `what`."""
    try:
        return _JSON.validate_json(data)
    except ValidationError as error:
        raise MalformedMessageError(f"{what} is not JSON: {error.errors(include_url=False)[0]['msg']}") from error


def describe(error: ValidationError) -> str:
    """Return one line that names each wrong field, its value and the fault."""
    faults: list[str] = []
    for fault in error.errors(include_url=False):
        field = ".".join(str(part) for part in fault["loc"]) or "(whole)"
        # pydantic puts the kind of error before what a validator of our own says.
        text = f"{field}: {fault['msg'].removeprefix('Value error, ')}"
        if fault["type"] != "missing" and not isinstance(fault["input"], dict | list):
            text += f" (got {str(fault['input'])[:80]!r})"
        faults.append(text)
    return "; ".join(faults)
