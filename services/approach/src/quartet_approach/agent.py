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
from quartet_approach.right_of_way import DRIVE, DriveInTurn
from quartet_approach.verify import verify
from quartet_contracts import ApproachArguments, Skill, SkillArguments
from quartet_contracts.tools.moveit import MoveitCode
from quartet_procedures import approach, prompt_parts
from quartet_site import RobotFile, SiteFile, is_floor

IN_THE_WAY = frozenset({MoveitCode.START_IN_COLLISION, MoveitCode.GOAL_IN_COLLISION, MoveitCode.PLANNING_FAILED})
"""Codes of an arm that something keeps from its transit state."""


def facts(robot: RobotFile, site: SiteFile, arguments: SkillArguments) -> dict[str, Any]:
    """Return the Facts block: the areas and places that the request may mean, and the arm's transit state.

    Of the areas the one of the request, or all where none has the name; of the places those that have the name of the
    request's object, or all if it is not a place, an object, an area or the floor either.
    """
    assert isinstance(arguments, ApproachArguments)
    areas, places = area_facts(site), place_facts(site)
    targets = entries_meant(places, arguments.object_name)
    name = arguments.object_name
    is_no_place = _is_object(site, name) or is_floor(name) or entries_meant(areas, name)
    if not targets and not is_no_place:
        targets = places
    return {"areas": entries_meant(areas, arguments.target_area) or areas, "places": targets, "arm": arm_facts(robot)}


def _is_object(site: SiteFile, name: str) -> bool:
    known = {term.casefold() for thing in site.objects for term in (thing.name, *thing.aliases)}
    return name.casefold() in known


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
        prompt=load_prompt("quartet_approach", **prompt_parts()),
        facts=facts,
        verify=verify,
        prepare=prepare,
        procedure=approach,
        around={DRIVE: DriveInTurn},
        speaks=True,
    )
