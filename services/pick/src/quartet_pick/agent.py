"""The pick agent: its prompt, the facts in it, and its own code around the model."""

from typing import Any

from quartet_agent_runtime import AgentDefinition, RequestContext, arm_facts, load_prompt, retreat, settled_grasp
from quartet_contracts import Skill, SkillArguments
from quartet_contracts.tools.moveit import GraspState, GripperResult
from quartet_pick.verify import verify
from quartet_procedures import pick, prompt_parts
from quartet_site import RobotFile, SiteFile


def facts(robot: RobotFile, site: SiteFile, arguments: SkillArguments) -> dict[str, Any]:
    """Return the Facts block: the arm. Distances are in the poses that the tools return."""
    return {"arm": arm_facts(robot)}


async def prepare(check: RequestContext) -> None:
    """After an attempt of unknown end, free fingers that hold nothing and bring the arm up to where it sees.

    The fingers may be around the object. From above the wrist camera shows it again, and a drive does not drag it
    along. A motion that does not succeed is left to the model. Fingers that only touch something are closed first:
    opening them might drop it, and closed they hold it or are empty.
    """
    if not check.request.follows_uncertain:
        return
    grasp = await settled_grasp(check, 2)
    if grasp.state is GraspState.UNKNOWN:
        grasp = await check.call(GripperResult, "moveit__close_gripper")
    if grasp.state is GraspState.EMPTY:
        await check.call(GripperResult, "moveit__open_gripper")
    if grasp.state in {GraspState.EMPTY, GraspState.HOLDING}:
        await retreat(check)


def definition() -> AgentDefinition:
    """Return the pick agent, ready to be served."""
    return AgentDefinition(
        skill=Skill.PICK,
        prompt=load_prompt("quartet_pick", **prompt_parts()),
        facts=facts,
        verify=verify,
        prepare=prepare,
        procedure=pick,
    )
