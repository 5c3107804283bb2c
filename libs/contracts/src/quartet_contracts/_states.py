"""States of tasks and steps and the transitions between them (names from VDA5050 3.0 and ROS 2 where they exist)."""

from enum import StrEnum

from quartet_contracts.errors import IllegalTransitionError


class State(StrEnum):
    """State of a task or of a step."""

    QUEUED = "QUEUED"
    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    CANCELING = "CANCELING"
    RETRIABLE = "RETRIABLE"
    UNCERTAIN = "UNCERTAIN"
    """The outcome is unknown until it is observed or a person settles it."""
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"
    REJECTED = "REJECTED"


STATE_WORDS: dict[State, str] = {
    State.QUEUED: "Waiting",
    State.INITIALIZING: "Starting",
    State.RUNNING: "Running",
    State.PAUSED: "Paused",
    State.CANCELING: "Canceling",
    State.RETRIABLE: "Will go on",
    State.UNCERTAIN: "Looking",
    State.SUCCEEDED: "Done",
    State.FAILED: "Not done",
    State.CANCELED: "Canceled",
    State.REJECTED: "Rejected",
}
"""Words for people. The page's tasks.js has the same."""
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


def may_transition(old: State, new: State) -> bool:
    """Whether a task or step may go from `old` to `new`; repeating a state is allowed (cancel is idempotent)."""
    return old == new or new in TRANSITIONS[old]


def move(old: State, new: State, whose: str) -> State:
    """Return `new`. Raises IllegalTransitionError, which names `whose` state it is and what may follow `old`."""
    if not may_transition(old, new):
        valid = ", ".join(sorted(TRANSITIONS[old])) or "nothing, it is final"
        raise IllegalTransitionError(f"{whose} cannot go from {old} to {new}; valid: {valid}")
    return new
