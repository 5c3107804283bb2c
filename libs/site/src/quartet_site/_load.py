"""Loading of robot, site and policy files, with messages that name file, line, field and valid values."""

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from quartet_site._robot import RobotFile
from quartet_site.errors import SiteFileError
from quartet_site.policy import PolicyFile
from quartet_site.site import SiteFile

log = logging.getLogger(__name__)

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""That of libyaml, where PyYAML has it: each process reads these files at its start, here in a seventh of the time."""

MOST_BYTES = 1_000_000
MOST_VALUES = 50_000
"""Values of a file, each as often as an alias repeats it; the largest of this project has some thousands."""
MOST_LEVELS = 50
MOST_FAULTS = 100
MOST_SHOWN = 200
"""Characters of a value that a message repeats."""

Model = TypeVar("Model", bound=BaseModel)
Place = tuple[str | int, ...]
"""Where a fault is: field names, and indices of lists."""
Fault = tuple[Place, str]
Check = Callable[[Model], Iterable[Fault]]


def load_robot(path: Path) -> RobotFile:
    """Return the robot file at `path`; warns of names that read like instructions. Raises SiteFileError."""
    robot = _load(path, RobotFile, "robot file")
    _warn(path, "robot file", [f"arm.named_states: '{name}'" for name in robot.arm.named_states if _suspicious(name)])
    return robot


def load_site(path: Path) -> SiteFile:
    """Return the site file at `path`; warns of names that read like instructions. Raises SiteFileError."""
    site = _load(path, SiteFile, "site file")
    _warn(path, "site file", instruction_like(site))
    return site


def _warn(path: Path, what: str, names: Iterable[str]) -> None:
    for name in names:
        log.warning(
            "%s %s: %s reads like an instruction; models are shown the names of the %s. Use the words for a thing or a "
            "place, as a person says them",
            what,
            path,
            name,
            what,
        )


def load_policy(path: Path, site: SiteFile, robot: RobotFile) -> PolicyFile:
    """Return the policy file at `path`, which must fit the site and the robot. Raises SiteFileError."""
    return _load(path, PolicyFile, "policy file", {"site": site, "robot": robot})


def load_file(
    path: Path,
    model: type[Model],
    what: str,
    *,
    context: Any = None,
    check: Check[Model] | None = None,
    separate: Collection[str] = (),
) -> Model:
    """Return the YAML file at `path` as a `model`.

    Args:
        path: of the file.
        model: its schema.
        what: how messages call it.
        context: what the validators of the schema are given.
        check: returns the faults that only the whole file shows.
        separate: fields with lists whose entries may be left out of that check when they do not fit the schema, so
            that the faults of all others are found as well.

    Raises:
        SiteFileError: the file cannot be used; the message has every fault.
    """
    return _load(path, model, what, context, check=check, separate=separate)


def _load(
    path: Path,
    model: type[Model],
    what: str,
    context: Any = None,
    *,
    check: Check[Model] | None = None,
    separate: Collection[str] = (),
) -> Model:
    try:
        text = _text(path, what)
    except OSError as error:
        raise SiteFileError(
            f"{what} {path} cannot be read: {error.strerror or error}. Name a readable file."
        ) from error
    except UnicodeDecodeError as error:
        raise SiteFileError(f"{what} {path} is not UTF-8 text: {error}") from error
    return _read(text, path, model, what, context, check=check, separate=separate)


def _text(path: Path, what: str) -> str:
    """Return the text of a file. Raises OSError, UnicodeDecodeError, SiteFileError for one that is too long."""
    if path.exists() and not path.is_file() and not path.is_dir():
        # A pipe would be waited for, a device has no end.
        raise SiteFileError(f"{what} {path} cannot be read: it is no regular file. Name a readable file.")
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise SiteFileError(f"{what} {path} is too long: at most {MOST_BYTES} bytes are read.")
    return data.decode()


def load_text(text: str, model: type[Model], what: str) -> Model:
    """Return the text of a file as a `model`. Raises SiteFileError."""
    return _read(text, Path("(text)"), model, what, None)


def _read(
    text: str,
    path: Path,
    model: type[Model],
    what: str,
    context: Any,
    *,
    check: Check[Model] | None = None,
    separate: Collection[str] = (),
) -> Model:
    try:
        _check_depth(text)
        loader = _LOADER(text)
        node: yaml.Node | None = loader.get_single_node()
        _check_values(node)
        # Before the construction, which puts the fields that `<<` brings into the node, beside those that replace them.
        twice = _repeated_fields(node)
        data: Any = None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        raise SiteFileError(f"{what} {path} is not YAML: {_short(str(error), 1000)}") from error
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        # The constructors of dates and of tags such as !!int raise what they like.
        raise SiteFileError(
            f"{what} {path} is not YAML: a value does not fit its type: {_short(str(error))}"
        ) from error
    if twice:
        raise SiteFileError(f"{what} {path} cannot be used:\n" + _listed(f"  {path}:{fault}" for fault in twice))
    if not isinstance(data, dict):
        raise SiteFileError(f"{what} {path} must hold a mapping of fields, it holds {type(data).__name__}.")
    fields = cast("dict[str, Any]", data)
    found: list[str] = []
    loaded: Model | None = None
    try:
        loaded = model.model_validate(data, context=context)
        further = [] if check is None else list(check(loaded))
    except ValidationError as error:
        # Each is looked for in the whole file, and a file may consist of faults.
        found = [_fault(path, node, model, e) for e in error.errors()[: MOST_FAULTS + 1]]
        further = [] if check is None else _faults_of_the_rest(fields, model, context, check, error, separate)
    found += [_line(path, node, place, text) for place, text in further]
    if loaded is None or found:
        raise SiteFileError(f"{what} {path} cannot be used:\n" + _listed(found))
    return loaded


class _TooMuchError(yaml.YAMLError):
    """A file that is larger than any that is meant."""


def _check_depth(text: str) -> None:
    """Check how deep a file is nested, before the composer, which ends the process at a great depth."""
    depth = 0
    # PyYAML's types leave the text's open.
    events: Iterable[yaml.Event] = cast("Any", yaml).parse(text, Loader=_LOADER)
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MOST_LEVELS:
                raise _TooMuchError(f"line {event.start_mark.line + 1}: it is nested deeper than {MOST_LEVELS} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_values(node: yaml.Node | None) -> None:
    """Check how many values a file has, and that no alias is within what it repeats."""
    waiting: list[tuple[yaml.Node, int]] = [] if node is None else [(node, 0)]
    seen = 0
    while waiting:
        one, level = waiting.pop()
        seen += 1
        if seen > MOST_VALUES:
            raise _TooMuchError(f"it has more than {MOST_VALUES} values, each as often as an alias (*) repeats it")
        if level > MOST_LEVELS:
            raise _TooMuchError(
                f"line {one.start_mark.line + 1}: its aliases (*) nest deeper than {MOST_LEVELS} levels"
            )
        if isinstance(one, yaml.MappingNode):
            waiting += [(part, level + 1) for pair in one.value for part in pair]
        elif isinstance(one, yaml.SequenceNode):
            waiting += [(part, level + 1) for part in one.value]


def _short(text: str, most: int = MOST_SHOWN) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _shown(value: Any) -> str:
    try:
        return _short(repr(value))
    except ValueError:
        return "a number that is too long to be written"


def _listed(faults: Iterable[str]) -> str:
    lines = list(faults)
    more = [] if len(lines) <= MOST_FAULTS else ["  and more"]
    return "\n".join([*lines[:MOST_FAULTS], *more])


def _faults_of_the_rest(
    data: dict[str, Any],
    model: type[Model],
    context: Any,
    check: Check[Model],
    error: ValidationError,
    separate: Collection[str],
) -> list[Fault]:
    """Return what `check` finds when the entries with faults are left out; nothing where that cannot be done."""
    wrong: dict[str, set[int]] = {}
    for fault in error.errors():
        place = fault["loc"]
        if len(place) < 2 or str(place[0]) not in separate or not isinstance(place[1], int):
            return []
        wrong.setdefault(str(place[0]), set()).add(place[1])
    left = {field: [n for n in range(len(data[field])) if n not in numbers] for field, numbers in wrong.items()}
    rest = {**data, **{field: [data[field][n] for n in numbers] for field, numbers in left.items()}}
    try:
        faults = list(check(model.model_validate(rest, context=context)))
    except ValidationError:
        return []

    def in_file(place: Place) -> Place:
        field, number = (*place, None, None)[:2]
        if isinstance(number, int) and field in left:
            return (field, left[str(field)][number], *place[2:])
        return place

    return [(in_file(place), text) for place, text in faults]


def _line(path: Path, node: yaml.Node | None, place: Place, text: str) -> str:
    field = ".".join(str(part) for part in place) or "(whole file)"
    return f"  {path}:{_line_of(node, place)}: {field}: {text}"


def _fault(path: Path, node: yaml.Node | None, model: type[BaseModel], error: Any) -> str:
    location: tuple[str | int, ...] = (*error["loc"], *error.get("ctx", {}).get("at", ()))
    text = _line(path, node, location, error["msg"])
    if error["type"] in {"extra_forbidden", "missing"}:
        valid = _valid_fields(model, location[:-1])
        if valid:
            text += f"; valid fields here: {', '.join(valid)}"
    elif error["type"] != "field_error" and "input" in error and not isinstance(error["input"], dict | list):
        text += f"; the file has {_shown(error['input'])}"
    return text


def _repeated_fields(node: yaml.Node | None) -> list[str]:
    """Return faults for fields that a mapping has twice; YAML would silently keep the last."""
    found: list[str] = []
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if str(key.value) in seen:
                found.append(f"{line}: {key.value}: it is there twice, before in line {seen[str(key.value)]}")
            seen[str(key.value)] = line
            found += _repeated_fields(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            found += _repeated_fields(item)
    return found


def _line_of(node: yaml.Node | None, location: tuple[str | int, ...]) -> int:
    """Return the 1-based line of the deepest part of `location` that the file has."""
    line = 1 if node is None else node.start_mark.line + 1
    for part in location:
        if isinstance(node, yaml.MappingNode):
            # The last one: those that `<<` brought stand first.
            found = next(((k, v) for k, v in reversed(node.value) if k.value == str(part)), None)
            if found is None:
                return line
            line, node = found[0].start_mark.line + 1, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            item: yaml.Node = node.value[part]
            line, node = item.start_mark.line + 1, item
        else:
            return line
    return line


def _valid_fields(model: type[BaseModel], location: tuple[str | int, ...]) -> list[str]:
    """Return the field names of the section at `location`, [] for a mapping with free keys."""
    current: Any = model
    for part in location:
        origin = getattr(current, "__origin__", None)
        if isinstance(part, int) or origin is dict:
            # The members of a list, or of a mapping whose keys are free.
            current = next(reversed(getattr(current, "__args__", ())), None)
        else:
            field = current.model_fields.get(part) if _is_model(current) else None
            current = field.annotation if field else None
        current = _unwrap(current)
    return sorted(field.alias or name for name, field in current.model_fields.items()) if _is_model(current) else []


def _unwrap(annotation: Any) -> Any:
    """Return the model inside `X | None`, anything else as it is."""
    if _is_model(annotation) or getattr(annotation, "__origin__", None) in (list, dict):
        return annotation
    return next((a for a in getattr(annotation, "__args__", ()) if _is_model(a)), annotation)


def _is_model(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel)


MOST_WORDS = 6
"""Words of a name; a longer one is a sentence."""
_INSTRUCTION = re.compile(
    r"\b(ignore|disregard|forget|override|instead|instructions?|prompts?|system|assistant|execute|obey|always|never"
    r"|do not|don't|you (are|must|should|will|may)|tell (me|the|a|them)|report (that|success)|call the)\b"
)


def instruction_like(site: SiteFile) -> list[str]:
    """Return `field: 'name'` for every name, alias and landmark that reads like an instruction to a model."""
    return [f"{field}: '{name}'" for field, name in _names(site) if _suspicious(name)]


def _suspicious(name: str) -> bool:
    words = re.sub(r"[_-]+", " ", name).lower()
    return len(words.split()) > MOST_WORDS or _INSTRUCTION.search(words) is not None


def _names(site: SiteFile) -> Iterator[tuple[str, str]]:
    yield "name", site.name
    lists = {"areas": site.areas, "surfaces": site.surfaces, "containers": site.containers, "objects": site.objects}
    for section, entries in lists.items():
        for number, entry in enumerate(entries):
            at = f"{section}.{number}"
            yield f"{at}.name", entry.name
            yield from ((f"{at}.aliases.{index}", alias) for index, alias in enumerate(entry.aliases))
    for number, area in enumerate(site.areas):
        yield from ((f"areas.{number}.landmarks.{index}", mark) for index, mark in enumerate(area.landmarks))
