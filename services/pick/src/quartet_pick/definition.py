"""The pick agent: what its model is told, and what its own code does after the report."""

from typing import Any

from quartet_agent_runtime import AgentDefinition, arm_facts, load_prompt
from quartet_contracts import Skill
from quartet_pick.prepare import prepare
from quartet_pick.verify import verify
from quartet_site import RobotFile, SiteFile


def facts(robot: RobotFile, site: SiteFile) -> dict[str, Any]:
    """The Facts block: arm, gripper and the distances of a pick [m]."""
    return {
        "arm": arm_facts(robot),
        "base_frame": robot.frames.base,
        "gripper": {
            "stroke_m": robot.gripper.stroke_m,
            "finger_offset_m": robot.gripper.finger_offset_m,
            "holding_min_width_m": robot.gripper.holding_min_width_m,
        },
        "manipulation": {
            "pre_grasp_height_m": robot.manipulation.pre_grasp_height_m,
            "lift_height_m": robot.manipulation.lift_height_m,
        },
        "reach_floor_m": robot.arm.reach_floor_m,
        "standoff_m": robot.approach.standoff_m.pick,
    }


def definition() -> AgentDefinition:
    """The pick agent, ready to be served."""
    return AgentDefinition(
        skill=Skill.PICK, prompt=load_prompt("quartet_pick"), facts=facts, verify=verify, prepare=prepare
    )
