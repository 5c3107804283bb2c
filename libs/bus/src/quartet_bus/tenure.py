"""Who may write for a task: each owner has an epoch, and a former owner's epoch is refused with every write."""

from dataclasses import dataclass

from quartet_bus.errors import LeaseLost


@dataclass(frozen=True)
class Tenure:
    """One replica's time as the owner of a task. It ends when another replica takes the task over."""

    task_id: str
    epoch: int

    def over(self) -> LeaseLost:
        """What a write of a former owner raises."""
        return LeaseLost(
            f"task '{self.task_id}' has another owner since epoch {self.epoch}; nothing more is written or moved here"
        )


def epoch_of(tenure: Tenure | None) -> str:
    """As the scripts take it; '' asks for no check."""
    return "" if tenure is None else str(tenure.epoch)
