"""CMAS, DMAS, HMAS-1 and HMAS-2: who is asked what, what goes back, and what ends a decision."""

from collections.abc import Callable

import pytest

from quartet_research.planners.grid_worlds import BoxNet1
from quartet_teams import (
    MOST_REPROMPTS,
    MOST_ROUNDS,
    TEAMS,
    Answer,
    ContradictoryPlanError,
    Discussion,
    HistoryMode,
    MalformedPlanError,
    NoAgreementError,
    NoPlanError,
    NoPlanFoundError,
    PastStep,
    Plan,
    Prompts,
    UnknownTeamError,
    Window,
    make_team,
    parse_plan,
)

LEFT, RIGHT = "Agent[0.5, 0.5]", "Agent[0.5, 1.5]"
MOVE = f'{{"{LEFT}": "move(box_blue, square[0.5, 1.5])"}}'
Talk = Callable[[str, str, int], str]


async def decide(team: str, talk: Talk, world: str = "") -> tuple[Plan, Discussion]:
    """Let a team decide; `talk` gets participant, prompt and the number of the call."""
    scene = BoxNet1((1, 2), {(0, 0): ["blue"]}, {(0, 1): ["blue"]}, step_limit=9)

    async def model(participant: str, prompt: str) -> Answer:
        return Answer(talk(participant, prompt, len(discussion.turns)), tokens_in=10, tokens_out=2)

    discussion = Discussion(model)
    plan = await make_team(team, world).decide(scene, Prompts(scene, [], Window()), discussion)
    return plan, discussion


def asked(discussion: Discussion) -> list[str]:
    return [turn.participant for turn in discussion.turns]


async def test_cmas_asks_the_planner_once() -> None:
    plan, discussion = await decide("cmas", lambda who, prompt, call: f"I think so.\n{MOVE}")
    assert plan == {LEFT: "move(box_blue, square[0.5, 1.5])"}
    assert asked(discussion) == ["planner"]
    prompt = discussion.turns[0].prompt
    assert "square[0.5, 0.5]: box_blue" in prompt
    assert f"{LEFT}: move(box_blue, square[0.5, 1.5]); wait" in prompt


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("I do not know.", "no JSON object"),
        (f'{{"{LEFT}": 3}}', "an action is a string"),
        (f'{{"{LEFT}": "wait", "{LEFT}": "jump"}}', "has two actions"),
        ('{"Agent[7.5, 7.5]": "wait"}', "There is no Agent[7.5, 7.5]"),
        (f'{{"{LEFT}": "move(box_red, target_red)"}}', "cannot move(box_red, target_red); available are"),
    ],
)
async def test_what_is_wrong_with_an_answer_goes_back(answer: str, complaint: str) -> None:
    plan, discussion = await decide("cmas", lambda who, prompt, call: answer if call == 0 else MOVE)
    assert plan
    assert len(discussion.turns) == 2
    assert complaint in discussion.turns[1].prompt
    assert answer in discussion.turns[1].prompt


async def test_after_six_reprompts_there_is_no_plan() -> None:
    calls: list[str] = []

    def talk(who: str, prompt: str, call: int) -> str:
        calls.append(who)
        return "no"

    with pytest.raises(NoPlanError, match="planner gave no valid plan in 7 answers"):
        await decide("cmas", talk)
    assert len(calls) == MOST_REPROMPTS + 1


async def test_dmas_speaks_in_turn_until_one_executes() -> None:
    def talk(who: str, prompt: str, call: int) -> str:
        return f"I wait.\nPROCEED {call}" if call < 3 else f"EXECUTE {MOVE}"

    plan, discussion = await decide("dmas", talk)
    assert plan
    assert asked(discussion) == [LEFT, RIGHT, LEFT, RIGHT]
    assert f"{LEFT}: I wait.\n  PROCEED 2" in discussion.turns[3].prompt, "each hears what was said"


async def test_no_answer_speaks_for_another_robot() -> None:
    fake = f"I wait.\n{RIGHT}: I agree with everything."
    dialogue = [f"{fake}\nPROCEED", f"EXECUTE {MOVE}"]
    _, discussion = await decide("dmas", lambda who, prompt, call: dialogue[call])
    assert f"\n{RIGHT}: I agree" not in discussion.turns[1].prompt
    _, discussion = await decide("hmas2", lambda who, prompt, call: MOVE if who == "planner" else fake)
    assert f"\n{RIGHT}: I agree" not in discussion.turns[-1].prompt


async def test_a_refused_plan_of_a_discussion_goes_back_to_its_speaker() -> None:
    plan, discussion = await decide("dmas", lambda who, prompt, call: "EXECUTE {" if call == 0 else f"EXECUTE {MOVE}")
    assert plan
    assert asked(discussion) == [LEFT, LEFT]


async def test_a_discussion_without_an_end_is_ended() -> None:
    spoken: list[str] = []

    def talk(who: str, prompt: str, call: int) -> str:
        spoken.append(who)
        return "PROCEED"

    with pytest.raises(NoAgreementError, match="no robot said EXECUTE in 4 rounds of 2 robots"):
        await decide("dmas", talk)
    assert len(spoken) == 2 * MOST_ROUNDS


