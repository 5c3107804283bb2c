"""Tiers of the home suite: what they draw, what they put into a home, and how people ask there."""

import math
import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from quartet_benchmarks.charts import Chart
from quartet_benchmarks.command import bench
from quartet_benchmarks.errors import OptionError, UnfitPlacementError
from quartet_benchmarks.home import suite, variations
from quartet_benchmarks.home.homes import CARTON, PERSON, SIZED_FILE, furnished
from quartet_benchmarks.home.outcome import Draws
from quartet_benchmarks.home.suite import set_up
from quartet_benchmarks.home.summary import summary
from quartet_benchmarks.home.templates import TEMPLATES
from quartet_benchmarks.home.tiers import LIGHTS, TIERS, Tier, find_tier
from quartet_benchmarks.home.variations import VARIATIONS, vary
from quartet_benchmarks.home.wording import DOWN, HELD, INTO, ON, Wording
from quartet_benchmarks.home.world import Goal
from quartet_benchmarks.result import START_TIMEOUT_S, BenchParameters, BenchResult, Rate
from quartet_benchmarks.rough_catalogue import SIZE_ERROR
from quartet_deployment import project_root
from quartet_simulation.errors import WorldFileError
from quartet_simulation.sensors.levels import LEVELS
from quartet_simulation.world_tool import unknown_things
from quartet_simulation.world_tool.unknown_things import SHAPES
from quartet_simulation.worlds.objects import CATALOGUE
from quartet_site import SiteFile, load_site

from .conftest import World

