"""The bus: everything that goes through Redis, in one object per process."""

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable

from quartet_bus._keys import Keys
from quartet_bus._store import Credentials, Store
from quartet_bus.approvals import Approvals
from quartet_bus.dead_letters import DeadLetters
from quartet_bus.depths import Depths
from quartet_bus.errors import BusRefused, BusUnavailable
from quartet_bus.fences import Fences
from quartet_bus.images import Images
from quartet_bus.journal import Journal
from quartet_bus.options import BusOptions
from quartet_bus.questions import Questions
from quartet_bus.replies import Replies
from quartet_bus.robot_tasks import RobotTasks
from quartet_bus.signals import Signals
from quartet_bus.skills import SkillQueue
from quartet_bus.statuses import Statuses
from quartet_bus.tasks import Tasks
from quartet_bus.transcripts import Transcripts
from quartet_contracts import Skill

log = logging.getLogger(__name__)

SHORTEST_WAIT_S, LONGEST_WAIT_S = 0.2, 5.0
"""Between two questions to a Redis that has not answered yet; each wait is twice the one before."""


class Bus:
    """Open with `await Bus.connect(url)`, or as `async with await Bus.connect(url) as bus`; close with `close()`."""

    def __init__(self, url: str, options: BusOptions, replica: str, credentials: Credentials | None = None) -> None:
        self.options = options
        self.replica = replica
        """Name of this process in consumer groups, unique per start."""
        self._store = Store(url, options, credentials)
        self._keys = Keys(options.prefix)
        self._signals = Signals(self._store, self._keys)
        self.dead_letters = DeadLetters(self._store, self._keys, options)
        self.journal = Journal(self._store, self._keys, options, self._signals)
        self.images = Images(self._store, self._keys, options)
        self.transcripts = Transcripts(self._store, self._keys, options)
        self.statuses = Statuses(self._store, self._keys, options)
        self.questions = Questions(self._store, self._keys, options, self._signals)
        self.approvals = Approvals(self._store, self._keys, options, self._signals)
        self.fences = Fences(self._store, self._keys)
        self.depths = Depths(self._store, self._keys)
        self.tasks = Tasks(
            self._store, self._keys, options, self.dead_letters, self._signals, self.statuses, self.journal
        )
        self._skills: dict[Skill, SkillQueue] = {}
        self._robots: dict[str, RobotTasks] = {}

    @classmethod
    async def connect(
        cls,
        url: str,
        options: BusOptions | None = None,
        replica: str | None = None,
        credentials: Credentials | None = None,
    ) -> "Bus":
        """Raises BusUnavailable, at once, when Redis is not there or does not know the credentials."""
        bus = cls(url, options or BusOptions(), replica or new_replica(), credentials)
        try:
            await bus.check()
        except BaseException:
            await bus.close()
            raise
        return bus

    @classmethod
    async def wait_for(
        cls,
        url: str,
        options: BusOptions | None = None,
        *,
        credentials: Credentials | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> "Bus":
        """As `connect`, of a process that starts before Redis does: asks until there is an answer.

        `tell` is told each time what is wrong. Raises BusRefused, at once, when Redis does not let this process in.
        """
        began, pause_s, asked = time.monotonic(), SHORTEST_WAIT_S, 1
        while True:
            try:
                bus = await cls.connect(url, options, credentials=credentials)
            except BusRefused:
                raise
            except BusUnavailable as error:
                tell(str(error))
                waited = time.monotonic() - began
                log.warning("%s Asked %d times in %.0f s, again in %.1f s", error, asked, waited, pause_s)
                await asyncio.sleep(pause_s)
                pause_s, asked = min(LONGEST_WAIT_S, 2 * pause_s), asked + 1
            else:
                if asked > 1:
                    log.warning("Redis answers after %.0f s", time.monotonic() - began)
                return bus

    async def check(self) -> None:
        """Raises BusUnavailable when Redis does not answer now."""
        await self._store.check()

    def skills(self, skill: Skill) -> SkillQueue:
        """The request stream of a skill."""
        if skill not in self._skills:
            self._skills[skill] = SkillQueue(
                self._store, self._keys, self.options, self.dead_letters, self._signals, skill, self.replica
            )
        return self._skills[skill]

    def robot_tasks(self, robot: str) -> RobotTasks:
        """The task stream of a robot."""
        if robot not in self._robots:
            self._robots[robot] = self.tasks.of(robot, self.replica)
        return self._robots[robot]

    def replies(self) -> Replies:
        """The reply stream of this process."""
        return Replies(self._store, self._keys, self.options, self.replica)

    async def close(self) -> None:
        for queue in [*self._skills.values(), *self._robots.values()]:
            await queue.close()
        await self._signals.close()
        await self._store.close()

    async def __aenter__(self) -> "Bus":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


def new_replica() -> str:
    """A name that no other process has: host, pid, random."""
    return f"{socket.gethostname()[:24]}-{os.getpid()}-{secrets.token_hex(4)}"
