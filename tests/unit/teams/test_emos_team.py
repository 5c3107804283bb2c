"""EMOS: how a group shares a task out, checks it, acts, and plans again."""

import re
from dataclasses import replace

import pytest

from quartet_teams import Answer, Discussion, NoPlanError, SilentError, UnknownTeamError
from quartet_teams.emos import (
    LEADER,
    MOST_REPLANS,
    MOST_TURNS,
    NOTHING,
    ROBOT_FUNCTIONS,
    Agreement,
    Call,
    CallError,
    Ending,
    Outcome,
    Problem,
    Profile,
    act,
    agree,
    method_of,
    parse_assignment,
    parse_call,
    parse_verdict,
    work,
)
from quartet_teams.emos._act import WOKEN

PROBLEM = Problem(
    "move the cup and the jar",
    "SCENE",
    [Profile("tall", "RESUME OF TALL 2.0", "SUMMARY OF TALL", "ROLE OF TALL"),
     Profile("slim", "RESUME OF SLIM 0.3", "SUMMARY OF SLIM", "ROLE OF SLIM")],
)  # fmt: skip
ROBOTS = ["tall", "slim"]
BOTH = "{tall||move the cup} {slim||move the jar}"
WAITS = '{"function": "wait"}'


class Script:
    """Says what is written for each participant in turn, the last again and again; an error is raised."""

    def __init__(self, **lines):
        self.lines = {name: [said] if isinstance(said, str | Exception) else list(said) for name, said in lines.items()}
        self.asked = []
        self.prompts = []

    async def __call__(self, participant, prompt):
        self.asked.append(participant)
        self.prompts.append(prompt)
        said = self.lines[participant]
        line = said.pop(0) if len(said) > 1 else said[0]
        if isinstance(line, Exception):
            raise line
        return Answer(line)

    def prompts_of(self, participant):
        return [prompt for who, prompt in zip(self.asked, self.prompts, strict=True) if who == participant]


async def run(program):
    return f"ran {program.strip()}"


async def agreed(script, method="emos", **others):
    discussion = Discussion(script)
    return await agree(PROBLEM, method_of(method), discussion, run, **others), discussion


class Room:
    """A stage in which each call takes one step, and fails as `failures` say."""

    def __init__(self, failures=None, most_steps=100, armless=()):
        self.failures = failures or {}
        self.armless = armless
        self.begun = []
        self.pending = []
        self.left = most_steps
        self.over = False

    def functions(self, robot):
        return [name for name in ROBOT_FUNCTIONS if robot not in self.armless or name not in ("pick", "place")]

    def observe(self, robot):
        return f"{robot} stands"

    def begin(self, robot, call):
        if "ghost" in call.arguments.values():
            raise CallError("there is no 'ghost'; valid: cup, jar")
        self.begun.append((robot, str(call)))
        self.pending.append((robot, call))

    async def advance(self):
        self.left -= 1
        self.over = self.left <= 0
        ended, self.pending = self.pending, []
        return [Outcome(robot, call, self._failure(str(call))) for robot, call in ended]

    def _failure(self, call):
        found = self.failures.get(call, "")
        return found.pop(0) if isinstance(found, list) and found else found or ""


def calls(*names):
    return [f'{{"function": "nav_to_obj", "target_obj": "{name}"}}' for name in names] + [WAITS]


async def test_an_assignment_holds_when_all_robots_accept():
    result, discussion = await agreed(Script(leader=BOTH, tall="{yes}", slim="fine: {YES}"))
    assert result.assignment == {"tall": "move the cup", "slim": "move the jar"}
    assert (result.agreed, result.rounds) == (True, 1)
    assert [turn.participant for turn in discussion.turns] == [LEADER, *ROBOTS]


