"""What the scripted model says as Planner, Coder and Supervisor of a team that writes programs."""

from importlib.resources import files
from string import Template

import pytest

from quartet_scripted_model.answer import answer
from quartet_scripted_model.turn import Text

STATE = """**red coke can**
Center Position: [0.7000, 0.1000, 0.9000]
Orientation: [0.0000, 0.0000, 0.2000]
Height: 0.1200
Width: 0.0660
Length: 0.0660
Color: red

**wooden tray**
Center Position: [0.6000, -0.3000, 0.8600]
Orientation: [0.0000, 0.0000, 0.0000]
Height: 0.0400
Width: 0.3000
Length: 0.3000
Color: brown

End-effector position: [0.5000, 0.0000, 1.3000]
"""
PICK, PUT = "Pick the red coke can up.", "put the red coke can on the wooden tray"


def ask(role, task, talk="Nothing was said yet.", state=STATE + "No object grasped", safe=0.2):
    text = (files("quartet_teams.malmm") / "prompts" / f"{role}.md").read_text("utf-8")
    names = dict.fromkeys(Template(text).get_identifiers(), "1.0")
    prompt = Template(text).substitute({**names, "task": task, "state": state, "talk": talk, "safe_m": safe})
    said = answer([{"role": "user", "content": prompt}], [])
    assert isinstance(said, Text)
    return said.say


def test_each_role_is_known_by_its_prompt():
    assert ask("supervisor", PICK) == "planner"
    assert ask("planner", PICK).endswith(
        "Step: open the gripper and move above red coke can: position [0.7000, 0.1000, 1.1400], yaw 0.2000"
    )
    talk = "[planner]\nStep: close the gripper on red coke can"
    assert ask("supervisor", PICK, talk) == "coder"
    assert ask("coder", PICK, talk) == "```python\nclose_gripper('red coke can')\n```"


def test_what_is_held_is_raised_and_then_the_task_is_done():
    low, high = (f"{STATE.replace('1.3000', z)}Grasped object: red coke can" for z in ("0.9000", "1.2000"))
    assert "Step: raise: position" in ask("planner", PICK, state=low)
    assert ask("planner", PICK, state=high).endswith("Step: the task is done; call task_completed()")


def test_a_thing_is_put_where_the_state_says_that_its_place_is():
    held = f"{STATE.replace('[0.5000, 0.0000, 1.3000]', '[0.7000, 0.1000, 1.2000]')}Grasped object: red coke can"
    assert "Step: move above wooden tray: position [0.6000, -0.3000" in ask("planner", PUT, state=held)


COUNTER = """
**kitchen counter**
Center Position: [1.0000, 0.0000, 0.4200]
Orientation: [0.0000, 0.0000, 0.0000]
Height: 0.8400
Width: 1.6000
Length: 0.8000
Color: white

End-effector"""


def test_a_thing_is_set_down_on_the_nearest_free_spot_of_a_large_place():
    state = STATE.replace("\nEnd-effector", COUNTER).replace("[0.5000, 0.0000, 1.3000]", "[0.8000, 0.1000, 2.0000]")
    state = state.replace("[0.7000, 0.1000, 0.9000]", "[0.8000, 0.1000, 2.0000]")
    put = "put the red coke can on the kitchen counter"
    said = ask("planner", put, state=f"{state}Grasped object: red coke can")
    assert "position [0.8000, 0.1000," in said.partition("Step: ")[2], "straight down, not at the far middle"
    mug = STATE.partition("\n\n")[0].replace("red coke can", "blue mug").replace("[0.7000", "[0.8000")
    said = ask("planner", put, state=f"{mug}\n\n{state}Grasped object: red coke can")
    assert "Step: move above kitchen counter: position [0.8000, -0.0500" in said, "the mug stands below"


def test_a_thing_that_stands_on_its_large_place_is_done():
    state = STATE.replace("\nEnd-effector", COUNTER).replace("[0.5000, 0.0000, 1.3000]", "[0.7000, 0.1000, 1.2000]")
    said = ask("planner", "put the red coke can on the kitchen counter", state=f"{state}No object grasped")
    assert said == "Everything is where it has to be.\nStep: the task is done; call task_completed()"


def test_after_the_last_thing_the_hand_rises_no_higher_than_it_must():
    """An arm reaches less far the higher it goes."""
    tall = STATE.partition("\n\n")[0].replace("red coke can", "tall box").replace("Height: 0.1200", "Height: 0.4000")
    state = STATE.replace("\nEnd-effector", COUNTER).replace("[0.5000, 0.0000, 1.3000]", "[0.7000, 0.1000, 0.9000]")
    state = f"{tall.replace('0.7000, 0.1000', '0.7000, 0.5000')}\n\n{state}No object grasped"
    said = ask("planner", "put the red coke can on the kitchen counter", state=state)
    assert said.endswith("Step: raise: position [0.7000, 0.1000, 1.1600], yaw 0.0000")


@pytest.mark.parametrize(
    "task",
    [
        "juggle",
        "pick the blue whale up",
        "put the red coke can on the moon",
        "do not pick the red coke can up",
        "pick the red coke can up unless it is empty",
        "put the red coke can on the wooden tray, not on the table",
        "put the red coke can on the wooden tray if it is empty",
        "put the other red coke can on the wooden tray",
        "put the red coke can and the mug on the wooden tray",
        "don't put the rubbish in the bin",
        "put the rubbish in the bin and wash it",
    ],
)
def test_a_task_that_the_rules_do_not_know_is_said_so(task):
    assert "I plan programs for simple tasks only" in ask("planner", task)


