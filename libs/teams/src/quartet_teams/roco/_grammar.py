"""Reads the joint plan in a reply.

EXECUTE
NAME <robot> ACTION <verb> <object> [target] [PATH [(x, y, z), ...]]      one line for each robot
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from quartet_teams._talk import EXECUTE, ends_with_execute, find_keywords
from quartet_teams.errors import ReplyError
from quartet_teams.roco._actions import VERBS, Action, Form, JointPlan, Point, Verb
from quartet_teams.roco._scene import Scene

MOST_REPLY = 20_000
"""Characters of a reply; a longer one is refused."""
MOST_WORDS = 24
"""Words of an action without its path."""
MOST_POINTS = 1000
"""Points of a path."""
MOST_LISTED = 40
"""Valid names that an error lists."""
_NAME = re.compile(r"^[^\w\n]*(?i:name)\b|\bNAME\b", re.MULTILINE)
_ACTION = re.compile(r"\b(?i:action)\b")
_PATH = re.compile(r"\b(?i:path)\b")
_PLACE = re.compile(r"\s(?i:place)\s")
_POINT = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_LINK = {"at", "in", "into", "on", "onto", "to"}
"""Words that may stand before a target."""
_AROUND = " \t\r\n.,;:!<>\"'*_`"
"""Characters that may stand around a name or an action."""


def parse_reply(reply: str, scene: Scene) -> JointPlan:
    """Return the plan behind the last EXECUTE of a reply. Raises ReplyError with quote, reason and remedy."""
    lines = list(_robot_lines(_plan_part(reply, scene)))
    plan: dict[str, Action] = {}
    for line in lines:
        action = _read_line(line, scene)
        if action.robot in plan:
            raise ReplyError(line, f"{action.robot} has more than one line.", "Write exactly one line for each robot.")
        plan[action.robot] = action
    if missing := [robot for robot in scene.robots if robot not in plan]:
        reason = f"There is no line for {', '.join(missing)}."
        raise ReplyError("\n".join(lines), reason, _format(scene))
    _check_grippers(plan, scene)
    if scene.equal_paths and len({len(action.path) for action in plan.values() if action.path}) > 1:
        counts = ", ".join(f"{robot} {len(action.path)}" for robot, action in plan.items() if action.path)
        reason = f"The paths have unequal numbers of points: {counts}."
        raise ReplyError("\n".join(lines), reason, "Give every PATH the same number of points.")
    _check_lengths(plan)
    return {robot: plan[robot] for robot in scene.robots}


def _format(scene: Scene) -> str:
    return (
        f"End with {EXECUTE}, followed by one line NAME <robot> ACTION <action> for each of {', '.join(scene.robots)}."
    )


def _plan_part(reply: str, scene: Scene) -> str:
    """Return the text behind the last EXECUTE that a NAME follows."""
    if len(reply) > MOST_REPLY:
        reason = f"The reply has {len(reply)} characters; at most {MOST_REPLY} are read."
        raise ReplyError(reply, reason, f"Be brief. {_format(scene)}")
    ends = [at for keyword, at in find_keywords(reply) if keyword == EXECUTE]
    if not ends_with_execute(reply):
        raise ReplyError(reply, f"The reply does not end with {EXECUTE} and a plan.", _format(scene))
    last_name = max((found.start() for found in _NAME.finditer(reply)), default=-1)
    start = max((at for at in ends if at <= last_name), default=None)
    if start is None:
        raise ReplyError(reply, f"No line with NAME follows {EXECUTE}.", _format(scene))
    return reply[start:]


def _robot_lines(text: str) -> Iterator[str]:
    """Yield the text behind each NAME up to the end of its line, or of its path if that continues."""
    names = list(_NAME.finditer(text))
    for name, after in zip(names, [*names[1:], None], strict=True):
        first, *more = text[name.end() : after.start() if after else len(text)].strip("\n").split("\n")
        open_brackets = first.count("[") - first.count("]")
        for line in more:
            if open_brackets <= 0:
                break
            first += f" {line}"
            open_brackets += line.count("[") - line.count("]")
        yield f"NAME {' '.join(first.split())}"


def _read_line(line: str, scene: Scene) -> Action:
    parts = _ACTION.split(line.removeprefix("NAME "), maxsplit=1)
    if len(parts) < 2:
        raise ReplyError(line, "ACTION is missing.", "Write NAME <robot> ACTION <action>.")
    named, rest = parts
    robot = _resolve(named, scene.robots)
    if robot is None:
        raise ReplyError(line, f"There is no robot {_shown(named)}.", f"Valid robots: {_listed(scene.robots)}.")
    path = _PATH.search(rest)
    words = (rest[: path.start()] if path else rest).strip(_AROUND)
    verb, arguments = _read_verb(line, words, scene)
    form = scene.forms[verb]
    target = ""
    if verb == "PICK PLACE":
        picked, _, placed = arguments.partition("\n")
        name = _resolved(line, picked, form.objects, "object")
        target = _resolved(line, _without_link(placed), form.targets, "target")
    elif form.targets:
        name, target = _read_object_and_target(line, arguments, verb, form)
    elif form.objects:
        name = _resolved(line, arguments, form.objects, "object")
    elif arguments:
        raise ReplyError(line, f"{verb} takes no {_shown(arguments)}.", f"Write {form.written(verb)}.")
    else:
        name = ""
    if form.path and path is None:
        raise ReplyError(line, f"{verb} has no PATH.", f"Write {form.written(verb)}.")
    if path and not form.path:
        raise ReplyError(line, f"{verb} takes no PATH.", "Leave the PATH out.")
    return Action(robot, verb, name, target, _read_path(line, rest[path.end() :]) if path else ())


def _read_verb(line: str, words: str, scene: Scene) -> tuple[Verb, str]:
    """Return the first of `VERBS` that fits, and its arguments; those of PICK PLACE are apart by a line break."""
    if len(words.split()) > MOST_WORDS:
        raise ReplyError(line, f"The action has more than {MOST_WORDS} words.", _valid_actions(scene))
    first, _, arguments = words.partition(" ")
    first = first.strip(_AROUND).upper()
    parts = _PLACE.split(f" {arguments.strip()} ")
    for verb in VERBS:
        if verb not in scene.forms:
            continue
        if verb == "PICK PLACE":
            if first == "PICK" and len(parts) == 2:
                return verb, "\n".join(part.strip() for part in parts)
        elif verb == first:
            return verb, arguments.strip()
    raise ReplyError(line, f"{_shown(words)} is no valid action.", _valid_actions(scene))


def _valid_actions(scene: Scene) -> str:
    return f"Valid actions: {'; '.join(form.written(verb) for verb, form in scene.forms.items())}."


def _read_object_and_target(line: str, arguments: str, verb: Verb, form: Form) -> tuple[str, str]:
    """Return object and target, both of which may have several words; only one reading may be valid."""
    words = arguments.split()
    readings: set[tuple[str, str]] = set()
    named: set[str] = set()
    for count in range(1, len(words) + 1):
        name = _resolve(" ".join(words[:count]), form.objects)
        if name is not None:
            named.add(name)
            target = _resolve(_without_link(" ".join(words[count:])), form.targets)
            readings |= {(name, target)} if target is not None else set()
    if len(readings) == 1:
        return readings.pop()
    if readings:
        told = "; ".join(f"{name}, {target}" for name, target in sorted(readings))
        raise ReplyError(line, f"{_shown(arguments)} has several meanings: {told}.", "Write the names exactly.")
    what, valid = ("target", form.targets) if named else ("object", form.objects)
    remedy = f"Write {form.written(verb)}. Valid {what}s: {_listed(valid)}."
    raise ReplyError(line, f"{_shown(arguments)} has no valid {what}.", remedy)


def _read_path(line: str, text: str) -> tuple[Point, ...]:
    remedy = "Write PATH [(x, y, z), ...] with finite numbers."
    text = text.strip(_AROUND)
    inner = text[1:-1]
    if not (text.startswith("[") and text.endswith("]")) or _POINT.sub("", inner).strip(" ,\t"):
        raise ReplyError(line, "The PATH is not a list of points.", remedy)
    found = _POINT.findall(inner)
    if not 1 <= len(found) <= MOST_POINTS:
        raise ReplyError(line, f"The PATH has {len(found)} points; valid: 1 to {MOST_POINTS}.", remedy)
    points: list[Point] = []
    for point in found:
        numbers = [number for part in point.split(",") if (number := _number(part)) is not None]
        if len(numbers) != 3 or point.count(",") != 2:
            raise ReplyError(line, f"({point.strip()[:60]}) is not three finite numbers.", remedy)
        points.append((numbers[0], numbers[1], numbers[2]))
    return tuple(points)


def _number(text: str) -> float | None:
    text = text.strip()
    if not re.fullmatch(r"[-+]?[\d.]{1,24}([eE][-+]?\d{1,3})?", text, re.ASCII):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _check_grippers(plan: JointPlan, scene: Scene) -> None:
    """Refuse a PICK by a full gripper or of what another robot holds, and PLACE, PUT and OPEN of what is not held."""
    held = {robot: scene.held(robot) for robot in scene.robots}
    for robot, action in plan.items():
        line = f"NAME {robot} ACTION {action}"
        if action.verb in {"PICK", "PICK PLACE"}:
            if held[robot]:
                reason = f"{robot} already holds {', '.join(held[robot])}."
                raise ReplyError(line, reason, "Choose an action for what it holds.")
            if holder := next((other for other in scene.robots if action.object in held[other]), None):
                raise ReplyError(line, f"{holder} holds {action.object}.", "Pick another object.")
        elif action.verb in {"PLACE", "PUT", "OPEN"} and action.object not in held[robot]:
            holds = ", ".join(held[robot]) or "nothing"
            reason = f"{robot} does not hold {action.object}; it holds {holds}."
            raise ReplyError(line, reason, f"{robot} must PICK {action.object} first.")


def _check_lengths(plan: JointPlan) -> None:
    """Refuse PICK PLACE, which takes two sub-plans, together with an action that takes one and is no MOVE or WAIT."""
    long = next((robot for robot, action in plan.items() if action.verb == "PICK PLACE"), None)
    short = next((robot for robot, one in plan.items() if one.verb not in {"PICK PLACE", "MOVE", "WAIT"}), None)
    if long and short:
        line = f"NAME {short} ACTION {plan[short]}"
        reason = f"{long} picks and places, which takes two motions, and {short} has one."
        raise ReplyError(line, reason, f"Let {short} MOVE or WAIT, or PICK and PLACE, too.")


def _resolved(line: str, text: str, valid: Sequence[str], what: str) -> str:
    name = _resolve(text, valid)
    if name is None:
        shown = f"There is no {what} {_shown(text)}." if text.strip(_AROUND) else f"The {what} is missing."
        raise ReplyError(line, shown, f"Valid {what}s: {_listed(valid)}.")
    return name


def _resolve(text: str, valid: Sequence[str]) -> str | None:
    """Return the only valid name that a text can mean, whatever its case and spacing; None if there is not one."""
    text = text.strip()
    if text in valid:
        return text
    found = [name for name in valid if _plain(name) == _plain(text)]
    return found[0] if len(found) == 1 else None


def _plain(text: str) -> str:
    return "_".join(text.casefold().replace("_", " ").replace("-", " ").strip(_AROUND).split())


def _without_link(text: str) -> str:
    first, _, rest = text.strip().partition(" ")
    return rest if first.lower() in _LINK else text


def _shown(text: str) -> str:
    text = text.strip(_AROUND)
    return f"'{text[:60]}{'…' if len(text) > 60 else ''}'"


def _listed(valid: Iterable[str]) -> str:
    names = list(valid)
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(names[:MOST_LISTED]) + more
