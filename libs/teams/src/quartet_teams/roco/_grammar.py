"""Reads the joint plan in a reply.

EXECUTE
NAME <robot> ACTION <verb> <object> [target] [PATH [(x, y, z), ...]]      one line for each robot
"""

import itertools
import math
import re
from collections.abc import Iterator, Sequence

from quartet_teams._talk import EXECUTE, ends_with_execute, find_keywords
from quartet_teams.errors import ReplyError
from quartet_teams.roco._actions import VERBS, Action, Form, JointPlan, Point, Verb, plan_text
from quartet_teams.roco._scene import Scene

MOST_REPLY = 20_000
"""Characters of a reply; a longer one is refused."""
MOST_WORDS = 12
"""Words of an object's name."""
_NAME = re.compile(r"^[^\w\n]*(?i:name)\b|\bNAME\b", re.MULTILINE)
_ACTION = re.compile(r"\b(?i:action)\b")
_PATH = re.compile(r"\b(?i:path)\b")
_POINT = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_LINKS = {"place", "at", "in", "into", "on", "onto", "to"}
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
    _check_lengths(plan, scene)
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
    if not ends_with_execute(reply):
        raise ReplyError(reply, f"The reply does not end with {EXECUTE} and a plan.", _format(scene))
    start = plan_start(reply)
    if start is None:
        raise ReplyError(reply, f"No line with NAME follows {EXECUTE}.", _format(scene))
    return reply[start:]


def plan_start(reply: str) -> int | None:
    """Return the position behind the last EXECUTE that a NAME follows; None if there is none."""
    last_name = max((found.start() for found in _NAME.finditer(reply)), default=-1)
    ends = [at for keyword, at in find_keywords(reply) if keyword == EXECUTE]
    return max((at for at in ends if at <= last_name), default=None)


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
    named, action = parts
    robot = _resolve(named, scene.robots)
    if robot is None:
        raise ReplyError(line, f"There is no robot {_shown(named)}.", f"Valid robots: {', '.join(scene.robots)}.")
    path = _PATH.search(action)
    words = (action[: path.start()] if path else action).strip(_AROUND).split()
    verb = _find_verb(words, scene)
    if verb is None:
        valid = "; ".join(form.written(verb) for verb, form in scene.forms.items())
        raise ReplyError(line, f"{_shown(' '.join(words))} is no valid action.", f"Valid actions: {valid}.")
    form = scene.forms[verb]
    name, target = _read_arguments(line, words[1:], form, f"Write {form.written(verb)}.")
    if form.path != bool(path):
        reason = f"{verb} {'has' if form.path else 'takes'} no PATH."
        raise ReplyError(line, reason, f"Write {form.written(verb)}.")
    return Action(robot, verb, name, target, _read_path(line, action[path.end() :]) if path else ())


def _find_verb(words: Sequence[str], scene: Scene) -> Verb | None:
    """Return the first of `VERBS` that fits, None if the scene has none."""
    first = words[0].strip(_AROUND).upper() if words else ""
    composed = first == "PICK" and "place" in map(str.lower, words)
    for verb in VERBS:
        if verb in scene.forms and (verb == first or (composed and verb == "PICK PLACE")):
            return verb
    return None


def _read_arguments(line: str, words: Sequence[str], form: Form, remedy: str) -> tuple[str, str]:
    """Return object and target, each of which may have several words; exactly one reading must be valid."""
    shown = _shown(" ".join(words))
    if not form.objects:
        if words:
            raise ReplyError(line, f"The action takes no object, and there is {shown}.", remedy)
        return "", ""
    splits = range(1, MOST_WORDS + 1) if form.targets else [len(words)]
    named = {count: name for count in splits if (name := _resolve(" ".join(words[:count]), form.objects))}
    if form.targets:
        ends = {count: _resolve(_without_links(words[count:]), form.targets) for count in named}
        readings = {(name, end) for count, name in named.items() if (end := ends[count])}
    else:
        readings = {(name, "") for name in named.values()}
    if len(readings) == 1:
        return readings.pop()
    if readings:
        meanings = "; ".join(f"{name}, {target}" for name, target in sorted(readings))
        raise ReplyError(line, f"{shown} has several meanings: {meanings}.", "Write the names exactly.")
    what, valid = ("target", form.targets) if named else ("object", form.objects)
    raise ReplyError(line, f"{shown} has no valid {what}.", f"{remedy} Valid {what}s: {', '.join(valid)}.")


def _read_path(line: str, text: str) -> tuple[Point, ...]:
    remedy = "Write PATH [(x, y, z), ...] with finite numbers."
    text = text.strip(_AROUND)
    found = _POINT.findall(text[1:-1])
    if not found or text[0] + text[-1] != "[]" or _POINT.sub("", text[1:-1]).strip(" ,"):
        raise ReplyError(line, "The PATH is not a list of points.", remedy)
    points: list[Point] = []
    for point in found:
        x, y, z, *more = *map(_number, point.split(",")), math.nan, math.nan
        if len(more) != 2 or not all(map(math.isfinite, (x, y, z))):
            raise ReplyError(line, f"({point.strip()[:60]}) is not three finite numbers.", remedy)
        points.append((x, y, z))
    return tuple(points)


def _number(text: str) -> float:
    """Return a number, NaN for any other text."""
    try:
        return float(text) if len(text) < 40 and "_" not in text else math.nan
    except ValueError:
        return math.nan


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


def _check_lengths(plan: JointPlan, scene: Scene) -> None:
    """Refuse unequal paths, and PICK PLACE together with a single motion other than MOVE or WAIT."""
    paths = {robot: len(action.path) for robot, action in plan.items() if action.path}
    if scene.equal_paths and len(set(paths.values())) > 1:
        counts = ", ".join(f"{robot} {count}" for robot, count in paths.items())
        reason = f"The paths have unequal numbers of points: {counts}."
        raise ReplyError(plan_text(plan), reason, "Give every PATH the same number of points.")
    long = next((robot for robot, action in plan.items() if action.verb == "PICK PLACE"), None)
    short = next((robot for robot, one in plan.items() if one.verb not in {"PICK PLACE", "MOVE", "WAIT"}), None)
    if long and short:
        reason = f"{long} picks and places, which takes two motions, and {short} has one."
        raise ReplyError(plan_text(plan), reason, f"Let {short} MOVE or WAIT, or PICK and PLACE, too.")


def _resolve(text: str, valid: Sequence[str]) -> str | None:
    """Return the only valid name that a text can mean, whatever its case and spacing; None if there is not one."""
    text = text.strip()
    if text in valid:
        return text
    found = [name for name in valid if _plain(name) == _plain(text)]
    return found[0] if len(found) == 1 else None


def _plain(text: str) -> str:
    return "_".join(text.casefold().replace("_", " ").replace("-", " ").strip(_AROUND).split())


def _without_links(words: Sequence[str]) -> str:
    return " ".join(itertools.dropwhile(lambda word: word.lower() in _LINKS, words))


def _shown(text: str) -> str:
    text = text.strip(_AROUND)
    return f"'{text[:60]}{'…' if len(text) > 60 else ''}'"
