"""The simulated world as its scoring interface shows it: reset, ground truth and goals."""

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

import httpx

from quartet_benchmarks.errors import UnfitPlacementError

Truth = dict[str, Any]
TIMEOUT_S = 60.0


class World:
    """Client of the scoring interface; used in a `with` block, which closes its connections."""

    def __init__(self, scoring_url: str) -> None:
        self._http = httpx.Client(base_url=scoring_url, timeout=TIMEOUT_S, trust_env=False)

    def reset(self, seed: int, scenario: str = "") -> Truth:
        """Start a new episode and return the ground truth. Raises UnfitPlacementError when it is refused."""
        body: dict[str, Any] = {"seed": seed}
        if scenario:
            body["scenario"] = scenario
        answer = self._http.post("/reset", json=body)
        if answer.is_error:
            raise UnfitPlacementError(
                f"the simulation refused seed {seed} with scenario '{scenario}': {answer.text}",
                "the simulation has no room for what the kind of episode asks for",
            )
        return answer.json()

    def truth(self) -> Truth:
        """Return the ground truth."""
        return self._http.get("/truth").raise_for_status().json()

    def __enter__(self) -> "World":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close its connections."""
        self._http.close()


@dataclass(frozen=True)
class Goal:
    """Object and the place where it must end."""

    object: str
    kind: Literal["on", "in", "floor"]
    target: str
    """Name of the surface or container, or of the area for its floor."""

    def met(self, truth: Truth) -> bool:
        """Return whether the object is at its target and not in the gripper."""
        thing = truth["objects"].get(self.object)
        if thing is None or thing["held"]:
            return False
        if self.kind == "on":
            return thing["on"] == self.target
        if self.kind == "in":
            return thing["in"] == self.target
        return thing["on"] == "floor" and thing["area"] == self.target
