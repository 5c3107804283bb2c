"""An experiment on Inspect: what it runs, what stops it, and how its shards come together."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log._recorders.buffer.database import SampleBufferDatabase
from inspect_ai.model import ChatMessage, ModelAPI, ModelOutput, ModelUsage, modelapi
from PIL import Image
from typer.testing import CliRunner

from quartet_benchmarks import prices
from quartet_benchmarks.errors import BudgetSpentError, OptionError
from quartet_benchmarks.prices import FREE, Price
from quartet_benchmarks.result import BenchParameters, Rate
from quartet_cli.main import app
from quartet_research.harness.budget import Spending
from quartet_research.planners import table_suite
from quartet_research.planners.suite import run
from quartet_research.roco import suite as roco_suite

SMALL = {"framework": ["cmas", "hmas2"], "suite": ["boxnet2"], "robots": [4], "trials": 3, "p_fault": [0.2]}


TEMPERATURES: list[float | None] = []
"""Temperatures of the calls of the model below."""
MEANWHILE: dict[str, Callable[[], None]] = {"do": lambda: None}
"""What is done while the model below answers."""


@modelapi(name="said")
class Said(ModelAPI):
    """Says the same to everybody, or fails in trials of an odd seed."""

    async def generate(self, input: list[ChatMessage], tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        MEANWHILE["do"]()
        TEMPERATURES.append(config.temperature)
        if self.model_name.endswith("broken") and (input[-1].metadata or {})["seed"] % 2:
            raise RuntimeError("no answer from the provider")
        output = ModelOutput.from_content(self.model_name, "Let the robots do what they like.")
        output.usage = ModelUsage(input_tokens=1000, output_tokens=100, total_tokens=1100)
        return output

    def should_retry(self, ex: BaseException) -> bool:
        return False


def bench(**options: Any) -> Any:
    return run(BenchParameters(progress=lambda line: None, options=options))


def trials(folder: Path) -> list[dict[str, str]]:
    with (folder / "trials.csv").open() as file:
        return list(csv.DictReader(file))


def test_shards_together_are_the_whole_run(tmp_path: Path) -> None:
    whole = bench(**SMALL, out=tmp_path / "whole")
    for number in (1, 2):
        bench(**SMALL, out=tmp_path / "parts", shard=f"{number}/2")
    with pytest.raises(OptionError, match="shards are missing: 2/2"):
        bench(merge=[tmp_path / "parts" / "shard-1-of-2"], out=tmp_path / "half")
    with pytest.raises(OptionError, match="shard 4/4: the smallest part of the experiment is enough for 3 shards"):
        bench(**SMALL, out=tmp_path / "parts", shard="4/4")
    merged = bench(merge=[tmp_path / "parts"], out=tmp_path / "merged")
    assert merged.rows == whole.rows
    assert trials(tmp_path / "merged") == trials(tmp_path / "whole")
    assert {row["model"] for row in whole.rows} == {"reference-speakers/0.2"}
    rate = whole.metrics["success_rate_hmas2"]
    assert isinstance(rate, Rate)
    assert rate.n == 3
    written = json.loads((tmp_path / "merged" / "result.json").read_text())
    assert written["metrics"]["success_rate_hmas2"] == pytest.approx(rate.value, abs=1e-4)
    table = (tmp_path / "merged" / "table.md").read_text()
    assert "57.5 / 1.21 / 3.35 / 5.22" in table
    assert "not language models" in table
    with Image.open(tmp_path / "merged" / "success.png") as picture:
        assert picture.width > 300


def test_a_setting_with_a_temperature_is_played_at_it(tmp_path: Path) -> None:
    grid = {"tasks": "grid5", "framework": "central", "feedback": "off", "trials": 1, "price": "0,0", "out": tmp_path}
    TEMPERATURES.clear()
    result = roco_suite.run(
        BenchParameters(progress=lambda line: None, options=grid | {"model": ["said/prose"], "temperature": [0.6, 0]})
    )
    assert sorted(TEMPERATURES) == [0.0, 0.6]
    assert [row["team"] for row in result.rows] == [
        "central, no feedback, temperature 0.6",
        "central, no feedback",
    ]


def test_a_model_plays_at_the_table_with_arms(tmp_path: Path) -> None:
    options = {"model": ["said/prose"], "price": "0,0", "framework": ["cmas"], "robots": [3], "out": tmp_path}
    result = table_suite.run(BenchParameters(episodes=1, progress=lambda line: None, options=options))
    assert [(row["world"], row["team"], row["success"]) for row in result.rows] == [("armtable", "cmas", "0/1")]
    assert (tmp_path / "success.png").exists()
    with pytest.raises(OptionError, match="'armtable' is one world"):
        table_suite.run(BenchParameters(options=options | {"suite": ["boxnet1"]}))


def test_the_history_modes_stand_beside_each_other(tmp_path: Path) -> None:
    bench(framework=["hmas2"], suite=["boxlift"], robots=[4], trials=1, history=["none", "pairs", "all"], out=tmp_path)
    table = (tmp_path / "table.md").read_text()
    assert "## By history" in table
    assert "0.0 / 100.0 / 90.0" in table


def test_a_model_that_speaks_prose_fails_each_trial_with_its_reason(tmp_path: Path) -> None:
    result = bench(**SMALL | {"model": ["said/prose"], "p_fault": None}, price="0,0", out=tmp_path)
    assert [row["success"] for row in result.rows] == ["0/3", "0/3"]
    assert all(trial["reason"].startswith("NoPlanError: planner") for trial in trials(tmp_path))


def test_a_call_is_written_with_its_sample_and_not_once_more_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inspect's live view keeps each event in a database as well, which costs as much as all the rest of a call."""
    seen: list[object] = []
    logs = str(tmp_path / "logs")
    monkeypatch.setitem(MEANWHILE, "do", lambda: seen.append(SampleBufferDatabase.running_tasks(logs)))
    result = bench(**SMALL | {"model": ["said/prose"], "p_fault": None}, price="0,0", out=tmp_path)
    assert seen
    assert not any(seen)
    assert len(result.details) == 6


