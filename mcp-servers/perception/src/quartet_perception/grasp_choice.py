"""The direction from which an object is grasped: from above first, then as far as the cameras have seen room."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quartet_contracts.tools import PITCH, Direction
from quartet_perception.errors import NoWayError
from quartet_perception.estimate import Estimate
from quartet_perception.grasp import Grasp, plan_grasp, reach_of_pick
from quartet_perception.scene.view import View
from quartet_site import PASS_M, RobotFile


@dataclass(frozen=True)
class GraspChoice:
    """A grasp, with the directions that can be tried after it.

    obstacle: what speaks against it, '' where nothing does. reachable: whether the arm can try it: what the cameras see
    over an object stops a hand from above only where the planner finds the same.
    """

    grasp: Grasp
    obstacle: str
    reachable: bool
    others: list[Direction]


def choose_grasp(
    view: View,
    seen: Estimate,
    robot: RobotFile,
    before: Sequence[View] = (),
    wrist_camera: NDArray[np.float64] | None = None,
    direction: Direction | None = None,
) -> GraspChoice:
    """Return the grasp from a direction, or from the first one against which nothing is known.

    From above is chosen where nothing speaks for another one, too. See plan_grasp for the arguments. Raises
    ObjectTooWideError; NoWayError for a given direction from which the object cannot be grasped.
    """
    order = list(PITCH)

    def plan(one: Direction) -> GraspChoice:
        grasp = plan_grasp(view, seen, robot, before, wrist_camera, one)
        later = order[order.index(one) + 1 :]
        others: list[Direction] = [other for other in later if not _beyond(seen, robot, other)]
        obstacle = _beyond(seen, robot, one)
        if obstacle:
            return GraspChoice(grasp, obstacle, False, others)
        obstacle = _obstacle(grasp, seen, robot, [view, *before])
        return GraspChoice(grasp, obstacle, one == "above" or not obstacle, others)

    if direction is not None:
        return plan(direction)
    first = plan("above")
    if not first.obstacle:
        return first
    for other in first.others:
        try:
            choice = plan(other)
        except NoWayError:
            continue
        if not choice.obstacle:
            return choice
    return first


def _obstacle(grasp: Grasp, seen: Estimate, robot: RobotFile, views: Sequence[View]) -> str:
    """Return what the cameras see in the way of a grasp, '' where that is nothing."""
    way = grasp.way
    if way.direction != "above" and grasp.room <= 0:
        return "something is where the hand would be"
    from_m, to_m = grasp.overlap + PASS_M, robot.gripper.finger_offset_m
    if way.is_covered(views, grasp.tip(robot), from_m, to_m, seen.support + PASS_M):
        return "something is in the way of hand and wrist"
    return ""


def _beyond(seen: Estimate, robot: RobotFile, direction: Direction) -> str:
    """Return that an object is out of reach from a direction, '' where it is not."""
    reach = reach_of_pick(robot, seen.support, direction)
    if float(np.hypot(seen.solid.x, seen.solid.y)) <= reach:
        return ""
    return f"beyond the arm's reach of {reach:.2f} m there: drive nearer first"
