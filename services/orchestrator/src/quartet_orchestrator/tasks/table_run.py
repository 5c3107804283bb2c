"""Run of a task that a RoCo team does at one table: joint plans of single skills, one after the other."""

import asyncio

from quartet_bus import LeaseEpoch, TaskDelivery
from quartet_contracts import DirectStep, PickArguments, PlaceArguments, Skill, TaskStatus
from quartet_contracts.journal import Note
from quartet_orchestrator.observation.client import ToolReader
from quartet_orchestrator.tasks.errands import Part
from quartet_orchestrator.tasks.run import RunContext
from quartet_orchestrator.tasks.table import (
    DETECT,
    GRIPPER,
    IK,
    TableScene,
    TableState,
    View,
    observe,
    read_action,
    write_action,
)
from quartet_orchestrator.tasks.team import TeamRun
from quartet_teams import Discussion, NoPlanError, make_team
from quartet_teams.roco import Past


class TableRun(TeamRun):
    """Runs a task of the team `roco`: the robots agree on an action of each; when all are done, on the next ones."""

    def __init__(
        self, context: RunContext, delivery: TaskDelivery, status: TaskStatus, lease_epoch: LeaseEpoch
    ) -> None:
        super().__init__(context, delivery, status, lease_epoch)
        self._roco = make_team("roco")
        self._state = self._table = TableState(self._split)

    async def _agree(self, robots: list[str]) -> bool:
        if self._state.running:
            return False
        views = dict(zip(robots, await asyncio.gather(*map(self._observe, robots)), strict=True))
        scene = TableScene(self._table, {robot: self._context.briefs[robot] for robot in robots}, views)
        if not scene.can_act():
            await self._record.write(Note(text="no robot reaches anything of the task"))
            return False
        discussion = Discussion(self._answer, self._tell_refusal)
        try:
            decision = await self._roco.decide(scene, Past(list(self._state.past)), discussion)
        except NoPlanError as error:
            await self._record.write(Note(text=f"a step without a plan: {error}"[:2000]))
            await self._begin_step({}, {})
            return True
        plan = {robot: write_action(action) for robot, action in decision.plan.items() if action.verb != "WAIT"}
        return await self._begin_plan(plan, robots)

    async def _observe(self, robot: str) -> View:
        reader = ToolReader(
            self._context.sessions,
            robot,
            [DETECT, GRIPPER, IK],
            lasts_s=lambda: self._context.sessions.lasts(self._record.left_s),
            task_id=self._task.task_id,
        )
        try:
            return await observe(reader, self._context.briefs[robot], self._state.holding.get(robot, ""))
        finally:
            await reader.close()

    async def _clear_ways(self) -> bool:
        return False

    def _order(self, robot: str, assigned: Part) -> tuple[str, DirectStep | None]:
        verb, thing, target = read_action(assigned.action)
        if verb == "PICK":
            step = DirectStep(skill=Skill.PICK, arguments=PickArguments(object_name=thing))
            return f"Pick up the {thing}.", step
        arguments = PlaceArguments(target_location=target, object_name=thing)
        return f"Put the {thing} down at the {target}.", DirectStep(skill=Skill.PLACE, arguments=arguments)
