"""Reference speakers of EMOS: what they decide from the team's own prompts, and their faults."""

import json
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO

import pytest

from quartet_research.emos.programs import LIMITS, run_check
from quartet_research.emos.speakers import Rates, Speakers
from quartet_research.emos.speakers.judging import SLIPS, find_obstacle, write_program
from quartet_research.emos.speakers.reading import read_subtasks
from quartet_teams import Discussion, NoPlanError
from quartet_teams.emos import NOTHING, ROBOT_FUNCTIONS, Outcome, Problem, Profile, agree, method_of, work


def body(*, step=0.0, slope=0.0, height=0.0, reach=(), camera=(1.2, 90.0, 0.0)):
    """A resume as `quartet_site.capabilities` writes it."""
    tall, view, tilt = camera
    return {
        "robot_type": "X",
        "mobility": {
            "summary": "It moves.", "step": step, "slope": slope, "flies": height > 0, "flying_height": height,
        },
        "perception": {
            "summary": "It sees.",
            "cameras_info": {"c": {"height": tall, "hfov": view, "type": "fixed", "tilt_below_horizon": tilt}},
        },
        "manipulation": {
            "summary": "It grasps.", "arm_workspace": None,
            "reach": [{"height": [low, high], "distance": [0.1, far]} for low, high, far in reach],
        },
    }  # fmt: skip


WHEELS = body(reach=[(0.3, 1.0, 1.1), (1.0, 1.9, 0.9)], camera=(1.1, 90.0, 30.0))
LOW_WHEELS = body(step=0.02, slope=5.0, reach=[(0.0, 1.3, 0.9)])
LEGS = body(step=0.3, slope=30.0, reach=[(0.1, 1.5, 1.0)], camera=(0.5, 90.0, 0.0))
ROTORS = body(height=1.5, camera=(1.5, 90.0, 45.0))


def objects(**found):
    """Objects of a scene: floor, height, and the distance of each robot."""
    return {
        name: {"region": "hall", "floor": floor, "height": height, "horizontal_distance": distances}
        for name, (floor, height, distances) in found.items()
    }


def problem(task, bodies, things, stairs=()):
    scene = {
        "regions_description": {"floors": {"ground": ["hall"]}, "stairs": stairs},
        "objects_description": objects(**things),
        "agent_description": {name: {"region": "hall", "floor": 0} for name in bodies},
    }
    return Problem(
        task,
        json.dumps(scene),
        [
            Profile(
                name,
                json.dumps(one),
                json.dumps({part: {"summary": "It does."} for part in ("mobility", "perception", "manipulation")}),
                f"{name} helps.",
            )
            for name, one in bodies.items()
        ],
    )


STAIRS = [
    {
        "connects": [{"region": "hall", "floor": 0}, {"region": "loft", "floor": 1}],
        "height_of_steps": 0.15,
        "slope_in_degrees": 27.0,
    }
]
FLOORS = problem(
    "All of these:\n1. any_at(bed, 2): any robot is within 2 m of bed\nAND 2. any_at(desk, 2): any robot is near desk",
    {"a": LEGS, "b": WHEELS},
    {"bed": (1, 0.5, {"a": 0.4, "b": 0.4}), "desk": (0, 0.7, {"a": 0.5, "b": 0.5})},
    stairs=STAIRS,
)
VIEWS = problem(
    "1. any_at(lamp, 1) AND 2. is_detected(lamp) AND 3. any_at(shoe, 1) AND 4. is_detected(shoe)",
    {"a": LEGS, "b": ROTORS},
    {"lamp": (0, 1.3, {"a": 0.3, "b": 0.3}), "shoe": (0, 0.4, {"a": 0.5, "b": 0.5})},
)
HEIGHTS = problem(
    "1. at(cup, shelf) AND 2. at(can, table) AND 3. not_holding(a) AND 4. not_holding(b)",
    {"a": LOW_WHEELS, "b": WHEELS},
    {
        "cup": (0, 0.7, {"a": 0.4, "b": 0.4}), "shelf": (0, 1.6, {"a": 0.4, "b": 0.4}),
        "can": (0, 0.6, {"a": 0.4, "b": 1.4}), "table": (0, 0.7, {"a": 0.4, "b": 0.4}),
    },
)  # fmt: skip
MANY_FLOORS = problem(
    "1. at(book, bench) AND 2. at(jar, ledge) AND 3. is_detected(bell)",
    {"a": LEGS, "b": WHEELS, "c": ROTORS},
    {
        "book": (0, 0.6, {"a": 0.4, "b": 0.4, "c": 0.2}), "bench": (1, 0.5, {"a": 0.4, "b": "inf", "c": 0.2}),
        "jar": (0, 0.8, {"a": 0.4, "b": 0.4, "c": 0.2}), "ledge": (0, 1.7, {"a": 0.5, "b": 0.5, "c": 0.2}),
        "bell": (0, 0.5, {"a": "inf", "b": "inf", "c": 0.8}),
    },
    stairs=STAIRS,
)  # fmt: skip


