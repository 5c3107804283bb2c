"""The tool get_topdown_placing_pose: where the hand must go to put an object down."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AliasChoices, Field

from quartet_contracts import ObjectId, Term
from quartet_contracts.tools import Direction, Pose3D, advanced
from quartet_contracts.tools.perception import CameraName, PlacingPoseResult
from quartet_perception.catalogue import OBJECTS
from quartet_perception.errors import NotAPlaceError, PerceptionError, UnknownObjectError
from quartet_perception.grasp import LONGEST_WAY_M, OBLONG, clearance
from quartet_perception.object_query import PLACING_POSE, HeldIdArgument, ObjectQuery, id_scope, kinds_of_names
from quartet_perception.object_tracker import Grip
from quartet_perception.perceiver import Perceiver
from quartet_perception.placing import ORDINARY, Footprint, Placement, Release, into_container, on_floor, on_surface
from quartet_perception.pose_memory import RememberedPose
from quartet_perception.scene.view import View
from quartet_perception.segmenters.base import SegmentedObject
from quartet_site import RobotFile, is_floor
from quartet_tool_server import ToolServer

Mode = Literal["floor", "surface", "container"]
Source = Literal["grasp", "catalogue", "argument", "assumed"]
UNKNOWN_HEIGHT_M = 0.2
"""Assumed height of a held object where neither it nor any object of the site has a known one [m]."""
_DROP_M, _LEAST_WAY = 0.02, 0.5
"""How much higher than asked for an object may be let go [m]: a voxel of MoveIt's octomap, as high as 0.025 m, ends the
way a little above the place. And the part of the way down that has to be free in any case."""


@dataclass(frozen=True)
class _Held:
    """Known properties of the held object."""

    footprint: Footprint
    height_m: float
    source: Source
    """Source of the height."""
    grip: Grip | None = None
    """How the hand grasped it, where that is known."""


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
        direction: Annotated[
            Direction | None,
            Field(description="From where the hand comes; left out: as it grasped the object, which is then upright."),
        ] = None,
    ) -> PlacingPoseResult:
        """Work out where to let the held object go, from a fresh picture.

        pre_place_pose (go there first) and place_pose (then straight to it, with lower_min_fraction as min_fraction,
        and open) are poses of the tool flange in the base frame; use them as they are. direction says from where the
        hand comes. If the arm does not get to pre_place_pose or straight to place_pose, ask again with direction = the
        first of other_directions. Near the end of its reach the arm does not get as far back: pass pre_place_lower_by_m
        as lower_by_m of plan_and_execute, and retract_min_fraction as min_fraction of plan_cartesian_path on the way
        back. mode is
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
        wrist_camera = await perceiver.wrist_camera()
        found: SegmentedObject | None = None
        if object_name is not None and target_id is None and is_floor(object_name):
            view = await perceiver.view(cameras[0])
        else:
            view, found, _ = await perceiver.best(_place(perceiver, object_name, target_id), cameras)
            if found.kind == "object":
                raise NotAPlaceError(
                    f"'{found.label}' is seen, but it is neither a surface nor a container; choose another place"
                )
        mode: Mode = "floor" if found is None else "container" if found.kind == "container" else "surface"
        ways = _directions(mode, held.grip)
        order: list[Direction] = ways if direction is None else [direction]
        drop = await perceiver.compute(
            _placement, perceiver.file, view, found, held, mode, wrist_camera, order,
            x_bias_m=x_bias_m, crop_radius_m=crop_radius_m,
        )  # fmt: skip
        name = "floor" if found is None else found.label
        if found is not None:
            key = f"{name} {held.height_m:.3f} {x_bias_m:.3f} {crop_radius_m} {drop.way.direction}"
            place = (drop.x, drop.y, drop.height)
            new = RememberedPose(drop, place, drop.yaw, 2 * np.pi, await perceiver.base(), drop.distance)
            if not use_cached:
                perceiver.placements.clear()
            drop = perceiver.placements.update(key, new)
        result = _result(perceiver, name, mode, "arm" if view.camera == "arm" else "front", drop, held, top_clearance_m)
        used = drop.way.direction
        others = ways[ways.index(used) + 1 :] if used in ways else []
        return result.model_copy(
            update={"object_id": None if found is None else found.object_id, "other_directions": others}
        )


