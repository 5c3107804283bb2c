"""A person who types in the terminal."""

import re
import signal
import threading
from collections.abc import Mapping

from quartet_benchmarks.errors import OptionError
from quartet_contracts.story import printable
from quartet_simulation.table_tasks.blocks import PERSON, ROBOT, where
from quartet_teams.roco import JointPlan, plan_text

LONGEST = 500
"""Characters of a line."""
_SHOWN = ("Task", "Plans that failed in execution", "Feedback", "Talk now")
_REFUSAL = re.compile(r"(?:n|no)\b[\s,.:;]*(.*)", re.IGNORECASE)


class InputEndedError(OptionError):
    """The input of a person who types has ended."""


class Typed:
    """Shows what the person sees and what was said, and asks for a line. Ctrl-C raises KeyboardInterrupt."""

    def say(self, places: Mapping[str, str], parts: Mapping[str, str]) -> str:
        """Return the person's line. Raises InputEndedError."""
        for heading in _SHOWN:
            if (text := parts.get(heading, "none")) != "none":
                _show(f"\n{heading}: {text}")
        _show("\nYou see: " + " ".join(where(*item) for item in places.items()))
        hint = f"You are {PERSON}. Correct {ROBOT}, such as: strawberry_toy is in green_cup. Or press Enter: "
        return _read_line(hint) or "I have nothing to add."

    def refuses(self, places: Mapping[str, str], plan: JointPlan) -> str:
        """Return the person's reason, "" for Enter or yes. Raises InputEndedError."""
        _show(f"\n{ROBOT} proposes:\n{plan_text(plan)}")
        while True:
            line = _read_line("Execute it? Enter or yes; or no, and why: ")
            if line.lower() in ("", "y", "yes"):
                return ""
            if refusal := _REFUSAL.fullmatch(line):
                return refusal[1] or "the person said no."
            _show(f"'{line[:60]}' is neither yes nor no. Enter or yes executes the plan, no refuses it.")


def _read_line(question: str) -> str:
    while True:
        line = _read(question).strip()
        if len(line) > LONGEST:
            _show(f"The line has {len(line)} characters; at most {LONGEST} are sent. Type a shorter one.")
        elif not line.isprintable():
            _show(f"{line[:60]!r} has characters that cannot be printed. Type the line again without them.")
        else:
            return line


def _read(question: str) -> str:
    main = threading.current_thread() is threading.main_thread()
    # An event loop would handle Ctrl-C only after the line was read.
    before = signal.signal(signal.SIGINT, signal.default_int_handler) if main else None
    try:
        return input(question)
    except EOFError as error:
        reason = "person typed: the input has ended; type in a terminal, or choose --person correcting or imperfect"
        raise InputEndedError(reason) from error
    except UnicodeDecodeError:
        return "\0"
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


def _show(text: str) -> None:
    """Print a text, with control characters made visible."""
    print("\n".join(map(printable, text.splitlines())))
