"""One request from its start to its result."""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from quartet_agent_runtime.approvals import Approver
from quartet_agent_runtime.conversation import cut
from quartet_agent_runtime.definition import AgentDefinition
from quartet_agent_runtime.errors import ToolsUnavailable
from quartet_agent_runtime.gateway import GatewayClient
from quartet_agent_runtime.loop import Ending, Loop
from quartet_agent_runtime.overheard import Overheard, site_names
from quartet_agent_runtime.ports import ApprovalDesk, ImageStore, Journal, TranscriptStore
from quartet_agent_runtime.prompt import render_prompt, request_message
from quartet_agent_runtime.recorder import Recorder
from quartet_agent_runtime.report import skill_report
from quartet_agent_runtime.settings import AgentSettings
from quartet_agent_runtime.standstill import MAX_OBSERVED, observe, stand_still
from quartet_agent_runtime.toolbox import Toolbox
from quartet_agent_runtime.verification import CannotVerify, Verification
from quartet_contracts import MODEL_TOOLS, RESULTS, Actor, SkillRequest, SkillResult, State, Usage
from quartet_contracts.journal import SkillStarted
from quartet_site import Known

log = logging.getLogger(__name__)

MAX_REASON = 2000


@dataclass(frozen=True)
class Outside:
    """Everything that one process hands to its requests."""

    definition: AgentDefinition
    robots: Mapping[str, Known]
    model: GatewayClient
    journal: Journal
    images: ImageStore
    transcripts: TranscriptStore
    settings: AgentSettings
    replica: str
    approvals: ApprovalDesk | None = None

    def in_one_place(self, robot: str) -> tuple[str, ...]:
        """The robots whose site file says what that of `robot` does, itself too, sorted: others are elsewhere."""
        here = self.robots[robot].site
        return tuple(sorted(name for name, known in self.robots.items() if known.site == here))


