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
    ("kinds", "names", "joints"),
    [
        (("ur5", "panda"), ["ur5", "panda"], [6, 7]),
        (("ur5", "ur5"), ["ur5_1", "ur5_2"], [6, 6]),
        (("ur5",), ["ur5"], [6]),
    ],
)
def test_each_arm_has_its_own_file_and_waits_aside(table, kinds, names, joints):
    options = changed(table, kinds=kinds)
    at = choose_addresses(options)
    argv = next(
        one.argv for one in specs(options, at, SecretsFolder(options.state_dir / "secrets")) if one.name == "simulation"
    )
    assert argv[argv.index("--arms") + 1] == ",".join(kinds)
    assert argv[argv.index("--robots") + 1] == str(len(kinds))
    files = [load_robot(robot.robot_file) for robot in at.robots]
    assert [file.name for file in files] == names
    assert [len(file.arm.joints) for file in files] == joints
    assert {file.arm.transit_state for file in files} == {"aside"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"scenario": "juggle"}, "there is no task 'juggle'; valid: basketball-in-hoop"),
        ({"scenario": "put-block", "world": "home"}, "a scenario ('put-block') is a task of the world tabletop"),
        ({"scenario": "put-block", "homes": 2}, "there is one table, not 2"),
        (
            {"robots": 3},
            "3 robots do not fit the world tabletop; valid: up to 2 arms, with --robot for each (panda, ur5)",
        ),
        ({"kinds": ("ur5", "panda", "ur5")}, "3 arms (ur5, panda, ur5) do not fit the world tabletop"),
        ({"kinds": ("ur5", "panda"), "robots": 3}, "2 arms (ur5, panda) do not fit"),
        ({"kinds": ("ur5", "humanoid")}, "'humanoid' is no arm of the world tabletop; valid: panda, ur5"),
        ({"kinds": ("ur5", "panda"), "scenario": "put-block"}, "no task 'put-block' for 2 arms; valid: swap-blocks"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(table, fields, words):
    with pytest.raises(OptionError) as refusal:
        changed(table, **fields)
    assert words in str(refusal.value)
