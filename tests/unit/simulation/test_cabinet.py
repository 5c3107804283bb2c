"""The cabinet task: what is refused, what each robot observes, doors that hands open, and when the task is done."""

import pytest

from quartet_simulation.table_tasks import ArrangeCabinet
from quartet_simulation.table_tasks.cabinet import CABINET, CABINET_YAW, CABINET_Z, COASTERS, DOORS, HANDLES, OPEN
from quartet_simulation.table_tasks.handling import yaw_of
from quartet_teams.errors import ReplyError
from quartet_teams.roco import Action, JointPlan, parse_reply

LEFT, RIGHT = HANDLES


def joint_plan(**actions: tuple[str, ...]) -> JointPlan:
    """Return a plan of these actions in which all other robots wait."""
    return {name: Action(name, *actions.get(name, ("WAIT",))) for name in ("Alice", "Bob", "Chad")}  # type: ignore[arg-type]


def refused(task: ArrangeCabinet, **actions: tuple[str, ...]) -> tuple[str, str]:
    """Return stage and text of the first complaints about a plan of these actions."""
    complaints = task.check(joint_plan(**actions))
    return (complaints[0][0] if complaints else "", " ".join(text for _, text in complaints))


@pytest.fixture(scope="module")
def drawn() -> ArrangeCabinet:
    return ArrangeCabinet(0)


@pytest.fixture(scope="module")
def opened() -> ArrangeCabinet:
    """Return the task after both doors were opened by hands."""
    task = ArrangeCabinet(3)
    for verb in ("PICK", "OPEN"):
        plan = joint_plan(Alice=(verb, LEFT), Bob=(verb, RIGHT))
        assert task.check(plan) == []
        outcome = task.step(plan)
        assert (outcome.failure, outcome.arm_contacts) == ("", 0)
    return task


def test_cabinet_hangs_where_the_seed_says() -> None:
    for seed in range(4):
        one, other = (ArrangeCabinet(seed).scene for _ in range(2))
        z, yaw = one.position(CABINET)[2], yaw_of(one.rotation(CABINET))
        assert CABINET_Z[0] <= z <= CABINET_Z[1]
        assert CABINET_YAW[0] <= yaw <= CABINET_YAW[1]
        assert (z, yaw) == (other.position(CABINET)[2], yaw_of(other.rotation(CABINET)))


def test_rules_are_enforced(drawn: ArrangeCabinet) -> None:
    assert refused(drawn) == ("constraints", "all robots wait; at least one has to act.")
    assert "Chad may not touch the doors" in refused(drawn, Chad=("PICK", RIGHT))[1]
    assert refused(drawn, Alice=("PICK", RIGHT))[0] == "reach"
    assert refused(drawn, Bob=("PICK PLACE", "cup", "cup_coaster"))[0] == "reach"
    cup = ("PICK PLACE", "cup", "cup_coaster")
    assert "Alice and Chad take cup; only one robot can." in refused(drawn, Alice=cup, Chad=cup)[1]
    waiting = "\nNAME Bob ACTION WAIT\nNAME Chad ACTION WAIT"
    with pytest.raises(ReplyError, match="no valid object"):
        parse_reply(f"EXECUTE\nNAME Alice ACTION PICK mug{waiting}", drawn)
    with pytest.raises(ReplyError, match="must PICK left_door_handle first"):
        parse_reply(f"EXECUTE\nNAME Alice ACTION OPEN {LEFT}{waiting}", drawn)


def test_objects_behind_closed_doors_are_not_taken(drawn: ArrangeCabinet) -> None:
    for name in ("mug", "cup"):
        stage, text = refused(drawn, Chad=("PICK PLACE", name, f"{name}_coaster"))
        assert stage == "collision"
        assert "door" in text


