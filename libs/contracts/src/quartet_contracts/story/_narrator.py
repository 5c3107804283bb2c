"""Journal events as lines of text: decisions, motions, results."""

import json
import re
from typing import Any, cast

from quartet_contracts._choices import number_choices
from quartet_contracts._states import TERMINAL
from quartet_contracts.journal import (
    Answered,
    Asked,
    JournalEvent,
    ModelTurn,
    Note,
    Observation,
    Ordered,
    Reported,
    RobotLeft,
    SkillFinished,
    SkillRequested,
    SkillSettled,
    SkillStarted,
    StateChanged,
    TakenOver,
    TeamErrands,
    TeamProgram,
    TeamStep,
    TeamStepEnded,
    TeamSubtasks,
    TeamTurn,
    ToolCalled,
    ToolProgress,
    ToolReturned,
    Verified,
)
from quartet_contracts.story._aims import ArmAims
from quartet_contracts.story._lines import SHORT_TEXT, Line, Shown, Span, Tone, clip, flatten
from quartet_contracts.story._team import TeamWords
from quartet_contracts.story._words import drive_words, id_of, is_quiet, skill_words, tool_words

LONG_TEXT = 4000

SEARCHES = frozenset({"detect_objects", "segment_objects"})
OBJECT_ID = re.compile(r"(?:\b(?:an |the )?object )?[`'\"]?\b(obj_[0-9a-f]+)\b[`'\"]?")
TABLE = re.compile(r"^\s*\|.+\|\s*\n\s*\|[\s:|-]+\|\s*$", re.MULTILINE)
"""Head and rule of a Markdown table, as a plan has."""
SCRIPTED = "scripted"
SCRIPTED_WORDS = (
    "the scripted model decides: a fixed policy for simple sentences, no LLM; how to use an LLM: docs/models.md "
    "(QUARTET_MODEL in .env)"
)


class Now(Shown):
    """Current activity of an actor."""

    actor: str
    text: str


class Narration(Shown):
    """Rendering of one event: lines, and the activity that it begins."""

    lines: tuple[Line, ...] = ()
    now: Now | None = None


