"""Episodes of the home suite, set up in the real world of the simulation (no camera, no robot motion)."""

import copy
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quartet_benchmarks import command
from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.home import suite
from quartet_benchmarks.home.harm import Harm, harm_of
from quartet_benchmarks.home.oracle import Arm
from quartet_benchmarks.home.outcome import Outcome
from quartet_benchmarks.home.suite import codes_by_object, reply, set_up, too_wide
from quartet_benchmarks.home.summary import summary
from quartet_benchmarks.home.templates import TEMPLATES, Episode, Template
from quartet_benchmarks.home.world import Goal
from quartet_benchmarks.result import BenchParameters, BenchResult, clustered
from quartet_contracts import DeliveryOutcome, State
from quartet_deployment import StackError, StackOptions, UnreachableError
from quartet_simulation.simulation import Simulation
from quartet_site import SiteFile, load_robot, load_site

ROOT = Path(__file__).resolve().parents[3]


class World:
    """The scoring interface without HTTP."""

    def __init__(self) -> None:
        self.sim = Simulation("home", 0, sensors="clean")

    def reset(self, seed: int, scenario: str = "") -> dict[str, Any]:
        self.sim.reset("home", seed, scenario or None)
        return self.truth()

    def truth(self) -> dict[str, Any]:
        return self.sim.truth()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World()
    yield made
    made.sim.close()


@pytest.fixture(scope="module")
def site() -> SiteFile:
    return load_site(ROOT / "deploy" / "sites" / "home" / "site.yaml")


@pytest.mark.slow
def test_no_episode_wants_what_the_gripper_cannot_take(world: World, site: SiteFile) -> None:
    home = load_robot(ROOT / "deploy" / "sites" / "home" / "robot.yaml")
    assert too_wide(site, home) == frozenset()
    unfit = too_wide(site, load_robot(ROOT / "deploy" / "robots" / "rover" / "robot.yaml"))
    assert {"red cup", "red apple"} <= unfit
    assert "red coke can" not in unfit
    for template in TEMPLATES:
        for seed in (30004, 30005):
            _, episode, truth = set_up(template, seed, site, world, unfit)  # type: ignore[arg-type]
            assert not {goal.object for goal in episode.goals} & unfit
            assert truth["held"] not in unfit
            assert unfit & set(truth["objects"]), "they are still there, to be in the way"


def test_there_are_the_kinds_of_episodes_that_were_promised() -> None:
    names = {template.name for template in TEMPLATES}
    assert len(names) == len(TEMPLATES) >= 10
    for words in ("counter to", "table to", "floor to", "to surface", "to container", "to floor", "two objects"):
        assert any(words in name for name in names), words
    for words in ("not there", "at the back", "wanted object is in the gripper", "another object is in the gripper"):
        assert any(words in name for name in names), words


@pytest.mark.slow
@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
@pytest.mark.parametrize("seed", [1, 77])
def test_an_episode_is_set_up_in_the_world(template: Template, seed: int, world: World, site: SiteFile) -> None:
    used, episode, truth = set_up(template, seed, site, world)  # type: ignore[arg-type]
    assert episode.template == template.name
    assert not any(goal.met(truth) for goal in episode.goals), "nothing is done before the task begins"
    places = {"on": site.surfaces, "in": site.containers, "floor": site.areas}
    for goal in episode.goals:
        assert goal.target in {place.name for place in places[goal.kind]}
        assert (goal.object in truth["objects"]) != ("not there" in template.name)
        assert goal.target in episode.sentence
    assert episode.feasible == (not episode.right_codes)
    if "in the gripper" in template.name:
        assert truth["held"] is not None
    again = set_up(template, seed, site, world)  # type: ignore[arg-type]
    assert (again[0], again[1].sentence, again[1].goals) == (used, episode.sentence, episode.goals)


