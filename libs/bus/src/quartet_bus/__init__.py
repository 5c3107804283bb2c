"""How messages travel: Redis streams, journal, results. The only opener of Redis.

bus = await Bus.connect("redis://127.0.0.1:6379/0")     BusUnavailableError names URL and remedy
bus.tasks.submit(task) / cancel / pause / resume         bus.robot_tasks(robot).take() / mark_started / finish
bus.skills(skill)                                        an agent's source: take, mark_started, finish, canceled
async with bus.replies() as replies:                     the orchestrator's side: await replies.ask(queue, request)
bus.journal / images / transcripts / statuses / questions / fences / dead_letters / depths
"""

from quartet_bus._bus import Bus, new_replica
from quartet_bus._dead_letters import DeadLetter, DeadLetters
from quartet_bus._fencing import FenceCounters, LeaseEpoch
from quartet_bus._images import Images
from quartet_bus._options import BusOptions
from quartet_bus._questions import Question, Questions
from quartet_bus._queue_depths import QueueDepth, QueueDepths
from quartet_bus._replies import Replies
from quartet_bus._robot_tasks import RobotTasks, TaskDelivery
from quartet_bus._skills import SkillDelivery, SkillQueue
from quartet_bus._store import Credentials
from quartet_bus._task_statuses import TaskStatuses
from quartet_bus._tasks import Tasks
from quartet_bus._transcripts import Transcripts
from quartet_bus._turns import ProgramQueue, TurnQueue
from quartet_bus.errors import (
    BusError,
    BusRefusedError,
    BusServerError,
    BusUnavailableError,
    JournalFullError,
    KeyReusedError,
    LeaseLostError,
    NoAnswerError,
    QuestionError,
    QueueFullError,
    StoreFullError,
)
from quartet_bus.journal import Journal, is_end, taken_at

__all__ = [
    "Bus",
    "BusError",
    "BusOptions",
    "BusRefusedError",
    "BusServerError",
    "BusUnavailableError",
    "Credentials",
    "DeadLetter",
    "DeadLetters",
    "FenceCounters",
    "Images",
    "Journal",
    "JournalFullError",
    "KeyReusedError",
    "LeaseEpoch",
    "LeaseLostError",
    "NoAnswerError",
    "ProgramQueue",
    "Question",
    "QuestionError",
    "Questions",
    "QueueDepth",
    "QueueDepths",
    "QueueFullError",
    "Replies",
    "RobotTasks",
    "SkillDelivery",
    "SkillQueue",
    "StoreFullError",
    "TaskDelivery",
    "TaskStatuses",
    "Tasks",
    "Transcripts",
    "TurnQueue",
    "is_end",
    "new_replica",
    "taken_at",
]
