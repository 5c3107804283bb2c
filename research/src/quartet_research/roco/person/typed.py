"""A person who types in the terminal."""

import re
import signal
import threading
from collections.abc import Callable, Mapping

from quartet_benchmarks.errors import OptionError
from quartet_contracts.story import printable
from quartet_research.roco.person.people import View
from quartet_simulation.table_tasks.blocks import PERSON, ROBOT
from quartet_teams.roco import JointPlan, plan_text

LONGEST = 500
"""Characters of a line."""
EXPLAINED = (
    f"You are {PERSON}. If {ROBOT} is wrong about a block, say where it is, such as: strawberry_toy is in green_cup. "
    "Ctrl-C ends the run."
)
SHOWN = ("Plans that failed in execution", "Feedback", "Talk now")
"""Parts of the prompt that the person reads."""
_REFUSAL = re.compile(r"(?:n|no)\b[\s,.:;]*(.*)", re.IGNORECASE)


class InputEndedError(OptionError):
    """The input of a person who types has ended."""


def read_line(question: str) -> str:
    """Return the line that the person enters. Blocks; Ctrl-C raises KeyboardInterrupt at once.

    Raises InputEndedError.
    """
    main = threading.current_thread() is threading.main_thread()
    # An event loop takes Ctrl-C over, and would note it only after the line.
    before = signal.signal(signal.SIGINT, signal.default_int_handler) if main else None
    try:
        return input(question)
    except EOFError as error:
        raise InputEndedError(
            "person typed: the input has ended; type in a terminal, or choose the person correcting or imperfect"
        ) from error
    except UnicodeDecodeError as error:
        return error.object.decode(errors="replace").strip()
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


class Typed:
    """Shows what the person sees and what was said, and asks for a line.

    Args:
        read: returns a line, for a question.
        show: prints a text.
    """

    def __init__(self, read: Callable[[str], str] = read_line, show: Callable[[str], None] = print) -> None:
        self._read = read
        self._show = show
        show(EXPLAINED)

    def say(self, view: View, parts: Mapping[str, str]) -> str:
        """Return the person's line."""
        self._show("\nYou see:\n  " + "\n  ".join(view.sentences))
        if view.order:
            self._show(f"Order of the blocks in the bin: {', '.join(view.order)}")
        for heading in SHOWN:
            if (text := parts.get(heading, "none")) != "none":
                self._show(f"{heading}:\n{_clean(text)}")
        return self._line(f"Your words to {ROBOT} (Enter: nothing to add): ") or "I have nothing to add."

    def refuses(self, view: View, plan: JointPlan) -> str:
        """Return the person's reason, "" for Enter or yes."""
        self._show(f"\n{ROBOT} proposes:\n{_clean(plan_text(plan))}")
        while True:
            line = self._line("Execute it? Enter or yes; no refuses, and you may add why: ")
            if line.lower() in ("", "y", "yes"):
                return ""
            if refusal := _REFUSAL.fullmatch(line):
                return refusal[1] or "the person said no."
            self._show(f"'{line[:60]}' is neither yes nor no. Enter or yes executes the plan, no refuses it.")

    def _line(self, question: str) -> str:
        while True:
            line = self._read(question).strip()
            if len(line) > LONGEST:
                self._show(f"The line has {len(line)} characters; at most {LONGEST} are sent. Type a shorter one.")
            elif not line.isprintable() or "\ufffd" in line:
                self._show(f"{line[:60]!r} has characters that are not text. Type the line again without them.")
            else:
                return line


def _clean(text: str) -> str:
    """Return a text without characters that a terminal would obey."""
    return "\n".join(map(printable, text.splitlines()))
