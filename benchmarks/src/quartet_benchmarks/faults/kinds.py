"""The faults of a model, and how a task must end when a fault persists."""

from dataclasses import dataclass

from quartet_scripted_model.misbehaviour import Kind

UNREACHABLE = "gateway at"
"""Part of the message of an agent that got no readable answer."""
OVERDUE = "answered 504"
"""End of any fault on a machine that is too slow for the gateway's time limits; the table counts them."""
SEATS = ("pick", "orchestrator", "approach", "place")
EVERY = "every"
"""Seat of a fault that every agent's model has."""
REPEATED, SPENT, LATE = "repeated", "budget spent", "deadline"


@dataclass(frozen=True)
class Fault:
    """Kind of misbehaviour, and the texts one of which must be in the reason of the end."""

    kind: Kind
    says: tuple[str, ...]
    sound: bool = False
    """Whether its answers are readable, so that the agent may act on them."""
    seats: tuple[str, ...] = (EVERY,)
    """Of a misreading or habit: the agent whose model has it; of several, each in turn."""


FAULTS: dict[str, Fault] = {
    "hang": Fault(Kind.HANG, (UNREACHABLE, LATE)),
    "drip": Fault(Kind.DRIP, (UNREACHABLE, LATE)),
    "truncated arguments": Fault(Kind.MALFORMED_JSON, (REPEATED, "malformed reports")),
    "truncated body": Fault(Kind.CUT_BODY, (UNREACHABLE,)),
    "token limit": Fault(Kind.CUT_OFF, (REPEATED,)),
    "refusal": Fault(Kind.REFUSAL, ("without a tool call",)),
    "content filter": Fault(Kind.CONTENT_FILTER, ("refused",)),
    "429 storm": Fault(Kind.RATE_LIMIT, ("answered 429",)),
    "wrong tool": Fault(Kind.UNKNOWN_TOOL, (REPEATED,)),
    "another's tool": Fault(Kind.OTHER_TOOL, (REPEATED,)),
    "invalid arguments": Fault(Kind.BAD_ARGUMENTS, (REPEATED, "malformed reports")),
    "endless loop": Fault(Kind.REPETITION, (REPEATED, SPENT, LATE), sound=True),
    "one id twice": Fault(Kind.SAME_ID, (), sound=True),
    "empty answer": Fault(Kind.EMPTY, ("without a tool call",)),
    "no choices": Fault(Kind.NO_CHOICES, ("answered 502",)),
    "huge answer": Fault(Kind.HUGE, ("more than",)),
    "web page": Fault(Kind.HTML, ("answered 502",)),
    "reset": Fault(Kind.RESET, ("answered 502",)),
}
"""Faults by their name in the table. Of `one id twice` one call of each pair is made, so that the task goes on and may
end with any code.
"""
NOT_CONFIRMED = ("does not confirm", "the sentence names", "the rows of your plan")
"""Parts of the summary of a task whose report was not believed."""
MISREADINGS: dict[str, Fault] = {
    "forgotten object": Fault(Kind.FORGOTTEN_OBJECT, NOT_CONFIRMED, sound=True, seats=("orchestrator",)),
    "dropped object": Fault(Kind.DROPPED_OBJECT, NOT_CONFIRMED, sound=True, seats=("orchestrator",)),
    "swapped targets": Fault(Kind.SWAPPED_TARGETS, NOT_CONFIRMED, sound=True, seats=("orchestrator",)),
    "renamed object": Fault(Kind.RENAMED_OBJECT, NOT_CONFIRMED, sound=True, seats=("orchestrator",)),
}
"""Faults of an orchestrator that reports success of another job than the one it was asked for."""
HABITS: dict[str, Fault] = {
    "prose only": Fault(Kind.PROSE_ONLY, ("without a tool call",)),
    "early claim": Fault(Kind.CLAIMS_EARLY, (*NOT_CONFIRMED, "is EMPTY", "was not let go"), sound=True, seats=SEATS),
    "looks first": Fault(Kind.LOOKS_FIRST, (), sound=True),
    "own words": Fault(Kind.OWN_WORDS, (), sound=True),
    "empty arguments": Fault(Kind.EMPTY_ARGUMENTS, (), sound=True),
    "several calls": Fault(Kind.SEVERAL_CALLS, (), sound=True),
    "report with calls": Fault(Kind.REPORTS_BESIDE, (), sound=True),
    "plans twice": Fault(Kind.PLANS_TWICE, (), sound=True),
    "prose first": Fault(Kind.PROSE_FIRST, (), sound=True),
}
"""Habits, the shortest tasks first. Right is a success that ground truth confirms, or an end with one of the texts."""
