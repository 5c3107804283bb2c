"""Looks at what a step whose outcome is not known has left behind: standstill, gripper, pose, cameras."""

import secrets
import time
from dataclasses import dataclass

from pydantic import ValidationError

from quartet_agent_runtime import Recorder, Sight, Toolbox, ToolOutcome, describe_sight, look_around, stand_still
from quartet_bus import Bus
from quartet_contracts import OBSERVE_TOOLS, STANDSTILL_TOOLS
from quartet_contracts.tools.moveit import GraspState
from quartet_contracts.tools.perception import DetectResult
from quartet_orchestrator.grants import Signer
from quartet_orchestrator.progress import TaskRecord
from quartet_orchestrator.settings import OrchestratorSettings

DETECT = "perception__detect_objects"
GRASP = "moveit__get_grasp_state"
TOOLS = (*STANDSTILL_TOOLS, *OBSERVE_TOOLS, DETECT)


@dataclass(frozen=True)
class Inspection:
    rests: bool
    """Every motion server has measured that the robot stands still."""
    grasp: str
    """HOLDING, EMPTY, or what else is known of the gripper."""
    in_hand: str
    """What the wrist camera shows between the fingers, '' when it shows nothing that it knows."""
    text: str

    @property
    def settled(self) -> bool:
        """Whether it is known how the robot was left."""
        return self.rests and self.grasp in {GraspState.HOLDING, GraspState.EMPTY}


class Inspector:
    """Inspects the robot of one task. Never raises for what a server did."""

    def __init__(self, record: TaskRecord, bus: Bus, signer: Signer, settings: OrchestratorSettings) -> None:
        self._record = record
        self._bus = bus
        self._signer = signer
        self._settings = settings

    async def inspect(self, request_id: str) -> Inspection:
        """Bring the robot to rest with the newest fence, then look. Everything is journaled under `request_id`."""
        recorder = self._recorder(request_id)
        async with await self._toolbox() as toolbox:
            rests = await stand_still(toolbox, recorder)
            sight = await look_around(toolbox, recorder)
            grasp, in_hand = await _hand(toolbox, recorder, sight)
        return Inspection(rests, grasp, in_hand, describe_sight(sight))

    async def feel(self, request_id: str) -> tuple[str, str]:
        """State of the gripper, and what the wrist camera shows in it."""
        recorder = self._recorder(request_id)
        async with await self._toolbox() as toolbox:
            return await _hand(toolbox, recorder, await look_around(toolbox, recorder, {GRASP: {}}))

    def _recorder(self, request_id: str) -> Recorder:
        return Recorder(
            actor="orchestrator",
            task_id=self._record.task.task_id,
            loop_id="orchestrator",
            request_id=request_id,
            journal=self._record.journal,
            images=self._bus.images,
            transcripts=self._bus.transcripts,
        )

    async def _toolbox(self) -> Toolbox:
        task = self._record.task
        grant = self._signer.sign(
            agent="orchestrator",
            robot=task.robot,
            request_id=f"inspect-{secrets.token_hex(4)}",
            fence=await self._bus.fences.current(task.robot),
            tools=list(TOOLS),
            deadline=max(task.deadline, time.time()) + self._settings.cancel_wait_s,
            task_id=task.task_id,
        )
        return Toolbox(self._settings.servers_of(task.robot), grant, TOOLS, self._settings.look_timeout_s)


async def _hand(toolbox: Toolbox, recorder: Recorder, sight: Sight) -> tuple[str, str]:
    """State of the gripper, and the name of what is in it; a look at it is added to `sight`."""
    grasp = str(sight[GRASP][0].content.get("state", GraspState.UNKNOWN))
    if grasp != GraspState.HOLDING:
        return grasp, ""
    sight |= await look_around(toolbox, recorder, {DETECT: {"camera": "arm"}})
    return grasp, _in_hand(sight[DETECT][0])


def _in_hand(outcome: ToolOutcome) -> str:
    """The one label that is seen between the fingers."""
    try:
        seen = DetectResult.model_validate(outcome.content).detections
    except ValidationError:
        return ""
    labels = {one.label for one in seen if one.in_gripper}
    return labels.pop() if len(labels) == 1 else ""
