"""The bus: the queues and records in Redis, in one object per process."""

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable

from quartet_bus._approvals import Approvals
from quartet_bus._dead_letters import DeadLetters
from quartet_bus._ended_sessions import EndedSessions
from quartet_bus._fencing import FenceCounters
from quartet_bus._images import Images
from quartet_bus._keys import Keys
from quartet_bus._notifications import Notifications
from quartet_bus._options import BusOptions
from quartet_bus._part import BusContext
from quartet_bus._questions import Questions
from quartet_bus._queue_depths import QueueDepths
from quartet_bus._replies import Replies
from quartet_bus._robot_tasks import RobotTasks
from quartet_bus._routes import Routes
from quartet_bus._skills import SkillQueue
from quartet_bus._store import Credentials, RedisSettings, Store
from quartet_bus._task_statuses import TaskStatuses
from quartet_bus._tasks import Tasks
from quartet_bus._transcripts import Transcripts
from quartet_bus._turns import ProgramQueue, TurnQueue
from quartet_bus.errors import BusError, BusRefusedError, BusUnavailableError, StoreFullError
from quartet_bus.journal import Journal
from quartet_contracts import Skill
from quartet_process import clock_skew

log = logging.getLogger(__name__)

SHORTEST_WAIT_S, LONGEST_WAIT_S = 0.2, 5.0
"""First wait between two attempts to connect [s]; each wait is twice the one before."""


class Bus:
    """Open with `await Bus.connect(url)`, or as `async with await Bus.connect(url) as bus`; close with `close()`."""

    def __init__(self, url: str, options: BusOptions, replica: str, credentials: Credentials | None = None) -> None:
        self.options = options
        self.replica = replica
        """Name of this process in consumer groups, unique per start."""
        self._store, keys = Store(url, options, credentials), Keys(options.prefix)
        self._notifications = Notifications(self._store, keys)
        agent = None if credentials is None else credentials.agent
        self._context = context = BusContext(self._store, keys, options, self._notifications, replica, agent)
        self.dead_letters = DeadLetters(context)
        self.journal = Journal(context)
        self.images = Images(context)
        self.transcripts = Transcripts(context)
        self.statuses = TaskStatuses(context)
        self.questions = Questions(context)
        self.approvals = Approvals(context)
        self.ended_sessions = EndedSessions(context)
        self.fences = FenceCounters(context)
        self.routes = Routes(context)
        self.queue_depths = QueueDepths(context)
        self.tasks = Tasks(context, self.dead_letters, self.statuses, self.journal)
        self.turns = TurnQueue(context, self.dead_letters)
        self.programs = ProgramQueue(context, self.dead_letters)
        self._skills: dict[Skill, SkillQueue] = {}
        self._robots: dict[str, RobotTasks] = {}

    @classmethod
    async def of_process(cls, settings: RedisSettings, role: str, tell: Callable[[str], None]) -> "Bus":
        """Wait for the Redis of a process' settings, with the credentials of `role`. See wait_for."""
        return await cls.wait_for(settings.redis_url, credentials=Credentials.of(settings, role), tell=tell)

    @classmethod
    async def connect(
        cls,
        url: str,
        options: BusOptions | None = None,
        replica: str | None = None,
        credentials: Credentials | None = None,
    ) -> "Bus":
        """Connect. Raises BusUnavailableError at once when Redis does not answer or refuses the credentials."""
        bus = cls(url, options or BusOptions(), replica or new_replica(), credentials)
        try:
            await bus.check()
            await bus.load_functions()
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
        """Connect as `connect` does, and wait for a Redis that does not answer yet.

        `tell` is called with the text of each failure. Raises BusRefusedError, at once, when Redis knows neither user
        nor password.
        """
        began, pause_s, asked = time.monotonic(), SHORTEST_WAIT_S, 1
        while True:
            try:
                bus = await cls.connect(url, options, credentials=credentials)
            except BusRefusedError:
                raise
            except BusUnavailableError as error:
                tell(str(error))
                waited = time.monotonic() - began
                log.warning("%s Tried %d times in %.0f s, again in %.1f s", error, asked, waited, pause_s)
                await asyncio.sleep(pause_s)
                pause_s, asked = min(LONGEST_WAIT_S, 2 * pause_s), asked + 1
            else:
                if asked > 1:
                    log.warning("Redis answers after %.0f s", time.monotonic() - began)
                return bus

    async def clock_skew(self) -> float:
        """Return how far Redis' clock is ahead of this machine's [s], negative behind."""
        sent_at = time.time()
        seconds, microseconds = await self._store.call("TIME")
        return clock_skew(int(seconds) + int(microseconds) / 1e6, sent_at, time.time())

    async def check(self) -> None:
        """Raise BusUnavailableError when Redis does not answer now."""
        await self._store.check()

    async def load_functions(self) -> None:
        """Load the library of functions where it is missing; the orchestrator does so, and whoever needs no password.

        A store that is full keeps the functions that it has: those of one version are called alike.
        """
        try:
            await self._store.load_functions()
        except StoreFullError as error:
            log.warning("the functions in Redis are not updated: %s", error)

    async def watch_consumers(self) -> None:
        """Keep the number of consumers of each stream that agents read bounded, until this is canceled."""
        while True:
            try:
                for queue in (self.turns, self.programs, *map(self.skills, Skill)):
                    await queue.bound_consumers()
            except BusError as error:
                log.warning("consumers of the agents' streams: %s", error)
            await asyncio.sleep(self.options.consumers_look_s)

    @property
    def losses(self) -> int:
        """Number of times that Redis has lost its data since this process has known it."""
        return self._store.losses

    def skills(self, skill: Skill) -> SkillQueue:
        """Return the request queue of a skill."""
        if skill not in self._skills:
            self._skills[skill] = SkillQueue(self._context, self.dead_letters, skill)
        return self._skills[skill]

    def robot_tasks(self, robot: str) -> RobotTasks:
        """Return the task queue of a robot."""
        if robot not in self._robots:
            self._robots[robot] = self.tasks.of(robot, self.replica)
        return self._robots[robot]

    def replies(self) -> Replies:
        """Return the reply streams of this process."""
        return Replies(self._context)

    async def close(self) -> None:
        """Close all connections; others get the entries that this process has taken once their leases expire."""
        for queue in [self.turns, self.programs, *self._skills.values(), *self._robots.values()]:
            await queue.close()
        await self._notifications.close()
        await self._store.close()

    async def __aenter__(self) -> "Bus":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


def new_replica() -> str:
    """Return a unique name for this process: host, pid, random."""
    return f"{socket.gethostname()[:24]}-{os.getpid()}-{secrets.token_hex(4)}"