class Narrator:
    """Renders the journal of one task. It needs every event from the first: a result is described by its call."""

    def __init__(self, verbose: bool = False) -> None:
        self._verbose = verbose
        self._calls: dict[tuple[str, str | None, str], ToolCalled] = {}
        self._planned = False
        self._scripted_told = False
        self._names: dict[str, str] = {}
        """What a camera called each object, by its id."""
        self._aims = ArmAims()
        self._team = TeamWords(verbose=verbose)
        self._approaches: dict[str | None, dict[str, Any]] = {}
        """Arguments of the approaches, by request id."""
        self._seen: set[str | None] = set()
        """Requests in which a camera has found what it looked for."""
        self._told: dict[str | None, str] = {}
        """The message of the tool call of each request that failed last, where the story has shown it whole."""

    def tell(self, event: JournalEvent) -> Narration:
        """Return the lines and the activity for `event`, the next one of the journal."""
        told = self._tell(event)
        # A question and a program are shown as they are, since a person answers yes to exactly that.
        as_it_is = isinstance(event.event, Asked | TeamTurn) or (
            isinstance(event.event, SkillRequested) and event.event.skill == "executor"
        )
        return told if self._verbose or as_it_is else self._without_ids(told)

    def _without_ids(self, told: Narration) -> Narration:
        """Return `told` with the words of a camera, or "an object", in the place of each object's id."""
        lines = tuple(
            line.model_copy(
                update={
                    "spans": tuple(span.model_copy(update={"text": self._named(span.text)}) for span in line.spans),
                    "body": self._named(line.body),
                }
            )
            for line in told.lines
        )
        now = told.now and told.now.model_copy(update={"text": self._named(told.now.text)})
        return told.model_copy(update={"lines": lines, "now": now})

    def _tell(self, event: JournalEvent) -> Narration:
        what, actor, at = event.event, event.actor, event.at
        match what:
            case ToolCalled():
                return self._called(event, what)
            case ToolProgress():
                return Narration(now=Now(actor=actor, text=self._progress(event, what)))
            case ToolReturned():
                return self._returned(event, what)
            case ModelTurn():
                return self._turn(event, what)
            case SkillRequested():
                return self._requested(event, what)
            case SkillFinished():
                return _finished(what, at, self._told.pop(what.request_id, ""))
            case (
                TeamErrands() | TeamTurn() | TeamProgram() | TeamSubtasks() | TeamStep() | TeamStepEnded() | RobotLeft()
            ):
                return Narration(lines=(self._team.tell(actor, at, what),))
            case SkillStarted() | Ordered() | Observation() | Reported():
                return Narration(lines=(_line(event, _detail(what), "quiet"),)) if self._verbose else Narration()
            case _:
                text, tone, detail = _words(what)
                return Narration(lines=(_line(event, text, tone),)) if self._verbose or not detail else Narration()

    def _requested(self, event: JournalEvent, what: SkillRequested) -> Narration:
        if what.skill == "executor":
            return _program(event, what)
        if what.skill == "approach":
            self._approaches[what.request_id] = what.arguments
        again = f" (attempt {what.attempt})" if what.attempt > 1 else ""
        text = f"→ {what.skill}: {skill_words(what.skill, what.arguments)}{again}"
        now = Now(actor=what.skill, text="waits for the agent")
        return Narration(lines=(_line(event, text, "strong"),), now=now)

    def _called(self, event: JournalEvent, what: ToolCalled) -> Narration:
        self._calls[_key(event, what)] = what
        if _is_skill(what.tool):
            return Narration()
        return Narration(now=Now(actor=event.actor, text=self._tool_words(event, what.tool, what.arguments)))

    def _turn(self, event: JournalEvent, turn: ModelTurn) -> Narration:
        actor, at = event.actor, event.at
        lines: list[Line] = []
        if not self._scripted_told and turn.model.rpartition("/")[2] == SCRIPTED:
            self._scripted_told = True
            lines.append(Line(actor=actor, at=at, spans=(Span(text=SCRIPTED_WORDS),), tone="notice"))
        if turn.text and actor == "orchestrator" and (not self._planned or TABLE.search(turn.text)):
            title = Span(text="new plan" if self._planned else "plan")
            self._planned = True
            lines.append(Line(actor=actor, at=at, spans=(title,), tone="strong", body=turn.text.strip()))
        elif turn.text and (self._verbose or actor == "orchestrator"):
            text = clip(turn.text, LONG_TEXT if self._verbose else SHORT_TEXT)
            lines.append(Line(actor=actor, at=at, spans=(Span(text=text),), tone="quiet"))
        if self._verbose:
            tokens = f"{turn.usage.prompt_tokens}+{turn.usage.completion_tokens} tokens"
            text = f"turn {turn.turn} ({turn.model}, {tokens}): {', '.join(turn.tools) or 'no tool'}"
            lines.append(Line(actor=actor, at=at, spans=(Span(text=text),), tone="quiet"))
        return Narration(lines=tuple(lines), now=Now(actor=actor, text="thinks"))

    def _progress(self, event: JournalEvent, what: ToolProgress) -> str:
        call = self._calls.get(_key(event, what))
        words = self._tool_words(event, what.tool, call.arguments) if call else what.tool
        share = f" {what.fraction:.0%}" if what.fraction is not None else ""
        return f"{words}{share} {what.message}".rstrip()

    def _returned(self, event: JournalEvent, what: ToolReturned) -> Narration:
        call = self._calls.pop(_key(event, what), None)
        found = _found(what)
        self._names.update((one["object_id"], one["label"]) for one in found or [] if _is_named(one))
        words = self._tool_words(event, what.tool, call.arguments if call else {})
        if what.ok:
            self._aims.hear(event.request_id, what.tool, self._thing(call.arguments if call else {}), what.text)
        # The result of the skill has been rendered before.
        rendered = _is_skill(what.tool) and (what.ok or event.actor == "orchestrator")
        if not self._verbose and (rendered or (what.ok and is_quiet(what.tool))):
            return Narration()
        ending, tone = (f"✓ {what.duration_s:.1f} s", "good") if what.ok else (f"✗ {what.error_code}", "bad")
        if found:
            self._seen.add(event.request_id)
        if found == []:
            ending, tone = f"not seen  {what.duration_s:.1f} s", "notice"
        spans = [Span(text=f"{words}  "), Span(text=ending, tone=cast("Tone", tone))]
        if not what.ok:
            message = flatten(_message(what.text))
            self._told[event.request_id] = message if len(message) <= SHORT_TEXT else ""
        if not what.ok or self._verbose:
            said = clip(what.text, LONG_TEXT) if self._verbose else clip(_message(what.text), SHORT_TEXT)
            spans.append(Span(text=f"  {said}", tone="quiet"))
        body = f"{what.tool} {call.arguments}" if self._verbose and call is not None else ""
        one = Line(actor=event.actor, at=event.at, spans=tuple(spans), body=body, body_tone="quiet")
        return Narration(lines=(one,))

    def _tool_words(self, event: JournalEvent, tool: str, arguments: dict[str, Any]) -> str:
        """A call in words: a drive by its goal, an object by what a camera called it in the place of its id."""
        approach = self._approaches.get(event.request_id)
        if approach is not None and tool.rpartition("__")[2] == "navigate_to_pose":
            return drive_words(approach, seen=event.request_id in self._seen)
        words = self._aims.words(event.request_id, tool, arguments) or tool_words(tool, arguments)
        return self._named(words)

    def _named(self, text: str) -> str:
        return OBJECT_ID.sub(lambda found: self._name_of(found[1]), text)

    def _thing(self, arguments: dict[str, Any]) -> str:
        object_id, name = id_of(arguments), arguments.get("object_name")
        return self._name_of(object_id) if isinstance(object_id, str) else f"'{name}'" if name else "it"

    def _name_of(self, object_id: str) -> str:
        return f"'{flatten(self._names[object_id])}'" if object_id in self._names else "an object"


