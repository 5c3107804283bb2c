"""MALMM's experiment on Inspect: a model that moves the arm, one that lies, and a run that goes on."""

from pathlib import Path
from typing import Any

import pytest
from inspect_ai.model import ChatMessage, ModelAPI, ModelOutput, ModelUsage, modelapi

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.malmm.speakers import ReferenceModel
from quartet_benchmarks.malmm.suite import run
from quartet_benchmarks.result import BenchParameters, Rate
from quartet_scripted_model.programs import Rates

CALLS: list[str] = []


@modelapi(name="tabletop")
class TabletopModel(ModelAPI):
    """Stands in for a language model: `honest` does the task, `liar` claims at once that it is done."""

    async def generate(self, input: list[ChatMessage], tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        asked = input[-1]
        CALLS.append(asked.text)
        text = "```python\ntask_completed()\n```"
        if self.model_name.endswith("honest"):
            text = (await ReferenceModel(Rates(), 0)((asked.metadata or {})["participant"], asked.text)).text
        output = ModelOutput.from_content(self.model_name, text)
        output.usage = ModelUsage(input_tokens=1000, output_tokens=100, total_tokens=1100)
        return output


def bench(**options: Any) -> Any:
    small = {"framework": ["sa"], "tasks": ["put-block"], "price": "0,0"}
    return run(BenchParameters(episodes=1, progress=lambda line: None, options=small | options))


def test_models_are_judged_by_ground_truth_and_a_run_goes_on(tmp_path: Path) -> None:
    result = bench(model=["tabletop/honest", "tabletop/liar"], out=tmp_path)
    rows = {row["model"]: row for row in result.rows}
    assert rows["tabletop/honest"]["success"] == "1/1"
    assert (rows["tabletop/liar"]["success"], rows["tabletop/liar"]["false"]) == ("0/1", 1)
    assert rows["tabletop/liar"]["GPT-4 in the paper"] == "92 %"
    assert result.metrics["false_successes"] == 1
    assert result.metrics["success_rate_sa"] == Rate(1, 2)
    made = len(CALLS)
    again = bench(model=["tabletop/honest", "tabletop/liar"], out=tmp_path)
    assert again.rows == result.rows
    assert len(CALLS) == made, "nothing is asked twice"


def test_a_model_that_costs_money_needs_a_budget(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="give --budget-usd"):
        bench(model=["tabletop/honest"], price="2.5,10", out=tmp_path)
    with pytest.raises(OptionError, match="none of 1 episodes has ended"):
        bench(model=["tabletop/honest"], price="2.5,10", budget_usd=1e-6, out=tmp_path)