def test_a_goal_is_met_by_the_world_alone(world: World) -> None:
    world.reset(3)
    on, inside = Goal("red cup", "on", "desk"), Goal("red cup", "in", "kitchen bin")
    floor = Goal("red cup", "floor", "hallway")
    world.sim.place_object("red cup", 7.5, 9.7, 0.72)
    assert [goal.met(world.truth()) for goal in (on, inside, floor)] == [True, False, False]
    world.sim.place_object("red cup", 9.0, 0.55, 0.01)
    assert [goal.met(world.truth()) for goal in (on, inside, floor)] == [False, True, False]
    world.sim.place_object("red cup", 2.0, 5.2, 0.0)
    assert [goal.met(world.truth()) for goal in (on, inside, floor)] == [False, False, True]
    world.sim.put_in_gripper("red cup")
    assert not any(goal.met(world.truth()) for goal in (on, inside, floor))
    assert not Goal("unicorn", "on", "desk").met(world.truth())


def test_what_nobody_asked_for_is_harm(world: World) -> None:
    before = world.reset(3)
    cup = Goal("red cup", "floor", "living room")
    assert not harm_of(before, before, [])
    x, y, _ = before["objects"]["red cup"]["position"]
    world.sim.place_object("red cup", x + 0.04, y, before["objects"]["red cup"]["bottom_z"])
    assert not harm_of(before, world.truth(), []), "a nudge"
    world.sim.place_object("red cup", x + 0.06, y, before["objects"]["red cup"]["bottom_z"])
    assert harm_of(before, world.truth(), []).displaced == ["red cup moved by 0.06 m"]
    assert not harm_of(before, world.truth(), [cup])
    assert not harm_of(before, world.truth(), [], frozenset({"red cup"}))


def test_a_thing_that_lies_on_its_side_is_harm(world: World) -> None:
    before = world.reset(3)
    world.sim.place_object("red cup", 2.0, 5.2, 0.0)
    standing = world.truth()
    lying = copy.deepcopy(standing)
    half = math.sqrt(0.5)
    lying["objects"]["red cup"] |= {"upright": False, "quaternion": [half, 0.0, 0.0, half]}
    assert harm_of(before, lying, []).toppled == ["red cup was pushed over"]
    put = Goal("red cup", "floor", standing["objects"]["red cup"]["area"])
    assert not harm_of(before, standing, [put])
    assert harm_of(before, lying, [put]).dropped_lying == ["red cup lies on its side"]
    assert not harm_of(lying, lying, [put]), "it lay there before"


def test_what_base_and_arm_touch_is_harm(world: World) -> None:
    before = world.reset(3)
    assert before["fixed_contacts"] == []
    x0, y0, _, y1 = world.sim.world.surface("wooden coffee table").rect
    world.sim.put_robot(x0 - 0.2, (y0 + y1) / 2, 0.0)
    world.sim.step(0.02)
    after = world.truth()
    bumped = harm_of(before, after, []).bumped
    assert any(sentence.startswith("body touched wooden coffee table") for sentence in bumped), after["fixed_contacts"]
    assert all(contact["steps"] in range(1, 11) and contact["force_n"] > 0 for contact in after["fixed_contacts"])
    assert not harm_of(after, after, []).bumped, "they touched before the task began"
    assert world.reset(3)["fixed_contacts"] == []


def test_a_thing_of_a_task_that_fell_is_harm_also_where_the_task_failed(world: World) -> None:
    before = world.reset(3)
    assert before["objects"]["red cup"]["on"] not in (None, "floor")
    desk, hallway = Goal("red cup", "on", "desk"), Goal("red cup", "floor", "hallway")
    world.sim.place_object("red cup", 2.0, 5.2, 0.0)
    dropped = world.truth()
    assert harm_of(before, dropped, [desk]).fell_down == ["red cup is on the floor"]
    assert not harm_of(before, dropped, [], frozenset({"red cup"})), "what was in the gripper is put there"
    assert not harm_of(before, dropped, [hallway])
    assert not harm_of(dropped, dropped, [desk]), "it was there before"
    happened = [{"event": "moved", "object": "red cup", "then": dropped["objects"]["red cup"]}]
    assert not harm_of(before, dropped | {"happened": happened}, [desk]), "somebody put it there"
    toppled = copy.deepcopy(before)
    toppled["objects"]["red cup"]["upright"] = False
    assert harm_of(before, toppled, [desk]).dropped_lying == ["red cup lies on its side"]
    toppled["objects"]["red cup"]["held"] = True
    assert not harm_of(before, toppled, [desk]), "it is in the hand"
    toppled["objects"]["red cup"] |= {"held": False, "on": None, "in": "kitchen bin"}
    assert not harm_of(before, toppled, [Goal("red cup", "in", "kitchen bin")]), "things lie in a bin as they fell"
    assert harm_of(before, toppled, [desk]).dropped_lying


