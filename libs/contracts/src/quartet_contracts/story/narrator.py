"""Journal events as lines: decisions, what the robot does, results."""

import json
from typing import Any, cast

from quartet_contracts.journal import (
    Answered,
    Asked,
    JournalEvent,
    ModelTurn,
    Note,
    Observation,
    Ordered,
    Reported,
    SkillFinished,
    SkillRequested,
    SkillSettled,
    SkillStarted,
    StateChanged,
    TakenOver,
    ToolCalled,
    ToolProgress,
    ToolReturned,
    Verified,
)
from quartet_contracts.states import TERMINAL
from quartet_contracts.story.lines import Line, Now, Span, Told, Tone
from quartet_contracts.story.words import is_quiet, skill_words, tool_words

SHORT_TEXT = 280
LONG_TEXT = 4000


class Narrator:
    """Tells one task. It has to hear the journal from its beginning: a result is told with the words of its call."""

    def __init__(self, verbose: bool = False) -> None:
        self._verbose = verbose
        self._calls: dict[tuple[str, str | None, str], ToolCalled] = {}
        self._planned = False

    def tell(self, event: JournalEvent) -> Told:
        what, actor, at = event.event, event.actor, event.at

        def line(text: str, tone: Tone = "plain", *, of: str = actor) -> Told:
            return Told(lines=(Line(actor=of, at=at, spans=(Span(text=_flat(text)),), tone=tone),))

        match what:
            case ToolCalled():
                self._calls[_key(event, what)] = what
                if _is_skill(what.tool):
                    return Told()
                return Told(now=Now(actor=actor, text=tool_words(what.tool, what.arguments)))
            case ToolProgress():
                return Told(now=Now(actor=actor, text=self._progress(event, what)))
            case ToolReturned():
                return self._returned(event, what)
            case ModelTurn():
                return self._turn(event, what)
            case SkillRequested():
                again = f" (attempt {what.attempt})" if what.attempt > 1 else ""
                told = line(f"→ {what.skill}: {skill_words(what.skill, what.arguments)}{again}", "strong")
                return Told(lines=told.lines, now=Now(actor=what.skill, text="waits for the agent"))
            case SkillStarted():
                return line(f"taken by {what.replica}", "quiet") if self._verbose else Told()
            case SkillFinished():
                return _finished(what, at)
            case SkillSettled():
                hand = f", the gripper is {what.grasp}" + (f" ({what.in_hand})" if what.in_hand else "")
                return line(f"looks at how {what.skill} was left{hand if what.grasp else ''}", "notice")
            case TakenOver():
                return line("goes on with the task where its journal ends", "notice")
            case Verified():
                same = what.claimed == what.settled
                text = f"checked: claimed {what.claimed}, settled {what.settled}. {what.note}"
                return line(text, "plain" if same else "notice") if self._verbose or not same else Told()
            case Asked():
                return line(f"asks: {what.text}", "question")
            case Answered():
                return line(f"is told: {what.text}", "answer")
            case Ordered():
                return line(f"{what.by} orders: {what.order}", "quiet") if self._verbose else Told()
            case Note():
                return line(what.text, "notice")
            case StateChanged():
                worth = what.reason and what.state not in TERMINAL
                text = f"{what.state}: {what.reason}".rstrip(": ")
                return line(text, "quiet") if self._verbose or worth else Told()
            case Observation():
                text = f"pictures of {', '.join(what.images) or 'nothing'}: {what.label}"
                return line(text, "quiet") if self._verbose else Told()
            case Reported():
                return line(f"reports: {what.report.summary}", "quiet") if self._verbose else Told()

    def _turn(self, event: JournalEvent, turn: ModelTurn) -> Told:
        actor, at = event.actor, event.at
        lines: list[Line] = []
        if turn.text and actor == "orchestrator" and not self._planned:
            self._planned = True
            lines.append(Line(actor=actor, at=at, spans=(Span(text="plan"),), tone="strong", body=turn.text.strip()))
        elif turn.text and (self._verbose or actor == "orchestrator"):
            text = _clip(turn.text, LONG_TEXT if self._verbose else SHORT_TEXT)
            lines.append(Line(actor=actor, at=at, spans=(Span(text=text),), tone="quiet"))
        if self._verbose:
            tokens = f"{turn.usage.prompt_tokens}+{turn.usage.completion_tokens} tokens"
            text = f"turn {turn.turn} ({turn.model}, {tokens}): {', '.join(turn.tools) or 'no tool'}"
            lines.append(Line(actor=actor, at=at, spans=(Span(text=text),), tone="quiet"))
        return Told(lines=tuple(lines), now=Now(actor=actor, text="thinks"))

    def _progress(self, event: JournalEvent, what: ToolProgress) -> str:
        call = self._calls.get(_key(event, what))
        words = tool_words(what.tool, call.arguments) if call else what.tool
        share = f" {what.fraction:.0%}" if what.fraction is not None else ""
        return f"{words}{share} {what.message}".rstrip()

    def _returned(self, event: JournalEvent, what: ToolReturned) -> Told:
        call = self._calls.pop(_key(event, what), None)
        # A skill's own result has told it already.
        told_already = _is_skill(what.tool) and (what.ok or event.actor == "orchestrator")
        if not self._verbose and (told_already or (what.ok and is_quiet(what.tool))):
            return Told()
        ending = f"✓ {what.duration_s:.1f} s" if what.ok else f"✗ {what.error_code}"
        spans = [
            Span(text=f"{tool_words(what.tool, call.arguments if call else {})}  "),
            Span(text=ending, tone="good" if what.ok else "bad"),
        ]
        if not what.ok or self._verbose:
            said = _clip(what.text, LONG_TEXT) if self._verbose else _clip(_message(what.text), SHORT_TEXT)
            spans.append(Span(text=f"  {said}", tone="quiet"))
        body = f"{what.tool} {call.arguments}" if self._verbose and call is not None else ""
        one = Line(actor=event.actor, at=event.at, spans=tuple(spans), body=body, body_tone="quiet")
        return Told(lines=(one,))


def _key(event: JournalEvent, what: ToolCalled | ToolProgress | ToolReturned) -> tuple[str, str | None, str]:
    """Call ids are unique within one loop only."""
    return event.actor, event.request_id, what.call_id


def _finished(what: SkillFinished, at: float) -> Told:
    mark, tone = ("✓", "good") if what.success else ("✗", "bad")
    spans = [Span(text=f"{mark} ", tone=cast("Tone", tone))]
    if not what.success:
        spans.append(Span(text=f"{what.error_code}: ", tone="bad"))
    spans.append(Span(text=_clip(what.reason, SHORT_TEXT)))
    return Told(lines=(Line(actor=what.skill, at=at, spans=tuple(spans), tone="strong"),))


def _is_skill(tool: str) -> bool:
    return tool in {"approach", "pick", "place"} or tool.startswith("report_")


def _message(result: str) -> str:
    """What a tool's result says to a person; the result itself where it has no message of its own."""
    try:
        fields: Any = json.loads(result)
    except (ValueError, RecursionError):
        return result
    message: Any = cast("dict[str, Any]", fields).get("message") if isinstance(fields, dict) else None
    return message if isinstance(message, str) and message else result


def _clip(text: str, limit: int) -> str:
    flat = _flat(text)
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def _flat(text: str) -> str:
    return " ".join(text.split())
