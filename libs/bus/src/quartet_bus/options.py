"""Times and limits of the bus."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BusOptions:
    """Every process of a deployment uses the same values; tests shorten them.

    Finished things expire, so that Redis holds what runs plus one retention window, however many tasks there were.
    """

    prefix: str = "quartet"
    """First part of every key, so that two deployments can share a Redis."""
    lease_s: float = 3.0
    """A consumer that is silent for so long is dead: another takes its entries over. With it, and a look every third
    of it, what a dead process had is taken up within five seconds."""
    delivery_cap: int = 3
    """An entry that is delivered more often than this is poison."""
    block_ms: int = 2000
    """Longest wait inside one blocking read."""
    records_s: float = 86_400.0
    """How long status, journal and transcripts stay after they were last written."""
    images_s: float = 7_200.0
    results_s: float = 3_600.0
    """How long a result can be asked for again, and how long a duplicate of its request is recognised."""
    consumers_s: float = 3_600.0
    """A consumer that is silent for so long and holds nothing is forgotten."""
    journal_events: int = 20_000
    """A task may write so many. None is dropped, since a task that is taken over needs its own: beyond half of them
    sub-agents tell no more progress, at the end they write nothing more and the task begins no further step."""
    queue_entries: int = 10_000
    """What is submitted to a longer queue is refused; nothing that waits is ever dropped."""
    reserve: float = 0.1
    """Part of Redis' maxmemory that only running work may fill: above, what is submitted is refused."""
    dead_letters: int = 1_000
    index_entries: int = 10_000
    """Tasks that the list shows at most."""
    image_bytes: int = 4 * 1024 * 1024
    transcript_bytes: int = 8 * 1024 * 1024
    connections: int = 32
    """Connections for short commands; more callers wait for a free one. Blocking reads have their own."""
    command_patience_s: float = 6.0
    """A short command is tried again for about so long while Redis is away."""

    def __post_init__(self) -> None:
        if not 1 <= self.block_ms <= 4000:
            raise ValueError(
                f"block_ms is {self.block_ms}; it must be 1 to 4000, so that a dead connection is noticed soon"
            )
        if not 0 <= self.reserve < 1:
            raise ValueError(f"reserve is {self.reserve}; it is a part of Redis' memory, from 0 to below 1")
        if self.lease_s <= 0 or self.delivery_cap < 1 or self.connections < 1:
            raise ValueError(
                f"lease_s={self.lease_s}, delivery_cap={self.delivery_cap}, connections={self.connections}: "
                "all must be positive"
            )
