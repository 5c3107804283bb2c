"""Notice a model that makes the same call over and over."""

import contextlib
import json
from typing import Any, cast

from quartet_agent_runtime._model import ToolCall
from quartet_agent_runtime._tools import ToolOutcome, failure

LIMIT = 3
VOLATILE = frozenset({"duration_s", "repaired"})
DECIMALS = 2


class Repetition:
    """Counts equal calls with equal results since anything new happened.

    The model is told of the third one; the fourth is not made and ends the loop. A new pair of call and result is
    progress and resets the counts, so that a procedure may poll a state again and again while the world changes.
    Numbers are equal when they agree to two decimals: poses carry measurement noise.

    Calls count apart by the tool that was called before them: a grasp that is tried twice opens the fingers before it
    and after it, each time with the same result.
    """

    def __init__(self) -> None:
        self._pairs: set[str] = set()
        self._counts: dict[tuple[str, str], int] = {}
        """By the last other tool, and call with result."""
        self._warned: set[str] = set()
        self._last = self._before = ""

    def is_forbidden(self, call: ToolCall) -> bool:
        """Whether the model was told already that this call is pointless."""
        return _key(call.name, call.arguments) in self._warned

    def seen(self, call: ToolCall, outcome: ToolOutcome) -> bool:
        """Record a call; return whether it is the third of its kind."""
        key = _key(call.name, call.arguments)
        pair = f"{key}->{_key('', outcome.content)}"
        if pair not in self._pairs:
            self._pairs.add(pair)
            self._counts = dict.fromkeys(self._counts, 1)
            self._warned.clear()
        if call.name != self._last:
            self._before, self._last = self._last, call.name
        # The first call of all came after none; it counts with the next one like it.
        place = self._before, pair
        self._counts[place] = self._counts.pop(("", pair), 0) + self._counts.get(place, 0) + 1
        if self._counts[place] < LIMIT:
            return False
        self._warned.add(key)
        return True

    def reason(self, call: ToolCall) -> str:
        """Return why a forbidden call ends the loop."""
        return f"the model repeated {call.name} with the same arguments and the same result more than {LIMIT} times"

    def note(self, call: ToolCall) -> str:
        """Return what the journal says of the third equal call."""
        return f"{call.name} gave the same result {LIMIT} times; the model is told"

    def warning(self, outcome: ToolOutcome, report: str) -> ToolOutcome:
        """Return what the model reads in place of the third equal `outcome`; `report`: the tool that ends its work."""
        said = outcome.message.partition("\n")[0]
        return failure(
            "REPEATED_CALL",
            f"this call gave the same result {LIMIT} times ({outcome.error_code}: {said})\n"
            f"Do something else, or end with {report}; the same call once more ends your work.",
        )


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
