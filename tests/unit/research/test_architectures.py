"""The architectures suite: its options, and what it makes of episodes."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from quartet_benchmarks.command import bench
from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.home.harm import Harm
from quartet_benchmarks.home.outcome import Outcome
from quartet_benchmarks.home.suite import broken_down
from quartet_benchmarks.home.templates import Episode
from quartet_benchmarks.prices import Price
from quartet_benchmarks.result import BenchParameters, Rate
from quartet_benchmarks.serving import served
from quartet_contracts import JournalEvent, State, Usage
from quartet_contracts.journal import ModelTurn, WantedCall
from quartet_deployment import StackError
from quartet_research.architectures import suite
from quartet_research.architectures.chart import prompt_chart
from quartet_research.architectures.costs import TYPICAL, EpisodeBudget
from quartet_research.architectures.played import FILE, Played
from quartet_research.architectures.suite import require_model
from quartet_research.architectures.summary import VARIANTS, summary

HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
USED = {"prompt_tokens": 9, "completion_tokens": 5, "cost_usd": 0.0, "model_turns": 2, "tool_calls": 2, "wall_s": 4.0}


def ended(number: int, *tools: str, **changes: Any) -> Outcome:
    calls = [WantedCall(id="c", tool=tool, arguments="{}") for tool in tools]
    turns = [
        JournalEvent(
            task_id="t", actor="pick", at=1.0, event=ModelTurn(turn=1, tools=[one.tool], calls=[one], usage=Usage())
        )
        for one in calls
    ]
    fields: dict[str, Any] = {
        "state": State.SUCCEEDED,
        "goals_met": 0,
        "harm": Harm(),
        "metrics": USED,
        "summary": "",
    } | changes
    return Outcome(
        episode=Episode("t", "s", []),
        seed=0,
        codes=[],
        final_codes=set(),
        sim_s=3.0,
        memory_mb={},
        journal=turns,
        number=number,
        **fields,
    )


def played(variant: str, number: int, sizes: list[int] | None, *tools: str, **changes: Any) -> Played:
    return Played.of(variant, ended(number, *tools, **changes), sizes)


class Deployments:
    """Stands in for deployments that play episodes at once; it knows which were played."""

    def __init__(self, patch: pytest.MonkeyPatch, metrics: dict[str, float] | None = None) -> None:
        self.played: list[tuple[str, int]] = []
        self._metrics = metrics or USED
        patch.setattr(suite, "_deployed", self._deployed)
        patch.setattr(suite, "episodes_of", self._episodes)

    @contextmanager
    def _deployed(self, folder: Path, variant: str, *_: Any) -> Iterator[tuple[Any, None]]:
        yield SimpleNamespace(site_dir=HOME, variant=variant), None

    def _episodes(self, stack: Any, _: Any, numbers: range, *__: Any) -> Iterator[Outcome]:
        for index in numbers:
            self.played.append((stack.variant, index + 1))
            yield ended(index + 1, "approach", metrics=self._metrics)


def test_prompts_are_compared_where_the_same_was_done() -> None:
    result = summary(
        [
            played("multi", 1, [10, 20], "approach", "nav2__navigate_to_pose"),
            played("multi", 2, [10, 20], "approach"),
            played("single", 1, [40, 80], "approach", "nav2__navigate_to_pose"),
            played("single", 2, [40, 80], "approach", "approach", harm=Harm(toppled=["cup"])),
            *(played(one, number, [10], "approach") for one in ("skill", "skill_prose") for number in (1, 2)),
        ],
        {},
    )
    assert result.metrics["multi_over_single"] == 30 / 120
    assert result.metrics["same_trajectories"] == Rate(1, 2)
    assert result.metrics["tokens_in_single"] == 120
    assert result.metrics["per_call_max_multi"] == 20
    assert result.metrics["harm_single"] == Rate(1, 2)
    assert json.loads(json.dumps(result.as_json()))["details"][3]["harm"]["toppled"] == ["cup"]
    assert str(result.rows[1]["tokens_in"]) == "120", "whole, since it is large"
    assert [row["architecture"] for row in result.rows] == ["multi", "single", "skill", "skill_prose"]


def test_a_deployment_that_breaks_down_costs_its_own_episodes_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    @contextmanager
    def deployed(folder: Path, variant: str, *_: Any) -> Iterator[tuple[Any, None]]:
        yield SimpleNamespace(site_dir=HOME, variant=variant), None

    def episodes(stack: Any, *_: Any) -> Iterator[Outcome]:
        yield ended(1, "approach")
        if stack.variant == "single":
            error = StackError("nav2 ended")
            yield broken_down(Episode("t", "s", []), 0, "home", 2, error)
            raise error
        yield ended(2, "approach")

    monkeypatch.setattr(suite, "_deployed", deployed)
    monkeypatch.setattr(suite, "episodes_of", episodes)
    result = suite.run(BenchParameters(episodes=2, options={"model": ["ollama_chat/qwen3"], "out": tmp_path}))
    assert result.metrics["right_single"] == Rate(1, 2), "the one under way counts as failed"
    assert result.metrics["right_skill"] == Rate(2, 2)
    assert result.metrics["tokens_in_single"] == 9, "of what was played to its end"
    assert "single was not played to its end: nav2 ended" in result.notes


def test_a_run_with_a_model_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deployments = Deployments(monkeypatch)
    options = {"model": ["ollama_chat/qwen3"], "out": tmp_path}
    suite.run(BenchParameters(episodes=1, options=options))
    with (tmp_path / FILE).open("a") as file:
        file.write('{"variant": "mul')  # as a process that is killed leaves it
    deployments.played.clear()
    result = suite.run(BenchParameters(episodes=2, options=options))
    assert deployments.played == [(one, 2) for one in VARIANTS], "the first of each is there already"
    assert result.metrics["right_multi"] == Rate(2, 2)
    again = suite.run(BenchParameters(episodes=2, options=options))
    assert again.as_json()["metrics"] == result.as_json()["metrics"]
    assert len(deployments.played) == 4, "nothing is left to play"


def test_a_folder_of_another_run_is_refused_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Deployments(monkeypatch)
    options = {"model": ["ollama_chat/qwen3"], "out": tmp_path}
    suite.run(BenchParameters(episodes=1, options=options))
    before = (tmp_path / FILE).read_text()
    with pytest.raises(OptionError, match=r"of another run \(seed 0 and not 5.*another --out"):
        suite.run(BenchParameters(episodes=1, seed=5, options=options))
    assert (tmp_path / FILE).read_text() == before


def test_the_scripted_model_begins_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deployments = Deployments(monkeypatch)
    for _ in range(2):
        result = suite.run(BenchParameters(episodes=1, options={"out": tmp_path}))
    assert deployments.played == 2 * [(one, 1) for one in VARIANTS]
    assert result.metrics["right_multi"] == Rate(1, 1)


def test_the_scripted_model_leaves_what_another_model_has_played(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deployments = Deployments(monkeypatch)
    suite.run(BenchParameters(episodes=1, options={"model": ["ollama_chat/qwen3"], "out": tmp_path}))
    before = (tmp_path / FILE).read_text()
    with pytest.raises(OptionError, match=r"model ollama_chat/qwen3 and not scripted.*another --out"):
        suite.run(BenchParameters(episodes=1, options={"out": tmp_path}))
    assert (tmp_path / FILE).read_text() == before
    assert len(deployments.played) == len(VARIANTS)


def test_a_model_that_costs_money_needs_a_budget_and_is_told_the_cost(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deployments = Deployments(monkeypatch)
    options = {"model": ["openai/some-model"], "price": "1,0", "out": tmp_path}
    cost = sum(one.tokens_in for one in TYPICAL.values()) / 1e6
    with pytest.raises(OptionError, match=rf"about \${cost:.2f} for 44 calls.*Give --budget-usd"):
        suite.run(BenchParameters(episodes=1, options=options))
    with pytest.raises(OptionError, match="price of model 'openai/some-model' is not known; give --price"):
        suite.run(BenchParameters(episodes=1, options={**options, "price": None}))
    assert deployments.played == []


def test_a_budget_ends_a_run_before_the_episode_that_it_may_not_cover(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # $0.4 an episode at $1 for a million tokens, more than the typical $0.04 of multi; single typically takes $0.15.
    deployments = Deployments(monkeypatch, USED | {"prompt_tokens": 400_000})
    options = {"model": ["openai/some-model"], "price": "1,0", "out": tmp_path, "budget_usd": 0.93}
    told: list[str] = []
    result = suite.run(BenchParameters(episodes=3, options=options, progress=told.append))
    assert deployments.played == [("multi", 1), ("multi", 2), ("skill", 1)]
    assert result.metrics["right_multi"] == Rate(2, 2)
    assert "about $0.80 of the budget of $0.93 are spent, and an episode of multi may cost $0.40" in " ".join(
        result.notes
    )
    assert told[0].startswith("estimated cost: about $0.62")


def test_a_model_that_counts_for_itself_has_no_sizes_of_single_prompts() -> None:
    result = summary([played(one, 1, None, "approach") for one in VARIANTS], {})
    assert result.metrics["tokens_in_multi"] == 9
    assert math.isnan(result.metrics["per_call_max_multi"])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"model": ["openai/gpt-4o", "scripted"]}, "give --model once"),
        ({"model": ["openai/gpt-4o"], "p_fault": [0.1]}, "p-fault 0.1 is of the model 'scripted'"),
        ({"p_fault": [2.0]}, "one rate from 0 to 1"),
        ({"p_fault": [0.1, 0.2]}, "one rate from 0 to 1"),
        ({"framework": ["multi"]}, "the suite 'architectures' has no such option"),
    ],
)
def test_options_that_cannot_be_used_are_named(options: dict[str, Any], told: str) -> None:
    with pytest.raises(OptionError, match=told):
        bench("architectures", options=options)


def test_the_chart_has_a_point_for_each_prompt() -> None:
    picture = ElementTree.fromstring(prompt_chart({"multi": [10, 20], "single": [40, 60, 80], "none": []}, "a < b"))
    lines = {one.get("class"): one.get("points", "").split() for one in picture.iter() if one.get("class")}
    assert {name: len(points) for name, points in lines.items()} == {"multi": 2, "single": 3}
    heights = [float(point.split(",")[1]) for point in lines["single"]]
    assert heights == sorted(heights, reverse=True), "more tokens are higher up"
    assert "single: 180 tokens in 3 calls" in "".join(picture.itertext())


def test_builds_that_played_together_are_named() -> None:
    one, other = (replace(played("multi", number, [10], "approach"), commit=f"build{number}") for number in (1, 2))
    assert "several builds of Quartet: build1, build2" in summary([one, other], {}).notes[-1]
    assert "builds" not in " ".join(summary([one], {}).notes)


def test_an_episode_that_broke_down_counts_as_the_dearest_of_its_kind() -> None:
    dear = played("multi", 1, None, "approach", metrics=USED | {"prompt_tokens": 400_000})
    broken = Played.of("multi", broken_down(Episode("t", "s", []), 0, "home", 2, StackError("nav2 ended")), None)
    budget = EpisodeBudget("some/model", Price(1.0, 0.0), 1.3)
    assert budget.refusal("multi", [dear, broken]) == ""
    refused = EpisodeBudget("some/model", Price(1.0, 0.0), 1.1).refusal("multi", [dear, broken])
    assert refused.startswith("about $0.80 of the budget of $1.1 are spent")


def test_a_chart_of_one_prompt_can_be_drawn() -> None:
    assert "multi: 7 tokens in 1 calls" in prompt_chart({"multi": [7]}, "one")


def test_a_model_that_the_gateway_cannot_ask_is_named_before_anything_is_played() -> None:
    def health(_: Request) -> JSONResponse:
        return JSONResponse({"status": "degraded", "problems": {"pick": "set OPENAI_API_KEY in .env"}}, 503)

    app = Starlette(routes=[Route("/health", health)])
    with served(app) as url, pytest.raises(OptionError, match="model 'openai/gpt-4o': set OPENAI_API_KEY"):
        require_model(url, "openai/gpt-4o")
