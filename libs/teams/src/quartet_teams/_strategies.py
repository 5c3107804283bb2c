"""How a team comes to the plan of the next step.

Chen et al., "Scalable Multi-Robot Collaboration with Large Language Models: Centralized or Decentralized Systems?",
ICRA 2024.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal, Protocol, overload

from quartet_teams._answers import Plan
from quartet_teams._discussion import Discussion, Scene, Turn
from quartet_teams._prompts import Prompts
from quartet_teams._talk import indented, talk, transcript
from quartet_teams.errors import NoAgreementError, UnknownTeamError
from quartet_teams.roco import Roco

PLANNER = "planner"
"""Name of the participant that plans for all."""
MOST_ROUNDS = 4
"""Rounds of a discussion among the robots."""
FEEDBACK_ROUNDS = 3
"""Times that the planner of HMAS-2 hears objections; 1 in BoxNet1."""
AGREEMENT = "i agree"
_AROUND = " \n\t.!\"'*_`"
"""What a model may put around its answer: quotes, emphasis."""


class Team(Protocol):
    """A strategy: the discussion of one step."""

    async def decide(self, scene: Scene, prompts: Prompts, discussion: Discussion) -> Plan:
        """Return a plan that passes the checks. Raises NoPlanError, NoAgreementError."""
        ...


class Cmas:
    """One central planner gives the actions of all."""

    async def decide(self, scene: Scene, prompts: Prompts, discussion: Discussion) -> Plan:
        """Return the planner's plan."""
        return await discussion.plan(scene, PLANNER, prompts.planner())


class Dmas:
    """The robots speak in turn, each hears what was said, until one ends with EXECUTE and a plan."""

    async def decide(self, scene: Scene, prompts: Prompts, discussion: Discussion) -> Plan:
        """Return the plan with which a robot has ended the discussion. Raises NoAgreementError."""
        return await discuss(scene, prompts, discussion, list(scene.robots))


class Hmas1:
    """A central plan first; then the robots that act in it discuss it as in DMAS."""

    async def decide(self, scene: Scene, prompts: Prompts, discussion: Discussion) -> Plan:
        """Return the plan with which a robot has ended the discussion; the planner's, where nobody ends it or acts."""
        plan = await discussion.plan(scene, PLANNER, prompts.planner())
        if not plan:
            return plan
        acting = [robot for robot in scene.robots if robot in plan]
        try:
            return await discuss(scene, prompts, discussion, acting, plan_of_the_planner=json.dumps(plan))
        except NoAgreementError:
            return plan


class Hmas2:
    """A central plan; each robot that acts in it agrees or objects, and the planner plans again until all agree.

    Args:
        rounds: times that the planner hears objections. The plan after the last is carried out.
    """

    def __init__(self, rounds: int = FEEDBACK_ROUNDS) -> None:
        self.rounds = rounds

    async def decide(self, scene: Scene, prompts: Prompts, discussion: Discussion) -> Plan:
        """Return the plan to which all agree, or the planner's last."""
        plan = await discussion.plan(scene, PLANNER, prompts.planner())
        for _ in range(self.rounds):
            told = json.dumps(plan)
            objections: list[str] = []
            for robot in scene.robots:
                if robot in plan:
                    answer = await discussion.ask(robot, prompts.critic(robot, plan_of_the_planner=told))
                    if not answer.strip(_AROUND).lower().startswith(AGREEMENT):
                        objections.append(f"{robot}: {indented(answer.strip())}")
            if not objections:
                break
            heard = "\n".join(objections)
            plan = await discussion.plan(scene, PLANNER, prompts.planner(your_last_plan=told, objections=heard))
        return plan


async def discuss(
    scene: Scene, prompts: Prompts, discussion: Discussion, speakers: list[str], plan_of_the_planner: str = ""
) -> Plan:
    """Let the speakers talk in turn until one ends with EXECUTE. Raises NoAgreementError after `MOST_ROUNDS`."""

    def prompt(robot: str, said: Sequence[Turn], _last_call: bool) -> str:
        return prompts.robot(robot, plan_of_the_planner=plan_of_the_planner, said_before=transcript(said))

    dialogue = await talk(discussion, speakers, prompt, most_calls=MOST_ROUNDS * len(speakers))
    if not dialogue.ended:
        raise NoAgreementError(f"no robot said EXECUTE in {MOST_ROUNDS} rounds of {len(speakers)} robots")
    last = dialogue.last
    return await discussion.plan(scene, last.participant, last.prompt, last)


TEAMS = {"cmas": Cmas, "dmas": Dmas, "hmas1": Hmas1, "hmas2": Hmas2}


@overload
def make_team(name: Literal["roco"], *, mode: str = ..., history: bool = ..., feedback: bool = ...) -> Roco: ...
@overload
def make_team(name: str, world: str = "") -> Team: ...
def make_team(name: str, world: str = "", **options: Any) -> Team | Roco:
    """Return the team of this name with the paper's limits for a world.

    "roco" takes the options of `Roco` and is a team for scenes of `quartet_teams.roco`.

    Raises:
        UnknownTeamError, UnknownModeError.
    """
    if name == "roco":
        return Roco(**options)
    if name not in TEAMS:
        raise UnknownTeamError(f"there is no team '{name}'; valid: {', '.join((*TEAMS, 'roco'))}")
    if options:
        raise TypeError(f"team '{name}' has no option {', '.join(options)}; only 'roco' has options")
    return Hmas2(rounds=1) if name == "hmas2" and world == "boxnet1" else TEAMS[name]()
