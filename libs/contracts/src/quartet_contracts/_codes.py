"""Error codes of the sub-agents. NONE means success; anything abnormal is UNKNOWN."""

from enum import StrEnum

UNKNOWN_NAME = "UNKNOWN_NAME"
"""Code of a refused call, of an approach, and in a report: no area, place or object has this name."""
NOT_RUN = "NOT_RUN"
"""Code of a call that was not made because an earlier call of the same turn failed."""


class TaskCode(StrEnum):
    """Why a task is not done. The objects of its report have the codes of the steps."""

    NONE = "NONE"
    CANCELED = "CANCELED"
    """A person canceled it."""
    STOPPED = "STOPPED"
    """The robot was stopped."""
    AMBIGUOUS = "AMBIGUOUS"
    """The sentence can mean several things, and nobody said which."""
    NOT_UNDERSTOOD = "NOT_UNDERSTOOD"
    """The sentence is no task that the model understands, or names what there is not."""
    UNKNOWN = "UNKNOWN"
    """Any other reason; the summary has it."""


class ApproachCode(StrEnum):
    """How an approach ended."""

    NONE = "NONE"
    NAV_PLAN_FAILED = "NAV_PLAN_FAILED"
    """The arm could not be tucked into its transit pose."""
    NAV_DRIVE_FAILED = "NAV_DRIVE_FAILED"
    """The base did not reach the area or the standoff."""
    NAV_AREA_WRONG = "NAV_AREA_WRONG"
    """The robot stands in an area that is not the wanted one, or the area is not known."""
    NAV_TARGET_NOT_VISIBLE = "NAV_TARGET_NOT_VISIBLE"
    """The target was not seen, also not after the spin-search."""
    NAV_VERIFY_OVERRIDE = "NAV_VERIFY_OVERRIDE"
    """The agent claimed success and the check in code rejected it."""
    UNKNOWN_NAME = UNKNOWN_NAME
    """The cameras cannot look for a thing of this name; the reason lists the names that they know."""
    UNKNOWN = "UNKNOWN"


class PickCode(StrEnum):
    """How a pick ended."""

    NONE = "NONE"
    PICK_SEG_MISSED = "PICK_SEG_MISSED"
    """No camera shows the object."""
    PICK_PLAN_FAILED = "PICK_PLAN_FAILED"
    """No arm motion could be planned or executed."""
    PICK_REACH_EXCEEDED = "PICK_REACH_EXCEEDED"
    """The object lies beyond the arm's reach."""
    PICK_ATTACH_TIMEOUT = "PICK_ATTACH_TIMEOUT"
    """The fingers closed and hold nothing."""
    PICK_HOLDING_ALREADY = "PICK_HOLDING_ALREADY"
    """Something was in the gripper at the start."""
    PICK_WRONG_OBJECT = "PICK_WRONG_OBJECT"
    """Something is held, and it is not the wanted object."""
    UNKNOWN = "UNKNOWN"


class PlaceCode(StrEnum):
    """How a place ended."""

    NONE = "NONE"
    PLACE_SEG_MISSED = "PLACE_SEG_MISSED"
    """The camera does not show the target, or no free spot on it."""
    PLACE_PLAN_FAILED = "PLACE_PLAN_FAILED"
    """No arm motion could be planned or executed."""
    PLACE_REACH_EXCEEDED = "PLACE_REACH_EXCEEDED"
    """The drop pose lies beyond the arm's reach."""
    PLACE_DROP_VERIFY_FAILED = "PLACE_DROP_VERIFY_FAILED"
    """Released, but the object is not seen at the target."""
    PLACE_HOLDING_NOTHING = "PLACE_HOLDING_NOTHING"
    """The gripper is empty."""
    PLACE_OUT_OF_SCOPE = "PLACE_OUT_OF_SCOPE"
    """The target is not something that this robot can put things on or into."""
    UNKNOWN = "UNKNOWN"


class ExecutorCode(StrEnum):
    """How a program ended."""

    NONE = "NONE"
    PROGRAM_FAILED = "PROGRAM_FAILED"
    """Its exit code is not 0; the output says why."""
    PROGRAM_REFUSED = "PROGRAM_REFUSED"
    """The policy wants a person's approval of each program, and none came. Nothing ran."""
    NO_CONFINEMENT = "NO_CONFINEMENT"
    """The machine of the executor cannot confine a program, so none is run."""
    UNKNOWN = "UNKNOWN"