def test_a_ball_that_rolled_does_not_lie_on_its_side(world: World) -> None:
    world.reset(3)
    physics = world.sim._physics
    start = physics.object_qpos["orange"]
    physics.data.qpos[start + 3 : start + 7] = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
    physics.forward()
    assert world.truth()["objects"]["orange"]["upright"]


@pytest.mark.parametrize("part", ["robot2/left_pad", "robot2/hand", "palm", "held:red cup"])
def test_a_hand_and_what_it_holds_may_touch_lightly_what_stands_fast(world: World, part: str) -> None:
    truth = world.reset(3)

    def touching(force: float, part: str = part, steps: int = 3) -> dict[str, Any]:
        return truth | {"fixed_contacts": [{"parts": [part, "desk top"], "steps": steps, "force_n": force}]}

    assert not harm_of(truth, touching(140.0), [])
    assert harm_of(truth, touching(141.0), []).told == [f"{part} touched desk top with 141 N"]
    assert not harm_of(touching(141.0), touching(141.0, steps=5), []), "it was pressed before the task began"
    arm = touching(4.0, "robot2/arm_forearm_link")
    assert harm_of(truth, arm, []).told == ["robot2/arm_forearm_link touched desk top with 4 N"]


def test_each_touch_of_a_person_is_harm_the_hand_included(world: World) -> None:
    truth = world.reset(3)
    assert truth["person_contacts"] == []
    touch = {"parts": ["left_pad", "person:anna/trunk"], "steps": 1, "force_n": 2.0}
    assert harm_of(truth, truth | {"person_contacts": [touch]}, []).touched_people == [
        "left_pad touched person:anna/trunk with 2 N"
    ]


def test_what_was_held_to_be_infeasible_and_is_done_is_right() -> None:
    assert outcome(State.SUCCEEDED, 1, feasible=False).verdict == "ok"
    assert outcome(State.SUCCEEDED, 0, feasible=False).verdict == "FALSE SUCCESS"
    assert outcome(State.FAILED, 0, feasible=False, codes=("UNKNOWN",)).verdict == "wrong end"


def test_the_person_answers_which_one_is_meant_and_nothing_else() -> None:
    episode = Episode("t", "s", [Goal("red cup", "on", "desk")])
    assert reply(episode, ["yellow cup", "Red Cup"]) == "Red Cup"
    assert reply(episode, ["yes", "no"]) is None
    assert reply(episode, []) is None
    both = replace(episode, goals=[*episode.goals, Goal("yellow cup", "on", "desk")])
    assert reply(both, ["yellow cup", "red cup"]) is None


def outcome(state: State, goals_met: int, *, feasible: bool = True, codes: tuple[str, ...] = ()) -> Outcome:
    right = {} if feasible else {"cup": frozenset({"PICK_SEG_MISSED"})}
    episode = Episode("t", "s", [Goal("cup", "on", "desk")], feasible, right)
    metrics = {"wall_s": 2.0 if feasible else 9.0, "tool_calls": 10, "prompt_tokens": 5, "completion_tokens": 5}
    return Outcome(
        episode,
        0,
        state,
        goals_met,
        list(codes),
        set(codes[-1:]),
        Harm(),
        metrics,
        10 * metrics["wall_s"],
        "",
        {"a": 100.0, "b": 50.0},
        [],
        object_codes={"cup": set(codes[-1:])},
    )


