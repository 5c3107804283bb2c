"""Task of Inspect: each sample is a case that a team of language models plays."""

from dataclasses import asdict
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from quartet_benchmarks.prices import tokenizer
from quartet_research.harness.experiment.models import asker
from quartet_research.harness.experiment.tasks import MOST_TOKENS_OUT
from quartet_research.harness.study import Case, cases_of, load_study

TRIAL = "trial"
LIMIT = "limit of the run"
"""Reason of a trial that a limit of tokens or time ended."""


@task
def experiment(study: str = "planners", shard: str = "1/1", **options: Any) -> Task:
    """Return the trials of an experiment; a shard has every n-th instance.

    Args:
        study: name of the study, such as planners.
        shard: number and count of shards.
        options: those of the study, such as framework and seed.

    Raises:
        OptionError: a study, option or value that there is not.
    """
    played = load_study(study)
    parts = cases_of(played.read(options), shard)
    cases = [case for _, part in parts for case in part]
    setting = "-".join(map(str, cases[0].setting.values())) if len(parts) == 1 else "all"
    samples = [
        Sample(
            id=case.name,
            input=", ".join(f"{name} {value}" for name, value in {**case.setting, **case.instance}.items()),
            metadata={"setting": dict(case.setting), "instance": dict(case.instance)},
        )
        for case in cases
    ]
    return Task(
        name=f"{study}-{setting}",
        dataset=MemoryDataset(samples, name=study),
        solver=solve_case(study),
        scorer=outcome(study),
        config=GenerateConfig(temperature=0.0, max_tokens=MOST_TOKENS_OUT),
    )


def case_of(metadata: dict[str, Any]) -> Case:
    """Return the case of a sample with this metadata."""
    return Case(metadata["setting"], metadata["instance"])


@solver
def solve_case(study: str) -> Solver:
    """Let a team play the case, and store its trial for the scorer."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        case = case_of(state.metadata)
        trial = await load_study(study).play(case, asker(state), tokenizer(str(get_model())))
        state.store.set(TRIAL, asdict(trial))
        return state

    return solve


@scorer(metrics={"success": [mean(), stderr()], "calls": [mean()], "tokens": [mean()]})
def outcome(study: str) -> Scorer:
    """Score success by ground truth, calls and tokens; the trial is in the metadata, its lists are in the store."""

    async def score(state: TaskState, target: Target) -> Score:
        trial = state.store.get(TRIAL)
        if trial is None:
            trial = asdict(load_study(study).broken_off(case_of(state.metadata), LIMIT, 0, 0))
        short = {name: value for name, value in trial.items() if not isinstance(value, list | tuple | dict)}
        return Score(
            value={"success": int(trial["succeeded"]), "calls": trial["calls"], "tokens": trial["tokens"]},
            metadata={TRIAL: short},
        )

    return score
