"""Fence and motion leases: they decide who may move a robot through a server. Standard library only."""

from quartet_safety.errors import (
    BusyError,
    CanceledError,
    FencedError,
    FenceError,
    LapsedError,
    MotionRefusedError,
    StoppedError,
)
from quartet_safety.motion._fence import FenceStore
from quartet_safety.motion._lease import CallerWatch, HeartbeatSender, LeaseTerms, MotionLease
from quartet_safety.motion._leases import LeaseOwner, MotionLeases

__all__ = [
    "BusyError",
    "CallerWatch",
    "CanceledError",
    "FenceError",
    "FenceStore",
    "FencedError",
    "HeartbeatSender",
    "LapsedError",
    "LeaseOwner",
    "LeaseTerms",
    "MotionLease",
    "MotionLeases",
    "MotionRefusedError",
    "StoppedError",
]
