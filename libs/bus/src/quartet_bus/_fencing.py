"""Fencing: what a former owner of a task, or a former caller of a robot, may no longer do."""

from dataclasses import dataclass

from quartet_bus._part import Part
from quartet_bus.errors import LeaseLostError
from quartet_bus.functions.records import NextFence


@dataclass(frozen=True)
class LeaseEpoch:
    """The time for which one replica owns a task; it ends when another replica takes the task over."""

    task_id: str
    epoch: int
    """Counts the owners that the task has had, from 1. Writes with an older one are refused."""

    def lost(self) -> LeaseLostError:
        """The error that a write of a former owner raises."""
        return LeaseLostError(
            f"task '{self.task_id}' has another owner since epoch {self.epoch}; nothing more is written or moved here"
        )


def epoch_argument(lease_epoch: LeaseEpoch | None) -> str:
    """Return the epoch as functions take it; '' asks for no check."""
    return "" if lease_epoch is None else str(lease_epoch.epoch)


class FenceCounters(Part):
    """The fencing token (fence) of each robot: a number that only grows."""

    async def next(self, robot: str, at_least: int = 1, lease_epoch: LeaseEpoch | None = None) -> int:
        """Count up and return the new fence, which is never below `at_least`.

        A retried command may count twice: fences only have to rise. After a loss of the store's data the caller
        passes one more than the highest fence that the robot's servers know. Raises LeaseLostError when `lease_epoch`
        is given and the task has another owner by now: a former owner never gets a newer fence than the present one.
        """
        epoch_key = self._keys.epoch(lease_epoch.task_id if lease_epoch else "")
        value = await self._store.run(
            NextFence(self._keys.fence(robot), epoch_key, epoch_argument(lease_epoch), at_least)
        )
        if value == 0:
            assert lease_epoch is not None
            raise lease_epoch.lost()
        return value

    async def current(self, robot: str) -> int:
        """Return the newest fence of `robot`, 0 before the first."""
        return int(await self._store.call("GET", self._keys.fence(robot)) or 0)
