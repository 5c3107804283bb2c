"""What all parts of the bus share: the store, the names in it, and who this process is."""

from dataclasses import dataclass

from quartet_bus._keys import OWNER, Keys
from quartet_bus._notifications import Notifications
from quartet_bus._options import BusOptions
from quartet_bus._store import Store


@dataclass(frozen=True)
class BusContext:
    """What the parts of one process' bus share."""

    store: Store
    keys: Keys
    options: BusOptions
    notifications: Notifications
    replica: str
    """Name of this process in consumer groups."""
    agent: str | None
    """Skill of an agent, which writes to keys of its own; None: this process may own tasks."""


class Part:
    """Queue, or records of one kind."""

    def __init__(self, context: BusContext) -> None:
        self._context = context
        self._store, self._keys, self._options = context.store, context.keys, context.options
        self._notifications = context.notifications
        self._role = context.agent or OWNER
