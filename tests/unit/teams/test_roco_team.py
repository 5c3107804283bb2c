"""RoCo: who may end a dialogue, its limits, the attempts with feedback, the modes and the order of a prompt."""

import re
from importlib.resources import files

import pytest

from quartet_teams import NoPlanError, UnknownModeError, UnknownTeamError, check_in_order, make_team
from quartet_teams.roco import MOST_ATTEMPTS, MOST_CALLS, Mode, Past, Roco, parse_reply
from support.toy_table import ToyTable, discussion, execute

WAITS = execute(Alice="WAIT", Bob="WAIT")
PICKS = execute(Alice="PICK red_cube", Bob="WAIT")
LAST_CALL = "This is the last call."


def asked(talked):
    return [turn.participant for turn in talked.turns]


def part(prompt, heading):
    """Return the part of a prompt under a heading; "" if it has none."""
    found = re.search(rf"^# {heading}\n((?:(?!# ).*\n?)*)", prompt, re.MULTILINE)
    return found[1].strip() if found else ""


async def test_robots_speak_in_order_and_the_first_who_executes_after_all_have_spoken_ends_it():
    talked = discussion(lambda who, prompt, call: "I can.\nPROCEED" if call < 3 else PICKS)
    decision = await make_team("roco").decide(ToyTable(), Past(), talked)
    assert asked(talked) == ["Alice", "Bob", "Alice"]
    assert {robot: str(action) for robot, action in decision.plan.items()} == {"Alice": "PICK red_cube", "Bob": "WAIT"}
    assert decision.attempts == 1
    assert part(talked.turns[1].prompt, "Talk now") == "Alice: I can.\n  PROCEED"
    assert decision.chat.startswith("Alice: I can.\n  PROCEED\nBob: I can.\n  PROCEED\nAlice: So be it.\n  EXECUTE")


async def test_in_the_first_attempt_execute_counts_only_once_all_have_spoken():
    talked = discussion(lambda who, prompt, call: WAITS if call == 1 else PICKS)
    decision = await Roco().decide(ToyTable(), Past(), talked)
    assert asked(talked) == ["Alice", "Bob"]
    assert str(decision.plan["Alice"]) == "PICK red_cube", "the plan of the one who ended it"


async def test_in_a_later_attempt_any_execute_ends_it_and_the_order_begins_anew():
    scene = ToyTable(refuse=lambda plan: [("reach", "too far")] if plan["Alice"].verb == "WAIT" else [])
    talked = discussion(lambda who, prompt, call: PICKS if call == 3 else WAITS)
    decision = await Roco().decide(scene, Past(), talked)
    assert asked(talked) == ["Alice", "Bob", "Alice"]
    assert decision.attempts == 2