@pytest.mark.parametrize("task", ["Put the red coke can on the wooden tray.", "pick up the red coke can."])
def test_a_name_may_end_its_sentence(task):
    assert "Step: open the gripper and move above red coke can" in ask("planner", task)


@pytest.mark.parametrize(
    ("task", "missing"),
    [
        ("close the red jar", "lid"),
        ("stack 2 red blocks", "target square"),
    ],
)
def test_what_a_rule_looks_for_in_vain_is_named(task, missing):
    assert ask("planner", task).endswith(f"the state has nothing called '{missing}'")


def test_a_task_without_a_rule_is_quoted():
    assert ask("planner", "juggle").endswith("no rule for the task 'juggle'")


def test_a_prompt_without_a_section_is_no_unknown_task():
    text = (files("quartet_teams.malmm") / "prompts" / "planner.md").read_text("utf-8").split("# Task\n")[0]
    with pytest.raises(KeyError):
        answer([{"role": "user", "content": text}], [])


def test_blocks_are_counted_whether_the_first_has_a_number_or_not():
    """The state of the cameras has "red block", "red block 2"; that of ground truth numbers all."""
    things = ("target square", "red block", "red block 2", "teal block")
    state = "\n".join(
        f"**{name}**\nCenter Position: [0.{number}000, 0.0000, 0.7770]\nOrientation: [0.0000, 0.0000, 0.0000]\n"
        "Height: 0.0500\nWidth: 0.0500\nLength: 0.0500\nColor: unknown\n"
        for number, name in enumerate(things, start=3)
    )
    state += "\nEnd-effector position: [0.5000, 0.0000, 1.2000]\nNo object grasped"
    assert "red block lies to the right of target square; 2 to move" in ask(
        "planner", "stack 2 red blocks", state=state
    )
    # A camera may have taken one for a block of another colour: a lower stack is not what was asked for.
    assert ask("planner", "stack 3 red blocks", state=state).endswith("the state has 2 of 3 red blocks")


TRAYS = {"large container": (0.2, 0.0, 0.3), "red container": (0.2, -0.25, 0.13)}


def things_text(items):
    """Return the state of two trays and of things by name and place [m], each 0.04 by 0.09 m."""
    fields = "Center Position: [{:.4f}, {:.4f}, {:.4f}]\nOrientation: [0.0000, 0.0000, 0.0000]\n"
    texts = [
        f"**{name}**\n{fields.format(x, y, 0.78)}Height: 0.0500\nWidth: {width}\nLength: {width}\nColor: red\n"
        for name, (x, y, width) in TRAYS.items()
    ]
    texts += [
        f"**{name}**\n{fields.format(x, y, 0.768)}Height: 0.0220\nWidth: 0.0900\nLength: 0.0400\nColor: silver\n"
        for name, (x, y) in items.items()
    ]
    return "\n".join(texts) + "\nEnd-effector position: [0.2000, 0.0000, 1.0000]\nNo object grasped"


EMPTY = "move all objects from the large container to the red container"
THERE = {"box": (0.14, -0.25), "bar": (0.2, -0.25)}


def test_a_thing_that_is_seen_elsewhere_does_not_keep_the_tray_from_being_emptied():
    seen = {"box 2": (0.4, 0.3), "box": (0.15, 0.05), "bar": (0.25, 0.05), "brick": (0.2, -0.06)}
    assert "Step: open the gripper and move above box:" in ask("planner", EMPTY, state=things_text(seen))


def test_what_is_left_goes_where_nothing_lies_yet():
    state = things_text({**THERE, "brick": (0.2, -0.06)})
    held = state.replace("0.0000, 1.0000]\nNo object grasped", "-0.0600, 1.0000]\nGrasped object: brick")
    assert "move above red container: position [0.2620, -0.2500" in ask("planner", EMPTY, state=held)


def test_a_tray_is_empty_when_three_things_lie_in_the_other_one():
    done = things_text({**THERE, "brick": (0.26, -0.25)})
    assert "Step: the task is done" in ask("planner", EMPTY, state=done)
    two = ask("planner", EMPTY, state=things_text(THERE))
    assert "the state has 2 of 3 things to move" in two


def test_a_tray_is_not_empty_while_something_is_seen_to_lie_in_it():
    """A camera may take the walls of the other one for things; then three lie there, and one still lies here."""
    seen = {**THERE, "brick 2": (0.26, -0.25), "brick": (0.2, -0.06)}
    assert "Step: open the gripper and move above brick:" in ask("planner", EMPTY, state=things_text(seen))


def test_what_may_be_elsewhere_is_looked_at_once_before_the_task_is_said_to_be_done():
    note = "Note: let go near this position and not seen since; it may be elsewhere"
    state = things_text({**THERE, "brick": (0.26, -0.25)}).replace("silver\n\nEnd", f"silver\n{note}\n\nEnd")
    look = ask("planner", EMPTY, state=state).partition("Step: ")[2]
    assert look.startswith("look at brick from above: position [0.2600, -0.2500")
    assert "Step: the task is done" in ask("planner", EMPTY, f"[planner]\nStep: {look}", state=state)


def test_a_hand_above_its_thing_goes_down_though_the_tops_of_others_are_told_a_little_higher():
    state = things_text({**THERE, "brick": (0.2, -0.06)}).replace(
        "[0.2000, 0.0000, 1.0000]", "[0.2000, -0.0600, 1.0180]"
    )
    last = "[planner]\nStep: open the gripper and move above brick: position [0.2000, -0.0600, 1.0174], yaw 0.0000"
    assert "Step: move to the centre of brick" in ask("planner", EMPTY, last, state=state)
