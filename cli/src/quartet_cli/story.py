"""Renders the events of a task: as a story for a person, or as JSON for a program."""

import sys
from typing import Protocol, TextIO

from rich.console import Console
from rich.status import Status
from rich.text import Text

from quartet_contracts import STATE_WORDS, JournalEvent, State, TaskCode, TaskStatus
from quartet_contracts.story import Line, Narrator, Tone, printable

STYLES: dict[Tone, str] = {
    "plain": "",
    "strong": "bold",
    "quiet": "dim",
    "good": "green",
    "bad": "red",
    "notice": "yellow",
    "question": "bold magenta",
    "answer": "magenta",
}
NAMED = {TaskCode.STOPPED, TaskCode.AMBIGUOUS, TaskCode.NOT_UNDERSTOOD}
"""Codes of tasks that are shown beside the state."""
ACTOR_COLUMN = 12
INDENT = ACTOR_COLUMN + 11
"""Where the text of a line begins, after time and actor."""
MIN_TEXT_WIDTH = 40
"""On a terminal that leaves less for the text, time and actor have no columns of their own."""
NARROW_INDENT = 2
MIN_FOLD_WIDTH = 20
"""On a terminal that leaves less for the text, the terminal breaks the lines."""


class EventRenderer(Protocol):
    """Shows a task to whoever watches it."""

    def begin(self, status: TaskStatus) -> None:
        """Show the task before its first event."""
        ...

    def render(self, event: JournalEvent) -> None:
        """Show one event of the journal."""
        ...

    def notice(self, text: str) -> None:
        """Show a text of the command itself, which is no part of the journal."""
        ...

    def end(self, status: TaskStatus) -> None:
        """Show how the task ended."""
        ...


class JsonRenderer:
    """One JSON object a line: the task's status, every journal event, and the status at the end."""

    def __init__(self, output: TextIO | None = None) -> None:
        self._output = output or sys.stdout

    def begin(self, status: TaskStatus) -> None:
        """Write the task's status."""
        self._write(status.model_dump_json())

    def render(self, event: JournalEvent) -> None:
        """Write one event."""
        self._write(event.model_dump_json())

    def notice(self, text: str) -> None:
        """Write to stderr, so that stdout stays JSON."""
        print(printable(text), file=sys.stderr)

    def end(self, status: TaskStatus) -> None:
        """Write the task's last status."""
        self._write(status.model_dump_json())

    def _write(self, line: str) -> None:
        print(line, file=self._output, flush=True)


class StoryRenderer:
    """A readable story; on a terminal with a progress line that shows what the robot does at the moment."""

    def __init__(self, console: Console, verbose: bool = False) -> None:
        self._console = console
        self._narrator = Narrator(verbose)
        self._progress: Status | None = None
        self._started_at = 0.0

    def begin(self, status: TaskStatus) -> None:
        """Print task, robot and sentence."""
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
            self._show_progress("orchestrator", "has the task in its queue (quartet list)")

    def notice(self, text: str) -> None:
        """Print a text of the command itself."""
        self._end_progress()
        # People copy commands and paths from here: the terminal breaks the line, this program does not.
        self._console.print(Text(text, style="yellow"), soft_wrap=True)

    def end(self, status: TaskStatus) -> None:
        """Print how the task ended, and its report."""
        self._end_progress()
        seconds = max(0.0, status.updated_at - status.task.created_at)
        done = status.state == State.SUCCEEDED
        words = STATE_WORDS[status.state]
        if status.report is not None and status.report.error_code in NAMED:
            words += f" ({status.report.error_code})"
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

    def render(self, event: JournalEvent) -> None:
        """Print the lines that tell of one event."""
        told = self._narrator.tell(event)
        for line in told.lines:
            self._line(line)
        if told.now is not None:
            self._show_progress(told.now.actor, told.now.text)

    def _line(self, line: Line) -> None:
        body = Text.assemble(*((span.text, STYLES[span.tone]) for span in line.spans))
        if style := STYLES[line.tone]:
            body.stylize(style)
        since, indent = max(0.0, line.at - self._started_at), self._indent()
        head = (
            (f"{since:7.1f} s ", f"{line.actor:<{ACTOR_COLUMN}} ")
            if indent == INDENT
            else (f"{since:.1f} s ", f"{line.actor} ")
        )
        self._put(Text.assemble((head[0], "dim"), (head[1], "cyan"), body), indent)
        for below in line.body.splitlines():
            self._put(Text(" " * indent).append(below.rstrip(), STYLES[line.body_tone]), indent)

    def _indent(self) -> int:
        narrow = self._console.is_terminal and self._console.width - INDENT < MIN_TEXT_WIDTH
        return NARROW_INDENT if narrow else INDENT

    def _put(self, text: Text, indent: int = 0) -> None:
        """Print `text`; on a terminal long lines go on below their own beginning, elsewhere a line stays a line."""
        if self._console.is_terminal and self._console.width - indent >= MIN_FOLD_WIDTH:
            text = _folded(text, self._console, indent)
        self._console.print(text, soft_wrap=True)

    def _show_progress(self, actor: str, words: str) -> None:
        """Show on the progress line what happens now; without a terminal show nothing."""
        if not self._console.is_terminal:
            return
        text = Text.assemble((actor, "cyan"), f" {words}")
        if self._progress is None:
            self._progress = self._console.status(text)
            self._progress.start()
        else:
            self._progress.update(text)

    def _end_progress(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def _folded(text: Text, console: Console, indent: int) -> Text:
    """Return `text` broken between words, its further lines indented."""
    lines: list[Text] = []
    for line in text.split("\n"):
        head, body = line.divide([indent]) if len(line) > indent else (line, Text())
        first, *others = body.wrap(console, console.width - indent) or [Text()]
        lines.append(Text.assemble(head, first))
        lines += [Text.assemble(" " * indent, other) for other in others]
    for line in lines:
        line.rstrip()
    return Text("\n").join(lines)
