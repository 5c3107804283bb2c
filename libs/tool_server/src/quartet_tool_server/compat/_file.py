"""The compatibility file: which of our tools does the work of a tool that a client knows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field, model_validator

from quartet_site import field_error, load_file
from quartet_tool_server.upstream._conversions import NEEDS_ROBOT
from quartet_tool_server.upstream._mapping import MODULES, Condition, Part, Value, listed
from quartet_tool_server.upstream._values import ROOTS as ANSWER_ROOTS

OURS = rf"^({'|'.join(MODULES)})__[a-z][a-z0-9_]*$"
ROOTS = ("$text", "$arguments")


class Result(Value):
    """Result of a case, from our tool's result; without `when`, of every call."""

    when: Condition | None = None


class OurCall(Part):
    """A call of one of our tools."""

    when: Condition | None = None
    """On the client's arguments or, for `then` and `otherwise`, on the result before. None: always."""
    tool: Annotated[str, Field(pattern=OURS)] | None = None
    """As <server>__<tool>; None: nothing is called, and `result` is made of the arguments."""
    arguments: dict[str, Value] | None = None
    """Of our tool, from the client's; None: the client's own."""


class Case(OurCall):
    """A call, what follows it, and the result that the client gets."""

    then: dict[str, OurCall] = {}
    """Calls after a success, in this order; the result of `name` begins at `$name`."""
    otherwise: "Case | None" = None
    """Case that is taken when the call failed and `when` of that case holds."""
    result: Annotated[list[Result], BeforeValidator(listed)] = []
    """The first whose `when` holds; none: our tool's own result."""
    images: bool = False
    """Whether pictures follow the text of the result."""

    @model_validator(mode="after")
    def _is_complete(self) -> "Case":
        if self.tool is None and (not self.result or self.then or self.otherwise or self.arguments is not None):
            raise field_error("a case without a tool has a result and neither arguments, then nor otherwise", "tool")
        _check_values(self.when, (self.arguments or {}).values(), ROOTS)
        known = ROOTS
        for name, call in self.then.items():
            if f"${name}" in ANSWER_ROOTS:
                raise field_error(
                    f"'{name}' is no name for a call, since ${name} has a meaning of its own; use another", "then", name
                )
            if call.tool is None:
                raise field_error("the tool is missing; valid: <server>__<tool>", "then", name)
            _check_values(call.when, (call.arguments or {}).values(), known, "then", name)
            known = (*known, f"${name}")
        for result in self.result:
            _check_values(result.when, [result], known)
        return self

    def calls(self) -> Iterator[OurCall]:
        """Return every call that this case may lead to."""
        yield self
        yield from self.then.values()
        if self.otherwise is not None:
            yield from self.otherwise.calls()


class OfferedTool(Part):
    """A tool as the client knows it: the first case whose `when` holds does the work."""

    description: str | None = None
    """None: that of the last case's tool."""
    ignores: list[str] = []
    """Arguments that have no meaning here."""
    cases: Annotated[list[Case], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        """Take the fields of an only case beside those of the tool."""
        if not isinstance(data, dict) or "cases" in data:
            return cast(Any, data)
        case = dict(cast(dict[str, Any], data))
        own = {name: case.pop(name) for name in ("description", "ignores") if name in case}
        return {**own, "cases": [case]}

    def arguments(self, ours: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the client's arguments with their JSON schemas; `ours` has those of our tools, by tool."""
        schemas: dict[str, Any] = {}
        paths = [*self.ignores]
        for case in self.cases:
            known: Mapping[str, Any] = ours[case.tool] if case.tool else {}
            schemas |= known
            paths += [*case.when.where, *case.when.has] if case.when else []
            paths += [
                str(part.source) for value in (case.arguments or {}).values() for part in parts_of(value) if part.source
            ]
            paths += known if case.arguments is None else []
        names = {path.removeprefix("$arguments.").partition(".")[0] for path in paths}
        return {name: schemas.get(name, {}) for name in sorted(names)}


class CompatFile(Part):
    """Servers by the names that the client has for them, each with its tools."""

    servers: Annotated[dict[str, dict[str, OfferedTool]], Field(min_length=1)]

    @property
    def tools(self) -> set[str]:
        """Our tools that are called, as <server>__<tool>."""
        offered = [tool for tools in self.servers.values() for tool in tools.values()]
        return {one.tool for tool in offered for case in tool.cases for one in case.calls() if one.tool}


def parts_of(value: Value) -> Iterator[Value]:
    """Return `value` and all values inside it."""
    yield value
    for inner in (*(value.fields or {}).values(), *(value.items or [])):
        yield from parts_of(inner)


def _check_values(when: Condition | None, values: Iterable[Value], known: Sequence[str], *at: str) -> None:
    """Raise what a validator may raise for a path that begins with none of `known`, and for unfit conversions."""
    parts = [part for value in values for part in parts_of(value)]
    steps = [step for part in parts for step in part.steps]
    paths = [*when.where, *when.has] if when else []
    paths += [part.source for part in parts if part.source is not None]
    paths += [parameter for step in steps for parameter in step.values() if isinstance(parameter, str)]
    for root in (path.partition(".")[0] for path in paths):
        if root.startswith("$") and root not in known:
            raise field_error(
                f"'{root}' is not a beginning of a path here; valid: {', '.join(known)}", *(at or ["from"])
            )
    if unfit := [name for step in steps for name in step if name in NEEDS_ROBOT]:
        raise field_error(f"'{unfit[0]}' needs the robot, which is not known here; use another", *(at or ["as"]))


def load_compat(path: Path) -> CompatFile:
    """Return the compatibility file at `path`. Raises SiteFileError."""
    return load_file(path, CompatFile, "compatibility file")
