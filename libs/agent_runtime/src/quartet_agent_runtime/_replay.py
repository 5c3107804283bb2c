"""Replay of a journal: a loop goes on where an earlier process ended it.

`read_turns` reads what the model said and what its calls gave; `ReplayedCalls` stands before the live calls and answers
from the journal as long as it can.
"""

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, cast

from quartet_agent_runtime._model import ModelAnswer, ToolCall
from quartet_agent_runtime._tools import CallResult, Image, ToolOutcome
from quartet_agent_runtime.calls import LiveCalls
from quartet_contracts import JournalEvent
from quartet_contracts.journal import ModelTurn, ToolCalled, ToolReturned

LoadImage = Callable[[str], Awaitable[tuple[bytes, str] | None]]
"""Returns data and media type of an image by its reference, or None."""


@dataclass(frozen=True)
class RecordedTurn:
    """A model's answer and what became of its calls, in the order in which they were made."""

    answer: ModelAnswer
    at: float
    """When the answer was journaled [s since the epoch]."""
    results: list[CallResult] = field(default_factory=list[CallResult])
    called: int = 0
    """How many calls were journaled; one more than there are results when the process ended within a call."""


class ReplayedCalls:
    """The calls of a recorded turn: answered with the results that they had, and made where there is none."""

    def __init__(self, turn: RecordedTurn, live: LiveCalls) -> None:
        self._turn = turn
        self._live = live
        self._made = 0

    async def make(self, call: ToolCall) -> CallResult:
        """Return the recorded result of `call`, or that of making it now. See Calls.make."""
        number, self._made = self._made, self._made + 1
        if number < len(self._turn.results):
            return self._live.recall(self._turn.results[number])
        return await self._live.make(call, journaled=number < self._turn.called)


async def read_turns(events: Iterable[JournalEvent], load_image: LoadImage) -> list[RecordedTurn]:
    """Return the turns in `events`, which are those of one loop and nothing else."""
    turns: list[RecordedTurn] = []
    called = 0
    for event in events:
        match event.event:
            case ModelTurn() as said:
                turns.append(RecordedTurn(_answer(said), event.at))
                called = 0
            case ToolCalled() if turns:
                called += 1
                turns[-1] = replace(turns[-1], called=called)
            case ToolReturned() as returned if turns:
                result = CallResult(await _outcome(returned, load_image), list(returned.images))
                turns[-1] = replace(turns[-1], results=[*turns[-1].results, result])
            case _:
                pass
    return turns


def _answer(said: ModelTurn) -> ModelAnswer:
    return ModelAnswer(
        text="" if said.refused else said.text,
        calls=[ToolCall(call.id, call.tool, call.arguments, call.fault, call.repaired) for call in said.calls],
        refusal=said.text if said.refused else None,
        model=said.model,
        prompt_tokens=said.usage.prompt_tokens,
        completion_tokens=said.usage.completion_tokens,
        cost_usd=said.usage.cost_usd,
        takes_images=said.takes_images,
        reasoning=said.reasoning,
    )


async def _outcome(returned: ToolReturned, load_image: LoadImage) -> ToolOutcome:
    images: list[Image] = []
    for reference in returned.images:
        found = await load_image(reference)
        if found is not None:
            images.append(Image(*found))
    return ToolOutcome(_content(returned), images)


def _content(returned: ToolReturned) -> dict[str, Any]:
    try:
        value: Any = json.loads(returned.text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    # The text was too long to be kept whole.
    return {"ok": returned.ok, "error_code": returned.error_code, "text": returned.text}