async def test_the_leader_hears_refusals_only_and_assigns_anew():
    script = Script(leader=[BOTH, "{tall||move both} {slim||Nothing to do}"], tall="{yes}", slim="{no||too high}")
    result, _ = await agreed(script)
    assert result.assignment == {"tall": "move both", "slim": NOTHING}
    assert (result.agreed, result.rounds) == (True, 2)
    second = script.prompts_of(LEADER)[1]
    assert "[slim]\nI refuse my subtask: too high" in second
    assert "[tall]" not in second
    assert script.asked.count("slim") == 1, "a robot without a subtask is not asked"


async def test_an_accepted_subtask_is_not_checked_again_unless_faithful():
    lines = {"leader": [BOTH, BOTH, "{tall||move both} {slim||Nothing to do}"], "tall": "{yes}"}
    script = Script(**lines, slim="{no||too high}")
    result, _ = await agreed(script)
    assert (result.agreed, result.rounds) == (True, 3)
    assert script.asked == [LEADER, *ROBOTS, LEADER, "slim", LEADER, "tall"]
    assert result.chats["tall"].messages == [
        (LEADER, "Your subtask: move the cup"), ("tall", "{yes}"),
        (LEADER, "Your subtask: move both"), ("tall", "{yes}"),
    ]  # fmt: skip
    script = Script(**lines, slim="{no||too high}")
    await agreed(script, "faithful")
    assert script.asked[:6] == [LEADER, *ROBOTS, LEADER, *ROBOTS]


@pytest.mark.parametrize(("method", "notes"), [("emos", 1), ("faithful", 0)])
async def test_a_robot_learns_that_its_reply_without_braces_is_a_refusal(method, notes):
    script = Script(leader=BOTH, tall="{yes}", slim=["Of course I can!", "{yes}"])
    result, _ = await agreed(script, method)
    assert (result.agreed, result.rounds) == (True, 2)
    assert "I refuse my subtask: Of course I can!" in script.prompts_of(LEADER)[1]
    assert script.prompts_of("slim")[1].count("[rules]\nYour reply has neither {yes} nor {no||reason}") == notes
    for participant in (LEADER, "slim"):
        assert "a reply without braces counts as a" in script.prompts_of(participant)[0]


@pytest.mark.parametrize("rules", ["", "Only the width decides."])
async def test_leader_and_checks_read_the_same_rules_of_numbers(rules):
    script = Script(leader=BOTH, tall="{yes}", slim="{yes}")
    await agree(replace(PROBLEM, rules=rules), method_of("emos"), Discussion(script), run)
    sections = [
        re.search(rf"# How to {verb}\n(.*?)\n# What|# How to {verb}\n(.*?)\n# Conversation", prompt, re.DOTALL)[0]
        for verb, prompt in zip(("compare", "check", "check"), script.prompts, strict=True)
    ]
    said = rules or "distance[1]"
    assert all(said in section and "$" not in section for section in sections)
    assert all(("flying_height" in section) == (not rules) for section in sections)


@pytest.mark.parametrize("method", ["no-numbers", "no-resume"])
async def test_without_numbers_no_prompt_has_rules_of_numbers(method):
    script = Script(leader=BOTH, tall="{yes}", slim="{yes}")
    await agreed(script, method)
    assert not any("How to compare" in prompt or "flying_height" in prompt for prompt in script.prompts)


async def test_after_three_reassignments_the_last_plan_is_used():
    result, _ = await agreed(Script(leader=BOTH, tall="{yes}", slim="{no||too high}"))
    assert (result.agreed, result.rounds) == (False, 4)
    assert result.assignment["slim"] == "move the jar"


async def test_a_robot_sees_its_own_subtask_and_body_only():
    script = Script(leader=BOTH, tall="{yes}", slim="{yes}")
    await agreed(script)
    (prompt,) = script.prompts_of("slim")
    assert "RESUME OF SLIM" in prompt
    assert "move the jar" in prompt
    assert "TALL" not in prompt
    assert "move the cup" not in prompt
    assert "# What the robots have done" not in prompt, "empty parts are left out"


