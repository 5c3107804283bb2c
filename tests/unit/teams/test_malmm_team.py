"""SA, MA and MALMM: who speaks when, what goes back to whom, and how a task ends."""

import pytest

from quartet_teams import Answer, Chat, Discussion, UnknownTeamError, code_blocks
from quartet_teams.malmm import (
    CODER,
    MOST_ERRORS,
    PLANNER,
    ROUNDS,
    SINGLE,
    SUPERVISOR,
    Ending,
    Execution,
    Facts,
    speaker_of,
    work,
)

FACTS = Facts(0.75, (0.0, 0.5), (-0.4, 0.4), 0.1, 0.02, (0.2, 0.0, 1.2), 0.0)
PROGRAM = "```python\nmove()\n```"
DONE = "```python\ntask_completed()\n```"


class Bench:
    """An arm whose programs end as `results` say; task_completed() is known by its text."""

    instruction = "stack the blocks"
    facts = FACTS

    def __init__(self, results=()):
        self.results = list(results)
        self.ran = []
        self.completed = False

    def state(self):
        return "STATE 0"

    async def execute(self, code):
        self.ran.append(code)
        self.completed = "task_completed" in code
        return self.results.pop(0) if self.results else Execution(0, f"STATE {len(self.ran)}")


class Script:
    """Says what is written for each participant in turn, the last again and again."""

    def __init__(self, **lines):
        self.lines = lines
        self.asked = []
        self.prompts = []

    async def __call__(self, participant, prompt):
        self.asked.append(participant)
        self.prompts.append(prompt)
        said = self.lines[participant]
        return Answer(said.pop(0) if len(said) > 1 else said[0])


async def test_a_single_agent_sees_what_each_program_did():
    arm, model = Bench(), Script(single=[PROGRAM, DONE])
    outcome = await work("sa", arm, Discussion(model))
    assert outcome.ending is Ending.COMPLETED
    assert arm.ran == ["move()\n", "task_completed()\n"]
    assert "STATE 1" not in model.prompts[0]
    assert "exit code: 0\noutput:\nSTATE 1" in model.prompts[1]


async def test_planner_and_coder_take_turns_also_after_an_error():
    arm = Bench([Execution(1, "NameError: name 'x' is not defined")])
    model = Script(planner=["Step: move", "Step: done"], coder=[PROGRAM, DONE])
    outcome = await work("ma", arm, Discussion(model))
    assert model.asked == [PLANNER, CODER, PLANNER, CODER]
    assert outcome == type(outcome)(Ending.COMPLETED, 2, 1)
    assert "exit code: 1\noutput:\nNameError" in model.prompts[2], "the Planner hears of the error, too"


async def test_the_supervisor_chooses_and_its_words_are_not_told():
    arm = Bench([Execution(1, "NameError")])
    model = Script(supervisor=["planner", "The Coder: coder.", "coder"], planner=["Step: move"], coder=[PROGRAM, DONE])
    await work("malmm", arm, Discussion(model))
    assert model.asked == [SUPERVISOR, PLANNER, SUPERVISOR, CODER, SUPERVISOR, CODER]
    assert all("[supervisor]" not in prompt for prompt in model.prompts)


async def test_five_errors_in_a_row_end_the_task_and_a_success_between_begins_anew():
    wrong, right = Execution(1, "NameError"), Execution(0, "STATE")
    arm = Bench([wrong] * 4 + [right] + [wrong] * 9)
    outcome = await work("sa", arm, Discussion(Script(single=[PROGRAM])))
    assert (outcome.ending, outcome.executions) == (Ending.GAVE_UP, 5 + MOST_ERRORS)


@pytest.mark.parametrize(
    ("framework", "lines", "words"),
    [
        ("sa", {"single": ["I would move."]}, "There is no program"),
        ("malmm", {"supervisor": ["planner or coder"]}, "names neither"),
    ],
)
async def test_an_answer_that_is_none_counts_as_an_error(framework, lines, words):
    model = Script(**lines)
    outcome = await work(framework, Bench(), Discussion(model))
    assert outcome.ending is Ending.GAVE_UP
    assert len(model.asked) == MOST_ERRORS
    assert words in model.prompts[-1]


async def test_a_conversation_without_end_has_one():
    model = Script(supervisor=["planner"], planner=["Let me think."])
    assert (await work("malmm", Bench(), Discussion(model), most_calls=20)).ending is Ending.CALLS
    assert len(model.asked) == 20
    model = Script(single=[PROGRAM])
    assert (await work("sa", Bench(), Discussion(model))).ending is Ending.PROGRAMS


async def test_the_blocks_of_an_answer_run_until_one_fails():
    arm = Bench([Execution(0, "STATE"), Execution(1, "NameError")])
    model = Script(single=[PROGRAM * 3, DONE])
    await work("sa", arm, Discussion(model))
    assert arm.ran == ["move()\n", "move()\n", "task_completed()\n"]


async def test_without_feedback_the_plan_runs_once_and_nobody_hears_of_it():
    arm = Bench([Execution(1, "NameError")])
    model = Script(planner=["Step: move"], coder=[PROGRAM + DONE])
    outcome = await work("ma", arm, Discussion(model), feedback=False)
    assert outcome.ending is Ending.NOT_CLAIMED
    assert model.asked == [PLANNER, CODER]
    assert all("All steps at once" in prompt for prompt in model.prompts)


async def test_prompts_have_the_numbers_of_the_arm_and_no_place_left_open():
    model = Script(supervisor=["planner", "coder"], planner=["Step"], coder=[DONE], single=[DONE])
    for framework in ROUNDS:
        await work(framework, Bench(), Discussion(model))
    asked = dict(zip(model.asked, model.prompts, strict=True))
    assert set(asked) == {SUPERVISOR, PLANNER, CODER, SINGLE}
    assert all("$" not in prompt and "stack the blocks" in prompt for prompt in asked.values())
    assert "z = 0.75." in asked[PLANNER]
    assert "Position: [0.2, 0.0, 1.2]" in asked[SUPERVISOR]
    assert "After 5 errors" in asked[CODER]


async def test_a_framework_that_there_is_not_is_refused():
    with pytest.raises(UnknownTeamError, match="valid: sa, ma, malmm"):
        await work("duo", Bench(), Discussion(Script()))


def test_a_long_conversation_tells_its_newest_part():
    chat = Chat(most_tokens=30)
    for number in range(10):
        chat.say(PLANNER, f"step {number} " + "x" * 30)
    assert "step 9" in chat.tell()
    assert "step 0" not in chat.tell()
    assert Chat().tell() == "Nothing was said yet."


def test_programs_and_speakers_are_read_out_of_answers():
    assert code_blocks("text ```python\na = 1\n``` and ```python\n\n``` and ```sh\nls\n```") == ["a = 1\n"]
    assert speaker_of("I choose the **Coder**.") == CODER
    assert speaker_of("planner") == PLANNER
    assert speaker_of("codex") is None
