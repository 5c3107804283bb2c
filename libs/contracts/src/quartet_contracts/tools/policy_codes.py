"""Error codes of a site's policy: any tool of any server may return them, and then nothing has moved."""

from enum import StrEnum


class PolicyCode(StrEnum):
    """Codes beside CommonCode. None of them is cured by the same call once more, INPUT_REQUIRED apart."""

    POLICY_DENIED = "POLICY_DENIED"
    """The policy does not let this agent use this tool, or not with these arguments, or it cannot judge the call."""
    OUTSIDE_GEOFENCE = "OUTSIDE_GEOFENCE"
    """The base would end outside the area where it may drive, or in a forbidden zone."""
    OUTSIDE_WORKSPACE = "OUTSIDE_WORKSPACE"
    """The tool flange would leave the box in which it may work."""
    OVER_LIMIT = "OVER_LIMIT"
    """Faster or heavier than the policy's cap."""
    WRONG_PHASE = "WRONG_PHASE"
    """Not now: the arm while the base drives, the base while the arm moves, or a release by an agent that carries."""
    RATE_LIMITED = "RATE_LIMITED"
    """The tool was called too often in the last minute."""
    INPUT_REQUIRED = "INPUT_REQUIRED"
    """A person must allow this call first, and this client cannot ask one."""
    APPROVAL_DENIED = "APPROVAL_DENIED"
    """A person did not allow this call, or nobody answered in time, or the decision does not fit the call."""
