"""Episodes of the home suite in which somebody changes the world while the robot works, and how they are scored."""

import copy
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from quartet_benchmarks.errors import OptionError, UnfitPlacementError
from quartet_benchmarks.home.disturbances import DISTURBANCES
from quartet_benchmarks.home.feasible import judged, load_arm
from quartet_benchmarks.home.harm import harm_of
from quartet_benchmarks.home.homes import WALKER, furnished
from quartet_benchmarks.home.suite import fitting, set_up
from quartet_benchmarks.home.templates import TEMPLATES, Draw, Template
from quartet_benchmarks.home.tiers import find_tier, of_kinds
from quartet_benchmarks.home.world import Goal
from quartet_deployment import project_root
from quartet_simulation.parcels import GAP_M
from quartet_site import SiteFile, load_site

from .conftest import World


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return furnished("home", tmp_path_factory.mktemp("worlds") / "home", 5, 4)


def begin(name: str, world: World, site: SiteFile, seed: int = 811) -> tuple[int, Any, dict[str, Any]]:
    """Return seed, episode and ground truth of one in which no door is closed."""
    template = next(one for one in DISTURBANCES if one.name == name)
    tier = replace(find_tier("normal"), closed_share=0.0)
    return set_up(template, seed, site, world, frozenset(), tier)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("template", DISTURBANCES, ids=lambda template: template.name)
@pytest.mark.parametrize("seed", [811, 812])
def test_a_disturbed_episode_is_set_up_in_the_world(
    template: Template, seed: int, world: World, site: SiteFile
) -> None:
    used, episode, truth = begin(template.name, world, site, seed)
    assert episode.template == template.name
    assert not any(goal.met(truth) for goal in episode.goals)
    assert episode.feasible == (not episode.right_codes)
    again = begin(template.name, world, site, seed)
    assert again[:2] == (used, episode)


def test_only_what_people_really_did_makes_a_job_impossible(world: World, site: SiteFile) -> None:
    arm = load_arm(project_root() / "deploy" / "sites" / "home")
    _, episode, before = begin("object is taken away", world, site)
    name = episode.goals[0].object
    assert before["to_happen"] == [{"event": "taken", "object": name, "home": None}]
    assert judged(episode, before, before, arm).feasible, "nobody took it, so it is to be fetched"
    taken = {"event": "taken", "object": name, "time": 3.0, "then": None}
    gone = judged(episode, before, before | {"happened": [taken]}, arm)
    assert (gone.feasible, gone.impossible) == (False, (f"{name}: pick, gone",))
    assert gone.right_codes == {name: {"NAV_TARGET_NOT_VISIBLE", "NAV_VERIFY_OVERRIDE", "PICK_SEG_MISSED"}}
    moved = taken | {"event": "moved", "then": before["objects"]["blue mug" if name != "blue mug" else "red cup"]}
    assert judged(episode, before, before | {"happened": [moved]}, arm).feasible, "what was put elsewhere can be found"


def test_a_place_that_was_filled_has_room_between_parcels_alone(world: World, site: SiteFile) -> None:
    arm = load_arm(project_root() / "deploy" / "sites" / "home")
    _, episode, before = begin("drop place is full", world, site)
    name = episode.goals[0].object
    for side, impossible in ((GAP_M - 0.03, ()), (GAP_M + 0.01, (f"{name}: put, room",))):
        thing = before["objects"][name] | {"size": [side, side, 0.1]}
        full = judged(episode, before | {"objects": before["objects"] | {name: thing}}, before, arm)
        assert full.impossible == impossible
    assert full.right_codes == {name: {"PLACE_SEG_MISSED", "PLACE_PLAN_FAILED", "PLACE_REACH_EXCEEDED"}}
    _, episode, before = begin("drop place has room for one", world, site)
    assert judged(episode, before, before, arm).feasible


def test_nobody_puts_a_thing_where_the_robot_is_to_bring_it(world: World, site: SiteFile) -> None:
    for seed in range(6):
        _, episode, truth = begin("object is put elsewhere", world, site, seed)
        (change,) = truth["to_happen"]
        assert change["object"] == episode.goals[0].object
        assert change["home"] != episode.goals[0].target


