"""Looks at what an attempt has left behind, where its outcome is not known: standstill, gripper, pose, cameras."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from quartet_agent_runtime import (
    FLOOR_RADIUS_M,
    Observations,
    Recorder,
    RequestContext,
    Toolbox,
    ToolOutcome,
    WorkClock,
    bring_to_standstill,
    describe_observations,
    has_moved_away,
    observe,
)
from quartet_bus import Bus, JournalFullError
from quartet_contracts import (
    CONFIRM_TOOLS,
    HELD_OBJECT,
    MAX_ALIKE,
    OBSERVE_TOOLS,
    STANDSTILL_TOOLS,
    AlikeThing,
    JournalEvent,
    PlaceArguments,
    SkillRequest,
)
from quartet_contracts.tools.moveit import CurrentPoseResult, GraspState, GripperResult, Release
from quartet_contracts.tools.perception import (
    Detection,
    DetectResult,
    LastSeenResult,
    LastSighting,
    PerceptionCode,
    clearly_held,
)
from quartet_orchestrator.observation import ObserverSessions
from quartet_orchestrator.recovery.confirmation import GRASP, doubt
from quartet_orchestrator.recovery.record import OwnedJournal, TaskRecord
from quartet_site import RobotFile, RobotSetup, normalise

log = logging.getLogger(__name__)

DETECT = "perception__detect_objects"
LAST_SEEN = "perception__last_seen"
ARM = "moveit__get_current_pose"
MAX_NAMES = 50
"""Names that the perception server takes in one call."""
TOOLS = (*STANDSTILL_TOOLS, *OBSERVE_TOOLS, DETECT)


@dataclass(frozen=True)
class Inspection:
    """What an inspection found."""

    standstill_fault: str
    """Why it is not known that the robot stands still, by server; "": every motion server has measured it."""
    grasp: str
    """HOLDING, EMPTY, or what else the gripper's server said."""
    in_hand: str
    """Label of what the wrist camera shows between the fingers; '' when it knows nothing there."""
    text: str
    """Everything that was seen, for the model."""
    answered: bool
    """The robot stands still, and the gripper's server has said what it knows: looking again tells nothing new."""

    @property
    def conclusive(self) -> bool:
        """Whether it is known how the robot was left."""
        return not self.standstill_fault and self.grasp in {GraspState.HOLDING, GraspState.EMPTY}


class _InspectionJournal:
    """Journal of what an inspection calls. Where it is full the robot is measured all the same."""

    def __init__(self, journal: OwnedJournal) -> None:
        self._journal = journal

    async def append(self, *events: JournalEvent) -> str:
        """Append durably, or log why there is no room. Raises LeaseLostError when another replica owns the task."""
        try:
            return await self._journal.append(*events)
        except JournalFullError as error:
            log.warning("a call of an inspection is not journaled: %s", error)
            return ""


