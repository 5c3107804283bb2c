"""Log and metric of unreadable data in Redis, which readers skip so that it cannot stop them."""

import logging

from prometheus_client import Counter

from quartet_process import REGISTRY

log = logging.getLogger(__name__)

SKIPPED = Counter(
    "quartet_bus_skipped",
    "Entries in Redis that could not be read or were not their writer's to write, by kind",
    ("kind",),
    registry=REGISTRY,
)


def log_skipped(kind: str, what: str, why: object) -> None:
    """Log and count that an entry was skipped.

    Args:
        kind: Constant that labels the metric: journal, agent journal, transcript, image and the like.
        what: Name of the entry, for the log.
        why: Reason why it cannot be read.
    """
    SKIPPED.labels(kind).inc()
    log.warning("%s %s is skipped: %s", kind, what, ascii(str(why))[1:301])
