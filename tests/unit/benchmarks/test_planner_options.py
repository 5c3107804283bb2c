"""The options of an experiment say what is wrong with them."""

import importlib.util
from pathlib import Path

import pytest

from quartet_benchmarks.command import bench
from quartet_benchmarks.errors import MissingExtraError, OptionError
from quartet_benchmarks.planners.options import Experiment, read_experiment, read_shard
from quartet_benchmarks.planners.suite import run
from quartet_benchmarks.result import BenchParameters


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
        ("colour: red\n", "no field colour; valid: framework, suite"),
        ("trials: many\n", "trials 'many' is no whole number"),
        ("trials: true\n", "trials True is no whole number"),
        ("robots: [4.5]\n", "robots 4.5 is no whole number"),
        ("robots: {a: 1}\n", "robots {'a': 1} is no whole number"),
        ("suite:\n  boxnet1: 3\n", "suite {'boxnet1': 3} is no name"),
        ("p-fault: high\n", "p_fault 'high' is no number"),
        ("framework: 3\n", "framework 3 is no name"),
        ("- cmas\n", "no mapping of fields"),
        ("suite: [\n", "cannot be read"),
    ],
)
def test_a_file_with_a_wrong_field_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(text)
    with pytest.raises(OptionError, match=said):
        read_experiment({"suite": [str(tmp_path / "suite.yaml")]})


def test_options_go_before_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("suite: boxnet2\nrobots: [4, 8]\ntrials: 2\np-fault: 0.1\n")
    read = read_experiment({"suite": [str(tmp_path / "suite.yaml")], "trials": 3})
    assert read == Experiment(suite=("boxnet2",), robots=(4, 8), trials=3, p_fault=(0.1,))
    assert len(read.instances) == 6
    assert read.models == ["reference-speakers/0.1"]


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0"])
def test_a_shard_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="give it as i/n"):
        read_shard(text)


def test_other_suites_have_no_such_options() -> None:
    with pytest.raises(OptionError, match="'home' has no such option"):
        bench("home", options={"framework": ["cmas"]})


def test_suites_without_the_home_have_no_sensors() -> None:
    with pytest.raises(OptionError, match="'hostile' has no such option; bins, fleet, home, perception, tools have"):
        bench("hostile", sensors="harsh")


@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is not None, reason="Inspect is here")
def test_without_inspect_the_remedy_is_told() -> None:
    with pytest.raises(MissingExtraError, match="run scripts/inspect-env"):
        run(BenchParameters(options={"framework": ["cmas"]}))
