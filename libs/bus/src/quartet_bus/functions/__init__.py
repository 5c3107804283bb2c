"""Redis Functions: what has to happen in Redis atomically. Each function is a class with named keys and arguments.

A function is atomic, as MULTI is, and can decide on what it finds. It runs with the rights of the user that calls it:
Redis checks each command in it against that user's ACL (seen with Redis 7.0.15), so a function grants no rights.

While a deployment is updated, two versions of a function may be called. Whoever changes a function's keys, arguments
or answer therefore raises VERSION; libraries of several versions can be loaded at the same time.
https://redis.io/docs/latest/develop/programmability/functions-intro/
"""

import functools

from quartet_bus.functions import queues, records, requests, tasks
from quartet_bus.functions._base import FUNCTIONS, HELPERS, LIBRARY, NOT_FOUND, VERSION, Function
from quartet_bus.functions._routes import AnnounceRoute, WithdrawRoute

__all__ = [
    "FUNCTIONS",
    "LIBRARY",
    "NOT_FOUND",
    "VERSION",
    "AnnounceRoute",
    "Function",
    "WithdrawRoute",
    "library",
    "queues",
    "records",
    "requests",
    "tasks",
]


@functools.cache
def library() -> str:
    """Return the source of the library, as FUNCTION LOAD takes it."""
    return f"#!lua name={LIBRARY}\n{HELPERS}" + "".join(function.source() for function in FUNCTIONS)
