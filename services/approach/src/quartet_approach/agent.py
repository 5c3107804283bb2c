"""The approach agent: its prompt, the facts in it, and its own code around the model."""

from typing import Any

from quartet_agent_runtime import (
    AgentDefinition,
    RequestContext,
    area_facts,
    arm_facts,
    back_off_and_tuck,
    entries_meant,
    is_tucked,
    load_prompt,
    place_facts,
    retreat,
)
from quartet_approach.verify import verify
from quartet_contracts import ApproachArguments, Skill, SkillArguments
from quartet_contracts.tools.moveit import MoveitCode
from quartet_site import RobotFile, SiteFile

IN_THE_WAY = frozenset({MoveitCode.START_IN_COLLISION, MoveitCode.GOAL_IN_COLLISION, MoveitCode.PLANNING_FAILED})
"""Codes of an arm that something keeps from its transit state."""


def facts(robot: RobotFile, site: SiteFile, arguments: SkillArguments) -> dict[str, Any]:
    """Return the Facts block: areas, places and the arm's transit state.

    Of the area of the request all is told, of others how they are called; of places those that stand there and those
    that the request may mean. Where no area has the name, everything is told.
    """
    assert isinstance(arguments, ApproachArguments)
    areas, places = area_facts(site), place_facts(site)
    if meant := entries_meant(areas, arguments.target_area):
        areas = [one if one in meant else {key: one[key] for key in ("name", "aliases")} for one in areas]
        here = {one["name"] for one in meant}
        targets = entries_meant(places, arguments.object_name)
        places = [one for one in places if one["area"] in here or one in targets]
    return {"areas": areas, "places": places, "arm": arm_facts(robot)}


async def prepare(check: RequestContext) -> None:
    """Bring an arm straight up and back that a pick or place, also of an earlier task, has left where it was halted.

    The way to the transit pose from between things would knock them over, and a drive would drag them along. An arm
    that touches something, or whose transit pose would, is tucked a little farther away, behind the robot first, since
    the arm is before it.
    """
    if await is_tucked(check):
        return
    tucked = await retreat(check)
    if tucked is not None and tucked.error_code in IN_THE_WAY:
        await back_off_and_tuck(check, ("nav2__backup_robot", "nav2__drive_on_heading"))


def definition() -> AgentDefinition:
    """Return the approach agent, ready to be served."""
    return AgentDefinition(
        skill=Skill.APPROACH,
        prompt=load_prompt("quartet_approach"),
        facts=facts,
        verify=verify,
        prepare=prepare,
        speaks=True,
    )
