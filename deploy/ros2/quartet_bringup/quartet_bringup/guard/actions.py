"""Whose goals end when the robot is stopped."""

from collections.abc import Iterable

from quartet_bringup.robot_file import RobotNames

ALSO_MOVE = ("navigate_through_poses", "follow_path", "assisted_teleop")
"""Actions of Nav2 that move the base and that Quartet itself does not use; beside its navigate_to_pose."""


class BadParameter(ValueError):
    """A parameter of the guard cannot be used; the text names it, its value and what is valid."""


def stopped_actions(names: RobotNames, more: Iterable[str]) -> list[str]:
    """Every action that moves base or arm, each once. Raises BadParameter where the gripper's is among them."""
    namespace = names.motions["navigate_to_pose"].rpartition("/")[0]
    also = [f"{namespace}/{name}" for name in ALSO_MOVE]
    chosen = list(dict.fromkeys([*names.motions.values(), *also, *filter(None, more)]))
    if names.gripper in chosen:
        raise BadParameter(
            f"more_actions: '{names.gripper}' is the gripper's action; the guard leaves the gripper alone, since a "
            "cancelled grip may let go. Take it out"
        )
    return chosen
