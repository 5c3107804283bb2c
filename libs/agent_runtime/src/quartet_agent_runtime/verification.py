"""What an agent's own code works with after the model's report: typed tool calls, journaled as the model's are."""

import itertools
import time
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from quartet_agent_runtime import metrics
from quartet_agent_runtime.gateway import ToolCall
from quartet_agent_runtime.recorder import Recorder
from quartet_agent_runtime.toolbox import Toolbox
from quartet_agent_runtime.tools import ToolOutcome
from quartet_contracts import SkillRequest
from quartet_contracts.tools import Pose2D, ToolResult
from quartet_contracts.tools.nav2 import RobotPoseResult
from quartet_contracts.tools.perception import Detection, DetectResult, PerceptionCode
from quartet_site import RobotFile, SiteFile

R = TypeVar("R", bound=ToolResult)

HOPELESS = frozenset(
    {"STOPPED", "FENCED", "DENIED", "BRIDGE_UNAVAILABLE", "SERVER_UNAVAILABLE", "SERVER_LOST", "TOOL_ERROR"}
)
"""Codes that no further call of this agent can cure."""


class CannotVerify(Exception):
    """The world could not be looked at or acted on: the result is UNKNOWN."""

    def __init__(self, reason: str, *, uncertain: bool) -> None:
        super().__init__(reason)
        self.uncertain = uncertain


@dataclass
class Verification:
    """The request, the files of robot and site, and the tools of the grant."""

    request: SkillRequest
    robot: RobotFile
    site: SiteFile
    toolbox: Toolbox
    recorder: Recorder
    fleet: tuple[str, ...] = ()
    """All robots of the request's place, sorted."""
    calls: int = 0
    running: bool = False
    """A call runs now, so its effect is not known."""
    object_id: str | None = None
    """Of the thing that the request is about, as the agent's code has seen it last; it goes into the result."""
    _forgotten: set[str] = field(default_factory=set[str])
    """Ids that the perception server does not know any more."""
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    async def call(self, result: type[R], tool: str, **arguments: Any) -> R:
        """The tool's result, also when it failed. Raises CannotVerify where going on makes no sense."""
        outcome = await self.outcome(tool, **arguments)
        if outcome.error_code in HOPELESS or outcome.interrupted:
            unknown = outcome.interrupted or outcome.void
            raise CannotVerify(f"{tool}: {outcome.error_code}: {outcome.message}", uncertain=unknown)
        try:
            return result.model_validate(outcome.content)
        except ValidationError as error:
            raise CannotVerify(
                f"{tool} answered something else than {result.__name__}: {error}", uncertain=False
            ) from (error)

    async def outcome(self, tool: str, *, timeout_s: float | None = None, **arguments: Any) -> ToolOutcome:
        """The tool's raw outcome."""
        left = self.request.deadline - time.time()
        if left <= 0:
            raise CannotVerify("the request's deadline passed during the check after the report", uncertain=False)
        call = ToolCall(id=f"verify_{next(self._numbers)}", name=tool, arguments=arguments)
        await self.recorder.called(call)
        self.calls += 1
        began = time.monotonic()
        self.running = True
        outcome = await self.toolbox.call(
            tool,
            arguments,
            lambda fraction, message: self.recorder.progress(call, fraction, message),
            timeout_s=min(left, timeout_s) if timeout_s else left,
        )
        self.running = outcome.interrupted
        duration = time.monotonic() - began
        metrics.TOOL_CALLS.labels(self.recorder.actor, tool, outcome.error_code).inc()
        metrics.TOOL_SECONDS.labels(self.recorder.actor, tool).observe(duration)
        await self.recorder.returned(call, outcome, duration)
        return outcome

    async def detect(self, name: str, camera: str = "both", object_id: str | None = None) -> list[Detection]:
        """Everything that is called `name` in view of `camera` (front, arm or both), best first; with `object_id` that
        very thing alone, as long as the perception server knows the id."""
        if object_id is not None and object_id not in self._forgotten:
            one = await self.call(DetectResult, "perception__detect_objects", object_ids=[object_id], camera=camera)
            if one.error_code != PerceptionCode.UNKNOWN_OBJECT_ID:
                return one.detections if one.ok else []
            self._forgotten.add(object_id)
        found = await self.call(DetectResult, "perception__detect_objects", names=[name], camera=camera)
        return found.detections if found.ok else []

    async def first_seen(
        self, name: str, cameras: tuple[str, ...] = ("front", "arm"), object_id: str | None = None
    ) -> list[Detection]:
        """What the first of `cameras` shows that shows anything called `name`, or the thing with `object_id`; pictures
        cost time."""
        for camera in cameras:
            if seen := await self.detect(name, camera, object_id):
                return seen
        return []

    async def pose(self) -> Pose2D:
        """Where the base stands (map frame). Raises CannotVerify when the robot is not localised."""
        found = await self.call(RobotPoseResult, "nav2__get_robot_pose")
        if found.pose is None:
            raise CannotVerify(f"nav2__get_robot_pose: {found.error_code}: {found.message}", uncertain=False)
        return found.pose