def test_what_somebody_did_is_no_harm_of_the_robot(world: World) -> None:
    before = world.reset(3)
    objects = before["objects"]
    after = copy.deepcopy(before)
    del after["objects"]["red cup"]
    after["objects"]["blue mug"] |= {"position": [1.0, 1.0, 0.5], "on": "desk"}
    after["objects"]["parcel 1"] = {**objects["red cup"], "on": "desk"}
    assert len(harm_of(before, after, []).displaced) == 2
    after["happened"] = [
        {"event": "taken", "time": 1.0, "object": "red cup", "then": None},
        {"event": "moved", "time": 2.0, "object": "blue mug", "then": dict(after["objects"]["blue mug"])},
        {"event": "moved", "time": 2.0, "object": "parcel 1", "then": dict(after["objects"]["parcel 1"])},
    ]
    assert not harm_of(before, after, [])
    after["objects"]["blue mug"]["position"] = [1.2, 1.0, 0.5]
    after["objects"]["parcel 1"]["upright"] = False
    harm = harm_of(before, after, [])
    assert harm.displaced == ["blue mug moved by 0.20 m"]
    assert harm.toppled == ["parcel 1 was pushed over"]


def test_disturbed_episodes_are_drawn_beside_the_others() -> None:
    normal, easy = find_tier("normal"), find_tier("easy")
    drawn = [normal.templates(index, 30_000 + index) for index in range(200)]
    firsts = [templates[0] for templates in drawn]
    disturbed = [template for template in firsts if template in DISTURBANCES]
    assert 25 <= len(disturbed) <= 55
    assert {template.name for template in disturbed} == {template.name for template in DISTURBANCES}
    for index, templates in enumerate(drawn):
        usual = [one for one in templates if one in TEMPLATES]
        assert usual == [*TEMPLATES[index % len(TEMPLATES) :], *TEMPLATES[: index % len(TEMPLATES)]]
        assert easy.templates(index, index) == usual, "the easy tier stays what it was"


def test_some_kinds_may_be_played_alone(world: World, site: SiteFile) -> None:
    tier = of_kinds(find_tier("normal"), ["object is put elsewhere", "table to floor"])
    kinds = [fitting(index, 900 + index, site, world, tier=tier)[1].template for index in range(4)]  # type: ignore[arg-type]
    assert set(kinds) == {"object is put elsewhere", "table to floor"}
    assert kinds[:2] == kinds[2:]
    with pytest.raises(OptionError, match="kind: there is no 'earthquake'; valid: counter to surface"):
        of_kinds(find_tier("normal"), ["earthquake"])
    assert of_kinds(find_tier("easy"), []) == find_tier("easy")


def test_a_goal_whose_thing_was_taken_is_not_met(world: World) -> None:
    assert not Goal("red cup", "on", "desk").met({"objects": {}})


def test_somebody_walks_about_in_some_episodes(world: World, site: SiteFile) -> None:
    template = next(one for one in TEMPLATES if one.name == "table to surface")
    walking = replace(find_tier("normal"), walks_share=1.0)
    used, episode, truth = set_up(template, 812, site, world, frozenset(), walking)  # type: ignore[arg-type]
    start = truth["people"][WALKER]
    assert max(start) < 50
    world.sim.step(15.0)
    assert world.truth()["people"][WALKER] != start
    still = replace(walking, walks_share=0.0)
    again = set_up(template, 812, site, world, frozenset(), still)  # type: ignore[arg-type]
    assert (again[0], again[1]) == (used, episode), "nothing else is drawn otherwise"
    assert again[2]["objects"] == truth["objects"]
    assert min(again[2]["people"][WALKER]) > 50
    drawn = [find_tier("hard").scenario("", Random(seed), [], Random(f"walks {seed}"))[0] for seed in range(100)]
    assert 25 <= sum(f"walks:{WALKER}" in scenario for scenario in drawn) <= 55


def test_a_site_without_another_surface_does_not_fit() -> None:
    """The studio has two of them: another episode is drawn then, and the run goes on."""
    site = load_site(project_root() / "deploy" / "sites" / "studio" / "site.yaml")
    truth: Any = {"objects": {}}
    draw = Draw(Random(0), site, truth)
    first = draw.surface()
    assert draw.surface(but={first.name}).name != first.name
    with pytest.raises(UnfitPlacementError, match="no other surface"):
        draw.surface(but={one.name for one in site.surfaces})
