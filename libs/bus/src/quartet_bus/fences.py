"""The fence counter of each robot."""

from quartet_bus._keys import Keys
from quartet_bus._store import Store


class Fences:
    def __init__(self, store: Store, keys: Keys) -> None:
        self._store = store
        self._keys = keys

    async def next(self, robot: str, at_least: int = 1) -> int:
        """Count up and return the new fence, which is never below `at_least`.

        A retried command may count twice: fences only have to rise. After a loss of the store's data the caller
        passes one more than the highest fence that the robot's servers hold.
        """
        value = int(await self._store.call("INCR", self._keys.fence(robot)))
        if value < at_least:
            value = int(await self._store.call("INCRBY", self._keys.fence(robot), at_least - value))
        return value

    async def current(self, robot: str) -> int:
        return int(await self._store.call("GET", self._keys.fence(robot)) or 0)
