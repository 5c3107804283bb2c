"""One request from its start to its result."""

import logging
import time
from typing import Any, cast

from quartet_agent_runtime._agent import AgentContext, AgentDefinition, CodedAgent
from quartet_agent_runtime._approvals import ApprovalRequester
from quartet_agent_runtime._conversation import truncate
from quartet_agent_runtime._loop import Loop
from quartet_agent_runtime._procedures import run_turns
from quartet_agent_runtime._prompt import render_prompt, request_message
from quartet_agent_runtime._recorder import Recorder
from quartet_agent_runtime._report import skill_report
from quartet_agent_runtime._request_context import RequestContext
from quartet_agent_runtime._standstill import MAX_OBSERVED, bring_to_standstill, describe_observations, observe
from quartet_agent_runtime._toolbox import Toolbox
from quartet_agent_runtime._untrusted import UntrustedPhrases, site_names
from quartet_agent_runtime._work_clock import WorkClock
from quartet_agent_runtime.errors import ToolsUnavailableError, VerificationError
from quartet_contracts import MODEL_TOOLS, REPORTS, RESULTS, Actor, SkillRequest, SkillResult, State, Usage
from quartet_contracts.journal import SkillStarted
from quartet_contracts.skills import MAX_REASON

log = logging.getLogger(__name__)

AFTER_REPORT = "check after the report"
CUT_REASON = MAX_REASON - 100
"""Length at which a reason is cut; what tells of the cut has room behind it."""


