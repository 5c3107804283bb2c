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
    """Number of deliveries after which an entry becomes a dead letter."""
    block_ms: int = 2000
    """Longest wait of one blocking read [ms]."""
    records_s: float = 86_400.0
    """Time for which status, journal and transcripts are kept after the last write [s]."""
    images_s: float = 7_200.0
    results_s: float = 3_600.0
    """Time for which a result is kept and a duplicate of its request is recognised [s]."""
    consumers_s: float = 3_600.0
    """Time after which a silent consumer without entries is removed [s]."""
    consumers: int = 1_000
    """Most consumers of a stream that an agent reads; beyond them all without an entry are removed."""
    consumers_look_s: float = 5.0
    """Period in which the orchestrator counts them [s]: whoever may read a stream names many thousand a second."""
    journal_events: int = 20_000
    """Most events of a task. None is dropped, since a task that is taken over needs its own: beyond half of them
    sub-agents report no more progress, at the end they write nothing more and the task begins no further step."""
    queue_entries: int = 10_000
    """Length above which a queue refuses new entries; waiting ones are never dropped."""
    reserve: float = 0.1
    """Part of Redis' maxmemory that is reserved for running work: new work is refused when only that is left."""
    dead_letters: int = 1_000
    index_entries: int = 10_000
    """Most tasks that the list shows."""
    image_bytes: int = 4 * 1024 * 1024
    transcript_bytes: int = 8 * 1024 * 1024
    """Limit of the decompressed size too: a few compressed kilobytes can hold gigabytes."""
    connections: int = 32
    """Connections for short commands; more callers wait for a free one. Blocking reads have their own."""
    command_patience_s: float = 6.0
    """Time for which a short command is retried while Redis is away [s]."""
    answer_s: float = 5.0
    """Time without an answer, beyond the time a command blocks, after which a connection is broken [s]."""

    def __post_init__(self) -> None:
        if not 1 <= self.block_ms <= 4000:
            raise ValueError(
                f"block_ms is {self.block_ms}; it must be 1 to 4000, so that a dead connection is noticed soon"
            )
        if not 0 <= self.reserve < 1:
            raise ValueError(f"reserve is {self.reserve}; it is a part of Redis' memory, from 0 to below 1")
        if self.lease_s <= 0 or self.delivery_cap < 1 or self.connections < 1 or self.answer_s <= 0:
            raise ValueError(
                f"lease_s={self.lease_s}, delivery_cap={self.delivery_cap}, connections={self.connections}, "
                f"answer_s={self.answer_s}: all must be positive"
            )
