"""The site file of a task at the table, and the names of tasks."""

import pytest

from quartet_simulation.tabletop import TASKS, Tabletop, UnknownTaskError
from quartet_simulation.tabletop.appearance import kind_of
from quartet_simulation.tabletop.site_file import describe_table, site_text
from quartet_simulation.tabletop.tasks import find_task
from quartet_simulation.world_tool.__main__ import main
from quartet_site import SiteFile, load_site


@pytest.mark.parametrize("task", TASKS)
def test_a_site_names_what_the_state_tells_and_nothing_else(task):
    table = Tabletop.generate(task, TASKS[task].variations - 1, 1)
    site = SiteFile.model_validate(describe_table(table))
    names = {one.name for one in (*site.surfaces, *site.containers, *site.objects)}
    assert names == {"table top", *(kind_of(thing.name) for thing in table.things.values() if thing.told)}
    movable = {kind_of(thing.name) for thing in table.things.values() if thing.mass is not None}
    assert movable <= {one.name for one in site.objects}


def test_marks_are_surfaces_and_what_is_open_holds_things():
    def kinds(task):
        site = SiteFile.model_validate(describe_table(Tabletop.generate(task, 0, 0)))
        return [[one.name for one in some] for some in (site.surfaces[1:], site.containers, site.objects)]

    assert kinds("put-block") == [["target area"], [], ["block"]]
    assert kinds("rubbish-in-bin") == [[], ["bin"], ["rubbish", "tomato"]]
    assert kinds("empty-container")[1][0] == "large container"
    assert kinds("basketball-in-hoop")[1] == ["basketball hoop"]


def test_a_site_has_no_place_of_a_thing():
    """What stands where is seen, never read."""
    one, other = (site_text(Tabletop.generate("put-block", 0, seed)) for seed in (0, 1))
    assert one == other


@pytest.mark.parametrize(
    ("scenario", "found"),
    [
        (None, ("rubbish-in-bin", 0)),
        ("stack-blocks", ("stack-blocks", 0)),
        ("stack-blocks:59", ("stack-blocks", 59)),
    ],
)
def test_a_scenario_names_a_task_and_its_variation(scenario, found):
    assert find_task(scenario) == found


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("stack", "there is no task 'stack'; valid: basketball-in-hoop, close-jar, empty-container, insert-in-peg"),
        ("stack-blocks:60", "stack-blocks has no variation 60; valid: 0 to 59"),
        ("put-block:-1", "put-block has no variation -1; valid: 0 to 0"),
        ("put-block:red", "put-block has no variation red; valid: 0 to 0"),
    ],
)
def test_another_scenario_is_refused_with_what_there_is(scenario, words, tmp_path, capsys):
    with pytest.raises(UnknownTaskError) as refusal:
        find_task(scenario)
    assert words in str(refusal.value)
    assert main(["table", str(tmp_path), f"--scenario={scenario}"]) == 1
    assert words in capsys.readouterr().err


def test_the_tool_writes_the_site_and_prints_the_task(tmp_path, capsys):
    assert main(["table", str(tmp_path), "--scenario", "stack-blocks:4"]) == 0
    assert capsys.readouterr().out == "stack 3 maroon blocks on the target square\n"
    assert "maroon block" in {one.name for one in load_site(tmp_path / "site.yaml").objects}


def test_the_simulation_names_the_table_among_its_worlds(capsys):
    from quartet_simulation.__main__ import main as simulate

    assert simulate(["--world", "castle", "--port", "0"]) != 0
    assert (
        "unknown world 'castle'; valid: a folder with world.yaml, flat, home, studio, tabletop"
        in capsys.readouterr().err
    )
