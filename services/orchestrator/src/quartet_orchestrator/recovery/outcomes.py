"""Outcome of an attempt at a skill: writes it to the journal, and looks at the world where it is not known."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from quartet_contracts import (
    AlikeThing,
    ApproachResult,
    ExecutorResult,
    PickCode,
    PickResult,
    PlaceResult,
    Skill,
    SkillArguments,
    SkillRequest,
    SkillResult,
    State,
)
from quartet_contracts.journal import SkillFinished, SkillSettled
from quartet_contracts.skills import MAX_REASON, unknown_result
from quartet_orchestrator.recovery.fencing import FenceClient
from quartet_orchestrator.recovery.inspection import Inspector
from quartet_orchestrator.recovery.record import TaskRecord

RETRY_S = 1.0
HAND_LOW = frozenset({PickCode.UNKNOWN, PickCode.PICK_PLAN_FAILED, PickCode.PICK_ATTACH_TIMEOUT})
"""How a pick ends that has failed on the way down, at the object or on the way up."""


@dataclass(frozen=True)
class AttemptOutcome:
    """One attempt at one skill."""

    arguments: SkillArguments
    """What was asked."""
    result: SkillResult
    """What the agent answered."""
    settled: SkillSettled | None = None
    """What was seen afterwards, where the answer left the outcome open."""
    alike_before: Sequence[AlikeThing] = ()
    """As in the request."""


class OutcomeResolver:
    """Resolves the attempts of one task. `progressed` is called after each of them."""

    def __init__(
        self,
        record: TaskRecord,
        fences: FenceClient,
        inspector: Inspector,
        progressed: Callable[[], Awaitable[None]],
        patience_s: float,
    ) -> None:
        """`patience_s`: how long an outcome is looked for again while the robot or one of its servers is silent."""
        self._record = record
        self._fences = fences
        self._inspector = inspector
        self._progressed = progressed
        self._patience_s = patience_s
        self._uncertain: set[Skill] = set()

    def is_uncertain(self, skill: Skill) -> bool:
        """Return whether the next attempt at `skill` may find its work done.

        True when the outcome of the last one is not known, a place failed that may have let go before it did, or a pick
        failed (HAND_LOW) whose open fingers may still be around the object: no camera then shows one to be picked.
        """
        return skill in self._uncertain

    def note(self, skill: Skill, state: State, error_code: str) -> None:
        """Take note of how an attempt ended that is in the journal already."""
        failed = state is State.FAILED and (skill is Skill.PLACE or (skill is Skill.PICK and error_code in HAND_LOW))
        if state is State.UNCERTAIN or failed:
            self._uncertain.add(skill)
        else:
            self._uncertain.discard(skill)
        if skill is Skill.PICK and state is State.SUCCEEDED:
            # What is held now was not put down by an earlier place.
            self._uncertain.discard(Skill.PLACE)

    async def resolve(
        self, request: SkillRequest, result: SkillResult, *, began: float, revoked: bool
    ) -> AttemptOutcome:
        """Write the result to the journal; look at the world when it leaves the outcome open.

        `began`: when the request was made, on this process's monotonic clock [s]. `revoked`: every motion server
        refuses the grant of the request by now.
        """
        result = await self._confirm(request, result, began)
        self._record.add_usage(result.usage)
        await self._record.write(finished_event(result))
        self.note(request.skill, result.state, str(result.error_code))
        await self._progressed()
        if result.state is State.UNCERTAIN:
            return await self._look(request, result, revoked=revoked)
        return AttemptOutcome(request.arguments, result, alike_before=request.alike_before or ())

    async def look(self, request: SkillRequest, result: SkillResult) -> AttemptOutcome:
        """Look at the world after an outcome that is in the journal and not known, and write down what was seen."""
        revoked = await self._fences.revoke(request.robot, request.request_id, self._record.lease_epoch)
        return await self._look(request, result, revoked=revoked)

    async def _confirm(self, request: SkillRequest, result: SkillResult, began: float) -> SkillResult:
        """Return the result, its outcome unknown when what is measured here does not confirm a success.

        An agent answers for itself, and one that was taken over answers what it likes.
        """
        if not result.success or not (why := await self._inspector.confirm(request, began)):
            return result
        reason = f"the {request.skill} agent reported success, and {why}"
        unknown = unknown_result(request, reason, State.UNCERTAIN)
        return unknown.model_copy(update={"usage": result.usage, "tool_calls_used": result.tool_calls_used})

    async def _look(self, request: SkillRequest, result: SkillResult, *, revoked: bool) -> AttemptOutcome:
        until = time.monotonic() + self._patience_s
        while True:
            seen = await self._inspector.inspect(request.request_id)
            # A robot or server that hangs or restarts answers some seconds later, and then the outcome is seen.
            if (revoked and seen.answered) or time.monotonic() > until:
                break
            await asyncio.sleep(RETRY_S)
            revoked = revoked or await self._fences.revoke(request.robot, request.request_id, self._record.lease_epoch)
        words = "were ended at the servers" if revoked else "could not be ended at the servers"
        told = f"; its motions {words}"
        if seen.standstill_fault and seen.standstill_fault not in result.reason:
            told += f"; the robot is not known to rest ({seen.standstill_fault})"
        settled = SkillSettled(
            request_id=request.request_id,
            skill=request.skill,
            state=State.RETRIABLE if revoked and seen.conclusive else State.UNCERTAIN,
            reason=f"{result.reason[: MAX_REASON - len(told)]}{told}",
            observed=seen.text if seen.conclusive else result.observed or seen.text,
            grasp=seen.grasp,
            in_hand=seen.in_hand,
        )
        await self._record.write(settled)
        update = {"reason": settled.reason, "observed": settled.observed[:4000]}
        result = result.model_copy(update=update)
        return AttemptOutcome(request.arguments, result, settled, request.alike_before or ())


def finished_event(result: SkillResult) -> SkillFinished:
    """Return the journal event of an attempt that an agent has ended."""
    return SkillFinished(
        request_id=result.request_id,
        skill=result.skill,
        success=result.success,
        error_code=str(result.error_code),
        reason=result.reason,
        state=result.state,
        usage=result.usage,
        details=skill_details(result) | ({"observed": result.observed} if result.observed else {}),
    )


def not_started_event(request: SkillRequest, reason: str, state: State) -> SkillFinished:
    """Return the journal event of a request that no agent took."""
    return SkillFinished(
        request_id=request.request_id,
        skill=request.skill,
        success=False,
        error_code="UNKNOWN",
        reason=reason,
        state=state,
    )


def skill_details(result: SkillResult) -> dict[str, Any]:
    """Return the fields that only this skill reports, the `object_id` of its thing, and why the robot was withdrawn."""
    named = {"object_id": result.object_id, "withdrawn": result.withdrawn}
    named = {name: value for name, value in named.items() if value is not None}
    if isinstance(result, ApproachResult):
        passed = {"passed": result.passed} if result.passed else {}
        elsewhere = {} if result.seen_in is None else {"seen_in": result.seen_in}
        return {"checks": [check.model_dump(mode="json") for check in result.checks], **passed, **elsewhere, **named}
    if isinstance(result, PickResult):
        held = {} if result.held_object is None else {"held_object": result.held_object}
        back = {"put_back": True} if result.put_back else {}
        return {"held_object_height_m": result.held_object_height_m, **held, **back, **named}
    if isinstance(result, PlaceResult):
        return {**({} if result.still_held is None else {"still_held": result.still_held}), **named}
    if isinstance(result, ExecutorResult):
        told = result.model_dump(mode="json", include={"output", "completed", "scene"})
        return {**told, **named}
    return named
