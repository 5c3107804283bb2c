"""Unlike robots share a task out (EMOS): a leader assigns, each checks its own errands with numbers, all work at once."""

import asyncio
import time

import pytest

from quartet_bus import Bus
from quartet_contracts import TEAM_QUEUE, State, Task, TaskSubmission
from quartet_contracts.story import Narrator

CAN, BOX = "red coke can", "pink tissue box"
SENTENCE = f"Put the {CAN} from the kitchen on the wooden coffee table and the {BOX} from the dresser on the desk."
MOVE_CAN = f"move({CAN}, kitchen, wooden coffee table)"
MOVE_BOX = f"move({BOX}, parents' bedroom, desk)"
BOTH = {(CAN, True), (BOX, True)}
ENDED = (State.SUCCEEDED, State.FAILED, State.CANCELED)
LEADER, SUMMIT, SECOND = "You lead a group of robots", "You are summit, one of a group", "You are second, one of a group"


def of_kind(events, kind):
    return [e.event for e in events if e.event.kind == kind]


def moved(status):
    return {(row.object_name, row.completed) for row in status.report.objects}


@pytest.fixture
async def group(unlike, working, calculating):
    """`async with group() as client`: a rover (summit) and a lifter (second), all agents, and somebody who calculates."""
    await calculating()
    return unlike


async def test_each_robot_checks_its_subtask_by_a_program_and_all_work_at_once(group, agents, eventually, model):
    go = agents.hold("pick", "pick")
    async with group() as client:
        task_id = await client.submit(SENTENCE, team="emos")
        await eventually(lambda: [skill for skill, _ in agents.calls].count("pick") == 2)
        go.set()
        status = await client.until_state(task_id, *ENDED)
        events = await client.events(task_id)
    assert (status.state, moved(status)) == (State.SUCCEEDED, BOTH), status.report
    (shared,) = of_kind(events, "team_subtasks")
    assert (shared.subtasks, shared.agreed) == ({"second": [MOVE_BOX], "summit": [MOVE_CAN]}, True)
    assert {one.participant: one.text for one in of_kind(events, "team_program")} == {
        "second": f"{BOX} True\n",
        "summit": f"{CAN} True\n",
    }
    assert {turn.participant for turn in of_kind(events, "team_turn")} == {"planner", "leader", "summit", "second"}
    assert all(CAN not in prompt.partition("# Scene")[0] for prompt in model.prompts if SECOND in prompt)
    narrator = Narrator()
    told = {span.text for event in events for line in narrator.tell(event).lines for span in line.spans}
    assert {"proposes subtasks", "accepts its subtask", "all agree to their subtasks"} <= told
