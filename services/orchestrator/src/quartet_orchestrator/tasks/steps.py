"""Tools of a model that does the work of the sub-agents itself, in steps: begin a skill, use its tools, report it."""

import json
from collections.abc import Sequence
from typing import Any

from quartet_agent_runtime import (
    ArgumentsError,
    Progress,
    RecordedTurn,
    ReportTool,
    ToolCall,
    ToolOutcome,
    Tools,
    ToolSpec,
    UntrustedPhrases,
    failure,
    skill_report,
)
from quartet_contracts import ARGUMENTS, MODEL_SKILLS, MODEL_TOOLS, Skill, StepArguments
from quartet_orchestrator.skills import SkillCaller
from quartet_orchestrator.tasks.tools import TaskTools, read_step

REPORT_OF: dict[str, tuple[Skill, ReportTool]] = {
    tool.name: (skill, tool) for skill in MODEL_SKILLS for tool in [skill_report(skill)]
}
"""By the name of the tool with which the model reports a step."""
ROBOT_TOOLS = frozenset(name for skill in MODEL_SKILLS for name in MODEL_TOOLS[skill])
NOT_ENDED = frozenset({"NO_STEP", "INVALID_REPORT"})
"""Codes of a report that ended no step."""
BEGUN = "begun"
"""Field of the result of a skill's tool: the skill was begun."""


class StepTools:
    """Tools of one task in the architecture `single`. See Tools.

    `approach`, `pick` and `place` begin a step: they are checked as calls of sub-agents are, and one grant is signed,
    for the tools of this skill alone. The model then uses these tools. Its report ends the step: it is a claim, which
    the sub-agent's own code verifies before the step has a result.
    """

    def __init__(self, tools: TaskTools, caller: SkillCaller, untrusted: UntrustedPhrases) -> None:
        """`untrusted`: names that results call things by."""
        self._tools = tools
        self._local: Tools = tools.build(self._begin)
        self._caller = caller
        self._untrusted = untrusted
        self._step: StepArguments | None = None

    def restore(self, turns: Sequence[RecordedTurn]) -> None:
        """Continue from the turns that another process has recorded."""
        for turn in turns:
            for call, result in zip(turn.answer.calls, turn.results, strict=False):
                self._untrusted.add_names_in(result.outcome.content)
                if result.outcome.content.get(BEGUN):
                    self._step = self._restored(call)
                elif call.name in REPORT_OF and result.outcome.error_code not in NOT_ENDED:
                    self._step = None

    def _restored(self, call: ToolCall) -> StepArguments:
        raw = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
        return self._tools.with_name_of_held(read_step(Skill(call.name), raw))

    async def list(self) -> list[ToolSpec]:
        """Return all of them: the orchestrator's, those of the robot, and the three reports."""
        robot = await self._caller.tools()
        return [*await self._local.list(), *robot, *(tool.spec for _, tool in REPORT_OF.values())]

    async def call(self, name: str, arguments: dict[str, Any], progress: Progress) -> ToolOutcome:
        """Call a tool of the orchestrator, of the robot, or report a step."""
        if name in REPORT_OF:
            return await self._report(*REPORT_OF[name], arguments)
        if name not in ROBOT_TOOLS:
            return await self._local.call(name, arguments, progress)
        if self._step is None:
            return failure("NO_STEP", f"{name} is used within a step\nBegin one with {', '.join(MODEL_SKILLS)}")
        return await self._caller.use(name, arguments, progress)

    async def _begin(self, skill: Skill, arguments: StepArguments) -> ToolOutcome:
        if self._step is not None:
            open_step = _skill_of(self._step)
            return failure("STEP_OPEN", f"{open_step} is not over\nEnd it with report_{open_step}_result first")
        arguments = self._tools.with_name_of_held(arguments)
        if refused := await self._tools.refusal(skill, arguments):
            return refused
        if not self._caller.is_ready(arguments):
            await self._caller.begin(skill, arguments)
        self._step = arguments
        request = arguments.model_dump(mode="json", exclude_none=True)
        return ToolOutcome({"ok": True, BEGUN: str(skill), "request": request, "ends_with": f"report_{skill}_result"})

    async def _report(self, skill: Skill, tool: ReportTool, raw: dict[str, Any]) -> ToolOutcome:
        if self._step is None or _skill_of(self._step) is not skill:
            return failure("NO_STEP", f"no {skill} was begun\nBegin it with {skill}")
        try:
            claim = tool.read(raw)
        except ArgumentsError as error:
            return failure("INVALID_REPORT", str(error))
        arguments = self._step
        outcome = await self._caller.finish(skill, arguments, claim.model_dump(mode="json"))
        self._step = None
        return self._tools.note(arguments, outcome)


def _skill_of(arguments: StepArguments) -> Skill:
    return next(skill for skill in MODEL_SKILLS if isinstance(arguments, ARGUMENTS[skill]))
