"""MCP tools of each sub-agent: those that its grant covers, and those that its model sees.

Part of the contract, so that the orchestrator can sign a grant for an agent that it never imports and an agent in
another language knows what it will be given.
"""

from quartet_contracts.skills import Skill

MODEL_TOOLS: dict[Skill, tuple[str, ...]] = {
    Skill.APPROACH: (
        "moveit__plan_and_execute",
        "nav2__navigate_to_pose",
        "nav2__clear_costmaps",
        "perception__look",
        "perception__detect_objects",
    ),
    Skill.PICK: (
        "moveit__plan_and_execute",
        "moveit__plan_cartesian_path",
        "moveit__clear_planning_scene",
        "moveit__open_gripper",
        "moveit__close_gripper",
        "moveit__get_grasp_state",
        "perception__get_topdown_grasp_pose",
    ),
    Skill.PLACE: (
        "perception__get_topdown_placing_pose",
        "moveit__plan_and_execute",
        "moveit__plan_cartesian_path",
        "moveit__clear_planning_scene",
        "moveit__open_gripper",
        "moveit__get_grasp_state",
    ),
    Skill.EXECUTOR: (),
}
"""Tools that the model of each agent sees."""

VERIFY_TOOLS: dict[Skill, tuple[str, ...]] = {
    Skill.APPROACH: (
        "moveit__plan_cartesian_path",
        "nav2__spin_robot",
        "nav2__approach_target",
        "nav2__drive_on_heading",
        "nav2__backup_robot",
        "nav2__get_path_from_robot",
        "nav2__wait",
    ),
    Skill.PICK: ("perception__look", "perception__detect_objects", "nav2__backup_robot"),
    Skill.PLACE: ("nav2__backup_robot", "perception__detect_objects", "perception__measure_spot"),
    Skill.EXECUTOR: (
        "moveit__plan_and_execute",
        "moveit__plan_cartesian_path",
        "moveit__clear_planning_scene",
        "moveit__open_gripper",
        "moveit__close_gripper",
        "perception__detect_objects",
        "perception__get_topdown_grasp_pose",
    ),
}
"""Further tools that the agent's own code may use before its model and after its report; all of an agent without a
model."""

MOTION_SERVERS: tuple[str, ...] = ("nav2", "moveit")
"""Servers that move a robot: each must know the newest fence before a grant that carries it is used."""

STANDSTILL_TOOLS: tuple[str, ...] = ("nav2__cancel_navigation", "moveit__stop_execution")
"""Tools with which every agent may bring the robot to a standstill."""

OBSERVE_TOOLS: tuple[str, ...] = (
    "nav2__get_robot_pose",
    "moveit__get_grasp_state",
    "moveit__get_current_pose",
    "perception__look",
)
"""Tools with which every agent may observe, so that an unknown outcome can be settled."""

CONFIRM_TOOLS: tuple[str, ...] = (
    "moveit__get_current_pose",
    "moveit__get_grasp_state",
    "nav2__get_robot_pose",
    "perception__detect_objects",
    "perception__get_topdown_placing_pose",
    "perception__last_seen",
    "perception__measure_spot",
)
"""Tools with which the orchestrator confirms a success; none of them moves the robot."""


def granted_tools(skill: Skill) -> list[str]:
    """Return the tools that a grant for `skill` covers, sorted, without repetition."""
    return sorted({*MODEL_TOOLS[skill], *VERIFY_TOOLS[skill], *STANDSTILL_TOOLS, *OBSERVE_TOOLS})