def _found(what: ToolReturned) -> list[Any] | None:
    """Return what a camera has found, [] for a look that found nothing; None for any other result."""
    if not what.ok or what.tool.rpartition("__")[2] not in SEARCHES:
        return None
    try:
        fields: Any = json.loads(what.text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    given = cast("dict[str, Any]", fields)
    found = given.get("detections", given.get("outputs"))
    return cast("list[Any]", found) if isinstance(found, list) else None


def _is_named(one: Any) -> bool:
    return isinstance(one, dict) and all(
        isinstance(cast("dict[str, Any]", one).get(key), str) for key in ("object_id", "label")
    )


def _line(event: JournalEvent, text: str, tone: Tone) -> Line:
    return Line(actor=event.actor, at=event.at, spans=(Span(text=flatten(text)),), tone=tone)


def _detail(what: SkillStarted | Ordered | Observation | Reported) -> str:
    """Return the text of an event that is shown only with --verbose."""
    match what:
        case SkillStarted():
            return f"taken by {what.replica}"
        case Ordered():
            return f"{what.by} orders: {what.order}"
        case Observation():
            return f"pictures of {', '.join(what.images) or 'nothing'}: {what.label}"
        case Reported():
            return f"reports: {what.report.summary}"


def _words(
    what: SkillSettled | TakenOver | Verified | Asked | Answered | Note | StateChanged,
) -> tuple[str, Tone, bool]:
    """Return text and tone of an event, and whether it is shown only with --verbose."""
    match what:
        case SkillSettled():
            hand = f", the gripper is {what.grasp}" + (f" ({what.in_hand})" if what.in_hand else "")
            return f"looks at how {what.skill} was left{hand if what.grasp else ''}", "notice", False
        case TakenOver():
            return "goes on with the task where its journal ends", "notice", False
        case Verified():
            same = what.claimed == what.settled
            return _check_words(what), "plain" if same else "notice", same
        case Asked():
            return f"asks: {what.text}  {number_choices(what.choices)}".rstrip(), "question", False
        case Answered():
            return f"is told: {what.text}", "answer", False
        case Note():
            return what.text, "notice", False
        case StateChanged():
            ended_or_silent = not what.reason or what.state in TERMINAL
            return f"{what.state}: {what.reason}".rstrip(": "), "quiet", ended_or_silent


def _check_words(what: Verified) -> str:
    """Return what the check in code made of a model's report; error code NONE means done."""
    if what.claimed == what.settled:
        text = "the check agrees with the report"
    elif what.claimed == "NONE":
        text = f"reported as done, but the check does not confirm it ({what.settled})"
    elif what.settled == "NONE":
        text = f"reported as {what.claimed}, but the check finds it done"
    else:
        text = f"reported as {what.claimed}, the check finds {what.settled}"
    return f"{text}: {what.note}" if what.note else text


def _key(event: JournalEvent, what: ToolCalled | ToolProgress | ToolReturned) -> tuple[str, str | None, str]:
    """Return the key of a call; call ids are unique within one loop only."""
    return event.actor, event.request_id, what.call_id


def _program(event: JournalEvent, what: SkillRequested) -> Narration:
    """Return a program that is about to run, as it will run."""
    code = str(what.arguments.get("code", ""))
    text = f"→ {what.skill}: " + ("run this program" if code else "look at what the arm has before it")
    line = Line(actor=event.actor, at=event.at, spans=(Span(text=text),), tone="strong", body=code.strip("\n"))
    return Narration(lines=(line,), now=Now(actor=what.skill, text="waits for the executor"))


def _finished(what: SkillFinished, at: float, told: str) -> Narration:
    """Return the result of a skill; `told`: a message that the line of a tool call has just shown."""
    reason = clip(what.reason, LONG_TEXT)
    if told:
        reason = reason.replace(f": {told}", "")
    mark, tone = ("✓", "good") if what.success else ("✗", "bad")
    spans = [Span(text=f"{mark} ", tone=cast("Tone", tone))]
    if not what.success:
        spans.append(Span(text=f"{what.error_code}: ", tone="bad"))
    spans.append(Span(text=clip(reason, SHORT_TEXT)))
    return Narration(lines=(Line(actor=what.skill, at=at, spans=tuple(spans), tone="strong"),))


def _is_skill(tool: str) -> bool:
    return tool in {"approach", "pick", "place"} or tool.startswith("report_")


def _message(result: str) -> str:
    """Return the message of a tool's result, or the whole result where it has none.

    Only its first line is for people: the others say what a model should do.
    """
    try:
        fields: Any = json.loads(result)
    except (ValueError, RecursionError):
        return result
    message: Any = cast("dict[str, Any]", fields).get("message") if isinstance(fields, dict) else None
    return message.partition("\n")[0] if isinstance(message, str) and message else result