COLOURS_OF_THE_CATALOGUE = {tuple(round(part, 6) for part in kind.rgb) for kind in CATALOGUE.values()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return furnished("home", tmp_path_factory.mktemp("worlds") / "home", 5, 6)


def test_a_home_can_be_described_as_a_person_would(tmp_path: Path) -> None:
    told = load_site(furnished("home", tmp_path / "home", 3, catalogue="rough") / "site.yaml")
    exact = load_site(project_root() / "deploy" / "sites" / "home" / "site.yaml")
    assert (told.areas, told.surfaces, told.containers) == (exact.areas, exact.surfaces, exact.containers)
    assert {one.appearance.size_error for one in told.objects} == {SIZE_ERROR}
    assert {one.appearance.size_error for one in exact.objects} == {0.02}, "those of world.yaml are exact"
    pairs = zip(told.objects, exact.objects, strict=True)
    assert all(a.name == b.name and a.appearance.size_m != b.appearance.size_m for a, b in pairs)


def test_stated_sizes_are_rounded_within_a_tenth_and_drawn_for_each_home(tmp_path: Path) -> None:
    exact = load_site(project_root() / "deploy" / "sites" / "home" / "site.yaml")
    drawn = [furnished("home", tmp_path / str(seed), seed, catalogue="stated") for seed in (3, 3, 4)]
    told = [load_site(home / "site.yaml") for home in (drawn[0], drawn[2])]
    assert load_site(drawn[0] / SIZED_FILE) == exact, "the suite knows the sizes"
    assert [one.appearance.size_m for one in told[0].objects] != [one.appearance.size_m for one in told[1].objects]
    ratios: list[float] = []
    rounded: list[bool] = []
    for a, b in zip(exact.objects, told[0].objects, strict=True):
        assert (b.appearance.shape, b.appearance.size_error) == (a.appearance.shape, SIZE_ERROR)
        assert len(b.appearance.parts) == len(a.appearance.parts)
        pairs = list(zip(a.appearance.known_size_m, b.appearance.known_size_m, strict=True))
        ratios += [now / was for was, now in pairs]
        rounded += [abs(now / 0.005 - round(now / 0.005)) < 1e-6 for _, now in pairs]
    assert 0.9 - 0.01 < min(ratios) < 0.95
    assert 1.05 < max(ratios) < 1.1 + 0.01
    assert sum(rounded) > 0.8 * len(rounded), "but for the small ones, which that would put off by more than a tenth"


def test_a_home_can_be_described_without_a_ruler(tmp_path: Path) -> None:
    home = furnished("home", tmp_path / "home", 3, catalogue="unsized")
    told, exact = load_site(home / "site.yaml"), load_site(home / SIZED_FILE)
    assert any(one.appearance.size_m is None for one in told.objects)
    assert exact == load_site(project_root() / "deploy" / "sites" / "home" / "site.yaml"), "the suite knows the sizes"


def test_each_run_draws_homes_of_its_own() -> None:
    normal, hard = find_tier("normal"), find_tier("hard")
    homes = normal.worlds_for(100, 1)
    assert len(homes) == len(set(homes)) == 22
    assert homes[-2:] == ("home", "studio")
    assert homes == normal.worlds_for(100, 1)
    for other in (normal.worlds_for(100, 2), hard.worlds_for(100, 1)):
        assert not {name for name in other if "generated" in name} & set(homes)
    assert all(name.startswith("generated:") for name in hard.worlds_for(100, 1))
    assert len(normal.worlds_for(15, 1)) == 3 + 2
    assert find_tier("easy").worlds_for(100, 1) == ("home",)


def test_an_easy_episode_asks_for_nothing_more_of_the_simulation() -> None:
    rng = Random(3)
    state = rng.getstate()
    assert find_tier("easy").scenario("absent:red cup", rng, ["red cup"]) == ("absent:red cup,anywhere", None)
    assert rng.getstate() == state, "it draws nothing, so that its episodes stay what they were"


def test_a_hard_episode_hides_things_and_all_lights_come() -> None:
    hard = find_tier("hard")
    drawn = [hard.scenario("absent:red cup", Random(seed), ["red cup", "orange"]) for seed in range(60)]
    assert {scenario.split(",")[3] for scenario, _ in drawn} == set(LIGHTS)
    assert {hidden for _, hidden in drawn} == {None, "orange"}
    assert f"behind:orange@{CARTON}" in next(scenario for scenario, hidden in drawn if hidden)


@pytest.mark.slow
def test_somebody_stands_in_a_doorway_in_some_episodes(world: World, site: SiteFile) -> None:
    inhabited = replace(find_tier("normal"), people_share=1.0)
    template = next(one for one in TEMPLATES if one.name == "table to surface")
    _, _, truth = set_up(template, 811, site, world, frozenset(), inhabited)  # type: ignore[arg-type]
    assert any(truth["people"][PERSON] == pytest.approx(door) for door in world.sim.world.doors.values())
    assert PERSON in world.scenario
    drawn = [find_tier("normal").scenario("", Random(seed), []) for seed in range(60)]
    assert 15 <= sum(f"person:{PERSON}" in scenario for scenario, _ in drawn) <= 35
    assert world.reset(811)["people"][PERSON][0] > 50, "she is away where no scenario names her"


def test_unknown_things_are_in_the_world_and_in_no_catalogue(folder: Path, site: SiteFile, world: World) -> None:
    things = yaml.safe_load((folder / "world.yaml").read_text())["things"]
    unknown = [thing for thing in things if thing["name"].startswith("unknown")]
    assert len(unknown) == 6
    assert unknown[0]["name"] == CARTON
    assert not {thing["name"] for thing in unknown} & {one.name for one in site.objects}
    coloured = [thing for thing in unknown if not isinstance(thing["colour"], str)]
    assert {tuple(round(part, 6) for part in thing["colour"]) for thing in coloured} <= COLOURS_OF_THE_CATALOGUE
    assert len(coloured) == 3
    assert {thing["name"] for thing in unknown} <= set(world.reset(4, "packed")["objects"])
    assert not (folder / "world.yaml").is_symlink(), "the file of the simulation is left as it is"


def test_an_unknown_thing_that_no_gripper_holds_is_not_left_out_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plate = ("dinner plate", "bowl", (0.21, 0.21, 0.025), 0.4)
    carton = next(shape for shape in SHAPES if shape[0] == unknown_things.CARTON)
    monkeypatch.setattr(unknown_things, "SHAPES", (carton, plate))
    home = furnished("home", tmp_path / "home", 5)
    with pytest.raises(WorldFileError, match="cannot hold 'unknown dinner plate'"):
        unknown_things.add_unknown_things(home, 2, 5)


@pytest.mark.parametrize(("name", "shape", "size"), [(name, shape, size) for name, shape, size, _ in SHAPES])
def test_no_unknown_thing_could_be_taken_for_a_known_one(name: str, shape: str, size: tuple[float, ...]) -> None:
    for kind in CATALOGUE.values():
        same = kind.shape == shape and all(
            abs(a - b) <= 0.1 * b for a, b in zip(sorted(size), sorted(kind.size), strict=True)
        )
        assert not same, f"{name} is as large as '{kind.name}', so nobody could tell them apart in the same colour"


@pytest.mark.slow
@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
@pytest.mark.parametrize("tier", ["normal", "hard"])
def test_an_episode_of_a_tier_is_set_up(template: Any, tier: str, world: World, site: SiteFile) -> None:
    used, episode, truth = set_up(template, 811, site, world, frozenset(), find_tier(tier))  # type: ignore[arg-type]
    known = {one.name for one in site.objects}
    assert {goal.object for goal in episode.goals} <= known
    assert not any(goal.met(truth) for goal in episode.goals)
    assert CARTON in truth["objects"], "what is unknown is scored as all that may be pushed over"
    again = set_up(template, 811, site, world, frozenset(), find_tier(tier))  # type: ignore[arg-type]
    assert (again[0], again[1]) == (used, episode)


def test_placements_that_are_drawn_again_are_counted_by_kind_and_reason(world: World, site: SiteFile) -> None:
    class Refusing:
        refusals = 2

        def reset(self, seed: int, scenario: str = "") -> dict[str, Any]:
            if self.refusals:
                self.refusals -= 1
                raise UnfitPlacementError(f"no room for seed {seed}", "no room")
            return world.reset(seed, scenario)

    draws = Draws()
    template = next(one for one in TEMPLATES if one.name == "table to surface")
    set_up(template, 5, site, Refusing(), frozenset(), find_tier("easy"), draws)  # type: ignore[arg-type]
    assert (draws.accepted, draws.redrawn) == (1, {"table to surface: no room": 2})
    result = summary([], {}, (), draws)
    assert result.metrics["redrawn"] == Rate(2, 3)
    assert "redrawn 2 times: table to surface: no room" in result.notes


@pytest.mark.slow
def test_only_the_words_of_a_reworded_episode_are_others(world: World, site: SiteFile) -> None:
    normal = find_tier("normal")
    reworded = 0
    for template in TEMPLATES:
        (_, free, _), (_, plain, _) = (
            set_up(template, 811, site, world, frozenset(), tier)  # type: ignore[arg-type]
            for tier in (normal, replace(normal, reworded=False))
        )
        assert replace(free, sentence=plain.sentence) == plain
        reworded += free.sentence != plain.sentence
    assert reworded == len(TEMPLATES)


def test_what_is_hidden_is_what_is_wanted_where_the_job_allows_it(world: World, site: SiteFile) -> None:
    hiding = replace(find_tier("hard"), hidden_share=1.0)
    template = next(one for one in TEMPLATES if one.name == "table to surface")
    wanted = 0
    for seed in range(6):
        _, episode, _ = set_up(template, seed, site, world, frozenset(), hiding)  # type: ignore[arg-type]
        wanted += f"behind:{episode.goals[0].object}@{CARTON}" in world.scenario
    assert wanted >= 3, "one of twenty by chance"


def test_nobody_asks_for_an_unknown_thing_that_is_not_there(world: World, site: SiteFile) -> None:
    class Emptied:
        def reset(self, seed: int, scenario: str = "") -> dict[str, Any]:
            truth = world.reset(seed, scenario)
            return truth | {"absent": [*truth["absent"], *(f"unknown {number}" for number in range(200))]}

    template = next(one for one in TEMPLATES if one.name == "object is not there")
    for seed in range(3):
        _, episode, _ = set_up(template, seed, site, Emptied(), frozenset(), find_tier("normal"))  # type: ignore[arg-type]
        assert not episode.goals[0].object.startswith("unknown")


def test_people_ask_for_the_same_in_many_ways(world: World, site: SiteFile) -> None:
    truth = world.reset(12, "packed")
    on_counter = {n: thing for n, thing in truth["objects"].items() if thing["on"] == "kitchen counter"}
    known = [name for name in on_counter if not name.startswith("unknown")]
    _, on = min((_apart(on_counter[a], on_counter[b]), a) for a in known for b in known if a != b)
    for goal in (Goal(on, "on", "desk"), Goal(on, "in", "waste basket"), Goal(on, "floor", "hallway")):
        said = {Wording(Random(seed), site, truth).sentence([goal]) for seed in range(200)}
        assert len(said) > 100
        assert not any("{" in sentence or "  " in sentence for sentence in said)
        assert any(" next to " in sentence or " beside " in sentence or " right by " in sentence for sentence in said)
    both = [Goal(on, "on", "desk"), Goal("red apple", "on", "desk")]
    assert any(" both " in Wording(Random(seed), site, truth).sentence(both) for seed in range(40))


def test_a_neighbour_that_is_told_is_one(world: World, site: SiteFile) -> None:
    told = 0
    for seed in range(6):
        truth = world.reset(seed, "packed")
        for name, thing in truth["objects"].items():
            if thing["on"] in (None, "floor") or name.startswith("unknown"):
                continue
            said = Wording(Random(seed), site, truth).sentence([Goal(name, "in", "toy basket")])
            for words in (" next to the ", " beside the ", " right by the "):
                if words not in said:
                    continue
                other = next(one for one in truth["objects"] if said.split(words)[1].startswith(one))
                assert _apart(thing, truth["objects"][other]) <= 0.25
                assert truth["objects"][other]["on"] == thing["on"]
                told += 1
    assert told >= 3


def _apart(one: dict[str, Any], other: dict[str, Any]) -> float:
    return math.dist(one["position"][:2], other["position"][:2])


def test_all_patterns_take_the_same_words() -> None:
    words = {"o": "the can", "O": "The can", "where": " there", "whence": " from there", "t": "the desk"}
    for pattern in (*ON, *INTO, *DOWN, *HELD["on"]):
        said = pattern.format(**words)
        assert "the desk" in said
        assert said[-1] in ".?!"
        assert said[0].isupper()


def test_each_level_of_what_is_varied_is_played_and_the_rest_is_that_of_the_tier(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    played: list[Tier] = []
    drawn: list[Chart] = []

    def play(tier: Tier) -> BenchResult:
        played.append(tier)
        done = Rate(9 - len(played), 9)
        told = dict.fromkeys(("episodes", "seed", "worlds", "robot", "model"), "as asked")
        counts = dict.fromkeys(("false_successes", "episodes_broken_down", "job_wall_s_p50"), 0)
        metrics = {"feasible_success_rate": done, "episodes_with_harm": Rate(1, 9), **counts}
        return BenchResult("home", told, metrics, details=[{"seed": 1}], notes=["harm: a cup fell", "Success: so"])

    def draw(charts: list[Chart], folder: Path) -> list[Path]:
        drawn.extend(charts)
        return [folder / f"{chart.name}.png" for chart in charts]

    monkeypatch.setattr(variations, "python_of", lambda _: tmp_path)
    monkeypatch.setattr(variations, "draw", draw)
    easy = find_tier("easy")
    lines: list[str] = []
    result = vary(["sensors", "occlusion", "sensors"], easy, play, tmp_path, lines.append)
    noise, hidden = played[:3], played[3:]
    assert noise == [replace(easy, sensors=level) for level in ("clean", "typical", "harsh")]
    assert [tier.hidden_share for tier in hidden] == [0.0, 0.5, 1.0]
    assert all(tier.unknown_things for tier in hidden), "there is a carton to stand behind"
    assert [bar.value for bar in drawn[0].series["feasible tasks"]] == [8 / 9, 7 / 9, 6 / 9]
    assert all(chart.curve for chart in drawn)
    assert result.metrics["sensors_harsh_success_rate"] == Rate(6, 9)
    assert [(row["varied"], row["level"], row["harm"]) for row in result.rows[3:]] == [
        ("occlusion", level, 1) for level in ("0%", "50%", "100%")
    ]
    assert {"varied": "sensors", "level": "clean", "seed": 1} in result.details
    assert "sensors clean: harm: a cup fell" in result.notes
    assert f"curve: {tmp_path / 'home-occlusion.png'}" in lines


@pytest.mark.parametrize(
    ("options", "sensors", "told"),
    [
        ({"vary": ["fog"]}, "typical", "vary: there is no 'fog'; valid: sensors, light, clutter, occlusion"),
        ({"vary": ["sensors"]}, "harsh", "sensors: --vary sensors plays all levels of them"),
        ({"out": Path("curves")}, "typical", "out: of home, it is the folder of the curves of --vary"),
    ],
)
def test_what_cannot_be_varied_is_told_before_an_episode(options: dict[str, Any], sensors: str, told: str) -> None:
    with pytest.raises(OptionError, match=re.escape(told)):
        suite.run(BenchParameters(options=options, sensors=sensors))


@pytest.mark.slow
def test_every_level_is_one_that_the_simulation_has(world: World, site: SiteFile) -> None:
    for variation in VARIATIONS.values():
        for tier in variation.tiers(find_tier("easy")).values():
            assert tier.sensors in (None, *LEVELS)
            names = [one.name for one in site.objects]
            world.reset(811, tier.scenario("", Random(1), names)[0])


def test_a_tier_that_there_is_not_is_named() -> None:
    with pytest.raises(OptionError, match="tier: there is no 'brutal'; valid: easy, normal, hard"):
        find_tier("brutal")
    with pytest.raises(OptionError, match="tier: the suite 'bins' has no such option; home has"):
        bench("bins", options={"tier": "hard"})


def test_other_sensors_than_those_of_the_tier_are_refused() -> None:
    with pytest.raises(OptionError, match="the tier 'normal' has typical ones, not harsh"):
        suite.run(BenchParameters(sensors="harsh", options={"tier": "normal"}))


def test_the_result_says_what_the_tier_is_and_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    def stack(options: Any) -> Any:
        started.append(options)
        raise UnfitPlacementError("nothing fits")

    monkeypatch.setattr(suite, "Stack", stack)
    monkeypatch.setattr(suite, "furnished", lambda like, folder, seed, count, *, catalogue: folder)
    with pytest.raises(UnfitPlacementError):
        suite.run(BenchParameters(episodes=10, options={"tier": "hard"}, progress=lambda _: None))
    assert {options.sensors for options in started} == {"harsh"}
    assert {options.start_timeout_s for options in started} == {START_TIMEOUT_S}, "as the other suites of whole jobs"
    assert len(started) == 2
    assert {Path(options.world).name[-6:] for options in started} == {"-world"}, "with unknown things"
    for few in (
        BenchParameters(episodes=1, options={"tier": "normal"}),
        BenchParameters(short=True, options={"tier": "normal"}),
    ):
        started.clear()
        with pytest.raises(UnfitPlacementError):
            suite.run(few)
        assert len(started) == 1, "a home without an episode is not started"
    for tier in TIERS.values():
        assert "things on or in other things" in tier.left_out
