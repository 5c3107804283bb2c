"""Fence that a robot's servers have in force, read from their health endpoints."""

from collections.abc import Collection, Mapping
from typing import Any

import httpx2

from quartet_cli.errors import UsageError
from quartet_contracts import health_url
from quartet_process.bounded_answers import blocking_client

TIMEOUT_S = 5.0


def newest_fence(robot: str, tools: Collection[str], endpoints: Mapping[str, str]) -> int:
    """Return the highest fence that the servers of `tools` (<server>__<tool>) know; `endpoints` are MCP endpoints.

    Raises UsageError when one of them cannot be asked, or says that it has no such tool.
    """
    of_server: dict[str, set[str]] = {}
    for tool in tools:
        server, _, name = tool.partition("__")
        of_server.setdefault(server, set()).add(name)
    return max(_fence_of(robot, server, names, endpoints) for server, names in sorted(of_server.items()))


def _fence_of(robot: str, server: str, tools: set[str], endpoints: Mapping[str, str]) -> int:
    if server not in endpoints:
        raise _unreadable(
            robot,
            f"no address of its server '{server}' is known here (known: {', '.join(sorted(endpoints)) or 'none'})",
            "set QUARTET_SERVERS as the orchestrator has it",
        )
    url = health_url(endpoints[server])
    try:
        # The status is not looked at: a server with a problem elsewhere knows its fence all the same.
        with blocking_client(timeout=TIMEOUT_S) as http:
            health: Any = http.get(url).json()
        fence, served = int(health["fence"]), list[str](health.get("tools", tools))
    except httpx2.HTTPError as error:
        problem = str(error) or type(error).__name__
        raise _unreadable(robot, f"{server} does not answer at {url} ({problem})", "start that server") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unreadable(robot, f"what answers at {url} tells no fence", "check the address of that server") from error
    if missing := sorted(tools - {*served}):
        raise UsageError(
            f"server '{server}' has no tool '{missing[0]}'; it has: "
            f"{', '.join(f'{server}__{name}' for name in sorted(served))}"
        )
    return fence


def _unreadable(robot: str, why: str, remedy: str) -> UsageError:
    return UsageError(
        f"the fence of '{robot}' cannot be read: {why}; {remedy}, or give --fence N, one more than the number that "
        "FENCED names"
    )
