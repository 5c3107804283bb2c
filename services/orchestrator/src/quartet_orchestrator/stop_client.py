"""Client of the stop service. Its credential may stop and read the state; it cannot reset."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import httpx2

from quartet_orchestrator.errors import StopServiceError
from quartet_process.bounded_answers import control_client

log = logging.getLogger(__name__)

PRESS_S = 4.0
"""Time limit of a request. The stop service answers within 2 s, whether the guard has confirmed or not."""
STANDSTILL_S = 3.0
"""Time for which a braking robot is watched for standstill."""
LOOK_EVERY_S = 0.1


class StopClient:
    """Stops robots through the stop service."""

    def __init__(self, url: str, token: Callable[[], str]) -> None:
        """`token` returns the bearer token."""
        self._url, self._token = url.rstrip("/"), token

    async def stop(self, robot: str | None, reason: str) -> dict[str, dict[str, Any]]:
        """Stop `robot`, or all, wait up to STANDSTILL_S for standstill, and return each robot's state.

        Raises StopServiceError when the stop failed. When only the state cannot be read afterwards, the states are
        those of the stop's own answer.
        """
        async with control_client(PRESS_S) as http:
            body = {"reason": reason} if robot is None else {"robot": robot, "reason": reason}
            found = await self._ask(http, "POST", "/stop", body)
            names = set(found)
            ends_at = asyncio.get_running_loop().time() + STANDSTILL_S
            while any(_brakes(state) for state in found.values()) and asyncio.get_running_loop().time() < ends_at:
                await asyncio.sleep(LOOK_EVERY_S)
                try:
                    now = await self._ask(http, "GET", "/state", None)
                except StopServiceError as problem:
                    log.warning("stopped, but it is not known whether the robot stands still: %s", problem)
                    break
                found = {name: state for name, state in now.items() if name in names}
        return found

    async def state(self) -> dict[str, dict[str, Any]]:
        """Return each robot's state. Raises StopServiceError."""
        async with control_client(PRESS_S) as http:
            return await self._ask(http, "GET", "/state", None)

    async def _ask(
        self, http: httpx2.AsyncClient, method: str, path: str, body: dict[str, Any] | None
    ) -> dict[str, dict[str, Any]]:
        try:
            async with asyncio.timeout(PRESS_S):
                answer = await http.request(
                    method, self._url + path, json=body, headers={"Authorization": f"Bearer {self._token()}"}
                )
            found = answer.json()
        except (httpx2.HTTPError, ValueError, TimeoutError) as error:
            raise StopServiceError(
                f"the stop service at {self._url} was not reached ({type(error).__name__}): use the robot's emergency "
                "stop, and have a person run: quartet stop"
            ) from error
        # Status 502: a guard did not confirm. The body has each robot's state all the same.
        if "robots" not in found:
            raise StopServiceError(f"the stop service refused ({answer.status_code}): {str(found.get('detail'))[:500]}")
        return found["robots"]


def _brakes(state: dict[str, Any]) -> bool:
    return state.get("stopped") is True and state.get("standstill") is None


def describe_stop(state: dict[str, Any]) -> str:
    """Return what became of one robot, in words."""
    if state.get("stopped") is not True:
        return f"its guard has not confirmed: {state.get('guard', {}).get('error', 'no reason given')}"
    return "stopped, at standstill" if state.get("standstill") else "stopped, not yet at standstill"
