"""Record what happens in a loop: in the task's journal, before anything is done for it, with images and transcripts."""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

from quartet_agent_runtime import _metrics as metrics
from quartet_agent_runtime._arguments import is_text
from quartet_agent_runtime._conversation import MAX_RESULT_CHARS, truncate
from quartet_agent_runtime._model import ModelAnswer, ToolCall
from quartet_agent_runtime._protocols import ImageStore, Journal, TranscriptStore
from quartet_agent_runtime._tools import CallResult, Image, ToolOutcome
from quartet_contracts import MAX_MESSAGE_BYTES, Actor, JournalEvent, Usage
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

log = logging.getLogger(__name__)

MAX_JOURNAL_TEXT = 4000
MAX_JOURNALED_CALLS = 8
"""Calls of one turn that are kept in full; a model whose loop is replayed after more makes the others again."""
MAX_TURN_BYTES = MAX_MESSAGE_BYTES - 4096
"""Maximum size of a turn in the journal; leaves room for what an event adds. Reasoning is left out as a whole, since a
model refuses a part of it."""
PROGRESS_INTERVAL_S = 0.25
TRANSCRIPT_INTERVAL_S = 0.1


class Recorder:
    """Records one loop of `actor`: its journal, images and transcript."""

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
        self._held: list[JournalEvent] = []
        self._writing: asyncio.Task[None] | None = None
        """The newest write, which waits for all before it; None where the loop knows that one has failed."""
        self.calls = 0
        """Tool calls whose results were journaled, those of code and refused ones included."""
        self._last_progress = 0.0
        self._unsaved: dict[str, Any] | None = None
        self._saver: asyncio.Task[None] | None = None
        self._saving = asyncio.Lock()

    async def write(self, event: Happening) -> None:
        """Journal `event`, behind what is held; all before it and itself are durable when this returns."""
        self._begin_to_write(event)
        await self.written()

    async def write_held(self) -> None:
        """Journal what is held, if anything is; all before it and itself are durable when this returns."""
        if self._held:
            self._begin_to_write()
            await self.written()

    async def written(self) -> None:
        """Return when all that was begun to be written is durable; raises what has kept any of it from it.

        Canceling whoever waits here does not cancel the writing; `leave` does.
        """
        writing = self._writing
        if writing is None:
            return
        try:
            await asyncio.shield(writing)
        except Exception:
            self._writing = None
            raise

    def _begin_to_write(self, *events: Happening) -> None:
        """Begin to journal what is held and `events`, behind all that was begun before and only if that succeeds."""
        all_events, self._held = [*self._held, *map(self._now, events)], []
        self._begin(partial(self._journal.append, *all_events))

    def _begin(self, write: Callable[[], Awaitable[object]]) -> None:
        """Begin `write` when all that was begun before has succeeded."""

        async def write_behind(before: "asyncio.Task[None] | None") -> None:
            if before is not None:
                await before
            await write()

        self._writing = asyncio.create_task(write_behind(self._writing))

    async def _append_progress(self, event: JournalEvent) -> None:
        try:
            await self._journal.append(event)
        except Exception as error:
            log.warning("progress of %s is not in the journal: %s", self._loop_id, error)

    def _now(self, event: Happening) -> JournalEvent:
        return JournalEvent(
            task_id=self.task_id, actor=self.actor, at=time.time(), event=event, request_id=self._request_id
        )

    def hold_turn(self, number: int, answer: ModelAnswer, usage: Usage) -> None:
        """Count the tokens of the `number`th answer of the model, and hold it with what it alone used.

        It is journaled together with the first call that it wants, which is made when both are durable, or by
        `write_held`: each way to the store is as long as that to a tool.
        """
        metrics.TOKENS.labels(self.actor, "prompt").inc(answer.prompt_tokens)
        metrics.TOKENS.labels(self.actor, "completion").inc(answer.completion_tokens)
        text = truncate(answer.text or answer.refusal or "", MAX_JOURNAL_TEXT)
        tools = [call.name[:100] for call in answer.calls]
        calls = [
            WantedCall(
                id=call.id[:200],
                tool=call.name[:100],
                arguments=truncate(_text(call.arguments), MAX_JOURNAL_TEXT),
                fault=call.fault,
                repaired=call.repaired,
            )
            for call in answer.calls[:MAX_JOURNALED_CALLS]
        ]
        refused = answer.refusal is not None and not answer.text
        turn = ModelTurn(
            turn=number,
            text=text,
            refused=refused,
            tools=tools,
            calls=calls,
            usage=usage,
            model=answer.model,
            takes_images=answer.takes_images,
            reasoning=answer.reasoning,
        )
        self._held.append(self._now(_fitting(turn)))

    async def record_call(
        self,
        call: ToolCall,
        make: Callable[[], Awaitable[ToolOutcome]],
        label: str,
        *,
        journaled: bool = False,
        durable: bool = True,
        reads: bool = False,
    ) -> CallResult:
        """Journal `call`, make it, and journal and count its outcome.

        `label` is the tool's name in the metrics; `journaled`: the call is in the journal already. Where the outcome
        need not be `durable` when this returns, its writing has only begun, and the next call waits for it. A model may
        be asked meanwhile; nothing may be done. A call that only `reads` does not wait for its own entry and for what
        was held: made once more by who goes on, it does no harm.
        """
        if not journaled and reads:
            await self.written()
            self._begin_to_write(_called(call))
        elif not journaled:
            await self.called(call)
        began = time.monotonic()
        outcome = await make()
        duration = time.monotonic() - began
        metrics.TOOL_CALLS.labels(self.actor, label, metrics.codes(outcome.error_code)).inc()
        metrics.TOOL_SECONDS.labels(self.actor, label).observe(duration)
        if durable:
            return CallResult(outcome, await self.returned(call, outcome, duration))
        self.calls += 1
        references = [await self.keep(image) for image in outcome.images]
        self._begin_to_write(_returned(call, outcome, duration, references))
        return CallResult(outcome, references)

    async def called(self, call: ToolCall) -> None:
        """Journal that `call` is going to be made."""
        await self.write(_called(call))

    async def progress(self, call: ToolCall, fraction: float | None, message: str) -> None:
        """Begin to journal the progress of a running call, at most four times a second; `fraction` is from 0 to 1.

        Nobody waits until it is written, and nothing depends on it.
        """
        now = time.monotonic()
        if now - self._last_progress >= PROGRESS_INTERVAL_S:
            self._last_progress = now
            text = truncate(message, MAX_JOURNAL_TEXT)
            event = self._now(ToolProgress(call_id=call.id, tool=call.name, fraction=fraction, message=text))
            self._begin(partial(self._append_progress, event))

    async def returned(self, call: ToolCall, outcome: ToolOutcome, duration_s: float) -> list[str]:
        """Store the images of an outcome, journal it, and return the references of the images."""
        self.calls += 1
        references = [await self.keep(image) for image in outcome.images]
        await self.write(_returned(call, outcome, duration_s, references))
        return references

    async def keep(self, image: Image) -> str:
        """Store `image` and return its reference."""
        return await self._images.put(self.task_id, image.data, image.media_type)

    async def verified(self, claimed: str, settled: str, note: str) -> None:
        """Journal the code that the model reported and the one that code has verified."""
        await self.write(Verified(claimed=claimed, settled=settled, note=truncate(note, MAX_JOURNAL_TEXT)))

    async def note(self, text: str) -> None:
        """Journal a remark."""
        await self.write(Note(text=truncate(text, MAX_JOURNAL_TEXT)))

    def keep_transcript(self, messages: list[dict[str, Any]], usage: Usage) -> None:
        """Begin to save the transcript of the loop, which goes on meanwhile: the journal is what must not be lost.

        Of several within TRANSCRIPT_INTERVAL_S the newest is saved.
        """
        self._unsaved = self._transcript(messages, usage, None)
        if self._saver is None:
            self._saver = asyncio.create_task(self._save_newest())

    async def end_transcript(self, messages: list[dict[str, Any]], usage: Usage, ending: str) -> None:
        """Save the transcript of the loop that has ended; it is saved when this returns."""
        self._unsaved = None
        async with self._saving:
            await self._transcripts.save(self.task_id, self._loop_id, self._transcript(messages, usage, ending))
        await self.leave()

    async def leave(self) -> None:
        """End the saving and the writing: nothing of a loop runs on after its owner has closed the store."""
        running = [task for task in (self._saver, self._writing) if task is not None]
        self._writing = None
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _save_newest(self) -> None:
        """Save until nothing is unsaved; what cannot be saved is tried again with the next, and at the end."""
        try:
            while self._unsaved is not None:
                async with self._saving:
                    # Nothing is left where the loop has ended meanwhile: its last transcript stands.
                    if (newest := self._take_unsaved()) is not None:
                        await self._transcripts.save(self.task_id, self._loop_id, newest)
                await asyncio.sleep(TRANSCRIPT_INTERVAL_S)
        except Exception as error:
            log.warning("the transcript of %s is not saved yet: %s", self._loop_id, error)
        finally:
            self._saver = None

    def _take_unsaved(self) -> dict[str, Any] | None:
        unsaved, self._unsaved = self._unsaved, None
        return unsaved

    def _transcript(self, messages: list[dict[str, Any]], usage: Usage, ending: str | None) -> dict[str, Any]:
        return {
            "actor": self.actor,
            "loop_id": self._loop_id,
            "usage": usage.model_dump(),
            "ending": ending,
            "messages": messages,
        }