def test_a_provider_that_fails_marks_the_trial_and_the_others_go_on(tmp_path: Path) -> None:
    result = bench(**SMALL | {"model": ["said/broken"], "p_fault": None}, price="0,0", out=tmp_path)
    assert sorted(trial["seed"] for trial in trials(tmp_path)) == ["0", "0", "2", "2"]
    assert any("2 trials were not begun" in note and "no answer from the provider" in note for note in result.notes)


def test_a_model_that_costs_wants_a_price_and_a_budget_that_stops_it(tmp_path: Path) -> None:
    paid = SMALL | {"model": ["said/paid"], "p_fault": None}
    with pytest.raises(OptionError, match="price of model 'said/paid' is not known"):
        bench(**paid, out=tmp_path)
    with pytest.raises(OptionError, match=r"about \$.* Give --budget-usd"):
        bench(**paid, price="1,1", out=tmp_path)
    # A call costs $0.0011 and reserves some $0.007; a trial has seven.
    with pytest.raises(OptionError, match="none of 6 trials was begun"):
        bench(**paid, price="1,1", budget_usd=0.001, out=tmp_path)
    begun = bench(**paid, price="1,1", budget_usd=0.01, out=tmp_path)
    assert {value.successes for name, value in begun.metrics.items() if name.startswith("success_rate")} == {0}
    assert any("count as failed; run it again to complete them. The first: " in note for note in begun.notes)
    spent = sum(map(float, (tmp_path / "spent-usd.txt").read_text().split()))
    assert 0.0011 <= spent <= 0.01
    # With more it goes on in the same folder, and what was spent counts.
    completed = bench(**paid, price="1,1", budget_usd=1.0, out=tmp_path)
    assert sum(value.n for name, value in completed.metrics.items() if name.startswith("success_rate")) == 6
    assert not any("run it again" in note for note in completed.notes)
    assert sum(map(float, (tmp_path / "spent-usd.txt").read_text().split())) == pytest.approx(spent + 6 * 7 * 0.0011)


@pytest.mark.parametrize("price", ["1", "1,2,3", "a,b", "-1,1", "nan,1", "inf,1"])
def test_a_price_that_there_is_not_is_refused(price: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="give IN,OUT in USD"):
        bench(**SMALL | {"model": ["said/prose"], "p_fault": None}, price=price, out=tmp_path)


def test_a_model_without_a_key_is_told_in_plain_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(OptionError, match=r"^model 'openai/gpt-4o': .*No OPENAI_API_KEY"):
        bench(**SMALL | {"model": ["openai/gpt-4o"], "p_fault": None}, out=tmp_path)


