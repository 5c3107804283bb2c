"""Another robot in a simulated world: which files the processes get."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from quartet_deployment import OptionError, SecretsFolder, Stack, StackOptions, new_world
from quartet_deployment._process import ProcessSpec
from quartet_deployment._specs import specs
from quartet_site import RobotFiles, load_robot, load_robots

ROOT = Path(__file__).resolve().parents[3]
ROVER = ROOT / "deploy" / "robots" / "rover"
LIFTER = ROOT / "deploy" / "robots" / "lifter"
HOME = ROOT / "deploy" / "sites" / "home"


def stack(folder: Path, **options: Any) -> Stack:
    return Stack(StackOptions(state_dir=folder / "state", use_dotenv=False, **options))


def processes(made: Stack) -> dict[str, ProcessSpec]:
    made.secrets = SecretsFolder(made.options.state_dir / "secrets")
    return {spec.name: spec for spec in specs(made.options, made._at, made.secrets)}


def arguments_of_the_simulation(made: Stack) -> list[str]:
    return processes(made)["simulation"].argv


def files_of_the_robots(made: Stack, process: str) -> dict[str, RobotFiles]:
    given = json.loads(processes(made)[process].env["QUARTET_ROBOTS"])
    return {name: RobotFiles.model_validate(files) for name, files in given.items()}


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
    made = stack(tmp_path, kinds=(str(own),), world="studio")
    assert (made.site_dir / "policy.yaml").read_text() == "payload_kg: 1.0\n"
    made = stack(tmp_path, kinds=(str(own),), world="studio", robots=2)
    assert made.robots == ["rover1", "rover2"]
    assert {files.policy_file for files in files_of_the_robots(made, "moveit").values()} == {own / "policy.yaml"}
    studio = ROOT / "deploy" / "sites" / "studio"
    assert (made.site_dir / "policy.yaml").read_text() == (studio / "policy.yaml").read_text()
    argv = arguments_of_the_simulation(made)
    assert argv[argv.index("--robot-file") + 1] == ",".join([str(own / "robot.yaml")] * 2)
    assert {files.resume_file for files in files_of_the_robots(made, "orchestrator").values()} == {own / "resume.json"}
    (own / "resume.json").unlink()
    assert {files.resume_file for files in files_of_the_robots(made, "orchestrator").values()} == {None}
    assert not (stack(tmp_path, kinds=(str(own),), world="studio").site_dir / "resume.json").exists()
    again = stack(tmp_path, kinds=("rover",), world="studio")
    assert (again.site_dir / "policy.yaml").read_text() == (studio / "policy.yaml").read_text()


@pytest.mark.parametrize("robots", [1, 3])
def test_unlike_robots_share_a_home_each_with_its_own_files(tmp_path: Path, robots: int) -> None:
    own = tmp_path / "mine"
    shutil.copytree(ROVER, own)
    (own / "policy.yaml").write_text("payload_kg: 1.0\n")
    made = stack(tmp_path, kinds=("lifter", str(own), "lifter"), robots=robots, homes=2)
    assert made.robots == ["lifter1", "rover1", "lifter2", "lifter3", "rover2", "lifter4"]
    argv, sources = arguments_of_the_simulation(made), [LIFTER, own, LIFTER]
    assert argv[argv.index("--robot-file") + 1] == ",".join(str(source / "robot.yaml") for source in sources)
    assert argv[argv.index("--robots") + 1] == "3"
    assert [robot.source for robot in made._at.robots] == [source / "robot.yaml" for source in sources] * 2
    for process in ("moveit", "orchestrator"):
        files = files_of_the_robots(made, process)
        known = load_robots(files, files, None, None)
        lifting = {name for name, one in known.items() if "lift" in one.robot.arm.joints}
        assert lifting == {f"lifter{number}" for number in range(1, 5)}
        assert {name: one.robot.gripper.stroke_m for name, one in known.items()} == {
            name: load_robot((own if "rover" in name else LIFTER) / "robot.yaml").gripper.stroke_m
            for name in made.robots
        }
        assert {name for name, one in files.items() if one.policy_file} == {"rover1", "rover2"}
        assert (files["lifter1"].site_file.with_name("policy.yaml")).read_text() == (HOME / "policy.yaml").read_text()


def test_a_new_world_gets_no_resume_of_the_home_s_robot_for_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quartet_deployment._world.run_worlds", lambda *_: "")
    shutil.copy(ROVER / "robot.yaml", tmp_path / "robot.yaml")
    new_world(tmp_path, "flat")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.yaml", "robot.yaml"]
    (tmp_path / "robot.yaml").unlink()
    new_world(tmp_path, "flat")
    assert (tmp_path / "resume.json").read_bytes() == (HOME / "resume.json").read_bytes()


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
        ({"kinds": ("rover", "pumba")}, "no simulated robot 'pumba'"),
        ({"kinds": ("rover", "spot")}, "no simulated robot 'spot'"),
        (
            {"kinds": ("rover", "lifter"), "robots": 3},
            r"--robots 3 does not fit the 2 robots that --robot names \(rover, lifter\); .*leave --robots out",
        ),
        ({"kinds": ("rover", "lifter") * 5}, "robots x homes = 10 x 1 is out of range; valid: 1 to 8 in each home"),
        ({"kinds": ("ur5",)}, "'ur5' stands at a table; use it with --world tabletop"),
        ({"kinds": ("rover", "panda")}, "'panda' stands at a table; use it with --world tabletop"),
        ({"kinds": ("rover", str(HOME))}, r"home/robot\.yaml has no field 'simulation'"),
        ({"kinds": ("rover",), "site_dir": HOME, "guard_url": "http://127.0.0.1:9"}, "--robot-dir there is a real one"),
    ],
)
def test_what_cannot_be_simulated_is_told(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        stack(tmp_path, **options)


def test_robots_whose_numbered_names_would_be_equal_are_refused(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(ROVER, mine)
    file = mine / "robot.yaml"
    file.write_text(file.read_text().replace("name: rover", "name: rover1", 1))
    with pytest.raises(OptionError, match=r"two robots would have the name 'rover1'"):
        stack(tmp_path, kinds=("rover", "rover", str(mine)), robots=3)
