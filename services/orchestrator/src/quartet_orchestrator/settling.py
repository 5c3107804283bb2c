"""Writes down how a step ended, and looks at the world where nobody knows."""

from collections.abc import Awaitable, Callable

from quartet_contracts import Skill, SkillRequest, SkillResult, State
from quartet_contracts.journal import SkillSettled
from quartet_orchestrator.fencing import Fencer
from quartet_orchestrator.inspection import Inspector
from quartet_orchestrator.progress import TaskRecord
from quartet_orchestrator.steps import Step, finished


class Settler:
    """Settles the steps of one task. `progressed` is called after each of them."""

    def __init__(
        self,
        record: TaskRecord,
        fencer: Fencer,
        inspector: Inspector,
        progressed: Callable[[], Awaitable[None]],
    ) -> None:
        self._record = record
        self._fencer = fencer
        self._inspector = inspector
        self._progressed = progressed
        self._uncertain: set[Skill] = set()

    def is_uncertain(self, skill: Skill) -> bool:
        """Whether nobody knows what the last attempt at `skill` did, or a place failed that may have let go before it
        did: the next one may find it done.
        """
        return skill in self._uncertain

    def note(self, skill: Skill, state: State) -> None:
        """How an attempt ended that is in the journal already."""
        if state is State.UNCERTAIN or (skill is Skill.PLACE and state is State.FAILED):
            self._uncertain.add(skill)
        else:
            self._uncertain.discard(skill)
        if skill is Skill.PICK and state is State.SUCCEEDED:
            # What is held now was not put down by an earlier place.
            self._uncertain.discard(Skill.PLACE)

    async def settle(self, request: SkillRequest, result: SkillResult) -> Step:
        """Write the result down, and look at the world where it says that its end is not known."""
        self._record.add_usage(result.usage)
        await self._record.write(finished(result))
        self.note(request.skill, result.state)
        await self._progressed()
        if result.state is State.UNCERTAIN:
            return await self.look_into(request, result)
        return Step(request.arguments, result)

    async def look_into(self, request: SkillRequest, result: SkillResult) -> Step:
        """Settle an outcome that is not known. A newer fence ends the agent's motions and its grant at the servers:
        whatever still runs of it must not move the robot any more. Then the robot is looked at."""
        sure = await self._fencer.take_back(request.robot, request.request_id, self._record.tenure)
        words = "were ended at the servers, its grant is void" if sure else "could not be ended at the servers"
        seen = await self._inspector.inspect(request.request_id)
        settled = SkillSettled(
            request_id=request.request_id,
            skill=request.skill,
            state=State.RETRIABLE if sure and seen.settled else State.UNCERTAIN,
            reason=f"{result.reason[:1900]}; its motions {words}",
            observed=seen.text if seen.settled else result.observed or seen.text,
            grasp=seen.grasp,
            in_hand=seen.in_hand,
        )
        await self._record.write(settled)
        update = {"reason": settled.reason, "observed": settled.observed[:4000]}
        return Step(request.arguments, result.model_copy(update=update), settled)
