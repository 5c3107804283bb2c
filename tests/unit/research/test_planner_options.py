"""The options of an experiment say what is wrong with them."""

import importlib.util
from pathlib import Path

import pytest

from quartet_benchmarks.command import bench
from quartet_benchmarks.errors import MissingExtraError, OptionError
from quartet_benchmarks.result import BenchParameters
from quartet_research.harness.shards import read_shard
from quartet_research.harness.study import speakers_of
from quartet_research.planners.options import Experiment, read_experiment
from quartet_research.planners.suite import run
from quartet_teams import Discussion, Plan, Prompts, Scene


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"framework": ["nix"]}, "no framework 'nix'; valid: cmas, dmas, hmas1, hmas2"),
        ({"suite": ["nix"]}, "no suite 'nix'; valid: boxnet1, boxnet2, warehouse, boxlift"),
        ({"history": ["nix"]}, "no history 'nix'; valid: none, pairs, all"),
        ({"robots": [7]}, "boxnet1 with 7 robots.*published are 4, 8, 16, 32"),
        ({"suite": ["boxlift"], "robots": [101]}, "from 2 to 100 are possible"),
        ({"trials": -1}, "trials is at least 1"),
        ({"p_fault": [1.5]}, "from 0 to 1"),
        ({"p_fault": [0.1], "model": ["openai/gpt-4o"]}, "p-fault is of the reference speakers"),
        ({"suite": ["no.yaml"]}, "no.yaml cannot be read"),
        ({"suite": ["a.yaml", "boxnet1"]}, "a file of a suite stands alone"),
    ],
)
def test_a_value_that_there_is_not_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        read_experiment(options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("trials: 2\ncolour: red\n", r":2: colour: .*valid fields here: framework, history, model"),
        ("suite: boxnet1\ntrials: many\n", ":2: trials: trials 'many' is no whole number"),
        ("trials: true\n", ":1: trials: trials True is no whole number"),
        ("trials: 0\n", ":1: trials: trials 0: trials is at least 1"),
        ("seed: -1\n", ":1: seed: seed -1: seed is at least 0"),
        ("robots: [4.5]\n", ":1: robots: robots 4.5 is no whole number"),
        ("robots: {a: 1}\n", r":1: robots: robots \{'a': 1\} is no whole number"),
        ("robots:\n  - 4\n  - 7\n", r":3: robots.1: boxnet1 with 7 robots: .*published are 4, 8, 16, 32"),
        ("suite:\n  boxnet1: 3\n", r":1: suite: suite \{'boxnet1': 3\} is no name"),
        ("suite: [boxnet1, nix]\n", ":1: suite.1: there is no suite 'nix'; valid: boxnet1, boxnet2"),
        ("\nframework: nix\n", ":2: framework.0: there is no framework 'nix'; valid: cmas, dmas, hmas1, hmas2"),
        ("framework: []\n", ":1: framework: framework is empty; name at least one"),
        ("history: nix\n", ":1: history.0: there is no history 'nix'; valid: none, pairs, all"),
        ("p-fault: high\n", ":1: p-fault: p_fault 'high' is no number"),
        ("p-fault: [0.1, 2]\n", ":1: p-fault.1: p-fault 2.0: a rate is from 0 to 1"),
        ("model: openai/m\np-fault: 0.1\n", ":2: p-fault: p-fault is of the reference speakers"),
        ("framework: 3\n", ":1: framework: framework 3 is no name"),
        ("trials: 2\ntrials: 3\n", ":2: trials: it is there twice"),
        ("- cmas\n", "must hold fields, each as `name: value`"),
        ("suite: [\n", "is not YAML"),
    ],
)
def test_a_wrong_field_of_a_file_is_told_with_its_line_and_what_is_valid(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(text)
    with pytest.raises(OptionError, match=f"(?s)suite file {tmp_path}/suite.yaml.*{said}"):
        read_experiment({"suite": [str(tmp_path / "suite.yaml")]})


def test_all_faults_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("suite: nix\nhistory: long\ntrials: 0\n")
    with pytest.raises(OptionError, match=r"(?s):1: suite\.0: .*:2: history\.0: .*:3: trials: "):
        read_experiment({"suite": [str(tmp_path / "suite.yaml")]})


def test_options_go_before_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("suite: boxnet2\nrobots: [4, 8]\ntrials: 2\np-fault: 0.1\n")
    read = read_experiment({"suite": [str(tmp_path / "suite.yaml")], "trials": 3})
    assert read == Experiment(suite=("boxnet2",), robots=(4, 8), trials=3, p_fault=(0.1,))
    assert len(read.instances) == 6
    assert list(speakers_of(read)) == ["reference-speakers/0.1"]


class Lonely:
    """A team of your own: the first robot does its first action."""

    async def decide(self, scene: Scene, prompts: Prompts, discussion: Discussion) -> Plan:
        robot = scene.robots[0]
        return {robot: scene.actions(robot)[0]}


def test_a_team_of_your_own_plays(tmp_path: Path) -> None:
    own = f"{__name__}:{Lonely.__name__}"
    options = {"framework": [own, "cmas"], "suite": ["boxnet1"], "robots": [4], "trials": 1}
    result = run(BenchParameters(options=options, progress=lambda _line: None))
    rows = {row["team"]: row for row in result.rows}
    assert rows[own]["success"] == "0/1"
    assert "not done in" in rows[own]["failed for"]
    assert rows["cmas"]["success"] == "1/1"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_such_package:Team", "cannot be loaded: No module named 'no_such_package'"),
        ("math:Team", "cannot be loaded: module 'math' has no attribute 'Team'"),
        ("fractions:Fraction", "has no method decide"),
        ("Team", "no framework 'Team'; valid: cmas, .*MODULE:CLASS"),
    ],
)
def test_a_team_that_cannot_be_loaded_is_refused(name: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        read_experiment({"framework": [name]})


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0"])
def test_a_shard_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="give it as i/n"):
        read_shard(text)


def test_other_suites_have_no_such_options() -> None:
    with pytest.raises(OptionError, match="'home' has no such option"):
        bench("home", options={"framework": ["cmas"]})


def test_suites_without_the_home_have_no_sensors() -> None:
    with pytest.raises(
        OptionError,
        match="'hostile' has no such option; architectures, bins, fleet, grasps, home, perception, time, tools",
    ):
        bench("hostile", sensors="harsh")


@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is not None, reason="Inspect is here")
def test_without_inspect_the_remedy_is_told() -> None:
    with pytest.raises(MissingExtraError, match="run scripts/inspect-env"):
        run(BenchParameters(options={"model": ["openai/gpt-4o"]}))


def test_suites_of_one_robot_take_no_second_one() -> None:
    told = "several --robot: the suite 'home' has no such option; dispatch, resume, teams have"
    with pytest.raises(OptionError, match=told):
        bench("home", kinds=["rover", "lifter"])