class Inspector:
    """Inspects the robot of one task. A failure of a server, or a full journal, is no exception."""

    def __init__(self, record: TaskRecord, bus: Bus, sessions: ObserverSessions, setup: RobotSetup) -> None:
        """`setup`: files of the task's robot."""
        self._record = record
        self._setup = setup
        self._bus = bus
        self._sessions = sessions

    @property
    def sees(self) -> bool:
        """Whether the robot has a perception server, by which things are looked for."""
        return self._sessions.has_server(self._record.task.robot, "perception")

    async def inspect(self, request_id: str) -> Inspection:
        """Bring the robot to rest with the newest fence, then look. Every call is journaled under `request_id`."""
        recorder = self._recorder(request_id)
        async with await self._open() as toolbox:
            standstill_fault = await bring_to_standstill(toolbox, recorder)
            sight = await observe(toolbox, recorder)
            grasp, in_hand = await _look_at_gripper(self._setup.robot, toolbox, recorder, sight)
        answered = not standstill_fault and sight[GRASP][0].ok
        return Inspection(standstill_fault, grasp, in_hand, describe_observations(sight), answered)

    async def confirm(self, request: SkillRequest, began: float) -> str:
        """Return why what is measured does not bear out a success of `request`, '' when it does. Moves nothing.

        `began`: when it was made, on this process's monotonic clock [s].
        """
        left_s = self._sessions.lasts(self._record.left_s)
        async with await self._open(CONFIRM_TOOLS) as toolbox:
            recorder = self._recorder(request.request_id)
            clock = WorkClock(left_s, left_s)
            robot, site = self._setup.robot, self._setup.site
            check = RequestContext(request, robot, site, toolbox, recorder, clock, began=began)
            return await doubt(check, sees=self.sees)

    async def alike_before(self, request_id: str, arguments: PlaceArguments) -> list[AlikeThing] | None:
        """Return the things with the name of what is held that are in view, or were seen before in this task.

        None when nobody can tell: no perception server, one that does not answer, or a name that it cannot look for.
        """
        name, held = arguments.object_name, arguments.held_id
        if not self.sees or normalise(name) == HELD_OBJECT:
            return None
        recorder = self._recorder(request_id)
        holding = {} if held is None else {"held_id": held}
        async with await self._open([DETECT, LAST_SEEN]) as toolbox:
            outcome = (await observe(toolbox, recorder, {DETECT: {"names": [name], **holding}}))[DETECT][0]
            if outcome.error_code == PerceptionCode.UNKNOWN_OBJECT_ID:
                outcome = (await observe(toolbox, recorder, {DETECT: {"names": [name]}}))[DETECT][0]
            remembered = (await observe(toolbox, recorder, {LAST_SEEN: {"names": [name]}}))[LAST_SEEN][0]
        try:
            seen = DetectResult.model_validate(outcome.content)
            known = LastSeenResult.model_validate(remembered.content)
        except ValidationError:
            return None
        if not (seen.ok and known.ok):
            return None
        in_view = [one for one in seen.detections if not one.in_gripper]
        ids = {held, *(one.object_id for one in in_view)}
        others = [one for one in known.sightings if one.object_id not in ids and not one.in_gripper]
        alike = [
            AlikeThing(position=one.position_map, object_id=one.object_id if _is_near(one) else None)
            for one in in_view
            if one.position_map is not None
        ]
        alike += [AlikeThing(position=one.position_map) for one in others if one.position_map is not None]
        return alike[:MAX_ALIKE]

    async def look_at_gripper(self, request_id: str) -> tuple[str, str]:
        """Return the state of the gripper, and the label of what the wrist camera shows in it."""
        recorder = self._recorder(request_id)
        async with await self._open() as toolbox:
            sight = await observe(toolbox, recorder, {GRASP: {}})
            return await _look_at_gripper(self._setup.robot, toolbox, recorder, sight)

    async def sightings(
        self, request_id: str, names: Sequence[str]
    ) -> tuple[list[LastSighting], Release | None] | None:
        """Return where the perception server has seen these things last, and the gripper's last release.

        No picture is taken for it. None when there is no perception server, or it does not answer.
        """
        if not self.sees:
            return None
        recorder, sightings = self._recorder(request_id), list[LastSighting]()
        async with await self._open([LAST_SEEN, GRASP]) as toolbox:
            try:
                for first in range(0, len(names), MAX_NAMES):
                    asked = {LAST_SEEN: {"names": list(names[first : first + MAX_NAMES])}}
                    found = (await observe(toolbox, recorder, asked))[LAST_SEEN][0]
                    seen = LastSeenResult.model_validate(found.content)
                    if not seen.ok:
                        return None
                    sightings += seen.sightings
                gripper = (await observe(toolbox, recorder, {GRASP: {}}))[GRASP][0]
                return sightings, GripperResult.model_validate(gripper.content).released
            except ValidationError:
                return None

    async def knows_name(self, request_id: str, name: str) -> bool | None:
        """Return whether the perception server can look for a thing of this name, None when it does not say.

        No picture is taken for it.
        """
        if not self.sees:
            return None
        async with await self._open([LAST_SEEN]) as toolbox:
            asked = await observe(toolbox, self._recorder(request_id), {LAST_SEEN: {"names": [name]}})
        outcome = asked[LAST_SEEN][0]
        return True if outcome.ok else False if outcome.error_code == PerceptionCode.UNKNOWN_OBJECT else None

    def _recorder(self, request_id: str) -> Recorder:
        return Recorder(
            actor="orchestrator",
            task_id=self._record.task.task_id,
            loop_id="orchestrator",
            request_id=request_id,
            journal=_InspectionJournal(self._record.journal),
            images=self._bus.images,
            transcripts=self._bus.transcripts,
        )

    async def _open(self, tools: Sequence[str] = TOOLS) -> Toolbox:
        task = self._record.task
        lasts_s = self._sessions.lasts(self._record.left_s)
        return await self._sessions.open(task.robot, tools, lasts_s=lasts_s, task_id=task.task_id)


async def _look_at_gripper(
    robot: RobotFile, toolbox: Toolbox, recorder: Recorder, sight: Observations
) -> tuple[str, str]:
    """Return state and label as `Inspector.look_at_gripper`; what the wrist camera sees is added to `sight`."""
    grasp = _grasp(sight)
    untold = grasp == GraspState.UNKNOWN and sight[GRASP][0].ok and sight[GRASP][0].content.get("effort_n") is None
    if grasp != GraspState.HOLDING and not (untold and await _has_moved_away(robot, toolbox, recorder, sight)):
        return grasp, ""
    sight |= await observe(toolbox, recorder, {DETECT: {"camera": "arm"}})
    label = _label_in_gripper(sight[DETECT][0])
    return (str(GraspState.HOLDING) if label else grasp), label


async def _has_moved_away(robot: RobotFile, toolbox: Toolbox, recorder: Recorder, sight: Observations) -> bool:
    """Return whether an object between the fingers was lifted; False if no result tells."""
    if ARM not in sight:
        sight |= await observe(toolbox, recorder, {ARM: {}})
    try:
        grasp = GripperResult.model_validate(sight[GRASP][0].content)
        return has_moved_away(robot, grasp, CurrentPoseResult.model_validate(sight[ARM][0].content))
    except ValidationError:
        return False


def _is_near(seen: Detection) -> bool:
    return seen.distance_m is not None and seen.distance_m <= FLOOR_RADIUS_M


def _grasp(sight: Observations) -> str:
    return str(sight[GRASP][0].content.get("state", GraspState.UNKNOWN))


def _label_in_gripper(outcome: ToolOutcome) -> str:
    """Return the label of what is seen between the fingers, '' where there is none or several fit about as well."""
    try:
        seen = DetectResult.model_validate(outcome.content).detections
    except ValidationError:
        return ""
    held = clearly_held(seen)
    return "" if held is None else held.label
