"""The stop service, as the command uses it."""

import time
from typing import Any

import httpx

from quartet_cli.errors import Refused, Unreachable
from quartet_cli.settings import CliSettings, running_stack
from quartet_process import missing

CALL_TIMEOUT_S = 15.0
LOOK_EVERY_S = 0.1
BESIDE = "Press the emergency stop on the robot itself."


class StopService:
    """A client of one stop service. Raises Unreachable and Refused with texts for the person."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(
            base_url=self.url, timeout=CALL_TIMEOUT_S, headers={"Authorization": f"Bearer {token}"}, trust_env=False
        )

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> "StopService":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stop(self, robot: str | None, reason: str) -> dict[str, dict[str, Any]]:
        """State by robot, as soon as the guards have confirmed or could not be reached."""
        body = {"reason": reason} if robot is None else {"robot": robot, "reason": reason}
        return self._ask("POST", "/stop", body)

    def reset(self, robot: str | None) -> dict[str, dict[str, Any]]:
        """State by robot; `missed` says who could not be reached."""
        return self._ask("POST", "/reset", {} if robot is None else {"robot": robot})

    def state(self) -> dict[str, dict[str, Any]]:
        return self._ask("GET", "/state", None)

    def wait_standstill(self, robots: list[str], within_s: float) -> dict[str, dict[str, Any]]:
        """The state once every guard has measured whether its robot rests and every server was heard of."""
        end = time.monotonic() + within_s
        while True:
            found = {name: state for name, state in self.state().items() if name in robots}
            if all(_settled(state) for state in found.values()) or time.monotonic() > end:
                return found
            time.sleep(LOOK_EVERY_S)

    def _ask(self, method: str, path: str, body: dict[str, str] | None) -> dict[str, dict[str, Any]]:
        try:
            answer = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise Unreachable(
                f"the stop service does not answer at {self.url} ({type(error).__name__}: {error}). {BESIDE}"
            ) from error
        try:
            fields = answer.json()
            if answer.status_code in {200, 502}:
                return dict(fields["robots"])
            raise Refused(str(fields["detail"]))
        except (ValueError, KeyError, TypeError) as error:
            raise Unreachable(
                f"{self.url} is no stop service; it answered {answer.status_code}: {answer.text[:200]}. {BESIDE}"
            ) from error


def _settled(state: dict[str, Any]) -> bool:
    asked = [str(text) for text in state["servers"].values() if str(text).startswith("asked")]
    return state["stopped"] and state["standstill"] is not None and not asked


def find_stop_service() -> StopService:
    """The one of QUARTET_STOP_URL, or of the running `quartet up`. Raises Refused."""
    settings, running = CliSettings(), running_stack()
    url = settings.stop_url or running.get("stop_url", "")
    if not url:
        raise Refused(
            f"no `quartet up` runs here and QUARTET_STOP_URL is not set: set it to the stop service. {BESIDE}"
        )
    token = settings.token_for_stop()
    if token is None:
        raise Refused(f"{missing('stop_token', 'it is what the stop service asks for')}. {BESIDE}")
    return StopService(url, token)
