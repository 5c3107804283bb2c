"""What the scripted model says as the planner of a team."""

import json

import pytest

from quartet_scripted_model.policies.team import answer
from quartet_teams import NoPlanFoundError, parse_plan

CAN, MUG = "move(red coke can, kitchen, desk)", "move(kids' mug, kids' room, tv stand)"
PROMPT = f"""You are the central planner of several robots.

# Current state
Still to be moved: red coke can, kids' mug
Soonest done, by an estimate (118 s): ada takes kids' mug, then red coke can; bob takes red coke can; cy waits; \
eve later takes orange

# What each robot can do now
ada: {MUG}; {CAN}
bob: {CAN}; {MUG}
cy: {CAN}

# Your answer
"""
BEST = {"ada": MUG, "bob": CAN}


def refused(said, why):
    return f"{PROMPT}\n\nYour last answer was:\n{json.dumps(said)}\n\nIt was refused: {why}\nGive a corrected plan."


def test_the_first_errand_of_each_free_robot_by_the_estimate_is_proposed():
    assert json.loads(answer(PROMPT)) == BEST


def test_an_errand_that_a_robot_may_not_do_now_is_not_proposed():
    assert json.loads(answer(PROMPT.replace(f"bob: {CAN}; {MUG}", f"bob: {MUG}"))) == {"ada": MUG}


def test_nothing_is_proposed_where_nothing_is_estimated():
    assert json.loads(answer(PROMPT.replace("Soonest done", "Latest done"))) == {}


def test_a_plan_that_was_refused_is_replaced_by_the_estimated_one():
    assert json.loads(answer(refused({"cy": CAN}, "With it, all would be moved after about 150 s"))) == BEST


def test_of_two_robots_that_are_refused_together_the_second_one_waits():
    assert json.loads(answer(refused(BEST, "bob and ada would both take it."))) == {"bob": CAN}


SPLIT = """You split a task into errands.
<sentence>{}</sentence>

## Facts

```json
{}
```"""


@pytest.mark.parametrize(
    "sentence",
    [
        "put the sponge on the desk and the unicorn on the shelf",
        "put the sponge on the desk and the ball on the piano",
        "put the sponge on the desk and pick up the ball",
        "put the sponge on the desk and the apple on the shelf",
        "put the sponge on the desk, then put the ball on the shelf",
        "put the sponge on the desk and go to the kitchen",
        "put the sponge on the desk in the kitchen and the ball on the shelf",
        "put the sponge on the desk, not on the shelf",
    ],
)
def test_no_errands_are_made_of_a_part_of_the_sentence(home, sentence):
    said = answer(SPLIT.format(sentence, json.dumps(home)))
    assert said.startswith("The scripted model reads only simple English")
    with pytest.raises(NoPlanFoundError, match="reads only simple English"):
        parse_plan(said)


def test_errands_of_a_sentence(home):
    sentence = "put the sponge from the kitchen on the desk and the ball in the toy basket"
    assert json.loads(answer(SPLIT.format(sentence, json.dumps(home)))) == {
        "green sponge": "kitchen -> desk",
        "tennis ball": "anywhere -> toy basket",
    }
