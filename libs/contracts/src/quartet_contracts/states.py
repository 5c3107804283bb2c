"""States of tasks and steps and the moves between them (names as in VDA5050 3.0 and ROS 2 where they have one)."""

from enum import StrEnum

from quartet_contracts.errors import IllegalMove


class State(StrEnum):
    QUEUED = "QUEUED"
    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    CANCELING = "CANCELING"
    RETRIABLE = "RETRIABLE"
    UNCERTAIN = "UNCERTAIN"
    """The outcome is not known; settled only by looking at the world or by a person."""
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"
    REJECTED = "REJECTED"


TERMINAL = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELED, State.REJECTED})

TRANSITIONS: dict[State, frozenset[State]] = {
    State.QUEUED: frozenset({State.INITIALIZING, State.REJECTED, State.CANCELED, State.FAILED}),
    State.INITIALIZING: frozenset({State.RUNNING, State.FAILED, State.CANCELED, State.UNCERTAIN}),
    State.RUNNING: frozenset(
        {
            State.SUCCEEDED,
            State.RETRIABLE,
            State.FAILED,
            State.PAUSED,
            State.CANCELING,
            State.UNCERTAIN,
        }
    ),
    State.PAUSED: frozenset({State.INITIALIZING, State.CANCELING, State.FAILED}),
    State.CANCELING: frozenset({State.CANCELED, State.SUCCEEDED, State.FAILED, State.UNCERTAIN}),
    State.UNCERTAIN: frozenset({State.SUCCEEDED, State.RETRIABLE, State.FAILED}),
    State.RETRIABLE: frozenset({State.INITIALIZING, State.FAILED, State.CANCELED}),
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELED: frozenset(),
    State.REJECTED: frozenset(),
}


def may_move(old: State, new: State) -> bool:
    """Whether a task or step may go from `old` to `new`; repeating a state is allowed (cancel is idempotent)."""
    return old == new or new in TRANSITIONS[old]


def move(old: State, new: State, whose: str) -> State:
    """`new`. Raises IllegalMove, naming `whose` state it is and what may follow `old`."""
    if not may_move(old, new):
        valid = ", ".join(sorted(TRANSITIONS[old])) or "nothing, it is final"
        raise IllegalMove(f"{whose} cannot go from {old} to {new}; valid: {valid}")
    return new