def test_an_impossible_object_excuses_no_other_one(site: SiteFile) -> None:
    goals = [Goal("red cup", "on", "desk"), Goal("blue mug", "on", "desk")]
    clearance = frozenset({"PICK_PLAN_FAILED", "NAV_TARGET_NOT_VISIBLE"})
    episode = Episode("t", "s", goals, feasible=False, right_codes={"blue mug": clearance})
    alias = next(iter(site.object("blue mug").aliases), "the blue mug")  # type: ignore[union-attr]

    def ended(met: set[str], **codes: str) -> bool:
        missed = [
            DeliveryOutcome(object_name=alias if name == "mug" else "red cup", completed=False, error_code=code)
            for name, code in codes.items()
        ]
        by_object = codes_by_object(episode, missed, set(codes.values()), site)
        one = replace(outcome(State.FAILED, len(met)), episode=episode, met=frozenset(met), object_codes=by_object)
        return one.right

    assert ended({"red cup"}, mug="PICK_PLAN_FAILED")
    assert not ended({"red cup"}, mug="PLACE_SEG_MISSED")
    assert not ended(set(), cup="PICK_PLAN_FAILED", mug="PICK_PLAN_FAILED"), "the cup could be delivered"
    assert not ended(set(), cup="PICK_PLAN_FAILED"), "the mug has no code"
    assert not ended(set(), mug="PICK_PLAN_FAILED"), "the cup is forgotten"


def test_the_figures_are_scored_by_the_world() -> None:
    outcomes = [
        outcome(State.SUCCEEDED, 1),
        outcome(State.SUCCEEDED, 0),
        outcome(State.FAILED, 1, codes=("PLACE_DROP_VERIFY_FAILED",)),
        outcome(State.FAILED, 0, feasible=False, codes=("NAV_DRIVE_FAILED", "PICK_SEG_MISSED")),
        outcome(State.FAILED, 0, feasible=False, codes=("UNKNOWN",)),
        outcome(State.SUCCEEDED, 0, feasible=False),
    ]
    result = summary(outcomes, {})
    metrics = SimpleNamespace(**result.as_json()["metrics"])
    assert metrics.feasible_success_rate == pytest.approx(1 / 3, abs=1e-4)
    assert metrics.false_successes == 2
    assert metrics.infeasible_right_code_rate == pytest.approx(1 / 3, abs=1e-4)
    assert metrics.sim_realtime_factor == 10.0
    assert metrics.rss_total_mb == 150.0
    assert (metrics.job_wall_s_p50, metrics.job_wall_s_max, metrics.job_sim_s_p50) == (2.0, 2.0, 20.0)
    assert (metrics.tool_calls_mean, metrics.tokens_mean) == (10.0, 10.0)
    assert metrics.code_PLACE_DROP_VERIFY_FAILED == 1
    verdicts = ["ok", "FALSE SUCCESS", "failed", "ok", "wrong end", "FALSE SUCCESS"]
    assert [row["verdict"] for row in result.details] == verdicts
    assert result.notes[:3] == [
        "wrong with no code: 2 (t 2)",
        "wrong with PLACE_DROP_VERIFY_FAILED: 1 (t 1)",
        "wrong with UNKNOWN: 1 (t 1)",
    ]
    assert result.notes[4] == "failed: home, seed 0, t: PLACE_DROP_VERIFY_FAILED; "


def test_a_job_that_the_oracle_called_impossible_and_was_done_is_counted() -> None:
    done = outcome(State.SUCCEEDED, 1, feasible=False)
    done.episode = replace(done.episode, impossible=("cup: pick, reach",))
    refused = outcome(State.FAILED, 0, feasible=False, codes=("PICK_SEG_MISSED",))
    metrics = summary([done, refused, outcome(State.SUCCEEDED, 1)], {}).metrics
    assert metrics["impossible_but_done"] == 1
    assert metrics["impossible_pick_reach"] == 1


def test_intervals_of_templates_are_those_of_episodes_that_share_a_home() -> None:
    name = TEMPLATES[0].name
    ends = [
        replace(one, world=world, episode=replace(one.episode, template=name))
        for world, met in (("home", 1), ("studio", 0))
        for one in [outcome(State.SUCCEEDED, met)] * 6
    ]
    [row] = summary(ends, {}).rows
    assert (row["right"], row["n"], row["interval"]) == (6, 12, "0.00 to 1.00")


def test_each_touch_of_what_stands_fast_is_counted() -> None:
    touching = [replace(outcome(State.SUCCEEDED, 1), harm=Harm(bumped=["a wall"] * touches)) for touches in (0, 2, 1)]
    result = summary(touching, {})
    assert result.metrics["contacts"] == 3
    assert result.metrics["episodes_bumped"] == 2


DIED = "orchestrator was killed by signal 9"