@pytest.mark.parametrize(
    ("method", "seen", "unseen"),
    [("no-numbers", "SUMMARY OF", "RESUME"), ("no-resume", "ROLE OF", "SUMMARY"), ("emos", "RESUME OF", "ROLE")],
)
async def test_ablations_describe_robots_by_less(method, seen, unseen):
    script = Script(leader=BOTH, tall="{yes}", slim="{yes}")
    await agreed(script, method)
    assert all(seen in prompt and unseen not in prompt for prompt in script.prompts)
    assert all(("```python" in prompt) == (method == "emos") for prompt in script.prompts_of("tall"))


async def test_without_reflection_the_first_plan_is_used_and_without_discussion_all_get_the_task():
    script = Script(leader=BOTH)
    result, _ = await agreed(script, "no-reflection")
    assert script.asked == [LEADER]
    assert result.assignment["tall"] == "move the cup"
    result, _ = await agreed(Script(), "no-discussion")
    assert result.assignment == dict.fromkeys(ROBOTS, PROBLEM.task)


async def test_a_robot_checks_its_subtask_by_programs():
    script = Script(leader=BOTH, tall="{yes}", slim=["let me see ```python\nprint(1)\n```", "{yes}"])
    result, _ = await agreed(script)
    assert result.agreed
    assert "[output of your program]\nran print(1)" in script.prompts_of("slim")[1]


async def test_programs_without_end_are_limited():
    script = Script(leader=BOTH, tall="{yes}", slim="```python\nprint(1)\n```" * 3)
    result, _ = await agreed(script)
    assert not result.agreed
    first_round = result.chats["slim"].messages[:6]
    outputs = [text for speaker, text in first_round if speaker == "output of your program"]
    assert [text.count("ran") for text in outputs] == [3, 2]
    assert "your last program" in outputs[1]


async def test_a_silent_robot_counts_as_a_refusal():
    script = Script(leader=[BOTH, "{tall||move both}{slim||Nothing to do}"], tall="{yes}", slim=SilentError("gone"))
    result, _ = await agreed(script)
    assert result.assignment == {"tall": "move both", "slim": NOTHING}
    assert "I refuse my subtask: no reply" in script.prompts_of(LEADER)[1]
    result, _ = await agreed(Script(leader=BOTH, tall="{yes}", slim=SilentError("gone")))
    assert (result.agreed, result.silent) == (False, ["slim"])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("{tall||move both}", "no item for slim"),
        ("{tall||move}{slim||move}{arm||move}", "no robot 'arm'"),
        ("I cannot decide", "no item such as"),
        ("{tall||a}{slim||b}{tall||c}", "two items"),
        ("{tall|| }{slim||b}", "is empty"),
        ("{tall||Nothing to do.}{slim||nothing to do}", "no robot has a subtask"),
    ],
)
async def test_a_wrong_assignment_is_refused_and_asked_for_again(answer, said):
    script = Script(leader=[answer, BOTH], tall="{yes}", slim="{yes}")
    result, discussion = await agreed(script)
    assert result.agreed
    assert said in discussion.refusals[0].reason
    assert said in script.prompts_of(LEADER)[1]
    with pytest.raises(NoPlanError, match=said):
        await agreed(Script(leader=answer))


async def test_further_checks_refuse_an_assignment():
    class NoJar:
        def check(self, plan):
            return [("constraints", f"{robot} has no jar.") for robot, text in plan.items() if "jar" in text]

    with pytest.raises(NoPlanError, match="slim has no jar"):
        await agreed(Script(leader=BOTH), checker=NoJar())


