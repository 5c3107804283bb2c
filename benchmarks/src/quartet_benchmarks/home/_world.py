"""The simulation's scoring interface."""

from typing import Any

import httpx

from quartet_benchmarks.home._goals import Truth

TIMEOUT_S = 60.0


class World:
    """Sets episodes up and tells the truth about them."""

    def __init__(self, scoring_url: str) -> None:
        self._http = httpx.Client(base_url=scoring_url, timeout=TIMEOUT_S)

    def reset(self, seed: int, scenario: str = "") -> Truth:
        """A new episode; the truth about its start. Raises ValueError with the simulation's words."""
        body: dict[str, Any] = {"seed": seed}
        if scenario:
            body["scenario"] = scenario
        answer = self._http.post("/reset", json=body)
        if answer.is_error:
            raise ValueError(f"the simulation refused seed {seed} with scenario '{scenario}': {answer.text}")
        return answer.json()

    def truth(self) -> Truth:
        return self._http.get("/truth").raise_for_status().json()

    def close(self) -> None:
        self._http.close()
