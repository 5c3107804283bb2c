"""The tool get_topdown_placing_pose: where the hand must go to put an object down."""

import contextlib
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import AliasChoices, Field

from quartet_contracts import ObjectId, Term
from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.perception import CameraName, PlacingPoseResult
from quartet_perception.catalogue import OBJECTS
from quartet_perception.errors import NotAPlaceError, PerceptionError, UnknownObjectError
from quartet_perception.grasp import OBLONG, clearance, downward
from quartet_perception.object_query import PLACING_POSE, HeldIdArgument, ObjectQuery, id_scope, kinds_of_names
from quartet_perception.perceiver import Perceiver
from quartet_perception.placing import ORDINARY, Footprint, Placement, into_container, on_floor, on_surface
from quartet_perception.pose_memory import RememberedPose
from quartet_site import is_floor
from quartet_tool_server import ToolServer

Mode = Literal["floor", "surface", "container"]
Source = Literal["grasp", "catalogue", "argument", "assumed"]
UNKNOWN_HEIGHT_M = 0.2
"""Assumed height of a held object where neither it nor any object of the site has a known one [m]."""
_DROP_M, _LEAST_WAY = 0.02, 0.5
"""How much higher than asked for an object may be let go [m]: a voxel of MoveIt's octomap, as high as 0.025 m, ends the
way a little above the place. And the part of the way down that has to be free in any case."""


def add_placing_tool(server: ToolServer, perceiver: Perceiver) -> None:
    """Add get_topdown_placing_pose."""

    @server.tool(read_only=True)
    async def get_topdown_placing_pose(
        object_name: Annotated[Term | None, Field(description="The place: a surface, a container, or 'floor'.")] = None,
        object_height_m: Annotated[
            float | None,
            Field(
                ge=0,
                le=1,
                allow_inf_nan=False,
                description="Height of the held object [m], used if neither its grasp nor the site file gives it.",
            ),
        ] = None,
        top_clearance_m: Annotated[
            float | None,
            Field(ge=0, le=1, allow_inf_nan=False, description="Height of pre_place_pose above place_pose [m]."),
        ] = None,
        x_bias_m: Annotated[
            float, Field(ge=-0.5, le=0.5, allow_inf_nan=False, description="Moves the drop away from the robot [m].")
        ] = 0.0,
        use_cached: Annotated[
            bool, Field(description="Keep the last pose when it has hardly changed and the robot has not moved.")
        ] = True,
        crop_radius_m: Annotated[
            float | None,
            Field(
                gt=0,
                le=5,
                allow_inf_nan=False,
                description="Search for a free spot only this far around the usual one.",
            ),
        ] = None,
        camera: Annotated[
            CameraName | None, Field(description="'front' or 'arm'; left out: the one that sees it best, front first.")
        ] = None,
        held_object: Annotated[
            Term | None, Field(description="Name of the held object; tells how much room it needs.")
        ] = None,
        target_id: Annotated[
            ObjectId | None,
            Field(
                validation_alias=AliasChoices("target_id", "object_id"),
                description="In place of object_name: object_id of an earlier result of this task, of the place.",
            ),
        ] = None,
        held_id: HeldIdArgument = None,
    ) -> PlacingPoseResult:
        """Work out where to let the held object go, from a fresh picture.

        pre_place_pose (go there first) and place_pose (then straight down to it, with lower_min_fraction as
        min_fraction, and open) are poses of the tool flange in the base frame, pointing down; use them as they are.
        Under a board or near the end of its reach the arm does not get as high: pass pre_place_lower_by_m as lower_by_m
        of plan_and_execute, and retract_min_fraction as min_fraction of plan_cartesian_path on the way back. mode is
        floor, surface or container; drop_point is where the underside of the object comes to lie. object_height_m and
        object_height_source: the height used, from the grasp, the catalogue, the argument, or assumed. If reachable is
        false, do not move the arm: the base must come nearer (distance_m says how far the spot is). NOT_A_PLACE: the
        name is an object, not a place. NO_OBJECTS_FOUND: the place is not in view, drive or turn towards it.
        NO_FREE_SPACE: it is full. TOO_FEW_POINTS: drive nearer. UNKNOWN_OBJECT_ID: go on with the name.
        """
        if held_id is not None:
            held_object = perceiver.tracker.mark_held(id_scope(), held_id).name
        held = _held(perceiver, held_object, object_height_m)
        cameras: tuple[CameraName, ...] = ("front", "arm") if camera is None else (camera,)
        if object_name is not None and target_id is None and is_floor(object_name):
            view = await perceiver.view(cameras[0])
            drop = await perceiver.compute(on_floor, view, held.height_m, perceiver.file, x_bias_m=x_bias_m)
            return _result(perceiver, "floor", "floor", cameras[0], drop, held, top_clearance_m)
        view, found, _ = await perceiver.best(_place(perceiver, object_name, target_id), cameras)
        seen_by: CameraName = "arm" if view.camera == "arm" else "front"
        if found.kind == "object":
            raise NotAPlaceError(
                f"'{found.label}' is seen, but it is neither a surface nor a container; choose another place"
            )
        if found.kind == "container":
            mode: Mode = "container"
            drop = await perceiver.compute(into_container, view, found, held.height_m, perceiver.file)
        else:
            mode = "surface"
            drop = await perceiver.compute(
                on_surface, view, found, held.height_m, perceiver.file,
                footprint=held.footprint, wrist_camera=await perceiver.wrist_camera(), x_bias_m=x_bias_m,
                crop_radius_m=crop_radius_m,
            )  # fmt: skip
        key = f"{found.label} {held.height_m:.3f} {x_bias_m:.3f} {crop_radius_m}"
        place = (drop.x, drop.y, drop.height)
        new = RememberedPose(drop, place, drop.yaw, 2 * np.pi, await perceiver.base(), drop.distance)
        if not use_cached:
            perceiver.placements.clear()
        drop = perceiver.placements.update(key, new)
        result = _result(perceiver, found.label, mode, seen_by, drop, held, top_clearance_m)
        return result.model_copy(update={"object_id": found.object_id})


