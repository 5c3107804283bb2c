"""A request as the agent's own code sees it, with typed tool calls that are journaled as the model's are."""

import itertools
import time
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from quartet_agent_runtime._approvals import ApprovalRequester
from quartet_agent_runtime._model import ToolCall
from quartet_agent_runtime._protocols import Routes
from quartet_agent_runtime._recorder import Recorder
from quartet_agent_runtime._toolbox import Toolbox
from quartet_agent_runtime._tools import ToolOutcome
from quartet_agent_runtime._work_clock import WorkClock
from quartet_agent_runtime.errors import VerificationError
from quartet_contracts import SkillRequest
from quartet_contracts.tools import CommonCode, Pose2D, ToolResult
from quartet_contracts.tools.nav2 import RobotPoseResult
from quartet_contracts.tools.perception import Detection, DetectResult, PerceptionCode
from quartet_site import ProgramRule, RobotFile, SiteFile

R = TypeVar("R", bound=ToolResult)

HOPELESS = frozenset(
    {"STOPPED", "FENCED", "DENIED", "BRIDGE_UNAVAILABLE", "SERVER_UNAVAILABLE", "SERVER_LOST", "TOOL_ERROR"}
)
"""Codes after which no further call of this agent can succeed."""


@dataclass
class RequestContext:
    """A request for the code before and after the model: its files of robot and site, and the tools of its grant."""

    request: SkillRequest
    robot: RobotFile
    site: SiteFile
    toolbox: Toolbox
    recorder: Recorder
    clock: WorkClock
    """Tells how much of the request's time is left."""
    fleet: tuple[str, ...] = ()
    """All robots of the same place, sorted."""
    routes: Routes | None = None
    """Routes that the robots of the same place announce; None where there is nothing that knows of them."""
    approver: ApprovalRequester | None = None
    """Asks a person; None where nobody can be asked."""
    programs: ProgramRule = "deny"
    """What the policy says of programs that models wrote."""
    began: float = field(default_factory=time.monotonic)
    """Time at which the request was made, on this process's monotonic clock [s]."""
    calls: int = 0
    running: bool = False
    """A call is running or was cut off, so its effect is not known."""
    object_id: str | None = None
    """Id of the requested object, as the agent's code has last seen it; it goes into the result."""
    put_back: bool = False
    """The agent's code let go what was picked by mistake where it was taken from; it goes into the result."""
    still_held: bool | None = None
    """Whether the gripper still held the object when a place was checked; it goes into the result."""
    passed: list[str] = field(default_factory=list[str])
    """Areas that the drives of this request have led through, in order; they go into the result."""
    seen_in: str | None = None
    """Area in which an approach has seen its object instead of the wanted one; it goes into the result."""
    images: list[str] = field(default_factory=list[str])
    """References of the pictures that the last call returned."""
    unknown_name: str = ""
    """Message of the perception server about a name that it cannot look for, "" if there was none."""
    _forgotten: set[str] = field(default_factory=set[str])
    """Ids that the perception server does not know any more."""
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    @property
    def left_s(self) -> float:
        """Time that is left for work [s]."""
        return self.clock.left_s

    @property
    def age_s(self) -> float:
        """Time since the request was made [s]."""
        return time.monotonic() - self.began

    async def call(self, result: type[R], tool: str, **arguments: Any) -> R:
        """Call `tool` and return its result, also a failed one.

        Raises:
            VerificationError: The effect is not known, or no further call can succeed (HOPELESS).
        """
        outcome = await self.sure_outcome(tool, **arguments)
        try:
            return result.model_validate(outcome.content)
        except ValidationError as error:
            raise VerificationError(
                f"{tool} answered something else than {result.__name__}: {error}", uncertain=False
            ) from (error)

    async def sure_outcome(self, tool: str, **arguments: Any) -> ToolOutcome:
        """Call `tool` and return its raw outcome. Raises VerificationError as `call` does."""
        outcome = await self.outcome(tool, **arguments)
        if outcome.error_code in HOPELESS or outcome.interrupted:
            # Without a bridge it is not known what the robot did last.
            unknown = outcome.interrupted or outcome.void or outcome.error_code == CommonCode.BRIDGE_UNAVAILABLE
            raise VerificationError(f"{tool}: {outcome.error_code}: {outcome.message}", uncertain=unknown)
        return outcome

    async def outcome(self, tool: str, *, timeout_s: float | None = None, **arguments: Any) -> ToolOutcome:
        """Call `tool` and return its raw outcome. Raises VerificationError past the request's deadline."""
        left = self.left_s
        if left <= 0:
            raise VerificationError("the request's deadline has passed", uncertain=False)
        call = ToolCall(id=f"verify_{next(self._numbers)}", name=tool, arguments=arguments)

        async def make() -> ToolOutcome:
            self.calls += 1
            self.running = True
            outcome = await self.toolbox.call(
                tool,
                arguments,
                lambda fraction, message: self.recorder.progress(call, fraction, message),
                timeout_s=min(left, timeout_s) if timeout_s else left,
            )
            self.running = outcome.interrupted
            return outcome

        called = await self.recorder.record_call(call, make, tool)
        self.images = called.references
        return called.outcome

    async def detect(self, name: str, camera: str = "both", object_id: str | None = None) -> list[Detection]:
        """Return what `try_detect` does, and nothing where no picture could be searched."""
        return await self.try_detect(name, camera, object_id) or []

    async def try_detect(
        self, name: str, camera: str = "both", object_id: str | None = None, **more: Any
    ) -> list[Detection] | None:
        """Return everything called `name` in view of `camera` (front, arm or both), best first.

        None when no picture could be taken or searched, so that nothing is known of what is in view. With `object_id`
        only that thing, as long as the perception server knows the id. `more`: further arguments of a call by name.
        """
        if object_id is not None and object_id not in self._forgotten:
            one = await self.call(DetectResult, "perception__detect_objects", object_ids=[object_id], camera=camera)
            if one.error_code != PerceptionCode.UNKNOWN_OBJECT_ID:
                return one.detections if one.ok else None
            self._forgotten.add(object_id)
        found = await self.call(DetectResult, "perception__detect_objects", names=[name], camera=camera, **more)
        if found.error_code == PerceptionCode.UNKNOWN_OBJECT:
            self.unknown_name = found.message
        return found.detections if found.ok else None

    async def first_seen(
        self, name: str, cameras: tuple[str, ...] = ("front", "arm"), object_id: str | None = None
    ) -> list[Detection]:
        """Return what `detect` finds with the first of `cameras` that finds anything: pictures cost time."""
        for camera in cameras:
            if seen := await self.detect(name, camera, object_id):
                return seen
        return []

    async def pose(self) -> Pose2D:
        """Return the pose of the base (map frame). Raises VerificationError when the robot is not localised."""
        found = await self.call(RobotPoseResult, "nav2__get_robot_pose")
        if found.pose is None:
            raise VerificationError(f"nav2__get_robot_pose: {found.error_code}: {found.message}", uncertain=False)
        return found.pose