class Room:
    """A stage in which a call of a robot fails if `wrong` names it."""

    def __init__(self, wrong=()):
        self.wrong, self.begun, self.pending = wrong, [], []
        self.over = False

    def functions(self, robot):
        return list(ROBOT_FUNCTIONS)

    def observe(self, robot):
        return f"{robot} stands"

    def begin(self, robot, call):
        self.begun.append((robot, str(call)))
        self.pending.append((robot, call))

    async def advance(self):
        ended, self.pending = self.pending, []
        return [Outcome(robot, call, "no route" * ((robot, str(call)) in self.wrong)) for robot, call in ended]

    def calls(self, robot):
        return [call for name, call in self.begun if name == robot and call != "wait()"]


async def run_here(program):
    """Run a program of the speakers without the sandbox, which takes longer to start."""
    with redirect_stdout(StringIO()) as printed:
        exec(program, {})
    return printed.getvalue().strip()


async def settle(about, rates=None, seed=0, method="emos"):
    discussion = Discussion(Speakers(rates or Rates(), seed))
    return await agree(about, method_of(method), discussion, run_here), discussion


async def done(about, rates=None, seed=0, method="emos", wrong=()):
    room, discussion = Room(wrong), Discussion(Speakers(rates or Rates(), seed))
    return await work(about, method_of(method), room, discussion, run_here), room, discussion


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        (FLOORS, {"a": "any_at(bed, 2)", "b": "any_at(desk, 2)"}),
        (VIEWS, {"a": "any_at(shoe, 1) AND is_detected(shoe)", "b": "any_at(lamp, 1) AND is_detected(lamp)"}),
        (HEIGHTS, {"a": "at(can, table)", "b": "at(cup, shelf)"}),
        (MANY_FLOORS, {"a": "at(book, bench)", "b": "at(jar, ledge)", "c": "is_detected(bell)"}),
    ],
)
async def test_without_faults_numbers_decide_at_once(about, expected):
    result, discussion = await settle(about)
    assert result.assignment == expected
    assert (result.agreed, result.rounds) == (True, 1)
    programs = [turn for turn in discussion.turns if "```python" in turn.answer.text]
    assert len(programs) == len(expected), "each robot computes its check"
    assert "possible" in discussion.turns[-1].prompt


async def test_robots_do_their_calls_and_then_wait():
    result, room, _ = await done(HEIGHTS)
    assert room.calls("b") == ["nav_to_obj(cup)", "pick(cup)", "nav_to_obj(shelf)", "place(cup, shelf)"]
    assert result.claims_done


@pytest.mark.parametrize("seed", range(3))
async def test_a_wrong_robot_refuses_and_the_leader_assigns_anew(seed):
    result, discussion = await settle(HEIGHTS, Rates(wrong_robot=1.0), seed)
    assert (result.agreed, result.rounds) == (False, 4)
    assert result.assignment == {"a": "at(cup, shelf)", "b": "at(can, table)"}
    assert any(turn.answer.text == "{no||can: my hand does not reach 0.6 m high at 1.4 m}" for turn in discussion.turns)
    result, _ = await settle(HEIGHTS, Rates(wrong_robot=0.5), seed)
    assert result.assignment == {"a": "at(can, table)", "b": "at(cup, shelf)"}


async def test_a_forgotten_goal_is_a_claim_without_success():
    result, room, _ = await done(HEIGHTS, Rates(forgotten=0.5), seed=2)
    assert result.claims_done
    assert len({call for _, call in room.begun if call.startswith("place")}) == 1


@pytest.mark.parametrize(("method", "agreed"), [("emos", True), ("no-reflection", False)])
async def test_a_wrong_verdict_accepts_what_cannot_be_done_or_refuses_what_can(method, agreed):
    result, _ = await settle(HEIGHTS, Rates(wrong_robot=1.0, wrong_verdict=1.0), method=method)
    assert result.agreed == agreed
    assert result.assignment["a"] == "at(cup, shelf)"
    refused, _ = await settle(HEIGHTS, Rates(wrong_verdict=1.0))
    assert not refused.agreed


