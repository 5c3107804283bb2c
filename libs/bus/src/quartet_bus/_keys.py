"""Names of all keys in Redis."""

from dataclasses import dataclass
from typing import NewType

from quartet_contracts import Skill

Key = NewType("Key", str)
"""The name of a key in Redis, as functions take it."""
OWNER = "orchestrator"
"""The role that owns the store: it loads the functions, and what it has written counts."""
WRITERS = (OWNER, *(str(skill) for skill in Skill))
"""Roles that write records, each under keys of its own."""


@dataclass(frozen=True)
class Keys:
    """Names of the keys of one deployment."""

    prefix: str

    def of(self, *parts: str) -> Key:
        return Key(":".join((self.prefix, *parts)))

    def skill_stream(self, skill: str) -> Key:
        return self.of("skill", skill)

    @property
    def turns(self) -> Key:
        """Questions to those who speak for robots in a team."""
        return self.of("turns")

    @property
    def programs(self) -> Key:
        """Programs of teams that only calculate."""
        return self.of("programs")

    def task_stream(self, robot: str) -> Key:
        return self.of("tasks", robot)

    def present(self, stream: str) -> Key:
        """When each consumer of a stream was last seen."""
        return Key(f"{stream}:present")

    def replies(self, skill: str, replica: str) -> Key:
        """With the skill, so that an agent's user in Redis may answer for its own kind only."""
        return self.of("replies", skill, replica)

    def done(self, kind: str, identity: str) -> Key:
        return self.of("done", kind, identity)

    def owner(self, kind: str, identity: str) -> Key:
        """Entry id of the queue entry that represents this identity."""
        return self.of("owner", kind, identity)

    def started(self, kind: str, identity: str) -> Key:
        return self.of("started", kind, identity)

    def canceled(self, identity: str) -> Key:
        return self.of("canceled", identity)

    def paused(self, task_id: str) -> Key:
        return self.of("paused", task_id)

    def epoch(self, task_id: str) -> Key:
        """Counts the owners that a task has had."""
        return self.of("epoch", task_id)

    def submission(self, key: str) -> Key:
        """Id of the task that an idempotency key belongs to."""
        return self.of("submission", key)

    @property
    def identity(self) -> Key:
        """Random id of the data, by which a store that has lost its data is recognised."""
        return self.of("identity")

    @property
    def waiting(self) -> Key:
        """Deadlines of the tasks that have not been begun."""
        return self.of("waiting")

    def journal(self, task_id: str) -> Key:
        return self.of("journal", task_id)

    def journal_nonces(self, task_id: str) -> Key:
        """Position of each event by the nonce of its append, so that none is written twice."""
        return self.of("journal", task_id, "nonces")

    def agent_journal(self, skill: str, request_id: str) -> Key:
        """Events that an agent writes about one request, until the owner of the task has copied them."""
        return self.of("agent-journal", skill, request_id)

    def agent_journal_nonces(self, skill: str, request_id: str) -> Key:
        return self.of("agent-journal", skill, request_id, "nonces")

    def image(self, writer: str, task_id: str, reference: str) -> Key:
        """With the writer, as transcripts and dead letters, so that no process can replace another one's."""
        return self.of("image", writer, task_id, reference)

    def transcripts(self, writer: str, task_id: str) -> Key:
        return self.of("transcripts", writer, task_id)

    def status(self, task_id: str) -> Key:
        return self.of("status", task_id)

    @property
    def index(self) -> Key:
        return self.of("index")

    def ended_session(self, session_id: str) -> Key:
        return self.of("ended-session", session_id)

    def question(self, task_id: str) -> Key:
        return self.of("question", task_id)

    def answer(self, question_id: str) -> Key:
        return self.of("answer", question_id)

    def approval(self, writer: str, request_id: str) -> Key:
        """What a skill request asks a person to allow, while it has no decision."""
        return self.of("approval", writer, request_id)

    def decision(self, approval_id: str) -> Key:
        return self.of("decision", approval_id)

    def fence(self, robot: str) -> Key:
        return self.of("fence", robot)

    def routes(self, place: str) -> Key:
        """Routes that the robots of a place have announced."""
        return self.of("routes", place)

    def robot_lease(self, robot: str) -> Key:
        return self.of("robot", robot)

    def dead(self, writer: str) -> Key:
        """Dead letters; those of the orchestrator have the key without a writer."""
        return self.of("dead") if writer == OWNER else self.of("dead", writer)

    def signal(self, topic: str) -> str:
        """Pub/sub channel; it wakes readers, and what it carries is in keys too."""
        return self.of("signal", topic)