def _fitting(turn: ModelTurn) -> ModelTurn:
    """Return `turn` without what would make its journal entry too large: its reasoning, then its last calls."""
    while len(turn.model_dump_json().encode()) > MAX_TURN_BYTES and (turn.reasoning or turn.calls):
        left_out: dict[str, Any] = {"reasoning": {}} if turn.reasoning else {"calls": turn.calls[:-1]}
        turn = turn.model_copy(update=left_out)
    return turn


def _called(call: ToolCall) -> ToolCalled:
    return ToolCalled(call_id=call.id, tool=call.name[:100], arguments=_journaled(call.arguments))


def _returned(call: ToolCall, outcome: ToolOutcome, duration_s: float, images: list[str]) -> ToolReturned:
    text = json.dumps(outcome.content, ensure_ascii=False, separators=(",", ":"))
    return ToolReturned(
        call_id=call.id,
        tool=call.name[:100],
        ok=outcome.ok,
        error_code=outcome.error_code,
        text=truncate(text, MAX_RESULT_CHARS),
        images=images,
        duration_s=round(duration_s, 4),
    )


def _text(arguments: Any) -> str:
    if not isinstance(arguments, str):
        return json.dumps(arguments, default=str)
    return arguments if is_text(arguments) else json.dumps(arguments)


def _journaled(arguments: Any) -> dict[str, Any]:
    """Return arguments as the journal keeps them, also when they are malformed or huge."""
    value = arguments
    if isinstance(value, str):
        try:
            value = json.loads(value or "{}")
        except (ValueError, RecursionError):
            return {"malformed": truncate(_text(arguments), MAX_JOURNAL_TEXT)}
    if not isinstance(value, dict) or not is_text(cast("Any", value)):
        return {} if value is None else {"malformed": truncate(_text(arguments), MAX_JOURNAL_TEXT)}
    mapping = cast("dict[str, Any]", value)
    text = json.dumps(mapping, default=str)
    return mapping if len(text) <= MAX_JOURNAL_TEXT else {"cut": truncate(text, MAX_JOURNAL_TEXT)}
