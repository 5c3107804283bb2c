"""The perception pipeline of one robot: pictures, segmentation off the event loop, object tracking, pose memory."""

import asyncio
import contextlib
import contextvars
import math
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from quartet_contracts.tools.perception import CameraName
from quartet_perception.catalogue import KINDS, Catalogue, CatalogueEntry, Kind, free_name
from quartet_perception.detection import extent, to_point
from quartet_perception.errors import (
    BadParametersError,
    NothingFoundError,
    TooFewPointsError,
    UnknownObjectError,
    UnknownObjectIdError,
)
from quartet_perception.estimate import Estimate, estimate
from quartet_perception.fusion import Fused, Look, LookMemory
from quartet_perception.held_object import find_held_object
from quartet_perception.object_query import NAME_ARGUMENTS, ObjectQuery, id_scope, kinds_of_names
from quartet_perception.object_tracker import ObjectTracker, Observation
from quartet_perception.placing import Placement
from quartet_perception.pose_memory import Base, PoseMemory, ViewMemory
from quartet_perception.scene.view import Intrinsics, View
from quartet_perception.segmenters.base import SegmentedObject, Segmenter, caller_left
from quartet_perception.segmenters.chain import segment
from quartet_perception.surroundings import WatchedTopic, planar_covariance
from quartet_robot_link import LATCHED, BridgeUnavailableError, CameraSnapshot, Robot, RobotLinkError
from quartet_site import RobotFile, SiteFile
from quartet_tool_server import REPORT_EVERY_S, report_progress

P = ParamSpec("P")
T = TypeVar("T")

_EXTRA_S = 0.3
"""Wall time that a picture waits for what it can do without: where the hand is, and how far its fingers are apart."""
_GOOD_QUALITY = 0.75
"""Score times visible share above which no other camera is tried."""


