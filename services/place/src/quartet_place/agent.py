"""The place agent: its prompt, the facts in it, and its own code around the model."""

from typing import Any

from quartet_agent_runtime import AgentDefinition, RequestContext, arm_facts, load_prompt, place_facts, retreat
from quartet_contracts import Skill
from quartet_contracts.tools.moveit import GraspState, GripperResult
from quartet_place.verify import verify
from quartet_site import RobotFile, SiteFile


def facts(robot: RobotFile, site: SiteFile) -> dict[str, Any]:
    """Return the Facts block: places, arm, gripper and the distances of a drop [m]."""
    return {
        "places": [{key: place[key] for key in ("name", "aliases", "area", "kind")} for place in place_facts(site)],
        "arm": arm_facts(robot),
        "base_frame": robot.frames.base,
        "gripper": {
            "stroke_m": robot.gripper.stroke_m,
            "finger_offset_m": robot.gripper.finger_offset_m,
        },
        "manipulation": {
            "pre_place_height_m": robot.manipulation.pre_place_height_m,
            "surface_clearance_m": robot.manipulation.surface_clearance_m,
            "container_clearance_m": robot.manipulation.container_clearance_m,
            "floor_drop_clearance_m": robot.manipulation.floor_drop_clearance_m,
        },
        "reach_top_down_m": robot.arm.reach_top_down_m,
        "reach_floor_m": robot.arm.reach_floor_m,
    }


async def prepare(check: RequestContext) -> None:
    """Bring the arm up from where an attempt of unknown end has left it, without what it has put down.

    Fingers that only touch something are left to the model: what they touch may stand at its target.
    """
    if not check.request.follows_uncertain:
        return
    grasp = await check.call(GripperResult, "moveit__get_grasp_state")
    if grasp.state is GraspState.EMPTY:
        await check.call(GripperResult, "moveit__open_gripper")
    if grasp.state in {GraspState.EMPTY, GraspState.HOLDING}:
        await retreat(check)


def definition() -> AgentDefinition:
    """Return the place agent, ready to be served."""
    return AgentDefinition(
        skill=Skill.PLACE, prompt=load_prompt("quartet_place"), facts=facts, verify=verify, prepare=prepare
    )
