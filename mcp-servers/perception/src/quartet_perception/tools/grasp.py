"""The tool get_topdown_grasp_pose: where the hand must go to pick an object up."""

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from quartet_contracts import ObjectId, Term
from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.perception import BoundingBox, CameraName, GraspPoseResult
from quartet_perception.errors import BadParametersError, NothingFoundError, ObjectTooWideError
from quartet_perception.estimate import FROM_ABOVE_M, estimate, still_there
from quartet_perception.fusion import Fused
from quartet_perception.grasp import Grasp, clearance, plan_grasp, reach_of_pick
from quartet_perception.object_query import GRASP_POSE, id_scope, kinds_of_names
from quartet_perception.perceiver import Perceiver
from quartet_perception.scene.view import View
from quartet_tool_server import ToolServer

_FLAT_M = 0.005
"""Least height that is told for the planner's sake."""
_STEEP = 0.7
"""Least sine of the angle at which a look from above looks down."""
_LITTLE_ROOM_M = 0.006
"""With less room than this a finger may touch something."""


def add_grasp_tool(server: ToolServer, perceiver: Perceiver) -> None:
    """Add get_topdown_grasp_pose."""

    @server.tool(read_only=True)
    async def get_topdown_grasp_pose(
        object_name: Annotated[Term | None, Field(description="The object to grasp.")] = None,
        camera: Annotated[
            CameraName | None, Field(description="'arm' or 'front'; left out: the one that sees it best, arm first.")
        ] = None,
        object_id: Annotated[
            ObjectId | None,
            Field(description="In place of object_name: object_id of an earlier result of this task: that very thing."),
        ] = None,
    ) -> GraspPoseResult:
        """Work out a grasp from above for an object, by name or object_id, from a fresh picture.

        pre_grasp_pose (go there first), grasp_pose (then straight down to it and close) and lift_pose (then straight
        up) are poses of the tool flange in the base frame, pointing down; use them as they are. Under a board or near
        the end of its reach the arm does not get as high: pass pre_grasp_lower_by_m as lower_by_m of plan_and_execute
        and lift_min_fraction as min_fraction of plan_cartesian_path. object_size_m is for close_gripper.
        If reachable is false, do not move the arm: the base must
        come nearer first (distance_m says how far the object is). NO_OBJECTS_FOUND: try the other camera or drive
        nearer. TOO_FEW_POINTS: seen without depth, look from elsewhere. UNKNOWN_OBJECT: not in the catalogue.
        UNKNOWN_OBJECT_ID: go on with the name.

        Where something stands close, open_position is the position for open_gripper with which the fingers pass. If
        look_again is true, the place is not known well enough for that: from pre_grasp_pose ask once more with camera
        'arm' and use what comes then; the object need not be recognised from there, what stands where it was seen is
        enough. If too_uncertain is true, even that does not tell enough: do not grasp, the base must come from another
        side. position_sd_m, yaw_sd_rad and width_sd_m are standard deviations; the hand needs needed_room_m.
        """
        sought = perceiver.query(object_name, object_id, "object_name", kinds_of_names(GRASP_POSE, "object_name"))
        for name in sought.names if object_name is None or object_id is not None else [object_name]:
            server.limits.check_payload(name)
        cameras: tuple[CameraName, ...] = ("arm", "front") if camera is None else (camera,)
        base = await perceiver.base()
        try:
            view, found, _ = await perceiver.best(sought, cameras)
        except NothingFoundError:
            name, object_id = sought.names[0], sought.object_id
            # From above a can shows its lid, which need not have its colours: it is enough that something stands there.
            if camera != "arm":
                raise
            view = await perceiver.view("arm")
            remembered = perceiver.looks.recall(object_id or name, base, view.stamp)
            if remembered is None or not await perceiver.compute(still_there, view, remembered.seen):
                raise
            fused = remembered
        else:
            name, object_id = found.label, found.object_id
            now = await perceiver.compute(estimate, view, found)
            fused = await perceiver.compute(perceiver.fuse, object_id or name, view, now, base)
        seen = fused.seen
        wrist_camera = await perceiver.wrist_camera()
        before = perceiver.grasp_views.add(view, base)
        try:
            grasp = await perceiver.compute(plan_grasp, view, seen, perceiver.file, before, wrist_camera)
        except ObjectTooWideError as wide:
            raise BadParametersError(
                f"'{name}' cannot be grasped from above: it is {wide}. Choose another object."
            ) from None
        if object_id is not None:
            perceiver.tracker.mark_grasp_target(id_scope(), object_id, seen.height)
        # What one side of it shows is its whole size: above it the wrist camera shows the others.
        as_seen = view.camera != "arm" and any(not one.sized for one in perceiver.catalogue.entries if one.name == name)
        return _result(perceiver, view, name, object_id, fused, grasp, as_seen=as_seen)


