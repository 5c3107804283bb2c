"""The place agent: its prompt, the facts in it, and its own code around the model."""

from typing import Any

from quartet_agent_runtime import (
    AgentDefinition,
    RequestContext,
    arm_facts,
    load_prompt,
    retreat,
    settled_grasp,
)
from quartet_contracts import Skill, SkillArguments
from quartet_contracts.tools.moveit import GraspState, GripperResult
from quartet_place.verify import verify
from quartet_procedures import place, prompt_parts
from quartet_site import RobotFile, SiteFile


def facts(robot: RobotFile, site: SiteFile, arguments: SkillArguments) -> dict[str, Any]:
    """Return the Facts block: the arm. Distances and places are in the results of the tools."""
    return {"arm": arm_facts(robot)}


async def prepare(check: RequestContext) -> None:
    """Bring the arm up from where an attempt of unknown end has left it, without what it has put down.

    Fingers that only touch something are left to the model: what they touch may stand at its target.
    """
    if not check.request.follows_uncertain:
        return
    grasp = await settled_grasp(check, 2)
    if grasp.state is GraspState.EMPTY:
        await check.call(GripperResult, "moveit__open_gripper")
    if grasp.state in {GraspState.EMPTY, GraspState.HOLDING}:
        await retreat(check)


def definition() -> AgentDefinition:
    """Return the place agent, ready to be served."""
    return AgentDefinition(
        skill=Skill.PLACE,
        prompt=load_prompt("quartet_place", **prompt_parts()),
        facts=facts,
        verify=verify,
        prepare=prepare,
        procedure=place,
    )
