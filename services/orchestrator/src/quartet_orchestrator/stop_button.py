"""The stop service as the orchestrator's clients reach it: a credential of its own that stops and looks, and never
resets.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import httpx2

log = logging.getLogger(__name__)

PRESS_S = 4.0
"""The stop service answers within 2 s, whether the guard has confirmed or not."""
STANDSTILL_S = 3.0
"""How long a braking robot is watched for standstill."""
LOOK_EVERY_S = 0.1


class StopProblem(Exception):
    """The stop service was not reached, or refused; the message says what a person can do."""


class StopButton:
    """Presses stop at the service at `url`; `token` gives the bearer token."""

    def __init__(self, url: str, token: Callable[[], str]) -> None:
        self._url, self._token = url.rstrip("/"), token

    async def press(self, robot: str | None, reason: str) -> dict[str, dict[str, Any]]:
        """Stop `robot`, or all, and wait a moment for standstill; each robot's state.

        Raises StopProblem where the press failed. A look that fails after it leaves the state as the press told it.
        """
        async with httpx2.AsyncClient(timeout=PRESS_S, trust_env=False) as http:
            body = {"reason": reason} if robot is None else {"robot": robot, "reason": reason}
            found = await self._ask(http, "POST", "/stop", body)
            names = set(found)
            ends_at = asyncio.get_running_loop().time() + STANDSTILL_S
            while any(_brakes(state) for state in found.values()) and asyncio.get_running_loop().time() < ends_at:
                await asyncio.sleep(LOOK_EVERY_S)
                try:
                    now = await self._ask(http, "GET", "/state", None)
                except StopProblem as problem:
                    log.warning("stopped, but whether it stands still is not known: %s", problem)
                    break
                found = {name: state for name, state in now.items() if name in names}
        return found

    async def _ask(
        self, http: httpx2.AsyncClient, method: str, path: str, body: dict[str, Any] | None
    ) -> dict[str, dict[str, Any]]:
        try:
            answer = await http.request(
                method, self._url + path, json=body, headers={"Authorization": f"Bearer {self._token()}"}
            )
            found = answer.json()
        except (httpx2.HTTPError, ValueError) as error:
            raise StopProblem(
                f"the stop service at {self._url} was not reached ({type(error).__name__}): use the emergency stop of "
                "the robot, and have a person run: quartet stop"
            ) from error
        # 502 says that a guard did not confirm; its body has each robot's state all the same.
        if "robots" not in found:
            raise StopProblem(f"the stop service refused ({answer.status_code}): {str(found.get('detail'))[:500]}")
        return found["robots"]


def _brakes(state: dict[str, Any]) -> bool:
    return state.get("stopped") is True and state.get("standstill") is None


def in_words(state: dict[str, Any]) -> str:
    """What became of one robot."""
    if state.get("stopped") is not True:
        return f"its guard has not confirmed: {state.get('guard', {}).get('error', 'it gave no reason')}"
    return "stopped, at standstill" if state.get("standstill") else "stopped, not yet at standstill"
