"""Run of a task of a group of unlike robots (EMOS): they share all errands out, then each does its own."""

from quartet_bus import LeaseEpoch, NoAnswerError, TaskDelivery
from quartet_contracts import MAX_PROMPT, ContractError, ProgramRequest, TaskStatus, Usage
from quartet_contracts.journal import TeamProgram, TeamSubtasks
from quartet_orchestrator.tasks.group import GroupState, SubtaskChecker, problem_of
from quartet_orchestrator.tasks.run import RunContext
from quartet_orchestrator.tasks.scene import HomeScene
from quartet_orchestrator.tasks.team import TeamRun
from quartet_teams import Discussion
from quartet_teams.emos import MOST_REPLANS, agree, method_of

MOST_TOKENS = MAX_PROMPT // 8
"""Tokens of a conversation in one prompt: about half of its characters."""
DENIED = "The program did not run: the policy of this site (programs: deny) lets no program run. Judge without it."


class GroupRun(TeamRun):
    """Runs a task of the team `emos`: the group discusses, robots do their subtasks, and it discusses what failed."""

    def __init__(
        self, context: RunContext, delivery: TaskDelivery, status: TaskStatus, lease_epoch: LeaseEpoch
    ) -> None:
        super().__init__(context, delivery, status, lease_epoch)
        self._state = self._group = GroupState(self._split, context.fleet.names, self._unable)

    async def _agree(self, robots: list[str]) -> bool:
        scene = await self._scene(robots)
        plan = self._group.next_errands(scene)
        if plan or self._group.running:
            return await self._begin_plan(plan, robots)
        if self._group.discussions > MOST_REPLANS:
            return False
        await self._discuss(robots, scene)
        return True

    async def _discuss(self, robots: list[str], scene: HomeScene) -> None:
        """Let the robots share the open errands out, and note how, unless one drops out meanwhile."""
        checker = SubtaskChecker(self._group)
        agreement = await agree(
            problem_of(self._group, scene, self._context.briefs),
            method_of("emos"),
            Discussion(self._answer, self._tell_refusal),
            self._calculate,
            checker=checker,
            happened=self._group.happened,
            most_tokens=MOST_TOKENS,
        )
        if await self._robots() == robots:
            subtasks = checker.read(agreement.assignment)
            await self._note(TeamSubtasks(subtasks=subtasks, agreed=agreement.agreed, rounds=agreement.rounds))

    async def _calculate(self, code: str) -> str:
        """Return the output of a program of who spoke last: as recorded, else from the executor, and recorded first."""
        if heard := self._next_heard(TeamProgram, self._speaker):
            return heard.text
        text = await self._ask_executor(code)
        await self._record.write(TeamProgram(participant=self._speaker, text=text))
        used = Usage(tool_calls=1)
        self._record.add_usage(used)
        self._talk = self._talk.plus(used)
        return text

    async def _ask_executor(self, code: str) -> str:
        """Return what a program prints, or why it did not run."""
        if any(brief.setup.programs == "deny" for brief in self._context.briefs.values()):
            return DENIED
        queue = self._bus.programs
        request = ProgramRequest(code=code, **self._request_fields(queue, self._speaker))
        try:
            answer = await queue.ask(request, self._context.settings.agent_absent_s)
        except (NoAnswerError, ContractError) as error:
            return f"The program did not run: {error}. Judge without it."
        return (
            answer.text if answer.error_code == "NONE" else f"The program did not run: {answer.text} Judge without it."
        )