class Perceiver:
    """What the tools of one robot share.

    Every call takes fresh pictures; only settled poses and object_ids are remembered.
    """

    def __init__(self, robot: Robot, site: SiteFile, segmenter: Segmenter, catalogue: Catalogue) -> None:
        self.robot, self.site, self.catalogue, self.segmenter = robot, site, catalogue, segmenter
        self.grasp_views = ViewMemory()
        self.placements: PoseMemory[Placement] = PoseMemory()
        self.tracker = ObjectTracker()
        # One worker: pictures are large, and a second one would only compete for the same core.
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="perception")
        # A segmenter that waits for another process must not hold the worker up meanwhile.
        self._waiters = ThreadPoolExecutor(max_workers=4, thread_name_prefix="segmenter")

    @cached_property
    def looks(self) -> LookMemory:
        """The looks at each object."""
        return LookMemory(self.file.arm.tool_error_m)

    @cached_property
    def _located(self) -> WatchedTopic:
        kind = "geometry_msgs/msg/PoseWithCovarianceStamped"
        return WatchedTopic(self.robot.link, self.file.topics.localisation, kind, LATCHED, period_ms=0)

    @property
    def file(self) -> RobotFile:
        """The robot file."""
        return self.robot.file

    async def compute(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` in the worker thread, so that the event loop stays free."""
        return await self._run(self._worker, function, *args, **kwargs)

    async def _run(
        self, executor: ThreadPoolExecutor, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        # The thread sees the grant of the call that is being served, and whether that call still waits.
        context, left = contextvars.copy_context(), threading.Event()
        context.run(caller_left.set, left)
        try:
            return await asyncio.get_running_loop().run_in_executor(
                executor, lambda: context.run(function, *args, **kwargs)
            )
        except asyncio.CancelledError:
            left.set()
            raise

    def names(self, prompt: str, kinds: tuple[Kind, ...] = KINDS) -> list[str]:
        """Return what the segmenter is asked for when a person says `prompt`.

        These are names of the catalogue or, where the segmenter takes free text, the words themselves. Raises
        UnknownObjectError.
        """
        try:
            return [t.name for t in self.catalogue.match(prompt, kinds)]
        except UnknownObjectError:
            # What the catalogue has as another kind is not looked for as free text.
            if not self.segmenter.free_text or (kinds != KINDS and self._known(prompt)):
                raise
        return [free_name(prompt)]

    def query(
        self,
        name: str | None,
        object_id: str | None,
        argument: str,
        kinds: tuple[Kind, ...] = KINDS,
        *,
        id_argument: str = "object_id",
    ) -> ObjectQuery:
        """Return what a caller asks for with the id in `id_argument`, or else with the text in `argument`.

        Raises BadParametersError if neither is given, UnknownObjectIdError, UnknownObjectError.
        """
        if name is None and object_id is None:
            raise BadParametersError(f"give {argument} (a name) or {id_argument} (of an earlier result)")
        if object_id is None:
            assert name is not None
            return ObjectQuery(self.names(name, kinds), name)
        known = self.tracker.get(id_scope(), object_id)
        return ObjectQuery(self.names(known.name, kinds), f"{known.name} ({object_id})", object_id)

    def names_meant(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the names and object_ids in a call's arguments mean, by name argument, for the policy.

        A name becomes a list of itself and of everything in the catalogue that `tool` would take it for: plurals,
        misspellings and synonyms among them. `arguments` is as it came, so it may hold anything. An unknown id adds
        nothing: the tool itself refuses it.
        """
        said: dict[str, Any] = {}
        for argument, names in NAME_ARGUMENTS.items():
            for name in names:
                given, kinds = arguments.get(name), kinds_of_names(tool, name)
                if isinstance(given, str):
                    said[name] = self._taken_for(given, kinds)
                elif isinstance(given, list):
                    said[name] = [self._taken_for(one, kinds) if isinstance(one, str) else one for one in given]
            ids = arguments.get(argument)
            known: list[str] = []
            for object_id in ids if isinstance(ids, list) else [ids]:
                with contextlib.suppress(UnknownObjectIdError):
                    known += [self.tracker.get(id_scope(), object_id).name] if isinstance(object_id, str) else []
            if known:
                said |= dict.fromkeys(names, known if argument == "object_ids" else known[0])
        return said

    def _taken_for(self, name: str, kinds: tuple[Kind, ...]) -> list[str]:
        """Return `name` and the names of the entries of these kinds that it means."""
        return [name, *(entry.name for entry in self._known(name, kinds))]

    def _known(self, name: str, kinds: tuple[Kind, ...] = KINDS) -> list[CatalogueEntry]:
        try:
            return self.catalogue.match(name, kinds)
        except UnknownObjectError:
            return []

    async def shoot(self, camera: CameraName) -> CameraSnapshot:
        """Take a fresh snapshot; does not wait while the bridge is disconnected. Raises RobotLinkError."""
        if not self.robot.link.connected:
            raise BridgeUnavailableError("the connection to the robot's rosbridge is down; it is being tried again")
        return await self.robot.snapshot(camera)

    async def view(self, camera: CameraName) -> View:
        """Take a fresh picture with its depth and camera pose. Raises RobotLinkError, BadImageError."""
        shot = await self.shoot(camera)
        tool_in_base, finger_gap_m = await asyncio.gather(self._tool_in_base(shot.stamp), self._finger_gap())
        k = shot.intrinsics
        return View(
            rgb=shot.colour,
            depth=shot.depth,
            intrinsics=Intrinsics(k.fx, k.fy, k.cx, k.cy),
            base_from_camera=shot.base_from_camera,
            camera=camera,
            stamp=shot.stamp,
            map_from_base=shot.map_from_base,
            tool_in_base=tool_in_base,
            gripper=self.file.gripper,
            finger_gap_m=finger_gap_m,
            calibration_error=getattr(self.file.cameras, camera).calibration_error,
            localisation=self._localisation(),
        )

    def _localisation(self) -> NDArray[np.float64] | None:
        located = self._located.newest(math.inf)
        return None if located is None else planar_covariance(located)

    async def _tool_in_base(self, stamp: float) -> NDArray[np.float64] | None:
        try:
            frames = self.file.frames
            return (await self.robot.transform(frames.base, frames.tool, stamp=stamp, timeout_s=_EXTRA_S)).matrix
        except RobotLinkError:
            return None

    async def _finger_gap(self) -> float | None:
        """Return how far the finger pads are apart [m]; None for a silent driver."""
        gripper = self.file.gripper
        try:
            position = (await self.robot.joint_positions([gripper.joint], timeout_s=_EXTRA_S)).get(gripper.joint)
        except RobotLinkError:
            return None
        return None if position is None else gripper.width_at(position)

    async def wrist_camera(self) -> NDArray[np.float64] | None:
        """Return the 4x4 pose of the wrist camera in the frame of the tool flange; None when unknown."""
        frames = self.file.frames
        try:
            return (await self.robot.transform(frames.tool, self.file.cameras.arm.frame, timeout_s=_EXTRA_S)).matrix
        except RobotLinkError:
            return None

    async def base(self) -> Base:
        """Return x, y [m] and yaw [rad] of the base in the odometry frame, which does not jump; None when unknown."""
        try:
            pose = await self.robot.base_pose(self.file.frames.odom, timeout_s=0.5)
        except RobotLinkError:
            return None
        return pose.x, pose.y, pose.yaw

    async def segment(self, view: View, prompts: Sequence[str], *, doubts: bool = False) -> list[SegmentedObject]:
        """Run the segmenter in a thread of its kind. Raises UnknownObjectError, SegmenterError."""
        executor = self._waiters if self.segmenter.remote else self._worker
        return await self._run(executor, segment, self.segmenter, view, prompts, doubts=doubts)

    async def find(
        self, camera: CameraName, names: Sequence[str], holding: str | None = None, *, doubts: bool = False
    ) -> tuple[View, list[SegmentedObject]]:
        """Take a fresh picture and find `names` in it, best first, each with its object_id in the caller's task.

        holding: id of what the gripper is known to hold. doubts: with what may be one of `names`; what a person has
        confirmed is found anyway. Raises UnknownObjectError, SegmenterError, RobotLinkError.
        """
        confirmed = self.tracker.confirmed(id_scope())
        for name in names:
            self.names(name)
        view = await self.view(camera)
        found = await _with_progress(self.segment(view, names, doubts=doubts or bool(confirmed)))
        entries = [entry for name in names for entry in self._known(name)]
        held = await self.compute(find_held_object, view, self.catalogue.entries, entries, self.file)
        everything = [*(f for f in found if not (held and f.in_gripper)), *held]
        frames = self.file.frames
        # The picture has waited for odometry already: a robot that has none need not wait again.
        drives = self.robot.transforms.newest(frames.odom, frames.base) is not None
        base = await self.base() if everything and drives else None
        known = await self.compute(self._with_ids, view, everything, base, holding)
        known = [replace(one, doubtful=False) if one.object_id in confirmed else one for one in known]
        return view, [one for one in known if doubts or not one.doubtful]

    def _with_ids(
        self,
        view: View,
        found: Sequence[SegmentedObject],
        base: Base,
        holding: str | None,
    ) -> list[SegmentedObject]:
        """Return `found` with object_ids, without what was grasped by mistake, and remember how they look from here.

        base: in the odometry frame.
        """
        seen = [_observation(view, one, base, self.file.frames.odom) for one in found]
        ids = self.tracker.update(id_scope(), seen, holding)
        mistaken = {one.object_id for one in self.tracker.mistaken(id_scope())}
        known = [replace(one, object_id=object_id) for one, object_id in zip(found, ids, strict=True)]
        known = [one for one in known if one.in_gripper or one.object_id not in mistaken]
        for one in known:
            self._remember(view, one, base)
        return known

    def _remember(self, view: View, found: SegmentedObject, base: Base) -> None:
        """Take in a look at an object that was near enough for its size to be measured."""
        if found.object_id is None or found.kind != "object":
            return
        if found.in_gripper:
            self.looks.forget(found.object_id)
        elif found.refined:
            with contextlib.suppress(TooFewPointsError):
                self.fuse(found.object_id, view, estimate(view, found), base)

    def fuse(self, name: str, view: View, seen: Estimate, base: Base) -> Fused:
        """Return what all looks at an object tell, with this one. `base` is that in the odometry frame."""
        x, y, z = (float(one) for one in view.origin)
        return self.looks.add(name, Look(seen, base, (x, y, z), view.stamp))

    async def best(
        self, query: ObjectQuery, cameras: Sequence[CameraName]
    ) -> tuple[View, SegmentedObject, list[SegmentedObject]]:
        """Return the best view of what is asked for: the picture, the object and everything found in that picture.

        A later camera is used only when an earlier one shows the object badly or not at all. Objects in the gripper
        are skipped. Raises NothingFoundError.
        """
        best: tuple[View, SegmentedObject, list[SegmentedObject]] | None = None
        for camera in cameras:
            view, found = await self.find(camera, query.names)
            usable = [f for f in query.select(found) if not f.in_gripper]
            if usable and (best is None or _quality(usable[0]) > _quality(best[1])):
                best = (view, usable[0], found)
            if best is not None and _quality(best[1]) > _GOOD_QUALITY:
                break
        if best is None:
            seen_by = " nor ".join(f"the {c} camera" for c in cameras)
            negation = "does not show" if len(cameras) == 1 else "show"
            subject = seen_by if len(cameras) == 1 else f"neither {seen_by}"
            raise NothingFoundError(
                f"{subject} {negation} '{query.text}' within 6 m; drive nearer or turn towards it and look again"
                + (", or go on with its name if it may have been moved" if query.object_id else "")
            )
        return best


def _observation(view: View, found: SegmentedObject, base: Base, odom: str) -> Observation:
    """Return what the tracker needs: the object's middle in the map, else in the odometry frame."""
    measured = extent(view, found)
    unique = found.entry is not None and found.kind != "object"
    frame, place = "map", None
    if measured is not None and view.map_from_base is not None:
        place = to_point(view.map_from_base @ [*measured[1], 1.0])
    elif measured is not None and base is not None:
        x, y, yaw = base
        c, s = np.cos(yaw), np.sin(yaw)
        centre = measured[1]
        frame, place = odom, (x + c * centre[0] - s * centre[1], y + s * centre[0] + c * centre[1], centre[2])
    return Observation(found.label, place, frame, unique, found.in_gripper, found.doubtful)


async def _with_progress(segmentation: Coroutine[Any, Any, T]) -> T:
    """Return the result of a segmenter and report progress to the caller meanwhile, since it may take long."""
    task, began = asyncio.create_task(segmentation), time.monotonic()
    try:
        while not (await asyncio.wait([task], timeout=REPORT_EVERY_S))[0]:
            await report_progress(time.monotonic() - began, None, "the segmenter is at work")
        return task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _quality(found: SegmentedObject) -> float:
    """Return score times visible share, 0 to 1."""
    return found.score * found.visible
