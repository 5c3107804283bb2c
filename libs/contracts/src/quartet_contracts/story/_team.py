"""A team's events as lines of text: who proposed what, who objected, what each robot does, and what came of it."""

import json
import re
from typing import Any, cast

from quartet_contracts.journal import (
    RobotLeft,
    TeamErrands,
    TeamProgram,
    TeamStep,
    TeamStepEnded,
    TeamSubtasks,
    TeamTurn,
)
from quartet_contracts.story._lines import SHORT_TEXT, Line, Span, Tone, clip

MOVE = re.compile(r"move\(([^,()]+), ([^,()]+), ([^,()]+)\)")
PARK = re.compile(r"park\(([^()]+)\)")
CODE = re.compile(r"```python\n.*?```", re.DOTALL)
AGREES = re.compile(r"\W*i agree\b", re.IGNORECASE)
ITEM = re.compile(r"\{([^{}|]+)\|\|([^{}]*)\}")
"""A subtask that a leader gives a robot, or a no with its reason."""
YES = re.compile(r"\{\s*yes\s*\}", re.IGNORECASE)
TALKS = re.compile(r"\b(PROCEED|EXECUTE)\b")
"""How a reply ends that neither agrees nor objects, but discusses with the others."""

TeamEvent = TeamErrands | TeamTurn | TeamProgram | TeamSubtasks | TeamStep | TeamStepEnded | RobotLeft


class TeamWords:
    """Renders the events of one team, from the first: an errand's end is described by its beginning.

    verbose: name the task of each errand by its id.
    """

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose = verbose
        self._doing: dict[tuple[int, str], str] = {}
        """What each robot does in each step, in words."""

    def tell(self, actor: str, at: float, what: TeamEvent) -> Line:
        """Return the line for the next event of the journal; its actor is who speaks or acts."""
        match what:
            case TeamErrands():
                body = "\n".join(f"{thing}: {_way(way)}" for thing, way in what.errands.items())
                return _line(actor, at, "the task comes to these errands", "strong", body)
            case TeamTurn():
                return self._turn(at, what)
            case TeamProgram():
                return _line(what.participant, at, f"program: {clip(what.text, SHORT_TEXT)}", "quiet")
            case TeamSubtasks():
                head = "all agree to their subtasks" if what.agreed else "the leader's last subtasks count"
                body = "\n".join(
                    f"{robot}: {', '.join(map(_words, actions)) or 'waits'}" for robot, actions in what.subtasks.items()
                )
                return _line(actor, at, head, "strong", body)
            case TeamStep():
                told = {robot: _words(action) for robot, action in what.plan.items()}
                self._doing.update({(what.step, robot): words for robot, words in told.items()})
                ids = {robot: f" (task {task})" for robot, task in what.tasks.items() if self._verbose}
                body = "\n".join(f"{robot}: {words}{ids.get(robot, '')}" for robot, words in told.items())
                parks = all(PARK.fullmatch(action) for action in what.plan.values())
                head = "has nothing to do now" if parks else "agreed"
                return _line(actor, at, f"step {what.step}, {head}", "plain" if parks else "strong", body)
            case TeamStepEnded():
                return self._ended(actor, at, what)
            case RobotLeft():
                return _line(actor, at, f"goes on without {what.robot} ({what.error_code}): {what.reason}", "notice")

    def _turn(self, at: float, turn: TeamTurn) -> Line:
        if turn.about == "program":
            return _program_turn(at, turn)
        if (told := _subtask_turn(at, turn)) is not None:
            return told
        plan, said = _proposal(turn.text)
        if plan is None and TALKS.search(turn.text):
            return _line(turn.participant, at, clip(turn.text, SHORT_TEXT), "plain")
        if plan is None:
            agrees = AGREES.match(turn.text)
            words, tone = ("agrees", "good") if agrees else (f"objects: {clip(turn.text, SHORT_TEXT)}", "notice")
            return _line(turn.participant, at, words, cast("Tone", tone))
        body = "\n".join(f"{name}: {_words(action)}" for name, action in plan.items()) or "all wait"
        told = f"proposes  {clip(said, SHORT_TEXT)}".rstrip()
        return _line(turn.participant, at, told, "plain", body)

    def _ended(self, actor: str, at: float, ended: TeamStepEnded) -> Line:
        spans: list[Span] = []
        for robot, code in ended.outcomes.items():
            done = code == "NONE"
            if spans:
                spans.append(Span(text="; "))
            mark: Tone = "good" if done else "bad"
            words = self._doing.get((ended.step, robot), f"its part of step {ended.step}")
            spans += [Span(text="✓ " if done else f"✗ {code} ", tone=mark), Span(text=f"{robot}: {words}")]
            if reason := ended.reasons.get(robot):
                spans.append(Span(text=f"  {clip(reason, SHORT_TEXT)}", tone="quiet"))
            if held := ended.holding.get(robot):
                spans.append(Span(text=f"  It still holds the {held}.", tone="notice"))
        return Line(actor=actor, at=at, spans=tuple(spans))


def _subtask_turn(at: float, turn: TeamTurn) -> Line | None:
    """Return what a group says that shares whole subtasks out, None for a turn of another team."""
    if CODE.search(turn.text):
        return _program_turn(at, turn)
    items = {name.strip(): text.strip() for name, text in ITEM.findall(turn.text)}
    if not items:
        return _line(turn.participant, at, "accepts its subtask", "good") if YES.search(turn.text) else None
    if "no" in items:
        return _line(turn.participant, at, f"refuses its subtask: {clip(items['no'], SHORT_TEXT)}", "notice")
    body = "\n".join(
        f"{name}: {', '.join(_words(part.strip()) for part in text.split(';'))}" for name, text in items.items()
    )
    return _line(turn.participant, at, "proposes subtasks", "plain", body)


def _program_turn(at: float, turn: TeamTurn) -> Line:
    """Return what a participant says whose team writes programs; these are shown when they are about to run."""
    if turn.participant == "supervisor":
        return _line(turn.participant, at, f"lets the {clip(turn.text, SHORT_TEXT)} speak", "quiet")
    said = CODE.sub("", turn.text).strip()
    programs = len(CODE.findall(turn.text))
    wrote = "" if not programs else "writes a program" if programs == 1 else f"writes {programs} programs"
    head = "  ".join(part for part in (clip(said, SHORT_TEXT), wrote) if part)
    return _line(turn.participant, at, head or "says nothing", "plain" if said else "quiet")


def _proposal(text: str) -> tuple[dict[str, str] | None, str]:
    """Return the plan at the end of what somebody said and the words before it; None when there is no plan."""
    start, end = text.find("{"), text.rfind("}")
    try:
        found: Any = json.loads(text[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return None, text
    if not isinstance(found, dict):
        return None, text
    plan = {str(name): str(action) for name, action in cast("dict[Any, Any]", found).items()}
    return plan, re.sub(r"\bEXECUTE\s*$", "", text[:start].strip()).strip()


def _words(action: str) -> str:
    """Return an action in words; an entry of a list of errands, or what a model made up, nearly as it is."""
    if move := MOVE.fullmatch(action):
        return f"{move[1]}, {move[2]} → {move[3]}"
    if parks := PARK.fullmatch(action):
        return f"parks in the {parks[1]}"
    return clip(_way(action), SHORT_TEXT)


def _way(way: str) -> str:
    return way.replace(" -> ", " → ")


def _line(actor: str, at: float, text: str, tone: Tone, body: str = "") -> Line:
    return Line(actor=actor, at=at, spans=(Span(text=" ".join(text.split())),), tone=tone, body=body)