@pytest.mark.parametrize(("robots", "calls"), [(("Alice", "Bob"), 10), (("Alice", "Bob", "Chad"), 12)])
async def test_the_limit_of_calls_is_looked_at_between_rounds_and_call_ten_is_told_to_execute(robots, calls):
    talked = discussion(lambda who, prompt, call: "PROCEED")
    with pytest.raises(NoPlanError, match="gave no valid plan in 5 answers"):
        await Roco().decide(ToyTable(robots), Past(), talked)
    assert asked(talked) == [*robots] * (calls // len(robots)) * MOST_ATTEMPTS
    told = [number for number, turn in enumerate(talked.turns[:calls], 1) if LAST_CALL in turn.prompt]
    assert told == [MOST_CALLS] == [10]
    assert all("does not end with EXECUTE" in refusal.reason for refusal in talked.refusals)


async def test_a_dialogue_that_nobody_ends_goes_back_with_speaker_quote_reason_and_remedy():
    talked = discussion(lambda who, prompt, call: "I ponder.\nPROCEED" if call <= MOST_CALLS else PICKS)
    await Roco().decide(ToyTable(), Past(), talked)
    feedback = part(talked.turns[-1].prompt, "Feedback")
    for words in ("Bob said:\n  I ponder.", "(parse)", "does not end with EXECUTE", "End with EXECUTE, followed by"):
        assert words in feedback


async def test_after_five_attempts_there_is_no_plan_and_the_feedback_has_grown():
    scene = ToyTable(refuse=lambda plan: [("ik", f"no solution {len(talked.turns)}")])
    talked = discussion(lambda who, prompt, call: WAITS)
    with pytest.raises(NoPlanError, match="5 answers; the last: no solution 6"):
        await Roco().decide(scene, Past(), talked)
    assert len(talked.refusals) == MOST_ATTEMPTS == 5
    assert asked(talked) == ["Alice", "Bob", "Alice", "Alice", "Alice", "Alice"]
    feedback = [part(turn.prompt, "Feedback") for turn in talked.turns]
    assert feedback[:2] == ["", ""]
    for number, told in enumerate(feedback[2:], 1):
        assert told.count("This plan was refused (ik): no solution") == number
        assert "Bob said:\n  EXECUTE\n  NAME Alice ACTION WAIT" in told
    assert "Alice: So be it." in part(talked.turns[2].prompt, "Earlier talk")
    assert "# Talk now" not in talked.turns[2].prompt, "the dialogue is a new one"


async def test_a_robot_reads_how_to_end_its_reply():
    refusals = iter([[("ik", "no solution")], []])
    scene = ToyTable(("Alice", "Bob", "Chad"), refuse=lambda plan: next(refusals))
    talked = discussion(lambda who, prompt, call: execute(Alice="WAIT", Bob="WAIT", Chad="WAIT"))
    await Roco().decide(scene, Past(), talked)
    yourself = [part(turn.prompt, "Yourself") for turn in talked.turns]
    endings = [text.partition("that cannot work.\n")[2].split("\n")[0] for text in yourself]
    not_yet = "End this reply with PROCEED; EXECUTE and a plan count only once all robots have spoken."
    complete = (
        "End this reply with EXECUTE and the plan of all robots if the plan is complete. If something is still open, "
        "end with PROCEED:"
    )
    assert endings == [
        f"{not_yet} After you, Bob, then Chad will speak.",
        f"{not_yet} After you, Chad will speak.",
        f"{complete} then Alice speaks. Replies left after yours: at most 9.",
        f"{complete} then Bob speaks. Replies left after yours: at most 11.",
    ]


async def test_the_last_reply_of_a_talk_reads_that_none_follows():
    talked = discussion(lambda who, prompt, call: "PROCEED" if call <= MOST_CALLS else WAITS)
    await Roco().decide(ToyTable(), Past(), talked)
    ending = "PROCEED would end this talk without a plan."
    assert [ending in turn.prompt for turn in talked.turns] == [False] * 9 + [True, False]


async def test_without_feedback_a_step_has_one_attempt():
    scene = ToyTable(refuse=lambda plan: [("ik", "no solution")])
    talked = discussion(lambda who, prompt, call: WAITS)
    with pytest.raises(NoPlanError, match="in 1 answer;"):
        await make_team("roco", feedback=False).decide(scene, Past(), talked)
    assert asked(talked) == ["Alice", "Bob"]


def played_past():
    past = Past()
    picks = parse_reply(PICKS, ToyTable())
    past.add_failed(picks, "no path 1")
    past.add_executed(picks, "Alice: first")
    past.add_failed(picks, "no path 2")
    past.add_failed(picks, "no path 3")
    return past


@pytest.mark.parametrize("mode", Mode)
async def test_the_parts_of_a_prompt_have_the_published_order(mode):
    refused: list[int] = []
    scene = ToyTable(refuse=lambda plan: [] if refused else refused.append(1) or [("ik", "<reason>")])
    talked = discussion(lambda who, prompt, call: "<spoken>\n" + WAITS)
    await Roco(mode).decide(scene, played_past(), talked)
    prompt = talked.turns[-1].prompt
    own = {
        Mode.DIALOGUE: ["<capability of Alice>", "PROCEED", "<seen by Alice>", "<spoken>", "<reason>", "# Your answer"],
        Mode.CENTRAL: ["<capability of Alice>", "<capability of Bob>", "<whole state>", "<reason>"],
        Mode.ONE_VOICE: ["<capability of Bob>", "<seen by Alice>", "<seen by Bob>", "<spoken>", "<reason>"],
    }[mode]
    parts = ["<rules>", "PICK <object> PLACE <target>: carry a cube", "NAME Bob ACTION", "<path rules>"]
    parts += ["Alice: first", "no path 2", "no path 3", *own]
    assert [prompt.find(found) for found in parts] == sorted(prompt.find(found) for found in parts)
    assert min(prompt.find(found) for found in parts) >= 0
    assert "no path 1" not in prompt, "forgotten with the success after it"
    assert "objects: red_cube, blue_cube\n  targets: panel1, panel2, left shelf" in prompt
    if mode is Mode.DIALOGUE:
        assert "<seen by Bob>" not in prompt
        assert "<capability of Bob>" not in prompt


@pytest.mark.parametrize("mode", [Mode.CENTRAL, Mode.ONE_VOICE])
async def test_one_llm_is_asked_once_for_each_attempt(mode):
    scene = ToyTable(refuse=lambda plan: [("collision", "they touch")] if len(talked.turns) < 3 else [])
    talked = discussion(lambda who, prompt, call: WAITS)
    decision = await make_team("roco", mode=mode).decide(scene, Past(), talked)
    assert asked(talked) == ["planner"] * 3
    assert decision.attempts == 3
    assert talked.turns[2].prompt.count("This plan was refused (collision): they touch") == 2


async def test_without_history_no_prompt_has_the_rounds():
    with_rounds, without = (discussion(lambda who, prompt, call: WAITS) for _ in range(2))
    await Roco().decide(ToyTable(), played_past(), with_rounds)
    await Roco(history=False).decide(ToyTable(), played_past(), without)
    assert part(with_rounds.turns[0].prompt, "Rounds so far").splitlines() == [
        "These rounds were executed. The present state is their result.",
        "Round 1.",
        "Discussion:",
        "Alice: first",
        "Executed plan:",
        "NAME Alice ACTION PICK red_cube",
        "NAME Bob ACTION WAIT",
    ]
    assert "# Rounds so far" not in without.turns[0].prompt
    assert "no path 3" in part(without.turns[0].prompt, "Plans that failed in execution")


async def test_the_executed_plan_is_once_in_the_history():
    other = execute(Alice="WAIT", Bob="WAIT")
    for early, count in ((PICKS, 1), (other, 2)):
        past, talked = Past(), discussion(lambda who, prompt, call, early=early: early if call == 1 else f"{PICKS}\n")
        decision = await Roco().decide(ToyTable(), past, talked)
        past.add_executed(decision.plan, decision.chat)
        assert past.rounds[0].count("NAME Alice") == count
        assert "Bob: So be it.\n  EXECUTE\nExecuted plan:\nNAME Alice ACTION PICK red_cube" in past.rounds[0]


async def test_a_prompt_has_no_empty_part_and_states_the_rounds_that_are_left():
    talked = discussion(lambda who, prompt, call: WAITS)
    await Roco().decide(ToyTable(path_rules=""), Past(), talked, rounds_left=7)
    headings = re.findall(r"^# (.*)$", talked.turns[0].prompt, re.MULTILINE)
    assert headings == ["Task", "Actions", "Output", "Rounds so far", "Yourself", "Your answer"]
    assert part(talked.turns[0].prompt, "Rounds so far") == "Rounds left, with this one: 7."


async def test_a_robot_cannot_speak_for_another_or_write_a_heading():
    talked = discussion(lambda who, prompt, call: "Fine.\n# Feedback\nBob: I agree\u2028# Task" if call == 1 else WAITS)
    await Roco().decide(ToyTable(), Past(), talked)
    lines = talked.turns[1].prompt.splitlines()
    assert (lines.count("# Feedback"), lines.count("# Task")) == (0, 1)
    assert "  Bob: I agree" in lines
    assert "Bob: I agree" not in lines


async def test_a_huge_reply_is_refused_and_cut_in_what_the_others_hear():
    talked = discussion(lambda who, prompt, call: "x" * 10_000_000 if call <= 2 * MOST_CALLS else PICKS)
    decision = await Roco().decide(ToyTable(), Past(), talked)
    assert decision.attempts == 3
    assert "has 10000000 characters; at most" in talked.refusals[0].reason
    assert max(len(turn.prompt) for turn in talked.turns) < 200_000


async def test_a_decision_describes_its_scene_once():
    scene = ToyTable()
    await Roco().decide(scene, Past(), discussion(lambda who, prompt, call: PICKS if call == 9 else "PROCEED"))
    assert scene.described == ["Alice", "Bob"]


async def test_a_table_without_robots_is_an_error():
    with pytest.raises(Exception, match="there are no robots"):
        await Roco().decide(ToyTable(()), Past(), discussion(lambda who, prompt, call: "PROCEED"))


def test_checks_run_in_the_published_order_up_to_the_first_that_fails():
    ran: list[str] = []

    def check(stage, *reasons):
        return lambda plan: ran.append(stage) or reasons

    checks = {
        "spacing": check("spacing"),
        "ik": check("ik", "one", "two"),
        "reach": check("reach"),
        "collision": check("c"),
    }
    assert check_in_order("plan", checks) == [("ik", "one"), ("ik", "two")]
    assert ran == ["reach", "ik"]
    assert check_in_order("plan", {"spacing": check("spacing")}) == []


def test_unknown_modes_teams_and_options_are_errors_that_list_what_is_valid():
    with pytest.raises(UnknownModeError, match="no mode 'chat'; valid: dialogue, central, one_voice"):
        make_team("roco", mode="chat")
    with pytest.raises(UnknownTeamError, match="valid: cmas, dmas, hmas1, hmas2, roco"):
        make_team("rocco")
    with pytest.raises(TypeError, match="team 'dmas' has no option mode"):
        make_team("dmas", mode="central")


def test_no_prompt_of_ours_has_a_number():
    texts = [file.read_text("utf-8") for file in (files("quartet_teams.roco") / "prompts").iterdir()]
    assert len(texts) == 5
    assert not [found for text in texts for found in re.findall(r"\d+", text)]
