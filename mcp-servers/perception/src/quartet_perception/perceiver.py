"""Eyes of one robot: takes pictures, runs the segmenter off the event loop, remembers steady estimates."""

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from quartet_contracts.tools.perception import CameraName
from quartet_perception.catalogue import KINDS, Catalogue, Kind, Thing, free_name
from quartet_perception.errors import NothingFound, UnknownObject
from quartet_perception.estimate import Estimate
from quartet_perception.held import find_held
from quartet_perception.identity import Wanted, identified
from quartet_perception.placing import Drop
from quartet_perception.segmenter import Found, Segmenter, caller_left
from quartet_perception.sightings import Sightings
from quartet_perception.stability import PoseMemory
from quartet_perception.view import Intrinsics, View
from quartet_robot_link import BridgeUnavailable, CameraSnapshot, LinkError, Robot
from quartet_site import RobotFile, SiteFile
from quartet_tool_server.claim import REPORT_EVERY_S, report_progress

P = ParamSpec("P")
T = TypeVar("T")


class Perceiver:
    """What the tools share. Pictures are fresh at every call; only settled poses are remembered, and which thing has
    which id."""

    def __init__(self, robot: Robot, site: SiteFile, segmenter: Segmenter, catalogue: Catalogue) -> None:
        self.robot, self.site, self.catalogue, self.segmenter = robot, site, catalogue, segmenter
        self.grasps: PoseMemory[Estimate] = PoseMemory()
        self.drops: PoseMemory[Drop] = PoseMemory()
        self.sightings = Sightings()
        # One worker: pictures are large, and a second one would only compete for the same core.
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="perception")
        # A segmenter that waits for another process must not hold the worker up meanwhile.
        self._waiters = ThreadPoolExecutor(max_workers=4, thread_name_prefix="segmenter")

    @property
    def file(self) -> RobotFile:
        return self.robot.file

    async def compute(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run heavy work in the worker thread."""
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
        """What the segmenter is asked for when a person says `prompt`: names of the catalogue, or, where the segmenter
        takes free text, the words themselves. Raises UnknownObject."""
        try:
            return [t.name for t in self.catalogue.match(prompt, kinds)]
        except UnknownObject:
            # What the catalogue has as something else is not looked for as this.
            if not self.segmenter.free_text or (kinds != KINDS and self._known(prompt)):
                raise
        return [free_name(prompt)]

    def _known(self, name: str) -> list[Thing]:
        try:
            return self.catalogue.match(name)
        except UnknownObject:
            return []

    async def shoot(self, camera: CameraName) -> CameraSnapshot:
        """A fresh snapshot, without waiting for a bridge that is known to be away. Raises LinkError."""
        if not self.robot.link.connected:
            raise BridgeUnavailable("the connection to the robot's rosbridge is down; it is being tried again")
        return await self.robot.snapshot(camera)

    async def view(self, camera: CameraName) -> View:
        """A fresh picture of a camera. Raises LinkError, BadImage."""
        shot = await self.shoot(camera)
        try:
            tool = await self.robot.transform(
                self.file.frames.base, self.file.frames.tool, stamp=shot.stamp, timeout_s=0.3
            )
            tool_in_base = tool.matrix
        except LinkError:
            tool_in_base = None
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
        )

    async def base(self) -> tuple[float, float, float] | None:
        """x, y, yaw of the base in the odometry frame, which does not jump; None when it is not known."""
        try:
            pose = await self.robot.base_pose(self.file.frames.odom, timeout_s=0.5)
        except LinkError:
            return None
        return pose.x, pose.y, pose.yaw

    async def find(self, camera: CameraName, names: Sequence[str]) -> tuple[View, list[Found]]:
        """A fresh picture and what of `names` is in it, best first, each with the id that it has in the caller's task.

        Raises UnknownObject, SegmenterFailure, LinkError.
        """
        for name in names:
            self.names(name)
        view = await self.view(camera)
        executor = self._waiters if self.segmenter.remote else self._worker
        found = await _told(self._run(executor, self.segmenter.segment, view, names))
        wanted = [thing for name in names for thing in self._known(name)]
        held = await self.compute(find_held, view, self.catalogue.things, wanted, self.file)
        everything = [*(f for f in found if not (held and f.in_gripper)), *held]
        base = await self.base() if everything and view.map_from_base is None else None
        return view, await self.compute(identified, self, view, everything, base)

    async def best(self, wanted: Wanted, cameras: Sequence[CameraName]) -> tuple[View, Found, list[Found]]:
        """The best sight of what is wanted, and everything else found in that picture.

        A later camera is asked only when an earlier one shows the thing badly or not at all. What hangs in the
        gripper is passed over. Raises NothingFound.
        """
        best: tuple[View, Found, list[Found]] | None = None
        for camera in cameras:
            view, found = await self.find(camera, wanted.names)
            usable = [f for f in wanted.of(found) if not f.in_gripper]
            if usable and (best is None or _quality(usable[0]) > _quality(best[1])):
                best = (view, usable[0], found)
            if best is not None and _quality(best[1]) > 0.75:
                break
        if best is None:
            seen_by = " nor ".join(f"the {c} camera" for c in cameras)
            negation = "does not show" if len(cameras) == 1 else "show"
            subject = seen_by if len(cameras) == 1 else f"neither {seen_by}"
            raise NothingFound(
                f"{subject} {negation} '{wanted.text}' within 6 m; drive nearer or turn towards it and look again"
                + (", or go on with its name if it may have been moved" if wanted.object_id else "")
            )
        return best


async def _told(looking: Coroutine[Any, Any, T]) -> T:
    """The result of a segmenter, which may take long: its caller is told meanwhile that it is at work."""
    task, began = asyncio.create_task(looking), time.monotonic()
    try:
        while not (await asyncio.wait([task], timeout=REPORT_EVERY_S))[0]:
            await report_progress(time.monotonic() - began, None, "the segmenter is at work")
        return task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _quality(found: Found) -> float:
    return found.score * found.visible
