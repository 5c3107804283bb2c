"""Client of the stop service's HTTP API."""

import time
from typing import Any

import httpx2

from quartet_deployment.errors import RefusedError, UnreachableError
from quartet_process.bounded_answers import blocking_client

CALL_TIMEOUT_S = 15.0
POLL_S = 0.1
EMERGENCY_STOP = "Press the emergency stop on the robot itself."


class StopClient:
    """Client of one stop service. Raises UnreachableError and RefusedError with texts for the person."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        self._http = blocking_client(
            base_url=self.url, timeout=CALL_TIMEOUT_S, headers={"Authorization": f"Bearer {token}"}
        )

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def __enter__(self) -> "StopClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stop(self, robot: str | None, reason: str) -> dict[str, dict[str, Any]]:
        """Stop one robot, or all with None; return the state by robot.

        It returns as soon as every guard has confirmed or could not be reached.
        """
        body = {"reason": reason} if robot is None else {"robot": robot, "reason": reason}
        return self._call("POST", "/stop", body)

    def reset(self, robot: str | None) -> dict[str, dict[str, Any]]:
        """Reset one robot, or all with None; return the state by robot, whose `missed` says who was not reached."""
        return self._call("POST", "/reset", {} if robot is None else {"robot": robot})

    def state(self) -> dict[str, dict[str, Any]]:
        """Return the state by robot."""
        return self._call("GET", "/state", None)

    def wait_standstill(self, robots: list[str], within_s: float) -> dict[str, dict[str, Any]]:
        """Return the state once every guard has measured whether its robot rests and every server has answered.

        After `within_s` seconds the state is returned as it is then.
        """
        end = time.monotonic() + within_s
        while True:
            found = {name: state for name, state in self.state().items() if name in robots}
            if all(_settled(state) for state in found.values()) or time.monotonic() > end:
                return found
            time.sleep(POLL_S)

    def _call(self, method: str, path: str, body: dict[str, str] | None) -> dict[str, dict[str, Any]]:
        try:
            answer = self._http.request(method, path, json=body)
        except httpx2.HTTPError as error:
            raise UnreachableError(
                f"the stop service does not answer at {self.url} ({type(error).__name__}: {error}). {EMERGENCY_STOP}"
            ) from error
        try:
            fields = answer.json()
            if answer.status_code in {200, 502}:
                return dict(fields["robots"])
            raise RefusedError(str(fields["detail"]))
        except (ValueError, KeyError, TypeError) as error:
            raise UnreachableError(
                f"{self.url} is not a stop service; it answered {answer.status_code}: {answer.text[:200]}. "
                f"{EMERGENCY_STOP}"
            ) from error


def _settled(state: dict[str, Any]) -> bool:
    asked = [str(text) for text in state["servers"].values() if str(text).startswith("asked")]
    return state["stopped"] and state["standstill"] is not None and not asked