def _place(perceiver: Perceiver, name: str | None, target_id: str | None) -> ObjectQuery:
    """Return the surface or container that is asked for.

    Raises NotAPlaceError, UnknownObjectError, UnknownObjectIdError, BadParametersError.
    """
    try:
        return perceiver.query(
            name, target_id, "object_name", kinds_of_names(PLACING_POSE, "object_name"), id_argument="target_id"
        )
    except UnknownObjectError as unknown:
        if name is None:
            name = perceiver.tracker.get(id_scope(), target_id or "").name
        try:
            objects = perceiver.catalogue.match(name, OBJECTS)
        except UnknownObjectError:
            raise unknown from None
        places = ", ".join(["floor", *(t.name for t in perceiver.catalogue.entries if t.kind != "object")])
        raise NotAPlaceError(
            f"'{objects[0].name}' is an object to pick up, not a place to put things; the places are: {places}"
        ) from None


@dataclass(frozen=True)
class _Held:
    """Known properties of the held object."""

    footprint: Footprint
    height_m: float
    source: Source
    """Source of the height."""


def _held(perceiver: Perceiver, name: str | None, height_m: float | None) -> _Held:
    """Return footprint and height of the held object called `name`; `height_m` is what the caller says [m].

    A caller may have seen only the part below the fingers, so its height counts after the measured ones. Unknown
    objects get an ordinary footprint and the height of the tallest object of the site, so that none is pushed down.
    """
    names: list[str] = []
    with contextlib.suppress(PerceptionError):
        names = [] if name is None else perceiver.names(name, kinds_of_names(PLACING_POSE, "held_object"))
    sized = {one.name: one.size_m for one in perceiver.catalogue.entries if one.kind == "object" and one.sized}
    fitting = [sized[one] for one in names if one in sized]
    footprint = ORDINARY
    if fitting:
        short, long = sorted(fitting[0][:2])
        footprint = Footprint(short if long > OBLONG * short else long, long)
    if (measured := perceiver.tracker.grasped_height(id_scope(), names)) is not None:
        return _Held(footprint, measured, "grasp")
    if fitting:
        return _Held(footprint, max(size[2] for size in fitting), "catalogue")
    if height_m is not None:
        return _Held(footprint, height_m, "argument")
    return _Held(footprint, max((size[2] for size in sized.values()), default=UNKNOWN_HEIGHT_M), "assumed")


def _result(
    perceiver: Perceiver,
    name: str,
    mode: Mode,
    camera: CameraName,
    drop: Placement,
    held: _Held,
    top_clearance_m: float | None,
) -> PlacingPoseResult:
    frame = perceiver.file.frames.base
    orientation = downward(drop.yaw)
    above = perceiver.file.manipulation.pre_place_height_m if top_clearance_m is None else top_clearance_m
    place = Pose3D(frame_id=frame, position=(drop.x, drop.y, drop.z), orientation=orientation)
    room = clearance(perceiver.file.gripper.grasp_depth(held.height_m), above)
    higher = replace(drop, z=drop.z + above)
    notes = [f"{mode} '{name}', {drop.distance:.2f} m away"]
    if drop.note:
        notes.append(drop.note)
    if held.source == "assumed":
        notes.append(f"the held object's height is unknown; {held.height_m:.2f} m is assumed")
    if not drop.reachable:
        notes.append(f"beyond the arm's reach of {drop.reach_m:.2f} m: drive nearer first")
    return PlacingPoseResult(
        message="; ".join(notes),
        target_name=name,
        mode=mode,
        camera=camera,
        surface_height_m=drop.height,
        surface_centroid=drop.centroid,
        place_pose=place,
        pre_place_pose=place.model_copy(update={"position": (higher.x, higher.y, higher.z)}),
        pre_place_lower_by_m=room.lower_by,
        lower_min_fraction=max(_LEAST_WAY, 1 - _DROP_M / max(above, _DROP_M)),
        retract_min_fraction=room.fraction,
        drop_point=drop.underside,
        object_height_m=held.height_m,
        object_height_source=held.source,
        distance_m=drop.distance,
        reachable=drop.reachable,
    )