class SkillRun:
    """One attempt at one request. `run` always ends in a result; only cancellation gets out of it.

    After a cancellation, `settle` brings the robot to rest and gives the result.
    """

    def __init__(self, request: SkillRequest, outside: Outside) -> None:
        self._request = request
        self._outside = outside
        self._recorder = Recorder(
            actor=cast("Actor", outside.definition.skill.value),
            task_id=request.task_id,
            loop_id=request.request_id,
            request_id=request.request_id,
            journal=outside.journal,
            images=outside.images,
            transcripts=outside.transcripts,
        )
        self._loop: Loop | None = None
        self._verification: Verification | None = None
        self._began = time.monotonic()
        known = outside.robots.get(request.robot)
        named = [value for value in request.arguments.model_dump().values() if isinstance(value, str)]
        self._overheard = Overheard([*named, *(site_names(known.site) if known else ())])

    async def run(self) -> SkillResult:
        """Loop, report, check in code. Abnormal ends bring the robot to rest and answer UNKNOWN."""
        try:
            return await self._think_and_verify()
        except ToolsUnavailable as error:
            return self._unknown(str(error), State.FAILED)
        except CannotVerify as error:
            return await self._settled(f"check after the report: {error}", uncertain=error.uncertain)
        except Exception as error:
            log.exception("request %s", self._request.request_id)
            return await self._settled(f"{type(error).__name__}: {error}", uncertain=self._uncertain)

    async def settle(self, reason: str, state: State | None) -> SkillResult:
        """The result after `run` was canceled or must not be begun: standstill first.

        `state` CANCELED holds only if the robot is known to rest; None means UNCERTAIN, with what is seen.
        """
        async with self._toolbox() as toolbox:
            rests = await stand_still(toolbox, self._recorder)
            if state is not None and rests:
                return self._unknown(reason, state)
            return self._unknown(reason, State.UNCERTAIN, await observe(toolbox, self._recorder))

    async def _think_and_verify(self) -> SkillResult:
        request, outside = self._request, self._outside
        async with self._toolbox() as toolbox:
            await self._recorder.write(
                SkillStarted(request_id=request.request_id, skill=request.skill, replica=outside.replica)
            )
            known = outside.robots[request.robot]
            fleet = outside.in_one_place(request.robot)
            self._verification = check = Verification(request, known.robot, known.site, toolbox, self._recorder, fleet)
            if request.follows_uncertain and outside.definition.prepare is not None:
                await outside.definition.prepare(check)
            self._loop = Loop(
                model=outside.model.for_task(request.task_id, request.request_id),
                tools=toolbox,
                report=skill_report(request.skill),
                recorder=self._recorder,
                budget=request.budget,
                deadline=request.deadline,
                model_timeout_s=outside.settings.model_timeout_s,
            )
            facts = outside.definition.facts(known.robot, known.site)
            ending = await self._loop.run(
                render_prompt(outside.definition.prompt, facts),
                request_message(request.arguments.model_dump(mode="json", exclude_none=True)),
            )
            if ending.report is None:
                return await self._abnormal(ending)
            report = await outside.definition.verify(check, ending.report)
            await self._tell(ending.report, report)
            return self._result(report)

    async def _tell(self, claimed: Any, settled: Any) -> None:
        await self._recorder.verified(str(claimed.error_code), str(settled.error_code), settled.reason)

    async def _abnormal(self, ending: Ending) -> SkillResult:
        if self._usage.tool_calls == 0:
            return self._unknown(ending.reason, State.FAILED)
        return await self._settled(ending.reason, uncertain=ending.uncertain)

    async def _settled(self, reason: str, *, uncertain: bool) -> SkillResult:
        return await self.settle(reason, None if uncertain else State.FAILED)

    def _toolbox(self) -> Toolbox:
        robot = self._request.robot
        servers = self._outside.settings.servers.get(robot)
        if servers is None:
            known = ", ".join(sorted(self._outside.settings.servers))
            raise ToolsUnavailable(f"no MCP servers for robot '{robot}'; QUARTET_SERVERS has: {known}")
        desk = self._outside.approvals
        return Toolbox(
            servers,
            self._request.grant,
            MODEL_TOOLS[self._request.skill],
            self._outside.settings.tool_timeout_s,
            None if desk is None else Approver(self._request, desk),
            self._overheard,
        )

    @property
    def _uncertain(self) -> bool:
        return (self._loop is not None and self._loop.uncertain) or (
            self._verification is not None and self._verification.running
        )

    @property
    def _usage(self) -> Usage:
        usage = self._loop.usage if self._loop else Usage()
        calls = self._verification.calls if self._verification else 0
        wall = round(time.monotonic() - self._began, 3)
        return usage.model_copy(update={"tool_calls": usage.tool_calls + calls, "wall_s": wall})

    def _result(self, report: Any) -> SkillResult:
        fields: dict[str, Any] = report.model_dump()
        fields["object_id"] = self._verification.object_id if self._verification else None
        return self._build(state=State.SUCCEEDED if report.success else State.FAILED, **fields)

    def _unknown(self, reason: str, state: State, observed: str = "") -> SkillResult:
        return self._build(
            state=state,
            success=False,
            error_code="UNKNOWN",
            reason=reason or "no reason was given",
            observed=observed,
        )

    def _build(self, **fields: Any) -> SkillResult:
        request, usage = self._request, self._usage
        # The result goes to another agent: what a label says does not.
        strike = self._overheard.strike
        fields["reason"] = cut(strike(fields["reason"]), MAX_REASON - 100)
        fields["observed"] = cut(strike(fields.get("observed", "")), MAX_OBSERVED - 100)
        if "checks" in fields:
            fields["checks"] = [{**one, "note": strike(one["note"])[:500]} for one in fields["checks"]]
        return RESULTS[request.skill].model_validate(
            {
                "request_id": request.request_id,
                "task_id": request.task_id,
                "attempt": request.attempt,
                "tool_calls_used": usage.tool_calls,
                "usage": usage,
                **fields,
            }
        )


async def end_of(task: "asyncio.Task[Any]") -> None:
    """Wait until a canceled task is gone, whatever came of it."""
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()