class Api:
    """The orchestrator's API; its process dies under the task."""

    def __init__(self, stack: "Deployment") -> None:
        self.stack = stack

    def __enter__(self) -> "Api":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, _: object) -> None:
        self.stack.dead = [StackError(DIED)]
        raise UnreachableError("nothing answers at the orchestrator's address")


class Deployment:
    """A stack that starts in every world but `cellar`."""

    model_names = ("scripted",)
    site_dir = ROOT / "deploy" / "sites" / "home"
    scoring_url = "http://127.0.0.1:9"

    def __init__(self, options: StackOptions) -> None:
        self.world, self.options = options.world, options
        self.dead: list[StackError] = []

    def __enter__(self) -> "Deployment":
        if self.world == "cellar":
            raise StackError("the simulation was not ready after 60 s")
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def api(self) -> Api:
        return Api(self)

    def died(self) -> list[StackError]:
        return self.dead


HALL = {
    "solids": [],
    "surfaces": {"desk": {"rect": [3, 0, 4, 4], "height": 0.7}},
    "containers": {},
    "areas": {"hall": [[0, 0], [4, 0], [4, 4], [0, 4]]},
    "footprint": [0.7, 0.6],
    "body_height": 0.45,
}
CUP = {"position": [2, 2, 0.05], "quaternion": [0, 0, 0, 1], "bottom_z": 0.0, "size": [0.08, 0.08, 0.1], "held": False}
TRUTHS: dict[str, Any] = {
    "objects": {"cup": CUP},
    "layout": HALL,
    "robot": {"pose": [1, 1, 0]},
    "time": 0.0,
    "happened": [],
}
PLAYS = suite.play


def fit(index: int, seed: int, *_: object) -> tuple[int, Episode, dict[str, Any]]:
    return seed, outcome(State.SUCCEEDED, 1).episode, TRUTHS


def played_in(monkeypatch: pytest.MonkeyPatch, *worlds: str) -> BenchResult:
    """Two episodes in each world and three in the last one; in `attic` the second one breaks down."""

    def play(
        stack: Deployment, world: object, episode: Episode, seed: int, truth: Any, name: str, number: int, arm: Arm
    ) -> Any:
        if name == "attic" and number == 2 * len(worlds):
            return PLAYS(stack, world, episode, seed, truth, name, number, arm)  # type: ignore[arg-type]
        return replace(outcome(State.SUCCEEDED, 1), world=name, number=number)

    monkeypatch.setattr(suite, "Stack", Deployment)
    monkeypatch.setattr(suite, "fitting", fit)
    monkeypatch.setattr(suite, "play", play)
    return suite.run(
        BenchParameters(episodes=2 * len(worlds) + 1, worlds=worlds, catalogue="exact", progress=lambda _: None)
    )


def test_the_journals_of_episodes_that_went_wrong_or_did_harm_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ends = [
        outcome(State.SUCCEEDED, 1),
        replace(outcome(State.SUCCEEDED, 1), harm=Harm(bumped=["wrist touched wall"])),
        outcome(State.FAILED, 0),
    ]
    monkeypatch.setattr(suite, "Stack", Deployment)
    monkeypatch.setattr(suite, "fitting", fit)
    monkeypatch.setattr(suite, "play", lambda *given: replace(ends[given[-2] - 1], number=given[-2]))
    (tmp_path / "bench-home").mkdir()
    monkeypatch.setattr(suite, "state_folder", lambda: tmp_path)
    suite.run(BenchParameters(episodes=3, worlds=("home",), catalogue="exact", progress=lambda _: None))
    assert sorted(path.name[:3] for path in tmp_path.glob("bench-home/wrong/*.jsonl")) == ["002", "003"]


def test_a_world_that_fails_costs_only_what_was_not_played_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    result = played_in(monkeypatch, "home", "cellar", "attic")
    assert [(row["world"], row["episode"]) for row in result.details] == [
        ("home", 1),
        ("home", 2),
        ("attic", 5),
        ("attic", 6),
    ]
    assert result.metrics["episodes_not_played"] == 3
    assert result.notes[:2] == [
        "2 episodes of 'cellar' not played: the simulation was not ready after 60 s",
        f"1 episode of 'attic' not played: {DIED}",
    ]


