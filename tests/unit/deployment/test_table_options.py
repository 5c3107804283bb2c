"""A stack at the table: the site of a task, and what is refused before anything starts."""

from dataclasses import replace

import pytest

from quartet_deployment import OptionError, StackOptions
from quartet_deployment._secrets.folder import SecretsFolder
from quartet_deployment._specs import choose_addresses, specs
from quartet_deployment._world import with_world
from quartet_site import load_robot, load_site


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr("quartet_deployment._world.state_folder", lambda: tmp_path)
    return StackOptions(state_dir=tmp_path / "state", use_dotenv=False, world="tabletop")


def changed(options, **fields):
    return with_world(replace(options, **fields))


def test_a_scenario_brings_its_site_and_its_sentence(table):
    options = changed(table, scenario="stack-blocks:0", seed=3)
    assert options.site_dir is not None
    assert options.example == "stack 2 red blocks on the target square"
    assert "red block" in {one.name for one in load_site(options.site_dir / "site.yaml").objects}
    assert load_robot(options.site_dir / "robot.yaml").name == "panda"
    assert (options.site_dir / "policy.yaml").is_file()
    at = choose_addresses(options)
    simulation = next(
        one for one in specs(options, at, SecretsFolder(options.state_dir / "secrets")) if one.name == "simulation"
    )
    assert simulation.argv[simulation.argv.index("--scenario") + 1] == "stack-blocks:0"


def test_without_one_the_sites_own_files_count(table):
    assert with_world(table) == table


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"scenario": "juggle"}, "there is no task 'juggle'; valid: basketball-in-hoop"),
        ({"scenario": "put-block", "world": "home"}, "a scenario ('put-block') is a task of the world tabletop"),
        ({"scenario": "put-block", "homes": 2}, "there is one table, not 2"),
        ({"robots": 2}, "2 robots do not fit the world tabletop, which has one arm"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(table, fields, words):
    with pytest.raises(OptionError) as refusal:
        changed(table, **fields)
    assert words in str(refusal.value)
