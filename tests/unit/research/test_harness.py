"""The harness counts each trial that an experiment asks for, whatever became of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_research.harness import experiment
from quartet_research.harness.experiment.kept import FILE
from quartet_research.harness.experiment.trials import Trials, merged_options
from quartet_research.harness.study import STUDIES, Case, Record, load_study
from quartet_research.planners.study import STUDY
from quartet_teams import Discussion, Plan, Prompts, Scene, make_team

SMALL: dict[str, Any] = {"framework": ["cmas"], "suite": ["boxnet1"], "robots": [4], "trials": 4}


class Fragile:
    """A team of which every second one breaks."""

    made = 0

    def __init__(self) -> None:
        Fragile.made += 1
        self.breaks = Fragile.made % 2 == 0

    async def decide(self, scene: Scene, prompts: Prompts, discussion: Discussion) -> Plan:
        if self.breaks:
            raise KeyError("a fault of this team")
        return await make_team("cmas").decide(scene, prompts, discussion)


def run(**options: Any) -> BenchResult:
    return experiment.run(STUDY, BenchParameters(progress=lambda _line: None), options)


def successes(result: BenchResult) -> str:
    return ", ".join(row["success"] for row in result.rows)


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_reads_what_it_stores(name: str) -> None:
    study = load_study(name)
    read = study.read({"seed": 3})
    (_, cases), *_ = read.parts
    assert cases
    assert study.read(merged_options([options for options, _ in read.parts])) == read


def test_a_run_that_was_killed_in_a_line_resumes_and_merges(tmp_path: Path) -> None:
    whole = run(**SMALL, out=tmp_path / "whole")
    lines = (tmp_path / "whole" / FILE).read_text().splitlines(keepends=True)
    for folder in ("merged", "resumed"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / FILE).write_text("".join(lines[:3]) + lines[3][:40])
    merged = run(merge=[tmp_path / "merged"])
    assert successes(merged) == "2/2"
    assert any("2 trials were not begun" in note for note in merged.notes)
    resumed = run(**SMALL, out=tmp_path / "resumed")
    assert resumed.rows == whole.rows
    assert len((tmp_path / "resumed" / FILE).read_text().splitlines()) == len(lines)
    assert run(merge=[tmp_path / "resumed"]).rows == whole.rows


def test_a_shard_plays_its_own_cases(tmp_path: Path) -> None:
    parts = [run(**SMALL | {"trials": 3}, out=tmp_path, shard=f"{number}/2") for number in (1, 2)]
    assert [{detail["seed"] for detail in part.details} for part in parts] == [{0, 2}, {1}]


def test_another_experiment_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    run(**SMALL, out=tmp_path)
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(OptionError, match="another experiment, which needs another --out"):
        run(**SMALL | {"seed": 9}, out=tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


@pytest.mark.parametrize("content", ["{}\n", "[\n", "null\n", json.dumps({"study": "nix"}) + "\n"])
def test_a_file_that_is_none_of_trials_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(OptionError, match=r"no file of trials of this version|no study 'nix'"):
        run(merge=[tmp_path])


def test_a_team_that_raises_fails_its_trials_and_the_others_go_on(tmp_path: Path) -> None:
    own = f"{__name__}:{Fragile.__name__}"
    result = run(**SMALL | {"framework": [own], "trials": 6}, out=tmp_path)
    failed = [detail for detail in result.details if "KeyError: 'a fault of this team'" in detail["reason"]]
    assert 0 < len(failed) < 6
    assert successes(result) == f"{6 - len(failed)}/6"
    assert any(f"{len(failed)} trials broke off and count as failed" in note for note in result.notes)
    assert len((tmp_path / FILE).read_text().splitlines()) == 1 + 6 - len(failed), "they are repeated"


def test_the_trial_that_ended_counts_in_either_order_of_a_merge() -> None:
    case = Case({"framework": "cmas"}, {"seed": 1})
    ended, broken = (Trials(records={("m", case.name): Record("m", case, None, broke_off=why)}) for why in ("", "x"))
    for first, second in ((ended, broken), (broken, ended)):
        found = Trials()
        found.add(first)
        found.add(second)
        assert found.records["m", case.name].broke_off == ""


def test_shards_of_several_experiments_are_not_merged(tmp_path: Path) -> None:
    run(**SMALL, out=tmp_path, shard="1/2")
    run(**SMALL | {"framework": ["cmas", "dmas"]}, out=tmp_path, shard="2/2")
    with pytest.raises(OptionError, match="parts of several experiments"):
        run(merge=[tmp_path])