class SkillRun:
    """One attempt at one request. `run` always ends in a result; only cancellation gets out of it.

    After a cancellation, `settle` brings the robot to rest and gives the result. `age_s`: time since the request was
    made [s].
    """

    def __init__(self, request: SkillRequest, context: AgentContext, age_s: float = 0.0) -> None:
        self._request = request
        self._context = context
        self._recorder = Recorder(
            actor=cast("Actor", context.definition.skill.value),
            task_id=request.task_id,
            loop_id=request.request_id,
            request_id=request.request_id,
            journal=context.journal,
            images=context.images,
            transcripts=context.transcripts,
        )
        self._loop: Loop | None = None
        self._request_context: RequestContext | None = None
        self._tools: Toolbox | None = None
        self._stage = "preparation, before the model's first turn"
        self._began = time.monotonic()
        self._made_at = self._began - age_s
        self._clock = WorkClock.of(request, age_s)
        setup = context.robots.get(request.robot)
        arguments = [value for value in request.arguments.model_dump().values() if isinstance(value, str)]
        self._untrusted = UntrustedPhrases([*arguments, *(site_names(setup.site) if setup else ())])

    async def run(self) -> SkillResult:
        """Let the model work, verify its report in code; an abnormal end brings the robot to rest and is UNKNOWN."""
        try:
            async with self._toolbox() as toolbox:
                self._tools = toolbox
                return await self._work(toolbox)
        except ToolsUnavailableError as error:
            return self._unknown(str(error), State.FAILED)
        except VerificationError as error:
            return await self._settle(f"{self._stage}: {error}", uncertain=error.uncertain)
        except Exception as error:
            log.exception("request %s", self._request.request_id)
            called = self._request_context is not None and self._request_context.running
            uncertain = called or (self._loop is not None and self._loop.uncertain)
            return await self._settle(f"{type(error).__name__}: {error}", uncertain=uncertain)

    async def settle(self, reason: str, state: State | None) -> SkillResult:
        """Bring the robot to rest and return the result, after `run` was canceled or where it must not be begun.

        `state` CANCELED holds only if the robot is known to rest; None means UNCERTAIN, with what is seen.
        """
        # The orchestrator waits for a bridge that is away; this has to end in time also in a shutdown.
        async with self._toolbox(bridge_wait_s=0.0) as toolbox:
            unrest = await bring_to_standstill(toolbox, self._recorder)
            if state is not None and not unrest:
                return self._unknown(reason, state)
            if unrest:
                told = f"; the robot is not known to rest ({unrest})"
                reason = f"{reason[: CUT_REASON - len(told)]}{told}"
            observations = await observe(toolbox, self._recorder)
            return self._unknown(reason, State.UNCERTAIN, describe_observations(observations))

    async def _work(self, toolbox: Toolbox) -> SkillResult:
        request, context, agent = self._request, self._context, self._context.definition
        await self._recorder.write(
            SkillStarted(request_id=request.request_id, skill=request.skill, replica=context.replica)
        )
        setup = context.robots[request.robot]
        fleet = context.robots_in_same_place(request.robot)
        self._request_context = check = RequestContext(
            request,
            setup.robot,
            setup.site,
            toolbox,
            self._recorder,
            self._clock,
            fleet,
            context.routes,
            self._approver(),
            setup.programs,
            self._made_at,
        )
        if isinstance(agent, CodedAgent):
            fields = await agent.perform(check)
            return self._result(state=State.SUCCEEDED if fields["success"] else State.FAILED, **fields)
        for tool, around in agent.around.items():
            toolbox.surround(tool, around(check))
        if request.claim is not None:
            self._stage = AFTER_REPORT
            return await self._verify(agent, check, REPORTS[request.skill].model_validate(request.claim))
        if agent.prepare is not None:
            await agent.prepare(check)
        if request.coded:
            self._stage = "the skill's program"
            claimed = await self._claim_of_code(agent, check)
            self._stage = AFTER_REPORT
            return await self._verify(agent, check, claimed)
        self._stage = AFTER_REPORT
        self._loop = Loop(
            model=context.model.for_task(request.task_id, request.request_id, lambda: request.grant),
            tools=toolbox,
            report=skill_report(request.skill),
            recorder=self._recorder,
            budget=request.budget,
            clock=self._clock,
            model_timeout_s=context.settings.model_timeout_s,
        )
        ending = await self._loop.run(
            render_prompt(agent.prompt, agent.facts(setup.robot, setup.site, request.arguments)),
            request_message(_arguments_of(request)),
        )
        claimed: Any = ending.report
        if claimed is None and self._loop.usage.tool_calls + check.calls == 0:
            return self._unknown(ending.reason, State.FAILED)
        if claimed is None:
            return await self._settle(ending.reason, uncertain=ending.uncertain)
        if ending.uncertain and claimed.error_code == "UNKNOWN":
            return await self._settle(claimed.reason, uncertain=True)
        return await self._verify(agent, check, claimed)

    async def _claim_of_code(self, agent: AgentDefinition, check: RequestContext) -> Any:
        """Run the agent's procedure and return its report."""
        if agent.procedure is None:
            reason = f"this {agent.skill} agent works with a model only; nothing was moved"
            fields: dict[str, Any] = {"success": False, "error_code": "UNKNOWN", "reason": reason}
        else:
            facts = agent.facts(check.robot, check.site, self._request.arguments)
            fields = await run_turns(check, agent.procedure(_arguments_of(self._request), facts))
        fields["reason"] = truncate(fields["reason"], MAX_REASON)
        return REPORTS[self._request.skill].model_validate(fields)

    async def _verify(self, agent: AgentDefinition, check: RequestContext, claimed: Any) -> SkillResult:
        """Return the result that the world confirms of what a model claims: its own, or the orchestrator's."""
        verified = await agent.verify(check, claimed)
        await self._recorder.verified(str(claimed.error_code), str(verified.error_code), verified.reason)
        state = State.SUCCEEDED if verified.success else State.FAILED
        names = ("object_id", "passed", "put_back", "seen_in", "still_held")
        seen: dict[str, Any] = {name: getattr(check, name) for name in names}
        return self._result(state=state, **verified.model_dump(), **seen)

    async def _settle(self, reason: str, *, uncertain: bool) -> SkillResult:
        return await self.settle(reason, None if uncertain else State.FAILED)

    def _toolbox(self, bridge_wait_s: float | None = None) -> Toolbox:
        robot, settings = self._request.robot, self._context.settings
        servers = settings.servers.get(robot)
        if servers is None:
            valid = ", ".join(sorted(settings.servers))
            raise ToolsUnavailableError(f"no MCP servers for robot '{robot}'; QUARTET_SERVERS has: {valid}")
        return Toolbox(
            servers,
            self._request.grant,
            MODEL_TOOLS[self._request.skill],
            settings.tool_timeout_s,
            self._approver(),
            self._untrusted,
            self._context.kept,
            settings.bridge_wait_s if bridge_wait_s is None else bridge_wait_s,
        )

    def _approver(self) -> ApprovalRequester | None:
        approvals = self._context.approvals
        return None if approvals is None else ApprovalRequester(self._request, approvals, self._clock)

    @property
    def _usage(self) -> Usage:
        usage = self._loop.usage if self._loop else Usage()
        wall = round(time.monotonic() - self._began, 3)
        return usage.model_copy(update={"tool_calls": self._recorder.calls, "wall_s": wall})

    def _unknown(self, reason: str, state: State, observed: str = "") -> SkillResult:
        reason = reason or "no reason was given"
        return self._result(state=state, success=False, error_code="UNKNOWN", reason=reason, observed=observed)

    def _result(self, *, reason: str, observed: str = "", **fields: Any) -> SkillResult:
        """Return the result; it goes to another agent, so that what labels say is taken out of its texts."""
        request, usage, redact = self._request, self._usage, self._untrusted.redact
        if "output" in fields:
            fields["output"] = redact(fields["output"])
        if "checks" in fields:
            fields["checks"] = [{**one, "note": redact(one["note"])[:500]} for one in fields["checks"]]
        withdrawn = None if fields["state"] == State.SUCCEEDED or self._tools is None else self._tools.withdrawn
        return RESULTS[request.skill].model_validate(
            {
                "withdrawn": withdrawn,
                "request_id": request.request_id,
                "task_id": request.task_id,
                "attempt": request.attempt,
                "tool_calls_used": usage.tool_calls,
                "usage": usage,
                "reason": truncate(redact(reason), CUT_REASON),
                "observed": truncate(redact(observed), MAX_OBSERVED - 100),
                **fields,
            }
        )


def _arguments_of(request: SkillRequest) -> dict[str, Any]:
    return request.arguments.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
