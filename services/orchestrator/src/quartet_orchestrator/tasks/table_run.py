"""Run of a task that a RoCo team does at one table: joint plans of single skills, one after the other."""

import asyncio
from functools import partial

from quartet_bus import LeaseEpoch, TaskDelivery
from quartet_contracts import DirectStep, PickArguments, PlaceArguments, Skill, TaskStatus
from quartet_orchestrator.tasks.errands import Part
from quartet_orchestrator.tasks.run import RunContext
from quartet_orchestrator.tasks.table import TableScene, TableState, observe
from quartet_orchestrator.tasks.team import TeamRun
from quartet_teams import Discussion, make_team
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
        if self._table.running:
            return False
        briefs = {robot: self._context.briefs[robot] for robot in robots}
        looks = (
            observe(partial(self._context.monitor.ask, robot), brief, self._table.grasped.get(robot, ""))
            for robot, brief in briefs.items()
        )
        scene = TableScene(self._table, briefs, dict(zip(robots, await asyncio.gather(*looks), strict=True)))
        discussion = Discussion(self._answer, self._tell_refusal)
        rounds = ["\n".join([f"Round {number}.", *ended]) for number, ended in self._table.rounds.items()]
        decision = await self._roco.decide(scene, Past(rounds), discussion)
        plan = {robot: str(action) for robot, action in decision.plan.items() if action.verb != "WAIT"}
        return await self._begin_plan(plan, robots)

    async def _clear_ways(self) -> bool:
        return False

    def _order(self, robot: str, assigned: Part) -> tuple[str, DirectStep | None]:
        thing, target = self._table.by_action(assigned.action).thing, self._table.target(assigned.action)
        if not target:
            arguments = PickArguments(object_name=thing)
            return f"Pick up the {thing}.", DirectStep(skill=Skill.PICK, arguments=arguments)
        arguments = PlaceArguments(target_location=target, object_name=thing)
        return f"Put the {thing} down at the {target}.", DirectStep(skill=Skill.PLACE, arguments=arguments)
