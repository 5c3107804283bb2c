"""Prints journal events: decisions, what the robot does, results."""

import json
import sys
from typing import Protocol, TextIO

from rich.console import Console
from rich.markup import escape
from rich.status import Status
from rich.text import Text

from quartet_cli._words import is_quiet, skill_words, tool_words
from quartet_contracts import TERMINAL, JournalEvent, State, TaskStatus
from quartet_contracts.journal import (
    Answered,
    Asked,
    ModelTurn,
    Note,
    Observation,
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

SHORT_TEXT = 280
LONG_TEXT = 4000
ACTOR_COLUMN = 12
MIN_TEXT_WIDTH = 40
INDENT = ACTOR_COLUMN + 11
"""Where the text of a line begins, after time and actor."""


class Teller(Protocol):
    """Shows a task to whoever watches."""

    def begin(self, status: TaskStatus) -> None: ...
    def tell(self, event: JournalEvent) -> None: ...
    def say(self, text: str) -> None:
        """Something of the command itself."""
        ...

    def end(self, status: TaskStatus) -> None: ...


class JsonTeller:
    """One JSON object a line: every journal event, and the task's status at the end."""

    def __init__(self, output: TextIO = sys.stdout) -> None:
        self._output = output

    def begin(self, status: TaskStatus) -> None:
        self._write(status.model_dump_json())

    def tell(self, event: JournalEvent) -> None:
        self._write(event.model_dump_json())

    def say(self, text: str) -> None:
        print(text, file=sys.stderr)

    def end(self, status: TaskStatus) -> None:
        self._write(status.model_dump_json())

    def _write(self, line: str) -> None:
        print(line, file=self._output, flush=True)


class StoryTeller:
    """The readable story; on a terminal with a line that shows what the robot does at the moment."""

    def __init__(self, console: Console, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._calls: dict[str, ToolCalled] = {}
        self._progress: Status | None = None
        self._planned = False
        self._started_at = 0.0

    def begin(self, status: TaskStatus) -> None:
        self._started_at = status.task.created_at
        self._put(
            Text.assemble(
                ("Task ", "bold"),
                (status.task.task_id, "bold cyan"),
                (f" on {status.task.robot}: ", "bold"),
                status.task.sentence,
            )
        )
        if status.state == State.QUEUED:
            self._moving("orchestrator", "is busy with another task (quartet list)")

    def say(self, text: str) -> None:
        self._still()
        # Commands and paths are copied from here, so the terminal breaks the line, not we.
        self._console.print(Text(text, style="yellow"), soft_wrap=True)

    def end(self, status: TaskStatus) -> None:
        self._still()
        seconds = max(0.0, status.updated_at - status.task.created_at)
        done = status.state == State.SUCCEEDED
        words = {
            State.SUCCEEDED: "Done",
            State.FAILED: "Not done",
            State.CANCELED: "Canceled",
            State.REJECTED: "Rejected",
        }.get(status.state, status.state.value)
        self._put(Text.assemble((f"{words} ", "bold green" if done else "bold red"), f"after {seconds:.1f} s"))
        if status.report is not None:
            self._put(Text(f"  {status.report.summary}"), indent=2)
            for one in status.report.objects:
                mark, style = ("✓", "green") if one.completed else ("✗", "red")
                target = f" → {one.target}" if one.target else ""
                why = "" if one.completed else f"  {one.error_code}"
                if why and one.reason not in status.report.summary:
                    why += f" {one.reason}"
                self._put(Text.assemble(("  " + mark, style), f" {one.object_name}{target}{why}"), indent=4)

    def tell(self, event: JournalEvent) -> None:
        actor, what = event.actor, event.event
        match what:
            case ToolCalled():
                self._calls[what.call_id] = what
                if not self._is_skill(what.tool):
                    self._moving(actor, tool_words(what.tool, what.arguments), at=event.at)
            case ToolProgress():
                self._tell_progress(actor, what)
            case ToolReturned():
                self._tell_result(actor, what, event.at)
            case ModelTurn():
                self._tell_turn(actor, what, event.at)
            case SkillRequested():
                again = f" (attempt {what.attempt})" if what.attempt > 1 else ""
                words = skill_words(what.skill, what.arguments) + again
                self._line(actor, f"→ {what.skill}: {words}", "bold", event.at)
                self._moving(what.skill, "waits for the agent", at=event.at)
            case SkillStarted():
                if self._verbose:
                    self._line(actor, f"taken by {what.replica}", "dim", event.at)
            case SkillFinished():
                self._tell_skill_result(what, event.at)
            case SkillSettled():
                hand = f", the gripper is {what.grasp}" + (f" ({what.in_hand})" if what.in_hand else "")
                self._line(actor, f"looks at how {what.skill} was left{hand if what.grasp else ''}", "yellow", event.at)
            case TakenOver():
                self._line(actor, "goes on with the task where its journal ends", "yellow", event.at)
            case Verified():
                if self._verbose or what.claimed != what.settled:
                    text = f"checked: claimed {what.claimed}, settled {what.settled}. {what.note}"
                    self._line(actor, text, "" if what.claimed == what.settled else "yellow", event.at)
            case Asked():
                self._line(actor, f"asks: {what.text}", "bold magenta", event.at)
            case Answered():
                self._line(actor, f"is told: {what.text}", "magenta", event.at)
            case Note():
                self._line(actor, what.text, "yellow", event.at)
            case StateChanged():
                if self._verbose or (what.reason and what.state not in TERMINAL):
                    self._line(actor, f"{what.state}: {what.reason}".rstrip(": "), "dim", event.at)
            case Observation():
                if self._verbose:
                    self._line(
                        actor, f"pictures of {', '.join(what.images) or 'nothing'}: {what.label}", "dim", event.at
                    )
            case Reported():
                if self._verbose:
                    self._line(actor, f"reports: {what.report.summary}", "dim", event.at)

    def _tell_turn(self, actor: str, turn: ModelTurn, at: float) -> None:
        if turn.text and actor == "orchestrator" and not self._planned:
            self._planned = True
            self._line(actor, "plan", "bold", at)
            for line in turn.text.strip().splitlines():
                self._put(Text(" " * INDENT + line.rstrip()), indent=INDENT)
        elif turn.text and (self._verbose or actor == "orchestrator"):
            self._line(actor, _clip(turn.text, LONG_TEXT if self._verbose else SHORT_TEXT), "dim", at)
        if self._verbose:
            used = turn.usage
            tokens = f"{used.prompt_tokens}+{used.completion_tokens} tokens"
            self._line(
                actor, f"turn {turn.turn} ({turn.model}, {tokens}): {', '.join(turn.tools) or 'no tool'}", "dim", at
            )
        self._moving(actor, "thinks", at=at)

    def _tell_progress(self, actor: str, what: ToolProgress) -> None:
        call = self._calls.get(what.call_id)
        words = tool_words(what.tool, call.arguments) if call else what.tool
        share = f" {what.fraction:.0%}" if what.fraction is not None else ""
        self._moving(actor, f"{words}{share} {what.message}".rstrip())

    def _tell_result(self, actor: str, what: ToolReturned, at: float) -> None:
        call = self._calls.pop(what.call_id, None)
        if self._is_skill(what.tool) and what.ok and not self._verbose:
            return
        arguments = call.arguments if call else {}
        if what.ok and is_quiet(what.tool) and not self._verbose:
            return
        if self._is_skill(what.tool) and actor == "orchestrator" and not self._verbose:
            # The skill's own result has told it already.
            return
        words = tool_words(what.tool, arguments)
        ending = f"✓ {what.duration_s:.1f} s" if what.ok else f"✗ {what.error_code}"
        text = Text.assemble(f"{words}  ", (ending, "green" if what.ok else "red"))
        if not what.ok or self._verbose:
            said = _clip(what.text, LONG_TEXT) if self._verbose else _clip(_message(what.text), SHORT_TEXT)
            text.append(f"  {said}", style="dim")
        if self._verbose and call is not None:
            text.append(f"\n{' ' * INDENT}{what.tool} {arguments}", style="dim")
        self._line(actor, text, "", at)

    def _tell_skill_result(self, what: SkillFinished, at: float) -> None:
        mark, style = ("✓", "green") if what.success else ("✗", "red")
        code = "" if what.success else f"{what.error_code}: "
        text = Text.assemble((f"{mark} ", style), (code, style), _clip(what.reason, SHORT_TEXT))
        self._line(what.skill, text, "bold", at)

    @staticmethod
    def _is_skill(tool: str) -> bool:
        return tool in {"approach", "pick", "place"} or tool.startswith("report_")

    def _line(self, actor: str, text: str | Text, style: str, at: float) -> None:
        body = text if isinstance(text, Text) else Text(" ".join(text.split()))
        if style:
            body.stylize(style)
        since = max(0.0, at - self._started_at)
        self._put(Text.assemble((f"{since:7.1f} s ", "dim"), (f"{actor:<{ACTOR_COLUMN}} ", "cyan"), body), INDENT)

    def _put(self, text: Text, indent: int = 0) -> None:
        """On a terminal long lines go on below their own text; elsewhere a line stays a line."""
        if self._console.is_terminal and self._console.width - indent >= MIN_TEXT_WIDTH:
            text = _folded(text, self._console, indent)
        self._console.print(text, soft_wrap=True)

    def _moving(self, actor: str, words: str, at: float | None = None) -> None:
        """Show on the progress line what happens now; without a terminal nothing is shown."""
        if not self._console.is_terminal:
            return
        text = f"[cyan]{escape(actor)}[/cyan] {escape(words)}"
        if self._progress is None:
            self._progress = self._console.status(text)
            self._progress.start()
        else:
            self._progress.update(text)

    def _still(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def _folded(text: Text, console: Console, indent: int) -> Text:
    """`text` broken between words, its further lines indented."""
    lines: list[Text] = []
    for line in text.split("\n"):
        head, body = line.divide([indent]) if len(line) > indent else (line, Text())
        first, *others = body.wrap(console, console.width - indent) or [Text()]
        lines.append(Text.assemble(head, first))
        lines += [Text.assemble(" " * indent, other) for other in others]
    for line in lines:
        line.rstrip()
    return Text("\n").join(lines)


def _message(result: str) -> str:
    """What a tool's result says to a person; the result itself where it has no message of its own."""
    try:
        fields = json.loads(result)
    except ValueError:
        return result
    message = fields.get("message") if isinstance(fields, dict) else None
    return message if isinstance(message, str) and message else result


def _clip(text: str, limit: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"
