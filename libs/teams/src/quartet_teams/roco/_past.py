"""What a RoCo team remembers of an episode."""

from dataclasses import dataclass, field

from quartet_teams.roco._actions import JointPlan, plan_text


@dataclass
class Past:
    """Executed rounds, and the plans that failed in motion planning since the last of them."""

    rounds: list[str] = field(default_factory=list[str])
    """Discussion and plan of each, as prompts show them."""
    failed: list[str] = field(default_factory=list[str])

    def add_executed(self, plan: JointPlan, chat: str) -> None:
        """Add a round whose plan was executed, and forget the plans that failed before it."""
        number = len(self.rounds) + 1
        self.rounds.append(f"Round {number}.\nDiscussion:\n{chat}\nExecuted plan:\n{plan_text(plan)}")
        self.failed.clear()

    def add_failed(self, plan: JointPlan, reason: str) -> None:
        """Add a plan that passed the checks and could not be executed."""
        self.failed.append(f"{plan_text(plan)}\nReason: {reason}")
