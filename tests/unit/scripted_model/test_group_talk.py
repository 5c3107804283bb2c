"""What the scripted model says as a leader and as a robot of a group: only the numbers of the prompt decide."""

import json

import pytest

from quartet_contracts import ProgramRequest
from quartet_executor.calculate import calculate
from quartet_scripted_model.policies.group import answer
from quartet_teams import Answer, Chat, Discussion
from quartet_teams.emos import Problem, Profile, agree, method_of, parse_assignment
from quartet_teams.emos._prompts import Prompts

CAN, BOX = "move(red can, kitchen, desk)", "move(wide box, kitchen, shelf)"


def body(widest, highest):
    reach = [{"height": [0.0, highest], "distance": [0.2, 0.9]}]
    cameras = {"front": {"height": 1.4}}
    return json.dumps(
        {"manipulation": {"widest_grasp": widest, "reach": reach}, "perception": {"cameras_info": cameras}}
    )


def problem(ada="", bob="", way_of_bob=0.6):
    stands = {"ada": 0.6, "bob": way_of_bob}
    scene = {
        "objects_description": {
            "red can": {"width": 0.06, "horizontal_distance": stands, "drive": {"ada": 1.0, "bob": 9.0}},
            "wide box": {"width": 0.1, "horizontal_distance": stands, "drive": {}},
        },
        "places_description": {
            "desk": {
                "height": 0.7,
                "horizontal_distance": stands,
                "hand_height": {"red can": {"ada": 0.8, "bob": 0.8}},
            },
            "shelf": {
                "height": 1.1,
                "horizontal_distance": stands,
                "hand_height": {"wide box": {"ada": 1.2, "bob": 1.2}},
            },
        },
        "agent_description": {"ada": {"region": "", "holds": ""}, "bob": {"region": "", "holds": ""}},
    }
    profiles = [Profile("ada", ada or body(0.07, 1.0), "", ""), Profile("bob", bob or body(0.11, 1.3), "", "")]
    return Problem(f"Tidy up.\n{CAN}\n{BOX}", json.dumps(scene), profiles)


async def talk(given, wrong=None):
    """Return what the group agrees on; `wrong` is said once by the leader."""
    said = [wrong] if wrong else []

    async def model(participant, prompt):
        return Answer(said.pop() if said and participant == "leader" else answer(prompt))

    async def run(code):
        request = ProgramRequest(
            request_id="r", task_id="t", robot="ada", created_at=0, deadline=9, reply_to="s", code=code
        )
        return (await calculate(request, 30)).text

    discussion = Discussion(model)
    return await agree(given, method_of("emos"), discussion, run), discussion


async def test_what_only_one_robot_can_do_goes_to_it_and_the_rest_to_who_has_the_least_to_do():
    agreement, discussion = await talk(problem())
    assert agreement.assignment == {"ada": CAN, "bob": BOX}
    assert (agreement.agreed, agreement.rounds, len(discussion.turns)) == (True, 1, 5)


async def test_names_of_robots_decide_nothing():
    agreement, _ = await talk(problem(ada=body(0.11, 1.3), bob=body(0.07, 1.0)))
    assert agreement.assignment == {"ada": BOX, "bob": CAN}


@pytest.mark.parametrize("ada", [body(0.07, 1.3), body(0.11, 1.0)])
async def test_a_robot_refuses_by_its_program_what_its_hand_cannot_do_and_the_leader_assigns_anew(ada):
    agreement, discussion = await talk(problem(ada=ada), wrong=f"{{ada||{BOX}}}\n{{bob||{CAN}}}")
    assert agreement.assignment == {"ada": CAN, "bob": BOX}
    assert (agreement.agreed, agreement.rounds) == (True, 2)
    assert any("{no||I cannot move the wide box" in turn.answer.text for turn in discussion.turns)


async def test_a_robot_without_a_way_to_a_place_refuses_it_until_the_last_assignment():
    agreement, discussion = await talk(problem(ada=body(0.07, 1.0), way_of_bob="inf"))
    assert agreement.assignment["bob"] == BOX, "no other hand goes around it"
    assert (agreement.agreed, agreement.rounds) == (False, 4)
    assert any("{no||I cannot move the wide box" in turn.answer.text for turn in discussion.turns)


def test_prompts_of_others_are_not_answered():
    assert answer("You are the central planner of several robots.") is None


def test_the_last_refused_pair_is_avoided():
    chat = Chat()
    chat.say("rules", "This assignment is not valid: bob has failed to move the wide box, so ada tries it.")
    given = problem(ada=body(0.11, 1.3))
    said = answer(Prompts(given, method_of("emos")).leader(chat))
    assert parse_assignment(said, given.robots) == {"ada": BOX, "bob": CAN}
