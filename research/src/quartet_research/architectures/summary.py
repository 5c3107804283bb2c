"""Sums up the episodes of each variant, and compares their prompts where both did the same."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from quartet_benchmarks.result import BenchResult, Rate, percentile
from quartet_contracts import Architecture, ResultForm
from quartet_research.architectures.played import Played

NOTES = [
    "The same episodes, world, robot, tools, grants and policy; with a scripted model the same policy of the work, and "
    "faults at the same rate in each of its answers, of which there are fewer where fewer models work. Success, false "
    "success and harm as in the suite home. right: ended as it should, the right refusal of a task that cannot be done "
    "included.",
    "skill_prose: results of skills in words alone. The scripted model takes nothing from words: it then knows that a "
    "skill failed and not how, and no height.",
    "tokens_in: of all prompts of a task. per_call: of one prompt, median and largest. Of the scripted model they are "
    "counted as `parameters` says, of any other as it reports them, in whole tasks alone.",
    "same: episodes in which the models of two architectures made the same calls in the same order, reports and all; "
    "multi_over_single is the ratio of their prompt tokens over these.",
]


VARIANTS = {
    "multi": (Architecture.MULTI, ResultForm.TYPED),
    "single": (Architecture.SINGLE, ResultForm.TYPED),
    "skill": (Architecture.SKILL, ResultForm.TYPED),
    "skill_prose": (Architecture.SKILL, ResultForm.PROSE),
}
"""What is compared, by its name in the report: an architecture, and how its orchestrator reads results of skills."""


def summary(played: Sequence[Played], parameters: dict[str, Any]) -> BenchResult:
    """Return the figures of each variant, and the ratio of their prompts on the same trajectories."""
    metrics: dict[str, float | Rate] = {}
    rows: list[dict[str, Any]] = []
    for variant in VARIANTS:
        own = [one for one in played if one.variant == variant]
        rates = _rates(own)
        metrics |= {f"{name}_{variant}": rate for name, rate in rates.items()}
        means = _means(own)
        metrics |= {f"{name}_{variant}": value for name, value in means.items()}
        rows.append(
            {
                "architecture": variant,
                **{name: f"{rate.successes} of {rate.n} {_shown(rate)}" for name, rate in rates.items()},
                **{name: _figure(value) for name, value in means.items()},
            }
        )
    pairs = _same_trajectories(played)
    metrics["same_trajectories"] = Rate(len(pairs), sum(one.variant == "multi" for one in played))
    metrics["multi_over_single"] = _over(pairs)
    notes = list(NOTES)
    if len(commits := sorted({one.commit for one in played})) > 1:
        notes.append(f"The episodes were played by several builds of Quartet: {', '.join(commits)}.")
    return BenchResult("architectures", parameters, metrics, rows, [_detail(one) for one in played], notes)


def _rates(own: Sequence[Played]) -> dict[str, Rate]:
    n = len(own)
    return {
        "right": Rate(sum(one.right for one in own), n),
        "false_success": Rate(sum(one.false_success for one in own), n),
        "harm": Rate(sum(one.harmed for one in own), n),
    }


def _means(played: Sequence[Played]) -> dict[str, float]:
    """Return the means of what was played to its end: of an episode that broke down they are not known."""
    own = [one for one in played if not one.broke_down]

    def mean(name: str) -> float:
        return sum(one.figures[name] for one in own) / max(1, len(own))

    sizes = [float(size) for one in own for size in one.prompt_sizes or []]
    return {
        "turns": mean("model_turns"),
        "tool_calls": mean("tool_calls"),
        "tokens_in": sum(one.tokens_in for one in own) / max(1, len(own)),
        "tokens_out": mean("completion_tokens"),
        "per_call_p50": percentile(sizes, 0.5),
        "per_call_max": max(sizes, default=float("nan")),
        "cost_usd": mean("cost_usd"),
        "sim_s_p50": percentile([one.sim_s for one in own if one.sim_s is not None], 0.5),
        "wall_s_p50": percentile([one.figures["wall_s"] for one in own], 0.5),
    }


def _same_trajectories(played: Sequence[Played]) -> list[tuple[Played, Played]]:
    """Return the episodes of multi and single in which the models made the same calls."""
    by_number = {(one.variant, one.number): one for one in played}
    pairs = [
        (one, other)
        for (variant, number), one in by_number.items()
        if variant == "multi" and (other := by_number.get(("single", number))) is not None
    ]
    return [pair for pair in pairs if pair[0].calls == pair[1].calls]


def _over(pairs: Sequence[tuple[Played, Played]]) -> float:
    single = sum(other.tokens_in for _, other in pairs)
    return sum(one.tokens_in for one, _ in pairs) / single if single else float("nan")


def _figure(value: float) -> float:
    """Return a figure as the table shows it: large ones whole."""
    return round(value) if value >= 100 else round(value, 2)


def _shown(rate: Rate) -> str:
    low, high = rate.interval
    return f"({low:.2f} to {high:.2f})"


def _detail(one: Played) -> dict[str, Any]:
    return asdict(one) | {"tokens_in": one.tokens_in}