def test_another_experiment_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    bench(**SMALL | {"trials": 1}, out=tmp_path)
    with pytest.raises(OptionError, match="needs another --out"):
        bench(**SMALL | {"suite": ["boxlift"]}, out=tmp_path)


def test_a_call_that_ends_badly_keeps_what_it_may_owe(tmp_path: Path) -> None:
    spending = Spending(tmp_path / "spent", {"m": Price(1, 10)}, 1.0, most_out=50_000)
    with pytest.raises(RuntimeError), spending.call("m", "x" * 100):
        raise RuntimeError
    assert spending.spent == pytest.approx(0.5001)
    with spending.call("free", "x"):
        pass
    again = Spending(tmp_path / "spent", {"m": Price(1, 10)}, 1.0, most_out=50_000)
    with pytest.raises(BudgetSpentError, match=r"\$0\.5001 of"), again.call("m", "x" * 100):
        pass


def test_prices_and_tokenizers_are_those_that_litellm_knows() -> None:
    price = prices.known_price("openai/gpt-4o")
    assert price is not None
    assert price.of(1_000_000, 0) == pytest.approx(2.5)
    assert prices.known_price("reference-speakers/0.1") == FREE
    assert prices.known_price("nobody/knows") is None
    text = "move(box_blue, square[0.5, 1.5])"
    assert prices.tokenizer("nobody/knows")(text) == len(text) // 4
    assert prices.tokenizer("openai/gpt-4o")(text) != len(text) // 4


def test_a_trial_is_drawn_again_from_its_log(tmp_path: Path) -> None:
    bench(**SMALL, out=tmp_path)
    drawn = bench(replay=tmp_path, framework=["hmas2"], seed=1, p_fault=[0.2])
    (row,) = drawn.rows
    (trial,) = (one for one in trials(tmp_path) if one["team"] == "hmas2" and one["seed"] == "1")
    assert row["replay"] == "boxnet2-4-1-hmas2-state-action-reference-speakers_0.2"
    steps = sorted((tmp_path / "replays" / row["replay"]).glob("step-*.png"))
    assert len(steps) == int(trial["steps"]) + 1
    with Image.open(tmp_path / "replays" / row["replay"] / "replay.gif") as animation:
        assert getattr(animation, "n_frames", 1) == len(steps)
    with Image.open(steps[-1]) as last, Image.open(steps[0]) as first:
        assert first.size == last.size
    with pytest.raises(OptionError, match="has no such trial"):
        bench(replay=tmp_path, seed=99)
    with pytest.raises(OptionError, match="shard: a replay is chosen by framework, suite"):
        bench(replay=tmp_path, shard="1/2")
    with pytest.raises(OptionError, match="has no trials of a run"):
        bench(replay=tmp_path / "nothing")


@pytest.mark.parametrize(("given", "seeds"), [((), {"7"}), (("--seed", "0"), {"0"})])
def test_the_seed_of_a_file_holds_unless_one_is_given(tmp_path: Path, given: tuple[str, ...], seeds: set[str]) -> None:
    (tmp_path / "suite.yaml").write_text("suite: boxnet1\nframework: cmas\nrobots: 4\ntrials: 1\nseed: 7\n")
    command_line = ["bench", "planners", "--suite", str(tmp_path / "suite.yaml"), "--out", str(tmp_path / "o"), *given]
    ended = CliRunner().invoke(app, command_line)
    assert ended.exit_code == 0, ended.output
    assert {trial["seed"] for trial in trials(tmp_path / "o")} == seeds


def test_the_task_is_found_by_inspect_itself(tmp_path: Path) -> None:
    from inspect_ai import eval

    (log,) = eval(
        "quartet_research/experiment",
        model="said/prose",
        task_args={"study": "planners", "framework": "cmas", "suite": "boxnet1", "robots": [4], "trials": 1},
        log_dir=str(tmp_path), display="none",
    )  # fmt: skip
    assert log.status == "success"
    assert log.results is not None
    assert {score.name: score.metrics["mean"].value for score in log.results.scores}["success"] == 0.0


def test_options_come_from_a_file_too(tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text("suite: boxnet1\nframework: [cmas]\nrobots: 4\ntrials: 1\n")
    result = run(BenchParameters(progress=lambda line: None, options={"suite": [str(file)], "out": tmp_path / "o"}))
    assert [(row["world"], row["team"], row["success"]) for row in result.rows] == [("boxnet1", "cmas", "1/1")]