@pytest.mark.slow
def test_an_arm_that_cannot_take_out_what_it_reaches_is_refused() -> None:
    task = ArrangeCabinet(0)
    for door in DOORS:
        task.scene.data.joint(door).qpos[0] = OPEN
    task.scene.settle()
    stage, text = refused(task, Alice=("PICK PLACE", "cup", "cup_coaster"))
    assert (stage, text[:40]) == ("waypoints", "Alice reaches cup, but cannot move strai")
    assert "Let another robot take cup" in text
    assert task.step(joint_plan(Alice=("PICK PLACE", "cup", "cup_coaster"))).failure.startswith("no motion was found")
    assert refused(task, Chad=("PICK PLACE", "cup", "cup_coaster")) == ("", "")


@pytest.mark.slow
def test_a_robot_opens_its_door_while_another_takes_its_own() -> None:
    task = ArrangeCabinet(90000)
    assert task.step(joint_plan(Alice=("PICK", LEFT))).failure == ""
    plan = joint_plan(Alice=("OPEN", LEFT), Bob=("PICK", RIGHT))
    assert task.check(plan) == []
    assert task.step(plan).failure == ""
    assert (task.is_open("left_door"), task.held("Bob")) == (True, (RIGHT,))


@pytest.mark.slow
def test_a_robot_that_waits_keeps_its_handle_while_the_way_of_another_is_searched() -> None:
    task = ArrangeCabinet(90001)
    assert task.step(joint_plan(Alice=("PICK", LEFT))).failure == ""
    assert task.step(joint_plan(Bob=("PICK", RIGHT))).failure == ""
    assert (task.held("Alice"), task.held("Bob")) == ((LEFT,), (RIGHT,))


def test_coaster_that_is_taken_is_refused() -> None:
    task = ArrangeCabinet(1)
    task.scene.place("mug", (*COASTERS["cup_coaster"], 0.212))
    task.scene.settle()
    cup = {"Chad": ("PICK PLACE", "cup", "cup_coaster")}
    text = "Chad puts cup onto cup_coaster, where mug stands; move mug first."
    assert refused(task, **cup) == ("constraints", text)
    assert refused(task, **cup, Alice=("PICK PLACE", "mug", "mug_coaster"))[0] != "constraints"


def test_robots_observe_doors_objects_and_what_they_reach(drawn: ArrangeCabinet) -> None:
    seen = drawn.describe_robot("Bob")
    assert "left_door is closed, with left_door_handle at" in seen
    assert "mug is inside the cabinet." in seen
    assert "Gripper of Chad: (" in seen
    assert drawn.capability("Bob") == "Bob reaches right_door_handle."
    assert RIGHT not in drawn.capability("Chad")


@pytest.mark.slow
def test_hands_open_the_doors_which_stay_open(opened: ArrangeCabinet) -> None:
    assert all(float(opened.scene.data.joint(door).qpos[0]) > OPEN - 0.1 for door in DOORS)
    assert "right_door is open" in opened.describe()
    assert [opened.held(robot) for robot in opened.robots] == [(), (), ()]
    assert refused(opened, Alice=("PICK", LEFT))[1] == f"Alice takes {LEFT}, whose door is open already."


@pytest.mark.slow
def test_suction_takes_mug_and_cup_out_of_the_cabinet(opened: ArrangeCabinet) -> None:
    for name in ("cup", "mug"):
        assert not opened.done
        plan = joint_plan(Chad=("PICK PLACE", name, f"{name}_coaster"))
        assert opened.check(plan) == []
        assert opened.step(plan).failure == ""
        assert f"{name} is on {name}_coaster." in opened.describe()
    assert opened.done


def test_only_objects_on_their_own_coasters_are_done() -> None:
    task = ArrangeCabinet(1)

    def put(height: float, **coasters: str) -> bool:
        for name, coaster in coasters.items():
            task.scene.place(name, (*COASTERS[coaster], height))
        if height < 0.22:
            task.scene.settle()
        return task.done

    assert not put(0.212, mug="cup_coaster", cup="mug_coaster")
    assert not put(0.4, mug="mug_coaster", cup="cup_coaster"), "in the air, where the published test accepts them"
    assert put(0.212, mug="mug_coaster", cup="cup_coaster")