def _result(
    perceiver: Perceiver, view: View, name: str, object_id: str | None, fused: Fused, grasp: Grasp, *, as_seen: bool
) -> GraspPoseResult:
    seen = fused.seen
    gripper, sure = perceiver.file.gripper, grasp.uncertainty
    m, frame = perceiver.file.manipulation, perceiver.file.frames.base
    low, high = seen.solid.bounds

    def pose(height: float) -> Pose3D:
        return Pose3D(frame_id=frame, position=(grasp.x, grasp.y, grasp.z + height), orientation=grasp.quaternion)

    distance = float(np.hypot(grasp.x, grasp.y))
    reach = reach_of_pick(perceiver.file, seen.support)
    notes = [f"'{name}' is {distance:.2f} m away and {seen.height:.3f} m tall"]
    if distance > reach:
        notes.append(f"beyond the arm's reach of {reach:.2f} m there: drive nearer first")
    from_above = _is_from_above(view.origin.tolist(), seen.centre)
    look_again = (as_seen or not grasp.sure) and not from_above
    # From a second place of the base it is as good as it gets.
    too_uncertain = grasp.too_uncertain and from_above and fused.stops == 1
    if fused.looks > 1:
        notes.append(f"as {fused.looks} looks from {fused.stops} place{'s' if fused.stops > 1 else ''} tell together")
    if too_uncertain:
        notes.append(f"{_short(grasp)} even from above: look from another side before it is grasped")
    elif look_again and as_seen:
        notes.append("its size is only as seen from here: look again from pre_grasp_pose")
    elif look_again and grasp.uncertain:
        notes.append(f"{_short(grasp)}: look again from pre_grasp_pose, which is nearer")
    elif look_again:
        notes.append("what is beside it is hidden from here: look again from pre_grasp_pose")
    elif grasp.room < _LITTLE_ROOM_M:
        notes.append("something stands close beside it: the fingers may touch it")
    return GraspPoseResult(
        message="; ".join(notes),
        object_name=name,
        object_id=object_id,
        camera="arm" if view.camera == "arm" else "front",
        centroid_camera=view.to_camera(np.array(seen.centre)),
        centroid_base=seen.centre,
        grasp_pose=pose(0.0),
        pre_grasp_pose=pose(m.pre_grasp_height_m),
        pre_grasp_lower_by_m=clearance(seen.top - grasp.tip_z, m.pre_grasp_height_m).lower_by,
        lift_pose=pose(m.lift_height_m),
        lift_min_fraction=clearance(seen.top - grasp.tip_z, m.lift_height_m).fraction,
        bounding_box=BoundingBox(
            minimum=(float(low[0]), float(low[1]), seen.support), maximum=(float(high[0]), float(high[1]), seen.top)
        ),
        object_height_m=seen.height,
        object_size_m=(grasp.width, grasp.length, max(seen.height, _FLAT_M)),
        grasp_width_m=grasp.width,
        num_points=len(seen.points),
        gripper_offset_m=gripper.finger_offset_m,
        oriented=grasp.oriented,
        distance_m=distance,
        reachable=distance <= reach,
        open_position=None if grasp.opening >= gripper.stroke_m else gripper.position_at(grasp.opening),
        look_again=look_again,
        too_uncertain=too_uncertain,
        position_sd_m=(round(sure.between, 4), round(sure.across, 4)),
        yaw_sd_rad=None if sure.yaw is None else round(sure.yaw, 3),
        width_sd_m=round(sure.width, 4),
        room_m=round(grasp.room, 4),
        needed_room_m=round(grasp.needed_m, 4),
    )


def _short(grasp: Grasp) -> str:
    """Return that the hand has too little room for where it may be."""
    room = max(grasp.room, 0.0) * 1000
    return f"the hand has {room:.0f} mm of room and needs {grasp.needed_m * 1000:.0f} mm for what it may be off"


def _is_from_above(camera: Sequence[float], centre: Sequence[float]) -> bool:
    """Return whether a camera at that point looks down at an object from near: it then sees the tops of what is beside.

    From a low pose of the arm, a tall neighbour hides most of what the hand would meet.
    """
    away = math.dist(camera, centre)
    return away <= FROM_ABOVE_M and camera[2] - centre[2] >= _STEEP * away
