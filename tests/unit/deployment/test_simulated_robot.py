"""Another robot in a simulated world: which files the processes get."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from quartet_deployment import OptionError, SecretsFolder, Stack, StackOptions
from quartet_deployment._specs import specs
from quartet_site import load_robot

ROOT = Path(__file__).resolve().parents[3]
ROVER = ROOT / "deploy" / "robots" / "rover"
HOME = ROOT / "deploy" / "sites" / "home"


def stack(folder: Path, **options: Any) -> Stack:
    return Stack(StackOptions(state_dir=folder / "state", use_dotenv=False, **options))


def arguments_of_the_simulation(made: Stack) -> list[str]:
    made.secrets = SecretsFolder(made.options.state_dir / "secrets")
    return next(spec.argv for spec in specs(made.options, made._at, made.secrets) if spec.name == "simulation")


def test_a_robot_works_in_a_world_with_its_own_file_and_the_world_s_site(tmp_path: Path) -> None:
    made = stack(tmp_path, kinds=("rover",))
    assert made.robot == "rover"
    folder = made.site_dir
    for name in ("robot.yaml", "resume.json"):
        assert (folder / name).read_text() == (ROVER / name).read_text()
    for name in ("site.yaml", "policy.yaml"):
        assert (folder / name).read_text() == (HOME / name).read_text()
    argv = arguments_of_the_simulation(made)
    # The robot's own, beside which a model of its arm may be.
    assert argv[argv.index("--robot-file") + 1] == str(ROVER / "robot.yaml")
    assert argv[argv.index("--world") + 1] == "home"


def test_a_folder_of_one_s_own_may_bring_its_policy_and_takes_nothing_of_an_earlier_one(tmp_path: Path) -> None:
    own = tmp_path / "mine"
    shutil.copytree(ROVER, own)
    (own / "policy.yaml").write_text("payload_kg: 1.0\n")
    made = stack(tmp_path, kinds=(str(own),), world="studio", robots=2)
    assert made.robots == ["rover1", "rover2"]
    assert (made.site_dir / "policy.yaml").read_text() == "payload_kg: 1.0\n"
    assert "--robot-file" in arguments_of_the_simulation(made)
    made.secrets = SecretsFolder(made.options.state_dir / "secrets")
    started = {spec.name: spec.env for spec in specs(made.options, made._at, made.secrets)}
    # Their files, with names of their own, are elsewhere.
    robots = json.loads(started["orchestrator"]["QUARTET_ROBOTS"])
    assert {one["resume_file"] for one in robots.values()} == {str(made.site_dir / "resume.json")}
    again = stack(tmp_path, kinds=("rover",), world="studio")
    studio = ROOT / "deploy" / "sites" / "studio"
    assert (again.site_dir / "policy.yaml").read_text() == (studio / "policy.yaml").read_text()


def test_the_robot_of_the_home_is_built_without_a_file(tmp_path: Path) -> None:
    made = stack(tmp_path)
    assert load_robot(made.site_dir / "robot.yaml").simulation is None
    assert "--robot-file" not in arguments_of_the_simulation(made)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kinds": ("pumba",)}, r"no simulated robot 'pumba'; valid: (.*, )?rover(, .*)?, a folder with robot\.yaml"),
        ({"kinds": ("./nowhere",)}, r"no simulated robot '\./nowhere'"),
        ({"kinds": ("rover",), "world": "tabletop"}, "'rover' is no arm of the world tabletop; valid: panda, ur5"),
        ({"kinds": ("rover", "lifter")}, r"robots of several kinds \(rover, lifter\) do not fit the world 'home'"),
        ({"kinds": ("ur5",)}, "'ur5' stands at a table; use it with --world tabletop"),
        ({"kinds": (str(HOME),)}, r"home/robot\.yaml has no field 'simulation'"),
        ({"kinds": ("rover",), "site_dir": HOME, "guard_url": "http://127.0.0.1:9"}, "--robot-dir there is a real one"),
    ],
)
def test_what_cannot_be_simulated_is_told(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        stack(tmp_path, **options)
