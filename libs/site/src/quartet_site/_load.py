"""Loading of robot, site and policy files, with messages that name file, line, field and valid values."""

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from quartet_site._robot import RobotFile
from quartet_site._words import in_words, yaml_in_words
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
        raise SiteFileError(f"{what} {path} is not YAML: {_short(yaml_in_words(error, text), 1000)}") from error
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        # The constructors of dates and of tags such as !!int raise what they like.
        raise SiteFileError(
            f"{what} {path} is not YAML: a value does not fit its type: {_short(str(error))}"
        ) from error
    if twice:
        raise _unusable(what, path, [f"  {path}:{fault}" for fault in twice])
    if not isinstance(data, dict):
        held = "nothing" if data is None else "a list" if isinstance(data, list) else _shown(data)
        raise SiteFileError(f"{what} {path} must hold fields, each as `name: value`; it holds {held}.")
    fields = cast("dict[str, Any]", data)
    found: list[str] = []
    loaded: Model | None = None
    try:
        loaded = model.model_validate(data, context=context)
        further = [] if check is None else list(check(loaded))
    except ValidationError as error:
        # Each is looked for in the whole file, and a file may consist of faults.
        found = _faults(path, node, model, error)
        further = [] if check is None else _faults_of_the_rest(fields, model, context, check, error, separate)
    found += [_line(path, node, place, text) for place, text in further]
    if loaded is None or found:
        raise _unusable(what, path, found)
    return loaded


def _unusable(what: str, path: Path, faults: list[str]) -> SiteFileError:
    shown = [*faults[:MOST_FAULTS], *["  and more"] * (len(faults) > MOST_FAULTS)]
    return SiteFileError("\n".join([f"{what} {path} cannot be used:", *shown]), len(faults))


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


def _faults(path: Path, node: yaml.Node | None, model: type[BaseModel], error: ValidationError) -> list[str]:
    """Return the faults of a file that does not fit its schema; several of one value are one fault."""
    found: dict[tuple[Place, str], list[str]] = {}
    for one in error.errors()[: MOST_FAULTS + 1]:
        at: Place = tuple(one.get("ctx", {}).get("at", ()))
        location = _in_file(node, one["loc"], keep_last=one["type"] == "missing") + at
        text, end = in_words(one), ""
        if one["type"] in {"extra_forbidden", "missing"} and not isinstance(location[-1], int):
            if valid := _valid_fields(model, one["loc"][:-1]):
                end = f"; valid fields here: {', '.join(valid)}"
        elif one["type"] != "field_error" and not isinstance(one["input"], dict):
            end = f"; the file has {_shown(one['input'])}"
        found.setdefault((location, end), []).append(text)
    return [_line(path, node, place, "; or ".join(texts) + end) for (place, end), texts in found.items()]


def _in_file(node: yaml.Node | None, location: Place, *, keep_last: bool) -> Place:
    """Return a location without the names of alternatives, which are in the schema and not in the file.

    An alternative may be called as one of its fields is: of two readings the one with more parts counts.
    """
    if not location:
        return ()
    part, rest = location[0], location[1:]
    left_out = _in_file(node, rest, keep_last=keep_last)
    inside = None
    if isinstance(node, yaml.MappingNode):
        inside = next((value for key, value in reversed(node.value) if key.value == str(part)), None)
    elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        inside = node.value[part]
    if inside is not None:
        return max((part, *_in_file(inside, rest, keep_last=keep_last)), left_out, key=len)
    return (part,) if keep_last and not rest else left_out


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


def _valid_fields(model: type[BaseModel], location: Place) -> list[str]:
    """Return the field names of the section at `location`, [] for a mapping with free keys."""
    current: list[Any] = [model]
    for part in location:
        current = [inner for one in current for inner in _within(one, part)]
    names = {field.alias or name for one in current if _is_model(one) for name, field in one.model_fields.items()}
    return sorted(names)


def _within(annotation: Any, part: str | int) -> list[Any]:
    """Return the annotations that `part` of a location leads to: of a field, an entry, or an alternative."""
    if _is_model(annotation):
        field = annotation.model_fields.get(str(part))
        inner = [] if field is None else _alternatives(field.annotation)
        # The tag of an alternative stands in the location before its fields.
        kinds = [getattr(one.annotation, "__args__", ()) for one in annotation.model_fields.values()]
        return inner + [annotation] * any(part in kind for kind in kinds)
    arguments = getattr(annotation, "__args__", ())
    return _alternatives(arguments[-1]) if arguments else []


def _alternatives(annotation: Any) -> list[Any]:
    """Return the models, lists and mappings of which a value may be one."""
    if _is_model(annotation) or getattr(annotation, "__origin__", None) in (list, dict):
        return [annotation]
    return [inner for one in getattr(annotation, "__args__", ()) for inner in _alternatives(one)]


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
