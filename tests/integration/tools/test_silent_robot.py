"""A robot of which a topic never publishes: a typed error that names it, no motion, and the next call works."""

import pytest

import quartet_moveit
import quartet_nav2
import quartet_ros
from quartet_perception import server as perception
from quartet_robot_link import Robot

DOWN = [1, 0, 0, 0]
TF, JOINTS, COLOUR = "topics.tf", "topics.joint_states", "cameras.front.colour_topic"


def silenced(file, field: str):
    """The robot file with another name in one field, which nobody publishes to."""
    section, *inner = field.split(".")
    names = getattr(file, section)
    if len(inner) > 1:
        part = getattr(names, inner[0]).model_copy(update={inner[1]: "/nobody/compressed"})
        return file.model_copy(update={section: names.model_copy(update={inner[0]: part})})
    return file.model_copy(update={section: names.model_copy(update={inner[0]: "/nobody"})})


@pytest.mark.parametrize(
    ("package", "silent", "tool", "arguments", "code", "word"),
    [
        (quartet_nav2, TF, "get_robot_pose", {}, "TRANSFORM_UNAVAILABLE", "map"),
        (
            quartet_nav2,
            TF,
            "approach_target",
            {"target_x_base": 1.0, "target_y_base": 0.5, "standoff_m": 0.5},
            "TRANSFORM_UNAVAILABLE",
            "odom",
        ),
        (quartet_moveit, TF, "plan_cartesian_path", {"position": [0.5, 0, 0.8]}, "TRANSFORM_UNAVAILABLE", "arm_tool0"),
        (
            quartet_moveit,
            TF,
            "plan_and_execute",
            {"target": {"position": [0.5, 0, 0.8], "orientation": DOWN, "frame_id": "map"}},
            "TRANSFORM_UNAVAILABLE",
            "map",
        ),
        (quartet_moveit, JOINTS, "get_grasp_state", {}, "TIMEOUT", "/nobody"),
        (quartet_moveit, JOINTS, "get_current_joint_state", {}, "TIMEOUT", "/nobody"),
        (perception, TF, "detect_objects", {"camera": "arm"}, "TRANSFORM_UNAVAILABLE", "base_footprint"),
        (perception, COLOUR, "look", {"camera": "front"}, "CAMERA_UNAVAILABLE", "/nobody"),
        (quartet_ros, TF, "subscribe_once", {"topic": "/cmd_vel", "timeout": 0.3}, "TIMEOUT", "/cmd_vel"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_a_topic_that_never_publishes(
    open_over, sim, robot_file, robot, package, silent, tool, arguments, code, word
):
    deaf = await Robot.open(silenced(robot_file, silent).model_copy(), url=sim.url, wait_s=60)
    try:
        hands = await open_over(deaf, package)
        before = sim.truth()
        assert word in await hands.refused(tool, code, **arguments)
        assert sim.truth()["time"] == before["time"], "nothing moved"
        # The same server at a robot that speaks.
        hands.server.robot.file = robot_file
        hands.server.robot.transforms = robot.transforms
        again = await hands.call(tool, **arguments)
        assert again["ok"] or again["error_code"] in {"PATH_INCOMPLETE", "TIMEOUT"}, again
    finally:
        await deaf.close()
