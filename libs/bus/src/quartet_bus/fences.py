"""The fence counter of each robot."""

from quartet_bus import _scripts
from quartet_bus._keys import Keys
from quartet_bus._store import Store
from quartet_bus.tenure import Tenure, epoch_of


class Fences:
    def __init__(self, store: Store, keys: Keys) -> None:
        self._store = store
        self._keys = keys

    async def next(self, robot: str, at_least: int = 1, tenure: Tenure | None = None) -> int:
        """Count up and return the new fence, which is never below `at_least`.

        A retried command may count twice: fences only have to rise. After a loss of the store's data the caller
        passes one more than the highest fence that the robot's servers hold. Raises LeaseLost when `tenure` is given
        and the task has another owner by now: a former owner never gets a newer fence than the present one.
        """
        epoch_key = self._keys.epoch(tenure.task_id if tenure else "")
        value = int(
            await self._store.script(
                _scripts.NEXT_FENCE, [self._keys.fence(robot), epoch_key], epoch_of(tenure), at_least
            )
        )
        if value == 0:
            assert tenure is not None
            raise tenure.over()
        return value

    async def current(self, robot: str) -> int:
        return int(await self._store.call("GET", self._keys.fence(robot)) or 0)