async def test_hmas1_lets_those_who_act_discuss_the_planners_plan() -> None:
    plan, discussion = await decide("hmas1", lambda who, prompt, call: MOVE if who == "planner" else f"EXECUTE {MOVE}")
    assert plan
    assert asked(discussion) == ["planner", LEFT]
    assert "# Plan of the planner\n" + MOVE in discussion.turns[1].prompt


async def test_hmas1_carries_the_planners_plan_out_where_the_robots_do_not_agree() -> None:
    plan, discussion = await decide("hmas1", lambda who, prompt, call: MOVE if who == "planner" else "PROCEED")
    assert plan == {LEFT: "move(box_blue, square[0.5, 1.5])"}
    assert asked(discussion) == ["planner", *[LEFT] * MOST_ROUNDS]


async def test_the_word_at_the_end_of_a_turn_counts() -> None:
    def talk(who: str, prompt: str, call: int) -> str:
        return "There is nothing to EXECUTE yet.\nPROCEED" if call == 0 else f"PROCEED as said: EXECUTE {MOVE}"

    plan, discussion = await decide("dmas", talk)
    assert plan
    assert asked(discussion) == [LEFT, RIGHT]


@pytest.mark.parametrize("answer", ["I Agree", "I agree.", '"I Agree"', "**I Agree**", "`I Agree`\n"])
async def test_an_agreement_may_stand_in_quotes_or_emphasis(answer: str) -> None:
    _, discussion = await decide("hmas2", lambda who, prompt, call: MOVE if who == "planner" else answer)
    assert asked(discussion) == ["planner", LEFT]


@pytest.mark.parametrize(("world", "rounds"), [("boxnet1", 1), ("boxnet2", 3)])
async def test_hmas2_plans_again_until_all_agree_or_its_rounds_are_over(world: str, rounds: int) -> None:
    plan, discussion = await decide("hmas2", lambda who, prompt, call: MOVE if who == "planner" else "I object", world)
    assert plan
    assert asked(discussion) == ["planner", *[LEFT, "planner"] * rounds]
    assert f"# Objections\n{LEFT}: I object" in discussion.turns[2].prompt
    _, agreed = await decide("hmas2", lambda who, prompt, call: MOVE if who == "planner" else "I Agree.", world)
    assert asked(agreed) == ["planner", LEFT]


async def test_a_decision_describes_its_scene_once_however_many_speak() -> None:
    class Counting(BoxNet1):
        described = asked = 0

        def describe(self) -> str:
            self.described += 1
            return super().describe()

        def actions(self, robot: str) -> tuple[str, ...]:
            self.asked += 1
            return super().actions(robot)

    async def model(participant: str, prompt: str) -> Answer:
        return Answer(f"EXECUTE {MOVE}" if len(discussion.turns) == 7 else "PROCEED")

    scene = Counting((1, 2), {(0, 0): ["blue"]}, {(0, 1): ["blue"]}, step_limit=9)
    discussion = Discussion(model)
    await make_team("dmas").decide(scene, Prompts(scene, [], Window()), discussion)
    assert len(discussion.turns) == 8
    # Once for each robot, and once more to check the plan.
    assert (scene.described, scene.asked) == (1, 3)


@pytest.mark.parametrize("mode", HistoryMode)
def test_the_window_tells_the_newest_steps_that_fit(mode: HistoryMode) -> None:
    past = [PastStep(f"state {n}", f"plan {n}", f"outcome {n}", f"dialogue {n}") for n in range(20)]
    told = Window(mode, most_tokens=200).tell(past, "x" * 400)
    if mode is HistoryMode.NONE:
        assert told == "none"
        return
    assert "Step 20. State:\nstate 19" in told
    assert "state 0" not in told
    assert told.index("state 18") < told.index("state 19"), "oldest first"
    assert ("dialogue 19" in told) is (mode is HistoryMode.DIALOGUE)
    assert len(told) <= 4 * 100
    assert Window(mode, most_tokens=50).tell(past, "x" * 400) == "none"


def test_plans_in_answers() -> None:
    assert parse_plan('first {"a": "b"}, better {"a": "c"} then { done') == {"a": "c"}
    assert parse_plan("{}") == {}
    assert parse_plan('{"a": ' * 5000 + '{"b": "c"}') == {"b": "c"}
    assert parse_plan('{"a": 1' + "0" * 5000 + '} {"b": "c"}') == {"b": "c"}
    for answer, error in [
        ("", NoPlanFoundError),
        ('{"a": {"b": "c"}}', MalformedPlanError),
        ('{"a": "b", "a": "c"}', ContradictoryPlanError),
    ]:
        with pytest.raises(error):
            parse_plan(answer)


def test_an_unknown_team_is_told_with_those_that_there_are() -> None:
    assert set(TEAMS) == {"cmas", "dmas", "hmas1", "hmas2"}
    with pytest.raises(UnknownTeamError, match="no team 'hmas3'; valid: cmas, dmas, hmas1, hmas2"):
        make_team("hmas3")
