"""Names of all keys, in one place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Keys:
    prefix: str

    def of(self, *parts: str) -> str:
        return ":".join((self.prefix, *parts))

    def skill_stream(self, skill: str) -> str:
        return self.of("skill", skill)

    def task_stream(self, robot: str) -> str:
        return self.of("tasks", robot)

    def present(self, stream: str) -> str:
        """When each consumer of a stream was last seen."""
        return f"{stream}:present"

    def replies(self, skill: str, replica: str) -> str:
        """With the skill, so that an agent's user in Redis may answer for its own kind only."""
        return self.of("replies", skill, replica)

    def done(self, kind: str, identity: str) -> str:
        return self.of("done", kind, identity)

    def owner(self, kind: str, identity: str) -> str:
        """Entry id of the one queue entry that stands for this identity."""
        return self.of("owner", kind, identity)

    def started(self, kind: str, identity: str) -> str:
        return self.of("started", kind, identity)

    def canceled(self, identity: str) -> str:
        return self.of("canceled", identity)

    def paused(self, task_id: str) -> str:
        return self.of("paused", task_id)

    def epoch(self, task_id: str) -> str:
        """Counts the owners that a task has had."""
        return self.of("epoch", task_id)

    def submission(self, key: str) -> str:
        """Which task an idempotency key stands for."""
        return self.of("submission", key)

    @property
    def waiting(self) -> str:
        """Deadlines of the tasks that have not been begun."""
        return self.of("waiting")

    def journal(self, task_id: str) -> str:
        return self.of("journal", task_id)

    def journal_nonces(self, task_id: str) -> str:
        """Position of each event by the nonce of its append, so that none is written twice."""
        return self.of("journal", task_id, "nonces")

    def image(self, task_id: str, reference: str) -> str:
        return self.of("image", task_id, reference)

    def transcripts(self, task_id: str) -> str:
        return self.of("transcripts", task_id)

    def status(self, task_id: str) -> str:
        return self.of("status", task_id)

    @property
    def index(self) -> str:
        return self.of("index")

    def question(self, task_id: str) -> str:
        return self.of("question", task_id)

    def answer(self, question_id: str) -> str:
        return self.of("answer", question_id)

    def approval(self, request_id: str) -> str:
        """What a skill request asks a person to allow, while it has no decision."""
        return self.of("approval", request_id)

    def decision(self, approval_id: str) -> str:
        return self.of("decision", approval_id)

    def fence(self, robot: str) -> str:
        return self.of("fence", robot)

    def robot_lease(self, robot: str) -> str:
        return self.of("robot", robot)

    @property
    def dead(self) -> str:
        return self.of("dead")

    def signal(self, topic: str) -> str:
        """Pub/sub channel; it only wakes, what counts lies in keys."""
        return self.of("signal", topic)