def test_the_published_reading_of_an_assignment_corrects_nothing():
    assert parse_assignment("{tall||a}{arm||b}", ROBOTS, lenient=True) == {"tall": "a", "slim": NOTHING}
    assert parse_assignment("no braces", ROBOTS, lenient=True) == dict.fromkeys(ROBOTS, NOTHING)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("{yes}", None),
        ("{ Yes }", None),
        ("first {yes}, but {no||too far}", "too far"),
        ("{no}", "no reason given"),
        ("yes", "yes"),
        ("", "no reply"),
    ],
)
def test_a_verdict_without_braces_is_a_no(answer, reason):
    assert parse_verdict(answer) == reason


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('{"function": "fly"}', "no function 'fly'; valid: nav_to_obj, pick"),
        ('{"function": "pick"}', "target_obj is missing"),
        ('{"function": "wait", "target_obj": "cup"}', "no argument 'target_obj'"),
        ('{"function": "send_request", "request": "help", "target_agent": "arm"}', "no robot 'arm'"),
    ],
)
def test_a_wrong_call_names_what_is_valid(answer, said):
    with pytest.raises(ValueError, match=said):
        parse_call(answer, ROBOTS)


def test_the_last_object_is_the_call():
    answer = 'not {"function": "wait"} but {"function": "place", "target_obj": "cup", "target_location": "shelf"}'
    assert parse_call(answer, ROBOTS) == Call("place", {"target_obj": "cup", "target_location": "shelf"})


async def test_a_body_without_an_arm_has_no_function_of_an_arm():
    pick = '{"function": "pick", "target_obj": "cup"}'
    script = Script(tall=["list", pick, WAITS], slim=["list", pick, WAITS])
    room = Room(armless=("slim",))
    await acted(script, room)
    prompts = {robot: script.prompts_of(robot) for robot in ROBOTS}
    assert [prompts[robot][0].count("\npick(target_obj): ") for robot in ROBOTS] == [1, 0]
    assert ("tall", "pick(cup)") in room.begun
    assert ("slim", "pick(cup)") not in room.begun
    assert "you have no function 'pick'; valid: nav_to_obj, reset_arm, wait, send_request" in prompts["slim"][2]


async def test_the_calls_of_the_prompt_are_valid():
    script = Script(tall=["list", WAITS], slim=["list", WAITS])
    await acted(script, Room())
    listing, calling = script.prompts_of("tall")
    assert "none of\nits calls is made" in listing
    shown = [line for line in calling.splitlines() if line.startswith("{")]
    assert [parse_call(line, ROBOTS).function for line in shown] == ["nav_to_obj", "wait"]
    assert "before any robot acted" in calling


async def acted(script, room, method="emos", assignment=None):
    chats = (await agree(PROBLEM, method_of("no-discussion"), Discussion(script), run)).chats
    agreement = Agreement(assignment or dict.fromkeys(ROBOTS, "move"), agreed=True, chats=chats)
    return await act(PROBLEM, method_of(method), agreement, room, Discussion(script))


async def test_robots_act_at_the_same_time_until_all_wait():
    room = Room()
    result = await acted(Script(tall=["list", *calls("cup")], slim=["list", *calls("jar", "shelf")]), room)
    assert result.ending is Ending.ALL_WAIT
    assert room.begun[:2] == [("tall", "nav_to_obj(cup)"), ("slim", "nav_to_obj(jar)")]
    assert ("slim", "nav_to_obj(shelf)") in room.begun
    assert not result.failures


async def test_a_robot_hears_what_came_of_its_call_and_faithfully_only_success():
    room = {"nav_to_obj(cup)": "no route"}
    script = Script(tall=["list", *calls("cup")], slim=["list", WAITS])
    result = await acted(script, Room(room))
    assert "nav_to_obj(cup): no route" in script.prompts_of("tall")[-1]
    assert [str(one) for one in result.failures] == ["tall: nav_to_obj(cup): no route"]
    script = Script(tall=["list", *calls("cup")], slim=["list", WAITS])
    await acted(script, Room(room), "faithful")
    assert "nav_to_obj(cup): Success" in script.prompts_of("tall")[-1]
    assert "(cup): no route" not in script.prompts_of("tall")[-1]