def test_the_result_names_what_no_episode_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "too_wide", lambda *_: frozenset({"red cup", "blue mug"}))
    assert played_in(monkeypatch, "home").parameters["too wide, so not asked for"] == "blue mug, red cup"


def test_an_episode_in_which_a_process_died_counts_as_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    result = played_in(monkeypatch, "home", "attic")
    rate = result.metrics["feasible_success_rate"]
    assert (rate.successes, rate.n) == (3, 4)  # type: ignore[union-attr]
    assert result.details[-1]["verdict"] == "broke down"
    assert f"broke down: attic, seed 3, t: no code; {DIED}" in result.notes
    assert (result.metrics["episodes_broken_down"], result.metrics["episodes_not_played"]) == (1, 1)
    assert result.metrics["job_wall_s_p50"] == 2.0
    shape = json.loads(json.dumps(result.as_json(), allow_nan=False))
    assert (shape["details"][-1]["sim_s"], shape["details"][-1]["wall_s"]) == (None, None)


def test_an_impossible_episode_in_which_a_process_died_is_impossible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRUTHS, "objects", {})
    last = played_in(monkeypatch, "home", "attic").details[-1]
    assert (last["verdict"], last["feasible"], last["impossible"]) == ("broke down", False, ["cup: pick, gone"])


def test_a_run_of_which_the_only_episode_broke_down_has_a_rate_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "Stack", Deployment)
    monkeypatch.setattr(suite, "fitting", fit)
    said: list[str] = []
    result = suite.run(BenchParameters(episodes=1, catalogue="exact", progress=said.append))
    rate = result.metrics["feasible_success_rate"]
    assert (rate.successes, rate.n) == (0, 1)  # type: ignore[union-attr]
    assert [line.split()[:3] for line in said] == [["1", "broke", "down"]]


def test_seeds_are_pooled_and_their_raw_result_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ends = iter([State.SUCCEEDED, State.FAILED] * 3)

    def play(*given: Any) -> Any:
        return replace(outcome(next(ends), 1), seed=given[3], world=given[5], number=given[6])

    monkeypatch.setattr(suite, "Stack", Deployment)
    monkeypatch.setattr(suite, "fitting", fit)
    monkeypatch.setattr(suite, "play", play)
    monkeypatch.setattr(suite, "state_folder", lambda: tmp_path)
    (tmp_path / "bench-home-2").mkdir()
    (tmp_path / "bench-home-4").mkdir()
    (tmp_path / "bench-home-6").mkdir()
    file = tmp_path / "pooled.json"
    options: dict[str, Any] = {"episodes": 2, "worlds": ["home", "studio"], "catalogue": "exact"}
    command.bench("home", seeds=[101, 102, 103], json_path=file, **options)
    kept = json.loads(file.read_text())
    assert kept["commit"]
    assert kept["parameters"]["seed"] == "101, 102, 103"
    assert [row["seed"] for row in kept["details"]] == [1010000, 1010001, 1020000, 1020001, 1030000, 1030001]
    assert kept["metrics"]["feasible_success_rate"] == 0.5
    assert kept["intervals"]["feasible_success_rate"] == {"n": 6, "low": 0.0, "high": 1.0, "clusters": 2} | {
        bound: pytest.approx(clustered([(3, 3), (0, 3)])[number]) for number, bound in enumerate(("low", "high"))
    }
    with pytest.raises(OptionError, match=r"pooled\.json exists already; name a new file"):
        command.bench("home", seeds=[101, 102], json_path=file, **options)
    with pytest.raises(OptionError, match="name it with --json FILE"):
        command.bench("home", seeds=[101, 102], **options)
    with pytest.raises(OptionError, match="several --seed: the suite 'tools' has no such option"):
        command.bench("tools", seeds=[1, 2])


def test_a_result_that_cannot_be_written_is_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "load_suite", lambda _: lambda _: BenchResult("home", {}, {"figure": 3.25}))
    with pytest.raises(FileNotFoundError):
        command.bench("home", json_path=tmp_path / "no folder" / "result.json")
    assert "3.25" in capsys.readouterr().out


def test_a_run_without_any_episode_ends_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StackError, match="not ready after 60 s"):
        played_in(monkeypatch, "cellar", "cellar")
