"""How messages travel: Redis streams, journal, results. The only opener of Redis.

bus = await Bus.connect("redis://127.0.0.1:6379/0")     BusUnavailable names URL and remedy
bus.tasks.submit(task) / cancel / pause / resume         bus.robot_tasks(robot).take() / mark_started / finish
bus.skills(skill)                                        an agent's source: take, mark_started, finish, canceled
async with bus.replies() as replies:                     the orchestrator's side: await replies.ask(queue, request)
bus.journal / images / transcripts / statuses / questions / fences / dead_letters / depths
"""

from quartet_bus._store import Credentials
from quartet_bus.bus import Bus, new_replica
from quartet_bus.dead_letters import DeadLetter, DeadLetters
from quartet_bus.depths import Depth, Depths
from quartet_bus.errors import (
    BusError,
    BusRefused,
    BusUnavailable,
    JournalFull,
    KeyReused,
    LeaseLost,
    NoAnswer,
    QuestionProblem,
    QueueFull,
    StoreFull,
)
from quartet_bus.fences import Fences
from quartet_bus.images import Images
from quartet_bus.journal import Journal, is_end
from quartet_bus.options import BusOptions
from quartet_bus.questions import Question, Questions
from quartet_bus.replies import Replies
from quartet_bus.robot_tasks import RobotTasks, TaskDelivery
from quartet_bus.skills import SkillDelivery, SkillQueue
from quartet_bus.statuses import Statuses
from quartet_bus.tasks import Tasks
from quartet_bus.tenure import Tenure
from quartet_bus.transcripts import Transcripts

__all__ = [
    "Bus",
    "BusError",
    "BusOptions",
    "BusRefused",
    "BusUnavailable",
    "Credentials",
    "DeadLetter",
    "DeadLetters",
    "Depth",
    "Depths",
    "Fences",
    "Images",
    "Journal",
    "JournalFull",
    "KeyReused",
    "LeaseLost",
    "NoAnswer",
    "Question",
    "QuestionProblem",
    "Questions",
    "QueueFull",
    "Replies",
    "RobotTasks",
    "SkillDelivery",
    "SkillQueue",
    "Statuses",
    "StoreFull",
    "TaskDelivery",
    "Tasks",
    "Tenure",
    "Transcripts",
    "is_end",
    "new_replica",
]