async def test_a_request_arrives_with_the_next_observation():
    asks = '{"function": "send_request", "request": "bring the jar", "target_agent": "slim"}'
    script = Script(tall=["list", asks, WAITS], slim=["list", *calls("jar")])
    room = Room()
    await acted(script, room)
    assert "tall asks: bring the jar" in script.prompts_of("slim")[2]
    assert ("tall", "wait()") in room.begun, "the sender waits"
    assert WOKEN not in script.prompts_of("slim")[2], "it was not waiting"


async def test_a_robot_without_a_subtask_is_asked_only_when_it_gets_a_message():
    asks = '{"function": "send_request", "request": "bring the jar", "target_agent": "slim"}'
    script = Script(tall=["list", *calls("cup")], slim="no one asks me")
    await acted(script, Room(), assignment={"tall": "move", "slim": NOTHING})
    assert "slim" not in script.asked
    script = Script(tall=["list", asks, WAITS], slim=["list", *calls("jar")])
    room = Room()
    await acted(script, room, assignment={"tall": "move", "slim": NOTHING})
    assert ("slim", "nav_to_obj(jar)") in room.begun
    assert f"slim stands\n{WOKEN}\ntall asks: bring the jar" in script.prompts_of("slim")[0]


async def test_malformed_calls_are_answered_counted_and_end_in_waiting():
    script = Script(tall=["list", '{"function": "nav_to_obj", "target_obj": "ghost"}'], slim=["list", WAITS])
    result = await acted(script, Room())
    assert "there is no 'ghost'; valid: cup, jar" in script.prompts_of("tall")[2]
    assert (result.ending, result.malformed) == (Ending.ALL_WAIT, 3)


async def test_a_robot_that_never_ends_has_its_turns():
    script = Script(tall=["list", calls("cup")[0]], slim=["list", WAITS])
    result = await acted(script, Room(most_steps=1000))
    assert result.ending is Ending.ALL_WAIT
    assert len(script.prompts_of("tall")) == 1 + MOST_TURNS
    result = await acted(Script(tall=["list", calls("cup")[0]], slim=["list", WAITS]), Room(most_steps=3))
    assert result.ending is Ending.OVER


class Player:
    """Leader and robots of a whole task: the leader gives both things to the robot that has not failed."""

    def __init__(self):
        self.leader = []

    async def __call__(self, participant, prompt):
        if participant == LEADER:
            self.leader.append(prompt)
            failed = "tall: nav_to_obj(cup): no route" in prompt
            return Answer("{tall||Nothing to do}{slim||get cup}" if failed else "{tall||get cup}{slim||Nothing to do}")
        if "reply {yes}" in prompt:
            return Answer("{yes}")
        return Answer(WAITS if "nav_to_obj(cup):" in prompt.partition("# Conversation")[2] else calls("cup")[0])


@pytest.mark.parametrize(("method", "plans", "done"), [("emos", 2, True), ("faithful", 1, False)])
async def test_a_failed_subtask_is_planned_again_unless_faithful(method, plans, done):
    player, room = Player(), Room({"nav_to_obj(cup)": ["no route"]})
    result = await work(PROBLEM, method_of(method), room, Discussion(player), run)
    assert len(result.agreements) == len(player.leader) == plans
    assert result.claims_done == done
    assert room.begun.count(("slim", "nav_to_obj(cup)")) == plans - 1


async def test_a_robot_that_stays_silent_claims_nothing():
    script = Script(leader=BOTH, tall=["{yes}", "list", *calls("cup")], slim=["{yes}", SilentError("gone")])
    result = await work(PROBLEM, method_of("emos"), Room(), Discussion(script), run)
    assert list(result.acted[-1].silent) == ["slim"]
    assert not result.claims_done


async def test_planning_again_is_limited():
    result = await work(PROBLEM, method_of("emos"), Room({"nav_to_obj(cup)": "no route"}), Discussion(Player()), run)
    assert len(result.agreements) == 1 + MOST_REPLANS
    assert not result.claims_done


def test_an_unknown_method_names_the_valid_ones():
    with pytest.raises(UnknownTeamError, match=r"no method 'emoss'; valid: emos, no-numbers"):
        method_of("emoss")
