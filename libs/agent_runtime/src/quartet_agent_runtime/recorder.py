"""Writes what happens in a loop to the task's journal, before it takes effect."""

import json
import time
from typing import Any, cast

from quartet_agent_runtime.arguments import is_text
from quartet_agent_runtime.conversation import MAX_RESULT_CHARS, cut
from quartet_agent_runtime.gateway import ModelAnswer, ToolCall
from quartet_agent_runtime.ports import ImageStore, Journal, TranscriptStore
from quartet_agent_runtime.tools import Image, ToolOutcome
from quartet_contracts import Actor, JournalEvent, Usage
from quartet_contracts.journal import (
    Happening,
    ModelTurn,
    Note,
    ToolCalled,
    ToolProgress,
    ToolReturned,
    Verified,
    WantedCall,
)

MAX_JOURNAL_TEXT = 4000
MAX_JOURNALED_CALLS = 8
"""Calls of one turn that are kept in full; a model that is taken over after more makes the rest of them again."""
PROGRESS_INTERVAL_S = 0.25


class Recorder:
    """The journal, images and transcripts as one loop of `actor` uses them."""

    def __init__(
        self,
        *,
        actor: Actor,
        task_id: str,
        loop_id: str,
        journal: Journal,
        images: ImageStore,
        transcripts: TranscriptStore,
        request_id: str | None = None,
    ) -> None:
        self.actor: Actor = actor
        self.task_id = task_id
        self._loop_id = loop_id
        self._request_id = request_id
        self._journal = journal
        self._images = images
        self._transcripts = transcripts
        self._last_progress = 0.0

    async def write(self, event: Happening) -> None:
        await self._journal.append(
            JournalEvent(
                task_id=self.task_id, actor=self.actor, at=time.time(), event=event, request_id=self._request_id
            )
        )

    async def turn(self, number: int, answer: ModelAnswer, usage: Usage) -> None:
        text = cut(answer.text or answer.refusal or "", MAX_JOURNAL_TEXT)
        tools = [call.name[:100] for call in answer.calls]
        calls = [
            WantedCall(
                id=call.id[:200],
                tool=call.name[:100],
                arguments=cut(_text(call.arguments), MAX_JOURNAL_TEXT),
                fault=call.fault,
            )
            for call in answer.calls[:MAX_JOURNALED_CALLS]
        ]
        refused = answer.refusal is not None and not answer.text
        await self.write(
            ModelTurn(
                turn=number,
                text=text,
                refused=refused,
                tools=tools,
                calls=calls,
                usage=usage,
                model=answer.model,
                takes_images=answer.takes_images,
            )
        )

    async def called(self, call: ToolCall) -> None:
        await self.write(ToolCalled(call_id=call.id, tool=call.name[:100], arguments=_journaled(call.arguments)))

    async def progress(self, call: ToolCall, fraction: float | None, message: str) -> None:
        """Progress of a running call, at most a few times a second."""
        now = time.monotonic()
        if now - self._last_progress >= PROGRESS_INTERVAL_S:
            self._last_progress = now
            text = cut(message, MAX_JOURNAL_TEXT)
            await self.write(ToolProgress(call_id=call.id, tool=call.name, fraction=fraction, message=text))

    async def returned(self, call: ToolCall, outcome: ToolOutcome, duration_s: float) -> list[str]:
        """Store the images of a result, journal it, and return the images' references."""
        references = [await self.keep(image) for image in outcome.images]
        text = cut(json.dumps(outcome.content, ensure_ascii=False, separators=(",", ":")), MAX_RESULT_CHARS)
        await self.write(
            ToolReturned(
                call_id=call.id,
                tool=call.name[:100],
                ok=outcome.ok,
                error_code=outcome.error_code,
                text=text,
                images=references,
                duration_s=round(duration_s, 4),
            )
        )
        return references

    async def keep(self, image: Image) -> str:
        return await self._images.put(self.task_id, image.data, image.media_type)

    async def verified(self, claimed: str, settled: str, note: str) -> None:
        await self.write(Verified(claimed=claimed, settled=settled, note=cut(note, MAX_JOURNAL_TEXT)))

    async def note(self, text: str) -> None:
        await self.write(Note(text=cut(text, MAX_JOURNAL_TEXT)))

    async def transcript(self, messages: list[dict[str, Any]], usage: Usage, ending: str | None = None) -> None:
        await self._transcripts.save(
            self.task_id,
            self._loop_id,
            {
                "actor": self.actor,
                "loop_id": self._loop_id,
                "usage": usage.model_dump(),
                "ending": ending,
                "messages": messages,
            },
        )


def _text(arguments: Any) -> str:
    if not isinstance(arguments, str):
        return json.dumps(arguments, default=str)
    return arguments if is_text(arguments) else json.dumps(arguments)


def _journaled(arguments: Any) -> dict[str, Any]:
    """Arguments as the journal keeps them, also when they are malformed or huge."""
    value = arguments
    if isinstance(value, str):
        try:
            value = json.loads(value or "{}")
        except (ValueError, RecursionError):
            return {"malformed": cut(_text(arguments), MAX_JOURNAL_TEXT)}
    if not isinstance(value, dict) or not is_text(cast("Any", value)):
        return {} if value is None else {"malformed": cut(_text(arguments), MAX_JOURNAL_TEXT)}
    mapping = cast("dict[str, Any]", value)
    text = json.dumps(mapping, default=str)
    return mapping if len(text) <= MAX_JOURNAL_TEXT else {"cut": cut(text, MAX_JOURNAL_TEXT)}