HIGH = {"name": "lamp", "floor": 0, "distance": 0.3, "height": 1.6, "within": 1.0, "seen": False, "handled": False}


async def test_slips_change_what_a_program_prints():
    numbers = {
        "floor": 0,
        "step": 0,
        "slope": 0,
        "flies": False,
        "height": 0.0,
        "reach": [(0.0, 1.9, 0.9)],
        "cameras": [],
    }
    assert "1.63 m" in find_obstacle(numbers, [], HIGH)
    assert "1.63 m" in await run_check(write_program(numbers, [], [HIGH]))
    forgotten, mixed = SLIPS
    assert await run_check(write_program(numbers, [], [HIGH], forgotten)) == "lamp: possible"
    picked = HIGH | {"within": None, "handled": True}
    assert await run_check(write_program(numbers, [], [picked])) == "lamp: possible"
    assert "does not reach" in await run_check(write_program(numbers, [], [picked], mixed))


ONE = replace(HEIGHTS, task="1. at(cup, shelf)")


async def test_slips_make_a_robot_accept_what_it_cannot_do_and_refuse_what_it_can():
    wrongly = [(await settle(ONE, Rates(wrong_robot=1.0, slip=1.0), seed))[0] for seed in range(3)]
    assert any(one.agreed and one.assignment["a"] == "at(cup, shelf)" for one in wrongly)
    rightly = [(await settle(ONE, Rates(slip=1.0), seed))[0] for seed in range(6)]
    assert any(one.rounds > 1 for one in rightly)
    assert not (await settle(ONE, Rates(wrong_robot=1.0)))[0].agreed
    assert (await settle(ONE))[0].rounds == 1


async def test_malformed_replies_count_as_no_and_end_in_no_plan():
    with pytest.raises(NoPlanError):
        await settle(HEIGHTS, Rates(malformed=1.0))
    refusals = [(await settle(HEIGHTS, Rates(malformed=0.4), seed))[1].refusals for seed in range(3)]
    assert any("no item such as" in one.reason for own in refusals for one in own)
    _, room, _ = await done(HEIGHTS, Rates(malformed=1.0), method="no-discussion")
    assert all(call == "wait()" for _, call in room.begun)


async def test_after_a_failure_a_robot_waits_and_the_leader_leaves_out_what_is_done():
    result, room, _ = await done(HEIGHTS, wrong=[("a", "pick(can)")])
    assert room.calls("a")[:2] == ["nav_to_obj(can)", "pick(can)"]
    assert "nav_to_obj(table)" not in room.calls("a")
    assert result.agreements[1].assignment["b"] in (NOTHING, "at(can, table)"), "the cup is at its place"
    assert room.calls("b").count("place(cup, shelf)") == 1


@pytest.mark.parametrize("method", ["no-numbers", "no-resume"])
async def test_without_numbers_the_leader_draws_lots(method):
    drawn = [(await settle(HEIGHTS, seed=seed, method=method))[0] for seed in range(20)]
    assert len({tuple(one.assignment.values()) for one in drawn}) == 4, "all assignments occur"
    assert all(one.agreed for one in drawn)


async def test_without_discussion_each_robot_tries_every_goal():
    _, room, _ = await done(HEIGHTS, method="no-discussion", wrong=[("a", "place(cup, shelf)"), ("b", "pick(can)")])
    assert room.calls("a")[:4] == ["nav_to_obj(cup)", "pick(cup)", "nav_to_obj(shelf)", "place(cup, shelf)"]
    assert room.calls("b")[4:6] == ["nav_to_obj(can)", "pick(can)"]


def test_goals_are_grouped_by_their_things():
    (lamp, shoe) = read_subtasks(VIEWS.task)
    assert (lamp.thing, lamp.within_m, lamp.seen, lamp.place) == ("lamp", 1.0, True, None)
    assert shoe.goals == ("any_at(shoe, 1)", "is_detected(shoe)")


@pytest.mark.parametrize(
    ("program", "words"),
    [
        pytest.param("while True: pass", "computed for more than", marks=pytest.mark.slow),
        ("print('x' * 10_000_000)", "printed more than"),
        ("print(open('/etc/passwd').read())", "Error"),
        ("print(1 / 0)", "ZeroDivisionError"),
        ("move(", "SyntaxError"),
        ("pass", "printed nothing"),
    ],
)
async def test_programs_end_in_a_text_within_limits(program, words):
    output = await run_check(program)
    assert words in output
    assert len(output) <= LIMITS.output_bytes + 500