def _placement(
    file: RobotFile,
    view: View,
    found: SegmentedObject | None,
    held: _Held,
    mode: Mode,
    wrist_camera: NDArray[np.float64] | None,
    directions: Sequence[Direction],
    *,
    x_bias_m: float,
    crop_radius_m: float | None,
) -> Placement:
    """Return the placement from the first direction from which the place is in reach, without any from the first.

    found: the place, None for the floor. Raises TooFewPointsError, NoFreeSpaceError.
    """
    drops: list[Placement] = []
    for one in directions:
        release = Release.of(file, held.height_m, held.grip, one, into=mode == "container", wrist_camera=wrist_camera)
        if found is None:
            drop = on_floor(view, held.height_m, file, x_bias_m=x_bias_m, release=release)
        elif mode == "container":
            drop = into_container(view, found, held.height_m, file, release)
        else:
            drop = on_surface(
                view, found, held.height_m, file,
                footprint=held.footprint, wrist_camera=wrist_camera, x_bias_m=x_bias_m, crop_radius_m=crop_radius_m,
                release=release,
            )  # fmt: skip
        if drop.reachable:
            return drop
        drops.append(drop)
    return drops[0]


def _directions(mode: Mode, grip: Grip | None) -> list[Direction]:
    """Return from where the hand can come to let an object go, in the order in which it is tried.

    On a surface the object is to stand as it stood. In a container it need not, and on the floor it need not where the
    hand cannot come so low.
    """
    if mode == "container":
        return ["above", "inclined"]
    as_grasped: Direction = "above" if grip is None else grip.direction
    if mode == "surface" or as_grasped == "above":
        return [as_grasped]
    return [as_grasped, "above"]


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
    grasped = perceiver.tracker.grasped(id_scope(), names)
    grip = None if grasped is None else grasped.grip
    if grasped is not None and grasped.height_m is not None:
        return _Held(footprint, grasped.height_m, "grasp", grip)
    if fitting:
        return _Held(footprint, max(size[2] for size in fitting), "catalogue", grip)
    if height_m is not None:
        return _Held(footprint, height_m, "argument", grip)
    return _Held(footprint, max((size[2] for size in sized.values()), default=UNKNOWN_HEIGHT_M), "assumed", grip)


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
    gripper, way = perceiver.file.gripper, drop.way
    above = perceiver.file.manipulation.pre_place_height_m if top_clearance_m is None else top_clearance_m
    above = max(above, min(drop.before_m, LONGEST_WAY_M))
    place = Pose3D(frame_id=frame, position=(drop.x, drop.y, drop.z), orientation=way.quaternion(drop.turn))
    from_above = way.direction == "above"
    room = clearance(gripper.grasp_depth(held.height_m) if from_above else gripper.grasp_depth_m, above)
    notes = [f"{mode} '{name}', {drop.distance:.2f} m away"]
    if not from_above:
        notes.append(way.described)
    if mode == "surface" and way.direction != ("above" if held.grip is None else held.grip.direction):
        notes.append("the object was grasped from another direction and will not stand upright")
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
        direction=way.direction,
        pre_place_pose=advanced(place, -above),
        pre_place_lower_by_m=room.lower_by,
        lower_min_fraction=max(_LEAST_WAY, 1 - _DROP_M / max(above, _DROP_M)),
        retract_min_fraction=room.fraction,
        drop_point=drop.underside,
        object_height_m=held.height_m,
        object_height_source=held.source,
        distance_m=drop.distance,
        reachable=drop.reachable,
    )
