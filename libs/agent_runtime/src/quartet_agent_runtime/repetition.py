"""Notices a model that makes the same call over and over."""

import contextlib
import json
from typing import Any, cast

from quartet_agent_runtime.tools import ToolOutcome

LIMIT = 3
VOLATILE = frozenset({"duration_s"})
DECIMALS = 2


class Repetition:
    """Counts equal calls with equal results since anything new happened.

    The third one is told to the model; a fourth is not made and ends the loop. A pair of call and result that was not
    there before is progress and forgets the counts, so that a procedure may poll a state again and again while the
    world changes. Numbers count as equal when they agree to two decimals: poses carry measurement noise.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._warned: set[str] = set()

    def is_forbidden(self, name: str, arguments: Any) -> bool:
        """Whether this call was already told to be pointless."""
        return _key(name, arguments) in self._warned

    def seen(self, name: str, arguments: Any, outcome: ToolOutcome) -> bool:
        """Record a call; True when it is the third of its kind."""
        pair = f"{_key(name, arguments)}->{_key('', outcome.content)}"
        if pair not in self._counts:
            self._counts = dict.fromkeys(self._counts, 1)
            self._warned.clear()
        self._counts[pair] = self._counts.get(pair, 0) + 1
        if self._counts[pair] < LIMIT:
            return False
        self._warned.add(_key(name, arguments))
        return True


def _key(name: str, value: Any) -> str:
    if isinstance(value, str):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    return f"{name}({json.dumps(_coarse(value), sort_keys=True, default=str)})"


def _coarse(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: _coarse(entry) for key, entry in fields.items() if key not in VOLATILE}
    if isinstance(value, list | tuple):
        return [_coarse(entry) for entry in cast("list[Any]", value)]
    return value
