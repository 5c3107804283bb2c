"""Work of the task's own model at one skill: the tools of the sub-agent, under the grant of the attempt."""

import time
from typing import Any

from quartet_agent_runtime import (
    ApprovalRequester,
    Progress,
    Toolbox,
    ToolOutcome,
    UntrustedPhrases,
    WorkClock,
    failure,
)
from quartet_contracts import MODEL_TOOLS, Budget, SkillRequest
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_orchestrator.skills.approvals import ApprovalService


class OwnWork:
    """One attempt at one skill that the orchestrator's model makes itself.

    Its tools are those that the sub-agent's model would have, and the grant is the attempt's: servers, policy and
    approvals see no difference.

    Attributes:
        request: The attempt.
        lost: Why nothing more can be done under its grant; "" while something can.
    """

    def __init__(
        self,
        request: SkillRequest,
        settings: OrchestratorSettings,
        approvals: ApprovalService,
        untrusted: UntrustedPhrases,
    ) -> None:
        """`untrusted` gets the names that results call things by: no term may quote them."""
        self.request = request
        self.lost = ""
        self._timeout_s = settings.tool_timeout_s
        self._began = time.monotonic()
        self._clock = WorkClock.of(request)
        self._toolbox = Toolbox(
            settings.servers_of(request.robot),
            request.grant,
            MODEL_TOOLS[request.skill],
            settings.tool_timeout_s,
            ApprovalRequester(request, approvals.of(request), self._clock),
            untrusted,
            bridge_wait_s=settings.bridge_wait_s,
        )

    async def call(self, tool: str, arguments: dict[str, Any], progress: Progress) -> ToolOutcome:
        """Call one of the skill's tools; what goes wrong is a failure outcome, never an exception."""
        skill = self.request.skill
        if tool not in MODEL_TOOLS[skill]:
            return failure("NOT_OF_THIS_STEP", f"{tool} is no tool of {skill}\nIts tools: {told_tools(self.request)}")
        left_s = self._clock.left_s
        if left_s <= 0 and not self.lost:
            self.lost = f"the time of {skill} was over before it was reported"
        if self.lost:
            return failure("STEP_OVER", f"{self.lost}\nCall report_{skill}_result, and read what was found out")
        outcome = await self._toolbox.call(tool, arguments, progress, timeout_s=min(left_s, self._timeout_s))
        if outcome.void:
            # The task goes on, with another attempt: for the loop this call has failed and is no end.
            self.lost = f"{tool}: {outcome.error_code}: {outcome.message}"
            return failure("STEP_OVER", f"{self.lost}\nCall report_{skill}_result, and read what was found out")
        return outcome

    def claimed(self, claim: dict[str, Any]) -> SkillRequest:
        """Return the request with what the model reports, for the sub-agent to verify in the time that is left."""
        age_s = time.monotonic() - self._began
        budget = Budget(wall_s=max(1.0, age_s + self._clock.left_s))
        return self.request.model_copy(update={"claim": claim, "budget": budget, "age_s": age_s})

    async def close(self) -> None:
        """End the sessions with the servers."""
        await self._toolbox.__aexit__(None, None, None)


def told_tools(request: SkillRequest) -> str:
    """Return the names of the tools of a request's skill, in words."""
    return ", ".join(MODEL_TOOLS[request.skill])
