"""Fence that a robot's servers have in force, read from their health endpoints."""

from collections.abc import Collection, Mapping

import httpx

from quartet_cli.errors import UsageError
from quartet_contracts import health_url

TIMEOUT_S = 5.0


def newest_fence(robot: str, servers: Collection[str], endpoints: Mapping[str, str]) -> int:
    """Return the highest fence that `servers` of `robot` know; `endpoints` are MCP endpoints by server.

    Raises UsageError when one of them cannot be asked.
    """
    return max(_fence_of(robot, name, endpoints) for name in sorted(servers))


def _fence_of(robot: str, server: str, endpoints: Mapping[str, str]) -> int:
    if server not in endpoints:
        raise _unreadable(
            robot,
            f"no address of its server '{server}' is known here (known: {', '.join(sorted(endpoints)) or 'none'})",
            "set QUARTET_SERVERS as the orchestrator has it",
        )
    url = health_url(endpoints[server])
    try:
        # The status is not looked at: a server with a problem elsewhere knows its fence all the same.
        return int(httpx.get(url, timeout=TIMEOUT_S, trust_env=False).json()["fence"])
    except httpx.HTTPError as error:
        problem = str(error) or type(error).__name__
        raise _unreadable(robot, f"{server} does not answer at {url} ({problem})", "start that server") from error
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(robot, f"what answers at {url} tells no fence", "check the address of that server") from error


def _unreadable(robot: str, why: str, remedy: str) -> UsageError:
    return UsageError(
        f"the fence of '{robot}' cannot be read: {why}; {remedy}, or give --fence N, one more than the number that "
        "FENCED names"
    )
