"""RoCo: robots at one table that discuss a joint plan, with feedback from the checks of the world.

team = make_team("roco")                                      or Roco("central", history=False)
decision = await team.decide(scene, past, Discussion(model))  scene: a Scene; past: Past()
past.add_executed(decision.plan, decision.chat)               after its execution
"""

from quartet_teams.roco._actions import VERBS, Action, Form, JointPlan, Point, Verb, plan_text, sub_plans
from quartet_teams.roco._grammar import parse_reply
from quartet_teams.roco._past import Past
from quartet_teams.roco._scene import Scene
from quartet_teams.roco._team import MOST_ATTEMPTS, MOST_CALLS, PLANNER, Decision, Mode, Roco

__all__ = [
    "MOST_ATTEMPTS",
    "MOST_CALLS",
    "PLANNER",
    "VERBS",
    "Action",
    "Decision",
    "Form",
    "JointPlan",
    "Mode",
    "Past",
    "Point",
    "Roco",
    "Scene",
    "Verb",
    "parse_reply",
    "plan_text",
    "sub_plans",
]
