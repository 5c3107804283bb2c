"""What an earlier process had done of a loop, read from the journal, so that the loop goes on where that one ended."""

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, cast

from quartet_agent_runtime.gateway import ModelAnswer, ToolCall
from quartet_agent_runtime.tools import Image, ToolOutcome
from quartet_contracts import JournalEvent, Usage
from quartet_contracts.journal import ModelTurn, ToolCalled, ToolReturned

LoadImage = Callable[[str], Awaitable[tuple[bytes, str] | None]]
"""Data and media type of an image reference, or None."""


@dataclass(frozen=True)
class PastResult:
    outcome: ToolOutcome
    references: list[str]


@dataclass(frozen=True)
class PastTurn:
    """A model's answer and what became of its calls, in the order in which they were made."""

    answer: ModelAnswer
    usage: Usage
    at: float
    """When the answer was journaled, seconds since the epoch."""
    results: list[PastResult] = field(default_factory=list[PastResult])
    called: int = 0
    """How many calls were journaled; one more than there are results when the process ended within a call."""


async def read_past(events: Iterable[JournalEvent], load_image: LoadImage) -> list[PastTurn]:
    """The turns in `events`, which are those of one loop and nothing else."""
    turns: list[PastTurn] = []
    called = 0
    for event in events:
        match event.event:
            case ModelTurn() as said:
                turns.append(PastTurn(_answer(said), said.usage, event.at))
                called = 0
            case ToolCalled() if turns:
                called += 1
                turns[-1] = replace(turns[-1], called=called)
            case ToolReturned() as returned if turns:
                result = PastResult(await _outcome(returned, load_image), list(returned.images))
                turns[-1] = replace(turns[-1], results=[*turns[-1].results, result])
            case _:
                pass
    return turns


def _answer(said: ModelTurn) -> ModelAnswer:
    return ModelAnswer(
        text="" if said.refused else said.text,
        calls=[ToolCall(id=call.id, name=call.tool, arguments=call.arguments, fault=call.fault) for call in said.calls],
        refusal=said.text if said.refused else None,
        model=said.model,
        prompt_tokens=said.usage.prompt_tokens,
        completion_tokens=said.usage.completion_tokens,
        cost_usd=said.usage.cost_usd,
        takes_images=said.takes_images,
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
    # It was too long to be kept whole.
    return {"ok": returned.ok, "error_code": returned.error_code, "text": returned.text}
