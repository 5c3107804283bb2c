"""MALMM's experiment on Inspect: a model that moves the arm, one that lies, and a run that goes on."""

from pathlib import Path
from typing import Any

import pytest
from inspect_ai.model import ChatMessage, ModelAPI, ModelOutput, ModelUsage, modelapi

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate
from quartet_research.malmm.speakers import ReferenceModel
from quartet_research.malmm.suite import run
from quartet_scripted_model.programs import Rates

CALLS: list[str] = []
HEALED: list[bool] = []
WILD = "\n".join(
    f"```python\n{call}\n```"
    for call in (
        "close_gripper(['block'])",
        "execute_trajectory([1e308] * 3, 0)",
        "execute_trajectory([0, 0, 1], 10**400)",
    )
)


@modelapi(name="tabletop")
class TabletopModel(ModelAPI):
    """Stands in for a language model.

    `honest` does the task, `liar` claims at once that it is done, `wild` calls functions with arguments that they do
    not take, and `mortal` answers once.
    """

    async def generate(self, input: list[ChatMessage], tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        asked = input[-1]
        CALLS.append(asked.text)
        text = "```python\ntask_completed()\n```"
        if self.model_name.endswith("mortal") and "looked" in asked.text and not HEALED:
            raise RuntimeError("no answer from the provider")
        if self.model_name.endswith("mortal") and "looked" not in asked.text:
            text = "```python\nprint('looked')\n```"
        if self.model_name.endswith("wild"):
            text = WILD
        if self.model_name.endswith("honest"):
            text = (await ReferenceModel(Rates(), 0)((asked.metadata or {})["participant"], asked.text)).text
        output = ModelOutput.from_content(self.model_name, text)
        output.usage = ModelUsage(input_tokens=1000, output_tokens=100, total_tokens=1100)
        return output

    def should_retry(self, ex: BaseException) -> bool:
        return False


def bench(episodes: int = 1, progress: Any = lambda line: None, **options: Any) -> Any:
    small = {"framework": ["sa"], "tasks": ["put-block"], "price": "0,0"}
    return run(BenchParameters(episodes=episodes, progress=progress, options=small | options))


def test_models_are_judged_by_ground_truth_and_a_run_goes_on(tmp_path: Path) -> None:
    result = bench(model=["tabletop/honest", "tabletop/liar"], out=tmp_path)
    rows = {row["model"]: row for row in result.rows}
    assert rows["tabletop/honest"]["success"] == "1/1"
    assert (rows["tabletop/liar"]["success"], rows["tabletop/liar"]["false"]) == ("0/1", 1)
    assert rows["tabletop/liar"]["GPT-4 in the paper"] == "92 %"
    assert result.metrics["false_successes"] == 1
    assert result.metrics["success_rate_sa (tabletop/honest)"] == Rate(1, 1)
    assert result.metrics["success_rate_sa (tabletop/liar)"] == Rate(0, 1)
    made = len(CALLS)
    again = bench(model=["tabletop/honest", "tabletop/liar"], out=tmp_path)
    assert again.rows == result.rows
    assert len(CALLS) == made, "nothing is asked twice"


def test_a_program_s_fault_is_a_failed_episode(tmp_path: Path) -> None:
    result = bench(2, model=["tabletop/wild"], out=tmp_path)
    assert [(row["success"], row["failed and"]) for row in result.rows] == [("0/2", "2 gave up")]
    assert not any("run it again" in note for note in result.notes)


def test_an_episode_that_broke_off_counts_until_it_is_completed(tmp_path: Path) -> None:
    HEALED.clear()
    result = bench(2, model=["tabletop/mortal"], out=tmp_path)
    assert [(row["success"], row["failed and"]) for row in result.rows] == [("0/2", "2 broke off")]
    assert any("2 trials broke off and count as failed; run it again" in note for note in result.notes)
    HEALED.append(True)
    again = bench(2, model=["tabletop/mortal"], out=tmp_path)
    assert [(row["success"], row["false"]) for row in again.rows] == [("0/2", 2)]
    assert not any("run it again" in note for note in again.notes)


def test_shards_together_are_the_whole_run(tmp_path: Path) -> None:
    model = ["tabletop/liar"]
    whole = bench(3, model=model, out=tmp_path / "whole")
    for number, episodes in ((1, 2), (2, 1)):
        part = bench(3, model=model, out=tmp_path / "parts", shard=f"{number}/2")
        assert part.rows[0]["success"] == f"0/{episodes}"
    with pytest.raises(OptionError, match="shards are missing: 2/2"):
        run(BenchParameters(progress=print, options={"merge": [tmp_path / "parts" / "shard-1-of-2"]}))
    with pytest.raises(OptionError, match=r"shard 4/4: .* enough for 3 shards"):
        bench(3, model=model, out=tmp_path / "parts", shard="4/4")
    bench(1, model=model, out=tmp_path / "other")
    with pytest.raises(OptionError, match="several experiments"):
        run(BenchParameters(progress=print, options={"merge": [tmp_path / "whole", tmp_path / "other"]}))
    with pytest.raises(OptionError, match="shard: --merge puts shards together"):
        run(BenchParameters(progress=print, options={"merge": [tmp_path / "parts"], "shard": "1/2"}))
    merged = run(BenchParameters(progress=print, options={"merge": [tmp_path / "parts"]}))

    def played(result: BenchResult) -> list[dict[str, Any]]:
        return [{name: value for name, value in row.items() if name != "wall s p50"} for row in result.rows]

    assert played(merged) == played(whole)
    assert merged.parameters == whole.parameters
    assert merged.metrics["false_successes"] == 3


def test_a_model_that_costs_money_needs_a_budget_and_is_told_its_cost(tmp_path: Path) -> None:
    CALLS.clear()
    told: list[str] = []
    with pytest.raises(OptionError, match=r"about \$0\.\d\d for 9 calls: .* Give --budget-usd"):
        bench(progress=told.append, model=["tabletop/honest"], price="2.5,10", out=tmp_path)
    assert not CALLS, "the estimate asks the reference speakers"
    assert told == [], "no folder is named before the options are checked"
    with pytest.raises(OptionError, match="none of 1 trials was begun"):
        bench(progress=told.append, model=["tabletop/honest"], price="2.5,10", budget_usd=1e-6, out=tmp_path)
    cost, folder = told[:2]
    assert cost.startswith("estimated cost: about $")
    assert cost.endswith("the run stops at $1e-06")
    assert folder == f"logs and tables in {tmp_path}"
