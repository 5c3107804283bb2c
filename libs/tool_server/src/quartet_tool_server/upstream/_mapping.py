"""The mapping file: which upstream's tool stands behind a tool of ours, and how to understand its answer."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from quartet_contracts.tools import CommonCode, moveit, nav2, perception, ros
from quartet_site import SiteFileError, field_error, load_file
from quartet_tool_server.upstream._conversions import CONVERSIONS

MODULES = {"nav2": nav2, "moveit": moveit, "perception": perception, "ros": ros}
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Part(BaseModel):
    """A part of the file: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _pattern(value: Any) -> Any:
    try:
        return re.compile(str(value), re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None


Pattern = Annotated[re.Pattern[str], BeforeValidator(_pattern)]
"""Python's syntax, searched anywhere in the text, upper and lower case alike."""


def listed(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else [value]


class Value(Part):
    """Source of a value: exactly one of `from`, `constant`, `fields`, `items`; then `match`, then `as`.

    A plain text is short for {from: text}.
    """

    source: str | None = Field(default=None, alias="from")
    """Path with dots in the arguments or the answer; `$text`, `$arguments`, `$robot`, `$images` begin elsewhere."""
    constant: Any = None
    fields: dict[str, "Value"] | None = None
    """An object of these."""
    items: "list[Value] | None" = None
    """A list of these."""
    match: Pattern | None = None
    """Searched in a text; the first group (or all of the match) is the value."""
    steps: list[dict[str, Any]] = Field(default=[], alias="as")
    """Conversions, one after the other: a name, or {name: its parameter}."""
    default: Any = None
    """Instead of a value that is not there."""
    optional: bool = False
    """The answer may lack it."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"from": data}
        if not isinstance(data, dict):
            # pydantic reports a ValueError with the field; a TypeError would end the process.
            raise ValueError("a value is a path, or a mapping with from, constant, fields or items")  # noqa: TRY004
        full = dict(cast(dict[str, Any], data))
        if "as" in full:
            full["as"] = [step if isinstance(step, dict) else {str(step): None} for step in listed(full["as"])]
        return full

    @model_validator(mode="after")
    def _is_one_thing(self) -> "Value":
        given = {
            "from": self.source is not None,
            "constant": "constant" in self.model_fields_set,
            "fields": self.fields is not None,
            "items": self.items is not None,
        }
        if sum(given.values()) != 1:
            there = " and ".join(name for name, is_there in given.items() if is_there) or "none of them"
            raise ValueError(f"give exactly one of {', '.join(given)}; this has {there}")
        for number, step in enumerate(self.steps):
            unknown = [name for name in step if name not in CONVERSIONS]
            if len(step) != 1 or unknown:
                raise field_error(
                    f"'{', '.join(unknown or step)}' is not a conversion; valid: {', '.join(CONVERSIONS)}", "as", number
                )
        return self


class Condition(Part):
    """Condition on an answer: everything given here must hold."""

    text: Pattern | None = None
    where: dict[str, Any] = {}
    """Path to value, or to a list of values one of which it must have."""
    has: list[str] = []
    """Paths that are there and not null."""

    @model_validator(mode="after")
    def _tests_something(self) -> "Condition":
        if self.text is None and not self.where and not self.has:
            raise ValueError("give at least one of text, where, has; a condition that always holds is none")
        return self


class ErrorRule(Condition):
    """An answer that passes is a failure with `code`."""

    code: str


class Call(Part):
    """A further tool of an upstream. Its arguments come from the first answer, and from `$arguments`."""

    upstream: str | None = None
    tool: str
    arguments: dict[str, Value] = {}


class First(Call):
    """Asked before the tool itself, with arguments from ours, where that rests on what was asked before.

    What comes of it is judged like an answer of the tool: it goes on when one of `success` holds.
    """

    success: Annotated[list[Condition], BeforeValidator(listed), Field(min_length=1)]


class Follow(Call):
    """Asks how a call goes on that only began something, until the answer no longer passes `pending`."""

    pending: Condition
    every_s: Positive = 0.25


class MappedTool(Part):
    """The upstream's tool behind one of ours."""

    upstream: str | None = None
    """May be left out when there is only one."""
    tool: str | None = None
    """Its name there; ours when left out."""
    arguments: dict[str, Value] | None = None
    """Its arguments from ours; when left out it takes ours by their own names."""
    success: Annotated[list[Condition], BeforeValidator(listed), Field(min_length=1)]
    """One of these must hold, or the outcome is UNKNOWN."""
    errors: list[ErrorRule] = []
    """Looked at before `success`, in order; those of the file come after."""
    result: dict[str, Value] = {}
    images: bool = False
    """Hand on the images of the answer."""
    limit_s: Positive = 30.0
    """Wall time after which the call is given up."""
    first: list[First] = []
    follow: Follow | None = None
    stop: list[Call] = []
    """Calls that end this motion at the upstream, besides the file's own `stop`."""


class Upstream(Part):
    """An MCP server: `url` (streamable HTTP) or `command` (stdio)."""

    url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    command: Annotated[list[str], Field(min_length=1)] | None = None
    env: dict[str, str] = {}
    """For `command`, besides PATH and HOME."""
    cwd: Path | None = None
    token_env: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")] | None = None
    """Environment variable of this process that holds the upstream's bearer token; the file never holds one."""
    connect_timeout_s: Positive = 30.0
    """Wall time; a call's own limit ends it earlier."""

    @model_validator(mode="after")
    def _one_way(self) -> "Upstream":
        if (self.url is None) == (self.command is None):
            raise ValueError("give exactly one of url and command")
        if self.command is not None and self.token_env is not None:
            raise ValueError("token_env goes with url; hand a command its secrets through the environment")
        return self


class UpstreamMapping(Part):
    """The file of one of our servers."""

    server: Literal["nav2", "moveit", "perception", "ros"]
    upstreams: Annotated[dict[str, Upstream], Field(min_length=1)]
    own: list[str] = []
    """Tools that this server goes on serving itself, over rosbridge."""
    tools: dict[str, MappedTool] = {}
    errors: list[ErrorRule] = []
    stop: list[Call] = []
    """Calls that bring the robot to rest at the upstreams, made at every stop."""

    @model_validator(mode="after")
    def _fits_together(self) -> "UpstreamMapping":
        codes = error_codes(self.server)
        for number, rule in enumerate(self.errors):
            self._check_code(rule, codes, "errors", number)
        for number, call in enumerate(self.stop):
            self.upstream_of(call.upstream, "stop", number, "upstream")
        for name, tool in self.tools.items():
            if name in self.own:
                raise field_error(f"'{name}' is in own as well; it can only be one of both", "tools", name)
            self.upstream_of(tool.upstream, "tools", name, "upstream")
            calls = [(f"stop.{number}", call) for number, call in enumerate(tool.stop)]
            calls += [(f"first.{number}", call) for number, call in enumerate(tool.first)]
            for field, call in [*calls, *([("follow", tool.follow)] if tool.follow else [])]:
                self.upstream_of(call.upstream or tool.upstream, "tools", name, field)
            for number, rule in enumerate(tool.errors):
                self._check_code(rule, codes, "tools", name, "errors", number)
        return self

    def upstream_of(self, name: str | None, *at: str | int) -> str:
        """Name of an upstream, of the only one for None. Raises what a validator may raise."""
        if name is None and len(self.upstreams) == 1:
            return next(iter(self.upstreams))
        if name not in self.upstreams:
            said = "is missing" if name is None else f"'{name}' is not one of them"
            raise field_error(f"upstream {said}; valid: {', '.join(self.upstreams)}", *at)
        return name

    def with_urls(self, urls: dict[str, str]) -> "UpstreamMapping":
        """The same with other addresses. Raises SiteFileError for an upstream that the file has not."""
        strange = sorted(set(urls) - set(self.upstreams))
        if strange:
            raise SiteFileError(
                f"QUARTET_UPSTREAM_URLS names {', '.join(strange)}; the mapping file has: {', '.join(self.upstreams)}"
            )
        changed = {
            name: self.upstreams[name].model_copy(update={"url": url, "command": None}) for name, url in urls.items()
        }
        return self.model_copy(update={"upstreams": self.upstreams | changed})

    @staticmethod
    def _check_code(rule: ErrorRule, codes: list[str], *at: str | int) -> None:
        if rule.code not in codes:
            raise field_error(f"'{rule.code}' is not a code of this server; valid: {', '.join(codes)}", *at, "code")


def error_codes(server: str) -> list[str]:
    """Codes with which a tool of `server` may fail."""
    own = [
        kind
        for name, kind in vars(MODULES[server]).items()
        if name.endswith("Code") and isinstance(kind, type) and issubclass(kind, StrEnum)
    ]
    return [str(code) for kind in (CommonCode, *own) for code in kind if code != CommonCode.NONE]


def load_mapping(path: Path) -> UpstreamMapping:
    """The mapping file at `path`. Raises SiteFileError."""
    return load_file(path, UpstreamMapping, "mapping file")
